#pragma once

// The conditions of an ask besides the fit: how many of its tasks may be together (max_per,
// spread), and its preferred hosts and racks.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "allocator/cluster/agents.h"
#include "common/offers.h"
#include "common/time.h"

namespace proffer::fair {

// The running and offered tasks of one ask, or of its group, and those being given in this
// decision, counted by the values of the attributes by which the ask limits or spreads them. Steps
// are O(attributes * log values).
class TaskCounts {
 public:
  TaskCounts() = default;
  explicit TaskCounts(const Ask& ask);  // all zero

  bool counts_any() const { return !counts_.empty(); }
  // Adds `count` tasks on the agent; `count` may be negative.
  void add(const Agent& agent, int64_t count);
  // The number of further tasks that max_per allows on the agent, at most count_max.
  int64_t room(const Ask& ask, const AgentState& agent, int64_t count_max) const;
  // The limit that allows no further task there, or nullptr.
  const MaxPer* full(const Ask& ask, const AgentState& agent) const;
  // has more tasks than max_per allows
  bool is_beyond(const Ask& ask, const AgentState& agent) const;
  // The number of tasks with the agent's value of the attribute over which the ask is spread.
  int64_t crowd(const Ask& ask, const AgentState& agent) const;

  // The same for any counted attribute.
  int64_t of(const std::string& attribute, const AgentState& agent) const;

  bool operator==(const TaskCounts&) const = default;

 private:
  // by attribute, then value; none is zero
  std::map<std::string, std::map<std::string, int64_t>> counts_;
};

// An agent for some tasks of a gang.
struct Seat {
  Agent* agent = nullptr;
  int64_t room = 0;  // by all rules except max_per
  int64_t count = 0;
};

// Places as many of the `wanted` tasks as possible on the places, each on another agent: sets their
// counts and returns the number of tasks. Keeps the order of the places if it suffices. `counts`:
// the existing tasks. The result is the maximum, unless more than two attributes besides the host
// separate the tasks (that would be a three-dimensional matching); then it is the result of a
// greedy pass in order. O(places), and with two such attributes O(places * values) for each task
// that moves.
int64_t fill_places(const Ask& ask, const TaskCounts& counts, int64_t wanted,
                    std::vector<Seat>& places);

// The locality of an agent for an ask with a preference.
enum class Nearness : uint8_t { kHost, kRack, kAnywhere };
Nearness nearness(const Preference& preference, const AgentState& agent);

}  // namespace proffer::fair
