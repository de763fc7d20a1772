// look_around() counts once the agents with room for the ask; fits() then evaluates a change of one
// agent without another look at the others.

#include "allocator/explain/fitting.h"

#include <algorithm>
#include <limits>

#include "common/check.h"

namespace proffer::fair {

AgentState without_keep(const AgentState& agent) {
  AgentState then = agent;
  then.keep = {};
  then.compute_free();
  return then;
}

Fitting::Fitting(const Cluster& cluster, const AskEntry& entry, Time now, bool waits)
    : cluster_(cluster), known_(entry), entry_(entry), now_(now), is_anew_(false) {
  if (!waits) entry_.ask.prefer.wait = {};
  look_around();
}

Fitting::Fitting(const Cluster& cluster, const AskEntry& entry, Ask declared, Time now)
    : cluster_(cluster), known_(entry), entry_(entry), now_(now), is_anew_(true) {
  if (declared.constraints != entry.ask.constraints) {
    Result<ConstraintMatcher> matcher = ConstraintMatcher::compile(declared.constraints);
    CHECK(matcher.has_value()) << matcher.error().message();
    entry_.match_by(*std::move(matcher));
  }
  entry_.ask = std::move(declared);
  entry_.prefers_since = now;
  as_if_.give_up_headroom(entry);
  look_around();
}

void Fitting::look_around() {
  for (const auto& [id, a] : cluster_.agents) {
    const int64_t here = room(*a, is_declined(*a));
    if (here == 0) continue;
    rooms_[a->slot] = here;
    usable_.push_back(a.get());
    const auto [group, is_new] = groups_.try_emplace(group_of(*a));
    if (is_new) group->second.most = most_in_group(*a);
    places_ -= group->second.count();
    group->second.room += here;
    places_ += group->second.count();
  }
}

std::string Fitting::group_of(const AgentState& a) const {
  const std::vector<MaxPer>& max_per = entry_.ask.max_per;
  return max_per.size() == 1 ? value_of(a, max_per.front().attribute) : "";
}

int64_t Fitting::most_in_group(const AgentState& a) const {
  if (entry_.ask.max_per.size() != 1) return std::numeric_limits<int64_t>::max();
  return entry_.counts.room(entry_.ask, a, entry_.ask.gang);
}

bool Fitting::is_declined(const AgentState& a) const {
  const std::optional<Filter> filter = entry_.leaf->owner->filter_on(a);
  if (!filter) return false;
  // A new declaration lifts filters with a reason.
  const bool is_lifted = is_anew_ && !filter->until;
  return !is_lifted && still_holds(*filter, a, now_);
}

// Resources set aside for the ask count even if it is declared anew: Rivals decides who may take
// them.
int64_t Fitting::room(const AgentState& a, bool is_declined) const {
  if (!a.serves() || is_declined || is_claimed(a) || !may_hold(entry_, a, now_)) return 0;
  return room_for(entry_, a, entry_.ask.gang);
}

bool Fitting::fits(const Supposed& as_if) const {
  return has_places() && denied_of(entry_.ask.shape, {}, as_if).is_none();
}

bool Fitting::fits(const AgentState& then, bool is_declined, const Supposed& as_if) const {
  if (!can_tell()) return false;
  const auto known = rooms_.find(then.slot);
  const int64_t before = known == rooms_.end() ? 0 : known->second;
  const auto at = groups_.find(group_of(then));
  Group group = at == groups_.end() ? Group() : at->second;
  int64_t total = places_ - group.count();
  group.room += room(then, is_declined) - before;
  if (at == groups_.end()) group.most = most_in_group(then);
  total += group.count();
  if (total < entry_.ask.gang) return false;
  const ResourceVector freed = cluster_.options.reclaim == ReclaimMode::kOff
                                   ? part_of_free(then) - part_of_free(*cluster_.agents.at(then.id))
                                   : ResourceVector();
  return denied_of(entry_.ask.shape, freed, as_if).is_none();
}

ResourceVector Fitting::free_for(const AgentState& a) const {
  const ResourceVector free = sum_of(a.usable(entry_.leaf->role->name)).amounts;
  return entry_.claims(a) ? free + a.kept.amounts : free;
}

ResourceVector Fitting::part_of_free(const AgentState& a) const {
  const bool is_own = entry_.claims(a);
  if (!is_own && (!a.serves() || is_claimed(a))) return {};
  return is_own && !is_anew_ ? a.free_and_kept().amounts : free_for(a);
}

Denial Fitting::denied_of(const ResourceVector& shape, const ResourceVector& freed,
                          const Supposed& as_if) const {
  ResourceVector more = freed;
  if (is_anew_ && cluster_.options.reclaim == ReclaimMode::kOff) {
    // Its claim ends, and resources there that are only for its role count too.
    for (const Agent* a : entry_.set_aside) {
      if (a->by_notice()) continue;
      more += sum_of(a->usable(entry_.leaf->role->name)).amounts - a->free.amounts;
    }
  }
  return denial({cluster_, as_if}, {.leaf = *entry_.leaf,
                                    .amounts = shape * entry_.ask.gang,
                                    .borrow = entry_.ask.borrow,
                                    .claimant = &known_,
                                    .freed = more});
}

}  // namespace proffer::fair
