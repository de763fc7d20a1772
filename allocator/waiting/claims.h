#pragma once

// Nobody starves. An ask that has waited for claim_after and whose leaf is first by share gets a
// claim: an agent, or for a gang as many as it needs, on which what becomes free is set aside until
// the ask fits. assign() is the story.
//
// A claim has all its agents at once and each agent has one claim, so a later claim takes nothing
// of an earlier one: two gangs that each could hold half of what they need do not wait for each
// other. One claim per leaf. A claim stays where it is while things become free there; an agent of
// it where nothing does for claim_after, and that is not enough already, is exchanged for another:
// tasks that never end must not decide who is served. What is set aside is lent meanwhile:
// lending.h.

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "allocator/cluster/ask_table.h"
#include "allocator/cluster/cluster.h"

namespace proffer::fair {

class Gate;
class Reclaims;

class Claims {
 public:
  explicit Claims(Cluster& cluster) : cluster_(cluster) {}

  // --- questions --------------------------------------------------------------------------------
  bool has_claim(const AskEntry& ask) const { return !waits_[ask].claim.empty(); }
  // It has waited for claim_after, or been served by a claim.
  bool is_due(const AskEntry& ask) const { return waits_[ask].due; }
  // Nothing became free there in the last review, and no other agent will do.
  bool is_stuck(const AskEntry& ask) const { return waits_[ask].stuck; }
  std::vector<Agent*> agents_of(const AskEntry& ask) const;
  // The leaf's ask that has a claim, or nullptr: at most one.
  AskEntry* claimed_in(const Leaf& leaf) const;
  // Those with a claim; who came earlier comes first.
  const std::map<uint64_t, AskEntry*>& all() const { return claimed_; }
  std::optional<Time> next_deadline() const;

  // --- changes ----------------------------------------------------------------------------------
  // Leaves and how they stood when they were first in a decision, with a due ask.
  using FirstWithDue = std::vector<std::pair<Leaf*, Rank>>;
  // At the end of a decision. Leaves in order of share, until one comes first that could be served
  // without a claim, or has one already: who has more waits for it. Of equals each may have one.
  void assign(const FirstWithDue& first_with_due, const Reclaims& reclaims, Gate& gate, Time now);
  void fire_timers(Time now);
  // Nothing fits its asks now.
  void start_waiting(Leaf& leaf, Time now);
  // It was given something, and not from its claim: it is to wait again for one.
  void wait_anew(AskEntry& ask, Time now);
  // It is met, gone, or not wanted for now. Whether it had a claim.
  bool stop_waiting(AskEntry& ask);
  void drop(AskEntry& ask);
  void forget(const AskEntry& ask) { waits_.forget(ask); }

  void check(std::vector<Violation>& found) const;

 private:
  // One of the agents that are set aside for an ask.
  struct Claimed {
    Agent* agent = nullptr;
    uint64_t growths = 0;  // of the agent when we last looked at it
  };
  // How an ask waits for its claim, and with it.
  struct Wait {
    Time since = {};
    std::optional<Time> timer = {};  // as in the queue of deadlines; may be earlier than true
    bool due = false;
    std::vector<Claimed> claim = {};  // most often one
    uint64_t order = 0;               // earlier claims first
    bool stuck = false;
    uint64_t tried = 0;  // version of the claimable world in which there was no agent for it
  };
  struct Timer {
    Time at = {};
    AskEntry* ask = nullptr;
    bool operator<(const Timer& o) const;
  };

  AskEntry* claimable_ask(const Leaf& leaf, const Reclaims& reclaims, Gate& gate, Time now) const;
  bool may_be_served_later(const Leaf& leaf, Time now) const;
  std::vector<Agent*> claimable_agents(const AskEntry& ask, std::vector<Agent*> kept,
                                       Time now) const;
  bool claim(AskEntry& ask, Time now);
  void hold_for(AskEntry& ask, const std::vector<Agent*>& agents, uint64_t order, Time now);
  void review(AskEntry& ask, Time now);
  void set_timer(AskEntry& ask, std::optional<Time> at);

  Cluster& cluster_;
  AskTable<Wait> waits_;
  std::set<Timer> timers_;
  std::set<AskEntry*> due_;  // without a claim; only counted and searched, never walked
  std::map<uint64_t, AskEntry*> claimed_;  // by order
  uint64_t claims_ = 0;
};

}  // namespace proffer::fair
