#pragma once

// The only functions that print to standard output and standard error, which may be a terminal.
// Text of other origin, such as a name, a command, a reason or the answer of a master, cannot
// control the terminal: common/printable.h escapes all control characters except the newlines of
// Proffer's own formats, and characters that are invisible or change the direction of text.
// tools/tidy reports other prints.
//
// The output of a task is printed unchanged, since its user asked for it: print_output_of_task().

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace proffer {

// One line; newlines in it are escaped, too. Lines on standard output are flushed.
void print_line(std::string_view line, std::FILE* to = stdout);
// Lines of one of Proffer's formats, with or without the last newline. Not flushed.
void print_lines(std::string_view lines, std::FILE* to = stdout);
// A line of JSON; its value is unchanged.
void print_json(std::string_view json, std::FILE* to = stdout);
// Prints "error: …" and "  hint: …" to standard error. Continuation lines of both are indented, so
// that none looks like another error or hint.
void print_error_text(const Error& error);
std::string error_text(const Error& error);  // the text that it prints
// Formats several lines as part of one: all but the first begin with `columns` blanks.
std::string indented(std::string_view lines, size_t columns);
// Words as lines of at most `columns` bytes, each after `indent` blanks, without the last newline.
std::string wrapped(std::string_view words, size_t columns, size_t indent = 0);
// Cells with tabs between them, for programs that read columns.
void print_tabbed(const std::vector<std::string_view>& cells, std::FILE* to = stdout);
// Print "warning: …" and "note: …" to standard error.
void print_warning_text(std::string_view words);
void print_note_text(std::string_view words);
// A question to the user at the terminal, on standard error, without a newline.
void print_question(std::string_view words);

// Prints the bytes that a task wrote, unchanged, and flushes. False: they could not be written.
bool print_output_of_task(std::string_view bytes, std::FILE* to);
// Prints one line of a task, given without its newline, after the task's name. Not flushed.
void print_line_of_task(std::string_view task, std::string_view line, std::FILE* to);

// Proffer's own control sequences around lines, for screens that are redrawn.
struct Steering {
  std::string_view before = {};
  std::string_view behind_each = {};
  std::string_view between = {};
  std::string_view after = {};
};
// Flushes. False: the terminal is closed.
bool print_screen(const std::vector<std::string>& lines, const Steering& steering);

}  // namespace proffer
