#pragma once

// The driver's questions to the master about tasks. It also decides when the answers of this
// session are complete. Pure.

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "proto/messages.h"
#include "sdk/core/known_tasks.h"

namespace proffer::sdk {

class TaskQuestions {
 public:
  // The next take() asks about this task, or about all tasks of the framework. `agent`: where its
  // author believes it to run.
  void add(const TaskId& task, const AgentId& agent = {}) { next_[task] = agent; }
  void add_all() { is_all_next_ = true; }
  size_t waiting() const { return next_.size(); }

  // A session begins. Live tasks, and questions without an answer, are asked (again). `took_over`:
  // the master may know tasks that the driver does not, so this session and later ones ask for all.
  void begin(const KnownTasks& tasks, bool took_over);
  // The messages to send now. They ask about live tasks and at most `unknown_max` others.
  std::vector<proto::Reconcile> take(const KnownTasks& tasks, size_t unknown_max);
  // An update reports the state of this task.
  void heard(const TaskId& task) { unanswered_.erase(task); }
  // The master has answered one more message. `missing_agents`: agents that it still waits for.
  void answered(uint32_t missing_agents);
  // True once in a session: each question is answered, and no agent is missing.
  bool becomes_known();
  // becomes_known() was true in this session.
  bool is_known() const { return is_known_; }

 private:
  std::map<TaskId, AgentId> next_ = {};  // with the agent that its author gave
  bool is_all_next_ = false;
  std::set<TaskId> unanswered_ = {};
  bool took_over_ = false;
  // Counts of this session.
  uint64_t asked_ = 0;     // messages sent
  uint64_t answered_ = 0;  // messages answered
  uint32_t missing_agents_ = 0;
  bool is_asked_again_ = false;
  bool is_known_ = false;
};

}  // namespace proffer::sdk
