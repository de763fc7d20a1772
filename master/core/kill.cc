// A task is to end: because its scheduler says so (on_kill) or an operator (on_operator_kill). The
// answer is the task's own updates; a kill waits for an agent that is away.

#include "common/text.h"
#include "master/core/state.h"

namespace proffer::master {
namespace {

constexpr Duration kGraceMax = hours(24 * 365 * 10);
constexpr size_t kCandidatesShown = 5;

std::optional<Duration> bounded(std::optional<Duration> grace) {
  if (!grace) return std::nullopt;
  return std::clamp(*grace, Duration(), kGraceMax);
}

}  // namespace

void Master::State::on_kill(Framework& framework, const proto::KillTask& message, Step& step) {
  Task* task = tasks_.find({framework.id(), message.task});
  // One that has ended, or that nobody knows: the truth is the answer.
  if (task == nullptr || task->ended()) {
    tell_truth(framework, message.task, step);
    const auto waits = framework.waiting.find(message.task);
    if (waits != framework.waiting.end()) waits->second = KillWish{bounded(message.grace)};
    return;
  }
  kill(*task, bounded(message.grace), false, step);
}

void Master::State::on_operator_kill(const OperatorKill& message, Step& step) {
  const auto answer = [&](Result<std::string> result) {
    step.out.actions.emplace_back(Answer{message.call, std::move(result)});
  };
  if (message.task.empty()) {
    return answer(Error::invalid_argument("a task is named by FRAMEWORK/TASK or a unique prefix"));
  }
  const std::vector<const Task*> found = tasks_.matching(message.task, kCandidatesShown + 1);
  if (found.empty()) {
    return answer(Error::not_found(text("no running task matches ", quoted(message.task)))
                      .with_hint("proffer tasks lists those that run"));
  }
  // The whole of a name is meant even if others begin with it.
  std::vector<Task*> exact;
  if (Task* named = find_by_whole_name(message.task)) exact.push_back(named);
  if (exact.empty() && found.size() > 1) {
    std::string candidates;
    for (size_t i = 0; i < found.size() && i < kCandidatesShown; ++i) {
      candidates += text(i == 0 ? "" : ", ", to_text(found[i]->key));
    }
    return answer(
        Error::invalid_argument(text(quoted(message.task), " matches several tasks: ", candidates,
                                     found.size() > kCandidatesShown ? ", …" : ""))
            .with_hint("give more of the name"));
  }
  Task& task = exact.empty() ? *tasks_.find(found.front()->key) : *exact.front();
  kill(task, bounded(message.grace), true, step);
  answer(std::string());
}

// By "framework/task", or by the id of a task that only one framework has.
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

void Master::State::kill(Task& task, std::optional<Duration> grace, bool by_operator, Step& step) {
  task.kill_asked = true;
  task.kill_by_operator = task.kill_by_operator || by_operator;
  task.kill_grace = grace;
  tasks_.move(task, proto::TaskEvent::kKillAsked, step.now);
  step.trace(TraceLevel::kShortLived, "task to be killed",
             {{"framework", task.key.framework.str()},
              {"task", task.key.task.str()},
              {"agent", task.agent.str()},
              {"by", by_operator ? "operator" : "scheduler"}});
  send_kill(task, step);
}

void Master::State::send_kill(const Task& task, Step& step) {
  const Agent* agent = agents_.find(task.agent);
  if (agent == nullptr || !agent->connected()) return;  // Told when it is back.
  send(agent->peer,
       proto::KillTask{
           .framework = task.key.framework, .task = task.key.task, .grace = task.kill_grace},
       step);
}

}  // namespace proffer::master
