#pragma once

// The event log of a master that stands by (ADR 0136). The follower asks the leader for the events
// behind the last one in its own log, and appends them there in blocks, each event with the place
// that the leader gave it. So a master that leads next goes on in a log that has the events of the
// leaders before.
//
// A leader whose places are before the end of this log has a registry that was restored or made
// anew. Then this log is set aside (HistoryLog::open_anew), and a new one begins.
//
// One call is under way at a time: the next page is asked for when this one is on the disk. A disk
// that refuses stops the asking, so a page is all that waits.

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
  Duration wait = seconds(20);         // of one call, if there are no events
  Duration answers_in = seconds(10);   // and so much later an answer is taken for lost
  Duration pause = milliseconds(100);  // after an answer without events
  Duration retry = seconds(5);         // after a write that failed
  BackoffLimits backoff = {.min = milliseconds(100), .max = seconds(30)};  // after other refusals
};

class EventFollower {
 public:
  // `ask` sends a call to the leader; its answer comes to on_answer().
  EventFollower(Loop& loop, EventFollowerOptions options,
                std::function<void(const proto::FollowCall&)> ask);
  // Writes the page that waits, and closes the log. Blocks.
  ~EventFollower();
  EventFollower(const EventFollower&) = delete;
  EventFollower& operator=(const EventFollower&) = delete;

  // A leader knows this standby, on a connection that has just begun.
  void begin();
  // That connection has ended.
  void end();
  // The leader's answer to the last call.
  void on_answer(const proto::Reply& reply);

  // Why nothing is written now; empty: all is well.
  const std::string& trouble() const { return trouble_; }
  uint64_t written() const { return written_; }  // events, in this life
  uint64_t bytes() const { return bytes_; }      // on the disk

 private:
  // A page on its way to the disk.
  struct Batch {
    uint64_t connection = 0;
    proto::EventPlace from = {};  // that was asked for
    std::string json = {};
    // Under Shared::writing.
    std::optional<proto::FollowedEvents> events = {};  // as read from `json`
    bool is_malformed = false;
    bool is_written = false;
  };
  struct Outcome {
    proto::EventPlace next = {};
    uint64_t written = 0;
    uint64_t bytes = 0;
  };
  struct Shared;  // with the worker

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
  bool is_following_ = false;              // the leader on the present connection
  uint64_t connection_ = 0;                // its number
  bool is_asked_ = false;                  // a call is not answered yet
  bool is_busy_ = false;                   // a worker opens the log, or writes
  std::optional<proto::EventPlace> next_;  // behind the last event in the log; none: not known yet
  std::shared_ptr<Batch> batch_;           // that is not written yet
  std::string trouble_;
  uint64_t written_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace proffer::master
