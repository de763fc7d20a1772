#pragma once

// Standard input of a task that comes from its scheduler, in framework messages between the two
// (best effort, so both sides repeat).
//
//   scheduler → executor  StdinPart  bytes at an offset; the last part ends the input
//   executor → scheduler  StdinRoom  the bytes that the command's pipe has taken; first when the
//                                    command starts, until the first part arrives
//
// A scheduler sends at most kStdinWindow bytes beyond those that were taken.

#include <cstdint>
#include <string>
#include <string_view>

#include "common/ids.h"
#include "common/result.h"

namespace proffer::proto {

// The variable of a task's environment that asks for it, and its value.
inline constexpr std::string_view kStdinVariable = "PROFFER_STDIN";
inline constexpr std::string_view kStdinStreamed = "streamed";

inline constexpr size_t kStdinPartBytesMax = 64 * 1024;
inline constexpr size_t kStdinWindow = 4 * kStdinPartBytesMax;

struct StdinPart {
  TaskId task = {};
  uint64_t offset = 0;  // of the first byte
  std::string bytes = {};
  bool is_last = false;
  bool operator==(const StdinPart&) const = default;
};

struct StdinRoom {
  TaskId task = {};
  uint64_t taken = 0;
  bool is_closed = false;  // nothing more is wanted
  bool operator==(const StdinRoom&) const = default;
};

std::string encode(const StdinPart& part);
std::string encode(const StdinRoom& room);
// Errors: kInvalidArgument for bytes that encode() does not make.
Result<StdinPart> decode_stdin_part(std::string_view bytes);
Result<StdinRoom> decode_stdin_room(std::string_view bytes);

}  // namespace proffer::proto
