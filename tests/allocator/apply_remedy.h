#pragma once

// Applies a remedy in a scenario. Shared by remedies_test.cc and remedies_property_test.cc.

#include <algorithm>
#include <map>
#include <string>

#include "tests/allocator/scenario.h"

namespace proffer {

inline void end(AllocatorScenario& s, const Ending& end) {
  if (!end.task.empty()) return s.framework(end.framework.str()).ends(end.task);
  // The end of one task of a gang ends the others.
  if (s.allocator().find_offer(OfferId(end.offer), end.framework) == nullptr) return;
  s.allocator().settle({OfferId(end.offer)}, {}, {.refuse_for = hours(1)}, s.now());
}

// `agents`: as they were declared. A remedy that takes effect by itself needs no action.
inline void apply(AllocatorScenario& s, const std::string& framework, const std::string& ask,
                  const Remedy& remedy, const std::map<AgentId, AgentResources>& agents) {
  Allocator& allocator = s.allocator();
  AllocatorScenario::Framework f = s.framework(framework);
  Ask changed = f.ask_of(AskName(ask));
  switch (remedy.kind) {
    case RemedyKind::kTakesLess:
      (remedy.resource ? changed.shape[*remedy.resource] : changed.ports) = remedy.amount;
      f.asks(changed);
      return;
    case RemedyKind::kFewerTogether: {
      const int64_t wanted = f.ask(ask).offered + remedy.amount;
      changed.gang = remedy.amount;
      changed.count = (wanted + changed.gang - 1) / changed.gang * changed.gang;
      f.asks(changed);
      return;
    }
    case RemedyKind::kWithoutConstraint:
      // Erases only one of two equal constraints.
      changed.constraints.erase(
          std::find_if(changed.constraints.begin(), changed.constraints.end(),
                       [&](const Constraint& c) { return to_text(c) == remedy.constraint; }));
      f.asks(changed);
      return;
    case RemedyKind::kWithoutMaxPer:
      std::erase_if(changed.max_per,
                    [&](const MaxPer& most) { return most.attribute == remedy.constraint; });
      f.asks(changed);
      return;
    case RemedyKind::kShorterLimit:
      changed.max_run_time = remedy.time_limit;
      f.asks(changed);
      return;
    case RemedyKind::kMayBorrow:
      changed.borrow = true;
      f.asks(changed);
      return;
    case RemedyKind::kTasksEnd:
    case RemedyKind::kOffersEnd:
      for (const Ending& one : remedy.ends) end(s, one);
      return;
    case RemedyKind::kLimitRaised:
    case RemedyKind::kGuaranteeLowered: {
      RoleSettings settings = allocator.role_table().at(remedy.role);
      (remedy.kind == RemedyKind::kLimitRaised ? settings.limit : settings.guarantee) =
          remedy.quota;
      allocator.set_role(remedy.role, settings);
      return;
    }
    case RemedyKind::kDeclineLifted:
      return f.revives();
    case RemedyKind::kWaitEnds:
      FAIL() << "comes by itself";
      return;
    case RemedyKind::kUndrained:
      return allocator.set_agent_draining(remedy.agent, false);
    case RemedyKind::kConnected:
      return allocator.set_agent_active(remedy.agent, true);
    case RemedyKind::kUnreserved: {
      AgentResources agent = agents.at(remedy.agent);
      for (Slice& slice : agent.slices) {
        if (slice.reserved_for == remedy.role) slice.reserved_for = {};
      }
      return allocator.set_agent(remedy.agent, agent);
    }
    case RemedyKind::kUnclaimed:
      return allocator.suppress(remedy.framework);
    case RemedyKind::kTroubleOver:
      FAIL() << "the allocator knows no trouble";
      return;
  }
}

}  // namespace proffer
