// Read begin, correct and launched in this order: it is the life of a prediction.

#include "master/forecast/calibration.h"

#include <algorithm>
#include <utility>

namespace proffer::master {
namespace {

__extension__ using Wide = __int128;

// What took so long, of what was predicted, in thousandths.
int64_t ratio_of(Duration took, Duration predicted) {
  const Wide whole = Wide{(took + kRatioFloor).nanos()} * 1'000;
  const Wide ratio = whole / (predicted + kRatioFloor).nanos();
  return static_cast<int64_t>(std::clamp(ratio, Wide{kRatioMin}, Wide{kRatioMax}));
}

Duration scaled(Duration predicted, int64_t by) {
  const Wide whole = Wide{(predicted + kRatioFloor).nanos()} * by / 1'000;
  const Wide least = kRatioFloor.nanos();
  const Wide most = kDurationMax.nanos();
  return nanoseconds(static_cast<int64_t>(std::clamp(whole, least, most))) - kRatioFloor;
}

// The smallest of the ratios that so many thousandths of all, and of one more, are at most; the
// largest, if none is.
int64_t quantile(std::vector<int64_t> ratios, int64_t thousandths) {
  const size_t rank = ((ratios.size() + 1) * static_cast<size_t>(thousandths) + 999) / 1'000;
  const size_t place = std::min(rank, ratios.size());
  const auto at = ratios.begin() + static_cast<std::ptrdiff_t>(place - 1);
  std::nth_element(ratios.begin(), at, ratios.end());
  return *at;
}

void push(std::deque<int64_t>& ratios, int64_t ratio) {
  ratios.push_back(ratio);
  if (ratios.size() > kRatiosKept) ratios.pop_front();
}

}  // namespace

void Calibration::begin(const proto::LiveSnapshot& live) {
  asked_.clear();
  std::map<FrameworkId, RoleName> roles;  // of those that take offers now
  for (const proto::LiveFramework& one : live.frameworks) {
    if (one.connected && !one.suppressed) roles[one.framework] = one.role;
  }
  for (const proto::LiveAsk& one : live.asks) {
    if (one.ask.count == 0 || !roles.contains(one.framework)) continue;
    asked_[{one.framework, one.ask.name}] = {.role = one.ask.role.empty() ? roles[one.framework]
                                                                          : one.ask.role};
  }
  std::erase_if(open_, [&](const auto& one) { return !asked_.contains(one.first.ask); });
}

// Of each role, and of all, those that are late already: they count as if they came now, or a
// forecast would learn of what comes late only when it has come. As many as their part of all that
// are open would be of those that are kept: those in time will count only when they have come.
Calibration::LateOnes Calibration::late_ones(Time now) const {
  struct Open {
    size_t all = 0;
    std::vector<const Prediction*> late = {};
  };
  std::map<std::pair<RoleName, Rank>, Open> open;
  for (const auto& [key, one] : open_) {
    for (const RoleName& role : {one.role, RoleName()}) {
      Open& of = open[{role, key.rank}];
      ++of.all;
      if (now - one.as_of > one.told_p90) of.late.push_back(&one);
    }
  }
  LateOnes all;
  for (auto& [of, found] : open) {
    const auto kept = ratios_.find(of);
    const size_t ratios = kept == ratios_.end() ? 0 : kept->second.of_p90.size();
    const size_t most = found.all <= ratios
                            ? found.late.size()
                            : (found.late.size() * ratios + found.all - 1) / found.all;
    std::sort(found.late.begin(), found.late.end(),
              [](const Prediction* a, const Prediction* b) { return a->as_of > b->as_of; });
    found.late.resize(std::min(most, found.late.size()));
    for (const Prediction* one : found.late) {
      all[of].push_back(
          {ratio_of(now - one->as_of, one->p50), ratio_of(now - one->as_of, one->p90)});
    }
  }
  return all;
}

Calibration::Factors Calibration::factors(const RoleName& role, Rank rank,
                                          const LateOnes& late) const {
  const auto own = ratios_.find({role, rank});
  const bool is_enough = own != ratios_.end() && own->second.of_p90.size() >= kRatiosLeast;
  const auto found = is_enough ? own : ratios_.find({RoleName(), rank});
  if (found == ratios_.end() || found->second.of_p90.size() < kRatiosLeast) return {1'000, 1'000};
  std::vector<int64_t> of_p50(found->second.of_p50.begin(), found->second.of_p50.end());
  std::vector<int64_t> of_p90(found->second.of_p90.begin(), found->second.of_p90.end());
  if (const auto at = late.find({is_enough ? role : RoleName(), rank}); at != late.end()) {
    for (const auto& [p50, p90] : at->second) {
      of_p50.push_back(p50);
      of_p90.push_back(p90);
    }
  }
  return {quantile(std::move(of_p50), 500),
          quantile(std::move(of_p90), found->second.level_of_p90)};
}

proto::StartForecast Calibration::corrected(const proto::StartForecast& raw,
                                            const Factors& by) const {
  proto::StartForecast told = raw;
  if (raw.p50) told.p50 = scaled(*raw.p50, by.first);
  if (raw.p90) told.p90 = scaled(*raw.p90, by.second);
  if (told.p50 && told.p90) told.p50 = std::min(*told.p50, *told.p90);
  return told;
}

void Calibration::correct(proto::Forecast& forecast) {
  const LateOnes late = late_ones(forecast.as_of);
  std::map<std::pair<RoleName, Rank>, Factors> known;
  const auto factors_of = [&](const RoleName& role, Rank rank) {
    const auto [at, is_new] = known.try_emplace({role, rank});
    if (is_new) at->second = factors(role, rank, late);
    return at->second;
  };
  for (proto::AskForecast& row : forecast.asks) {
    const AskKey key{row.framework, row.ask};
    const auto asked = asked_.find(key);
    if (asked == asked_.end()) continue;
    // What does not start in the forecast is no prediction that could come late.
    if (!row.first.p50) open_.erase({key, Rank::kFirst});
    if (!row.last.p50) open_.erase({key, Rank::kLast});
    const RoleName& role = asked->second.role;
    const proto::StartForecast first = corrected(row.first, factors_of(role, Rank::kFirst));
    proto::StartForecast last = corrected(row.last, factors_of(role, Rank::kLast));
    if (row.tasks == 1) last = first;
    // The last does not start before the first.
    if (first.p50 && last.p50) last.p50 = std::max(*last.p50, *first.p50);
    if (first.p90 && last.p90) last.p90 = std::max(*last.p90, *first.p90);
    const int64_t since = asked->second.launched;
    if (since < 1) predict(key, Rank::kFirst, row.first, first, 1, forecast.as_of);
    if (row.tasks > 1 && since < row.tasks) {
      predict(key, Rank::kLast, row.last, last, row.tasks - since, forecast.as_of);
    }
    row.first = first;
    row.last = last;
  }
  asked_.clear();
}

// The first prediction stays until it has come true.
void Calibration::predict(const AskKey& ask, Rank rank, const proto::StartForecast& raw,
                          const proto::StartForecast& told, int64_t after, Time as_of) {
  if (!told.p50 || !told.p90 || open_.size() >= kPredictionsMax) return;
  open_.try_emplace({ask, rank}, Prediction{.role = asked_.at(ask).role,
                                            .as_of = as_of,
                                            .after = after,
                                            .p50 = *raw.p50,
                                            .p90 = *raw.p90,
                                            .told_p50 = *told.p50,
                                            .told_p90 = *told.p90});
}

void Calibration::launched(const FrameworkId& framework, const AskName& ask, Time now) {
  if (open_.empty() && asked_.empty()) return;
  const AskKey key{framework, ask};
  if (const auto asked = asked_.find(key); asked != asked_.end()) ++asked->second.launched;
  for (const Rank rank : {Rank::kFirst, Rank::kLast}) {
    const auto at = open_.find({key, rank});
    if (at == open_.end() || --at->second.after > 0) continue;
    came_true(at->first, at->second, now);
    open_.erase(at);
  }
}

void Calibration::came_true(const PredictionKey& key, const Prediction& prediction, Time now) {
  const Duration took = now - prediction.as_of;
  ++figures_.starts;
  figures_.below_p50 += took <= prediction.told_p50;
  figures_.below_p90 += took <= prediction.told_p90;
  const int64_t of_p50 = ratio_of(took, prediction.p50);
  const int64_t of_p90 = ratio_of(took, prediction.p90);
  const bool in_time = took <= prediction.told_p90;
  keep({prediction.role, key.rank}, of_p50, of_p90, in_time);
  keep({RoleName(), key.rank}, of_p50, of_p90, in_time);
}

void Calibration::keep(const std::pair<RoleName, Rank>& of, int64_t of_p50, int64_t of_p90,
                       bool in_time) {
  const auto at = ratios_.find(of);
  if (at == ratios_.end() && ratios_.size() >= kCalibratedRolesMax && !of.first.empty()) return;
  Ratios& ratios = at == ratios_.end() ? ratios_[of] : at->second;
  push(ratios.of_p50, of_p50);
  push(ratios.of_p90, of_p90);
  const int64_t level = ratios.level_of_p90 + (in_time ? -kLevelStep : 9 * kLevelStep);
  ratios.level_of_p90 = std::clamp(level, kLevelMin, kLevelMax);
}

}  // namespace proffer::master
