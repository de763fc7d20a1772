#pragma once

// The only encoder of JSON: HTTP, `--json` and calls say the same. Objects are in one line without
// a newline at the end. Names are snake_case; amounts are exact decimal numbers in units of the
// text form (CPUs, MiB, GPUs); `*_s` are seconds, of a time since the epoch, to the millisecond.
// Optionals without a value are left out. Invalid UTF-8 is replaced by U+FFFD.
//
// Parsers read what the encoders wrote: what is missing has its default, members that they do not
// know are ignored (the other side may be newer). They refuse with kInvalidArgument, saying what
// and where: what is not JSON, is deeper than kJsonDepthMax, names a member twice, or has a wrong
// type, an unknown word or an amount out of bounds.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "common/result.h"
#include "proto/explain.h"
#include "proto/json/json_shape.h"
#include "proto/status.h"

namespace proffer::proto {

// --- what the master tells ---------------------------------------------------------------------

// {"agents":[{"agent","state","attributes","total","allocated","offered","free","http_address",
// "tasks","registered_at_s","limits"}]}
std::string agents_json(const std::vector<AgentRow>& rows);
Result<std::vector<AgentRow>> parse_agents(std::string_view json);

std::string frameworks_json(const std::vector<FrameworkRow>& rows);  // {"frameworks":[…]}
Result<std::vector<FrameworkRow>> parse_frameworks(std::string_view json);

std::string roles_json(const std::vector<RoleRow>& rows);  // {"roles":[…]}
Result<std::vector<RoleRow>> parse_roles(std::string_view json);

std::string tasks_json(const std::vector<TaskRow>& rows);  // {"tasks":[…]}
Result<std::vector<TaskRow>> parse_tasks(std::string_view json);

std::string offers_json(const std::vector<OfferRow>& rows);  // {"offers":[…]}
Result<std::vector<OfferRow>> parse_offers(std::string_view json);

std::string explanation_json(const Explanation& explanation);  // the bare object
Result<Explanation> parse_explanation(std::string_view json);
std::string explained_role_json(const ExplainedRole& role);
Result<ExplainedRole> parse_explained_role(std::string_view json);
std::string explained_task_json(const ExplainedTask& task);
Result<ExplainedTask> parse_explained_task(std::string_view json);

std::string status_json(const MasterStatus& status);  // the bare object
Result<MasterStatus> parse_status(std::string_view json);

// What these say.
JsonShape agents_shape();
JsonShape frameworks_shape();
JsonShape roles_shape();
JsonShape tasks_shape();
JsonShape offers_shape();
JsonShape explanations_shape();  // one of the three
JsonShape status_shape();

// --- what an agent tells -----------------------------------------------------------------------

std::string agent_status_json(const AgentStatus& status);
Result<AgentStatus> parse_agent_status(std::string_view json);

// One entry of a directory of an agent's sandbox.
struct FileRow {
  std::string name = {};
  int64_t size = 0;  // bytes; of a directory: zero
  bool directory = false;
  bool operator==(const FileRow&) const = default;
};
std::string files_json(
    const std::vector<FileRow>& rows);  // {"files":[{"name","size","directory"}]}
Result<std::vector<FileRow>> parse_files(std::string_view json);

// --- arguments of calls
// ------------------------------------------------------------------------------- These come from
// people: a member that is not known is refused. Empty text is the same as {}.

std::string task_query_json(const TaskQuery& query);
Result<TaskQuery> parse_task_query(std::string_view json);  // a limit from 1 to kReplyRowsMax

// `task` is FRAMEWORK/TASK or a prefix of it, as typed. No grace: the task's own.
// One task, or all of a framework.
struct KillCall {
  std::string task = {};
  std::string framework = {};
  std::optional<Duration> grace = {};
  bool operator==(const KillCall&) const = default;
};
std::string kill_call_json(const KillCall& call);
Result<KillCall> parse_kill_call(std::string_view json);

// What is not there stays as it is; `unset`: the role is as if it had never been set.
struct RoleSetCall {
  RoleName role = {};
  std::optional<int64_t> weight = {};  // milli
  std::optional<Quota> guarantee = {};
  std::optional<Quota> limit = {};
  std::optional<std::vector<std::string>> users = {};
  bool unset = false;
  bool operator==(const RoleSetCall&) const = default;
};
// {"role","weight","guarantee","limit","users","unset"}, quotas as in "cpus:10;mem:1GiB", "" for
// none.
std::string role_set_call_json(const RoleSetCall& call);
Result<RoleSetCall> parse_role_set_call(std::string_view json);

// No grace: that of revokes.
// The whole id of a framework, or its name.
struct TeardownCall {
  std::string framework = {};
  bool operator==(const TeardownCall&) const = default;
};
std::string teardown_call_json(const TeardownCall& call);  // {"framework"}
Result<TeardownCall> parse_teardown_call(std::string_view json);

struct DrainCall {
  AgentId agent = {};
  std::optional<Duration> grace = {};
  bool operator==(const DrainCall&) const = default;
};
std::string drain_call_json(const DrainCall& call);  // {"agent","grace_s"}; undrain: {"agent"}
Result<DrainCall> parse_drain_call(std::string_view json);

struct AgentGoneCall {
  AgentId agent = {};
  bool operator==(const AgentGoneCall&) const = default;
};
std::string agent_gone_call_json(const AgentGoneCall& call);  // {"agent"}
Result<AgentGoneCall> parse_agent_gone_call(std::string_view json);

struct BrakeLiftCall {
  std::optional<Duration> span = {};  // none: the brake's period
  bool operator==(const BrakeLiftCall&) const = default;
};
std::string brake_lift_call_json(const BrakeLiftCall& call);  // {"for_s"}
Result<BrakeLiftCall> parse_brake_lift_call(std::string_view json);

struct ReserveCall {
  AgentId agent = {};
  RoleName role = {};
  ResourceVector amounts = {};
  bool operator==(const ReserveCall&) const = default;
};
// {"agent","role","resources"}, as in "cpus:2;mem:1GiB"; unreserve: the same, or no resources for
// all of them.
std::string reserve_call_json(const ReserveCall& call);
Result<ReserveCall> parse_reserve_call(std::string_view json);

// One of them, as typed: an id, a name or a prefix of an id; a path; FRAMEWORK/TASK.
struct ExplainCall {
  std::string framework = {};
  std::string role = {};
  std::string task = {};
  bool operator==(const ExplainCall&) const = default;
};
std::string explain_call_json(const ExplainCall& call);  // {"framework"}, {"role"} or {"task"}
Result<ExplainCall> parse_explain_call(std::string_view json);

// A request to a framework itself, named as above. `id` is a name that the caller chose: another
// try gives the same one, and nothing is done twice.
struct RequestCall {
  std::string framework = {};
  std::string id = {};
  Duration timeout = seconds(30);
  std::string data = {};
  RoleName role = {};  // to be charged: the framework's or one below it; empty: none is named
  bool operator==(const RequestCall&) const = default;
};
// {"framework","id","timeout_s","data","role"}; the "principal" of an older client is not believed:
// the kernel names the user.
std::string request_call_json(const RequestCall& call);
Result<RequestCall> parse_request_call(std::string_view json);
// Its answer, {"data"}. Errors: kUnsupported, the framework's answer is not UTF-8;
// kResourceExhausted, as JSON it is larger than kJsonBytesMax.
Result<std::string> request_reply_json(const std::string& data);
Result<std::string> parse_request_reply(std::string_view json);

// --- errors and events -------------------------------------------------------------------------

// {"error":{"code","message","hint"}}; without a hint if there is none.
std::string error_json(const Error& error);

// The object `json` with the further member "next", where the next page begins; as it is if `next`
// is empty.
std::string with_next(std::string json, std::string_view next);
// Any value, of any depth.
bool is_json(std::string_view bytes);

// A number with up to three decimals, exactly: 1500 is 1.5.
struct MilliNumber {
  int64_t milli = 0;
  auto operator<=>(const MilliNumber&) const = default;
};
using JsonValue = std::variant<std::string, int64_t, bool, MilliNumber, std::vector<std::string>>;

// One object in this order of members, for commands that print one object per line:
// json_line({{"event", "task_started"}, {"task", id}, {"attempt", int64_t{2}}}).
std::string json_line(const std::vector<std::pair<std::string_view, JsonValue>>& members);
// The reverse (address.json, tests): an object of such values. A whole number is an int64_t.
Result<std::map<std::string, JsonValue>> parse_json_line(std::string_view json);

}  // namespace proffer::proto
