#pragma once

// The problems of the cluster, decided from snapshots of it. Pure. `proffer status`, /v1/status and
// the alerts (proffer_conditions in /metrics) all report these conditions (ADR 0132).

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/time.h"
#include "master/core/framework_figures.h"
#include "master/shell/loop_times.h"
#include "proto/conditions.h"
#include "proto/status.h"

namespace proffer::master {

enum class Condition : uint8_t {
  kRegistryStuck,
  kAgentsHeldBack,
  kDescriptorsShort,
  kAgentLost,
  kAgentTakesNoTasks,
  kSchedulerSilent,
  kFrameworkDisconnected,
  kRoleBelowGuarantee,
  kAskFitsNowhere,
  kHistoryNotKept,
  kMasterTimeTaken,
};

struct ConditionKind {
  Condition condition = {};
  std::string_view name = {};
  proto::Severity severity = proto::Severity::kWarning;
};
// The most severe first.
std::span<const ConditionKind> condition_kinds();

// The state of the cluster and of this process at one moment.
struct Circumstances {
  proto::MasterStatus status = {};  // with the history's state
  std::vector<proto::AgentRow> agents = {};
  std::vector<proto::FrameworkRow> frameworks = {};
  std::vector<proto::RoleRow> roles = {};
  std::vector<FrameworkSeriesRow> series = {};
  std::vector<LoopUse> loop = {};
  Duration oldest_write = {};  // age of the oldest write to the registry; zero: none waits
  std::string event_log = {};  // why it is not kept; empty: it is
  std::string data_dir = {};
  int64_t pid = 0;
  int64_t descriptors = 0;
  int64_t descriptors_max = 0;  // zero: unlimited
};

// Maximum of rows per kind; the rest is summed up in one row.
inline constexpr size_t kConditionsOfKindMax = 80;
// The same for frameworks of one user: beyond it, the user has one row.
inline constexpr size_t kConditionsOfUserMax = 5;
inline constexpr Duration kRegistryStuckAfter = seconds(5);
// For a scheduler that let offers expire without an answer.
inline constexpr Duration kSilentFor = minutes(1);
inline constexpr int64_t kDescriptorsPercent = 80;

// Keeps the time since when each condition holds, from one examination to the next.
class ConditionWatch {
 public:
  void look(const Circumstances& now);

  // Ordered by kind, the most severe first, then by object.
  const std::vector<proto::ConditionRow>& rows() const { return rows_; }
  // The number of objects; there may be fewer rows.
  int64_t count(Condition condition) const;

 private:
  using Key = std::pair<Condition, std::string>;
  struct Found {
    std::string object = {};
    std::string message = {};
    std::string command = {};
    std::string user = {};  // of a framework
    int64_t objects = 1;
  };
  struct Expired {
    uint64_t count = 0;
    Time grew = {};
    bool is_growing = false;
  };
  class Findings;

  static std::vector<Found> sums_by_user(std::vector<Found> found);
  void look_at_schedulers(const Circumstances& now, Findings& findings);

  std::map<Key, Time> since_;               // as many as rows
  std::map<std::string, Expired> expired_;  // for frameworks with figures of their own
  std::map<Condition, int64_t> counts_;
  std::vector<proto::ConditionRow> rows_;
};

}  // namespace proffer::master
