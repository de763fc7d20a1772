// Turns events into a list of wanted tasks. Read says first: the trace of a step has its result;
// information that the trace lacks was in the message, which hears() keeps until then.

#include "sim/recorded_work.h"

#include <algorithm>

#include "common/text.h"
#include "master/core/trace.h"
#include "proto/live_snapshot.h"

namespace proffer::sim {

using proto::TaskReason;
using proto::TaskState;

namespace {

// Asks that differ only in these fields are one kind. The name counts if the tasks of one name are
// counted together.
Ask without_its_own(Ask ask, const RoleName& of_framework) {
  ask.count = 0;
  ask.expiry = Duration();
  ask.ports = 0;
  ask.static_ports.clear();
  if (ask.spread.empty() && ask.max_per.empty() && ask.group.empty()) ask.name = AskName();
  if (ask.role == of_framework) ask.role = RoleName();
  return ask;
}

// It will be wanted again, and not by its framework's own decision.
bool is_taken(TaskState state, TaskReason reason) {
  if (state == TaskState::kKilled) {
    return reason == TaskReason::kRevoked || reason == TaskReason::kDrained ||
           reason == TaskReason::kGangIncomplete;
  }
  return state == TaskState::kLost || state == TaskState::kGone || state == TaskState::kRefused;
}

}  // namespace

bool Work::is_over() const {
  return cut == 0 && std::all_of(items.begin(), items.end(), [](const WorkItem& item) {
           return item.attempts.back().ended.has_value();
         });
}

// --- lives ---------------------------------------------------------------------------------------

void WorkReader::begins(const master::MasterOptions& options,
                        const master::MasterSnapshot& snapshot) {
  const Time at = options.started_at;
  if (!has_begun_) {
    has_begun_ = true;
    const proto::LiveSnapshot live = master::Master(options, snapshot).live_snapshot(at);
    work_.begins = work_.ends = at;
    work_.options = live.options;
    for (const proto::LiveRole& role : live.roles) work_.roles[role.role] = role.settings;
    for (const proto::RegistryRow& row : snapshot.rows) {
      if (const auto* agent = std::get_if<proto::AgentRecord>(&row)) {
        if (!agent->drained_by || agent->gone_at) continue;
        work_.drained.push_back({.agent = agent->agent, .drained_by = agent->drained_by});
      } else if (const auto* reserved = std::get_if<proto::ReservationRecord>(&row)) {
        work_.reservations.push_back(*reserved);
      }
    }
  } else if (at > work_.ends) {
    work_.gaps.emplace_back(work_.ends, at);
  }
  for (const proto::RegistryRow& row : snapshot.rows) {
    const auto* record = std::get_if<proto::FrameworkRecord>(&row);
    if (record != nullptr) known_[record->framework] = *record;
  }
  // They exist until the new master gives them up, and are silent from now on.
  for (const auto& [agent, place] : present_) silent_since_.try_emplace(agent, work_.ends);
  now_ = std::max(now_, at);
  work_.ends = std::max(work_.ends, at);
  heard_ = {};
  registering_.clear();
  scheduler_peers_.clear();
  told_.clear();
  // Schedulers declare all asks to the new master.
  for (auto& [of, pending] : wanted_) be_said_again(of, pending);
}

// Its asks end with its session. In the next session all are declared, and expiries begin anew.
void WorkReader::say_again(const FrameworkId& id) {
  const auto known = frameworks_.find(id);
  if (known == frameworks_.end()) return;
  for (auto of = wanted_.lower_bound({known->second, AskName()});
       of != wanted_.end() && of->first.first == known->second; ++of) {
    be_said_again(of->first, of->second);
  }
}

void WorkReader::be_said_again(const AskOf& of, Pending& pending) {
  if (pending.expires) expiries_.erase({*pending.expires, of});
  pending.said.reset();
  pending.expires.reset();
  pending.is_expired = false;
}

Work WorkReader::work() const {
  Work work = work_;
  for (const auto& [of, pending] : wanted_) {
    size_t kept = 0;
    for (const Wanted& wanted : pending.rows) {
      if (wanted.again) {
        work.items[*wanted.again].attempts.push_back({.wanted = wanted.at});
        continue;
      }
      const size_t count = std::min(wanted.count, kWorkPendingKept - kept);
      kept += count;
      work.cut += static_cast<int64_t>(wanted.count - count);
      const WorkItem item{.kind = wanted.kind, .attempts = {{.wanted = wanted.at}}};
      work.items.insert(work.items.end(), count, item);
    }
  }
  return work;
}

// --- events of the master ------------------------------------------------------------------------

void WorkReader::hears(const master::MasterEvent& event, Time now) {
  now_ = std::max(now_, now);
  work_.ends = std::max(work_.ends, now);
  heard_ = {};
  expire();
  if (const auto* frame = std::get_if<master::FrameReceived>(&event)) {
    hear(frame->peer, *frame->envelope.message);
  } else if (std::holds_alternative<master::SetRole>(event) ||
             std::holds_alternative<master::DrainAgent>(event) ||
             std::holds_alternative<master::UndrainAgent>(event) ||
             std::holds_alternative<master::ReserveForRole>(event)) {
    heard_.operation = event;
  }
}

void WorkReader::hear(PeerId peer, const proto::Message& message) {
  heard_.peer = peer;
  if (const auto* agent = std::get_if<proto::RegisterAgent>(&message)) {
    registering_[peer] = *agent;
  } else if (const auto* tasks = std::get_if<proto::RegisterTasks>(&message)) {
    for (const proto::AgentTask& task : tasks->tasks) {
      told_[{peer, {task.framework, task.task}}] = task;
    }
  } else if (const auto* subscribe = std::get_if<proto::Subscribe>(&message)) {
    heard_.subscribe = *subscribe;
  } else if (const auto* declare = std::get_if<proto::DeclareAsks>(&message)) {
    heard_.asks = declare->asks;
  } else if (const auto* accept = std::get_if<proto::Accept>(&message)) {
    for (const proto::Operation& operation : accept->operations) {
      for (const proto::TaskSpec& spec : proto::launched_by(operation)) {
        heard_.launches[spec.id] = {spec.ask, spec.shape};
      }
    }
  }
}

// --- their results -------------------------------------------------------------------------------

void WorkReader::says(const master::MasterOutbox& out) {
  for (const TraceEvent& event : out.trace) {
    if (const auto* launched = event.as<master::TaskLaunched>()) {
      on_launched(launched->framework, launched->task);
    } else if (const auto* updated = event.as<master::TaskUpdated>()) {
      if (updated->ended) {
        on_ended(updated->framework, updated->task, is_taken(updated->state, updated->reason));
      } else if (updated->state == TaskState::kUnreachable) {
        on_unreachable(updated->framework, updated->task);
      } else {
        on_back(updated->framework, updated->task);
      }
    } else if (const auto* adopted = event.as<master::TaskAdopted>()) {
      on_adopted(adopted->framework, adopted->task);
    } else if (const auto* revoked = event.as<master::TaskToBeRevoked>()) {
      const auto running = running_.find({revoked->framework, revoked->task});
      if (running == running_.end()) continue;
      const WorkItem& item = work_.items[running->second.item];
      work_.revokes.emplace_back(now_, work_.kinds[item.kind].role);
    } else if (const auto* subscribed = event.as<master::FrameworkSubscribed>()) {
      on_subscribed(subscribed->framework);
    } else if (const auto* parted = event.as<master::FrameworkDisconnected>()) {
      say_again(parted->framework);
    } else if (const auto* torn_down = event.as<master::FrameworkTornDown>()) {
      const auto known = frameworks_.find(torn_down->framework);
      if (known == frameworks_.end()) continue;
      while (true) {
        const auto ask = wanted_.lower_bound({known->second, AskName()});
        if (ask == wanted_.end() || ask->first.first != known->second) break;
        forget(ask);
      }
    } else if (const auto* registered = event.as<master::AgentRegistered>()) {
      on_agent_registered(registered->agent);
    } else if (const auto* disconnected = event.as<master::AgentDisconnected>()) {
      silent_since_.try_emplace(disconnected->agent, now_);
    } else if (const auto* unreachable = event.as<master::AgentUnreachable>()) {
      on_agent_left(unreachable->agent);
    } else if (const auto* removed = event.as<master::AgentRemoved>()) {
      on_agent_left(removed->agent);
    } else if (const auto* gone = event.as<master::AgentDeclaredGone>()) {
      on_agent_left(gone->agent);
    }
  }
  if (heard_.asks) on_declared(out);
  const bool is_done = std::any_of(out.trace.begin(), out.trace.end(), [](const TraceEvent& event) {
    return event.as<master::RoleSet>() != nullptr || event.as<master::AgentDrains>() != nullptr ||
           event.as<master::AgentDrainsNoLonger>() != nullptr ||
           event.as<master::ReservationChanged>() != nullptr;
  });
  if (heard_.operation && is_done) work_.operations.emplace_back(now_, *heard_.operation);
  heard_ = {};
}

// --- agents --------------------------------------------------------------------------------------

void WorkReader::on_agent_registered(const AgentId& agent) {
  silent_since_.erase(agent);
  const auto told = heard_.peer ? registering_.find(*heard_.peer) : registering_.end();
  if (told == registering_.end() || told->second.agent != agent) return;
  WorkAgent made{.agent = agent, .attributes = told->second.attributes, .joins = now_};
  for (const Slice& slice : told->second.slices) {
    if (slice.revocable) continue;
    made.total += slice.resources;
    if (!slice.reserved_for.empty()) made.reserved[slice.reserved_for] += slice.resources.amounts;
  }
  registering_.erase(told);
  if (const auto present = present_.find(agent); present != present_.end()) {
    WorkAgent& before = work_.agents[present->second];
    if (before.total == made.total && before.attributes == made.attributes &&
        before.reserved == made.reserved) {
      return;
    }
    before.leaves = now_;
  }
  present_[agent] = static_cast<uint32_t>(work_.agents.size());
  work_.agents.push_back(std::move(made));
}

void WorkReader::on_agent_left(const AgentId& agent) {
  const auto present = present_.extract(agent);
  const auto silent = silent_since_.extract(agent);
  if (!present) return;
  work_.agents[present.mapped()].leaves = silent ? silent.mapped() : now_;
}

// --- frameworks and their asks -------------------------------------------------------------------

uint32_t WorkReader::framework_of(const FrameworkId& id) {
  const auto [known, is_new] =
      frameworks_.try_emplace(id, static_cast<uint32_t>(work_.frameworks.size()));
  if (is_new) {
    WorkFramework made{.id = id, .name = id.str(), .joins = now_};
    if (const auto record = known_.find(id); record != known_.end()) {
      made.name = record->second.name;
      made.role = record->second.role;
      made.mode = record->second.mode;
    }
    work_.frameworks.push_back(std::move(made));
  }
  return known->second;
}

void WorkReader::on_subscribed(const FrameworkId& id) {
  if (!heard_.subscribe || !heard_.peer) return;
  scheduler_peers_[*heard_.peer] = id;
  if (!frameworks_.contains(id)) {
    known_[id] = {.framework = id,
                  .name = heard_.subscribe->name,
                  .role = heard_.subscribe->role,
                  .mode = heard_.subscribe->mode};
  }
  framework_of(id);
}

uint32_t WorkReader::kind_of(uint32_t framework, Ask ask) {
  const RoleName& of_framework = work_.frameworks[framework].role;
  ask = without_its_own(std::move(ask), of_framework);
  std::vector<uint32_t>& kinds = kinds_[framework];
  for (const uint32_t kind : kinds) {
    if (work_.kinds[kind].ask == ask) return kind;
  }
  kinds.push_back(static_cast<uint32_t>(work_.kinds.size()));
  const RoleName role = ask.role.empty() ? of_framework : ask.role;
  work_.kinds.push_back({framework, role, std::move(ask)});
  return kinds.back();
}

void WorkReader::want(const AskOf& of, const Ask& ask, size_t count) {
  const uint32_t kind = kind_of(of.first, ask);
  std::deque<uint32_t>& owed = owed_[kind];
  Pending& pending = wanted_[of];
  pending.count += count;
  for (; count > 0 && !owed.empty(); --count) {
    pending.rows.push_back({.kind = kind, .at = now_, .again = owed.front()});
    owed.pop_front();
  }
  if (count > 0) pending.rows.push_back({.kind = kind, .at = now_, .count = count});
}

void WorkReader::withdraw(Pending& pending, size_t count) {
  count = std::min(count, pending.count);
  pending.count -= count;
  work_.withdrawn += static_cast<int64_t>(count);
  while (count > 0) {
    Wanted& newest = pending.rows.back();
    const size_t taken = std::min(count, newest.count);
    newest.count -= taken;
    count -= taken;
    if (newest.count == 0) pending.rows.pop_back();
  }
}

uint32_t WorkReader::take(Pending& pending, uint32_t kind) {
  Wanted wanted{.kind = kind, .at = now_};
  if (!pending.rows.empty()) {
    Wanted& oldest = pending.rows.front();
    wanted = oldest;
    --pending.count;
    if (--oldest.count == 0) pending.rows.pop_front();
  }
  if (wanted.again) {
    work_.items[*wanted.again].attempts.push_back({.wanted = wanted.at});
    return *wanted.again;
  }
  work_.items.push_back({.kind = wanted.kind, .attempts = {{.wanted = wanted.at}}});
  return static_cast<uint32_t>(work_.items.size() - 1);
}

// All asks of a framework, which replace the earlier ones. Asks that the master refuses stay as
// they were.
void WorkReader::on_declared(const master::MasterOutbox& out) {
  const auto peer = scheduler_peers_.find(*heard_.peer);
  if (peer == scheduler_peers_.end()) return;
  const uint32_t framework = framework_of(peer->second);
  std::map<AskName, const Ask*> declared;
  for (const Ask& ask : *heard_.asks) declared[ask.name] = &ask;
  for (const TraceEvent& event : out.trace) {
    if (event.as<master::AsksRejected>() != nullptr) return;
    if (const auto* refused = event.as<master::AskRejected>()) declared.erase(refused->ask);
  }
  for (auto of = wanted_.lower_bound({framework, AskName()});
       of != wanted_.end() && of->first.first == framework;) {
    const auto ask = of++;
    if (!declared.contains(ask->first.second)) forget(ask);
  }
  for (const auto& [name, ask] : declared) {
    const AskOf of{framework, name};
    say(of, *ask);
    const size_t before = wanted_[of].count;
    const auto wants =
        wanted_[of].is_expired ? 0 : static_cast<size_t>(std::max<int64_t>(ask->count, 0));
    if (wants > before) want(of, *ask, wants - before);
    if (wants < before) withdraw(wanted_[of], before - wants);
  }
}

void WorkReader::say(const AskOf& of, Ask ask) {
  ask.count = 0;
  Pending& pending = wanted_[of];
  if (pending.said == ask) return;
  if (pending.expires) expiries_.erase({*pending.expires, of});
  pending.expires.reset();
  pending.is_expired = false;
  if (ask.expiry > Duration()) {
    pending.expires = now_ + ask.expiry;
    expiries_.insert({*pending.expires, of});
  }
  pending.said = std::move(ask);
}

// Tasks launched meanwhile are not wanted again by this name either.
void WorkReader::forget(std::map<AskOf, Pending>::iterator ask) {
  withdraw(ask->second, ask->second.count);
  if (ask->second.expires) expiries_.erase({*ask->second.expires, ask->first});
  wanted_.erase(ask);
}

void WorkReader::expire() {
  while (!expiries_.empty() && expiries_.begin()->first <= now_) {
    Pending& pending = wanted_.at(expiries_.begin()->second);
    expiries_.erase(expiries_.begin());
    pending.expires.reset();
    pending.is_expired = true;
    withdraw(pending, pending.count);
  }
}

// --- tasks ---------------------------------------------------------------------------------------

void WorkReader::on_launched(const FrameworkId& id, const TaskId& task) {
  const uint32_t framework = framework_of(id);
  Ask ask;
  if (const auto spec = heard_.launches.find(task); spec != heard_.launches.end()) {
    ask = {.name = spec->second.first, .shape = spec->second.second};
  }
  // Open offers have no asks, so the task counts as wanted when it is launched.
  Pending none;
  const auto known = wanted_.find({framework, ask.name});
  Pending& pending = known == wanted_.end() ? none : known->second;
  const uint32_t item = take(pending, pending.rows.empty() ? kind_of(framework, ask) : 0);
  std::vector<WorkAttempt>& attempts = work_.items[item].attempts;
  attempts.back().launched = now_;
  running_[{id, task}] = {item, static_cast<uint32_t>(attempts.size() - 1)};
}

void WorkReader::on_adopted(const FrameworkId& id, const TaskId& task) {
  if (!heard_.peer) return;
  const auto told = told_.extract({*heard_.peer, {id, task}});
  if (running_.contains({id, task}) || !told) return;
  const proto::AgentTask& known = told.mapped();
  const uint32_t framework = framework_of(id);
  const uint32_t kind = kind_of(framework, {.shape = known.resources.amounts,
                                            .priority = known.claim.priority,
                                            .role = known.claim.role,
                                            .band = known.claim.band});
  const Time since = std::max(work_.begins, std::min(known.launched_at, now_));
  running_[{id, task}] = {static_cast<uint32_t>(work_.items.size()), 0};
  work_.items.push_back({.kind = kind, .attempts = {{.wanted = since, .launched = since}}});
  if (known.launched_at < work_.begins) ++work_.inherited;
}

void WorkReader::on_ended(const FrameworkId& id, const TaskId& task, bool was_taken) {
  on_back(id, task);
  const auto running = running_.extract({id, task});
  if (!running) return;
  WorkItem& item = work_.items[running.mapped().item];
  WorkAttempt& attempt = item.attempts[running.mapped().attempt];
  attempt.ended = now_;
  attempt.was_taken = was_taken;
  if (was_taken) owed_[item.kind].push_back(running.mapped().item);
}

void WorkReader::on_unreachable(const FrameworkId& id, const TaskId& task) {
  const auto running = running_.find({id, task});
  if (running == running_.end()) return;
  const Running gone = running->second;
  on_ended(id, task, true);
  unreachable_[{id, task}] = gone;
}

// Unless it was wanted again meanwhile: then there is another attempt.
void WorkReader::on_back(const FrameworkId& id, const TaskId& task) {
  const auto unreachable = unreachable_.extract({id, task});
  if (!unreachable) return;
  WorkItem& item = work_.items[unreachable.mapped().item];
  std::deque<uint32_t>& owed = owed_[item.kind];
  const auto at = std::find(owed.begin(), owed.end(), unreachable.mapped().item);
  if (at == owed.end()) return;
  owed.erase(at);
  WorkAttempt& attempt = item.attempts[unreachable.mapped().attempt];
  attempt.ended.reset();
  attempt.was_taken = false;
  running_[{id, task}] = unreachable.mapped();
}

}  // namespace proffer::sim
