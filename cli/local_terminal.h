#pragma once

// The user's terminal at standard input.

#include <functional>
#include <mutex>

#include "proto/stdin_stream.h"

namespace proffer::cli {

// Whether standard input and standard output both are terminals.
bool is_at_terminal();
// Zero by zero if it is not known.
proto::TerminalSize local_terminal_size();

// The mode of the terminal, for the lifetime of this object. The settings are restored also if the
// process exits, or ends by a signal that it does not handle (SIGKILL excepted). One object at a
// time. Any thread.
class TerminalMode {
 public:
  enum class Mode {
    kUsual,      // as it was
    kRaw,        // passes every key on, and all output as it is
    kRawOutput,  // passes all output as it is
  };
  TerminalMode() = default;
  ~TerminalMode() { set(Mode::kUsual); }
  TerminalMode(const TerminalMode&) = delete;
  TerminalMode& operator=(const TerminalMode&) = delete;
  void set(Mode mode);
  // Prints lines of this program, whose ends a raw terminal would not show as such.
  void print(const std::function<void()>& print_lines);

 private:
  static void apply(Mode mode);

  std::mutex mutex_;
  Mode mode_ = Mode::kUsual;  // guarded by mutex_
};

}  // namespace proffer::cli
