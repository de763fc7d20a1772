#pragma once

// Foreign text in messages of ours, and all text on its way to a terminal.
//
// What is escaped: control characters (of C0 and C1, and DEL, which steer terminals), characters
// that are not seen or change the direction in which others are read (U+202E, zero-width ones,
// tags, soft hyphens; not the variation selectors of U+FE00 to U+FE0F, which emoji need), the
// separators of lines and paragraphs (U+2028, U+2029), and what is not UTF-8. Each of its bytes
// becomes \xNN; a newline \n, a tab \t.

#include <string>
#include <string_view>

namespace proffer {

// As above, and long texts cut to about 200 bytes: for what libraries say and quote from their
// input. For a value, quoted() of common/text.h puts it between quotes.
std::string printable(std::string_view text);
// The same between double quotes, with these and backslashes escaped, so that it can be read back
// and quotes of its own stay readable: for values of log lines, which tell a message whole. At most
// kReasonTextBytesMax bytes of it, which no message of ours exceeds.
std::string log_value(std::string_view text);
// Whether nothing in it would be escaped.
bool is_printable(std::string_view text);
// Whether it is UTF-8 without control characters: what peers may send as a text. It may have other
// characters that are escaped where it is printed.
bool is_plain_text(std::string_view text);

// For what leaves to a terminal, whole (net/terminal.h calls them).
// One line: a newline in it is escaped, too.
std::string printable_line(std::string_view text);
// Lines that a format of ours has put together: newlines stay.
std::string printable_lines(std::string_view text);
// JSON, which stays JSON of the same value: \uNNNN. Bytes that are no UTF-8, which no encoder of
// ours writes, become U+FFFD.
std::string printable_json(std::string_view json);

}  // namespace proffer
