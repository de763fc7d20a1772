// Init steps and sidecars of apps, with real processes.

#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "proto/json/service_json.h"
#include "proto/task_group.h"
#include "tests/integration/processes.h"

namespace proffer::test::groups_test {
namespace {

using testing::HasSubstr;

struct Groups : testing::Test {
  // One instance; `more` are further lines of the app file.
  std::string file(const std::string& command, const std::string& more) const {
    const std::string path = home_ / "app.yaml";
    write_file(path, text("name: app\ncommand: '", command,
                          "'\nresources: 'cpus:0.1;mem:32'\nkill_grace: 5s\n", more));
    return path;
  }
  // A command line that writes its process id and runs for ever.
  std::string lives(const std::string& name) const {
    return text("echo $$ > ", home_ / name, "; exec sleep 1000");
  }
  pid_t pid_in(const std::string& name) const {
    const std::string digits = read_file(home_ / name);
    return digits.empty() ? 0 : std::stoi(digits);
  }
  static proto::ServiceStatusPage status(const Cluster& cluster) {
    const Exit shown = cluster.proffer({"service", "status", "app", "--json"});
    auto page = proto::parse_service_status(shown.out);
    return page ? *std::move(page) : proto::ServiceStatusPage();
  }

  TemporaryDirectory home_;
};

TEST_F(Groups, StepsRunInOrderThenTheCommandWithItsSidecarsWhichEndWithIt) {
  Cluster cluster({.service = true});
  const std::string order = home_ / "order";
  const auto says = [&](const char* word) { return text("echo ", word, " $A >> ", order); };
  const std::string more =
      text("env: {A: a}\nfiles: {conf: \"~{A}\"}\ninit:\n- 'cat conf >> ", order, "; ", says("one"),
           "'\n- '", says("two"), "'\nsidecars:\n  log: '", lives("log"), "'\n  proxy: '",
           lives("proxy"), "'\n");
  const Exit applied = cluster.proffer(
      {"service", "apply", file(text(says("command"), "; ", lives("command")), more), "--wait"});
  ASSERT_EQ(applied.code, 0) << applied.err;
  EXPECT_EQ(read_file(order), "aone a\ntwo a\ncommand a\n");
  for (const char* name : {"command", "log", "proxy"}) EXPECT_TRUE(is_alive(pid_in(name))) << name;
  EXPECT_EQ(cluster.proffer({"service", "stop", "app", "--wait"}).code, 0);
  for (const char* name : {"command", "log", "proxy"}) EXPECT_FALSE(is_alive(pid_in(name))) << name;
}

TEST_F(Groups, AStepThatFailsIsToldAsTheCause) {
  Cluster cluster({.service = true});
  const std::string more = "init: ['true', 'echo no database >&2; exit 5', 'false']\n";
  const Exit applied =
      cluster.proffer({"service", "apply", file(lives("command"), more), "--wait"}, Seconds(120));
  EXPECT_EQ(applied.code, 1);
  EXPECT_THAT(applied.err, HasSubstr("instance 0: init step 2 ended with exit code 5"));
  EXPECT_THAT(applied.err, HasSubstr("its last output: no database"));
  EXPECT_EQ(pid_in("command"), 0);
}

TEST_F(Groups, TheEndOfASidecarFailsTheInstance) {
  Cluster cluster({.service = true});
  const std::string more = text("sidecars: {proxy: 'until test -e ", home_ / "go",
                                "; do sleep 0.05; done; rm ", home_ / "go", "; exit 3'}\n");
  ASSERT_EQ(cluster.proffer({"service", "apply", file(lives("command"), more), "--wait"}).code, 0);
  const pid_t before = pid_in("command");
  write_file(home_ / "go", "");
  ASSERT_TRUE(eventually([&] { return pid_in("command") != before && pid_in("command") != 0; }));
  EXPECT_FALSE(is_alive(before));
  EXPECT_THAT(cluster.proffer({"service", "logs", "app"}).err,
              HasSubstr("failed, sidecar proxy ended with exit code 3"));
  EXPECT_TRUE(eventually([&] { return status(cluster).app.ready == 1; }));
}

TEST_F(Groups, AnInstanceIsNotReadyWhileItsStepsRunWhoeverIsKilled) {
  Cluster cluster({.service = true});
  const std::string more = text("init: ['until test -e ", home_ / "up",
                                "; do sleep 0.05; done']\nsidecars: {log: '", lives("log"), "'}\n");
  ASSERT_EQ(cluster.proffer({"service", "apply", file(lives("command"), more)}).code, 0);
  const auto runs_step = [&] {
    const proto::ServiceStatusPage page = status(cluster);
    return page.instances.size() == 1 && page.instances[0].why == "runs init step 1";
  };
  ASSERT_TRUE(eventually(runs_step));
  EXPECT_EQ(status(cluster).app.ready, 0);
  EXPECT_THAT(status(cluster).app.why, HasSubstr("not ready yet: it runs init step 1"));
  ::kill(cluster.pid_of("agent-1"), SIGKILL);
  ASSERT_TRUE(cluster.dev().line_with("agent-1").has_value());
  const auto agent = cluster.start_agent("agent-1", "cpus:4;mem:4096");
  ASSERT_TRUE(eventually(runs_step));
  EXPECT_EQ(pid_in("log"), 0);
  write_file(home_ / "up", "");
  EXPECT_TRUE(eventually([&] { return status(cluster).app.ready == 1; }));
  EXPECT_TRUE(is_alive(pid_in("command")) && is_alive(pid_in("log")));
}

TEST_F(Groups, AKillEndsAStepWithinItsGrace) {
  Cluster cluster({.service = true});
  const std::string more = text("init: ['trap \"\" TERM; echo $$ > ", home_ / "step",
                                "; while :; do sleep 0.1; done']\n");
  std::string path = file(lives("command"), more);
  std::string yaml = read_file(path);
  yaml.replace(yaml.find("kill_grace: 5s"), 14, "kill_grace: 1s");
  write_file(path, yaml);
  ASSERT_EQ(cluster.proffer({"service", "apply", path}).code, 0);
  ASSERT_TRUE(eventually([&] { return pid_in("step") != 0; }));
  EXPECT_EQ(cluster.proffer({"service", "stop", "app", "--wait"}).code, 0);
  EXPECT_FALSE(is_alive(pid_in("step")));
  EXPECT_EQ(pid_in("command"), 0);
}

// A kill after the end of the command is a kill of one of its sidecars.
TEST_F(Groups, AKillEndsSidecarsThatOutliveTheirCommand) {
  Cluster cluster({.service = true});
  const std::string more = text("sidecars: {log: 'trap \"\" TERM; echo $$ > ", home_ / "log",
                                "; while :; do sleep 0.1; done'}\n");
  std::string path = file(text("echo $$ > ", home_ / "command", "; until test -e ", home_ / "go",
                               "; do sleep 0.05; done; rm ", home_ / "go", "; exit 7"),
                          more);
  std::string yaml = read_file(path);
  yaml.replace(yaml.find("kill_grace: 5s"), 14, "kill_grace: 1h");
  write_file(path, yaml);
  ASSERT_EQ(cluster.proffer({"service", "apply", path, "--wait"}).code, 0);
  const proto::ServiceStatusPage page = status(cluster);
  ASSERT_EQ(page.instances.size(), 1u);
  const pid_t log = pid_in("log");
  const pid_t command = pid_in("command");
  write_file(home_ / "go", "");
  ASSERT_TRUE(eventually([&] { return !is_alive(command); }));
  EXPECT_TRUE(is_alive(log));
  EXPECT_EQ(cluster.proffer({"kill", page.instances[0].task.str(), "--grace", "0s"}).code, 0);
  EXPECT_TRUE(eventually([&] { return !is_alive(log); }));
  EXPECT_TRUE(eventually([&] {
    return cluster.proffer({"service", "logs", "app"}).err.find("exit code 7") != std::string::npos;
  })) << cluster.proffer({"service", "logs", "app"}).err;
}

// An executor of an earlier version would run the command without its init steps and sidecars.
TEST_F(Groups, AnExecutorOfAVersionBeforeFailsTheTask) {
  const Exit exit = run({"/bin/sh", "-c", text(proto::kGroupCommand, "echo ran")});
  EXPECT_NE(exit.code, 0);
  EXPECT_EQ(exit.out, "");
  EXPECT_THAT(exit.err, HasSubstr("too old for init steps and sidecars"));
  EXPECT_EQ(
      run({"/bin/sh", "-c", text(proto::kGroupCommand, "echo ran")}, {{"PROFFER_GROUP", "1"}}).out,
      "ran\n");
}

}  // namespace
}  // namespace proffer::test::groups_test
