// The arguments of calls, and the one answer that has more than rows. Unknown members of input from
// people are refused.

#include "common/roles.h"
#include "common/text.h"
#include "proto/json/arguments.h"
#include "proto/json/json_text.h"

namespace proffer::proto {
namespace {

struct NoCall {};
// A TaskQuery for other rows than tasks.
struct ListCall {
  TaskQuery query = {};
};
// A DrainCall without its grace.
struct UndrainCall {
  AgentId agent = {};
};

template <class F>
void fields_of_page(F& f, typename F::template Of<TaskQuery>& query) {
  f.about("`next` of the previous page");
  f.text_if_any("after", query.after);
  f.about("maximum rows");
  auto limit = static_cast<int64_t>(query.limit);
  f.whole("limit", 1, static_cast<int64_t>(kReplyRowsMax), limit);
  if constexpr (F::kReads) query.limit = static_cast<size_t>(limit);
}

// Whether there is an optional member: when printing, or in the text that is read.
template <class F, class Value>
bool is_there(F& f, std::string_view name, Value& value) {
  if constexpr (F::kReads) {
    if (f.has(name)) value.emplace();
  }
  return value.has_value();
}

template <class F>
void role_field(F& f, typename F::template Of<RoleName>& role) {
  f.require("role");
  f.about("its path, as in ads/batch");
  if constexpr (F::kReads) {
    f.as_text("role", parse_role, role);
  } else {
    f.text("role", role);
  }
}

template <class F>
void agent_field(F& f, typename F::template Of<AgentId>& agent) {
  f.require("agent");
  f.about("its name");
  f.text("agent", agent);
  if constexpr (F::kReads) {
    if (!f.has("agent")) return;
    if (Result<void> name = check_name("agent", agent.str()); !name) {
      f.refuse("agent", name.error().message());
    }
  }
}

}  // namespace

template <class F>
void fields(F&, typename F::template Of<NoCall>&) {}

template <class F>
void fields(F& f, typename F::template Of<ListCall>& call) {
  f.about("only rows whose name or id has this prefix");
  f.text_if_any("prefix", call.query.prefix);
  fields_of_page(f, call.query);
}

template <class F>
void fields(F& f, typename F::template Of<TaskQuery>& query) {
  f.about("only tasks whose FRAMEWORK/TASK or id has this prefix");
  f.text_if_any("prefix", query.prefix);
  f.about("also show ended tasks");
  f.truth("ended", query.ended);
  fields_of_page(f, query);
}

template <class F>
void fields(F& f, typename F::template Of<KillCall>& call) {
  f.about("FRAMEWORK/TASK or a unique prefix of it");
  f.text_if_any("task", call.task);
  f.about("instead of a task: all tasks of this framework, by its whole id or its name");
  f.text_if_any("framework", call.framework);
  f.about("seconds between the kill signal and SIGKILL; default: the task's own");
  f.seconds("grace_s", call.grace);
  if constexpr (F::kReads) {
    if (!f.has("framework")) f.require("task");
  }
}

template <class F>
void fields(F& f, typename F::template Of<TeardownCall>& call) {
  f.require("framework");
  f.about("its whole id, or its name if that is unique");
  f.text("framework", call.framework);
}

template <class F>
void fields(F& f, typename F::template Of<RoleSetCall>& call) {
  role_field(f, call.role);
  f.about("factor of its fair share, from 0.001 to 1000");
  if (is_there(f, "weight", call.weight)) {
    f.milli("weight", -kAmountMax, kAmountMax, *call.weight);
  }
  f.about("guaranteed amounts, as in cpus:10;mem:1GiB; empty: no guarantee");
  if (is_there(f, "guarantee", call.guarantee)) {
    f.as_text("guarantee", parse_quota, *call.guarantee);
  }
  f.about("maximum amounts; empty: no limit");
  if (is_there(f, "limit", call.limit)) {
    f.as_text("limit", parse_quota, *call.limit);
  }
  f.about("users that may use it and roles below it; empty list: all users");
  if (is_there(f, "users", call.users)) {
    f.texts("users", *call.users);
  }
  f.about("true: reset the role to the master's flags");
  f.truth("unset", call.unset);
}

template <class F>
void fields(F& f, typename F::template Of<DrainCall>& call) {
  agent_field(f, call.agent);
  f.about("seconds until its tasks are killed; default: the master's --revoke_grace");
  f.seconds("grace_s", call.grace);
}

template <class F>
void fields(F& f, typename F::template Of<UndrainCall>& call) {
  agent_field(f, call.agent);
  f.ignored("grace_s");
}

template <class F>
void fields(F& f, typename F::template Of<AgentGoneCall>& call) {
  agent_field(f, call.agent);
}

template <class F>
void fields(F& f, typename F::template Of<BrakeLiftCall>& call) {
  f.about("seconds for which no agent is held back; default: the master's --agent_loss_period");
  f.seconds("for_s", call.span);
}

template <class F>
void fields(F& f, typename F::template Of<ReserveCall>& call) {
  agent_field(f, call.agent);
  role_field(f, call.role);
  f.about("as in cpus:2;mem:1GiB; to unreserve everything, leave it out");
  if constexpr (F::kReads) {
    std::string words;
    f.text("resources", words);
    if (words.empty()) return;
    Result<ResourceVector> amounts = parse_shape(words);
    if (!amounts) return f.refuse("resources", amounts.error().message());
    call.amounts = *amounts;
  } else {
    f.text("resources", proffer::to_text(call.amounts));
  }
}

template <class F>
void fields(F& f, typename F::template Of<ExplainCall>& call) {
  f.about("id, name or unique prefix of an id: explain why it has no offer");
  f.text_if_any("framework", call.framework);
  f.about("path: explain why the role has no more");
  f.text_if_any("role", call.role);
  f.about("FRAMEWORK/TASK or a unique prefix: explain what protects the task, and what may end it");
  f.text_if_any("task", call.task);
}

template <class F>
void fields(F& f, typename F::template Of<RequestCall>& call) {
  f.require("framework");
  f.require("id");
  f.about("its id, its name or a unique prefix of its id");
  f.text("framework", call.framework);
  f.about("an id that the caller chooses; a request with the same id is not done twice");
  f.text("id", call.id);
  f.ignored("principal");
  f.about("timeout for the scheduler's answer in seconds, at most 3600");
  f.seconds("timeout_s", call.timeout);
  f.about("the request, in the format of the scheduler");
  f.text("data", call.data);
  f.about("role to charge: the framework's role or a role below it");
  if constexpr (F::kReads) {
    f.as_text("role", parse_role, call.role);
  } else {
    f.text_if_any("role", call.role);
  }
}

JsonShape no_arguments_shape() { return shape_of<NoCall>(); }
JsonShape list_query_shape() { return shape_of<ListCall>(); }

JsonShape task_query_shape() { return shape_of<TaskQuery>(); }
std::string task_query_json(const TaskQuery& query) { return print_value(query); }
Result<TaskQuery> parse_task_query(std::string_view json) {
  return parse_arguments<TaskQuery>(json);
}

JsonShape kill_call_shape() { return shape_of<KillCall>(); }
std::string kill_call_json(const KillCall& call) { return print_value(call); }
Result<KillCall> parse_kill_call(std::string_view json) { return parse_arguments<KillCall>(json); }

JsonShape teardown_call_shape() { return shape_of<TeardownCall>(); }
std::string teardown_call_json(const TeardownCall& call) { return print_value(call); }
Result<TeardownCall> parse_teardown_call(std::string_view json) {
  return parse_arguments<TeardownCall>(json);
}

JsonShape role_set_call_shape() { return shape_of<RoleSetCall>(); }
std::string role_set_call_json(const RoleSetCall& call) { return print_value(call); }
Result<RoleSetCall> parse_role_set_call(std::string_view json) {
  return parse_arguments<RoleSetCall>(json);
}

JsonShape drain_call_shape() { return shape_of<DrainCall>(); }
JsonShape undrain_call_shape() { return shape_of<UndrainCall>(); }
std::string drain_call_json(const DrainCall& call) { return print_value(call); }
Result<DrainCall> parse_drain_call(std::string_view json) {
  return parse_arguments<DrainCall>(json);
}

JsonShape agent_gone_call_shape() { return shape_of<AgentGoneCall>(); }
std::string agent_gone_call_json(const AgentGoneCall& call) { return print_value(call); }
Result<AgentGoneCall> parse_agent_gone_call(std::string_view json) {
  return parse_arguments<AgentGoneCall>(json);
}

JsonShape brake_lift_call_shape() { return shape_of<BrakeLiftCall>(); }
std::string brake_lift_call_json(const BrakeLiftCall& call) { return print_value(call); }
Result<BrakeLiftCall> parse_brake_lift_call(std::string_view json) {
  return parse_arguments<BrakeLiftCall>(json);
}

JsonShape reserve_call_shape() { return shape_of<ReserveCall>(); }
std::string reserve_call_json(const ReserveCall& call) { return print_value(call); }
Result<ReserveCall> parse_reserve_call(std::string_view json) {
  return parse_arguments<ReserveCall>(json);
}

JsonShape explain_call_shape() { return shape_of<ExplainCall>(); }
std::string explain_call_json(const ExplainCall& call) { return print_value(call); }
Result<ExplainCall> parse_explain_call(std::string_view json) {
  Result<ExplainCall> call = parse_arguments<ExplainCall>(json);
  if (!call) return call;
  const int named =
      int{!call->framework.empty()} + int{!call->role.empty()} + int{!call->task.empty()};
  if (named == 1) return call;
  return Error::invalid_argument(
      text("name exactly one of framework, role and task, not ", named, " of them"));
}

JsonShape request_call_shape() { return shape_of<RequestCall>(); }
std::string request_call_json(const RequestCall& call) { return print_value(call); }
Result<RequestCall> parse_request_call(std::string_view json) {
  return parse_arguments<RequestCall>(json);
}

JsonShape request_reply_shape() {
  JsonShape shape;
  shape.members.push_back({.name = "data", .type = JsonShape::Type::kText});
  return shape;
}

Result<std::string> request_reply_json(const std::string& data) {
  std::optional<std::string> json = to_json_text_if_utf8({{"data", data}});
  if (!json) return Error::unsupported("the framework's answer is not UTF-8 text");
  if (json->size() > kJsonBytesMax) {
    return Error::resource_exhausted(text("the framework's answer has ", json->size(),
                                          " bytes as JSON; at most ", kJsonBytesMax,
                                          " are allowed"));
  }
  return *std::move(json);
}

Result<std::string> parse_request_reply(std::string_view json) {
  std::string data;
  Result<void> parsed = parse_object(json, [&](const JsonFields& in) { in.text("data", data); });
  if (!parsed) return std::move(parsed).error();
  return data;
}

}  // namespace proffer::proto
