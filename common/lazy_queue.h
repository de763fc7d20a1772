#pragma once

// A queue that uses memory only while it has elements. An empty std::deque takes 0.6 KiB, and each
// of thousands of peers has queues, which are nearly always empty.

#include <cstddef>
#include <deque>
#include <memory>
#include <utility>

namespace proffer {

template <class T>
class LazyQueue {
 public:
  bool empty() const { return items_ == nullptr; }
  size_t size() const { return empty() ? 0 : items_->size(); }
  // The queue must not be empty.
  T& front() { return items_->front(); }
  template <class... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    if (empty()) items_ = std::make_unique<std::deque<T>>();
    return items_->emplace_back(std::forward<Arguments>(arguments)...);
  }
  void pop_front() {
    items_->pop_front();
    if (items_->empty()) items_.reset();
  }
  void clear() { items_.reset(); }

 private:
  std::unique_ptr<std::deque<T>> items_;  // null if the queue is empty
};

}  // namespace proffer
