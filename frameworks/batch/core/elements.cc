// The transitions of an array's elements. Read `draft` and `on_status` first.

#include "frameworks/batch/core/elements.h"

#include <algorithm>

#include "common/check.h"
#include "common/text.h"

namespace proffer::batch {

using proto::TaskReason;
using proto::TaskState;

// --- positions ---------------------------------------------------------------------------------

void Positions::add(uint32_t first, uint32_t end) {
  if (first >= end) return;
  remove(first, end);
  size_ += end - first;
  auto next = pieces_.lower_bound(first);
  if (next != pieces_.begin()) {
    const auto before = std::prev(next);
    if (before->second == first) {
      first = before->first;
      pieces_.erase(before);
    }
  }
  if (next != pieces_.end() && next->first == end) {
    end = next->second;
    pieces_.erase(next);
  }
  pieces_[first] = end;
}

void Positions::remove(uint32_t first, uint32_t end) {
  if (first >= end) return;
  auto at = pieces_.upper_bound(first);
  if (at != pieces_.begin()) --at;
  while (at != pieces_.end() && at->first < end) {
    const auto [from, to] = *at;
    if (to <= first) {
      ++at;
      continue;
    }
    at = pieces_.erase(at);
    if (from < first) pieces_[from] = first;
    if (to > end) pieces_[end] = to;
    size_ -= std::min(to, end) - std::max(from, first);
  }
}

bool Positions::contains(uint32_t first, uint32_t end) const {
  auto at = pieces_.upper_bound(first);
  if (at == pieces_.begin()) return false;
  --at;
  return at->first <= first && end <= at->second;
}

// --- the life of an array ----------------------------------------------------------------------

namespace {

bool all_of(const std::vector<bool>& flags) {
  return std::all_of(flags.begin(), flags.end(), [](bool flag) { return flag; });
}

}  // namespace

Elements::Elements(const JobId& job, const ArrayOrder& order, int32_t attempts,
                   uint32_t attempts_before, uint32_t retries)
    : job_(job),
      order_(order),
      attempts_(attempts),
      attempts_before_(attempts_before),
      retries_(retries),
      element_attempts_before_(static_cast<int32_t>(
          std::min<int64_t>(int64_t{retries} * order.attempts_max(), kElementAttemptMax / 2))),
      size_(order.size()),
      is_done_(size_),
      is_failed_(size_),
      failed_attempts_(size_ / kBlockElements + 1),
      is_skipped_(size_),
      was_cut_(attempts_before > 0) {
  if (was_cut_) launched_until_ = size_;
  pending_.add(0, size_);
}

void Elements::restore(uint32_t block, const ElementsRecord& record) {
  const uint64_t begin = uint64_t{block} * kBlockElements;
  const uint64_t end = std::min<uint64_t>(begin + kBlockElements, size_);
  if (begin >= end || record.done.size() != end - begin) return;  // not a block of this array
  failed_attempts_[block] = record.failed_attempts;
  last_failed_ = std::max(last_failed_, record.last_failed);
  last_broken_ = last_failed_;
  const bool is_of_this_try = record.retries == retries_;
  // Ranks run all at the same time, so ranks that are done run again too, unless all are done.
  if (order_.is_gang && !is_of_this_try && !all_of(record.done)) return;
  for (auto position = static_cast<uint32_t>(begin); position < end; ++position) {
    is_done_[position] = record.done[position - begin];
    is_failed_[position] = is_of_this_try && !is_done_[position] && record.failed[position - begin];
    if (!has_ended(position)) continue;
    ++(is_done_[position] ? done_ : failed_);
    pending_.remove(position, position + 1);
  }
  if (!is_of_this_try) return;
  for (const auto& [place, failures] : record.failures) {
    const auto position = static_cast<uint32_t>(begin + place);
    // Failures of a gang are stored with its first rank.
    if (order_.is_gang || !has_ended(position)) used_[position] = failures;
  }
  for (const auto& [place, requeues] : record.requeues) {
    const auto position = static_cast<uint32_t>(begin + place);
    if (used_.contains(position)) requeues_[position] = requeues;
  }
}

std::optional<ElementsRecord> Elements::block(uint32_t block) const {
  const uint32_t begin = block * kBlockElements;
  const uint32_t end = std::min(begin + kBlockElements, size_);
  ElementsRecord record{.done = {is_done_.begin() + begin, is_done_.begin() + end},
                        .failed = {is_failed_.begin() + begin, is_failed_.begin() + end},
                        .failures = {},
                        .requeues = {},
                        .failed_attempts = failed_attempts_[block],
                        .last_failed = block == 0 ? last_failed_ : 0,
                        .retries = retries_};
  bool has_begun = record.failed_attempts > 0;
  for (auto at = used_.lower_bound(begin); at != used_.end() && at->first < end; ++at) {
    record.failures[at->first - begin] = at->second;
    has_begun = true;
  }
  for (auto at = requeues_.lower_bound(begin); at != requeues_.end() && at->first < end; ++at) {
    record.requeues[at->first - begin] = at->second;
  }
  for (uint32_t position = begin; position < end && !has_begun; ++position) {
    has_begun = has_ended(position);
  }
  if (!has_begun) return std::nullopt;
  return record;
}

// --- elements that wait for those of another array -----------------------------------------------

void Elements::follow(uint32_t position, Fate fate) {
  if (!are_free(position, position + 1) && !is_skipped_[position]) return;
  take_out(position);
  switch (fate) {
    case Fate::kOpen:
      return held_.add(position, position + 1);
    case Fate::kMet:
      return pending_.add(position, position + 1);
    case Fate::kNever:
      is_skipped_[position] = true;
      ++skipped_;
      return;
  }
}

Fate Elements::fate_of(uint32_t position) const {
  if (is_done_[position]) return Fate::kMet;
  return is_failed_[position] || is_skipped_[position] ? Fate::kNever : Fate::kOpen;
}

void Elements::take_out(uint32_t position) {
  take_out(position, position + 1);
  if (!is_skipped_[position]) return;
  is_skipped_[position] = false;
  --skipped_;
}

void Elements::take_out(uint32_t first, uint32_t end) {
  pending_.remove(first, end);
  held_.remove(first, end);
}

// In a range that an earlier life has launched, elements can be held: the elements that they wait
// for are done, but this life does not know it yet.
bool Elements::are_free(uint32_t first, uint32_t end) const {
  if (held_.empty()) return pending_.contains(first, end);
  for (uint32_t position = first; position < end; ++position) {
    if (!pending_.contains(position, position + 1) && !held_.contains(position, position + 1)) {
      return false;
    }
  }
  return true;
}

// --- launches ----------------------------------------------------------------------------------

// Half of an equal share of the rest, so that the last ranges end together, within the bounds of
// the time that a range takes.
uint32_t Elements::range_size() const {
  const auto shares = 2 * static_cast<int64_t>(ranges_.size() + 1);
  const int64_t guided = (pending_.size() + shares - 1) / shares;
  const auto elements_in = [&](Duration time) {
    return std::clamp<int64_t>(time.micros() / element_micros_, 1, kRangeElementsMax);
  };
  if (element_micros_ == 0) {
    return static_cast<uint32_t>(std::clamp<int64_t>(guided, 1, kRangeElementsFirst));
  }
  return static_cast<uint32_t>(
      std::clamp(guided, elements_in(kRangeLeast), elements_in(kRangeTarget)));
}

int64_t Elements::wanted() const {
  if (order_.is_gang) return pending_.size() == size_ && is_quiet() ? size_ : 0;
  const int64_t ranges = (pending_.size() + range_size() - 1) / range_size();
  if (order_.at_once == 0) return ranges;
  return std::min(ranges, std::max<int64_t>(order_.at_once - std::ssize(ranges_), 0));
}

std::optional<Elements::Draft> Elements::draft() const {
  if (wanted() == 0) return std::nullopt;
  const auto [first, until] = pending_.front();
  // The results of a range are in one block.
  uint32_t end = std::min(until, (first / kBlockElements + 1) * kBlockElements);
  end = std::min(end, first + range_size());
  auto suspect = suspects_.upper_bound(first);
  if (suspect != suspects_.end()) end = std::min(end, suspect->first);
  if (suspect != suspects_.begin()) {
    --suspect;
    const uint32_t suspect_end = suspect->first + suspect->second;
    if (first < suspect_end) end = std::min(end, suspect_end);
  }
  Draft draft{.name = {.job = job_,
                       .kind = TaskKind::kRange,
                       .number = launches_,
                       .attempt = attempts_before_ + 1,
                       .first = first,
                       .count = end - first}};
  RangeWork& work = draft.work;
  work.command = order_.command;
  work.first = first;
  work.indices = slice(order_.indices, first, end - first);
  work.directory = order_.directory;
  work.ok = order_.ok;
  work.timeout = order_.timeout;
  work.time = kRangeTime;
  while (lanes_.contains(work.lane)) ++work.lane;
  work.looks_back = was_cut_ && first < launched_until_;
  work.failures = used_attempts(first, end);
  return draft;
}

std::map<uint32_t, int32_t> Elements::used_attempts(uint32_t first, uint32_t end) const {
  std::map<uint32_t, int32_t> used;
  if (element_attempts_before_ > 0) {
    for (uint32_t place = 0; place < end - first; ++place) used[place] = element_attempts_before_;
  }
  for (auto at = used_.lower_bound(first); at != used_.end() && at->first < end; ++at) {
    used[at->first - first] += at->second;
  }
  return used;
}

// Attempts of a gang are numbered through all lives of the scheduler; the last attempt of a rank
// counts.
Elements::Draft Elements::draft_rank() const {
  const uint32_t rank = pending_.front().first;
  Draft draft{.name = {.job = job_,
                       .kind = TaskKind::kRange,
                       .number = launches_,
                       .attempt = attempts_before_ + 1,
                       .first = rank,
                       .count = 1}};
  RangeWork& work = draft.work;
  work.command = order_.command;
  work.first = rank;
  work.indices = slice(order_.indices, rank, 1);
  work.directory = order_.directory;
  work.ok = order_.ok;
  work.timeout = order_.timeout;
  work.time = kRangeTime;
  while (lanes_.contains(work.lane)) ++work.lane;
  work.failures[0] = static_cast<int32_t>(attempts_before_ + gang_launches_);
  return draft;
}

void Elements::launch(const Draft& draft, const AgentId& agent) {
  const uint32_t first = draft.name.first;
  const uint32_t end = first + draft.name.count;
  ++launches_;
  pending_.remove(first, end);
  launched_until_ = std::max(launched_until_, end);
  lanes_.insert(draft.work.lane);
  ranges_[to_task_id(draft.name)] = {
      .first = first, .end = end, .agent = agent, .lane = draft.work.lane};
  if (order_.is_gang && pending_.empty()) ++gang_launches_;
}

void Elements::want(uint32_t first, uint32_t end) {
  for (uint32_t position = first; position < end; ++position) {
    if (has_ended(position) || is_skipped_[position]) continue;
    uint32_t until = position + 1;
    while (until < end && !has_ended(until) && !is_skipped_[until]) ++until;
    held_.remove(position, until);
    pending_.add(position, until);
    position = until;
  }
}

namespace {

std::string lost_text(std::string_view trouble) {
  return text("its end and its output could not be stored: ", trouble);
}

// Possibly caused by an element: its executor ended, or could not end it at its time limit.
bool is_failure(const proto::TaskStatus& status) {
  return status.state == TaskState::kFailed || status.reason == TaskReason::kRanTooLong ||
         (status.state == TaskState::kRefused && status.reason == TaskReason::kTaskInvalid);
}

}  // namespace

// --- updates -----------------------------------------------------------------------------------

void Elements::give_up(Range& range) {
  if (std::exchange(range.given_up, true)) return;
  was_cut_ = true;
  want(range.first, range.end);
}

// An earlier life launched it: it runs its elements, if they are free.
Elements::Ranges::iterator Elements::adopt(const TaskName& name, const proto::TaskStatus& status,
                                           bool is_late) {
  Range range{.first = name.first, .end = name.first + name.count, .agent = status.agent};
  range.given_up = is_late || !are_free(range.first, range.end) ||
                   (order_.is_gang && gang_attempt(name) <= last_broken_);
  if (!range.given_up) take_out(range.first, range.end);
  return ranges_.emplace(status.task, std::move(range)).first;
}

void Elements::on_status(const TaskName& name, const proto::TaskStatus& status, bool is_late,
                         std::vector<TaskId>& kill) {
  auto found = ranges_.find(status.task);
  if (found == ranges_.end()) {
    // a duplicate or late update, or a task that was never launched
    if (name.attempt > attempts_before_ || name.count == 0 || name.count > kRangeElementsMax ||
        uint64_t{name.first} + name.count > size_) {
      return;
    }
    found = adopt(name, status, is_late);
  }
  Range& range = found->second;
  range.is_unreachable = status.state == TaskState::kUnreachable;
  const bool has_failed = is_failure(status);
  switch (status.state) {
    case TaskState::kStaging:
    case TaskState::kRunning:
      // it was given up with its agent, and is back
      if (!range.given_up || range.kill_asked) return;
      if (!is_late && !order_.is_gang && are_free(range.first, range.end)) {
        range.given_up = false;
        take_out(range.first, range.end);
        return;
      }
      range.kill_asked = true;
      kill.push_back(status.task);
      return;
    case TaskState::kKilling:
      return;
    case TaskState::kUnreachable:
      if (order_.is_gang && !range.given_up && !is_late) {
        break_gang(gang_attempt(name), kill);
      }
      return give_up(range);
    case TaskState::kFinished:
    case TaskState::kFailed:
    case TaskState::kKilled:
    case TaskState::kLost:
    case TaskState::kGone:
    case TaskState::kRefused:
      break;
  }
  const Range ended = range;
  if (!ended.given_up) want(ended.first, ended.end);
  if (status.state != TaskState::kFinished) was_cut_ = true;
  if (ended.lane) lanes_.erase(*ended.lane);
  ranges_.erase(found);
  if (order_.is_gang) {
    if (!ended.given_up && !is_late) on_rank_ended(name, ended, status, kill);
    return;
  }
  if (status.state == TaskState::kFinished) return on_finished(ended, status);
  if (has_failed && !ended.given_up) on_failed(ended, status);
}

void Elements::on_rank_ended(const TaskName& name, const Range& range,
                             const proto::TaskStatus& status, std::vector<TaskId>& kill) {
  if (all_ended()) return;
  const uint32_t attempt = gang_attempt(name);
  const std::string task = text("task ", status.task.str(), " on agent ", range.agent.str());
  if (is_failure(status)) {
    const std::string why = printable_tail(status.message, kElementStderrBytesMax);
    return fail_gang(attempt, 0, text("cannot be run: ", task, ": ", why), kill);
  }
  if (status.state != TaskState::kFinished) return break_gang(attempt, kill);
  const Result<RangeResult> result = decode_range_result(status.data);
  if (!result || result->ended != 1) {
    return fail_gang(attempt, 0, text("cannot be run: ", task, " returned no result"), kill);
  }
  range_trouble_ = printable_tail(result->trouble, kRangeTroubleBytesMax);
  if (!result->failures.empty()) {
    const int32_t code = result->failures.front().code;
    const std::string tail = result->lost_last
                                 ? lost_text(range_trouble_)
                                 : printable_tail(result->stderr_tail, kElementStderrBytesMax);
    return fail_gang(
        attempt, code,
        text("rank ", range.first, " ", exit_text(code), tail.empty() ? "" : text(": ", tail)),
        kill);
  }
  pending_.remove(range.first, range.end);
  is_done_[range.first] = true;
  ++done_;
  note_change(range.first);
}

void Elements::break_gang(uint32_t attempt, std::vector<TaskId>& kill) {
  last_broken_ = std::max(last_broken_, attempt);
  for (auto& [id, range] : ranges_) {
    give_up(range);
    if (!std::exchange(range.kill_asked, true)) kill.push_back(id);
  }
  for (uint32_t rank = 0; rank < size_; ++rank) is_done_[rank] = false;
  done_ = 0;
  pending_.add(0, size_);
  note_change(0);
}

void Elements::fail_gang(uint32_t attempt, int32_t code, std::string_view how,
                         std::vector<TaskId>& kill) {
  break_gang(attempt, kill);
  if (attempt <= last_failed_) return;
  last_failed_ = attempt;
  ++used_[0];
  if (runs_again_after(0, code)) return;
  if (first_failure_.empty()) first_failure_ = how;
  for (uint32_t rank = 0; rank < size_; ++rank) fail_for_good(rank, how);
}

void Elements::on_tasks_known(std::vector<TaskId>& kill) {
  if (!order_.is_gang || all_ended() || pending_.empty() || pending_.size() == size_) return;
  break_gang(0, kill);
}

// Elements that have ended already, in another task, are not counted again.
void Elements::on_finished(const Range& range, const proto::TaskStatus& status) {
  const Result<RangeResult> result = decode_range_result(status.data);
  if (!result || result->ended > range.end - range.first) {
    proto::TaskStatus told = status;
    told.message = result ? "its executor reported more elements than it had"
                          : text("its executor returned no result: ", result.error().message());
    was_cut_ = true;  // the ends that it has stored count
    return on_failed(range, told);
  }
  range_trouble_ = printable_tail(result->trouble, kRangeTroubleBytesMax);
  if (result->ran > 0) {
    const int64_t mean = std::max<int64_t>(result->micros / result->ran, 1);
    element_micros_ = element_micros_ == 0 ? mean : (3 * element_micros_ + mean) / 4;
  }
  if (result->ended > 0) failed_in_a_row_ = 0;
  auto failure = result->failures.begin();
  std::string_view tail = result->stderr_tail;
  for (uint32_t place = 0; place < result->ended; ++place) {
    const uint32_t position = range.first + place;
    const bool has_failed = failure != result->failures.end() && failure->place == place;
    if (has_failed) {
      const ElementFailure& one = *failure++;
      const bool is_lost = result->lost_last && place + 1 == result->ended;
      on_element_failed(position, one, std::exchange(tail, {}),
                        is_lost ? std::string_view(range_trouble_) : std::string_view());
      continue;
    }
    if (has_ended(position)) continue;
    take_out(position);
    is_done_[position] = true;
    ++done_;
    used_.erase(position);
    requeues_.erase(position);
    task_failures_.erase(position);
    note_end(position);
  }
  // no element of it ends its executor
  if (result->ended == range.end - range.first) suspects_.erase(range.first);
}

// Each attempt counts once, even if several tasks report it. Attempts before a retry do not count.
void Elements::on_element_failed(uint32_t position, const ElementFailure& failure,
                                 std::string_view stderr_tail, std::string_view lost) {
  const auto before = used_.find(position);
  const int32_t known = before == used_.end() ? 0 : before->second;
  if (has_ended(position) || failure.attempt != element_attempts_before_ + known + 1) return;
  used_[position] = known + 1;
  note_change(position);
  // An element that succeeded but whose result was lost runs again only by a retry.
  const bool is_done = !lost.empty() && order_.accepts(failure.code);
  if (runs_again_after(position, failure.code) && !is_done) return;  // it stays pending
  const std::string tail =
      lost.empty() ? printable_tail(stderr_tail, kElementStderrBytesMax) : lost_text(lost);
  fail_for_good(position, text(exit_text(failure.code), tail.empty() ? "" : text(": ", tail)));
}

bool Elements::runs_again_after(uint32_t position, int32_t code) {
  const auto before = requeues_.find(position);
  const int32_t requeues = before == requeues_.end() ? 0 : before->second;
  if (order_.requeues_after(code, requeues)) {
    requeues_[position] = requeues + 1;
    return true;
  }
  ++failed_attempts_[position / kBlockElements];
  return order_.retries_after(code, used_[position] - requeues);
}

std::string Elements::exit_text(int32_t code) const {
  std::string words = text("exited with ", code);
  if (code == kTimedOutCode && order_.timeout != Duration()) {
    words +=
        text(", which usually means that it exceeded its time limit of ", to_text(order_.timeout));
  }
  return words;
}

void Elements::fail_for_good(uint32_t position, std::string_view how) {
  take_out(position);
  is_failed_[position] = true;
  ++failed_;
  used_.erase(position);
  requeues_.erase(position);
  task_failures_.erase(position);
  suspects_.erase(position);
  note_end(position);
  if (!first_failure_.empty()) return;
  first_failure_ = text("element ", index_at(order_.indices, position), " ", how);
}

// The task failed without a result: perhaps an element ends its executor. The range is divided into
// pieces that run alone, until that element is found.
void Elements::on_failed(const Range& range, const proto::TaskStatus& status) {
  ++failed_in_a_row_;
  last_failure_ =
      text("task ", status.task.str(), " failed on agent ", range.agent.str(), ": ",
           status.message.empty() ? std::string(proto::to_text(status.reason))
                                  : printable_tail(status.message, kElementStderrBytesMax));
  const uint32_t count = range.end - range.first;
  suspects_.erase(range.first);
  if (count > 1) {
    const uint32_t length = std::max(1u, count / 8);
    for (uint32_t first = range.first; first < range.end; first += length) {
      suspects_[first] = std::min(length, range.end - first);
    }
    return;
  }
  if (has_ended(range.first)) return;
  suspects_[range.first] = 1;
  if (++task_failures_[range.first] < attempts_) return;
  fail_for_good(range.first, text("cannot be run: ", last_failure_));
}

std::vector<TaskId> Elements::kill_all() {
  std::vector<TaskId> tasks;
  for (auto& [id, range] : ranges_) {
    give_up(range);
    if (!std::exchange(range.kill_asked, true)) tasks.push_back(id);
  }
  return tasks;
}

bool Elements::is_quiet() const {
  return std::all_of(ranges_.begin(), ranges_.end(),
                     [](const auto& row) { return row.second.is_unreachable; });
}

// --- results -----------------------------------------------------------------------------------

std::optional<Error> Elements::trouble() const {
  if (failed_in_a_row_ >= int64_t{kFailedTasksPerAttempt} * attempts_) {
    return Error::failed_precondition(
               text(failed_in_a_row_, " tasks failed in a row; the last: ", last_failure_))
        .with_hint(
            text("fix the cause, then run the missing elements: proffer batch retry ", job_.str()));
  }
  if (order_.failed_max < 0 || failed_ + skipped_ <= order_.failed_max) return std::nullopt;
  return Error::failed_precondition(text(failed_, " elements failed", skipped_text(),
                                         ", but at most ", order_.failed_max, " may",
                                         first_failure_.empty() ? "" : text("; ", first_failure_)))
      .with_hint(text("list them with: proffer batch results --failed ", job_.str(),
                      "; run the missing elements with: proffer batch retry ", job_.str()));
}

std::optional<Error> Elements::verdict() const {
  if (order_.failed_max >= 0 || failed_ + skipped_ == 0) return std::nullopt;
  return Error::failed_precondition(text(failed_, " of ", size_, " elements failed", skipped_text(),
                                         first_failure_.empty() ? "" : text("; ", first_failure_)))
      .with_hint(text("list them with: proffer batch results --failed ", job_.str(),
                      "; run them again with: proffer batch retry ", job_.str(),
                      "; tolerate some with --max-failed"));
}

std::string Elements::skipped_text() const {
  if (skipped_ == 0) return "";
  return text(", and ", skipped_, skipped_ == 1 ? " was" : " were",
              " skipped, because an element that they wait for failed or was skipped");
}

proto::BatchElements Elements::status() const {
  proto::BatchElements status;
  status.total = size_;
  status.done = done_;
  status.failed = failed_;
  status.waiting = held_.size();
  status.skipped = skipped_;
  for (const auto& [id, range] : ranges_) {
    ++status.tasks;
    if (!range.given_up) status.running += range.end - range.first;
  }
  for (const int64_t failed : failed_attempts_) status.failed_attempts += failed;
  if (!ranges_.empty() && element_micros_ > 0) {
    const int64_t left = size_ - done_ - failed_ - skipped_;
    status.eta = microseconds(left * element_micros_ / std::ssize(ranges_));
  }
  return status;
}

void Elements::check(std::vector<Violation>& out) const {
  const auto broken = [&](uint32_t position, std::string_view what) {
    out.push_back(Violation{text("element ", position, " ", what)});
  };
  std::vector<int> places(size_);
  for (const Positions* positions : {&pending_, &held_}) {
    for (const auto& [first, end] : positions->pieces()) {
      for (uint32_t position = first; position < end; ++position) ++places[position];
    }
  }
  std::set<uint32_t> lanes;
  for (const auto& [id, range] : ranges_) {
    if (range.lane) lanes.insert(*range.lane);
    if (range.given_up) continue;
    for (uint32_t position = range.first; position < range.end; ++position) {
      if (!has_ended(position)) ++places[position];
    }
  }
  int64_t done = 0;
  int64_t failed = 0;
  int64_t skipped = 0;
  for (uint32_t position = 0; position < size_; ++position) {
    done += is_done_[position];
    failed += is_failed_[position];
    skipped += is_skipped_[position];
    if (places[position] + is_done_[position] + is_failed_[position] + is_skipped_[position] != 1) {
      broken(position,
             "is pending, held, running, done, failed or skipped at once, or none of them");
    }
  }
  for (const auto& [position, used] : used_) {
    if (!order_.is_gang && has_ended(position)) {
      broken(position, "has ended and is to be tried again");
    }
    const auto requeued = requeues_.find(position);
    const int32_t requeues = requeued == requeues_.end() ? 0 : requeued->second;
    if (used - requeues > order_.retries) broken(position, "has failed too often, and goes on");
  }
  if (done != done_ || failed != failed_ || skipped != skipped_) {
    out.push_back(
        Violation{text("elements: counts ", done_, " done, ", failed_, " failed and ", skipped_,
                       " skipped; found ", done, ", ", failed, " and ", skipped)});
  }
  if (lanes != lanes_) out.push_back(Violation{"two ranges have a lane, or none has it"});
  // Ranges of an earlier life are reported and count, but are not launched.
  const auto launched = std::count_if(ranges_.begin(), ranges_.end(),
                                      [](const auto& row) { return row.second.lane.has_value(); });
  if (order_.at_once > 0 && launched > order_.at_once) {
    out.push_back(Violation{text(launched, " ranges run, and at most ", order_.at_once, " may")});
  }
}

}  // namespace proffer::batch
