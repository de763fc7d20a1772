#pragma once

// The processes that `proffer dev` starts, and all their descendants.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

#include "common/result.h"
#include "net/loop.h"

namespace proffer::cli {

// Makes this process the parent of all orphans among its descendants, so that none escapes.
class Children {
 public:
  // Called for each child that it started and that ended; `how` as in "exit code 1".
  using Ended = std::function<void(const std::string& name, const std::string& how)>;
  Children(Loop& loop, Ended ended);

  // Starts a program with its output in `log_path`. It gets SIGKILL if this process dies. Errors:
  // kInternal.
  Result<void> start(const std::string& name, std::vector<std::string> command,
                     const std::string& log_path);
  // Signals one child, if it exists.
  void signal(const std::string& name, int signal) const;
  bool is_running(const std::string& name) const;
  size_t running() const { return children_.size(); }
  pid_t pid(const std::string& name) const;  // 0: not running

  // Sends SIGKILL to every descendant, again and again until none is left. Blocks, usually for
  // milliseconds.
  static void end_all_descendants();

 private:
  void reap();

  Ended ended_;
  std::map<std::string, pid_t> children_;
};

}  // namespace proffer::cli
