// The follower requests a page (ask), writes it (write), and requests the next (on_written). Read
// go_on first.

#include "master/shell/event_follower.h"

#include <mutex>
#include <utility>
#include <vector>

#include <glog/logging.h>

#include "common/printable.h"
#include "common/text.h"
#include "master/shell/event_pages.h"
#include "net/randomness.h"
#include "proto/json/events_json.h"

namespace proffer::master {

struct EventFollower::Shared {
  std::mutex writing;  // held while the log is opened or written
  bool is_closed = false;
  std::unique_ptr<HistoryLog> log = {};

  Result<Outcome> open(const HistoryLogOptions& options, Time now);
  Result<Outcome> write(const HistoryLogOptions& options, Batch& batch, Time now);
};

// Runs in a worker.
Result<EventFollower::Outcome> EventFollower::Shared::open(const HistoryLogOptions& options,
                                                           Time now) {
  const std::lock_guard lock(writing);
  if (is_closed) return Outcome();
  Result<std::unique_ptr<HistoryLog>> opened = HistoryLog::open(options, now);
  if (!opened) return std::move(opened).error();
  log = *std::move(opened);
  Outcome outcome{.bytes = log->bytes()};
  const std::optional<proto::EventPlace> last = last_place(*log);
  if (last) outcome.next = {last->leader, last->number + 1};
  return outcome;
}

// Runs in a worker, or at the end in the loop's thread. A page is written as a whole or not at all.
Result<EventFollower::Outcome> EventFollower::Shared::write(const HistoryLogOptions& options,
                                                            Batch& batch, Time now) {
  const std::lock_guard lock(writing);
  if (is_closed || batch.is_written) return Outcome();
  if (!batch.events) {
    Result<proto::FollowedEvents> events = proto::parse_followed_events(batch.json, batch.from);
    batch.is_malformed = !events;
    if (!events) return std::move(events).error();
    batch.events = *std::move(events);
    batch.json.clear();
  }
  const proto::FollowedEvents& events = *batch.events;
  const bool leads_back = events.next < batch.from;
  if (log == nullptr || leads_back) {
    log.reset();
    Result<std::unique_ptr<HistoryLog>> opened =
        leads_back ? HistoryLog::open_anew(options, now) : HistoryLog::open(options, now);
    if (!opened) return std::move(opened).error();
    log = *std::move(opened);
  }
  if (leads_back) {
    // Such a page contains only a gap. The new log gets all events that the leader has.
    batch.is_written = true;
    return Outcome{.bytes = log->bytes()};
  }
  if (!events.records.empty()) {
    if (Result<void> written = log->append(events.records, now); !written) {
      return std::move(written).error();
    }
  }
  batch.is_written = true;
  return Outcome{.next = events.next, .written = events.events, .bytes = log->bytes()};
}

EventFollower::EventFollower(Loop& loop, EventFollowerOptions options,
                             std::function<void(const proto::FollowCall&)> ask)
    : loop_(loop),
      options_(std::move(options)),
      ask_(std::move(ask)),
      shared_(std::make_shared<Shared>()),
      timer_(loop,
             [this] {
               // The answer is late and counts as lost.
               is_asked_ = false;
               go_on();
             }),
      backoff_(options_.backoff, random_seed()) {}

EventFollower::~EventFollower() {
  *alive_ = false;
  if (batch_ != nullptr) {
    // A worker may be writing it, may have written it, or may not have begun.
    const Result<Outcome> last = shared_->write(options_.log, *batch_, loop_.now());
    if (!last) LOG(ERROR) << "events of the leader cannot be written: " << last.error().message();
  }
  const std::lock_guard lock(shared_->writing);
  shared_->is_closed = true;
  shared_->log.reset();
}

void EventFollower::begin() {
  is_following_ = true;
  ++connection_;
  is_asked_ = false;
  backoff_.reset();
  go_on();
}

void EventFollower::end() {
  is_following_ = false;
  if (std::exchange(is_asked_, false)) timer_.arm(std::nullopt);
}

void EventFollower::go_on() {
  if (is_busy_) return;
  if (batch_ != nullptr) return write();
  if (!is_following_ || is_asked_) return;
  if (!next_) return open();
  ask();
}

void EventFollower::ask() {
  is_asked_ = true;
  timer_.arm(loop_.now() + options_.wait + options_.answers_in);
  ask_({.from = *next_, .wait = options_.wait});
}

void EventFollower::open() {
  is_busy_ = true;
  const auto result = std::make_shared<Result<Outcome>>(Outcome());
  loop_.work([shared = shared_, log = options_.log, now = loop_.now(),
              result] { *result = shared->open(log, now); },
             [this, alive = alive_, result] {
               if (*alive) on_opened(std::move(*result));
             });
}

void EventFollower::on_opened(Result<Outcome> result) {
  is_busy_ = false;
  if (!result) return fail(result.error());
  next_ = result->next;
  bytes_ = result->bytes;
  go_on();
}

void EventFollower::on_answer(const proto::Reply& reply) {
  if (!is_asked_) return;
  is_asked_ = false;
  timer_.arm(std::nullopt);
  if (reply.error) return refused(Error(reply.error->code, reply.error->message));
  backoff_.reset();
  batch_ =
      std::make_shared<Batch>(Batch{.connection = connection_, .from = *next_, .json = reply.json});
  write();
}

void EventFollower::refused(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kResourceExhausted:  // The leader is reading files for other readers.
      return timer_.arm(loop_.now() + options_.pause);
    case ErrorCode::kUnavailable:
    case ErrorCode::kTimeout:
      return timer_.arm(loop_.now() + backoff_.next());
    default:  // The leader has an earlier version, or keeps no events.
      return stop_following(error.message());
  }
}

void EventFollower::write() {
  is_busy_ = true;
  const auto result = std::make_shared<Result<Outcome>>(Outcome());
  loop_.work([shared = shared_, log = options_.log, now = loop_.now(), batch = batch_,
              result] { *result = shared->write(log, *batch, now); },
             [this, alive = alive_, result] {
               if (*alive) on_written(std::move(*result));
             });
}

void EventFollower::on_written(Result<Outcome> result) {
  is_busy_ = false;
  if (!result && !batch_->is_malformed) return fail(result.error());
  const auto batch = std::exchange(batch_, nullptr);
  if (!result) {
    LOG(WARNING) << "events of a leader cannot be read: "
                 << printable_line(result.error().message());
    // The answer is of an earlier leader.
    if (batch->connection != connection_) return go_on();
    return stop_following("they cannot be read");
  }
  if (!trouble_.empty()) LOG(INFO) << "events of the leader are written again";
  trouble_.clear();
  written_ += result->written;
  bytes_ = result->bytes;
  const proto::EventPlace before = std::exchange(*next_, result->next);
  if (*next_ < before) {
    LOG(WARNING)
        << "the event log is set aside, because the leader's events are older than its end: "
           "a registry was restored or replaced from="
        << to_text(before);
  }
  if (*next_ == before) return timer_.arm(loop_.now() + options_.pause);
  go_on();
}

// While writes fail, only this page waits.
void EventFollower::fail(const Error& error) {
  if (trouble_.empty()) {
    LOG(ERROR) << "events of the leader cannot be written: " << error.message()
               << "; this standby tries again";
  }
  trouble_ = error.message();
  timer_.arm(loop_.now() + options_.retry);
}

// Until the next connection, which may be to another leader, or to another version of this one.
void EventFollower::stop_following(std::string_view why) {
  is_following_ = false;
  LOG(INFO) << "events of the leader are not followed reason=" << log_value(why);
}

}  // namespace proffer::master
