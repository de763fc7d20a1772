#pragma once

// The terminal of a command whose scheduler shows it to a user (proto/stdin_stream.h).

#include <functional>
#include <memory>
#include <string>

#include "common/result.h"
#include "net/fd.h"
#include "net/loop.h"
#include "proto/stdin_stream.h"
#include "slave/executor/stdin_pipe.h"

namespace proffer::executor {

// Copies what appears on the terminal to a file, and keys into the terminal. Loop thread.
class TaskTerminal {
 public:
  // `to` is the task's stdout, which it does not own. `tell` sends a message to the scheduler.
  // Errors: kUnavailable if there is no terminal.
  static Result<std::unique_ptr<TaskTerminal>> make(Loop& loop, const TaskId& task,
                                                    proto::TerminalSize size, int to,
                                                    std::function<void(std::string)> tell);
  // The command's end. This object keeps it open, so that the terminal never hangs up before its
  // command has ended.
  int end_of_command() const { return theirs_.get(); }
  void take(const proto::StdinPart& part) { keys_->take(part); }
  void take(const proto::TerminalView& view);
  // Copies what is left, without waiting for the user.
  void finish();

 private:
  TaskTerminal(Loop& loop, const TaskId& task, int to, std::function<void(std::string)> tell);
  bool has_room() const { return written_ < shown_ + proto::kTerminalWindow; }
  bool copy_some();
  void tell_part(uint64_t offset, std::string_view bytes);

  Loop& loop_;
  const TaskId task_;
  const int to_;
  std::function<void(std::string)> tell_;
  Fd ours_;
  Fd theirs_;
  uint64_t written_ = 0;  // the size of the file
  uint64_t shown_ = 0;
  size_t told_ = 0;  // bytes in parts since `told_since_`
  Time told_since_ = {};
  std::unique_ptr<StdinPipe> keys_;
  std::unique_ptr<FdWatcher> watcher_;
};

}  // namespace proffer::executor
