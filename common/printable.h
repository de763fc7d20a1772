#pragma once

// Makes foreign text printable in messages and logs, and all text on its way to a terminal.
//
// These are escaped: control characters (C0, C1 and DEL, which control terminals); invisible
// characters and those that change the reading direction (U+202E, zero-width ones, tags, soft
// hyphens; not the variation selectors of U+FE00 to U+FE0F, which emoji need); the separators of
// lines and paragraphs (U+2028, U+2029); and bytes that are not UTF-8. Each byte becomes \xNN; a
// newline \n, a tab \t.

#include <string>
#include <string_view>

namespace proffer {

// Escapes as above, and cuts long texts to about 200 bytes: for messages of libraries and quotes
// from their input. For a value, quoted() of common/text.h adds quotes.
std::string printable(std::string_view text);
// The same between double quotes, with quotes and backslashes escaped, so that it can be parsed:
// for values of log lines, which contain whole messages. At most kReasonTextBytesMax bytes, which
// is enough for each message.
std::string log_value(std::string_view text);
// True if it contains nothing to escape.
bool is_printable(std::string_view text);
// True if it is UTF-8 without control characters, as peers may send it. It may have other
// characters that are escaped for printing.
bool is_plain_text(std::string_view text);

bool is_utf8(std::string_view text);
// The number of bytes at the end of a part of a text that may be the beginning of a character; its
// other bytes are then in the next part. At most 3.
size_t bytes_of_partial_character(std::string_view part);

// For output to a terminal, not cut (net/terminal.h calls these functions). The result is one line:
// a newline in it is escaped too.
std::string printable_line(std::string_view text);
// For lines that this program has formatted: newlines stay.
std::string printable_lines(std::string_view text);
// JSON that keeps its value: \uNNNN. Bytes that are not UTF-8, which our encoders do not write,
// become U+FFFD.
std::string printable_json(std::string_view json);

}  // namespace proffer
