#pragma once

// Forecasts of when asks will start, made on demand: a child of this process makes them from a
// snapshot of the core (`proffer-simulate --forecast`, ADR 0135), one at a time, seldom, and only
// while somebody asks. What has ended and what starts is heard all the time.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "common/trace.h"
#include "master/core/master.h"
#include "master/forecast/calibration.h"
#include "master/forecast/remembered_durations.h"
#include "master/shell/history.h"
#include "net/loop.h"
#include "proto/forecast.h"

namespace proffer::master {

// From the beginning of one child to that of the next: at least this, and so many times the CPU
// time that the last one took. So forecasts take at most a tenth of one CPU.
inline constexpr Duration kForecastEvery = seconds(3);
inline constexpr int64_t kForecastRest = 10;
// After one that failed, twice as long as before, up to this.
inline constexpr Duration kForecastFailedRestMax = minutes(5);
// So old a forecast may be when it is told; or twice the time until the next one.
inline constexpr Duration kForecastKept = seconds(60);
// A child that takes longer is killed; it has a limit of its own on its CPU time.
inline constexpr Duration kForecastTimeMax = seconds(120);
// A cluster with more agents, or more tasks that hold resources, has no forecast: taking a snapshot
// of it would stop the master for too long.
inline constexpr int64_t kForecastAgentsMax = 2'000;
inline constexpr int64_t kForecastFrameworksMax = 5'000;
inline constexpr int64_t kForecastTasksMax = 20'000;
// Of what a child says.
inline constexpr size_t kForecastAnswerMax = size_t{8} << 20;
// Of the history, when the master begins to lead.
inline constexpr size_t kForecastHistoryPages = 32;

struct ForecasterFigures {
  uint64_t made = 0;
  uint64_t failed = 0;
  Duration cpu = {};  // of all children
};

class Forecaster {
 public:
  // Uses `directory` for what it gives to children and hears of them. `history`: where durations
  // are learnt from, which must outlive it; nullptr: from what ends from now on.
  Forecaster(Loop& loop, const Master& core, History* history, std::string directory);
  // Kills the child.
  ~Forecaster();
  Forecaster(const Forecaster&) = delete;
  Forecaster& operator=(const Forecaster&) = delete;

  // Of a step of the core.
  void hear(const std::vector<TraceEvent>& trace, const std::vector<proto::HistoryRecord>& ended);
  // Somebody asks: a forecast begins, unless one is being made or the last one is new enough.
  void ask();
  // Says of each row without `no_eta` when it will start, or why that is not known.
  void tell(std::vector<proto::PendingRow>& rows) const;

  const proto::EtaFigures& calibration() const { return calibration_.figures(); }
  const ForecasterFigures& figures() const { return figures_; }
  // Kinds of tasks with known durations.
  size_t kinds() const { return durations_.kinds(); }

 private:
  using AskKey = std::pair<FrameworkId, AskName>;

  void learn(std::string before, size_t pages);
  void begin();
  void start_child();
  void reap();
  void on_answer(const Result<proto::Forecast>& answer);
  void fail(std::string why);

  Loop& loop_;
  const Master& core_;
  History* const history_;
  const std::string directory_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  RememberedDurations durations_;
  Calibration calibration_;
  ForecasterFigures figures_;
  bool is_making_ = false;  // from the snapshot to the answer
  pid_t child_ = 0;         // 0: none
  Time begun_;
  std::optional<Time> next_;  // none: at once
  Duration rest_ = kForecastEvery;
  Duration failed_rest_ = {};  // zero: the last one did not fail
  std::optional<proto::NoEta> trouble_;
  proto::Forecast last_;
  std::map<AskKey, proto::AskForecast> asks_;  // of the last one
};

}  // namespace proffer::master
