// Custom executors in a simulated cluster: the scheduler and its executor as their main() would
// install them, and all faults of an executor.

#include <map>
#include <memory>

#include "sdk/testing/matchers.h"
#include "sdk/testing/sim_cluster.h"

namespace proffer::sdk::sim_executor_test {
namespace {

using proto::TaskState;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

constexpr std::string_view kProgram = "exec '/opt/author/worker'";

// The actions of all processes of the executor, for the test.
struct Seen {
  int processes = 0;
  int processes_alive = 0;  // processes whose callbacks still exist
  std::vector<std::string> tasks_begun = {};
  std::vector<std::string> ticks = {};  // calls of after(), by executor
  std::vector<std::string> kills = {};
  int shutdowns = 0;
};

// A task runs until it is killed; "do N" finishes the oldest one with the data N.
struct Worker {
  Worker(Executor& its, Seen& seen) : self(its), all(seen) {
    ++all.processes;
    ++all.processes_alive;
  }
  ~Worker() { --all.processes_alive; }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  Executor& self;
  Seen& all;
  std::vector<TaskId> tasks = {};
};

void install_worker(Executor& self, Seen& seen) {
  const auto worker = std::make_shared<Worker>(self, seen);
  self.on_task([worker](const proto::RunTask& run) {
    worker->all.tasks_begun.push_back(run.spec.id.str());
    worker->tasks.push_back(run.spec.id);
    worker->self.running(run.spec.id, run.spec.data);
  });
  self.on_message([worker](const std::string& data) {
    if (data == "how many") {
      return worker->self.message(worker->self.id().str() + " has " +
                                  std::to_string(worker->tasks.size()));
    }
    if (data == "say too much") {
      worker->self.message(std::string(kPayloadBytesMax, 'x'));
      return worker->self.message(std::string(kPayloadBytesMax + 1, 'x'));
    }
    if (data == "exit 3") return worker->self.finish(3);
    if (worker->tasks.empty()) return;
    const TaskId task = worker->tasks.front();
    worker->tasks.erase(worker->tasks.begin());
    if (data.starts_with("fail ")) return worker->self.failed(task, data.substr(5));
    worker->self.finished(task, data);
  });
  self.on_kill([worker](const TaskId& task, std::optional<Duration> grace) {
    worker->all.kills.push_back(task.str() + " within " + to_text(grace.value_or(Duration())));
    // Its clean-up takes half of the grace period.
    worker->self.after(nanoseconds(grace.value_or(Duration()).nanos() / 2),
                       [worker, task] { worker->self.killed(task, "saved"); });
  });
  self.on_shutdown([worker] {
    ++worker->all.shutdowns;
    for (const TaskId& task : worker->tasks) worker->self.killed(task);
    worker->self.finish();
  });
}

void tick_every_second(Executor& self, Seen& seen) {
  self.after(seconds(1), [&] {
    seen.ticks.push_back(self.id().str());
    tick_every_second(self, seen);
  });
}

// One task on each of some executors of the same program; collects all updates.
struct Client {
  std::vector<std::string> messages = {};
  std::vector<proto::TaskStatus> updates = {};

  std::vector<TaskState> told(const TaskId& task) const {
    std::vector<TaskState> states;
    for (const proto::TaskStatus& status : updates) {
      if (status.task == task) states.push_back(status.state);
    }
    return states;
  }
};

std::function<void(Scheduler&)> client(const std::vector<std::string>& executors, Client& heard) {
  return [executors, &heard](Scheduler& self) {
    self.ask("work", "cpus:0.1;mem:32", std::ssize(executors));
    self.on_offer([executors, &self, named = size_t{0}](const Offer& offer) mutable {
      std::vector<proto::TaskSpec> tasks;
      for (const AskFill& fill : offer.fills) {
        for (int64_t i = 0; i < fill.count && named < executors.size(); ++i, ++named) {
          tasks.push_back({.id = TaskId("task-" + std::to_string(named + 1)),
                           .ask = fill.ask,
                           .shape = *parse_shape("cpus:0.1;mem:32"),
                           .executor = std::string(kProgram),
                           .executor_id = ExecutorId(executors[named]),
                           .kill_grace = seconds(8),
                           .data = "data of " + std::to_string(named + 1)});
        }
      }
      self.accept(offer, std::move(tasks));
    });
    self.on_update([&heard](const proto::TaskStatus& task) { heard.updates.push_back(task); });
    self.on_message(
        [&heard](const proto::FrameworkMessage& said) { heard.messages.push_back(said.data); });
  };
}

class SimExecutors : public testing::Test {
 protected:
  // Runs until all tasks run.
  SimScheduler& start(const std::vector<std::string>& executors) {
    cluster.on_executor("worker", [this](Executor& self) { install_worker(self, seen); });
    SimScheduler& scheduler =
        cluster.add({.name = "client", .session_file = "client"}, client(executors, heard));
    EXPECT_TRUE(cluster.run_until(
        [&] { return cluster.told("client", TaskState::kRunning) == executors.size(); }));
    return scheduler;
  }
  void say(SimScheduler& scheduler, const std::string& executor, const std::string& data) {
    scheduler.scheduler().message(AgentId("agent-1"), ExecutorId(executor), data);
    cluster.run_for(seconds(1));
  }

  Seen seen;
  Client heard;
  SimCluster cluster;
};

TEST_F(SimExecutors, RunTheirTasksInOneProcessAndTellWhatBecameOfThem) {
  SimScheduler& scheduler = start({"a", "a", "a"});
  EXPECT_EQ(seen.processes, 1);
  EXPECT_THAT(cluster.executors("agent-1"), ElementsAre(ExecutorId("a")));
  EXPECT_THAT(seen.tasks_begun, testing::UnorderedElementsAre("task-1", "task-2", "task-3"));
  EXPECT_EQ(scheduler.last_told(TaskId("task-2"))->data, "data of 2");
  // The tasks run as long as the executor wants.
  cluster.run_for(hours(5));
  EXPECT_THAT(cluster, running("client", 3));

  say(scheduler, "a", "42");
  EXPECT_THAT(cluster, running("client", 2));
  const std::optional<proto::TaskStatus> first =
      scheduler.last_told(TaskId(seen.tasks_begun.front()));
  EXPECT_EQ(first->state, TaskState::kFinished);
  EXPECT_EQ(first->data, "42");

  say(scheduler, "a", "fail no ink");
  EXPECT_EQ(cluster.told("client", TaskState::kFailed), 1u);
  EXPECT_EQ(scheduler.last_told(TaskId(seen.tasks_begun[1]))->message, "no ink");
  EXPECT_THAT(cluster, no_task_lost());
}

TEST_F(SimExecutors, HearMessagesAndAnswerThem) {
  SimScheduler& scheduler = start({"a", "a", "b"});
  say(scheduler, "a", "how many");
  say(scheduler, "b", "how many");
  EXPECT_THAT(heard.messages, ElementsAre("a has 2", "b has 1"));
}

TEST_F(SimExecutors, DropAMessageThatIsTooLong) {
  SimScheduler& scheduler = start({"a"});
  say(scheduler, "a", "say too much");
  ASSERT_EQ(heard.messages.size(), 1u);
  EXPECT_EQ(heard.messages[0].size(), kPayloadBytesMax);
  say(scheduler, "a", "how many");
  EXPECT_EQ(heard.messages.back(), "a has 1");
}

TEST_F(SimExecutors, SeveralOnOneAgentHaveALifeOfTheirOwn) {
  start({"a", "b", "c"});
  EXPECT_EQ(seen.processes, 3);
  EXPECT_THAT(cluster.executors("agent-1"),
              testing::UnorderedElementsAre(ExecutorId("a"), ExecutorId("b"), ExecutorId("c")));
  cluster.crash_executor("agent-1", ExecutorId("b"));
  cluster.run_for(seconds(10));
  EXPECT_EQ(seen.processes_alive, 2);
  EXPECT_THAT(cluster.executors("agent-1"),
              testing::UnorderedElementsAre(ExecutorId("a"), ExecutorId("c")));
  EXPECT_THAT(cluster, running("client", 2));
  EXPECT_THAT(heard.told(TaskId("task-2")), ElementsAre(TaskState::kRunning, TaskState::kFailed));
}

TEST_F(SimExecutors, AKillLeavesThemItsGrace) {
  SimScheduler& scheduler = start({"a", "a"});
  scheduler.scheduler().kill(TaskId("task-1"));
  scheduler.scheduler().kill(TaskId("task-2"), seconds(60));
  cluster.run_for(seconds(3));
  EXPECT_THAT(seen.kills, testing::UnorderedElementsAre("task-1 within 8s", "task-2 within 1m"));
  EXPECT_THAT(cluster, running("client", 2));
  cluster.run_for(seconds(2));
  EXPECT_THAT(cluster, running("client", 1));
  EXPECT_EQ(scheduler.last_told(TaskId("task-1"))->state, TaskState::kKilled);
  EXPECT_EQ(scheduler.last_told(TaskId("task-1"))->message, "saved");
  cluster.run_for(seconds(30));
  EXPECT_EQ(scheduler.last_told(TaskId("task-2"))->state, TaskState::kKilled);
  EXPECT_THAT(cluster.executors("agent-1"), ElementsAre(ExecutorId("a"))) << "it waits for more";
}

TEST_F(SimExecutors, OneThatCrashesTakesItsTasksTimersAndCallbacksWithIt) {
  cluster.on_executor("worker", [this](Executor& self) {
    install_worker(self, seen);
    // Functions of run_aside also belong to the process.
    self.run_aside([] {}, [&] { tick_every_second(self, seen); });
  });
  SimScheduler& scheduler =
      cluster.add({.name = "client", .session_file = "client"}, client({"a", "a"}, heard));
  cluster.run_for(seconds(20));
  const size_t ticked = seen.ticks.size();
  EXPECT_GE(ticked, 15u);
  EXPECT_EQ(seen.processes_alive, 1);

  cluster.crash_executor("agent-1");
  EXPECT_EQ(seen.processes_alive, 0);
  EXPECT_THAT(cluster, running("client", 0));
  cluster.run_for(minutes(1));
  EXPECT_EQ(seen.ticks.size(), ticked);
  // Each is killed once.
  for (const char* task : {"task-1", "task-2"}) {
    EXPECT_THAT(heard.told(TaskId(task)), ElementsAre(TaskState::kRunning, TaskState::kFailed));
    EXPECT_EQ(scheduler.last_told(TaskId(task))->reason, proto::TaskReason::kExecutorEnded);
  }
  EXPECT_THAT(cluster, no_task_lost());
}

TEST_F(SimExecutors, OneThatFinishesWithTasksThatRunEndsThem) {
  SimScheduler& scheduler = start({"a"});
  say(scheduler, "a", "exit 3");
  EXPECT_EQ(seen.processes_alive, 0);
  EXPECT_THAT(heard.told(TaskId("task-1")), ElementsAre(TaskState::kRunning, TaskState::kFailed));
  EXPECT_THAT(scheduler.last_told(TaskId("task-1"))->message, testing::HasSubstr("3"));
}

TEST_F(SimExecutors, LiveOnWhenTheirAgentIsStartedAgainAndRunNothingTwice) {
  SimScheduler& scheduler = start({"a", "a"});
  cluster.restart_agent("agent-1", seconds(30));
  cluster.run_for(seconds(5));
  EXPECT_EQ(cluster.agents_active(), 0u);
  // Updates during the absence of the agent arrive when it returns.
  EXPECT_EQ(seen.processes_alive, 1);
  cluster.run_for(minutes(2));
  EXPECT_EQ(cluster.agents_active(), 1u);
  say(scheduler, "a", "how many");
  say(scheduler, "a", "done");
  EXPECT_THAT(heard.messages, ElementsAre("a has 2"));
  EXPECT_EQ(seen.processes, 1);
  EXPECT_EQ(seen.tasks_begun.size(), 2u);
  EXPECT_EQ(cluster.told("client", TaskState::kFinished), 1u);
  EXPECT_THAT(cluster, running("client", 1));
}

TEST_F(SimExecutors, TellAgainWhatTheirAgentDidNotAcknowledge) {
  cluster.on_executor("worker", [](Executor& self) {
    self.on_task([&self](const proto::RunTask& run) {
      self.running(run.spec.id);
      self.after(seconds(10), [&self, task = run.spec.id] { self.finished(task, "42"); });
    });
  });
  SimScheduler& scheduler =
      cluster.add({.name = "client", .session_file = "client"}, client({"a"}, heard));
  ASSERT_TRUE(cluster.run_until([&] { return cluster.told("client", TaskState::kRunning) == 1; }));
  cluster.restart_agent("agent-1", seconds(30));
  cluster.run_for(seconds(20));
  EXPECT_THAT(cluster, running("client", 0)) << "it ended while the agent was away";
  cluster.run_for(minutes(2));
  EXPECT_THAT(heard.told(TaskId("task-1")),
              testing::AllOf(testing::Contains(TaskState::kFinished).Times(1),
                             Not(testing::Contains(TaskState::kFailed))));
  EXPECT_EQ(scheduler.last_told(TaskId("task-1"))->data, "42");
}

TEST_F(SimExecutors, AreShutDownWithTheirFramework) {
  SimScheduler& scheduler = start({"a", "b"});
  scheduler.scheduler().stop();
  cluster.run_for(minutes(1));
  EXPECT_EQ(seen.shutdowns, 2);
  EXPECT_EQ(seen.processes_alive, 0);
  EXPECT_THAT(cluster.executors("agent-1"), IsEmpty());
  EXPECT_THAT(cluster, running("client", 0));
}

TEST_F(SimExecutors, ThatAreIdleAreShutDownWithTheirFrameworkToo) {
  SimScheduler& scheduler = start({"a"});
  say(scheduler, "a", "42");
  cluster.run_for(minutes(5));
  EXPECT_THAT(cluster.executors("agent-1"), ElementsAre(ExecutorId("a")));
  scheduler.scheduler().stop();
  cluster.run_for(minutes(1));
  EXPECT_EQ(seen.shutdowns, 1);
  EXPECT_THAT(cluster.executors("agent-1"), IsEmpty());
}

TEST_F(SimExecutors, WithoutCallbacksDoWhatTheHeaderSays) {
  // The task fails, since the executor has no handler; a shutdown ends the process at once.
  cluster.on_executor("worker", [](Executor&) {});
  SimScheduler& scheduler =
      cluster.add({.name = "client", .session_file = "client"}, client({"a"}, heard));
  cluster.run_for(seconds(10));
  EXPECT_EQ(scheduler.last_told(TaskId("task-1"))->reason, proto::TaskReason::kLaunchFailed);
  EXPECT_THAT(cluster.executors("agent-1"), ElementsAre(ExecutorId("a")));
  scheduler.scheduler().stop();
  cluster.run_for(seconds(1));
  EXPECT_THAT(cluster.executors("agent-1"), IsEmpty());
}

TEST_F(SimExecutors, TheLongestNameThatMatchesIsTheProgram) {
  int others = 0;
  cluster.on_executor("work", [&](Executor&) { ++others; });
  cluster.on_executor("elsewhere", [&](Executor&) { ++others; });
  start({"a"});
  EXPECT_EQ(seen.processes, 1);
  EXPECT_EQ(others, 0);
}

TEST_F(SimExecutors, ProgramsThatNobodyNamesPlayTheirScript) {
  cluster.on_executor("another", [this](Executor& self) { install_worker(self, seen); });
  cluster.add({.name = "client", .session_file = "client"}, client({"a"}, heard));
  cluster.run_for(seconds(10));
  EXPECT_THAT(cluster, finished("client", 1));
  EXPECT_EQ(seen.processes, 0);
}

// The cluster compares an executor's reports with the scheduler's updates, under all faults.
TEST(SimExecutorsInAStorm, AreToldRightly) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    Seen seen;
    Client heard;
    SimCluster cluster({.seed = seed, .agents = 3, .resources = "cpus:1;mem:1024"});
    SCOPED_TRACE(cluster.replay());
    // Ends each task by itself, with one of several outcomes.
    cluster.on_executor("worker", [](Executor& self) {
      self.on_task([&self, count = 0](const proto::RunTask& run) mutable {
        self.running(run.spec.id);
        ++count;
        self.after(seconds(20 + 7 * (count % 5)), [&self, task = run.spec.id, n = count] {
          if (n % 3 == 0) return self.failed(task, "every third");
          self.finished(task, std::to_string(n));
        });
      });
    });
    cluster.add({.name = "client", .session_file = "client"}, [&](Scheduler& self) {
      const std::string life = std::to_string(self.now().nanos());
      self.ask("work", "cpus:0.1;mem:32", 10);
      self.on_offer([&self, life, named = 0](const Offer& offer) mutable {
        std::vector<proto::TaskSpec> tasks;
        for (const AskFill& fill : offer.fills) {
          for (int64_t i = 0; i < fill.count; ++i) {
            ++named;
            tasks.push_back({.id = TaskId(life + "-" + std::to_string(named)),
                             .ask = fill.ask,
                             .shape = *parse_shape("cpus:0.1;mem:32"),
                             .executor = std::string(kProgram),
                             .executor_id = ExecutorId(named % 2 == 0 ? "even" : "odd")});
          }
        }
        self.accept(offer, std::move(tasks));
        self.after(seconds(30), [&self] { self.ask("work", "cpus:0.1;mem:32", 10); });
      });
    });
    cluster.storm(minutes(10));
    cluster.run_for(minutes(30));
    EXPECT_THAT(cluster, finished("client", testing::Ge(20u)));
    EXPECT_THAT(cluster, no_task_lost());
    if (testing::Test::HasFailure()) break;
  }
}

TEST(SimExecutorsInAStorm, DoTheSameAgainWithTheSameSeed) {
  const auto run = [] {
    Seen seen;
    Client heard;
    SimCluster cluster({.seed = 5, .agents = 2});
    cluster.on_executor("worker", [&](Executor& self) { install_worker(self, seen); });
    // Without a session file, the storm does not kill it: its task ids are unique only in one
    // process.
    cluster.add({.name = "client", .failover_timeout = hours(1)}, client({"a", "a", "b"}, heard));
    cluster.storm(minutes(3));
    cluster.run_for(minutes(5));
    return cluster.trace_hash();
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace proffer::sdk::sim_executor_test
