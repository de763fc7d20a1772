#pragma once

// The machines that were admitted to the cluster.

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

// What an agent runs against our will: a task that the master has ended. It is being killed, its
// resources count until it has ended, its updates are acknowledged and told to nobody.
struct Stray {
  Resources resources = {};
  TaskClaim claim = {};
  bool is_hidden = false;  // nobody knows it: its framework is not charged with it
};

struct Agent {
  AgentId id = {};
  Secret secret = {};
  proto::AgentState state = proto::AgentState::kDisconnected;  // changed by Agents::move only
  // Registered in this life of the master. Until all admitted agents have, or are removed, nobody
  // can say that a task does not exist.
  bool seen = false;
  bool allocatable = false;  // known to the allocator: not unreachable
  bool stopping = false;     // it refuses launches, and will until it registers again
  PeerId peer = {};          // zero: not connected
  SessionEpoch session = {};
  uint64_t admission = 0;                 // as in its record
  std::vector<Secret> gone_secrets = {};  // as in its record
  // Of its machine, as it told it last, and before, the newest last; 0: it did not tell.
  uint64_t boot = 0;
  std::vector<uint64_t> former_boots = {};
  // The last boot that was refused because another one is connected.
  uint64_t rival_boot = 0;

  Attributes attributes = {};
  std::vector<Slice> own_slices = {};  // that it brings, without ports
  Reserved reserved = {};              // of these, by operations; in the registry
  std::vector<Slice> slices = {};      // both together
  PortSet ports = {};
  uint16_t next_port = 1;  // tasks get the free ports from here on first
  std::string http_address = {};
  proto::FileService files = {};  // to other machines; `clock` is of `registered_at`
  uint32_t memory = 0;            // as it told
  std::string limits = {};        // as it told, for people
  // Of its process. Root runs tasks of every user, others only their own. nullptr: not known.
  PrincipalPtr by = {};
  bool takes_secrets = false;   // as it told
  bool keeps_tickets = false;   // as it told
  std::string trouble = {};     // why it takes no tasks, by its own word; empty: it does
  Starts starts = {};           // whether it starts what it takes
  bool starts_watched = false;  // a deadline looks after the tasks that it has not started
  // The most that it may come to use: counted so that sums over the cluster stay within kAmountMax.
  ResourceVector most = {};

  // It is being emptied; in the registry.
  std::optional<Time> drained_by = {};

  Time registered_at = {};
  Time lost_at = {};          // when its connection was lost
  bool passed_brake = false;  // since then
  Releases releases = {};
  TaskList tasks = {};
  std::map<TaskKey, Stray> strays = {};

  bool connected() const { return static_cast<bool>(peer); }
  // Nothing of it is offered.
  bool is_closed() const { return drained_by.has_value() || takes_no_tasks(); }
  bool takes_no_tasks() const { return !trouble.empty() || starts.is_closed(); }
  // Empty: it does take them.
  std::string why_no_tasks() const;
  ResourceVector total() const;
};

// An agent that an operator declared gone. It is refused, so that what it runs ends.
struct GoneAgent {
  AgentId id = {};
  Secret secret = {};
  Time at = {};
  uint64_t admission = 0;
  std::vector<Secret> gone_secrets = {};  // of earlier agents of this name; the newest last
};

// Their states move along the table of proto/agent_state.h.
class Agents {
 public:
  Agent* find(const AgentId& agent);
  const Agent* find(const AgentId& agent) const;
  Agent& add(const AgentId& agent, const Secret& secret);
  // False, and nothing changes, if the event means nothing in its state. One that is over is to be
  // ended or kept as gone by the caller.
  bool move(Agent& agent, proto::AgentEvent event);
  void erase(const AgentId& agent) { agents_.erase(agent); }

  const GoneAgent* find_gone(const AgentId& agent) const;
  void add_gone(GoneAgent gone) { gone_.insert_or_assign(gone.id, std::move(gone)); }
  void erase_gone(const AgentId& agent) { gone_.erase(agent); }
  const std::map<AgentId, GoneAgent>& gone() const { return gone_; }
  // Which was declared gone first; there must be one.
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
