// Nobody starves below a limit either. In a role that small tasks keep near its limit a large ask
// would never fit, whatever agents are set aside for it. So an ask that has waited for claim_after
// and that is stopped by a limit when its turn comes has room kept for it: below all limits above
// it at once, what others may use is so much less until it is served. keep_headroom() first.
//
// Who comes later is served after those who came earlier wherever both have room kept, so nobody
// waits for each other. Two have it below one limit only if there is room for both already: it is
// taken from the others for one at a time. A guarantee of a role below comes before it.
//
// Where tasks never end, room is kept in vain. So if nothing has ended in such a role for some time
// it is given up, for three times as long, and then kept for twice as long: an ask is served within
// some times the longest task, and what will never be enough is out of use for a quarter of the
// time.

#include <algorithm>

#include "allocator/state.h"
#include "common/text.h"

namespace proffer {
namespace {

constexpr Duration kPatienceMin = seconds(1);
constexpr Duration kPatienceMax = hours(24 * 7);

// Whether the limit allows `use`, in the kinds of which `more` is some.
bool allows(const fair::Role& role, const ResourceVector& use, const ResourceVector& more) {
  return std::all_of(kResourceKinds.begin(), kResourceKinds.end(), [&](ResourceKind kind) {
    const std::optional<int64_t> limit = role.settings.limit[kind];
    return !limit || more[kind] == 0 || use[kind] <= *limit;
  });
}

// Whether the limit names something that `more` is of.
bool limits(const fair::Role& role, const ResourceVector& more) {
  return std::any_of(kResourceKinds.begin(), kResourceKinds.end(), [&](ResourceKind kind) {
    return role.settings.limit[kind].has_value() && more[kind] > 0;
  });
}

}  // namespace

// What is kept below the role's limit for others than the claimant, in the kinds that it names; for
// one that has some kept itself, only for those who came earlier.
ResourceVector Allocator::State::kept_below(const Role& role, const AskEntry* claimant) const {
  ResourceVector sum;
  if (role.headroom.empty()) return sum;
  for (const AskEntry* ask : role.headroom) {
    if (ask == claimant) break;
    sum += ask->at_once();
  }
  for (const ResourceKind kind : kResourceKinds) {
    if (!role.settings.limit[kind]) sum[kind] = 0;
  }
  return sum;
}

// All that it needs at once or nothing, so that no two wait for each other.
bool Allocator::State::keep_headroom(AskEntry& ask, Time now) {
  if (!ask.headroom.empty() || now < ask.headroom_after || options_.naive.no_claims) return false;
  if (ask.hopeless_at == agents_version_ || !exceeded_limit(ask).is_none()) return false;
  const ResourceVector more = ask.at_once();
  std::vector<fair::Headroom> found;
  for (Role* role = ask.leaf->role; role->parent != nullptr; role = role->parent) {
    if (!limits(*role, more)) continue;
    const bool is_open = role->headroom.empty() ||
                         allows(*role, role->use() + kept_below(*role, nullptr) + more, more);
    if (!is_open) return false;
    found.push_back({role, role->use()});
  }
  if (found.empty()) return false;  // It is a limit lowered below use, of what it does not take.
  if (!could_ever_be_met(ask, true)) {
    ask.hopeless_at = agents_version_;
    return false;
  }
  if (ask.headroom_patience == Duration()) {
    ask.headroom_patience = std::max(options_.claim_after, kPatienceMin);
  }
  ask.headroom = std::move(found);
  ask.headroom_order = ++headrooms_;
  ask.headroom_review = later(now, ask.headroom_patience);
  headroom_.emplace(ask.headroom_order, &ask);
  for (const fair::Headroom& kept : ask.headroom) kept.role->headroom.push_back(&ask);
  return true;
}

// Others may use it. (When the ask is served it uses that itself; then nobody finds more.)
void Allocator::State::drop_headroom(AskEntry& ask) {
  const std::vector<fair::Headroom> all = std::move(ask.headroom);
  ask.headroom.clear();
  headroom_.erase(ask.headroom_order);
  for (const fair::Headroom& kept : all) {
    std::vector<AskEntry*>& order = kept.role->headroom;
    order.erase(std::find(order.begin(), order.end(), &ask));
    wake_blocked_by(*kept.role);
  }
}

// The role's limit is another one now.
void Allocator::State::drop_useless_headroom(const Role& role) {
  const std::vector<AskEntry*> all = role.headroom;
  for (AskEntry* ask : all) {
    const bool is_of_use = exceeded_limit(*ask).is_none() && limits(role, ask->at_once());
    if (!is_of_use) drop_headroom(*ask);
  }
}

// Whether something has ended wherever there is not enough for it yet; or there is, and an agent
// may be.
bool Allocator::State::moves(const AskEntry& ask) const {
  if (ask.hopeless_at == agents_version_) return false;
  const ResourceVector more = ask.at_once();
  bool is_enough = true;
  for (const fair::Headroom& kept : ask.headroom) {
    const ResourceVector use = kept.role->use();
    if (allows(*kept.role, use + kept_below(*kept.role, &ask) + more, more)) continue;
    is_enough = false;
    if (kept.use.fits_in(use)) return false;
  }
  return !is_enough || !ask.claim_stuck;
}

void Allocator::State::review_headroom(Time now) {
  const std::map<uint64_t, AskEntry*> all = headroom_;
  for (const auto& [order, ask] : all) {
    if (ask->headroom_review > now) continue;
    if (ask->hopeless_at != agents_version_ && !could_ever_be_met(*ask, true)) {
      ask->hopeless_at = agents_version_;
    }
    if (moves(*ask)) {
      for (fair::Headroom& kept : ask->headroom) kept.use = kept.role->use();
      ask->headroom_review = later(now, ask->headroom_patience);
      continue;
    }
    ask->headroom_after = later(now, ask->headroom_patience * 3);
    ask->headroom_patience = std::min(ask->headroom_patience * 2, kPatienceMax);
    drop_headroom(*ask);
  }
}

void Allocator::State::check_headroom(std::vector<Violation>& found) const {
  size_t kept = 0;
  const auto check = [&](const Role& role) {
    for (const AskEntry* ask : role.headroom) {
      ++kept;
      const bool is_mutual = headroom_.count(ask->headroom_order) == 1 &&
                             headroom_.at(ask->headroom_order) == ask &&
                             std::any_of(ask->headroom.begin(), ask->headroom.end(),
                                         [&](const auto& one) { return one.role == &role; });
      if (is_mutual && ask->unmet() > 0 && ask->leaf->wants_offers() && role.has_limit()) continue;
      found.push_back({text("role ", role.name.str(), ": room is kept for nobody's good")});
    }
  };
  for (const auto& [name, role] : tree_.roles()) check(*role);
  for (const auto& [order, ask] : headroom_) kept -= ask->headroom.size();
  if (kept != 0) found.push_back({"room is kept below limits on one side only"});
}

}  // namespace proffer
