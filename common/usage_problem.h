#pragma once

// Errors about the words of a command line, for all programs. Each names the word, what is allowed
// and the next step. They know the options and verbs of Slurm, Kubernetes, Docker, Nomad, Mesos,
// xargs and GNU parallel (common/foreign_words.h).

#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace proffer {

// A problem of a command line that CLI11 reported, in the words of Proffer's other errors.
std::string plain_usage_problem(std::string_view reported);

// What a command takes.
struct CommandWords {
  std::string command = {};               // "proffer batch array"
  std::vector<std::string> options = {};  // "--mem", "-f"
};

// The error about `words`: the first is not taken by the command, the others stand behind it. An
// unknown option names the nearest one, or what the option of another system is called here.
Error unexpected_words(const std::vector<std::string>& words, const CommandWords& of);

// The error about a word that is no verb of a group of commands, as "proffer role". It names the
// nearest verb, or the one that does what the verb of another system does. The word may be empty,
// or an option that stands where the verb belongs.
Error unknown_verb(std::string_view word, std::string_view group,
                   const std::vector<std::string_view>& verbs);

// The error about the first word behind `proffer`, likewise.
Error unknown_command(std::string_view word, const std::vector<std::string_view>& commands);

}  // namespace proffer
