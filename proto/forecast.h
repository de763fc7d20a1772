#pragma once

// Forecasts of when waiting tasks will start, as values: the inputs of a forecast, its result, and
// the form for people (ADR 0135). docs/concepts/eta.md describes the method.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "common/resources.h"
#include "common/roles.h"
#include "common/time.h"
#include "common/wait_reason.h"
#include "proto/live_snapshot.h"

namespace proffer::proto {

// How long the last ended tasks of one kind ran, from launch to end.
struct KindDurations {
  std::string framework = {};  // its name; empty: all frameworks in the role
  RoleName role = {};          // empty: a framework is meant
  std::string kind = {};       // kind_of() of its tasks; empty: all its tasks
  std::vector<Duration> ran = {};
  bool operator==(const KindDurations&) const = default;
};

// Tasks of a framework with the same kind are expected to run equally long. The kind is made of the
// name of the ask, or else of the task, without its digits, and of the shape. So attempts and
// numbered jobs have one kind.
std::string kind_of(const AskName& ask, std::string_view task, const ResourceVector& shape);

struct ForecastRequest {
  LiveSnapshot live = {};
  std::vector<KindDurations> durations = {};
  bool operator==(const ForecastRequest&) const = default;
};

// Durations since the moment of the snapshot. None: later than the forecast reaches.
struct StartForecast {
  std::optional<Duration> p50 = {};
  std::optional<Duration> p90 = {};
  bool operator==(const StartForecast&) const = default;
};

struct AskForecast {
  FrameworkId framework = {};
  AskName ask = {};
  int64_t tasks = 0;         // tasks that are not launched yet
  StartForecast first = {};  // the next start of one of them
  StartForecast last = {};   // the time at which all of them have started
  bool operator==(const AskForecast&) const = default;
};

struct Forecast {
  Time as_of = {};        // time of the snapshot
  int64_t runs = 0;       // number of simulated runs
  Duration reaches = {};  // end of the forecast, after the snapshot
  std::vector<AskForecast> asks = {};
  // Some of the frameworks with tasks of unknown duration. In the forecast these tasks never end.
  std::vector<std::string> unknown = {};
  bool operator==(const Forecast&) const = default;
};

// Why there is no estimate.
enum class NoEta : uint8_t {
  kNotYet,       // the first forecast is being made
  kNoDurations,  // it waits for tasks whose kind has no ended task yet
  kBeyond,       // later than the forecast reaches
  kImpossible,   // no agent could run it
  kAway,         // its scheduler is not connected
  kSuppressed,   // its scheduler has suppressed offers
  kTooLarge,     // the cluster has more tasks, asks or agents than a forecast simulates
  kFailed,       // the last forecast failed
  kNotYours,     // shown only to the framework's user and to operators
};
std::string_view to_text(NoEta why);  // "not_yet", …
std::optional<NoEta> parse_no_eta(std::string_view text);
// "no task of this kind has ended yet": the reason as a text for people.
std::string_view explained(NoEta why);

// Durations from now on.
struct Eta {
  std::optional<Duration> p50 = {};  // half of the simulated starts are earlier
  std::optional<Duration> p90 = {};  // nine of ten are earlier; none: beyond the forecast
  std::optional<Duration> all_p50 = {};
  std::optional<Duration> all_p90 = {};
  Time as_of = {};
  int64_t runs = 0;
  bool operator==(const Eta&) const = default;
};

// An ask with tasks that are not launched yet.
struct PendingRow {
  FrameworkId framework = {};
  std::string name = {};  // name of the framework
  std::string user = {};
  RoleName role = {};
  AskName ask = {};
  ResourceVector shape = {};
  int64_t wanted = 0;
  int64_t offered = 0;                    // of these tasks, those that are offered
  std::optional<WaitReason> reason = {};  // why its tasks have no offer
  Time since = {};                        // the time since which the oldest waits
  std::optional<Eta> eta = {};
  std::optional<NoEta> no_eta = {};  // the reason if there is no estimate
  std::string unknown = {};          // for no_durations: a framework for whose tasks it may wait
  bool operator==(const PendingRow&) const = default;
};

// Counts of forecast starts since the master became leader.
struct EtaFigures {
  int64_t starts = 0;
  int64_t below_p50 = 0;
  int64_t below_p90 = 0;
  bool operator==(const EtaFigures&) const = default;
};

struct PendingPage {
  Time now = {};
  std::vector<PendingRow> asks = {};
  EtaFigures calibration = {};
  bool operator==(const PendingPage&) const = default;
};

}  // namespace proffer::proto
