#pragma once

// What the SDK says in an author's process (sdk/log.h): little, and in the form of all errors here.

#include <string_view>

#include "common/result.h"

namespace proffer::sdk {

// The error and its hint.
void print_error(const Error& error);
void print_warning(std::string_view what);
void print_note(std::string_view what);
// Prints the error and ends the program: 2 for wrong usage, 1 for anything else.
[[noreturn]] void exit_with(const Error& error);
// Prints the error and aborts: a bug in the author's program, whose stack is worth a look. Any
// thread.
[[noreturn]] void abort_with(const Error& error);

}  // namespace proffer::sdk
