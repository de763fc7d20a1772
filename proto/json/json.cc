// What the rows and values are called in JSON. Each type has a `print` and a `read` side by side,
// so that they are seen to agree; the text itself is nlohmann's work, in json_text.cc.

#include "proto/json/json.h"

#include <algorithm>

#include "common/text.h"
#include "proto/json/json_text.h"
#include "proto/json/json_values.h"

namespace proffer::proto {
namespace {

using proto::print;
using proto::read;

// --- agents ------------------------------------------------------------------------------------

Json print(const AgentRow& row) {
  Json out = {{"agent", row.agent.str()},
              {"state", to_text(row.state)},
              {"attributes", print(row.attributes)},
              {"total", print(row.total)},
              {"allocated", print(row.allocated)},
              {"offered", print(row.offered)},
              {"free", print(row.free)},
              {"http_address", row.http_address},
              {"tasks", row.tasks},
              {"registered_at_s", print_seconds(row.registered_at)}};
  if (!row.reserved.empty()) {
    Json reserved = Json::array();
    for (const ReservedRow& part : row.reserved) {
      reserved.push_back(
          {{"role", part.role.str()}, {"amounts", print(part.amounts)}, {"dynamic", part.dynamic}});
    }
    out["reserved"] = std::move(reserved);
  }
  if (row.drained_by) out["drained_by_s"] = print_seconds(*row.drained_by);
  return out;
}

void read(const JsonFields& in, AgentRow& out) {
  in.text("agent", out.agent);
  in.word("state", parse_agent_state, out.state);
  in.each_text("attributes", [&](const std::string& name, const std::string& value) {
    out.attributes.emplace(name, value);
  });
  in.object("total", [&](const JsonFields& total) { read(total, out.total); });
  in.object("allocated", [&](const JsonFields& amounts) { read(amounts, out.allocated); });
  in.object("offered", [&](const JsonFields& amounts) { read(amounts, out.offered); });
  in.object("free", [&](const JsonFields& amounts) { read(amounts, out.free); });
  in.text("http_address", out.http_address);
  in.whole("tasks", out.tasks);
  in.seconds("registered_at_s", out.registered_at);
  in.list("reserved", [&](const JsonFields& part) {
    ReservedRow& row = out.reserved.emplace_back();
    part.text("role", row.role);
    part.object("amounts", [&](const JsonFields& amounts) { read(amounts, row.amounts); });
    part.truth("dynamic", row.dynamic);
  });
  if (in.has("drained_by_s")) in.seconds("drained_by_s", out.drained_by.emplace());
}

// --- frameworks --------------------------------------------------------------------------------

Json print(const AskRow& row) {
  Json out = {{"ask", row.ask.str()},
              {"shape", print(row.shape)},
              {"wanted", row.wanted},
              {"offered", row.offered},
              {"could_ever_fit", row.could_ever_fit}};
  if (!row.claimed.empty()) out["claimed"] = row.claimed.str();
  return out;
}

void read(const JsonFields& in, AskRow& out) {
  in.text("ask", out.ask);
  in.object("shape", [&](const JsonFields& amounts) { read(amounts, out.shape); });
  in.whole("wanted", out.wanted);
  in.whole("offered", out.offered);
  in.truth("could_ever_fit", out.could_ever_fit);
  in.text("claimed", out.claimed);
}

Json print(const FrameworkRow& row) {
  Json asks = Json::array();
  for (const AskRow& ask : row.asks) asks.push_back(print(ask));
  return {{"framework", row.framework.str()},
          {"name", row.name},
          {"role", row.role.str()},
          {"user", row.user},
          {"state", to_text(row.state)},
          {"mode", to_text(row.mode)},
          {"allocated", print(row.allocated)},
          {"offered", print(row.offered)},
          {"dominant_share_millionths", row.dominant_share_millionths},
          {"tasks", row.tasks},
          {"suppressed", row.suppressed},
          {"failover_timeout_s", print_seconds(row.failover_timeout)},
          {"asks", std::move(asks)},
          {"subscribed_at_s", print_seconds(row.subscribed_at)}};
}

void read(const JsonFields& in, FrameworkRow& out) {
  in.text("framework", out.framework);
  in.text("name", out.name);
  in.text("role", out.role);
  in.text("user", out.user);
  in.word("state", parse_framework_state, out.state);
  in.word("mode", parse_offer_mode, out.mode);
  in.object("allocated", [&](const JsonFields& amounts) { read(amounts, out.allocated); });
  in.object("offered", [&](const JsonFields& amounts) { read(amounts, out.offered); });
  in.whole("dominant_share_millionths", out.dominant_share_millionths);
  in.whole("tasks", out.tasks);
  in.truth("suppressed", out.suppressed);
  in.seconds("failover_timeout_s", out.failover_timeout);
  in.list("asks", [&](const JsonFields& ask) {
    AskRow row;
    read(ask, row);
    out.asks.push_back(std::move(row));
  });
  in.seconds("subscribed_at_s", out.subscribed_at);
}

// --- roles -------------------------------------------------------------------------------------

Json print(const RoleRow& row) {
  return {{"role", row.role.str()},
          {"weight", print_number(row.weight)},
          {"allocated", print(row.allocated)},
          {"offered", print(row.offered)},
          {"dominant_share_millionths", row.dominant_share_millionths},
          {"guarantee", print(row.guarantee)},
          {"limit", print(row.limit)},
          {"entitlement", print(row.entitlement)},
          {"borrowed", print(row.borrowed)},
          {"guarantee_met", row.guarantee_met},
          {"place_share_millionths", row.place_share_millionths},
          {"frameworks", row.frameworks}};
}

void read(const JsonFields& in, RoleRow& out) {
  in.text("role", out.role);
  in.milli("weight", kWeightMin, kWeightMax, out.weight);
  in.object("allocated", [&](const JsonFields& amounts) { read(amounts, out.allocated); });
  in.object("offered", [&](const JsonFields& amounts) { read(amounts, out.offered); });
  in.whole("dominant_share_millionths", out.dominant_share_millionths);
  in.object("guarantee", [&](const JsonFields& quota) { read(quota, out.guarantee); });
  in.object("limit", [&](const JsonFields& quota) { read(quota, out.limit); });
  in.object("entitlement", [&](const JsonFields& amounts) { read(amounts, out.entitlement); });
  in.object("borrowed", [&](const JsonFields& amounts) { read(amounts, out.borrowed); });
  in.truth("guarantee_met", out.guarantee_met);
  in.whole("place_share_millionths", out.place_share_millionths);
  in.whole("frameworks", out.frameworks);
}

// --- the master and the agent themselves -------------------------------------------------------

Json print(const MasterStatus& status) {
  return {{"leader", status.leader.value()},
          {"started_at_s", print_seconds(status.started_at)},
          {"now_s", print_seconds(status.now)},
          {"total", print(status.total)},
          {"allocated", print(status.allocated)},
          {"offered", print(status.offered)},
          {"agents_active", status.agents_active},
          {"agents_disconnected", status.agents_disconnected},
          {"agents_unreachable", status.agents_unreachable},
          {"frameworks_connected", status.frameworks_connected},
          {"frameworks_disconnected", status.frameworks_disconnected},
          {"tasks_staging", status.tasks_staging},
          {"tasks_running", status.tasks_running},
          {"tasks_killing", status.tasks_killing},
          {"tasks_unreachable", status.tasks_unreachable},
          {"tasks_ended", status.tasks_ended},
          {"offers", status.offers}};
}

void read(const JsonFields& in, MasterStatus& out) {
  in.number("leader", out.leader);
  in.seconds("started_at_s", out.started_at);
  in.seconds("now_s", out.now);
  in.object("total", [&](const JsonFields& amounts) { read(amounts, out.total); });
  in.object("allocated", [&](const JsonFields& amounts) { read(amounts, out.allocated); });
  in.object("offered", [&](const JsonFields& amounts) { read(amounts, out.offered); });
  in.whole("agents_active", out.agents_active);
  in.whole("agents_disconnected", out.agents_disconnected);
  in.whole("agents_unreachable", out.agents_unreachable);
  in.whole("frameworks_connected", out.frameworks_connected);
  in.whole("frameworks_disconnected", out.frameworks_disconnected);
  in.whole("tasks_staging", out.tasks_staging);
  in.whole("tasks_running", out.tasks_running);
  in.whole("tasks_killing", out.tasks_killing);
  in.whole("tasks_unreachable", out.tasks_unreachable);
  in.whole("tasks_ended", out.tasks_ended);
  in.whole("offers", out.offers);
}

Json print(const AgentStatus& status) {
  Json executors = Json::array();
  for (const AgentExecutorRow& row : status.executors) {
    executors.push_back({{"framework", row.framework.str()},
                         {"executor", row.executor.str()},
                         {"pid", row.pid},
                         {"tasks", row.tasks}});
  }
  return {{"agent", status.agent.str()},
          {"registered", status.registered},
          {"leader", status.leader.value()},
          {"total", print(status.total)},
          {"used", print(status.used)},
          {"tasks", status.tasks},
          {"updates_unacknowledged", status.updates_unacknowledged},
          {"executors", std::move(executors)}};
}

void read(const JsonFields& in, AgentStatus& out) {
  in.text("agent", out.agent);
  in.truth("registered", out.registered);
  in.number("leader", out.leader);
  in.object("total", [&](const JsonFields& total) { read(total, out.total); });
  in.object("used", [&](const JsonFields& amounts) { read(amounts, out.used); });
  in.whole("tasks", out.tasks);
  in.whole("updates_unacknowledged", out.updates_unacknowledged);
  in.list("executors", [&](const JsonFields& executor) {
    AgentExecutorRow row;
    executor.text("framework", row.framework);
    executor.text("executor", row.executor);
    int64_t pid = 0;
    executor.whole("pid", 0, std::numeric_limits<int32_t>::max(), pid);
    row.pid = static_cast<int32_t>(pid);
    executor.whole("tasks", row.tasks);
    out.executors.push_back(std::move(row));
  });
}

Json print(const FileRow& row) {
  return {{"name", row.name}, {"size", row.size}, {"directory", row.directory}};
}

void read(const JsonFields& in, FileRow& out) {
  in.text("name", out.name);
  in.whole("size", out.size);
  in.truth("directory", out.directory);
}

// --- lists and objects -------------------------------------------------------------------------

template <class Row>
std::string print_list(std::string_view name, const std::vector<Row>& rows) {
  Json list = Json::array();
  for (const Row& row : rows) list.push_back(print(row));
  Json out = Json::object();
  out[name] = std::move(list);
  return to_json_text(out);
}

template <class Row>
Result<std::vector<Row>> parse_list(std::string_view json, std::string_view name) {
  std::vector<Row> rows;
  Result<void> parsed = parse_object(json, [&](const JsonFields& in) {
    in.require(name);
    in.list(name, [&](const JsonFields& fields) {
      Row row;
      read(fields, row);
      rows.push_back(std::move(row));
    });
  });
  if (!parsed) return std::move(parsed).error();
  return rows;
}

template <class Value>
Result<Value> parse_value(std::string_view json) {
  Value value;
  Result<void> parsed = parse_object(json, [&](const JsonFields& in) { read(in, value); });
  if (!parsed) return std::move(parsed).error();
  return value;
}

}  // namespace

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

std::string files_json(const std::vector<FileRow>& rows) { return print_list("files", rows); }
Result<std::vector<FileRow>> parse_files(std::string_view json) {
  return parse_list<FileRow>(json, "files");
}

std::string status_json(const MasterStatus& status) { return to_json_text(print(status)); }
Result<MasterStatus> parse_status(std::string_view json) { return parse_value<MasterStatus>(json); }

std::string agent_status_json(const AgentStatus& status) { return to_json_text(print(status)); }
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
