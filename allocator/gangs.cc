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
std::vector<Allocator::State::Member> Allocator::State::plan_gang(const AskEntry& ask,
                                                                  Time now) const {
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
std::vector<Allocator::State::Member> Allocator::State::spread_gang(
    const AskEntry& ask, const std::vector<Agent*>& agents) const {
  struct Candidate {
    Member member;
    int64_t room = 0;
  };
  std::vector<Candidate> candidates;
  for (Agent* a : agents) {
    candidates.push_back({.member = {.agent = a}, .room = room_for(ask, *a, ask.ask.gang)});
  }
  fair::TaskCounts counts = ask.counts;
  int64_t left = ask.ask.gang;
  const auto give = [&](Candidate& candidate, int64_t count) {
    count = counts.room(ask.ask, *candidate.member.agent, count);
    counts.add(*candidate.member.agent, count);
    candidate.member.count += count;
    candidate.room -= count;
    left -= count;
  };
  if (ask.ask.spread.empty()) {
    for (Candidate& candidate : candidates) give(candidate, std::min(candidate.room, left));
  } else {
    while (left > 0) {
      Candidate* least = nullptr;
      int64_t crowd = 0;
      for (Candidate& candidate : candidates) {
        const Agent& a = *candidate.member.agent;
        if (candidate.room == 0 || counts.room(ask.ask, a, 1) == 0) continue;
        const int64_t there = counts.crowd(ask.ask, a);
        if (least != nullptr && crowd <= there) continue;
        least = &candidate;
        crowd = there;
      }
      if (least == nullptr) break;
      give(*least, 1);
    }
  }
  if (left > 0) return {};
  std::vector<Member> members;
  for (const Candidate& candidate : candidates) {
    if (candidate.member.count > 0) members.push_back(candidate.member);
  }
  return members;
}

// One gang of the ask, if it fits.
bool Allocator::State::give_gang(AskEntry& ask, const Turn& turn, const fair::LeafOrder& order,
                                 Time now) {
  Leaf& l = *ask.leaf;
  const bool nothing_new = ask.tried_at == free_.latest() && l.retry.empty();
  const std::vector<Member> members = nothing_new ? std::vector<Member>() : plan_gang(ask, now);
  if (members.empty()) {
    ask.tried_at = free_.latest();
    return false;
  }
  const Rank before = rank_of(l, order);
  const uint64_t gang = ++gangs_;
  const bool from_claim = std::any_of(members.begin(), members.end(), [&](const Member& member) {
    return ask.claims(*member.agent);
  });
  bool preferred = !ask.ask.prefer.empty();
  for (const Member& member : members) {
    std::vector<Slice> last;
    const std::vector<Slice> slices =
        carve_tasks(l, *member.agent, ask.ask.shape, member.count, &last);
    preferred = preferred && nearness(ask.ask.prefer, *member.agent) != fair::Nearness::kAnywhere;
    given_.push_back({&l, member.agent, std::move(last), before, !turn.within.empty(), from_claim});
    add_gift(l, *member.agent, slices, &ask, member.count, gang);
  }
  for (const Member& member : members) {
    if (!member.agent->reclaims.empty()) {
      note_reclaimed(ask, *member.agent, member.count);
    }
  }
  note_given(ask, from_claim, preferred, now);
  return true;
}

}  // namespace proffer
