#pragma once

// The index of the agents with something free, by how much and by when they last got more.

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "allocator/cluster/agents.h"

namespace proffer::fair {

// Amounts as one number: the sum of each kind's fraction of `total`, in 2^-20, rounded down by
// kind.
int64_t weighted(const ResourceVector& amounts, const ResourceVector& total);

// Agents by weighted free amount, then id. An ask's remainder on an agent is this less the ask's
// own weighted amount, so the first that fits, from below, is the best fit.
//
// In blocks that know the most that any agent in them has of each kind, so that agents of which
// there is much left of the wrong kind are passed over together, without a look at any of them.
class AgentsByFree {
 public:
  bool empty() const { return blocks_.empty(); }
  // O(log n + agents of a block).
  void insert(int64_t key, Agent& agent, const ResourceVector& free);
  // Needs the key with which it is here.
  void erase(int64_t key, const Agent& agent);
  // Agents with a key of at least `least` and of each kind at least `shape`, in order, until
  // visit(Agent*) returns true. Whether it did.
  template <class Visit>
  bool visit(int64_t least, const ResourceVector& shape, Visit visit) const {
    const Amounts wanted = amounts_of(shape);
    for (size_t b = first_block(least); b < blocks_.size(); ++b) {
      const Block& block = blocks_[b];
      if (!fits_in(wanted, block.most)) continue;
      for (const Entry& entry : block.entries) {
        if (entry.key < least || !fits_in(wanted, entry.free)) continue;
        if (visit(entry.agent)) return true;
      }
    }
    return false;
  }

 private:
  static constexpr size_t kBlockMax = 64;
  using Amounts = std::array<int64_t, kResourceKindCount>;
  struct Entry {
    int64_t key = 0;
    Agent* agent = nullptr;
    Amounts free = {};
  };
  struct Block {
    std::vector<Entry> entries = {};  // none is empty
    Amounts most = {};                // of each kind, of any of them
  };

  static Amounts amounts_of(const ResourceVector& amounts);
  static bool fits_in(const Amounts& wanted, const Amounts& free) {
    for (size_t k = 0; k < kResourceKindCount; ++k) {
      if (wanted[k] > free[k]) return false;
    }
    return true;
  }
  static bool comes_before(const Entry& entry, int64_t key, const Agent& agent) {
    return entry.key != key ? entry.key < key : entry.agent->id < agent.id;
  }
  static void find_most(Block& block);
  // The first whose last entry has at least this key.
  size_t first_block(int64_t key) const;
  // The first whose last entry is not before this.
  size_t block_of(int64_t key, const Agent& agent) const;

  std::vector<Block> blocks_;
};

// The agents from which one may take: active, not claimed, something free. A change of an agent is
// made between erase() and insert(), or told with update().
class FreeAgents {
 public:
  void insert(Agent& agent, const ResourceVector& cluster_total);
  void erase(Agent& agent);
  // Recomputes what is free on the agent, and its place if that changed.
  void update(Agent& agent, const ResourceVector& cluster_total);
  // It is no more.
  void remove(Agent& agent);
  // Marks that the agent has more than before: who was blocked should look at it again.
  void stamp(Agent& agent);
  uint64_t latest() const { return stamp_; }

  const AgentsByFree& plain() const { return by_free_[0]; }
  const AgentsByFree& with_gpus() const { return by_free_[1]; }
  // Those with something free that is reserved for the role, by what is free there in all.
  const AgentsByFree& reserved_for(const RoleName& role) const;
  bool any_reserved() const { return !reserved_.empty(); }
  // Those that are stamped later than `since`, the last one first, until visit(Agent*) returns
  // true. Whether it did.
  template <class Visit>
  bool visit_grown(uint64_t since, Visit visit) const {
    for (auto at = by_stamp_.rbegin(); at != by_stamp_.rend() && at->first > since; ++at) {
      if (visit(at->second)) return true;
    }
    return false;
  }
  // Those stamped since clear_fresh().
  const AgentSet& fresh() const { return fresh_; }
  void clear_fresh() { fresh_.clear(); }
  void forget_fresh(Agent& agent) { fresh_.erase(&agent); }
  // What is free on all of them together for the role: unreserved, or reserved for it.
  ResourceVector sum(const RoleName& role) const;

 private:
  void put_in(Agent& agent, const ResourceVector& cluster_total);
  void take_out(Agent& agent, const ResourceVector& free);

  AgentsByFree by_free_[2];
  std::map<RoleName, AgentsByFree> reserved_;
  std::map<uint64_t, Agent*> by_stamp_;
  AgentSet fresh_;
  ResourceVector sum_;  // unreserved
  std::map<RoleName, ResourceVector> reserved_sum_;
  uint64_t stamp_ = 0;
};

}  // namespace proffer::fair
