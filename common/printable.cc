#include "common/printable.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "common/limits.h"

namespace proffer {
namespace {

constexpr size_t kPrintableBytesMax = 200;
constexpr std::string_view kDigits = "0123456789abcdef";

struct Character {
  uint32_t code = 0;
  size_t length = 0;  // 0: not UTF-8
};

// The first character of a text that is not empty (RFC 3629: no overlong forms, no surrogates).
Character first_of(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {.code = lead, .length = 1};
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  constexpr std::array<uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  if (lead < 0xC2 || lead > 0xF4 || length > text.size()) return {};
  uint32_t code = lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kLeast.at(length) || code > 0x10FFFF || is_surrogate) return {};
  return {.code = code, .length = length};
}

bool is_control(uint32_t code) { return code < 0x20 || (code >= 0x7F && code < 0xA0); }

// Invisible but effective characters: Unicode's format characters, those that it declares
// default-ignorable, and the separators of lines and paragraphs.
bool is_hidden(uint32_t code) {
  struct Range {
    uint32_t first;
    uint32_t last;
  };
  constexpr std::array<Range, 18> kHidden = {{{0x00AD, 0x00AD},
                                              {0x034F, 0x034F},
                                              {0x061C, 0x061C},
                                              {0x115F, 0x1160},
                                              {0x17B4, 0x17B5},
                                              {0x180B, 0x180F},
                                              {0x200B, 0x200F},
                                              {0x2028, 0x202E},
                                              {0x2060, 0x206F},
                                              {0x3164, 0x3164},
                                              {0xFEFF, 0xFEFF},
                                              {0xFFA0, 0xFFA0},
                                              {0xFFF0, 0xFFFB},
                                              {0x110BD, 0x110BD},
                                              {0x110CD, 0x110CD},
                                              {0x1BCA0, 0x1BCA3},
                                              {0x1D173, 0x1D17A},
                                              {0xE0000, 0xE0FFF}}};
  if (code < kHidden.front().first) return false;
  return std::any_of(kHidden.begin(), kHidden.end(), [code](const Range& range) {
    return code >= range.first && code <= range.last;
  });
}

bool must_be_escaped(const Character& one) {
  return one.length == 0 || is_control(one.code) || is_hidden(one.code);
}

void append_escaped(std::string& out, std::string_view bytes) {
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else {
      out += "\\x";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
}

// Appends about `bytes_max` bytes of the text at most; a backslash is put before each character of
// `marked`, and `kept` are not escaped.
void append_printable(std::string& out, std::string_view text, size_t bytes_max,
                      std::string_view marked, std::string_view kept) {
  size_t i = 0;
  while (i < text.size() && i < bytes_max) {
    const Character one = first_of(text.substr(i));
    const size_t length = std::max<size_t>(one.length, 1);
    if (marked.find(text[i]) != std::string_view::npos) out += '\\';
    if (must_be_escaped(one) && kept.find(text[i]) == std::string_view::npos) {
      append_escaped(out, text.substr(i, length));
    } else {
      out += text.substr(i, length);
    }
    i += length;
  }
  if (i < text.size()) out += "…";
}

void append_unit(std::string& out, uint32_t unit) {
  out += "\\u";
  for (const uint32_t shift : {12u, 8u, 4u, 0u}) out += kDigits[unit >> shift & 15];
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  append_printable(out, text, kPrintableBytesMax, "", "");
  return out;
}

std::string log_value(std::string_view text) {
  std::string out = "\"";
  append_printable(out, text, kReasonTextBytesMax, "\"\\", "");
  out += '"';
  return out;
}

bool is_printable(std::string_view text) {
  while (!text.empty()) {
    const Character one = first_of(text);
    if (must_be_escaped(one)) return false;
    text.remove_prefix(one.length);
  }
  return true;
}

bool is_plain_text(std::string_view text) {
  while (!text.empty()) {
    const Character one = first_of(text);
    if (one.length == 0 || is_control(one.code)) return false;
    text.remove_prefix(one.length);
  }
  return true;
}

std::string printable_line(std::string_view text) {
  std::string out;
  append_printable(out, text, text.size(), "", "");
  return out;
}

std::string printable_lines(std::string_view text) {
  std::string out;
  append_printable(out, text, text.size(), "", "\n");
  return out;
}

std::string printable_json(std::string_view json) {
  constexpr uint32_t kReplacement = 0xFFFD;
  std::string out;
  while (!json.empty()) {
    const Character one = first_of(json);
    const size_t length = std::max<size_t>(one.length, 1);
    if (json.front() == '\n' || !must_be_escaped(one)) {
      out += json.substr(0, length);
    } else if (one.length == 0) {
      append_unit(out, kReplacement);
    } else if (one.code < 0x10000) {
      append_unit(out, one.code);
    } else {
      append_unit(out, 0xD800 + ((one.code - 0x10000) >> 10));
      append_unit(out, 0xDC00 + ((one.code - 0x10000) & 0x3FF));
    }
    json.remove_prefix(length);
  }
  return out;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = first_of(text).length;
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

size_t bytes_of_partial_character(std::string_view part) {
  for (size_t bytes = 1; bytes <= std::min<size_t>(3, part.size()); ++bytes) {
    const auto lead = static_cast<unsigned char>(part[part.size() - bytes]);
    if ((lead & 0xC0) == 0x80) continue;  // not the first byte of a character
    const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 1;
    return length > bytes ? bytes : 0;
  }
  return 0;
}

}  // namespace proffer
