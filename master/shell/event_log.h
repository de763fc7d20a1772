#pragma once

// The event log: the cluster's events in one order, on the master's disk, for readers with
// permission. It is the core's trace (master/core/trace.h) without messages (TraceLevel::kMessage).
//
// Events are numbered as they happen, and are added to a block at once (ADR 0144). Blocks are
// written later, like the history: a worker thread writes a batch of them together. Readers get
// only written events, so they never read an event that a crash can remove. Events that a crash or
// a failing disk has lost leave a gap in the numbers, which readers get as a gap.

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/principal.h"
#include "common/result.h"
#include "common/trace.h"
#include "master/shell/event_pages.h"
#include "master/shell/newest_events.h"
#include "master/shell/recent_events.h"
#include "master/shell/routes.h"
#include "net/loop.h"
#include "proto/event_block.h"
#include "proto/events.h"
#include "proto/json/event_lines.h"
#include "proto/masters.h"
#include "store/history_log.h"

namespace proffer::master {

struct EventLogOptions {
  HistoryLogOptions log = {};
  LeaderEpoch leader = {};
  proto::EventOwners owners = {};      // owners of the frameworks in the registry
  Duration delay = milliseconds(100);  // from the first event of a batch until it is written
  // A batch is written earlier if it has this many events. Each write wakes a thread, which on a
  // busy machine may take the loop's processor and its cache.
  size_t batch_events = 10'000;
  size_t block_events_max = proto::kEventBlockEventsMax;
  Duration retry = seconds(5);                // after an error
  size_t waiting_max = 50'000;                // events; beyond it the oldest block is dropped
  size_t recent_bytes_max = size_t{1} << 20;  // see RecentEvents
  size_t waits_max = 4'096;
  size_t waits_per_user_max = 64;
  size_t waits_per_operator_max = 2'048;
  // Files are read for one standby at a time. After each read, no file is read for standbys for
  // this many times its duration.
  int64_t standby_rests = 4;
};

class EventLog {
 public:
  using Done = std::function<void(Result<Page>)>;

  // Writes the event that the master leads. If the end of the log is not before this leader's first
  // place, the log is set aside (HistoryLog::open_anew), so that all places are in order. Blocks.
  EventLog(Loop& loop, EventLogOptions options);
  // Drops waiting events, so call finish() first. Readers that wait for events get no answer.
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // Keeps those of the events that is_event() accepts.
  void add(Time now, const std::vector<TraceEvent>& events);
  // False: a message, for example a frame that was ignored. A peer can cause any number of them.
  static bool is_event(const TraceEvent& happened) {
    return happened.level() != TraceLevel::kMessage;
  }
  // Writes all waiting events, and answers waiting standbys. Events that are added later are
  // dropped. `is_in_order`: no event is missing, so a last event is added that the master no longer
  // leads. Blocks; a second call does nothing.
  void finish(bool is_in_order = true);
  bool is_finished() const { return is_finished_; }

  // Reads a page of the events that `by` may see, as proto::event_page_json(): at once or in a
  // later turn. A page may be short or empty and still have a next page, even for a call that would
  // wait: each read examines at most kPageReadBytes or one file on the disk, and at most 4,096
  // events in memory. Page::next is the place after the last event. If the place in the query is
  // beyond the log, the page is a gap and continues at end(): after a registry was restored or made
  // anew, leaders count from a lower number, and the earlier log is set aside. Errors:
  // kInvalidArgument; kResourceExhausted: too many calls read or wait; kUnavailable.
  void read(proto::EventQuery query, PrincipalPtr by, bool is_operator, Done done,
            EventForm form = EventForm::kPage);
  static constexpr uint64_t kPageReadBytes = uint64_t{4} << 20;

  // The same for a standby, which gets all events, in pages of kFollowRowsMax. A standby with an
  // empty log may request the whole log: standbys take turns at reading files, and other readers
  // and standbys do not wait for each other. A standby has one call: if it calls again before the
  // answer, the first call is answered with kUnavailable. Errors: kResourceExhausted: more than
  // proto::kStandbysMax wait.
  void follow(const proto::MasterId& standby, const proto::FollowCall& call, Done done);

  // Whether this place is in memory, so that a follower from there soon has all events.
  bool is_near_end(const proto::EventPlace& from) const { return recent_.has(from); }
  // The place after the last event: a reader at this place has all events.
  proto::EventPlace end() const;
  // Calls `fn` when there are more events; it replaces the earlier function.
  void on_more(std::function<void()> fn) { on_more_ = std::move(fn); }

  const NewestEvents& newest() const { return newest_; }

  // Why nothing is written at present; empty: it works.
  const std::string& trouble() const { return trouble_; }
  uint64_t written() const { return written_; }  // events, by this process
  // Events of this process, dropped because too many waited.
  uint64_t lost() const { return lost_; }
  uint64_t bytes() const { return bytes_; }  // on the disk
  // Events that are not written yet.
  size_t waiting() const { return waiting_events_ + block_.events(); }
  size_t waiting_max() const { return options_.waiting_max; }
  size_t waits() const { return waits_.size(); }  // calls that wait for events
  size_t waits_max() const { return options_.waits_max; }

 private:
  struct Batch {
    std::vector<std::string> blocks = {};
    bool is_followed = false;  // followers exist, so lines are made
    // Used under Shared::writing.
    std::vector<proto::EventLines> lines = {};
    bool is_written = false;
    bool is_taken = false;  // taken by finish(): there is nothing left to do
  };
  struct Reading {
    proto::EventQuery query;
    PrincipalPtr by;
    bool is_operator = false;
    Done done;
    EventForm form = EventForm::kPage;
    std::optional<proto::MasterId> standby = {};  // set for a follower
  };
  struct Wait {
    Reading reading;  // from a place without events so far
    Time until = {};
  };
  struct RecentPage {
    Page page;
    proto::EventPlace next;
    bool is_empty = false;
    size_t examined = 0;  // events
  };
  struct Shared;  // shared with the worker

  bool may_keep(const TraceEvent& event, Time now);
  void keep(Time now, const TraceEvent& event);
  void end_block();
  std::vector<std::string> take_waiting();
  void put_back(std::vector<std::string>&& blocks);
  void lose_oldest();
  void arm(Time now);
  void write();
  void on_written(Result<void> result, Batch&& batch);

  // Whether the place is after both the last event and the next one.
  bool is_beyond(const proto::EventPlace& from) const;
  void read(Reading&& reading);
  RecentPage page_of_recent(const Reading& reading, size_t examined_max) const;
  void read_recent(Reading&& reading);
  void read_files(Reading&& reading);
  void start_reading(Reading&& reading);
  void read_for_standbys();
  void end_calls_of(const proto::MasterId& standby);
  void answer_waits();
  size_t answer_wait(std::list<Wait>::iterator wait, size_t examined_max);
  Result<void> check_may_wait(const Reading& reading, const std::string& user) const;
  void end_wait(std::list<Wait>::iterator wait, Result<Page> page);
  void end_late();

  Loop& loop_;
  const EventLogOptions options_;
  std::shared_ptr<Shared> shared_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Timer timer_;
  Timer wait_timer_;
  Timer waits_turn_;
  Timer standby_timer_;
  std::optional<Time> next_end_;  // the earliest end of a wait
  bool is_writing_ = false;
  bool is_finished_ = false;
  uint64_t number_ = 0;  // number of the last event
  NewestEvents newest_;
  proto::EventOwners owners_;
  proto::EventBlockWriter block_;
  std::deque<std::string> waiting_;  // blocks before that one, not written yet
  size_t waiting_events_ = 0;        // in these blocks
  std::shared_ptr<Batch> in_flight_;
  int64_t warnings_second_ = 0;
  // Warnings of the present second.
  std::map<std::pair<std::string_view, std::string>, size_t> warnings_;
  RecentEvents recent_;
  std::list<Wait> waits_;
  std::map<std::string, size_t> waits_of_user_;
  size_t standby_waits_ = 0;  // waits of standbys
  size_t reads_ = 0;          // file reads for readers other than standbys
  std::deque<Reading> standby_reads_;
  bool is_reading_for_standby_ = false;
  Time next_standby_read_ = {};
  std::function<void()> on_more_;
  std::string trouble_;
  uint64_t written_ = 0;
  uint64_t lost_ = 0;
  uint64_t bytes_ = 0;
  std::vector<HistoryLog::File> files_;  // as of the last write
};

}  // namespace proffer::master
