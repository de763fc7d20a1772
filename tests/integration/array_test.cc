// Arrays on real clusters whose processes are killed while they run.

#include <algorithm>
#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "common/text.h"
#include "proto/json/batch_json.h"
#include "tests/integration/processes.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;

class Arrays : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(home_ / "in"); }

  Words with_output(Words words) const {
    words.insert(words.begin() + 2, {"--output", home_ / "out", "--directory", home_.path(),
                                     "--resources", "cpus:1;mem:64"});
    return words;
  }
  static Words verb(const std::string& name, Words more) {
    Words words = {"batch", name};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static std::vector<pid_t> processes_named(const Cluster& cluster, const std::string& name) {
    std::vector<pid_t> found;
    for (const pid_t pid : processes_of(cluster.dir())) {
      const std::string command = read_file(text("/proc/", static_cast<int64_t>(pid), "/cmdline"));
      if (command.find(name) != std::string::npos) found.push_back(pid);
    }
    return found;
  }
  size_t lines_of(const std::string& file) const {
    const std::string all = read_file(home_ / file);
    return static_cast<size_t>(std::count(all.begin(), all.end(), '\n'));
  }

  TemporaryDirectory home_;
};

TEST_F(Arrays, MapEqualsALoopOverTheSameFiles) {
  Cluster cluster({.agents = 2, .batch = true});
  Words words = verb("map", {"--", "sha256sum", "{}", ":::"});
  std::string names;
  for (int i = 0; i < 40; ++i) {
    const std::string name = text("in/f ", i, ".c$(x)'\n");
    write_file(home_ / name,
               std::string(static_cast<size_t>(i) * 100, static_cast<char>('a' + i % 26)));
    words.push_back(name);
    names += name + '\0';
  }
  write_file(home_ / "names", names);
  const Exit done = cluster.proffer(with_output(words));
  EXPECT_EQ(done.code, 0) << done.err;
  const Exit expected = run({"bash", "-c", "xargs -0 -n1 sha256sum < names"}, {}, home_.path());
  EXPECT_EQ(done.out, expected.out);
  EXPECT_NE(done.err.find("40 of 40 elements done"), std::string::npos) << done.err;

  // Reads the arguments from standard input; each becomes the last word of the command.
  const Exit piped =
      run({"bash", "-c",
           text(program("proffer"),
                " batch map -0 --as-ended --output piped -- sha256sum < names | sort")},
          {{"PROFFER_MASTER", cluster.master()}}, home_.path());
  EXPECT_EQ(piped.code, 0) << piped.err;
  EXPECT_EQ(piped.out,
            run({"bash", "-c", "xargs -0 -n1 sha256sum < names | sort"}, {}, home_.path()).out);
}

TEST_F(Arrays, ElementsThatFailAreTriedAgainAndTold) {
  Cluster cluster({.agents = 1, .batch = true});
  const std::string line =
      "echo line $PROFFER_ARRAY_INDEX; test $PROFFER_ARRAY_INDEX = 7 && { echo why >&2; exit 9; }; "
      "test $PROFFER_ARRAY_ATTEMPT -gt 1 || exit 75";
  const Exit done = cluster.proffer(with_output(
      verb("array", {"1-9:2%2", "--retries", "1", "--name", "sweep", "--", "sh", "-c", line})));
  EXPECT_EQ(done.code, 1);
  EXPECT_NE(done.err.find("1 of 5 elements failed; element 7 exited with 9: why"),
            std::string::npos)
      << done.err;
  EXPECT_EQ(done.out, "line 1\nline 3\nline 5\nline 7\nline 9\n");
  const Exit failed = cluster.proffer({"batch", "results", "sweep-1", "--failed", "--table"});
  EXPECT_EQ(failed.out.find("#index\t"), 0u);
  EXPECT_NE(failed.out.find("\n7\t2\t9\tfailed\t"), std::string::npos) << failed.out;
  EXPECT_EQ(cluster.proffer({"batch", "results", "sweep-1", "7", "--stderr"}).out, "why\n");
  EXPECT_EQ(cluster.proffer({"batch", "results", "sweep-1", "8"}).code, 1);
  const Exit logs = cluster.proffer({"batch", "logs", "sweep-1"});
  EXPECT_EQ(logs.code, 1);
  EXPECT_NE(logs.err.find("proffer batch results sweep-1"), std::string::npos) << logs.err;
  const Exit listed = cluster.proffer({"batch", "list", "--all"});
  EXPECT_NE(listed.out.find("5/5"), std::string::npos) << listed.out;
  EXPECT_FALSE(fs::exists(home_ / "out/_SUCCESS"));
  // Files for a retry are kept until the job is given up; the results stay.
  EXPECT_TRUE(fs::exists(home_ / "out/_temporary"));
  const Exit given_up = cluster.proffer({"batch", "cancel", "sweep-1"});
  EXPECT_NE(given_up.out.find("its results stay, and it can no longer be retried"),
            std::string::npos)
      << given_up.out << given_up.err;
  EXPECT_TRUE(eventually([&] { return !fs::exists(home_ / "out/_temporary"); }));
  EXPECT_EQ(cluster.proffer({"batch", "results", "sweep-1"}).out, done.out);
}

// As with requeue in Slurm: a program that saved its work exits with a code, and goes on later.
TEST_F(Arrays, AnElementThatIsRequeuedGoesOnAndCountsNoFailure) {
  Cluster cluster({.agents = 1, .batch = true});
  const std::string line =
      "n=$(cat saved-{} 2>/dev/null || echo 0); echo $((n + 1)) >saved-{}; "
      "test $n -ge {} || exit 99; echo {} went on $n times as attempt $PROFFER_ARRAY_ATTEMPT";
  const Exit done =
      cluster.proffer(with_output(verb("array", {"1-3", "--requeue-on", "99", "--", line})));
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out,
            "1 went on 1 times as attempt 2\n2 went on 2 times as attempt 3\n"
            "3 went on 3 times as attempt 4\n");
  const Exit listed = cluster.proffer({"batch", "history", "--json"});
  EXPECT_NE(listed.out.find("\"failed_attempts\":0"), std::string::npos) << listed.out;
}

// Elements that succeeded do not run again, and each has one output, from the attempt that counts.
// The scheduler is killed while the failed elements run again.
TEST_F(Arrays, ARetryRunsTheElementsThatFailedAndNoOthers) {
  Cluster cluster({.agents = 2, .resources = "cpus:2;mem:2048", .batch = true});
  const std::string line =
      "echo $PROFFER_ARRAY_INDEX >> began; echo $PROFFER_ARRAY_INDEX as attempt "
      "$PROFFER_ARRAY_ATTEMPT; test $PROFFER_ARRAY_ATTEMPT = 1 || while [ ! -e go ]; do sleep "
      "0.05; done; test -e mended || test $((PROFFER_ARRAY_INDEX % 5)) != 0";
  const Exit failed = cluster.proffer(
      with_output(verb("array", {"1-60", "--name", "sweep", "--", "sh", "-c", line})));
  EXPECT_EQ(failed.code, 1);
  EXPECT_NE(failed.err.find("run them again with: proffer batch retry sweep-1"), std::string::npos)
      << failed.err;
  EXPECT_EQ(lines_of("began"), 60u);
  write_file(home_ / "mended", "");
  const Exit retried = cluster.proffer({"batch", "retry", "sweep-1"});
  EXPECT_EQ(retried.code, 0) << retried.err;
  const auto follower = cluster.start({"batch", "results", "sweep-1", "--follow"});
  ASSERT_TRUE(follower->line_with("4 as attempt 1").has_value()) << follower->err();
  ASSERT_TRUE(eventually([&] { return lines_of("began") > 60u; }));
  for (const pid_t pid : processes_named(cluster, std::string("proffer-batch\0scheduler", 23))) {
    ::kill(pid, SIGKILL);
  }
  write_file(home_ / "go", "");
  const Exit done = cluster.proffer({"batch", "wait", "sweep-1"}, Seconds(120));
  EXPECT_EQ(done.code, 0) << done.err;
  std::string expected;
  for (int i = 1; i <= 60; ++i) expected += text(i, " as attempt ", i % 5 == 0 ? 2 : 1, "\n");
  EXPECT_EQ(cluster.proffer({"batch", "results", "sweep-1"}).out, expected);
  EXPECT_EQ(follower->wait(Seconds(60)).out, expected);
  EXPECT_EQ(lines_of("began"), 72u);
  EXPECT_TRUE(fs::exists(home_ / "out/_SUCCESS"));
  EXPECT_FALSE(fs::exists(home_ / "out/_temporary"));
  const Exit again = cluster.proffer({"batch", "retry", "sweep-1"});
  EXPECT_NE(again.err.find("has finished"), std::string::npos) << again.err;
}

// Executors and the scheduler are killed while it runs. Each element has one result, and only
// elements that a kill interrupted run twice.
TEST_F(Arrays, WhatIsKilledInTheMiddleRepeatsOnlyWhatWasCutOff) {
  Cluster cluster({.agents = 2, .resources = "cpus:1;mem:2048", .batch = true});
  const std::string line =
      "echo $PROFFER_ARRAY_INDEX >> began; sleep 0.03; echo $PROFFER_ARRAY_INDEX";
  const auto running = cluster.start(with_output(verb("array", {"1-120", "--", "sh", "-c", line})));
  size_t kills = 0;
  std::unique_ptr<Process> successor;
  for (const size_t after : {10u, 40u, 70u}) {
    ASSERT_TRUE(eventually([&] { return lines_of("began") >= after; })) << after;
    if (const auto executors = processes_named(cluster, "proffer-batch-executor");
        !executors.empty()) {
      ::kill(executors.front(), SIGKILL);
      ++kills;
    }
    if (after != 40) continue;
    for (const pid_t pid : processes_named(cluster, std::string("proffer-batch\0scheduler", 23))) {
      ::kill(pid, SIGKILL);
    }
    ASSERT_TRUE(cluster.dev().line_with("\"batch\"").has_value());
    successor = std::make_unique<Process>(Words{program("proffer"), "batch", "scheduler",
                                                "--master", cluster.master(), "--session-file",
                                                cluster.dir() + "/batch.session", "--serve-users"});
  }
  const Exit done = running->wait(Seconds(120));
  EXPECT_EQ(done.code, 0) << done.err;
  std::string expected;
  for (int i = 1; i <= 120; ++i) expected += text(i, "\n");
  EXPECT_EQ(done.out, expected);
  EXPECT_GE(kills, 1u);
  EXPECT_LE(lines_of("began"), 120 + kills);
}

TEST_F(Arrays, AnAgentKilledInTheMiddleChangesNothing) {
  Cluster cluster({.agents = 2, .resources = "cpus:1;mem:2048", .batch = true});
  const std::string line = "sleep 0.03; echo $PROFFER_ARRAY_INDEX";
  const auto running = cluster.start(with_output(verb("array", {"1-100", "--", "sh", "-c", line})));
  ASSERT_TRUE(eventually([&] { return cluster.running_tasks("batch") >= 2; }));
  ::kill(cluster.pid_of("agent-1"), SIGKILL);
  const Exit done = running->wait(Seconds(120));
  EXPECT_EQ(done.code, 0) << done.err;
  std::string expected;
  for (int i = 1; i <= 100; ++i) expected += text(i, "\n");
  EXPECT_EQ(done.out, expected);
}

TEST_F(Arrays, CancelEndsItsCommandsAndKeepsWhatIsThere) {
  Cluster cluster({.agents = 1, .batch = true});
  const Exit submitted = cluster.proffer(with_output(
      verb("array", {"1-3", "--detach", "--name", "sweep", "--", "sh", "-c",
                     "echo $$ > pid-$PROFFER_ARRAY_INDEX; test $PROFFER_ARRAY_INDEX = 1 && echo "
                     "one; test $PROFFER_ARRAY_INDEX = 1 || exec sleep 300"})));
  ASSERT_EQ(submitted.out, "sweep-1\n") << submitted.err;
  ASSERT_TRUE(eventually([&] { return fs::exists(home_ / "pid-2") && lines_of("pid-2") == 1; }));
  EXPECT_EQ(cluster.proffer({"batch", "results", "sweep-1"}).out, "one\n");
  const auto follower = cluster.start({"batch", "results", "sweep-1", "--follow"});
  EXPECT_TRUE(follower->line_with("one").has_value());
  EXPECT_EQ(cluster.proffer({"batch", "cancel", "sweep-1"}).code, 0);
  EXPECT_EQ(cluster.proffer({"batch", "wait", "sweep-1"}).code, 1);
  EXPECT_EQ(follower->wait().code, 1);
  EXPECT_FALSE(is_alive(std::stoi(read_file(home_ / "pid-2"))));
  EXPECT_NE(cluster.proffer({"batch", "results", "sweep-1", "--table"}).out.find("\n1\t1\t0\t"),
            std::string::npos);
}

TEST_F(Arrays, BadOnesAreRefusedBeforeAnythingStarts) {
  struct Row {
    Words words;
    std::string why;
  };
  const Row rows[] = {
      {{"batch", "map", "--", "true", ":::"}, "no arguments"},
      {{"batch", "map", "--", ":::", "a"}, "the command is missing"},
      {{"batch", "map", "--", "true", ":::", "a", ":::", "b"}, "::: may be given only once"},
      {{"batch", "array", "5-1", "--", "true"}, "before it begins"},
      {{"batch", "array", "1-5"}, "the command is missing"},
      {{"batch", "map", "--retires", "2", "true", ":::", "a"}, "did you mean --retries?"},
      {{"batch", "array", "1-5", "--ok", "300", "--", "true"}, "300"},
      {{"batch", "array", "1-5", "--max-failed", "200%", "--", "true"}, "200"},
      {{"batch", "array", "1-5", "--timeout", "soon", "--", "true"}, "soon"},
  };
  for (const Row& row : rows) {
    Words words = row.words;
    words.insert(words.begin(), program("proffer"));
    const Exit refused = run(words, {{"PROFFER_MASTER", "/nowhere"}}, home_.path());
    EXPECT_EQ(refused.code, 2) << row.why;
    EXPECT_NE(refused.err.find(row.why), std::string::npos) << refused.err;
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(home_.path()), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace proffer::test
