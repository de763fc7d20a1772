#pragma once

// The only JSON encoder: HTTP, `--json` and calls have the same output. An object is one line
// without a newline at its end. Names are snake_case; amounts are exact decimal numbers in the
// units of the text form (CPUs, MiB, GPUs); `*_s` are seconds, for a time since the epoch, to the
// millisecond. Optional members without a value are left out. Invalid UTF-8 is replaced by U+FFFD.
//
// Parsers read the encoders' output: missing members get their defaults, and unknown members are
// ignored, since the other side may be newer. Parsers refuse with kInvalidArgument, with the fault
// and its place: text that is not JSON, nesting deeper than kJsonDepthMax, a member named twice, a
// wrong type, an unknown word, or an amount out of bounds.

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

// --- output of the master ----------------------------------------------------------------------

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

std::string explanation_json(const Explanation& explanation);  // the object itself
Result<Explanation> parse_explanation(std::string_view json);
std::string explained_role_json(const ExplainedRole& role);
Result<ExplainedRole> parse_explained_role(std::string_view json);
std::string explained_task_json(const ExplainedTask& task);
Result<ExplainedTask> parse_explained_task(std::string_view json);

std::string status_json(const MasterStatus& status);  // the object itself
Result<MasterStatus> parse_status(std::string_view json);

// The shapes of these documents.
JsonShape agents_shape();
JsonShape frameworks_shape();
JsonShape roles_shape();
JsonShape tasks_shape();
JsonShape offers_shape();
JsonShape explanations_shape();  // one of the three explanations
JsonShape status_shape();

// --- output of an agent ------------------------------------------------------------------------

std::string agent_status_json(const AgentStatus& status);
Result<AgentStatus> parse_agent_status(std::string_view json);

// One entry of a directory in an agent's sandbox.
struct FileRow {
  std::string name = {};
  int64_t size = 0;  // bytes; zero for a directory
  bool directory = false;
  bool operator==(const FileRow&) const = default;
};
std::string files_json(
    const std::vector<FileRow>& rows);  // {"files":[{"name","size","directory"}]}
Result<std::vector<FileRow>> parse_files(std::string_view json);

// --- arguments of calls ------------------------------------------------------------------------
// They come from people, so an unknown member is refused. Empty text is the same as {}.

std::string task_query_json(const TaskQuery& query);
Result<TaskQuery> parse_task_query(std::string_view json);  // the limit is from 1 to kReplyRowsMax

// `task` is FRAMEWORK/TASK or a prefix of it, as typed. Without a grace the task's own is used.
// Kills one task, or all of a framework.
struct KillCall {
  std::string task = {};
  std::string framework = {};
  std::optional<Duration> grace = {};
  bool operator==(const KillCall&) const = default;
};
std::string kill_call_json(const KillCall& call);
Result<KillCall> parse_kill_call(std::string_view json);

// Missing members leave the setting as it is. `unset` removes all settings of the role.
struct RoleSetCall {
  RoleName role = {};
  std::optional<int64_t> weight = {};  // milli
  std::optional<Quota> guarantee = {};
  std::optional<Quota> limit = {};
  std::optional<std::vector<std::string>> users = {};
  bool unset = false;
  bool operator==(const RoleSetCall&) const = default;
};
// {"role","weight","guarantee","limit","users","unset"}; quotas as in "cpus:10;mem:1GiB", "" for
// none.
std::string role_set_call_json(const RoleSetCall& call);
Result<RoleSetCall> parse_role_set_call(std::string_view json);

// Without a grace the one of revokes is used. `framework` is a whole id or a name.
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
std::string drain_call_json(const DrainCall& call);  // {"agent","grace_s"}; for undrain: {"agent"}
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
// {"agent","role","resources"}, as in "cpus:2;mem:1GiB"; for unreserve: the same, or without
// resources to remove all.
std::string reserve_call_json(const ReserveCall& call);
Result<ReserveCall> parse_reserve_call(std::string_view json);

// One of these, as typed: an id, a name or a prefix of an id; a path; FRAMEWORK/TASK.
struct ExplainCall {
  std::string framework = {};
  std::string role = {};
  std::string task = {};
  bool operator==(const ExplainCall&) const = default;
};
std::string explain_call_json(const ExplainCall& call);  // {"framework"}, {"role"} or {"task"}
Result<ExplainCall> parse_explain_call(std::string_view json);

// A request to a framework, which is named as above. `id` is a name that the caller chose. A retry
// has the same id, so nothing is done twice.
struct RequestCall {
  std::string framework = {};
  std::string id = {};
  Duration timeout = seconds(30);
  std::string data = {};
  RoleName role = {};  // the role to charge: the framework's or one below it; empty: none
  bool operator==(const RequestCall&) const = default;
};
// {"framework","id","timeout_s","data","role"}. The "principal" of an older client is ignored,
// since the kernel identifies the user.
std::string request_call_json(const RequestCall& call);
Result<RequestCall> parse_request_call(std::string_view json);
// The framework's answer, {"data"}. Errors: kUnsupported: the answer is not UTF-8;
// kResourceExhausted: it is larger than kJsonBytesMax as JSON.
Result<std::string> request_reply_json(const std::string& data);
Result<std::string> parse_request_reply(std::string_view json);

// --- errors and events -------------------------------------------------------------------------

// {"error":{"code","message","hint"}}; "hint" only if there is one.
std::string error_json(const Error& error);

// The object `json` with a further member "next", the beginning of the next page. Unchanged if
// `next` is empty.
std::string with_next(std::string json, std::string_view next);
// True for any JSON value, of any depth.
bool is_json(std::string_view bytes);

// A number with up to three decimals, exactly: 1500 is 1.5.
struct MilliNumber {
  int64_t milli = 0;
  auto operator<=>(const MilliNumber&) const = default;
};
using JsonValue = std::variant<std::string, int64_t, bool, MilliNumber, std::vector<std::string>>;

// One object with its members in this order, for commands that print one object per line:
// json_line({{"event", "task_started"}, {"task", id}, {"attempt", int64_t{2}}}).
std::string json_line(const std::vector<std::pair<std::string_view, JsonValue>>& members);
// The reverse of json_line() (for address.json and tests). A whole number becomes an int64_t.
Result<std::map<std::string, JsonValue>> parse_json_line(std::string_view json);

}  // namespace proffer::proto
