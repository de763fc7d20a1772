// proffer run -t on a real cluster, typed at a real terminal.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "tests/integration/processes.h"
#include "tests/integration/terminal.h"

namespace proffer::test::run_terminal_test {
namespace {

using testing::HasSubstr;

// Typed to a shell; its echo is not its output.
constexpr const char* kJob = "sh -c 'echo in$((1+1))job; exec sleep 1000'\r";

class RunTerminal : public testing::Test {
 protected:
  static void SetUpTestSuite() { cluster_ = new Cluster({.agents = 1}); }
  static void TearDownTestSuite() {
    delete cluster_;
    cluster_ = nullptr;
  }
  static std::map<std::string, std::string> environment() {
    return {{"PROFFER_MASTER", cluster_->master()}, {"TERM", "vt100"}};
  }
  static Words words(const std::string& command, Words more = {}) {
    Words words = {program("proffer"), "run", "-t", "--cpus", "0.1", "--mem", "32"};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", command});
    return words;
  }
  std::string file(const std::string& name) const { return home_ / name; }
  bool appears(const std::string& name) const {
    return eventually([&] { return !read_file(file(name)).empty(); });
  }

  TemporaryDirectory home_;
  static Cluster* cluster_;
};
Cluster* RunTerminal::cluster_ = nullptr;

TEST_F(RunTerminal, IsThatOfTheTaskWithItsSizeAndKindAndExitCode) {
  Terminal user(words("for fd in 0 1 2; do test -t $fd && echo yes $fd; done; stty size; "
                      "echo kind $TERM; read word; stty size; exit 7"),
                environment());
  user.resize(33, 111);
  ASSERT_TRUE(user.shows("yes 0\r\nyes 1\r\nyes 2\r\n")) << user.screen();
  ASSERT_TRUE(user.shows("kind vt100")) << user.screen();
  EXPECT_TRUE(user.is_raw());
  user.resize(40, 90);
  // The size arrives before the key: both are messages of one sender.
  user.type("\r");
  ASSERT_TRUE(user.shows("40 90")) << user.screen();
  EXPECT_EQ(user.wait(), 7) << user.screen();
}

TEST_F(RunTerminal, KeysThatSignalReachTheTask) {
  Terminal user(words("trap 'echo interrupted' INT; trap 'echo quit' QUIT; "
                      "trap 'echo size; stty size' WINCH; echo up; "
                      "while :; do read word && test $word = end && exit 0; done"),
                environment());
  ASSERT_TRUE(user.shows("up")) << user.screen();
  user.type("\x03");
  ASSERT_TRUE(user.shows("interrupted")) << user.screen();
  user.type("\x1c");
  ASSERT_TRUE(user.shows("quit")) << user.screen();
  user.resize(50, 132);
  ASSERT_TRUE(user.shows("50 132")) << user.screen();
  user.type("end\r");
  EXPECT_EQ(user.wait(), 0) << user.screen();
}

// A shell may lose the signal until its program has begun, at each terminal.
TEST_F(RunTerminal, CtrlCEndsACommandThatDoesNotCatchIt) {
  Terminal user(words("echo up; exec cat"), environment());
  ASSERT_TRUE(user.shows("up")) << user.screen();
  user.type("word\r");
  ASSERT_TRUE(user.shows("word\r\nword")) << user.screen();
  user.type("\x03");
  EXPECT_EQ(user.wait(), 130) << user.screen();
}

TEST_F(RunTerminal, ShowsEveryByteOfALargeOutputOnce) {
  Terminal user(words("stty -opost; seq 300000"), environment());
  EXPECT_EQ(user.wait(), 0);
  std::string wanted;
  for (int i = 1; i <= 300'000; ++i) wanted += text(i, "\n");
  EXPECT_TRUE(user.screen() == wanted) << user.screen().size() << " of " << wanted.size();
}

// A shell with jobs, as people use it.
TEST_F(RunTerminal, AnInteractiveShellHasItsJobs) {
  Terminal user(words("PS1='ready> ' exec bash --norc -i"), environment());
  ASSERT_TRUE(user.shows("ready> ")) << user.screen();
  user.type(kJob);
  ASSERT_TRUE(user.shows("in2job")) << user.screen();
  user.type("\x1a");
  ASSERT_TRUE(user.shows("Stopped")) << user.screen();
  user.type("echo a$((40+2))z\r");
  ASSERT_TRUE(user.shows("a42z")) << user.screen();
  user.type("exit\r");
  ASSERT_TRUE(user.shows("There are stopped jobs")) << user.screen();
  user.type("exit 5\r");
  EXPECT_EQ(user.wait(), 5) << user.screen();
}

TEST_F(RunTerminal, TheTaskEndsByAHangupHoweverRunEnds) {
  const auto command = [&](const std::string& name) {
    return text("trap 'echo hangup >", file(name), "; exit' HUP; echo up; while :; do sleep 0.05; ",
                "done");
  };
  {
    Terminal user(words(command("closed")), environment());
    ASSERT_TRUE(user.shows("up")) << user.screen();
    user.close();
    EXPECT_EQ(user.wait(), 128 + SIGHUP);
    EXPECT_TRUE(appears("closed"));
  }
  {
    Terminal user(words(command("killed")), environment());
    ASSERT_TRUE(user.shows("up")) << user.screen();
    ::kill(user.pid(), SIGKILL);
    EXPECT_EQ(user.wait(), 128 + SIGKILL);
    EXPECT_TRUE(appears("killed"));
  }
  {
    Terminal user(words(command("terminated")), environment());
    ASSERT_TRUE(user.shows("up")) << user.screen();
    ::kill(user.pid(), SIGTERM);
    ASSERT_TRUE(user.shows("ending 1 task")) << user.screen();
    EXPECT_FALSE(user.is_raw());
    user.wait();
    EXPECT_TRUE(appears("terminated"));
  }
  Terminal user(words(command("left")), environment());
  ASSERT_TRUE(user.shows("up")) << user.screen();
  user.type("x\r~.");
  EXPECT_EQ(user.wait(), 128 + SIGHUP) << user.screen();
  EXPECT_TRUE(appears("left"));
}

// An interactive shell ignores SIGTERM, and hands SIGHUP on to its jobs.
TEST_F(RunTerminal, AShellWithAJobEndsAtOnce) {
  Terminal user(words("PS1='ready> ' exec bash --norc -i", {"--name", "jobs", "--grace", "1h"}),
                environment());
  ASSERT_TRUE(user.shows("ready> ")) << user.screen();
  user.type(kJob);
  ASSERT_TRUE(user.shows("in2job")) << user.screen();
  EXPECT_EQ(cluster_->proffer({"kill", "jobs-1"}).code, 0);
  user.wait();
  EXPECT_EQ(cluster_->running_tasks("jobs"), 0);
}

// The settings of the user's terminal, which another process holds open for the shell.
TEST_F(RunTerminal, IsRestoredAtEachEnd) {
  // The modes of the terminal, and whether its descriptor blocks.
  constexpr std::string_view kState =
      "state() { stty -g; grep flags /proc/$$/fdinfo/0; }; before=$(state); ";
  constexpr std::string_view kCompare = "test \"$before\" = \"$(state)\" && echo 'as before'";
  const std::string run = text(program("proffer"), " run -t --cpus 0.1 --mem 32 -- ");
  const std::string until_interrupted =
      "'trap \"exit 130\" INT; echo up; while :; do sleep 0.05; done'";
  for (const std::string& last :
       {run + "'echo up'", run + "'echo up; exit 3'", run + until_interrupted,
        run + "'echo up; kill -9 $$'", text(program("proffer"), " run -- echo up")}) {
    Terminal user({"/bin/bash", "-c", text(kState, last, "; ", kCompare)}, environment());
    ASSERT_TRUE(user.shows("up")) << last << "\n" << user.screen();
    if (last.find("INT") != std::string::npos) user.type("\x03");
    EXPECT_TRUE(user.shows("as before")) << last << "\n" << user.screen();
  }
  for (const int signal : {SIGQUIT, SIGABRT, SIGTERM}) {
    Terminal user({"/bin/bash", "-c", text(kState, run, "'echo up; sleep 1000'; ", kCompare)},
                  environment());
    ASSERT_TRUE(user.shows("up")) << user.screen();
    EXPECT_TRUE(user.is_raw());
    const Exit killed = test::run({"pkill", text("-", signal), "-P", text(user.pid()), "proffer"});
    EXPECT_EQ(killed.code, 0) << killed.err;
    EXPECT_TRUE(user.shows("as before")) << signal << "\n" << user.screen();
  }
}

TEST_F(RunTerminal, BelongsToRunUntilTheCommandStarts) {
  Terminal user(words("true", {"--constraint", "rack == none"}), environment());
  ASSERT_TRUE(user.shows("waiting: ")) << user.screen();
  EXPECT_FALSE(user.is_raw());
  user.type("\x03");
  EXPECT_EQ(user.wait(), 130) << user.screen();
}

// Messages are lost with the master; the terminal goes on.
TEST_F(RunTerminal, GoesOnAfterTheMasterWasKilled) {
  Cluster cluster({.agents = 1});
  Terminal user(words("echo up; while read word; do echo got $word; done"),
                {{"PROFFER_MASTER", cluster.master()}});
  ASSERT_TRUE(user.shows("up")) << user.screen();
  const auto master = cluster.restart_master();
  user.type("one\r");
  ASSERT_TRUE(user.shows("got one")) << user.screen();
  user.resize(20, 60);
  user.type("two\r");
  ASSERT_TRUE(user.shows("got two")) << user.screen();
  user.type("\x04");
  EXPECT_EQ(user.wait(), 0) << user.screen();
}

TEST_F(RunTerminal, IsRefusedWhereThereIsNone) {
  const Exit piped = cluster_->proffer({"run", "-t", "--", "true"});
  EXPECT_EQ(piped.code, 2);
  EXPECT_THAT(piped.err, HasSubstr("-t needs a terminal as standard input and standard output"));
  EXPECT_THAT(piped.err, HasSubstr("hint: leave -t out"));
  for (const Words& more : {Words{"--count", "2"}, Words{"--json"}, Words{"--no-input"}}) {
    Terminal user(words("true", more), environment());
    EXPECT_EQ(user.wait(), 2) << user.screen();
    EXPECT_THAT(user.screen(), HasSubstr(text("-t and ", more[0], " exclude each other")));
  }
}

}  // namespace
}  // namespace proffer::test::run_terminal_test
