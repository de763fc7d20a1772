// The agent reports now and then to the master which tasks are still starting, and why.

#include "common/load_limits.h"
#include "common/text.h"
#include "tests/slave/agent_scenario.h"

namespace proffer::agent::starting_test {
namespace {

using proto::TaskState;
using scenario::AgentScenario;
using scenario::command_task;
using Lines = std::vector<std::string>;

// The reports about starting tasks, and nothing else.
Lines words(AgentScenario& s) {
  Lines lines;
  for (const proto::Update& update : s.told_master<proto::Update>()) {
    EXPECT_EQ(update.status.state, TaskState::kStaging);
    EXPECT_EQ(update.status.sequence, 0u);  // nothing to acknowledge
    lines.push_back(text(update.status.task.str(), ": ", update.status.message));
  }
  return lines;
}

TEST(Starting, ItsFilesAreFetchedForLong) {
  AgentScenario s;
  s.registered();
  proto::RunTask run = command_task("t1");
  run.spec.fetch = {{.uri = "http://host/a"}};
  s.run(run);
  const size_t records = s.log.size();
  s.pass_with_master(kStartingReport - seconds(1));
  EXPECT_EQ(words(s), Lines());
  s.pass_with_master(seconds(1));
  EXPECT_EQ(words(s), (Lines{"t1: its files are being fetched"}));
  s.pass_with_master(kStartingReport);
  EXPECT_EQ(words(s), (Lines{"t1: its files are being fetched"}));
  EXPECT_EQ(s.log.size(), records);  // nothing of it is recorded

  // A restarted agent fetches again, and reports it too.
  s.crash_and_restart();
  s.tick();
  s.connect();
  s.welcome();
  s.told_master<proto::Update>();
  s.pass_with_master(kStartingReport);
  EXPECT_EQ(words(s), (Lines{"t1: its files are being fetched"}));
}

// A custom executor may take some time before it reports a task as running.
TEST(Starting, ItsExecutorHasItForLong) {
  AgentScenario s;
  s.registered();
  s.run(command_task("t1"));
  s.pass_with_master(seconds(30));
  const PeerId peer = s.hello("t1");
  s.pass_with_master(seconds(20));
  s.from_executor(peer, proto::Heartbeat{});
  s.pass_with_master(kStartingReport - seconds(50));
  EXPECT_EQ(words(s), (Lines{"t1: its executor received it, and has not reported that it runs"}));
  s.tell(peer, "t1", TaskState::kRunning, 1);
  EXPECT_EQ(s.updates(), (Lines{"t1 1 running none"}));
  for (int i = 0; i < 20; ++i) {
    s.from_executor(peer, proto::Heartbeat{});
    s.pass_with_master(kStartingReport / 10);
  }
  EXPECT_EQ(words(s), Lines());
}

TEST(Starting, NothingIsToldToAMasterThatIsNotThere) {
  AgentScenario s;
  s.registered();
  proto::RunTask run = command_task("t1");
  run.spec.fetch = {{.uri = "http://host/a"}};
  s.run(run);
  s.step(MasterDisconnected{});
  s.pass(kStartingReport * 3);
  EXPECT_EQ(words(s), Lines());
}

}  // namespace
}  // namespace proffer::agent::starting_test
