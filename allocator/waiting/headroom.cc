// Headroom; headroom.h explains its purpose. Begin with keep().

#include "allocator/waiting/headroom.h"

#include <algorithm>

#include "allocator/rules/denial.h"
#include "allocator/rules/fit.h"
#include "allocator/waiting/claims.h"
#include "common/text.h"

namespace proffer::fair {
namespace {

constexpr Duration kPatienceMin = seconds(1);
constexpr Duration kPatienceMax = hours(24 * 7);
// The rest after room kept in vain, as a multiple of the time it was kept.
constexpr int64_t kRestAfterRoom = 6;

// Whether the limit allows `use`, in the kinds that `more` contains.
bool allows(const Role& role, const ResourceVector& use, const ResourceVector& more) {
  return std::all_of(kResourceKinds.begin(), kResourceKinds.end(), [&](ResourceKind kind) {
    const std::optional<int64_t> limit = role.settings.limit[kind];
    return !limit || more[kind] == 0 || use[kind] <= *limit;
  });
}

// Whether the limit names a kind that `more` contains.
bool limits(const Role& role, const ResourceVector& more) {
  return std::any_of(kResourceKinds.begin(), kResourceKinds.end(), [&](ResourceKind kind) {
    return role.settings.limit[kind].has_value() && more[kind] > 0;
  });
}

}  // namespace

void Headroom::keep(AskEntry& ask, Time now) {
  Room& room = kept_[ask];
  if (!room.below.empty() || now < room.after || cluster_.options.naive.no_claims) return;
  if (ask.hopeless_at == cluster_.agents_version || !exceeded_limit(ask).is_none()) return;
  const ResourceVector more = ask.at_once();
  std::vector<Kept> found;
  for (Role* role = ask.leaf->role; role->parent != nullptr; role = role->parent) {
    if (!limits(*role, more)) continue;
    const bool is_open =
        role->headroom.empty() ||
        allows(*role, role->use() + kept_below(cluster_, *role, nullptr) + more, more);
    if (!is_open) return;
    found.push_back({role, role->use()});
  }
  // The denial comes from a limit lowered below use, in a kind that the ask does not need.
  if (found.empty()) return;
  if (!could_ever_be_met(cluster_, ask, true)) {
    ask.hopeless_at = cluster_.agents_version;
    return;
  }
  if (room.patience == Duration()) {
    room.patience = std::max(cluster_.options.claim_after, kPatienceMin);
  }
  room.below = std::move(found);
  room.order = ++count_;
  room.review = later(now, room.patience);
  all_.emplace(room.order, &ask);
  for (const Kept& kept : room.below) kept.role->headroom.push_back(&ask);
}

void Headroom::drop(AskEntry& ask) {
  const std::vector<Kept> all = std::move(kept_[ask].below);
  kept_[ask].below.clear();
  all_.erase(kept_[ask].order);
  for (const Kept& kept : all) {
    std::erase(kept.role->headroom, &ask);
    cluster_.wake_denied_by(*kept.role);
  }
}

bool Headroom::note_served(AskEntry& ask) {
  const bool had_some = !kept_[ask].below.empty();
  if (had_some) drop(ask);
  kept_[ask].patience = {};
  return had_some;
}

void Headroom::drop_useless(const Role& role) {
  const std::vector<AskEntry*> all = role.headroom;
  for (AskEntry* ask : all) {
    const bool is_of_use = exceeded_limit(*ask).is_none() && limits(role, ask->at_once());
    if (!is_of_use) drop(*ask);
  }
}

// Whether use has fallen in each role without enough room for the ask; or, if there is enough room,
// whether the ask's claim is not stuck.
bool Headroom::moves(const AskEntry& ask) const {
  if (ask.hopeless_at == cluster_.agents_version) return false;
  const ResourceVector more = ask.at_once();
  bool is_enough = true;
  for (const Kept& kept : kept_[ask].below) {
    const ResourceVector use = kept.role->use();
    if (allows(*kept.role, use + kept_below(cluster_, *kept.role, &ask) + more, more)) continue;
    is_enough = false;
    if (kept.use.fits_in(use)) return false;
  }
  return !is_enough || !claims_.is_stuck(ask);
}

void Headroom::review(Time now) {
  const std::map<uint64_t, AskEntry*> all = all_;
  for (const auto& [order, ask] : all) {
    Room& room = kept_[*ask];
    if (room.review > now) continue;
    if (ask->hopeless_at != cluster_.agents_version && !could_ever_be_met(cluster_, *ask, true)) {
      ask->hopeless_at = cluster_.agents_version;
    }
    if (moves(*ask)) {
      for (Kept& kept : room.below) kept.use = kept.role->use();
      room.review = later(now, room.patience);
      continue;
    }
    room.after = later(now, room.patience * kRestAfterRoom);
    room.patience = std::min(room.patience * 2, kPatienceMax);
    drop(*ask);
  }
}

std::optional<Time> Headroom::next_deadline() const {
  std::optional<Time> next;
  for (const auto& [order, ask] : all_) {
    const Time at = kept_[*ask].review;
    next = next ? std::min(*next, at) : at;
  }
  return next;
}

void Headroom::check(std::vector<Violation>& found) const {
  size_t count = 0;
  for (const auto& [name, role] : cluster_.tree.roles()) {
    for (const AskEntry* ask : role->headroom) {
      ++count;
      const Room& room = kept_[*ask];
      const bool is_mutual =
          all_.count(room.order) == 1 && all_.at(room.order) == ask &&
          std::any_of(room.below.begin(), room.below.end(),
                      [&, &at = *role](const Kept& one) { return one.role == &at; });
      if (is_mutual && ask->unmet() > 0 && ask->leaf->wants_offers() && role->has_limit()) continue;
      found.push_back({text("role ", name.str(), ": headroom is kept without an ask")});
    }
  }
  for (const auto& [order, ask] : all_) count -= kept_[*ask].below.size();
  if (count != 0) found.push_back({"headroom below limits is recorded on one side only"});
}

}  // namespace proffer::fair
