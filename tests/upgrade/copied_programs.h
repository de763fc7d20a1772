#pragma once

// Programs of two versions in one directory, where every user of the machine can run them: a build
// may be in a directory that only its owner can enter.

#include <filesystem>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

#include "tests/integration/processes.h"

namespace proffer::test {

// Copies the current programs to DIR/now, and those in `previous` (a directory of tools/previous,
// or the current ones) to DIR/before. Programs of one version find each other there.
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

inline constexpr const char* kOtherUser = "65534";  // user nobody

// The command, run by another user if this one is root.
inline Words as_other_user(const Words& command) {
  if (geteuid() != 0) return command;
  Words words = {"/usr/bin/setpriv", std::string("--reuid=") + kOtherUser,
                 std::string("--regid=") + kOtherUser, "--clear-groups"};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

}  // namespace proffer::test
