// The master's ledger of waits: the reasons for a task's wait from its ask to its start.

#include "common/text.h"
#include "master/core/trace.h"
#include "tests/master/cluster.h"

namespace proffer::master::ledger_test {
namespace {

using proto::TaskState;
using testing::HasSubstr;

std::string words(const WaitSpans& spans) {
  std::string all;
  for (const WaitSpan& span : spans) {
    all += text(all.empty() ? "" : ", ", to_text(span.reason), " ", to_text(span.spent));
  }
  return all;
}
std::string words(const std::vector<WaitSum>& sums) {
  std::string all;
  for (const WaitSum& sum : sums) {
    all += text(all.empty() ? "" : ", ", to_text(sum.reason), " ", sum.millis, " ms");
    if (sum.tasks > 0) all += text(" ", sum.tasks, " now");
  }
  return all;
}

proto::Blame of_task(const MasterScenario& s, const TestScheduler& f, const std::string& task) {
  const Principal root{.user = "root"};
  const Result<proto::Blame> blame = s.master->blame_task(text(f.id.str(), "/", task), &root);
  EXPECT_TRUE(blame) << blame.error().message();
  return blame ? *blame : proto::Blame();
}
proto::Blame of_framework(const MasterScenario& s, const TestScheduler& f) {
  return *s.master->blame_framework(f.id.str());
}

TEST(Ledger, ATasksReasonsAddUpToItsWholeWait) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f");
  const Time asked = s.now;
  f.asks("cpus:1", 1);
  s.advance(seconds(20));
  TestAgent& a = s.registered_agent("a1");
  ASSERT_EQ(f.offers.size(), 1u);
  s.advance(seconds(3));
  f.accepts(f.offers, {f.spec("t1", "cpus:1")});
  const Time launched = s.now;
  s.advance(seconds(5));
  EXPECT_EQ(words(of_task(s, f, "t1").waited), "start 5s, scheduler 3s, impossible 20s");
  EXPECT_EQ(of_task(s, f, "t1").asked_at, asked);
  EXPECT_THAT(of_task(s, f, "t1").answer,
              HasSubstr("it has waited for 28s, mostly (20s) because no agent could"));
  a.updates(f.id, "t1", TaskState::kRunning);
  s.advance(seconds(9));

  const proto::Blame blame = of_task(s, f, "t1");
  EXPECT_EQ(words(blame.waited), "start 5s, scheduler 3s, impossible 20s");
  EXPECT_EQ(blame.asked_at, asked);
  EXPECT_EQ(blame.launched_at, launched);
  EXPECT_EQ(whole_of(blame.waited), launched + seconds(5) - asked);
  a.updates(f.id, "t1", TaskState::kFinished);
  EXPECT_EQ(words(of_task(s, f, "t1").waited), words(blame.waited)) << "also when it has ended";
  for (const proto::HistoryRecord& record : s.history) {
    const auto* ended = std::get_if<proto::EndedTask>(&record);
    if (ended == nullptr) continue;
    EXPECT_EQ(ended->waited, blame.waited);
  }
}

TEST(Ledger, AReasonIsSeenWithinASecond) {
  MasterScenario s;
  s.registered_agent("a1", "cpus:2;mem:4GiB");
  TestScheduler& g = s.subscribed("g", "other");
  g.asks("cpus:2", 1);
  s.settle();
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 1);
  s.settle();
  EXPECT_EQ(of_framework(s, f).asks.at(0).reason, WaitReason::kOffers);
  g.accepts(g.offers, {g.spec("t1", "cpus:2")});
  s.advance(seconds(1));
  EXPECT_EQ(of_framework(s, f).asks.at(0).reason, WaitReason::kBorrowed);
  s.advance(seconds(4));
  const proto::Blame blame = of_framework(s, f);
  EXPECT_EQ(words(blame.sums), "offers 1000 ms, borrowed 4000 ms 1 now");
  EXPECT_THAT(blame.answer, HasSubstr("1 task waits now, 1 of them for this reason: borrowed"));
}

TEST(Ledger, TasksThatAreWantedNoLongerStayInTheSums) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f", "eng/ads");
  f.asks("cpus:1", 3);
  s.advance(seconds(10));
  f.asks("cpus:1", 1);
  s.advance(seconds(10));
  EXPECT_EQ(words(of_framework(s, f).sums), "impossible 40000 ms 1 now");
  EXPECT_EQ(words(s.master->blame_role("eng")->sums), "impossible 40000 ms 1 now");
  f.asks("cpus:1", 1, "another");
  s.advance(seconds(5));
  EXPECT_EQ(of_framework(s, f).asks.size(), 1u);
  EXPECT_EQ(of_framework(s, f).asks.at(0).ask, AskName("another"));
  EXPECT_EQ(of_framework(s, f).asks.at(0).since, s.now - seconds(5));
  f.lose();
  s.advance(seconds(5));
  EXPECT_EQ(words(of_framework(s, f).sums), "impossible 45000 ms") << "nobody asks for it now";
}

TEST(Ledger, ASchedulerThatSuppressesOffersMakesItsTasksWait) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 1);
  s.settle();
  f.sends(proto::Suppress{});
  s.advance(seconds(1));
  EXPECT_EQ(of_framework(s, f).asks.at(0).reason, WaitReason::kSuppressed);
}

TEST(Ledger, ADeclinedTaskWaitsOn) {
  MasterScenario s;
  s.registered_agent("a1");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 1);
  s.settle();
  s.advance(seconds(2));
  f.declines(f.offers.at(0), {.refuse_for = seconds(4)});
  s.settle();
  s.advance(seconds(4));
  ASSERT_EQ(f.offers.size(), 1u);
  f.accepts(f.offers, {f.spec("t1", "cpus:1")});
  EXPECT_EQ(words(of_task(s, f, "t1").waited), "scheduler 2s, declined 4s");
}

TEST(Ledger, AStartThatFailsEndsTheWait) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  s.advance(seconds(3));
  a.updates(f.id, "t1", TaskState::kFailed);
  s.advance(seconds(3));
  EXPECT_EQ(words(of_task(s, f, "t1").waited), "start 3s");
  EXPECT_EQ(words(of_framework(s, f).sums), "start 3000 ms");
}

// An earlier master recorded the waits of its own launches.
TEST(Ledger, AnotherMasterBeginsItsOwn) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  s.advance(seconds(3));
  s.restart_master();
  a.registers();
  f.subscribes();
  s.settle();
  a.updates(f.id, "t1", TaskState::kRunning);
  EXPECT_EQ(words(of_task(s, f, "t1").waited), "");
  EXPECT_EQ(of_task(s, f, "t1").asked_at, std::nullopt);
  EXPECT_EQ(words(of_framework(s, f).sums), "");
}

TEST(Ledger, TheHistoryHasTheWaitsOfRolesByTheMinute) {
  MasterScenario s;
  s.now = Time::from_nanos(1'200'000'000'000);  // a whole minute
  TestScheduler& f = s.subscribed("f", "eng");
  f.asks("cpus:1", 2);
  s.advance(seconds(90));
  std::vector<proto::RoleWait> kept;
  for (const proto::HistoryRecord& record : s.history) {
    if (const auto* wait = std::get_if<proto::RoleWait>(&record)) kept.push_back(*wait);
  }
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].role, RoleName("eng"));
  EXPECT_EQ(kept[0].until - kept[0].from, seconds(60));
  EXPECT_EQ(words(kept[0].waited), "impossible 120000 ms 2 now");
}

TEST(Ledger, BlameSaysWhichNameIsWrong) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f");
  EXPECT_THAT(s.master->blame_framework("g").error().message(), HasSubstr("'g'"));
  EXPECT_THAT(s.master->blame_role("g").error().message(), HasSubstr("'g'"));
  EXPECT_THAT(s.master->blame_task("t1", nullptr).error().message(), HasSubstr("FRAMEWORK/TASK"));
  f.asks("cpus:1", 1);
  s.settle();
  const proto::Blame blame = of_task(s, f, "t9");
  EXPECT_THAT(blame.answer, HasSubstr("the master knows no task 't9'"));
  EXPECT_EQ(blame.asks.size(), 1u);
}

// If there are many asks, a tick examines only a few, and all of them in bounded time.
TEST(Ledger, ManyAsksAreLookedAtInTurn) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f");
  proto::DeclareAsks declare{.generation = 1};
  constexpr int kAsks = 200;
  for (int i = 0; i < kAsks; ++i) {
    declare.asks.push_back(
        {.name = AskName(text("ask-", i)), .shape = *parse_shape("cpus:1"), .count = 1});
  }
  f.sends(declare);
  s.settle();
  const auto looked_at = [&] {
    int64_t count = 0;
    for (const proto::WaitingAsk& ask : of_framework(s, f).asks) {
      count += ask.reason == WaitReason::kImpossible ? 1 : 0;
    }
    return count;
  };
  EXPECT_GT(looked_at(), 0);
  EXPECT_LT(looked_at(), kAsks);
  s.advance(seconds(4));  // in steps of one second
  EXPECT_EQ(looked_at(), kAsks);
}

// The event identifies the ask by its begin, so that a later ask with the same name is not confused
// with it.
TEST(Ledger, ALaunchSaysSinceWhenItsTaskIsWanted) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:4;mem:8GiB", 1);
  s.advance(seconds(7));
  f.asks("cpus:4;mem:8GiB", 0);
  s.advance(seconds(7));
  f.asks("cpus:4;mem:8GiB", 1);
  const Time asked_at = s.now;
  s.advance(seconds(7));
  s.registered_agent("a1");
  ASSERT_EQ(f.offers.size(), 1u);
  f.accepts({f.offers.front()}, {TestScheduler::spec("t1", "cpus:4;mem:8GiB")});
  std::vector<Time> times;
  for (const TraceEvent& event : s.trace) {
    if (const auto* launched = event.as<TaskLaunched>()) times.push_back(launched->asked_at);
  }
  EXPECT_EQ(times, std::vector<Time>{asked_at});
}

}  // namespace
}  // namespace proffer::master::ledger_test
