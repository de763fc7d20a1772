// The stories of arrays: which elements run in which range, what each ending means, and what is
// counted.

#include "frameworks/batch/core/elements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/prng.h"
#include "tests/frameworks/batch/job_scenario.h"

namespace proffer::batch::elements_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using State = JobScenario::State;

TEST(Positions, AreWhatASetOfThemWouldBe) {
  Prng prng(7);
  for (int round = 0; round < 200; ++round) {
    Positions positions;
    std::set<uint32_t> expected;
    for (int step = 0; step < 30; ++step) {
      const auto first = static_cast<uint32_t>(prng.below(40));
      const auto end = first + static_cast<uint32_t>(prng.below(10));
      const bool adds = prng.chance(1, 2);
      for (uint32_t i = first; i < end; ++i)
        adds ? void(expected.insert(i)) : void(expected.erase(i));
      adds ? positions.add(first, end) : positions.remove(first, end);
      std::set<uint32_t> found;
      uint32_t last_end = 0;
      for (const auto& [begin, until] : positions.pieces()) {
        ASSERT_TRUE(begin < until && (found.empty() || begin > last_end)) << "pieces touch";
        for (uint32_t i = begin; i < until; ++i) found.insert(i);
        last_end = until;
      }
      ASSERT_EQ(found, expected);
      ASSERT_EQ(positions.size(), std::ssize(expected));
    }
  }
}

TEST(Array, RunsAllItsElementsAndIsDone) {
  JobScenario s(JobScenario::array(10));
  s.agent("a", 2);
  s.subscribe();
  while (!s.over()) {
    ASSERT_GT(s.offer_all(), 0);
    s.finish_all();
  }
  EXPECT_TRUE(s.succeeded());
  EXPECT_EQ(s.status().array->done, 10);
  EXPECT_EQ(s.status().array->failed, 0);
  EXPECT_EQ(s.store().size(), 2u);  // The job as it ended, and the scheduler itself.
}

// 1.5 s of elements of 100 ms each; at the end smaller ones, so that all slots end together.
TEST(Array, HasRangesOfTheTimeThatItsElementsTake) {
  JobScenario s(JobScenario::array(1'000));
  s.agent("a", 2);
  s.subscribe();
  s.offer_all();
  EXPECT_THAT(s.running_ids(), ElementsAre("range-00000-1-0-32", "range-00001-1-32-32"));
  s.finish_range("range-00000-1-0-32");
  s.offer_all();
  EXPECT_THAT(s.running_ids(), ElementsAre("range-00001-1-32-32", "range-00002-1-64-15"));
  uint32_t last = 1'000;
  while (!s.over()) {
    last = s.work_of<RangeWork>(s.running().begin()->first).count();
    s.finish_range(s.running().begin()->first);
    s.offer_all();
  }
  EXPECT_LE(last, 2u);
}

TEST(Array, WhatARangeHadNoTimeForRunsInAnother) {
  JobScenario s(JobScenario::array(40));
  s.agent("a", 1);
  s.subscribe();
  s.offer_all();
  s.finish_range("range-00000-1-0-20", 5, {}, seconds(1));
  EXPECT_EQ(s.status().array->done, 5);
  s.offer_all();
  const auto work = s.work_of<RangeWork>("range-00001-1-5-1");
  EXPECT_EQ(index_at(work.indices, 0), 6u);
  EXPECT_FALSE(work.looks_back);  // Nothing was cut off.
}

TEST(Array, RunsNoMoreAtATimeThanItsBound) {
  JobOrder order = JobScenario::array(100);
  order.array->at_once = 3;
  JobScenario s(order);
  s.agent("a", 8);
  s.subscribe();
  EXPECT_EQ(s.asked("range"), 3);
  EXPECT_EQ(s.offer_all(), 3);
  EXPECT_EQ(s.asked("range"), 0);
  s.unreachable(s.running().begin()->first);  // It may still run.
  EXPECT_EQ(s.asked("range"), 0);
  s.finish_range(s.running().rbegin()->first);
  EXPECT_EQ(s.asked("range"), 1);
  s.restart();
  s.subscribe();
  EXPECT_EQ(s.asked("range"), 1);
}

TEST(Array, AnElementThatFailsIsTriedAgainAsOftenAsItMay) {
  JobOrder order = JobScenario::array(3);
  order.array->retries = 1;
  JobScenario s(order);
  s.agent("a", 1);
  s.subscribe();
  s.offer_all();
  s.finish_range("range-00000-1-0-2", 2, {{.place = 1, .attempt = 1, .code = 9}});
  EXPECT_EQ(s.status().array->done, 1);
  EXPECT_EQ(s.status().array->failed_attempts, 1);
  s.restart();  // It is remembered.
  s.subscribe();
  s.offer_all();
  const std::string id = s.running().begin()->first;
  ASSERT_EQ(id, "range-00000-1001-1-1");
  EXPECT_THAT(s.work_of<RangeWork>(id).failures, ElementsAre(std::pair(0u, 1)));
  s.finish_range(id, 1, {{.place = 0, .attempt = 2, .code = 9}});
  EXPECT_EQ(s.status().array->failed, 1);
  s.offer_all();
  s.finish_all();
  EXPECT_EQ(s.status().phase, proto::BatchPhase::kFailed);
  EXPECT_EQ(s.status().array->done, 2);
  EXPECT_THAT(s.error(), HasSubstr("1 of 3 elements failed; element 2 exited with 9: oh"));
}

TEST(Array, EndsAtOnceWithMoreFailuresThanItMayHave) {
  JobOrder order = JobScenario::array(100);
  order.array->failed_max = 1;
  JobScenario s(order);
  s.agent("a", 2);
  s.subscribe();
  s.offer_all();
  s.finish_range("range-00000-1-0-32", 20,
                 {{.place = 3, .attempt = 1, .code = 2}, {.place = 5, .attempt = 1, .code = 2}});
  EXPECT_EQ(s.status().phase, proto::BatchPhase::kFailed);
  EXPECT_THAT(s.error(), HasSubstr("2 elements failed, and at most 1 may"));
}

TEST(Array, SucceedsWithAsManyFailuresAsItMayHave) {
  JobOrder order = JobScenario::array(4);
  order.array->failed_max = 1;
  JobScenario s(order);
  s.agent("a", 1);
  s.subscribe();
  s.offer_all();
  s.finish_range("range-00000-1-0-2", 2, {{.place = 0, .attempt = 1, .code = 127}});
  for (int i = 0; i < 4 && !s.over(); ++i) {
    s.offer_all();
    s.finish_all();
  }
  EXPECT_TRUE(s.succeeded());
  EXPECT_EQ(s.status().array->failed, 1);
}

TEST(Array, ARangeThatWasCutOffIsLookedForInTheOutput) {
  JobScenario s(JobScenario::array(64));
  s.agent("a", 1);
  s.agent("b", 1);
  s.subscribe();
  s.offer_all();
  const std::string cut = s.running().begin()->first;
  s.end(cut, State::kLost, JobScenario::Reason::kAgentRemoved);
  s.offer_all();
  bool looks = false;
  for (const auto& [id, task] : s.running()) {
    const auto work = s.work_of<RangeWork>(id);
    if (work.first == 0) looks = work.looks_back;
  }
  EXPECT_TRUE(looks);
}

TEST(Array, APreemptedRangeIsNoFailureAndKeepsWhatHasEnded) {
  JobScenario s(JobScenario::array(8));
  s.agent("a", 1);
  s.subscribe();
  for (int i = 0; i < 30; ++i) {
    ASSERT_EQ(s.offer_all(), 1) << i;
    const std::string id = s.running().begin()->first;
    EXPECT_EQ(s.work_of<RangeWork>(id).looks_back, i > 0);
    s.end(id, State::kKilled, JobScenario::Reason::kRevoked);
  }
  EXPECT_EQ(s.status().array->failed_attempts, 0);
  s.offer_all();
  s.finish_all();
  while (!s.over() && s.offer_all() > 0) s.finish_all();
  EXPECT_TRUE(s.succeeded()) << s.error();
}

// Two tasks tell of the same attempt of an element: one end counts.
TEST(Array, CountsTheEndOfAnAttemptOnce) {
  JobOrder order = JobScenario::array(2);
  order.array->retries = 1;
  JobScenario s(order);
  s.agent("a", 1);
  s.agent("b", 1);
  s.subscribe();
  s.offer(AgentId("a"), AskName("range"), 1);
  s.unreachable("range-00000-1-0-1");
  s.offer(AgentId("b"), AskName("range"), 1);
  ASSERT_TRUE(s.runs("range-00001-1-0-1"));
  s.finish_range("range-00001-1-0-1", 1, {{.place = 0, .attempt = 1, .code = 9}});
  s.finish_range("range-00000-1-0-1", 1, {{.place = 0, .attempt = 1, .code = 9}});
  EXPECT_EQ(s.status().array->failed_attempts, 1);
  EXPECT_EQ(s.status().array->failed, 0);
}

TEST(Array, ATaskThatComesBackGoesOnIfItsElementsWait) {
  JobScenario s(JobScenario::array(2));
  s.agent("a", 1);
  s.subscribe();
  s.offer(AgentId("a"), AskName("range"), 1);
  s.unreachable("range-00000-1-0-1");
  EXPECT_EQ(s.asked("range"), 2);
  s.returns("range-00000-1-0-1");
  EXPECT_EQ(s.asked("range"), 1);
  EXPECT_FALSE(s.killed("range-00000-1-0-1"));
}

// One element ends its executor each time: its range is cut into pieces until it is found, and the
// others are done.
TEST(Array, FindsTheElementThatEndsItsExecutor) {
  JobScenario s(JobScenario::array(200));
  s.agent("a", 2);
  s.subscribe();
  int tasks = 0;
  while (!s.over() && ++tasks < 200) {
    s.offer_all();
    ASSERT_FALSE(s.running().empty());
    const std::string id = s.running().begin()->first;
    const auto work = s.work_of<RangeWork>(id);
    if (work.first <= 100 && 100 < work.first + work.count()) {
      s.fail(id, "the executor was ended by signal 9");
    } else {
      s.finish_range(id);
    }
  }
  EXPECT_EQ(s.status().phase, proto::BatchPhase::kFailed);
  EXPECT_EQ(s.status().array->done, 199);
  EXPECT_EQ(s.status().array->failed, 1);
  EXPECT_THAT(s.error(), HasSubstr("element 101 cannot be run"));
  EXPECT_THAT(s.error(), HasSubstr("signal 9"));
}

TEST(Array, EndsIfAllItsTasksFail) {
  JobScenario s(JobScenario::array(5'000));
  s.agent("a", 1);
  s.subscribe();
  int tasks = 0;
  while (!s.over() && ++tasks < 100) {
    s.offer_all();
    ASSERT_FALSE(s.running().empty());
    s.fail(s.running().begin()->first, "no space left on device");
  }
  EXPECT_EQ(s.status().phase, proto::BatchPhase::kFailed);
  EXPECT_THAT(s.error(), HasSubstr("no space left on device"));
}

TEST(Array, ACancelledOneKeepsItsOutput) {
  JobScenario s(JobScenario::array(100));
  s.agent("a", 2);
  s.subscribe();
  s.offer_all();
  s.finish_range("range-00000-1-0-32");
  s.cancel();
  EXPECT_EQ(s.status().phase, proto::BatchPhase::kCancelled);
  EXPECT_EQ(s.status().array->done, 32);
}

// Half a kilobyte for each is the most; it is a few bits.
TEST(Array, TakesFewBytesOfTheStoreForEachElement) {
  constexpr uint32_t kMany = 20'000;
  JobScenario s(JobScenario::array(kMany));
  s.agent("a", 4);
  s.subscribe();
  size_t most = 0;
  while (!s.over()) {
    s.offer_all();
    for (const std::string& id : s.running_ids()) {
      s.finish_range(id, s.work_of<RangeWork>(id).count(), {}, milliseconds(1));
    }
    size_t bytes = 0;
    for (const auto& [key, value] : s.store()) bytes += key.size() + value.size();
    most = std::max(most, bytes);
  }
  EXPECT_TRUE(s.succeeded());
  EXPECT_EQ(s.status().array->done, kMany);
  EXPECT_LT(most, kMany);
}

TEST(Array, ARestartFindsWhatIsDoneInAllBlocks) {
  constexpr uint32_t kMany = kBlockElements + 2'000;
  JobScenario s(JobScenario::array(kMany));
  s.agent("a", 3);
  s.subscribe();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 5; ++i) {
      s.offer_all();
      for (const std::string& id : s.running_ids()) {
        const uint32_t count = s.work_of<RangeWork>(id).count();
        s.finish_range(id, std::max(1u, count / 2), {}, microseconds(700));
      }
    }
    s.offer_all();
    const proto::BatchElements before = *s.status().array;
    EXPECT_GT(before.done, round * 2'000);
    s.restart();
    s.subscribe();
    EXPECT_EQ(s.status().array->done, before.done);
    EXPECT_EQ(s.status().array->running, before.running);
  }
}

TEST(Array, AtAnyStepOfARestartEachElementCountsOnce) {
  for (int at = 0; at < 12; ++at) {
    SCOPED_TRACE(at);
    JobOrder order = JobScenario::array(9);
    order.array->retries = 2;
    JobScenario s(order);
    s.agent("a", 1);
    s.agent("b", 1);
    s.subscribe();
    for (int step = 0; step < 40 && !s.over(); ++step) {
      if (step == at) {
        s.restart();
        s.subscribe();
      }
      s.offer_all();
      if (s.running().empty()) continue;
      const std::string id = s.running().begin()->first;
      const auto work = s.work_of<RangeWork>(id);
      // Each element fails once.
      std::vector<ElementFailure> failures;
      for (uint32_t place = 0; place < work.count(); ++place) {
        if (!work.failures.contains(place)) {
          failures.push_back({.place = place, .attempt = 1, .code = 1});
        }
      }
      s.finish_range(id, work.count(), failures);
    }
    EXPECT_TRUE(s.succeeded());
    EXPECT_EQ(s.status().array->done, 9);
    EXPECT_EQ(s.status().array->failed_attempts, 9);
  }
}

TEST(Array, IsRefusedWhereItsStateWouldNotFit) {
  JobOrder order = JobScenario::array(kElementsMax);
  order.array->retries = 1;
  JobScenario s(order);
  s.agent("a", 1);
  s.subscribe();
  ASSERT_TRUE(s.told().back().job) << s.told().back().job.error().message();
  order.plan = "another";
  s.handle(Request{.relay = 9, .what = Submit{.order = order, .role = {}}, .by = {.user = "ada"}});
  ASSERT_FALSE(s.told().back().job);
  EXPECT_THAT(s.told().back().job.error().message(), HasSubstr("500000 elements"));
}

}  // namespace
}  // namespace proffer::batch::elements_test
