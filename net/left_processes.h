#pragma once

// Processes that a command leaves behind when it ends: the filters of a shell's `>(…)`, and jobs in
// the background. A shell does not wait for them, but the output of the command is complete only
// when its filters have ended.

#include <optional>
#include <vector>

#include <sys/stat.h>
#include <sys/types.h>

#include "common/time.h"

namespace proffer {

// The maximum wait for processes that still write when their command has ended by itself.
inline constexpr Duration kLeftOutputMax = seconds(10);

// Whether the process group has a member. One system call; a process that is not reaped yet counts.
bool has_members(pid_t group);
// The living members of the group. Reads the whole of /proc.
std::vector<pid_t> members_of(pid_t group);

// The two files that a command writes to. The descriptors are used only by the constructor.
class CommandOutput {
 public:
  CommandOutput(int out, int err);
  // Whether the process can still add to the result of the command: it has one of the files open
  // for writing, or it is a filter, whose standard input is a pipe. False for a process that has
  // ended or that this user may not inspect. Takes one system call for each of its descriptors.
  bool has_writer(pid_t pid) const;

 private:
  struct File {
    dev_t device = 0;
    ino_t inode = 0;
    bool operator==(const File&) const = default;
  };
  static std::optional<File> regular_file(int fd);

  std::optional<File> out_;
  std::optional<File> err_;
};

}  // namespace proffer
