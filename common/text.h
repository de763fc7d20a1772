#pragma once

// Texts for messages, exact decimals, and small parsers that several values share.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "common/result.h"

namespace proffer {

// 'text', for error messages: control characters and invalid UTF-8 are escaped, and long values are
// cut.
std::string quoted(std::string_view text);
// The same. Without it, std::quoted would match a std::string better where <iomanip> is included.
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

// Joins the parts: text("task ", quoted(id), " has ", n, " ports").
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

// "a, b, c, …": the most names that a message lists as candidates.
inline constexpr size_t kNamesListedMax = 5;
std::string listed(const std::vector<std::string>& names);

// The known word nearest to `word` by edit distance, for "did you mean"; empty if none is near.
std::string_view nearest(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace proffer
