#pragma once

// The processes that `proffer dev` starts, and everything that they leave behind.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

#include "common/result.h"
#include "net/loop.h"

namespace proffer::cli {

// Makes this process the one that orphans of its descendants are given to, so that none escapes.
class Children {
 public:
  // Tells of each child that it started and that ended, with words for how: "exit code 1".
  using Ended = std::function<void(const std::string& name, const std::string& how)>;
  Children(Loop& loop, Ended ended);

  // Starts a program with its output in `log_path`. It gets SIGKILL if this process dies. Errors:
  // kInternal.
  Result<void> start(const std::string& name, std::vector<std::string> command,
                     const std::string& log_path);
  // A signal to one child, if it is there.
  void signal(const std::string& name, int signal) const;
  bool is_running(const std::string& name) const;
  size_t running() const { return children_.size(); }
  pid_t pid(const std::string& name) const;  // 0: not running

  // SIGKILL to every descendant, again and again until none is left. Blocks, milliseconds as a
  // rule.
  static void end_all_descendants();

 private:
  void reap();

  Ended ended_;
  std::map<std::string, pid_t> children_;
};

}  // namespace proffer::cli
