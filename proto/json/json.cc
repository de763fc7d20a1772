// What the rows and values are called in JSON. Each type has a `print` and a `read` side by side,
// so that they are seen to agree; the text itself is nlohmann's work, in json_text.cc.

#include "proto/json/json.h"

#include <algorithm>

#include "common/text.h"
#include "proto/json/json_text.h"

namespace proffer::proto {
namespace {

// --- values ------------------------------------------------------------------------------------

Json print(const ResourceVector& amounts) {
  Json out = Json::object();
  for (const ResourceKind kind : kResourceKinds) out[to_text(kind)] = print_number(amounts[kind]);
  return out;
}

void read(const JsonFields& in, ResourceVector& out) {
  for (const ResourceKind kind : kResourceKinds) {
    in.milli(to_text(kind), -kAmountMax, kAmountMax, out[kind]);
  }
}

Json print(const Resources& resources) {
  Json out = print(resources.amounts);
  if (!resources.gpus.empty()) {
    Json devices = Json::array();
    for (const GpuDevice& device : resources.gpus) {
      devices.push_back({{"index", device.index}, {"amount", print_number(device.milli)}});
    }
    out["gpu_devices"] = std::move(devices);
  }
  if (!resources.ports.empty()) out["ports"] = to_text(resources.ports);
  return out;
}

void read(const JsonFields& in, Resources& out) {
  read(in, out.amounts);
  in.list("gpu_devices", [&](const JsonFields& device) {
    int64_t index = 0;
    int64_t milli = 0;
    device.whole("index", 0, static_cast<int64_t>(kGpuDevicesMax) - 1, index);
    device.require("amount");  // No device has zero of itself.
    device.milli("amount", 1, 1000, milli);
    out.gpus.push_back({static_cast<int32_t>(index), static_cast<int32_t>(milli)});
  });
  std::string ports;
  in.text("ports", ports);
  if (ports.empty()) return;
  Result<Resources> parsed = parse_resources("ports:" + ports);
  if (!parsed) return in.refuse("ports", parsed.error().message());
  out.ports = std::move(parsed->ports);
}

// Only the kinds that it names.
Json print(const Quota& quota) {
  Json out = Json::object();
  for (const ResourceKind kind : kResourceKinds) {
    if (quota[kind]) out[to_text(kind)] = print_number(*quota[kind]);
  }
  return out;
}

void read(const JsonFields& in, Quota& out) {
  for (const ResourceKind kind : kResourceKinds) {
    if (!in.has(to_text(kind))) continue;
    int64_t milli = 0;
    in.milli(to_text(kind), 0, kAmountMax, milli);
    out.set(kind, milli);
  }
}

Json print(const Attributes& attributes) {
  Json out = Json::object();
  for (const auto& [name, value] : attributes) out[name] = value;
  return out;
}

Json print(const std::map<std::string, uint16_t>& ports) {
  Json out = Json::object();
  for (const auto& [name, port] : ports) out[name] = port;
  return out;
}

std::string_view to_text(OfferMode mode) { return mode == OfferMode::kAsks ? "asks" : "open"; }

std::optional<OfferMode> parse_offer_mode(std::string_view text) {
  if (text == "asks") return OfferMode::kAsks;
  if (text == "open") return OfferMode::kOpen;
  return std::nullopt;
}

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

// --- tasks -------------------------------------------------------------------------------------

Json print(const TaskRow& row) {
  Json out = {{"framework", row.framework.str()}, {"task", row.task.str()},
              {"agent", row.agent.str()},         {"state", to_text(row.state)},
              {"reason", to_text(row.reason)},    {"message", row.message},
              {"command", row.command},           {"resources", print(row.resources)},
              {"ports", print(row.ports)}};
  if (row.exit_code) out["exit_code"] = *row.exit_code;
  if (row.signal) out["signal"] = *row.signal;
  if (row.healthy) out["healthy"] = *row.healthy;
  out["http_address"] = row.http_address;
  out["launched_at_s"] = print_seconds(row.launched_at);
  out["changed_at_s"] = print_seconds(row.changed_at);
  return out;
}

void read(const JsonFields& in, TaskRow& out) {
  in.text("framework", out.framework);
  in.text("task", out.task);
  in.text("agent", out.agent);
  in.word("state", parse_task_state, out.state);
  in.word("reason", parse_task_reason, out.reason);
  in.text("message", out.message);
  in.text("command", out.command);
  in.object("resources", [&](const JsonFields& resources) { read(resources, out.resources); });
  in.each_whole("ports", 1, 65535, [&](const std::string& name, int64_t port) {
    out.ports.emplace(name, static_cast<uint16_t>(port));
  });
  in.optional_whole("exit_code", out.exit_code);
  in.optional_whole("signal", out.signal);
  if (in.has("healthy")) in.truth("healthy", out.healthy.emplace());
  in.text("http_address", out.http_address);
  in.seconds("launched_at_s", out.launched_at);
  in.seconds("changed_at_s", out.changed_at);
}

// --- offers ------------------------------------------------------------------------------------

Json print(const OfferRow& row) {
  return {{"offer", row.offer.value()},        {"framework", row.framework.str()},
          {"agent", row.agent.str()},          {"resources", print(row.resources)},
          {"made_s", print_seconds(row.made)}, {"expires_s", print_seconds(row.expires)}};
}

void read(const JsonFields& in, OfferRow& out) {
  in.number("offer", out.offer);
  in.text("framework", out.framework);
  in.text("agent", out.agent);
  in.object("resources", [&](const JsonFields& resources) { read(resources, out.resources); });
  in.seconds("made_s", out.made);
  in.seconds("expires_s", out.expires);
}

// --- explanations ------------------------------------------------------------------------------

Json print(const Holder& holder) {
  return {{"framework", holder.framework.str()},
          {"amounts", print(holder.amounts)},
          {"agents", holder.agents}};
}

void read(const JsonFields& in, Holder& out) {
  in.text("framework", out.framework);
  in.object("amounts", [&](const JsonFields& amounts) { read(amounts, out.amounts); });
  in.whole("agents", out.agents);
}

// Amounts of a kind are in its units, of ports they are ports.
int64_t unit_of(const HinderedAgents& row) { return row.kind ? 1 : 1000; }

Json print(const HinderedAgents& row) {
  Json out = {{"why", to_text(row.why)}};
  if (row.kind) out["kind"] = to_text(*row.kind);
  if (!row.role.empty()) out["role"] = row.role.str();
  if (!row.constraint.empty()) out["constraint"] = row.constraint;
  out["agents"] = row.agents;
  if (!row.example.empty()) out["example"] = row.example.str();
  if (row.wanted != 0 || row.most != 0) {
    out["wanted"] = print_number(row.wanted * unit_of(row));
    out["most"] = print_number(row.most * unit_of(row));
  }
  if (row.until) out["until_s"] = print_seconds(*row.until);
  if (!row.holders.empty()) {
    Json holders = Json::array();
    for (const Holder& holder : row.holders) holders.push_back(print(holder));
    out["holders"] = std::move(holders);
  }
  return out;
}

void read(const JsonFields& in, HinderedAgents& out) {
  in.word("why", parse_hindrance, out.why);
  if (in.has("kind")) in.word("kind", parse_resource_kind, out.kind.emplace());
  in.text("role", out.role);
  in.text("constraint", out.constraint);
  in.whole("agents", out.agents);
  in.text("example", out.example);
  in.milli("wanted", 0, kAmountMax, out.wanted);
  in.milli("most", 0, kAmountMax, out.most);
  out.wanted /= unit_of(out);
  out.most /= unit_of(out);
  if (in.has("until_s")) in.seconds("until_s", out.until.emplace());
  in.list("holders", [&](const JsonFields& holder) { read(holder, out.holders.emplace_back()); });
}

Json print(const std::vector<HinderedAgents>& rows) {
  Json out = Json::array();
  for (const HinderedAgents& row : rows) out.push_back(print(row));
  return out;
}

void read(const JsonFields& in, std::string_view name, std::vector<HinderedAgents>& out) {
  in.list(name, [&](const JsonFields& row) { read(row, out.emplace_back()); });
}

Json print(const AskExplanation& ask) {
  Json out = {{"ask", ask.ask.str()},
              {"shape", print(ask.shape)},
              {"ports", ask.ports},
              {"constrained", ask.constrained},
              {"wanted", ask.wanted},
              {"offered", ask.offered},
              {"usable", ask.usable},
              {"hindered", print(ask.hindered)},
              {"could_ever_fit", ask.could_ever_fit}};
  if (!ask.changes.empty()) out["changes"] = print(ask.changes);
  if (!ask.claimed.empty()) out["claimed"] = ask.claimed.str();
  return out;
}

void read(const JsonFields& in, AskExplanation& out) {
  in.text("ask", out.ask);
  in.object("shape", [&](const JsonFields& amounts) { read(amounts, out.shape); });
  in.whole("ports", out.ports);
  in.truth("constrained", out.constrained);
  in.whole("wanted", out.wanted);
  in.whole("offered", out.offered);
  in.whole("usable", out.usable);
  read(in, "hindered", out.hindered);
  in.truth("could_ever_fit", out.could_ever_fit);
  read(in, "changes", out.changes);
  in.text("claimed", out.claimed);
}

Json print(const Explanation& all) {
  const FrameworkExplanation& fair = all.fair;
  Json before = Json::array();
  for (const Rival& rival : fair.before) {
    before.push_back({{"framework", rival.framework.str()},
                      {"dominant_share_millionths", rival.share_millionths}});
  }
  Json offers = Json::array();
  for (const OfferRow& row : all.offers) offers.push_back(print(row));
  Json asks = Json::array();
  for (const AskExplanation& ask : fair.asks) asks.push_back(print(ask));
  return {{"framework", fair.framework.str()},
          {"answer", all.answer},
          {"name", all.name},
          {"role", fair.role.str()},
          {"user", all.user},
          {"connected", fair.active},
          {"mode", to_text(fair.mode)},
          {"suppressed", fair.suppressed},
          {"failover_timeout_s", print_seconds(all.failover_timeout)},
          {"now_s", print_seconds(all.now)},
          {"total", print(fair.total)},
          {"allocated", print(fair.allocated)},
          {"offered", print(fair.offered)},
          {"dominant_kind", to_text(fair.dominant_kind)},
          {"dominant_share_millionths", fair.share_millionths},
          {"weight", print_number(fair.weight)},
          {"role_share_millionths", fair.role_share_millionths},
          {"place", fair.place},
          {"with_demand", fair.with_demand},
          {"before", std::move(before)},
          {"agents", fair.agents},
          {"agents_active", fair.agents_active},
          {"declined", fair.declined},
          {"offers", std::move(offers)},
          {"asks", std::move(asks)},
          {"asks_unmet", fair.asks_unmet},
          {"usable", fair.usable},
          {"hindered", print(fair.hindered)}};
}

void read(const JsonFields& in, Explanation& out) {
  FrameworkExplanation& fair = out.fair;
  in.text("framework", fair.framework);
  in.text("answer", out.answer);
  in.text("name", out.name);
  in.text("role", fair.role);
  in.text("user", out.user);
  in.truth("connected", fair.active);
  in.word("mode", parse_offer_mode, fair.mode);
  in.truth("suppressed", fair.suppressed);
  in.seconds("failover_timeout_s", out.failover_timeout);
  in.seconds("now_s", out.now);
  in.object("total", [&](const JsonFields& amounts) { read(amounts, fair.total); });
  in.object("allocated", [&](const JsonFields& amounts) { read(amounts, fair.allocated); });
  in.object("offered", [&](const JsonFields& amounts) { read(amounts, fair.offered); });
  in.word("dominant_kind", parse_resource_kind, fair.dominant_kind);
  in.whole("dominant_share_millionths", fair.share_millionths);
  in.milli("weight", kWeightMin, kWeightMax, fair.weight);
  in.whole("role_share_millionths", fair.role_share_millionths);
  in.whole("place", fair.place);
  in.whole("with_demand", fair.with_demand);
  in.list("before", [&](const JsonFields& rival) {
    Rival& row = fair.before.emplace_back();
    rival.text("framework", row.framework);
    rival.whole("dominant_share_millionths", row.share_millionths);
  });
  in.whole("agents", fair.agents);
  in.whole("agents_active", fair.agents_active);
  in.whole("declined", fair.declined);
  in.list("offers", [&](const JsonFields& offer) { read(offer, out.offers.emplace_back()); });
  in.list("asks", [&](const JsonFields& ask) { read(ask, fair.asks.emplace_back()); });
  in.whole("asks_unmet", fair.asks_unmet);
  in.whole("usable", fair.usable);
  read(in, "hindered", fair.hindered);
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

std::string explanation_json(const Explanation& explanation) {
  return to_json_text(print(explanation));
}
Result<Explanation> parse_explanation(std::string_view json) {
  return parse_value<Explanation>(json);
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
