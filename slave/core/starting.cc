// Tasks that are still being started: fetching files may take an hour, and a framework's own
// executor reports when a task runs. The master gives up a task without a report, so the agent
// reports periodically why the task does not run yet.

#include "common/load_limits.h"
#include "common/text.h"
#include "slave/core/state.h"

namespace proffer::agent {

void Agent::State::watch_starting(Step& step) {
  const Deadline key{Deadline::Kind::kStarting, {}, {}};
  if (!deadlines_.armed(key)) deadlines_.arm(key, step.now + kStartingReport);
}

// Without a sequence: nothing is kept, and the master does not acknowledge it.
void Agent::State::tell_starting(Step& step) {
  bool is_any_left = false;
  for (const auto& [key, live] : live_) {
    if (ledger_.find(key)->state != proto::TaskState::kStaging) continue;
    is_any_left = true;
    if (session_ != Session::kRegistered) continue;
    send_to_master(proto::Update{key.first,
                                 {.task = key.second,
                                  .agent = options_.name,
                                  .state = proto::TaskState::kStaging,
                                  .source = proto::UpdateSource::kAgent,
                                  .sequence = 0,
                                  .message = what_it_waits_for(key, live),
                                  .at = step.now}},
                   step);
  }
  if (is_any_left) watch_starting(step);
}

std::string Agent::State::what_it_waits_for(const TaskKey& key, const LiveTask& live) const {
  const ExecutorId& id = ledger_.find(key)->record.executor;
  const auto at = executors_.find({key.first, id});
  if (at == executors_.end() || !at->second.tasks.contains(key.second)) {
    return text("the former executor ", quoted(id.str()), " has not ended yet");
  }
  if (at->second.fetching) return "its files are being fetched";
  if (!live.delivered) return "its executor is being started";
  return "its executor received it, and has not reported that it runs";
}

}  // namespace proffer::agent
