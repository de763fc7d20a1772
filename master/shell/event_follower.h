#pragma once

// The event log of a standby (ADR 0136). The follower requests from the leader the events after the
// last one in its own log, and appends them in blocks, each event with the place that the leader
// gave it. So if this master leads next, its log has the events of earlier leaders.
//
// If the leader's places are before the end of this log, the registry was restored or made anew.
// Then this log is set aside (HistoryLog::open_anew), and a new log begins.
//
// One call is under way at a time: the next page is requested when the last one is on the disk.
// While writes fail, no page is requested, so at most one page waits.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/time.h"
#include "net/backoff.h"
#include "net/loop.h"
#include "proto/events.h"
#include "proto/messages.h"
#include "store/history_log.h"

namespace proffer::master {

struct EventFollowerOptions {
  HistoryLogOptions log = {};
  Duration wait = seconds(20);         // how long a call waits for events
  Duration answers_in = seconds(10);   // after `wait`, before an answer counts as lost
  Duration pause = milliseconds(100);  // after an answer without events
  Duration retry = seconds(5);         // after a failed write
  BackoffLimits backoff = {.min = milliseconds(100), .max = seconds(30)};  // after other refusals
};

class EventFollower {
 public:
  // `ask` sends a call to the leader; the answer comes to on_answer().
  EventFollower(Loop& loop, EventFollowerOptions options,
                std::function<void(const proto::FollowCall&)> ask);
  // Writes the waiting page, and closes the log. Blocks.
  ~EventFollower();
  EventFollower(const EventFollower&) = delete;
  EventFollower& operator=(const EventFollower&) = delete;

  // The leader has registered this standby on a new connection.
  void begin();
  // The connection has ended.
  void end();
  // The leader's answer to the last call.
  void on_answer(const proto::Reply& reply);

  // Why nothing is written at present; empty: it works.
  const std::string& trouble() const { return trouble_; }
  uint64_t written() const { return written_; }  // events, by this process
  uint64_t bytes() const { return bytes_; }      // on the disk

 private:
  // A page that is being written.
  struct Batch {
    uint64_t connection = 0;
    proto::EventPlace from = {};  // the place that the page was requested from
    std::string json = {};
    // Used under Shared::writing.
    std::optional<proto::FollowedEvents> events = {};  // as read from `json`
    bool is_malformed = false;
    bool is_written = false;
  };
  struct Outcome {
    proto::EventPlace next = {};
    uint64_t written = 0;
    uint64_t bytes = 0;
  };
  struct Shared;  // shared with the worker

  void go_on();
  void ask();
  void open();
  void write();
  void on_opened(Result<Outcome> result);
  void on_written(Result<Outcome> result);
  void refused(const Error& error);
  void fail(const Error& error);
  void stop_following(std::string_view why);

  Loop& loop_;
  const EventFollowerOptions options_;
  const std::function<void(const proto::FollowCall&)> ask_;
  std::shared_ptr<Shared> shared_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Timer timer_;
  Backoff backoff_;
  bool is_following_ = false;  // the leader has registered this standby on the present connection
  uint64_t connection_ = 0;    // its number
  bool is_asked_ = false;      // a call has no answer yet
  bool is_busy_ = false;       // a worker opens or writes the log
  std::optional<proto::EventPlace> next_;  // after the last event in the log; none: unknown yet
  std::shared_ptr<Batch> batch_;           // not written yet
  std::string trouble_;
  uint64_t written_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace proffer::master
