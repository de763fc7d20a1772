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

void Inbox::add(Item item, Time now) {
  const auto [at, is_new] = queues_.try_emplace(item.user);
  Queue& queue = at->second;
  if (is_new) {
    queue.used = begins_at_;
  }
  ++frames_;
  bytes_ += item.frame.size();
  queue.bytes += item.frame.size();
  ++waiting_[item.peer];
  queue.items.push_back(std::move(item));
  if (is_new) line_up(at->first, queue, now);
}

// The first waiting frame decides whether the user is paced.
void Inbox::line_up(const std::string& user, const Queue& queue, Time now) {
  const Time from = queue.items.front().is_paced ? pace_.left_at(user, now) : now;
  if (from <= now) {
    order_.emplace(queue.used, user);
  } else {
    paused_.emplace(from, user);
  }
}

std::optional<Inbox::Item> Inbox::take(Time now) {
  CHECK(!served_) << "took() was not called";
  while (!paused_.empty() && paused_.begin()->first <= now) {
    const auto paused = paused_.extract(paused_.begin());
    Queue& queue = queues_.at(paused.value().second);
    queue.used = std::max(queue.used, begins_at_);  // unused time is not saved up
    order_.emplace(queue.used, paused.value().second);
  }
  if (order_.empty()) return std::nullopt;
  served_ = order_.begin()->second;
  Queue& queue = queues_.at(*served_);
  begins_at_ = queue.used;
  Item item = std::move(queue.items.front());
  is_served_paced_ = item.is_paced;
  queue.items.pop_front();
  queue.bytes -= item.frame.size();
  bytes_ -= item.frame.size();
  --frames_;
  const auto waiting = waiting_.find(item.peer);
  if (--waiting->second == 0) waiting_.erase(waiting);
  return item;
}

void Inbox::took(const Effort& effort, Time now) {
  CHECK(served_) << "nothing was taken";
  const auto at = queues_.find(*served_);
  order_.erase({at->second.used, *served_});
  if (is_served_paced_) served(*served_, effort, now);
  if (at->second.items.empty()) {
    queues_.erase(at);
  } else {
    // Each turn costs at least a microsecond, even if the clock shows none.
    at->second.used = at->second.used + std::max(effort.time, microseconds(1));
    line_up(at->first, at->second, now);
  }
  served_.reset();
}

void Inbox::served(const std::string& user, const Effort& effort, Time now) {
  const Duration cost = std::max(effort.time, microseconds(1)) +
                        kLoopTimePerKib * static_cast<int64_t>(effort.bytes >> 10);
  const Duration gained = kLoopTimePerTask * static_cast<int64_t>(effort.tasks);
  // If the process was stopped for seconds, the user is not charged for that time.
  const int64_t micros = (std::min(cost, kLoopTimeAtOnce) - gained).micros();
  if (micros > 0) {
    pace_.use(user, micros, now);
  } else {
    pace_.give_back(user, -micros, now);
  }
}

size_t Inbox::waiting(PeerId peer) const {
  const auto found = waiting_.find(peer);
  return found == waiting_.end() ? 0 : found->second;
}

}  // namespace proffer::master
