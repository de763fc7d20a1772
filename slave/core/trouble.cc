// Reasons for which a running agent takes no tasks. It reports the reason once to its master, which
// does not offer the agent until it reports the end. Running tasks continue.

#include <algorithm>

#include "common/text.h"
#include "slave/core/state.h"
#include "slave/core/trace.h"

namespace proffer::agent {
namespace {

constexpr int64_t kBytesPerMib = int64_t{1} << 20;

}  // namespace

void Agent::State::on(const DiskSpace& space, Step& step) {
  const bool is_full = space.is_low || space.is_low_on_files;
  if (is_full == !disk_trouble_.empty()) return;
  disk_trouble_.clear();
  if (space.is_low) {
    disk_trouble_ = text("its disk is full: ", space.free_bytes / kBytesPerMib, " MiB are free, ",
                         space.reserve_bytes / kBytesPerMib, " MiB must stay free");
  } else if (space.is_low_on_files) {
    disk_trouble_ = text("its disk is full: only ", space.free_files, " more files fit, ",
                         space.reserve_files, " must stay free");
  }
  step.trace(DiskRoomChanged{.agent = options_.name,
                             .free_mib = space.free_bytes / kBytesPerMib,
                             .reserve_mib = space.reserve_bytes / kBytesPerMib,
                             .free_files = space.free_files,
                             .is_full = is_full});
  set_trouble(step);
}

// --- executors that cannot be started ------------------------------------------------------------

// This life of the agent started it, and it has not sent its hello.
bool Agent::State::is_on_its_way(const LiveExecutor& executor) const {
  return executor.sessions == 0 && !executor.away && !executor.killed;
}

// Called at the first hello.
void Agent::State::start_worked(const LiveExecutor& executor, Step& step) {
  if (!is_on_its_way(executor) || quarantine_.is_clear()) return;
  if (quarantine_.ends_at() || quarantine_.is_trying()) {
    step.trace(QuarantineEnds{options_.name});
  }
  quarantine_.on_hello();
  deadlines_.cancel({Deadline::Kind::kQuarantine});
  set_trouble(step);
}

// Called before its first hello. An executor that was killed on request has not failed.
void Agent::State::start_failed(const ExecutorKey& key, const LiveExecutor& executor,
                                bool is_machines, const std::string& why, Step& step) {
  if (!is_on_its_way(executor) || executor.fetching || executor.shutdown || stopping_) return;
  for (const TaskId& task : executor.tasks) {
    if (live_.at({key.first, task}).kill) return;
  }
  const bool begins =
      quarantine_.on_failure({.is_machines = is_machines,
                              .owner = options_.is_root ? executor.user : key.first.str(),
                              .why = why},
                             step.now);
  if (!begins) return;
  deadlines_.arm({Deadline::Kind::kQuarantine}, *quarantine_.ends_at());
  step.trace(QuarantineBegins{options_.name, quarantine_.why(), *quarantine_.ends_at() - step.now});
  set_trouble(step);
}

// O(executors).
bool Agent::State::is_tried_by_another() const {
  return quarantine_.is_trying() &&
         std::any_of(executors_.begin(), executors_.end(),
                     [this](const auto& row) { return is_on_its_way(row.second); });
}

void Agent::State::quarantine_over(Step& step) {
  if (!quarantine_.on_tick(step.now)) return;
  step.trace(QuarantineTries{options_.name});
  set_trouble(step);
}

// --- messages to the master ----------------------------------------------------------------------

void Agent::State::set_trouble(Step& step) {
  trouble_ = disk_trouble_.empty() ? quarantine_.why() : disk_trouble_;
  tell_trouble(step);
}

void Agent::State::tell_trouble(Step& step) {
  if (session_ != Session::kRegistered || told_trouble_ == trouble_) return;
  told_trouble_ = trouble_;
  send_to_master(proto::AgentTrouble{trouble_}, step);
}

}  // namespace proffer::agent
