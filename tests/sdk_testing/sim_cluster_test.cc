// The test kit as an author uses it: schedulers as main() would install them, and all faults.

#include "sdk/testing/sim_cluster.h"

#include <csignal>
#include <cstdlib>
#include <memory>

#include "sdk/testing/matchers.h"

namespace proffer::sdk::sim_cluster_test {
namespace {

using testing::Ge;
using testing::Not;

// examples/hello_framework, as a function.
void hello(Scheduler& scheduler) {
  scheduler.ask("echo", "cpus:0.1;mem:32", 5);
  scheduler.on_offer([&](const Offer& offer) { scheduler.launch(offer, "echo hello"); });
  scheduler.on_update([&, left = 5](const proto::TaskStatus& task) mutable {
    using enum proto::TaskState;
    if (!is_terminal(task.state) || task.state == kRefused) return;
    if (task.state != kFinished) scheduler.stop(1);
    if (--left == 0) scheduler.stop();
  });
}

// Keeps three tasks running. A task that was replaced and returns is one too many.
void keep_three(Scheduler& scheduler) {
  const auto look = [&scheduler] {
    const std::vector<TaskId> live = scheduler.live_tasks();
    for (size_t i = 3; i < live.size(); ++i) scheduler.kill(live[i]);
    scheduler.ask("web", "cpus:1;mem:512", std::max<int64_t>(3 - std::ssize(live), 0));
  };
  scheduler.on_subscribed([&scheduler, look](const proto::Subscribed&) {
    // Tasks of an earlier process are reported within a moment.
    scheduler.after(seconds(5), look);
  });
  scheduler.on_offer([&](const Offer& offer) { scheduler.launch(offer, "serve"); });
  scheduler.on_update([look](const proto::TaskStatus& task) {
    if (task.state != proto::TaskState::kRefused) look();
  });
}

// Asks for as many tasks as it can get.
std::function<void(Scheduler&)> flood(const std::string& shape) {
  return [shape](Scheduler& scheduler) {
    scheduler.ask("work", shape, 1'000);
    scheduler.on_offer([&](const Offer& offer) { scheduler.launch(offer, "work"); });
  };
}

SimScheduler& add_keeper(SimCluster& cluster) {
  cluster.on_task([](const TaskStart&) { return TaskScript::forever(); });
  return cluster.add({.name = "web", .session_file = "web.session"}, keep_three);
}

// What an author may get wrong is answered with what is wrong, what is allowed, and what to do
// (docs/checklists/commands/mistakes.md).
std::string refusal_of(std::function<void(Scheduler&, const Offer&)> launch) {
  std::string message;
  SimCluster cluster({.agents = 1, .resources = "cpus:4;mem:1024"});
  cluster.on_task([](const TaskStart&) { return TaskScript::forever(); });
  cluster.add({.name = "author"}, [&](Scheduler& scheduler) {
    scheduler.ask("echo", "cpus:1;mem:32", 1);
    scheduler.on_offer([&](const Offer& offer) { launch(scheduler, offer); });
    scheduler.on_update([&](const proto::TaskStatus& task) {
      if (task.state == proto::TaskState::kRefused && message.empty()) message = task.message;
    });
  });
  cluster.run_for(seconds(5));
  return message;
}

proto::TaskSpec task_of(const std::string& id, std::string_view shape) {
  proto::TaskSpec task;
  task.id = TaskId(id);
  task.ask = AskName("echo");
  task.command = "true";
  task.shape = *parse_shape(shape);
  return task;
}

TEST(SimCluster, RefusesWhatAnAuthorGetsWrongWithTheNextStep) {
  const std::string large = refusal_of([](Scheduler& scheduler, const Offer& offer) {
    scheduler.accept(offer, {task_of("large", "cpus:64;mem:32")});
  });
  EXPECT_THAT(large, testing::HasSubstr("it needs cpus:64"));
  EXPECT_THAT(large, testing::HasSubstr("is left; launch less, or declare an ask"));
  const std::string twice = refusal_of([](Scheduler& scheduler, const Offer& offer) {
    scheduler.accept(offer, {task_of("one", "cpus:1;mem:32")});
    scheduler.accept(offer, {task_of("two", "cpus:1;mem:32")});
  });
  EXPECT_THAT(twice, testing::HasSubstr("was answered before"));
  EXPECT_THAT(twice, testing::HasSubstr("name all tasks in one accept"));
}

TEST(SimCluster, RunsASchedulerToItsEnd) {
  SimCluster cluster({.agents = 3});
  const SimScheduler& scheduler = cluster.add({.name = "hello"}, hello);
  cluster.run_for(minutes(1));
  EXPECT_THAT(cluster, launched("hello", 5));
  EXPECT_THAT(cluster, finished("hello", 5));
  EXPECT_THAT(cluster, running("hello", 0));
  EXPECT_THAT(cluster, no_task_lost());
  EXPECT_FALSE(scheduler.is_up());
  EXPECT_EQ(scheduler.exit_code(), 0);
}

TEST(SimCluster, TasksDoWhatTheScriptSays) {
  SimCluster cluster;
  cluster.on_task([](const TaskStart& task) {
    EXPECT_EQ(task.agent, AgentId("agent-1"));
    EXPECT_EQ(task.spec.command, "echo hello");
    return TaskScript{.runs = seconds(20), .exit_code = 3};
  });
  const SimScheduler& scheduler = cluster.add({.name = "hello"}, hello);
  cluster.run_for(seconds(15));
  EXPECT_THAT(cluster, running("hello", 5));
  cluster.run_for(seconds(15));
  EXPECT_EQ(scheduler.exit_code(), 1);
  EXPECT_EQ(cluster.told("hello", proto::TaskState::kFailed), 1u);
}

TEST(SimCluster, HealthIsTold) {
  SimCluster cluster;
  cluster.on_task([](const TaskStart&) {
    TaskScript script = TaskScript::forever();
    script.health = {{seconds(5), true}, {seconds(60), false}};
    return script;
  });
  std::vector<bool> heard;
  const SimScheduler& scheduler = cluster.add({.name = "web"}, [&](Scheduler& web) {
    web.ask("web", "cpus:1;mem:512", 1);
    web.on_offer([&](const Offer& offer) {
      proto::TaskSpec task{.id = TaskId("web-1"),
                           .ask = AskName("web"),
                           .shape = ResourceVector::of(1'000, 512'000),
                           .command = "serve",
                           .health = proto::HealthCheck{.kind = proto::HealthCheck::Kind::kCommand,
                                                        .command = "true"}};
      web.accept(offer, {task});
    });
    web.on_update([&](const proto::TaskStatus& status) {
      if (status.healthy) heard.push_back(*status.healthy);
    });
  });
  cluster.run_for(seconds(30));
  EXPECT_EQ(heard, std::vector<bool>({true}));
  cluster.run_for(minutes(1));
  EXPECT_EQ(heard, std::vector<bool>({true, false}));
  ASSERT_TRUE(scheduler.last_told(TaskId("web-1")).has_value());
  EXPECT_EQ(scheduler.last_told(TaskId("web-1"))->state, proto::TaskState::kRunning);
}

TEST(SimCluster, AMasterThatFailsOverChangesNothingForTheAuthor) {
  SimCluster cluster({.agents = 3});
  cluster.on_task([](const TaskStart&) { return TaskScript{.runs = seconds(10)}; });
  const SimScheduler& scheduler = cluster.add({.name = "hello"}, hello);
  cluster.run_for(seconds(5));
  EXPECT_THAT(cluster, running("hello", 5));
  cluster.fail_over_master(seconds(20));
  cluster.run_for(minutes(2));
  EXPECT_THAT(cluster, launched("hello", 5));
  EXPECT_THAT(cluster, finished("hello", 5));
  EXPECT_EQ(scheduler.exit_code(), 0);
  EXPECT_EQ(scheduler.sessions(), 2u);
}

TEST(SimCluster, NothingIsOfferedForAnHourAndThenSomething) {
  SimCluster cluster({.agents = 2});
  cluster.offer_nothing_for(hours(1));
  const SimScheduler& scheduler = cluster.add({.name = "hello"}, hello);
  cluster.run_for(minutes(59));
  EXPECT_EQ(scheduler.offers(), 0u);
  EXPECT_TRUE(scheduler.is_up());
  EXPECT_THAT(cluster, launched("hello", 0));
  cluster.run_for(minutes(2));
  EXPECT_THAT(cluster, finished("hello", 5));
  EXPECT_EQ(scheduler.exit_code(), 0);
}

TEST(SimCluster, DroppedMessagesAreFoundOutAndMadeGood) {
  SimCluster cluster({.seed = 3, .agents = 2});
  // Without a session file the framework is removed after 10 s, unless it sets another timeout.
  const SimScheduler& scheduler =
      cluster.add({.name = "hello", .failover_timeout = minutes(1)}, hello);
  cluster.drop_messages(seconds(20), 50);
  cluster.run_for(minutes(5));
  EXPECT_THAT(cluster, finished("hello", 5));
  EXPECT_THAT(cluster, no_task_lost());
  EXPECT_EQ(scheduler.exit_code(), 0);
}

TEST(SimCluster, WhatALostAgentRanIsToldAndReplaced) {
  SimCluster cluster({.agents = 2, .resources = "cpus:3;mem:4096"});
  add_keeper(cluster);
  cluster.run_for(minutes(1));
  EXPECT_THAT(cluster, running("web", 3));
  // One or both agents had some of the tasks: in the end the remaining agent has all.
  cluster.lose_agent("agent-1");
  cluster.lose_agent("agent-2");
  EXPECT_THAT(cluster, running("web", 0));
  EXPECT_THAT(cluster, Not(no_task_lost()));
  cluster.bring_back_agent("agent-2");
  cluster.run_for(minutes(15));
  EXPECT_THAT(cluster, running("web", 3));
  EXPECT_THAT(cluster, launched("web", 6));
  EXPECT_THAT(cluster, no_task_lost());
  EXPECT_EQ(cluster.agents_active(), 1u);
}

TEST(SimCluster, ASchedulerThatIsKilledFindsItsTasksByItsSessionFile) {
  SimCluster cluster({.agents = 2});
  SimScheduler& scheduler = add_keeper(cluster);
  cluster.run_for(minutes(1));
  const FrameworkId framework = scheduler.framework();
  cluster.kill_scheduler(scheduler);
  cluster.run_for(minutes(1));
  EXPECT_THAT(cluster, running("web", 3));
  cluster.start_scheduler(scheduler);
  cluster.run_for(minutes(1));
  EXPECT_EQ(scheduler.framework(), framework);
  EXPECT_EQ(scheduler.scheduler().live_tasks().size(), 3u);
  EXPECT_THAT(cluster, launched("web", 3));
}

TEST(SimCluster, WithoutASessionFileItIsAnotherFramework) {
  SimCluster cluster({.agents = 2});
  cluster.on_task([](const TaskStart&) { return TaskScript::forever(); });
  SimScheduler& scheduler =
      cluster.add({.name = "web", .failover_timeout = minutes(2)}, keep_three);
  cluster.run_for(minutes(1));
  const FrameworkId framework = scheduler.framework();
  cluster.restart_scheduler(scheduler);
  cluster.run_for(minutes(1));
  EXPECT_NE(scheduler.framework(), framework);
  EXPECT_THAT(cluster, running("web", 6));
  cluster.run_for(minutes(3));  // the failover timeout of the first framework
  EXPECT_THAT(cluster, running("web", 3));
}

TEST(SimCluster, ASignalEndsItAsInLife) {
  SimCluster cluster;
  SimScheduler& scheduler = add_keeper(cluster);
  cluster.run_for(minutes(1));
  cluster.signal(scheduler, SIGTERM);
  cluster.run_for(minutes(1));
  EXPECT_FALSE(scheduler.is_up());
  EXPECT_EQ(scheduler.exit_code(), 143);
  EXPECT_THAT(cluster, running("web", 0));
}

TEST(SimCluster, ARequestIsAnsweredByTheScheduler) {
  SimCluster cluster;
  const SimScheduler& scheduler = cluster.add({.name = "echo"}, [](Scheduler& echo) {
    echo.on_request([&](const proto::FrameworkRequest& request) {
      echo.after(seconds(3), [&echo, relay = request.relay, data = request.data] {
        echo.respond(relay, data + " yourself");
      });
    });
  });
  cluster.run_for(seconds(10));
  std::string answer;
  cluster.request(scheduler, "hello",
                  [&](const Result<std::string>& result) { answer = result ? *result : "none"; });
  cluster.run_for(seconds(2));
  EXPECT_EQ(answer, "");
  cluster.run_for(seconds(2));
  EXPECT_EQ(answer, "hello yourself");
}

TEST(SimCluster, TheSameSeedDoesTheSameAgain) {
  const auto run = [](uint64_t seed) {
    SimCluster cluster({.seed = seed, .agents = 3});
    add_keeper(cluster);
    cluster.storm(minutes(3));
    cluster.run_for(minutes(5));
    return cluster.trace_hash();
  };
  EXPECT_EQ(run(11), run(11));
  if (std::getenv("PROFFER_SIM_SEED") == nullptr) {  // otherwise only one seed runs
    EXPECT_NE(run(11), run(12));
  }
}

TEST(SimCluster, AfterAStormEverythingRunsAgain) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SimCluster cluster({.seed = seed, .agents = 3});
    SCOPED_TRACE(cluster.replay());
    add_keeper(cluster);
    cluster.run_for(minutes(1));
    cluster.storm(minutes(5));
    cluster.run_for(minutes(20));
    EXPECT_THAT(cluster, running("web", 3));
    EXPECT_THAT(cluster, launched("web", Ge(3u)));
    EXPECT_THAT(cluster, no_task_lost());
    if (testing::Test::HasFailure()) break;
  }
}

// No real cluster remembers ids for that long; here the reuse is detected, time stops, and every
// matcher fails.
TEST(SimCluster, ATaskIdThatIsUsedAgainIsFoundOut) {
  SimCluster cluster({.seed = 4});
  SimScheduler& scheduler =
      cluster.add({.name = "same", .session_file = "same.session"}, [](Scheduler& same) {
        same.ask("work", "cpus:1;mem:64", 1);
        same.on_offer([&](const Offer& offer) {
          same.accept(offer, {{.id = TaskId("always-the-same"),
                               .ask = AskName("work"),
                               .shape = ResourceVector::of(1'000, 64'000),
                               .command = "work"}});
        });
      });
  cluster.run_for(minutes(1));
  EXPECT_THAT(cluster, finished("same", 1));
  cluster.fail_over_master();
  cluster.run_for(minutes(1));
  testing::internal::CaptureStderr();
  cluster.restart_scheduler(scheduler);
  cluster.run_for(hours(1));
  const std::string printed = testing::internal::GetCapturedStderr();
  ASSERT_FALSE(cluster.violations().empty());
  EXPECT_NE(cluster.violations()[0].what.find("always-the-same is started"), std::string::npos);
  EXPECT_NE(printed.find(cluster.replay()), std::string::npos) << printed;
  EXPECT_THAT(cluster, Not(finished("same", 1)));
  const Time stands_still = cluster.now();
  cluster.run_for(hours(1));
  EXPECT_EQ(cluster.now(), stands_still);
}

// --- operators -----------------------------------------------------------------------------------

TEST(SimCluster, ADrainedAgentTellsItsTasksAndKillsWhatIsLeft) {
  SimCluster cluster({.agents = 1});
  cluster.on_task([](const TaskStart&) { return TaskScript::forever(); });
  std::vector<proto::RevokeNotice> heard;
  std::vector<proto::RevokeWithdrawn> withdrawn;
  cluster.add({.name = "a"}, [&heard, &withdrawn](Scheduler& self) {
    self.ask("x", "cpus:1;mem:256", 2);
    self.on_offer([&self](const Offer& offer) { self.launch(offer, "work"); });
    self.on_revoke([&heard](const proto::RevokeNotice& notice) { heard.push_back(notice); });
    self.on_revoke_withdrawn(
        [&withdrawn](const proto::RevokeWithdrawn& over) { withdrawn.push_back(over); });
  });
  cluster.run_for(seconds(5));
  EXPECT_EQ(cluster.running("a"), 2u);
  cluster.drain_agent("agent-1", seconds(20));
  cluster.run_for(seconds(10));
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].tasks.size(), 2u);
  EXPECT_EQ(heard[0].reason, RevokeReason::kDraining);
  cluster.undrain_agent("agent-1");
  cluster.run_for(seconds(30));
  ASSERT_EQ(withdrawn.size(), 1u);
  EXPECT_EQ(withdrawn[0].tasks.size(), 2u);
  EXPECT_EQ(cluster.running("a"), 2u);
  cluster.drain_agent("agent-1", seconds(20));
  cluster.run_for(seconds(10));
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_EQ(cluster.running("a"), 2u);
  cluster.run_for(seconds(20));
  EXPECT_EQ(cluster.running("a"), 0u);
  EXPECT_EQ(cluster.told("a", proto::TaskState::kKilled), 2u);
  cluster.undrain_agent("agent-1");
  cluster.run_for(seconds(10));
  EXPECT_EQ(withdrawn.size(), 1u);  // these tasks have ended
  cluster.set_role(RoleName("default"), {.weight = 2'000});
  cluster.run_for(seconds(5));
  EXPECT_TRUE(cluster.violations().empty());
}

// --- features across restarts --------------------------------------------------------------------

TEST(SimCluster, LabelsComeBackAfterRestartsOfEverybody) {
  SimCluster cluster({.agents = 1});
  cluster.on_task([](const TaskStart&) { return TaskScript::forever(); });
  const proto::Labels labels = {{"shard", "7"}, {"owner", "ada"}};
  std::vector<proto::TaskStatus> heard;
  SimScheduler& a = cluster.add({.name = "a", .session_file = "a"}, [&](Scheduler& self) {
    if (heard.empty()) self.ask("x", "cpus:1;mem:256", 1);
    self.on_offer([&](const Offer& offer) {
      self.accept(offer, {{.id = TaskId("t1"),
                           .ask = AskName("x"),
                           .shape = ResourceVector::of(1'000, 256'000),
                           .command = "work",
                           .labels = labels}});
    });
    self.on_update([&](const proto::TaskStatus& task) { heard.push_back(task); });
  });
  cluster.run_for(seconds(10));
  ASSERT_GE(heard.size(), 1u);
  cluster.kill_scheduler(a);
  cluster.restart_agent("agent-1");
  cluster.fail_over_master();
  cluster.run_for(seconds(10));
  cluster.start_scheduler(a);
  cluster.run_for(seconds(30));
  EXPECT_GE(heard.size(), 2u);
  for (const proto::TaskStatus& task : heard) {
    EXPECT_EQ(task.state, proto::TaskState::kRunning);
    EXPECT_EQ(task.labels, labels);
  }
}

TEST(SimCluster, FiguresCountWhatASchedulerDidAndHeard) {
  SimCluster cluster({.agents = 1});
  cluster.on_task([](const TaskStart&) { return TaskScript::forever(); });
  int offers = 0;
  SimScheduler& a = cluster.add({.name = "a"}, [&offers](Scheduler& self) {
    self.ask("x", "cpus:1;mem:256", 2);
    self.on_offer([&](const Offer& offer) {
      if (++offers == 1) return self.decline(offer, Duration());
      if (offers > 2) return;
      // One task more than was offered, which does not fit.
      std::vector<proto::TaskSpec> tasks;
      for (const char* id : {"t1", "t2", "t3"}) {
        tasks.push_back({.id = TaskId(id),
                         .ask = AskName("x"),
                         .shape = ResourceVector::of(1'000, 256'000),
                         .command = "work"});
      }
      self.accept(offer, tasks);
      self.ask_all({});
    });
  });
  cluster.run_for(seconds(10));
  cluster.break_connection(a);
  cluster.run_for(seconds(10));
  const SchedulerFigures figures = a.scheduler().figures();
  EXPECT_EQ(figures.offers, static_cast<uint64_t>(offers));
  EXPECT_EQ(figures.accepted, 1u);
  EXPECT_EQ(figures.declined, 1u);
  EXPECT_EQ(figures.launches, 3u);
  EXPECT_EQ(figures.refused, 1u);
  EXPECT_EQ(figures.updates, 3u);  // two of them run
  EXPECT_EQ(figures.reconnects, 1u);
}

TEST(SimCluster, PostedCallsAreMadeAndDescriptorsAreRefused) {
  SimCluster cluster({.agents = 1});
  std::string order;
  SimScheduler& a = cluster.add({.name = "a"}, [&](Scheduler& self) {
    const Result<Watch> watch = self.watch(0, {.readable = true}, [](WatchEvents) {});
    ASSERT_FALSE(watch);
    EXPECT_EQ(watch.error().code(), ErrorCode::kUnsupported);
    EXPECT_TRUE(self.post([&] { order += "2"; }));
    order += "1";
  });
  cluster.run_for(seconds(1));
  EXPECT_TRUE(a.scheduler().post([&] { order += "3"; }));
  cluster.run_for(seconds(1));
  EXPECT_EQ(order, "123");
  a.scheduler().detach();
  cluster.run_for(seconds(1));
  EXPECT_FALSE(a.scheduler().post([] {}));
}

// --- shares --------------------------------------------------------------------------------------

TEST(SimCluster, TwoThatFloodSettleAtEqualShares) {
  SimCluster cluster({.agents = 4});
  cluster.on_task([](const TaskStart&) { return TaskScript{.runs = seconds(30)}; });
  cluster.add({.name = "a"}, flood("cpus:1;mem:256"));
  cluster.run_for(minutes(2));
  EXPECT_THAT(cluster, Not(fair_within(1'000)));  // there is no other framework
  cluster.add({.name = "b"}, flood("cpus:1;mem:256"));
  cluster.run_for(minutes(5));
  EXPECT_THAT(cluster, fair_within(65));  // one task of 16
  EXPECT_THAT(cluster, running("a", testing::AllOf(Ge(7u), testing::Le(9u))));
}

TEST(SimCluster, WeightsCountAndAWrongShareIsSeen) {
  SimCluster cluster({.agents = 3, .weights = "ads=2"});
  cluster.on_task([](const TaskStart&) { return TaskScript{.runs = seconds(30)}; });
  cluster.add({.name = "a", .role = RoleName("ads")}, flood("cpus:1;mem:256"));
  cluster.add({.name = "b", .role = RoleName("web")}, flood("cpus:1;mem:256"));
  cluster.run_for(minutes(5));
  EXPECT_THAT(cluster, fair_within(90));
  EXPECT_THAT(cluster, running("a", testing::AllOf(Ge(7u), testing::Le(9u))));
  // A task that runs for ever keeps its resources.
  SimCluster hogged;
  hogged.on_task([](const TaskStart&) { return TaskScript::forever(); });
  hogged.add({.name = "hog"}, flood("cpus:1;mem:256"));
  hogged.run_for(minutes(1));
  hogged.add({.name = "late"}, flood("cpus:1;mem:256"));
  hogged.run_for(minutes(5));
  EXPECT_THAT(hogged, Not(fair_within(500)));
}

}  // namespace
}  // namespace proffer::sdk::sim_cluster_test
