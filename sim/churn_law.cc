// Read look() first. Like guarantee_law.cc it uses only knowledge of the allocator that a master
// gives to all.

#include "sim/churn_law.h"

#include <algorithm>
#include <set>

#include "common/roles.h"
#include "common/text.h"

namespace proffer::sim {
namespace {

struct Wanted {
  const proto::LiveAsk* ask = nullptr;
  RoleName role = {};
};

std::vector<Wanted> wanted_of(const MasterWord& word) {
  std::map<FrameworkId, const proto::LiveFramework*> frameworks;
  for (const proto::LiveFramework& one : word.live.frameworks) frameworks[one.framework] = &one;
  std::vector<Wanted> wanted;
  for (const proto::LiveAsk& one : word.live.asks) {
    const proto::LiveFramework& framework = *frameworks.at(one.framework);
    if (!framework.connected || framework.suppressed || one.ask.count < one.ask.gang) continue;
    wanted.push_back({&one, one.ask.role.empty() ? framework.role : one.ask.role});
  }
  return wanted;
}

const proto::RoleRow* row_of(const MasterWord& word, const RoleName& role) {
  const auto at = std::find_if(word.roles.begin(), word.roles.end(),
                               [&](const proto::RoleRow& row) { return row.role == role; });
  return at == word.roles.end() ? nullptr : &*at;
}

// True if the role with these additional amounts would stay within its entitlement in their kinds.
bool is_entitled_to(const proto::RoleRow& row, const ResourceVector& more) {
  const ResourceVector then = row.allocated + row.offered + more;
  return std::all_of(kResourceKinds.begin(), kResourceKinds.end(), [&](ResourceKind kind) {
    return more[kind] == 0 || then[kind] <= row.entitlement[kind];
  });
}

// True if it has less than its entitlement by more than one of these tasks, and on several machines
// less than half of it.
bool is_far_below(const proto::RoleRow& row, const ResourceVector& shape, size_t machines) {
  if (machines == 1) return is_entitled_to(row, shape * 2);
  ResourceVector more = shape * 2;
  for (const ResourceKind kind : kResourceKinds) {
    if (shape[kind] == 0) continue;
    more[kind] = std::max(more[kind], row.allocated[kind] + row.offered[kind] + shape[kind]);
  }
  return is_entitled_to(row, more);
}

// True if the role, or one above it, has a guarantee that names a kind of the shape.
bool is_promised(const MasterWord& word, const RoleName& role, const ResourceVector& shape) {
  return std::any_of(word.roles.begin(), word.roles.end(), [&](const proto::RoleRow& row) {
    return is_within(role, row.role) &&
           std::any_of(kResourceKinds.begin(), kResourceKinds.end(),
                       [&](ResourceKind kind) { return shape[kind] > 0 && row.guarantee[kind]; });
  });
}

bool serves(const proto::LiveAgent& agent) {
  return agent.state == proto::AgentState::kConnected && !agent.drains_for;
}

// Keeps the keys for which the condition holds now, with the time since when, and reports those for
// which it has held longer than `most`.
template <class Key>
std::vector<Key> outlast(std::map<Key, Time>& since, const std::set<Key>& holds, Duration most,
                         Time now) {
  std::erase_if(since, [&](const auto& one) { return holds.count(one.first) == 0; });
  std::vector<Key> found;
  for (const Key& key : holds) {
    Time& begin = since.emplace(key, now).first->second;
    if (now - begin <= most) continue;
    found.push_back(key);
    begin = now;
  }
  return found;
}

}  // namespace

std::vector<Violation> ChurnLaw::look(const MasterWord& word, int64_t notices, Time now) {
  std::map<AgentId, ResourceVector> free;
  std::set<AskKey> running;
  const size_t machines = word.live.agents.size();
  bool are_all_there = true;
  for (const proto::LiveAgent& agent : word.live.agents) {
    are_all_there = are_all_there && serves(agent);
    free[agent.agent] = agent.total.amounts;
  }
  for (const proto::LiveTask& task : word.live.tasks) {
    if (const auto at = free.find(task.agent); at != free.end()) at->second -= task.shape;
    running.insert({task.framework, task.ask});
  }
  std::set<RoleName> below;
  std::set<RoleName> not_below;
  std::set<AgentId> aside;
  for (const proto::FrameworkRow& framework : word.frameworks) {
    for (const proto::AskRow& ask : framework.asks) aside.insert(ask.claimed);
  }
  std::set<AskKey> have_room;
  std::set<AskKey> have_room_aside;
  std::set<AskKey> have_turn;
  std::set<FrameworkId> wanting;
  for (const Wanted& wanted : wanted_of(word)) {
    const Ask& ask = wanted.ask->ask;
    const AskKey key{wanted.ask->framework, ask.name};
    wanting.insert(wanted.ask->framework);
    const bool is_plain = ask.gang == 1 && ask.constraints.empty() && ask.max_per.empty() &&
                          ask.prefer.empty() && ask.ports == 0 && ask.borrow;
    if (!is_plain || !are_all_there) continue;
    for (const auto& [agent, amounts] : free) {
      if (!lends_ || !ask.shape.fits_in(amounts)) continue;
      have_room_aside.insert(key);
      if (aside.count(agent) == 0) have_room.insert(key);
    }
    const bool could_run =
        std::any_of(word.live.agents.begin(), word.live.agents.end(),
                    [&](const auto& agent) { return ask.shape.fits_in(agent.total.amounts); });
    if (!could_run) continue;
    for (const proto::RoleRow& row : word.roles) {
      if (!is_within(wanted.role, row.role)) continue;
      (is_far_below(row, ask.shape, machines) ? below : not_below).insert(row.role);
    }
    const proto::RoleRow* row = row_of(word, wanted.role);
    if (row != nullptr && running.count(key) == 0 && is_promised(word, wanted.role, ask.shape) &&
        is_entitled_to(*row, ask.shape)) {
      have_turn.insert(key);
    }
  }

  // The largest of its wanted tasks may be missing.
  for (const RoleName& role : not_below) below.erase(role);

  std::vector<Violation> found;
  const Duration below_max = machines == 1 ? kBelowMax : kBelowOnSeveralMax;
  for (const RoleName& role : outlast(below_, below, below_max, now)) {
    const proto::RoleRow& row = *row_of(word, role);
    found.push_back({text("role ", role.str(), " is entitled to ", to_text(row.entitlement),
                          ", wants more, and has had less by more than a task for ",
                          to_text(below_max), ": it has ", to_text(row.allocated))});
  }
  const auto note_room = [&](Since<AskKey>& since, const std::set<AskKey>& holds, Duration most) {
    for (const AskKey& key : outlast(since, holds, most, now)) {
      found.push_back({text("the ask ", key.second.str(), " of ", key.first.str(),
                            " has had room on an agent for ", to_text(most), " and waits")});
    }
  };
  note_room(has_room_, have_room, kRoomMax);
  note_room(has_room_aside_, have_room_aside, kRoomAsideMax);
  for (const AskKey& key : outlast(has_turn_, have_turn, kTurnMax, now)) {
    found.push_back(
        {text("the ask ", key.second.str(), " of ", key.first.str(),
              ", in a guaranteed role that is entitled to a task of it, has had none for ",
              to_text(kTurnMax))});
  }

  const bool is_same = are_all_there && wanting.size() == tenants_ &&
                       std::all_of(word.roles.begin(), word.roles.end(),
                                   [](const proto::RoleRow& row) { return row.guarantee.empty(); });
  if (!is_same) {
    same_since_.reset();
    notices_then_.reset();
    return found;
  }
  if (!same_since_) same_since_ = now;
  if (now - *same_since_ < kSettledAfter) return found;
  if (!notices_then_) notices_then_ = notices;
  if (notices - *notices_then_ > kNoticesMax) {
    found.push_back({text(notices - *notices_then_, " notices though the same tenants have wanted ",
                          "tasks for ", to_text(now - *same_since_))});
    notices_then_ = notices;
  }
  return found;
}

}  // namespace proffer::sim
