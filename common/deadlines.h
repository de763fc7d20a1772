#pragma once

// Timeouts are data: what a core waits for, in order of time. The shell has one timer.

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "common/time.h"

namespace proffer {

// At most one time for each key. Keys are ordered; of equal times the least key comes first. Each
// operation is O(log n).
template <class Key>
class DeadlineQueue {
 public:
  // Replaces the time that the key had.
  void arm(const Key& key, Time at) {
    const auto [known, added] = times_.try_emplace(key, at);
    if (!added) {
      order_.erase({known->second, key});
      known->second = at;
    }
    order_.emplace(at, key);
  }
  void cancel(const Key& key) {
    const auto known = times_.find(key);
    if (known == times_.end()) return;
    order_.erase({known->second, key});
    times_.erase(known);
  }
  bool armed(const Key& key) const { return times_.contains(key); }
  std::optional<Time> time_of(const Key& key) const {
    const auto known = times_.find(key);
    return known == times_.end() ? std::nullopt : std::optional<Time>(known->second);
  }
  std::optional<Time> next() const {
    return order_.empty() ? std::nullopt : std::optional<Time>(order_.begin()->first);
  }
  // Takes the first that is due.
  std::optional<Key> pop(Time now) {
    if (order_.empty() || order_.begin()->first > now) return std::nullopt;
    Key key = order_.begin()->second;
    order_.erase(order_.begin());
    times_.erase(key);
    return key;
  }
  size_t size() const { return order_.size(); }

 private:
  std::map<Key, Time> times_;
  std::set<std::pair<Time, Key>> order_;
};

}  // namespace proffer
