#pragma once

// The tasks that a scheduler driver knows: the live tasks, and the tasks that ended recently. With
// them each update is reported exactly once. Pure.

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "common/indexed_map.h"
#include "proto/messages.h"

namespace proffer::sdk {

class KnownTasks {
 public:
  struct Task {
    AgentId agent = {};
    AskName ask = {};
    proto::TaskState state = proto::TaskState::kStaging;
    std::optional<bool> healthy = {};    // as last reported
    std::optional<bool> ready = {};      // as last reported
    std::array<uint64_t, 2> heard = {};  // the last sequence from each source
    uint64_t declaration = 0;            // the declaration of asks before its launch
    uint64_t connection = 0;             // the connection on which it was launched
    bool operator==(const Task&) const = default;
  };
  // The effect of an update. `task` is its record before the update, if the update ended it.
  struct Heard {
    bool is_news = false;
    bool has_ended = false;
    Task task = {};
  };

  explicit KnownTasks(size_t ended_max) : ended_max_(ended_max) {}

  // A task id is used once. It may be used again only if nothing was started under it.
  bool may_launch(const TaskId& task) const;
  // Requires may_launch().
  void launch(const TaskId& task, const AgentId& agent, const AskName& ask, uint64_t declaration,
              uint64_t connection);
  // A launch was refused without being sent.
  void refuse(const TaskId& task);
  // Applies an update. It is news if it has the next sequence of its source, and does not merely
  // repeat an answer to reconcile; or if it answers a reconcile (sequence 0) and changes the known
  // state or health. An update after the end of a task is never news. O(log tasks).
  Heard hear(const proto::TaskStatus& status);

  bool is_live(const TaskId& task) const { return live_.count(task) > 0; }
  // The task is live and was launched on this connection.
  bool was_launched_on(const TaskId& task, uint64_t connection) const;
  bool has_ended(const TaskId& task) const { return ended_.count(task) > 0; }
  const std::map<TaskId, Task>& live() const { return live_.map(); }
  std::vector<Violation> violations() const;

 private:
  struct Ended {
    proto::TaskState state = proto::TaskState::kRefused;
    std::array<uint64_t, 2> heard = {};
    uint64_t serial = 0;
  };

  void remember(const TaskId& task, proto::TaskState state, const std::array<uint64_t, 2>& heard);

  size_t ended_max_;
  IndexedMap<TaskId, Task> live_;
  std::unordered_map<TaskId, Ended> ended_;  // only for look-ups; never iterated
  // Ended tasks in the order of their ends. An entry is void if its serial differs from that in
  // `ended_`.
  std::deque<std::pair<TaskId, uint64_t>> ring_;
  uint64_t serial_ = 0;
};

}  // namespace proffer::sdk
