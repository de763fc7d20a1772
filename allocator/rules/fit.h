#pragma once

// Whether, where and how often an ask fits: on one agent as it is, on one that is empty, on all of
// them together. Whether it may have so much is denial.h's to say.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "allocator/cluster/cluster.h"

namespace proffer::fair {

// Whether what a framework said of the agent still keeps it away.
bool still_holds(const Filter& filter, const AgentState& agent, Time now);
// Whether the framework of the leaf has declined the agent, and that still holds.
bool is_filtered(const Leaf& leaf, const AgentState& agent, Time now);
// The same, for a task of the ask: a refusal of less than it takes says nothing about an implied
// ask.
bool is_filtered(const AskEntry& ask, const AgentState& agent, Time now);
// Whether the agent has the right attributes and is near enough.
bool is_for(const AskEntry& ask, const AgentState& agent, Time now);
// The first of an ask's ports by number that is not among these.
std::optional<uint16_t> missing_port(const std::vector<uint16_t>& static_ports,
                                     const PortSet& ports);
// The same, and there are ports enough, those by number are free, and max_per leaves room.
bool may_hold(const AskEntry& ask, const AgentState& agent, Time now);
// Whether the ask may go there, if it fits: the same, and it is not declined.
bool suits(const AskEntry& ask, const Agent& agent, Time now);
// Whether a task of it may go there now.
bool is_usable(const AskEntry& ask, const Agent& agent, Time now);
// How many tasks of the ask fit there now, by all but its turn and its unmet count.
int64_t room_for(const AskEntry& ask, const AgentState& agent, int64_t count_max);

// Whether a task of it would fit there if the agent were empty.
bool could_ever_fit(const AskEntry& ask, const AgentState& agent);
// How many tasks of one gang would then. The ask could_ever_fit() there.
int64_t capacity(const AskEntry& ask, const Agent& agent);
// Whether one gang of it fits on the agents if they were empty. O(agents).
bool could_ever_be_met(const Cluster& cluster, const AskEntry& ask, bool only_serving);
// The same, remembered while the agents are the same: of those that may be offered, and of all.
bool could_be_served(const Cluster& cluster, const AskEntry& ask);
bool could_be_met(const Cluster& cluster, const AskEntry& ask);

// Calls visit(Agent*) for the agents with enough free, by amount, for one task, those with
// something reserved for its role first, until it returns true; in the order of the index of free
// agents. Agents with reservations may come twice.
void visit_free(const Cluster& cluster, const AskEntry& ask,
                const std::function<bool(Agent*)>& visit);
// Where all tasks of one gang go, or nothing if they do not fit together: on the agents that the
// placement policy likes best, one after the other, those that are set aside for it first. O(agents
// with room) or, where the ask is to be spread, O(gang * agents with room).
std::vector<Seat> plan_gang(const Cluster& cluster, const AskEntry& ask, Time now);
// Whether it fits now: a task on the agent, or its gang anywhere.
bool fits_now(const Cluster& cluster, const AskEntry& ask, const Agent& agent, Time now);

}  // namespace proffer::fair
