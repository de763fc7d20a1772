#pragma once

// The tasks that the master knows: live ones until their last update is acknowledged, and a bounded
// number of ended ones. When the bound is reached, the oldest ended task of the framework with the
// most ended tasks is dropped, so a framework does not displace ended tasks of frameworks with
// fewer.

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/indexed_map.h"
#include "common/offers.h"
#include "common/rare.h"
#include "common/resources.h"
#include "common/shared.h"
#include "master/core/gangs.h"
#include "master/core/waits.h"
#include "proto/messages.h"
#include "proto/status.h"
#include "proto/task_state.h"

namespace proffer::master {

struct TaskKey {
  FrameworkId framework = {};
  TaskId task = {};
  auto operator<=>(const TaskKey&) const = default;
  bool operator==(const TaskKey&) const = default;
};
struct TaskKeyHash {
  size_t operator()(const TaskKey& key) const {
    return std::hash<FrameworkId>()(key.framework) * 31 + std::hash<TaskId>()(key.task);
  }
};
// "framework/task".
std::string to_text(const TaskKey& key);

// The task must end by a time, and is killed then.
struct RevokeMark {
  RevokeReason reason = RevokeReason::kReclaimed;
  RoleName beneficiary = {};  // the role that waits for its resources
  Time deadline = {};
  bool operator==(const RevokeMark&) const = default;
};

// The user, or the part of Proffer, that ended the task in place of its scheduler, and the reason
// for people.
struct KillCause {
  proto::TaskReason by = proto::TaskReason::kKilledByScheduler;
  std::string why = {};
  bool operator==(const KillCause&) const = default;
};

// There may be hundreds of thousands of tasks, so a task stores little: the tasks of one ask share
// blocks with their common values, and rare values are in separate blocks.

// The parts of a task's spec that people and schedulers get.
struct TaskText {
  AskName ask = {};
  ExecutorId executor = {};
  std::string command = {};   // shortened
  std::string user = {};      // the user that it runs as
  proto::Labels labels = {};  // sent to its scheduler with each update
  bool operator==(const TaskText&) const = default;
};
struct TaskTextHash {
  size_t operator()(const TaskText& text) const;
};

// The resources that the task takes of its agent.
struct TaskAllotment {
  Resources resources = {};                    // with gpu devices and ports
  std::map<std::string, uint16_t> ports = {};  // by port name
  TaskClaim claim = {};
  bool operator==(const TaskAllotment&) const = default;
};
struct TaskAllotmentHash {
  size_t operator()(const TaskAllotment& allotment) const;
};

struct TaskSpecHash {
  size_t operator()(const proto::TaskSpec& spec) const;
};

// The last report of the task; most of it comes with its end.
struct TaskReport {
  std::string message = {};
  std::optional<int32_t> exit_code = {};
  std::optional<int32_t> signal = {};
  std::optional<proto::TaskUsage> usage = {};
  bool operator==(const TaskReport&) const = default;
};

// An unacknowledged update, without the values that the task has: its ids, its agent, its labels.
// `number`: its place among the updates of all tasks.
struct KeptUpdate {
  // Mostly set for the end of a task.
  struct More {
    TaskReport report = {};
    std::string data = {};
    bool operator==(const More&) const = default;
  };

  uint64_t number = 0;
  uint64_t sequence = 0;
  Time at = {};
  proto::TaskState state = proto::TaskState::kStaging;
  proto::TaskReason reason = proto::TaskReason::kNone;
  proto::UpdateSource source = proto::UpdateSource::kAgent;
  std::optional<bool> healthy = {};
  std::optional<bool> ready = {};
  Rare<More> more = {};
};

// The causes for which a task must end, with their times.
struct TaskEnding {
  KillCause kill_cause = {};
  std::optional<Duration> kill_grace = {};
  // Two causes can exist at the same time; each may be withdrawn separately.
  std::optional<RevokeMark> drained = {};
  std::optional<RevokeMark> reclaimed = {};  // also for lent or estimated resources
  std::optional<RevokeMark> revoke = {};     // the earlier of the two; changed in revoke.cc only
  bool operator==(const TaskEnding&) const = default;
};

struct Task {
  AgentId agent = {};
  proto::TaskState state = proto::TaskState::kStaging;  // changed only by Tasks::move
  proto::TaskReason reason = proto::TaskReason::kNone;
  std::optional<bool> healthy = {};  // as last reported
  std::optional<bool> ready = {};    // as last reported
  bool held = false;                 // its resources are allocated
  bool kill_asked : 1 = false;       // kept while its agent is not connected
  // Launched by this master, and not running yet: its wait continues.
  bool is_starting : 1 = false;
  // Reported by its agent, but neither a ticket nor its scheduler confirms that it was launched. No
  // files are opened for it.
  bool unconfirmed : 1 = false;
  // In addition, no earlier master can have launched it. It is not shown, and not charged to its
  // framework, until its scheduler names it.
  bool hidden : 1 = false;
  Rare<TaskReport> report = {};
  Rare<TaskEnding> ending = {};
  PackedWaits waited = {};  // until its launch; once it has run or ended, until then

  Shared<TaskText> text = {};
  Shared<TaskAllotment> allotment = {};
  // The spec without the id, to send it again, until the agent has reported the task.
  Shared<proto::TaskSpec> spec = {};

  // Updates that its scheduler has not acknowledged, in order of arrival.
  std::vector<KeptUpdate> pending = {};
  uint64_t agent_sequence = 0;  // of the last update from its agent
  uint64_t acknowledged = 0;    // the agent's updates up to this one are acknowledged

  // Until the agent reports a state of the task: the time when the agent got the task, or when it
  // last reported that the task is being started.
  Time awaited_since = {};
  Time launched_at = {};
  Time changed_at = {};

  // Only for a task in the table, which owns the key.
  const TaskKey& key() const { return *key_; }
  const TaskClaim& claim() const { return allotment->claim; }
  bool ended() const { return proto::is_terminal(state); }
  bool awaits_start() const { return agent_sequence == 0 && !ended(); }

 private:
  friend class Tasks;
  const TaskKey* key_ = nullptr;
};

static_assert(sizeof(Task) <= 160);

// Some tasks of the table, in the order of their keys.
class TaskList {
 public:
  // O(tasks): the keys are in one sorted array.
  void insert(Task& task);
  void erase(const Task& task);
  bool contains(const Task& task) const;
  // Whether this framework has a task here that is not hidden. O(log tasks) if none is hidden.
  bool has_of(const FrameworkId& framework) const;

  auto begin() const { return tasks_.begin(); }
  auto end() const { return tasks_.end(); }
  size_t size() const { return tasks_.size(); }

 private:
  std::vector<Task*> tasks_;
};

class Tasks {
 public:
  // `on_started`: called when the start of a task is over, successful or not.
  using OnStarted = std::function<void(const Task&, Time)>;
  explicit Tasks(size_t ended_max = kEndedTasksKept, OnStarted on_started = {})
      : ended_max_(ended_max), on_started_(std::move(on_started)) {}

  Task* find(const TaskKey& key);
  const Task* find(const TaskKey& key) const;
  // The key must not be in the table. An earlier refused launch with this id is forgotten.
  Task& add(const TaskKey& key, Task task);
  // Returns a block with these values, shared with other tasks whose values are equal.
  Shared<TaskText> share(TaskText text) { return texts_.share(std::move(text)); }
  Shared<TaskAllotment> share(TaskAllotment allotment) {
    return allotments_.share(std::move(allotment));
  }
  Shared<proto::TaskSpec> share(proto::TaskSpec spec);
  // Moves the task along the table of states. False, and nothing changes, if the event means
  // nothing in its state.
  bool move(Task& task, proto::TaskEvent event, Time now);
  // Moves the task from the table to the list of ended tasks.
  void end(const Task& task);
  // Removes the task from the table without a trace.
  void forget(const Task& task);
  // Adds a refused launch, which is only in the list of ended tasks.
  void add_refused(proto::TaskRow row);

  // Live tasks of gangs that have failed since the last call.
  std::vector<TaskKey> take_of_failed_gangs() { return std::exchange(of_failed_gangs_, {}); }

  const proto::TaskRow* find_ended(const TaskKey& key) const;
  // Whether a task with this id lives or has ended, so that the id may not be used again. A refused
  // launch does not count.
  bool is_used(const TaskKey& key) const;

  // The tasks of one framework, in order of their ids.
  std::vector<Task*> of(const FrameworkId& framework);
  // Live tasks that have not ended and match as TaskQuery::prefix says, at most `limit`, in order.
  // With a prefix O(frameworks * log tasks + limit).
  std::vector<const Task*> matching(std::string_view prefix, size_t limit) const;
  // The page that the query asks for, without permission checks; the addresses are left empty.
  std::vector<proto::TaskRow> rows(const proto::TaskQuery& query) const;

  int64_t count(proto::TaskState state) const { return counts_[static_cast<size_t>(state)]; }
  int64_t ended() const { return ended_in_all_; }  // without refused launches
  const std::map<TaskKey, Task>& all() const { return live_.map(); }
  size_t ended_kept() const { return ended_.size(); }

 private:
  struct Ended {
    proto::TaskRow row = {};
    uint64_t number = 0;
  };
  void keep(proto::TaskRow row);

  // The ended tasks of one framework, oldest first.
  using EndedOrder = std::map<uint64_t, TaskId>;
  void forget_ended(const TaskKey& key);
  void note_kept(const FrameworkId& framework, size_t before, size_t now);

  size_t ended_max_;
  OnStarted on_started_;
  IndexedMap<TaskKey, Task, TaskKeyHash> live_;
  SharedValues<TaskText, TaskTextHash> texts_;
  SharedValues<TaskAllotment, TaskAllotmentHash> allotments_;
  SharedValues<proto::TaskSpec, TaskSpecHash> specs_;
  Gangs gangs_;
  std::vector<TaskKey> of_failed_gangs_;
  IndexedMap<TaskKey, Ended, TaskKeyHash> ended_;
  std::map<FrameworkId, EndedOrder> ended_order_;
  std::set<std::pair<size_t, FrameworkId>> most_ended_;  // the number kept for each framework
  uint64_t ended_numbers_ = 0;
  int64_t ended_in_all_ = 0;
  std::array<int64_t, proto::kTaskStateCount> counts_{};
};

KeptUpdate kept_of(uint64_t number, proto::TaskStatus status);
// The update as it was before it was kept.
proto::TaskStatus status_of(const KeptUpdate& update, const Task& task);

proto::TaskRow row_of(const Task& task);

}  // namespace proffer::master
