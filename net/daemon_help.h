#pragma once

// Reads the command line of a daemon. --help shows the daemon's own flags; --helpfull also those of
// libraries.

#include <string_view>

namespace proffer {

// Reads all flags. --help, --helpfull and --version print and exit with 0; a wrong flag or an
// argument that is no flag exits with 2. `source` is the __FILE__ that defines the daemon's flags,
// `what` describes the daemon in one sentence.
void read_daemon_flags(std::string_view what, std::string_view source, int argc, char** argv);

}  // namespace proffer
