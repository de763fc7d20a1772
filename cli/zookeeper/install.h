#pragma once

// From the files of a machine's directory to their places on the machine. Pure.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/zookeeper/ensemble.h"
#include "common/result.h"

namespace proffer::cli {

struct InstallStep {
  SetupFile file = {};
  std::string content = {};
  std::optional<std::string> before = {};  // its content now, if the file exists
  std::string what = {};                   // for people: what changes
};

// Contents by name in the directory, and by place on the machine; a file that does not exist is
// absent. A private file is never replaced: kAlreadyExists if the machine has another one. Flags of
// the master that `init` does not set stay. kNotFound: the directory lacks a file.
using Contents = std::map<std::string, std::string, std::less<>>;
Result<std::vector<InstallStep>> plan_install(const Contents& given, const Contents& present);

// `present` with the flags of `given`, "--name=value" a line: a line of the same flag is replaced,
// other lines stay, the rest follows at the end. `what` is one line for people, or empty.
std::string merged_flags(std::string_view given, std::string_view present, std::string& what);

}  // namespace proffer::cli
