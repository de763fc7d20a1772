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

// From the beginning of one child to that of the next: so many times the CPU time that the last one
// took. So forecasts take at most a tenth of one CPU.
inline constexpr int64_t kForecastRest = 10;
// After one that failed, twice as long as before, up to this.
inline constexpr Duration kForecastFailedRestMax = minutes(5);
// So old a forecast may be when it is told; or twice the time until the next one.
inline constexpr Duration kForecastKept = seconds(60);
// Of what a child says; one that says more is ended by the kernel.
inline constexpr size_t kForecastAnswerMax = size_t{8} << 20;
// Of the history, when the master begins to lead; and so often a page that cannot be read is read
// again.
inline constexpr size_t kForecastHistoryPages = 32;
inline constexpr int kForecastHistoryTries = 10;

struct ForecasterOptions {
  // For what it gives to children and hears of them.
  std::string directory = {};
  // From the beginning of one child to that of the next, at least.
  Duration every = seconds(3);
  // A child that takes longer is killed; it has a limit of its own on its CPU time.
  Duration time_max = seconds(120);
  // Until a page of the history that could not be read is read again.
  Duration history_retry = seconds(5);
  // A cluster with more agents, frameworks or tasks that hold resources has no forecast: taking a
  // snapshot of it would stop the master for too long.
  int64_t agents_max = 2'000;
  int64_t frameworks_max = 5'000;
  int64_t tasks_max = 20'000;
};

struct ForecasterFigures {
  uint64_t made = 0;
  uint64_t failed = 0;
  Duration cpu = {};  // of all children
};

class Forecaster {
 public:
  // `history`: where durations are learnt from, which must outlive it; nullptr: from what ends from
  // now on.
  Forecaster(Loop& loop, const Master& core, History* history, ForecasterOptions options);
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
  const RememberedDurations& durations() const { return durations_; }
  // Kinds of tasks with known durations.
  size_t kinds() const { return durations_.kinds(); }

 private:
  using AskKey = std::pair<FrameworkId, AskName>;

  void learn();
  void on_history(const Result<FoundHistory>& found);
  void begin();
  void start_child();
  void end_child();
  void reap();
  void on_answer(const Result<proto::Forecast>& answer);
  void fail(std::string why);

  Loop& loop_;
  const Master& core_;
  History* const history_;
  const ForecasterOptions options_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  RememberedDurations durations_;
  Calibration calibration_;
  ForecasterFigures figures_;
  // Of the history: where the next page begins, how many are read at most, and how often the next
  // one may fail. While something has ended since, they are older than that.
  std::string learns_before_ = {};
  size_t pages_left_ = kForecastHistoryPages;
  int tries_left_ = kForecastHistoryTries;
  Timer learns_again_;
  bool is_making_ = false;  // from the snapshot to the answer
  pid_t child_ = 0;         // 0: none
  Timer child_too_long_;
  bool took_too_long_ = false;
  Time begun_;
  Time taken_;                // when the core's snapshot was, to the nanosecond
  std::optional<Time> next_;  // none: at once
  Duration rest_ = options_.every;
  Duration failed_rest_ = {};  // zero: the last one did not fail
  std::optional<proto::NoEta> trouble_;
  proto::Forecast last_;
  std::map<AskKey, proto::AskForecast> asks_;  // of the last one
};

}  // namespace proffer::master
