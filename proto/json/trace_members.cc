#include "proto/json/trace_members.h"

#include "proto/event_block.h"
#include "proto/json/json_text.h"

namespace proffer::proto {

void TraceMembers::word(std::string_view key, std::string_view value) {
  begin(key);
  append_text(out_, value);
}

void TraceMembers::number(std::string_view key, int64_t value) {
  begin(key);
  append_whole(out_, value);
}

void TraceMembers::free_text(std::string_view key, std::string_view value) {
  word(key, value.substr(0, kEventTextBytesMax));
}

void TraceMembers::begin(std::string_view key) {
  out_ += ",\"";
  for (const std::string_view taken : taken_) {
    if (key == taken) out_ += "field_";
  }
  out_ += key;
  out_ += "\":";
}

}  // namespace proffer::proto
