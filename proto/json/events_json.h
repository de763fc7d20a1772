#pragma once

// The event log in JSON: queries, and pages of its lines (event_lines.h). The rules of json.h
// apply.

#include <string>
#include <string_view>

#include "common/result.h"
#include "proto/events.h"
#include "proto/json/json_shape.h"

namespace proffer::proto {

// {"from","last","framework","role","task","agent","limit","wait_s"}; all members are optional.
JsonShape event_query_shape();
std::string event_query_json(const EventQuery& query);
Result<EventQuery> parse_event_query(std::string_view json);

// {"events":[…],"next":"17.4022"}; the events are lines as above.
JsonShape event_page_shape();
std::string event_page_json(const std::vector<std::string>& lines, const EventPlace& next);
Result<EventPage> parse_event_page(std::string_view json);
// The events of a page that parse_event_page() accepted, each with its original bytes.
std::vector<std::string> lines_of_event_page(std::string_view json);

// {"from","wait_s"}
JsonShape follow_call_shape();
std::string follow_call_json(const FollowCall& call);
Result<FollowCall> parse_follow_call(std::string_view json);
// Parses the page that answers the call. Each event must come after the previous one and not before
// `from`. An EventLineReader reads the same lines from the records. Errors: kInvalidArgument, also
// for a line that no leader would have written, since it would enter this master's log.
Result<FollowedEvents> parse_followed_events(std::string_view json, const EventPlace& from);

}  // namespace proffer::proto
