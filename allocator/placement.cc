// Which agent an ask goes to: best fit, so that large pieces stay whole. Asks without gpus avoid
// the agents that have them while others are free. Preferred hosts will come before the score.

#include <tuple>

#include "allocator/state.h"

namespace proffer {
namespace {

constexpr int kFew = 32;

}  // namespace

bool Allocator::State::is_usable(const AskEntry& ask, const Agent& a, Time now) const {
  return fits(ask.ask.shape, a.free) && a.ports_left() >= ask.ask.ports && ask.matches(a) &&
         !is_filtered(*ask.leaf, a, now);
}

// The agent for one task of the ask, or nullptr and then the ask knows that it has tried all.
fair::Agent* Allocator::State::place(AskEntry& ask, Time now) {
  for (Agent* a : ask.reclaims) {
    if (is_usable(ask, *a, now)) return a;
  }
  if (ask.claim != nullptr && is_usable(ask, *ask.claim, now)) return ask.claim;
  const bool wants_gpus = ask.ask.shape[ResourceKind::kGpus] > 0;

  const auto& by_stamp = free_.by_stamp();
  const auto first_grown = by_stamp.upper_bound(ask.tried_at);
  // The index finds the best at once where there are many; the few that grew are quicker to look
  // at.
  auto grown_end = first_grown;
  for (int i = 0; i < kFew && grown_end != by_stamp.end(); ++i) ++grown_end;
  if (ask.tried_at == 0 || grown_end != by_stamp.end()) {
    const int64_t least = fair::weighted(ask.ask.shape, total_);
    for (const fair::AgentsByFree* agents : {&free_.plain(), &free_.with_gpus()}) {
      if (wants_gpus && agents == &free_.plain()) continue;
      for (auto group = agents->lower_bound(least); group != agents->end(); ++group) {
        for (Agent* a : group->second) {
          if (is_usable(ask, *a, now)) return a;
        }
      }
    }
    ask.tried_at = free_.latest();
    return nullptr;
  }

  Agent* best = nullptr;
  const auto consider = [&](Agent* a) {
    if (!a->listed || !is_usable(ask, *a, now)) return;
    const auto key = [&](const Agent& x) {
      return std::tuple<bool, int64_t, const AgentId&>(!wants_gpus && x.has_gpus(), x.weighted_free,
                                                       x.id);
    };
    if (best == nullptr || key(*a) < key(*best)) best = a;
  };
  for (auto at = first_grown; at != by_stamp.end(); ++at) consider(at->second);
  for (Agent* a : ask.leaf->retry) consider(a);
  if (best == nullptr) ask.tried_at = free_.latest();
  return best;
}

}  // namespace proffer
