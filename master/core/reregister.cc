// Compares the tasks that an agent reports with the master's: begin with compare_tasks. Each case
// states which side is right. Afterwards master and agent agree, or a message that makes them agree
// is on its way.

#include <algorithm>

#include "common/roles.h"
#include "common/text.h"
#include "master/core/registration.h"
#include "master/core/state.h"
#include "master/core/trace.h"

namespace proffer::master {

using proto::TaskEvent;
using proto::TaskReason;
using proto::TaskState;

namespace {

// Per framework. If there are more, it is unknown whether the further ones began.
constexpr size_t kOldRefusalsMax = kTasksPerAgentMax;

// Whether the agent has the task's resources besides its running tasks, device by device.
bool has_room(const Agent& agent, const PortSet& free_ports, const Resources& running,
              const Resources& needs) {
  Resources total;
  for (const Slice& slice : agent.slices) total += slice.resources;
  if (!(running.amounts + needs.amounts).fits_in(total.amounts)) return false;
  const auto of_device = [](const Resources& resources, int32_t index) {
    for (const GpuDevice& device : resources.gpus) {
      if (device.index == index) return device.milli;
    }
    return 0;
  };
  for (const GpuDevice& device : needs.gpus) {
    const int32_t taken = of_device(running, device.index) + device.milli;
    if (taken > of_device(total, device.index)) return false;
  }
  return free_ports.contains(needs.ports);
}

// The claim of a running task as the agent reports it, if it is valid; else a claim from its
// resources, since agents of an earlier version report only these.
TaskClaim told_claim(const RoleName& role, const proto::AgentTask& told) {
  Resources sum;
  std::set<std::pair<RoleName, bool>> states;
  for (const Slice& slice : told.claim.slices) {
    sum += slice.resources;
    states.emplace(slice.reserved_for, slice.revocable);
  }
  const bool is_sound = !told.claim.role.empty() && is_within(told.claim.role, role) &&
                        sum == amounts_of(told.resources) &&
                        states.size() == told.claim.slices.size();
  return is_sound ? told.claim : plain_claim(role, told.resources);
}

// As the agent reports it, but not later than now; now if it reports none.
Time told_launch(const proto::AgentTask& told, Time now) {
  return told.launched_at > Time() ? std::min(told.launched_at, now) : now;
}

}  // namespace

void Master::State::compare_tasks(Agent& agent, bool is_awaited, bool remembers,
                                  Registration&& registration, Step& step) {
  Resources running = held_by_tasks(registration);
  const bool any_known = agent.tasks.size() > 0;  // none after a start of the master
  std::set<TaskKey> told_keys;                    // only if any is known
  ResourceVector launched;                        // believed because of tickets
  std::set<FrameworkId> gone;
  for (proto::AgentTask& told : registration.tasks) {
    const TaskKey key{told.framework, told.task};
    if (any_known) told_keys.insert(key);
    Task* task = tasks_.find(key);
    if (task != nullptr && task->agent == agent.id) {
      compare_known(agent, *task, std::move(told), step);
    } else {
      compare_unknown(agent, is_awaited, std::move(told), launched, step);
    }
    const Framework* framework = frameworks_.find(key.framework);
    if (framework != nullptr && framework->gone) gone.insert(key.framework);
  }
  if (any_known) {
    for (Task* task : std::vector<Task*>(agent.tasks.begin(), agent.tasks.end())) {
      if (!told_keys.contains(task->key())) compare_untold(agent, *task, remembers, running, step);
    }
  }
  for (const FrameworkId& framework : gone) {
    send(agent.peer, proto::ShutdownFramework{.framework = framework}, step);
  }
}

// Both know the task. The agent is right about whether it runs, the master about whether it should
// run.
void Master::State::compare_known(Agent& agent, Task& task, proto::AgentTask&& told, Step& step) {
  if (task.ended()) {
    // Its scheduler got an end. If the end was wrong, the task must end now.
    if (!proto::is_terminal(told.state)) return kill_stray(agent, told, step);
    if (task.acknowledged > 0) acknowledge_to_agent(agent, task.key(), task.acknowledged, step);
    return take_updates(agent, task.key(), std::move(told.unacknowledged), step);
  }
  task.spec = {};
  if (!task.hidden) await_start(agent, task, step);
  if (!proto::is_terminal(told.state)) {
    hold(agent, task);
    if (tasks_.move(task, TaskEvent::kAgentBack, step.now)) {
      tell(task, TaskReason::kAgentReturned, text("agent ", agent.id.str(), " is back"), step);
    }
    if (task.kill_asked || frameworks_.find(task.key().framework)->gone) {
      tasks_.move(task, TaskEvent::kKillAsked, step.now);
    }
    if (task.kill_asked) send_kill(task, step);
  }
  const TaskKey key = task.key();
  const bool has_ended = proto::is_terminal(told.state);
  if (task.acknowledged > 0) acknowledge_to_agent(agent, key, task.acknowledged, step);
  take_updates(agent, key, std::move(told.unacknowledged), step);
  // The end was acknowledged to another master than the one that reported it.
  Task* still = tasks_.find(key);
  if (has_ended && still != nullptr && !still->ended()) {
    tasks_.move(*still, TaskEvent::kLost, step.now);
    tell(*still, TaskReason::kAgentForgot, "the agent does not know any more how the task ended",
         step);
    end_if_told(*still);
  }
}

// Only the agent knows the task, or the master knows another one with this id. The task is adopted
// if the master may have forgotten it in a restart and it may have been launched (believe.cc);
// otherwise it must end. After the first registration of an agent the master has not forgotten
// anything, so it adopts no task in later registrations.
void Master::State::compare_unknown(Agent& agent, bool is_awaited, proto::AgentTask&& told,
                                    ResourceVector& launched, Step& step) {
  const TaskKey key{told.framework, told.task};
  const bool has_ended = proto::is_terminal(told.state);
  Framework* framework = frameworks_.find(told.framework);
  const bool over = framework == nullptr || framework->gone;
  bool may_adopt = is_awaited && !over && may_run_on(agent, *framework, key.task);
  Belief belief = may_adopt ? believe(agent, *framework, told) : Belief::kInvented;
  if (may_adopt && belief == Belief::kInvented) {
    step.trace(TaskDisbelieved{key.framework, key.task, agent.id,
                               why_not_launched(agent, *framework, told)});
  }
  // The agent never ran more tasks at once than its resources allow; tickets of ended tasks remain
  // valid.
  if (belief == Belief::kLaunched && !has_ended) {
    const bool fits = (launched + told.resources.amounts).fits_in(agent.total());
    if (fits) launched += told.resources.amounts;
    if (!fits) belief = framework->has_tickets() ? Belief::kHidden : Belief::kUnconfirmed;
  }
  // Another agent reported it before, and nothing confirms that it was launched there.
  Task* other = tasks_.find(key);
  if (belief == Belief::kLaunched && other != nullptr && other->hidden) {
    disbelieve(*other, text("it was launched on agent ", agent.id.str()), step);
  }
  // If only the scheduler can know the task, its end or refusal is not reported.
  const bool is_over = has_ended && belief == Belief::kHidden;
  may_adopt = may_adopt && belief != Belief::kInvented && !is_over && !tasks_.is_used(key);
  // A refused task may have been launched again on another agent, so it must not prevent that
  // launch. Its scheduler gets the refusal when no agent can report another task with this id.
  const bool is_refused = told.state == TaskState::kRefused;
  if (is_refused && may_adopt) keep_old_refusal(*framework, told);
  if (!may_adopt || is_refused || (has_ended && told.unacknowledged.empty())) {
    if (!has_ended) return kill_stray(agent, told, step);
    return acknowledge_to_agent(agent, key, told.sequence, step);
  }
  Task& task = adopt(agent, told, belief, step);
  if (!has_ended) hold(agent, task);
  if (task.hidden) return watch_hidden(*framework, step);
  // Its scheduler asked for it, or killed it, before this agent was back.
  bool is_asked_for = framework->awaits_all;
  if (const auto waits = framework->waiting.find(key.task); waits != framework->waiting.end()) {
    is_asked_for = true;
    const std::optional<KillWish>& wish = waits->second.kill;
    if (wish && !has_ended) kill(task, {}, step, wish->grace);
    framework->waiting.erase(waits);
  }
  const bool has_news = !told.unacknowledged.empty();
  take_updates(agent, key, std::move(told.unacknowledged), step);
  if (is_asked_for && !has_news) tell_truth(*framework, key.task, step);
}

// Only the master knows the task. An agent that does not remember all its tasks may have started
// it.
void Master::State::compare_untold(Agent& agent, Task& task, bool remembers, Resources& running,
                                   Step& step) {
  if (task.ended()) return;  // Its scheduler has not acknowledged its end yet.
  const bool wanted = !frameworks_.find(task.key().framework)->gone;
  if (task.state == TaskState::kStaging && task.spec && wanted && remembers) {
    // The agent never received it, so it is sent again, if its resources are still there.
    const Resources& needs = task.allotment->resources;
    if (has_room(agent, allocator_.free_ports(agent.id), running, needs)) {
      running += amounts_of(needs);
      hold(agent, task);
      await_start(agent, task, step);
      proto::TaskSpec spec = *task.spec;
      spec.id = task.key().task;
      std::vector<proto::SecretValue> secrets =
          sealed_secrets(spec, task.text->user, registry_.secrets());
      proto::Assignment assignment{.resources = task.allotment->resources,
                                   .ports = task.allotment->ports,
                                   .claim = task.allotment->claim,
                                   .user = task.text->user,
                                   .launched_at = task.launched_at};
      assignment.ticket =
          ticket_of(*frameworks_.find(task.key().framework), spec.id, agent, assignment);
      send(agent.peer,
           proto::RunTask{.framework = task.key().framework,
                          .spec = std::move(spec),
                          .assignment = std::move(assignment),
                          .secrets = std::move(secrets)},
           step);
      return;
    }
  }
  tasks_.move(task, TaskEvent::kLost, step.now);
  tell(task, TaskReason::kAgentForgot,
       text("agent ", agent.id.str(), " came back without the task"), step);
  end_if_told(task);
}

// For tasks that the master knows, the agent's report of their resources is ignored.
void Master::State::use_known_amounts(Registration& registration) const {
  const Agent* agent = agents_.find(registration.first.agent);
  if (agent == nullptr) return;
  for (proto::AgentTask& told : registration.tasks) {
    const Task* task = tasks_.find({told.framework, told.task});
    if (task == nullptr || task->agent != agent->id) continue;
    told.resources = task->allotment->resources;
  }
}

void Master::State::keep_old_refusal(Framework& framework, proto::AgentTask& told) {
  if (framework.remembers_tasks() || told.unacknowledged.empty()) return;
  if (framework.old_refusals.size() >= kOldRefusalsMax) return;
  proto::TaskStatus& status = told.unacknowledged.back();
  status.labels = std::move(told.labels);
  framework.old_refusals.try_emplace(told.task, std::move(status));
}

Task& Master::State::adopt(Agent& agent, const proto::AgentTask& told, Belief belief, Step& step) {
  Framework& framework = *frameworks_.find(told.framework);
  Task adopted;
  adopted.unconfirmed = belief != Belief::kLaunched;
  adopted.hidden = belief == Belief::kHidden;
  if (!told.executor.empty() && !adopted.hidden) framework.executor_agents.insert(agent.id);
  adopted.agent = agent.id;
  adopted.text =
      tasks_.share(TaskText{.ask = told.ask,
                            .executor = told.executor,
                            .command = told.command,
                            .user = told.user.empty() ? framework.record.user : told.user,
                            .labels = told.labels});
  adopted.allotment = tasks_.share(
      TaskAllotment{.resources = told.resources,
                    .claim = adopted.hidden ? plain_claim(kGoneRole, told.resources)
                                            : told_claim(framework.record.role, told)});
  const bool is_told = !adopted.hidden && !told.unacknowledged.empty();
  adopted.acknowledged = is_told ? told.unacknowledged.front().sequence - 1 : told.sequence;
  adopted.agent_sequence = adopted.acknowledged;
  // The state before its first unacknowledged update: the updates follow.
  if (told.state == TaskState::kKilling) {
    adopted.state = TaskState::kKilling;
  } else {
    adopted.state = adopted.acknowledged == 0 ? TaskState::kStaging : TaskState::kRunning;
  }
  adopted.launched_at = told_launch(told, step.now);
  adopted.changed_at = step.now;
  Task& task = tasks_.add({told.framework, told.task}, std::move(adopted));
  agent.tasks.insert(task);
  ++framework.tasks;
  if (task.hidden) {
    ++framework.hidden;
    task.report.set({.message = "its scheduler has not confirmed it yet"});
    if (told.sequence > 0) acknowledge_to_agent(agent, task.key(), told.sequence, step);
  } else {
    await_start(agent, task, step);
    framework.old_refusals.erase(told.task);
  }
  step.trace(TaskAdopted{told.framework, told.task, agent.id, told.state});
  return task;
}

// The task must not run: it holds resources on its agent, it is killed, and it is not reported. Its
// framework already got its end and is not charged, since an agent could report the task for ever.
void Master::State::kill_stray(Agent& agent, const proto::AgentTask& told, Step& step) {
  const TaskKey key{told.framework, told.task};
  const bool is_hidden = frameworks_.find(told.framework) != nullptr;
  const Payer payer = payer_of(key, is_hidden);
  Framework* framework = frameworks_.find(payer.framework);
  if (framework == nullptr) framework = &gone_framework(payer.framework);
  ++framework->held;
  const TaskClaim claim = told_claim(framework->record.role, told);
  agent.strays[key] = Stray{.resources = told.resources, .claim = claim, .is_hidden = is_hidden};
  allocator_.adopt(agent.id, payer.framework,
                   {.task = payer.task,
                    .ask = is_hidden ? AskName() : told.ask,
                    .claim = claim,
                    .since = told_launch(told, step.now),
                    .ports = told.resources.ports});
  step.trace(StrayTaskKilled{key.framework, key.task, agent.id});
  if (told.sequence > 0) acknowledge_to_agent(agent, key, told.sequence, step);
  send(agent.peer, proto::KillTask{.framework = key.framework, .task = key.task, .grace = {}},
       step);
}

void Master::State::take_updates(Agent& agent, const TaskKey& key,
                                 std::vector<proto::TaskStatus>&& updates, Step& step) {
  for (proto::TaskStatus& status : updates) {
    Task* task = tasks_.find(key);
    if (task == nullptr) return acknowledge_to_agent(agent, key, updates.back().sequence, step);
    take_update(agent, *task, std::move(status), step);
  }
}

}  // namespace proffer::master
