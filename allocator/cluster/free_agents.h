#pragma once

// The index of the agents with free resources: ordered by the part of the placement policy that is
// the same for all asks, and by the time of their last growth.

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "allocator/cluster/agents.h"
#include "allocator/cluster/families.h"
#include "allocator/values.h"

namespace proffer::fair {

// Amounts as one number: the sum of each kind's fraction of `total`, in units of 2^-20, rounded
// down by kind.
int64_t weighted(const ResourceVector& amounts, const ResourceVector& total);

// The combination of missing kinds (CPU: 1, memory: 2) without which an open offer is useless: 0 to
// 3.
inline constexpr size_t kLackingCount = 4;
inline size_t kinds_lacking(const ResourceVector& amounts) {
  return (amounts[ResourceKind::kCpus] <= 0 ? 1 : 0) + (amounts[ResourceKind::kMem] <= 0 ? 2 : 0);
}

// The largest fraction, over the kinds of `total`, that is not free, in units of 2^-40, rounded
// down.
int64_t dominant_used(const ResourceVector& free, const ResourceVector& total);

// Agents by a key, then id. For best fit the key is the weighted free amount: the remainder of an
// ask on an agent is the key less the ask's own weighted amount, so the first agent that fits, from
// below, is the best fit.
//
// Agents are in blocks. A block knows the maximum of each kind over its agents, so that agents with
// much left of the wrong kind are skipped as a block.
class AgentsByFree {
 public:
  bool empty() const { return blocks_.empty(); }
  // O(log n + agents of a block).
  void insert(int64_t key, Agent& agent, const ResourceVector& free);
  // Like insert(), if the agent comes after all others.
  void append(int64_t key, Agent& agent, const ResourceVector& free);
  // `key`: the key with which the agent was inserted.
  void erase(int64_t key, const Agent& agent);
  // The agent has a new stamp.
  void stamp(int64_t key, const Agent& agent);
  // Calls visit(Agent*) in order, until it returns true, for the agents that were stamped later
  // than `since` and do not come before this key and agent; without an agent: for all that were
  // stamped later. Returns whether visit() returned true.
  template <class Visit>
  bool visit_from(int64_t key, const Agent* agent, uint64_t since, Visit visit) const {
    for (size_t b = agent == nullptr ? 0 : block_of(key, *agent); b < blocks_.size(); ++b) {
      const Block& block = blocks_[b];
      if (block.latest <= since) continue;
      for (const Entry& entry : block.entries) {
        if (entry.stamp <= since) continue;
        if (agent != nullptr && comes_before(entry, key, *agent)) continue;
        if (visit(entry.agent)) return true;
      }
    }
    return false;
  }
  // Visits all agents in order.
  template <class Visit>
  void each(Visit visit) const {
    for (const Block& block : blocks_) {
      for (const Entry& entry : block.entries) visit(entry.agent);
    }
  }
  // Calls visit(Agent*) in order, until it returns true, for the agents with a key of at least
  // `least` and at least `shape` free of each kind. Returns whether visit() returned true.
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

  // The same over several indices, merged into one order.
  template <class Visit>
  static bool visit_merged(const std::vector<const AgentsByFree*>& all, int64_t least,
                           const ResourceVector& shape, Visit visit) {
    if (all.size() == 1) return all.front()->visit(least, shape, visit);
    std::vector<Walk> walks;
    for (const AgentsByFree* one : all) walks.emplace_back(*one, least, shape);
    while (true) {
      Walk* next = nullptr;
      for (Walk& walk : walks) {
        if (walk.at() == nullptr) continue;
        if (next == nullptr || comes_before(*walk.at(), next->at()->key, *next->at()->agent)) {
          next = &walk;
        }
      }
      if (next == nullptr) return false;
      if (visit(next->at()->agent)) return true;
      next->go_on();
    }
  }

 private:
  static constexpr size_t kBlockMax = 64;
  using Amounts = std::array<int64_t, kResourceKindCount>;
  struct Entry {
    int64_t key = 0;
    uint64_t rank = 0;  // the agent's rank
    Agent* agent = nullptr;
    Amounts free = {};
    uint64_t stamp = 0;
  };
  struct Block {
    std::vector<Entry> entries = {};  // no block is empty
    Amounts most = {};                // the maximum of each kind over the entries
    uint64_t latest = 0;              // their maximum stamp, or a later one
  };

  // Where a visit is; at() is nullptr at the end.
  class Walk {
   public:
    Walk(const AgentsByFree& of, int64_t least, const ResourceVector& shape)
        : blocks_(of.blocks_), least_(least), wanted_(amounts_of(shape)) {
      block_ = of.first_block(least);
      find();
    }
    const Entry* at() const {
      return block_ < blocks_.size() ? &blocks_[block_].entries[entry_] : nullptr;
    }
    void go_on() {
      ++entry_;
      find();
    }

   private:
    void find() {
      for (; block_ < blocks_.size(); ++block_, entry_ = 0) {
        const Block& block = blocks_[block_];
        if (!fits_in(wanted_, block.most)) continue;
        for (; entry_ < block.entries.size(); ++entry_) {
          const Entry& entry = block.entries[entry_];
          if (entry.key >= least_ && fits_in(wanted_, entry.free)) return;
        }
      }
    }

    const std::vector<Block>& blocks_;
    const int64_t least_;
    const Amounts wanted_;
    size_t block_ = 0;
    size_t entry_ = 0;
  };

  static Amounts amounts_of(const ResourceVector& amounts);
  static bool fits_in(const Amounts& wanted, const Amounts& free) {
    for (size_t k = 0; k < kResourceKindCount; ++k) {
      if (wanted[k] > free[k]) return false;
    }
    return true;
  }
  static bool comes_before(const Entry& entry, int64_t key, const Agent& agent) {
    if (entry.key != key) return entry.key < key;
    if (entry.rank != agent.rank) return entry.rank < agent.rank;
    return entry.agent != &agent && entry.agent->id < agent.id;
  }
  static void find_most(Block& block);
  // The first block whose last entry has at least this key.
  size_t first_block(int64_t key) const;
  // The first block whose last entry does not come before this.
  size_t block_of(int64_t key, const Agent& agent) const;

  std::vector<Block> blocks_;
};

// The agents whose resources may be granted: active, not claimed, with free resources. To change an
// agent, call erase() before and insert() after the change, or update() after it.
//
// The keys, least first: for `worst_fit` the negated weighted free amount, for `spread`
// dominant_used(), for all other policies the weighted free amount.
class FreeAgents {
 public:
  explicit FreeAgents(Placement placement = Placement::kBalanced) : placement_(placement) {}
  void insert(Agent& agent, const ResourceVector& cluster_total);
  void erase(Agent& agent);
  // Recomputes the agent's free amounts, and its place if they changed. `grew`: it has more than
  // before, or became usable again: blocked asks must look at it again.
  void update(Agent& agent, const ResourceVector& cluster_total, bool grew);
  // Recomputes all weights and keys for a new total of the cluster.
  void weigh_anew(const ResourceVector& cluster_total);
  // The agent is removed.
  void remove(Agent& agent);
  uint64_t latest() const { return stamp_; }

  // The least key of an agent that the shape can fit.
  int64_t least_key(const ResourceVector& shape, const ResourceVector& cluster_total) const;
  // One index for each family of agents, by its number, with `balanced`; else one for the agents
  // without GPUs and one for those with GPUs.
  const AgentsByFree& in_index(size_t number) const { return by_free_[number]; }
  size_t index_count() const { return by_free_.size(); }
  const Families& families() const { return families_; }
  // Agents with free resources reserved for the role, by all their free resources.
  const AgentsByFree& reserved_for(const RoleName& role) const;
  bool any_reserved() const { return !reserved_.empty(); }
  // All agents, the one with most free first, by -weighted_free. Maintained only after
  // begin_freest_first().
  const AgentsByFree& freest_first() const { return freest_first_; }
  void begin_freest_first();
  void end_freest_first();
  // Agents without these kinds (kinds_lacking()); an agent with reservations counts too, since it
  // may have nothing for some role. any_lacking(): whether there are any; lacking_changed_at(): how
  // often an agent became one of them or changed while it was one.
  bool any_lacking(size_t kinds) const { return lacking_count_[kinds] > 0; }
  uint64_t lacking_changed_at(size_t kinds) const { return lacking_changed_[kinds]; }
  // Calls visit(Agent*), latest stamp first, until it returns true, for the agents that were
  // stamped later than `since`. Returns whether visit() returned true.
  template <class Visit>
  bool visit_grown(uint64_t since, Visit visit) const {
    for (Agent* at = newest_; at != nullptr && at->grown_at > since; at = at->stamped_before) {
      if (visit(at)) return true;
    }
    return false;
  }
  // The agents stamped since clear_fresh(), in no order.
  const std::vector<Agent*>& fresh() const { return fresh_; }
  void clear_fresh();
  void forget_fresh(Agent& agent);
  // The total of the free amounts that the role may use: unreserved, or reserved for it.
  ResourceVector sum(const RoleName& role) const;

 private:
  int64_t key_of(const ResourceVector& free, int64_t weighted_free,
                 const ResourceVector& agent_total) const;
  // The agent joins a family, if its total has changed since it joined one.
  void find_family(Agent& agent);
  // Computes the agent's weight and key from its free amounts.
  void weigh(Agent& agent, const ResourceVector& cluster_total) const;
  void stamp(Agent& agent);
  void note_fresh(Agent& agent);
  // Inserts the agent into the list ordered by stamp; removes it.
  void link(Agent& agent);
  void unlink(Agent& agent);
  void put_in(Agent& agent, const ResourceVector& cluster_total);
  void count_in(Agent& agent, const ResourceVector& cluster_total);
  void take_out(Agent& agent, const ResourceVector& free);
  void fill_freest_first(std::vector<Agent*> agents);

  // Adds `count` to the number of agents that lack these kinds, or some of them.
  void count_lacking(size_t kinds, int64_t count);

  Placement placement_;
  Families families_;
  std::vector<AgentsByFree> by_free_ = std::vector<AgentsByFree>(2);
  AgentsByFree freest_first_;
  bool has_freest_first_ = false;
  std::array<int64_t, kLackingCount> lacking_count_ = {};
  std::array<uint64_t, kLackingCount> lacking_changed_ = {};
  std::map<RoleName, AgentsByFree> reserved_;
  // The listed agents with the least and the largest stamp.
  Agent* oldest_ = nullptr;
  Agent* newest_ = nullptr;
  std::vector<Agent*> fresh_;
  ResourceVector sum_;  // unreserved
  std::map<RoleName, ResourceVector> reserved_sum_;
  uint64_t stamp_ = 0;
};

}  // namespace proffer::fair
