// The files of tasks are fetched before their executor starts, also after a restart, and never for
// a task that was killed meanwhile.

#include "tests/slave/agent_scenario.h"

namespace proffer::agent::files_test {
namespace {

using proto::TaskReason;
using proto::TaskState;
using scenario::AgentScenario;
using scenario::command_task;
using scenario::kBatch;
using Lines = std::vector<std::string>;

const std::vector<proto::FetchedFile> kFiles = {{.uri = "http://host/a"}, {.uri = "file:///b"}};

proto::RunTask task_with_files(std::string id) {
  proto::RunTask run = command_task(std::move(id));
  run.spec.fetch = kFiles;
  return run;
}

proto::RunTask shared_task(std::string id, std::vector<proto::FetchedFile> files) {
  proto::RunTask run = command_task(std::move(id));
  run.spec.executor = "my-executor";
  run.spec.executor_id = ExecutorId("shared");
  run.spec.fetch = std::move(files);
  return run;
}

FetchFiles fetch_of(AgentScenario& s) {
  const std::vector<FetchFiles> all = s.take<FetchFiles>();
  EXPECT_EQ(all.size(), 1u);
  return all.empty() ? FetchFiles() : all.front();
}

void fetched(AgentScenario& s, const FetchFiles& fetch, std::string problem = "") {
  s.step(FilesFetched{fetch.framework, fetch.executor, fetch.run, std::move(problem)});
}

TEST(Files, AreFetchedBeforeTheExecutorIsStarted) {
  AgentScenario s;
  s.registered();
  s.run(task_with_files("t1"));
  EXPECT_TRUE(s.take<StartExecutor>().empty());
  const FetchFiles fetch = fetch_of(s);
  EXPECT_EQ(fetch.files, kFiles);
  EXPECT_EQ(fetch.resources, ResourceVector::of(1000, 64'000));
  ASSERT_EQ(s.core->status().executors.size(), 1u);
  EXPECT_TRUE(s.core->status().executors[0].fetching);
  EXPECT_TRUE(std::get<proto::ExecutorRecord>(s.log.back()).fetching);

  fetched(s, fetch);
  const std::vector<StartExecutor> starts = s.take<StartExecutor>();
  ASSERT_EQ(starts.size(), 1u);
  EXPECT_EQ(starts[0].run, fetch.run);
  EXPECT_FALSE(s.core->status().executors[0].fetching);

  const PeerId peer = s.hello("t1");
  EXPECT_EQ(s.told_executors<proto::RunTask>().size(), 1u);
  s.tell(peer, "t1", TaskState::kFinished, 1);
  EXPECT_EQ(s.updates(), (Lines{"t1 1 finished none"}));
}

TEST(Files, AFailureEndsTheTaskAndSaysWhy) {
  AgentScenario s;
  s.registered();
  s.run(task_with_files("t1"));
  fetched(s, fetch_of(s), "cannot fetch 'http://host/a': the server answered 404");
  const std::vector<proto::Update> told = s.told_master<proto::Update>();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].status.state, TaskState::kFailed);
  EXPECT_EQ(told[0].status.reason, TaskReason::kFetchFailed);
  EXPECT_EQ(told[0].status.message, "cannot fetch 'http://host/a': the server answered 404");
  EXPECT_TRUE(s.take<StartExecutor>().empty());
  EXPECT_TRUE(s.core->status().executors.empty());
  EXPECT_TRUE(s.core->status().used.is_zero());
}

TEST(Files, AKillEndsTheFetch) {
  AgentScenario s;
  s.registered();
  s.run(task_with_files("t1"));
  const FetchFiles fetch = fetch_of(s);
  s.kill("t1");
  EXPECT_EQ(s.updates(), (Lines{"t1 1 killed killed_by_scheduler"}));
  EXPECT_EQ(s.take<KillExecutor>().size(), 1u);
  s.step(ExecutorExited{fetch.framework, fetch.executor, fetch.run});
  EXPECT_TRUE(s.core->status().executors.empty());
  EXPECT_TRUE(s.updates().empty());
}

// The kill and the end of the fetch cross: there is no process that could end.
TEST(Files, AKillThatMeetsTheEndOfTheFetchStartsNothing) {
  AgentScenario s;
  s.registered();
  s.run(task_with_files("t1"));
  const FetchFiles fetch = fetch_of(s);
  s.kill("t1");
  s.updates();
  fetched(s, fetch);
  EXPECT_TRUE(s.take<StartExecutor>().empty());
  EXPECT_TRUE(s.core->status().executors.empty());
  fetched(s, fetch);  // a late report
  EXPECT_TRUE(s.take<StartExecutor>().empty());
}

TEST(Files, ARestartedAgentFetchesThemAgain) {
  AgentScenario s;
  s.registered();
  s.run(task_with_files("t1"));
  const FetchFiles before = fetch_of(s);
  s.crash_and_restart();
  s.tick();
  EXPECT_TRUE(s.take<AdoptExecutor>().empty());
  const FetchFiles again = fetch_of(s);
  EXPECT_EQ(again.run, before.run);
  EXPECT_EQ(again.files, kFiles);
  // The registration does not wait for the fetch.
  s.connect();
  const std::vector<proto::RegisterTasks> parts = s.told_master<proto::RegisterTasks>();
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].tasks.size(), 1u);
  s.welcome();
  fetched(s, again);
  const PeerId peer = s.hello("t1");
  EXPECT_EQ(s.told_executors<proto::RunTask>().size(), 1u);
  s.tell(peer, "t1", TaskState::kFinished, 1);
  EXPECT_EQ(s.updates(), (Lines{"t1 1 finished none"}));
}

TEST(Files, ARestartAfterTheFetchLooksForTheExecutor) {
  AgentScenario s;
  s.registered();
  s.run(task_with_files("t1"));
  fetched(s, fetch_of(s));
  s.crash_and_restart();
  s.tick();
  EXPECT_TRUE(s.take<FetchFiles>().empty());
  EXPECT_EQ(s.take<AdoptExecutor>().size(), 1u);
}

// The record of its start may be lost, so the agent looks for a process, and fetches nothing into
// its sandbox.
TEST(Files, AreNotFetchedAgainIfTheEndOfTheCheckpointIsLost) {
  AgentScenario s;
  s.registered();
  s.run(task_with_files("t1"));
  s.options.remembered = Remembered::kToItsEnd;
  s.crash_and_restart();
  s.tick();
  EXPECT_TRUE(s.take<FetchFiles>().empty());
  EXPECT_EQ(s.take<AdoptExecutor>().size(), 1u);
}

TEST(Files, ARestartAfterAKillFetchesNothing) {
  AgentScenario s;
  s.registered();
  s.run(task_with_files("t1"));
  s.kill("t1");
  s.crash_and_restart();
  s.tick();
  EXPECT_TRUE(s.take<FetchFiles>().empty());
  EXPECT_TRUE(s.core->status().executors.empty());
}

TEST(Files, ARebootLosesTheTask) {
  AgentScenario s;
  s.registered();
  s.run(task_with_files("t1"));
  s.take<FetchFiles>();
  s.options.boot_id = "boot-2";
  s.crash_and_restart();
  s.registered();
  EXPECT_TRUE(s.take<FetchFiles>().empty());
  EXPECT_TRUE(s.core->status().executors.empty());
}

TEST(Files, HaveATime) {
  AgentScenario s;
  s.options.fetch_timeout = minutes(5);
  s.crash_and_restart();
  s.registered();
  s.run(task_with_files("t1"));
  const FetchFiles fetch = fetch_of(s);
  s.pass_with_master(minutes(4));
  EXPECT_TRUE(s.updates().empty());
  s.pass_with_master(minutes(2));
  EXPECT_EQ(s.updates(), (Lines{"t1 1 failed fetch_failed"}));
  EXPECT_EQ(s.take<KillExecutor>().size(), 1u);
  s.step(ExecutorExited{fetch.framework, fetch.executor, fetch.run});
  EXPECT_TRUE(s.core->status().executors.empty());
}

TEST(Files, OfTasksThatShareAnExecutorAreTheSame) {
  AgentScenario s;
  s.registered();
  s.run(shared_task("t1", kFiles));
  s.run(shared_task("t2", kFiles));
  s.run(shared_task("t3", {}));
  s.run(shared_task("t4", {{.uri = "file:///other"}}));
  EXPECT_EQ(s.updates(), (Lines{"t4 1 refused task_invalid"}));
  fetched(s, fetch_of(s));
  s.hello("shared");
  EXPECT_EQ(s.told_executors<proto::RunTask>().size(), 3u);
}

TEST(Files, ATaskMayNotNameThemForAnExecutorThatRunsWithoutThem) {
  AgentScenario s;
  s.registered();
  s.run(shared_task("t1", {}));
  s.hello("shared");
  s.run(shared_task("t2", kFiles));
  EXPECT_EQ(s.updates(), (Lines{"t2 1 refused task_invalid"}));
}

TEST(Files, WrongOnesAreRefused) {
  const std::vector<proto::FetchedFile> wrong[] = {
      {{.uri = "ftp://host/a"}},
      {{.uri = "http://host/"}},                         // no name
      {{.uri = "file:///a/stdout"}},                     // the agent's own name
      {{.uri = "file:///a"}, {.uri = "http://host/a"}},  // the same name twice
      {{.uri = "file:///a", .name = "a\tb"}},
      {{.uri = "file:///a", .is_executable = true, .is_extracted = true}},
  };
  AgentScenario s;
  s.registered();
  int number = 0;
  for (const std::vector<proto::FetchedFile>& files : wrong) {
    proto::RunTask run = command_task("t" + std::to_string(++number));
    run.spec.fetch = files;
    s.run(run);
    EXPECT_EQ(s.updates(), (Lines{"t" + std::to_string(number) + " 1 refused task_invalid"}));
  }
  EXPECT_TRUE(s.take<FetchFiles>().empty());
}

TEST(Files, AFrameworkThatIsShutDownFetchesNoMore) {
  AgentScenario s;
  s.registered();
  s.run(shared_task("t1", kFiles));
  const FetchFiles fetch = fetch_of(s);
  s.from_master(proto::ShutdownFramework{kBatch});
  EXPECT_EQ(s.updates(), (Lines{"t1 1 killed framework_torn_down"}));
  EXPECT_EQ(s.take<KillExecutor>().size(), 1u);
  s.step(ExecutorExited{fetch.framework, fetch.executor, fetch.run});
  EXPECT_TRUE(s.core->status().executors.empty());
}

}  // namespace
}  // namespace proffer::agent::files_test
