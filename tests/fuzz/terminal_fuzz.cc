// The single function that prints text to a terminal: for any text of peers, its output has no
// control characters except newlines, and no characters that are hidden or change the text
// direction.

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "common/check.h"
#include "common/printable.h"
#include "net/terminal.h"
#include "proto/json/json.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {
namespace terminal_fuzz {
namespace {

// The printed text, without the last newline.
std::string printed(const std::function<void(std::FILE*)>& print) {
  char* bytes = nullptr;
  size_t size = 0;
  std::FILE* file = open_memstream(&bytes, &size);
  CHECK(file != nullptr);
  print(file);
  std::fclose(file);
  std::string out(bytes, size);
  std::free(bytes);
  CHECK(!out.empty() && out.back() == '\n') << out;
  out.pop_back();
  return out;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (true) {
    const auto [line, rest] = first_line(text);
    lines.push_back(line);
    if (line.size() == text.size()) return lines;
    text = rest;
  }
}

void check_lines(std::string_view text) {
  for (const std::string_view line : lines_of(text)) CHECK(is_for_terminal(line)) << line;
}

void check_text(std::string_view whole) {
  const std::string line = printed([&](std::FILE* to) { print_line(whole, to); });
  CHECK(is_for_terminal(line)) << line;
  CHECK(printable_line(line) == line) << "what was escaped stays: " << line;
  CHECK(is_printable(line)) << line;
  // Harmless text is not changed.
  if (is_for_terminal(whole)) CHECK(line == whole) << line;
  CHECK_EQ(is_printable(whole), is_for_terminal(whole)) << line;
  if (is_printable(whole)) CHECK(is_plain_text(whole));

  const std::string lines =
      printed([&](std::FILE* to) { print_lines(whole.empty() ? "\n" : whole, to); });
  check_lines(lines);
  const std::string cells = printed([&](std::FILE* to) {
    print_tabbed({whole, "middle", whole}, to);
  });
  CHECK(cells == line + "\tmiddle\t" + line) << cells;
  const std::string prefix = printed([&](std::FILE* to) { print_line_of_task(whole, "", to); });
  CHECK(is_for_terminal(prefix)) << prefix;
}

// An error and a hint with arbitrary texts.
void check_error(std::string_view whole) {
  const auto [first, rest] = first_line(whole);
  const std::string text =
      error_text(Error::internal(std::string(whole)).with_hint(std::string(rest)));
  const std::vector<std::string_view> lines = lines_of(std::string_view(text));
  bool was_hint = false;
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    CHECK(is_for_terminal(lines[i])) << lines[i];
    const bool is_hint = lines[i].starts_with("  hint: ");
    const bool goes_on = lines[i].starts_with("    ");
    CHECK(i == 0 ? lines[i].starts_with("error: ") : is_hint != goes_on) << text;
    CHECK(!is_hint || !was_hint) << text;
    was_hint |= is_hint;
  }
  CHECK_EQ(was_hint, !rest.empty()) << text;
}

void check_json(std::string_view whole) {
  check_lines(printable_json(whole));
  const std::string json = proto::json_line({{"text", std::string(whole)}});
  const std::string line = printed([&](std::FILE* to) { print_json(json, to); });
  CHECK(is_for_terminal(line)) << line;
  const auto before = proto::parse_json_line(json);
  const auto after = proto::parse_json_line(line);
  CHECK_EQ(before.has_value(), after.has_value()) << line;
  if (before) CHECK(*before == *after) << line;
}

}  // namespace
}  // namespace terminal_fuzz

void fuzz_terminal(Input input) {
  const std::string_view whole = text_of(input);
  terminal_fuzz::check_text(whole);
  terminal_fuzz::check_error(whole);
  terminal_fuzz::check_json(whole);
}

}  // namespace proffer::fuzz
