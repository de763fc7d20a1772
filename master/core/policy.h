#pragma once

// Permissions: one table of action × relation (DESIGN §6). A principal is the owner of its own
// frameworks and their tasks; an operator is root, the user that runs the master, or a member of
// the operators' group. A principal with the key of an agent may be this agent and rotate its key,
// one with that of a join token may join, one with the masters' own key may stand by; none of them
// may do anything else, whatever its user.

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
  kCallFramework,  // a request to it
  kKillTask,
  kTearDown,  // a framework ends with its tasks
  kRegisterAgent,
  kDrainAgent,
  kSetRole,
  kReserve,
  kSeeTask,       // its command, and the texts of its errors
  kServeUsers,    // a framework runs tasks as the users that sent it requests
  kManageKeys,    // join tokens, and revoking keys
  kJoin,          // to register a key: of those that came with the key of a join token, nobody else
  kDeclareGone,   // an agent, that never comes back
  kLiftBrake,     // which holds back agents that are lost at once
  kStandBy,       // as another master of the cluster
  kRotateKey,     // another key takes the place of the principal's own
  kSetSecret,     // of the principal's own
  kRemoveSecret,  // or see its name
};
inline constexpr size_t kActionCount = 19;
// "kill a task of another user", after "may not".
std::string_view to_text(Action action);

struct PolicyOptions {
  uint32_t master_uid = 0;                       // the user that runs the master
  std::optional<uint32_t> operators_group = {};  // a group id
  std::set<uint32_t> agent_uids = {};            // that may register agents, beside operators
};

// Root, the user that runs the master, and the members of the operators' group; by the kernel's
// word or with a key of theirs.
bool is_operator(const PolicyOptions& options, const Principal& by);

// The kinds of principals, by what proves who they are.
enum class Caller : uint8_t {
  kOperator,    // as is_operator(), from this machine or by a key
  kUser,        // another user of this machine, by the kernel's word
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

// A set of kinds. It has no default: each method of the API says for which kinds it is.
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

// Not with the key of an agent, a join token or a master, whatever user its holder is elsewhere.
bool acts_for_a_user(const Principal& by);

// Whether frames of the peer may be shed when there is no room for them. Of root, of the user that
// runs the master and of peers that nobody proves they wait in the sockets instead: these could
// stop the master anyway, or may be anybody. nullptr: a stranger.
bool may_be_shed(const PolicyOptions& options, const Principal* by);

// Errors: kPermissionDenied; the hint names those that may. `owner`: the user of the framework or
// task; empty: not known, then only operators may. Of kRegisterAgent: the agent's name. Nothing is
// permitted to an unknown user.
Result<void> check_permission(const PolicyOptions& options, const Principal* by, Action action,
                              std::string_view owner = {});

inline constexpr std::string_view kJoinMethod = "join";
inline constexpr std::string_view kStandbyMethod = "standby";
inline constexpr std::string_view kFollowMethod = "follow_events";

// What the policy knows of a method of the API.
struct MethodRule {
  std::string_view name = {};
  Callers callers;
  // What the core checks besides, when it carries the call out: whose task it is, say.
  std::optional<Action> action = {};
};

// Whether a method is for this kind of principal at all. Errors: kPermissionDenied, in the words of
// the action if there is one; the hint names those that may.
Result<void> check_method(const PolicyOptions& options, const Principal* by,
                          const MethodRule& method);

}  // namespace proffer::master
