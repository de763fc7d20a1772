// Tasks that are to end by a time: what was borrowed goes back (on_revokes), or their agent is
// drained (drain.cc). Their scheduler is told; what has not ended when the time is over is killed
// (on_revoke_due), whether or not the scheduler is there.

#include <algorithm>
#include <map>
#include <tuple>

#include "common/text.h"
#include "master/core/state.h"

namespace proffer::master {
namespace {

DeadlineKey deadline_of(const TaskKey& key) {
  return {.kind = DeadlineKind::kRevoke, .peer = {}, .id = to_text(key)};
}

TaskKey key_of(const std::string& name) {
  const size_t slash = name.find('/');
  return {FrameworkId(name.substr(0, slash)), TaskId(name.substr(slash + 1))};
}

// For the people of the framework that loses it.
std::string why_text(const Task& task) {
  const RevokeMark& mark = *task.revoke;
  const std::string whose =
      mark.beneficiary.empty() ? "" : text(" for role ", quoted(mark.beneficiary.str()));
  switch (mark.reason) {
    case RevokeReason::kReclaimed:
      return text("what its role had borrowed went back", whose);
    case RevokeReason::kDraining:
      return text("agent ", task.agent.str(), " was drained");
    case RevokeReason::kLent:
      return text("it ran on what was set aside", whose);
    case RevokeReason::kEstimate:
      return text("agent ", task.agent.str(), " had less than it had estimated");
  }
  return "";
}

}  // namespace

void Master::State::on_revokes(const std::vector<Revoke>& revokes, Step& step) {
  std::vector<Task*> marked;
  for (const Revoke& revoke : revokes) {
    Task* task = tasks_.find({revoke.framework, revoke.task});
    if (task == nullptr || task->agent != revoke.agent) continue;  // A stray: it is being killed.
    if (mark(*task, {revoke.reason, revoke.beneficiary, revoke.deadline})) marked.push_back(task);
  }
  send_notices(marked, step);
}

bool Master::State::is_revoke_due(const TaskKey& key) const {
  return deadlines_.armed(deadline_of(key));
}

// Whether there is something new to tell. Of two times the earlier counts, but a drain that is
// asked for again replaces the one before.
bool Master::State::mark(Task& task, RevokeMark mark) {
  if (task.ended() || task.kill_asked) return false;  // It ends by itself.
  if (task.revoke) {
    const bool is_drained_again =
        task.revoke->reason == RevokeReason::kDraining && mark.reason == RevokeReason::kDraining;
    const Time before = task.revoke->deadline;
    if (is_drained_again ? before == mark.deadline : before <= mark.deadline) return false;
  }
  deadlines_.arm(deadline_of(task.key), mark.deadline);
  task.revoke = std::move(mark);
  return true;
}

void Master::State::unmark(Task& task) {
  if (!task.revoke) return;
  task.revoke.reset();
  deadlines_.cancel(deadline_of(task.key));
}

// One notice for the tasks of one framework on one agent that end for one cause at one time.
void Master::State::send_notices(const std::vector<Task*>& tasks, Step& step) {
  using Cause = std::tuple<FrameworkId, AgentId, RevokeReason, RoleName, Time>;
  std::map<Cause, std::vector<TaskId>> notices;
  for (const Task* task : tasks) {
    const RevokeMark& mark = *task->revoke;
    notices[{task->key.framework, task->agent, mark.reason, mark.beneficiary, mark.deadline}]
        .push_back(task->key.task);
    step.trace(TraceLevel::kShortLived, "task to be revoked",
               {{"framework", task->key.framework.str()},
                {"task", task->key.task.str()},
                {"agent", task->agent.str()},
                {"reason", std::string(to_text(mark.reason))},
                {"role", mark.beneficiary.str()}});
  }
  for (auto& [cause, ids] : notices) {
    const auto& [framework, agent, reason, beneficiary, deadline] = cause;
    const Framework* there = connected_framework(framework);
    if (there == nullptr) continue;  // Told when it is back, if there is time.
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

// To a scheduler that comes back.
void Master::State::send_notices_again(const Framework& framework, Step& step) {
  std::vector<Task*> marked;
  for (Task* task : tasks_.of(framework.id())) {
    if (task->revoke && !task->ended() && !task->kill_asked) marked.push_back(task);
  }
  send_notices(marked, step);
}

void Master::State::on_revoke_due(const std::string& name, Step& step) {
  Task* task = tasks_.find(key_of(name));
  if (task == nullptr || task->ended() || !task->revoke || task->revoke->deadline > step.now)
    return;
  if (task->kill_asked) return;
  kill(*task,
       {.by = task->revoke->reason == RevokeReason::kDraining ? proto::TaskReason::kDrained
                                                              : proto::TaskReason::kRevoked,
        .why = why_text(*task)},
       step);
}

}  // namespace proffer::master
