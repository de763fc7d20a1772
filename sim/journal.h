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
};

struct JournalEntry {
  AgentId machine = {};
  Resources resources = {};
  Time started = {};
  Ending ending = Ending::kRuns;
  int32_t exit_code = 0;
  int32_t signal = 0;
  bool witnessed = true;  // its executor lived until the agent knew its end
};

class Journal {
 public:
  // --- the machines write ----------------------------------------------------------------------
  void machine(const AgentId& machine, const Resources& total) { totals_[machine] = total; }
  std::vector<Violation> started(const TaskKey& task, const AgentId& machine,
                                 const Resources& resources, Time now);
  void ended(const TaskKey& task, Ending ending, int32_t exit_code, int32_t signal);
  // Its executor ended otherwise than by itself: what it knew may be lost.
  void unwitnessed(const TaskKey& task);

  // --- the schedulers' side writes -------------------------------------------------------------
  void accepted(const TaskKey& task) { accepted_.insert(task); }
  // A terminal update, each time it is heard.
  std::vector<Violation> heard(const FrameworkId& framework, const proto::TaskStatus& status);
  // The framework was torn down: nobody hears of its tasks any more.
  void torn_down(const FrameworkId& framework) { torn_down_.insert(framework); }

  // --- when all is done ------------------------------------------------------------------------
  // Tasks that run, and tasks whose end nobody was told.
  std::vector<Violation> unsettled() const;

  const std::map<TaskKey, JournalEntry>& entries() const { return entries_; }
  size_t accepted() const { return accepted_.size(); }
  size_t running() const { return running_.size(); }

 private:
  std::map<AgentId, Resources> totals_;
  std::map<TaskKey, JournalEntry> entries_;
  std::set<TaskKey> running_;
  std::map<AgentId, ResourceVector> used_;
  std::map<AgentId, PortSet> ports_;
  std::set<TaskKey> accepted_;
  std::map<TaskKey, proto::TaskStatus> heard_;
  std::set<FrameworkId> torn_down_;
};

}  // namespace proffer::sim
