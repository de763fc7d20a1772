#pragma once

// Analyses a shell command line without running it.

#include <optional>
#include <string>
#include <string_view>

namespace proffer::agent {

// The program that the line runs, with or without `exec`, if its path is absolute and the line is a
// simple command: no list, pipe, redirection, substitution or pattern.
std::optional<std::string> absolute_program_of(std::string_view line);

}  // namespace proffer::agent
