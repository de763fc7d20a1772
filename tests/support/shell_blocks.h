#pragma once

// The commands that a page of documentation shows.

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

}  // namespace proffer::test
