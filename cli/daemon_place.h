#pragma once

// The place of an agent on this machine, from its address.json.

#include <optional>
#include <string>

namespace proffer::cli {

struct DaemonPlace {
  std::string agent = {};  // its name
  std::string http = {};   // its socket for files
};

// None: there is no such file, or it was written by a user other than root and this one.
std::optional<DaemonPlace> read_daemon_place(const std::string& dir);

}  // namespace proffer::cli
