// Arrays: which elements run in which range, what each end means, and the counts.

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
  EXPECT_EQ(s.store().size(), 2u);  // the ended job and the scheduler itself
}

// A range takes 1.5 s: here elements of 100 ms each. The last ranges are smaller, so that all slots
// end together.
TEST(Array, HasRangesOfTheTimeThatItsElementsTake) {
  JobScenario s(JobScenario::array(1'000));
  s.begins_on({{"a", 2}});
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
  s.begins_on({{"a", 1}});
  s.finish_range("range-00000-1-0-20", 5, {}, seconds(1));
  EXPECT_EQ(s.status().array->done, 5);
  s.offer_all();
  const auto work = s.work_of<RangeWork>("range-00001-1-5-1");
  EXPECT_EQ(index_at(work.indices, 0), 6u);
  EXPECT_FALSE(work.looks_back);  // no range was interrupted
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
  s.unreachable(s.running().begin()->first);  // it may still run
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
  s.begins_on({{"a", 1}});
  s.finish_range("range-00000-1-0-2", 2, {{.place = 1, .attempt = 1, .code = 9}});
  EXPECT_EQ(s.status().array->done, 1);
  EXPECT_EQ(s.status().array->failed_attempts, 1);
  s.restart();  // the failure is stored
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

// A program that saved its work at the warning before its limit runs again, as often as it needs.
TEST(Array, ARequeuedElementRunsAgainWithoutAFailedAttempt) {
  JobOrder order = JobScenario::array(1);
  order.array->retries = 1;
  order.array->requeue_on = {99};
  JobScenario s(order);
  s.begins_on({{"a", 1}});
  const auto exit_with = [&](int32_t attempt, int32_t code) {
    s.offer_all();
    s.finish_range(s.running().begin()->first, 1, {{.place = 0, .attempt = attempt, .code = code}});
  };
  for (int32_t attempt = 1; attempt <= 5; ++attempt) {
    exit_with(attempt, 99);
    EXPECT_EQ(s.status().array->failed_attempts, 0);
    s.restart();
    s.subscribe();
  }
  exit_with(6, 9);
  EXPECT_EQ(s.status().array->failed_attempts, 1);
  exit_with(7, 99);
  s.restart();
  s.subscribe();
  exit_with(8, 9);
  EXPECT_EQ(s.status().array->failed_attempts, 2);
  EXPECT_EQ(s.status().phase, proto::BatchPhase::kFailed);
  EXPECT_THAT(s.error(), HasSubstr("1 of 1 elements failed; element 1 exited with 9"));
}

TEST(RetryOfAnArray, NumbersAttemptsAfterThoseThatWereRequeued) {
  JobOrder order = JobScenario::array(1);
  order.array->requeue_on = {99};
  JobScenario s(order);
  s.begins_on({{"a", 1}});
  for (int32_t attempt = 1; attempt <= 3; ++attempt) {
    s.offer_all();
    s.finish_range(s.running().begin()->first, 1,
                   {{.place = 0, .attempt = attempt, .code = attempt < 3 ? 99 : 9}});
  }
  ASSERT_EQ(s.status().phase, proto::BatchPhase::kFailed);
  s.handle(Request{.relay = 3, .what = Retry{s.id()}, .by = {.user = "ada"}});
  s.offer_all();
  const auto work = s.work_of<RangeWork>(s.running().begin()->first);
  EXPECT_GE(work.failures.at(0), 3);
  s.finish_range(s.running().begin()->first, 1,
                 {{.place = 0, .attempt = work.failures.at(0) + 1, .code = 99}});
  s.offer_all();
  s.finish_all();
  EXPECT_TRUE(s.succeeded()) << s.error();
}

TEST(Array, EndsAtOnceWithMoreFailuresThanItMayHave) {
  JobOrder order = JobScenario::array(100);
  order.array->failed_max = 1;
  JobScenario s(order);
  s.begins_on({{"a", 2}});
  s.finish_range("range-00000-1-0-32", 20,
                 {{.place = 3, .attempt = 1, .code = 2}, {.place = 5, .attempt = 1, .code = 2}});
  EXPECT_EQ(s.status().phase, proto::BatchPhase::kFailed);
  EXPECT_THAT(s.error(), HasSubstr("2 elements failed, but at most 1 may"));
}

TEST(Array, SucceedsWithAsManyFailuresAsItMayHave) {
  JobOrder order = JobScenario::array(4);
  order.array->failed_max = 1;
  JobScenario s(order);
  s.begins_on({{"a", 1}});
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
  s.begins_on({{"a", 1}, {"b", 1}});
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

// Two tasks report the same attempt of an element; only one end counts.
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

// One element always ends its executor. Its range is split until the element is found, and all
// other elements finish.
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
  s.begins_on({{"a", 2}});
  s.finish_range("range-00000-1-0-32");
  s.cancel();
  EXPECT_EQ(s.status().phase, proto::BatchPhase::kCancelled);
  EXPECT_EQ(s.status().array->done, 32);
}

// The limit is half a kilobyte per element; the actual size is a few bits.
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

// --- retry -------------------------------------------------------------------------------------

bool retry(JobScenario& s) {
  s.handle(Request{.relay = 3, .what = Retry{s.id()}, .by = {.user = "ada"}});
  return s.told().back().job.has_value();
}

// Ends the range; the elements in `failing` fail.
void finish_range_but(JobScenario& s, const std::string& id, const std::set<uint32_t>& failing) {
  const auto work = s.work_of<RangeWork>(id);
  std::vector<ElementFailure> failures;
  for (uint32_t place = 0; place < work.count(); ++place) {
    if (!failing.contains(work.first + place)) continue;
    const auto before = work.failures.find(place);
    const int32_t attempt = before == work.failures.end() ? 1 : before->second + 1;
    failures.push_back({.place = place, .attempt = attempt, .code = 9});
  }
  s.finish_range(id, work.count(), failures);
}

// Runs until the job has ended. Returns how often each element ran.
std::map<uint32_t, int> run_to_the_end(JobScenario& s, const std::set<uint32_t>& failing) {
  std::map<uint32_t, int> runs;
  for (int round = 0; round < 200 && !s.over(); ++round) {
    s.offer_all();
    if (s.running().empty()) continue;
    const std::string id = s.running().begin()->first;
    const auto work = s.work_of<RangeWork>(id);
    for (uint32_t place = 0; place < work.count(); ++place) ++runs[work.first + place];
    finish_range_but(s, id, failing);
  }
  EXPECT_TRUE(s.over());
  return runs;
}

TEST(RetryOfAnArray, RunsTheElementsThatFailedAndNoOthers) {
  JobOrder order = JobScenario::array(10);
  order.array->retries = 1;
  JobScenario s(order);
  s.agent("a", 2);
  s.subscribe();
  run_to_the_end(s, {3, 7});
  ASSERT_EQ(s.status().phase, proto::BatchPhase::kFailed);
  EXPECT_THAT(s.status().hint, HasSubstr("proffer batch retry job-1"));
  EXPECT_EQ(s.status().retry_until, s.status().ended_at + kRetryFor);
  EXPECT_EQ(s.gathers().back(), (GatherForm{.commits = false, .keeps = true}));

  ASSERT_TRUE(retry(s));
  EXPECT_EQ(s.status().phase, proto::BatchPhase::kMap);
  EXPECT_EQ(s.status().retries, 1);
  EXPECT_EQ(s.status().array->done, 8);
  EXPECT_EQ(s.status().array->failed, 0);
  s.offer_all();
  // The numbers of attempts continue: the first two have failed.
  ASSERT_THAT(s.running_ids(), ElementsAre("range-00000-1001-3-1", "range-00001-1001-7-1"));
  const auto work = s.work_of<RangeWork>("range-00000-1001-3-1");
  EXPECT_THAT(work.failures, ElementsAre(std::pair(0u, 2)));
  EXPECT_TRUE(work.looks_back);
  EXPECT_EQ(run_to_the_end(s, {}), (std::map<uint32_t, int>{{3, 1}, {7, 1}}));
  EXPECT_TRUE(s.succeeded()) << s.error();
  EXPECT_EQ(s.status().array->done, 10);
  EXPECT_EQ(s.status().array->failed_attempts, 4);
  EXPECT_EQ(s.gathers().back(), (GatherForm{.commits = true, .keeps = false}));
  EXPECT_EQ(s.store().size(), 2u);  // the ended job and the scheduler itself
}

// `retries: 0` also holds for elements that the first try did not reach.
TEST(RetryOfAnArray, GivesEachElementAsManyAttemptsAsAtFirst) {
  JobOrder order = JobScenario::array(100);
  order.array->failed_max = 0;
  JobScenario s(order);
  s.begins_on({{"a", 1}});
  finish_range_but(s, s.running().begin()->first, {5});
  ASSERT_EQ(s.status().phase, proto::BatchPhase::kFailed);
  ASSERT_TRUE(retry(s));
  const auto current = [&] {
    s.offer_all();
    return s.running().begin()->first;
  };
  while (s.work_of<RangeWork>(current()).first < 40) finish_range_but(s, current(), {});
  const uint32_t fresh = s.work_of<RangeWork>(current()).first;
  finish_range_but(s, current(), {fresh});
  ASSERT_EQ(s.status().phase, proto::BatchPhase::kFailed) << "it was to be tried again";
  EXPECT_THAT(s.error(), HasSubstr(text("element ", fresh + 1, " exited with 9")));
  ASSERT_TRUE(retry(s));
  run_to_the_end(s, {});
  EXPECT_TRUE(s.succeeded()) << s.error();
  EXPECT_EQ(s.status().array->failed_attempts, 2);
}

TEST(RetryOfAnArray, GoesOnWithOneThatWasCancelled) {
  JobScenario s(JobScenario::array(100));
  s.begins_on({{"a", 2}});
  s.finish_range("range-00000-1-0-32");
  s.cancel();
  ASSERT_EQ(s.status().phase, proto::BatchPhase::kCancelled);
  ASSERT_TRUE(retry(s));
  const std::map<uint32_t, int> runs = run_to_the_end(s, {});
  EXPECT_TRUE(s.succeeded());
  EXPECT_EQ(runs.size(), 68u);
  EXPECT_EQ(runs.begin()->first, 32u);
}

// A task of the first try is reported again. Its failures no longer count, but its finished
// elements stay done.
TEST(RetryOfAnArray, TakesNoFailureOfTheFirstTry) {
  JobOrder order = JobScenario::array(4);
  order.array->at_once = 1;
  JobScenario s(order);
  s.begins_on({{"a", 1}});
  const std::string late = s.running().begin()->first;
  ASSERT_EQ(late, "range-00000-1-0-2");
  s.unreachable(late);
  s.forget(late);
  s.cancel();
  ASSERT_TRUE(retry(s));
  const RangeResult result{
      .ended = 2, .ran = 2, .failures = {{.place = 1, .attempt = 1, .code = 9}}};
  s.status(late, AgentId("a"), State::kFinished, JobScenario::Reason::kNone, "",
           encode_range_result(result));
  EXPECT_EQ(s.status().array->done, 1);
  EXPECT_EQ(s.status().array->failed, 0);
  const std::map<uint32_t, int> runs = run_to_the_end(s, {});
  EXPECT_EQ(runs, (std::map<uint32_t, int>{{1, 1}, {2, 1}, {3, 1}}));
  EXPECT_TRUE(s.succeeded());
}

// The scheduler may restart at any step of either try. No finished element runs again, and the
// second try includes each element that failed in the first.
TEST(RetryOfAnArray, AtAnyStepOfARestartRunsTheSame) {
  const std::set<uint32_t> failing = {1, 2, 6};
  int last_step = 0;
  for (int at = 0; at <= last_step; ++at) {
    SCOPED_TRACE(at);
    JobOrder order = JobScenario::array(9);
    order.array->retries = 1;
    JobScenario s(order);
    s.agent("a", 1);
    s.agent("b", 1);
    s.subscribe();
    std::map<uint32_t, int> runs;
    int step = 0;
    const auto may_restart = [&] {
      if (step++ != at) return;
      s.restart();
      s.subscribe();
    };
    for (const bool is_retried : {false, true}) {
      if (is_retried) {
        ASSERT_TRUE(retry(s));
      }
      for (int round = 0; round < 100 && !s.over(); ++round) {
        may_restart();
        s.offer_all();
        may_restart();
        if (s.running().empty()) continue;
        const std::string id = s.running().begin()->first;
        const auto work = s.work_of<RangeWork>(id);
        for (uint32_t place = 0; place < work.count(); ++place) ++runs[work.first + place];
        finish_range_but(s, id, is_retried ? std::set<uint32_t>() : failing);
      }
      may_restart();
      ASSERT_EQ(s.status().phase,
                is_retried ? proto::BatchPhase::kFinished : proto::BatchPhase::kFailed);
    }
    last_step = step - 1;
    for (uint32_t position = 0; position < 9; ++position) {
      EXPECT_EQ(runs[position], failing.contains(position) ? 3 : 1) << position;
    }
    EXPECT_EQ(s.status().array->failed_attempts, 6);
  }
}

TEST(RetryOfAnArray, OfManyBlocksKeepsWhatIsDoneInEach) {
  constexpr uint32_t kMany = kBlockElements + 500;
  JobScenario s(JobScenario::array(kMany));
  s.agent("a", 4);
  s.subscribe();
  const std::set<uint32_t> failing = {17, kBlockElements + 17};
  while (!s.over()) {
    s.offer_all();
    for (const std::string& id : s.running_ids()) {
      const auto work = s.work_of<RangeWork>(id);
      std::vector<ElementFailure> failures;
      for (const uint32_t one : failing) {
        if (one < work.first || one >= work.first + work.count()) continue;
        failures.push_back({.place = one - work.first, .attempt = 1, .code = 1});
      }
      s.finish_range(id, work.count(), failures, milliseconds(1));
    }
  }
  ASSERT_EQ(s.status().array->failed, 2);
  ASSERT_TRUE(retry(s));
  s.offer_all();
  finish_range_but(s, s.running().begin()->first, {});  // one block is rewritten
  s.restart();
  s.subscribe();
  EXPECT_EQ(s.status().array->done, kMany - 1);
  EXPECT_EQ(s.status().array->failed, 0);
  run_to_the_end(s, {});
  EXPECT_TRUE(s.succeeded());
}

TEST(RetryOfAnArray, IsPossibleForADayAndThenItsResultsStay) {
  JobScenario s(JobScenario::array(3));
  s.agent("a", 1);
  s.subscribe();
  run_to_the_end(s, {1});
  s.restart();
  s.subscribe();
  EXPECT_NE(s.status().retry_until, Time());
  s.advance(kRetryFor + seconds(1));
  EXPECT_EQ(s.gathers().back(), (GatherForm{.commits = false, .keeps = false}));
  EXPECT_EQ(s.status().phase, proto::BatchPhase::kFailed);
  EXPECT_EQ(s.status().array->done, 2);
  EXPECT_FALSE(retry(s));
  EXPECT_THAT(s.told().back().job.error().message(), HasSubstr("stored any more"));
  EXPECT_EQ(s.store().size(), 2u);
}

// The last task has no disk space for the index. Finished results are in the lanes.
TEST(RetryOfAnArray, IsPossibleIfItsResultsCannotBeIndexed) {
  JobScenario s(JobScenario::array(10));
  s.holds_last_tasks();
  s.begins_on({{"a", 1}});
  const auto index = [&](bool is_done) {
    for (int round = 0; round < 50 && !s.over(); ++round) {
      s.advance(seconds(5));
      s.offer_all();
      for (const std::string& id : s.running_ids()) {
        if (id.starts_with("end")) {
          is_done ? s.finish(id) : s.fail(id, "no space left");
        } else {
          finish_range_but(s, id,
                           s.status().retries == 0 ? std::set<uint32_t>{4} : std::set<uint32_t>());
        }
      }
    }
  };
  index(false);
  ASSERT_EQ(s.status().phase, proto::BatchPhase::kFailed);
  EXPECT_THAT(s.error(), HasSubstr("1 of 10 elements failed"));
  EXPECT_THAT(s.error(), HasSubstr("cannot be indexed: no space left"));
  EXPECT_NE(s.status().retry_until, Time());
  ASSERT_TRUE(retry(s));
  EXPECT_EQ(s.status().array->done, 9);
  // The disk is still full when all elements are done.
  index(false);
  ASSERT_EQ(s.status().phase, proto::BatchPhase::kFailed);
  EXPECT_THAT(s.error(), HasSubstr("cannot be committed: no space left"));
  EXPECT_EQ(s.status().array->done, 10);
  ASSERT_TRUE(retry(s));
  index(true);
  EXPECT_TRUE(s.succeeded()) << s.error();
}

// The end of an element could not be stored. The element has done its work, so only a requested
// retry runs it again.
TEST(Array, AnElementWhoseEndIsLostRunsAgainOnlyIfAsked) {
  JobOrder order = JobScenario::array(3);
  order.array->retries = 2;
  JobScenario s(order);
  s.begins_on({{"a", 1}});
  const std::string id = s.running().begin()->first;
  ASSERT_EQ(s.work_of<RangeWork>(id).count(), 2u);
  const RangeResult result{.ended = 2,
                           .ran = 2,
                           .micros = 200'000,
                           .failures = {{.place = 1, .attempt = 1, .code = 0}},
                           .trouble = "writing: no space left",
                           .lost_last = true};
  s.end(id, State::kFinished, JobScenario::Reason::kNone, "", encode_range_result(result));
  EXPECT_EQ(s.status().array->done, 1);
  EXPECT_EQ(s.status().array->failed, 1);
  EXPECT_THAT(s.status().note, HasSubstr("no space left"));
  run_to_the_end(s, {});
  ASSERT_EQ(s.status().phase, proto::BatchPhase::kFailed);
  EXPECT_THAT(s.error(), HasSubstr("element 2 exited with 0: its end and its output could not be "
                                   "stored: writing: no space left"));
  ASSERT_TRUE(retry(s));
  EXPECT_EQ(run_to_the_end(s, {}), (std::map<uint32_t, int>{{1, 1}}));
  EXPECT_TRUE(s.succeeded()) << s.error();
}

// If a range stops early, its elements that ended well are done, and the others wait.
TEST(Array, ARangeThatStopsEarlyTellsWhatItHasDone) {
  JobScenario s(JobScenario::array(3));
  s.begins_on({{"a", 1}});
  const std::string id = s.running().begin()->first;
  const RangeResult result{.ended = 1, .ran = 1, .micros = 1'000, .trouble = "no room"};
  s.end(id, State::kFinished, JobScenario::Reason::kNone, "", encode_range_result(result));
  EXPECT_EQ(s.status().array->done, 1);
  EXPECT_EQ(s.status().array->failed_attempts, 0);
  EXPECT_THAT(s.status().note, HasSubstr("no room"));
  EXPECT_EQ(run_to_the_end(s, {}), (std::map<uint32_t, int>{{1, 1}, {2, 1}}));
  EXPECT_TRUE(s.succeeded());
}

TEST(RetryOfAnArray, OfOneThatFinishedIsRefused) {
  JobOrder order = JobScenario::array(3);
  order.array->failed_max = 1;
  JobScenario s(order);
  s.agent("a", 1);
  s.subscribe();
  run_to_the_end(s, {1});
  ASSERT_TRUE(s.succeeded());
  EXPECT_FALSE(retry(s));
  EXPECT_THAT(s.told().back().job.error().message(), HasSubstr("has finished"));
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
