#pragma once

// Pictures of the cores as plain values. proto/json prints them for HTTP, CLI and web alike.

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
  bool dynamic = false;  // by an operation, and not by the agent's flag
  bool operator==(const ReservedRow&) const = default;
};

// Where the ports of an agent's tasks are reached: the host of one of its two addresses, 127.0.0.1
// if it has only a socket, which is of this machine; empty: it has neither.
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
  std::string https_address = {};  // the same for other machines, by TLS; empty: not served
  int64_t tasks = 0;
  Time registered_at = {};
  std::vector<ReservedRow> reserved = {};  // by role, static ones first
  std::optional<Time> drained_by = {};     // it is being emptied
  std::string limits = {};                 // what it holds tasks to, and what not
  std::string trouble = {};                // why it takes no tasks; empty: it does
  std::optional<Time> gone_at = {};        // an operator declared it gone
  bool held_back = false;  // past its timeout; the brake keeps it from being given up
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
  AgentId claimed = {};  // empty: none
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
  int64_t tasks = 0;  // not terminal
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
  bool guarantee_met = true;            // or not wanted
  int64_t place_share_millionths = 0;   // by which it is compared with its siblings
  int64_t frameworks = 0;               // directly in it
  std::vector<std::string> users = {};  // that may begin frameworks in it; none: all
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
  RoleName role = {};        // that it counts in
  AskName ask = {};
  ExecutorId executor = {};  // that it shares with others; empty: it has one of its own
  Labels labels = {};
  Resources resources = {};
  std::map<std::string, uint16_t> ports = {};
  std::optional<int32_t> exit_code = {};
  std::optional<int32_t> signal = {};
  std::optional<bool> healthy = {};     // by its health check, as last told; none once it has ended
  std::optional<bool> ready = {};       // by its readiness, in the same way
  std::string http_address = {};        // of its agent: /v1/files/<framework>/<task>/stdout
  std::string https_address = {};       // the same for other machines, by TLS; empty: not served
  std::optional<TaskUsage> usage = {};  // once it has ended
  WaitSpans waited = {};  // until it ran; none: its launch was not seen by this master
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
  // Of the registry, that this leader has not seen yet: what runs there it does not know.
  int64_t agents_awaited = 0;
  // The brake: past their timeout, and not given up yet; at most so many are in a period.
  int64_t agents_held_back = 0;
  int64_t agents_lost_max = 0;
  Duration agents_lost_period = {};
  std::optional<Time> agents_lost_next = {};    // when the next one is given up
  std::optional<Time> brake_lifted_until = {};  // by an operator
  int64_t frameworks_connected = 0;
  int64_t frameworks_disconnected = 0;
  int64_t tasks_staging = 0;  // staging, running, killing, unreachable: now
  int64_t tasks_running = 0;
  int64_t tasks_killing = 0;
  int64_t tasks_unreachable = 0;
  int64_t tasks_ended = 0;  // since this master began to lead; a refused launch was no task
  int64_t offers = 0;
  std::string history = {};             // why the history is not kept; empty: it is
  std::vector<MasterRow> masters = {};  // if there are several: the leader first
  bool operator==(const MasterStatus&) const = default;
};

// Which tasks, and from where: pages of `limit` rows in order of (framework, task).
struct TaskQuery {
  std::string prefix = {};  // of "framework/task" or of the task id
  bool ended = false;       // also tasks that ended
  std::string after = {};   // "framework/task" of the last row of the page before
  size_t limit = kReplyRowsMax;
  bool operator==(const TaskQuery&) const = default;
};

// What one run of an executor and its tasks use now, or have used. Nothing: it is not counted.
struct UsageRow {
  std::optional<int64_t> cpu_nanos = {};
  std::optional<int64_t> throttled_nanos = {};
  std::optional<int64_t> memory_bytes = {};
  std::optional<int64_t> memory_peak_bytes = {};
  std::optional<int64_t> memory_limit_bytes = {};
  std::optional<int64_t> out_of_memory = {};  // processes that were killed for it
  std::optional<int64_t> processes = {};      // and threads
  std::optional<int64_t> read_bytes = {};
  std::optional<int64_t> written_bytes = {};
  bool operator==(const UsageRow&) const = default;
};

struct AgentExecutorRow {
  FrameworkId framework = {};
  ExecutorId executor = {};
  int32_t pid = 0;
  int64_t tasks = 0;
  bool fetching = false;  // it is started when the files of its tasks are there
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
  std::string limits = {};   // what it holds tasks to, and what not
  std::string trouble = {};  // why it takes no tasks; empty: it does
  std::vector<AgentExecutorRow> executors = {};
  bool operator==(const AgentStatus&) const = default;
};

}  // namespace proffer::proto
