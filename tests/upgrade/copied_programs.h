#pragma once

// Programs of two versions beside each other, where every user of the machine can run them: a build
// may lie in a folder that is its owner's alone.

#include <filesystem>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

#include "tests/integration/processes.h"

namespace proffer::test {

// Today's programs to DIR/now, those in `previous` (a directory of tools/previous, or today's) to
// DIR/before. The programs of one version find each other there.
inline void copy_programs(const std::string& previous, const std::string& dir) {
  namespace fs = std::filesystem;
  ::chmod(dir.c_str(), 0777);
  fs::create_directory(dir + "/before");
  fs::create_directory(dir + "/now");
  for (const std::string name : {"proffer", "proffer-master", "proffer-agent", "proffer-executor",
                                 "proffer-fetch", "proffer-service", "kill_load", "kill_task"}) {
    const std::string today = name.starts_with("kill_") ? program_of_tests(name) : program(name);
    fs::copy_file(today, dir + "/now/" + name);
    for (const std::string& from : {previous + "/" + name, previous + "/../tests/" + name}) {
      if (fs::exists(from)) fs::copy_file(from, dir + "/before/" + name);
    }
  }
}

inline constexpr const char* kOtherUser = "65534";  // nobody

// The command run by another user, if this one is root.
inline Words as_other_user(const Words& command) {
  if (geteuid() != 0) return command;
  Words words = {"/usr/bin/setpriv", std::string("--reuid=") + kOtherUser,
                 std::string("--regid=") + kOtherUser, "--clear-groups"};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

}  // namespace proffer::test
