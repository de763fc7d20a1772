#pragma once

// What the words of other systems are called here: options and verbs of Slurm, Kubernetes, Docker,
// Nomad, Mesos, xargs and GNU parallel.

#include <string>
#include <string_view>
#include <vector>

namespace proffer {

// The next step for an option that a command does not have, as in "write --count 4"; empty if no
// other system is known to have it. `words` begins with the option; `options` are those of the
// command.
std::string way_of_option(const std::vector<std::string>& words, std::string_view command,
                          const std::vector<std::string>& options);

// The verb among `verbs` that does what this word does elsewhere: "unset" for "delete"; empty if
// there is none.
std::string_view verb_for(std::string_view word, const std::vector<std::string_view>& verbs);

// The command for a program of Slurm, or a word of Kubernetes or Nomad: "proffer batch list" for
// "squeue"; empty if there is none.
std::string_view command_for_program(std::string_view word);

}  // namespace proffer
