#pragma once

// What really ran: kept by the simulated machines, which know nothing of masters and schedulers,
// and compared with what schedulers launched and what they were told (DESIGN §10: 2, 3, 4, 7).

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
  kKilled,     // because its executor was asked to
  kTakenDown,  // with its executor: killed, crashed, or the machine went down
  kReported,   // as an executor of an author's own says: JournalEntry::reported
};

struct JournalEntry {
  AgentId machine = {};
  Resources resources = {};
  Time started = {};
  uint64_t losses = 0;  // of its agent's memory, before it started
  Ending ending = Ending::kRuns;
  int32_t exit_code = 0;
  int32_t signal = 0;
  proto::TaskState reported = {};
  bool witnessed = true;   // its executor lived until the agent knew its end
  bool forgotten = false;  // its agent's disk was damaged: it runs, or ran, unseen
};

class Journal {
 public:
  // --- the machines write ----------------------------------------------------------------------
  void machine(const AgentId& machine, const Resources& total) { totals_[machine] = total; }
  std::vector<Violation> started(const TaskKey& task, const AgentId& machine,
                                 const Resources& resources, Time now);
  void ended(const TaskKey& task, Ending ending, int32_t exit_code, int32_t signal);
  // In an executor of an author's own, which alone knows what its tasks are.
  void reported(const TaskKey& task, const proto::TaskStatus& status);
  // Its executor ended otherwise than by itself: what it knew may be lost.
  void unwitnessed(const TaskKey& task);
  // The machine lost its power, and with it what its agent had not synced, or the agent's
  // checkpoint was damaged: what is gone may be the end of any task that ran there before. So it
  // may be told as lost; also to another life of a scheduler of which an earlier one heard how it
  // ended, and did not live to acknowledge that.
  void memory_lost(const AgentId& machine);
  // Its agent's checkpoint was damaged, and nothing that is left of it names the task's executor.
  // The agent may give what the task takes to another, until the executor finds out.
  void forgotten(const TaskKey& task);

  // The registry names it no more: its agent stayed away for too long, or left. What it runs is
  // killed when it is back; until then nobody can know, and a master that begins later does not
  // even know on which machine a task was.
  void given_up(const AgentId& machine) { given_up_[machine] = ++times_given_up_; }
  // By an operator, though it comes back.
  void declared_gone(const AgentId& machine) { declared_gone_.insert(machine); }

  // --- the schedulers' side writes -------------------------------------------------------------
  // A task that was refused never began: its id may be launched again.
  void accepted(const TaskKey& task);
  // A terminal update, each time it is heard.
  std::vector<Violation> heard(const FrameworkId& framework, const proto::TaskStatus& status);
  // The framework was torn down: nobody hears of its tasks any more.
  void torn_down(const FrameworkId& framework) { torn_down_.insert(framework); }

  // --- when all is done ------------------------------------------------------------------------
  // Tasks that run, and tasks whose end nobody was told.
  std::vector<Violation> unsettled() const;

  const std::map<TaskKey, JournalEntry>& entries() const { return entries_; }
  // Its agent lost memory after it started, and with it maybe all that it knew of the task.
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
  // With how often machines had been given up before.
  std::map<TaskKey, uint64_t> accepted_;
  std::map<AgentId, uint64_t> memory_losses_;
  std::set<AgentId> declared_gone_;
  uint64_t times_given_up_ = 0;
  std::map<AgentId, uint64_t> given_up_;  // the last time that it was, counted over all machines
  std::map<TaskKey, proto::TaskStatus> heard_;
  std::set<FrameworkId> torn_down_;
};

}  // namespace proffer::sim
