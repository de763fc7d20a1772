#pragma once

// Where an agent of this machine is, as its address.json says.

#include <optional>
#include <string>

namespace proffer::cli {

struct DaemonPlace {
  std::string agent = {};  // its name
  std::string http = {};   // its socket for files
};

// none: there is no such file, or another user than root and this one wrote it.
std::optional<DaemonPlace> read_daemon_place(const std::string& dir);

}  // namespace proffer::cli
