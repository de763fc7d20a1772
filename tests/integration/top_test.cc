// `proffer top` on a terminal, and without one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/processes.h"
#include "tests/integration/terminal.h"

namespace proffer::test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Top, FollowsTheClusterAndTheKeys) {
  Cluster cluster;
  Terminal terminal({program("proffer"), "top"}, {{"PROFFER_MASTER", cluster.master()}});
  EXPECT_TRUE(terminal.shows("agents 1 connected"));
  EXPECT_TRUE(terminal.shows("[Frameworks]"));
  terminal.type("\x1b[C\x1b[C");
  EXPECT_TRUE(terminal.shows("[Agents]"));
  EXPECT_TRUE(terminal.shows("agent-1"));
  terminal.type("\x1b[C");
  EXPECT_TRUE(terminal.shows("[Tasks]"));
  const auto task = cluster.start({"run", "--name", "held", "--", "exec sleep 1000"});
  EXPECT_TRUE(terminal.shows("tasks  1 running"));
  EXPECT_TRUE(terminal.shows("held"));
  task->kill(SIGINT);
  task->wait();
  EXPECT_TRUE(terminal.shows("tasks  0 running"));
  terminal.type("q");
  EXPECT_EQ(terminal.wait(), 0);
  EXPECT_TRUE(terminal.screen().ends_with("\x1b[?1049l"));  // the screen is restored
}

TEST(Top, LeavesTheTerminalAsItWasWhenASignalEndsIt) {
  const Cluster cluster;
  for (const int signal : {SIGTERM, SIGHUP, SIGINT}) {
    Terminal terminal(
        {"/bin/sh", "-c", "\"$0\" top; echo \"ended with $?\"; read line", program("proffer")},
        {{"PROFFER_MASTER", cluster.master()}});
    EXPECT_TRUE(terminal.shows("agents 1 connected"));
    EXPECT_TRUE(terminal.is_raw());
    const Exit found = run({"pgrep", "-P", std::to_string(terminal.pid())});
    ASSERT_EQ(found.code, 0);
    ::kill(std::stoi(found.out), signal);
    EXPECT_TRUE(terminal.shows("\x1b[?1049l"));
    EXPECT_TRUE(terminal.shows("ended with " + std::to_string(128 + signal)));
    EXPECT_FALSE(terminal.is_raw());
  }
}

TEST(Top, IsPrintedOnceWhereThereIsNoTerminal) {
  Cluster cluster;
  const Exit printed = cluster.proffer({"top"});
  EXPECT_EQ(printed.code, 0) << printed.err;
  EXPECT_THAT(printed.out, HasSubstr("agents 1 connected"));
  EXPECT_THAT(printed.out, HasSubstr("agent-1"));
  EXPECT_THAT(printed.out, Not(HasSubstr("\x1b")));
  EXPECT_EQ(run({program("proffer"), "top", "--master=/nowhere/master.sock"}).code, 3);
}

}  // namespace
}  // namespace proffer::test
