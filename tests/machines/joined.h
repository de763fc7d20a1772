#pragma once

// A master's machine, one for agents and one for users, which are network namespaces: the fixture
// of tests in which machines join a cluster.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/text.h"
#include "tests/integration/processes.h"
#include "tests/machines/machines.h"

namespace proffer::test {

namespace fs = std::filesystem;

inline constexpr unsigned kNobody = 65'534;

// Three machines: the master's, one for agents, and one of users.
class JoinedMachines : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "not run: only root can make network namespaces";
    if (run({"unshare", "--net", "ip", "link"}).code != 0) {
      GTEST_SKIP() << "not run: no network namespaces can be made here";
    }
    fs::permissions(home_.path(), fs::perms::owner_all | fs::perms::others_exec);
    for (const char* name : {"proffer", "proffer-master", "proffer-agent", "proffer-executor",
                             "proffer-fetch", "proffer-batch", "proffer-batch-executor"}) {
      fs::copy_file(program(name), home_ / name);
    }
    master_machine_ = std::make_unique<Machine>("m", home_.path());
    agent_machine_ = std::make_unique<Machine>("a", home_.path());
    user_machine_ = std::make_unique<Machine>("u", home_.path());
    master_machine_->link(*agent_machine_, "10.231.1");
    master_machine_->link(*user_machine_, "10.231.2");
    const Exit made = master_machine_->runs(
        {home_ / "proffer", "keys", "init", "--data-dir=" + (home_ / "master")});
    ASSERT_EQ(made.code, 0) << made.err;
    start_master();
  }

  void start_master() {
    master_ = master_machine_->starts({home_ / "proffer-master", "--data_dir=" + (home_ / "master"),
                                       "--socket=" + socket_path(), "--port=5050", "--heartbeat=1s",
                                       "--agent_timeout=5s"});
    ASSERT_TRUE(eventually([&] { return operates({"status"}).code == 0; })) << master_->err();
  }

  void TearDown() override {
    for (const auto& daemon : {agent_.get(), master_.get()}) {
      if (daemon == nullptr) continue;
      daemon->kill(SIGTERM);
      EXPECT_EQ(daemon->wait().code, 0) << daemon->err();
    }
    EXPECT_EQ(processes_of(home_.path() + "/"), std::vector<pid_t>());
  }

  std::string socket_path() const { return home_ / "run/master.sock"; }
  // Runs `proffer …` as an operator beside the master.
  Exit operates(Words words) const {
    words.insert(words.begin(), home_ / "proffer");
    words.insert(std::find(words.begin(), words.end(), "--"), "--master=" + socket_path());
    return master_machine_->runs(words);
  }
  std::string token(const Words& whom) const {
    Words words = {"join-token"};
    words.insert(words.end(), whom.begin(), whom.end());
    const Exit made = operates(words);
    EXPECT_EQ(made.code, 0) << made.err;
    return made.out;
  }
  // Writes the token to a file, as `proffer join --join-file` requires.
  Words join_with(const std::string& token) const {
    write_file(home_ / "token", token);
    fs::permissions(home_ / "token",
                    fs::perms::owner_read | fs::perms::owner_write | fs::perms::others_read);
    return {home_ / "proffer", "join", "--join-file", home_ / "token"};
  }
  void join_agent(const std::string& name) const { join_agent(name, *agent_machine_); }
  void join_agent(const std::string& name, const Machine& machine) const {
    const Exit joined = machine.runs(join_with(token({"--agent", name})));
    ASSERT_EQ(joined.code, 0) << joined.err;
  }
  Words agent_command(const std::string& directory, const Words& more = {}) const {
    Words words = {home_ / "proffer-agent",
                   "--work_dir=" + (home_ / directory),
                   "--resources=cpus:2;mem:512",
                   "--tasks_on_exit=kill",
                   "--heartbeat=1s",
                   "--master_timeout=5s"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  void start_agent() {
    agent_ = agent_machine_->starts(agent_command("agent"));
    ASSERT_TRUE(eventually([&] { return serves("a2"); })) << agent_->err();
  }
  bool serves(const std::string& agent) const {
    const Exit agents = operates({"agents"});
    const size_t at = agents.out.find("\n" + agent + " ");
    if (at == std::string::npos) return false;
    const std::string row = agents.out.substr(at + 1, agents.out.find('\n', at + 1) - at - 1);
    return row.find(" connected") != std::string::npos;
  }
  // Joins as this user on the users' machine.
  void join_user(const std::string& name) const {
    fs::create_directories(*user_machine_ / "config");
    ASSERT_EQ(chown((*user_machine_ / "config").c_str(), kNobody, kNobody), 0);
    const Exit joined = user_machine_->runs_as(kNobody, join_with(token({"--user", name})));
    ASSERT_EQ(joined.code, 0) << joined.err;
  }
  Exit user_runs(Words words) const {
    words.insert(words.begin(), home_ / "proffer");
    return user_machine_->runs_as(kNobody, words);
  }
  std::string keys_file(const Machine& machine, const std::string& kind) const {
    return machine / ("config/" + kind + ".keys");
  }
  // The file in the format of earlier versions, without the checksum, which a changed line would
  // not match.
  static std::string without_sum(const std::string& path) {
    const std::string content = read_file(path);
    std::string rest;
    for (const std::string_view line : split(content, '\n')) {
      if (!line.empty() && !line.starts_with("sum ")) rest += text(line, "\n");
    }
    return rest;
  }
  static void forge(const std::string& path, const std::string& name, const std::string& value) {
    const std::string content = without_sum(path);
    std::string forged;
    for (const std::string_view line : split(content, '\n')) {
      if (line.empty()) continue;
      forged += line.starts_with(name + " ") ? text(name, " ", value) : std::string(line);
      forged += '\n';
    }
    write_file(path, forged);
  }
  static std::string value_in(const std::string& path, const std::string& name) {
    const std::string content = read_file(path);
    for (const std::string_view line : split(content, '\n')) {
      if (line.starts_with(name + " ")) return std::string(line.substr(name.size() + 1));
    }
    return "";
  }

  TemporaryDirectory home_;
  std::unique_ptr<Machine> master_machine_;
  std::unique_ptr<Machine> agent_machine_;
  std::unique_ptr<Machine> user_machine_;
  std::unique_ptr<Process> master_;
  std::unique_ptr<Process> agent_;
};

// Three agents: a1 beside the master, by its socket; a2 and a3 on their own machines, by keys.
class ThreeAgents : public JoinedMachines {
 protected:
  void SetUp() override {
    JoinedMachines::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    master_machine_->forward();
    agent_machine_->route("10.231.2", "10.231.1.1");
    user_machine_->route("10.231.1", "10.231.2.1");
  }
  void start_three_agents() {
    first_ = master_machine_->starts(agent_command(
        "agent1",
        {"--name=a1", "--master=" + socket_path(), "--https_port=0", "--https_host=10.231.1.1"}));
    join_agent("a2");
    start_agent();
    join_agent("a3", *user_machine_);
    start_third();
    ASSERT_TRUE(eventually([&] { return serves("a1"); })) << first_->err();
  }
  void start_third() {
    third_ = user_machine_->starts(agent_command("agent3"));
    ASSERT_TRUE(third_->complains("agent registered")) << third_->err();
    ASSERT_TRUE(eventually([&] { return serves("a3"); })) << third_->err();
  }
  // The batch scheduler, beside the master.
  std::unique_ptr<Process> start_batch() {
    auto scheduler = master_machine_->starts(
        {home_ / "proffer", "batch", "scheduler", "--master=" + socket_path(),
         "--session-file=" + (home_ / "batch.session"), "--serve-users"});
    EXPECT_TRUE(eventually([&] {
      return operates({"batch", "list"}).code == 0;
    })) << scheduler->err();
    return scheduler;
  }
  void TearDown() override {
    for (const auto& agent : {third_.get(), first_.get()}) {
      if (agent == nullptr) continue;
      agent->kill(SIGTERM);
      EXPECT_EQ(agent->wait().code, 0) << agent->err();
    }
    JoinedMachines::TearDown();
  }

  std::unique_ptr<Process> first_;
  std::unique_ptr<Process> third_;
};

}  // namespace proffer::test
