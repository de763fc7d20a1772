#pragma once

// What the SDK says on standard error in an author's process: little, and in the form of all errors
// here.

#include <string_view>

#include "common/result.h"

namespace proffer::sdk {

// "error: …" and its hint.
void print_error(const Error& error);
// "warning: …".
void print_warning(std::string_view what);
// Prints the error and ends the program: 2 for wrong usage, 1 for anything else.
[[noreturn]] void exit_with(const Error& error);

}  // namespace proffer::sdk
