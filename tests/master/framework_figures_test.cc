// The metrics of each framework: its actions and its waits; the number of named frameworks is
// bounded.

#include "tests/master/cluster.h"

namespace proffer::master::framework_figures_test {
namespace {

using proto::TaskReason;
using proto::TaskState;

FrameworkSeriesRow row_of(const MasterScenario& s, const std::string& framework) {
  for (const FrameworkSeriesRow& row : s.master->framework_series(s.now)) {
    if (row.framework == framework) return row;
  }
  ADD_FAILURE() << "no series of " << framework;
  return {};
}
FrameworkSeriesRow row_of(const MasterScenario& s, const TestScheduler& f) {
  return row_of(s, f.id.str());
}

TEST(FrameworkFigures, CountWhatAFrameworkWasOfferedAndDid) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1", "cpus:4;mem:4GiB");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:2", 2);
  s.settle();
  f.accepts(f.offers, {f.spec("t1", "cpus:2"), f.spec("t2", "cpus:99")});
  s.settle();
  ASSERT_EQ(f.offers.size(), 1u);
  f.declines(f.offers[0]);
  s.settle();
  ASSERT_EQ(f.offers.size(), 1u);
  s.advance(s.options.allocator.offer_timeout);  // it does not answer
  f.accepts({}, {f.spec("t3", "cpus:2")});

  const FrameworkFigures figures = row_of(s, f).figures;
  EXPECT_EQ(figures.offers, 3u);
  EXPECT_EQ(figures.accepted, 1u);
  EXPECT_EQ(figures.declined, 1u);
  EXPECT_EQ(figures.rescinded, 1u);
  EXPECT_EQ(figures.expired, 1u);
  EXPECT_EQ(figures.launches, 3u);
  EXPECT_EQ(figures.refused, (std::map<TaskReason, uint64_t>{{TaskReason::kResourcesExceeded, 1},
                                                             {TaskReason::kAgentNotAvailable, 1}}));

  // The agent also refuses a task.
  a.updates(f.id, "t1", TaskState::kRefused, TaskReason::kAgentFull);
  EXPECT_EQ(row_of(s, f).figures.refused.at(TaskReason::kAgentFull), 1u);
  EXPECT_EQ(s.master->explain("f", nullptr)->refusals.count, 3);
}

TEST(FrameworkFigures, AWaitLastsFromTheAskUntilTheNextOffer) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 3);
  s.advance(seconds(20));
  EXPECT_EQ(row_of(s, f).longest_wait, seconds(20));
  EXPECT_EQ(row_of(s, f).figures.waits.count(), 0u);
  f.asks("cpus:1", 3);  // the wait continues across a new declaration
  s.advance(seconds(5));
  s.registered_agent("a1", "cpus:2;mem:4GiB");
  ASSERT_EQ(f.offers.size(), 1u);
  EXPECT_EQ(row_of(s, f).figures.waits.count(), 1u);
  EXPECT_EQ(row_of(s, f).figures.waits.sum(), seconds(25));

  // The ask wants one task more than is offered. The third wait begins when all three are launched.
  s.advance(seconds(2));
  EXPECT_EQ(row_of(s, f).longest_wait, seconds(2));
  EXPECT_EQ(row_of(s, f).oldest_offer, seconds(2));
  f.accepts(f.offers, {f.spec("t1", "cpus:1"), f.spec("t2", "cpus:1")});
  EXPECT_EQ(row_of(s, f).oldest_offer, Duration());
  s.advance(seconds(3));
  s.registered_agent("a2", "cpus:2;mem:4GiB");
  EXPECT_EQ(row_of(s, f).figures.waits.sum(), seconds(30));
  EXPECT_EQ(row_of(s, f).figures.waits.count(), 2u);
  f.accepts(f.offers, {f.spec("t3", "cpus:1")});
  s.advance(seconds(60));
  EXPECT_EQ(row_of(s, f).longest_wait, Duration()) << "it wants nothing any more";
}

TEST(FrameworkFigures, AWaitBeginsAnewWithADeclineOrARescind) {
  for (const bool declines : {false, true}) {
    SCOPED_TRACE(declines);
    MasterScenario s;
    TestAgent& a = s.registered_agent("a1", "cpus:2;mem:4GiB");
    TestScheduler& f = s.subscribed("f");
    f.asks("cpus:1", 1);
    s.settle();
    ASSERT_EQ(f.offers.size(), 1u);
    s.advance(seconds(10));
    if (declines) {
      f.declines(f.offers[0], {.refuse_for = hours(1)});
    } else {
      a.lose();
    }
    s.advance(seconds(7));
    EXPECT_EQ(row_of(s, f).longest_wait, seconds(7));
    f.sends(proto::Suppress{});
    EXPECT_EQ(row_of(s, f).longest_wait, Duration());
    f.sends(proto::Revive{});
    if (!declines) a.registers();
    s.settle();
    EXPECT_EQ(f.offers.size(), 1u);
    EXPECT_EQ(row_of(s, f).longest_wait, Duration());
  }
}

TEST(FrameworkFigures, AnAskThatHasExpiredWaitsNoLonger) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f");
  f.sends(proto::DeclareAsks{.generation = 1,
                             .asks = {{.name = AskName("x"),
                                       .shape = *parse_shape("cpus:1"),
                                       .count = 1,
                                       .expiry = seconds(10)}}});
  s.advance(seconds(9));
  EXPECT_EQ(row_of(s, f).longest_wait, seconds(9));
  s.advance(seconds(9));
  EXPECT_EQ(row_of(s, f).longest_wait, Duration());
}

TEST(FrameworkFigures, OpenOffersAreWaitedForSinceTheLastAnswer) {
  MasterScenario s;
  TestScheduler& f = s.scheduler("f");
  f.subscribe.mode = OfferMode::kOpen;
  f.subscribes();
  s.advance(seconds(4));
  s.registered_agent("a1", "cpus:2;mem:4GiB");
  EXPECT_EQ(row_of(s, f).figures.waits.sum(), seconds(4));
  s.advance(seconds(4));
  EXPECT_EQ(row_of(s, f).longest_wait, Duration());
  f.declines(f.offers.at(0), {.refuse_for = hours(1)});
  s.advance(seconds(4));
  EXPECT_EQ(row_of(s, f).longest_wait, seconds(4));
  f.lose();
  EXPECT_EQ(row_of(s, f).longest_wait, Duration());
}

TEST(FrameworkFigures, ABackOffIsSeen) {
  MasterScenario s;
  s.registered_agent("a1", "cpus:2;mem:4GiB");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 1);
  for (int i = 0; i < 2; ++i) {
    s.settle();
    f.accepts(f.offers, {f.spec("t", "cpus:99")});
  }
  EXPECT_EQ(row_of(s, f).backing_off, 1);
  s.advance(seconds(1));
  EXPECT_EQ(row_of(s, f).backing_off, 0);
}

// No counter falls as frameworks come and go: collectors would take it for a restart.
TEST(FrameworkFigures, SoManyFrameworksAreNamedAndTheRestIsASum) {
  MasterScenario s;
  s.registered_agent("a1", "cpus:200;mem:4GiB");
  std::vector<TestScheduler*> all;
  for (size_t i = 0; i < kFrameworkSeriesMax + 2; ++i) {
    all.push_back(&s.subscribed(text("f", i)));
    all.back()->asks("cpus:1", 1);
    s.settle();
  }
  EXPECT_EQ(s.master->framework_series(s.now).size(), kFrameworkSeriesMax + 1);
  EXPECT_EQ(row_of(s, "other").figures.offers, 2u);
  EXPECT_EQ(row_of(s, *all[0]).figures.offers, 1u);

  all.back()->sends(proto::Teardown{});
  EXPECT_EQ(row_of(s, "other").figures.offers, 2u) << "what has ended stays in the sum";
  all[0]->sends(proto::Teardown{});
  for (const FrameworkSeriesRow& row : s.master->framework_series(s.now)) {
    EXPECT_NE(row.framework, all[0]->id.str());
  }
  // Its place goes to the next framework that subscribes, even if that was in the sum before.
  TestScheduler& unnamed = *all[kFrameworkSeriesMax];
  unnamed.lose();
  unnamed.subscribes();
  unnamed.asks("cpus:1", 1);
  s.settle();
  EXPECT_EQ(row_of(s, unnamed).figures.offers, 1u);
  EXPECT_EQ(row_of(s, "other").figures.offers, 2u);
}

}  // namespace
}  // namespace proffer::master::framework_figures_test
