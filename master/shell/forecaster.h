#pragma once

// Forecasts the starts of asks on demand. A child process makes them from a snapshot of the core
// (`proffer-simulate --forecast`, ADR 0135): one at a time, rarely, and only while users request
// them. Ends and starts of tasks are recorded all the time.

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

// The interval between the starts of two children, as a multiple of the CPU time of the last one.
// So forecasts take at most a tenth of one CPU.
inline constexpr int64_t kForecastRest = 10;
// After a failed child the interval is doubled, up to this.
inline constexpr Duration kForecastFailedRestMax = minutes(5);
// A forecast may be this old when it is shown, or twice the time until the next one.
inline constexpr Duration kForecastKept = seconds(60);
// Maximum output of a child; the kernel ends a child that writes more.
inline constexpr size_t kForecastAnswerMax = size_t{8} << 20;
// Pages of the history that are read when the master begins to lead, and attempts per page that
// cannot be read.
inline constexpr size_t kForecastHistoryPages = 32;
inline constexpr int kForecastHistoryTries = 10;

struct ForecasterOptions {
  // For the files that go to children and come from them.
  std::string directory = {};
  // Minimum interval between the starts of two children.
  Duration every = seconds(3);
  // A child that takes longer is killed; it also has a limit on its CPU time.
  Duration time_max = seconds(120);
  // Delay before an unreadable page of the history is read again.
  Duration history_retry = seconds(5);
  // No forecast is made for a cluster with more agents, frameworks or tasks that hold resources:
  // the snapshot would stop the master for too long.
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
  // `history`: the source of run times, which must outlive this; nullptr: only tasks that end from
  // now on are used.
  Forecaster(Loop& loop, const Master& core, History* history, ForecasterOptions options);
  // Kills the child.
  ~Forecaster();
  Forecaster(const Forecaster&) = delete;
  Forecaster& operator=(const Forecaster&) = delete;

  // Takes the trace and the ended tasks of each step of the core.
  void hear(const std::vector<TraceEvent>& trace, const std::vector<proto::HistoryRecord>& ended);
  // A user requests a forecast: it begins unless one is being made or the last one is new enough.
  void ask();
  // Fills in when the ask of each row without `no_eta` will start, or why that is unknown.
  void tell(std::vector<proto::PendingRow>& rows) const;

  const proto::EtaFigures& calibration() const { return calibration_.figures(); }
  const ForecasterFigures& figures() const { return figures_; }
  const RememberedDurations& durations() const { return durations_; }
  // Kinds of tasks with known run times.
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
  // The place of the next page of the history, the remaining pages, and the remaining attempts for
  // the next page. If a task has ended meanwhile, the pages contain older tasks.
  std::string learns_before_ = {};
  size_t pages_left_ = kForecastHistoryPages;
  int tries_left_ = kForecastHistoryTries;
  Timer learns_again_;
  bool is_making_ = false;  // from the snapshot to the answer
  pid_t child_ = 0;         // 0: none
  Timer child_too_long_;
  bool took_too_long_ = false;
  Time begun_;
  Time taken_;                // the time of the core's snapshot, to the nanosecond
  std::optional<Time> next_;  // none: the next child may start at once
  Duration rest_ = options_.every;
  Duration failed_rest_ = {};  // zero: the last child did not fail
  std::optional<proto::NoEta> trouble_;
  proto::Forecast last_;
  std::map<AskKey, proto::AskForecast> asks_;  // of the last forecast
};

}  // namespace proffer::master
