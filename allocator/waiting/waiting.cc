#include "allocator/waiting/waiting.h"

#include <algorithm>

namespace proffer::fair {

bool Waiting::stop(AskEntry& ask) {
  const bool was_kept = gate.stop(ask);
  const bool had_claim = claims.stop_waiting(ask) || was_kept;
  if (ask.has_headroom()) headroom.drop(ask);
  const bool was_owed = reclaims.stop(ask);
  return had_claim || was_owed;
}

void Waiting::forget(AskEntry& ask) {
  stop(ask);
  gate.forget(ask);
  claims.forget(ask);
  headroom.forget(ask);
  reclaims.forget(ask);
}

void Waiting::imply(Leaf& l, const Cluster::Implied& implied) {
  if (l.owner->implied != nullptr) stop(*l.owner->implied);
  cluster_.imply(l, implied);
}

void Waiting::note_open_expiry(Leaf& l) {
  l.refuses = true;
  if (const AskEntry* ask = l.implied()) imply(l, {.shape = ask->ask.shape, .is_wanted = false});
}

void Waiting::leave(Agent& a) {
  if (a.purpose == Purpose::kOwed) cluster_.end_keep(a);
  if (a.purpose == Purpose::kClaim) claims.drop(*a.claimant);
  reclaims.end_on(a);
}

void Waiting::refuse(const Framework& f, Agent& a) {
  AskEntry* const ask = a.claimant;
  if (ask == nullptr || ask->leaf->owner != &f) return;
  if (a.purpose == Purpose::kOwed) return cluster_.end_keep(a);
  if (claims.has_claim(*ask)) claims.drop(*ask);
}

std::optional<Time> Waiting::next_deadline() const {
  std::optional<Time> next;
  for (const std::optional<Time>& at :
       {gate.next_deadline(), claims.next_deadline(), headroom.next_deadline(),
        reclaims.next_deadline(), withheld.next_deadline(), unanswered.next_deadline()}) {
    if (at) next = next ? std::min(*next, *at) : *at;
  }
  return next;
}

void Waiting::check(std::vector<Violation>& found) const {
  gate.check(found);
  claims.check(found);
  headroom.check(found);
  reclaims.check(found);
  withheld.check(found);
}

}  // namespace proffer::fair
