// The effect of each kind of fault, and its end. Read inject first. The random choices in a fault
// come from its own seed, so leaving another fault out does not change it.

#include <algorithm>

#include "common/check.h"
#include "common/text.h"
#include "sim/simulation.h"
#include "sim/trace.h"

namespace proffer::sim {
namespace {

// Connections that waited longer are probably found broken.
constexpr Duration kBreaksAfter = seconds(15);
// After healing, by this time all peers are connected again.
constexpr Duration kCalmAfter = seconds(45);
// The shortest phase of a changing partition.
constexpr Duration kChangeMin = milliseconds(300);
constexpr Duration kChangeMax = seconds(10);

}  // namespace

// Restarts after `down`; sometimes it is killed again while it is reconnecting.
template <class Process>
void Simulation::comes_back(Process& process, Duration down, Prng chance) {
  world_.after(down, [this, &process, chance]() mutable {
    if (process.is_up() && process.is_crash_armed()) process.crash();
    process.start();
    if (healed_ || !process.is_up() || !process.may_crash() || !chance.chance(1, 4)) return;
    process.arm_crash(chance.below(8));
    const Duration again = milliseconds(chance.between(1, 3'000));
    comes_back(process, again, chance);
  });
}

// At least one agent stays in the cluster.
bool Simulation::may_retire(const AgentNode& agent) const {
  return std::any_of(agents_.begin(), agents_.end(), [&](const auto& other) {
    return other.get() != &agent && !other->is_retired();
  });
}

void Simulation::freeze(Node& node, Party party, Duration lasts, Prng chance) {
  if (!node.is_up() || node.is_frozen()) return;
  node.freeze();
  network_.freeze(party);
  world_.after(lasts, [this, &node, party, chance]() mutable {
    if (!node.is_frozen()) return;
    if (chance.chance(1, 2)) {
      network_.thaw(party);
      node.thaw(false);
    } else {  // Due events come before received messages.
      node.thaw(true);
      network_.thaw(party);
    }
  });
}

// Some machines on one side, the master and the others on the other side.
LinkRule Simulation::draw_rule(const Fault& fault, Prng& chance) const {
  std::vector<Site> sites;
  for (const auto& host : hosts_) sites.push_back(host->site());
  for (const auto& scheduler : schedulers_) sites.push_back(network_.site_of(scheduler->party()));
  LinkRule rule;
  rule.to.insert(network_.site_of(masters_.front()->party()));
  const uint64_t style = chance.below(3);
  for (size_t i = 0; i < sites.size(); ++i) {
    const bool chosen = style == 0   ? i == fault.target % sites.size()
                        : style == 1 ? chance.chance(1, 2)
                                     : true;
    (chosen ? rule.from : rule.to).insert(sites[i]);
  }
  for (size_t i = 1; i < masters_.size(); ++i) {
    (chance.chance(1, 2) ? rule.from : rule.to).insert(network_.site_of(masters_[i]->party()));
  }
  return rule;
}

void Simulation::partition(const Fault& fault, Prng chance) {
  if (healed_) return;
  const Time ends = fault.at + fault.lasts;
  const bool changes = chance.chance(1, 2);
  LinkRule rule = draw_rule(fault, chance);
  rule.blocked = true;
  std::vector<uint64_t> rules;
  const bool both = fault.kind == FaultKind::kPartition;
  if (both || chance.chance(1, 2)) rules.push_back(network_.add_rule(rule));
  if (both || rules.empty()) {
    std::swap(rule.from, rule.to);
    rules.push_back(network_.add_rule(rule));
  }
  const Duration lasts = std::min(
      ends - world_.now(),
      changes ? nanoseconds(chance.between(kChangeMin.nanos(), kChangeMax.nanos())) : fault.lasts);
  world_.after(lasts, [this, fault, chance, rules, ends, lasts]() mutable {
    for (const uint64_t number : rules) {
      network_.end_rule(number, lasts >= kBreaksAfter || chance.chance(1, 3));
    }
    if (world_.now() < ends) partition(fault, chance);
  });
}

void Simulation::clog(const Fault& fault, Prng chance) {
  LinkRule rule = draw_rule(fault, chance);
  if (chance.chance(1, 2)) std::swap(rule.from, rule.to);
  if (fault.kind == FaultKind::kClog) {
    rule.blocked = true;
  } else {
    rule.extra = milliseconds(chance.between(50, chance.chance(1, 2) ? 500 : 10'000));
  }
  const uint64_t number = network_.add_rule(rule);
  world_.after(fault.lasts, [this, number] { network_.end_rule(number, false); });
}

// Cuts off every second agent, by the attribute `rack`; the schedulers reach the masters.
void Simulation::cut_rack(const Fault& fault, Prng chance) {
  if (healed_) return;
  LinkRule rule;
  for (size_t i = fault.target % 2; i < hosts_.size(); i += 2) rule.from.insert(hosts_[i]->site());
  for (const auto& one : masters_) rule.to.insert(network_.site_of(one->party()));
  // Usually longer than an agent may be silent.
  const Duration lasts = fault.lasts + seconds(chance.between(0, 60));
  const uint64_t style = chance.below(4);
  if (style == 3) {
    rule.extra = milliseconds(500);
  } else {
    rule.blocked = true;
  }
  LinkRule back = rule;
  std::swap(back.from, back.to);
  if (chance.chance(1, 4)) {
    world_.after(nanoseconds(chance.between(0, lasts.nanos())), [this] {
      if (!healed_) master().operate(master::LiftBrake{.span = seconds(10)});
    });
  }
  if (style == 2) return flap(rule, back, world_.now() + lasts, chance);
  std::vector<uint64_t> rules;
  const bool to_masters = style != 1 || chance.chance(1, 2);
  if (to_masters) rules.push_back(network_.add_rule(rule));
  if (style != 1 || !to_masters) rules.push_back(network_.add_rule(back));
  world_.after(lasts, [this, rules] {
    for (const uint64_t number : rules) network_.end_rule(number, true);
  });
}

// The link goes down and up again, for at most ten seconds each.
void Simulation::flap(const LinkRule& there, const LinkRule& back, Time until, Prng chance) {
  if (healed_ || world_.now() >= until) return;
  const uint64_t rules[] = {network_.add_rule(there), network_.add_rule(back)};
  const Duration down = nanoseconds(chance.between(kChangeMin.nanos(), kChangeMax.nanos()));
  const Duration up = nanoseconds(chance.between(kChangeMin.nanos(), kChangeMax.nanos()));
  const bool breaks = chance.chance(1, 2);
  world_.after(down, [this, first = rules[0], second = rules[1], breaks] {
    network_.end_rule(first, breaks);
    network_.end_rule(second, breaks);
  });
  world_.after(down + up, [this, there, back, until, chance] { flap(there, back, until, chance); });
}

void Simulation::slow_process(const Fault& fault, Prng chance) {
  std::vector<Party> parties;
  for (const auto& one : masters_) parties.push_back(one->party());
  for (const auto& agent : agents_) parties.push_back(agent->party());
  for (const auto& scheduler : schedulers_) parties.push_back(scheduler->party());
  const Party party = parties[fault.target % parties.size()];
  network_.set_pace(party, milliseconds(chance.between(1, chance.chance(1, 2) ? 50 : 1'000)));
  world_.after(fault.lasts, [this, party] { network_.set_pace(party, Duration()); });
}

// Usually longer than its session lasts, so that another master leads when it continues. It is
// paused either at once, or after it has checked that it leads and before it sends its decisions.
void Simulation::pause_leader(Prng chance) {
  MasterNode& leader = master();
  if (ensemble_ == nullptr || !leader.is_up()) return;
  const Duration lasts = ensemble_->session_timeout() * chance.between(2, 20) / 4;
  const auto stop = [this, &leader, lasts, chance] {
    freeze(leader, leader.party(), lasts, chance);
  };
  chance.chance(1, 2) ? stop() : leader.arm_pause(stop);
}

void Simulation::inject(const Fault& fault) {
  if (healed_) return;
  world_.note("fault", FaultBegins{fault.kind, fault.number});
  Prng chance(fault.seed);
  AgentNode& agent = *agents_[fault.target % agents_.size()];
  Host& host = agent.host();
  SchedulerNode& scheduler = *schedulers_[fault.target % schedulers_.size()];
  MasterNode& struck = *masters_[fault.target % masters_.size()];
  switch (fault.kind) {
    case FaultKind::kPartition:
    case FaultKind::kOneWay:
      return partition(fault, chance);
    case FaultKind::kRackCut:
      return cut_rack(fault, chance);
    case FaultKind::kAgentGone:
      return declare_gone(fault, host, chance);
    case FaultKind::kClog:
    case FaultKind::kSlowLink:
      return clog(fault, chance);
    case FaultKind::kSlowProcess:
      return slow_process(fault, chance);

    case FaultKind::kMasterFreeze:
      return freeze(struck, struck.party(), fault.lasts, chance);
    case FaultKind::kAgentFreeze:
      return freeze(agent, agent.party(), fault.lasts, chance);
    case FaultKind::kMachineFreeze:
      for (ExecutorProcess* executor : host.executors_running()) {
        freeze(*executor, executor->party(), fault.lasts, chance);
      }
      return freeze(agent, agent.party(), fault.lasts, chance);
    case FaultKind::kSchedulerFreeze:
      return freeze(scheduler, scheduler.party(), fault.lasts, chance);
    case FaultKind::kExecutorFreeze:
      if (ExecutorProcess* executor = host.some_executor(chance)) {
        freeze(*executor, executor->party(), fault.lasts, chance);
      }
      return;

    case FaultKind::kMasterCrash:
      struck.crash();
      return comes_back(struck, fault.lasts, chance);
    case FaultKind::kMasterCrashInStep:
      struck.arm_crash(chance.below(20));
      return comes_back(struck, fault.lasts, chance);
    case FaultKind::kAgentCrash:
      agent.crash();
      return comes_back(agent, fault.lasts, chance);
    case FaultKind::kAgentCrashInStep:
      agent.arm_crash(chance.below(20));
      return comes_back(agent, fault.lasts, chance);
    case FaultKind::kAgentStop:
    case FaultKind::kAgentStopKilling:
      agent.stop(fault.kind == FaultKind::kAgentStopKilling);
      return world_.after(seconds(20), [this, fault, &agent, chance] {
        if (agent.is_stopping()) agent.crash();
        comes_back(agent, fault.lasts, chance);
      });
    case FaultKind::kSchedulerCrash:
      if (scheduler.may_crash()) scheduler.crash();
      return comes_back(scheduler, fault.lasts, chance);
    case FaultKind::kSchedulerCrashInStep:
      if (scheduler.may_crash()) scheduler.arm_crash(chance.below(20));
      return comes_back(scheduler, fault.lasts, chance);
    case FaultKind::kExecutorCrash:
      if (ExecutorProcess* executor = host.some_executor(chance)) host.crash_executor(*executor);
      return;
    case FaultKind::kExecutorCrashInStep:
      if (ExecutorProcess* executor = host.some_executor(chance)) {
        executor->arm_crash(chance.below(5));
      }
      return;

    case FaultKind::kStartsFail:
      host.set_starts_fail(true);
      return world_.after(fault.lasts, [&host] { host.set_starts_fail(false); });

    case FaultKind::kAgentIdle:
      agent.set_idle(true);
      return world_.after(fault.lasts + seconds(chance.between(0, 240)),
                          [&agent] { agent.set_idle(false); });

    case FaultKind::kMachineReboot:
      if (!host.is_powered()) return;
      host.power_off(chance);
      agent.crash();
      return world_.after(fault.lasts, [this, &agent, chance] {
        if (agent.is_retired()) return;
        agent.host().power_on();
        comes_back(agent, Duration(), chance);
      });
    case FaultKind::kMasterReboot:
      struck.power_off();
      return world_.after(fault.lasts, [this, &struck, chance] {
        struck.power_on();
        comes_back(struck, Duration(), chance);
      });
    case FaultKind::kDiskFull:
    case FaultKind::kDiskBroken:
      host.disk().set_trouble(fault.kind == FaultKind::kDiskFull ? AgentDisk::Trouble::kFull
                                                                 : AgentDisk::Trouble::kBroken);
      return world_.after(fault.lasts,
                          [&host] { host.disk().set_trouble(AgentDisk::Trouble::kNone); });
    case FaultKind::kDiskDamaged:
      agent.crash();
      host.disk().damage(chance);
      return comes_back(agent, fault.lasts, chance);
    case FaultKind::kCheckpointCut:
      agent.crash();
      host.cut_checkpoint(chance);
      return comes_back(agent, fault.lasts, chance);
    case FaultKind::kMasterDiskFull:
    case FaultKind::kMasterDiskBroken:
      struck.set_trouble(fault.kind == FaultKind::kMasterDiskFull ? MasterNode::Trouble::kFull
                                                                  : MasterNode::Trouble::kBroken);
      return world_.after(fault.lasts,
                          [&struck] { struck.set_trouble(MasterNode::Trouble::kNone); });
    case FaultKind::kLeaderPaused:
      return pause_leader(chance);
    case FaultKind::kSessionExpires:
      if (ensemble_ != nullptr)
        ensemble_->cut_off_leader(milliseconds(chance.between(1'000, 12'000)));
      return;
    case FaultKind::kEnsembleSlow:
      if (ensemble_ == nullptr) return;
      ensemble_->set_slow(true);
      return world_.after(fault.lasts, [this] { ensemble_->set_slow(false); });

    case FaultKind::kAgentCrashForGood:
      if (may_retire(agent)) agent.retire();
      return;
    case FaultKind::kMachineForGood:
      if (!may_retire(agent)) return;
      if (host.is_powered()) host.power_off(chance);
      return agent.retire();

    case FaultKind::kDrain:
      return drain(fault, host, chance);
    case FaultKind::kRoleChange:
      return change_role(fault, chance);
    case FaultKind::kReserve:
      return reserve(fault, host, chance);

    case FaultKind::kLyingAgent:
      lying_agent_->start();
      return watch_liars();
    case FaultKind::kLyingScheduler:
      return lying_scheduler_->start();

    case FaultKind::kSlow:
    case FaultKind::kLost:
    case FaultKind::kRepeated:
    case FaultKind::kOvertaken:
    case FaultKind::kBroken:
    case FaultKind::kHalfOpen:
    case FaultKind::kSmallQueues:
    case FaultKind::kStartFailure:
      CHECK(false) << to_text(fault.kind) << " has a rate, no time";
  }
}

void Simulation::heal() {
  world_.note("fault", FaultsHealed{});
  const auto wake = [](Node& node) { node.thaw(false); };
  for (auto& one : masters_) wake(*one);
  for (auto& scheduler : schedulers_) wake(*scheduler);
  for (auto& agent : agents_) {
    wake(*agent);
    for (ExecutorProcess* executor : agent->host().executors_running()) wake(*executor);
  }
  network_.heal();
  // A crash that was set for a step that did not come is cancelled.
  const auto serve = [](auto& process) {
    if (process.is_up() && process.is_crash_armed()) process.crash();
    process.start();
  };
  healed_ = true;
  if (lying_agent_ != nullptr) lying_agent_->end();
  if (lying_scheduler_ != nullptr) lying_scheduler_->end();
  if (ensemble_ != nullptr) ensemble_->set_slow(false);
  for (auto& one : masters_) {
    one->set_trouble(MasterNode::Trouble::kNone);
    one->power_on();
    serve(*one);
  }
  for (auto& scheduler : schedulers_) serve(*scheduler);
  for (auto& agent : agents_) {
    Host& host = agent->host();
    agent->set_idle(false);
    host.set_start_failures(0);
    host.set_starts_fail(false);
    host.disk().set_trouble(AgentDisk::Trouble::kNone);
    for (ExecutorProcess* executor : host.executors_running()) {
      if (executor->is_crash_armed()) host.crash_executor(*executor);
    }
    if (agent->is_retired()) continue;
    host.power_on();
    serve(*agent);
  }
  tidy_up();
  world_.after(kCalmAfter, [this] { drain_once_more(); });
}

}  // namespace proffer::sim
