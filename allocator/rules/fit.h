#pragma once

// Whether, where and how often an ask fits: on one agent as it is, on an empty agent, on all agents
// together. denial.h decides whether the ask may have that much.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "allocator/cluster/cluster.h"

namespace proffer::fair {

// Whether the framework's filter still excludes the agent.
bool still_holds(const Filter& filter, const AgentState& agent, Time now);
// Whether the framework of the leaf has a filter on the agent that still holds.
bool is_filtered(const Leaf& leaf, const AgentState& agent, Time now);
// The same for a task of the ask: a refusal of less than the ask's shape does not filter an implied
// ask.
bool is_filtered(const AskEntry& ask, const AgentState& agent, Time now);
// Whether the agent's attributes match, and the locality wait permits the agent.
bool is_for(const AskEntry& ask, const AgentState& agent, Time now);
// The first of an ask's static ports that is not in `ports`.
std::optional<uint16_t> missing_port(const std::vector<uint16_t>& static_ports,
                                     const PortSet& ports);
// Like is_for(); also there are enough ports, the static ports are free, and max_per leaves room.
bool may_hold(const AskEntry& ask, const AgentState& agent, Time now);
// Like may_hold(); also the agent is not declined. The amounts are not compared.
bool suits(const AskEntry& ask, const Agent& agent, Time now);
// The free amounts that tasks of the ask must leave on an agent where this is withheld: the sum of
// those for roles beside the ask's, if its tasks are expected to run for longer than they allow and
// no guarantee of its own covers one.
ResourceVector withheld_from(const AskEntry& ask,
                             const std::vector<AgentState::Withheld>& withheld);
// The same for open offers, whose tasks may run for ever.
ResourceVector withheld_from(const Leaf& leaf, const std::vector<AgentState::Withheld>& withheld);
// Whether a task of the ask may go there now.
bool is_usable(const AskEntry& ask, const Agent& agent, Time now);
// The number of tasks of the ask that fit there now, regardless of its turn and its unmet count.
int64_t room_for(const AskEntry& ask, const AgentState& agent, int64_t count_max);

// Whether a task of the ask would fit there if the agent were empty.
bool could_ever_fit(const AskEntry& ask, const AgentState& agent);
// The number of tasks of one gang that would fit if the agent were empty. Requires
// could_ever_fit().
int64_t capacity(const AskEntry& ask, const Agent& agent);
// Whether one gang of the ask would fit on empty agents. O(agents).
bool could_ever_be_met(const Cluster& cluster, const AskEntry& ask, bool only_serving);
// The same, cached until the agents change: for the agents that may be offered; for all agents.
bool could_be_served(const Cluster& cluster, const AskEntry& ask);
bool could_be_met(const Cluster& cluster, const AskEntry& ask);

// Calls visit(Agent*), until it returns true, for the agents with enough free amounts for one task:
// first those with resources reserved for its role; in the order of the index of free agents.
// Agents with reservations may come twice.
void visit_free(const Cluster& cluster, const AskEntry& ask,
                const std::function<bool(Agent*)>& visit);
// The seats of all tasks of one gang; empty if they do not fit together. Agents that are set aside
// for the ask come first, then the others by placement policy, one after the other. O(agents with
// room); for an ask with spread O(gang * agents with room).
std::vector<Seat> plan_gang(const Cluster& cluster, const AskEntry& ask, Time now);
// Whether the ask fits now: a task on the agent, or its gang on any agents.
bool fits_now(const Cluster& cluster, const AskEntry& ask, const Agent& agent, Time now);

}  // namespace proffer::fair
