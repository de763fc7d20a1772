// Explanations as JSON and back.

#include "proto/json/json_values.h"

namespace proffer::proto {
namespace {

using proto::print;
using proto::read;

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

Json print(const Ending& end) {
  Json out = {{"framework", end.framework.str()}, {"role", end.role.str()}};
  if (end.task.empty()) {
    out["offer"] = end.offer;
  } else {
    out["task"] = end.task.str();
  }
  return out;
}

void read(const JsonFields& in, Ending& out) {
  in.text("framework", out.framework);
  in.text("role", out.role);
  in.text("task", out.task);
  OfferId offer(out.offer);
  in.number("offer", offer);
  out.offer = offer.value();
}

// An amount of a kind is in its units; else it counts ports, or tasks.
int64_t unit_of(const Remedy& remedy) { return remedy.resource ? 1 : 1000; }

Json print(const Remedy& remedy) {
  Json out = {{"remedy", to_text(remedy.kind)}};
  if (remedy.resource) out["kind"] = to_text(*remedy.resource);
  if (remedy.kind == RemedyKind::kTakesLess || remedy.amount != 0) {
    out["at_most"] = print_number(remedy.amount * unit_of(remedy));
  }
  if (!remedy.constraint.empty()) out["constraint"] = remedy.constraint;
  if (!remedy.agent.empty()) out["agent"] = remedy.agent.str();
  if (!remedy.role.empty()) out["role"] = remedy.role.str();
  if (!remedy.quota.empty()) out["quota"] = print(remedy.quota);
  if (!remedy.framework.empty()) out["framework"] = remedy.framework.str();
  if (!remedy.ends.empty()) {
    Json ends = Json::array();
    for (const Ending& end : remedy.ends) ends.push_back(print(end));
    out["ends"] = std::move(ends);
  }
  if (remedy.until) out["until_s"] = print_seconds(*remedy.until);
  return out;
}

void read(const JsonFields& in, Remedy& out) {
  in.require("remedy");
  in.word("remedy", parse_remedy_kind, out.kind);
  if (in.has("kind")) in.word("kind", parse_resource_kind, out.resource.emplace());
  in.milli("at_most", 0, kAmountMax, out.amount);
  out.amount /= unit_of(out);
  in.text("constraint", out.constraint);
  in.text("agent", out.agent);
  in.text("role", out.role);
  in.object("quota", [&](const JsonFields& quota) { read(quota, out.quota); });
  in.text("framework", out.framework);
  in.list("ends", [&](const JsonFields& end) { read(end, out.ends.emplace_back()); });
  if (in.has("until_s")) in.seconds("until_s", out.until.emplace());
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
  if (!ask.remedies.empty()) {
    Json remedies = Json::array();
    for (const Remedy& remedy : ask.remedies) remedies.push_back(print(remedy));
    out["remedies"] = std::move(remedies);
  }
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
  in.list("remedies", [&](const JsonFields& remedy) { read(remedy, out.remedies.emplace_back()); });
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

// --- roles -------------------------------------------------------------------------------------

Json print(const NodeStanding& node) {
  return {{"name", node.name},
          {"is_framework", node.is_framework},
          {"wants", node.wants},
          {"use", print(node.use)},
          {"entitlement", print(node.entitlement)},
          {"borrowed", print(node.borrowed)},
          {"place_share_millionths", node.place_share_millionths}};
}

void read(const JsonFields& in, NodeStanding& out) {
  in.text("name", out.name);
  in.truth("is_framework", out.is_framework);
  in.truth("wants", out.wants);
  in.object("use", [&](const JsonFields& amounts) { read(amounts, out.use); });
  in.object("entitlement", [&](const JsonFields& amounts) { read(amounts, out.entitlement); });
  in.object("borrowed", [&](const JsonFields& amounts) { read(amounts, out.borrowed); });
  in.whole("place_share_millionths", out.place_share_millionths);
}

Json print(const HeldAsks& held) {
  Json out = {{"why", to_text(held.why)}};
  if (!held.role.empty()) out["role"] = held.role.str();
  if (held.kind) out["kind"] = to_text(*held.kind);
  out["asks"] = held.asks;
  out["tasks"] = held.tasks;
  out["framework"] = held.framework.str();
  out["ask"] = held.ask.str();
  if (held.kind) {
    out["wanted"] = print_number(held.wanted);
    out["left"] = print_number(held.left);
  }
  if (!held.rivals.empty()) {
    Json rivals = Json::array();
    for (const Holder& rival : held.rivals) rivals.push_back(print(rival));
    out["rivals"] = std::move(rivals);
  }
  if (!held.back.empty()) out["back"] = held.back;
  if (held.until) out["until_s"] = print_seconds(*held.until);
  return out;
}

void read(const JsonFields& in, HeldAsks& out) {
  in.word("why", parse_role_hindrance, out.why);
  in.text("role", out.role);
  if (in.has("kind")) in.word("kind", parse_resource_kind, out.kind.emplace());
  in.whole("asks", out.asks);
  in.whole("tasks", out.tasks);
  in.text("framework", out.framework);
  in.text("ask", out.ask);
  in.milli("wanted", 0, kAmountMax, out.wanted);
  in.milli("left", 0, kAmountMax, out.left);
  in.list("rivals", [&](const JsonFields& rival) { read(rival, out.rivals.emplace_back()); });
  in.text("back", out.back);
  if (in.has("until_s")) in.seconds("until_s", out.until.emplace());
}

Json print(const LimitStanding& limit) {
  return {{"role", limit.role.str()}, {"limit", print(limit.limit)}, {"use", print(limit.use)}};
}

void read(const JsonFields& in, LimitStanding& out) {
  in.text("role", out.role);
  in.object("limit", [&](const JsonFields& quota) { read(quota, out.limit); });
  in.object("use", [&](const JsonFields& amounts) { read(amounts, out.use); });
}

Json print(const ComingTask& task) {
  return {{"framework", task.framework.str()},
          {"task", task.task.str()},
          {"agent", task.agent.str()},
          {"role", task.role.str()},
          {"deadline_s", print_seconds(task.deadline)}};
}

void read(const JsonFields& in, ComingTask& out) {
  in.text("framework", out.framework);
  in.text("task", out.task);
  in.text("agent", out.agent);
  in.text("role", out.role);
  in.seconds("deadline_s", out.deadline);
}

Json print(const OverStanding& over) {
  return {{"name", over.name}, {"borrowed", print(over.borrowed)}};
}

void read(const JsonFields& in, OverStanding& out) {
  in.text("name", out.name);
  in.object("borrowed", [&](const JsonFields& amounts) { read(amounts, out.borrowed); });
}

Json print(const Beneficiary& one) {
  Json out = {{"framework", one.framework.str()}, {"ask", one.ask.str()}, {"role", one.role.str()}};
  if (one.from) out["from_s"] = print_seconds(*one.from);
  return out;
}

void read(const JsonFields& in, Beneficiary& out) {
  in.text("framework", out.framework);
  in.text("ask", out.ask);
  in.text("role", out.role);
  if (in.has("from_s")) in.seconds("from_s", out.from.emplace());
}

template <class Row>
Json print_rows(const std::vector<Row>& rows) {
  Json out = Json::array();
  for (const Row& row : rows) out.push_back(print(row));
  return out;
}

template <class Row>
void read_rows(const JsonFields& in, std::string_view name, std::vector<Row>& out) {
  in.list(name, [&](const JsonFields& row) { read(row, out.emplace_back()); });
}

Json print(const ExplainedRole& all) {
  const RoleExplanation& fair = all.fair;
  return {{"role", fair.role.str()},
          {"answer", all.answer},
          {"now_s", print_seconds(all.now)},
          {"weight", print_number(fair.settings.weight)},
          {"guarantee", print(fair.settings.guarantee)},
          {"limit", print(fair.settings.limit)},
          {"total", print(fair.total)},
          {"allocated", print(fair.allocated)},
          {"offered", print(fair.offered)},
          {"entitlement", print(fair.entitlement)},
          {"borrowed", print(fair.borrowed)},
          {"dominant_kind", to_text(fair.dominant_kind)},
          {"dominant_share_millionths", fair.share_millionths},
          {"place_share_millionths", fair.place_share_millionths},
          {"place", fair.place},
          {"with_demand", fair.with_demand},
          {"before", print_rows(fair.before)},
          {"guarantee_met", fair.guarantee_met},
          {"headroom", print(fair.headroom)},
          {"headroom_is_held", fair.headroom_is_held},
          {"limits", print_rows(fair.limits)},
          {"asks_unmet", fair.asks_unmet},
          {"held", print_rows(fair.held)},
          {"borrowers", print_rows(fair.borrowers)},
          {"coming", print_rows(fair.coming)},
          {"children", print_rows(fair.children)},
          {"children_all", fair.children_all}};
}

void read(const JsonFields& in, ExplainedRole& out) {
  RoleExplanation& fair = out.fair;
  in.require("role");
  in.text("role", fair.role);
  in.text("answer", out.answer);
  in.seconds("now_s", out.now);
  in.milli("weight", kWeightMin, kWeightMax, fair.settings.weight);
  in.object("guarantee", [&](const JsonFields& quota) { read(quota, fair.settings.guarantee); });
  in.object("limit", [&](const JsonFields& quota) { read(quota, fair.settings.limit); });
  in.object("total", [&](const JsonFields& amounts) { read(amounts, fair.total); });
  in.object("allocated", [&](const JsonFields& amounts) { read(amounts, fair.allocated); });
  in.object("offered", [&](const JsonFields& amounts) { read(amounts, fair.offered); });
  in.object("entitlement", [&](const JsonFields& amounts) { read(amounts, fair.entitlement); });
  in.object("borrowed", [&](const JsonFields& amounts) { read(amounts, fair.borrowed); });
  in.word("dominant_kind", parse_resource_kind, fair.dominant_kind);
  in.whole("dominant_share_millionths", fair.share_millionths);
  in.whole("place_share_millionths", fair.place_share_millionths);
  in.whole("place", fair.place);
  in.whole("with_demand", fair.with_demand);
  read_rows(in, "before", fair.before);
  in.truth("guarantee_met", fair.guarantee_met);
  in.object("headroom", [&](const JsonFields& amounts) { read(amounts, fair.headroom); });
  in.truth("headroom_is_held", fair.headroom_is_held);
  read_rows(in, "limits", fair.limits);
  in.whole("asks_unmet", fair.asks_unmet);
  read_rows(in, "held", fair.held);
  read_rows(in, "borrowers", fair.borrowers);
  read_rows(in, "coming", fair.coming);
  read_rows(in, "children", fair.children);
  in.whole("children_all", fair.children_all);
}

// --- tasks -------------------------------------------------------------------------------------

Json print(const TaskStanding& standing) {
  Json out = {{"role", standing.role.str()},
              {"amounts", print(standing.amounts)},
              {"band", to_text(standing.band)},
              {"priority", standing.priority},
              {"gang", standing.gang},
              {"since_s", print_seconds(standing.since)},
              {"lent", standing.is_lent},
              {"estimated", standing.is_estimated},
              {"over", print_rows(standing.over)},
              {"victim_for", print_rows(standing.victim_for)}};
  if (!standing.guaranteed_by.empty()) out["guaranteed_by"] = standing.guaranteed_by.str();
  if (standing.protected_until) out["protected_until_s"] = print_seconds(*standing.protected_until);
  if (standing.ends_by) out["ends_by_s"] = print_seconds(*standing.ends_by);
  return out;
}

void read(const JsonFields& in, TaskStanding& out) {
  in.text("role", out.role);
  in.object("amounts", [&](const JsonFields& amounts) { read(amounts, out.amounts); });
  in.word("band", parse_band, out.band);
  std::optional<int32_t> priority;
  in.optional_whole("priority", priority);
  out.priority = priority.value_or(0);
  Number<struct GangTag> gang(out.gang);
  in.number("gang", gang);
  out.gang = gang.value();
  in.seconds("since_s", out.since);
  in.truth("lent", out.is_lent);
  in.truth("estimated", out.is_estimated);
  read_rows(in, "over", out.over);
  read_rows(in, "victim_for", out.victim_for);
  in.text("guaranteed_by", out.guaranteed_by);
  if (in.has("protected_until_s")) in.seconds("protected_until_s", out.protected_until.emplace());
  if (in.has("ends_by_s")) in.seconds("ends_by_s", out.ends_by.emplace());
}

Json print(const ExplainedTask& all) {
  Json out = {{"answer", all.answer},
              {"now_s", print_seconds(all.now)},
              {"known", all.is_known},
              {"task", print(all.row)}};
  if (all.standing) out["standing"] = print(*all.standing);
  if (all.notice) {
    out["notice"] = {{"reason", to_text(all.notice->reason)},
                     {"beneficiary", all.notice->beneficiary.str()},
                     {"deadline_s", print_seconds(all.notice->deadline)}};
  }
  if (all.drained_by) out["drained_by_s"] = print_seconds(*all.drained_by);
  if (!all.asks.empty()) out["asks"] = print_rows(all.asks);
  out["agents"] = all.agents;
  return out;
}

void read(const JsonFields& in, ExplainedTask& out) {
  in.require("task");
  in.text("answer", out.answer);
  in.seconds("now_s", out.now);
  in.truth("known", out.is_known);
  in.object("task", [&](const JsonFields& row) { read(row, out.row); });
  in.object("standing",
            [&](const JsonFields& standing) { read(standing, out.standing.emplace()); });
  in.object("notice", [&](const JsonFields& notice) {
    ExplainedNotice& told = out.notice.emplace();
    notice.word("reason", parse_revoke_reason, told.reason);
    notice.text("beneficiary", told.beneficiary);
    notice.seconds("deadline_s", told.deadline);
  });
  if (in.has("drained_by_s")) in.seconds("drained_by_s", out.drained_by.emplace());
  read_rows(in, "asks", out.asks);
  in.whole("agents", out.agents);
}

template <class Value>
Result<Value> parse_value(std::string_view json) {
  Value value;
  Result<void> parsed = parse_object(json, [&](const JsonFields& in) { read(in, value); });
  if (!parsed) return std::move(parsed).error();
  return value;
}

}  // namespace

std::string explanation_json(const Explanation& explanation) {
  return to_json_text(print(explanation));
}
Result<Explanation> parse_explanation(std::string_view json) {
  return parse_value<Explanation>(json);
}
std::string explained_role_json(const ExplainedRole& role) { return to_json_text(print(role)); }
Result<ExplainedRole> parse_explained_role(std::string_view json) {
  return parse_value<ExplainedRole>(json);
}
std::string explained_task_json(const ExplainedTask& task) { return to_json_text(print(task)); }
Result<ExplainedTask> parse_explained_task(std::string_view json) {
  return parse_value<ExplainedTask>(json);
}

}  // namespace proffer::proto
