// proffer run and related commands, as users type them, on a real cluster.

#include <csignal>
#include <filesystem>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "proto/json/json.h"
#include "tests/integration/processes.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;

class RunCommand : public testing::Test {
 protected:
  static void SetUpTestSuite() { cluster_ = new Cluster({.agents = 2}); }
  static void TearDownTestSuite() {
    delete cluster_;
    cluster_ = nullptr;
  }
  static Cluster* cluster_;
};
Cluster* RunCommand::cluster_ = nullptr;

// Loading the symbols of C++ libraries would take most of a short command's time (ADR 0092).
// Sanitizers need the shared library.
TEST(Programs, ThatPeopleStartLoadNoLibraryInCpp) {
  if (slowdown() > 1) GTEST_SKIP() << "sanitized programs are linked otherwise";
  for (const char* name :
       {"proffer", "proffer-batch", "proffer-service", "proffer-batch-executor"}) {
    const Exit loaded = Process({"ldd", program(name)}).wait();
    EXPECT_EQ(loaded.code, 0) << loaded.err;
    EXPECT_NE(loaded.out.find("libc.so"), std::string::npos) << loaded.out;
    EXPECT_EQ(loaded.out.find("libstdc++"), std::string::npos) << name << ":\n" << loaded.out;
  }
}

TEST_F(RunCommand, StreamsOutputAndReturnsTheExitCode) {
  const Exit hello = cluster_->proffer({"run", "--", "echo", "hello", "two  words"});
  EXPECT_EQ(hello.code, 0) << hello.err;
  EXPECT_EQ(hello.out, "hello two  words\n");

  const Exit failed = cluster_->proffer({"run", "--", "echo oops >&2; exit 7"});
  EXPECT_EQ(failed.code, 7);
  EXPECT_EQ(failed.out, "");
  EXPECT_NE(failed.err.find("oops\n"), std::string::npos) << failed.err;
}

TEST_F(RunCommand, GivesTheTaskItsEnvironmentAndNothingOfTheAgents) {
  const Exit env = cluster_->proffer(
      {"run", "--export", "NONE", "--env", "LEVEL=3", "--name", "envy", "--", "env", "-0"});
  EXPECT_EQ(env.code, 0) << env.err;
  std::set<std::string> names;
  size_t begin = 0;
  for (size_t end; (end = env.out.find('\0', begin)) != std::string::npos; begin = end + 1) {
    const std::string entry = env.out.substr(begin, end - begin);
    names.insert(entry.substr(0, entry.find('=')));
    if (entry.starts_with("LEVEL=")) {
      EXPECT_EQ(entry, "LEVEL=3");
    }
    if (entry.starts_with("PROFFER_TASK_ID=")) {
      EXPECT_EQ(entry, "PROFFER_TASK_ID=envy-1");
    }
  }
  const std::set<std::string> wanted = {"PATH",
                                        "HOME",
                                        "TMPDIR",
                                        "LANG",
                                        "USER",
                                        "LOGNAME",
                                        "PROFFER_TASK_ID",
                                        "PROFFER_FRAMEWORK_ID",
                                        "PROFFER_AGENT",
                                        "PROFFER_SANDBOX",
                                        "PROFFER_CPUS",
                                        "PROFFER_MEM_MIB",
                                        "PROFFER_DISK_MIB",
                                        "PROFFER_UMASK",
                                        "OMP_NUM_THREADS",
                                        "LEVEL"};
  for (const std::string& name : wanted) EXPECT_EQ(names.count(name), 1u) << name;
  EXPECT_EQ(names.count("PROFFER_MASTER"), 0u);
  EXPECT_EQ(names.count("PROFFER_EXECUTOR_TOKEN"), 0u);
  // The shell that runs the command may add its own PWD, SHLVL and _.
  for (const std::string& name : names) {
    EXPECT_TRUE(wanted.contains(name) || name == "PWD" || name == "SHLVL" || name == "_") << name;
  }
}

TEST_F(RunCommand, RunsAsManyTasksAsAskedAndPrefixesTheirLines) {
  const Exit many = cluster_->proffer({"run", "--count", "5", "--cpus", "0.5", "--name", "many",
                                       "--", "echo from $PROFFER_TASK_ID"});
  EXPECT_EQ(many.code, 0) << many.err;
  for (int i = 1; i <= 5; ++i) {
    const std::string task = "many-" + std::to_string(i);
    EXPECT_NE(many.out.find(task + "| from " + task + "\n"), std::string::npos) << many.out;
  }
}

TEST_F(RunCommand, ACommandThatASignalEndedTellsItLikeAShell) {
  const Exit ended = cluster_->proffer({"run", "--", "kill -9 $$"});
  EXPECT_EQ(ended.code, 137) << ended.err;
  EXPECT_NE(ended.err.find("command_signalled"), std::string::npos) << ended.err;
}

TEST_F(RunCommand, WritesOneJsonObjectPerLineForMachines) {
  const Exit json = cluster_->proffer({"run", "--json", "--", "echo hi"});
  EXPECT_EQ(json.code, 0) << json.err;
  EXPECT_NE(json.out.find("\"event\":\"running\""), std::string::npos) << json.out;
  EXPECT_NE(json.out.find("\"text\":\"hi\\n\""), std::string::npos) << json.out;
  // The last event is the end.
  const size_t last = json.out.rfind('\n', json.out.size() - 2);
  EXPECT_NE(json.out.find("\"event\":\"ended\"", last), std::string::npos) << json.out;
  // Bytes that are no text keep their values.
  const Exit bytes = cluster_->proffer({"run", "--json", "--", "printf 'ok\\n\\377\\303'"});
  EXPECT_NE(bytes.out.find("\"hex\":\"6f6b0aff\""), std::string::npos) << bytes.out;
  EXPECT_NE(bytes.out.find("\"hex\":\"c3\""), std::string::npos) << bytes.out;
  const Exit split =
      cluster_->proffer({"run", "--json", "--", "printf 'a\\303'; sleep 0.2; printf '\\244b'"});
  EXPECT_NE(split.out.find("\"text\":\"a\""), std::string::npos) << split.out;
  EXPECT_NE(split.out.find("\"text\":\"\u00e4b\""), std::string::npos) << split.out;
}

TEST_F(RunCommand, OfManyTasksTheFirstFailureInOrderIsTheExitCode) {
  const Exit ended = cluster_->proffer(
      {"run", "--count", "4", "--cpus", "0.1", "--mem", "16", "--name", "some", "--",
       "case $PROFFER_TASK_ID in some-2) sleep 0.3; exit 5;; some-3) exit 6;; esac"});
  EXPECT_EQ(ended.code, 5) << ended.err;
  EXPECT_NE(ended.err.find("2 of 4 tasks failed; exit code 5 is that of task some-2"),
            std::string::npos)
      << ended.err;
  EXPECT_EQ(cluster_->proffer({"run", "--", "-x", "1"}).code, 127);
}

TEST_F(RunCommand, InterruptShowsTheLastWordsAndReturnsTheTasksCode) {
  const auto heeding = cluster_->start(
      {"run", "--name", "saving", "--",
       "trap 'sleep 0.2; echo saved; exit 3' TERM; echo up; while :; do sleep 0.05; done"});
  ASSERT_TRUE(heeding->line_with("up").has_value());
  heeding->kill(SIGINT);
  EXPECT_TRUE(heeding->line_with("saved").has_value());
  EXPECT_EQ(heeding->wait().code, 3);
  // The second Ctrl-C does not wait.
  const auto deaf = cluster_->start({"run", "--name", "deaf", "--grace", "5s", "--",
                                     "trap '' TERM; echo up; while :; do sleep 0.05; done"});
  ASSERT_TRUE(deaf->line_with("up").has_value());
  deaf->kill(SIGINT);
  ASSERT_TRUE(deaf->complains("without waiting"));
  deaf->kill(SIGINT);
  EXPECT_EQ(deaf->wait().code, 130);
  EXPECT_EQ(cluster_->proffer({"kill", "deaf-1", "--grace", "0s"}).code, 0);
}

TEST_F(RunCommand, InterruptEndsItsTaskEverywhere) {
  TemporaryDirectory files;
  const auto sleeper = cluster_->start(
      {"run", "--name", "sleeper", "--", "echo $$ > " + (files / "pid") + "; exec sleep 1000"});
  ASSERT_TRUE(eventually([&] { return !read_file(files / "pid").empty(); }));
  const pid_t task = std::stoi(read_file(files / "pid"));
  EXPECT_TRUE(is_alive(task));

  sleeper->kill(SIGINT);

  EXPECT_EQ(sleeper->wait().code, 130);
  EXPECT_TRUE(eventually([&] { return !is_alive(task); }));
}

TEST_F(RunCommand, ClosingItsTerminalEndsItsTaskToo) {
  const auto sleeper = cluster_->start({"run", "--name", "left", "--", "sleep 1000"});
  ASSERT_TRUE(eventually([&] { return cluster_->running_tasks("left") == 1; }));

  sleeper->kill(SIGHUP);

  EXPECT_EQ(sleeper->wait().code, 128 + SIGHUP);
  // The framework has ended cleanly, so the master does not wait for its return.
  EXPECT_EQ(cluster_->proffer({"frameworks"}).out.find("left"), std::string::npos);
}

TEST_F(RunCommand, ATaskEndsAfterItsLongestTimeByItsOwnSignal) {
  const Exit ended =
      cluster_->proffer({"run", "--max-run-time", "300ms", "--kill-signal", "USR1", "--",
                         "trap 'echo was told; exit 0' USR1; while true; do sleep 0.01; done"});
  EXPECT_EQ(ended.out, "was told\n") << ended.err;
  EXPECT_NE(ended.err.find("ran_too_long: it ran for 300ms"), std::string::npos) << ended.err;
  const Exit refused = cluster_->proffer({"run", "--kill-signal", "KILL", "--", "true"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("--kill-signal: the kill signal of a task must be from 1 to 31"),
            std::string::npos)
      << refused.err;
}

TEST_F(RunCommand, SaysWhyATaskEndedThatDidNotEndByItself) {
  const auto heeding = cluster_->start(
      {"run", "--name", "heeding", "--", "trap 'exit 0' TERM; echo up; sleep 1000 & wait"});
  ASSERT_TRUE(heeding->line_with("up").has_value());

  EXPECT_EQ(cluster_->proffer({"kill", "heeding"}).code, 0);

  const Exit ended = heeding->wait();
  EXPECT_EQ(ended.code, 1);
  EXPECT_NE(ended.err.find("task heeding-1: killed: killed_by_operator"), std::string::npos)
      << ended.err;
}

TEST_F(RunCommand, WhatCannotBePrintedIsNoSuccess) {
  const std::string proffer = program("proffer");
  const std::string master = "--master=" + cluster_->master();
  for (const char* command : {"snapshot", "status", "tasks --all --json", "run -- echo hello"}) {
    for (const char* where : {">/dev/full", ">&-"}) {
      std::string words = command;
      words.insert(words.find(' ') == std::string::npos ? words.size() : words.find(' '),
                   " " + master);
      const Exit done = run({"bash", "-c", proffer + " " + words + " " + where});
      EXPECT_EQ(done.code, 1) << words << where << done.signal;
      EXPECT_NE(done.err.find("standard output"), std::string::npos) << words << where << done.err;
    }
  }
}

TEST_F(RunCommand, OutputThatIsLostIsToldAndTheExitCodeStays) {
  const Cluster cluster;
  fs::remove(fs::path(cluster.dir()) / "agent-1" / "executors-http.sock");

  const Exit ended = cluster.proffer({"run", "--name", "mute", "--", "echo unheard; exit 6"});

  EXPECT_EQ(ended.code, 6) << ended.err;
  EXPECT_EQ(ended.out, "");
  EXPECT_NE(ended.err.find("warning: output of task mute-1 of "), std::string::npos) << ended.err;
}

TEST_F(RunCommand, KillEndsATaskByAnyUniquePrefix) {
  const auto sleeper = cluster_->start({"run", "--name", "victim", "--", "sleep 1000"});
  ASSERT_TRUE(eventually([&] { return cluster_->running_tasks("victim") == 1; }));

  const Exit killed = cluster_->proffer({"kill", "victim"});

  EXPECT_EQ(killed.code, 0) << killed.err;
  const Exit ended = sleeper->wait();
  EXPECT_NE(ended.code, 0);
  EXPECT_NE(ended.err.find("killed"), std::string::npos) << ended.err;

  const Exit unknown = cluster_->proffer({"kill", "nobody"});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_NE(unknown.err.find("'nobody'"), std::string::npos) << unknown.err;
  EXPECT_NE(unknown.err.find("hint:"), std::string::npos) << unknown.err;
}

TEST_F(RunCommand, LogsShowsOutputDuringAndAfterTheTask) {
  TemporaryDirectory files;
  const auto task = cluster_->start({"run", "--name", "talker", "--",
                                     "echo first; echo aside >&2; until [ -e " + (files / "go") +
                                         " ]; do sleep 0.05; done; echo last"});
  ASSERT_TRUE(eventually([&] { return cluster_->running_tasks("talker") == 1; }));
  ASSERT_TRUE(eventually([&] { return cluster_->proffer({"logs", "talker"}).out == "first\n"; }));
  EXPECT_EQ(cluster_->proffer({"logs", "talker", "--stderr"}).out, "aside\n");

  const auto follower = cluster_->start({"logs", "talker", "-f"});
  ASSERT_TRUE(follower->line_with("first").has_value());
  write_file(files / "go", "");

  EXPECT_EQ(follower->wait().out, "first\nlast\n");
  EXPECT_EQ(task->wait().code, 0);
  EXPECT_EQ(cluster_->proffer({"logs", "talker"}).out, "first\nlast\n");
}

TEST_F(RunCommand, PicturesOfTheClusterAgree) {
  const auto sleeper = cluster_->start({"run", "--name", "shown", "--cpus", "2", "--mem", "1GiB",
                                        "--role", "ads", "--", "sleep 1000"});
  ASSERT_TRUE(eventually([&] { return cluster_->running_tasks("shown") == 1; }));

  const auto status = proto::parse_status(cluster_->proffer({"status", "--json"}).out);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->agents_connected, 2);
  EXPECT_EQ(status->tasks_running, 1);
  EXPECT_EQ(to_text(status->total), "cpus:8;mem:8192");
  EXPECT_EQ(to_text(status->allocated), "cpus:2;mem:1024");

  const auto agents = proto::parse_agents(cluster_->proffer({"agents", "--json"}).out);
  ASSERT_TRUE(agents.has_value());
  ASSERT_EQ(agents->size(), 2u);
  EXPECT_EQ((*agents)[0].allocated + (*agents)[1].allocated, status->allocated);

  const auto frameworks = proto::parse_frameworks(cluster_->proffer({"frameworks", "--json"}).out);
  ASSERT_TRUE(frameworks.has_value());
  ASSERT_EQ(frameworks->size(), 1u);
  EXPECT_EQ((*frameworks)[0].name, "shown");
  EXPECT_EQ((*frameworks)[0].role, RoleName("ads"));
  EXPECT_EQ((*frameworks)[0].dominant_share_millionths, 250'000);

  const auto all = proto::parse_tasks(cluster_->proffer({"tasks", "--all", "--json"}).out);
  ASSERT_TRUE(all.has_value());
  const auto now = proto::parse_tasks(cluster_->proffer({"tasks", "--json"}).out);
  ASSERT_TRUE(now.has_value());
  EXPECT_EQ(now->size(), 1u);
  EXPECT_GE(all->size(), now->size());
  for (const char* command : {"status", "agents", "frameworks", "tasks"}) {
    const Exit table = cluster_->proffer({command});
    EXPECT_EQ(table.code, 0) << table.err;
    EXPECT_FALSE(table.out.empty());
  }
  sleeper->kill(SIGINT);
  sleeper->wait();
  EXPECT_TRUE(eventually([&] {
    const auto after = proto::parse_status(cluster_->proffer({"status", "--json"}).out);
    return after && after->allocated.is_zero() && after->frameworks_connected == 0;
  }));
}

TEST_F(RunCommand, SaysWhatIsWrongWithWhichValueAndWhatIsAllowed) {
  struct Row {
    Words words;
    int code;
    std::string says;
  };
  const Row rows[] = {
      {{"run", "--cpus", "0", "--mem", "0", "--", "true"}, 2, "more than zero"},
      {{"run", "--cpus", "-1", "--", "true"}, 2, "'-1'"},
      {{"run", "--cpus", "many", "--", "true"}, 2, "'many'"},
      {{"run", "--mem", "12XB", "--", "true"}, 2, "'12XB'"},
      {{"run", "--count", "0", "--", "true"}, 2, "from 1 to"},
      {{"run", "--env", "NOVALUE", "--", "true"}, 2, "'NOVALUE'"},
      {{"run", "--name", "a b", "--", "true"}, 2, "'a b'"},
      {{"run", "--role", "a//b", "--", "true"}, 2, "'a//b'"},
      {{"run", "--constraint", "rack ~ r1", "--", "true"}, 2, "rack ~ r1"},
      {{"run", "--constraint", "host =~ (", "--", "true"}, 2, "host =~ ("},
      {{"run"}, 2, "the command is missing"},
      {{"run", "--nonsense", "--", "true"}, 2, "--help"},
      {{"stauts"}, 2, "did you mean `proffer status`"},
      {{"logs", "nothing-like-it"}, 1, "'nothing-like-it'"},
      {{"status", "--master", "127.0.0.1:1"}, 3, "cannot reach a master at 127.0.0.1:1"},
      {{"status", "--master", "nonsense:port"}, 2, "--master"},
  };
  for (const Row& row : rows) {
    const Exit result = cluster_->proffer(row.words);
    EXPECT_EQ(result.code, row.code) << row.words.back() << ": " << result.err;
    EXPECT_NE((result.err + result.out).find(row.says), std::string::npos) << result.err;
  }
  const Exit json = cluster_->proffer({"kill", "nobody", "--json"});
  EXPECT_EQ(json.code, 1);
  EXPECT_NE(json.err.find("{\"error\":{\"code\":\"not_found\""), std::string::npos) << json.err;
}

TEST_F(RunCommand, ATaskThatFitsNowhereWaitsAndSaysWhy) {
  const auto large = cluster_->start({"run", "--cpus", "64", "--", "true"});
  ASSERT_TRUE(eventually([&] {
    large->line_with("nothing is printed", Seconds(0));
    return large->err().find("the task can never run: it takes 64 cpus") != std::string::npos;
  }));
  large->kill(SIGINT);
  EXPECT_EQ(large->wait().code, 130);
}

TEST_F(RunCommand, HttpServesTheSameJson) {
  const auto get = [&](const std::string& path) { return get_http(cluster_->http(), path); };
  EXPECT_NE(get("/healthz").find("200"), std::string::npos);
  EXPECT_NE(get("/v1/agents").find("\"agent\":\"agent-1\""), std::string::npos);
  EXPECT_NE(get("/v1/tasks?ended=1&limit=1").find("{\"tasks\":["), std::string::npos);
  EXPECT_NE(get("/v1/tasks?limit=0").find("400"), std::string::npos);
  EXPECT_NE(get("/v1/nothing").find("404"), std::string::npos);
  EXPECT_NE(get("/metrics").find("proffer_agents{state=\"connected\"} 2"), std::string::npos);
  EXPECT_NE(get("/metrics").find("proffer_decision_seconds{quantile=\"0.99\"}"), std::string::npos);
}

}  // namespace
}  // namespace proffer::test
