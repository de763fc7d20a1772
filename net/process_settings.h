#pragma once

// The file mode mask (umask) and the soft limits (getrlimit) of a process as variables of an
// environment, so that a command on an agent has those of the shell that it was typed in:
//
//   PROFFER_UMASK=0027
//   PROFFER_RLIMIT_NOFILE=1024    also CORE, STACK, DATA, FSIZE, AS (bytes), CPU (seconds);
//                                 "unlimited"
//
// The names are those of Slurm with another prefix. Executors act on them; the commands see them.

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace proffer {

inline constexpr std::string_view kUmaskVariable = "PROFFER_UMASK";

// Those of this process.
std::map<std::string, std::string> process_settings();

// The shell commands that set what the environment ("NAME=value") asks for, each with ';' at its
// end; empty if it asks for nothing. A limit above the hard one is not set. A value that is not a
// number is ignored, so that no value can be a command.
std::string settings_as_shell(const std::vector<std::string>& environment);

// Sets those that this process can have itself, for its files and the commands that it starts: the
// mask, and the limits of core dumps, stacks and descriptors (256 or more). Returns the shell
// commands for the others; usually there are none.
std::string apply_settings(const std::vector<std::string>& environment);

}  // namespace proffer
