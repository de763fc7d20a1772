// The loop numbers events and puts them into blocks. One worker at a time writes the blocks. Then
// the blocks are kept for followers. Read add and write first.

#include "master/shell/event_log.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <span>
#include <utility>

#include <glog/logging.h>

#include "common/text.h"
#include "master/core/trace.h"
#include "proto/json/event_lines.h"
#include "proto/json/events_json.h"
#include "proto/masters.h"

namespace proffer::master {
namespace {

// Maximum of concurrent reads, besides one for a standby: each has a file in memory, and uses one
// of the four threads of the pool that also writes the registry.
constexpr size_t kEventReadsMax = 2;
// A block has at most 1/16 of the events that may wait, since a block is also dropped as a whole.
constexpr size_t kBlocksWaitingMin = 16;
constexpr size_t kWarningsPerSecond = 10;  // as in the master's own log
// Events in memory that one call examines; also the maximum for all waiting calls in one turn of
// the loop.
constexpr size_t kExaminedByCallMax = 4'096;
constexpr size_t kExaminedByWaitsMax = 16'384;
// The part of the newest files that is searched for the last events.
constexpr uint64_t kSearchBytesMax = uint64_t{16} << 20;

// Finds the user in an event; empty: it has none.
class UserOf : public TraceFields {
 public:
  void word(std::string_view key, std::string_view value) override {
    if (key == "user") name = value;
  }
  void number(std::string_view, int64_t) override {}
  void free_text(std::string_view, std::string_view) override {}

  std::string name = {};
};

uint64_t events_of(std::span<const std::string> blocks) {
  uint64_t events = 0;
  for (const std::string& block : blocks) events += proto::EventBlockReader::open(block)->events();
  return events;
}

Page page_of(const EventPageMaker& page) {
  return {.json = page.body(), .next = to_text(page.next())};
}

Page empty_page(const proto::EventPlace& next) {
  return {.json = proto::event_page_json({}, next), .next = to_text(next)};
}

}  // namespace

struct EventLog::Shared {
  std::mutex writing;  // held while a batch is written
  LeaderEpoch leader;
  std::unique_ptr<HistoryLog> log;

  FirstPlaces firsts;
  // The last place of the log that was, or should be, set aside; the disk may refuse.
  std::optional<proto::EventPlace> set_aside;
  KeptFile standby_file;  // for the single file read for standbys
  std::mutex guard;       // held only briefly
  std::vector<HistoryLog::File> files;

  Result<Page> read(const std::string& directory, const std::vector<HistoryLog::File>& files_then,
                    const Reading& reading);
  Result<void> open(const HistoryLogOptions& options, Time now);
  Result<void> write(const HistoryLogOptions& options, Batch& batch, Time now);
};

// Places of a log are in order, so a leader cannot append after a place that is not before its own.
Result<void> EventLog::Shared::open(const HistoryLogOptions& options, Time now) {
  Result<std::unique_ptr<HistoryLog>> opened = HistoryLog::open(options, now);
  if (opened) {
    const std::optional<proto::EventPlace> last = last_place(**opened);
    if (last && *last >= proto::EventPlace{leader, 1}) {
      if (!set_aside) {
        LOG(WARNING) << "the event log is set aside, because this leader's places are before its "
                        "end: a registry was restored or replaced end="
                     << to_text(*last) << " leader=" << leader.value();
      }
      set_aside = last;
      opened->reset();
      opened = HistoryLog::open_anew(options, now);
    }
  }
  if (!opened) return std::move(opened).error();
  log = *std::move(opened);
  return {};
}

// Runs in a worker, or at the beginning and the end in the loop's thread. A batch is written as a
// whole or not at all.
Result<void> EventLog::Shared::write(const HistoryLogOptions& options, Batch& batch, Time now) {
  const std::lock_guard lock(writing);
  if (batch.is_taken) return {};
  if (log == nullptr) {
    if (Result<void> opened = open(options, now); !opened) return opened;
  }
  if (Result<void> written = log->append(batch.blocks, now); !written) return written;
  batch.is_written = true;
  if (batch.is_followed) {
    for (const std::string& block : batch.blocks) batch.lines.emplace_back(block);
  }
  const std::lock_guard told(guard);
  files = log->files();
  return {};
}

EventLog::EventLog(Loop& loop, EventLogOptions options)
    : loop_(loop),
      options_(std::move(options)),
      shared_(std::make_shared<Shared>()),
      timer_(loop, [this] { write(); }),
      wait_timer_(loop, [this] { end_late(); }),
      waits_turn_(loop, [this] { answer_waits(); }),
      standby_timer_(loop, [this] { read_for_standbys(); }),
      owners_(options_.owners),
      recent_(options_.recent_bytes_max) {
  shared_->leader = options_.leader;
  MasterLeads begins;
  const Result<void> opened = shared_->open(options_.log, loop_.now());
  if (shared_->set_aside) begins.set_aside = to_text(*shared_->set_aside);
  if (opened) {
    if (const std::optional<std::string>& last = shared_->log->last()) {
      const std::optional<proto::EventPlace> place = proto::last_place_of(*last);
      begins.after = place ? to_text(*place) : "0.0";
      begins.was_cut_off = !is_last_of_leader(proto::last_line_of(*last));
    }
  }
  add(loop_.now(), {begins});
  // At once, so that the beginning is on the disk even if this master is killed soon.
  timer_.arm(std::nullopt);
  Batch first{.blocks = take_waiting()};
  const Result<void> written = shared_->write(options_.log, first, loop_.now());
  if (!written) put_back(std::move(first.blocks));
  on_written(written, std::move(first));
}

EventLog::~EventLog() { *alive_ = false; }

void EventLog::add(Time now, const std::vector<TraceEvent>& events) {
  if (is_finished_) return;
  for (const TraceEvent& event : events) {
    if (is_event(event) && may_keep(event, now)) keep(now, event);
  }
  arm(now);
}

void EventLog::keep(Time now, const TraceEvent& event) {
  if (const auto* subscribed = event.as<FrameworkSubscribed>()) {
    owners_[subscribed->framework.str()] = {subscribed->user, subscribed->role.str()};
    block_.forget_owner(subscribed->framework.str());
  }
  const proto::EventPlace place{options_.leader, ++number_};
  block_.add(place, now, event, owners_);
  newest_.note(event, place, now);
  if (const auto* gone = event.as<FrameworkTornDown>()) owners_.erase(gone->framework.str());
  const size_t events_max =
      std::clamp<size_t>(options_.waiting_max / kBlocksWaitingMin, 1, options_.block_events_max);
  if (block_.events() >= events_max || block_.bytes() >= proto::kEventBlockBytesMax) end_block();
  lose_oldest();
}

void EventLog::end_block() {
  if (block_.events() == 0) return;
  waiting_events_ += block_.events();
  waiting_.push_back(block_.take());
}

std::vector<std::string> EventLog::take_waiting() {
  end_block();
  waiting_events_ = 0;
  std::vector<std::string> blocks(std::make_move_iterator(waiting_.begin()),
                                  std::make_move_iterator(waiting_.end()));
  waiting_.clear();
  return blocks;
}

// Puts them before the blocks that came meanwhile.
void EventLog::put_back(std::vector<std::string>&& blocks) {
  waiting_events_ += events_of(blocks);
  waiting_.insert(waiting_.begin(), std::make_move_iterator(blocks.begin()),
                  std::make_move_iterator(blocks.end()));
  lose_oldest();
}

void EventLog::lose_oldest() {
  while (waiting() > options_.waiting_max && !waiting_.empty()) {
    const uint64_t events = events_of({&waiting_.front(), 1});
    waiting_.pop_front();
    waiting_events_ -= events;
    lost_ += events;
  }
}

// After an error the timer waits for the next try, even if more events come.
void EventLog::arm(Time now) {
  if (waiting() == 0 || is_writing_ || !trouble_.empty()) return;
  if (waiting() >= options_.batch_events) {
    timer_.arm(now);
  } else if (!timer_.is_armed()) {
    timer_.arm(now + options_.delay);
  }
}

// A peer can cause any number of warnings, so the number per second, kind and user is limited.
bool EventLog::may_keep(const TraceEvent& event, Time now) {
  if (event.level() != TraceLevel::kMisbehaved) return true;
  const int64_t second = now.nanos() / 1'000'000'000;
  if (second != warnings_second_) {
    warnings_second_ = second;
    warnings_.clear();
  }
  UserOf user;
  event.fields(user);
  return ++warnings_[{event.what(), std::move(user.name)}] <= kWarningsPerSecond;
}

void EventLog::write() {
  if (is_writing_ || waiting() == 0) return;
  is_writing_ = true;
  const auto batch = std::make_shared<Batch>(
      Batch{.blocks = take_waiting(), .is_followed = recent_.is_followed()});
  in_flight_ = batch;
  const auto result = std::make_shared<Result<void>>();
  loop_.work([shared = shared_, options = options_.log, now = loop_.now(), batch,
              result] { *result = shared->write(options, *batch, now); },
             [this, alive = alive_, batch, result] {
               if (!*alive) return;
               is_writing_ = false;
               if (is_finished_) return;  // finish() has written the remaining events.
               if (!*result) put_back(std::move(batch->blocks));
               on_written(*result, std::move(*batch));
             });
}

void EventLog::on_written(Result<void> result, Batch&& batch) {
  if (!result) {
    if (trouble_.empty()) {
      LOG(ERROR) << "events cannot be written: " << result.error().message()
                 << "; the master continues without them and tries again";
    }
    trouble_ = result.error().message();
    return timer_.arm(loop_.now() + options_.retry);
  }
  if (!trouble_.empty()) LOG(INFO) << "events are written again";
  trouble_.clear();
  written_ += events_of(batch.blocks);
  {
    const std::lock_guard lock(shared_->guard);
    files_ = shared_->files;
  }
  bytes_ = 0;
  for (const HistoryLog::File& file : files_) bytes_ += file.bytes;
  recent_.add(std::move(batch.blocks), std::move(batch.lines));
  arm(loop_.now());
  answer_waits();
  if (on_more_) on_more_();
}

void EventLog::finish(bool is_in_order) {
  if (is_in_order) add(loop_.now(), {MasterLeadsNoLonger()});
  if (std::exchange(is_finished_, true)) return;
  Batch last{.blocks = take_waiting()};
  if (is_writing_) {
    // If its worker has not begun, the batch is written here in its place.
    const std::lock_guard lock(shared_->writing);
    Batch& before = *in_flight_;
    if (before.is_written) {
      recent_.add(std::move(before.blocks), std::move(before.lines));
    } else {
      before.is_taken = true;
      last.blocks.insert(last.blocks.begin(), before.blocks.begin(), before.blocks.end());
    }
  }
  const Result<void> written = shared_->write(options_.log, last, loop_.now());
  if (written) {
    recent_.add(std::move(last.blocks));
  } else {
    LOG(ERROR) << "the last events are lost: " << written.error().message();
  }
  for (auto next_wait = waits_.begin(); next_wait != waits_.end();) {
    const auto wait = next_wait++;
    if (wait->reading.standby) answer_wait(wait, SIZE_MAX);
  }
}

proto::EventPlace EventLog::end() const {
  // Events that wait to be written will be readable, too.
  if (!recent_.is_empty()) return {options_.leader, recent_.last().number + 1};
  if (!waiting_.empty()) return *proto::first_place_of(waiting_.front());
  if (block_.events() > 0) return block_.first();
  return {options_.leader, number_ + 1};
}

bool EventLog::is_beyond(const proto::EventPlace& from) const {
  return from > proto::EventPlace{options_.leader, number_ + 1};
}

EventLog::RecentPage EventLog::page_of_recent(const Reading& reading, size_t examined_max) const {
  EventPageMaker page(reading.query,
                      EventFilter(reading.query, reading.by.get(), reading.is_operator),
                      reading.form);
  size_t examined = 0;
  recent_.each_from(*reading.query.from,
                    [&](std::string_view line, const proto::EventPlace& place) {
                      return page.add(line, place) && ++examined < examined_max;
                    });
  return {page_of(page), page.next(), page.is_empty(), examined};
}

void EventLog::read(proto::EventQuery query, PrincipalPtr by, bool is_operator, Done done,
                    EventForm form) {
  read(Reading{std::move(query), std::move(by), is_operator, std::move(done), form});
}

void EventLog::follow(const proto::MasterId& standby, const proto::FollowCall& call, Done done) {
  end_calls_of(standby);
  static const auto kMaster =
      std::make_shared<const Principal>(Principal{.uid = kNoUid, .is_master = true});
  read(Reading{.query = {.from = call.from, .limit = proto::kFollowRowsMax, .wait = call.wait},
               .by = kMaster,
               .is_operator = true,
               .done = std::move(done),
               .standby = standby});
}

// A standby that repeats its call counts the earlier answer as lost, so that call is not needed.
void EventLog::end_calls_of(const proto::MasterId& standby) {
  const auto error = [] { return Error::unavailable("this standby has asked again"); };
  for (auto next_wait = waits_.begin(); next_wait != waits_.end();) {
    const auto wait = next_wait++;
    if (wait->reading.standby == standby) end_wait(wait, error());
  }
  std::vector<Done> ended;
  std::erase_if(standby_reads_, [&](Reading& reading) {
    if (reading.standby != standby) return false;
    ended.push_back(std::move(reading.done));
    return true;
  });
  for (const Done& done : ended) done(error());
}

void EventLog::read(Reading&& reading) {
  if (!reading.query.from && reading.query.last == 0 && reading.query.wait > Duration()) {
    reading.query.from = end();
  }
  if (reading.query.from && is_beyond(*reading.query.from)) {
    EventPageMaker page(reading.query,
                        EventFilter(reading.query, reading.by.get(), reading.is_operator),
                        reading.form);
    page.go_back(end(), loop_.now());
    return reading.done(page_of(page));
  }
  if (reading.query.from && (recent_.has(*reading.query.from) || *reading.query.from >= end())) {
    return read_recent(std::move(reading));
  }
  read_files(std::move(reading));
}

void EventLog::read_recent(Reading&& reading) {
  RecentPage recent = page_of_recent(reading, kExaminedByCallMax);
  const bool is_at_end = recent.is_empty && recent.next >= end();
  if (!is_at_end || reading.query.wait <= Duration()) {
    return reading.done(std::move(recent.page));
  }
  // Events that exist already are not requested.
  reading.query.from = recent.next;
  const std::string user = audit_name(reading.by.get());
  if (Result<void> may_wait = check_may_wait(reading, user); !may_wait) {
    return reading.done(std::move(may_wait).error());
  }
  ++waits_of_user_[user];
  if (reading.standby) ++standby_waits_;
  const Time until = loop_.now() + reading.query.wait;
  waits_.push_back({std::move(reading), until});
  next_end_ = std::min(next_end_.value_or(until), until);
  wait_timer_.arm(next_end_);
}

// Users and standbys do not displace each other, and no user, not even an operator, can displace
// all others.
Result<void> EventLog::check_may_wait(const Reading& reading, const std::string& user) const {
  if (reading.standby) {
    if (standby_waits_ < proto::kStandbysMax) return {};
    return Error::resource_exhausted(
        text("too many calls wait for events: ", standby_waits_, " standbys"));
  }
  const auto found = waits_of_user_.find(user);
  const size_t of_user = found == waits_of_user_.end() ? 0 : found->second;
  const size_t of_user_max =
      reading.is_operator ? options_.waits_per_operator_max : options_.waits_per_user_max;
  const size_t of_users = waits_.size() - standby_waits_;
  if (of_users < options_.waits_max && of_user < of_user_max) return {};
  return Error::resource_exhausted(text("too many calls wait for events: ", of_users, ", at most ",
                                        options_.waits_max, "; of user ", quoted(user), " ",
                                        of_user, ", at most ", of_user_max))
      .with_hint("use a call that does not wait, or one waiting process for all");
}

void EventLog::end_wait(std::list<Wait>::iterator wait, Result<Page> page) {
  const auto count = waits_of_user_.find(audit_name(wait->reading.by.get()));
  if (--count->second == 0) waits_of_user_.erase(count);
  if (wait->reading.standby) --standby_waits_;
  const Done done = std::move(wait->reading.done);
  waits_.erase(wait);
  done(std::move(page));
}

void EventLog::answer_waits() {
  size_t left = kExaminedByWaitsMax;
  for (auto next_wait = waits_.begin(); next_wait != waits_.end() && left > 0;) {
    left -= answer_wait(next_wait++, left);
  }
  if (left == 0) waits_turn_.arm(loop_.now());
}

// Answers a wait if one of the next events matches, or if the events to be examined are not in
// memory. Returns the number of examined events.
size_t EventLog::answer_wait(std::list<Wait>::iterator wait, size_t examined_max) {
  proto::EventPlace& from = *wait->reading.query.from;
  if (from >= end()) return 0;
  if (!recent_.has(from)) {
    // So many events came at once that the first are on the disk only. The next call reads them.
    end_wait(wait, empty_page(from));
    return 0;
  }
  RecentPage recent = page_of_recent(wait->reading, examined_max);
  from = recent.next;
  if (!recent.is_empty) end_wait(wait, std::move(recent.page));
  return recent.examined;
}

void EventLog::end_late() {
  const Time now = loop_.now();
  next_end_.reset();
  for (auto next_wait = waits_.begin(); next_wait != waits_.end();) {
    const auto wait = next_wait++;
    if (wait->until <= now) {
      end_wait(wait, empty_page(*wait->reading.query.from));
    } else {
      next_end_ = std::min(next_end_.value_or(wait->until), wait->until);
    }
  }
  wait_timer_.arm(next_end_);
}

void EventLog::read_files(Reading&& reading) {
  if (reading.standby && standby_reads_.size() < proto::kStandbysMax) {
    standby_reads_.push_back(std::move(reading));
    return read_for_standbys();
  }
  if (reading.standby || reads_ >= kEventReadsMax) {
    return reading.done(Error::resource_exhausted("too many event queries are running")
                            .with_hint("try again in a moment"));
  }
  ++reads_;
  start_reading(std::move(reading));
}

void EventLog::read_for_standbys() {
  if (standby_reads_.empty() || is_reading_for_standby_) return;
  if (loop_.now() < next_standby_read_) return standby_timer_.arm(next_standby_read_);
  Reading next = std::move(standby_reads_.front());
  standby_reads_.pop_front();
  is_reading_for_standby_ = true;
  start_reading(std::move(next));
}

void EventLog::start_reading(Reading&& reading) {
  const auto result = std::make_shared<Result<Page>>(Page());
  const auto asked = std::make_shared<const Reading>(std::move(reading));
  loop_.work([shared = shared_, directory = options_.log.directory, files = files_, asked,
              result] { *result = shared->read(directory, files, *asked); },
             [this, alive = alive_, asked, result, began = loop_.now()] {
               if (!*alive) return;
               if (asked->standby) {
                 is_reading_for_standby_ = false;
                 const Duration took = loop_.now() - began + milliseconds(1);
                 next_standby_read_ = loop_.now() + took * options_.standby_rests;
                 read_for_standbys();
               } else {
                 --reads_;
               }
               asked->done(std::move(*result));
             });
}

Result<Page> EventLog::Shared::read(const std::string& directory,
                                    const std::vector<HistoryLog::File>& files_then,
                                    const Reading& reading) {
  proto::EventQuery query = reading.query;
  const EventFilter filter(query, reading.by.get(), reading.is_operator);
  if (!query.from && query.last > 0) {
    const Result<proto::EventPlace> first =
        find_last(directory, files_then, query.last, kSearchBytesMax, filter);
    if (!first) return first.error();
    query.from = *first;
  }
  EventPageMaker page(query, filter, reading.form);
  const proto::EventPlace from = query.from.value_or(proto::EventPlace());
  KeptFile* const kept = reading.standby ? &standby_file : nullptr;
  Result<void> read = read_events(directory, files_then, from, kPageReadBytes, firsts, page, kept);
  // The newest file will be in memory, and still grows.
  if (kept != nullptr && !files_then.empty() && kept->file == files_then.back()) *kept = {};
  if (!read) return std::move(read).error();
  return page_of(page);
}

}  // namespace proffer::master
