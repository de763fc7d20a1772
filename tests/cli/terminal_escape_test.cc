// Leaving a terminal by keys.

#include "cli/terminal_escape.h"

#include <gtest/gtest.h>

namespace proffer::cli::terminal_escape_test {
namespace {

struct Row {
  std::string typed = {};
  std::string taken = {};
  bool leaves = false;
};

TEST(TerminalEscape, IsATildeAndADotAtTheStartOfALine) {
  const Row rows[] = {
      {"~.", "", true},        {"ls\r~.more", "ls\r", true}, {"ls\n~.", "ls\n", true},
      {"ls~.", "ls~.", false}, {"~~.", "~.", false},         {"~~\r~.", "~\r", true},
      {"~x~.", "~x~.", false}, {"~\r~.", "~\r", true},       {"cd ~/a\r", "cd ~/a\r", false},
      {"\r~", "\r", false},
  };
  for (const Row& row : rows) {
    TerminalEscape whole;
    EXPECT_EQ(whole.take(row.typed), row.taken) << row.typed;
    EXPECT_EQ(whole.has_left(), row.leaves) << row.typed;
    // The same key by key, as people type.
    TerminalEscape single;
    std::string taken;
    for (const char key : row.typed) taken += single.take({&key, 1});
    EXPECT_EQ(taken, row.taken) << row.typed;
    EXPECT_EQ(single.has_left(), row.leaves) << row.typed;
  }
}

}  // namespace
}  // namespace proffer::cli::terminal_escape_test
