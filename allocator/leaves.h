#pragma once

// Who shares: roles, the frameworks that are their leaves, and what each of them asks for. Today
// roles are flat; a tree puts child roles beside the leaves of LeafOrder.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "allocator/agents.h"
#include "allocator/wishes.h"
#include "common/constraint_matcher.h"
#include "common/offers.h"
#include "common/share.h"
#include "common/time.h"

namespace proffer::fair {

struct Leaf;

// One of the agents that are set aside for an ask.
struct Claimed {
  Agent* agent = nullptr;
  uint64_t growths = 0;  // of the agent when we last looked at it
};

// A declared ask and how it fares.
struct AskEntry {
  Leaf* leaf = nullptr;
  Ask ask = {};
  ConstraintMatcher matcher = {};
  size_t place = 0;     // in the declaration
  int64_t offered = 0;  // tasks of it in outstanding offers
  uint64_t granted_at =
      0;  // which grant was its last; the longest ago goes first within a priority
  // No agent whose stamp is not later fits it; zero: not looked yet.
  uint64_t tried_at = 0;

  TaskCounts counts = {};          // of its tasks, where they are
  std::optional<Time> alarm = {};  // as in the queue of alarms: it expires, or stops waiting
  std::optional<Time> expires = {};
  bool expired = false;
  Time prefers_since = {};  // declared, or last granted where it would rather be

  // Waiting for a claim.
  Time waiting_since = {};
  std::optional<Time> timer = {};   // as in the queue of deadlines; may be earlier than true
  bool due = false;                 // has waited for claim_after, or been served by a claim
  std::vector<Claimed> claim = {};  // the agents that are set aside for it; most often one
  uint64_t claim_order = 0;         // earlier claims first
  bool claim_stuck =
      false;  // nothing became free there in the last review, and no other agent will do
  uint64_t hopeless_at = 0;  // version of the agents in which none could ever fit it
  uint64_t claim_tried = 0;  // version of the claimable world in which there was no agent for it

  // How many tasks it could be given now: whole gangs.
  int64_t unmet() const {
    const int64_t left = expired || ask.count <= offered ? 0 : ask.count - offered;
    return ask.gang > 1 ? left - left % ask.gang : left;
  }
  // Whether it is for now only to be given where it would rather be.
  bool only_preferred(Time now) const {
    return !ask.prefer.empty() && now - prefers_since < ask.prefer.wait;
  }
  bool claims(const Agent& agent) const { return agent.claim == this; }
  // Whether the agent has the right attributes and host. Remembered, since expressions are slow.
  bool matches(const Agent& agent) const;

 private:
  struct Matched {
    uint64_t attributes_version = 0;
    bool matches = false;
  };
  mutable std::unordered_map<const Agent*, Matched> matched_;  // looked up only, never walked
};

// Why one framework is not offered one agent for now.
struct Filter {
  std::optional<Time> until = {};                   // without a reason
  std::map<ResourceKind, int64_t> too_little = {};  // until more than this is free there, in each
  std::optional<Attributes> wrong_agent = {};       // until its attributes are others
};

struct Role;

// A framework in its role.
struct Leaf {
  FrameworkId framework = {};
  Role* role = nullptr;
  OfferMode mode = OfferMode::kAsks;
  bool active = true;
  bool suppressed = false;

  ResourceVector allocated = {};
  ResourceVector offered = {};
  Share share = {};               // of both, within the role
  ResourceVector estimated = {};  // of what agents only estimate to be free: counts in nothing else

  std::map<AskName, std::unique_ptr<AskEntry>> asks = {};
  std::vector<AskEntry*> order = {};  // by priority, then longest without a grant, then place
  AskEntry* claimed = nullptr;        // its ask that has a claim, at most one

  std::map<AgentId, Filter> filters = {};
  AgentSet retry = {};            // agents to look at again whatever their stamp
  std::set<OfferId> offers = {};  // outstanding

  // Open offers only.
  uint64_t tried_at = 0;                // as AskEntry's
  AgentSet open_on = {};                // agents with an outstanding open offer to it
  std::vector<Agent*> open_queue = {};  // in a decision: agents to take next, from the end
  bool open_queue_known = false;
  int64_t entitlement = 0;  // see entitlement.h; of the current decision

  bool in_order[2] = {false, false};  // kept by LeafOrder

  ResourceVector use() const { return allocated + offered; }
  bool wants_offers() const;
  void sort_asks();
  // The same for one ask that has just been granted something.
  void move_behind_peers(const AskEntry& ask);
};

struct LeafByShare {
  bool operator()(const Leaf* a, const Leaf* b) const {
    const auto order = a->share <=> b->share;
    return order != 0 ? order < 0 : a->framework < b->framework;
  }
};

struct Role {
  RoleName name = {};
  int64_t weight = kWeightOne;
  ResourceVector allocated = {};
  ResourceVector offered = {};
  Share share = {};  // of both, weighted
  int64_t leaves_count = 0;

  std::set<Leaf*, LeafByShare> leaves_in_order[2];  // kept by LeafOrder

  ResourceVector use() const { return allocated + offered; }
};

struct RoleByShare {
  bool operator()(const Role* a, const Role* b) const {
    const auto order = a->share <=> b->share;
    return order != 0 ? order < 0 : a->name < b->name;
  }
};

// A leaf's place between all: its role's share counts first, then its own within the role.
struct Rank {
  Share role = {};
  Share leaf = {};
  std::strong_ordering operator<=>(const Rank& o) const {
    const auto order = role <=> o.role;
    return order != 0 ? order : leaf <=> o.leaf;
  }
  bool operator==(const Rank& o) const { return (*this <=> o) == 0; }
};
inline Rank rank_of(const Leaf& leaf) { return {leaf.role->share, leaf.share}; }

// Some leaves by least share: roles first, then leaves within the role; ties by name. `number` is
// 0 or 1: there are two such orders over the same leaves. Uses O(log n).
class LeafOrder {
 public:
  explicit LeafOrder(int number) : number_(number) {}

  void insert(Leaf& leaf);
  void erase(Leaf& leaf);
  bool contains(const Leaf& leaf) const { return leaf.in_order[number_]; }
  bool empty() const { return roles_.empty(); }
  Leaf* first() const;
  // Who comes after first(): in its role, and the next role. nullptr if none.
  const Leaf* second_leaf() const;
  const Role* second_role() const;
  int64_t asking_count() const { return asking_; }  // leaves that take asks

  const std::set<Role*, RoleByShare>& roles() const { return roles_; }
  const std::set<Leaf*, LeafByShare>& leaves(const Role& role) const {
    return role.leaves_in_order[number_];
  }

  // Around a change of the shares of a leaf and its role.
  void before_change(Leaf& leaf);
  void after_change(Leaf& leaf);
  void clear();

 private:
  const int number_;
  std::set<Role*, RoleByShare> roles_;  // with at least one leaf here
  int64_t asking_ = 0;
};

}  // namespace proffer::fair
