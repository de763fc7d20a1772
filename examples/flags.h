#pragma once

// The flags of an example, --NAME=VALUE, in addition to those of sdk::options_from(), which
// receives their names.

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

namespace examples {

inline std::string text_flag(int argc, char** argv, std::string_view name,
                             std::string_view otherwise) {
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if (!word.starts_with("--")) continue;
    word.remove_prefix(2);
    if (!word.starts_with(name)) continue;
    word.remove_prefix(name.size());
    if (word.starts_with("=")) return std::string(word.substr(1));
  }
  return std::string(otherwise);
}

// A whole number from `least` to `most`. On an error prints the reason and exits with 2.
inline int64_t number_flag(int argc, char** argv, std::string_view name, int64_t otherwise,
                           int64_t least, int64_t most) {
  const std::string word = text_flag(argc, argv, name, std::to_string(otherwise));
  int64_t number = 0;
  const char* end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data(), end, number);
  if (error == std::errc() && rest == end && number >= least && number <= most) return number;
  std::cerr << "error: --" << name << " must be a number from " << least << " to " << most
            << ", not '" << word << "'\n";
  std::exit(2);
}

}  // namespace examples
