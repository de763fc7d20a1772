#pragma once

// The agents that were admitted to the cluster.

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "common/attributes.h"
#include "common/offers.h"
#include "common/principal.h"
#include "master/core/releases.h"
#include "master/core/reservations.h"
#include "master/core/starts.h"
#include "master/core/tasks.h"
#include "proto/records.h"
#include "proto/status.h"

namespace proffer::master {

// A task that runs on the agent although the master has ended it. The agent is asked to kill it.
// Its resources count as used until it has ended. The master acknowledges its updates and does not
// forward them.
struct Stray {
  Resources resources = {};
  TaskClaim claim = {};
  bool is_hidden = false;  // hidden from users, and not charged to its framework
};

struct Agent {
  AgentId id = {};
  Secret secret = {};
  proto::AgentState state = proto::AgentState::kDisconnected;  // changed by Agents::move only
  // The agent has registered since this master began to lead. Until each admitted agent has
  // registered or is removed, the master cannot say that a task does not exist.
  bool seen = false;
  bool allocatable = false;  // known to the allocator, so not unreachable
  bool stopping = false;     // it refuses launches until it registers again
  PeerId peer = {};          // zero: not connected
  SessionEpoch session = {};
  uint64_t admission = 0;                 // as in its registry record
  std::vector<Secret> gone_secrets = {};  // as in its registry record
  // The boot id of its machine as last reported, and earlier ones, newest last; 0: not reported.
  uint64_t boot = 0;
  std::vector<uint64_t> former_boots = {};
  // The last boot id that was refused because an agent with another one was connected.
  uint64_t rival_boot = 0;

  Attributes attributes = {};
  std::vector<Slice> own_slices = {};  // declared by the agent, without ports
  Reserved reserved = {};              // the part reserved by operations; in the registry
  std::vector<Slice> slices = {};      // own_slices, with their reservations
  PortSet ports = {};
  uint16_t next_port = 1;  // free ports are assigned from this one upwards first
  std::string http_address = {};
  proto::FileService files = {};  // for other machines; `clock` is the one at `registered_at`
  uint32_t memory = 0;            // as reported
  std::string limits = {};        // as reported, as text
  // The principal of the agent process. An agent of root runs tasks of every user, other agents
  // only tasks of their own user. nullptr: unknown.
  PrincipalPtr by = {};
  bool takes_secrets = false;   // as reported
  bool keeps_tickets = false;   // as reported
  std::string trouble = {};     // why it takes no tasks, as reported; empty: it takes tasks
  Starts starts = {};           // whether launches on it succeed
  bool starts_watched = false;  // a deadline is set for its tasks that have not started
  // The upper bound of its resources, counted so that sums over the cluster stay within kAmountMax.
  ResourceVector most = {};

  // Set while the agent is drained; in the registry.
  std::optional<Time> drained_by = {};

  Time registered_at = {};
  Time lost_at = {};          // when its connection was lost
  bool passed_brake = false;  // since lost_at
  Releases releases = {};
  TaskList tasks = {};
  std::map<TaskKey, Stray> strays = {};

  bool connected() const { return static_cast<bool>(peer); }
  // No resources of the agent are offered.
  bool is_closed() const { return drained_by.has_value() || takes_no_tasks(); }
  bool takes_no_tasks() const { return !trouble.empty() || starts.is_closed(); }
  // Empty: it takes tasks.
  std::string why_no_tasks() const;
  ResourceVector total() const;
};

// An agent that an operator declared gone. Its registration is refused, so that its tasks end.
struct GoneAgent {
  AgentId id = {};
  Secret secret = {};
  Time at = {};
  uint64_t admission = 0;
  std::vector<Secret> gone_secrets = {};  // secrets of earlier agents of this name, newest last
};

// The states follow the table of proto/agent_state.h.
class Agents {
 public:
  Agent* find(const AgentId& agent);
  const Agent* find(const AgentId& agent) const;
  Agent& add(const AgentId& agent, const Secret& secret);
  // False, and nothing changes, if the event means nothing in the agent's state. If the new state
  // is final, the caller ends the agent or keeps it as gone.
  bool move(Agent& agent, proto::AgentEvent event);
  void erase(const AgentId& agent) { agents_.erase(agent); }

  const GoneAgent* find_gone(const AgentId& agent) const;
  void add_gone(GoneAgent gone) { gone_.insert_or_assign(gone.id, std::move(gone)); }
  void erase_gone(const AgentId& agent) { gone_.erase(agent); }
  const std::map<AgentId, GoneAgent>& gone() const { return gone_; }
  // The agent that was declared gone first. There must be one.
  const GoneAgent& oldest_gone() const;
  // Whether an agent of this name and secret was declared gone.
  bool was_declared_gone(const AgentId& agent, const Secret& secret) const;

  size_t size() const { return agents_.size(); }
  const std::map<AgentId, Agent>& all() const { return agents_.map(); }
  IndexedMap<AgentId, Agent>& all() { return agents_; }

 private:
  IndexedMap<AgentId, Agent> agents_;
  std::map<AgentId, GoneAgent> gone_;
};

}  // namespace proffer::master
