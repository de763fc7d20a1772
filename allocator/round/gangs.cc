// Several tasks at once or none: a gang is found over several agents in one decision and offered as
// offers that share a number. give_gang() first. How the offers of a gang end together is in
// answers.cc.
//
// A plan takes best fit agents one after the other and is O(agents with room) or, where the ask is
// to be spread, O(gang * agents with room). It is made when the ask's turn comes and something has
// become free since it last did not fit.

#include <algorithm>
#include <functional>

#include "allocator/state.h"

namespace proffer {

// Where all tasks of one gang go, or nothing if they do not fit together.
std::vector<fair::Seat> Allocator::State::plan_gang(const AskEntry& ask, Time now) const {
  std::vector<Agent*> agents;
  const bool by_wish = !ask.ask.prefer.empty() || !ask.ask.spread.empty();
  int64_t room = 0;  // that there would be if max_per were of single agents
  fair::AgentSet seen;
  const auto consider = [&](Agent* a) {
    if (!is_usable(ask, *a, now)) return false;
    if (!a->parts.empty() && !seen.insert(a).second) return false;
    agents.push_back(a);
    if (by_wish || !ask.ask.max_per.empty()) return false;
    room += room_for(ask, *a, ask.ask.gang - room);
    return room == ask.ask.gang;
  };
  bool is_enough = false;
  for (Agent* a : ask.reclaims) is_enough = (ask.claims(*a) && consider(a)) || is_enough;
  for (const fair::Claimed& claimed : ask.claim) is_enough = consider(claimed.agent) || is_enough;
  if (!is_enough) visit_free(ask, std::cref(consider));
  if (!ask.ask.prefer.empty()) {
    std::stable_sort(agents.begin(), agents.end(), [&](const Agent* a, const Agent* b) {
      return nearness(ask.ask.prefer, *a) < nearness(ask.ask.prefer, *b);
    });
  }
  return spread_gang(ask, agents);
}

// The gang on these agents: in their order, or as evenly as it wants to be spread.
std::vector<fair::Seat> Allocator::State::spread_gang(const AskEntry& ask,
                                                      const std::vector<Agent*>& agents) const {
  std::vector<fair::Seat> places;
  for (Agent* a : agents) places.push_back({a, room_for(ask, *a, ask.ask.gang)});
  fair::TaskCounts counts = ask.counts;
  int64_t left = ask.ask.gang;
  while (left > 0 && !ask.ask.spread.empty()) {
    fair::Seat* least = nullptr;
    int64_t crowd = 0;
    for (fair::Seat& place : places) {
      if (place.count == place.room || counts.room(ask.ask, *place.agent, 1) == 0) continue;
      const int64_t there = counts.crowd(ask.ask, *place.agent);
      if (least != nullptr && crowd <= there) continue;
      least = &place;
      crowd = there;
    }
    if (least == nullptr) break;
    counts.add(*least->agent, 1);
    ++least->count;
    --left;
  }
  // To be spread is only a wish.
  if (left > 0 && fair::fill_places(ask.ask, ask.counts, ask.ask.gang, places) < ask.ask.gang) {
    return {};
  }
  std::erase_if(places, [](const fair::Seat& place) { return place.count == 0; });
  return places;
}

// One gang of the ask, if it fits.
bool Allocator::State::give_gang(AskEntry& ask, const Turn& turn, const fair::LeafOrder& order,
                                 Time now) {
  Leaf& l = *ask.leaf;
  const bool nothing_new = ask.tried_at == free_.latest() && l.retry.empty();
  const std::vector<fair::Seat> members =
      nothing_new ? std::vector<fair::Seat>() : plan_gang(ask, now);
  if (members.empty()) {
    ask.tried_at = free_.latest();
    return false;
  }
  const Rank before = rank_of(l, order);
  const uint64_t gang = ++gangs_;
  const bool from_claim =
      std::any_of(members.begin(), members.end(),
                  [&](const fair::Seat& member) { return ask.claims(*member.agent); });
  bool preferred = !ask.ask.prefer.empty();
  for (const fair::Seat& member : members) {
    std::vector<Slice> last;
    const std::vector<Slice> slices =
        carve_tasks(l, *member.agent, ask.ask.shape, member.count, &last);
    preferred = preferred && nearness(ask.ask.prefer, *member.agent) != fair::Nearness::kAnywhere;
    given_.push_back({&l, member.agent, std::move(last), before, !turn.within.empty(), from_claim});
    add_gift(l, *member.agent, slices, &ask, member.count, gang);
  }
  for (const fair::Seat& member : members) {
    if (!member.agent->reclaims.empty()) {
      note_reclaimed(ask, *member.agent, member.count);
    }
  }
  note_given(ask, from_claim, preferred, now);
  return true;
}

}  // namespace proffer
