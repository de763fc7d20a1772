// Several tasks at once or none: one decision finds places for a gang on several agents, and its
// offers share a number. cluster/answers.cc ends the offers of a gang together. A plan
// (rules/fit.h) is made when it is the ask's turn and resources have become free since the last
// failure.

#include <algorithm>

#include "allocator/round/round.h"
#include "allocator/rules/fit.h"
#include "allocator/rules/placement.h"

namespace proffer::fair {

// Grants one gang of the ask, if it fits.
bool Round::give_gang(AskEntry& ask, const Turn& turn) {
  Leaf& l = *ask.leaf;
  const bool nothing_new = ask.tried_at == cluster_.free_agents.latest() && l.retry.empty();
  const std::vector<Seat> members =
      nothing_new ? std::vector<Seat>() : plan_gang(cluster_, ask, now_);
  if (members.empty()) {
    ask.tried_at = cluster_.free_agents.latest();
    return false;
  }
  const Rank before = rank_of(l);
  const uint64_t gang = ++cluster_.last_gang;
  const bool from_claim = std::any_of(members.begin(), members.end(), [&](const Seat& member) {
    return ask.claims(*member.agent);
  });
  for (const Seat& member : members) {
    std::vector<Slice> last;
    const std::vector<Slice> slices = carve_tasks(ask, *member.agent, member.count, &last);
    if (cluster_.options.is_audited) {
      record_.given.push_back({&l, member.agent, std::move(last), before, !turn.within.empty(),
                               from_claim, owed_only_, member.agent->keep, member.agent->withheld});
    }
    grant(l, *member.agent, slices, &ask, member.count, gang);
  }
  for (const Seat& member : members) {
    if (!member.agent->by_notice()) continue;
    if (waiting_.reclaims.note_given(ask, *member.agent, member.count)) thaw(true);
  }
  note_given(ask, from_claim);
  return true;
}

}  // namespace proffer::fair
