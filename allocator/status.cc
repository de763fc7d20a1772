// Pictures of the allocator for people and metrics. Computed from the books, not from the shares of
// the last decision, so they are right between decisions too.

#include <algorithm>

#include "allocator/state.h"

namespace proffer {

ResourceVector Allocator::State::total() const { return compute_total(); }

std::vector<RoleStatus> Allocator::State::roles() const {
  const ResourceVector total = compute_total();
  std::vector<RoleStatus> all;
  for (const auto& [name, r] : roles_) {
    all.push_back({.role = name,
                   .settings = settings_of(name),
                   .allocated = r->allocated,
                   .offered = r->offered,
                   .dominant_share = dominant_share(r->use(), total)});
  }
  return all;
}

std::vector<LeafStatus> Allocator::State::leaves() const {
  const ResourceVector total = compute_total();
  std::vector<LeafStatus> all;
  for (const auto& [id, l] : leaves_) {
    LeafStatus status{.framework = id,
                      .role = l->role->name,
                      .allocated = l->allocated,
                      .offered = l->offered,
                      .dominant_share = dominant_share(l->use(), total),
                      .weighted_share = dominant_share(l->use(), total),
                      .suppressed = l->suppressed};
    for (const auto& [name, ask] : l->asks) {
      AskStatus of_ask{.ask = name, .wanted = ask->ask.count, .offered = ask->offered};
      const AskEntry& entry = *ask;
      of_ask.could_ever_fit = std::any_of(agents_.begin(), agents_.end(), [&](const auto& a) {
        return could_ever_fit(entry, *a.second);
      });
      if (ask->claim != nullptr) of_ask.claimed = ask->claim->id;
      status.asks.push_back(std::move(of_ask));
    }
    all.push_back(std::move(status));
  }
  return all;
}

std::vector<AgentUse> Allocator::State::agents() const {
  std::vector<AgentUse> all;
  for (const auto& [id, a] : agents_) {
    all.push_back({.agent = id,
                   .total = a->total.amounts,
                   .allocated = a->allocated.amounts(),
                   .offered = a->offered.amounts(),
                   .free = a->free,
                   .active = a->active});
  }
  return all;
}

}  // namespace proffer
