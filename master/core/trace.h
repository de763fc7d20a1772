#pragma once

// The trace events of the master, by noun. A field that a peer wrote and that was not checked, or
// that contains spaces, is `free_text`.

#include <string>
#include <string_view>
#include <utility>

#include "allocator/values.h"
#include "common/ids.h"
#include "common/keys.h"
#include "common/offers.h"
#include "common/resources.h"
#include "common/roles.h"
#include "common/trace.h"
#include "master/core/policy.h"
#include "proto/task_state.h"

namespace proffer::master {

// The first characters of a key, to tell keys apart in print.
inline std::string beginning_of(const PublicKey& key) { return key.str().substr(0, 8); }

// --- agents ------------------------------------------------------------------------------------

struct AgentRegistered {
  AgentId agent;
  ResourceVector resources;
  size_t tasks = 0;
  bool was_known = false;

  TraceKind kind() const {
    return {TraceLevel::kLongLived, was_known ? "agent registered again" : "agent registered"};
  }
  void fields(TraceFields& f) const {
    f("agent", agent)("resources", to_text(resources))("tasks", tasks);
  }
};

struct AgentRefused {
  AgentId agent;  // the name that it reports
  std::string error;
  bool is_rival = false;

  TraceKind kind() const {
    if (!is_rival) return {TraceLevel::kMisbehaved, "agent refused"};
    return {TraceLevel::kOperator,
            "two machines say that they are this agent; if its work directory was copied, start "
            "one of them with an empty one and another --name"};
  }
  void fields(TraceFields& f) const {
    f.free_text("agent", agent.str());
    f.free_text("error", error);
  }
};

struct AgentBringsTooLittle {
  AgentId agent;
  RoleName role;
  Resources reserved;
  Resources there;

  static constexpr TraceKind kind() {
    return {TraceLevel::kOperator, "agent brings less than is reserved of it"};
  }
  void fields(TraceFields& f) const {
    f("agent", agent)("role", role)("reserved", to_text(reserved))("there", to_text(there));
  }
};

struct AgentDisconnected {
  AgentId agent;
  size_t tasks = 0;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "agent disconnected"}; }
  void fields(TraceFields& f) const { f("agent", agent)("tasks", tasks); }
};

struct AgentUnreachable {
  AgentId agent;
  size_t tasks = 0;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "agent unreachable"}; }
  void fields(TraceFields& f) const { f("agent", agent)("tasks", tasks); }
};

struct AgentRemoved {
  AgentId agent;
  std::string reason;
  size_t tasks = 0;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "agent removed"}; }
  void fields(TraceFields& f) const {
    f("agent", agent).free_text("reason", reason);
    f("tasks", tasks);
  }
};

struct AgentDeclaredGone {
  AgentId agent;
  size_t tasks = 0;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "agent declared gone"}; }
  void fields(TraceFields& f) const { f("agent", agent)("tasks", tasks); }
};

struct AgentTakesNoTasks {
  AgentId agent;
  std::string reason;

  static constexpr TraceKind kind() { return {TraceLevel::kOperator, "agent takes no tasks"}; }
  void fields(TraceFields& f) const { f("agent", agent).free_text("reason", reason); }
};

struct AgentTakesTasksAgain {
  AgentId agent;
  std::string reason;  // why it took no tasks

  static constexpr TraceKind kind() { return {TraceLevel::kOperator, "agent takes tasks again"}; }
  void fields(TraceFields& f) const { f("agent", agent).free_text("reason", reason); }
};

struct AgentTriedAgain {
  AgentId agent;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "agent is tried again"}; }
  void fields(TraceFields& f) const { f("agent", agent); }
};

struct AgentDrains {
  AgentId agent;
  Duration grace;
  size_t tasks = 0;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "agent to be drained"}; }
  void fields(TraceFields& f) const { f("agent", agent)("grace", grace)("tasks", tasks); }
};

struct AgentDrainsNoLonger {
  AgentId agent;

  static constexpr TraceKind kind() {
    return {TraceLevel::kLongLived, "agent no longer to be drained"};
  }
  void fields(TraceFields& f) const { f("agent", agent); }
};

struct AgentHeldBack {
  AgentId agent;
  size_t tasks = 0;

  static constexpr TraceKind kind() {
    return {TraceLevel::kLongLived, "agent held back by the brake"};
  }
  void fields(TraceFields& f) const { f("agent", agent)("tasks", tasks); }
};

struct BrakeHolds {
  size_t agents = 0;
  int64_t most = 0;  // maximum given up in a period
  Duration period;

  static constexpr TraceKind kind() {
    return {TraceLevel::kOperator,
            "too many agents are lost at once: the others are held back, and their tasks count as "
            "running; if they will not come back, `proffer agent lift-brake` gives them up"};
  }
  void fields(TraceFields& f) const { f("agents", agents)("most", most)("period", period); }
};

struct BrakeHoldsNoLonger {
  static constexpr TraceKind kind() {
    return {TraceLevel::kLongLived, "no agent is held back any more"};
  }
  void fields(TraceFields&) const {}
};

struct BrakeLifted {
  Duration duration;
  size_t held_back = 0;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "brake lifted"}; }
  void fields(TraceFields& f) const { f("duration", duration)("held_back", held_back); }
};

struct ReservationChanged {
  AgentId agent;
  RoleName role;
  Resources resources;
  bool unreserve = false;

  TraceKind kind() const { return {TraceLevel::kLongLived, unreserve ? "unreserved" : "reserved"}; }
  void fields(TraceFields& f) const {
    f("agent", agent)("role", role)("resources", to_text(resources));
  }
};

// --- frameworks --------------------------------------------------------------------------------

struct FrameworkSubscribed {
  FrameworkId framework;
  RoleName role;
  std::string user;
  bool failed_over = false;

  TraceKind kind() const {
    return {TraceLevel::kLongLived,
            failed_over ? "framework subscribed again" : "framework subscribed"};
  }
  void fields(TraceFields& f) const { f("framework", framework)("role", role)("user", user); }
};

struct FrameworkRefused {
  std::string name;
  std::string error;
  bool is_usual = false;  // expected to come back, as in normal operation

  TraceKind kind() const {
    return {is_usual ? TraceLevel::kMessage : TraceLevel::kMisbehaved, "framework refused"};
  }
  void fields(TraceFields& f) const {
    f.free_text("name", name);
    f.free_text("error", error);
  }
};

struct FrameworkDisconnected {
  FrameworkId framework;
  int64_t tasks = 0;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "framework disconnected"}; }
  void fields(TraceFields& f) const { f("framework", framework)("tasks", tasks); }
};

struct FrameworkTornDown {
  FrameworkId framework;
  std::string reason;
  int64_t tasks = 0;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "framework torn down"}; }
  void fields(TraceFields& f) const {
    f("framework", framework).free_text("reason", reason);
    f("tasks", tasks);
  }
};

// The framework waits after repeated refused launches.
struct FrameworkWaits {
  FrameworkId framework;
  int64_t failures = 0;

  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "framework waits"}; }
  void fields(TraceFields& f) const { f("framework", framework)("failures", failures); }
};

struct AsksReported {
  FrameworkId framework;
  size_t asks = 0;

  static constexpr TraceKind kind() { return {TraceLevel::kShortLived, "asks reported"}; }
  void fields(TraceFields& f) const { f("framework", framework)("asks", asks); }
};

struct AskRejected {
  FrameworkId framework;
  AskName ask;
  std::string error;

  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "ask rejected"}; }
  void fields(TraceFields& f) const {
    f("framework", framework).free_text("ask", ask.str());
    f.free_text("error", error);
  }
};

struct AsksRejected {
  FrameworkId framework;
  std::string error;

  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "asks rejected"}; }
  void fields(TraceFields& f) const { f("framework", framework).free_text("error", error); }
};

struct OperationRefused {
  FrameworkId framework;
  std::string error;

  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "operation refused"}; }
  void fields(TraceFields& f) const { f("framework", framework).free_text("error", error); }
};

struct RequestRelayed {
  FrameworkId framework;
  std::string id;

  static constexpr TraceKind kind() { return {TraceLevel::kShortLived, "request relayed"}; }
  void fields(TraceFields& f) const { f("framework", framework).free_text("id", id); }
};

struct RequestNotAnswered {
  FrameworkId framework;
  Duration timeout;

  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "request not answered"}; }
  void fields(TraceFields& f) const { f("framework", framework)("timeout", timeout); }
};

struct ResponseIgnored {
  FrameworkId framework;
  uint64_t relay = 0;

  static constexpr TraceKind kind() {
    return {TraceLevel::kMessage, "response ignored: nobody waits for it"};
  }
  void fields(TraceFields& f) const { f("framework", framework)("relay", relay); }
};

struct StoreRequestRefused {
  FrameworkId framework;
  std::string error;

  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "store request refused"}; }
  void fields(TraceFields& f) const { f("framework", framework).free_text("error", error); }
};

struct StoreEntriesErased {
  FrameworkId framework;  // the first of them
  size_t entries = 0;

  static constexpr TraceKind kind() {
    return {TraceLevel::kLongLived, "store entries without a framework erased"};
  }
  void fields(TraceFields& f) const { f("entries", entries)("framework", framework); }
};

// --- offers ------------------------------------------------------------------------------------

struct OfferMade {
  FrameworkId framework;
  OfferId offer;
  AgentId agent;
  Resources resources;

  static constexpr TraceKind kind() { return {TraceLevel::kShortLived, "offer made"}; }
  void fields(TraceFields& f) const {
    f("framework", framework)("offer", offer)("agent", agent)("resources", to_text(resources));
  }
};

struct OfferRescinded {
  FrameworkId framework;
  OfferId offer;
  RescindReason reason = {};

  static constexpr TraceKind kind() { return {TraceLevel::kShortLived, "offer rescinded"}; }
  void fields(TraceFields& f) const {
    f("framework", framework)("offer", offer)("reason", to_text(reason));
  }
};

struct OfferAccepted {
  FrameworkId framework;
  OfferId offer;
  size_t tasks = 0;
  std::vector<AskName> unused_for = {};  // asks of an offer that launched no task; not printed

  static constexpr TraceKind kind() { return {TraceLevel::kShortLived, "offer accepted"}; }
  void fields(TraceFields& f) const { f("framework", framework)("offer", offer)("tasks", tasks); }
};

struct OfferDeclined {
  FrameworkId framework;
  OfferId offer;
  AgentId agent;
  std::vector<AskName> asks = {};  // asks that it was made for; not printed

  static constexpr TraceKind kind() { return {TraceLevel::kShortLived, "offer declined"}; }
  void fields(TraceFields& f) const { f("framework", framework)("offer", offer)("agent", agent); }
};

// --- tasks -------------------------------------------------------------------------------------

struct TaskLaunched {
  FrameworkId framework;
  TaskId task;
  AgentId agent;
  std::string user;  // the user that it runs as
  AskName ask;       // not printed
  Time asked_at;     // the time since when its ask wanted it; not printed

  static constexpr TraceKind kind() { return {TraceLevel::kShortLived, "task launched"}; }
  void fields(TraceFields& f) const {
    f("framework", framework)("task", task)("agent", agent)("user", user);
  }
};

struct TaskRefused {
  FrameworkId framework;
  TaskId task;    // named by its framework
  AgentId agent;  // named by its framework
  proto::TaskReason reason = {};
  std::string user;

  static constexpr TraceKind kind() { return {TraceLevel::kShortLived, "task refused"}; }
  void fields(TraceFields& f) const {
    f("framework", framework).free_text("task", task.str());
    f.free_text("agent", agent.str());
    f("reason", to_text(reason));
    f("user", user);
  }
};

// Its agent runs it, and the master did not know it, or had forgotten it.
struct TaskAdopted {
  FrameworkId framework;
  TaskId task;
  AgentId agent;
  proto::TaskState state = {};

  static constexpr TraceKind kind() { return {TraceLevel::kShortLived, "task adopted"}; }
  void fields(TraceFields& f) const {
    f("framework", framework)("task", task)("agent", agent)("state", to_text(state));
  }
};

// Its scheduler has named it.
struct TaskConfirmed {
  FrameworkId framework;
  TaskId task;
  AgentId agent;

  static constexpr TraceKind kind() { return {TraceLevel::kShortLived, "task confirmed"}; }
  void fields(TraceFields& f) const { f("framework", framework)("task", task)("agent", agent); }
};

// An agent reported a task that no master launched.
struct TaskDisbelieved {
  FrameworkId framework;
  TaskId task;
  AgentId agent;
  std::string why;

  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "task disbelieved"}; }
  void fields(TraceFields& f) const {
    f("framework", framework)("task", task)("agent", agent).free_text("why", why);
  }
};

struct StrayTaskKilled {
  FrameworkId framework;
  TaskId task;
  AgentId agent;

  static constexpr TraceKind kind() { return {TraceLevel::kShortLived, "stray task killed"}; }
  void fields(TraceFields& f) const { f("framework", framework)("task", task)("agent", agent); }
};

struct TaskUpdated {
  FrameworkId framework;
  TaskId task;
  AgentId agent;
  proto::TaskState state = {};
  proto::TaskReason reason = {};
  std::string user;
  bool ended = false;
  bool moved = false;  // the state changed; not printed

  TraceKind kind() const {
    return {TraceLevel::kShortLived, ended ? "task ended" : "task updated"};
  }
  void fields(TraceFields& f) const {
    f("framework", framework)("task", task)("agent", agent)("state", to_text(state));
    f("reason", to_text(reason))("user", user);
  }
};

struct TaskToBeKilled {
  FrameworkId framework;
  TaskId task;
  AgentId agent;
  proto::TaskReason reason = {};
  std::string user;

  static constexpr TraceKind kind() { return {TraceLevel::kShortLived, "task to be killed"}; }
  void fields(TraceFields& f) const {
    f("framework", framework)("task", task)("agent", agent)("reason", to_text(reason));
    f("user", user);
  }
};

struct TaskToBeRevoked {
  FrameworkId framework;
  TaskId task;
  AgentId agent;
  RevokeReason reason = {};
  RoleName beneficiary;  // the role that waits for it
  std::string user;

  static constexpr TraceKind kind() { return {TraceLevel::kShortLived, "task to be revoked"}; }
  void fields(TraceFields& f) const {
    f("framework", framework)("task", task)("agent", agent)("reason", to_text(reason));
    f("beneficiary", beneficiary);
    f("user", user);
  }
};

struct TaskRevokedNoLonger {
  FrameworkId framework;
  TaskId task;
  AgentId agent;
  std::string user;

  static constexpr TraceKind kind() {
    return {TraceLevel::kShortLived, "task no longer to be revoked"};
  }
  void fields(TraceFields& f) const {
    f("framework", framework)("task", task)("agent", agent)("user", user);
  }
};

struct UpdateRefused {
  AgentId agent;
  proto::TaskState state = {};

  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "update refused"}; }
  void fields(TraceFields& f) const { f("agent", agent)("state", to_text(state)); }
};

struct UpdateOfUnknownTask {
  AgentId agent;
  TaskId task;

  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "update of an unknown task"}; }
  void fields(TraceFields& f) const { f("agent", agent).free_text("task", task.str()); }
};

struct UpdateDuplicate {
  FrameworkId framework;
  TaskId task;

  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "duplicate update"}; }
  void fields(TraceFields& f) const { f("framework", framework)("task", task); }
};

struct UpdatesDropped {
  size_t updates = 0;

  static constexpr TraceKind kind() {
    return {TraceLevel::kMisbehaved, "updates dropped: schedulers do not acknowledge"};
  }
  void fields(TraceFields& f) const { f("updates", updates); }
};

// --- roles, keys, masters ----------------------------------------------------------------------

struct RoleSet {
  RoleName role;
  RoleSettings settings;
  std::string users;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "role set"}; }
  void fields(TraceFields& f) const {
    f("role", role)("weight", print_milli(settings.weight));
    f("guarantee", to_text(settings.guarantee))("limit", to_text(settings.limit));
    f("users", users);
  }
};

struct JoinTokenMade {
  KeyKind of = {};
  std::string name;
  Duration valid_for;
  PublicKey key;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "join token made"}; }
  void fields(TraceFields& f) const {
    f(to_text(of), name)("valid_for", valid_for)("key", beginning_of(key));
  }
};

struct Joined {
  KeyKind of = {};
  std::string name;
  PublicKey key;
  std::string token_by;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "joined"}; }
  void fields(TraceFields& f) const {
    f(to_text(of), name)("key", beginning_of(key))("token_by", token_by);
  }
};

struct SuccessorRegistered {
  KeyKind of = {};
  std::string name;
  PublicKey key;
  PublicKey replaces;

  static constexpr TraceKind kind() {
    return {TraceLevel::kLongLived, "successor of a key registered"};
  }
  void fields(TraceFields& f) const {
    f(to_text(of), name)("key", beginning_of(key))("replaces", beginning_of(replaces));
  }
};

struct KeyEnded {
  KeyKind of = {};
  std::string name;
  PublicKey key;
  size_t sessions = 0;
  std::string reason;
  bool is_token = false;

  TraceKind kind() const {
    return {TraceLevel::kLongLived, is_token ? "join token ended" : "key ended"};
  }
  void fields(TraceFields& f) const {
    f(to_text(of), name)("key", beginning_of(key))("sessions", sessions)
        .free_text("reason", reason);
  }
};

struct MasterStandsBy {
  std::string name;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "master stands by"}; }
  void fields(TraceFields& f) const { f("master", name); }
};

struct MasterIsAway {
  std::string name;
  std::string reason;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "master is away"}; }
  void fields(TraceFields& f) const { f("master", name).free_text("reason", reason); }
};

// --- actions and refusals of principals ----------------------------------------------------------

struct AuditDone {
  std::string user;
  std::string_view action;
  std::string of;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "audit: done"}; }
  void fields(TraceFields& f) const {
    f("user", user).free_text("action", action);
    f.free_text("of", of);
  }
};

struct AuditRefused {
  std::string user;
  std::string_view action;
  std::string of;
  std::string error = {};  // empty: the policy refused it

  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "audit: refused"}; }
  void fields(TraceFields& f) const {
    f("user", user).free_text("action", action);
    f.free_text("of", of);
    if (!error.empty()) f.free_text("error", error);
  }
};

// --- peers and their messages ------------------------------------------------------------------

struct TooManyConnections {
  PeerId peer;

  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "too many connections"}; }
  void fields(TraceFields& f) const { f("peer", peer); }
};

struct SessionEnded {
  PeerId peer;
  std::string error;

  static constexpr TraceKind kind() { return {TraceLevel::kShortLived, "session ended"}; }
  void fields(TraceFields& f) const { f("peer", peer).free_text("error", error); }
};

// A message of the peer is invalid.
struct PeerMisbehaved {
  PeerId peer;
  std::string_view what;  // a literal
  std::string error;

  TraceKind kind() const { return {TraceLevel::kMisbehaved, what}; }
  void fields(TraceFields& f) const { f("peer", peer).free_text("error", error); }
};

struct PeerSentError {
  PeerId peer;
  std::string error;

  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "peer sent an error"}; }
  void fields(TraceFields& f) const { f("peer", peer).free_text("error", error); }
};

struct PeerKnowsNewerLeader {
  PeerId peer;
  LeaderEpoch leader;

  static constexpr TraceKind kind() {
    return {TraceLevel::kOperator, "peer knows a newer leader: stop this master or the other"};
  }
  void fields(TraceFields& f) const { f("peer", peer)("leader", leader); }
};

struct MessageRefused {
  PeerId peer;
  std::string_view message;

  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "message refused"}; }
  void fields(TraceFields& f) const { f("peer", peer)("message", message); }
};

struct UnknownMessageIgnored {
  PeerId peer;
  uint64_t tag = 0;

  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "unknown message ignored"}; }
  void fields(TraceFields& f) const { f("peer", peer)("tag", tag); }
};

struct LateFrameIgnored {
  PeerId peer;

  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "late frame ignored"}; }
  void fields(TraceFields& f) const { f("peer", peer); }
};

struct DuplicateFrameDropped {
  PeerId peer;

  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "duplicate frame dropped"}; }
  void fields(TraceFields& f) const { f("peer", peer); }
};

}  // namespace proffer::master
