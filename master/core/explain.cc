// Why a framework has no offer. The allocator counts; what is said of it in one sentence is decided
// here: answer_of() is the story. Roles and tasks: explain_more.cc.

#include "master/core/explain.h"

#include <set>

#include "common/text.h"
#include "master/core/state.h"

namespace proffer::master {
namespace {

// What keeps most agents out, of `agents`.
std::string most_of(const std::vector<HinderedAgents>& hindered, int64_t agents) {
  const HinderedAgents& most = hindered.front();
  return text("of ", agents, agents == 1 ? " agent " : " agents ", most.agents, ": ",
              to_text(most));
}

// The allocator knows only that an agent is closed. Some reasons, if one of them is not a drain.
void name_troubles(const Agents& agents, std::vector<HinderedAgents>& hindered) {
  constexpr size_t kTroublesMax = 3;
  for (HinderedAgents& one : hindered) {
    if (one.why != Hindrance::kDraining) continue;
    std::set<std::string> troubles;
    bool some_drained = false;
    for (const auto& [id, agent] : agents.all()) {
      if (!agent.connected()) continue;
      some_drained |= agent.trouble.empty() && agent.drained_by.has_value();
      if (!agent.trouble.empty() && troubles.size() < kTroublesMax) troubles.insert(agent.trouble);
    }
    if (troubles.empty()) continue;
    one.values.assign(troubles.begin(), troubles.end());
    if (some_drained) one.values.emplace_back("being drained");
  }
}

// Likewise for its end. An agent may be in trouble and drained: then both have to end.
void name_troubles(const Agents& agents, std::vector<Remedy>& remedies) {
  for (Remedy& remedy : remedies) {
    const Agent* agent =
        remedy.kind == RemedyKind::kUndrained ? agents.find(remedy.agent) : nullptr;
    if (agent == nullptr || agent->trouble.empty()) continue;
    if (!agent->drained_by) remedy.kind = RemedyKind::kTroubleOver;
    remedy.trouble = agent->trouble;
  }
}

}  // namespace

std::string why_unmet(const AskExplanation& ask, int64_t agents) {
  const std::string which = text("the ask ", quoted(ask.ask.str()), " of ", to_text(ask.shape));
  if (!ask.could_ever_fit) return text(which, " fits no agent: ", changes_text(ask));
  if (!ask.claimed.empty()) {
    return text(which, " has waited long: what becomes free on agent ", ask.claimed.str(),
                " is set aside for it");
  }
  if (ask.usable > 0) {
    return text(which, " could use ", ask.usable, ask.usable == 1 ? " agent" : " agents",
                ": it is offered with the next decision");
  }
  std::string said = text(which, " is not met: ", most_of(ask.hindered, agents));
  if (!ask.first.empty() && ask.hindered.front().why != Hindrance::kOwed) {
    said += text("; first comes ", owed_text(ask.first));
  }
  return said;
}

namespace {

std::string answer_of(const proto::Explanation& all) {
  const FrameworkExplanation& fair = all.fair;
  if (!fair.active) {
    return text("its scheduler is not connected, so nothing is offered; its tasks run on for at ",
                "most ", to_text(all.failover_timeout), " without it");
  }
  if (fair.suppressed) return "it has suppressed offers: none come until it revives";
  if (fair.agents_active == 0) return "no agent is connected";
  if (fair.mode == OfferMode::kAsks) {
    if (fair.asks.empty()) {
      return all.offers.empty()
                 ? "it asks for nothing: it has declared no asks, or all of them are launched"
                 : "all that it asks for is offered to it: it has to accept or decline";
    }
    // One that can be met says more than one that never could.
    for (const AskExplanation& ask : fair.asks) {
      if (ask.could_ever_fit) return why_unmet(ask, fair.agents);
    }
    return why_unmet(fair.asks.front(), fair.agents);
  }
  if (fair.usable > 0) {
    return text("it takes open offers and could have ", fair.usable,
                fair.usable == 1 ? " agent" : " agents",
                ": they are offered with the next decision, as far as its share allows");
  }
  if (!all.offers.empty()) {
    return text("it holds ", all.offers.size(), all.offers.size() == 1 ? " offer" : " offers",
                ", which it has to accept or decline");
  }
  return text("nothing is left for it: ", most_of(fair.hindered, fair.agents));
}

}  // namespace

Result<proto::Explanation> Master::State::explain(std::string_view word) const {
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
  all.answer = answer_of(all);
  return all;
}

}  // namespace proffer::master
