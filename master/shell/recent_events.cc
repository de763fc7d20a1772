#include "master/shell/recent_events.h"

#include <algorithm>
#include <utility>

namespace proffer::master {

void RecentEvents::add(EventLines&& written) {
  if (written.places.empty()) return;
  bytes_ += written.lines.bytes();
  writes_.push_back(std::move(written));
  while (!writes_.empty() && bytes_ - writes_.front().lines.bytes() >= bytes_max_) {
    bytes_ -= writes_.front().lines.bytes();
    writes_.pop_front();
  }
}

bool RecentEvents::has(const proto::EventPlace& from) const {
  return !writes_.empty() && from >= writes_.front().places.front();
}

std::deque<EventLines>::const_iterator RecentEvents::first_with(
    const proto::EventPlace& from) const {
  return std::lower_bound(writes_.begin(), writes_.end(), from,
                          [](const EventLines& written, const proto::EventPlace& place) {
                            return written.places.back() < place;
                          });
}

size_t RecentEvents::first_from(const EventLines& written, const proto::EventPlace& from) {
  const auto first = std::lower_bound(written.places.begin(), written.places.end(), from);
  return static_cast<size_t>(first - written.places.begin());
}

}  // namespace proffer::master
