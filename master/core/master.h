#pragma once

// The master's core, with all of its decisions. Pure: a shell (master/shell, sim) feeds it events
// and carries out its outbox. One event is one step is one transaction (DESIGN §2).

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "allocator/allocator.h"
#include "common/load_limits.h"
#include "common/principal.h"
#include "common/trace.h"
#include "master/core/brake.h"
#include "master/core/framework_figures.h"
#include "master/core/policy.h"
#include "proto/blame.h"
#include "proto/explain.h"
#include "proto/file_access.h"
#include "proto/history.h"
#include "proto/live_snapshot.h"
#include "proto/messages.h"
#include "proto/records.h"
#include "proto/secrets.h"
#include "proto/status.h"

namespace proffer::master {

struct MasterOptions {
  LeaderEpoch leader = {};  // of this life; the shell makes it durable before it makes the core
  // The random id of the cluster, if the registry is new. Empty: the cluster has no id, and peers
  // that know another cluster are not refused.
  ClusterId cluster_if_new = {};
  Time started_at = {};
  Duration heartbeat = kHeartbeatInterval;
  Duration agent_timeout = kAgentTimeout;  // silence after which an agent is unreachable
  // Silence after which a connection counts as lost, if it differs from agent_timeout. Only for
  // simulations, whose undisturbed connections need no heartbeats.
  std::optional<Duration> silence = {};
  Duration reregistration_timeout = kReregistrationTimeout;  // after which an agent is removed
  BrakeOptions brake = {};                                   // for agents that are lost at once
  // A task is lost if its connected agent is silent about it for this long after the launch.
  Duration task_start_timeout = kTaskStartTimeout;
  size_t ended_kept = kEndedTasksKept;  // ended tasks that are kept for queries
  PolicyOptions policy = {};
  AllocatorOptions allocator = {};
  bool keeps_history = false;  // the outbox has entries for the history
  // If false, the ledger reports that all waiting tasks wait for the next decision: for simulations
  // that examine nothing else of waiting.
  bool looks_at_waits = true;
  Duration history_age = hours(24 * 30);
  // The id and address of this master. Empty: the registry does not name it.
  proto::MasterId master = {};
  std::string name = {};
  std::string secrets_key = {};  // the id of its key file of secrets; empty: it has none

  Duration silence_max() const { return silence.value_or(agent_timeout); }
  // The time that a framework with a failover timeout has to come back if its scheduler may not
  // know yet that its session has ended: it notices after silence_max(), and needs time to return.
  Duration silent_failover(const proto::FrameworkRecord& record) const {
    return std::max(record.failover_timeout, silence_max() + silence_max());
  }
};

// --- events ------------------------------------------------------------------------------------

// A decoded frame that is not a Call: the shell reads calls, which are outside sessions.
struct FrameReceived {
  PeerId peer = {};
  proto::Envelope envelope = {};
  PrincipalPtr by = {};
};
// The frame could not be decoded, or the peer broke a rule of the transport.
struct FrameMalformed {
  PeerId peer = {};
  Error error = Error::invalid_argument("malformed frame");
};
// The shell cannot store more frames of the peer: its session ends with this error.
struct PeerShed {
  PeerId peer = {};
  Error error = Error::resource_exhausted("too much waits");
};
// The connection has ended.
struct PeerLost {
  PeerId peer = {};
  // The kernel closed it. False: this master ended it, because the peer read too slowly; the peer
  // may learn of it only when it finds the link silent.
  bool is_closed = true;
};
// A user kills a task, named FRAMEWORK/TASK or by a unique prefix, or all tasks of a framework,
// named by its whole id or by its unique name. Answered under `call`.
struct OperatorKill {
  uint64_t call = 0;
  PrincipalPtr by = {};
  std::string task = {};
  std::optional<Duration> grace = {};
  std::string framework = {};
};
// Ends a framework with all of its tasks. It is named by its whole id or by its unique name.
// Answered under `call`.
struct TearDownFramework {
  uint64_t call = 0;
  PrincipalPtr by = {};
  std::string framework = {};
};
// Drains an agent: it is not offered, and its tasks get notice and are killed after the grace
// period (none: that of revokes). An agent that is already draining gets the new time.
struct DrainAgent {
  uint64_t call = 0;
  PrincipalPtr by = {};
  AgentId agent = {};
  std::optional<Duration> grace = {};
};
struct UndrainAgent {
  uint64_t call = 0;
  PrincipalPtr by = {};
  AgentId agent = {};
};
// The machine of a disconnected or unreachable agent never comes back: its tasks are gone now.
// Answered under `call`.
struct DeclareGone {
  uint64_t call = 0;
  PrincipalPtr by = {};
  AgentId agent = {};
};
// Gives up the agents that the brake holds back, and holds no further ones back for `span` (none:
// the brake's period; zero: the brake is on again).
struct LiftBrake {
  uint64_t call = 0;
  PrincipalPtr by = {};
  std::optional<Duration> span = {};
};
// Members without a value stay as they are; `unset` restores the settings of the master's options.
struct SetRole {
  uint64_t call = 0;
  PrincipalPtr by = {};
  RoleName role = {};
  std::optional<int64_t> weight = {};  // milli
  std::optional<Quota> guarantee = {};
  std::optional<Quota> limit = {};
  // The users who may start frameworks in the role and below it; none: all users.
  std::optional<std::vector<std::string>> users = {};
  bool unset = false;
};
// Reserves these amounts of the agent for the role, from its resources that are not reserved and
// not in use. With `unreserve` it ends the reservation of amounts that operations reserved and that
// are not in use (no amounts: all of them).
struct ReserveForRole {
  uint64_t call = 0;
  PrincipalPtr by = {};
  AgentId agent = {};
  RoleName role = {};
  ResourceVector amounts = {};
  bool unreserve = false;
};
// Makes a join token for an agent or a user of this name. A holder of the secret half of `key` may
// use it once to register another key.
struct MakeJoinToken {
  uint64_t call = 0;
  PrincipalPtr by = {};
  PublicKey key = {};
  KeyKind kind = KeyKind::kUser;
  std::string name = {};
  Duration valid_for = {};
};
// The holder of a token registers its key. An agent's older keys are revoked with it.
struct JoinCluster {
  uint64_t call = 0;
  PrincipalPtr by = {};  // with the token's key
  PublicKey key = {};
  std::string runs_as = {};  // for an agent: its user on its machine
};
// The holder of a key registers its successor. Both keys are valid until the successor's first use.
struct RotateKey {
  uint64_t call = 0;
  PrincipalPtr by = {};  // with the key that will end
  PublicKey key = {};
};
// In the handshake of its connection a peer has proved that it has the secret half of this key.
struct KeyUsed {
  PublicKey key = {};
};
// Revokes a key, named by a unique prefix, or all keys and tokens of an agent or a user.
struct RevokeKey {
  uint64_t call = 0;
  PrincipalPtr by = {};
  std::string key = {};
  std::optional<KeyKind> kind = {};
  std::string name = {};
};
// A user's request to a framework, named by its id, its name or a unique prefix of its id. Answered
// under `call` with the framework's answer, or the reason why there is none.
struct FrameworkCall {
  uint64_t call = 0;
  std::string framework = {};
  std::string id = {};  // chosen by the caller; a retry has the same id
  PrincipalPtr by = {};
  Duration timeout = {};
  std::string data = {};
  RoleName role = {};  // the role to charge, if one is named
};
// A user sets the value of one of its secrets. Answered under `call`.
struct SetSecret {
  uint64_t call = 0;
  PrincipalPtr by = {};
  std::string name = {};
  std::string sealed = {};  // the value, encrypted for this owner and name
  std::string key_id = {};  // the key file that this master uses from now on
};
struct RemoveSecret {
  uint64_t call = 0;
  PrincipalPtr by = {};
  std::string name = {};
  std::string owner = {};  // empty: the principal's own
};
// Another master reports, again and again, that it is a standby. Answered under `call`.
struct StandBy {
  uint64_t call = 0;
  PeerId peer = {};
  PrincipalPtr by = {};
  proto::StandbyCall standby = {};
};
// Time has passed; decisions are made in this event. A silence that this process has caused itself
// counts against no peer: it is not judged for peers whose frames wait, nor while it is deaf.
struct Tick {
  bool is_deaf = false;              // frames may have arrived that were not read yet
  std::vector<PeerId> waiting = {};  // of silent_peers(): those with frames that were read
};

using MasterEvent =
    std::variant<FrameReceived, FrameMalformed, PeerShed, PeerLost, OperatorKill, FrameworkCall,
                 Tick, DrainAgent, UndrainAgent, SetRole, ReserveForRole, TearDownFramework,
                 MakeJoinToken, JoinCluster, RotateKey, KeyUsed, RevokeKey, DeclareGone, LiftBrake,
                 StandBy, SetSecret, RemoveSecret>;

// --- the output of a step ----------------------------------------------------------------------

struct Send {
  PeerId peer = {};
  proto::Envelope envelope = {};
};
// Ends the connection after everything that was sent to it before.
struct Drop {
  PeerId peer = {};
};
// The answer to a call: that of a framework; empty for an operator.
struct Answer {
  uint64_t call = 0;
  Result<std::string> result = std::string();
};
// Ends all connections with this key, also those of calls. All earlier messages are sent first.
struct DropKey {
  PublicKey key = {};
};
using MasterAction = std::variant<Send, Drop, Answer, DropKey>;

// The shell makes the records durable, then carries out the actions of the step, in step order.
struct MasterOutbox {
  std::vector<proto::RegistryWrite> records = {};
  std::vector<MasterAction> actions = {};
  std::vector<TraceEvent> trace = {};
  std::vector<proto::HistoryRecord> history = {};  // written later; no action waits for it

  void clear() {
    records.clear();
    actions.clear();
    trace.clear();
    history.clear();
  }
};

// The content of a token with which an agent serves files to another machine.
struct FileGrant {
  proto::FileService files = {};  // of the agent
  Time until = {};                // by the agent's clock
  std::string user = {};
  bool is_operator = false;  // of this cluster, regardless of its user on the agent's machine
  std::string prefix = {};   // of the paths that may be read
  bool operator==(const FileGrant&) const = default;
};

// Where the history of a master can be read.
struct HistoryKeeper {
  std::optional<PeerId> standby = {};  // none: this one
  std::optional<Time> led_until = {};  // the end of its lead, as far as known
  bool operator==(const HistoryKeeper&) const = default;
};

// The registry's rows.
struct MasterSnapshot {
  std::vector<proto::RegistryRow> rows = {};
};

// --- the core ----------------------------------------------------------------------------------

class Master {
 public:
  // Restores the durable part; agents and schedulers report the rest when they register again.
  Master(MasterOptions options, const MasterSnapshot& snapshot);
  ~Master();
  Master(const Master&) = delete;
  Master& operator=(const Master&) = delete;

  // Moves from the event; prefer this overload, because tasks are large.
  void handle(MasterEvent&& event, Time now, MasterOutbox& out);
  void handle(const MasterEvent& event, Time now, MasterOutbox& out);
  // The time of the next handle(Tick{}), at the latest; now or in the past if a decision is due.
  std::optional<Time> next_deadline() const;

  proto::MasterStatus status() const;
  std::vector<proto::AgentRow> agents() const;
  std::vector<proto::FrameworkRow> frameworks() const;
  std::vector<proto::RoleRow> roles() const;
  // Sums of the waits in each role, without the roles below, by reason, since this master leads.
  // Roles in which no task has waited are left out. O(roles).
  std::vector<RoleWaitSums> role_waits(Time now) const;
  std::vector<proto::OfferRow> offers() const;
  // The counts of each framework, and how long it waits; the last row is the sum of the frameworks
  // without a row. O(frameworks + offers + waiting asks).
  std::vector<FrameworkSeriesRow> framework_series(Time now) const;
  // Why the framework (its id, its name or a unique prefix of its id) has no offer. Errors:
  // kNotFound, kInvalidArgument. O(agents + offers + frameworks), a few times.
  Result<proto::Explanation> explain(std::string_view framework, const Principal* by) const;
  // Why the role has no more resources. kNotFound names similar roles.
  Result<proto::ExplainedRole> explain_role(std::string_view path) const;
  // Explains a task, named FRAMEWORK/TASK or by a unique prefix. For an unknown task it explains
  // what its framework waits for, if it waits; else kNotFound names similar tasks.
  // kInvalidArgument: not such a name, or several tasks match.
  Result<proto::ExplainedTask> explain_task(std::string_view name, const Principal* by) const;
  // The reasons for which the tasks of a framework or role, or one task, have waited; names are as
  // for explain. Times are by the master's clock, in this life of the master. O(waiting asks), and
  // for a role O(frameworks).
  Result<proto::Blame> blame_framework(std::string_view framework) const;
  Result<proto::Blame> blame_role(std::string_view path) const;
  Result<proto::Blame> blame_task(std::string_view name, const Principal* by) const;
  // Commands and texts of errors are left out if `by` may not see them. O(log tasks + limit).
  std::vector<proto::TaskRow> tasks(const proto::TaskQuery& query, const Principal* by) const;

  // A grant to read files of a framework at an agent from another machine. Errors:
  // kPermissionDenied, kNotFound (no such agent), kUnavailable (the agent is disconnected),
  // kFailedPrecondition (the agent serves no files).
  Result<FileGrant> grant_files(const proto::FileAccessCall& wanted, const Principal* by,
                                Time now) const;

  // The key, if it may connect now: it is registered, or belongs to a token that has not expired;
  // else nullptr. Valid until the next step. O(log keys).
  const KnownKey* find_key(const PublicKey& key, Time now) const;
  // Keys and tokens, also expired tokens, in order of the key: an operator gets all, other users
  // their own.
  std::vector<KnownKey> keys(const Principal* by) const;
  // The secrets that `by` may see, in order of owner and name.
  std::vector<proto::SecretRow> secrets(const Principal* by) const;
  // The id of the key file that encrypts its secrets; empty: it has none.
  std::string key_of_secrets() const;

  // The cluster, its work and its settings, as the input for a scenario. O(agents + asks + tasks).
  proto::LiveSnapshot live_snapshot(Time now) const;

  // All connected masters, and disconnected ones that have led: this one first, the others by name.
  std::vector<proto::MasterRow> masters() const;
  // Whether a standby uses this connection.
  bool is_standby(PeerId peer) const;
  // Whether it is an agent or another master.
  bool is_daemon(PeerId peer) const;
  // The framework of a scheduler's connection; empty for others.
  FrameworkId framework_of(PeerId peer) const;
  // The peers whose silence the next Tick judges. O(due timeouts).
  std::vector<PeerId> silent_peers(Time now) const;
  // The standby on this connection, or nullptr.
  const proto::StandbyCall* standby_at(PeerId peer) const;
  // Errors: kNotFound, kUnavailable (it is disconnected), kFailedPrecondition (it keeps no
  // history).
  Result<HistoryKeeper> keeper_of(const proto::MasterId& master) const;

  // The entries that the history lacks at the end of this life.
  std::vector<proto::HistoryRecord> last_history(Time now);
  // Whether `by` may see commands and texts of errors of the user's tasks.
  bool may_see_tasks_of(std::string_view user, const Principal* by) const;

  MasterSnapshot snapshot() const;
  // Violated invariants of DESIGN §10 (1 to 5). O(everything); for tests and the simulator.
  std::vector<Violation> violations() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace proffer::master
