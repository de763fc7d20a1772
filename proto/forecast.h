#pragma once

// When what waits will probably start, as values: what a forecast is made of, what it says, and
// what people are told (ADR 0135). docs/concepts/eta.md says how it is made.

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

// How long tasks of one kind ran that have ended, from launch to end: the last ones.
struct KindDurations {
  std::string framework = {};  // its name; empty: of all frameworks in the role
  RoleName role = {};          // empty: of a framework
  std::string kind = {};       // kind_of() of its tasks; empty: of all its tasks
  std::vector<Duration> ran = {};
  bool operator==(const KindDurations&) const = default;
};

// Tasks of a framework that are expected to run equally long: the name of their ask, or else of the
// task, without its digits; and their shape. So attempts and jobs with numbers are of one kind.
std::string kind_of(const AskName& ask, std::string_view task, const ResourceVector& shape);

struct ForecastRequest {
  LiveSnapshot live = {};
  std::vector<KindDurations> durations = {};
  bool operator==(const ForecastRequest&) const = default;
};

// Since the moment of the snapshot. Nothing: later than the forecast reaches.
struct StartForecast {
  std::optional<Duration> p50 = {};
  std::optional<Duration> p90 = {};
  bool operator==(const StartForecast&) const = default;
};

struct AskForecast {
  FrameworkId framework = {};
  AskName ask = {};
  int64_t tasks = 0;         // that are not launched yet
  StartForecast first = {};  // when the next of them starts
  StartForecast last = {};   // when all of them have started
  bool operator==(const AskForecast&) const = default;
};

struct Forecast {
  Time as_of = {};        // of the snapshot
  int64_t runs = 0;       // simulated
  Duration reaches = {};  // after the snapshot
  std::vector<AskForecast> asks = {};
  // Frameworks with tasks of unknown duration: in the forecast they run for
  // ever. Some.
  std::vector<std::string> unknown = {};
  bool operator==(const Forecast&) const = default;
};

// Why there is no estimate.
enum class NoEta : uint8_t {
  kNotYet,       // the first forecast is being made
  kNoDurations,  // it waits for tasks of a kind that has no end yet
  kBeyond,       // later than a forecast reaches
  kImpossible,   // no agent could run it
  kAway,         // its scheduler is not connected
  kSuppressed,   // its scheduler has suppressed offers
  kTooLarge,     // the cluster has more tasks, asks or agents than a forecast simulates
  kFailed,       // the last forecast failed
  kNotYours,     // only the framework's user and operators are told
};
std::string_view to_text(NoEta why);  // "not_yet", …
std::optional<NoEta> parse_no_eta(std::string_view text);
// "no task of this kind has ended yet", for people.
std::string_view explained(NoEta why);

// From now on.
struct Eta {
  std::optional<Duration> p50 = {};  // half of the starts are earlier
  std::optional<Duration> p90 = {};  // nine of ten are; none: later than a forecast reaches
  std::optional<Duration> all_p50 = {};
  std::optional<Duration> all_p90 = {};
  Time as_of = {};
  int64_t runs = 0;
  bool operator==(const Eta&) const = default;
};

// An ask with tasks that are not launched yet.
struct PendingRow {
  FrameworkId framework = {};
  std::string name = {};  // of the framework
  std::string user = {};
  RoleName role = {};
  AskName ask = {};
  ResourceVector shape = {};
  int64_t wanted = 0;
  int64_t offered = 0;                    // of these
  std::optional<WaitReason> reason = {};  // why tasks of it have no offer
  Time since = {};                        // the one that waits longest
  std::optional<Eta> eta = {};
  std::optional<NoEta> no_eta = {};  // without one
  std::string unknown = {};          // no durations: a framework whose tasks it may wait for
  bool operator==(const PendingRow&) const = default;
};

// Of starts that were forecast, since the master led.
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
