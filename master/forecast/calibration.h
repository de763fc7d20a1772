#pragma once

// Measures how good forecasts were, and corrects the next one. For each ask with a forecast, the
// start of its next task and the start of its last task are predictions. When a prediction comes
// true, the ratio of the real time to the predicted time is recorded. The next forecast is
// multiplied by quantiles of these ratios, so that half of the starts come before p50 and nine of
// ten before p90, even if the forecast does not know which work comes next or how schedulers
// behave. (Split conformal prediction, Vovk et al. 2005, by ratios; ADR 0138.)
//
// Two effects would make corrected times too early. First, ratios of late starts become known last;
// so an open prediction counts as a ratio larger than the time passed so far gives. Second, few
// ratios are weak evidence; so some supposed ratios are counted too.
//
// A scheduler that declines its offers starts late by its own choice. An open prediction counts
// with the time until the first declined offer, and a framework with few starts has few open
// predictions that count.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "proto/forecast.h"

namespace proffer::master {

// The number of ratios kept per role and rank, from the newest predictions that came true. A group
// with fewer than kRatiosLeast uses the ratios of all roles.
inline constexpr size_t kRatiosKept = 200;
inline constexpr size_t kRatiosLeast = 20;
// In thousandths.
inline constexpr int64_t kRatioMin = 125;
inline constexpr int64_t kRatioMax = 100'000;
// kRatiosSupposed ratios are supposed if none is known; each kKnownForSupposed known ratios of all
// roles replace one of them. They are distributed as if a start took more than x times the
// predicted time with probability 1/x: this supposes that forecasts are too early, but not by how
// much. Without any known ratio, p50 is nearly twice as late as the runs give, and p90 nearly seven
// times.
inline constexpr int64_t kRatiosSupposed = 10;
inline constexpr int64_t kKnownForSupposed = 10;
// The number of open predictions of one framework that count in a group: kOpenWithoutStarts, and
// kOpenForEachStart more for each of its starts that count there. The newest predictions are used.
inline constexpr int64_t kOpenWithoutStarts = 2;
inline constexpr int64_t kOpenForEachStart = 10;
// Added to both sides of a ratio, so that starts within some seconds have ratios close to one.
inline constexpr Duration kRatioFloor = seconds(5);
// The maximum of open predictions. Further asks get a forecast, but are not recorded.
inline constexpr size_t kPredictionsMax = 20'000;
inline constexpr size_t kCalibratedRolesMax = 1'000;

class Calibration {
 public:
  // A snapshot is taken for a forecast. Predictions for tasks that are no longer wanted are
  // dropped. O(asks + predictions).
  void begin(const proto::LiveSnapshot& live);
  // Corrects the forecast of that snapshot by the known ratios, and records its predictions. Once
  // per begin().
  void correct(proto::Forecast& forecast);
  // A task of the ask was launched; it was wanted since `asked_at`. O(log asks); O(1) without
  // predictions.
  void launched(const FrameworkId& framework, const AskName& ask, Time asked_at, Time now);
  // The framework declined an offer that was made for the ask. O(log asks); O(1) without
  // predictions.
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
    // The prediction comes true with the launch of this many more tasks of the ask.
    int64_t after = 0;
    Duration p50 = {};  // uncorrected
    Duration p90 = {};
    Duration told_p50 = {};
    Duration told_p90 = {};
    std::optional<Time> declined_at = {};  // the first decline
  };
  // The ratios for the time that a prediction took, or has taken until now.
  struct Ratios {
    FrameworkId framework = {};
    Time as_of = {};
    int64_t of_p50 = 0;
    int64_t of_p90 = 0;
  };
  using Group = std::pair<RoleName, Rank>;      // the role "" stands for all roles
  using Factors = std::pair<int64_t, int64_t>;  // of p50 and p90, in thousandths

  static Ratios ratios_of(const FrameworkId& framework, const Prediction& prediction, Time now);
  std::map<Group, std::vector<Ratios>> open_ratios(Time now) const;
  // The group whose ratios are used for the role.
  Group group_of(const RoleName& role, Rank rank) const;
  Factors factors(const Group& group, const std::map<Group, std::vector<Ratios>>& open) const;
  proto::StartForecast corrected(const proto::StartForecast& raw, const Factors& by) const;
  void predict(const AskKey& ask, Rank rank, const proto::StartForecast& raw,
               const proto::StartForecast& told, int64_t after, Time as_of);
  void came_true(const PredictionKey& key, const Prediction& prediction, Time now);
  void keep(const Group& of, const Ratios& ratios);

  std::map<PredictionKey, Prediction> open_;
  // In order of the time of prediction. Among predictions made at one time, those with a short wait
  // come true first, and would be over-represented in the order of coming true.
  std::map<Group, std::deque<Ratios>> ratios_;
  // An ask of the present snapshot: its role, the number of tasks that it wants, and its launches
  // since then.
  struct Asked {
    RoleName role = {};
    int64_t wanted = 0;
    int64_t launched = 0;
  };
  std::map<AskKey, Asked> asked_;
  proto::EtaFigures figures_;
};

}  // namespace proffer::master
