#pragma once

// The one place where text leaves to standard output and standard error, which may be a terminal.
// Whatever others wrote into it, a name, a command, a reason, the answer of a master, steers no
// terminal: common/printable.h escapes all control characters but the newlines of our own formats,
// and all that is hidden or turns the direction of text. tools/tidy finds prints elsewhere.
//
// The output of a task is what its user asked for, and leaves as it is: print_output_of_task().

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace proffer {

// One line; a newline in it is escaped, too. Lines of standard output are flushed.
void print_line(std::string_view line, std::FILE* to = stdout);
// Lines that a format of ours has put together, with or without the last newline. Not flushed.
void print_lines(std::string_view lines, std::FILE* to = stdout);
// A line of JSON, which keeps its value.
void print_json(std::string_view json, std::FILE* to = stdout);
// To standard error: "error: …" and "  hint: …". Further lines of either are indented, so that none
// looks like another error or hint.
void print_error_text(const Error& error);
std::string error_text(const Error& error);  // what it prints
// Several lines as part of one: those behind the first begin with `columns` blanks.
std::string indented(std::string_view lines, size_t columns);
// Words as lines of at most `columns` bytes, each after `indent` blanks, without the last newline.
std::string wrapped(std::string_view words, size_t columns, size_t indent = 0);
// Cells with tabs between them, for programs that read columns.
void print_tabbed(const std::vector<std::string_view>& cells, std::FILE* to = stdout);
// "warning: …" and "note: …" to standard error.
void print_warning_text(std::string_view words);
void print_note_text(std::string_view words);
// A question to the person at the terminal, to standard error, without a newline.
void print_question(std::string_view words);

// Bytes that a task of the caller's choice wrote, as they are; flushed. False: they could not be
// written.
bool print_output_of_task(std::string_view bytes, std::FILE* to);
// One line of them, without its newline, behind the name of its task. Not flushed.
void print_line_of_task(std::string_view task, std::string_view line, std::FILE* to);

// Control sequences of ours around lines, for screens that are drawn again.
struct Steering {
  std::string_view before = {};
  std::string_view behind_each = {};
  std::string_view between = {};
  std::string_view after = {};
};
// Flushes. False: the terminal has gone.
bool print_screen(const std::vector<std::string>& lines, const Steering& steering);

}  // namespace proffer
