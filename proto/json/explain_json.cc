// Explanations as JSON and back.

#include "proto/json/json_values.h"

namespace proffer::proto {

// For amounts that count ports or tasks instead of a kind: milli-units in one.
constexpr int64_t kCounted = 1000;

// In JSON the amount of a kind is in the kind's units.
template <class F>
void fields_of_amount(F& f, std::string_view name, bool of_a_kind,
                      typename F::template Of<int64_t>& amount) {
  const int64_t unit = of_a_kind ? 1 : kCounted;
  int64_t milli = amount * unit;
  f.milli(name, 0, kAmountMax, milli);
  if constexpr (F::kReads) amount = milli / unit;
}

template <class F>
void fields(F& f, typename F::template Of<Holder>& holder) {
  f.text("framework", holder.framework);
  f.value("amounts", holder.amounts);
  f.whole("agents", holder.agents);
  f.text_if_any("role", holder.role);
  if (F::kReads || !holder.entitled.is_zero()) f.value("entitled", holder.entitled);
}

template <class F>
void fields(F& f, typename F::template Of<HinderedAgents>& row) {
  f.word("why", parse_hindrance, row.why);
  f.word("kind", parse_resource_kind, row.kind);
  f.text_if_any("role", row.role);
  f.text_if_any("constraint", row.constraint);
  f.texts_if_any("values", row.values);
  f.whole("agents", row.agents);
  f.text_if_any("example", row.example);
  if (F::kReads || row.wanted != 0 || row.most != 0) {
    fields_of_amount(f, "wanted", row.kind.has_value(), row.wanted);
    fields_of_amount(f, "most", row.kind.has_value(), row.most);
  }
  f.seconds("until_s", row.until);
  f.rows_if_any("holders", row.holders);
}

template <class F>
void fields(F& f, typename F::template Of<Ending>& end) {
  f.text("framework", end.framework);
  f.text("role", end.role);
  if (F::kReads || end.task.empty()) f.number("offer", end.offer);
  f.text_if_any("task", end.task);
}

template <class F>
void fields(F& f, typename F::template Of<Remedy>& remedy) {
  f.require("remedy");
  f.word("remedy", parse_remedy_kind, remedy.kind);
  f.word("kind", parse_resource_kind, remedy.resource);
  if (F::kReads || remedy.kind == RemedyKind::kTakesLess || remedy.amount != 0) {
    fields_of_amount(f, "at_most", remedy.resource.has_value(), remedy.amount);
  }
  if (F::kReads || remedy.time_limit > Duration()) f.seconds("time_limit_s", remedy.time_limit);
  f.text_if_any("constraint", remedy.constraint);
  f.text_if_any("agent", remedy.agent);
  f.text_if_any("role", remedy.role);
  if (F::kReads || !remedy.quota.empty()) f.value("quota", remedy.quota);
  f.text_if_any("trouble", remedy.trouble);
  f.text_if_any("framework", remedy.framework);
  f.rows_if_any("ends", remedy.ends);
  f.texts_if_any("first", remedy.first);
  f.seconds("until_s", remedy.until);
}

template <class F>
void fields(F& f, typename F::template Of<AskExplanation>& ask) {
  f.text("ask", ask.ask);
  f.value("shape", ask.shape);
  f.whole("ports", ask.ports);
  f.truth("constrained", ask.constrained);
  f.whole("wanted", ask.wanted);
  f.whole("offered", ask.offered);
  f.whole("usable", ask.usable);
  f.rows("hindered", ask.hindered);
  f.truth("could_ever_fit", ask.could_ever_fit);
  f.rows_if_any("changes", ask.changes);
  f.text_if_any("claimed", ask.claimed);
  f.seconds("claim_complete_s", ask.claim_complete_at);
  f.rows_if_any("first", ask.first);
  f.rows_if_any("remedies", ask.remedies);
}

template <class F>
void fields(F& f, typename F::template Of<Rival>& rival) {
  f.text("framework", rival.framework);
  f.whole("dominant_share_millionths", rival.share_millionths);
}

template <class F>
void fields(F& f, typename F::template Of<ExplainedWait>& wait) {
  f.text_if_any("ask", wait.ask);
  f.whole("failures", wait.failures);
  f.seconds("until_s", wait.until);
}

template <class F>
void fields(F& f, typename F::template Of<ExplainedRefusals::OfReason>& row) {
  f.word("reason", parse_task_reason, row.reason);
  f.whole("count", row.count);
}

template <class F>
void fields(F& f, typename F::template Of<ExplainedRemark>& remark) {
  f.text("ask", remark.ask);
  f.truth("rejected", remark.rejected);
  f.text("why", remark.why);
}

template <class F>
void fields(F& f, typename F::template Of<Explanation>& all) {
  auto& fair = all.fair;
  f.text("framework", fair.framework);
  f.text("answer", all.answer);
  f.text("name", all.name);
  f.text("role", fair.role);
  f.text("user", all.user);
  f.truth("connected", fair.active);
  f.word("mode", parse_offer_mode, fair.mode);
  f.truth("suppressed", fair.suppressed);
  f.seconds("failover_timeout_s", all.failover_timeout);
  f.seconds("now_s", all.now);
  f.value("total", fair.total);
  f.value("allocated", fair.allocated);
  f.value("offered", fair.offered);
  f.word("dominant_kind", parse_resource_kind, fair.dominant_kind);
  f.whole("dominant_share_millionths", fair.share_millionths);
  f.milli("weight", kWeightMin, kWeightMax, fair.weight);
  f.whole("role_share_millionths", fair.role_share_millionths);
  f.whole("place", fair.place);
  f.whole("with_demand", fair.with_demand);
  f.rows("before", fair.before);
  f.whole("agents", fair.agents);
  f.whole("agents_active", fair.agents_active);
  f.whole("declined", fair.declined);
  f.rows("offers", all.offers);
  f.rows("asks", fair.asks);
  f.whole("asks_unmet", fair.asks_unmet);
  f.whole("usable", fair.usable);
  f.rows("hindered", fair.hindered);
  f.rows_if_any("waits", all.waits);
  f.whole("refused_launches", all.refusals.count);
  f.rows_if_any("refused_by_reason", all.refusals.by_reason);
  if (F::kReads || all.refusals.count > 0) {
    f.text_if_any("refused_task", all.refusals.task);
    f.text_if_any("refused_ask", all.refusals.ask);
    f.text_if_any("refused_message", all.refusals.message);
    f.seconds("refused_at_s", all.refusals.at);
  }
  f.rows_if_any("remarks", all.remarks);
  f.whole("unanswered", all.unanswered);
  f.whole("unanswered_in_a_row", all.unanswered_in_a_row);
  f.whole("failed_in_a_row", all.failed_in_a_row);
}

// --- roles -------------------------------------------------------------------------------------

template <class F>
void fields(F& f, typename F::template Of<NodeStanding>& node) {
  f.text("name", node.name);
  f.truth("is_framework", node.is_framework);
  f.truth("wants", node.wants);
  f.value("use", node.use);
  f.value("entitlement", node.entitlement);
  f.value("borrowed", node.borrowed);
  f.whole("place_share_millionths", node.place_share_millionths);
  f.seconds("lag_s", node.lag);
}

template <class F>
void fields(F& f, typename F::template Of<HeldAsks>& held) {
  f.word("why", parse_role_hindrance, held.why);
  f.text_if_any("role", held.role);
  f.word("kind", parse_resource_kind, held.kind);
  f.whole("asks", held.asks);
  f.whole("tasks", held.tasks);
  f.seconds("lag_s", held.lag);
  f.text("framework", held.framework);
  f.text("ask", held.ask);
  if (F::kReads || held.kind) {
    f.milli("wanted", 0, kAmountMax, held.wanted);
    f.milli("left", 0, kAmountMax, held.left);
  }
  f.rows_if_any("rivals", held.rivals);
  f.text_if_any("back", held.back);
  f.seconds("until_s", held.until);
}

template <class F>
void fields(F& f, typename F::template Of<LimitStanding>& limit) {
  f.text("role", limit.role);
  f.value("limit", limit.limit);
  f.value("use", limit.use);
}

template <class F>
void fields(F& f, typename F::template Of<ComingTask>& task) {
  f.text("framework", task.framework);
  f.text("task", task.task);
  f.text("agent", task.agent);
  f.text("role", task.role);
  f.seconds("deadline_s", task.deadline);
}

template <class F>
void fields(F& f, typename F::template Of<OverStanding>& over) {
  f.text("name", over.name);
  f.value("borrowed", over.borrowed);
}

template <class F>
void fields(F& f, typename F::template Of<Beneficiary>& one) {
  f.text("framework", one.framework);
  f.text("ask", one.ask);
  f.text("role", one.role);
  f.seconds("from_s", one.from);
}

template <class F>
void fields(F& f, typename F::template Of<ExplainedRole>& all) {
  auto& fair = all.fair;
  f.require("role");
  f.text("role", fair.role);
  f.text("answer", all.answer);
  f.seconds("now_s", all.now);
  f.milli("weight", kWeightMin, kWeightMax, fair.settings.weight);
  f.value("guarantee", fair.settings.guarantee);
  f.value("limit", fair.settings.limit);
  f.value("total", fair.total);
  f.value("allocated", fair.allocated);
  f.value("offered", fair.offered);
  f.value("entitlement", fair.entitlement);
  f.value("borrowed", fair.borrowed);
  f.word("dominant_kind", parse_resource_kind, fair.dominant_kind);
  f.whole("dominant_share_millionths", fair.share_millionths);
  f.whole("place_share_millionths", fair.place_share_millionths);
  f.seconds("lag_s", fair.lag);
  f.seconds("lag_max_s", fair.lag_most);
  f.whole("place", fair.place);
  f.whole("with_demand", fair.with_demand);
  f.rows("before", fair.before);
  f.truth("guarantee_met", fair.guarantee_met);
  f.value("headroom", fair.headroom);
  f.truth("headroom_is_held", fair.headroom_is_held);
  f.rows("limits", fair.limits);
  f.whole("asks_unmet", fair.asks_unmet);
  f.rows("held", fair.held);
  f.rows("borrowers", fair.borrowers);
  f.rows("coming", fair.coming);
  f.rows("children", fair.children);
  f.whole("children_all", fair.children_all);
}

// --- tasks -------------------------------------------------------------------------------------

template <class F>
void fields(F& f, typename F::template Of<TaskStanding>& standing) {
  f.text("role", standing.role);
  f.value("amounts", standing.amounts);
  f.word("band", parse_band, standing.band);
  f.whole("priority", standing.priority);
  f.number("gang", standing.gang);
  f.seconds("since_s", standing.since);
  f.truth("lent", standing.is_lent);
  f.truth("estimated", standing.is_estimated);
  f.rows("over", standing.over);
  f.rows("victim_for", standing.victim_for);
  f.text_if_any("guaranteed_by", standing.guaranteed_by);
  f.seconds("protected_until_s", standing.protected_until);
  f.seconds("ends_by_s", standing.ends_by);
}

template <class F>
void fields(F& f, typename F::template Of<ExplainedNotice>& notice) {
  f.word("reason", parse_revoke_reason, notice.reason);
  f.text("beneficiary", notice.beneficiary);
  f.seconds("deadline_s", notice.deadline);
}

template <class F>
void fields(F& f, typename F::template Of<ExplainedTask>& all) {
  f.require("task");
  f.text("answer", all.answer);
  f.seconds("now_s", all.now);
  f.truth("known", all.is_known);
  f.value("task", all.row);
  f.value("standing", all.standing);
  f.value("notice", all.notice);
  f.seconds("drained_by_s", all.drained_by);
  f.rows_if_any("asks", all.asks);
  f.whole("agents", all.agents);
}

JsonShape explanations_shape() {
  JsonShape shape{.type = JsonShape::Type::kOneOf};
  shape.members = {shape_of<Explanation>(), shape_of<ExplainedRole>(), shape_of<ExplainedTask>()};
  return shape;
}

std::string explanation_json(const Explanation& explanation) { return print_value(explanation); }
Result<Explanation> parse_explanation(std::string_view json) {
  return parse_value<Explanation>(json);
}
std::string explained_role_json(const ExplainedRole& role) { return print_value(role); }
Result<ExplainedRole> parse_explained_role(std::string_view json) {
  return parse_value<ExplainedRole>(json);
}
std::string explained_task_json(const ExplainedTask& task) { return print_value(task); }
Result<ExplainedTask> parse_explained_task(std::string_view json) {
  return parse_value<ExplainedTask>(json);
}

}  // namespace proffer::proto
