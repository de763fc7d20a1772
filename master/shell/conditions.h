#pragma once

// What is wrong in the cluster now, decided from pictures of it. Pure. `proffer status`, /v1/status
// and the alerts (proffer_conditions in /metrics) all say what is decided here (ADR 0132).

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/time.h"
#include "master/core/framework_figures.h"
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
};

struct ConditionKind {
  Condition condition = {};
  std::string_view name = {};
  proto::Severity severity = proto::Severity::kWarning;
};
// The gravest first.
std::span<const ConditionKind> condition_kinds();

// The cluster and this process at one moment.
struct Circumstances {
  proto::MasterStatus status = {};  // with what is said of the history
  std::vector<proto::AgentRow> agents = {};
  std::vector<proto::FrameworkRow> frameworks = {};
  std::vector<proto::RoleRow> roles = {};
  std::vector<FrameworkSeriesRow> series = {};
  Duration oldest_write = {};  // to the registry; zero: none waits
  std::string event_log = {};  // why it is not kept; empty: it is
  std::string data_dir = {};
  int64_t pid = 0;
  int64_t descriptors = 0;
  int64_t descriptors_max = 0;  // zero: without limit
};

// Beyond so many of a kind the rest is one row.
inline constexpr size_t kConditionsOfKindMax = 80;
inline constexpr Duration kRegistryStuckAfter = seconds(5);
// Of a scheduler some of whose offers ended without an answer.
inline constexpr Duration kSilentFor = minutes(1);
inline constexpr int64_t kDescriptorsPercent = 80;

// Since when each of them holds is kept from one look to the next.
class ConditionWatch {
 public:
  void look(const Circumstances& now);

  // By kind, the gravest first, and by object.
  const std::vector<proto::ConditionRow>& rows() const { return rows_; }
  // Objects; more than have rows.
  int64_t count(Condition condition) const;

 private:
  using Key = std::pair<Condition, std::string>;
  struct Found {
    std::string object = {};
    std::string message = {};
    std::string command = {};
  };
  struct Expired {
    uint64_t count = 0;
    Time grew = {};
    bool is_growing = false;
  };
  class Findings;

  void look_at_schedulers(const Circumstances& now, Findings& findings);

  std::map<Key, Time> since_;               // as many as there are rows
  std::map<std::string, Expired> expired_;  // of frameworks that have a series
  std::map<Condition, int64_t> counts_;
  std::vector<proto::ConditionRow> rows_;
};

}  // namespace proffer::master
