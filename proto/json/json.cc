// The names of the rows' members in JSON; json_text.h prints and parses them.

#include "proto/json/json.h"

#include <algorithm>

#include "common/text.h"
#include "proto/json/json_text.h"
#include "proto/json/json_values.h"

namespace proffer::proto {

// --- agents ------------------------------------------------------------------------------------

template <class F>
void fields(F& f, typename F::template Of<ReservedRow>& part) {
  f.text("role", part.role);
  f.value("amounts", part.amounts);
  f.truth("dynamic", part.dynamic);
}

template <class F>
void fields(F& f, typename F::template Of<AgentRow>& row) {
  f.text("agent", row.agent);
  f.word("state", parse_agent_state, row.state);
  f.texts("attributes", row.attributes);
  f.value("total", row.total);
  f.value("allocated", row.allocated);
  f.value("offered", row.offered);
  f.value("free", row.free);
  f.text("http_address", row.http_address);
  f.text_if_any("https_address", row.https_address);
  f.whole("tasks", row.tasks);
  f.seconds("registered_at_s", row.registered_at);
  f.rows_if_any("reserved", row.reserved);
  f.seconds("drained_by_s", row.drained_by);
  f.text_if_any("limits", row.limits);
  f.text_if_any("trouble", row.trouble);
  f.seconds("gone_at_s", row.gone_at);
  f.truth("held_back", row.held_back);
}

// --- frameworks --------------------------------------------------------------------------------

template <class F>
void fields(F& f, typename F::template Of<AskRow>& row) {
  f.text("ask", row.ask);
  f.value("shape", row.shape);
  f.whole("wanted", row.wanted);
  f.whole("offered", row.offered);
  f.truth("could_ever_fit", row.could_ever_fit);
  f.text_if_any("claimed", row.claimed);
  f.seconds("lag_s", row.lag);
}

template <class F>
void fields(F& f, typename F::template Of<FrameworkRow>& row) {
  f.text("framework", row.framework);
  f.text("name", row.name);
  f.text("role", row.role);
  f.text("user", row.user);
  f.word("state", parse_framework_state, row.state);
  f.word("mode", parse_offer_mode, row.mode);
  f.value("allocated", row.allocated);
  f.value("offered", row.offered);
  f.whole("dominant_share_millionths", row.dominant_share_millionths);
  f.seconds("lag_s", row.lag);
  f.seconds("lag_max_s", row.lag_most);
  f.whole("tasks", row.tasks);
  f.truth("suppressed", row.suppressed);
  f.seconds("failover_timeout_s", row.failover_timeout);
  f.rows("asks", row.asks);
  f.seconds("subscribed_at_s", row.subscribed_at);
}

// --- roles -------------------------------------------------------------------------------------

template <class F>
void fields(F& f, typename F::template Of<RoleRow>& row) {
  f.text("role", row.role);
  f.milli("weight", kWeightMin, kWeightMax, row.weight);
  f.value("allocated", row.allocated);
  f.value("offered", row.offered);
  f.whole("dominant_share_millionths", row.dominant_share_millionths);
  f.value("guarantee", row.guarantee);
  f.value("limit", row.limit);
  f.value("entitlement", row.entitlement);
  f.value("borrowed", row.borrowed);
  f.truth("guarantee_met", row.guarantee_met);
  f.whole("place_share_millionths", row.place_share_millionths);
  f.seconds("lag_s", row.lag);
  f.seconds("lag_max_s", row.lag_most);
  f.whole("frameworks", row.frameworks);
  f.texts_if_any("users", row.users);
}

// --- the master and the agent themselves -------------------------------------------------------

template <class F>
void fields(F& f, typename F::template Of<MasterStatus>& status) {
  f.number("leader", status.leader);
  f.seconds("started_at_s", status.started_at);
  f.seconds("now_s", status.now);
  f.value("total", status.total);
  f.value("allocated", status.allocated);
  f.value("offered", status.offered);
  f.whole("agents_connected", status.agents_connected);
  f.whole("agents_disconnected", status.agents_disconnected);
  f.whole("agents_unreachable", status.agents_unreachable);
  f.whole("agents_gone", status.agents_gone);
  f.whole("agents_awaited", status.agents_awaited);
  f.whole("agents_held_back", status.agents_held_back);
  f.whole("agents_lost_max", status.agents_lost_max);
  f.seconds("agents_lost_period_s", status.agents_lost_period);
  f.seconds("agents_lost_next_s", status.agents_lost_next);
  f.seconds("brake_lifted_until_s", status.brake_lifted_until);
  f.whole("frameworks_connected", status.frameworks_connected);
  f.whole("frameworks_disconnected", status.frameworks_disconnected);
  f.whole("tasks_staging", status.tasks_staging);
  f.whole("tasks_running", status.tasks_running);
  f.whole("tasks_killing", status.tasks_killing);
  f.whole("tasks_unreachable", status.tasks_unreachable);
  f.whole("tasks_ended", status.tasks_ended);
  f.whole("offers", status.offers);
  f.text_if_any("history", status.history);
  f.rows_if_any("masters", status.masters);
}

template <class F>
void fields(F& f, typename F::template Of<AgentExecutorRow>& row) {
  f.text("framework", row.framework);
  f.text("executor", row.executor);
  f.whole("pid", 0, std::numeric_limits<int32_t>::max(), row.pid);
  f.whole("tasks", row.tasks);
  f.truth("fetching", row.fetching);
  f.whole("cpu_nanos", row.usage.cpu_nanos);
  f.whole("throttled_nanos", row.usage.throttled_nanos);
  f.whole("memory_bytes", row.usage.memory_bytes);
  f.whole("memory_peak_bytes", row.usage.memory_peak_bytes);
  f.whole("memory_limit_bytes", row.usage.memory_limit_bytes);
  f.whole("out_of_memory", row.usage.out_of_memory);
  f.whole("processes", row.usage.processes);
  f.whole("read_bytes", row.usage.read_bytes);
  f.whole("written_bytes", row.usage.written_bytes);
}

template <class F>
void fields(F& f, typename F::template Of<AgentStatus>& status) {
  f.text("agent", status.agent);
  f.truth("registered", status.registered);
  f.number("leader", status.leader);
  f.value("total", status.total);
  f.value("used", status.used);
  f.whole("tasks", status.tasks);
  f.whole("updates_unacknowledged", status.updates_unacknowledged);
  f.text_if_any("limits", status.limits);
  f.text_if_any("trouble", status.trouble);
  f.rows("executors", status.executors);
}

template <class F>
void fields(F& f, typename F::template Of<FileRow>& row) {
  f.text("name", row.name);
  f.whole("size", row.size);
  f.truth("directory", row.directory);
}

// --- lists and objects -------------------------------------------------------------------------

std::string agents_json(const std::vector<AgentRow>& rows) { return print_list("agents", rows); }
Result<std::vector<AgentRow>> parse_agents(std::string_view json) {
  return parse_list<AgentRow>(json, "agents");
}

std::string frameworks_json(const std::vector<FrameworkRow>& rows) {
  return print_list("frameworks", rows);
}
Result<std::vector<FrameworkRow>> parse_frameworks(std::string_view json) {
  return parse_list<FrameworkRow>(json, "frameworks");
}

std::string roles_json(const std::vector<RoleRow>& rows) { return print_list("roles", rows); }
Result<std::vector<RoleRow>> parse_roles(std::string_view json) {
  return parse_list<RoleRow>(json, "roles");
}

std::string tasks_json(const std::vector<TaskRow>& rows) { return print_list("tasks", rows); }
Result<std::vector<TaskRow>> parse_tasks(std::string_view json) {
  return parse_list<TaskRow>(json, "tasks");
}

std::string offers_json(const std::vector<OfferRow>& rows) { return print_list("offers", rows); }
Result<std::vector<OfferRow>> parse_offers(std::string_view json) {
  return parse_list<OfferRow>(json, "offers");
}

JsonShape agents_shape() { return list_shape<AgentRow>("agents"); }
JsonShape frameworks_shape() { return list_shape<FrameworkRow>("frameworks"); }
JsonShape roles_shape() { return list_shape<RoleRow>("roles"); }
JsonShape tasks_shape() { return list_shape<TaskRow>("tasks"); }
JsonShape offers_shape() { return list_shape<OfferRow>("offers"); }
JsonShape status_shape() { return shape_of<MasterStatus>(); }

std::string files_json(const std::vector<FileRow>& rows) { return print_list("files", rows); }
Result<std::vector<FileRow>> parse_files(std::string_view json) {
  return parse_list<FileRow>(json, "files");
}

std::string status_json(const MasterStatus& status) { return print_value(status); }
Result<MasterStatus> parse_status(std::string_view json) { return parse_value<MasterStatus>(json); }

std::string agent_status_json(const AgentStatus& status) { return print_value(status); }
Result<AgentStatus> parse_agent_status(std::string_view json) {
  return parse_value<AgentStatus>(json);
}

// --- errors and events -------------------------------------------------------------------------

std::string error_json(const Error& error) {
  Json fields = {{"code", to_text(error.code())}, {"message", error.message()}};
  if (!error.hint().empty()) fields["hint"] = error.hint();
  Json out = Json::object();
  out["error"] = std::move(fields);
  return to_json_text(out);
}

std::string with_next(std::string json, std::string_view next) {
  if (next.empty() || json.size() < 2) return json;
  json.pop_back();
  json += json == "{" ? "\"next\":" : ",\"next\":";
  json += to_json_text(Json(next)) + "}";
  return json;
}

bool is_json(std::string_view bytes) { return ParsedJson::accept(bytes); }

std::string json_line(const std::vector<std::pair<std::string_view, JsonValue>>& members) {
  Json out = Json::object();
  for (const auto& [name, value] : members) {
    Json& member = out[name];
    std::visit(
        [&](const auto& held) {
          if constexpr (std::is_same_v<std::decay_t<decltype(held)>, MilliNumber>) {
            member = print_number(held.milli);
          } else {
            member = held;
          }
        },
        value);
  }
  return to_json_text(out);
}

Result<std::map<std::string, JsonValue>> parse_json_line(std::string_view json) {
  std::map<std::string, JsonValue> members;
  Result<void> parsed = parse_object(json, [&](const JsonFields& in) { in.each_value(members); });
  if (!parsed) return std::move(parsed).error();
  return members;
}

}  // namespace proffer::proto
