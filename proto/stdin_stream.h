#pragma once

// Standard input of a task that comes from its scheduler, in framework messages between the two
// (best effort, so both sides repeat).
//
//   scheduler → executor  StdinPart  bytes at an offset; the last part ends the input
//   executor → scheduler  StdinRoom  the bytes that the command's pipe has taken; first when the
//                                    command starts, until a part arrives (an empty one, if the
//                                    scheduler has no input yet)
//
// A scheduler sends at most kStdinWindow bytes beyond those that were taken.
//
// The task may have a terminal in place of its input and output (`proffer run -t`). Its executor
// then copies what appears on the terminal to the task's stdout, and the parts are keys.
//
//   executor → scheduler  TerminalPart  bytes of stdout at an offset, so that few bytes are seen at
//                                       once; stdout has all of them, and parts may be missing
//   scheduler → executor  TerminalView  the size of the user's window, and the bytes of stdout that
//                                       were shown; repeated until the executor has answered
//   executor → scheduler  TerminalView  the answer: the same
//
// An executor reads the terminal until kTerminalWindow bytes were not shown; then writers wait.

#include <cstdint>
#include <optional>
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

inline constexpr size_t kTerminalPartBytesMax = 16 * 1024;
inline constexpr uint64_t kTerminalWindow = 512 * 1024;

// Executors that give terminals set this variable for a command that has one.
inline constexpr std::string_view kTerminalVariable = "PROFFER_TERMINAL";
// The command of a task with a terminal begins with this. An executor of an earlier version gives
// no terminal and would run the command without one; instead the task fails with this message.
inline constexpr std::string_view kTerminalCommand =
    ": \"${PROFFER_TERMINAL?the agent is too old to give a terminal; upgrade it}\"\n";

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

struct TerminalSize {
  uint16_t rows = 0;
  uint16_t columns = 0;
  bool operator==(const TerminalSize&) const = default;
};

struct TerminalPart {
  TaskId task = {};
  uint64_t offset = 0;  // in stdout, of the first byte
  std::string bytes = {};
  bool operator==(const TerminalPart&) const = default;
};

struct TerminalView {
  TaskId task = {};
  uint64_t shown = 0;
  TerminalSize size = {};
  bool operator==(const TerminalView&) const = default;
};

// The value of kStdinVariable that asks for a terminal of this size: "terminal:24x80".
std::string terminal_request(TerminalSize size);
// None: the value does not ask for a terminal. Errors: kInvalidArgument for a malformed size.
Result<std::optional<TerminalSize>> terminal_asked(std::string_view value);

std::string encode(const StdinPart& part);
std::string encode(const StdinRoom& room);
// Errors: kInvalidArgument for bytes that encode() does not make.
Result<StdinPart> decode_stdin_part(std::string_view bytes);
Result<StdinRoom> decode_stdin_room(std::string_view bytes);
std::string encode(const TerminalPart& part);
std::string encode(const TerminalView& view);
Result<TerminalPart> decode_terminal_part(std::string_view bytes);
Result<TerminalView> decode_terminal_view(std::string_view bytes);

}  // namespace proffer::proto
