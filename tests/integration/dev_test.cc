// proffer dev leaves nothing behind, whatever was killed before; and restarted agents.

#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>

#include "common/text.h"
#include "proto/json/json.h"
#include "tests/integration/processes.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;

// Every process whose environment or command line names this directory.
std::vector<pid_t> processes_of(const std::string& directory) {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string words =
        read_file(entry.path() / "cmdline") + read_file(entry.path() / "environ");
    const pid_t pid = std::stoi(name);
    if (words.find(directory) != std::string::npos && is_alive(pid)) found.push_back(pid);
  }
  return found;
}

std::string socket_of(const Cluster& cluster, const std::string& agent) {
  const auto members =
      proto::parse_json_line(trimmed(read_file(cluster.dir() + "/" + agent + "/address.json")));
  return members ? std::get<std::string>(members->at("socket")) : "";
}

TEST(Dev, InterruptLeavesNoProcessAndNoFileWhateverWasKilledBefore) {
  Cluster cluster({.agents = 2});
  const std::string sockets[] = {socket_of(cluster, "agent-1"), socket_of(cluster, "agent-2")};
  const auto sleepers = cluster.start(
      {"run", "--count", "4", "--name", "s", "--", "sleep 1000 & setsid sleep 1000 & wait"});
  ASSERT_TRUE(eventually([&] { return cluster.running_tasks("s") == 4; }));
  ASSERT_GE(processes_of(cluster.dir()).size(), 7u);  // dev, master, two agents, executors …

  ::kill(cluster.pid_of("agent-1"), SIGKILL);
  ASSERT_TRUE(cluster.dev().line_with("agent-1").has_value());  // It says what ended.
  ::kill(cluster.pid_of("master"), SIGKILL);
  ASSERT_TRUE(cluster.dev().line_with("master").has_value());
  cluster.dev().kill(SIGINT);

  EXPECT_EQ(cluster.dev().wait().code, 0);
  EXPECT_EQ(processes_of(cluster.dir()), std::vector<pid_t>());
  EXPECT_FALSE(fs::exists(cluster.dir()));
  for (const std::string& socket : sockets) {
    EXPECT_NE(socket, "");
    EXPECT_FALSE(fs::exists(socket)) << socket;
  }
}

TEST(Dev, SaysWhichPortIsInUse) {
  Cluster cluster;
  const std::string port = cluster.master().substr(cluster.master().find(':') + 1);
  TemporaryDirectory home;
  const Exit second =
      run({program("proffer"), "dev", "--dir", home / "c", "--port", port, "--http-port", "0"});
  EXPECT_EQ(second.code, 1);
  EXPECT_NE(second.err.find(port), std::string::npos) << second.err;
  EXPECT_NE(second.err.find("in use"), std::string::npos) << second.err;
  EXPECT_EQ(processes_of(home.path()), std::vector<pid_t>());
}

TEST(Dev, RefusesWrongValuesBeforeItStartsAnything) {
  TemporaryDirectory home;
  const std::pair<Words, std::string> rows[] = {
      {{"--agents", "0"}, "from 1 to"},
      {{"--resources", "cpus:-1"}, "'-1'"},
      {{"--resources", "cpus:0"}, "more than zero"},
      {{"--resources", "cpu:1"}, "did you mean 'cpus'"},
      {{"--weights", "a=0"}, "between 0.001 and 1000"},
      {{"--port", "70000"}, "65535"},
      {{"--attributes", "rack"}, "NAME:VALUE"},
  };
  for (const auto& [words, says] : rows) {
    Words command = {program("proffer"), "dev", "--dir", home / "c"};
    command.insert(command.end(), words.begin(), words.end());
    const Exit refused = run(command);
    EXPECT_EQ(refused.code, 2) << words.back();
    EXPECT_NE(refused.err.find(says), std::string::npos) << refused.err;
  }
  EXPECT_FALSE(fs::exists(home / "c"));
}

TEST(Agent, RestartedItEndsWhatItsPredecessorLeftAndTellsThatItIsLost) {
  Cluster cluster({.agents = 1});
  TemporaryDirectory files;
  const auto sleeper =
      cluster.start({"run", "--name", "s", "--", "echo $$ > " + (files / "pid") + "; sleep 1000"});
  ASSERT_TRUE(eventually([&] { return !read_file(files / "pid").empty(); }));
  ASSERT_TRUE(eventually([&] { return cluster.running_tasks("s") == 1; }));
  const pid_t task = std::stoi(read_file(files / "pid"));

  ::kill(cluster.pid_of("agent-1"), SIGKILL);
  ASSERT_TRUE(cluster.dev().line_with("agent-1").has_value());
  EXPECT_TRUE(is_alive(task));  // Tasks outlive the agent's process …
  const auto agent = cluster.start_agent("agent-1", "cpus:4;mem:4096");

  const Exit ended = sleeper->wait();  // … until its successor ends them.
  EXPECT_NE(ended.code, 0);
  EXPECT_NE(ended.err.find("agent_restarted"), std::string::npos) << ended.err;
  EXPECT_TRUE(eventually([&] { return !is_alive(task); }));
  EXPECT_EQ(cluster.proffer({"run", "--", "echo again"}).out, "again\n");
}

TEST(Agent, TwoOfOneDirectoryOrOneNameAreRefusedWithAHint) {
  Cluster cluster({.agents = 1});
  const auto same_directory = cluster.start_agent("agent-1", "cpus:4;mem:4096");
  const Exit refused = same_directory->wait();
  EXPECT_EQ(refused.code, 1) << refused.err;
  EXPECT_NE(refused.err.find("agent-1"), std::string::npos) << refused.err;

  TemporaryDirectory home;
  const Exit same_name =
      run({program("proffer-agent"), "--master=" + cluster.master(), "--name=agent-1",
           "--work_dir=" + (home / "w"), "--http_port=0", "--resources=cpus:1"});
  EXPECT_EQ(same_name.code, 1) << same_name.err;
  EXPECT_NE(same_name.err.find("--name"), std::string::npos) << same_name.err;
  EXPECT_EQ(cluster.proffer({"run", "--", "echo fine"}).out, "fine\n");
}

TEST(Agent, RefusesWrongFlagsWithTheValueAndWhatIsAllowed) {
  TemporaryDirectory home;
  const std::pair<std::string, std::string> rows[] = {
      {"--resources=cpus:-2", "'-2'"},
      {"--resources=cpus:1;cpus:2", "twice"},
      {"--resources=mem:0", "more than zero"},
      {"--name=a/b", "'a/b'"},
      {"--attributes=host:x", "'host'"},
      {"--master=nowhere", "--master"},
      {"--nonsense=1", "nonsense"},
      {"--http_port=99999", "65535"},
  };
  for (const auto& [flag, says] : rows) {
    const Exit refused = run({program("proffer-agent"), "--master=127.0.0.1:1", "--name=x",
                              "--work_dir=" + (home / "w"), "--http_port=0", flag});
    EXPECT_EQ(refused.code, 2) << flag << ": " << refused.err;
    EXPECT_NE(refused.err.find(says), std::string::npos) << refused.err;
  }
}

}  // namespace
}  // namespace proffer::test
