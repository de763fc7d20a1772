#pragma once

// What can be said of a shell command line without running it.

#include <optional>
#include <string>
#include <string_view>

namespace proffer::agent {

// The program that the line runs, with `exec` or without, if it is named by an absolute path and
// nothing else is run: no list, pipe, redirection, substitution or pattern.
std::optional<std::string> absolute_program_of(std::string_view line);

}  // namespace proffer::agent
