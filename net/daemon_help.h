#pragma once

// Reads the command line of a daemon. --help shows the daemon's own flags; --helpfull also those of
// libraries.

#include <string_view>
#include <vector>

namespace proffer {

// Flags below one heading of --help, in this order.
struct FlagSection {
  std::string_view heading;
  std::vector<std::string_view> flags;
};

struct DaemonHelp {
  std::string_view what;                   // what the daemon does
  std::string_view source;                 // the __FILE__ that defines its flags
  std::vector<FlagSection> sections = {};  // empty, or each flag once; else --help fails a CHECK
  std::string_view end = {};               // exit codes and signals, behind the flags
  std::string_view command = {};           // its name in usage lines; empty: the program's
};

// Reads all flags. --help, --helpfull and --version print and end the process with 0; a wrong flag
// or an argument that is no flag ends it with 2.
void read_daemon_flags(const DaemonHelp& help, int argc, char** argv);

}  // namespace proffer
