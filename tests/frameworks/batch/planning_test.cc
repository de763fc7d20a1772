// Jobs whose first task makes the plan.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frameworks/batch/core/jobs.h"
#include "frameworks/batch/core/plan.h"
#include "tests/frameworks/batch/pipeline_scenario.h"

namespace proffer::batch::planning_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using State = JobScenario::State;

JobOrder unplanned(int reducers) {
  JobOrder order = JobScenario::order(1, reducers);
  order.maps = 0;
  order.input_bytes = 0;
  return order;
}

JobOrder unplanned_array() {
  JobOrder order = JobScenario::array(1);
  order.array->indices.clear();
  order.array->has_arguments = true;
  return order;
}

// The scheduler has one agent, and the plan task runs there.
struct Planning : JobScenario {
  explicit Planning(JobOrder order) : JobScenario(std::move(order)) {
    agent("a", 2);
    subscribe();
    offer_all();
  }
  void retry() { handle(Request{.relay = 3, .what = Retry{id()}, .by = {.user = "ada"}}); }
};

TEST(Planning, IsTheFirstTaskAndSaysHowManyMapsThereAre) {
  Planning s(unplanned(1));
  EXPECT_EQ(s.status().phase, proto::BatchPhase::kPlanning);
  ASSERT_THAT(s.running_ids(), ElementsAre("plan-00000-1"));
  const auto work = s.work_of<PlanWork>("plan-00000-1");
  EXPECT_EQ(work.common.output, "/.waiting-plan");
  EXPECT_EQ(work.place, "/out");
  s.finish_plan("plan-00000-1", {.maps = 3, .input_bytes = 3'000});
  EXPECT_EQ(s.status().phase, proto::BatchPhase::kMap);
  EXPECT_EQ(s.status().map.total, 3);
  EXPECT_EQ(s.status().input_bytes, 3'000);
  EXPECT_EQ(s.unacknowledged(), 0u);
  while (!s.over()) {
    s.offer_all();
    s.finish_all();
  }
  EXPECT_TRUE(s.succeeded());
  EXPECT_EQ(s.status().map.done, 3);
}

TEST(Planning, OfAnArraySaysHowManyElementsThereAre) {
  Planning s(unplanned_array());
  EXPECT_EQ(s.status().array->total, 0);
  s.finish_plan("plan-00000-1", {.elements = 100});
  EXPECT_EQ(s.status().array->total, 100);
  s.offer_all();
  const std::string first = s.running_ids().front();
  EXPECT_EQ(s.work_of<RangeWork>(first).common.maps, 2u);  // entries with 64 arguments
  while (!s.over()) {
    s.finish_all();
    s.offer_all();
  }
  EXPECT_TRUE(s.succeeded());
  EXPECT_EQ(s.status().array->done, 100);
}

TEST(Planning, IsNotRepeatedByTheNextLifeOfTheScheduler) {
  Planning s(unplanned(1));
  s.finish_plan("plan-00000-1", {.maps = 3, .input_bytes = 3'000});
  s.restart();
  s.subscribe();
  s.offer_all();
  EXPECT_THAT(s.running_ids(), UnorderedElementsAre("map-00000-1001", "map-00001-1001"));
}

TEST(Planning, ThatRunsIsKnownToTheNextLife) {
  Planning s(unplanned(1));
  s.restart();
  s.subscribe();
  s.offer_all();
  ASSERT_THAT(s.running_ids(), ElementsAre("plan-00000-1"));
  s.finish_plan("plan-00000-1", {.maps = 1});
  EXPECT_EQ(s.status().map.total, 1);
}

TEST(Planning, ThatFailsIsTriedAgainThenTheJobFailsAndCanBeRetried) {
  Planning s(unplanned(1));
  for (int attempt = 1; attempt <= 4; ++attempt) {
    ASSERT_FALSE(s.over());
    s.fail(s.running_ids().front(), "input '/in' is not there");
    s.advance(seconds(2));
    s.offer_all();
  }
  ASSERT_TRUE(s.over());
  EXPECT_THAT(s.error(), HasSubstr("'/in' is not there"));
  // An attempt may have moved the directory to its place; the last task moves it back.
  EXPECT_THAT(s.ends(), ElementsAre(EndWork::Kind::kSetAside));
  s.retry();
  s.offer_all();
  const std::string again = s.running_ids().front();
  EXPECT_THAT(again, HasSubstr("plan-00000-"));
  EXPECT_EQ(s.work_of<PlanWork>(again).common.output, "/.waiting-plan");
  s.finish_plan(again, {.maps = 1});
  while (!s.over()) {
    s.offer_all();
    s.finish_all();
  }
  EXPECT_TRUE(s.succeeded()) << s.error();
}

TEST(Planning, OfAnArrayThatFailsCanBeRetriedForNothingOfItHasRun) {
  Planning s(unplanned_array());
  s.fail("plan-00000-1", "the input is too large", {.blame = Blame::kInput});
  ASSERT_TRUE(s.over());
  s.retry();
  s.offer_all();
  s.finish_plan(s.running_ids().front(), {.elements = 1});
  while (!s.over()) {
    s.offer_all();
    s.finish_all();
  }
  EXPECT_TRUE(s.succeeded()) << s.error();
}

TEST(Planning, ThatSaysTooMuchForTheStoreFailsTheJob) {
  PipelineScenario s;
  // 3 MiB, at 40 bytes per task, are enough for one job of this size but not for two.
  StageOrder large = PipelineScenario::stage("");
  large.order.maps = 50'000;
  large.order.output = "/large";
  ASSERT_TRUE(s.submit({large}, ""));
  StageOrder unknown = PipelineScenario::stage("");
  unknown.order = unplanned(10'000);
  unknown.order.plan = "unknown";
  ASSERT_TRUE(s.submit({unknown}, ""));
  s.finds({.maps = 50'000});
  s.run_until_planned("job-2");
  EXPECT_EQ(s.phase("job-2"), "removing");
  EXPECT_THAT(s.job("job-2").error, HasSubstr("would not fit into the scheduler's store"));
}

TEST(Planning, ThatIsCancelledLeavesNothingBehindOnceThatIsGivenUp) {
  Planning s(unplanned(1));
  s.cancel();
  ASSERT_TRUE(s.over());
  EXPECT_EQ(s.status().phase, proto::BatchPhase::kCancelled);
  s.cancel();
  EXPECT_THAT(s.ends(), ElementsAre(EndWork::Kind::kSetAside, EndWork::Kind::kRemove));
  EXPECT_EQ(s.store().size(), 2u);
}

// If the job is cancelled, its plan is either stored or discarded as a whole.
TEST(Planning, ThatEndsWhileItIsCancelledIsNotLost) {
  Planning s(unplanned(1));
  s.finishes_when_killed("plan-00000-1");
  s.cancel();
  ASSERT_TRUE(s.over());
  s.retry();
  s.offer_all();
  EXPECT_THAT(s.running_ids(), ElementsAre("plan-00000-1001"));
}

}  // namespace
}  // namespace proffer::batch::planning_test
