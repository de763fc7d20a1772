#pragma once

// The result of `proffer simulate`, as values; json/simulate_json.h prints them.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/offers.h"
#include "common/resources.h"
#include "common/time.h"

namespace proffer::proto {

// Fractions are in thousandths, rounded to the nearest. Times are since the scenario began.
struct SimulateReport {
  struct Cluster {
    ResourceVector total = {};
    ResourceVector allocated = {};
    std::array<int64_t, kResourceKindCount> utilisation = {};
    std::array<int64_t, kResourceKindCount> mean_utilisation = {};
    Duration makespan = {};  // zero while nothing has finished
    int64_t offers = 0;
    int64_t declined = 0;
    int64_t preempted = 0;
    bool operator==(const Cluster&) const = default;
  };
  struct Role {
    int64_t weight = kWeightOne;
    int64_t dominant_share = 0;
    ResourceVector allocated = {};
    bool guarantee_met = true;
    Duration lag = {};       // the greatest of the frameworks in it and below it
    Duration lag_most = {};  // the greatest until then
    bool operator==(const Role&) const = default;
  };
  struct Framework {
    RoleName role = {};
    int64_t pending = 0;
    int64_t running = 0;
    int64_t finished = 0;
    int64_t failed = 0;
    int64_t lost = 0;
    int64_t preempted = 0;
    ResourceVector allocated = {};
    int64_t dominant_share = 0;
    Duration lag = {};
    Duration lag_most = {};  // the greatest until then
    Duration wait_p50 = {};
    Duration wait_p99 = {};
    Duration wait_max = {};
    bool operator==(const Framework&) const = default;
  };
  struct Agent {
    std::string state = {};
    ResourceVector allocated = {};
    std::vector<std::string> tasks = {};  // FRAMEWORK/TASK
    bool operator==(const Agent&) const = default;
  };
  // Tasks of one framework in one role that received revoke notices for one cause, until now.
  struct Revoked {
    std::string framework = {};
    RoleName role = {};
    RevokeReason reason = RevokeReason::kReclaimed;
    RoleName beneficiary = {};  // the role that wanted their resources; empty: none
    int64_t told = 0;
    int64_t ended = 0;  // tasks that ended because of it; the others ended before, or still run
    bool operator==(const Revoked&) const = default;
  };
  // The tasks that a framework wants and that do not run, and the reason.
  struct Waiting {
    std::string framework = {};
    std::map<std::string, int64_t> tasks = {};  // by the name of their entry
    std::string why = {};                       // for people
    bool operator==(const Waiting&) const = default;
  };
  // The whole cluster at one moment.
  struct Picture {
    Duration at = {};
    Cluster cluster = {};
    std::map<std::string, Role> roles = {};
    std::map<std::string, Framework> frameworks = {};
    std::map<std::string, Agent> agents = {};
    std::vector<Revoked> revoked = {};
    std::vector<Waiting> waiting = {};
    bool operator==(const Picture&) const = default;
  };

  // The smallest number of agents that suffices.
  struct Compact {
    int64_t agents = 0;
    int64_t of = 0;
    int64_t at_least = 0;  // with fewer agents the work cannot be done, with any placement
    int64_t replays = 0;
    bool operator==(const Compact&) const = default;
  };

  uint64_t seed = 0;
  uint64_t trace_hash = 0;
  std::vector<std::string> violations = {};
  Picture end = {};
  std::vector<Picture> snapshots = {};
  std::optional<Compact> compact = {};
  bool operator==(const SimulateReport&) const = default;
};

}  // namespace proffer::proto
