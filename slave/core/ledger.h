#pragma once

// The durable state of the agent: its identity, the executors that may be alive, the tasks, and the
// unacknowledged updates. Only records change it, live and in replay.

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "common/resources.h"
#include "proto/records.h"

namespace proffer::agent {

using TaskKey = std::pair<FrameworkId, TaskId>;
using ExecutorKey = std::pair<FrameworkId, ExecutorId>;
struct ExecutorKeyHash {
  size_t operator()(const ExecutorKey& key) const {
    return std::hash<FrameworkId>()(key.first) * 31 + std::hash<ExecutorId>()(key.second);
  }
};

// Maximum size of the unacknowledged updates of one task, since a registration must fit its frame.
inline constexpr size_t kUnacknowledgedBytesMax = 256 * 1024;

struct TaskEntry {
  proto::TaskRecord record = {};
  proto::TaskState state = proto::TaskState::kStaging;  // of the last update
  uint64_t sequence = 0;                                // of the last update
  uint64_t executor_sequence = 0;                       // of the executor's last update in it
  std::optional<bool> healthy = {};                     // as last reported
  std::optional<bool> ready = {};                       // as last reported
  Time started_at = {};                                 // of the first update `running`
  std::vector<proto::TaskStatus> unacknowledged = {};
  size_t unacknowledged_bytes = 0;
  // A later task got its ports or devices, so this task has ended, but the record of its end is
  // missing.
  bool is_over = false;

  bool is_live() const { return !proto::is_terminal(state); }
  // Whether an update that does not end the task may be kept. An end is always kept.
  bool has_room_for(const proto::TaskStatus& status) const;
  bool operator==(const TaskEntry&) const = default;
};

class Ledger {
 public:
  // Records of unknown tasks are ignored, since a log may repeat records after a crash.
  void apply(const proto::CheckpointRecord& record);
  // The shortest list of records that makes an equal ledger. O(size).
  std::vector<proto::CheckpointRecord> records() const;

  const std::optional<proto::AgentIdentity>& identity() const { return identity_; }
  const std::map<ExecutorKey, proto::ExecutorRecord>& executors() const { return executors_; }
  const std::map<TaskKey, TaskEntry>& tasks() const { return tasks_; }
  const TaskEntry* find(const TaskKey& key) const;
  // The highest run that ever began.
  uint64_t last_run() const { return last_run_.run; }
  // The sum of the resources of all live tasks.
  const Resources& used() const { return used_; }
  size_t live_tasks() const { return live_tasks_; }
  size_t unacknowledged() const { return unacknowledged_; }

  bool operator==(const Ledger&) const = default;
  std::vector<Violation> violations() const;

 private:
  void apply_one(const proto::AgentIdentity& identity);
  void apply_one(const proto::ExecutorRecord& executor);
  void apply_one(const proto::ExecutorGone& gone);
  void apply_one(const proto::TaskRecord& task);
  void make_way_for(const Resources& resources);
  void apply_one(const proto::UpdateRecord& update);
  void apply_one(const proto::AcknowledgedRecord& acknowledged);

  std::optional<proto::AgentIdentity> identity_;
  std::map<ExecutorKey, proto::ExecutorRecord> executors_;
  std::map<TaskKey, TaskEntry> tasks_;
  proto::ExecutorRecord last_run_;  // the executor may have ended
  Resources used_;
  size_t live_tasks_ = 0;
  size_t unacknowledged_ = 0;
};

// The size of an update in a frame, estimated high.
size_t weight_of(const proto::TaskStatus& status);

}  // namespace proffer::agent
