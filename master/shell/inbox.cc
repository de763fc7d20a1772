#include "master/shell/inbox.h"

#include <algorithm>

#include "common/check.h"

namespace proffer::master {

bool Inbox::has_room(const std::string& user, size_t bytes) const {
  const auto found = queues_.find(user);
  if (found == queues_.end()) return true;
  const Queue& queue = found->second;
  return queue.items.size() < kWaitingPerUserMax && queue.bytes + bytes <= kWaitingBytesPerUserMax;
}

void Inbox::add(Item item) {
  const auto [at, is_new] = queues_.try_emplace(item.user);
  Queue& queue = at->second;
  if (is_new) {
    queue.used = begins_at_;
    order_.emplace(queue.used, item.user);
  }
  ++frames_;
  bytes_ += item.frame.size();
  queue.bytes += item.frame.size();
  ++waiting_[item.peer];
  queue.items.push_back(std::move(item));
}

std::optional<Inbox::Item> Inbox::take() {
  CHECK(!served_) << "took() was not called";
  if (order_.empty()) return std::nullopt;
  served_ = order_.begin()->second;
  Queue& queue = queues_.at(*served_);
  begins_at_ = queue.used;
  Item item = std::move(queue.items.front());
  queue.items.pop_front();
  queue.bytes -= item.frame.size();
  bytes_ -= item.frame.size();
  --frames_;
  const auto waiting = waiting_.find(item.peer);
  if (--waiting->second == 0) waiting_.erase(waiting);
  return item;
}

void Inbox::took(Duration time) {
  CHECK(served_) << "nothing was taken";
  const auto at = queues_.find(*served_);
  order_.erase({at->second.used, *served_});
  if (at->second.items.empty()) {
    queues_.erase(at);
  } else {
    // Also what costs nothing that the clock shows is a turn.
    at->second.used = at->second.used + std::max(time, microseconds(1));
    order_.emplace(at->second.used, *served_);
  }
  served_.reset();
}

size_t Inbox::waiting(PeerId peer) const {
  const auto found = waiting_.find(peer);
  return found == waiting_.end() ? 0 : found->second;
}

}  // namespace proffer::master
