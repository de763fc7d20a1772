#pragma once

// The master's core: all that it decides. Pure: a shell (master/shell, sim) feeds it events and
// carries out what the outbox says. One event is one step is one transaction (DESIGN §2).

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
  LeaderEpoch leader = {};  // this life's; made durable by the shell before the core is made
  // Which cluster this is, if the registry is new; random. Empty: it has no name, and peers that
  // know another cluster are not told from others.
  ClusterId cluster_if_new = {};
  Time started_at = {};
  Duration heartbeat = kHeartbeatInterval;
  Duration agent_timeout = kAgentTimeout;  // silence after which an agent is unreachable
  // Silence after which a connection is taken for lost, if it is not agent_timeout. Only for
  // simulations, whose undisturbed connections need no signs of life.
  std::optional<Duration> silence = {};
  Duration reregistration_timeout = kReregistrationTimeout;  // after which it is removed
  BrakeOptions brake = {};                                   // on agents that are lost at once
  // Silence of a connected agent about a task that it was given, after which the task is lost.
  Duration task_start_timeout = kTaskStartTimeout;
  size_t ended_kept = kEndedTasksKept;  // tasks that have ended, for queries
  PolicyOptions policy = {};
  AllocatorOptions allocator = {};
  bool keeps_history = false;  // the outbox has entries for the history
  // Without, all that waits waits for the next decision, says the ledger of waiting: for
  // simulations in which nothing else of waiting is told.
  bool looks_at_waits = true;
  Duration history_age = hours(24 * 30);
  // This master itself, and where it is reached. Empty: the registry does not name it.
  proto::MasterId master = {};
  std::string name = {};
  std::string secrets_key = {};  // the id of its key file of secrets; empty: it has none

  Duration silence_max() const { return silence.value_or(agent_timeout); }
};

// --- events ------------------------------------------------------------------------------------

// A decoded frame of anything but a Call: calls are outside sessions and the shell's to read.
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
// The shell has no room for more of what the peer sends: its session ends with this error.
struct PeerShed {
  PeerId peer = {};
  Error error = Error::resource_exhausted("too much waits");
};
// The connection is gone: a hint that was confirmed, or the peer was too slow.
struct PeerLost {
  PeerId peer = {};
};
// A user kills a task, given as FRAMEWORK/TASK or a unique prefix; or all tasks of a framework,
// given by its whole id, or by a name that no other has. Answered under `call`.
struct OperatorKill {
  uint64_t call = 0;
  PrincipalPtr by = {};
  std::string task = {};
  std::optional<Duration> grace = {};
  std::string framework = {};
};
// A framework ends with all of its tasks: given by its whole id, or by a name that no other has.
// Answered under `call`.
struct TearDownFramework {
  uint64_t call = 0;
  PrincipalPtr by = {};
  std::string framework = {};
};
// An agent is emptied: nothing is offered of it, its tasks are told, and killed after the grace
// (none: that of revokes). One that is being drained already gets the new time.
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
// Agents that the brake holds back are given up, and for so long no further ones are held back
// (none: the brake's period; zero: it is on again).
struct LiftBrake {
  uint64_t call = 0;
  PrincipalPtr by = {};
  std::optional<Duration> span = {};
};
// What is not said stays as it is; `unset`: as the master's options have it.
struct SetRole {
  uint64_t call = 0;
  PrincipalPtr by = {};
  RoleName role = {};
  std::optional<int64_t> weight = {};  // milli
  std::optional<Quota> guarantee = {};
  std::optional<Quota> limit = {};
  // That may begin frameworks in it and the roles below it; none: all.
  std::optional<std::vector<std::string>> users = {};
  bool unset = false;
};
// So much of the agent, of what is neither reserved nor in use, becomes reserved for the role; or,
// of what is reserved by operations and not in use, is so no longer (no amounts: all of it).
struct ReserveForRole {
  uint64_t call = 0;
  PrincipalPtr by = {};
  AgentId agent = {};
  RoleName role = {};
  ResourceVector amounts = {};
  bool unreserve = false;
};
// A join token for an agent or a user of this name: a holder of the secret half of `key` may use it
// once to register a key of its own.
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
  std::string runs_as = {};  // of an agent: its user on its machine
};
// The holder of a key registers its successor. Both are good until the successor is first used.
struct RotateKey {
  uint64_t call = 0;
  PrincipalPtr by = {};  // with the key that ends
  PublicKey key = {};
};
// A peer has shown, in the handshake of its connection, that it has the secret half of this key.
struct KeyUsed {
  PublicKey key = {};
};
// A key, given by a unique beginning of it; or all keys and tokens of an agent or a user.
struct RevokeKey {
  uint64_t call = 0;
  PrincipalPtr by = {};
  std::string key = {};
  std::optional<KeyKind> kind = {};
  std::string name = {};
};
// A request of a user to a framework, given by its id, its name or a unique prefix of its id.
// Answered under `call` with what the framework says, or why it says nothing.
struct FrameworkCall {
  uint64_t call = 0;
  std::string framework = {};
  std::string id = {};  // a name: another try gives the same one
  PrincipalPtr by = {};
  Duration timeout = {};
  std::string data = {};
  RoleName role = {};  // to be charged, if one is named
};
// A user sets a secret of its own, or gives it another value. Answered under `call`.
struct SetSecret {
  uint64_t call = 0;
  PrincipalPtr by = {};
  std::string name = {};
  std::string sealed = {};  // the value, encrypted for this owner and name
  std::string key_id = {};  // of the key file, which is this master's from now on
};
struct RemoveSecret {
  uint64_t call = 0;
  PrincipalPtr by = {};
  std::string name = {};
  std::string owner = {};  // empty: the principal's own
};
// Another master says that it is there and does not lead; it says so again now and then. Answered
// under `call`.
struct StandBy {
  uint64_t call = 0;
  PeerId peer = {};
  PrincipalPtr by = {};
  proto::StandbyCall standby = {};
};
// Time passed; also the moment of decisions.
struct Tick {};

using MasterEvent =
    std::variant<FrameReceived, FrameMalformed, PeerShed, PeerLost, OperatorKill, FrameworkCall,
                 Tick, DrainAgent, UndrainAgent, SetRole, ReserveForRole, TearDownFramework,
                 MakeJoinToken, JoinCluster, RotateKey, KeyUsed, RevokeKey, DeclareGone, LiftBrake,
                 StandBy, SetSecret, RemoveSecret>;

// --- what a step says --------------------------------------------------------------------------

struct Send {
  PeerId peer = {};
  proto::Envelope envelope = {};
};
// Ends the connection after what was sent to it before.
struct Drop {
  PeerId peer = {};
};
// To a call: what a framework answered; there is nothing more to say to an operator.
struct Answer {
  uint64_t call = 0;
  Result<std::string> result = std::string();
};
// Ends all connections that came with this key, also those of calls, after what was sent to them.
struct DropKey {
  PublicKey key = {};
};
using MasterAction = std::variant<Send, Drop, Answer, DropKey>;

// The shell makes the records durable, then carries out the actions of the step, in step order.
struct MasterOutbox {
  std::vector<proto::RegistryWrite> records = {};
  std::vector<MasterAction> actions = {};
  std::vector<TraceEvent> trace = {};
  std::vector<proto::HistoryRecord> history = {};  // written behind: nothing waits for it

  void clear() {
    records.clear();
    actions.clear();
    trace.clear();
    history.clear();
  }
};

// What a token is made of by which an agent serves files to another machine.
struct FileGrant {
  proto::FileService files = {};  // of the agent
  Time until = {};                // by the agent's clock
  std::string user = {};
  bool is_operator = false;  // of this cluster, whatever its user on the agent's machine
  std::string prefix = {};   // of the paths that it opens
  bool operator==(const FileGrant&) const = default;
};

// Where the history of a master can be read.
struct HistoryKeeper {
  std::optional<PeerId> standby = {};  // none: this one
  std::optional<Time> led_until = {};  // what it saw ends there
  bool operator==(const HistoryKeeper&) const = default;
};

// The registry's rows.
struct MasterSnapshot {
  std::vector<proto::RegistryRow> rows = {};
};

// --- the core ----------------------------------------------------------------------------------

class Master {
 public:
  // Restores the durable part; agents and schedulers tell the rest when they register again.
  Master(MasterOptions options, const MasterSnapshot& snapshot);
  ~Master();
  Master(const Master&) = delete;
  Master& operator=(const Master&) = delete;

  // What it carries is moved from: prefer this one, tasks are large.
  void handle(MasterEvent&& event, Time now, MasterOutbox& out);
  void handle(const MasterEvent& event, Time now, MasterOutbox& out);
  // At the latest then handle(Tick{}); in the past or now if a decision waits.
  std::optional<Time> next_deadline() const;

  proto::MasterStatus status() const;
  std::vector<proto::AgentRow> agents() const;
  std::vector<proto::FrameworkRow> frameworks() const;
  std::vector<proto::RoleRow> roles() const;
  // For what tasks in each role, without those below it, wait and waited since this master leads; a
  // role in which none waited is left out. O(roles).
  std::vector<RoleWaitSums> role_waits(Time now) const;
  std::vector<proto::OfferRow> offers() const;
  // What each framework did, and how long it waits; the last row is the sum of those that are not
  // named. O(frameworks + offers + asks that wait).
  std::vector<FrameworkSeriesRow> framework_series(Time now) const;
  // Why the framework (its id, its name or a unique prefix of its id) has no offer. Errors:
  // kNotFound, kInvalidArgument. O(agents + offers + frameworks), a few times.
  Result<proto::Explanation> explain(std::string_view framework, const Principal* by) const;
  // Why the role has no more. kNotFound names those that are near.
  Result<proto::ExplainedRole> explain_role(std::string_view path) const;
  // What of the task, by FRAMEWORK/TASK or a unique prefix of it. Of one that the master does not
  // know it says what its framework waits for, if it waits for anything; else kNotFound names those
  // that are near. kInvalidArgument: no such form, or several match.
  Result<proto::ExplainedTask> explain_task(std::string_view name, const Principal* by) const;
  // For what the tasks of a framework or role waited, or one task, named as for explain: by the
  // master's clock, in this life of the master. O(asks that wait), and of a role O(frameworks).
  Result<proto::Blame> blame_framework(std::string_view framework) const;
  Result<proto::Blame> blame_role(std::string_view path) const;
  Result<proto::Blame> blame_task(std::string_view name, const Principal* by) const;
  // Commands, and the texts of errors, are left out where `by` may not see them. O(log tasks +
  // limit).
  std::vector<proto::TaskRow> tasks(const proto::TaskQuery& query, const Principal* by) const;

  // Leave to read files of a framework at an agent, from another machine. Errors:
  // kPermissionDenied, kNotFound (no such agent), kUnavailable (it is away), kFailedPrecondition
  // (it serves none).
  Result<FileGrant> grant_files(const proto::FileAccessCall& wanted, const Principal* by,
                                Time now) const;

  // A key that may connect now: registered, or of a token whose time is not over. nullptr: none.
  // Valid until the next step. O(log keys).
  const KnownKey* find_key(const PublicKey& key, Time now) const;
  // Of keys and tokens, also tokens whose time is over: all for operators, for others those of
  // their own user. In order of the key.
  std::vector<KnownKey> keys(const Principal* by) const;
  // Those that `by` may see, in order of owner and name.
  std::vector<proto::SecretRow> secrets(const Principal* by) const;
  // The id of the key file that its secrets were encrypted with; empty: it has none.
  std::string key_of_secrets() const;

  // The cluster, its work and what it is ruled by: what a scenario is made of. O(agents + asks +
  // tasks).
  proto::LiveSnapshot live_snapshot(Time now) const;

  // All that are connected, and those away that have led: this one first, the others by name.
  std::vector<proto::MasterRow> masters() const;
  // Whether another master stands by on this connection.
  bool is_standby(PeerId peer) const;
  // The master that stands by on this connection; nullptr: none does.
  const proto::StandbyCall* standby_at(PeerId peer) const;
  // Errors: kNotFound, kUnavailable (it is away), kFailedPrecondition (it keeps no history).
  Result<HistoryKeeper> keeper_of(const proto::MasterId& master) const;

  // At the end of this life: entries that the history still lacks.
  std::vector<proto::HistoryRecord> last_history(Time now);
  // Whether commands, and the texts of errors, of the user's tasks are for `by`.
  bool may_see_tasks_of(std::string_view user, const Principal* by) const;

  MasterSnapshot snapshot() const;
  // Broken invariants of DESIGN §10 (1 to 5). O(everything); for tests and the simulator.
  std::vector<Violation> violations() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace proffer::master
