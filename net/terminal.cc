#include "net/terminal.h"

#include "common/printable.h"
#include "common/text.h"

namespace proffer {
namespace {

bool put(std::string_view bytes, std::FILE* to) {
  return std::fwrite(bytes.data(), 1, bytes.size(), to) == bytes.size();
}

// For text of other origin: its continuation lines must not look like separate errors or hints.
std::string words_of(std::string_view words) {
  constexpr size_t kBehindHint = 4;
  return printable_lines(indented(words, kBehindHint));
}

}  // namespace

std::string indented(std::string_view lines, size_t columns) {
  std::string out;
  for (const char c : lines) {
    out += c;
    if (c == '\n') out.append(columns, ' ');
  }
  return out;
}

std::string wrapped(std::string_view words, size_t columns, size_t indent) {
  const std::string blanks(indent, ' ');
  std::string lines;
  std::string line = blanks;
  for (const std::string_view word : split(words, ' ')) {
    if (line.size() > indent && line.size() + 1 + word.size() > columns) {
      lines += line + "\n";
      line = blanks;
    }
    line += text(line.size() > indent ? " " : "", word);
  }
  return lines + line;
}

void print_line(std::string_view line, std::FILE* to) {
  put(printable_line(line) + "\n", to);
  std::fflush(to);
}

void print_lines(std::string_view lines, std::FILE* to) {
  std::string printed = printable_lines(lines);
  if (!printed.empty() && printed.back() != '\n') printed += '\n';
  put(printed, to);
}

void print_json(std::string_view json, std::FILE* to) {
  put(printable_json(json) + "\n", to);
  std::fflush(to);
}

std::string error_text(const Error& error) {
  std::string out = text("error: ", words_of(error.message()), "\n");
  if (!error.hint().empty()) out += text("  hint: ", words_of(error.hint()), "\n");
  return out;
}

void print_error_text(const Error& error) { put(error_text(error), stderr); }

void print_warning_text(std::string_view words) {
  put(text("warning: ", words_of(words), "\n"), stderr);
}

void print_note_text(std::string_view words) { put(text("note: ", words_of(words), "\n"), stderr); }

void print_question(std::string_view words) {
  put(printable_lines(words), stderr);
  std::fflush(stderr);
}

void print_tabbed(const std::vector<std::string_view>& cells, std::FILE* to) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    line += text(i == 0 ? "" : "\t", printable_line(cells[i]));
  }
  put(line + "\n", to);
}

bool print_output_of_task(std::string_view bytes, std::FILE* to) {
  return put(bytes, to) && std::fflush(to) == 0;
}

void print_line_of_task(std::string_view task, std::string_view line, std::FILE* to) {
  put(text(printable_line(task), "| ", line, "\n"), to);
}

bool print_screen(const std::vector<std::string>& lines, const Steering& steering) {
  std::string out(steering.before);
  for (size_t i = 0; i < lines.size(); ++i) {
    out += text(i == 0 ? "" : steering.between, printable_line(lines[i]), steering.behind_each);
  }
  out += steering.after;
  return put(out, stdout) && std::fflush(stdout) == 0;
}

}  // namespace proffer
