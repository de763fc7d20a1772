#pragma once

// The tasks that the master knows: live ones until their last update is acknowledged, and the last
// so many that ended; when those are too many, the oldest of the framework that has most of them
// goes, so that no framework's tasks drive out those of another that has fewer.

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

// It is to end by a time, and is killed then.
struct RevokeMark {
  RevokeReason reason = RevokeReason::kReclaimed;
  RoleName beneficiary = {};  // that waits for what it holds
  Time deadline = {};
  bool operator==(const RevokeMark&) const = default;
};

// The user or part of Proffer that wants its end, if not its scheduler, and why, for people.
struct KillCause {
  proto::TaskReason by = proto::TaskReason::kKilledByScheduler;
  std::string why = {};
  bool operator==(const KillCause&) const = default;
};

// There may be hundreds of thousands of tasks, so each keeps as little as it can: tasks of one ask
// share blocks for their common values, and rare values have blocks of their own.

// What the spec of a task says to people and schedulers.
struct TaskText {
  AskName ask = {};
  ExecutorId executor = {};
  std::string command = {};   // cut
  std::string user = {};      // that it runs as
  proto::Labels labels = {};  // each update to its scheduler gets them
  bool operator==(const TaskText&) const = default;
};
struct TaskTextHash {
  size_t operator()(const TaskText& text) const;
};

// What it takes of its agent.
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

// What was told last of how it is; most of it comes with its end.
struct TaskReport {
  std::string message = {};
  std::optional<int32_t> exit_code = {};
  std::optional<int32_t> signal = {};
  std::optional<proto::TaskUsage> usage = {};
  bool operator==(const TaskReport&) const = default;
};

// An update that waits for its acknowledgement, without what is known of its task: its ids, its
// agent, its labels. `number` is its place among those of all tasks.
struct KeptUpdate {
  // Mostly of an end.
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

// The causes for which it is to end, and the times.
struct TaskEnding {
  KillCause kill_cause = {};
  std::optional<Duration> kill_grace = {};
  // It has to go for one of two causes, or for both: each may be taken back without the other.
  std::optional<RevokeMark> drained = {};
  std::optional<RevokeMark> reclaimed = {};  // or lent, or an estimate
  std::optional<RevokeMark> revoke = {};     // the earlier of the two; changed in revoke.cc only
  bool operator==(const TaskEnding&) const = default;
};

struct Task {
  AgentId agent = {};
  proto::TaskState state = proto::TaskState::kStaging;  // changed by Tasks::move only
  proto::TaskReason reason = proto::TaskReason::kNone;
  std::optional<bool> healthy = {};  // as its agent told it last
  std::optional<bool> ready = {};    // as its agent told it last
  bool held = false;                 // its resources are allocated
  bool kill_asked : 1 = false;       // kept while its agent is away
  // It was launched by this master and has not run yet: its wait goes on.
  bool is_starting : 1 = false;
  // Its agent told it, and neither a ticket nor its scheduler says that it was launched: it opens
  // no files.
  bool unconfirmed : 1 = false;
  // Nor can an older master have launched it: until its scheduler names it, nobody hears of it, and
  // its framework is not charged with it.
  bool hidden : 1 = false;
  Rare<TaskReport> report = {};
  Rare<TaskEnding> ending = {};
  PackedWaits waited = {};  // until its launch; once it has run or ended, until then

  Shared<TaskText> text = {};
  Shared<TaskAllotment> allotment = {};
  // To send it again, until its agent has said anything of it; without its id.
  Shared<proto::TaskSpec> spec = {};

  // Updates that its scheduler has not acknowledged, in the order in which they came.
  std::vector<KeptUpdate> pending = {};
  uint64_t agent_sequence = 0;  // of the last update that its agent told
  uint64_t acknowledged = 0;    // the agent's updates, up to this one

  // Until its agent tells the first of its states: since when it was given to the agent, or the
  // agent said last that it is being started.
  Time awaited_since = {};
  Time launched_at = {};
  Time changed_at = {};

  // Once it is in the table of tasks, which keeps its key.
  const TaskKey& key() const { return *key_; }
  const TaskClaim& claim() const { return allotment->claim; }
  bool ended() const { return proto::is_terminal(state); }
  bool awaits_start() const { return agent_sequence == 0 && !ended(); }

 private:
  friend class Tasks;
  const TaskKey* key_ = nullptr;
};

static_assert(sizeof(Task) <= 160);

// Some tasks of the table, in order of their keys.
class TaskList {
 public:
  // O(tasks): they are kept side by side.
  void insert(Task& task);
  void erase(const Task& task);
  bool contains(const Task& task) const;
  // Whether there is one of this framework that is not hidden. O(log tasks) if none is hidden.
  bool has_of(const FrameworkId& framework) const;

  auto begin() const { return tasks_.begin(); }
  auto end() const { return tasks_.end(); }
  size_t size() const { return tasks_.size(); }

 private:
  std::vector<Task*> tasks_;
};

class Tasks {
 public:
  // `on_started`: called when the start of a task is over, whatever became of it.
  using OnStarted = std::function<void(const Task&, Time)>;
  explicit Tasks(size_t ended_max = kEndedTasksKept, OnStarted on_started = {})
      : ended_max_(ended_max), on_started_(std::move(on_started)) {}

  Task* find(const TaskKey& key);
  const Task* find(const TaskKey& key) const;
  // The key must not be in the table. A refused launch of the same id before is forgotten.
  Task& add(const TaskKey& key, Task task);
  // The same values, in blocks that other tasks have too if theirs are equal.
  Shared<TaskText> share(TaskText text) { return texts_.share(std::move(text)); }
  Shared<TaskAllotment> share(TaskAllotment allotment) {
    return allotments_.share(std::move(allotment));
  }
  Shared<proto::TaskSpec> share(proto::TaskSpec spec);
  // Along the table of states; false, and nothing changes, if the event means nothing in its state.
  bool move(Task& task, proto::TaskEvent event, Time now);
  // Out of the table and into the list of those that ended.
  void end(const Task& task);
  // Out of the table, as if it had never been there.
  void forget(const Task& task);
  // A launch that was refused is only ever in the list of those that ended.
  void add_refused(proto::TaskRow row);

  // Live tasks of gangs that can never be whole any more, since it was last asked.
  std::vector<TaskKey> take_of_failed_gangs() { return std::exchange(of_failed_gangs_, {}); }

  const proto::TaskRow* find_ended(const TaskKey& key) const;
  // Whether this id was used and may not be used again: it lives or ended. A refused one never
  // began.
  bool is_used(const TaskKey& key) const;

  // The tasks of one framework, in order of their ids.
  std::vector<Task*> of(const FrameworkId& framework);
  // Live tasks that have not ended and match as TaskQuery::prefix says, at most `limit`, in order.
  // With a prefix O(frameworks * log tasks + limit).
  std::vector<const Task*> matching(std::string_view prefix, size_t limit) const;
  // The page that the query asks for; the addresses are left empty. For eyes that may see all.
  std::vector<proto::TaskRow> rows(const proto::TaskQuery& query) const;

  int64_t count(proto::TaskState state) const { return counts_[static_cast<size_t>(state)]; }
  int64_t ended() const { return ended_in_all_; }  // no refused launches
  const std::map<TaskKey, Task>& all() const { return live_.map(); }
  size_t ended_kept() const { return ended_.size(); }

 private:
  struct Ended {
    proto::TaskRow row = {};
    uint64_t number = 0;
  };
  void keep(proto::TaskRow row);

  // Of one framework, the oldest first.
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
  std::set<std::pair<size_t, FrameworkId>> most_ended_;  // by how many are kept of each
  uint64_t ended_numbers_ = 0;
  int64_t ended_in_all_ = 0;
  std::array<int64_t, proto::kTaskStateCount> counts_{};
};

KeptUpdate kept_of(uint64_t number, proto::TaskStatus status);
// As it was before it was kept.
proto::TaskStatus status_of(const KeptUpdate& update, const Task& task);

proto::TaskRow row_of(const Task& task);

}  // namespace proffer::master
