#include "proto/json/events_json.h"

#include "common/roles.h"
#include "common/text.h"
#include "proto/json/event_lines.h"
#include "proto/json/json_text.h"
#include "proto/json/line_packer.h"
#include "proto/json/plain_line.h"

namespace proffer::proto {
namespace {

constexpr std::string_view kBegin = "{\"events\":[";  // beginning of a page
constexpr std::string_view kNext = "],\"next\":\"";   // after the events of a page

std::string as_text(const JsonValue& value) {
  if (const auto* words = std::get_if<std::string>(&value)) return *words;
  if (const auto* whole = std::get_if<int64_t>(&value)) return std::to_string(*whole);
  return {};
}

void read_place(const JsonFields& in, std::string_view name, EventPlace& out) {
  in.as_text(name, parse_event_place, out);
}

// A reader may be older than the master, so fields keep their names.
void read_row(const JsonFields& in, EventRow& row) {
  in.require("seq");
  read_place(in, "seq", row.seq);
  in.seconds("time_s", row.at);
  in.text("event", row.event);
  in.text("level", row.level);
  std::map<std::string, JsonValue> all;
  in.each_value(all);
  for (const auto& [name, value] : all) {
    if (name == "seq" || name == "time_s" || name == "event" || name == "level") continue;
    row.fields.emplace_back(name, as_text(value));
  }
}

// True if every reader of the log accepts the line, which is not plain. Sets the place of `event`,
// and whether it is a gap.
bool read_unusual_line(std::string_view line, BlockEvent& event) {
  const std::optional<EventPlace> place = place_of(line);
  if (!place || line.find_first_of("\r\n") != std::string_view::npos) return false;
  const Result<EventPage> page = parse_event_page(event_page_json({std::string(line)}, *place));
  if (!page || page->events.size() != 1 || page->events[0].seq != *place) return false;
  event.place = *place;
  event.what = page->events[0].event == kGapWords ? kGapWords : std::string_view();
  return true;
}

// The events of a page, each with its original bytes.
std::vector<std::string_view> lines_in(std::string_view json) {
  constexpr int kDepthOfEvents = 2;  // within the page's object
  std::vector<std::string_view> lines;
  int depth = 0;
  bool is_in_text = false;
  size_t begin = 0;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (is_in_text) {
      if (c == '\\') ++i;
      is_in_text = c != '"';
    } else if (c == '"') {
      is_in_text = true;
    } else if (c == '{') {
      if (++depth == kDepthOfEvents) begin = i;
    } else if (c == '}' && depth-- == kDepthOfEvents) {
      lines.push_back(json.substr(begin, i + 1 - begin));
    }
  }
  return lines;
}

// True if the page has these lines, which are parts of it, and no others.
bool is_page_of(std::string_view json, const std::vector<std::string_view>& lines,
                const EventPlace& next) {
  std::string_view rest = json;
  const auto take = [&](std::string_view part) {
    if (!rest.starts_with(part)) return false;
    rest.remove_prefix(part.size());
    return true;
  };
  if (!take(kBegin)) return false;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0 && !take(",")) return false;
    if (lines[i].data() != rest.data()) return false;
    rest.remove_prefix(lines[i].size());
  }
  return rest == text(kNext, to_text(next), "\"}");
}

}  // namespace

template <class F>
void fields(F& f, typename F::template Of<EventQuery>& query) {
  constexpr auto kRows = static_cast<int64_t>(kReplyRowsMax);
  f.about("place of the first event: `next` of the previous page; default: see `last`");
  if constexpr (F::kReads) {
    if (f.has("from")) f.as_text("from", parse_event_place, query.from.emplace());
  } else {
    if (query.from) f.as_text("from", parse_event_place, *query.from);
  }
  f.about("without `from`: number of newest events");
  auto last = static_cast<int64_t>(query.last);
  f.whole("last", 0, kRows, last);
  f.about("only events of this framework, by its id or name");
  f.text_if_any("framework", query.framework);
  f.about("only events of this role and roles below it");
  f.text_if_any("role", query.role);
  f.about("only events of this task, as FRAMEWORK/TASK");
  f.text_if_any("task", query.task);
  f.about("only events of this agent");
  f.text_if_any("agent", query.agent);
  f.about("maximum events");
  auto limit = static_cast<int64_t>(query.limit);
  f.whole("limit", 1, kRows, limit);
  f.about("with `from`: seconds to wait for an event, at most 60");
  f.seconds("wait_s", query.wait);
  if constexpr (F::kReads) {
    query.last = static_cast<size_t>(last);
    query.limit = static_cast<size_t>(limit);
    if (f.has("role")) {
      if (const Result<RoleName> role = parse_role(query.role); !role) {
        f.refuse("role", role.error().message());
      }
    }
    if (f.has("task") && query.task.find('/') == std::string::npos) {
      f.refuse("task", text("a task must be FRAMEWORK/TASK, not ", quoted(query.task)));
    }
    if (query.wait > kEventsWaitMax) {
      f.refuse("wait_s", text("the maximum is ", to_text(kEventsWaitMax)));
    }
  }
}

template <class F>
void fields(F& f, typename F::template Of<FollowCall>& call) {
  f.require("from");
  f.as_text("from", parse_event_place, call.from);
  f.seconds("wait_s", call.wait);
  if constexpr (F::kReads) {
    if (call.wait > kEventsWaitMax) {
      f.refuse("wait_s", text("the maximum is ", to_text(kEventsWaitMax)));
    }
  }
}

JsonShape event_query_shape() { return shape_of<EventQuery>(); }
std::string event_query_json(const EventQuery& query) { return print_value(query); }
Result<EventQuery> parse_event_query(std::string_view json) {
  return parse_arguments<EventQuery>(json);
}

JsonShape event_page_shape() {
  using Type = JsonShape::Type;
  JsonShape row{.name = "events", .type = Type::kRows, .is_required = true, .is_open = true};
  row.members = {
      {.name = "seq", .about = "its place: LEADER.NUMBER", .type = Type::kText},
      {.name = "time_s", .type = Type::kSeconds},
      {.name = "event", .about = "name of the event; gap: events are missing", .type = Type::kText},
      {.name = "level", .about = "info, detail, warning or error", .type = Type::kText}};
  JsonShape page;
  page.members = {std::move(row),
                  {.name = "next",
                   .about = "`from` of the next page",
                   .type = Type::kText,
                   .is_required = true}};
  return page;
}

std::string event_page_json(const std::vector<std::string>& lines, const EventPlace& next) {
  size_t bytes = 64;
  for (const std::string& line : lines) bytes += line.size() + 1;
  std::string out;
  out.reserve(bytes);
  out += kBegin;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += ',';
    out += lines[i];
  }
  out += text(kNext, to_text(next), "\"}");
  return out;
}

Result<EventPage> parse_event_page(std::string_view json) {
  EventPage page;
  Result<void> parsed = parse_object(json, [&](const JsonFields& in) {
    in.require("events");
    in.require("next");
    in.list("events", [&](const JsonFields& row) { read_row(row, page.events.emplace_back()); });
    read_place(in, "next", page.next);
  });
  if (!parsed) return std::move(parsed).error();
  return page;
}

std::vector<std::string> lines_of_event_page(std::string_view json) {
  const std::vector<std::string_view> lines = lines_in(json);
  return {lines.begin(), lines.end()};
}

JsonShape follow_call_shape() { return shape_of<FollowCall>(); }
std::string follow_call_json(const FollowCall& call) { return print_value(call); }
Result<FollowCall> parse_follow_call(std::string_view json) {
  return parse_arguments<FollowCall>(json);
}

Result<FollowedEvents> parse_followed_events(std::string_view json, const EventPlace& from) {
  const std::vector<std::string_view> lines = lines_in(json);
  FollowedEvents followed;
  const size_t end_of_lines = json.rfind(kNext);
  if (end_of_lines != std::string_view::npos) {
    const std::string_view next = json.substr(end_of_lines + kNext.size());
    const Result<EventPlace> place = parse_event_place(next.substr(0, next.find('"')));
    if (!place) return Error(place.error()).in("next");
    followed.next = *place;
  }
  if (!is_page_of(json, lines, followed.next)) {
    return Error::invalid_argument("this is not a page of events of a leader");
  }
  EventPlace end = from;
  bool has_gap = false;
  LinePacker packer;
  BlockEvent event;
  for (const std::string_view line : lines) {
    const bool is_plain = read_plain_line(line, event);
    if (!is_plain && !read_unusual_line(line, event)) {
      return Error::invalid_argument("a page of events has a line that is not an event");
    }
    const bool is_gap = event.what == kGapWords;
    has_gap = has_gap || is_gap;
    if (is_gap) continue;
    if (event.place < end || event.place.number == UINT64_MAX) {
      return Error::invalid_argument(text("in a page of events, ", to_text(event.place),
                                          " is not after the events before it"));
    }
    end = {event.place.leader, event.place.number + 1};
    ++followed.events;
    packer.add(line, is_plain ? &event : nullptr);
  }
  followed.records = packer.take();
  // Only a gap may lead back, to a leader with a lower number.
  if (followed.events == 0 && followed.next < from && !has_gap) {
    return Error::invalid_argument(
        text("next: ", to_text(followed.next), " is before ", to_text(from), ", without a gap"));
  }
  if (followed.events > 0 && followed.next != end) {
    return Error::invalid_argument(text("next: must be ", to_text(end), ", after the last event"));
  }
  return followed;
}

}  // namespace proffer::proto
