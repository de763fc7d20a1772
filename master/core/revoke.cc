// Tasks that must end by a time: preempted ones (on_revokes), and those of a drained agent
// (drain.cc). Their scheduler gets a notice. Tasks that still run after the time are killed
// (on_revoke_due), even if the scheduler is not connected.

#include <algorithm>
#include <map>
#include <tuple>

#include "common/text.h"
#include "master/core/state.h"
#include "master/core/trace.h"

namespace proffer::master {
namespace {

DeadlineKey deadline_of(const TaskKey& key) {
  return {.kind = DeadlineKind::kRevoke, .peer = {}, .id = to_text(key)};
}

TaskKey key_of(const std::string& name) {
  const size_t slash = name.find('/');
  return {FrameworkId(name.substr(0, slash)), TaskId(name.substr(slash + 1))};
}

// For the users of the framework that loses the task.
std::string why_text(const Task& task) {
  const RevokeMark& mark = *task.ending->revoke;
  const std::string whose =
      mark.beneficiary.empty() ? "" : text(" for role ", quoted(mark.beneficiary.str()));
  switch (mark.reason) {
    case RevokeReason::kReclaimed:
      return text("resources that its role had borrowed were reclaimed", whose);
    case RevokeReason::kDraining:
      return text("agent ", task.agent.str(), " was drained");
    case RevokeReason::kLent:
      return text("it ran on resources that were claimed", whose);
    case RevokeReason::kEstimate:
      return text("agent ", task.agent.str(), " had fewer resources than it had estimated");
  }
  return "";
}

}  // namespace

void Master::State::on_revokes(const std::vector<Revoke>& revokes, Step& step) {
  std::vector<Task*> marked;
  for (const Revoke& revoke : revokes) {
    Task* task = tasks_.find({revoke.framework, revoke.task});
    // A stray, which is already being killed.
    if (task == nullptr || task->agent != revoke.agent) continue;
    if (mark(*task, {revoke.reason, revoke.beneficiary, revoke.deadline})) marked.push_back(task);
  }
  send_notices(marked, step);
}

// Returns whether the scheduler must get a notice. The earlier of two times counts, but a repeated
// drain replaces the earlier drain.
bool Master::State::mark(Task& task, RevokeMark mark) {
  if (task.ended() || task.kill_asked) return false;  // It ends anyway.
  const bool drains = mark.reason == RevokeReason::kDraining;
  const std::optional<RevokeMark>& known = task.ending->reclaimed;
  if (!drains && known && known->deadline <= mark.deadline) return false;
  task.ending.change(
      [&](TaskEnding& ending) { (drains ? ending.drained : ending.reclaimed) = std::move(mark); });
  return choose_mark(task);
}

// A preempted task must still end when its agent is no longer drained, because the allocator counts
// on it.
bool Master::State::undrain(Task& task) {
  if (!task.ending->drained) return false;
  task.ending.change([](TaskEnding& ending) { ending.drained.reset(); });
  return choose_mark(task);
}

// Selects the cause with the earlier time; returns whether it has changed.
bool Master::State::choose_mark(Task& task) {
  const TaskEnding& was = *task.ending;
  const bool is_drain =
      was.drained && (!was.reclaimed || was.drained->deadline <= was.reclaimed->deadline);
  const std::optional<RevokeMark> earlier = is_drain ? was.drained : was.reclaimed;
  const bool is_news = earlier && (!was.revoke || was.revoke->deadline != earlier->deadline);
  if (!earlier && was.revoke) deadlines_.cancel(deadline_of(task.key()));
  if (is_news) deadlines_.arm(deadline_of(task.key()), earlier->deadline);
  task.ending.change([&](TaskEnding& ending) { ending.revoke = earlier; });
  return is_news && !task.ended() && !task.kill_asked;
}

void Master::State::unmark(Task& task) {
  if (!task.ending->revoke) return;
  task.ending.change([](TaskEnding& ending) {
    ending.drained.reset();
    ending.reclaimed.reset();
  });
  choose_mark(task);
}

// One message for the tasks of one framework; all of them are on this agent.
void Master::State::send_withdrawals(const std::vector<Task*>& tasks, const AgentId& agent,
                                     Step& step) {
  std::map<FrameworkId, std::vector<TaskId>> ids;
  for (const Task* task : tasks) {
    if (task->hidden) continue;
    ids[task->key().framework].push_back(task->key().task);
    step.trace(
        TaskRevokedNoLonger{task->key().framework, task->key().task, agent, task->text->user});
  }
  for (const auto& [framework, all] : ids) {
    const Framework* there = connected_framework(framework);
    if (there == nullptr) continue;  // When the agent is back, it gets no notice for them.
    for (size_t at = 0; at < all.size(); at += kTasksPerMessageMax) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(at);
      const auto last =
          first + static_cast<std::ptrdiff_t>(std::min(kTasksPerMessageMax, all.size() - at));
      send(there->peer, proto::RevokeWithdrawn{.tasks = {first, last}, .agent = agent}, step);
    }
  }
}

// One notice for the tasks of one framework on one agent that end for one cause at one time.
void Master::State::send_notices(const std::vector<Task*>& tasks, Step& step) {
  using Cause = std::tuple<FrameworkId, AgentId, RevokeReason, RoleName, Time>;
  std::map<Cause, std::vector<TaskId>> notices;
  for (const Task* task : tasks) {
    if (task->hidden) continue;
    const RevokeMark& mark = *task->ending->revoke;
    notices[{task->key().framework, task->agent, mark.reason, mark.beneficiary, mark.deadline}]
        .push_back(task->key().task);
    step.trace(TaskToBeRevoked{task->key().framework, task->key().task, task->agent, mark.reason,
                               mark.beneficiary, task->text->user});
  }
  for (auto& [cause, ids] : notices) {
    const auto& [framework, agent, reason, beneficiary, deadline] = cause;
    const Framework* there = connected_framework(framework);
    if (there == nullptr) continue;  // The notice is sent when it is back, if there is time.
    for (size_t at = 0; at < ids.size(); at += kTasksPerMessageMax) {
      const auto first = ids.begin() + static_cast<std::ptrdiff_t>(at);
      const auto last =
          first + static_cast<std::ptrdiff_t>(std::min(kTasksPerMessageMax, ids.size() - at));
      send(there->peer,
           proto::RevokeNotice{.tasks = {first, last},
                               .agent = agent,
                               .reason = reason,
                               .beneficiary = beneficiary,
                               .grace = std::clamp(deadline - step.now, Duration(), kDurationMax)},
           step);
    }
  }
}

// For a scheduler that has reconnected.
void Master::State::send_notices_again(const Framework& framework, Step& step) {
  std::vector<Task*> marked;
  for (Task* task : tasks_.of(framework.id())) {
    if (task->ending->revoke && !task->ended() && !task->kill_asked) marked.push_back(task);
  }
  send_notices(marked, step);
}

void Master::State::on_revoke_due(const std::string& name, Step& step) {
  Task* task = tasks_.find(key_of(name));
  if (task == nullptr || task->ended() || task->kill_asked) return;
  if (!task->ending->revoke || task->ending->revoke->deadline > step.now) return;
  kill(*task,
       {.by = task->ending->revoke->reason == RevokeReason::kDraining ? proto::TaskReason::kDrained
                                                                      : proto::TaskReason::kRevoked,
        .why = why_text(*task)},
       step);
}

}  // namespace proffer::master
