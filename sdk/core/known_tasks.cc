// Decides which updates are news: hear(). Updates are repeated after each failover, answers to
// reconcile are mostly known already, and several peers may report the end of a task. The author
// receives each change once.

#include "sdk/core/known_tasks.h"

#include "common/check.h"
#include "common/text.h"

namespace proffer::sdk {

using proto::TaskState;

namespace {

size_t index_of(proto::UpdateSource source) { return static_cast<size_t>(source); }

// True if the status has only a state and its health.
bool says_no_more(const proto::TaskStatus& status) {
  return status.data.empty() && status.message.empty();
}

}  // namespace

bool KnownTasks::may_launch(const TaskId& task) const {
  if (live_.count(task) > 0) return false;
  const auto ended = ended_.find(task);
  return ended == ended_.end() || ended->second.state == TaskState::kRefused;
}

void KnownTasks::launch(const TaskId& task, const AgentId& agent, const AskName& ask,
                        uint64_t declaration, uint64_t connection) {
  Task entry{.agent = agent, .ask = ask, .declaration = declaration, .connection = connection};
  // The master's numbering continues over refusals of the same id; an agent's begins anew with each
  // launch.
  if (const auto ended = ended_.find(task); ended != ended_.end()) {
    CHECK(ended->second.state == TaskState::kRefused) << task.str();
    const size_t master = index_of(proto::UpdateSource::kMaster);
    entry.heard[master] = ended->second.heard[master];
    ended_.erase(ended);
  }
  CHECK(live_.emplace(task, std::move(entry)).second) << task.str();
}

void KnownTasks::refuse(const TaskId& task) {
  CHECK(may_launch(task)) << task.str();
  if (ended_.count(task) == 0) remember(task, TaskState::kRefused, {});
}

bool KnownTasks::was_launched_on(const TaskId& task, uint64_t connection) const {
  const auto live = live_.find(task);
  return live != live_.end() && live->second.connection == connection;
}

void KnownTasks::remember(const TaskId& task, TaskState state,
                          const std::array<uint64_t, 2>& heard) {
  ended_[task] = Ended{.state = state, .heard = heard, .serial = ++serial_};
  ring_.emplace_back(task, serial_);
  while (ring_.size() > ended_max_) {
    const auto oldest = ended_.find(ring_.front().first);
    if (oldest != ended_.end() && oldest->second.serial == ring_.front().second) {
      ended_.erase(oldest);
    }
    ring_.pop_front();
  }
}

KnownTasks::Heard KnownTasks::hear(const proto::TaskStatus& status) {
  const size_t source = index_of(status.source);
  auto live = live_.find(status.task);
  bool is_new = false;
  if (live == live_.end()) {
    Task entry{.agent = status.agent, .state = status.state};
    if (const auto ended = ended_.find(status.task); ended != ended_.end()) {
      // An end is final. But a refusal ends only a launch of this life: if the id runs after all,
      // it is a task of the framework's earlier life, and the launch was refused for that reason.
      if (ended->second.state != TaskState::kRefused || is_terminal(status.state)) return {};
      entry.heard = ended->second.heard;
      ended_.erase(ended);
    }
    live = live_.emplace(status.task, std::move(entry)).first;
    is_new = true;
  }
  Task& task = live->second;
  const bool changes = is_new || status.state != task.state ||
                       (status.healthy && status.healthy != task.healthy) ||
                       (status.ready && status.ready != task.ready);
  if (status.sequence > 0) {
    if (status.sequence <= task.heard[source]) return {};
    // An earlier answer to reconcile may have had the same content.
    const bool was_told = task.heard[source] == 0 && !changes && says_no_more(status);
    task.heard[source] = status.sequence;
    if (was_told) return {};
  } else if (!changes) {
    return {};
  }
  Heard heard{.is_news = true, .has_ended = is_terminal(status.state), .task = task};
  task.state = status.state;
  if (status.healthy) task.healthy = status.healthy;
  if (status.ready) task.ready = status.ready;
  if (!status.agent.empty()) task.agent = status.agent;
  if (heard.has_ended) {
    const std::array<uint64_t, 2> sequences = task.heard;
    live_.erase(live);
    remember(status.task, status.state, sequences);
  }
  return heard;
}

std::vector<Violation> KnownTasks::violations() const {
  std::vector<Violation> found;
  for (const auto& [id, task] : live_) {
    if (is_terminal(task.state)) {
      found.push_back({text("task ", quoted(id.str()), " lives in state ", to_text(task.state))});
    }
    if (ended_.count(id) > 0) {
      found.push_back({text("task ", quoted(id.str()), " lives and has ended")});
    }
  }
  for (const auto& [id, serial] : ring_) {
    const auto ended = ended_.find(id);
    if (ended == ended_.end() || ended->second.serial != serial) continue;
    if (is_terminal(ended->second.state)) continue;
    found.push_back(
        {text("task ", quoted(id.str()), " ended in state ", to_text(ended->second.state))});
  }
  if (ring_.size() > ended_max_ || ended_.size() > ring_.size()) {
    found.push_back({text(ended_.size(), " ended tasks in a ring of ", ring_.size())});
  }
  return found;
}

}  // namespace proffer::sdk
