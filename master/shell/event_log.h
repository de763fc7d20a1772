#pragma once

// The event log: what happened, in one order, on the master's disk, for those that may see it. It
// is the core's trace (master/core/trace.h) without its messages (TraceLevel::kMessage).
//
// Events are numbered as they happen, and each becomes a part of a block at once (ADR 0144). Blocks
// are written behind, as the history is: those of a moment together, by a worker thread. Events are
// told once they are written, so what was told is there after a crash. What a crash or a disk that
// refuses has cost shows as numbers that are missing, and is told as a gap.

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
  proto::EventOwners owners = {};      // of the frameworks that the registry names
  Duration delay = milliseconds(100);  // from the first event of a batch to its writing
  // Or as soon as so many wait. Each write wakes a thread, which on a busy machine may take the
  // loop's processor, and with it what the loop has in its cache.
  size_t batch_events = 10'000;
  size_t block_events_max = proto::kEventBlockEventsMax;
  Duration retry = seconds(5);                // after an error
  size_t waiting_max = 50'000;                // events; of more the oldest block is lost
  size_t recent_bytes_max = size_t{1} << 20;  // see RecentEvents
  size_t waits_max = 4'096;
  size_t waits_per_user_max = 64;
  size_t waits_per_operator_max = 2'048;
  // Files are read for one master that stands by at a time. After each reading, no file is read for
  // standbys for so many times as long.
  int64_t standby_rests = 4;
};

class EventLog {
 public:
  using Done = std::function<void(Result<Page>)>;

  // Tells that the master leads. A log whose end is not before this leader's first place is set
  // aside (HistoryLog::open_anew), so that all places are in order. Blocks.
  EventLog(Loop& loop, EventLogOptions options);
  // Drops events that wait: call finish() first. Those that wait for events are not answered.
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  void add(Time now, const std::vector<TraceEvent>& events);
  // Writes all that waits, and answers the standbys that wait for it. What is added later is
  // dropped. `is_in_order`: nothing that happened is missing, and a last event says that the master
  // leads no longer. Blocks; a second call does nothing.
  void finish(bool is_in_order = true);
  bool is_finished() const { return is_finished_; }

  // A page of what `by` may see, as proto::event_page_json(): at once, or in a later turn. A page
  // may be short, or empty, also of a call that would wait, and still have a next one: each reads
  // at most kPageReadBytes or a file, and examines at most 4,096 events in memory. Page::next is
  // the place of the first event behind it. From a place that the log has not reached it is a gap,
  // and goes on at end(): a registry that was restored or made anew counts its leaders from a lower
  // number, and the log before it has been set aside. Errors: kInvalidArgument; kResourceExhausted,
  // too many read or wait; kUnavailable.
  void read(proto::EventQuery query, PrincipalPtr by, bool is_operator, Done done,
            EventForm form = EventForm::kPage);
  static constexpr uint64_t kPageReadBytes = uint64_t{4} << 20;

  // The same for a master that stands by, which sees all events, in pages of kFollowRowsMax. An
  // empty log of a standby may ask for all that there is: standbys take turns at reading files, and
  // neither wait for other readers nor keep them waiting. Each has one call: one that is not
  // answered yet when it asks again is answered with kUnavailable. Errors: kResourceExhausted, more
  // than proto::kStandbysMax wait.
  void follow(const proto::MasterId& standby, const proto::FollowCall& call, Done done);

  // Whether this is in memory, so that a follower from there soon has all events.
  bool is_near_end(const proto::EventPlace& from) const { return recent_.has(from); }
  // The place behind the last event: a reader that is there has all of them.
  proto::EventPlace end() const;
  // Called when there are more events; replaces the function given before.
  void on_more(std::function<void()> fn) { on_more_ = std::move(fn); }

  const NewestEvents& newest() const { return newest_; }

  // Why nothing is written now; empty: all is well.
  const std::string& trouble() const { return trouble_; }
  uint64_t written() const { return written_; }  // events, in this life
  uint64_t lost() const { return lost_; }        // in this life: too many waited
  uint64_t bytes() const { return bytes_; }      // on the disk
  size_t waiting() const { return waiting_events_ + block_.events(); }  // events, to be written
  size_t waiting_max() const { return options_.waiting_max; }
  size_t waits() const { return waits_.size(); }  // calls that wait for events
  size_t waits_max() const { return options_.waits_max; }

 private:
  struct Batch {
    std::vector<std::string> blocks = {};
    bool is_followed = false;  // so lines are wanted
    // Under Shared::writing.
    std::vector<proto::EventLines> lines = {};
    bool is_written = false;
    bool is_taken = false;  // by finish(): nothing is left to do
  };
  struct Reading {
    proto::EventQuery query;
    PrincipalPtr by;
    bool is_operator = false;
    Done done;
    EventForm form = EventForm::kPage;
    std::optional<proto::MasterId> standby = {};  // that follows
  };
  struct Wait {
    Reading reading;  // from where nothing is yet
    Time until = {};
  };
  struct RecentPage {
    Page page;
    proto::EventPlace next;
    bool is_empty = false;
    size_t examined = 0;  // events
  };
  struct Shared;  // with the worker

  bool may_keep(const TraceEvent& event, Time now);
  void keep(Time now, const TraceEvent& event);
  void end_block();
  std::vector<std::string> take_waiting();
  void put_back(std::vector<std::string>&& blocks);
  void lose_oldest();
  void arm(Time now);
  void write();
  void on_written(Result<void> result, Batch&& batch);

  // Of a place that no event so far has, nor the next one.
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
  std::optional<Time> next_end_;  // of a wait
  bool is_writing_ = false;
  bool is_finished_ = false;
  uint64_t number_ = 0;  // of the last event
  NewestEvents newest_;
  proto::EventOwners owners_;
  proto::EventBlockWriter block_;
  std::deque<std::string> waiting_;  // blocks before that, to be written
  size_t waiting_events_ = 0;        // in them
  std::shared_ptr<Batch> in_flight_;
  int64_t warnings_second_ = 0;
  std::map<std::pair<std::string_view, std::string>, size_t> warnings_;  // of this second
  RecentEvents recent_;
  std::list<Wait> waits_;
  std::map<std::string, size_t> waits_of_user_;
  size_t standby_waits_ = 0;  // of them
  size_t reads_ = 0;          // of files, for others than standbys
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
