#pragma once

// The event log as values: all events of the cluster, in one order. master/shell/event_log.h writes
// it, `proffer events` reads it.

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/limits.h"
#include "common/result.h"
#include "common/time.h"

namespace proffer::proto {

// The place of an event in the log: the leader's epoch, and the number of the event, which each
// leader counts from 1.
struct EventPlace {
  LeaderEpoch leader = {};
  uint64_t number = 0;
  auto operator<=>(const EventPlace&) const = default;
};
std::string to_text(const EventPlace& place);  // "17.4021"
// Errors: kInvalidArgument.
Result<EventPlace> parse_event_place(std::string_view text);

// The owner of a framework. Its events carry it.
struct EventOwner {
  std::string user = {};
  std::string role = {};
};
using EventOwners = std::map<std::string, EventOwner, std::less<>>;  // by the framework's id

// The longest that a call waits for events.
inline constexpr Duration kEventsWaitMax = seconds(60);

// Which events to return, and from which place.
struct EventQuery {
  std::optional<EventPlace> from = {};  // the first wanted event; none: see `last`
  size_t last = 0;                      // without `from`: return this many of the newest events
  std::string framework = {};           // its id or its name
  std::string role = {};                // includes the roles below it
  std::string task = {};                // FRAMEWORK/TASK
  std::string agent = {};
  size_t limit = kReplyRowsMax;
  Duration wait = {};  // with `from`: wait at most this long for an event
  bool operator==(const EventQuery&) const = default;
};

struct EventRow {
  EventPlace seq = {};
  Time at = {};
  std::string event = {};  // the event in words; "gap": events are missing here
  std::string level = {};  // "info", "detail", "warning", "error"
  std::vector<std::pair<std::string, std::string>> fields = {};  // all other fields, in order
  bool operator==(const EventRow&) const = default;
};

struct EventPage {
  std::vector<EventRow> events = {};
  EventPlace next = {};  // `from` of the next page
  bool operator==(const EventPage&) const = default;
};

// The most rows of a page for a standby. Such a page has as many bytes as other pages.
inline constexpr size_t kFollowRowsMax = 4'096;

// The argument of the call "follow_events": a standby asks the leader for all events from a place
// on, as many as fit into a page.
struct FollowCall {
  EventPlace from = {};
  Duration wait = {};  // wait at most this long for an event
  bool operator==(const FollowCall&) const = default;
};

// The answer, in the form in which the standby writes it.
struct FollowedEvents {
  std::vector<std::string> records = {};  // records of the log file, without gaps
  uint64_t events = 0;                    // number of events in the records
  EventPlace next = {};                   // `from` of the next call
  bool operator==(const FollowedEvents&) const = default;
};

}  // namespace proffer::proto
