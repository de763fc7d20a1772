// Whether a guarantee could be met. Read could_be_met first. It uses only what DESIGN §8 promises
// of the allocator, so that it can detect errors of the allocator.

#include "sim/guarantee_law.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "common/roles.h"

namespace proffer::sim {
namespace {

const proto::RoleRow* find_role(const MasterWord& word, const RoleName& role) {
  const auto at = std::find_if(word.roles.begin(), word.roles.end(),
                               [&](const proto::RoleRow& row) { return row.role == role; });
  return at == word.roles.end() ? nullptr : &*at;
}

// The role on the path of `other` where it branches off from the path of `role`; none if it does
// not, or if its framework is directly in a role above: then it has no row.
const proto::RoleRow* side_of(const RoleName& other, const RoleName& role, const MasterWord& word) {
  if (is_within(other, role) || is_within(role, other)) return nullptr;
  RoleName side = other;
  while (!is_within(role, parent_of(side))) side = parent_of(side);
  return find_role(word, side);
}

// True if the ask wants more, and no rule except lack of room forbids it.
bool may_have_more(const Ask& ask, const RoleName& of_ask, const proto::RoleRow& guaranteed,
                   const MasterWord& word) {
  if (ask.count < ask.gang || !is_within(of_ask, guaranteed.role)) return false;
  const ResourceVector more = ask.shape * ask.gang;
  if (!guaranteed.guarantee.contains(guaranteed.allocated + guaranteed.offered + more)) {
    return false;
  }
  return std::all_of(word.roles.begin(), word.roles.end(), [&](const proto::RoleRow& row) {
    if (!is_within(of_ask, row.role)) return true;
    const ResourceVector then = row.allocated + row.offered + more;
    const bool is_own = row.role == of_ask;
    return row.limit.contains(then) && (ask.borrow || !is_own || then.fits_in(row.entitlement));
  });
}

bool is_there(const proto::LiveAgent& agent) {
  return agent.state == proto::AgentState::kConnected;
}

bool holds_any(const ResourceVector& shape, const ResourceVector& of) {
  return std::any_of(kResourceKinds.begin(), kResourceKinds.end(),
                     [&](ResourceKind kind) { return shape[kind] > 0 && of[kind] > 0; });
}

// The amounts that the role must give back, without the rounding of entitlements.
ResourceVector borrowed_by(const proto::RoleRow& row, const MasterWord& word) {
  ResourceVector borrowed = row.borrowed;
  for (const proto::LiveAgent& agent : word.live.agents) {
    for (const ResourceKind kind : kResourceKinds) {
      borrowed[kind] -= agent.total.amounts[kind] / 1'000'000;
    }
  }
  return borrowed.max(ResourceVector());
}

// True if a guarantee covers the named kinds of a task, together with all other use: guaranteed
// resources are not preempted.
bool is_promised(const Quota& guarantee, const ResourceVector& use, const ResourceVector& shape) {
  bool names_any = false;
  for (const ResourceKind kind : kResourceKinds) {
    if (shape[kind] == 0 || !guarantee[kind]) continue;
    names_any = true;
    if (use[kind] > *guarantee[kind]) return false;
  }
  return names_any;
}

// A borrower, and the amounts that it has already given back.
struct Side {
  ResourceVector borrowed = {};
  ResourceVector use = {};
};

// The resources that would be free on the agent for tasks in `role`. Ports have no share, so they
// are not lent, and nothing is preempted for them.
Resources free_without_borrowers(const proto::LiveAgent& agent, const RoleName& role,
                                 const MasterWord& word) {
  Resources free = agent.total;
  std::vector<const proto::LiveTask*> tasks;
  for (const proto::LiveTask& task : word.live.tasks) {
    if (task.agent == agent.agent) tasks.push_back(&task);
  }
  std::stable_sort(tasks.begin(), tasks.end(),
                   [](const proto::LiveTask* a, const proto::LiveTask* b) {
                     return std::tie(a->band, a->since) < std::tie(b->band, b->since);
                   });
  std::map<RoleName, Side> sides;
  for (const proto::LiveTask* task : tasks) {
    if (const proto::RoleRow* row = side_of(task->role, role, word); row != nullptr) {
      Side& side =
          sides.try_emplace(row->role, Side{borrowed_by(*row, word), row->allocated}).first->second;
      if (holds_any(task->shape, side.borrowed) &&
          !is_promised(row->guarantee, side.use, task->shape)) {
        side.borrowed = (side.borrowed - task->shape).max(ResourceVector());
        side.use -= task->shape;
        free.amounts += task->shape;
      }
    }
    free.amounts -= task->shape;
    const auto row =
        std::find_if(word.tasks.begin(), word.tasks.end(), [&](const proto::TaskRow& one) {
          return one.framework == task->framework && one.task == task->task;
        });
    if (row != word.tasks.end()) free.ports -= row->resources.ports;
  }
  return free;
}

}  // namespace

bool could_be_met(const RoleName& role, const MasterWord& word) {
  const proto::RoleRow* guaranteed = find_role(word, role);
  if (guaranteed == nullptr) return false;
  // Tasks of absent agents may be unknown; until they are known, nothing must be given back.
  if (!std::all_of(word.live.agents.begin(), word.live.agents.end(), is_there)) return false;
  std::map<FrameworkId, const proto::LiveFramework*> frameworks;
  for (const proto::LiveFramework& one : word.live.frameworks) frameworks[one.framework] = &one;
  std::vector<const Ask*> asks;
  for (const proto::LiveAsk& one : word.live.asks) {
    const proto::LiveFramework& framework = *frameworks.at(one.framework);
    if (!framework.connected || framework.suppressed) continue;
    const RoleName& of_ask = one.ask.role.empty() ? framework.role : one.ask.role;
    if (may_have_more(one.ask, of_ask, *guaranteed, word)) asks.push_back(&one.ask);
  }
  if (asks.empty()) return false;
  std::set<AgentId> own;
  for (const proto::FrameworkRow& framework : word.frameworks) {
    if (!is_within(framework.role, role)) continue;
    for (const proto::AskRow& ask : framework.asks) own.insert(ask.claimed);
  }
  return std::any_of(
      word.live.agents.begin(), word.live.agents.end(), [&](const proto::LiveAgent& agent) {
        const bool serves = agent.state == proto::AgentState::kConnected && !agent.drains_for &&
                            !word.troubled.contains(agent.agent);
        if (!serves || own.count(agent.agent) > 0) return false;
        const Resources free = free_without_borrowers(agent, role, word);
        return std::any_of(asks.begin(), asks.end(), [&](const Ask* ask) {
          return ask->shape.fits_in(free.amounts) && ask->ports <= free.ports.size();
        });
      });
}

}  // namespace proffer::sim
