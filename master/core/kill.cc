// Ends tasks, for their scheduler (on_kill) or a user (on_operator_kill). The answer is the task's
// own updates. A kill waits for an agent that is not connected.

#include <set>

#include "common/text.h"
#include "master/core/state.h"
#include "master/core/trace.h"

namespace proffer::master {
namespace {

std::optional<Duration> bounded(std::optional<Duration> grace) {
  if (!grace) return std::nullopt;
  return std::clamp(*grace, Duration(), kKillGraceMax);
}

}  // namespace

void Master::State::on_kill(Framework& framework, const proto::KillTask& message, Step& step) {
  Task* task = tasks_.find({framework.id(), message.task});
  if (task != nullptr && task->hidden) {
    disbelieve(*task, "its scheduler killed the task before it confirmed it", step);
    task = nullptr;
  }
  // For an ended or unknown task the answer is its known state.
  if (task == nullptr || task->ended()) {
    tell_truth(framework, message.task, step);
    const auto waits = framework.waiting.find(message.task);
    if (waits != framework.waiting.end()) waits->second.kill = KillWish{bounded(message.grace)};
    return;
  }
  kill(*task, {}, step, bounded(message.grace));
}

void Master::State::on_operator_kill(const OperatorKill& message, Step& step) {
  const auto say = [&](Result<std::string> result) {
    answer(message.call, std::move(result), step);
  };
  if (message.task.empty() == message.framework.empty()) {
    return say(Error::invalid_argument(
        "name either a task (FRAMEWORK/TASK or a unique prefix) or a framework"));
  }
  if (!message.framework.empty()) return say(kill_all_of(message, step));
  const std::vector<const Task*> found = tasks_.matching(message.task, kNamesListedMax + 1);
  if (found.empty()) {
    return say(
        Error::not_found(text("no running task matches ", quoted(message.task)))
            .with_hint(
                "proffer tasks lists the running tasks, proffer tasks --all also ended ones"));
  }
  // A complete name has priority over names that begin with it.
  std::vector<Task*> exact;
  if (Task* named = find_by_whole_name(message.task)) exact.push_back(named);
  if (exact.empty() && found.size() > 1) {
    std::vector<std::string> names;
    for (const Task* candidate : found) names.push_back(to_text(candidate->key()));
    return say(Error::invalid_argument(
                   text(quoted(message.task), " matches several tasks: ", listed(names)))
                   .with_hint("give more of the name"));
  }
  Task& task = exact.empty() ? *tasks_.find(found.front()->key()) : *exact.front();
  if (Result<void> may =
          permit(message.by, Action::kKillTask, to_text(task.key()), step, task.text->user);
      !may) {
    return say(std::move(may).error());
  }
  kill(task, {.by = proto::TaskReason::kKilledByOperator}, step, bounded(message.grace));
  say(std::string());
}

// All or none, since a framework that serves users may have tasks of several users.
Result<std::string> Master::State::kill_all_of(const OperatorKill& message, Step& step) {
  Result<Framework*> found = frameworks_.exactly(message.framework);
  if (!found) return std::move(found).error();
  std::vector<Task*> tasks = tasks_.of((*found)->id());
  std::erase_if(tasks, [](const Task* task) { return task->ended(); });
  std::set<std::string_view> users;
  for (const Task* task : tasks) {
    if (!users.insert(task->text->user).second) continue;
    if (Result<void> may =
            permit(message.by, Action::kKillTask, to_text(task->key()), step, task->text->user);
        !may) {
      return std::move(may).error();
    }
  }
  for (Task* task : tasks) {
    kill(*task, {.by = proto::TaskReason::kKilledByOperator}, step, bounded(message.grace));
  }
  return std::string();
}

// The name is "framework/task", or a task id that only one framework has.
Task* Master::State::find_by_whole_name(std::string_view name) {
  const size_t slash = name.find('/');
  if (slash != std::string_view::npos) {
    Task* task = tasks_.find({FrameworkId(std::string(name.substr(0, slash))),
                              TaskId(std::string(name.substr(slash + 1)))});
    return task != nullptr && !task->ended() ? task : nullptr;
  }
  Task* only = nullptr;
  for (const auto& [id, framework] : frameworks_.all()) {
    Task* task = tasks_.find({id, TaskId(std::string(name))});
    if (task == nullptr || task->ended()) continue;
    if (only != nullptr) return nullptr;
    only = task;
  }
  return only;
}

void Master::State::kill(Task& task, const KillCause& cause, Step& step,
                         std::optional<Duration> grace) {
  // An operator who kills a task that is already being killed becomes the reported cause.
  const bool says_why = !task.kill_asked || cause.by == proto::TaskReason::kKilledByOperator;
  task.ending.change([&](TaskEnding& ending) {
    if (says_why) ending.kill_cause = cause;
    ending.kill_grace = grace;
  });
  task.kill_asked = true;
  tasks_.move(task, proto::TaskEvent::kKillAsked, step.now);
  step.trace(
      TaskToBeKilled{task.key().framework, task.key().task, task.agent, cause.by, task.text->user});
  send_kill(task, step);
}

// Called at the end of a step, when no handler holds a task.
void Master::State::end_failed_gangs(Step& step) {
  for (const TaskKey& key : tasks_.take_of_failed_gangs()) {
    Task* task = tasks_.find(key);
    if (task == nullptr || task->ended() || task->kill_asked) continue;
    if (frameworks_.find(key.framework)->gone) continue;
    kill(*task,
         {.by = proto::TaskReason::kGangIncomplete,
          .why = "another task of its gang ended before all of them had run"},
         step);
  }
}

void Master::State::send_kill(const Task& task, Step& step) {
  const Agent* agent = agents_.find(task.agent);
  if (agent == nullptr || !agent->connected()) return;  // The kill is sent when it is back.
  send(agent->peer,
       proto::KillTask{.framework = task.key().framework,
                       .task = task.key().task,
                       .grace = task.ending->kill_grace},
       step);
}

}  // namespace proffer::master
