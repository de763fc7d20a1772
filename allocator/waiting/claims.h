#pragma once

// Nobody starves. An ask that has waited for claim_after and whose leaf is first by share gets a
// claim: on an agent, or for a gang on as many as it needs, as much as the ask takes is kept as it
// becomes free, until the ask fits. (Where something is reserved, all that becomes free is.)
// assign() is the story.
//
// A claim has all its agents at once and each agent has one claim, so a later claim takes nothing
// of an earlier one: two gangs that each could hold half of what they need do not wait for each
// other. One claim per leaf. What is kept is lent meanwhile: lending.h.
//
// Tasks that never end must not decide which ask is served, nor keep what others could use. So a
// claim is where tasks are expected to end (rules/prospect.h). If there are not enough such agents,
// it keeps only what tasks of unknown end would have to leave, and the rest once they have; tasks
// that never end count as part of the machine. An agent of a claim on which nothing becomes free
// for claim_after, nor is expected to, and that is not enough already, is exchanged for another, or
// the claim is given up. No claim is on such an agent for nine times as long, and the next claim of
// the ask is kept for twice as long: an ask is served within some times the longest task, and an
// agent where nothing ends is claimed in vain for a tenth of the time.

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
  // Nothing has fitted it since it was last given something.
  bool is_waiting(const AskEntry& ask) const { return is_due(ask) || waits_[ask].timer; }
  // Its claim was given up, or waits for unknown tasks.
  bool is_stuck(const AskEntry& ask) const { return waits_[ask].is_stuck; }
  std::vector<Agent*> agents_of(const AskEntry& ask) const;
  // When its claim will be complete if tasks run as long as they say (would_fit_at). Nothing:
  // never, or it has no claim. O(tasks on its agents).
  std::optional<Time> complete_at(const AskEntry& ask, Time now) const;
  // The leaf's ask that has a claim, or nullptr: at most one.
  AskEntry* claimed_in(const Leaf& leaf) const;
  // Asks with a claim, the earliest first.
  const std::map<uint64_t, AskEntry*>& all() const { return claimed_; }
  std::optional<Time> next_deadline() const;

  // --- changes ----------------------------------------------------------------------------------
  // Leaves and how they stood when they were first in a decision, with a due ask.
  using FirstWithDue = std::vector<std::pair<Leaf*, Rank>>;
  // At the end of a decision. Leaves in order of share, until one comes first that could be served
  // without a claim, or has one already: leaves with a larger share wait for it. Each of several
  // equal leaves may have one.
  void assign(const FirstWithDue& first_with_due, const Reclaims& reclaims, Gate& gate, Time now);
  // At the beginning of a decision: asks that have waited long enough become due; claims end, or
  // move.
  void review(Time now);
  // Nothing fits its asks now.
  void start_waiting(Leaf& leaf, Time now);
  // It was given something; unless it stays due, it is to wait again. Whether it had a claim.
  bool note_given(AskEntry& ask, bool stays_due, Time now);
  // It is met, gone, or not wanted for now. Whether it had a claim.
  bool stop_waiting(AskEntry& ask);
  void drop(AskEntry& ask);
  void forget(const AskEntry& ask) { waits_.forget(ask); }

  void check(std::vector<Violation>& found) const;

 private:
  // One of the agents on which something is set aside for an ask.
  struct Claimed {
    Agent* agent = nullptr;
    int64_t tasks = 0;         // of the ask that are to run there
    ResourceVector keep = {};  // zero: all that becomes free there
    // When we last looked at it: what was kept or lent of that, and how often the agent had grown.
    ResourceVector had = {};
    uint64_t growths = 0;
  };
  // Where the tasks of an ask are to run; nothing if there is no way.
  struct Plan {
    std::vector<Claimed> on = {};
    bool is_expected = false;           // all tasks that are in the way are expected to end
    std::optional<Time> again_at = {};  // if there is no way: when there may be
  };
  // How an ask waits for its claim, and with it.
  struct Wait {
    Time since = {};
    std::optional<Time> timer = {};  // as in the queue of deadlines; may be earlier than true
    bool due = false;
    std::vector<Claimed> claim = {};  // most often one
    uint64_t order = 0;               // earlier claims first
    bool is_expected = false;         // as in the plan
    bool is_stuck = false;
    Duration hold = {};  // how long its claim is kept where nothing ends; zero: as at first
    uint64_t tried = 0;  // version of the claimable world in which there was no agent for it
  };
  // No claim is to be on the agent before this, as long as it is the one that it was.
  struct Rest {
    uint64_t attributes_version = 0;
    Time until = {};
  };
  struct Timer {
    Time at = {};
    AskEntry* ask = nullptr;
    bool operator<(const Timer& o) const;
  };

  AskEntry* claimable_ask(const Leaf& leaf, const Reclaims& reclaims, Gate& gate, Time now) const;
  bool may_be_served_later(const Leaf& leaf, Time now) const;
  Plan plan(const AskEntry& ask, const std::vector<Agent*>& kept, Time now) const;
  bool claim(AskEntry& ask, Time now);
  void hold_for(AskEntry& ask, const Plan& plan, uint64_t order, Time now);
  void give_up(AskEntry& ask, std::optional<Time> again_at);
  void fire_timers(Time now);
  void review_stuck(Time now);
  void review_claim(AskEntry& ask, Time now);
  bool has_progressed(const AskEntry& ask, const Claimed& claimed, Time now) const;
  Duration hold_of(const Wait& wait) const;
  void set_timer(AskEntry& ask, std::optional<Time> at);
  std::optional<Time> rests_until(const Agent& agent, Time now) const;

  Cluster& cluster_;
  AskTable<Wait> waits_;
  std::set<Timer> timers_;
  std::set<AskEntry*> due_;  // without a claim; only counted and searched, never walked
  std::map<uint64_t, AskEntry*> claimed_;  // by order
  std::vector<Rest> rests_;                // by the agent's slot
  uint64_t claims_ = 0;
};

}  // namespace proffer::fair
