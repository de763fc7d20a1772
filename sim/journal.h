#pragma once

// The tasks that really ran. Simulated machines write it without knowledge of masters and
// schedulers; it is compared with the launches of schedulers and the updates that they received
// (DESIGN §10: 2, 3, 4, 7).

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/resources.h"
#include "common/time.h"
#include "proto/messages.h"

namespace proffer::sim {

using TaskKey = std::pair<FrameworkId, TaskId>;
std::string to_text(const TaskKey& key);

// How a task's process ended.
enum class Ending : uint8_t {
  kRuns,
  kExited,
  kSignalled,
  kKilled,     // because its executor had to end it
  kTakenDown,  // with its executor: it was killed, it crashed, or the machine went down
  kReported,   // as reported by an author's own executor: JournalEntry::reported
};

struct JournalEntry {
  AgentId machine = {};
  Resources resources = {};
  Time started = {};
  uint64_t losses = 0;  // of its agent's memory, before the task started
  Ending ending = Ending::kRuns;
  int32_t exit_code = 0;
  int32_t signal = 0;
  proto::TaskState reported = {};
  bool witnessed = true;   // its executor lived until the agent knew the task's end
  bool forgotten = false;  // its agent's disk was damaged: unknown to the agent
};

class Journal {
 public:
  // --- written by machines ----------------------------------------------------------------------
  void machine(const AgentId& machine, const Resources& total) { totals_[machine] = total; }
  std::vector<Violation> started(const TaskKey& task, const AgentId& machine,
                                 const Resources& resources, Time now);
  void ended(const TaskKey& task, Ending ending, int32_t exit_code, int32_t signal);
  // For an author's own executor, which alone knows the states of its tasks.
  void reported(const TaskKey& task, const proto::TaskStatus& status);
  // Its executor did not end by itself, so its knowledge may be lost.
  void unwitnessed(const TaskKey& task);
  // The machine lost its power and with it the agent's unsynced writes, or the agent's checkpoint
  // was damaged. The end of any earlier task on it may be lost, so the task may be reported as
  // lost, even to a life of a scheduler whose earlier life received the real end and ended before
  // it acknowledged it.
  void memory_lost(const AgentId& machine);
  // Its agent's checkpoint was damaged, and its rest does not name the task's executor. The agent
  // may give the task's resources to another task, until the executor finds out.
  void forgotten(const TaskKey& task);

  // The agent is no longer in the registry: it stayed away for too long, or left. Its tasks are
  // killed when it comes back. Until then they are unknown; a later master does not even know on
  // which machine a task was.
  void given_up(const AgentId& machine) { given_up_[machine] = ++times_given_up_; }
  // Declared gone by an operator, though it comes back.
  void declared_gone(const AgentId& machine) { declared_gone_.insert(machine); }

  // --- written on the side of schedulers --------------------------------------------------------
  // A refused task never began: its id may be launched again.
  void accepted(const TaskKey& task);
  // A terminal update; called each time that it is received.
  std::vector<Violation> heard(const FrameworkId& framework, const proto::TaskStatus& status);
  // The framework was torn down, so its tasks are no longer reported.
  void torn_down(const FrameworkId& framework) { torn_down_.insert(framework); }

  // --- at the end of a run ----------------------------------------------------------------------
  // Tasks that run, and tasks whose end was not reported.
  std::vector<Violation> unsettled() const;

  const std::map<TaskKey, JournalEntry>& entries() const { return entries_; }
  // Its agent lost memory after the task started, and so perhaps all knowledge of the task.
  bool may_be_forgotten(const TaskKey& task) const;
  bool was_accepted(const TaskKey& task) const { return accepted_.contains(task); }
  size_t accepted() const { return accepted_.size(); }
  size_t running() const { return running_.size(); }

 private:
  bool is_true(const TaskKey& task, const proto::TaskStatus& told, const JournalEntry& entry) const;
  bool was_given_up_with(const TaskKey& task, const AgentId& machine) const;

  std::map<AgentId, Resources> totals_;
  std::map<TaskKey, JournalEntry> entries_;
  std::set<TaskKey> running_;
  std::map<AgentId, ResourceVector> used_;
  std::map<AgentId, PortSet> ports_;
  // Accepted tasks, with the number of machines that had been given up before.
  std::map<TaskKey, uint64_t> accepted_;
  std::map<AgentId, uint64_t> memory_losses_;
  std::set<AgentId> declared_gone_;
  uint64_t times_given_up_ = 0;
  std::map<AgentId, uint64_t> given_up_;  // the last time, counted over all machines
  std::map<TaskKey, proto::TaskStatus> heard_;
  std::set<FrameworkId> torn_down_;
};

}  // namespace proffer::sim
