#pragma once

// How good forecasts were, and what follows for the next one. Of each ask that is forecast, the
// start of its next task and of its last one are predictions; when a prediction has come true, how
// long it took is compared with what was said. The quantiles of these ratios are what the next
// forecast is multiplied by, so that half of the starts lie below p50 and nine of ten below p90
// whatever a forecast does not know: who comes next, how schedulers behave. (Split conformal
// prediction, Vovk et al. 2005, by ratios; ADR 0138.)
//
// Two things would make it tell too early. The ratios of what comes late are known last: so a
// prediction that is open counts as one whose ratio is larger than what has passed by now. And few
// ratios say little: so some that are supposed count beside them.
//
// A scheduler that declines its offers starts late by its own will. A prediction that is open
// counts as if no time had passed since such an offer, and of a framework with few starts only few
// count.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "proto/forecast.h"

namespace proffer::master {

// Of one role and rank, those of the last so many predictions that came true; with fewer than the
// least those of all roles count instead.
inline constexpr size_t kRatiosKept = 200;
inline constexpr size_t kRatiosLeast = 20;
// In thousandths.
inline constexpr int64_t kRatioMin = 125;
inline constexpr int64_t kRatioMax = 100'000;
// So many ratios are supposed beside those that are known, and each so many that are known of all
// roles take the place of one. They lie as if a start took more than x times as long as predicted
// with probability 1/x: this supposes nothing of how much too early forecasts are, but that they
// are. With no known one p50 is told nearly twice as late as the runs say, and p90 nearly seven
// times.
inline constexpr int64_t kRatiosSupposed = 10;
inline constexpr int64_t kKnownForSupposed = 10;
// Of one framework, so many open predictions count in a group, and so many more for each of its
// starts that count there: those that were made last.
inline constexpr int64_t kOpenWithoutStarts = 2;
inline constexpr int64_t kOpenForEachStart = 10;
// Both sides of a ratio have it, so that starts within some seconds are not far off each other.
inline constexpr Duration kRatioFloor = seconds(5);
// Predictions that have not come true: the asks beyond it are told, and not counted.
inline constexpr size_t kPredictionsMax = 20'000;
inline constexpr size_t kCalibratedRolesMax = 1'000;

class Calibration {
 public:
  // A snapshot is taken for a forecast. Predictions of tasks that are wanted no longer are
  // forgotten. O(asks + predictions).
  void begin(const proto::LiveSnapshot& live);
  // The forecast of that snapshot is there and is told from now on; it is corrected by what is
  // known of earlier ones. Once for each begin().
  void correct(proto::Forecast& forecast);
  // A task of the ask was launched that was wanted since `asked_at`. O(log asks); O(1) if nothing
  // is predicted.
  void launched(const FrameworkId& framework, const AskName& ask, Time asked_at, Time now);
  // Its framework declined an offer that was made for the ask. The same complexity.
  void declined(const FrameworkId& framework, const AskName& ask, Time now);

  const proto::EtaFigures& figures() const { return figures_; }
  size_t predictions() const { return open_.size(); }

 private:
  enum class Rank : uint8_t { kFirst, kLast };
  struct AskKey {
    FrameworkId framework = {};
    AskName ask = {};
    auto operator<=>(const AskKey&) const = default;
  };
  struct PredictionKey {
    AskKey ask = {};
    Rank rank = Rank::kFirst;
    auto operator<=>(const PredictionKey&) const = default;
  };
  struct Prediction {
    RoleName role = {};
    Time as_of = {};
    int64_t after = 0;  // it comes true with the launch of so many more tasks of the ask
    Duration p50 = {};  // as they came from the forecast
    Duration p90 = {};
    Duration told_p50 = {};
    Duration told_p90 = {};
    std::optional<Time> declined_at = {};  // at first
  };
  // Of what a prediction took, or has taken by now.
  struct Ratios {
    FrameworkId framework = {};
    Time as_of = {};
    int64_t of_p50 = 0;
    int64_t of_p90 = 0;
  };
  using Group = std::pair<RoleName, Rank>;      // the role "": of all
  using Factors = std::pair<int64_t, int64_t>;  // of p50 and p90, in thousandths

  static Ratios ratios_of(const FrameworkId& framework, const Prediction& prediction, Time now);
  std::map<Group, std::vector<Ratios>> open_ratios(Time now) const;
  // The one whose ratios count for the role.
  Group group_of(const RoleName& role, Rank rank) const;
  Factors factors(const Group& group, const std::map<Group, std::vector<Ratios>>& open) const;
  proto::StartForecast corrected(const proto::StartForecast& raw, const Factors& by) const;
  void predict(const AskKey& ask, Rank rank, const proto::StartForecast& raw,
               const proto::StartForecast& told, int64_t after, Time as_of);
  void came_true(const PredictionKey& key, const Prediction& prediction, Time now);
  void keep(const Group& of, const Ratios& ratios);

  std::map<PredictionKey, Prediction> open_;
  // By when they were predicted: of those that are predicted at one time the ones that take short
  // come true first, and would be too many among the last ones that came true.
  std::map<Group, std::deque<Ratios>> ratios_;
  // Of the snapshot in hand: in which role an ask is, how many tasks it wants, and how many were
  // launched since.
  struct Asked {
    RoleName role = {};
    int64_t wanted = 0;
    int64_t launched = 0;
  };
  std::map<AskKey, Asked> asked_;
  proto::EtaFigures figures_;
};

}  // namespace proffer::master
