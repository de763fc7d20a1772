// Read begin, correct, declined and launched in this order: they are the life of a prediction.

#include "master/forecast/calibration.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "master/forecast/censored_quantile.h"

namespace proffer::master {
namespace {

__extension__ using Wide = __int128;

// The ratio of the real to the predicted time, in thousandths.
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

// The supposed ratios if `known` ratios are known: each is the middle of an equal part of
// probability.
std::vector<int64_t> supposed_ratios(size_t known) {
  const int64_t count = kRatiosSupposed - static_cast<int64_t>(known) / kKnownForSupposed;
  std::vector<int64_t> ratios;
  for (int64_t i = 0; i < count; ++i) ratios.push_back(1'000 * 2 * count / (2 * (count - i) - 1));
  return ratios;
}

}  // namespace

void Calibration::begin(const proto::LiveSnapshot& live) {
  asked_.clear();
  std::map<FrameworkId, RoleName> roles;  // frameworks that accept offers now, with their roles
  for (const proto::LiveFramework& one : live.frameworks) {
    if (one.connected && !one.suppressed) roles[one.framework] = one.role;
  }
  for (const proto::LiveAsk& one : live.asks) {
    if (one.ask.count == 0 || !roles.contains(one.framework)) continue;
    asked_[{one.framework, one.ask.name}] = {
        .role = one.ask.role.empty() ? roles[one.framework] : one.ask.role,
        .wanted = one.ask.count};
  }
  std::erase_if(open_, [&](const auto& one) {
    const auto asked = asked_.find(one.first.ask);
    return asked == asked_.end() || one.second.after > asked->second.wanted;
  });
}

// Lower bounds for the ratios of open predictions, the newest predictions first.
std::map<Calibration::Group, std::vector<Calibration::Ratios>> Calibration::open_ratios(
    Time now) const {
  std::map<Group, std::vector<Ratios>> open;
  for (const auto& [key, one] : open_) {
    const Ratios ratios = ratios_of(key.ask.framework, one, one.declined_at.value_or(now));
    for (const RoleName& role : {one.role, RoleName()}) open[{role, key.rank}].push_back(ratios);
  }
  for (auto& [group, all] : open) {
    std::stable_sort(all.begin(), all.end(),
                     [](const Ratios& a, const Ratios& b) { return a.as_of > b.as_of; });
  }
  return open;
}

Calibration::Group Calibration::group_of(const RoleName& role, Rank rank) const {
  const auto own = ratios_.find({role, rank});
  const bool is_enough = own != ratios_.end() && own->second.size() >= kRatiosLeast;
  return {is_enough ? role : RoleName(), rank};
}

Calibration::Factors Calibration::factors(const Group& group,
                                          const std::map<Group, std::vector<Ratios>>& open) const {
  const auto all = ratios_.find({RoleName(), group.second});
  const auto known = ratios_.find(group);
  std::vector<int64_t> of_p50 = supposed_ratios(all == ratios_.end() ? 0 : all->second.size());
  std::vector<int64_t> of_p90 = of_p50;
  std::vector<int64_t> more_than_p50;
  std::vector<int64_t> more_than_p90;
  // Older predictions do not count, since the ratios of those that came true are dropped.
  std::optional<Time> since;
  std::map<FrameworkId, int64_t> counted;  // the number of open predictions that may count
  if (known != ratios_.end()) {
    for (const Ratios& one : known->second) {
      of_p50.push_back(one.of_p50);
      of_p90.push_back(one.of_p90);
      counted.try_emplace(one.framework, kOpenWithoutStarts).first->second += kOpenForEachStart;
    }
    if (known->second.size() == kRatiosKept) since = known->second.front().as_of;
  }
  if (const auto at = open.find(group); at != open.end()) {
    for (const Ratios& one : at->second) {
      if (since && one.as_of < *since) continue;
      if (--counted.try_emplace(one.framework, kOpenWithoutStarts).first->second < 0) continue;
      more_than_p50.push_back(one.of_p50);
      more_than_p90.push_back(one.of_p90);
    }
  }
  return {censored_quantile(of_p50, more_than_p50, 500),
          censored_quantile(of_p90, more_than_p90, 900)};
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
  const std::map<Group, std::vector<Ratios>> open = open_ratios(forecast.as_of);
  std::map<Group, Factors> known;
  // Sorted once per group, since most roles use the group of all roles.
  const auto factors_of = [&](const RoleName& role, Rank rank) {
    const Group group = group_of(role, rank);
    const auto [at, is_new] = known.try_emplace(group);
    if (is_new) at->second = factors(group, open);
    return at->second;
  };
  for (proto::AskForecast& row : forecast.asks) {
    const AskKey key{row.framework, row.ask};
    const auto asked = asked_.find(key);
    if (asked == asked_.end()) continue;
    // A task without a start in the forecast is not a prediction that can be late.
    if (!row.first.p50) open_.erase({key, Rank::kFirst});
    if (!row.last.p50) open_.erase({key, Rank::kLast});
    const RoleName& role = asked->second.role;
    const proto::StartForecast first = corrected(row.first, factors_of(role, Rank::kFirst));
    proto::StartForecast last = corrected(row.last, factors_of(role, Rank::kLast));
    if (row.tasks == 1) last = first;
    // The last task does not start before the first.
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

// An open prediction is not replaced.
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

void Calibration::launched(const FrameworkId& framework, const AskName& ask, Time asked_at,
                           Time now) {
  if (open_.empty() && asked_.empty()) return;
  const AskKey key{framework, ask};
  if (const auto asked = asked_.find(key); asked != asked_.end()) ++asked->second.launched;
  for (const Rank rank : {Rank::kFirst, Rank::kLast}) {
    const auto at = open_.find({key, rank});
    if (at == open_.end()) continue;
    // The longest-wanted task is launched first. So the predicted tasks are no longer wanted, and
    // the ask wants new tasks under the same name.
    const bool is_another = asked_at > at->second.as_of;
    if (!is_another && --at->second.after > 0) continue;
    if (!is_another) came_true(at->first, at->second, now);
    open_.erase(at);
  }
}

void Calibration::declined(const FrameworkId& framework, const AskName& ask, Time now) {
  for (const Rank rank : {Rank::kFirst, Rank::kLast}) {
    const auto at = open_.find({{framework, ask}, rank});
    if (at != open_.end() && !at->second.declined_at) at->second.declined_at = now;
  }
}

Calibration::Ratios Calibration::ratios_of(const FrameworkId& framework,
                                           const Prediction& prediction, Time now) {
  const Duration took = now - prediction.as_of;
  return {.framework = framework,
          .as_of = prediction.as_of,
          .of_p50 = ratio_of(took, prediction.p50),
          .of_p90 = ratio_of(took, prediction.p90)};
}

void Calibration::came_true(const PredictionKey& key, const Prediction& prediction, Time now) {
  const Duration took = now - prediction.as_of;
  ++figures_.starts;
  figures_.below_p50 += took <= prediction.told_p50;
  figures_.below_p90 += took <= prediction.told_p90;
  const Ratios ratios = ratios_of(key.ask.framework, prediction, now);
  keep({prediction.role, key.rank}, ratios);
  keep({RoleName(), key.rank}, ratios);
}

void Calibration::keep(const Group& of, const Ratios& ratios) {
  const auto at = ratios_.find(of);
  if (at == ratios_.end() && ratios_.size() >= kCalibratedRolesMax && !of.first.empty()) return;
  std::deque<Ratios>& kept = at == ratios_.end() ? ratios_[of] : at->second;
  const auto later = std::find_if(kept.rbegin(), kept.rend(),
                                  [&](const Ratios& one) { return one.as_of <= ratios.as_of; });
  kept.insert(later.base(), ratios);
  if (kept.size() > kRatiosKept) kept.pop_front();
}

}  // namespace proffer::master
