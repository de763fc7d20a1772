// exactly_once_framework with real processes: the master and the scheduler are killed together
// repeatedly, sometimes with an agent. Each command begins once and ends once. $PROFFER_LONG makes
// it a hundred joint kills.

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/prng.h"
#include "common/text.h"
#include "tests/integration/processes.h"
#include "tests/support/long.h"

namespace proffer::test::once_test {
namespace {

using testing::HasSubstr;

constexpr uint64_t kSeed = 13;

int joint_kills() { return test::is_long() ? 100 : 5; }

// A master, two agents and the framework. Each may be killed and restarted.
class JointKills : public testing::Test {
 protected:
  void SetUp() override {
    start_master();
    for (const char* name : {"agent-1", "agent-2"}) start_agent(name);
  }

  void start_master() {
    master_.reset();
    master_ = std::make_unique<Process>(Words{program("proffer-master"),
                                              "--data_dir=" + (home_ / "master"),
                                              "--socket=" + socket(), "--heartbeat=1s"});
  }
  void start_agent(const std::string& name) {
    agents_[name].reset();
    agents_[name] = std::make_unique<Process>(
        Words{program("proffer-agent"), "--master=" + socket(), "--name=" + name,
              "--work_dir=" + (home_ / name), "--heartbeat=1s", "--resources=cpus:1;mem:2048"});
  }
  void start_framework() {
    framework_.reset();
    framework_ = std::make_unique<Process>(
        Words{program("examples/exactly_once_framework"), "--master=" + socket(),
              "--commands=" + (home_ / "commands"), "--session_file=" + (home_ / "session")});
  }
  std::string socket() const { return home_ / "master.sock"; }

  // Each command writes two lines to a file of its own.
  void write_commands(int count) {
    std::string commands;
    for (int i = 0; i < count; ++i) {
      const std::string file = home_ / text("ran-", i);
      commands += text("echo begun >>", file, "; sleep 0.2; echo ended >>", file, "\n");
    }
    write_file(home_ / "commands", commands);
  }
  int begun(int count) const {
    int begun = 0;
    for (int i = 0; i < count; ++i) begun += read_file(home_ / text("ran-", i)).empty() ? 0 : 1;
    return begun;
  }

  TemporaryDirectory home_;
  std::unique_ptr<Process> master_;
  std::map<std::string, std::unique_ptr<Process>> agents_;
  std::unique_ptr<Process> framework_;
};

TEST_F(JointKills, OfMasterAndSchedulerBeginNoCommandTwiceAndLoseNone) {
  Prng chance(kSeed);
  const int kills = joint_kills();
  const int commands = 16 * kills;
  write_commands(commands);
  start_framework();
  for (int i = 0; i < kills; ++i) {
    // More commands have begun since the last kill.
    const int wanted = begun(commands) + static_cast<int>(chance.between(1, 8));
    ASSERT_TRUE(eventually([&] { return begun(commands) >= std::min(wanted, commands); }))
        << framework_->out() << framework_->err();
    const std::string agent = text("agent-", chance.between(1, 2));
    const bool with_agent = chance.chance(1, 3);
    master_->kill(SIGKILL);
    framework_->kill(SIGKILL);
    if (with_agent) agents_.at(agent)->kill(SIGKILL);
    if (chance.chance(1, 2)) {
      start_framework();
      start_master();
    } else {
      start_master();
      start_framework();
    }
    if (with_agent) start_agent(agent);
  }
  const Exit end = framework_->wait(Seconds(120));
  EXPECT_EQ(end.code, 0) << end.out << end.err;
  EXPECT_THAT(end.out, HasSubstr(text("all ", commands, " commands have ended")));
  for (int i = 0; i < commands; ++i) {
    EXPECT_EQ(read_file(home_ / text("ran-", i)), "begun\nended\n") << "command " << i << "\n"
                                                                    << end.out;
  }
}

}  // namespace
}  // namespace proffer::test::once_test
