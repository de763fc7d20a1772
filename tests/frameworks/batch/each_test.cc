// Arrays whose elements wait for elements of another array.

#include <algorithm>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/prng.h"
#include "tests/frameworks/batch/pipeline_scenario.h"

namespace proffer::batch::each_test {
namespace {

using ::testing::HasSubstr;

StageOrder array(const std::string& name, uint32_t elements,
                 std::vector<StageDependency> after = {}) {
  StageOrder stage{.stage = name, .order = JobScenario::array(elements), .after = std::move(after)};
  stage.order.name = name.empty() ? "job" : name;
  stage.order.output = "/out-" + name;
  stage.order.plan = "plan-" + name;
  return stage;
}
StageOrder follower(const std::string& name, uint32_t elements, const std::string& other) {
  return array(name, elements, {{.job = other, .on = Condition::kEach}});
}

// The positions of a range's elements.
std::vector<uint32_t> elements_of(const proto::TaskSpec& task) {
  std::vector<uint32_t> elements;
  const Result<Work> work = decode_work(task.data);
  const auto* range = std::get_if<RangeWork>(&*work);
  for (uint32_t i = 0; range != nullptr && i < range->count(); ++i) {
    elements.push_back(range->first + i);
  }
  return elements;
}

// Array a, and array b that waits for it element by element. `chance` selects the order in which
// tasks end. Each element of b is checked when it begins.
class TwoArrays {
 public:
  TwoArrays(uint32_t elements, uint64_t seed) : chance_(seed), elements_(elements) {}

  PipelineScenario& cluster() { return s_; }
  bool submit(const std::function<void(StageOrder& a, StageOrder& b)>& change = {}) {
    std::vector<StageOrder> stages = {array("a", elements_), follower("b", elements_, "a")};
    if (change) change(stages[0], stages[1]);
    return s_.submit(stages).has_value();
  }
  // How often each element of a stage ran.
  const std::map<uint32_t, int>& runs(const std::string& stage) { return runs_[stage]; }
  void fails(uint32_t element) { failing_.insert(element), s_.fails("p-a-", element); }
  void works(uint32_t element) { failing_.erase(element), s_.works("p-a-", element); }

  // Ends one task; false if none runs.
  bool end_one() {
    s_.launch();
    look();
    std::map<TaskId, proto::TaskSpec>& running = s_.running();
    if (running.empty()) return false;
    const auto one = std::next(running.begin(), chance_.between(0, std::ssize(running) - 1));
    const proto::TaskSpec task = one->second;
    if (task.id.str().starts_with("p-a-")) {
      for (const uint32_t element : elements_of(task)) {
        if (!failing_.contains(element)) done_.insert(element);
      }
    }
    s_.end(task.id);
    look();
    return true;
  }
  void run() {
    for (int i = 0; i < 1'000; ++i) {
      if (end_one()) continue;
      s_.run();  // lets time pass, if a timer is set
      if (!end_one()) return;
    }
    FAIL() << s_.phases();
  }
  uint64_t below(uint64_t bound) { return chance_.below(bound); }

 private:
  void look() {
    for (const auto& [id, task] : s_.running()) {
      if (!seen_.insert(id.str()).second) continue;
      const std::string stage = id.str().substr(2, 1);
      for (const uint32_t element : elements_of(task)) {
        ++runs_[stage][element];
        if (stage == "b") {
          EXPECT_TRUE(done_.contains(element)) << id.str() << " begins " << element;
        }
      }
    }
  }

  PipelineScenario s_;
  Prng chance_;
  const uint32_t elements_;
  std::set<uint32_t> failing_;
  std::set<uint32_t> done_;  // finished elements of a
  std::set<std::string> seen_;
  std::map<std::string, std::map<uint32_t, int>> runs_;
};

std::map<uint32_t, int> once(uint32_t elements, const std::set<uint32_t>& but = {}) {
  std::map<uint32_t, int> all;
  for (uint32_t i = 0; i < elements; ++i) {
    if (!but.contains(i)) all[i] = 1;
  }
  return all;
}

TEST(AfterEach, AnElementBeginsWhileOthersOfTheFirstArrayRun) {
  TwoArrays s(8, 1);
  ASSERT_TRUE(s.submit());
  PipelineScenario& cluster = s.cluster();
  EXPECT_EQ(cluster.job("p-b-3").note, "");
  cluster.launch();
  EXPECT_EQ(cluster.phases(), "a map, b planning");
  cluster.run_until_planned("p-b-3");
  EXPECT_EQ(cluster.job("p-b-3").array->waiting, 8);
  const TaskId first = cluster.running().begin()->first;
  const std::vector<uint32_t> elements = elements_of(cluster.running().begin()->second);
  ASSERT_TRUE(first.str().starts_with("p-a-2.range-00000"));
  ASSERT_LT(elements.size(), 8u);
  cluster.end(first);
  EXPECT_EQ(cluster.job("p-b-3").array->waiting, 8 - std::ssize(elements));
  cluster.launch();
  std::vector<uint32_t> begun;
  for (const auto& [id, task] : cluster.running()) {
    if (!id.str().starts_with("p-b-3")) continue;
    for (const uint32_t element : elements_of(task)) begun.push_back(element);
  }
  // The elements of b's first range are done in a, and lie in one range of a.
  ASSERT_FALSE(begun.empty());
  for (const uint32_t element : begun) EXPECT_LE(element, elements.back());
}

TEST(AfterEach, HoldsWhereverTheSchedulerEnds) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    TwoArrays s(40, seed);
    ASSERT_TRUE(s.submit([&](StageOrder& a, StageOrder& b) {
      if (seed % 3 == 0) a.order.array->at_once = 2;
      if (seed % 3 == 1) b.order.array->at_once = 1;
    }));
    for (uint64_t steps = 0; steps < 1'000; ++steps) {
      if (s.below(6) == 0) s.cluster().restart();
      if (!s.end_one()) break;
    }
    s.run();
    EXPECT_EQ(s.cluster().phases(), "a finished, b finished");
    EXPECT_EQ(s.runs("a"), once(40));
    EXPECT_EQ(s.runs("b"), once(40));
    EXPECT_EQ(s.cluster().store().size(), 3u);  // two ended jobs and the scheduler itself
  }
}

TEST(AfterEach, SkipsWhatCanNeverBeginAndRunsItWhenBothAreRetried) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const bool restarts = seed % 2 == 1;
    TwoArrays s(20, seed);
    s.fails(3);
    s.fails(17);
    ASSERT_TRUE(s.submit());
    while (s.end_one()) {
      if (restarts && s.below(5) == 0) s.cluster().restart();
    }
    ASSERT_EQ(s.cluster().phases(), "a failed, b failed");
    EXPECT_EQ(s.runs("b"), once(20, {3, 17}));
    const proto::BatchJob b = s.cluster().job("p-b-3");
    EXPECT_EQ(b.array->done, 18);
    EXPECT_EQ(b.array->skipped, 2);
    EXPECT_THAT(b.error, HasSubstr("0 of 20 elements failed, and 2 were skipped"));
    s.works(3);
    s.works(17);
    // Both orders work: b waits for a again.
    const bool first_a = seed % 4 < 2;
    ASSERT_TRUE(s.cluster().retry(first_a ? "p-1.a" : "p-1.b"));
    if (restarts) s.cluster().restart();
    if (first_a) {
      ASSERT_TRUE(s.cluster().retry("p-1.b"));
    } else {
      s.run();
      ASSERT_EQ(s.cluster().phases(), "a failed, b failed");  // a has not been retried yet
      ASSERT_TRUE(s.cluster().retry("p-1.a"));
      ASSERT_TRUE(s.cluster().retry("p-1.b"));
    }
    while (s.end_one()) {
      if (restarts && s.below(5) == 0) s.cluster().restart();
    }
    EXPECT_EQ(s.cluster().phases(), "a finished, b finished");
    EXPECT_EQ(s.runs("b"), once(20));
    EXPECT_EQ(s.runs("a").at(3), 2);
    EXPECT_EQ(s.runs("a").at(4), 1);
    EXPECT_EQ(s.cluster().store().size(), 3u);
  }
}

// The first array has ended with failures and is in the history. The second one still knows which
// elements failed, also after a restart.
TEST(AfterEach, KnowsTheElementsOfAnArrayThatHasFinished) {
  TwoArrays s(12, 5);
  s.fails(4);
  ASSERT_TRUE(s.submit([](StageOrder& a, StageOrder& b) {
    a.order.array->failed_max = 1;
    b.order.array->failed_max = 1;
    b.order.array->at_once = 1;
  }));
  PipelineScenario& cluster = s.cluster();
  while (cluster.phase("p-a-2") != "finished") {
    cluster.launch();
    for (const auto& [id, task] : std::map(cluster.running())) {
      if (!id.str().starts_with("p-b-3.range")) cluster.end(id);
    }
  }
  ASSERT_FALSE(proto::has_ended(cluster.job("p-b-3").phase));
  ASSERT_TRUE(cluster.store().contains("elements/p-a-2/0"));
  cluster.restart();
  EXPECT_EQ(cluster.job("p-b-3").array->skipped, 1);
  cluster.run();
  EXPECT_EQ(cluster.phases(), "a finished, b finished");
  EXPECT_EQ(cluster.job("p-b-3").array->done, 11);
  EXPECT_EQ(cluster.job("p-b-3").array->skipped, 1);
  EXPECT_EQ(cluster.store().size(), 3u);
  cluster.restart();
  EXPECT_EQ(cluster.job("p-b-3").array->skipped, 1);
}

TEST(AfterEach, OfAnArrayWithoutAResultIsSkippedAsAWhole) {
  PipelineScenario s;
  ASSERT_TRUE(s.submit({array("a", 3), follower("b", 3, "a"), follower("c", 3, "b")}));
  ASSERT_TRUE(s.cancel("p-1.a"));
  s.run();
  EXPECT_EQ(s.phases(), "a cancelled, b skipped, c skipped");
  EXPECT_THAT(s.job("p-b-3").error, HasSubstr("no element can run"));
  EXPECT_THAT(s.job("p-c-4").error, HasSubstr("p-b-3 to begin, which can no longer happen"));
  ASSERT_TRUE(s.retry("p-1.a"));
  s.run();
  EXPECT_EQ(s.phases(), "a finished, b finished, c finished");
}

// Whether the follower or the other array ends first, nothing is retried by itself.
TEST(AfterEach, StaysSkippedIfTheFailedArrayEndsLater) {
  for (const std::string first : {"p-a-2", "p-b-3"}) {
    SCOPED_TRACE(first);
    PipelineScenario s;
    s.fails("p-a-", 0);
    s.fails("p-a-", 1);
    ASSERT_TRUE(s.submit({array("a", 2), follower("b", 2, "a")}));
    for (int round = 0; round < 100 && !proto::has_ended(s.job(first).phase); ++round) {
      s.launch();
      for (const auto& [id, task] : std::map(s.running())) {
        const bool is_end = id.str().find(".end-") != std::string::npos;
        if (!is_end || id.str().starts_with(first)) s.end(id);
      }
    }
    ASSERT_TRUE(proto::has_ended(s.job(first).phase)) << s.phases();
    s.run();
    EXPECT_EQ(s.phases(), "a failed, b skipped");
    EXPECT_EQ(s.job("p-b-3").retries, 0);
    s.works("p-a-", 0);
    s.works("p-a-", 1);
    ASSERT_TRUE(s.retry("p-1.a"));
    s.run();
    EXPECT_EQ(s.phases(), "a finished, b finished");
  }
}

// The second array waits for elements of an array that waits for a third one.
TEST(AfterEach, GoesThroughSeveralStages) {
  PipelineScenario s;
  s.fails("p-a-", 1);
  s.fails("p-b-", 2);
  ASSERT_TRUE(s.submit({array("a", 4), follower("b", 4, "a"), follower("c", 4, "b")}));
  s.run();
  EXPECT_EQ(s.phases(), "a failed, b failed, c failed");
  EXPECT_EQ(s.job("p-b-3").array->done, 2);
  EXPECT_EQ(s.job("p-c-4").array->done, 2);
  EXPECT_EQ(s.job("p-c-4").array->skipped, 2);
}

TEST(AfterEach, ATooSmallPlanFailsTheArray) {
  PipelineScenario s;
  s.finds({.elements = 5});
  StageOrder b = follower("b", 1, "a");
  b.order.array->indices.clear();
  b.order.array->has_arguments = true;
  ASSERT_TRUE(s.submit({array("a", 4), b}));
  s.run();
  EXPECT_EQ(s.phases(), "a finished, b failed");
  EXPECT_THAT(s.job("p-b-3").error, HasSubstr("it has 5 elements, and p-a-2"));
}

TEST(AfterEach, OfAJobThatHasEndedIsPossibleIfAllOfItIsDone) {
  PipelineScenario s;
  StageOrder partly = array("a", 3);
  partly.order.array->failed_max = 1;
  s.fails("p-a-", 1);
  ASSERT_TRUE(s.submit({partly, array("b", 3)}));
  s.run();
  ASSERT_EQ(s.phases(), "a finished, b finished");
  const auto submit = [&](const std::string& other, uint32_t size) {
    StageOrder one = follower("", size, other);
    one.order.plan = text("plan-", other, size);
    return s.ask(SubmitStages{.stages = {.pipeline = "", .stages = {one}}, .role = {}});
  };
  const auto refused = submit("p-a-2", 3);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(),
              HasSubstr("not known any more which of its elements are done"));
  const auto other_size = submit("p-b-3", 2);
  ASSERT_FALSE(other_size);
  EXPECT_THAT(other_size.error().message(), HasSubstr("it has 2 elements, and p-b-3"));
  const auto taken = submit("p-b-3", 3);
  ASSERT_TRUE(taken) << taken.error().message();
  s.run();
  EXPECT_EQ(s.phase(taken->job), "finished");
}

TEST(AfterEach, ThatCannotBeIsRefused) {
  struct Row {
    std::string_view why;
    void (*change)(std::vector<StageOrder>& stages);
  };
  const Row rows[] = {
      {"it has 4 elements, and a", [](auto& s) { s[1].order.array->indices[0].count = 4; }},
      {"a is a gang", [](auto& s) { s[0].order.array->is_gang = true; }},
      {"this is a gang", [](auto& s) { s[1].order.array->is_gang = true; }},
      {"a is no array", [](auto& s) { s[0].order = JobScenario::order(1, 0); }},
      {"this is no array",
       [](auto& s) {
         s[1].order = JobScenario::order(1, 0);
         s[1].order.output = "/out-b";
         s[1].order.plan = "plan-b";
       }},
      {"not with when: any", [](auto& s) { s[1].takes_any = true; }},
      {"wait for the elements of one array",
       [](auto& s) { s[1].after.push_back({.job = "other-1", .on = Condition::kEach}); }},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.why);
    std::vector<StageOrder> stages = {array("a", 3), follower("b", 3, "a")};
    row.change(stages);
    const Result<void> checked = check_submission({.pipeline = "p", .stages = stages});
    ASSERT_FALSE(checked);
    EXPECT_THAT(checked.error().message(), HasSubstr(row.why));
    EXPECT_NE(checked.error().hint(), "");
  }
}

}  // namespace
}  // namespace proffer::batch::each_test
