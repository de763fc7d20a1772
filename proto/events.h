#pragma once

// The event log as values: what happened in the cluster, in one order. master/shell/event_log.h
// writes it, `proffer events` reads it.

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

// Where an event stands: leaders follow each other, and each counts its events from 1.
struct EventPlace {
  LeaderEpoch leader = {};
  uint64_t number = 0;
  auto operator<=>(const EventPlace&) const = default;
};
std::string to_text(const EventPlace& place);  // "17.4021"
// Errors: kInvalidArgument.
Result<EventPlace> parse_event_place(std::string_view text);

// Whose a framework is. Its events say so.
struct EventOwner {
  std::string user = {};
  std::string role = {};
};
using EventOwners = std::map<std::string, EventOwner, std::less<>>;  // by the framework's id

// The longest that a call waits for events.
inline constexpr Duration kEventsWaitMax = seconds(60);

// Which events, and from where.
struct EventQuery {
  std::optional<EventPlace> from = {};  // the first that is wanted; none: see `last`
  size_t last = 0;                      // without `from`: so many, the newest
  std::string framework = {};           // its id or its name
  std::string role = {};                // and those below it
  std::string task = {};                // FRAMEWORK/TASK
  std::string agent = {};
  size_t limit = kReplyRowsMax;
  Duration wait = {};  // with `from`: until there is one
  bool operator==(const EventQuery&) const = default;
};

struct EventRow {
  EventPlace seq = {};
  Time at = {};
  std::string event = {};  // in words; "gap": some are missing here
  std::string level = {};  // "info", "detail", "warning", "error"
  std::vector<std::pair<std::string, std::string>> fields = {};  // all others, in their order
  bool operator==(const EventRow&) const = default;
};

struct EventPage {
  std::vector<EventRow> events = {};
  EventPlace next = {};  // `from` of the next page
  bool operator==(const EventPage&) const = default;
};

// Rows of one page for a master that stands by: it has as many bytes as other pages.
inline constexpr size_t kFollowRowsMax = 4'096;

// The argument of the call "follow_events": a master that stands by asks the leader for all events
// from a place on, as far as they go into a page.
struct FollowCall {
  EventPlace from = {};
  Duration wait = {};  // until there is one
  bool operator==(const FollowCall&) const = default;
};

// The answer, as the master that stands by writes it.
struct FollowedEvents {
  std::vector<std::string> records = {};  // of the log's file; gaps are left out
  uint64_t events = 0;                    // in them
  EventPlace next = {};                   // `from` of the next call
  bool operator==(const FollowedEvents&) const = default;
};

}  // namespace proffer::proto
