#include "sdk/core/task_questions.h"

#include <utility>

namespace proffer::sdk {

void TaskQuestions::begin(const KnownTasks& tasks, bool took_over) {
  for (const auto& [id, task] : tasks.live()) next_.try_emplace(id);
  for (const TaskId& task : unanswered_) next_.try_emplace(task);
  took_over_ = took_over_ || took_over;
  is_all_next_ = is_all_next_ || took_over_;
  asked_ = answered_ = 0;
  missing_agents_ = 0;
  is_asked_again_ = is_known_ = false;
}

std::vector<proto::Reconcile> TaskQuestions::take(const KnownTasks& tasks, size_t unknown_max) {
  std::vector<proto::Reconcile> questions;
  if (std::exchange(is_all_next_, false)) questions.emplace_back();
  proto::Reconcile part;
  bool names_agents = false;
  const auto ask = [&] {
    if (!std::exchange(names_agents, false)) part.agents.clear();
    questions.push_back(std::exchange(part, {}));
  };
  for (const auto& [task, told] : std::exchange(next_, {})) {
    const auto live = tasks.live().find(task);
    part.tasks.push_back(task);
    part.agents.push_back(live == tasks.live().end() ? told : live->second.agent);
    names_agents = names_agents || !part.agents.back().empty();
    if (tasks.is_live(task) || unanswered_.size() < unknown_max + tasks.live().size()) {
      unanswered_.insert(task);
    }
    if (part.tasks.size() == kTasksPerMessageMax) ask();
  }
  if (!part.tasks.empty()) ask();
  asked_ += questions.size();
  return questions;
}

void TaskQuestions::answered(uint32_t missing_agents) {
  // The message that no agent is missing any more does not answer a question.
  if (answered_ < asked_) ++answered_;
  missing_agents_ = missing_agents;
  if (missing_agents_ > 0 || answered_ < asked_ || std::exchange(is_asked_again_, true)) return;
  // The master drops some questions if too many wait for agents.
  for (const TaskId& task : unanswered_) next_.try_emplace(task);
}

bool TaskQuestions::becomes_known() {
  if (is_known_ || missing_agents_ > 0 || answered_ < asked_) return false;
  is_known_ = true;
  return true;
}

}  // namespace proffer::sdk
