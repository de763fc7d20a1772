#include "master/shell/routes.h"

#include <algorithm>

#include "common/text.h"
#include "master/shell/changes.h"
#include "master/shell/reads.h"
#include "proto/json/arguments.h"
#include "proto/json/blame_json.h"
#include "proto/json/conditions_json.h"
#include "proto/json/events_json.h"
#include "proto/json/file_access_json.h"
#include "proto/json/forecast_json.h"
#include "proto/json/history_json.h"
#include "proto/json/json.h"
#include "proto/json/keys_json.h"
#include "proto/json/live_snapshot_json.h"
#include "proto/json/masters_json.h"
#include "proto/json/secrets_json.h"
#include "proto/json/service_json.h"

namespace proffer::master {
namespace {

using proto::list_query_shape;
using proto::no_arguments_shape;

constexpr Route kRoutes[] = {
    {.method = "status",
     .path = "status",
     .about = "what is wrong in the cluster, and the cluster in a few numbers",
     .arguments = no_arguments_shape,
     .answer = proto::status_with_conditions_shape,
     .read = read_status},
    {.method = "agents",
     .path = "agents",
     .about = "the machines and what they have",
     .page = "after",
     .may_wait = true,
     .arguments = list_query_shape,
     .answer = proto::agents_shape,
     .read = read_agents},
    {.method = "frameworks",
     .path = "frameworks",
     .about = "the tenants, their shares and what they ask for",
     .page = "after",
     .may_wait = true,
     .arguments = list_query_shape,
     .answer = proto::frameworks_shape,
     .read = read_frameworks},
    {.method = "roles",
     .path = "roles",
     .about = "the tree of roles: weights, guarantees, limits, entitlement and use",
     .page = "after",
     .may_wait = true,
     .arguments = list_query_shape,
     .answer = proto::roles_shape,
     .read = read_roles},
    {.method = "tasks",
     .path = "tasks",
     .about = "what runs, and with `ended` what ran",
     .page = "after",
     .may_wait = true,
     .arguments = proto::task_query_shape,
     .answer = proto::tasks_shape,
     .read = read_tasks},
    {.method = "pending",
     .path = "pending",
     .about = "asks with tasks that are not launched: why they wait, and when they will start",
     .page = "after",
     .arguments = list_query_shape,
     .answer = proto::pending_shape,
     .read = read_pending},
    {.method = "offers",
     .path = "offers",
     .about = "the offers that are not answered yet",
     .page = "after",
     .may_wait = true,
     .arguments = list_query_shape,
     .answer = proto::offers_shape,
     .read = read_offers},
    {.method = "explain",
     .path = "explain",
     .about = "why a framework has no offer, why a role has no more, what may end a task",
     .arguments = proto::explain_call_shape,
     .answer = proto::explanations_with_pending_shape,
     .read = read_explain},
    {.method = "blame",
     .path = "blame",
     .about = "for what a task, or the tasks of a framework or role, waited, and for how long",
     .arguments = proto::explain_call_shape,
     .answer = proto::blame_shape,
     .read = read_blame},
    {.method = "keys",
     .path = "keys",
     .about = "the keys of agents and users, and join tokens; public halves only",
     .page = "after",
     .may_wait = true,
     .arguments = list_query_shape,
     .answer = proto::keys_shape,
     .read = read_keys},
    {.method = "masters",
     .path = "masters",
     .about = "the masters of the cluster",
     .may_wait = true,
     .arguments = no_arguments_shape,
     .answer = proto::masters_shape,
     .read = read_masters},
    {.method = "secrets",
     .path = "secrets",
     .about = "the names of the caller's secrets, for operators of all",
     .page = "after",
     .may_wait = true,
     .arguments = list_query_shape,
     .answer = proto::secrets_shape,
     .read = read_secrets},
    {.method = "history",
     .path = "history",
     .about = "ended tasks or the use of roles, the newest first, as one master saw them",
     .serves = Serves::kHistory,
     .page = "before",
     .arguments = proto::history_query_shape,
     .answer = proto::history_page_shape},
    {.method = "events",
     .path = "events",
     .about = "what happened in the cluster, in one order; waits for more if asked to",
     .serves = Serves::kEvents,
     .arguments = proto::event_query_shape,
     .answer = proto::event_page_shape},
    {.method = "snapshot",
     .path = "snapshot",
     .about = "all of the cluster that a scenario is made of, at one moment",
     .serves = Serves::kSnapshot,
     .page = "after",
     .arguments = proto::live_snapshot_call_shape,
     .answer = proto::live_snapshot_shape},
    {.path = "services",
     .about = "where the servers of apps are, as the scheduler of services knows them",
     .action = Action::kCallFramework,
     .serves = Serves::kServers,
     .arguments = proto::servers_query_shape,
     .answer = proto::servers_shape},
    {.method = "file_access",
     .path = "file_access",
     .about = "a token for the files of a framework at an agent on another machine",
     .action = Action::kSeeTask,
     .serves = Serves::kFileAccess,
     .arguments = proto::file_access_call_shape,
     .answer = proto::file_access_reply_shape},
    {.method = "kill",
     .verb = Verb::kPost,
     .path = "kill",
     .about = "end a task, or all tasks of a framework",
     .action = Action::kKillTask,
     .serves = Serves::kChange,
     .arguments = proto::kill_call_shape,
     .change = kill_event},
    {.method = "teardown",
     .verb = Verb::kPost,
     .path = "teardown",
     .about = "end a framework with all of its tasks",
     .action = Action::kTearDown,
     .serves = Serves::kChange,
     .arguments = proto::teardown_call_shape,
     .change = teardown_event},
    {.method = "drain",
     .verb = Verb::kPost,
     .path = "drain",
     .about = "empty an agent: nothing new comes to it, and its tasks are told to leave",
     .action = Action::kDrainAgent,
     .serves = Serves::kChange,
     .arguments = proto::drain_call_shape,
     .change = drain_event},
    {.method = "undrain",
     .verb = Verb::kPost,
     .path = "undrain",
     .about = "an agent that was drained is of use again",
     .action = Action::kDrainAgent,
     .serves = Serves::kChange,
     .arguments = proto::undrain_call_shape,
     .change = undrain_event},
    {.method = "agent_gone",
     .verb = Verb::kPost,
     .path = "agent_gone",
     .about = "the machine of an agent never comes back: its tasks are gone",
     .action = Action::kDeclareGone,
     .serves = Serves::kChange,
     .arguments = proto::agent_gone_call_shape,
     .change = agent_gone_event},
    {.method = "brake_lift",
     .verb = Verb::kPost,
     .path = "brake_lift",
     .about = "give up the agents that the brake holds back",
     .action = Action::kLiftBrake,
     .serves = Serves::kChange,
     .arguments = proto::brake_lift_call_shape,
     .change = brake_lift_event},
    {.method = "role_set",
     .verb = Verb::kPost,
     .path = "role_set",
     .about = "set the weight, guarantee, limit or users of a role",
     .action = Action::kSetRole,
     .serves = Serves::kChange,
     .arguments = proto::role_set_call_shape,
     .change = role_set_event},
    {.method = "reserve",
     .verb = Verb::kPost,
     .path = "reserve",
     .about = "reserve resources of an agent for a role",
     .action = Action::kReserve,
     .serves = Serves::kChange,
     .arguments = proto::reserve_call_shape,
     .change = reserve_event},
    {.method = "unreserve",
     .verb = Verb::kPost,
     .path = "unreserve",
     .about = "remove reservations of a role at an agent",
     .action = Action::kReserve,
     .serves = Serves::kChange,
     .arguments = proto::reserve_call_shape,
     .change = unreserve_event},
    {.method = "join_token",
     .verb = Verb::kPost,
     .path = "join_token",
     .about = "register the key of a token with which an agent or a user may join once",
     .action = Action::kManageKeys,
     .serves = Serves::kJoinToken,
     .arguments = proto::join_token_call_shape,
     .answer = proto::join_token_reply_shape,
     .change = join_token_event},
    // Of the key that the connection came with, which HTTP does not have.
    {.method = kJoinMethod,
     .verb = Verb::kPost,
     .about = "register a key with a join token",
     .action = Action::kJoin,
     .serves = Serves::kChange,
     .arguments = proto::join_call_shape,
     .change = join_event},
    {.method = "key_rotate",
     .verb = Verb::kPost,
     .about = "replace the key of the connection by another one",
     .action = Action::kRotateKey,
     .serves = Serves::kChange,
     .arguments = proto::key_rotate_call_shape,
     .change = key_rotate_event},
    {.method = "key_revoke",
     .verb = Verb::kPost,
     .path = "key_revoke",
     .about = "revoke keys and tokens, and end their connections",
     .action = Action::kManageKeys,
     .serves = Serves::kChange,
     .arguments = proto::key_revoke_call_shape,
     .change = key_revoke_event},
    {.method = "secret_set",
     .verb = Verb::kPost,
     .path = "secret_set",
     .about = "set a secret of the caller",
     .action = Action::kSetSecret,
     .serves = Serves::kSetSecret,
     .arguments = proto::secret_set_call_shape},
    {.method = "secret_remove",
     .verb = Verb::kPost,
     .path = "secret_remove",
     .about = "remove a secret",
     .action = Action::kRemoveSecret,
     .serves = Serves::kChange,
     .arguments = proto::secret_remove_call_shape,
     .change = secret_remove_event},
    {.method = "request",
     .verb = Verb::kPost,
     .path = "frameworks/{framework}/requests",
     .about = "a request to a framework, relayed to its scheduler",
     .action = Action::kCallFramework,
     .serves = Serves::kRequest,
     .arguments = proto::request_call_shape,
     .answer = proto::request_reply_shape},
    {.method = kStandbyMethod,
     .verb = Verb::kPost,
     .about = "another master says that it stands by",
     .action = Action::kStandBy,
     .serves = Serves::kStandBy,
     .arguments = proto::standby_call_shape},
    {.method = kFollowMethod,
     .about = "another master that stands by asks for the events of its leader",
     .action = Action::kStandBy,
     .serves = Serves::kFollow,
     .arguments = proto::follow_call_shape,
     .answer = proto::event_page_shape},
};

// What the parts that serve a route need is there.
constexpr bool is_whole(const Route& route) {
  if (route.arguments == nullptr || route.about.empty()) return false;
  if (route.method.empty() && route.path.empty()) return false;
  if ((route.serves == Serves::kRead) != (route.read != nullptr)) return false;
  const bool has_event = route.serves == Serves::kChange || route.serves == Serves::kJoinToken;
  if (has_event != (route.change != nullptr)) return false;
  if (route.may_wait && route.serves != Serves::kRead) return false;
  return !has_event || (route.changes() && route.action.has_value());
}
static_assert(std::all_of(std::begin(kRoutes), std::end(kRoutes), is_whole));

}  // namespace

std::string_view to_text(Verb verb) { return verb == Verb::kGet ? "GET" : "POST"; }

std::span<const Route> routes() { return kRoutes; }

const Route* find_route(std::string_view method) {
  if (method.empty()) return nullptr;
  for (const Route& route : kRoutes) {
    if (route.method == method) return &route;
  }
  return nullptr;
}

Error unknown_method(std::string_view method) {
  std::vector<std::string_view> known;
  for (const Route& route : kRoutes) {
    if (!route.method.empty()) known.push_back(route.method);
  }
  const Error error = proto::unknown_name("method", method, known);
  return Error::not_found(error.message()).with_hint(error.hint());
}

}  // namespace proffer::master
