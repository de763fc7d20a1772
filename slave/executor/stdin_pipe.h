#pragma once

// The standard input of a command whose scheduler sends it (proto/stdin_stream.h).

#include <functional>
#include <memory>
#include <string>

#include "common/result.h"
#include "net/fd.h"
#include "net/loop.h"
#include "proto/stdin_stream.h"

namespace proffer::executor {

// Writes the parts into a pipe in their order. Loop thread.
class StdinPipe {
 public:
  // `tell` is called with each progress, and twice a second until the first part arrives. Errors:
  // kUnavailable if there is no pipe.
  static Result<std::unique_ptr<StdinPipe>> make(Loop& loop, const TaskId& task,
                                                 std::function<void(const proto::StdinRoom&)> tell);
  // The same, with keys for a terminal in place of a pipe: the end of the input is Ctrl-D.
  static std::unique_ptr<StdinPipe> into_terminal(
      Loop& loop, const TaskId& task, Fd terminal,
      std::function<void(const proto::StdinRoom&)> tell);
  // The scheduler knows where the command runs.
  void hear();
  // The end for the command; close it with end_is_given() when the command has started.
  int end_of_command() const { return theirs_.get(); }
  void end_is_given() { theirs_ = Fd(); }
  // A part that does not follow, or exceeds the window, is answered with the state and dropped.
  void take(const proto::StdinPart& part);

 private:
  StdinPipe(Loop& loop, const TaskId& task, std::function<void(const proto::StdinRoom&)> tell);
  void write();
  void close();
  void tell_room();

  Loop& loop_;
  const TaskId task_;
  std::function<void(const proto::StdinRoom&)> tell_;
  Fd ours_;
  Fd theirs_;
  uint64_t written_ = 0;
  uint64_t told_ = 0;
  std::string waiting_;  // for room in the pipe
  bool is_terminal_ = false;
  bool has_last_ = false;
  bool has_heard_ = false;  // a part has arrived
  std::unique_ptr<FdWatcher> watcher_;
  Timer hello_;
};

}  // namespace proffer::executor
