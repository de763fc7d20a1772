// Why a framework has no offer. The allocator counts the reasons; answer_of() selects the sentence
// to show. Roles and tasks: explain_more.cc.

#include "master/core/explain.h"

#include <set>

#include "common/text.h"
#include "master/core/state.h"

namespace proffer::master {
namespace {

// The hindrance of the most agents, out of `agents`.
std::string most_of(const std::vector<HinderedAgents>& hindered, int64_t agents) {
  const HinderedAgents& most = hindered.front();
  return text(most.agents, " of ", agents, agents == 1 ? " agent: " : " agents: ", to_text(most));
}

// The allocator only knows that an agent is closed. Fills in some reasons, if one of them is not a
// drain.
void name_troubles(const Agents& agents, std::vector<HinderedAgents>& hindered) {
  constexpr size_t kTroublesMax = 3;
  for (HinderedAgents& one : hindered) {
    if (one.why != Hindrance::kDraining) continue;
    std::set<std::string> troubles;
    bool some_drained = false;
    for (const auto& [id, agent] : agents.all()) {
      if (!agent.connected()) continue;
      some_drained |= !agent.takes_no_tasks() && agent.drained_by.has_value();
      if (agent.takes_no_tasks() && troubles.size() < kTroublesMax) {
        troubles.insert(agent.why_no_tasks());
      }
    }
    if (troubles.empty()) continue;
    one.values.assign(troubles.begin(), troubles.end());
    if (some_drained) one.values.emplace_back("being drained");
  }
}

// The same for the remedy. If an agent is in trouble and drained, both must end.
void name_troubles(const Agents& agents, std::vector<Remedy>& remedies) {
  for (Remedy& remedy : remedies) {
    const Agent* agent =
        remedy.kind == RemedyKind::kUndrained ? agents.find(remedy.agent) : nullptr;
    if (agent == nullptr || !agent->takes_no_tasks()) continue;
    if (!agent->drained_by) remedy.kind = RemedyKind::kTroubleOver;
    remedy.trouble = agent->why_no_tasks();
  }
}

}  // namespace

std::string why_unmet(const AskExplanation& ask, int64_t agents) {
  const std::string which =
      ask.ask.empty() ? text("a task of ", to_text(ask.shape), ", the least that it takes,")
                      : text("the ask ", quoted(ask.ask.str()), " of ", to_text(ask.shape));
  if (!ask.could_ever_fit) return text(which, " fits no agent: ", changes_text(ask));
  if (!ask.claimed.empty()) {
    return text(which, " has waited long: resources that become free on agent ", ask.claimed.str(),
                " are claimed for it");
  }
  if (ask.usable > 0) {
    return text(which, " could use ", ask.usable, ask.usable == 1 ? " agent" : " agents",
                ": the next decision offers it");
  }
  std::string said = text(which, " is not met: ", most_of(ask.hindered, agents));
  if (!ask.first.empty() && ask.hindered.front().why != Hindrance::kOwed) {
    said += text("; before it comes ", owed_text(ask.first));
  }
  return said;
}

namespace {

// Rounded for people, to 100 ms at best, and never 0.
std::string time_left(Duration left) {
  constexpr int64_t kStep = 100;
  return to_text(milliseconds((std::max<int64_t>(left.millis(), 0) / kStep + 1) * kStep));
}

// "its ask 'x' launched nothing in 5 accepts in a row, so nothing is offered for another 2s; the
// last refused task is 't': …".
std::string wait_text(const proto::Explanation& all) {
  const proto::ExplainedWait& wait = all.waits.front();
  std::string said = text(wait.ask.empty() ? "it" : text("its ask ", quoted(wait.ask.str())),
                          " launched nothing in ", wait.failures,
                          wait.failures == 1 ? " accept" : " accepts in a row",
                          ", so no offers are made for another ", time_left(wait.until - all.now));
  if (all.refusals.count == 0) return said;
  said += text("; the last refused task is ", quoted(all.refusals.task.str()));
  return all.refusals.message.empty() ? said : text(said, ": ", all.refusals.message);
}

std::string answer_of_connected(const proto::Explanation& all) {
  const FrameworkExplanation& fair = all.fair;
  if (fair.suppressed) return "it has suppressed offers: it gets none until it revives";
  if (!all.waits.empty() && (all.waits.front().ask.empty() || fair.asks.empty())) {
    return wait_text(all);
  }
  if (fair.agents_active == 0) return "no agent is connected";
  if (fair.mode == OfferMode::kAsks) {
    if (fair.asks.empty()) {
      for (const proto::ExplainedRemark& remark : all.remarks) {
        if (!remark.rejected) continue;
        return text("its ask ", quoted(remark.ask.str()), " is rejected: ", remark.why);
      }
      return all.offers.empty()
                 ? "it asks for nothing: it has declared no asks, or all of them are launched"
                 : "all its asks are in outstanding offers: it has to accept or decline them";
    }
    // An ask that can be met is more informative than one that never could.
    for (const AskExplanation& ask : fair.asks) {
      if (ask.could_ever_fit) return why_unmet(ask, fair.agents);
    }
    return why_unmet(fair.asks.front(), fair.agents);
  }
  if (fair.usable > 0) {
    return text("it takes open offers and could use ", fair.usable,
                fair.usable == 1 ? " agent" : " agents",
                ": the next decision offers them, as far as its share allows");
  }
  if (!all.offers.empty()) {
    return text("it holds ", all.offers.size(), all.offers.size() == 1 ? " offer" : " offers",
                ", which it has to accept or decline");
  }
  if (!fair.asks.empty()) return why_unmet(fair.asks.front(), fair.agents);
  return text("no agent can be offered to it: ", most_of(fair.hindered, fair.agents));
}

// A few failures are usual. More in a row mean that the tasks cannot succeed.
constexpr int64_t kFailedInARowToTell = 10;

// Empty unless its tasks fail one after another.
std::string failures_text(const FailedTasks& failed, bool may_see, Time now) {
  if (failed.in_a_row < kFailedInARowToTell) return {};
  std::string said = text("; its last ", failed.in_a_row, " tasks failed, the last one, ",
                          quoted(failed.task.str()), ", ", time_left(now - failed.at),
                          " ago: ", proto::to_text(failed.reason));
  if (may_see && !failed.message.empty()) said += text(" (", failed.message, ")");
  return said;
}

std::string answer_of(const proto::Explanation& all, const UnansweredOffers& unanswered) {
  if (!all.fair.active) {
    return text("its scheduler is not connected, so nothing is offered; its tasks run on for at ",
                "most ", to_text(all.failover_timeout), " without it");
  }
  std::string answer = answer_of_connected(all);
  if (all.unanswered_in_a_row > 1) {
    answer += text("; its scheduler did not answer the last ", all.unanswered_in_a_row,
                   " offers before their leases ended");
  }
  if (unanswered.rescinded > 0) {
    answer +=
        text("; ", unanswered.rescinded,
             unanswered.rescinded == 1 ? " of its offers was" : " of its offers were",
             " rescinded since it was above its share and did not answer while others waited,",
             " the last ", time_left(all.now - unanswered.rescinded_at), " ago");
  }
  return answer;
}

}  // namespace

Result<proto::Explanation> Master::State::explain(std::string_view word,
                                                  const Principal* by) const {
  const Result<const Framework*> named = frameworks_.named(word);
  if (!named) return named.error();
  const Framework& framework = **named;
  proto::Explanation all{.name = framework.record.name,
                         .user = framework.record.user,
                         .failover_timeout = framework.record.failover_timeout,
                         .now = now_,
                         .fair = allocator_.explain(framework.id(), now_)};
  for (proto::OfferRow& row : offer_rows()) {
    if (row.framework == framework.id()) all.offers.push_back(std::move(row));
  }
  name_troubles(agents_, all.fair.hindered);
  for (AskExplanation& ask : all.fair.asks) {
    name_troubles(agents_, ask.hindered);
    name_troubles(agents_, ask.remedies);
  }
  const bool may_see = may_see_tasks_of(framework.record.user, by);
  explain_behaviour(framework, may_see, all);
  all.answer =
      text(answer_of(all, framework.unanswered), failures_text(framework.failed, may_see, now_));
  return all;
}

// The part that the scheduler itself causes. Messages about its tasks may quote commands and
// environments, so only principals that may see its tasks get them.
void Master::State::explain_behaviour(const Framework& framework, bool may_see,
                                      proto::Explanation& all) const {
  const BackOff& back_off = framework.back_off;
  if (back_off.all().until) {
    all.waits.push_back({.failures = back_off.all().failures, .until = *back_off.all().until});
  }
  for (const auto& [ask, row] : back_off.asks()) {
    if (!row.until || !framework.asks.contains(ask)) continue;
    all.waits.push_back({.ask = ask, .failures = row.failures, .until = *row.until});
  }
  const RefusedLaunches& refused = framework.refused_launches;
  all.refusals.count = refused.count;
  for (const auto& [reason, count] : refused.by_reason) {
    all.refusals.by_reason.push_back({.reason = reason, .count = count});
  }
  if (refused.last) {
    all.refusals.task = refused.last->task;
    all.refusals.ask = refused.last->ask;
    if (may_see) all.refusals.message = refused.last->message;
    all.refusals.at = refused.last->at;
  }
  for (const auto& [ask, why] : framework.rejected_asks) {
    all.remarks.push_back({.ask = ask, .why = why});
  }
  for (const auto& [name, ask] : framework.asks) {
    std::string missing = missing_hosts(ask);
    if (missing.empty()) continue;
    all.remarks.push_back({.ask = name, .rejected = false, .why = std::move(missing)});
  }
  all.unanswered = framework.unanswered.count;
  all.unanswered_in_a_row = framework.unanswered.since_answer;
  all.failed_in_a_row = framework.failed.in_a_row;
}

}  // namespace proffer::master
