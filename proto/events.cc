#include "proto/events.h"

#include <charconv>

#include "common/text.h"

namespace proffer::proto {

std::string to_text(const EventPlace& place) {
  return text(place.leader.value(), ".", place.number);
}

Result<EventPlace> parse_event_place(std::string_view text) {
  const char* end = text.data() + text.size();
  uint64_t leader = 0;
  EventPlace place;
  const auto first = std::from_chars(text.data(), end, leader);
  if (first.ec == std::errc() && first.ptr != end && *first.ptr == '.') {
    const auto second = std::from_chars(first.ptr + 1, end, place.number);
    place.leader = LeaderEpoch(leader);
    if (second.ec == std::errc() && second.ptr == end) return place;
  }
  return Error::invalid_argument(
      proffer::text("an event's place is LEADER.NUMBER, as in 17.4021, not ", quoted(text)));
}

}  // namespace proffer::proto
