// proffer exec on a real cluster: the environment of a command in a task, and its end.

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/processes.h"

namespace proffer::test {
namespace {

using testing::HasSubstr;

class ExecCommand : public testing::Test {
 protected:
  static void SetUpTestSuite() { cluster_ = new Cluster({.agents = 1}); }
  static void TearDownTestSuite() {
    delete cluster_;
    cluster_ = nullptr;
  }
  // A task that runs until its framework ends.
  static std::unique_ptr<Process> start(const std::string& name, const Words& options = {}) {
    Words words = {program("proffer"), "run", "--name", name};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "echo is there; exec sleep 1000"});
    auto task = std::make_unique<Process>(words, environment());
    EXPECT_TRUE(task->line_with("is there")) << task->err();
    return task;
  }
  static void end(Process& task) {
    task.kill(SIGINT);
    task.wait();
  }
  using Environment = std::map<std::string, std::string>;
  static Environment environment() { return {{"PROFFER_MASTER", cluster_->master()}}; }
  static Exit exec(Words words) {
    words.insert(words.begin(), "exec");
    return cluster_->proffer(words);
  }
  // Searches with a pattern that does not match its own process.
  static bool runs(const std::string& pattern) {
    return run({"/bin/sh", "-c", "grep -slz -- " + pattern + " /proc/[0-9]*/cmdline"}).code == 0;
  }
  static Cluster* cluster_;
};
Cluster* ExecCommand::cluster_ = nullptr;

TEST_F(ExecCommand, RunsInTheTasksSandboxWithItsEnvironmentAndReturnsItsEnd) {
  const auto task = start("here", {"--env", "LEVEL=3"});
  const Exit told =
      exec({"here", "--", "cat stdout; echo $LEVEL $PROFFER_TASK_ID; echo no >&2; exit 7"});
  EXPECT_EQ(told.code, 7);
  EXPECT_EQ(told.out, "is there\n3 here-1\n");
  EXPECT_EQ(told.err, "no\n");
  EXPECT_EQ(exec({"here", "--", "echo", "two  words", "$LEVEL"}).out, "two  words $LEVEL\n");
  EXPECT_EQ(exec({"here", "--", "kill -9 $$"}).code, 128 + 9);
  EXPECT_EQ(exec({"here", "--", "/no/such/program"}).code, 127);
  // A process that the command leaves behind does not delay its end.
  EXPECT_EQ(exec({"here", "--", "sleep 900 & echo done"}).out, "done\n");
  end(*task);
}

TEST_F(ExecCommand, PassesItsInputOn) {
  const auto task = start("reads");
  const std::string shell = "head -c 3000000 /dev/zero | " + program("proffer") +
                            " exec reads -- wc -c; echo piped | " + program("proffer") +
                            " exec reads -- 'read word; echo got $word'";
  const Exit passed = run({"/bin/sh", "-c", shell}, environment());
  EXPECT_EQ(passed.out, "3000000\ngot piped\n") << passed.err;
  const Exit large = exec({"reads", "--", "head -c 5000000 /dev/zero"});
  EXPECT_EQ(large.out.size(), 5'000'000u);
  end(*task);
}

TEST_F(ExecCommand, GivesATerminalIfAsked) {
  const auto task = start("typed");
  const std::string shell = "printf 'tty\\nstty size\\nexit 3\\n' | script -qec '" +
                            program("proffer") + " exec -t typed sh' /dev/null; echo code $?";
  const Exit typed = run({"/bin/sh", "-c", shell}, environment());
  EXPECT_THAT(typed.out, HasSubstr("/dev/pts/")) << typed.err;
  EXPECT_THAT(typed.out, HasSubstr("code 3"));
  end(*task);
}

TEST_F(ExecCommand, EndsWithItsCallerAndWithItsTask) {
  const auto task = start("ends");
  {
    Process caller({program("proffer"), "exec", "ends", "--", "echo begun; sleep 4711"},
                   environment());
    ASSERT_TRUE(caller.line_with("begun")) << caller.err();
    caller.kill(SIGKILL);
    caller.wait();
  }
  EXPECT_TRUE(eventually([] { return !runs("471[1]"); }));
  {
    Process caller({program("proffer"), "exec", "ends", "--",
                    "trap 'echo told; exit 5' INT; echo begun; while true; do sleep 0.01; done"},
                   environment());
    ASSERT_TRUE(caller.line_with("begun")) << caller.err();
    caller.kill(SIGINT);
    const Exit ended = caller.wait();
    EXPECT_EQ(ended.code, 5);
    EXPECT_THAT(ended.out, HasSubstr("told"));
  }
  Process caller({program("proffer"), "exec", "ends", "--", "echo begun; sleep 4712"},
                 environment());
  ASSERT_TRUE(caller.line_with("begun")) << caller.err();
  end(*task);
  EXPECT_EQ(caller.wait().code, 128 + 9);
  EXPECT_FALSE(runs("471[2]"));
}

// The agent looks among its children for processes of an ended task; a command that is just
// starting must not count as one.
TEST_F(ExecCommand, BeginsWhileOtherTasksEnd) {
  const auto task = start("stays");
  Process others({program("proffer"), "run", "--name", "ends", "--cpus", "0.1", "--mem", "16",
                  "--count", "300", "--", "true"},
                 environment());
  for (int i = 0; i < 40; ++i) {
    const Exit told = exec({"stays", "--", "echo", "here"});
    EXPECT_EQ(told.code, 0) << told.err;
    EXPECT_EQ(told.out, "here\n");
  }
  others.kill(SIGINT);
  others.wait();
  end(*task);
}

TEST_F(ExecCommand, SaysWhatIsWrong) {
  EXPECT_EQ(exec({}).code, 2);
  EXPECT_EQ(exec({"here"}).code, 2);
  EXPECT_THAT(exec({"nobody-knows", "--", "id"}).err, HasSubstr("nobody-knows"));
  EXPECT_EQ(cluster_->proffer({"run", "--name", "over", "--", "true"}).code, 0);
  EXPECT_THAT(exec({"over", "--", "id"}).err, HasSubstr("over-1 has ended: finished"));
}

}  // namespace
}  // namespace proffer::test
