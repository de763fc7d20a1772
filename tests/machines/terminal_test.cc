// proffer run from one machine with a task on another: a terminal, and a streamed input.

#include "tests/integration/terminal.h"

#include <gtest/gtest.h>

#include "common/text.h"
#include "tests/machines/joined.h"

namespace proffer::test::machines_terminal_test {
namespace {

class RunOnAnotherMachine : public JoinedMachines {
 protected:
  void SetUp() override {
    JoinedMachines::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    join_agent("a2");
    start_agent();
  }
  Words run_words(const std::string& command, const Words& more = {}) const {
    Words words = {home_ / "proffer", "run", "--master=" + socket_path(), "--cpus", "0.1",
                   "--mem",           "32"};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", command});
    return words;
  }
  Words at_terminal(const std::string& command) const {
    Words words = master_machine_->command(run_words(command, {"-t"}));
    words.insert(words.begin(), "/usr/bin/env");
    return words;
  }
};

TEST_F(RunOnAnotherMachine, HasATerminalWithSizeKeysAndExitCode) {
  Terminal user(at_terminal("test -t 0 && test -t 1 && echo is-a-terminal; stty size; read word; "
                            "echo got $word; stty size; exit 7"),
                master_machine_->environment());
  user.resize(33, 111);
  ASSERT_TRUE(user.shows("is-a-terminal")) << user.screen();
  user.resize(40, 90);
  user.type("apples\r");
  ASSERT_TRUE(user.shows("got apples")) << user.screen();
  ASSERT_TRUE(user.shows("40 90")) << user.screen();
  EXPECT_EQ(user.wait(), 7) << user.screen();

  Terminal other(at_terminal("trap 'echo interrupted' INT; echo up; sleep 1000; exit 3"),
                 master_machine_->environment());
  ASSERT_TRUE(other.shows("up")) << other.screen();
  other.type("\x03");
  ASSERT_TRUE(other.shows("interrupted")) << other.screen();
  EXPECT_EQ(other.wait(), 3) << other.screen();
}

TEST_F(RunOnAnotherMachine, HasTheStandardInput) {
  const std::string sum = run({"sh", "-c", "seq 400000 | sha256sum"}).out;
  std::string line = "seq 400000 |";
  for (const std::string& word : run_words("sha256sum")) line += " " + word;
  const Exit fed = master_machine_->runs({"/bin/sh", "-c", line});
  EXPECT_EQ(fed.code, 0) << fed.err;
  EXPECT_EQ(fed.out, sum);
}

}  // namespace
}  // namespace proffer::test::machines_terminal_test
