// How records change the durable state. The log has the order of events. Ledger::records() lists
// ended tasks first, so that ports and devices are free before a live task takes them.

#include "slave/core/ledger.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/text.h"
#include "slave/core/agent.h"

namespace proffer::agent {

size_t weight_of(const proto::TaskStatus& status) {
  constexpr size_t kFixed = 512;  // ids, numbers and the list's pointers
  return kFixed + std::min(status.message.size(), kReasonTextBytesMax) + status.data.size();
}

bool TaskEntry::has_room_for(const proto::TaskStatus& status) const {
  return unacknowledged.size() + 1 < kUpdatesPerTaskMax &&
         unacknowledged_bytes + weight_of(status) <= kUnacknowledgedBytesMax;
}

const TaskEntry* Ledger::find(const TaskKey& key) const {
  const auto at = tasks_.find(key);
  return at == tasks_.end() ? nullptr : &at->second;
}

void Ledger::apply(const proto::CheckpointRecord& record) {
  std::visit([this](const auto& one) { apply_one(one); }, record);
}

void Ledger::apply_one(const proto::AgentIdentity& identity) {
  identity_ = identity;
  identity_->records = 0;  // The count is valid for one log only.
}

void Ledger::apply_one(const proto::ExecutorRecord& executor) {
  executors_[{executor.framework, executor.executor}] = executor;
  if (executor.run > last_run_.run) last_run_ = executor;
}

void Ledger::apply_one(const proto::ExecutorGone& gone) {
  executors_.erase({gone.framework, gone.executor});
}

void Ledger::apply_one(const proto::TaskRecord& task) {
  const auto [at, added] = tasks_.try_emplace({task.framework, task.spec.id});
  if (!added) {
    at->second.record.run = std::max(at->second.record.run, task.run);
    return;
  }
  make_way_for(task.assignment.resources);
  at->second.record = task;
  used_ += task.assignment.resources;
  ++live_tasks_;
}

// A port or device belongs to one task at a time. O(tasks) only if the log has gaps.
void Ledger::make_way_for(const Resources& resources) {
  const auto has_room = [&] {
    return !used_.ports.intersects(resources.ports) &&
           std::all_of(resources.gpus.begin(), resources.gpus.end(), [&](const GpuDevice& device) {
             const auto at =
                 std::find_if(used_.gpus.begin(), used_.gpus.end(),
                              [&](const auto& one) { return one.index == device.index; });
             return at == used_.gpus.end() || at->milli + device.milli <= kWholeDevice;
           });
  };
  if (has_room()) return;
  std::map<uint64_t, std::vector<TaskEntry*>> by_run;
  for (auto& [key, task] : tasks_) {
    if (task.is_live() && !task.is_over) by_run[task.record.run].push_back(&task);
  }
  const auto shares_any = [&](const Resources& other) {
    return other.ports.intersects(resources.ports) ||
           std::any_of(other.gpus.begin(), other.gpus.end(), [&](const GpuDevice& device) {
             return std::any_of(resources.gpus.begin(), resources.gpus.end(),
                                [&](const auto& one) { return one.index == device.index; });
           });
  };
  for (const auto& [run, tasks] : by_run) {
    for (TaskEntry* task : tasks) {
      if (has_room()) return;
      if (!shares_any(task->record.assignment.resources)) continue;
      used_ -= task->record.assignment.resources;
      task->is_over = true;
    }
  }
}

void Ledger::apply_one(const proto::UpdateRecord& update) {
  const auto at = tasks_.find({update.framework, update.status.task});
  if (at == tasks_.end()) return;
  TaskEntry& task = at->second;
  if (update.status.sequence <= task.sequence) return;
  if (task.is_live() && proto::is_terminal(update.status.state)) {
    if (!task.is_over) used_ -= task.record.assignment.resources;
    --live_tasks_;
  }
  task.state = update.status.state;
  task.sequence = update.status.sequence;
  task.executor_sequence = std::max(task.executor_sequence, update.executor_sequence);
  if (update.status.state == proto::TaskState::kRunning && task.started_at == Time()) {
    task.started_at = update.status.at;
  }
  if (update.status.healthy) task.healthy = update.status.healthy;
  if (update.status.ready) task.ready = update.status.ready;
  task.unacknowledged.push_back(update.status);
  task.unacknowledged_bytes += weight_of(update.status);
  ++unacknowledged_;
}

void Ledger::apply_one(const proto::AcknowledgedRecord& acknowledged) {
  const auto at = tasks_.find({acknowledged.framework, acknowledged.task});
  if (at == tasks_.end()) return;
  TaskEntry& task = at->second;
  const auto first = task.unacknowledged.begin();
  auto last = first;
  for (; last != task.unacknowledged.end() && last->sequence <= acknowledged.sequence; ++last) {
    task.unacknowledged_bytes -= weight_of(*last);
    --unacknowledged_;
  }
  task.unacknowledged.erase(first, last);
  if (!task.is_live() && task.unacknowledged.empty()) tasks_.erase(at);
}

std::vector<proto::CheckpointRecord> Ledger::records() const {
  std::vector<proto::CheckpointRecord> records;
  if (identity_) records.push_back(*identity_);
  // Run numbers only increase, even if the executor with the highest was forgotten.
  if (last_run_.run > 0) {
    records.push_back(last_run_);
    records.push_back(proto::ExecutorGone{last_run_.framework, last_run_.executor});
  }
  for (const auto& [key, executor] : executors_) records.push_back(executor);
  for (const bool live : {false, true}) {
    for (const auto& [key, task] : tasks_) {
      if (task.is_live() != live) continue;
      records.push_back(task.record);
      // The last acknowledged update determines the next sequence, and if it is the last one, also
      // state and health.
      const uint64_t acknowledged =
          task.unacknowledged.empty() ? task.sequence : task.unacknowledged.front().sequence - 1;
      if (acknowledged > 0) {
        const proto::TaskState state =
            task.unacknowledged.empty() ? task.state : proto::TaskState::kRunning;
        records.push_back(proto::UpdateRecord{key.first,
                                              {.task = key.second,
                                               .state = state,
                                               .sequence = acknowledged,
                                               .healthy = task.healthy,
                                               .at = task.started_at,
                                               .ready = task.ready},
                                              task.executor_sequence});
        records.push_back(proto::AcknowledgedRecord{key.first, key.second, acknowledged});
      }
      for (const proto::TaskStatus& status : task.unacknowledged) {
        records.push_back(proto::UpdateRecord{key.first, status, task.executor_sequence});
      }
    }
  }
  if (identity_) {
    std::get<proto::AgentIdentity>(records.front()).records =
        static_cast<uint32_t>(records.size() - 1);
  }
  return records;
}

std::string take_gap(AgentSnapshot& snapshot, uint64_t newest_run) {
  uint32_t missing = 0;
  uint64_t last_run = 0;
  for (proto::CheckpointRecord& record : snapshot.records) {
    if (auto* identity = std::get_if<proto::AgentIdentity>(&record)) {
      if (identity->records > 0) missing = std::exchange(identity->records, 0);
      continue;
    }
    if (missing > 0) --missing;
    if (const auto* executor = std::get_if<proto::ExecutorRecord>(&record)) {
      last_run = std::max(last_run, executor->run);
    }
  }
  if (missing > 0) {
    return text("the checkpoint was cut inside its compacted part missing=", missing);
  }
  if (newest_run <= last_run) return {};
  return text(
      "the checkpoint is older than the sandboxes: it was restored from a copy, or cut newest_run=",
      newest_run, " last_run=", last_run);
}

Remembered note_loss(AgentSnapshot& snapshot, Remembered found) {
  proto::AgentIdentity* last = nullptr;
  for (proto::CheckpointRecord& record : snapshot.records) {
    if (auto* identity = std::get_if<proto::AgentIdentity>(&record)) last = identity;
  }
  if (last == nullptr) return found;
  last->remembered = std::max(last->remembered, found);
  return last->remembered;
}

std::vector<Violation> Ledger::violations() const {
  std::vector<Violation> found;
  const auto report = [&](const TaskKey& key, std::string_view what) {
    found.push_back({text("task ", key.first.str(), "/", key.second.str(), ": ", what)});
  };
  ResourceVector used;
  size_t live = 0;
  size_t waiting = 0;
  for (const auto& [key, task] : tasks_) {
    if (task.is_live()) {
      if (!task.is_over) used += task.record.assignment.resources.amounts;
      ++live;
    } else if (task.unacknowledged.empty()) {
      report(key, "ended and acknowledged, but not removed");
    }
    waiting += task.unacknowledged.size();
    size_t bytes = 0;
    uint64_t before = 0;
    for (const proto::TaskStatus& status : task.unacknowledged) {
      if (status.sequence <= before) report(key, "updates are not in order");
      before = status.sequence;
      if (proto::is_terminal(status.state) && status.sequence != task.sequence) {
        report(key, "an update follows the one that ended it");
      }
      bytes += weight_of(status);
    }
    if (!task.unacknowledged.empty() && task.unacknowledged.back().state != task.state) {
      report(key, "its state is not that of its last update");
    }
    if (bytes != task.unacknowledged_bytes) report(key, "bytes of updates are counted wrong");
    if (task.unacknowledged.size() > kUpdatesPerTaskMax) report(key, "too many updates wait");
  }
  if (!(used == used_.amounts)) found.push_back({"used is not the sum of the live tasks"});
  if (live != live_tasks_) found.push_back({"live tasks are counted wrong"});
  if (waiting != unacknowledged_) found.push_back({"unacknowledged updates are counted wrong"});
  return found;
}

}  // namespace proffer::agent
