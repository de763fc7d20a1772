#include "master/core/back_off.h"

#include <algorithm>

#include "common/limits.h"

namespace proffer::master {
namespace {

// The first failures cause no wait, because an offer may be rescinded while its accept is on the
// way. Then the wait doubles.
void note(BackOff::Row& row, int64_t free_failures, Time now) {
  ++row.failures;
  const int64_t waits = row.failures - free_failures;
  if (waits > 0) row.until = now + doubled_wait(waits, kBackOffMax);
}

}  // namespace

Duration doubled_wait(int64_t nth, Duration most) {
  if (nth <= 0) return Duration();
  constexpr int64_t kDoublings = 20;  // enough for any wait
  return std::min(kBackOffFirst * (int64_t{1} << std::min(nth - 1, kDoublings)), most);
}

void BackOff::note_failed(const std::set<AskName>& asks, Time now) {
  for (const AskName& ask : asks) note(asks_[ask], kFreeFailuresOfAsk, now);
  note(all_, asks.empty() ? kFreeFailuresOfAsk : kFreeFailuresOfFramework, now);
}

void BackOff::note_launched(const AskName& ask) {
  all_.failures = 0;
  const auto row = asks_.find(ask);
  if (row == asks_.end()) return;
  row->second.failures = 0;
  if (!row->second.until) asks_.erase(row);
}

bool BackOff::pauses(const AskName& ask) const {
  const auto row = asks_.find(ask);
  return row != asks_.end() && row->second.until.has_value();
}

int64_t BackOff::waits() const {
  const auto of_asks =
      std::count_if(asks_.begin(), asks_.end(), [](const auto& row) { return row.second.until; });
  return of_asks + (all_.until ? 1 : 0);
}

std::optional<Time> BackOff::next_end() const {
  std::optional<Time> first = all_.until;
  for (const auto& [ask, row] : asks_) {
    if (row.until && (!first || *row.until < *first)) first = row.until;
  }
  return first;
}

BackOff::Ended BackOff::take_ended(Time now) {
  Ended ended;
  const auto ends = [&](Row& row) {
    if (!row.until || *row.until > now) return false;
    row.until.reset();
    return true;
  };
  ended.all = ends(all_);
  for (auto& [ask, row] : asks_) {
    if (ends(row)) ended.asks.push_back(ask);
  }
  return ended;
}

void BackOff::keep_only(const std::set<AskName>& declared) {
  // An ask that is soon declared again continues its wait; only the number of rows is bounded.
  if (asks_.size() <= kAsksMax) return;
  std::erase_if(asks_, [&](const auto& row) { return !declared.contains(row.first); });
}

}  // namespace proffer::master
