#pragma once

// The event log in JSON. The rules of json.h hold.

#include <string>
#include <string_view>

#include "common/result.h"
#include "common/trace.h"
#include "proto/events.h"
#include "proto/json/json_shape.h"

namespace proffer::proto {

// {"from","last","framework","role","task","agent","limit","wait_s"}: what is not there is not
// asked for.
JsonShape event_query_shape();
std::string event_query_json(const EventQuery& query);
Result<EventQuery> parse_event_query(std::string_view json);

// "info", "detail", "warning" or "error".
std::string_view level_word(TraceLevel level);

// Of a text that somebody else wrote, so much is in an event.
inline constexpr size_t kEventTextBytesMax = 1024;

// Appends one event: {"seq":"17.4021","time_s":…,"event":"task launched","level":"detail", then its
// fields and, where it has none, `user` and `role` of its framework, as `owners` tells them}.
// Written by hand, since a busy master has a hundred thousand in a second.
void append_event(std::string& out, const EventPlace& place, Time at, const TraceEvent& event,
                  const EventOwners& owners);
std::string event_json(const EventPlace& place, Time at, const TraceEvent& event);
// Where events from `from` to before `until` are missing: {"seq":FROM,"time_s","event":"gap",
// "level":"warning","until":UNTIL,"lost"}; `lost` is left out if nobody knows how many they are.
std::string event_gap_json(const EventPlace& from, const EventPlace& until, Time at,
                           std::optional<uint64_t> lost);

// A line as above, as server-sent events have it (html.spec.whatwg.org/#server-sent-events), to be
// appended. `seen` becomes its id: a reader that has it goes on behind that place.
void append_event_message(std::string& out, std::string_view line, const EventPlace& seen,
                          bool is_gap);

// {"events":[…],"next":"17.4022"} of lines as above.
JsonShape event_page_shape();
std::string event_page_json(const std::vector<std::string>& lines, const EventPlace& next);
Result<EventPage> parse_event_page(std::string_view json);
// The events of a page that parse_event_page() has read, each as it stands there.
std::vector<std::string> lines_of_event_page(std::string_view json);

// {"from","wait_s"}
JsonShape follow_call_shape();
std::string follow_call_json(const FollowCall& call);
Result<FollowCall> parse_follow_call(std::string_view json);
// The page that answers it: each event as it stands there, behind the one before and not before
// `from`. Errors: kInvalidArgument, also for what event_json() would not have written: it would be
// an event of this master's log.
Result<FollowedEvents> parse_followed_events(std::string_view json, const EventPlace& from);

// A text as it stands in an event, with its quotes.
std::string json_text(std::string_view text);
// Of a line as event_json() writes it, which was read from a disk: nothing if it is none.
std::optional<EventPlace> place_of(std::string_view line);

}  // namespace proffer::proto
