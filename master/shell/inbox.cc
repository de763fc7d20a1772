#include "master/shell/inbox.h"

#include <algorithm>

#include "common/check.h"
#include "common/text.h"

namespace proffer::master {
namespace {

// What is paced under this name.
std::string pace_name(const Inbox::Item& item) {
  return item.pace == Pace::kUser ? item.user : text("connection ", item.peer.value());
}

}  // namespace

template <class Key>
void Inbox::Order<Key>::add(const Key& key, Duration used, Time from, Time now) {
  if (from <= now) {
    ready.emplace(used, key);
  } else {
    paused.emplace(from, key);
  }
}

bool Inbox::has_room(const std::string& user, size_t bytes) const {
  const auto found = queues_.find(user);
  if (found == queues_.end()) return true;
  const Queue& queue = found->second;
  return queue.frames < kWaitingPerUserMax && queue.bytes + bytes <= kWaitingBytesPerUserMax;
}

void Inbox::add(Item item, Time now) {
  const auto [at, is_new_user] = queues_.try_emplace(item.user);
  const std::string& user = at->first;
  Queue& queue = at->second;
  if (is_new_user) queue.used = order_.begins_at;
  const PeerId peer = item.peer;
  const size_t bytes = item.frame.size();
  const auto [lane, is_new_lane] = queue.lanes.try_emplace(peer);
  if (is_new_lane) lane->second.used = queue.order.begins_at;
  lane->second.bytes += bytes;
  lane->second.items.push_back(std::move(item));
  queue.bytes += bytes;
  bytes_ += bytes;
  ++queue.frames;
  ++frames_;
  ++waiting_[peer];
  if (!is_new_lane) return;
  const bool was_in_line = !is_new_user && !is_served(user);
  if (was_in_line) step_out(user, queue);
  line_up(peer, queue, lane->second, now);
  if (is_new_user || was_in_line) line_up(user, queue, now);
}

bool Inbox::is_served(const std::string& user) const { return served_ && served_->user == user; }

// The first waiting frame decides how its connection is paced.
void Inbox::line_up(PeerId peer, Queue& queue, Lane& lane, Time now) {
  const Item& first = lane.items.front();
  lane.from = first.pace == Pace::kConnection ? pace_.left_at(pace_name(first), now) : now;
  queue.order.add(peer, lane.used, lane.from, now);
}

void Inbox::line_up(const std::string& user, Queue& queue, Time now) {
  const bool is_any_ready = !queue.order.ready.empty();
  queue.from = is_any_ready ? now : queue.order.paused.begin()->first;
  const PeerId first =
      is_any_ready ? queue.order.ready.begin()->second : queue.order.paused.begin()->second;
  const Item& item = queue.lanes.at(first).items.front();
  if (item.pace == Pace::kUser) queue.from = std::max(queue.from, pace_.left_at(user, now));
  order_.add(user, queue.used, queue.from, now);
}

void Inbox::step_out(const std::string& user, const Queue& queue) {
  order_.ready.erase({queue.used, user});
  order_.paused.erase({queue.from, user});
}

template <class Key, class UsedOf>
void Inbox::wake(Order<Key>& order, Time now, const UsedOf& used_of) {
  while (!order.paused.empty() && order.paused.begin()->first <= now) {
    const auto paused = order.paused.extract(order.paused.begin());
    const Key& key = paused.value().second;
    Duration& used = used_of(key);
    used = std::max(used, order.begins_at);  // unused time is not saved up
    order.ready.emplace(used, key);
  }
}

std::optional<Inbox::Item> Inbox::take(Time now) {
  CHECK(!served_) << "took() was not called";
  wake(order_, now, [&](const std::string& user) -> Duration& { return queues_.at(user).used; });
  if (order_.ready.empty()) return std::nullopt;
  const auto user = order_.ready.extract(order_.ready.begin());
  Queue& queue = queues_.at(user.value().second);
  order_.begins_at = queue.used;
  wake(queue.order, now, [&](PeerId peer) -> Duration& { return queue.lanes.at(peer).used; });
  CHECK(!queue.order.ready.empty()) << "no frame of " << user.value().second << " may be served";
  const PeerId peer = queue.order.ready.extract(queue.order.ready.begin()).value().second;
  Lane& lane = queue.lanes.at(peer);
  queue.order.begins_at = lane.used;
  Item item = std::move(lane.items.front());
  lane.items.pop_front();
  lane.bytes -= item.frame.size();
  forget_waiting(queue, peer, 1, item.frame.size());
  served_ = Item{.user = item.user, .pace = item.pace, .peer = item.peer};
  return item;
}

void Inbox::forget_waiting(Queue& queue, PeerId peer, size_t frames, size_t bytes) {
  queue.frames -= frames;
  queue.bytes -= bytes;
  frames_ -= frames;
  bytes_ -= bytes;
  const auto waiting = waiting_.find(peer);
  waiting->second -= frames;
  if (waiting->second == 0) waiting_.erase(waiting);
}

void Inbox::took(const Effort& effort, Time now) {
  CHECK(served_) << "nothing was taken";
  const Item item = *std::exchange(served_, std::nullopt);
  served(item, effort, now);
  const auto at = queues_.find(item.user);
  Queue& queue = at->second;
  // Each turn costs at least a microsecond, even if the clock shows none.
  const Duration cost = std::max(effort.time, microseconds(1));
  const auto lane = queue.lanes.find(item.peer);
  if (lane != queue.lanes.end() && lane->second.items.empty()) {
    queue.lanes.erase(lane);
  } else if (lane != queue.lanes.end()) {
    lane->second.used = lane->second.used + cost;
    line_up(item.peer, queue, lane->second, now);
  }
  if (queue.lanes.empty()) {
    queues_.erase(at);
  } else {
    queue.used = queue.used + cost;
    line_up(at->first, queue, now);
  }
}

bool Inbox::may_serve(const Item& item, Time now) const {
  return item.pace == Pace::kNone || pace_.has_left(pace_name(item), now);
}

void Inbox::served(const Item& item, const Effort& effort, Time now) {
  if (item.pace == Pace::kNone) return;
  const Duration cost = std::max(effort.time, microseconds(1)) +
                        kLoopTimePerKib * static_cast<int64_t>(effort.bytes >> 10);
  const Duration gained = kLoopTimePerTask * static_cast<int64_t>(effort.tasks);
  // If the process was stopped for seconds, that time is not charged.
  const int64_t micros = (std::min(cost, kLoopTimeAtOnce) - gained).micros();
  if (micros > 0) {
    pace_.use(pace_name(item), micros, now);
  } else {
    pace_.give_back(pace_name(item), -micros, now);
  }
}

PeerId Inbox::fullest(const std::string& user) const {
  const auto queue = queues_.find(user);
  if (queue == queues_.end()) return {};
  // Frames count as the bytes that as large a part of the bound are.
  constexpr size_t kBytesPerFrame = kWaitingBytesPerUserMax / kWaitingPerUserMax;
  PeerId fullest;
  size_t most = 0;
  for (const auto& [peer, lane] : queue->second.lanes) {
    if (lane.items.empty() || lane.items.front().pace == Pace::kNone) continue;
    const size_t fill = std::max(lane.items.size() * kBytesPerFrame, lane.bytes);
    if (fill <= most) continue;
    most = fill;
    fullest = peer;
  }
  return fullest;
}

bool Inbox::is_average(const std::string& user, PeerId peer) const {
  const auto queue = queues_.find(user);
  if (queue == queues_.end()) return false;
  const auto lane = queue->second.lanes.find(peer);
  if (lane == queue->second.lanes.end()) return false;
  const size_t lanes = queue->second.lanes.size();
  return lane->second.items.size() * lanes >= queue->second.frames ||
         lane->second.bytes * lanes >= queue->second.bytes;
}

void Inbox::drop(const std::string& user, PeerId peer, Time now) {
  const auto at = queues_.find(user);
  if (at == queues_.end()) return;
  Queue& queue = at->second;
  const auto lane = queue.lanes.find(peer);
  if (lane == queue.lanes.end() || lane->second.items.empty()) return;
  forget_waiting(queue, peer, lane->second.items.size(), lane->second.bytes);
  if (is_served(user) && served_->peer == peer) {  // took() removes its lane
    lane->second.items.clear();
    lane->second.bytes = 0;
    return;
  }
  queue.order.ready.erase({lane->second.used, peer});
  queue.order.paused.erase({lane->second.from, peer});
  queue.lanes.erase(lane);
  if (is_served(user)) return;
  step_out(user, queue);
  if (queue.lanes.empty()) {
    queues_.erase(at);
  } else {
    line_up(user, queue, now);
  }
}

size_t Inbox::waiting(PeerId peer) const {
  const auto found = waiting_.find(peer);
  return found == waiting_.end() ? 0 : found->second;
}

}  // namespace proffer::master
