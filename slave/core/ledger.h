#pragma once

// The durable part of the agent: its identity, the executors that may be alive, the tasks and the
// updates that are not acknowledged. Changed by records only, live and in replay.

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

// Of the updates of one task that wait for acknowledgement, all together; a registration must fit
// its frame.
inline constexpr size_t kUnacknowledgedBytesMax = 256 * 1024;

struct TaskEntry {
  proto::TaskRecord record = {};
  proto::TaskState state = proto::TaskState::kStaging;  // of the last update
  uint64_t sequence = 0;                                // of the last update
  uint64_t executor_sequence = 0;                       // of the executor's last one among them
  std::optional<bool> healthy = {};                     // as last told
  std::optional<bool> ready = {};                       // as last told
  Time started_at = {};                                 // of its first update `running`
  std::vector<proto::TaskStatus> unacknowledged = {};
  size_t unacknowledged_bytes = 0;
  // A later task was given its ports or devices, so it had ended: the record of that is missing.
  bool is_over = false;

  bool is_live() const { return !proto::is_terminal(state); }
  // Whether an update that does not end the task may wait too. One that does always may.
  bool has_room_for(const proto::TaskStatus& status) const;
  bool operator==(const TaskEntry&) const = default;
};

class Ledger {
 public:
  // Records about tasks that are not known mean nothing: a log may repeat what a crash left
  // doubtful.
  void apply(const proto::CheckpointRecord& record);
  // Records that make an equal ledger; nothing superseded is among them. O(size).
  std::vector<proto::CheckpointRecord> records() const;

  const std::optional<proto::AgentIdentity>& identity() const { return identity_; }
  const std::map<ExecutorKey, proto::ExecutorRecord>& executors() const { return executors_; }
  const std::map<TaskKey, TaskEntry>& tasks() const { return tasks_; }
  const TaskEntry* find(const TaskKey& key) const;
  // The highest run that was ever begun.
  uint64_t last_run() const { return last_run_.run; }
  // What the live tasks take together.
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
  proto::ExecutorRecord last_run_;  // the executor may be gone
  Resources used_;
  size_t live_tasks_ = 0;
  size_t unacknowledged_ = 0;
};

// What an update takes of a frame, roughly and rather too much.
size_t weight_of(const proto::TaskStatus& status);

}  // namespace proffer::agent
