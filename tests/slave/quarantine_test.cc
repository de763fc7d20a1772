// When an agent stops taking tasks because it cannot start executors, and when it retries.

#include "slave/core/quarantine.h"

#include <gmock/gmock.h>

#include "common/limits.h"
#include "common/text.h"
#include "tests/slave/agent_scenario.h"

namespace proffer::agent::quarantine_test {
namespace {

using proto::TaskState;
using scenario::AgentScenario;
using scenario::command_task;
using ::testing::HasSubstr;
using Lines = std::vector<std::string>;

const Time kStart = Time::from_nanos(1'000'000'000);

// One letter per event: 'M' a failure of the machine, 'a', 'b' a failure that this owner may have
// caused, '+' a hello. Returns after which event, from 1, the quarantine begins; 0: never.
int begins_after(std::string_view events) {
  Quarantine quarantine;
  for (size_t i = 0; i < events.size(); ++i) {
    if (events[i] == '+') {
      quarantine.on_hello();
    } else if (quarantine.on_failure({.is_machines = events[i] == 'M',
                                      .owner = std::string(1, events[i]),
                                      .why = "it failed"},
                                     kStart)) {
      return static_cast<int>(i) + 1;
    }
  }
  return 0;
}

TEST(Quarantine, BeginsWhenTheMachineFailsOrWhenSeveralOwnersDo) {
  const std::pair<std::string_view, int> rows[] = {
      {"", 0},
      {"MM", 0},
      {"MMM", 3},
      {"MM+MM+MM", 0},
      {"MM+MMM", 6},
      // Any number of failures of a single owner do not count.
      {"aaaaaaaaaaaaaaaaaaaa", 0},
      {"aab", 3},
      {"ab", 0},
      {"aba", 3},
      {"a+b+a+b+a", 0},
      {"aaM", 3},
      {"aMMM", 3},
  };
  for (const auto& [events, after] : rows) EXPECT_EQ(begins_after(events), after) << events;
}

const StartFailure kMachines = {.is_machines = true, .owner = "a", .why = "no more processes"};

TEST(Quarantine, IsTwiceAsLongWithEachTryThatFails) {
  Quarantine quarantine;
  Time now = kStart;
  for (int i = 1; i < kFailuresInARow; ++i) EXPECT_FALSE(quarantine.on_failure(kMachines, now));
  for (const int64_t wait : {10, 20, 40, 80, 160, 320, 600, 600}) {
    EXPECT_TRUE(quarantine.on_failure(kMachines, now)) << wait;
    EXPECT_EQ(quarantine.ends_at(), now + seconds(wait));
    EXPECT_FALSE(quarantine.is_trying());
    EXPECT_FALSE(quarantine.on_failure(kMachines, now));  // it was already starting
    EXPECT_THAT(quarantine.why(), HasSubstr("no more processes"));
    now = now + seconds(wait);
    EXPECT_FALSE(quarantine.on_tick(now - milliseconds(1)));
    EXPECT_TRUE(quarantine.on_tick(now));
    EXPECT_TRUE(quarantine.is_trying());
    EXPECT_EQ(quarantine.why(), "");
  }
  // One success resets the count.
  quarantine.on_hello();
  EXPECT_FALSE(quarantine.is_trying());
  EXPECT_FALSE(quarantine.on_failure(kMachines, now));
}

TEST(Quarantine, ATryThatOneOwnerSpoilsDoesNotBeginItAgain) {
  Quarantine quarantine;
  for (int i = 0; i < kFailuresInARow; ++i) quarantine.on_failure(kMachines, kStart);
  ASSERT_TRUE(quarantine.on_tick(kStart + kQuarantineMin));
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(quarantine.on_failure({.owner = "a", .why = "exit code 1"}, kStart));
  }
  EXPECT_TRUE(quarantine.is_trying());
}

TEST(Quarantine, SaysWhyInAsManyBytesAsAMessageMayHave) {
  Quarantine quarantine;
  for (int i = 0; i < kFailuresInARow; ++i) {
    quarantine.on_failure({.is_machines = true, .why = std::string(10'000, '\n')}, kStart);
  }
  EXPECT_LE(quarantine.why().size(), kTroubleBytesMax);
  EXPECT_EQ(quarantine.why().find('\n'), std::string::npos);
}

// --- the agent ---------------------------------------------------------------------------------

// A task that cannot be started because of `error`.
void cannot_start(AgentScenario& s, const std::string& id, const Error& error,
                  const std::string& user = "") {
  proto::RunTask task = command_task(id);
  task.assignment.user = user;
  s.run(task);
  s.collect_starts();
  const StartExecutor start = s.started(id);
  s.step(ExecutorStartFailed{start.framework, start.executor, start.run, error});
  s.acknowledge(id, 1);
}

Error no_processes() { return Error::resource_exhausted("no more processes"); }

Lines troubles(AgentScenario& s) {
  Lines lines;
  for (const auto& told : s.told_master<proto::AgentTrouble>()) lines.push_back(told.why);
  return lines;
}

TEST(QuarantinedAgent, TakesNoTasksForAWhileThenOneAndThenAll) {
  AgentScenario s;
  s.registered();
  const PeerId runs = s.running("t0");
  for (const char* id : {"t1", "t2", "t3"}) cannot_start(s, id, no_processes());
  EXPECT_EQ(troubles(s), Lines{"executors cannot be started here: no more processes; the next "
                               "attempt is 10s after the last failure"});
  EXPECT_EQ(s.core->trouble().empty(), false);
  EXPECT_EQ(s.core->status().trouble, s.core->trouble());
  s.updates();
  s.run(command_task("t4"));
  EXPECT_EQ(s.updates(), Lines{"t4 1 refused agent_full"});
  // Running tasks continue.
  s.tell(runs, "t0", TaskState::kFinished, 2);
  EXPECT_EQ(s.updates(), Lines{"t0 2 finished none"});

  s.pass_with_master(kQuarantineMin + milliseconds(1));
  EXPECT_EQ(troubles(s), Lines{""});
  s.run(command_task("t5"));
  s.run(command_task("t6"));
  EXPECT_EQ(s.updates(), Lines{"t6 1 refused agent_full"});
  s.hello("t5");
  s.run(command_task("t7"));
  EXPECT_EQ(s.updates(), Lines{});
  EXPECT_NE(s.traced<QuarantineEnds>(), nullptr);
}

TEST(QuarantinedAgent, IsSoAgainIfTheTryFails) {
  AgentScenario s;
  s.registered();
  for (const char* id : {"t1", "t2", "t3"}) cannot_start(s, id, no_processes());
  s.pass_with_master(kQuarantineMin + milliseconds(1));
  troubles(s);
  cannot_start(s, "t4", no_processes());
  const Lines told = troubles(s);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0], HasSubstr("20s after the last failure"));
  // A registration contains the same reason.
  s.connect();
  EXPECT_EQ(s.told_master<proto::RegisterAgent>().at(0).trouble, told[0]);
}

TEST(QuarantinedAgent, SaysFirstThatItsDiskIsFull) {
  AgentScenario s;
  s.registered();
  for (const char* id : {"t1", "t2", "t3"}) cannot_start(s, id, no_processes());
  troubles(s);
  s.step(DiskSpace{.is_low = true});
  EXPECT_THAT(troubles(s).at(0), HasSubstr("its disk is full"));
  s.step(DiskSpace{});
  EXPECT_THAT(troubles(s).at(0), HasSubstr("no more processes"));
}

// Failures that a task, its user or its framework may have caused do not start a quarantine.
TEST(QuarantinedAgent, IsNotWhatOneUserOrFrameworkDoes) {
  AgentScenario s;
  s.options.user = "root";
  s.options.is_root = true;
  s.restart({});
  s.registered();
  for (int i = 0; i < 5; ++i) {
    const std::string id = "t" + std::to_string(i);
    cannot_start(s, "unknown-" + id, Error::failed_precondition("no user 'ada'"), "ada");
    cannot_start(s, "wrong-" + id, Error::invalid_argument("a NUL"), "ada");
    cannot_start(s, "quota-" + id, Error::permission_denied("quota"), "ada");
  }
  for (int i = 0; i < 5; ++i) {  // its processes are killed before they say hello
    const std::string id = "k" + std::to_string(i);
    proto::RunTask task = command_task(id);
    task.assignment.user = "ada";
    s.run(task);
    s.collect_starts();
    const StartExecutor start = s.started(id);
    s.step(ExecutorExited{start.framework, start.executor, start.run, {}, 9});
    s.acknowledge(id, 1);
  }
  EXPECT_EQ(troubles(s), Lines{});
  // The same failure for another user is no coincidence.
  proto::RunTask task = command_task("of-bob");
  task.assignment.user = "bob";
  s.run(task);
  s.exits("of-bob", 1);
  EXPECT_EQ(troubles(s).size(), 1u);
}

TEST(QuarantinedAgent, IsOneWhoseGroupsCannotBeEntered) {
  AgentScenario s;
  s.options.user = "root";
  s.options.is_root = true;
  s.restart({});
  s.registered();
  for (const char* id : {"t1", "t2", "t3"}) {
    proto::RunTask task = command_task(id);
    task.assignment.user = "ada";
    s.run(task);
    s.exits(id, kCannotBegin);
  }
  EXPECT_THAT(troubles(s).at(0), HasSubstr("exit code 126 before its first message"));
}

TEST(QuarantinedAgent, IsNotOneWhoseTasksAreKilledWhileTheyStart) {
  AgentScenario s;
  s.registered();
  for (const char* id : {"t1", "t2", "t3", "t4"}) {
    s.run(command_task(id));
    s.kill(id);
    s.exits(id, 1);
  }
  for (const char* id : {"m1", "m2", "m3", "m4"}) {
    s.run(command_task(id));
    s.collect_starts();
    const StartExecutor start = s.started(id);
    s.step(ExecutorExited{.framework = start.framework,
                          .executor = start.executor,
                          .run = start.run,
                          .signal = 9,
                          .out_of_memory = OutOfMemory{}});
  }
  EXPECT_EQ(troubles(s), Lines{});
}

TEST(QuarantinedAgent, IsOneWhoseExecutorsNeverSayHello) {
  AgentScenario s;
  s.registered();
  for (const char* id : {"t1", "t2", "t3"}) s.run(command_task(id));
  s.pass_with_master(s.options.executor_start_timeout + seconds(1));
  EXPECT_THAT(troubles(s).at(0), HasSubstr("sent no first message within 1m"));
}

}  // namespace
}  // namespace proffer::agent::quarantine_test
