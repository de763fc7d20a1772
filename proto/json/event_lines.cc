// Lines are printed by hand, since a busy master has a hundred thousand events per second.

#include "proto/json/event_lines.h"

#include "proto/json/json_text.h"
#include "proto/json/trace_members.h"

namespace proffer::proto {
namespace {

// Size of most lines of tasks and offers, in addition to the bytes of their block.
constexpr size_t kLineBytesMore = 160;

void begin_event(std::string& out, const EventPlace& place, Time at, std::string_view event,
                 std::string_view level) {
  const int64_t millis = at.nanos() / 1'000'000;
  out += kEventLineBegin;
  append_whole(out, place.leader.value());
  out += '.';
  append_whole(out, place.number);
  out += "\",\"time_s\":";
  append_whole(out, millis / 1'000);
  out += '.';
  for (const int64_t digit : {millis / 100, millis / 10, millis}) {
    out += static_cast<char>('0' + digit % 10);
  }
  out += ",\"event\":\"";
  out += event;
  out += "\",\"level\":\"";
  out += level;
  out += '"';
}

void append_event(std::string& out, const BlockEvent& event) {
  begin_event(out, event.place, event.at, event.what, level_word(event.level));
  TraceMembers members(out);
  bool has_user = event.user.empty();
  bool has_role = event.role.empty();
  for (const BlockEvent::Field& field : event.fields) {
    if (field.number) {
      members.number(field.name, *field.number);
    } else {
      members.word(field.name, field.text);
    }
    has_user = has_user || field.name == "user";
    has_role = has_role || field.name == "role";
  }
  if (!has_user) members.word("user", event.user);
  if (!has_role) members.word("role", event.role);
  out += '}';
}

}  // namespace

std::string_view level_word(TraceLevel level) {
  switch (level) {
    case TraceLevel::kLongLived:
      return "info";
    case TraceLevel::kShortLived:
    case TraceLevel::kMessage:
      return "detail";
    case TraceLevel::kMisbehaved:
      return "warning";
    case TraceLevel::kOperator:
      return "error";
  }
  return "";
}

EventLineReader::EventLineReader(std::string_view record)
    : block_(EventBlockReader::open(record)), line_(block_ ? std::string_view() : record) {}

bool EventLineReader::next() {
  if (block_) {
    if (!block_->next()) return false;
    place_ = block_->event().place;
    printed_.clear();
    append_event(printed_, block_->event());
    line_ = printed_;
    return true;
  }
  const std::optional<EventPlace> place = is_line_read_ ? std::nullopt : place_of(line_);
  is_line_read_ = true;
  if (place) place_ = *place;
  return place.has_value();
}

std::optional<EventPlace> first_place_of(std::string_view record) {
  const std::optional<EventBlockReader> block = EventBlockReader::open(record);
  return block ? block->first() : place_of(record);
}

std::optional<EventPlace> last_place_of(std::string_view record) {
  const std::optional<EventBlockReader> block = EventBlockReader::open(record);
  return block ? block->last() : place_of(record);
}

std::string last_line_of(std::string_view record) {
  std::string last;
  for (EventLineReader lines(record); lines.next();) last = lines.line();
  return last;
}

EventLines::EventLines(std::string_view block) {
  std::optional<EventBlockReader> events = EventBlockReader::open(block);
  if (!events) return;
  text.reserve(block.size() + events->events() * kLineBytesMore);
  while (events->next()) {
    append_event(text, events->event());
    ends.push_back(text.size());
  }
}

std::string_view EventLines::line(size_t i) const {
  const size_t begin = i == 0 ? 0 : ends[i - 1];
  return std::string_view(text).substr(begin, ends[i] - begin);
}

std::string event_gap_json(const EventPlace& from, const EventPlace& until, Time at,
                           std::optional<uint64_t> lost) {
  std::string out;
  begin_event(out, from, at, kGapWords, level_word(TraceLevel::kMisbehaved));
  TraceMembers members(out);
  members.word("until", to_text(until));
  if (lost) members.number("lost", static_cast<int64_t>(*lost));
  out += '}';
  return out;
}

void append_event_message(std::string& out, std::string_view line, const EventPlace& seen,
                          bool is_gap) {
  if (is_gap) out += "event: gap\n";
  out += "id: ";
  append_whole(out, seen.leader.value());
  out += '.';
  append_whole(out, seen.number);
  out += "\ndata: ";
  out += line;
  out += "\n\n";
}

std::optional<EventPlace> place_of(std::string_view line) {
  if (!line.starts_with(kEventLineBegin)) return std::nullopt;
  line.remove_prefix(kEventLineBegin.size());
  const size_t end = line.find('"');
  if (end == std::string_view::npos) return std::nullopt;
  const Result<EventPlace> place = parse_event_place(line.substr(0, end));
  if (!place) return std::nullopt;
  return *place;
}

std::string json_text(std::string_view text) {
  std::string out;
  append_text(out, text);
  return out;
}

}  // namespace proffer::proto
