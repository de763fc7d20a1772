#pragma once

// How good forecasts were, and what follows for the next one. Of each ask that is forecast, the
// start of its next task and of its last one are predictions; when a prediction has come true, how
// long it took is compared with what was said. The ratios of the last ones are what the next
// quantiles are multiplied by, so that half of the starts lie below p50 and nine of ten below p90
// whatever a forecast does not know: who comes next, how schedulers behave. (Split conformal
// prediction, Vovk et al. 2005, by ratios; ADR 0135.)

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "proto/forecast.h"

namespace proffer::master {

// Of one role and rank, the last so many ratios; with fewer than the least those of all roles count
// instead, and with fewer of these a forecast is told as it is.
inline constexpr size_t kRatiosKept = 200;
inline constexpr size_t kRatiosLeast = 20;
// In thousandths.
inline constexpr int64_t kRatioMin = 125;
inline constexpr int64_t kRatioMax = 100'000;
// Which quantile of the ratios p90 is multiplied by, in thousandths. Each start that is late raises
// it by nine steps and each other lowers it by one, so that one in ten is late also where ratios
// drift (adaptive conformal inference: Gibbs and Candès, NeurIPS 2021).
inline constexpr int64_t kLevelMin = 800;
inline constexpr int64_t kLevelMax = 995;
inline constexpr int64_t kLevelStep = 2;
// Both sides of a ratio have it, so that starts within a second are not far off each other.
inline constexpr Duration kRatioFloor = seconds(1);
// Predictions that have not come true: the asks beyond it are told, and not counted.
inline constexpr size_t kPredictionsMax = 20'000;
inline constexpr size_t kCalibratedRolesMax = 1'000;

class Calibration {
 public:
  // A snapshot is taken for a forecast. Predictions of asks that want nothing
  // any more, or have been withdrawn, are forgotten. O(asks + predictions).
  void begin(const proto::LiveSnapshot& live);
  // The forecast of that snapshot is there and is told from now on; it is corrected by what is
  // known of earlier ones. Once for each begin().
  void correct(proto::Forecast& forecast);
  // A task of the ask was launched. O(log asks); O(1) if nothing is predicted.
  void launched(const FrameworkId& framework, const AskName& ask, Time now);

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
  };
  struct Ratios {
    std::deque<int64_t> of_p50 = {};
    std::deque<int64_t> of_p90 = {};
    int64_t level_of_p90 = 900;
  };
  using Factors = std::pair<int64_t, int64_t>;  // of p50 and p90, in thousandths

  // By role ("": all) and rank: ratios of p50 and p90.
  using LateOnes = std::map<std::pair<RoleName, Rank>, std::vector<std::pair<int64_t, int64_t>>>;

  LateOnes late_ones(Time now) const;
  Factors factors(const RoleName& role, Rank rank, const LateOnes& late) const;
  proto::StartForecast corrected(const proto::StartForecast& raw, const Factors& by) const;
  void predict(const AskKey& ask, Rank rank, const proto::StartForecast& raw,
               const proto::StartForecast& told, int64_t after, Time as_of);
  void came_true(const PredictionKey& key, const Prediction& prediction, Time now);
  void keep(const std::pair<RoleName, Rank>& of, int64_t of_p50, int64_t of_p90, bool in_time);

  std::map<PredictionKey, Prediction> open_;
  std::map<std::pair<RoleName, Rank>, Ratios> ratios_;  // the role "": of all
  // Of the snapshot in hand: in which role an ask is, and how many tasks were launched since.
  struct Asked {
    RoleName role = {};
    int64_t launched = 0;
  };
  std::map<AskKey, Asked> asked_;
  proto::EtaFigures figures_;
};

}  // namespace proffer::master
