// Several schedulers with the same framework name and user: one serves, the others stand by.

#include "common/prng.h"
#include "tests/master/cluster.h"

namespace proffer::master::stands_by_test {
namespace {

using proto::TaskState;
using testing::HasSubstr;

PrincipalPtr user(const std::string& name) {
  return std::make_shared<Principal>(Principal{.user = name, .uid = 1001});
}

class StandsBy : public testing::Test {
 protected:
  // A separate process: without an id, with its own secret.
  TestScheduler& process(const std::string& name = "f", const PrincipalPtr& by = nullptr) {
    TestScheduler& made = s.scheduler(name);
    made.subscribe.stands_by = true;
    if (by != nullptr) made.by = by;
    return made;
  }
  // "" if it serves; else the reason, and whether it may try again.
  std::string subscribes(TestScheduler& scheduler) {
    scheduler.subscribes();
    s.settle();
    if (!scheduler.take<proto::Subscribed>().empty()) return "";
    const auto errors = scheduler.take<proto::ErrorMessage>();
    if (errors.empty()) return "nothing was said";
    const proto::ErrorMessage& error = errors.back();
    EXPECT_TRUE(error.ends_session);
    EXPECT_FALSE(scheduler.is_connected());
    return text(error.retry ? "for now: " : "for good: ", error.message);
  }

  MasterScenario s;
};

TEST_F(StandsBy, WhileTheOtherIsConnectedAndForSomeSecondsMore) {
  TestScheduler& first = process();
  TestScheduler& second = process();
  EXPECT_EQ(subscribes(first), "");
  EXPECT_EQ(subscribes(second), "for now: the scheduler of framework f-1-1 is connected");
  first.lose();
  s.advance(kStandbyPatience - seconds(1));
  EXPECT_EQ(subscribes(second),
            "for now: the scheduler of framework f-1-1 has been disconnected for 2s; a standby "
            "takes over after 3s");
  s.advance(seconds(1));
  EXPECT_EQ(subscribes(second), "");
  EXPECT_EQ(second.id.str(), "f-1-1");
  EXPECT_EQ(s.traced("framework refused"), 2);
}

TEST_F(StandsBy, TakesTasksAndStoreOverAndTheOtherIsRefusedForGood) {
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& first = process();
  TestScheduler& second = process();
  ASSERT_EQ(subscribes(first), "");
  first.asks("cpus:1", 1);
  s.settle();
  first.accepts({first.offers.at(0)}, {first.spec("t1", "cpus:1")});
  first.stores({{.kind = proto::StoreOperation::Kind::kPut, .key = "app", .value = "web"}});
  first.silent = true;
  s.advance(s.options.agent_timeout + kStandbyPatience + seconds(1));
  a.updates(first.id, "t1", TaskState::kRunning);

  ASSERT_EQ(subscribes(second), "");
  EXPECT_EQ(second.told(), (Lines{"t1 running"}));
  const proto::StoreResult read = second.stores({{.key = "app"}});
  ASSERT_EQ(read.outcomes.size(), 1u);
  EXPECT_EQ(read.outcomes[0].value, "web");
  EXPECT_EQ(s.task(second.id, "t1")->state, TaskState::kRunning);
  // It was disconnected, and does not know yet that it was replaced.
  EXPECT_EQ(subscribes(first), "for good: the secret is not that of framework 'f-1-1'");
  EXPECT_TRUE(second.is_connected());
  // After a restart, it is another process.
  TestScheduler& third = process();
  EXPECT_EQ(subscribes(third), "for now: the scheduler of framework f-1-1 is connected");
}

TEST_F(StandsBy, TheTakeoverIsDurableBeforeItIsTold) {
  TestScheduler& first = process();
  TestScheduler& second = process();
  ASSERT_EQ(subscribes(first), "");
  first.lose();
  s.advance(kStandbyPatience);
  ASSERT_EQ(subscribes(second), "");
  EXPECT_EQ(std::get<proto::FrameworkRecord>(s.records.back().row).secret, second.subscribe.secret);
  s.restart_master();
  EXPECT_EQ(subscribes(first), "for good: the secret is not that of framework 'f-1-1'");
  EXPECT_EQ(subscribes(second), "");
}

TEST_F(StandsBy, ANewMasterWaitsForTheOneThatServed) {
  TestScheduler& first = process();
  TestScheduler& second = process();
  ASSERT_EQ(subscribes(first), "");
  s.advance(minutes(1));
  s.restart_master();
  EXPECT_THAT(subscribes(second), HasSubstr("has been disconnected for 0s"));
  s.advance(seconds(1));
  EXPECT_EQ(subscribes(first), "");
  s.advance(kStandbyPatience);
  EXPECT_EQ(subscribes(second), "for now: the scheduler of framework f-1-1 is connected");
}

TEST_F(StandsBy, AProcessWhoseAnswerWasLostServes) {
  TestScheduler& first = process();
  ASSERT_EQ(subscribes(first), "");
  const FrameworkId id = first.id;
  first.lose();
  first.id = FrameworkId();
  EXPECT_EQ(subscribes(first), "");
  EXPECT_EQ(first.id, id);
}

TEST_F(StandsBy, ForItsOwnUserAndNameOnly) {
  TestScheduler& first = process("f", user("bob"));
  ASSERT_EQ(subscribes(first), "");
  first.lose();
  s.advance(kStandbyPatience);
  TestScheduler& other_user = process("f", user("eve"));
  EXPECT_EQ(subscribes(other_user), "");
  EXPECT_NE(other_user.id, first.id);
  TestScheduler& other_name = process("g", user("bob"));
  EXPECT_EQ(subscribes(other_name), "");
  EXPECT_NE(other_name.id, first.id);
}

TEST_F(StandsBy, NotWithoutAFailoverTimeoutNorForOneOfSeveralFrameworks) {
  TestScheduler& brief = process();
  brief.subscribe.failover_timeout = Duration();
  EXPECT_THAT(subscribes(brief), HasSubstr("for good: a standby scheduler needs a failover"));
  s.subscribed("f");
  s.subscribed("f");
  EXPECT_EQ(subscribes(process()),
            "for good: user 'ada' has several frameworks named 'f': f-1-1, f-1-2");
}

// The schedulers are killed, disconnected and restarted at random: at most one serves at a time,
// always as the same framework.
TEST(StandsByStorm, OneServesWhateverHappensToThem) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    MasterScenario s;
    Prng prng(seed);
    std::vector<TestScheduler*> processes;
    const auto start = [&] {
      TestScheduler& made = s.scheduler("f");
      made.subscribe.stands_by = true;
      return &made;
    };
    for (int i = 0; i < 3; ++i) processes.push_back(start());
    FrameworkId id;
    for (int i = 0; i < 200; ++i) {
      TestScheduler*& one = processes[prng.below(processes.size())];
      const uint64_t what = prng.below(10);
      if (what == 0) {  // killed and restarted
        if (one->is_connected()) one->lose();
        one = start();
      } else if (what == 1 && one->is_connected()) {
        one->lose();
      } else if (what == 2) {
        one->silent = !one->silent;
      } else if (what == 3) {
        s.restart_master();
      } else if (!one->is_connected()) {
        one->subscribes();
        for (const auto& error : one->take<proto::ErrorMessage>()) {
          if (!error.retry) one = start();
        }
      }
      s.advance(milliseconds(static_cast<int64_t>(prng.below(4'000))));
      int serving = 0;
      for (const TestScheduler* each : processes) {
        if (!each->is_connected()) continue;
        ++serving;
        if (id.empty()) id = each->id;
        EXPECT_EQ(each->id, id) << "seed " << seed;
      }
      ASSERT_LE(serving, 1) << "seed " << seed;
      EXPECT_LE(s.master->frameworks().size(), 1u);
    }
    // Without further faults, one of them serves.
    for (TestScheduler* each : processes) {
      each->silent = false;
      if (!each->is_connected()) {
        s.advance(kStandbyPatience);
        each->subscribes();
      }
    }
    s.settle();
    EXPECT_EQ(s.master->frameworks().front().state, proto::FrameworkState::kConnected)
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace proffer::master::stands_by_test
