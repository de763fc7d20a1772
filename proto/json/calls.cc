// The arguments of calls, and the one answer that has more than rows. What comes from people is
// refused if a member of it is not known.

#include "common/roles.h"
#include "common/text.h"
#include "proto/json/json_text.h"

namespace proffer::proto {
namespace {

// The arguments of a call, none of which may be unknown.
template <class Call, class Read>
Result<Call> parse_call(std::string_view json, std::initializer_list<std::string_view> names,
                        const Read& read_into) {
  Call call;
  Result<void> parsed =
      parse_object(trimmed(json).empty() ? "{}" : json, [&](const JsonFields& in) {
        in.only(names);
        read_into(in, call);
      });
  if (!parsed) return std::move(parsed).error();
  return call;
}

void read_role(const JsonFields& in, RoleName& out) {
  in.require("role");
  in.text("role", out);
  if (!in.has("role")) return;
  if (Result<RoleName> role = parse_role(out.str()); !role)
    in.refuse("role", role.error().message());
}

void read_agent(const JsonFields& in, AgentId& out) {
  in.require("agent");
  in.text("agent", out);
  if (!in.has("agent")) return;
  if (Result<void> name = check_name("agent", out.str()); !name) {
    in.refuse("agent", name.error().message());
  }
}

void read_quota(const JsonFields& in, std::string_view name, std::optional<Quota>& out) {
  if (!in.has(name)) return;
  std::string words;
  in.text(name, words);
  Result<Quota> quota = parse_quota(words);
  if (!quota) return in.refuse(name, quota.error().message());
  out = *quota;
}

}  // namespace

std::string task_query_json(const TaskQuery& query) {
  Json out = Json::object();
  if (!query.prefix.empty()) out["prefix"] = query.prefix;
  out["ended"] = query.ended;
  if (!query.after.empty()) out["after"] = query.after;
  out["limit"] = query.limit;
  return to_json_text(out);
}

Result<TaskQuery> parse_task_query(std::string_view json) {
  TaskQuery query;
  if (trimmed(json).empty()) return query;
  Result<void> parsed = parse_object(json, [&](const JsonFields& in) {
    in.only({"prefix", "ended", "after", "limit"});
    in.text("prefix", query.prefix);
    in.truth("ended", query.ended);
    in.text("after", query.after);
    auto limit = static_cast<int64_t>(query.limit);
    in.whole("limit", 1, static_cast<int64_t>(kReplyRowsMax), limit);
    query.limit = static_cast<size_t>(limit);
  });
  if (!parsed) return std::move(parsed).error();
  return query;
}

std::string kill_call_json(const KillCall& call) {
  Json out = Json::object();
  if (!call.task.empty()) out["task"] = call.task;
  if (!call.framework.empty()) out["framework"] = call.framework;
  if (call.grace) out["grace_s"] = print_seconds(*call.grace);
  return to_json_text(out);
}

Result<KillCall> parse_kill_call(std::string_view json) {
  KillCall call;
  Result<void> parsed =
      parse_object(trimmed(json).empty() ? "{}" : json, [&](const JsonFields& in) {
        in.only({"task", "framework", "grace_s"});
        if (!in.has("framework")) in.require("task");
        if (in.has("task")) in.text("task", call.task);
        if (in.has("framework")) in.text("framework", call.framework);
        if (in.has("grace_s")) in.seconds("grace_s", call.grace.emplace());
      });
  if (!parsed) return std::move(parsed).error();
  return call;
}

std::string teardown_call_json(const TeardownCall& call) {
  return to_json_text(Json{{"framework", call.framework}});
}

Result<TeardownCall> parse_teardown_call(std::string_view json) {
  TeardownCall call;
  Result<void> parsed =
      parse_object(trimmed(json).empty() ? "{}" : json, [&](const JsonFields& in) {
        in.only({"framework"});
        in.require("framework");
        in.text("framework", call.framework);
      });
  if (!parsed) return std::move(parsed).error();
  return call;
}

std::string role_set_call_json(const RoleSetCall& call) {
  Json out = {{"role", call.role.str()}};
  if (call.weight) out["weight"] = print_number(*call.weight);
  if (call.guarantee) out["guarantee"] = to_text(*call.guarantee);
  if (call.limit) out["limit"] = to_text(*call.limit);
  if (call.users) out["users"] = *call.users;
  if (call.unset) out["unset"] = true;
  return to_json_text(out);
}

Result<RoleSetCall> parse_role_set_call(std::string_view json) {
  return parse_call<RoleSetCall>(json, {"role", "weight", "guarantee", "limit", "users", "unset"},
                                 [](const JsonFields& in, RoleSetCall& call) {
                                   read_role(in, call.role);
                                   if (in.has("weight"))
                                     in.milli("weight", -kAmountMax, kAmountMax,
                                              call.weight.emplace());
                                   read_quota(in, "guarantee", call.guarantee);
                                   read_quota(in, "limit", call.limit);
                                   if (in.has("users"))
                                     in.texts_if_any("users", call.users.emplace());
                                   in.truth("unset", call.unset);
                                 });
}

std::string drain_call_json(const DrainCall& call) {
  Json out = {{"agent", call.agent.str()}};
  if (call.grace) out["grace_s"] = print_seconds(*call.grace);
  return to_json_text(out);
}

Result<DrainCall> parse_drain_call(std::string_view json) {
  return parse_call<DrainCall>(json, {"agent", "grace_s"},
                               [](const JsonFields& in, DrainCall& call) {
                                 read_agent(in, call.agent);
                                 if (in.has("grace_s")) in.seconds("grace_s", call.grace.emplace());
                               });
}

std::string agent_gone_call_json(const AgentGoneCall& call) {
  return to_json_text({{"agent", call.agent.str()}});
}

Result<AgentGoneCall> parse_agent_gone_call(std::string_view json) {
  return parse_call<AgentGoneCall>(json, {"agent"}, [](const JsonFields& in, AgentGoneCall& call) {
    read_agent(in, call.agent);
  });
}

std::string brake_lift_call_json(const BrakeLiftCall& call) {
  Json out = Json::object();
  if (call.span) out["for_s"] = print_seconds(*call.span);
  return to_json_text(out);
}

Result<BrakeLiftCall> parse_brake_lift_call(std::string_view json) {
  return parse_call<BrakeLiftCall>(json, {"for_s"}, [](const JsonFields& in, BrakeLiftCall& call) {
    if (in.has("for_s")) in.seconds("for_s", call.span.emplace());
  });
}

std::string reserve_call_json(const ReserveCall& call) {
  return to_json_text({{"agent", call.agent.str()},
                       {"role", call.role.str()},
                       {"resources", proffer::to_text(call.amounts)}});
}

Result<ReserveCall> parse_reserve_call(std::string_view json) {
  return parse_call<ReserveCall>(json, {"agent", "role", "resources"},
                                 [](const JsonFields& in, ReserveCall& call) {
                                   read_agent(in, call.agent);
                                   read_role(in, call.role);
                                   std::string words;
                                   in.text("resources", words);
                                   if (words.empty()) return;
                                   Result<ResourceVector> amounts = parse_shape(words);
                                   if (!amounts)
                                     return in.refuse("resources", amounts.error().message());
                                   call.amounts = *amounts;
                                 });
}

std::string explain_call_json(const ExplainCall& call) {
  Json out = Json::object();
  if (!call.framework.empty()) out["framework"] = call.framework;
  if (!call.role.empty()) out["role"] = call.role;
  if (!call.task.empty()) out["task"] = call.task;
  return to_json_text(out);
}

Result<ExplainCall> parse_explain_call(std::string_view json) {
  Result<ExplainCall> call = parse_call<ExplainCall>(json, {"framework", "role", "task"},
                                                     [](const JsonFields& in, ExplainCall& out) {
                                                       in.text("framework", out.framework);
                                                       in.text("role", out.role);
                                                       in.text("task", out.task);
                                                     });
  if (!call) return call;
  const int named =
      int{!call->framework.empty()} + int{!call->role.empty()} + int{!call->task.empty()};
  if (named == 1) return call;
  return Error::invalid_argument(
      text("one of framework, role and task is to be named, not ", named, " of them"));
}

std::string request_call_json(const RequestCall& call) {
  Json out = {{"framework", call.framework}, {"id", call.id}};
  out["timeout_s"] = print_seconds(call.timeout);
  out["data"] = call.data;
  if (!call.role.empty()) out["role"] = call.role.str();
  return to_json_text(out);
}

Result<RequestCall> parse_request_call(std::string_view json) {
  RequestCall call;
  Result<void> parsed =
      parse_object(trimmed(json).empty() ? "{}" : json, [&](const JsonFields& in) {
        in.only({"framework", "id", "principal", "timeout_s", "data", "role"});
        in.require("framework");
        in.require("id");
        in.text("framework", call.framework);
        in.text("id", call.id);
        in.seconds("timeout_s", call.timeout);
        in.text("data", call.data);
        if (in.has("role")) read_role(in, call.role);
      });
  if (!parsed) return std::move(parsed).error();
  return call;
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
