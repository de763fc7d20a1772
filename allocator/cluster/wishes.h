#pragma once

// What an ask wants of its agents beyond that it fits there: how many of its tasks may be together,
// and where it would rather be.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "allocator/cluster/agents.h"
#include "common/offers.h"
#include "common/time.h"

namespace proffer::fair {

// The tasks of one ask, or of its group, running, offered, or being given, by the values of the
// attributes by which the ask limits or spreads them. Steps are O(attributes * log values).
class TaskCounts {
 public:
  TaskCounts() = default;
  explicit TaskCounts(const Ask& ask);  // all zero

  bool counts_any() const { return !counts_.empty(); }
  // Some more tasks, or fewer, on the agent.
  void add(const Agent& agent, int64_t count);
  // How many more tasks max_per allows on the agent, at most count_max.
  int64_t room(const Ask& ask, const AgentState& agent, int64_t count_max) const;
  // The limit that leaves no room there, or nullptr.
  const MaxPer* full(const Ask& ask, const AgentState& agent) const;
  bool is_beyond(const Ask& ask, const AgentState& agent) const;  // has more than max_per allows
  // How many tasks are where the agent is, by the attribute that the ask is spread over.
  int64_t crowd(const Ask& ask, const AgentState& agent) const;

  // How many where the agent is, by an attribute that is counted.
  int64_t of(const std::string& attribute, const AgentState& agent) const;

  bool operator==(const TaskCounts&) const = default;

 private:
  std::map<std::string, std::map<std::string, int64_t>> counts_;  // by attribute, value; none zero
};

// Where some tasks of a gang may go.
struct Seat {
  Agent* agent = nullptr;
  int64_t room = 0;  // by all but max_per
  int64_t count = 0;
};

// Puts as many of `wanted` tasks as may be together on the places, each of another agent, in their
// order if that does: sets their counts and returns how many. `counts`: of those that are there.
// The most there is, unless more than two attributes beside the host keep them apart (that would be
// a three-dimensional matching); then as many as their order gives.
// O(places), and with two such attributes O(places * values) for each task that is put otherwise.
int64_t fill_places(const Ask& ask, const TaskCounts& counts, int64_t wanted,
                    std::vector<Seat>& places);

// How near an agent is to where the ask would rather be.
enum class Nearness : uint8_t { kHost, kRack, kAnywhere };
Nearness nearness(const Preference& preference, const AgentState& agent);

}  // namespace proffer::fair
