// Arrays that wait for others by element: element i may run when element i of the other array is
// done, and is skipped when it is certain that it never will be. Read `fates_of_elements` first.
// The decisions follow from the other array alone, so they are not written. An array with followers
// leaves its elements in the store until the followers have ended.

#include <algorithm>

#include "common/check.h"
#include "common/text.h"
#include "frameworks/batch/core/jobs_state.h"
#include "sdk/store.h"

namespace proffer::batch {
namespace {

// Done elements are met, even if the job fails later.
void mark_done(uint32_t block, const std::string& bytes, std::vector<Fate>& fates) {
  const Result<ElementsRecord> record = decode_elements(bytes);
  if (!record) return;
  const uint64_t begin = uint64_t{block} * kBlockElements;
  for (size_t place = 0; place < record->done.size() && begin + place < fates.size(); ++place) {
    if (record->done[place]) fates[begin + place] = Fate::kMet;
  }
}

}  // namespace

const Dependency* Jobs::State::each_of(const KnownJob& known) {
  if (!known.waiting) return nullptr;
  const std::vector<Dependency>& after = known.waiting->after;
  const auto found = std::find_if(after.begin(), after.end(),
                                  [](const Dependency& one) { return one.on == Condition::kEach; });
  return found == after.end() ? nullptr : &*found;
}

std::vector<JobId> Jobs::State::followers_of(const JobId& job) const {
  std::vector<JobId> followers;
  const auto found = dependents_.find(job);
  if (found == dependents_.end()) return followers;
  for (const JobId& id : found->second) {
    const auto known = jobs_.find(id);
    const Dependency* each = known == jobs_.end() ? nullptr : each_of(known->second);
    if (each != nullptr && each->job == job) followers.push_back(id);
  }
  return followers;
}

// --- fates from the other array ------------------------------------------------------------------

std::vector<Fate> Jobs::State::fates_of_elements(const JobId& of, uint32_t count) const {
  const auto known = jobs_.find(of);
  const bool goes_on = known != jobs_.end() && !known->second.ended;
  if (goes_on && known->second.job) {
    std::vector<Fate> fates(count, Fate::kOpen);
    const Job& job = *known->second.job;
    const uint32_t size = job.elements().value_or(0);
    for (uint32_t i = 0; i < std::min(size, count); ++i) fates[i] = job.fate_of(i);
    return fates;
  }
  const auto kept = kept_elements_.find(of);
  if (known == jobs_.end() && kept == kept_elements_.end()) {
    const auto ended = ended_.find(of);
    const bool all_done = ended != ended_.end() && ended->second.array &&
                          ended->second.array->done == ended->second.array->total;
    return std::vector<Fate>(count, all_done ? Fate::kMet : Fate::kNever);
  }
  std::vector<Fate> fates(count, goes_on ? Fate::kOpen : Fate::kNever);
  if (known != jobs_.end()) {
    for (const auto& [name, bytes] : known->second.blocks) mark_done(name.second, bytes, fates);
  }
  if (kept != kept_elements_.end()) {
    for (const auto& [block, bytes] : kept->second) mark_done(block, bytes, fates);
  }
  return fates;
}

Fate Jobs::State::fate_now(const Dependency& one) const {
  const std::optional<proto::BatchPhase> end = end_of(one.job);
  if (one.on != Condition::kEach) return end ? batch::fate_of(one.on, *end) : Fate::kOpen;
  const auto known = jobs_.find(one.job);
  if (!end) {
    const bool has_begun = known != jobs_.end() && known->second.job &&
                           known->second.job->elements() && !known->second.has_outcome();
    return has_begun ? Fate::kMet : Fate::kOpen;
  }
  // If none of its elements is done, none of its followers' elements can ever run.
  const auto ended = ended_.find(one.job);
  const proto::BatchJob* picture = ended != ended_.end()  ? &ended->second
                                   : known != jobs_.end() ? &*known->second.ended
                                                          : nullptr;
  if (picture == nullptr || !picture->array || picture->array->done == 0) return Fate::kNever;
  return batch::fate_of(one.on, *end);
}

Result<void> Jobs::State::check_each_of(const JobOrder& order, const JobId& other) const {
  const auto ended = ended_.find(other);
  if (ended == ended_.end()) return check_each(order, other.str(), jobs_.at(other).record.order);
  const std::optional<proto::BatchElements>& array = ended->second.array;
  if (!array || array->done < array->total) {
    return Error::failed_precondition(
               text("job ", quoted(other.str()), " has ended: ",
                    array ? "it is not known any more which of its elements are done"
                          : "it is not an array"))
        .with_hint("to wait for all of another job, use after or after_any");
  }
  const uint32_t size = order.array->size();
  if (order.awaits_plan() || size == array->total) return {};
  return other_size(size, other.str(), array->total);
}

Result<void> Jobs::State::check_size(const JobOrder& order, const JobId& other) const {
  const auto known = jobs_.find(other);
  const int64_t size = known != jobs_.end() ? int64_t{known->second.record.order.array->size()}
                                            : ended_.at(other).array->total;
  if (size == int64_t{order.array->size()}) return {};
  return other_size(order.array->size(), other.str(), size);
}

// --- events --------------------------------------------------------------------------------------

void Jobs::State::follow_all(Step& step, const JobId& id, KnownJob& known) {
  const Dependency* each = each_of(known);
  if (each == nullptr || !known.job) return;
  const std::optional<uint32_t> size = known.job->elements();
  if (!size) return;
  touched_.insert(id);
  std::vector<std::pair<uint32_t, Fate>> fates;
  for (const Fate fate : fates_of_elements(each->job, *size)) {
    fates.emplace_back(static_cast<uint32_t>(fates.size()), fate);
  }
  known.job->follow(fates, step.out);
}

void Jobs::State::follow_again(Step& step, const JobId& other) {
  for (const JobId& id : followers_of(other)) follow_all(step, id, jobs_.at(id));
}

void Jobs::State::tell_followers(Step& step) {
  std::vector<JobId> touched(touched_.begin(), touched_.end());
  // A follower that ends here has news for its own followers.
  while (!touched.empty()) {
    const JobId id = touched.back();
    touched.pop_back();
    const auto known = jobs_.find(id);
    if (known == jobs_.end() || !known->second.job) continue;
    const std::vector<uint32_t> ended = known->second.job->take_ended_elements();
    if (ended.empty()) continue;
    std::vector<std::pair<uint32_t, Fate>> fates;
    for (const uint32_t element : ended) {
      fates.emplace_back(element, known->second.job->fate_of(element));
    }
    for (const JobId& follower : followers_of(id)) {
      KnownJob& other = touch(follower);
      if (!other.job) continue;
      other.job->follow(fates, step.out);
      touched.push_back(follower);
    }
  }
}

void Jobs::State::open_followers(const JobId& job) {
  for (const JobId& id : followers_of(job)) {
    KnownJob& known = touch(id);
    for (Dependency& one : known.waiting->after) {
      if (one.on != Condition::kEach || one.fate != Fate::kOpen) continue;
      one.fate = fate_now(one);
      if (one.fate == Fate::kOpen) continue;
      write_waiting(id, known);
      begin_stale_ = true;
    }
  }
}

// --- stored elements of ended arrays -------------------------------------------------------------

void Jobs::State::keep_elements(const JobId& job, const KnownJob& known) {
  if (!known.record.order.array || followers_of(job).empty()) return;
  std::map<uint32_t, std::string>& kept = kept_elements_[job];
  for (const auto& [name, bytes] : known.blocks) kept[name.second] = bytes;
  if (!known.job || known.ended) return;
  for (uint32_t block = 0; block * kBlockElements < known.job->elements().value_or(0); ++block) {
    std::string bytes = known.job->block(TaskKind::kRange, block);
    if (!bytes.empty()) kept[block] = std::move(bytes);
  }
}

void Jobs::State::forget_elements(const JobId& job, const JobId& follower) {
  const auto kept = kept_elements_.find(job);
  if (kept == kept_elements_.end()) return;
  const std::vector<JobId> followers = followers_of(job);
  if (std::any_of(followers.begin(), followers.end(),
                  [&](const JobId& one) { return one != follower; })) {
    return;
  }
  std::vector<proto::StoreOperation> operations;
  for (const auto& [block, bytes] : kept->second) {
    operations.push_back(sdk::erase(block_key(job, TaskKind::kRange, block)));
  }
  if (!operations.empty()) journal_.add(std::move(operations));
  kept_elements_.erase(kept);
}

size_t Jobs::State::kept_elements_bytes() const {
  size_t all = 0;
  for (const auto& [job, blocks] : kept_elements_) {
    for (const auto& [block, bytes] : blocks) all += bytes.size();
  }
  return all;
}

}  // namespace proffer::batch
