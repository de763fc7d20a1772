// How a command ends: its grace, whichever way its end is requested, and the output of processes
// that it leaves behind.

#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "proto/json/json.h"
#include "tests/integration/processes.h"

namespace proffer::test::command_life_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

struct CommandLife : testing::Test {
  // A script that saves its work in the file that is its argument when it gets SIGTERM.
  std::string saver() const {
    const std::string path = home_ / "saver";
    write_file(path,
               "trap 'sleep 0.3; echo saved >>\"$1\"; exit 0' TERM\n"
               "echo $$ >\"$1.up\"\nwhile :; do sleep 0.05; done\n");
    return path;
  }
  std::string file(const std::string& name) const { return home_ / name; }
  // A command line that runs the saver below a shell.
  std::string below_a_shell(const std::string& name) const {
    return text("bash ", saver(), " ", file(name), "; true");
  }
  bool is_up(const std::string& name) const {
    return eventually([&] { return read_file(file(name) + ".up").ends_with('\n'); });
  }
  static std::string seq(int last) {
    std::string lines;
    for (int i = 1; i <= last; ++i) lines += text(i, "\n");
    return lines;
  }

  TemporaryDirectory home_;
};

TEST_F(CommandLife, EveryWayToEndATaskGivesItsGrace) {
  Cluster cluster({.agents = 2, .resources = "cpus:8;mem:4096", .service = true, .batch = true});
  const auto run = [&](const std::string& name, Words more = {}) {
    Words words = {"run", "--cpus", "0.1", "--mem", "32", "--name", name};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", below_a_shell(name)});
    return cluster.start(words);
  };
  const auto array = [&](const std::string& name, Words more = {}) {
    Words words = {"batch", "array", "1", "--name", name, "--output", file(name + ".out")};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", "sh", "-c", below_a_shell(name)});
    return cluster.start(words);
  };
  write_file(file("app.yaml"), text("name: app\ncommand: '", below_a_shell("stopped"),
                                    "'\nresources: 'cpus:0.1;mem:32'\nkill_grace: 10s\n",
                                    "sidecars: {log: '", below_a_shell("sidecar"), "'}\n"));
  std::map<std::string, std::unique_ptr<Process>> started;
  started["killed"] = run("killed");
  // Without a shell between.
  started["words"] =
      cluster.start({"run", "--name", "words", "--", "bash", saver(), file("words")});
  started["interrupted"] = run("interrupted");
  started["signalled"] = run("signalled");
  started["limited"] = run("limited", {"--max-run-time", "1s"});
  started["drained"] = run("drained", {"--constraint", "host == agent-2"});
  started["late"] = array("late", {"--time-limit", "1s"});
  ASSERT_TRUE(is_up("late"));
  started["cancelled"] = array("cancelled");
  ASSERT_EQ(cluster.proffer({"service", "apply", file("app.yaml"), "--wait"}).code, 0);
  for (const auto& [name, process] : started) ASSERT_TRUE(is_up(name)) << name;
  ASSERT_TRUE(is_up("sidecar"));

  EXPECT_EQ(cluster.proffer({"kill", "killed-1"}).code, 0);
  EXPECT_EQ(cluster.proffer({"kill", "words-1"}).code, 0);
  started["interrupted"]->kill(SIGINT);
  // The executor is the parent of the shell.
  const std::string shell = read_file(file("signalled.up"));
  const Exit parents =
      test::run({"sh", "-c", text("ps -o ppid= -p $(ps -o ppid= -p ", shell, ")")});
  ASSERT_EQ(::kill(std::stoi(parents.out), SIGTERM), 0) << parents.err;
  EXPECT_EQ(cluster.proffer({"drain", "agent-2", "--wait"}).code, 0);
  const Exit cancelled = cluster.proffer({"batch", "cancel", "cancelled-2"});
  EXPECT_EQ(cancelled.code, 0) << cancelled.err;
  EXPECT_EQ(cluster.proffer({"service", "stop", "app", "--wait"}).code, 0);
  for (const auto& [name, process] : started) {
    process->wait();
    EXPECT_EQ(read_file(file(name)), "saved\n") << name << ": " << process->err();
  }
  // The drain may have moved its instance before.
  EXPECT_THAT(read_file(file("stopped")), StartsWith("saved\n"));
  EXPECT_EQ(read_file(file("sidecar")), read_file(file("stopped")));
}

TEST_F(CommandLife, TheGraceIsNeverExceededAndNothingOutlivesIt) {
  Cluster cluster;
  const std::string stubborn =
      text("trap '' TERM; echo $$ >", file("it.up"), "; while :; do sleep 0.05; done");
  const auto running = cluster.start({"run", "--name", "it", "--grace", "300ms", "--", "sh", "-c",
                                      text("(", stubborn, ") & setsid sh -c 'echo $$ >",
                                           file("away.up"), "; sleep 1000' & wait")});
  ASSERT_TRUE(is_up("it") && is_up("away"));
  EXPECT_EQ(cluster.proffer({"kill", "it-1"}).code, 0);
  EXPECT_EQ(running->wait().code, 128 + SIGTERM);
  for (const char* name : {"it.up", "away.up"}) {
    EXPECT_FALSE(is_alive(std::stoi(read_file(file(name))))) << name;
  }
}

TEST_F(CommandLife, OutputOfFiltersThatItLeavesBehindIsComplete) {
  Cluster cluster({.batch = true});
  // The shell ends before its filters, which a shell does not wait for.
  const auto line = [&](const std::string& name) {
    return text("exec > >(sleep 0.1; tee ", name,
                " | sed p -n) 2> >(cat >&2); seq 20000; echo e >&2");
  };
  const std::string all = seq(20'000);
  const Exit ran = cluster.proffer({"run", "--", "bash", "-c", line(file("run"))});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, all);
  EXPECT_EQ(ran.err, "e\n");
  EXPECT_EQ(read_file(file("run")), all);
  // Their output goes to a file only.
  const Exit away = cluster.proffer(
      {"run", "--", "bash", "-c", text("exec > >(sleep 0.1; cat >", file("away"), "); seq 20000")});
  EXPECT_EQ(away.code, 0);
  EXPECT_EQ(read_file(file("away")), all);
  const Exit array = cluster.proffer({"batch", "array", "1-10", "--output", file("out"), "--",
                                      "bash", "-c", line(file("element-{}"))});
  ASSERT_EQ(array.code, 0) << array.err;
  std::string ten;
  for (int i = 1; i <= 10; ++i) {
    ten += all;
    EXPECT_EQ(read_file(file(text("element-", i))), all) << i;
  }
  EXPECT_TRUE(array.out == ten) << array.out.size() << " bytes of " << ten.size();
}

TEST_F(CommandLife, ALeftProcessThatNeverEndsIsReported) {
  Cluster cluster({.batch = true});
  const auto array = cluster.start(
      {"batch", "array", "1", "--output", file("out"), "--", "sh", "-c", "sleep 1000 & echo hi"});
  // A daemon, which does not write to the output, is not waited for.
  const Exit daemon = cluster.proffer(
      {"run", "--", "sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $! >" + file("daemon")});
  EXPECT_EQ(daemon.code, 0);
  EXPECT_EQ(daemon.err, "");
  EXPECT_FALSE(is_alive(std::stoi(read_file(file("daemon")))));
  const Exit ran = cluster.proffer({"run", "--", "sh", "-c", "sleep 1000 & echo hi"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "hi\n");
  EXPECT_THAT(ran.err, HasSubstr("(sleep) still ran 10s after the command had ended"));
  const Exit ended = array->wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
}

}  // namespace
}  // namespace proffer::test::command_life_test
