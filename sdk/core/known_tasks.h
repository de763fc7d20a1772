#pragma once

// The tasks that a scheduler's driver knows: those that live, and those that ended not long ago, so
// that each update is heard exactly once. Pure.

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
    std::optional<bool> healthy = {};    // as told last
    std::optional<bool> ready = {};      // as told last
    std::array<uint64_t, 2> heard = {};  // the last sequence of each source
    uint64_t declaration = 0;            // which of the author's declarations it was launched under
    uint64_t connection = 0;             // and on which connection
    bool operator==(const Task&) const = default;
  };
  // What an update was to us. `task` is as it was before, if the update ended it.
  struct Heard {
    bool is_news = false;
    bool has_ended = false;
    Task task = {};
  };

  explicit KnownTasks(size_t ended_max) : ended_max_(ended_max) {}

  // A task id is used once, but may be tried again while nothing was started under it.
  bool may_launch(const TaskId& task) const;
  // Needs may_launch().
  void launch(const TaskId& task, const AgentId& agent, const AskName& ask, uint64_t declaration,
              uint64_t connection);
  // A launch that was refused without being sent.
  void refuse(const TaskId& task);
  // News are: the first of each sequence of each source, in order, but for a first one that says
  // only what an answer to reconcile told; answers to reconcile (sequence
  // 0) that change what is known of state or health; nothing after the end of a task. O(log tasks).
  Heard hear(const proto::TaskStatus& status);

  bool is_live(const TaskId& task) const { return live_.count(task) > 0; }
  // Live, and launched on this connection.
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
  std::unordered_map<TaskId, Ended> ended_;  // looked up only, never walked
  // In order of their end. An entry whose serial is not that of `ended_` any more means nothing.
  std::deque<std::pair<TaskId, uint64_t>> ring_;
  uint64_t serial_ = 0;
};

}  // namespace proffer::sdk
