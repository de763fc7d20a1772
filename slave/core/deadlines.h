#pragma once

// What the core waits for, in order of time: timeouts are data, the shell has one timer.

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "common/ids.h"
#include "common/time.h"

namespace proffer::agent {

struct Deadline {
  enum class Kind : uint8_t {
    kLeftovers,        // what an earlier life left is still not gone
    kRegister,         // a refused registration is tried again
    kMasterPulse,      // a heartbeat is due, or the master has been silent for too long
    kExecutorPulse,    // the same with an executor
    kExecutorSession,  // the executor has not said hello
    kExecutorKill,     // it was asked to end and has not
    kTaskKill,         // the task was asked to end and has not
  };
  Kind kind = Kind::kMasterPulse;
  FrameworkId framework = {};
  std::string id = {};  // of the executor or task

  auto operator<=>(const Deadline&) const = default;
};

// At most one time for each deadline. Everything is O(log deadlines).
class Deadlines {
 public:
  // Replaces the time that it had.
  void set(const Deadline& deadline, Time due) {
    const auto [at, added] = times_.try_emplace(deadline, due);
    if (!added) {
      order_.erase({at->second, deadline});
      at->second = due;
    }
    order_.emplace(due, deadline);
  }
  void clear(const Deadline& deadline) {
    const auto at = times_.find(deadline);
    if (at == times_.end()) return;
    order_.erase({at->second, deadline});
    times_.erase(at);
  }
  std::optional<Time> time_of(const Deadline& deadline) const {
    const auto at = times_.find(deadline);
    return at == times_.end() ? std::nullopt : std::optional<Time>(at->second);
  }
  std::optional<Time> first() const {
    return order_.empty() ? std::nullopt : std::optional<Time>(order_.begin()->first);
  }
  // The first one that is due, taken out.
  std::optional<Deadline> take_due(Time now) {
    if (order_.empty() || order_.begin()->first > now) return std::nullopt;
    const Deadline due = order_.begin()->second;
    clear(due);
    return due;
  }

 private:
  std::map<Deadline, Time> times_;
  std::set<std::pair<Time, Deadline>> order_;
};

}  // namespace proffer::agent
