#include "allocator/rules/lags.h"

#include <algorithm>

#include "allocator/rules/fit.h"

namespace proffer::fair {
namespace {

__extension__ typedef __int128 Int128;

bool waits(const Cluster& cluster, const AskEntry& ask) {
  const bool is_asked = ask.leaf->mode == OfferMode::kAsks || ask.is_implied();
  return is_asked && !ask.is_refused && ask.unmet() > 0 && ask.leaf_wants() &&
         could_be_served(cluster, ask);
}

void note_lag(const Cluster& cluster, AskEntry& ask, Time now) {
  Lag::Standing standing;
  if (waits(cluster, ask)) {
    standing = {.waits = true, .entitled = ask.entitled, .used = ask.placed * kTaskOne};
  }
  if (standing.waits != ask.lag.waits()) ask.leaf->waiting_asks += standing.waits ? 1 : -1;
  ask.lag.note(now, standing);
}

// The dominant share of `use`, as an amount of `kind`.
int64_t dominant_amount(const ResourceVector& use, ResourceKind kind, const ResourceVector& total) {
  int64_t most = use[kind];
  for (const ResourceKind other : kResourceKinds) {
    if (other == kind || use[other] == 0 || total[other] == 0) continue;
    const Int128 product = Int128(use[other]) * total[kind];
    if (product < Int128(most + 1) * total[other]) continue;
    most = static_cast<int64_t>(std::min<Int128>(product / total[other], kAmountMax));
  }
  return most;
}

void note_lag(const Cluster& cluster, Leaf& l, Time now) {
  const bool wants_all =
      l.mode == OfferMode::kOpen && l.wants && !l.refuses && l.implied() == nullptr;
  Lag::Standing standing;
  if (l.waiting_asks > 0 || wants_all) {
    standing = {.waits = true,
                .entitled = l.entitled[l.entitled_kind],
                .used = dominant_amount(l.use(), l.entitled_kind, cluster.total)};
  }
  l.lag.note(now, standing);
}

}  // namespace

void note_lags(Cluster& cluster, Time now) {
  if (cluster.entitled_anew) {
    for (const auto& [id, l] : cluster.leaves) {
      for (AskEntry* ask : l->order) note_lag(cluster, *ask, now);
      note_lag(cluster, *l, now);
    }
  } else {
    for (AskEntry* ask : cluster.asks_with_lag_due) {
      note_lag(cluster, *ask, now);
      cluster.note_lag_due(*ask->leaf);
    }
    for (Leaf* l : cluster.leaves_with_lag_due) note_lag(cluster, *l, now);
  }
  cluster.entitled_anew = false;
  cluster.clear_lags_due();
}

}  // namespace proffer::fair
