#pragma once

// The terminal of this process as that of a task (proffer run -t; proto/stdin_stream.h).

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "cli/local_terminal.h"
#include "cli/terminal_escape.h"
#include "proto/messages.h"
#include "proto/stdin_stream.h"
#include "sdk/scheduler.h"

namespace proffer::cli {

// Loop thread of the scheduler, unless stated otherwise. Handles SIGWINCH.
class AttachedTerminal {
 public:
  // `leave` is called when the user leaves (terminal_escape.h).
  AttachedTerminal(sdk::Scheduler& scheduler, std::function<void()> leave);
  // Each message of the task says where it runs. The first one makes the terminal raw.
  void on_room(const proto::FrameworkMessage& from, const proto::StdinRoom& room);
  void on_view(const proto::TerminalView& view);
  // The keys for the task among these.
  std::string keys(std::string_view typed);
  // So many more bytes of the task's stdout were printed. Any thread.
  void shown(uint64_t bytes);
  // Prints lines of this program. Any thread.
  void print(const std::function<void()>& print_lines) { mode_.print(print_lines); }
  // Keys are no longer for the task, but it may have written more.
  void take_keys_back() {
    if (place_) mode_.set(TerminalMode::Mode::kRawOutput);
  }
  // The terminal is as before.
  void restore() { mode_.set(TerminalMode::Mode::kUsual); }

 private:
  void send();
  void look_after();

  sdk::Scheduler& scheduler_;
  std::function<void()> leave_;
  TerminalMode mode_;
  TerminalEscape escape_;
  std::optional<proto::FrameworkMessage> place_;  // the first message, without its data
  proto::TerminalView sent_ = {};
  bool is_answered_ = false;
  std::atomic<uint64_t> shown_ = 0;
  std::atomic<uint64_t> told_ = 0;  // `shown_` in the last message
};

}  // namespace proffer::cli
