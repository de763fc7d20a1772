#pragma once

// One command of an array as its own process group: it is started and waited for, and no process of
// it remains.

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "common/result.h"
#include "common/time.h"
#include "proto/limit_warning.h"

namespace proffer::batch {

// The running process group, for the thread that receives the order to end the task.
class ElementGroup {
 public:
  // Signals the whole group; nothing happens if none runs. A command that had not ended by itself
  // counts as interrupted.
  void signal(int signal);

 private:
  friend class Element;
  void send(int signal);
  void warn(int signal);
  bool is_interrupted() const;
  mutable std::mutex mutex_;
  bool is_interrupted_ = false;
  pid_t group_ = -1;  // it has a member, so no other process can have this number
};

struct ElementStart {
  std::vector<std::string> command = {};
  std::vector<std::string> environment = {};  // "NAME=value"
  std::string path = {};                      // searched for programs, like its $PATH
  std::string directory = {};
  int out = -1;
  int err = -1;
  std::optional<proto::LimitWarning> warning = {};  // of its timeout
};

class Element {
 public:
  // `grace`: between the polite signal after a timeout and SIGKILL.
  Element(ElementGroup& group, Duration grace) : group_(group), grace_(grace) {}

  // Runs the command to its end, waits for processes of its group that still write (left_processes
  // in net), and kills the rest. Returns its exit code as a shell does: 127 if there is no such
  // program, 126 if it cannot be executed, 128 plus the number of a signal, 124 after the timeout
  // (zero: none). Its warning comes before the timeout, and its grace after it, for the
  // whole group. Errors: kUnavailable if no process can be started, or the directory cannot be
  // entered.
  Result<int> run(const ElementStart& start, Duration timeout);
  // True if a signal() found the last command running: then it has not done its work, whatever its
  // exit code.
  bool was_interrupted() const;

 private:
  Result<pid_t> spawn(const ElementStart& start, int& refused_code);
  bool wait(pid_t pid, const ElementStart& start, Duration timeout);
  void wait_for_rest(pid_t group, const ElementStart& start, bool in_time,
                     std::chrono::steady_clock::time_point grace_ends);

  ElementGroup& group_;
  const Duration grace_;
};

}  // namespace proffer::batch
