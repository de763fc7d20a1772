#pragma once

// A small cluster. Each process may be of an earlier version or the current one, and changes its
// version while tasks run. For the long tests.

#include <csignal>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "proto/json/json.h"
#include "tests/integration/processes.h"
#include "tests/upgrade/copied_programs.h"
#include "tests/upgrade/versions.h"

namespace proffer::upgrade_test {

enum class Of { kBefore, kToday };

class MixedCluster {
 public:
  // A version that connects by TCP does not run as root: see docs/guides/upgrade.md.
  explicit MixedCluster(const Version& version) : MixedCluster(version, version.by_tcp) {}
  MixedCluster(const Version& version, bool as_other) : version_(version), as_other_(as_other) {
    if (as_other_) test::copy_programs(version.bin(), home_.path());
  }
  ~MixedCluster() {
    agent_ = nullptr;
    master_ = nullptr;
    for (const pid_t pid : test::processes_of(home_.path())) {
      if (pid != getpid()) ::kill(pid, SIGKILL);
    }
  }

  const Version& version() const { return version_; }
  std::string path(const std::string& name) const { return home_ / name; }
  std::string socket() const { return home_ / "master.sock"; }
  // The master's address for a client of that version.
  std::string master_for(Of of) const {
    const bool by_tcp = version_.by_tcp && (of == Of::kBefore || master_of_ == Of::kBefore);
    return by_tcp ? "127.0.0.1:" + port_ : socket();
  }
  std::string program(Of of, const std::string& name) const {
    if (as_other_) return path((of == Of::kBefore ? "before/" : "now/") + name);
    return of == Of::kBefore ? version_.program(name) : test::program(name);
  }
  test::Words command(Of of, test::Words words) const {
    words.front() = program(of, words.front());
    return as_other_ ? test::as_other_user(words) : words;
  }

  // Ends the running master, if any, like an operator, and starts that version.
  void set_master(Of of, const test::Words& more = {}) {
    end(master_.get());
    master_of_ = of;
    std::filesystem::remove(path("master/address.json"));
    test::Words command = {"proffer-master", "--data_dir=" + path("master"), "--heartbeat=500ms",
                           "--agent_timeout=5s"};
    if (of == Of::kToday || !version_.by_tcp) command.push_back("--socket=" + socket());
    if (of == Of::kToday && version_.by_tcp) command.push_back("--insecure_tcp");
    if (version_.by_tcp) command.push_back("--port=" + port_);
    if (of == Of::kBefore && version_.by_tcp) command.push_back("--http_port=0");
    command.insert(command.end(), more.begin(), more.end());
    master_ = std::make_unique<test::Process>(this->command(of, std::move(command)));
    ASSERT_TRUE(test::eventually([&] { return !told("master", "address").empty(); }))
        << master_->err();
    if (version_.by_tcp && port_ == "0") {
      const std::string address = told("master", of == Of::kToday ? "tcp" : "address");
      port_ = address.substr(address.rfind(':') + 1);
    }
  }
  void set_agent(Of of, const test::Words& more = {}) {
    end(agent_.get());
    agent_ = start_agent(of, "a1", more);
    ASSERT_TRUE(test::eventually([&] { return !told("a1", "pid").empty(); })) << agent_->err();
  }
  std::unique_ptr<test::Process> start_agent(Of of, const std::string& name,
                                             const test::Words& more = {}) const {
    std::filesystem::remove(path(name + "/address.json"));
    test::Words command = {"proffer-agent",
                           "--master=" + master_for(of),
                           "--name=" + name,
                           "--work_dir=" + path(name),
                           "--resources=cpus:4;mem:1024;disk:1024",
                           "--heartbeat=500ms"};
    if (of == Of::kBefore && version_.by_tcp) command.push_back("--http_port=0");
    command.insert(command.end(), more.begin(), more.end());
    return std::make_unique<test::Process>(this->command(of, std::move(command)));
  }
  test::Process& master() { return *master_; }
  test::Process& agent() { return *agent_; }
  void end_master() {
    end(master_.get());
    master_ = nullptr;
  }
  void kill_master() {
    master_->kill(SIGKILL);
    master_->wait();
    master_ = nullptr;
  }
  void kill_agent() {
    agent_->kill(SIGKILL);
    agent_->wait();
    agent_ = nullptr;
  }

  // Runs `proffer …` of that version to its end.
  test::Exit proffer(Of of, test::Words words) const {
    words.insert(words.begin(), "proffer");
    return test::run(command(of, std::move(words)), {{"PROFFER_MASTER", master_for(of)}});
  }
  std::unique_ptr<test::Process> start(Of of, test::Words words) const {
    words.insert(words.begin(), "proffer");
    return std::make_unique<test::Process>(
        command(of, std::move(words)),
        std::map<std::string, std::string>{{"PROFFER_MASTER", master_for(of)}});
  }
  // Whether the master reports the agent as connected.
  bool has_agent(Of of, const std::string& name = "a1") const {
    const auto rows = proto::parse_agents(proffer(of, {"agents", "--json"}).out);
    if (!rows) return false;
    for (const proto::AgentRow& row : *rows) {
      if (row.agent == AgentId(name)) return row.state == proto::AgentState::kConnected;
    }
    return false;
  }

  // A member of a daemon's address.json, as text; empty until it is written.
  std::string told(const std::string& name, const std::string& member) const {
    const auto members =
        proto::parse_json_line(trimmed(test::read_file(path(name + "/address.json"))));
    if (!members || members->count(member) == 0) return {};
    const auto& value = members->at(member);
    if (const auto* number = std::get_if<int64_t>(&value)) return std::to_string(*number);
    return std::get<std::string>(value);
  }

 private:
  static void end(test::Process* process) {
    if (process == nullptr) return;
    process->kill(SIGTERM);
    const test::Exit ended = process->wait();
    EXPECT_EQ(ended.code, 0) << ended.err;
  }

  const Version version_;
  const bool as_other_;
  test::TemporaryDirectory home_;
  std::string port_ = "0";
  Of master_of_ = Of::kBefore;
  std::unique_ptr<test::Process> master_;
  std::unique_ptr<test::Process> agent_;
};

}  // namespace proffer::upgrade_test
