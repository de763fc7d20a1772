// Every JSON parser. Input: a letter that selects the parser, then the text.

#include <tuple>
#include <vector>

#include "common/check.h"
#include "common/limits.h"
#include "proto/json/event_lines.h"
#include "proto/json/events_json.h"
#include "proto/json/forecast_json.h"
#include "proto/json/json.h"
#include "tests/fuzz/laws.h"
#include "tests/proto/record_lines.h"

namespace proffer::fuzz {
namespace json_fuzz {
namespace {

// A parsed value prints as a text that parses to an equal value.
template <class Value>
void check(std::string_view json, Result<Value> (*parse)(std::string_view),
           std::string (*print)(const Value&)) {
  const Result<Value> value = parse(json);
  if (!value) return check_told(value.error());
  const std::string printed = print(*value);
  CHECK(printed.find('\n') == std::string::npos) << printed;
  const Result<Value> again = parse(printed);
  CHECK(again) << again.error().message() << " in " << printed;
  CHECK(*again == *value) << printed;
  CHECK_EQ(print(*again), printed);
}

void check_line(std::string_view json) {
  const auto members = proto::parse_json_line(json);
  if (!members) return check_told(members.error());
  std::vector<std::pair<std::string_view, proto::JsonValue>> ordered;
  for (const auto& [name, value] : *members) ordered.emplace_back(name, value);
  const std::string printed = proto::json_line(ordered);
  const auto again = proto::parse_json_line(printed);
  CHECK(again) << again.error().message() << " in " << printed;
  CHECK(*again == *members) << printed;
}

// A page consists of lines; each line is one event.
void check_events(std::string_view json) {
  const Result<proto::EventPage> page = proto::parse_event_page(json);
  if (!page) return check_told(page.error());
  const std::vector<std::string> lines = proto::lines_of_event_page(json);
  const std::string printed = proto::event_page_json(lines, page->next);
  const Result<proto::EventPage> again = proto::parse_event_page(printed);
  // Unknown members of a page or an event may contain objects that are not events.
  if (lines.size() != page->events.size()) return;
  CHECK(again) << again.error().message() << " in " << printed;
  CHECK(*again == *page) << printed;
}

// A standby writes events to its own log: in order, from this place on. Readers of that log get the
// same as the leader's readers.
void check_followed(std::string_view json) {
  constexpr proto::EventPlace kFrom{LeaderEpoch(1), 2};
  const Result<proto::FollowedEvents> events = proto::parse_followed_events(json, kFrom);
  if (!events) return check_told(events.error());
  const std::vector<std::string> kept = proto::test::lines_of(events->records);
  CHECK_EQ(kept.size(), events->events);
  proto::EventPlace end = kFrom;
  for (const std::string& line : kept) {
    const std::optional<proto::EventPlace> place = proto::place_of(line);
    CHECK(place && *place >= end) << line;
    CHECK(line.find('\n') == std::string::npos) << line;
    CHECK(json.find(line) != std::string_view::npos) << line;
    end = {place->leader, place->number + 1};
  }
  CHECK(kept.empty() || events->next == end);
  if (events->next < kFrom) {
    // A gap leads back to a leader with a lower number.
    CHECK(kept.empty());
    return;
  }
  const std::string printed = proto::event_page_json(kept, events->next);
  const Result<proto::EventPage> page = proto::parse_event_page(printed);
  CHECK(page) << page.error().message() << " in " << printed;
  CHECK_EQ(page->events.size(), kept.size()) << printed;
  const Result<proto::FollowedEvents> again = proto::parse_followed_events(printed, kFrom);
  CHECK(again) << again.error().message() << " in " << printed;
  CHECK(*again == *events) << printed;
}

}  // namespace
}  // namespace json_fuzz

void fuzz_json(Input input) {
  using json_fuzz::check;
  if (input.empty()) return;
  const std::string_view json = text_of(input).substr(1);
  // Escapes can make the printed text larger than the parsed one, but not by this factor.
  if (json.size() > kJsonBytesMax / 8) return;
  switch (input[0]) {
    case 'a':
      return check(json, proto::parse_agents, proto::agents_json);
    case 'f':
      return check(json, proto::parse_frameworks, proto::frameworks_json);
    case 'r':
      return check(json, proto::parse_roles, proto::roles_json);
    case 't':
      return check(json, proto::parse_tasks, proto::tasks_json);
    case 'o':
      return check(json, proto::parse_offers, proto::offers_json);
    case 's':
      return check(json, proto::parse_status, proto::status_json);
    case 'g':
      return check(json, proto::parse_agent_status, proto::agent_status_json);
    case 'd':
      return check(json, proto::parse_files, proto::files_json);
    case 'q':
      return check(json, proto::parse_task_query, proto::task_query_json);
    case 'k':
      return check(json, proto::parse_kill_call, proto::kill_call_json);
    case 'e':
      return check(json, proto::parse_explanation, proto::explanation_json);
    case 'c':
      return check(json, proto::parse_request_call, proto::request_call_json);
    case 'w':
      return check(json, proto::parse_role_set_call, proto::role_set_call_json);
    case 'x':
      return check(json, proto::parse_teardown_call, proto::teardown_call_json);
    case 'n':
      return check(json, proto::parse_drain_call, proto::drain_call_json);
    case 'v':
      return check(json, proto::parse_reserve_call, proto::reserve_call_json);
    case 'P':
      return check(json, proto::parse_pending, proto::pending_json);
    case 'F':
      return check(json, proto::parse_forecast, proto::forecast_json);
    case 'E':
      return json_fuzz::check_events(json);
    case 'L':
      return json_fuzz::check_followed(json);
    case 'U':
      return check(json, proto::parse_follow_call, proto::follow_call_json);
    case 'Q':
      return check(json, proto::parse_event_query, proto::event_query_json);
    default:
      return json_fuzz::check_line(json);
  }
}

}  // namespace proffer::fuzz
