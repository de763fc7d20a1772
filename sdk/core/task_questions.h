#pragma once

// What a scheduler's driver asks the master about tasks, and whether the answers say all that there
// is to know in this session. Pure.

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "proto/messages.h"
#include "sdk/core/known_tasks.h"

namespace proffer::sdk {

class TaskQuestions {
 public:
  // To be asked with the next take(): one task, or all of the framework.
  // `agent`: on which its author knows it to be.
  void add(const TaskId& task, const AgentId& agent = {}) { next_[task] = agent; }
  void add_all() { is_all_next_ = true; }
  size_t waiting() const { return next_.size(); }

  // A session begins: what lives and what was not answered is asked (again). `took_over`: there may
  // be tasks that only the master knows, so all are asked in this session and in later ones.
  void begin(const KnownTasks& tasks, bool took_over);
  // What to send now. Answers are waited for of living tasks and of at most `unknown_max` others.
  std::vector<proto::Reconcile> take(const KnownTasks& tasks, size_t unknown_max);
  // An update says how this task is.
  void heard(const TaskId& task) { unanswered_.erase(task); }
  // The master has answered one more message; so many agents it has not heard of.
  void answered(uint32_t missing_agents);
  // True once in a session: each question is answered, and no agent is missing.
  bool becomes_known();
  // becomes_known() was true in this session.
  bool is_known() const { return is_known_; }

 private:
  std::map<TaskId, AgentId> next_ = {};  // with what its author says
  bool is_all_next_ = false;
  std::set<TaskId> unanswered_ = {};
  bool took_over_ = false;
  // Of this session.
  uint64_t asked_ = 0;     // messages
  uint64_t answered_ = 0;  // of them
  uint32_t missing_agents_ = 0;
  bool is_asked_again_ = false;
  bool is_known_ = false;
};

}  // namespace proffer::sdk
