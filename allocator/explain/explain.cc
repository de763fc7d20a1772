// Explains why a framework has no offer: its place by share, and the hindrance of each unmet ask on
// each agent. Begin with explain(); hindrance() is the rule for one agent. Like status.cc it uses
// only the books and changes nothing. Asks that could never fit: impossible.cc.

#include <algorithm>
#include <tuple>

#include "allocator/explain/explainer.h"
#include "allocator/explain/fitting.h"
#include "allocator/explain/impossible.h"
#include "allocator/explain/status.h"
#include "allocator/rules/denial.h"
#include "allocator/rules/fit.h"
#include "allocator/rules/placement.h"

namespace proffer::fair {
namespace {

__extension__ typedef __int128 Int128;

// The agent's total with all reserved resources, without estimates.
Resources total_with_reserved(const Books& books) {
  Resources sum = books.total;
  for (const Part& part : books.parts) {
    if (!part.revocable) sum += part.total;
  }
  return sum;
}

// Merges holders with the same name and reason: their amounts add up, unless they are owed tasks.
void add_holder(std::vector<Holder>& holders, Holder holder) {
  const auto known = std::find_if(holders.begin(), holders.end(), [&](const Holder& other) {
    return other.framework == holder.framework && other.role == holder.role &&
           other.entitled == holder.entitled;
  });
  if (known == holders.end()) return holders.push_back(std::move(holder));
  if (holder.entitled.is_zero()) known->amounts += holder.amounts;
  known->agents += holder.agents;
}

void trim(std::vector<Holder>& holders, std::optional<ResourceKind> kind) {
  const auto size = [&](const Holder& holder) {
    return kind ? holder.amounts[*kind] : holder.amounts[ResourceKind::kCpus];
  };
  std::stable_sort(holders.begin(), holders.end(), [&](const Holder& a, const Holder& b) {
    return std::tuple(-size(a), -a.agents) < std::tuple(-size(b), -b.agents);
  });
  if (holders.size() > kNamesExplainedMax) holders.resize(kNamesExplainedMax);
}

// Counts agents by hindrance.
class Reasons {
 public:
  // `one`: the hindrance on one agent, with its holders.
  void add(HinderedAgents one) {
    HinderedAgents& sum = reasons_[{one.why, one.kind, one.constraint}];
    if (sum.agents == 0) {
      sum = std::move(one);
      return;
    }
    sum.agents += one.agents;
    sum.most = std::max(sum.most, one.most);
    if (one.until) sum.until = sum.until ? std::min(*sum.until, *one.until) : *one.until;
    for (Holder& holder : one.holders) add_holder(sum.holders, std::move(holder));
    for (const std::string& value : one.values) add_value(sum.values, value);
  }

  // The hindrances, most frequent first; sets `usable` to the number of agents without one.
  std::vector<HinderedAgents> take(int64_t& usable) {
    std::vector<HinderedAgents> all;
    usable = 0;
    for (auto& [key, sum] : reasons_) {
      if (sum.why == Hindrance::kNone) {
        usable = sum.agents;
        continue;
      }
      trim(sum.holders, sum.kind);
      all.push_back(std::move(sum));
    }
    std::stable_sort(all.begin(), all.end(), [](const HinderedAgents& a, const HinderedAgents& b) {
      return a.agents > b.agents;
    });
    return all;
  }

 private:
  std::map<std::tuple<Hindrance, std::optional<ResourceKind>, std::string>, HinderedAgents>
      reasons_;
};

}  // namespace

FrameworkExplanation Explainer::explain(const FrameworkId& id) const {
  cluster_.know_shares();
  const Framework& f = *cluster_.frameworks.at(id);
  const Leaf& l = *f.own;
  const ResourceVector total = cluster_.total_now();
  FrameworkExplanation found{.framework = id,
                             .role = f.role,
                             .mode = f.mode,
                             .active = f.active,
                             .suppressed = f.suppressed,
                             .total = total,
                             .weight = cluster_.settings_of(f.role).weight};
  for (const auto& [role, leaf] : f.leaves) {
    found.allocated += leaf->allocated;
    found.offered += leaf->offered;
  }
  const ResourceVector use = found.allocated + found.offered;
  found.dominant_kind = dominant_kind(use, total);
  found.share_millionths = dominant_share(use, total).millionths();
  found.role_share_millionths = l.role->share.millionths();
  explain_place(f, total, found);

  Reasons open;
  for (const auto& [name, a] : cluster_.agents) {
    ++found.agents;
    if (a->active) ++found.agents_active;
    if (is_filtered(l, *a, now_)) ++found.declined;
    if (l.mode == OfferMode::kOpen) open.add(hindrance(l, nullptr, *a));
  }
  found.hindered = open.take(found.usable);
  name_rivals(nullptr, found.hindered);
  std::vector<const AskEntry*> asks;
  for (const auto& [role, leaf] : f.leaves) {
    asks.insert(asks.end(), leaf->order.begin(), leaf->order.end());
  }
  std::stable_sort(asks.begin(), asks.end(), [](const AskEntry* a, const AskEntry* b) {
    return a->ask.priority > b->ask.priority;
  });
  for (const AskEntry* ask : asks) {
    if (ask->unmet() == 0 || (f.mode == OfferMode::kOpen && !ask->is_implied())) continue;
    if (++found.asks_unmet <= kAsksExplainedMax) found.asks.push_back(explain_ask(*ask));
  }
  return found;
}

// The ask's entitlement and use of the kind.
Holder Explainer::owed(const AskEntry& ask, ResourceKind kind) const {
  Holder holder{.framework = ask.leaf->framework, .role = ask.leaf->role->name};
  const int64_t each = ask.ask.shape[kind];
  // Rounded to 0.01 task, to hide the effects of rounding.
  const auto hundredths =
      static_cast<int64_t>((Int128(ask.entitled) * 100 + kTaskOne / 2) / kTaskOne);
  holder.amounts[kind] = each * ask.placed;
  holder.entitled[kind] = static_cast<int64_t>(Int128(each) * hundredths / 100);
  return holder;
}

// Asks that are owed a task and compete for the same kinds, if this ask is owed none: they come
// first for freed resources. The asks with the least of their entitlement come first.
std::vector<Holder> Explainer::owed_before(const AskEntry& entry) const {
  std::vector<Holder> found;
  if (waiting_.gate.is_open() || waiting_.gate.is_owed(entry, now_)) return found;
  for (const auto& [id, l] : cluster_.leaves) {
    if (l.get() == entry.leaf || !l->wants_offers()) continue;
    for (const AskEntry* ask : l->order) {
      if (l->mode == OfferMode::kOpen && !ask->is_implied()) continue;
      const ResourceVector both = entry.ask.shape.min(ask->ask.shape);
      if (both.is_zero() || ask->unmet() == 0 || !waiting_.gate.is_owed(*ask, now_)) continue;
      if (!denial(cluster_, *ask).is_none()) continue;
      found.push_back(owed(*ask, dominant_kind(both, cluster_.total)));
    }
  }
  const auto part = [](const Holder& one) { return dominant_share(one.amounts, one.entitled); };
  std::stable_sort(found.begin(), found.end(),
                   [&](const Holder& a, const Holder& b) { return part(a) < part(b); });
  if (found.size() > kNamesExplainedMax) found.resize(kNamesExplainedMax);
  return found;
}

// Names the rivals behind a limit or an entitlement: asks for which room is kept, and the users of
// the rest.
void Explainer::name_rivals(const AskEntry* entry, std::vector<HinderedAgents>& hindered) const {
  for (HinderedAgents& row : hindered) {
    if (row.why == Hindrance::kLimit) {
      row.holders = kept_for(*cluster_.tree.find(row.role), entry, *row.kind);
    } else if (row.why == Hindrance::kEntitlement) {
      row.holders = others_entitled(cluster_, *cluster_.tree.find(row.role), *row.kind);
    }
  }
}

// The framework's place by share among all that want offers; its first leaf that wants offers
// counts.
void Explainer::explain_place(const Framework& f, const ResourceVector& total,
                              FrameworkExplanation& found) const {
  std::set<const Framework*> before;
  cluster_.demanding.for_each([&](const Leaf& leaf) {
    ++found.with_demand;
    if (found.place > 0) return true;
    if (leaf.owner == &f) {
      found.place = found.with_demand;
    } else if (found.before.size() < kNamesExplainedMax && before.insert(leaf.owner).second) {
      found.before.push_back({leaf.framework, dominant_share(leaf.use(), total).millionths()});
    }
    return true;
  });
  if (found.place == 0) found.before.clear();
}

AskExplanation Explainer::explain_ask(const AskEntry& entry) const {
  AskExplanation found{.ask = entry.ask.name,
                       .shape = entry.ask.shape,
                       .ports = entry.ask.ports,
                       .constrained = !entry.ask.constraints.empty(),
                       .wanted = entry.ask.count,
                       .offered = entry.offered};
  Reasons reasons;
  found.could_ever_fit = false;
  const Denial limit = exceeded_limit(entry);
  // A gang that does not fit has a hindrance on each agent that would fit one task.
  const bool fits_together = entry.ask.gang == 1 || !plan_gang(cluster_, entry, now_).empty();
  std::vector<Seat> places;
  std::vector<HinderedAgents> usable;
  for (const auto& [id, a] : cluster_.agents) {
    HinderedAgents one = hindrance(*entry.leaf, &entry, *a);
    if (one.why == Hindrance::kNone && !fits_together) {
      one.why = Hindrance::kGang;
      one.wanted = entry.ask.gang;
      places.push_back({a.get(), room_for(entry, *a, entry.ask.gang)});
      usable.push_back(std::move(one));
      continue;
    }
    reasons.add(std::move(one));
  }
  const int64_t together = fill_places(entry.ask, entry.counts, entry.ask.gang, places);
  for (HinderedAgents& one : usable) {
    one.most = together;
    reasons.add(std::move(one));
  }
  found.could_ever_fit = limit.is_none() && could_ever_be_met(cluster_, entry, false);
  found.hindered = reasons.take(found.usable);
  name_rivals(&entry, found.hindered);
  found.claimed = claimed_for(waiting_, entry).value_or(AgentId());
  const std::optional<Time> complete_at = waiting_.claims.complete_at(entry, now_);
  if (complete_at && *complete_at > now_) found.claim_complete_at = complete_at;
  found.first = owed_before(entry);
  if (!found.could_ever_fit) found.changes = impossible(cluster_, entry);
  if (entry.is_implied()) return found;  // Remedies do not cover open offers.
  found.remedies = remedies_for(cluster_, waiting_, entry, now_);
  return found;
}

// The denial to a task of the ask, or to an open offer of the agent's free amounts.
Denial Explainer::denial_to(const Leaf& l, const AskEntry* entry, const Agent& a) const {
  if (entry != nullptr) return denial(cluster_, *entry);
  const ResourceVector free = sum_of(a.usable(l.role->name)).amounts;
  if (free.is_zero() || !piece_for(cluster_, l, a, permitted(cluster_, l)).empty()) return {};
  return denial(cluster_, {.leaf = l, .amounts = free});
}

// The hindrance on one agent, for a task of the ask, or for an open offer without an ask: the first
// that holds, in the order of Hindrance.
HinderedAgents Explainer::hindrance(const Leaf& l, const AskEntry* entry, const Agent& a) const {
  HinderedAgents found{.agents = 1, .example = a.id};
  const auto is = [&](Hindrance why) {
    found.why = why;
    return std::move(found);
  };
  const auto lacks = [&](Hindrance why, ResourceKind kind, const Resources& there) {
    found.kind = kind;
    found.wanted = entry->ask.shape[kind];
    found.most = most_for(kind, found.wanted, there);
    return is(why);
  };

  const Resources whole = total_with_reserved(a);
  if (!a.active) return is(Hindrance::kNotConnected);
  if (a.draining) return is(Hindrance::kDraining);
  if (entry != nullptr) {
    if (const Constraint* unmet = entry->matcher.first_unmet(a.id, a.attributes)) {
      found.constraint = to_text(*unmet);
      if (const std::string& value = value_of(a, unmet->attribute); !value.empty()) {
        found.values.push_back(value);
      }
      return is(Hindrance::kConstraint);
    }
    if (const auto kind = lacking(entry->ask.shape, whole)) {
      return lacks(Hindrance::kTotal, *kind, whole);
    }
    found.wanted = entry->ask.ports;
    found.most = a.ports.size();
    if (found.most < found.wanted) return is(Hindrance::kPortsTotal);
    found.wanted = found.most = 0;
    if (const auto port = missing_port(entry->ask.static_ports, a.ports)) {
      found.wanted = *port;
      return is(Hindrance::kStaticPortTotal);
    }
  }
  if (entry == nullptr ? is_filtered(l, a, now_) : is_filtered(*entry, a, now_)) {
    const Filter filter = *l.owner->filter_on(a);
    found.until = filter.until;
    if (filter.until) return is(Hindrance::kDeclinedForTime);
    if (filter.wrong_agent && *filter.wrong_agent == a.attributes) {
      return is(Hindrance::kDeclinedAttributes);
    }
    for (const auto& [kind, amount] : filter.too_little) {
      if (found.kind || a.counted_free_of(kind) > amount) continue;
      found.kind = kind;
      found.most = a.counted_free_of(kind);
    }
    return is(Hindrance::kDeclinedTooLittle);
  }
  if (entry == nullptr && l.open_on.count(&a) > 0) {
    return is(Hindrance::kAlreadyOffered);
  }
  if (const Denial denied = denial_to(l, entry, a); !denied.is_none()) {
    if (denied.role != nullptr) found.role = denied.role->name;
    if (denied.why == Denial::Why::kTasksUnknown) return is(Hindrance::kTasksUnknown);
    found.kind = denied.kind;
    found.wanted = entry == nullptr ? 0 : entry->at_once()[denied.kind];
    found.most = denied.left;
    if (denied.why == Denial::Why::kLimit) return is(Hindrance::kLimit);
    return is(denied.why == Denial::Why::kGuarantees ? Hindrance::kGuarantees
                                                     : Hindrance::kEntitlement);
  }

  if (entry != nullptr) {
    if (const auto port = missing_port(entry->ask.static_ports, a.free_ports)) {
      found.wanted = *port;
      return is(Hindrance::kStaticPortUsed);
    }
    if (const MaxPer* full = entry->counts.full(entry->ask, a)) {
      found.constraint = full->attribute;
      return is(Hindrance::kMaxPer);
    }
    if (entry->only_preferred(now_) && nearness(entry->ask.prefer, a) == Nearness::kAnywhere) {
      found.until = later(entry->prefers_since, entry->ask.prefer.wait);
      return is(Hindrance::kNotPreferred);
    }
  }

  const auto users = [&](std::optional<ResourceKind> kind) {
    for (const Agent::Use& use : a.allocated_to) {
      if (kind && use.amounts[*kind] == 0) continue;
      found.holders.push_back({use.framework->id, use.amounts, 1});
    }
    std::sort(found.holders.begin(), found.holders.end(),
              [](const Holder& x, const Holder& y) { return x.framework < y.framework; });
  };
  // The books without offers: all free amounts, and the part that the role may use.
  Books without_offers = a;
  for (const OfferId& id : offers_of(a)) without_offers.end_offered(*cluster_.outstanding.find(id));
  const bool is_kept = !a.keep.is_zero() && a.claimant != entry;  // kept for another ask
  if (!is_kept) without_offers.keep = {};
  without_offers.compute_free();
  const RoleName& role = l.role->name;
  Resources usable;
  for (const Slice& slice : without_offers.usable(role)) usable += slice.resources;
  const auto keeps = [&](ResourceKind kind) {
    const bool is_owed = waiting_.gate.is_owed(*a.claimant, now_);
    found.holders.push_back(is_owed ? owed(*a.claimant, kind)
                                    : Holder{.framework = a.claimant->leaf->framework});
    found.holders.back().agents = 1;
    return is_owed ? Hindrance::kOwed : Hindrance::kClaimed;
  };
  if (entry != nullptr) {
    if (const auto kind = lacking(entry->ask.shape, usable)) {
      if (is_kept && !lacking(entry->ask.shape, without_offers.free_and_kept())) {
        return lacks(keeps(*kind), *kind, usable);
      }
      const Resources all = without_offers.counted_free();
      if (!lacking(entry->ask.shape, all)) return lacks(Hindrance::kReserved, *kind, usable);
      // Even an empty agent may have too little for this role.
      Resources may_use;
      for (const Slice& slice : a.usable_total(role)) may_use += slice.resources;
      if (const auto never = lacking(entry->ask.shape, may_use)) {
        return lacks(Hindrance::kReserved, *never, may_use);
      }
      users(kind);
      return lacks(Hindrance::kUsed, *kind, usable);
    }
    const ResourceVector withheld = withheld_from(*entry, a.withheld);
    const Resources beside{.amounts = (usable.amounts - withheld).max(ResourceVector()),
                           .gpus = usable.gpus};
    const auto short_of = lacking(entry->ask.shape, beside);
    if (!withheld.is_zero() && short_of) {
      for (const AgentState::Withheld& one : a.withheld) {
        if (!withheld_from(*entry, {one}).is_zero()) found.role = one.role;
      }
      return lacks(Hindrance::kGuarantees, *short_of, beside);
    }
    if (a.free_port_count < entry->ask.ports) {
      found.wanted = entry->ask.ports;
      found.most = a.free_port_count;
      return is(Hindrance::kPortsUsed);
    }
  } else if (usable.amounts.is_zero()) {
    if (!without_offers.counted_free().amounts.is_zero()) return is(Hindrance::kReserved);
    if (const ResourceVector& kept = without_offers.kept.amounts; !kept.is_zero()) {
      return is(keeps(dominant_kind(kept, cluster_.total)));
    }
    users(std::nullopt);
    return is(Hindrance::kUsed);
  }
  const bool is_free = entry == nullptr ? !a.usable(role).empty() : room_for(*entry, a, 1) > 0;
  if (!is_free) {
    for (const OfferId& id : offers_of(a)) {
      const OutstandingOffer& offer = *cluster_.outstanding.find(id);
      add_holder(found.holders, {offer.leaf->framework, offer.resources.amounts});
    }
    for (Holder& holder : found.holders) holder.agents = 1;
    return is(Hindrance::kOffered);
  }
  if (a.is_set_aside() && a.claimant != entry) {
    found.holders.push_back({a.claimant->leaf->framework, {}, 1});
    return is(Hindrance::kClaimed);
  }
  return is(Hindrance::kNone);
}

}  // namespace proffer::fair
