#include "master/recording/life_replay.h"

#include <algorithm>
#include <utility>

#include "common/text.h"
#include "master/core/trace.h"

namespace proffer::master {

Result<bool> LifeReplay::take(const std::string& record) {
  Result<std::optional<RecordedEntry>> read = reader_.read(record);
  if (!read) return std::move(read).error();
  if (bounds_.is_kept) kept_.push_back(record);
  if (!*read) return true;
  RecordedEntry& entry = **read;
  if (auto* begins = std::get_if<RecordingBegins>(&entry)) {
    if (core_) return Error::corruption("the recording is damaged: it has two beginnings");
    version_ = begins->version;
    leader_ = begins->options.leader;
    began_ = now_ = begins->options.started_at;
    core_ = std::make_unique<Master>(begins->options, begins->snapshot);
    if (watcher_ != nullptr) watcher_->begins(begins->options, begins->snapshot);
    return true;
  }
  if (!core_) return Error::corruption("the recording is damaged: it has no beginning");
  if (const auto* sum = std::get_if<RecordedSum>(&entry)) return compare(*sum);
  if (const auto* ends = std::get_if<RecordingEnds>(&entry)) {
    why_ended_ = ends->why;
    return true;
  }
  auto& recorded = std::get<RecordedEvent>(entry);
  if (is_enough(recorded.now)) {
    if (!kept_.empty()) kept_.pop_back();
    is_cut_ = true;
    return false;
  }
  step(recorded);
  return true;
}

Result<void> LifeReplay::take_all(const std::vector<std::string>& records) {
  Result<void> outcome;
  for (const std::string& record : records) {
    Result<bool> goes_on = take(record);
    if (!goes_on) outcome = std::move(goes_on).error();
    if (!outcome || !*goes_on) break;
  }
  if (watcher_ != nullptr && core_) watcher_->ends();
  return outcome;
}

bool LifeReplay::is_enough(Time now) const {
  return (bounds_.until && now - began_ > *bounds_.until) ||
         (bounds_.steps && steps_ >= *bounds_.steps);
}

void LifeReplay::step(RecordedEvent& recorded) {
  now_ = std::max(now_, recorded.now);
  if (watcher_ != nullptr) watcher_->hears(recorded.event, recorded.now);
  out_.clear();
  core_->handle(std::move(recorded.event), recorded.now, out_);
  hash_.add(out_);
  ++steps_;
  for (const TraceEvent& event : out_.trace) {
    if (event.as<TaskLaunched>() != nullptr) ++tasks_launched_;
  }
  if (watcher_ != nullptr) watcher_->says(out_);
}

Result<bool> LifeReplay::compare(const RecordedSum& sum) {
  if (sum.steps != steps_) {
    return Error::corruption(
        text("the recording is damaged: ", steps_, " steps are present of the first ", sum.steps));
  }
  ++sums_;
  if (sum.hash == hash_.value()) {
    same_until_ = steps_;
    return true;
  }
  differs_at_ = steps_;
  return false;
}

std::vector<std::string> LifeReplay::saved() const {
  std::vector<std::string> records = kept_;
  if (same_until_ < steps_) {
    records.push_back(RecordingWriter(records.size()).sum(steps_, hash_.value()));
  }
  return records;
}

}  // namespace proffer::master
