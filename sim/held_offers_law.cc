// Read look() first.

#include "sim/held_offers_law.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "common/text.h"

namespace proffer::sim {
namespace {

// Entitlements are rounded.
constexpr int64_t kRounding = 1'000'000;

struct OldOffer {
  const proto::OfferRow* offer = nullptr;
  const proto::RoleRow* role = nullptr;
  ResourceVector unit = {};  // of the framework: its largest task, by kind
};

struct Room {
  ResourceVector free = {};
  ResourceVector total = {};
  std::vector<OldOffer> old = {};
};

using Rooms = std::map<AgentId, Room>;

bool is_at_most(const ResourceVector& more, const ResourceVector& use, const ResourceVector& most) {
  return std::all_of(kResourceKinds.begin(), kResourceKinds.end(), [&](ResourceKind kind) {
    return more[kind] == 0 || use[kind] + more[kind] <= most[kind];
  });
}

// Whether the task fits there if each role gives the part of its old offers that is above its
// share, in whole tasks.
bool fits_without_old(const ResourceVector& shape, const Room& place, const RoleName& of) {
  ResourceVector free = place.free;
  if (shape.fits_in(free)) return false;  // No offer keeps it from running.
  std::map<RoleName, ResourceVector> given;
  for (const OldOffer& held : place.old) {
    if (held.role->role == of) continue;
    ResourceVector& before = given[held.role->role];
    const ResourceVector use = held.role->allocated + held.role->offered;
    ResourceVector more;
    bool is_whole = true;
    for (const ResourceKind kind : kResourceKinds) {
      const int64_t slack = place.total[kind] / kRounding + 2;
      const int64_t above = use[kind] - held.role->entitlement[kind] - slack - before[kind];
      is_whole = is_whole && (shape[kind] == 0 || above >= held.unit[kind]);
      const int64_t most = held.unit[kind] > 0 ? above - above % held.unit[kind] : above;
      more[kind] = std::clamp<int64_t>(most, 0, held.offer->resources.amounts[kind]);
    }
    if (!is_whole) continue;
    before += more;
    free += more;
  }
  return shape.fits_in(free);
}

}  // namespace

std::vector<Violation> HeldOffersLaw::look(const MasterWord& word,
                                           const std::vector<proto::OfferRow>& offers, Time now) {
  std::map<RoleName, const proto::RoleRow*> roles;
  for (const proto::RoleRow& row : word.roles) roles[row.role] = &row;
  std::map<FrameworkId, const proto::RoleRow*> of_framework;
  for (const proto::FrameworkRow& row : word.frameworks) {
    if (const auto at = roles.find(row.role); at != roles.end()) {
      of_framework[row.framework] = at->second;
    }
  }
  Rooms rooms;
  ResourceVector total;
  for (const proto::LiveAgent& agent : word.live.agents) total += agent.total.amounts;
  for (const proto::LiveAgent& agent : word.live.agents) {
    if (agent.state != proto::AgentState::kConnected || agent.drains_for) continue;
    rooms[agent.agent] = {.free = agent.total.amounts, .total = total};
  }
  for (const proto::LiveTask& task : word.live.tasks) {
    users_.insert(task.framework);
    units_[task.framework] = units_[task.framework].max(task.shape);
    if (const auto at = rooms.find(task.agent); at != rooms.end()) at->second.free -= task.shape;
  }
  for (const proto::FrameworkRow& row : word.frameworks) {
    for (const proto::AskRow& ask : row.asks) {
      units_[row.framework] = units_[row.framework].max(ask.shape);
    }
  }
  // They are ordered by id: the oldest comes first.
  for (const proto::OfferRow& offer : offers) {
    const auto at = rooms.find(offer.agent);
    if (at == rooms.end()) continue;
    at->second.free -= offer.resources.amounts;
    const auto role = of_framework.find(offer.framework);
    const Duration old_after = users_.contains(offer.framework) ? kOldAfterUse : kOldAfter;
    if (role == of_framework.end() || now - offer.made <= old_after) continue;
    at->second.old.push_back({&offer, role->second, units_[offer.framework]});
  }
  std::set<AgentId> claimed;
  for (const proto::FrameworkRow& row : word.frameworks) {
    for (const proto::AskRow& ask : row.asks) claimed.insert(ask.claimed);
  }

  std::vector<Violation> found;
  std::map<AskKey, Time> since;
  for (const proto::FrameworkRow& row : word.frameworks) {
    const auto at = of_framework.find(row.framework);
    if (at == of_framework.end() || row.state != proto::FrameworkState::kConnected) continue;
    if (!row.offered.is_zero()) continue;  // It leaves offers unanswered itself.
    const proto::RoleRow& role = *at->second;
    for (const proto::AskRow& ask : row.asks) {
      const ResourceVector use = role.allocated + role.offered;
      const bool is_below = ask.wanted > ask.offered && use.fits_in(role.entitlement) &&
                            is_at_most(ask.shape, use, role.entitlement) &&
                            role.limit.contains(use + ask.shape);
      if (!is_below) continue;
      const auto held = std::find_if(rooms.begin(), rooms.end(), [&](const Rooms::value_type& one) {
        return !claimed.contains(one.first) && fits_without_old(ask.shape, one.second, role.role);
      });
      if (held == rooms.end()) continue;
      ++tried_;
      const AskKey key{row.framework, ask.ask};
      const auto known = since_.find(key);
      const Time begin = known == since_.end() ? now : known->second;
      since.emplace(key, begin);
      if (now - begin <= kDemandMax) continue;
      found.push_back({text("the ask ", ask.ask.str(), " of ", row.framework.str(),
                            " is below its share, and has waited for ", to_text(now - begin),
                            " for old offers of ", held->first.str(),
                            " to frameworks above their share: its role has ", to_text(use),
                            " and is entitled to ", to_text(role.entitlement))});
    }
  }
  since_ = std::move(since);
  return found;
}

}  // namespace proffer::sim
