#pragma once

// Appends the fields of a trace event to a JSON object that already has members: an event of the
// log, or a log line. For proto/json only.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/trace.h"

namespace proffer::proto {

class TraceMembers final : public TraceFields {
 public:
  // Appends to `out`, which must outlive it. A field with a name in `taken`, the members that the
  // object has, is written as `field_NAME`.
  explicit TraceMembers(std::string& out, std::span<const std::string_view> taken = {})
      : out_(out), taken_(taken) {}

  void word(std::string_view key, std::string_view value) override;
  void number(std::string_view key, int64_t value) override;
  // Writes at most kEventTextBytesMax bytes of it.
  void free_text(std::string_view key, std::string_view value) override;

 private:
  void begin(std::string_view key);

  std::string& out_;
  std::span<const std::string_view> taken_;
};

}  // namespace proffer::proto
