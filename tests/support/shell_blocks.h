#pragma once

// The commands on a page of documentation.

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace proffer::test {

// The commands of all ```sh blocks between two headings, continuation lines joined. Comments stay.
inline std::vector<std::string> commands_between(const std::string& text, const std::string& from,
                                                 const std::string& to) {
  const size_t begin = text.find(from);
  const size_t end = text.find(to, begin);
  EXPECT_NE(begin, std::string::npos) << from;
  EXPECT_NE(end, std::string::npos) << to;
  std::vector<std::string> commands;
  bool inside = false;
  bool continues = false;
  for (size_t at = begin; at < end;) {
    const size_t newline = text.find('\n', at);
    std::string line = text.substr(at, newline - at);
    at = newline + 1;
    if (line.starts_with("```")) {
      inside = line == "```sh";
      continue;
    }
    if (!inside || line.empty()) continue;
    const bool more = line.ends_with("\\");
    if (more) line.pop_back();
    if (continues)
      commands.back() += line;
    else
      commands.push_back(line);
    continues = more;
  }
  return commands;
}

// A block of commands, whose first line is a comment with the place where they run.
struct ShellBlock {
  std::string where;   // "On m1.example", without "# "
  std::string script;  // all other lines
};

// All ```sh blocks of a page; each must name its place.
inline std::vector<ShellBlock> shell_blocks(const std::string& page) {
  std::vector<ShellBlock> blocks;
  const std::string fence = "```sh\n";
  for (size_t at = page.find(fence); at != std::string::npos; at = page.find(fence, at)) {
    at += fence.size();
    const size_t end = page.find("```\n", at);
    const size_t newline = page.find('\n', at);
    const std::string first = page.substr(at, newline - at);
    EXPECT_TRUE(first.starts_with("# ")) << "does not say where it is run: " << first;
    blocks.push_back({first.substr(2), page.substr(newline + 1, end - newline - 1)});
    at = end;
  }
  return blocks;
}

}  // namespace proffer::test
