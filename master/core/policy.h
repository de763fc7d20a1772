#pragma once

// Permissions: one table of action × relation (DESIGN §6). A principal owns its frameworks and
// their tasks. An operator is root, the user that runs the master, or a member of the operators'
// group. A principal with an agent's key may register as this agent and rotate the key. One with
// the key of a join token may join. One with the masters' own key may stand by. None of these three
// may do anything else, whichever user holds the key.

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "common/principal.h"
#include "common/result.h"

namespace proffer::master {

enum class Action : uint8_t {
  kSubscribe,      // a new framework; its tasks run as the user of the principal
  kResume,         // a framework's next session
  kCallFramework,  // send it a request
  kKillTask,
  kTearDown,  // end a framework with its tasks
  kRegisterAgent,
  kDrainAgent,
  kSetRole,
  kReserve,
  kSeeTask,       // a task's command, and the texts of its errors
  kServeUsers,    // a framework runs tasks as the users that sent it requests
  kManageKeys,    // make join tokens, and revoke keys
  kJoin,          // register a key; only with the key of a join token
  kDeclareGone,   // declare that an agent never comes back
  kLiftBrake,     // the brake on lost agents
  kStandBy,       // as a standby of the cluster
  kRotateKey,     // replace the principal's own key by another
  kSetSecret,     // one of the principal's own
  kRemoveSecret,  // or see its name
};
inline constexpr size_t kActionCount = 19;
// "kill a task of another user", after "may not".
std::string_view to_text(Action action);

struct PolicyOptions {
  uint32_t master_uid = 0;                       // the user that runs the master
  std::optional<uint32_t> operators_group = {};  // a group id
  std::set<uint32_t> agent_uids = {};            // that may register agents, besides operators
};

// Root, the user that runs the master, or a member of the operators' group, identified by the
// kernel or by a key of that user.
bool is_operator(const PolicyOptions& options, const Principal& by);

// The kinds of principals, by how they are identified.
enum class Caller : uint8_t {
  kOperator,    // as is_operator(), from this machine or by a key
  kUser,        // another user of this machine, identified by the kernel
  kJoinedUser,  // another user, by its key
  kAgentKey,
  kJoinToken,
  kMasterKey,
  kUnknown,  // no user is known
};
inline constexpr size_t kCallerCount = 7;
inline constexpr std::array<Caller, kCallerCount> kCallers = {
    Caller::kOperator,  Caller::kUser,      Caller::kJoinedUser, Caller::kAgentKey,
    Caller::kJoinToken, Caller::kMasterKey, Caller::kUnknown};
std::string_view to_text(Caller caller);  // "the key of an agent"
Caller caller_of(const PolicyOptions& options, const Principal* by);

// A set of kinds. There is no default: each method of the API must state its kinds.
class Callers {
 public:
  template <std::same_as<Caller>... Others>
  constexpr Callers(Caller first, Others... others)
      : bits_(bit_of(first) | (bit_of(others) | ... | 0U)) {}
  constexpr bool has(Caller caller) const { return (bits_ & bit_of(caller)) != 0; }

 private:
  static constexpr uint32_t bit_of(Caller caller) { return 1U << static_cast<uint32_t>(caller); }

  uint32_t bits_;
};

// False with the key of an agent, of a join token or of a master.
bool acts_for_a_user(const Principal& by);

// Whether frames of the peer may be shed when there is no room for them. Frames of root, of the
// user that runs the master and of unidentified peers are not shed: they wait in the sockets. The
// first two could stop the master anyway, and an unidentified peer may be any user. nullptr: an
// unidentified peer.
bool may_be_shed(const PolicyOptions& options, const Principal* by);

// Errors: kPermissionDenied; its hint names who may. `owner`: the user of the framework or task;
// empty: unknown, then only operators may. For kRegisterAgent it is the agent's name. An unknown
// user has no permission.
Result<void> check_permission(const PolicyOptions& options, const Principal* by, Action action,
                              std::string_view owner = {});

inline constexpr std::string_view kJoinMethod = "join";
inline constexpr std::string_view kStandbyMethod = "standby";
inline constexpr std::string_view kFollowMethod = "follow_events";

// The part of an API method that concerns the policy.
struct MethodRule {
  std::string_view name = {};
  Callers callers;
  // An action that the core checks when it carries the call out, for example against the owner of a
  // task.
  std::optional<Action> action = {};
};

// Whether the method is for this kind of principal at all. Errors: kPermissionDenied, worded for
// the action if there is one; its hint names who may.
Result<void> check_method(const PolicyOptions& options, const Principal* by,
                          const MethodRule& method);

}  // namespace proffer::master
