#pragma once

// The status of the cores as plain values. proto/json prints them for HTTP, CLI and web alike.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/roles.h"
#include "common/share.h"
#include "common/wait_reason.h"
#include "proto/agent_state.h"
#include "proto/masters.h"
#include "proto/messages.h"

namespace proffer::proto {

// A part of an agent that only one role may use.
struct ReservedRow {
  RoleName role = {};
  ResourceVector amounts = {};
  bool dynamic = false;  // reserved by an operation, not by the agent's flag
  bool operator==(const ReservedRow&) const = default;
};

// The host of the ports of an agent's tasks: the host of one of its two addresses; 127.0.0.1 if its
// address is a socket of this machine; empty if it has no address.
std::string host_of(std::string_view http_address, std::string_view https_address);

struct AgentRow {
  AgentId agent = {};
  AgentState state = AgentState::kConnected;
  Attributes attributes = {};
  Resources total = {};
  ResourceVector allocated = {};
  ResourceVector offered = {};
  ResourceVector free = {};
  std::string http_address = {};
  std::string https_address = {};  // the TLS address for other machines; empty: not served
  int64_t tasks = 0;
  Time registered_at = {};
  std::vector<ReservedRow> reserved = {};  // by role, static ones first
  std::optional<Time> drained_by = {};     // set while it is drained
  std::string limits = {};                 // which limits it enforces for tasks, and which not
  std::string trouble = {};                // why it takes no tasks; empty: it takes tasks
  std::optional<Time> gone_at = {};        // an operator declared it gone
  bool held_back = false;                  // past its timeout, but the brake holds it back
  bool operator==(const AgentRow&) const = default;
};

enum class FrameworkState : uint8_t { kConnected, kDisconnected };
std::string_view to_text(FrameworkState state);
std::optional<FrameworkState> parse_framework_state(std::string_view text);

struct AskRow {
  AskName ask = {};
  ResourceVector shape = {};
  int64_t wanted = 0;
  int64_t offered = 0;
  bool could_ever_fit = true;
  AgentId claimed = {};  // the agent of its claim; empty: none
  Duration lag = {};     // how far it is behind its entitlement (docs/concepts/fairness.md)
  bool operator==(const AskRow&) const = default;
};

struct FrameworkRow {
  FrameworkId framework = {};
  std::string name = {};
  RoleName role = {};
  std::string user = {};
  FrameworkState state = FrameworkState::kConnected;
  OfferMode mode = OfferMode::kAsks;
  ResourceVector allocated = {};
  ResourceVector offered = {};
  int64_t dominant_share_millionths = 0;
  Duration lag = {};       // the greatest of its leaves (docs/concepts/fairness.md)
  Duration lag_most = {};  // the greatest until now
  int64_t tasks = 0;       // tasks that are not terminal
  bool suppressed = false;
  Duration failover_timeout = {};
  std::vector<AskRow> asks = {};
  Time subscribed_at = {};
  bool operator==(const FrameworkRow&) const = default;
};

struct RoleRow {
  RoleName role = {};
  int64_t weight = kWeightOne;
  ResourceVector allocated = {};
  ResourceVector offered = {};
  int64_t dominant_share_millionths = 0;
  Quota guarantee = {};
  Quota limit = {};
  ResourceVector entitlement = {};
  ResourceVector borrowed = {};         // use above the entitlement
  bool guarantee_met = true;            // met, or not wanted
  int64_t place_share_millionths = 0;   // its share in the comparison with its siblings
  Duration lag = {};                    // the greatest of the frameworks in it and below it
  Duration lag_most = {};               // the greatest until now
  int64_t frameworks = 0;               // frameworks directly in the role
  std::vector<std::string> users = {};  // the users that may start frameworks in it; none: all
  bool operator==(const RoleRow&) const = default;
};

struct TaskRow {
  FrameworkId framework = {};
  TaskId task = {};
  AgentId agent = {};
  TaskState state = TaskState::kStaging;
  TaskReason reason = TaskReason::kNone;
  std::string message = {};
  std::string command = {};  // cut to 200 bytes
  std::string user = {};     // of its framework
  RoleName role = {};        // the role that it counts in
  AskName ask = {};
  ExecutorId executor = {};  // the executor that it shares; empty: it has its own
  Labels labels = {};
  Resources resources = {};
  std::map<std::string, uint16_t> ports = {};
  std::optional<int32_t> exit_code = {};
  std::optional<int32_t> signal = {};
  std::optional<bool> healthy = {};     // last result of its health check; none after its end
  std::optional<bool> ready = {};       // last result of its readiness test, likewise
  std::string http_address = {};        // of its agent: /v1/files/<framework>/<task>/stdout
  std::string https_address = {};       // the TLS address for other machines; empty: not served
  std::optional<TaskUsage> usage = {};  // set after its end
  WaitSpans waited = {};                // until it ran; empty: this master did not see its launch
  Time launched_at = {};
  Time changed_at = {};
  bool operator==(const TaskRow&) const = default;
};

struct OfferRow {
  OfferId offer = {};
  FrameworkId framework = {};
  AgentId agent = {};
  Resources resources = {};
  Time made = {};
  Time expires = {};
  bool operator==(const OfferRow&) const = default;
};

struct MasterStatus {
  LeaderEpoch leader = {};
  Time started_at = {};
  Time now = {};
  ResourceVector total = {};
  ResourceVector allocated = {};
  ResourceVector offered = {};
  int64_t agents_connected = 0;
  int64_t agents_disconnected = 0;
  int64_t agents_unreachable = 0;
  int64_t agents_gone = 0;
  // Registered agents that this leader has not seen yet. Their tasks are unknown.
  int64_t agents_awaited = 0;
  // Agents that are past their timeout and that the brake holds back; and the most agents that are
  // given up in a period.
  int64_t agents_held_back = 0;
  int64_t agents_lost_max = 0;
  Duration agents_lost_period = {};
  std::optional<Time> agents_lost_next = {};    // when the next agent is given up
  std::optional<Time> brake_lifted_until = {};  // by an operator
  int64_t frameworks_connected = 0;
  int64_t frameworks_disconnected = 0;
  int64_t tasks_staging = 0;  // current counts: staging, running, killing, unreachable
  int64_t tasks_running = 0;
  int64_t tasks_killing = 0;
  int64_t tasks_unreachable = 0;
  int64_t tasks_ended = 0;  // since this master began to lead; refused launches do not count
  int64_t offers = 0;
  std::string history = {};             // why the history is not kept; empty: it is kept
  std::vector<MasterRow> masters = {};  // if there are several: the leader first
  bool operator==(const MasterStatus&) const = default;
};

// Which tasks to return, and from which place: pages of `limit` rows in order of (framework, task).
struct TaskQuery {
  std::string prefix = {};  // of "framework/task" or of the task id
  bool ended = false;       // also return ended tasks
  std::string after = {};   // "framework/task" of the last row of the previous page
  size_t limit = kReplyRowsMax;
  bool operator==(const TaskQuery&) const = default;
};

// The use of one run of an executor and its tasks, now or in the past. None: not counted.
struct UsageRow {
  std::optional<int64_t> cpu_nanos = {};
  std::optional<int64_t> throttled_nanos = {};
  std::optional<int64_t> memory_bytes = {};
  std::optional<int64_t> memory_peak_bytes = {};
  std::optional<int64_t> memory_limit_bytes = {};
  std::optional<int64_t> out_of_memory = {};  // processes that were killed for lack of memory
  std::optional<int64_t> processes = {};      // including threads
  std::optional<int64_t> read_bytes = {};
  std::optional<int64_t> written_bytes = {};
  bool operator==(const UsageRow&) const = default;
};

struct AgentExecutorRow {
  FrameworkId framework = {};
  ExecutorId executor = {};
  int32_t pid = 0;
  int64_t tasks = 0;
  bool fetching = false;  // its files are being fetched; then it is started
  UsageRow usage = {};
  bool operator==(const AgentExecutorRow&) const = default;
};

struct AgentStatus {
  AgentId agent = {};
  bool registered = false;
  LeaderEpoch leader = {};
  Resources total = {};
  ResourceVector used = {};
  int64_t tasks = 0;
  int64_t updates_unacknowledged = 0;
  std::string limits = {};   // which limits it enforces for tasks, and which not
  std::string trouble = {};  // why it takes no tasks; empty: it takes tasks
  std::vector<AgentExecutorRow> executors = {};
  bool operator==(const AgentStatus&) const = default;
};

}  // namespace proffer::proto
