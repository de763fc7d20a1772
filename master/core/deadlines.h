#pragma once

// What is due when: one ordered queue for all timeouts of the master.

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "common/ids.h"
#include "common/time.h"

namespace proffer::master {

enum class DeadlineKind : uint8_t {
  kPeerSilent,        // by peer: nothing was heard of it
  kPeerHeartbeat,     // by peer: nothing was said to it
  kAgentUnreachable,  // by agent
  kAgentRemoved,      // by agent
  kFailover,          // by framework: it has not come back
  kAskReport,         // the one for all
};

// What a deadline is of: a peer's number, or the text of an agent's or framework's id.
struct DeadlineKey {
  DeadlineKind kind = DeadlineKind::kPeerSilent;
  PeerId peer = {};
  std::string id = {};
  auto operator<=>(const DeadlineKey&) const = default;
  bool operator==(const DeadlineKey&) const = default;
};

// At most one deadline for each key. Each operation is O(log n). What moves with every message
// (silence, heartbeats) is not moved here: it is looked at again, and armed again, when it comes
// up.
class Deadlines {
 public:
  // Replaces the one of this key.
  void arm(DeadlineKey key, Time at) {
    cancel(key);
    queue_.emplace(at, key);
    times_.emplace(std::move(key), at);
  }
  void cancel(const DeadlineKey& key) {
    const auto found = times_.find(key);
    if (found == times_.end()) return;
    queue_.erase({found->second, key});
    times_.erase(found);
  }
  bool armed(const DeadlineKey& key) const { return times_.contains(key); }
  std::optional<Time> next() const {
    if (queue_.empty()) return std::nullopt;
    return queue_.begin()->first;
  }
  // Takes the first that is due, in order of time.
  std::optional<DeadlineKey> pop(Time now) {
    if (queue_.empty() || queue_.begin()->first > now) return std::nullopt;
    DeadlineKey key = queue_.begin()->second;
    queue_.erase(queue_.begin());
    times_.erase(key);
    return key;
  }
  size_t size() const { return queue_.size(); }

 private:
  std::set<std::pair<Time, DeadlineKey>> queue_;
  std::map<DeadlineKey, Time> times_;
};

}  // namespace proffer::master
