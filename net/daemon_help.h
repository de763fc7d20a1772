#pragma once

// How the daemons read their command line. --help shows the flags that a daemon defines; --helpfull
// shows those of the libraries as well.

#include <string_view>

namespace proffer {

// Reads all flags. --help, --helpfull and --version print and end the process with 0; a wrong flag
// or an argument that is no flag ends it with 2. `source` is the __FILE__ that defines the daemon's
// flags, `what` says in one sentence what the daemon does.
void read_daemon_flags(std::string_view what, std::string_view source, int argc, char** argv);

}  // namespace proffer
