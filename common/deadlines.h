#pragma once

// Timeouts as data: the keys that a core waits for, in order of time. The shell has one timer.

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "common/time.h"

namespace proffer {

// At most one time for each key. Among equal times the least key comes first. Each operation is
// O(log n).
template <class Key>
class DeadlineQueue {
 public:
  DeadlineQueue() = default;
  DeadlineQueue(DeadlineQueue&&) noexcept = default;
  DeadlineQueue& operator=(DeadlineQueue&&) noexcept = default;

  // Replaces an earlier time of the key.
  void arm(const Key& key, Time at) {
    const auto [known, added] = times_.try_emplace(key, at);
    if (!added) {
      order_.erase(&*known);
      known->second = at;
    }
    order_.insert(&*known);
  }
  void cancel(const Key& key) {
    const auto known = times_.find(key);
    if (known == times_.end()) return;
    order_.erase(&*known);
    times_.erase(known);
  }
  bool armed(const Key& key) const { return times_.contains(key); }
  std::optional<Time> time_of(const Key& key) const {
    const auto known = times_.find(key);
    return known == times_.end() ? std::nullopt : std::optional<Time>(known->second);
  }
  std::optional<Time> next() const {
    return order_.empty() ? std::nullopt : std::optional<Time>((*order_.begin())->second);
  }
  // Removes and returns the first key that is due.
  std::optional<Key> pop(Time now) {
    if (order_.empty() || (*order_.begin())->second > now) return std::nullopt;
    const auto first = times_.find((*order_.begin())->first);
    order_.erase(order_.begin());
    return std::move(times_.extract(first).key());
  }
  // Calls `f` with each key that is due, in order.
  template <class F>
  void for_each_due(Time now, const F& f) const {
    for (const Entry* entry : order_) {
      if (entry->second > now) return;
      f(entry->first);
    }
  }
  size_t size() const { return order_.size(); }

 private:
  using Entry = std::pair<const Key, Time>;
  struct ByTime {
    bool operator()(const Entry* a, const Entry* b) const {
      return a->second != b->second ? a->second < b->second : a->first < b->first;
    }
  };

  std::map<Key, Time> times_;
  std::set<const Entry*, ByTime> order_;  // the entries of times_
};

}  // namespace proffer
