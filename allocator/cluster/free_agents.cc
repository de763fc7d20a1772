// Maintains the index of free agents: insert() and erase() of one agent, and of one block.

#include "allocator/cluster/free_agents.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/check.h"

namespace proffer::fair {
namespace {

__extension__ typedef __int128 Int128;

bool is_first_by_id(const Agent* a, const Agent* b) {
  return a->rank != b->rank ? a->rank < b->rank : a->id < b->id;
}

// Tries the end first: agents are often alike and come in the order of their ids.
template <class Less>
void sort_if_need_be(std::vector<Agent*>& agents, Less less) {
  if (!std::is_sorted(agents.begin(), agents.end(), less)) {
    std::sort(agents.begin(), agents.end(), less);
  }
}

// Estimated resources are lent, not offered from this index.
bool has_something_free(const Agent& agent) {
  if (!agent.free.amounts.is_zero()) return true;
  return std::any_of(agent.parts.begin(), agent.parts.end(), [](const Part& part) {
    return !part.revocable && !part.free.amounts.is_zero();
  });
}

}  // namespace

int64_t weighted(const ResourceVector& amounts, const ResourceVector& total) {
  constexpr int kBits = 20;
  constexpr int64_t kSmall = std::numeric_limits<int64_t>::max() >> kBits;
  // An ask may be larger than the cluster; 2^40 times the total counts as infinite.
  constexpr int64_t kPartMax = int64_t{1} << 60;
  int64_t sum = 0;
  for (const ResourceKind kind : kResourceKinds) {
    if (total[kind] <= 0 || amounts[kind] <= 0) continue;
    if (amounts[kind] <= kSmall) {  // The common case, with a much faster division.
      sum += std::min((amounts[kind] << kBits) / total[kind], kPartMax);
      continue;
    }
    const Int128 part = (Int128(amounts[kind]) << kBits) / total[kind];
    sum += static_cast<int64_t>(std::min<Int128>(part, kPartMax));
  }
  return sum;
}

int64_t dominant_used(const ResourceVector& free, const ResourceVector& total) {
  constexpr int kBits = 40;
  int64_t most = 0;
  for (const ResourceKind kind : kResourceKinds) {
    const int64_t used = total[kind] - free[kind];
    if (used <= 0) continue;  // No use, or a total that shrank below the use.
    most = std::max(most, static_cast<int64_t>((Int128(used) << kBits) / total[kind]));
  }
  return most;
}

// --- by what is free ----------------------------------------------------------------------------

AgentsByFree::Amounts AgentsByFree::amounts_of(const ResourceVector& amounts) {
  Amounts found;
  for (const ResourceKind kind : kResourceKinds) found[static_cast<size_t>(kind)] = amounts[kind];
  return found;
}

void AgentsByFree::find_most(Block& block) {
  block.most = block.entries.front().free;
  block.latest = 0;
  for (const Entry& entry : block.entries) {
    block.latest = std::max(block.latest, entry.stamp);
    for (size_t k = 0; k < kResourceKindCount; ++k) {
      block.most[k] = std::max(block.most[k], entry.free[k]);
    }
  }
}

size_t AgentsByFree::first_block(int64_t key) const {
  const auto at = std::partition_point(blocks_.begin(), blocks_.end(),
                                       [&](const Block& b) { return b.entries.back().key < key; });
  return static_cast<size_t>(at - blocks_.begin());
}

size_t AgentsByFree::block_of(int64_t key, const Agent& agent) const {
  const auto at = std::partition_point(blocks_.begin(), blocks_.end(), [&](const Block& b) {
    return comes_before(b.entries.back(), key, agent);
  });
  return static_cast<size_t>(at - blocks_.begin());
}

void AgentsByFree::insert(int64_t key, Agent& agent, const ResourceVector& free) {
  // An agent after all others joins the last block.
  const size_t number = blocks_.empty() ? 0 : std::min(block_of(key, agent), blocks_.size() - 1);
  if (blocks_.empty()) blocks_.emplace_back();
  Block& block = blocks_[number];
  std::vector<Entry>& entries = block.entries;
  const auto at = std::partition_point(entries.begin(), entries.end(),
                                       [&](const Entry& e) { return comes_before(e, key, agent); });
  const Entry entry{key, agent.rank, &agent, amounts_of(free), agent.grown_at};
  block.latest = std::max(block.latest, entry.stamp);
  for (size_t k = 0; k < kResourceKindCount; ++k) {
    block.most[k] = entries.empty() ? entry.free[k] : std::max(block.most[k], entry.free[k]);
  }
  entries.insert(at, entry);
  if (entries.size() <= kBlockMax) return;
  const auto middle = entries.begin() + static_cast<std::ptrdiff_t>(entries.size() / 2);
  Block rest;
  rest.entries.reserve(kBlockMax + 1);
  rest.entries.assign(middle, entries.end());
  entries.erase(middle, entries.end());
  find_most(block);
  find_most(rest);
  blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(number) + 1, std::move(rest));
}

void AgentsByFree::erase(int64_t key, const Agent& agent) {
  const auto block = blocks_.begin() + static_cast<std::ptrdiff_t>(block_of(key, agent));
  CHECK(block != blocks_.end()) << agent.id.str();
  std::vector<Entry>& entries = block->entries;
  const auto at = std::partition_point(entries.begin(), entries.end(),
                                       [&](const Entry& e) { return comes_before(e, key, agent); });
  CHECK(at != entries.end() && at->agent == &agent) << agent.id.str();
  const Amounts free = at->free;
  entries.erase(at);
  if (entries.empty()) {
    blocks_.erase(block);
    return;
  }
  // Merges small blocks, to keep their number low.
  const auto next = std::next(block);
  if (next != blocks_.end() && entries.size() + next->entries.size() <= kBlockMax / 2) {
    entries.insert(entries.end(), next->entries.begin(), next->entries.end());
    blocks_.erase(next);
    find_most(*block);
    return;
  }
  // The latest stamp may be too late: then a visit to the block finds nothing.
  const bool had_most = [&] {
    for (size_t k = 0; k < kResourceKindCount; ++k) {
      if (free[k] == 0 || free[k] < block->most[k]) continue;
      // Agents are often alike.
      const bool has_equal = std::any_of(entries.begin(), entries.end(),
                                         [&](const Entry& e) { return e.free[k] == free[k]; });
      if (!has_equal) return true;
    }
    return false;
  }();
  if (had_most) find_most(*block);
}

void AgentsByFree::append(int64_t key, Agent& agent, const ResourceVector& free) {
  if (blocks_.empty() || blocks_.back().entries.size() >= kBlockMax * 3 / 4) {
    blocks_.emplace_back().entries.reserve(kBlockMax + 1);
  }
  Block& block = blocks_.back();
  const Entry& entry =
      block.entries.emplace_back(Entry{key, agent.rank, &agent, amounts_of(free), agent.grown_at});
  for (size_t k = 0; k < kResourceKindCount; ++k) {
    block.most[k] = std::max(block.most[k], entry.free[k]);
  }
  block.latest = std::max(block.latest, entry.stamp);
}

void AgentsByFree::stamp(int64_t key, const Agent& agent) {
  const size_t number = block_of(key, agent);
  CHECK(number < blocks_.size()) << agent.id.str();
  Block& block = blocks_[number];
  std::vector<Entry>& entries = block.entries;
  const auto at = std::partition_point(entries.begin(), entries.end(),
                                       [&](const Entry& e) { return comes_before(e, key, agent); });
  CHECK(at != entries.end() && at->agent == &agent) << agent.id.str();
  at->stamp = agent.grown_at;
  block.latest = std::max(block.latest, at->stamp);
}

// --- all that are free --------------------------------------------------------------------------

void FreeAgents::insert(Agent& agent, const ResourceVector& cluster_total) {
  CHECK(!agent.listed) << agent.id.str();
  find_family(agent);
  if (!agent.serves() || agent.is_set_aside() || !has_something_free(agent)) {
    forget_fresh(agent);
    return;
  }
  put_in(agent, cluster_total);
  link(agent);
  agent.listed = true;
}

int64_t FreeAgents::key_of(const ResourceVector& free, int64_t weighted_free,
                           const ResourceVector& agent_total) const {
  switch (placement_) {
    case Placement::kSpread:
      return dominant_used(free, agent_total);
    case Placement::kWorstFit:
      return -weighted_free;
    default:
      return weighted_free;
  }
}

int64_t FreeAgents::least_key(const ResourceVector& shape,
                              const ResourceVector& cluster_total) const {
  const bool is_by_free = placement_ != Placement::kSpread && placement_ != Placement::kWorstFit;
  return is_by_free ? weighted(shape, cluster_total) : std::numeric_limits<int64_t>::min();
}

void FreeAgents::weigh(Agent& agent, const ResourceVector& cluster_total) const {
  agent.weighted_free = weighted(agent.free.amounts, cluster_total);
  agent.fragments.version = 0;
  agent.key = key_of(agent.free.amounts, agent.weighted_free, agent.total.amounts);
}

void FreeAgents::find_family(Agent& agent) {
  const ResourceVector total = agent.parts.empty() ? agent.total.amounts : agent.counted_total();
  if (agent.family_of != total || families_.all().empty()) {
    agent.family = families_.join(total);
    agent.family_of = total;
  }
  const bool is_by_family = placement_ == Placement::kBalanced;
  agent.index_at = is_by_family ? agent.family : agent.has_gpus() ? 1 : 0;
  if (agent.index_at >= by_free_.size()) by_free_.resize(agent.index_at + 1);
}

void FreeAgents::put_in(Agent& agent, const ResourceVector& cluster_total) {
  weigh(agent, cluster_total);
  by_free_[agent.index_at].insert(agent.key, agent, agent.free.amounts);
  if (has_freest_first_) freest_first_.insert(-agent.weighted_free, agent, agent.free.amounts);
  count_in(agent, cluster_total);
}

void FreeAgents::count_in(Agent& agent, const ResourceVector& cluster_total) {
  agent.lacking = agent.parts.empty() ? kinds_lacking(agent.free.amounts) : kLackingCount - 1;
  count_lacking(agent.lacking, 1);
  sum_ += agent.free.amounts;
  if (agent.parts.empty()) return;
  const ResourceVector counted = agent.counted_free().amounts;
  agent.key_counted = key_of(counted, weighted(counted, cluster_total), agent.counted_total());
  for (const Part& part : agent.parts) {
    if (part.revocable || part.free.amounts.is_zero()) continue;
    reserved_[part.reserved_for].insert(agent.key_counted, agent, counted);
    agent.reserved_listed.emplace_back(part.reserved_for, part.free.amounts);
    reserved_sum_[part.reserved_for] += part.free.amounts;
  }
}

void FreeAgents::weigh_anew(const ResourceVector& cluster_total) {
  // Keeps the former order, which is mostly the new one too.
  std::vector<Agent*> all;
  for (const AgentsByFree& agents : by_free_) {
    agents.each([&](Agent* agent) { all.push_back(agent); });
  }
  for (AgentsByFree& agents : by_free_) agents = {};
  freest_first_ = {};
  reserved_.clear();
  reserved_sum_.clear();
  sum_ = {};
  lacking_count_ = {};
  for (Agent* agent : all) {
    weigh(*agent, cluster_total);
    agent->reserved_listed.clear();
  }
  sort_if_need_be(all, [](const Agent* a, const Agent* b) {
    return a->key != b->key ? a->key < b->key : is_first_by_id(a, b);
  });
  for (Agent* agent : all) {
    by_free_[agent->index_at].append(agent->key, *agent, agent->free.amounts);
    count_in(*agent, cluster_total);
  }
  if (has_freest_first_) fill_freest_first(std::move(all));
}

void FreeAgents::erase(Agent& agent) {
  if (!agent.listed) return;
  take_out(agent, agent.free.amounts);
  unlink(agent);
  agent.listed = false;
}

// `free`: the agent's free amounts at its insertion.
void FreeAgents::take_out(Agent& agent, const ResourceVector& free) {
  by_free_[agent.index_at].erase(agent.key, agent);
  if (has_freest_first_) freest_first_.erase(-agent.weighted_free, agent);
  count_lacking(agent.lacking, -1);
  for (const auto& [role, reserved] : agent.reserved_listed) {
    reserved_sum_[role] -= reserved;
    const auto of_role = reserved_.find(role);
    of_role->second.erase(agent.key_counted, agent);
    if (of_role->second.empty()) reserved_.erase(of_role);
  }
  agent.reserved_listed.clear();
  sum_ -= free;
}

void FreeAgents::update(Agent& agent, const ResourceVector& cluster_total, bool grew) {
  if (!agent.listed) {
    if (grew) agent.grown_at = ++stamp_;
    agent.compute_free();
    insert(agent, cluster_total);
    if (grew && agent.listed) note_fresh(agent);
    return;
  }
  const ResourceVector before = agent.free.amounts;
  const bool was_plain = agent.reserved_listed.empty();
  agent.compute_free();
  agent.fragments.version = 0;  // Other devices may be free at equal amounts.
  if (was_plain && agent.parts.empty() && agent.free.amounts == before) {
    if (grew) stamp(agent);
    return;
  }
  take_out(agent, before);
  const bool is_free = has_something_free(agent);
  if (grew || !is_free) unlink(agent);
  if (grew) agent.grown_at = ++stamp_;
  if (is_free) {
    put_in(agent, cluster_total);
    if (!grew) return;
    link(agent);
    note_fresh(agent);
    return;
  }
  forget_fresh(agent);
  agent.listed = false;
}

void FreeAgents::remove(Agent& agent) {
  erase(agent);
  forget_fresh(agent);
}

void FreeAgents::stamp(Agent& agent) {
  if (agent.listed) unlink(agent);
  agent.grown_at = ++stamp_;
  if (!agent.listed) return;
  if (has_freest_first_) freest_first_.stamp(-agent.weighted_free, agent);
  link(agent);
  note_fresh(agent);
}

// The stamp is nearly always the largest.
void FreeAgents::link(Agent& agent) {
  Agent* before = newest_;
  while (before != nullptr && before->grown_at > agent.grown_at) before = before->stamped_before;
  Agent* const after = before == nullptr ? oldest_ : before->stamped_after;
  agent.stamped_before = before;
  agent.stamped_after = after;
  (before == nullptr ? oldest_ : before->stamped_after) = &agent;
  (after == nullptr ? newest_ : after->stamped_before) = &agent;
}

void FreeAgents::unlink(Agent& agent) {
  Agent* const before = std::exchange(agent.stamped_before, nullptr);
  Agent* const after = std::exchange(agent.stamped_after, nullptr);
  (before == nullptr ? oldest_ : before->stamped_after) = after;
  (after == nullptr ? newest_ : after->stamped_before) = before;
}

void FreeAgents::note_fresh(Agent& agent) {
  if (agent.fresh_place != Agent::kNotFresh) return;
  agent.fresh_place = fresh_.size();
  fresh_.push_back(&agent);
}

void FreeAgents::forget_fresh(Agent& agent) {
  if (agent.fresh_place == Agent::kNotFresh) return;
  fresh_[agent.fresh_place] = fresh_.back();
  fresh_[agent.fresh_place]->fresh_place = agent.fresh_place;
  fresh_.pop_back();
  agent.fresh_place = Agent::kNotFresh;
}

void FreeAgents::clear_fresh() {
  for (Agent* agent : fresh_) agent->fresh_place = Agent::kNotFresh;
  fresh_.clear();
}

void FreeAgents::begin_freest_first() {
  has_freest_first_ = true;
  std::vector<Agent*> all;
  for (Agent* at = oldest_; at != nullptr; at = at->stamped_after) all.push_back(at);
  fill_freest_first(std::move(all));
}

void FreeAgents::fill_freest_first(std::vector<Agent*> agents) {
  sort_if_need_be(agents, [](const Agent* a, const Agent* b) {
    return a->weighted_free != b->weighted_free ? a->weighted_free > b->weighted_free
                                                : is_first_by_id(a, b);
  });
  for (Agent* agent : agents) {
    freest_first_.append(-agent->weighted_free, *agent, agent->free.amounts);
  }
}

void FreeAgents::end_freest_first() {
  has_freest_first_ = false;
  freest_first_ = {};
}

void FreeAgents::count_lacking(size_t kinds, int64_t count) {
  for (size_t some = 1; some < kLackingCount; ++some) {
    if ((some & kinds) != some) continue;
    lacking_count_[some] += count;
    if (count > 0) ++lacking_changed_[some];
  }
}

ResourceVector FreeAgents::sum(const RoleName& role) const {
  ResourceVector sum = sum_;
  if (reserved_.empty()) return sum;
  for (RoleName at = role; !at.empty(); at = parent_of(at)) {
    const auto of_role = reserved_sum_.find(at);
    if (of_role != reserved_sum_.end()) sum += of_role->second;
  }
  return sum;
}

const AgentsByFree& FreeAgents::reserved_for(const RoleName& role) const {
  static const AgentsByFree kNone;
  const auto at = reserved_.find(role);
  return at == reserved_.end() ? kNone : at->second;
}

}  // namespace proffer::fair
