#pragma once

// The messages that the SDK prints in an author's process (sdk/log.h), in the usual form of errors.

#include <string_view>

#include "common/result.h"

namespace proffer::sdk {

// Prints the error and its hint.
void print_error(const Error& error);
void print_warning(std::string_view what);
void print_note(std::string_view what);
// Prints the error and ends the program with 2 for wrong usage, else with 1.
[[noreturn]] void exit_with(const Error& error);
// Prints the error and aborts, because the author's program has a bug whose stack is useful. Any
// thread.
[[noreturn]] void abort_with(const Error& error);

}  // namespace proffer::sdk
