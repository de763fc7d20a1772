#pragma once

// Common code of the targets: their input as text, and the law for messages to people.

#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "common/check.h"
#include "common/result.h"
#include "tests/fuzz/targets.h"

namespace proffer::fuzz {

inline std::string_view text_of(Input input) {
  return {reinterpret_cast<const char*>(input.data()), input.size()};
}
inline std::span<const std::byte> bytes_of(Input input) { return std::as_bytes(input); }

// The first line, without its newline, and the rest.
inline std::pair<std::string_view, std::string_view> first_line(std::string_view text) {
  const size_t end = text.find('\n');
  if (end == std::string_view::npos) return {text, {}};
  return {text.substr(0, end), text.substr(end + 1)};
}

// A text in double quotes, for JSON and YAML.
inline std::string in_quotes(std::string_view value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      out += "\\x";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// The length of the UTF-8 character at the start of `text`; 0 if there is none, or if it controls a
// terminal (RFC 3629; C0 and C1 controls).
inline size_t readable_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7F ? 1 : 0;
  const size_t length = lead >= 0xF8   ? 0
                        : lead >= 0xF0 ? 4
                        : lead >= 0xE0 ? 3
                        : lead >= 0xC0 ? 2
                                       : 0;
  if (length == 0 || length > text.size()) return 0;
  uint32_t code = lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0xA0, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code >= kLeast[length] && code <= 0x10FFFF && !surrogate ? length : 0;
}

inline bool is_readable(std::string_view text) {
  while (!text.empty()) {
    const size_t length = readable_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

// The code point at the start of a text for which readable_length() is not 0.
inline uint32_t code_of(std::string_view text) {
  const size_t length = readable_length(text);
  uint32_t code = static_cast<unsigned char>(text[0]);
  if (length > 1) code &= 0x7Fu >> length;
  for (size_t i = 1; i < length; ++i)
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 63u);
  return code;
}

// Whether a terminal shows the text as it is: readable, without characters that are hidden, change
// the text direction or end a line. Independent of common/printable.cc.
inline bool is_for_terminal(std::string_view text) {
  while (!text.empty()) {
    const size_t length = readable_length(text);
    if (length == 0) return false;
    switch (const uint32_t code = code_of(text); code) {
      case 0x00AD:
      case 0x034F:
      case 0x061C:
      case 0x115F:
      case 0x1160:
      case 0x17B4:
      case 0x17B5:
      case 0x3164:
      case 0xFEFF:
      case 0xFFA0:
      case 0x110BD:
      case 0x110CD:
        return false;
      default:
        if (code >= 0x180B && code <= 0x180F) return false;
        if (code >= 0x200B && code <= 0x206F && (code < 0x2010 || code > 0x2027) &&
            (code < 0x202F || code > 0x205F)) {
          return false;
        }
        if (code >= 0xFFF0 && code <= 0xFFFB) return false;
        if (code >= 0x1BCA0 && code <= 0x1BCA3) return false;
        if (code >= 0x1D173 && code <= 0x1D17A) return false;
        if (code >= 0xE0000 && code <= 0xE0FFF) return false;
    }
    text.remove_prefix(length);
  }
  return true;
}

// The law of every refusal: its message is not empty, is one line that is safe for terminals and
// logs, and is not much longer than the maximum.
inline void check_told(const Error& error) {
  CHECK(!error.message().empty());
  CHECK(is_for_terminal(error.message())) << error.message();
  CHECK(is_for_terminal(error.hint())) << error.hint();
  CHECK_LE(error.message().size(), 8'192u) << error.message();
}

// The law of a refused document, whose errors are refused together (yaml::Errors): several lines
// are an error each, which begins with its line of the document, except for the app's name before
// the first and a count of the others at the end. So no line comes from the input.
inline void check_refused_document(const Error& error) {
  if (error.message().find('\n') == std::string::npos) {
    CHECK(error.hint().find('\n') == std::string::npos) << error.hint();
    return check_told(error);
  }
  size_t count = 0;
  std::istringstream lines(error.message());
  for (std::string line; std::getline(lines, line); ++count) {
    check_told(Error::invalid_argument(line));
    const bool is_error =
        line.starts_with("line ") || (count == 0 && line.find(": line ") != std::string::npos);
    CHECK(is_error || (count == 8 && line.starts_with("and "))) << line;
  }
  CHECK_LE(count, 9u) << error.message();
  std::istringstream hints(error.hint());
  for (std::string hint; std::getline(hints, hint);) CHECK(is_for_terminal(hint)) << hint;
}

}  // namespace proffer::fuzz
