// The invariants that hold after each step (DESIGN §10, 1 to 5), checked by counting everything
// again.

#include "common/text.h"
#include "master/core/state.h"

namespace proffer::master {

using proto::AgentState;

std::vector<Violation> Master::State::violations() const {
  std::vector<Violation> found = allocator_.violations();
  check_tasks(found);
  check_resources_held(found);
  check_ending(found);
  check_sessions(found);
  check_registry(found);
  check_stores(found);
  check_relays(found);
  check_role_uses(found);
  check_ledger(found);
  check_reservations(found);
  check_offers(found);
  return found;
}

// Each task has a framework, an entry at its agent, and a reason to be in the table.
void Master::State::check_tasks(std::vector<Violation>& found) const {
  std::map<FrameworkId, int64_t> of_framework;
  std::array<int64_t, proto::kTaskStateCount> counts{};
  size_t unacknowledged = 0;
  for (const auto& [key, task] : tasks_.all()) {
    const auto wrong = [&, &name = key](std::string_view what) {
      found.push_back({text("task ", to_text(name), " ", what)});
    };
    ++of_framework[key.framework];
    ++counts[static_cast<size_t>(task.state)];
    unacknowledged += task.pending.size();
    const Framework* framework = frameworks_.find(key.framework);
    const Agent* agent = agents_.find(task.agent);
    if (framework == nullptr) {
      wrong("is of no framework");
      continue;
    }
    const bool listed = agent != nullptr && agent->tasks.contains(task);
    if (!task.ended() && !listed) wrong("is not in the list of its agent");
    if (&key != &task.key()) wrong("is at the wrong place");
    if (tasks_.find_ended(key) != nullptr) wrong("is live and has ended");
    if (task.pending.size() > kUpdatesPerTaskMax) wrong("has too many updates");
    const bool runs = !task.ended() && task.state != proto::TaskState::kUnreachable;
    if (task.held && !runs) wrong("holds resources, but does not run");
    if (runs && !task.held) wrong("runs without resources");
    if (task.state == proto::TaskState::kUnreachable && agent != nullptr && agent->connected()) {
      wrong("is unreachable, but its agent is connected");
    }
    if (framework->gone && (task.ended() || !task.pending.empty())) {
      wrong("waits for an acknowledgement that cannot come");
    }
    if (task.hidden && (task.ended() || !task.pending.empty() || !task.unconfirmed)) {
      wrong("is hidden, and has an update to send");
    }
    if (task.ended() && task.pending.empty())
      wrong("has ended, but its scheduler has no update of it");
    if (task.acknowledged > task.agent_sequence)
      wrong("was acknowledged before its update was sent");
    const bool drains = agent != nullptr && agent->drained_by && agent->allocatable;
    if (drains && runs && !task.kill_asked && !task.ending->revoke) {
      wrong("runs on a draining agent without a notice");
    }
  }
  std::map<std::string, size_t> away;
  for (const auto& [id, framework] : frameworks_.all()) {
    if (!framework.gone) away[framework.record.user] += framework.connected() ? 0 : 1;
    unacknowledged += framework.refusals.size();
    if (framework.tasks != of_framework[id]) {
      found.push_back({text("framework ", id.str(), " counts its tasks wrong")});
    }
    if (framework.gone && framework.tasks == 0 && framework.held == 0) {
      found.push_back({text("framework ", id.str(), " has ended, but is not removed")});
    }
  }
  for (const auto& [user, count] : away) {
    if (frameworks_.away_of(user) == count) continue;
    found.push_back({text("of user ", quoted(user), " ", count, " frameworks are away, not ",
                          frameworks_.away_of(user))});
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != tasks_.count(static_cast<proto::TaskState>(i))) {
      found.push_back({"the tasks of a state are counted wrong"});
    }
  }
  if (unacknowledged != unacknowledged_) found.push_back({"updates are counted wrong"});
  if (unacknowledged > kUnacknowledgedMax) found.push_back({"too many updates are kept"});
}

// No agent that is drained or in trouble is offered.
void Master::State::check_offers(std::vector<Violation>& found) const {
  for (const Grant* grant : allocator_.offers()) {
    const Agent* agent = agents_.find(grant->offer.agent);
    if (agent == nullptr || !agent->is_closed()) continue;
    found.push_back({text("agent ", grant->offer.agent.str(), " takes no tasks and is offered to ",
                          grant->framework.str())});
  }
}

// The resources that tasks and strays hold, counted again.
struct Master::State::HeldSums {
  std::map<AgentId, ResourceVector> on_agent = {};
  // Agents whose tasks hold more of a device than there is now.
  std::set<AgentId> other_devices = {};
  std::map<FrameworkId, ResourceVector> of_framework = {};
  std::map<FrameworkId, int64_t> holders = {};
};

// The allocator's allocated resources equal those that tasks and strays hold, per agent and per
// framework. Tasks exceed the resources of an agent only if the agent itself reported so.
void Master::State::check_resources_held(std::vector<Violation>& found) const {
  HeldSums sums;
  ResourceVector most;
  for (const auto& [id, agent] : agents_.all()) {
    sum_held(id, agent, sums, found);
    most += agent.most;
  }
  if (!(most == most_)) found.push_back({"the cluster is counted wrong"});
  check_agents_held(sums, found);
  check_frameworks_held(sums, found);
}

// Ports and devices are held once.
void Master::State::sum_held(const AgentId& id, const Agent& agent, HeldSums& sums,
                             std::vector<Violation>& found) const {
  PortSet taken;
  Resources left;
  for (const Slice& slice : agent.slices) {
    if (!slice.revocable) left += slice.resources;
  }
  const auto add = [&](const FrameworkId& framework, const Resources& resources) {
    const Resources devices{
        .amounts = ResourceVector::of(0, 0, 0, resources.amounts[ResourceKind::kGpus]),
        .gpus = resources.gpus};
    if (left.contains(devices)) {
      left -= devices;
    } else {
      sums.other_devices.insert(id);
    }
    sums.on_agent[id] += resources.amounts;
    sums.of_framework[framework] += resources.amounts;
    ++sums.holders[framework];
    if (taken.intersects(resources.ports)) {
      found.push_back({text("a port of agent ", id.str(), " is taken twice")});
    }
    taken += resources.ports;
  };
  for (const Task* task : agent.tasks) {
    if (!task->held) continue;
    add(payer_of(task->key(), task->hidden).framework, task->allotment->resources);
  }
  for (const auto& [key, stray] : agent.strays) {
    add(payer_of(key, stray.is_hidden).framework, stray.resources);
  }
  PortSet free = agent.ports;
  free -= taken;
  if (agent.allocatable && !(free == allocator_.free_ports(agent.id))) {
    found.push_back({text("the free ports of agent ", id.str(), " are wrong")});
  }
  if (!sums.on_agent[id].fits_in(agent.most) && agent.allocatable) {
    found.push_back({text("agent ", id.str(), " runs more than it has")});
  }
}

// The allocator knows the same agents with the same resources.
void Master::State::check_agents_held(HeldSums& sums, std::vector<Violation>& found) const {
  std::set<AgentId> seen;
  for (const AgentUse& use : allocator_.agents()) {
    seen.insert(use.agent);
    const Agent* agent = agents_.find(use.agent);
    if (agent == nullptr || !agent->allocatable) {
      found.push_back(
          {text("the allocator knows agent ", use.agent.str(), ", the master does not")});
      continue;
    }
    const ResourceVector held = sums.on_agent[use.agent];
    if (!(use.allocated == held)) {
      found.push_back({text("on agent ", use.agent.str(), " ", to_text(use.allocated),
                            " is allocated, but its tasks hold ", to_text(held))});
    }
    const ResourceVector sum = use.allocated + use.offered + use.free.amounts;
    // If its tasks hold devices that it no longer has, other devices are held back for them.
    const bool is_more = !sum.fits_in(use.total);
    const bool is_less = !is_more && !(sum == use.total) && !sums.other_devices.contains(use.agent);
    if (use.allocated.fits_in(use.total) && (is_more || is_less)) {
      found.push_back({text("free, offered and allocated are not the total of agent ",
                            use.agent.str(), ": ", to_text(use.free), ", ", to_text(use.offered),
                            ", ", to_text(use.allocated), " of ", to_text(use.total))});
    }
    if (use.active != (agent->state == AgentState::kConnected && !agent->stopping)) {
      found.push_back({text("agent ", use.agent.str(), " is offered, but it is not available")});
    }
  }
  for (const auto& [id, agent] : agents_.all()) {
    if (agent.allocatable == seen.contains(id)) continue;
    found.push_back({text("the master knows agent ", id.str(), ", the allocator does not")});
  }
}

void Master::State::check_frameworks_held(HeldSums& sums, std::vector<Violation>& found) const {
  for (const auto& [id, leaves] : leaves_by_framework()) {
    const Framework* framework = frameworks_.find(id);
    if (framework == nullptr || framework->held != sums.holders[id]) {
      found.push_back({text("framework ", id.str(), " counts wrong what it holds")});
    }
    ResourceVector allocated;
    for (const LeafStatus& leaf : leaves) allocated += leaf.allocated;
    const ResourceVector held = sums.of_framework[id];
    if (!(allocated == held)) {
      found.push_back({text("framework ", id.str(), " is recorded with ", to_text(allocated),
                            ", but holds ", to_text(held))});
    }
  }
}

// If the allocator counts a task as ending, the task must be ending, and it is killed at its time.
// Otherwise the resources set aside for the claimant would never become free.
void Master::State::check_ending(std::vector<Violation>& found) const {
  for (const EndingTask& ending : allocator_.ending()) {
    const TaskKey key{ending.framework, ending.task};
    const Task* task = tasks_.find(key);
    // A stray, which is already being killed.
    if (task == nullptr || task->agent != ending.agent) continue;
    if (task->ended() || task->kill_asked) continue;
    if (task->ending->reclaimed && task->ending->reclaimed->deadline <= ending.deadline) continue;
    found.push_back({text("the allocator counts task ", to_text(key), " of agent ",
                          ending.agent.str(), " as going, and the master does not end it")});
  }
}

// Peers and their registrations refer to each other, and each silence has a deadline.
void Master::State::check_sessions(std::vector<Violation>& found) const {
  const auto armed = [&](DeadlineKind kind, PeerId peer, const std::string& id) {
    return deadlines_.armed({.kind = kind, .peer = peer, .id = id});
  };
  for (const auto& [id, peer] : sessions_.all()) {
    const auto wrong = [&, &peer_id = id](std::string_view what) {
      found.push_back({text("peer ", peer_id.value(), " ", what)});
    };
    if (!armed(DeadlineKind::kPeerSilent, id, {})) wrong("may be silent without a timeout");
    const bool registered = peer.kind == PeerKind::kAgent || peer.kind == PeerKind::kScheduler;
    if (registered && !armed(DeadlineKind::kPeerHeartbeat, id, {})) wrong("gets no heartbeats");
    if (peer.kind == PeerKind::kAgent) {
      const Agent* agent = agents_.find(peer.agent);
      if (agent == nullptr || agent->peer != id) wrong("is not the agent that it claims to be");
    }
    if (peer.kind == PeerKind::kScheduler) {
      const Framework* framework = frameworks_.find(peer.framework);
      if (framework == nullptr || framework->peer != id)
        wrong("is not the framework that it claims to be");
    }
  }
  int64_t awaited = 0;
  for (const auto& [id, agent] : agents_.all()) {
    if (!agent.seen) ++awaited;
    if (agent.connected() != (agent.state == AgentState::kConnected) ||
        (agent.connected() && sessions_.find(agent.peer) == nullptr)) {
      found.push_back({text("agent ", id.str(), " has the wrong state for its connection")});
    }
    if (!agent.connected() && !armed(DeadlineKind::kAgentUnreachable, {}, id.str()) &&
        !armed(DeadlineKind::kAgentRemoved, {}, id.str()) &&
        !(brake_.holds(id, agent.lost_at) && armed(DeadlineKind::kBrake, {}, {}))) {
      found.push_back({text("agent ", id.str(), " is disconnected without a timeout")});
    }
  }
  if (awaited != awaited_) found.push_back({"the expected agents are counted wrong"});
  for (const auto& [id, framework] : frameworks_.all()) {
    if (framework.connected() && sessions_.find(framework.peer) == nullptr) {
      found.push_back({text("framework ", id.str(), " has a connection that does not exist")});
    }
    if (!framework.gone && !framework.connected() &&
        !armed(DeadlineKind::kFailover, {}, id.str())) {
      found.push_back({text("framework ", id.str(), " is disconnected without a timeout")});
    }
  }
}

// A restart would restore the same agents and the frameworks that may come back.
void Master::State::check_registry(std::vector<Violation>& found) const {
  for (const auto& [id, agent] : agents_.all()) {
    const proto::AgentRecord* record = registry_.find(id);
    if (record == nullptr || record->secret != agent.secret ||
        record->unreachable != (agent.state == AgentState::kUnreachable) ||
        record->drained_by != agent.drained_by || record->admission != agent.admission ||
        record->gone_at || record->gone_secrets != agent.gone_secrets) {
      found.push_back({text("agent ", id.str(), " differs from its registry record")});
    }
  }
  for (const auto& [id, gone] : agents_.gone()) {
    const proto::AgentRecord* record = registry_.find(id);
    if (agents_.find(id) != nullptr || record == nullptr || record->secret != gone.secret ||
        record->gone_at != gone.at || record->gone_secrets != gone.gone_secrets) {
      found.push_back(
          {text("agent ", id.str(), " is gone, but its registry record is missing or differs")});
    }
  }
  if (registry_.agents().size() != agents_.size() + agents_.gone().size()) {
    found.push_back({"the registry has an agent that the master does not know"});
  }
  // An agent has one key, and at most one successor that was not used yet.
  std::set<std::pair<std::string_view, bool>> agents_with_keys;
  for (const auto& [key, record] : registry_.keys()) {
    if (record.kind != KeyKind::kAgent || record.is_token()) continue;
    if (agents_with_keys.emplace(record.name, record.replaces.empty()).second) continue;
    found.push_back({text("agent ", quoted(record.name), " has two keys")});
  }
  size_t durable = 0;
  for (const auto& [id, framework] : frameworks_.all()) {
    if (!framework.durable()) continue;
    ++durable;
    const proto::FrameworkRecord* record = registry_.find(id);
    if (record == nullptr || !(*record == framework.record)) {
      found.push_back({text("framework ", id.str(), " differs from its registry record")});
    }
  }
  if (registry_.frameworks().size() != durable) {
    found.push_back({"the registry has a framework that the master does not know"});
  }
}

// The accounts of the stores match their contents, and each store belongs to a durable framework.
void Master::State::check_stores(std::vector<Violation>& found) const {
  size_t entries = 0;
  size_t bytes = 0;
  std::set<uint64_t> versions;
  for (const auto& [id, store] : registry_.stores().all()) {
    const Framework* framework = frameworks_.find(id);
    if (framework == nullptr || !framework->durable()) {
      found.push_back(
          {text("there is a store of ", id.str(), ", which is not a durable framework")});
    }
    size_t own = 0;
    for (const auto& [key, entry] : store.entries) {
      own += key.size() + entry.value.size();
      if (entry.version == 0 || entry.version > store_version_ ||
          !versions.insert(entry.version).second) {
        found.push_back({text("the entry ", key, " of ", id.str(), " has version ", entry.version,
                              ", which belongs to another entry or was never assigned")});
      }
    }
    if (own != store.bytes || store.entries.empty()) {
      found.push_back({text("the store of ", id.str(), " counts its bytes wrong")});
    }
    entries += store.entries.size();
    bytes += own;
  }
  if (entries != registry_.stores().entries() || bytes != registry_.stores().bytes()) {
    found.push_back({"the stores of all frameworks are counted wrong"});
  }
}

// Each waiting request belongs to a connected scheduler, and has a deadline.
void Master::State::check_relays(std::vector<Violation>& found) const {
  std::map<FrameworkId, size_t> counts;
  for (const auto& [number, call] : relays_.all()) {
    ++counts[call.framework];
    const Framework* framework = frameworks_.find(call.framework);
    if (framework == nullptr || !framework->connected()) {
      found.push_back({text("relay ", number, " waits for ", call.framework.str(),
                            ", which is not connected")});
    }
    if (!deadlines_.armed(
            {.kind = DeadlineKind::kRelay, .peer = {}, .id = std::to_string(number)})) {
      found.push_back({text("relay ", number, " waits without a timeout")});
    }
  }
  for (const auto& [id, count] : counts) {
    if (count != relays_.count(id) || count > kRelaysPerFrameworkMax) {
      found.push_back({text("framework ", id.str(), " has ", count, " relays")});
    }
  }
}

// The use of a role is the sum of its tasks.
void Master::State::check_role_uses(std::vector<Violation>& found) const {
  if (!options_.keeps_history) return;
  std::map<RoleName, ResourceVector> held;
  for (const RoleName& role : role_uses_.roles()) held[role];
  for (const auto& [key, task] : tasks_.all()) {
    if (task.held && !task.hidden) held[task.claim().role] += task.allotment->resources.amounts;
  }
  for (const auto& [role, amounts] : held) {
    if (!role.empty() && amounts != role_uses_.held(role)) {
      found.push_back({text("the use of role ", role.str(), " is counted wrong")});
    }
  }
}

// The counts of the ledger match the wanted tasks and the starting tasks.
void Master::State::check_ledger(std::vector<Violation>& found) const {
  std::map<std::pair<FrameworkId, WaitReason>, int64_t> of_frameworks;
  std::map<std::pair<RoleName, WaitReason>, int64_t> of_roles;
  const auto count = [&](const FrameworkId& framework, const RoleName& role, WaitReason reason,
                         int64_t tasks) {
    of_frameworks[{framework, reason}] += tasks;
    of_roles[{role, reason}] += tasks;
  };
  // Offers that the allocator has taken back are reported with the next decision.
  const std::optional<Time> decision = allocator_.next_decision(now_);
  const bool is_decided = !decision || *decision > now_;
  size_t entries = 0;
  for (const auto& [id, framework] : frameworks_.all()) {
    for (const auto& [ask, entry] : framework.ledger) {
      ++entries;
      const auto wrong = [&, &id = id, &ask = ask](std::string_view what) {
        found.push_back({text("the ledger of ask ", ask.str(), " of ", id.str(), " ", what)});
      };
      const AskWait& wait = entry.wait;
      count(id, entry.role, wait.reason(), wait.lacking());
      count(id, entry.role, WaitReason::kScheduler, wait.offered());
      if (wait.is_empty()) wrong("covers no tasks");
      if (!framework.asks.contains(ask)) wrong("belongs to no ask");
      if (is_decided && wait.offered() != allocator_.offered(id, ask))
        wrong("counts its offers wrong");
      if (is_decided && wait.lacking() < allocator_.lacking(id, ask)) wrong("counts too few tasks");
      if (!wait.look_at || !looks_.contains({*wait.look_at, id, ask}))
        wrong("is not in the list of waiting asks");
    }
    for (const auto& [ask, declared] : framework.asks) {
      const bool wants = allocator_.lacking(id, ask) + allocator_.offered(id, ask) > 0;
      if (is_decided && wants && framework.record.mode == OfferMode::kAsks &&
          !framework.ledger.contains(ask)) {
        found.push_back({text("ask ", ask.str(), " of ", id.str(), " is not in the ledger")});
      }
    }
  }
  if (entries != looks_.size())
    found.push_back({"the list of waiting asks has asks that do not wait"});
  for (const auto& [key, task] : tasks_.all()) {
    if (task.is_starting) count(key.framework, task.claim().role, WaitReason::kStart, 1);
  }
  for (const auto& [id, framework] : frameworks_.all()) {
    for (size_t i = 0; i < kWaitReasonCount; ++i) {
      const auto reason = static_cast<WaitReason>(i);
      if (framework.wait_totals.tasks(reason) == of_frameworks[{id, reason}]) continue;
      found.push_back(
          {text("waiting tasks of ", id.str(), " are counted wrong: ", to_text(reason))});
    }
  }
  for (const auto& [role, totals] : role_waits_.all()) {
    for (size_t i = 0; i < kWaitReasonCount; ++i) {
      const auto reason = static_cast<WaitReason>(i);
      if (totals->tasks(reason) == of_roles[{role, reason}]) continue;
      found.push_back(
          {text("waiting tasks of role ", role.str(), " are counted wrong: ", to_text(reason))});
    }
  }
}

// Reservations do not change the sum of an agent's resources; each revoke has an end.
void Master::State::check_reservations(std::vector<Violation>& found) const {
  size_t reserved = 0;
  for (const auto& [id, agent] : agents_.all()) {
    Resources own;
    for (const Slice& slice : agent.own_slices) own += slice.resources;
    Resources all;
    for (const Slice& slice : agent.slices) all += slice.resources;
    if (!(own == all)) {
      found.push_back({text("agent ", id.str(), " brings ", to_text(own), ", but is counted as ",
                            to_text(all))});
    }
    for (const auto& [role, resources] : agent.reserved) {
      const auto record = registry_.reservations().find({id, role});
      if (record == registry_.reservations().end() || record->second.resources != resources) {
        found.push_back({text("the reservation of agent ", id.str(), " for ", role.str(),
                              " differs from its registry record")});
      }
    }
    reserved += agent.reserved.size();
    for (const Task* task : agent.tasks) {
      if (task->ended() || !task->ending->revoke || task->kill_asked) continue;
      if (!deadlines_.armed(
              {.kind = DeadlineKind::kRevoke, .peer = {}, .id = to_text(task->key())})) {
        found.push_back(
            {text("task ", to_text(task->key()), " has a revoke notice without an end")});
      }
    }
  }
  if (registry_.reservations().size() != reserved) {
    found.push_back({"the registry has a reservation that the master does not know"});
  }
}

}  // namespace proffer::master
