// Errors as people read them; see STYLE: which value, what is allowed, what to do instead.

#include "sdk/shell/complaints.h"

#include <cstdlib>

#include <fmt/core.h>

namespace proffer::sdk {

void print_error(const Error& error) {
  fmt::print(stderr, "error: {}\n", error.message());
  if (!error.hint().empty()) fmt::print(stderr, "  hint: {}\n", error.hint());
}

void print_warning(std::string_view what) { fmt::print(stderr, "warning: {}\n", what); }

void exit_with(const Error& error) {
  print_error(error);
  std::exit(error.code() == ErrorCode::kInvalidArgument ? 2 : 1);
}

}  // namespace proffer::sdk
