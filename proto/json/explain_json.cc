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

}  // namespace

std::string explanation_json(const Explanation& explanation) {
  return to_json_text(print(explanation));
}
Result<Explanation> parse_explanation(std::string_view json) {
  Explanation explanation;
  Result<void> parsed = parse_object(json, [&](const JsonFields& in) { read(in, explanation); });
  if (!parsed) return std::move(parsed).error();
  return explanation;
}

}  // namespace proffer::proto
