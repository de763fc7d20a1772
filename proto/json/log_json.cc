#include "proto/json/log_json.h"

#include "proto/json/event_lines.h"
#include "proto/json/json_text.h"
#include "proto/json/trace_members.h"

namespace proffer::proto {
namespace {

// Members of a line besides the event's fields.
constexpr std::string_view kLineMembers[] = {"time_s", "level", "program", "pid", "message"};

std::string begin_line(const LogLine& line, std::string_view level, std::string_view message) {
  std::string out = "{\"time_s\":";
  append_milli(out, line.at.nanos() / 1'000'000);
  out += ",\"level\":";
  append_text(out, level);
  out += ",\"program\":";
  append_text(out, line.program);
  out += ",\"pid\":";
  append_whole(out, line.pid);
  out += ",\"message\":";
  append_text(out, message);
  return out;
}

}  // namespace

std::string log_line_json(const LogLine& line, std::string_view level, std::string_view message,
                          std::string_view source) {
  std::string out = begin_line(line, level, message);
  out += ",\"source\":";
  append_text(out, source);
  return out + "}";
}

std::string log_line_json(const LogLine& line, const TraceEvent& event, uint64_t left_out) {
  std::string out = begin_line(line, level_word(event.level()), event.what());
  TraceMembers fields(out, kLineMembers);
  event.fields(fields);
  if (left_out > 0) fields.number("left_out", static_cast<int64_t>(left_out));
  return out + "}";
}

}  // namespace proffer::proto
