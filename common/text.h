#pragma once

// Words for messages, exact decimals, and the small parsing that several values share.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "common/result.h"

namespace proffer {

// 'text', with control characters and invalid UTF-8 escaped and long values cut, for error
// messages.
std::string quoted(std::string_view text);
// The same; where <iomanip> is included, std::quoted would be the better match for a std::string.
inline std::string quoted(const std::string& text) { return quoted(std::string_view(text)); }
inline std::string quoted(std::string& text) { return quoted(std::string_view(text)); }
inline std::string quoted(const char* text) { return quoted(std::string_view(text)); }

namespace detail {
inline void append_text(std::string& out, std::string_view part) { out += part; }
inline void append_text(std::string& out, char part) { out += part; }
template <class T>
requires std::is_integral_v<T>
void append_text(std::string& out, T part) { out += std::to_string(part); }
}  // namespace detail

// The parts one after the other: text("task ", quoted(id), " has ", n, " ports").
template <class... Parts>
std::string text(const Parts&... parts) {
  std::string out;
  (detail::append_text(out, parts), ...);
  return out;
}

std::string_view trimmed(std::string_view text);
// The parts between separators, trimmed; one empty part for an empty text.
std::vector<std::string_view> split(std::string_view text, char separator);

// "1.5" -> 1500. Only digits and at most three decimals, 0 to kAmountMax; never a float.
// Errors: kInvalidArgument, naming the text.
Result<int64_t> parse_milli(std::string_view text);
// 1500 -> "1.5", 2000 -> "2".
std::string print_milli(int64_t milli);
// A whole number in [min, max]. Errors: kInvalidArgument, naming `what`, the text and the range.
Result<int64_t> parse_whole(std::string_view what, std::string_view text, int64_t min, int64_t max);

// "a, b, c, …": the first five of them, for messages that name candidates.
inline constexpr size_t kNamesListedMax = 5;
std::string listed(const std::vector<std::string>& names);

// The known word nearest to `word` by edit distance, or empty if none is near: for "did you mean".
std::string_view nearest(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace proffer
