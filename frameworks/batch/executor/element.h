#pragma once

// One command of an array as a process group of its own: started, waited for, and nothing left of
// it afterwards.

#include <mutex>
#include <string>
#include <vector>

#include <sys/types.h>

#include "common/result.h"
#include "common/time.h"

namespace proffer::batch {

// The process group that runs now, for the thread that hears that the task is to end.
class ElementGroup {
 public:
  // Signals all of it; nothing if none runs. A command that had not ended by itself is interrupted.
  void signal(int signal);

 private:
  friend class Element;
  void send(int signal);
  std::mutex mutex_;
  bool is_interrupted_ = false;
  pid_t group_ = -1;  // a process that is not reaped yet has it, so its number is not another's
};

struct ElementStart {
  std::vector<std::string> command = {};
  std::vector<std::string> environment = {};  // "NAME=value"
  std::string path = {};                      // where programs are looked for: $PATH of it
  std::string directory = {};
  int out = -1;
  int err = -1;
};

class Element {
 public:
  explicit Element(ElementGroup& group) : group_(group) {}

  // Runs it to its end, and ends what is left of its group. Returns its exit code as a shell tells
  // it: 127 if there is no such program, 126 if it cannot be executed, 128 and the number of a
  // signal, 124 if it was ended for its time (zero: no bound): SIGTERM first, SIGKILL 2 s later.
  // Errors: kUnavailable if no process can be started, or the directory cannot be entered.
  Result<int> run(const ElementStart& start, Duration timeout);
  // Whether somebody's signal() found the last one running: then it has not done its work, whatever
  // its exit code says.
  bool was_interrupted() const;

 private:
  Result<pid_t> spawn(const ElementStart& start, int& refused_code);
  bool wait(pid_t pid, Duration timeout);

  ElementGroup& group_;
};

}  // namespace proffer::batch
