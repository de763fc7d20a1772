// Stories of the batch scheduler: its state across restarts, and its users.

#include "frameworks/batch/core/jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frameworks/batch/core/plan.h"
#include "frameworks/batch/core/records.h"
#include "tests/frameworks/batch/job_scenario.h"

namespace proffer::batch::jobs_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using State = JobScenario::State;

TEST(Restart, RepeatsNoMapThatHasFinishedOrRuns) {
  JobScenario s(3, 1);
  s.begins_on({{"a", 2}});
  s.finish("map-00000-1");
  EXPECT_EQ(s.unacknowledged(), 0u);  // the submission is stored
  s.restart();
  s.subscribe();
  EXPECT_EQ(s.status().map.done, 1);
  EXPECT_EQ(s.status().map.running, 1);
  s.offer_all();
  EXPECT_THAT(s.running_ids(), ElementsAre("map-00001-1", "map-00002-1001"));
  s.finish_all();
  s.offer_all();
  const auto reduce = s.work_of<ReduceWork>("reduce-00000-1001");
  EXPECT_THAT(reduce.maps, ElementsAre(MapOutput{0, 1}, MapOutput{0, 1}, MapOutput{0, 1'001}));
  s.finish_all();
  EXPECT_TRUE(s.succeeded());
  EXPECT_EQ(s.status().map.records_in, 30);
}

TEST(Restart, LaunchesNothingBeforeItKnowsWhatRuns) {
  JobScenario s(2, 0);
  s.begins_on({{"a", 1}});
  s.restart();
  s.notify(proto::Subscribed{.framework = FrameworkId("batch-1-1"), .session = SessionEpoch(9)});
  EXPECT_TRUE(s.asks().empty());
  s.status("map-00000-1", AgentId("a"), State::kRunning);
  EXPECT_TRUE(s.asks().empty());
  s.notify(sdk::AllTasksKnown{});
  EXPECT_EQ(s.asked("map"), 1);
}

TEST(Restart, AtAnyStepEndsTheSameWay) {
  for (int at = 0; at < 12; ++at) {
    SCOPED_TRACE(at);
    JobScenario s(2, 2);
    s.agent("a", 1);
    s.agent("b", 1);
    s.subscribe();
    for (int step = 0; step < 30 && !s.over(); ++step) {
      if (step == at) {
        s.restart();
        s.subscribe();
      }
      s.offer_all();
      if (!s.running().empty()) s.finish(s.running().begin()->first);
    }
    EXPECT_TRUE(s.succeeded());
    EXPECT_EQ(s.status().map.bytes_in, 2'000);
    EXPECT_EQ(s.status().reduce.done, 2);
    s.restart();
    s.subscribe();
    EXPECT_TRUE(s.succeeded());       // the end is still known
    EXPECT_EQ(s.store().size(), 2u);  // the ended job and the scheduler itself
  }
}

TEST(Restart, KeepsHowOftenATaskHasFailed) {
  JobScenario s(1, 0);
  s.agent("a", 1);
  s.subscribe();
  for (int attempt = 1; attempt <= 4; ++attempt) {
    s.advance(seconds(2));
    s.offer_all();
    ASSERT_EQ(s.running().size(), 1u);
    s.fail(s.running().begin()->first, "no");
    if (attempt == 4) break;
    s.restart();
    s.subscribe();
  }
  EXPECT_THAT(s.error(), HasSubstr("failed as attempt 4"));
}

// A failure was stored, but the acknowledgement of the end was lost with the scheduler.
TEST(Restart, CountsAFailureOnceHoweverOftenItIsTold) {
  JobScenario s(1, 0);
  s.begins_on({{"a", 1}});
  s.fail("map-00000-1", "no");
  for (int life = 0; life < 5; ++life) {
    s.restart();
    s.notify(proto::Subscribed{.framework = FrameworkId("batch-1-1"), .session = SessionEpoch(9)});
    s.status("map-00000-1", AgentId("a"), State::kFailed);
    s.notify(sdk::AllTasksKnown{});
  }
  EXPECT_FALSE(s.over()) << s.error();
  s.advance(seconds(2));
  s.offer_all();
  ASSERT_EQ(s.running().size(), 1u);
  s.fail(s.running().begin()->first, "no");
  EXPECT_FALSE(s.over()) << s.error();
}

// Reduces fetch map outputs until the job ends.
TEST(ReleasedFiles, AreThoseOfAJobThatHasEndedOnTheAgentsOfItsTasks) {
  JobScenario s(2, 1);
  s.begins_on({{"a", 1}, {"b", 1}, {"c", 0}});
  s.finish_all();
  s.offer_all();
  EXPECT_THAT(s.released(), IsEmpty());
  s.finish_all();
  ASSERT_TRUE(s.succeeded());
  // agent `anybody` ran the last task
  EXPECT_THAT(s.released(), ElementsAre("job-1. a anybody b"));
}

TEST(ReleasedFiles, OfAnArrayAreThoseOfItsRanges) {
  JobScenario s(JobScenario::array(10));
  s.agent("a", 1);
  s.agent("b", 1);
  s.subscribe();
  while (!s.over()) {
    s.offer_all();
    s.finish_all();
  }
  EXPECT_THAT(s.released(), ElementsAre("job-1. a anybody b"));
}

TEST(ReleasedFiles, OfAnArrayThatWasCancelledAreThoseToo) {
  JobScenario s(JobScenario::array(10));
  s.begins_on({{"a", 2}});
  s.cancel();
  EXPECT_THAT(s.released(), IsEmpty());
  s.cancel();  // a cancelled job cannot be retried
  EXPECT_THAT(s.released(), ElementsAre("job-1. everywhere"));
}

// A retry fetches map outputs of the first try.
TEST(ReleasedFiles, AreNotThoseOfAJobThatCanBeRetried) {
  JobScenario s(2, 1);
  s.begins_on({{"a", 1}});
  s.finish_all();
  s.cancel();
  EXPECT_THAT(s.released(), IsEmpty());
  s.restart();
  s.subscribe();
  EXPECT_THAT(s.released(), IsEmpty());
  s.handle(Request{.relay = 3, .what = Retry{s.id()}, .by = {.user = "ada"}});
  s.offer_all();
  s.cancel();
  EXPECT_THAT(s.released(), IsEmpty());
  s.cancel();  // its record is gone
  EXPECT_THAT(s.released(), ElementsAre("job-1. everywhere"));
}

TEST(ReleasedFiles, AreThoseOfEachTryOfAJob) {
  JobScenario s(2, 0);
  s.begins_on({{"a", 1}});
  s.finish_all();
  s.cancel();
  s.handle(Request{.relay = 3, .what = Retry{s.id()}, .by = {.user = "ada"}});
  s.agent_ends("a");
  s.agent("b", 1);
  s.offer_all();
  EXPECT_THAT(s.released(), IsEmpty());
  s.finish_all();
  ASSERT_TRUE(s.succeeded());
  EXPECT_THAT(s.released(), ElementsAre("job-1. everywhere"));
}

// The agents of tasks that an earlier process launched are not stored.
TEST(ReleasedFiles, AreToldEverywhereAfterARestart) {
  JobScenario s(2, 0);
  s.begins_on({{"a", 1}});
  s.restart();
  s.subscribe();
  EXPECT_THAT(s.released(), IsEmpty());
  while (!s.over()) {
    s.finish_all();
    s.offer_all();
  }
  EXPECT_THAT(s.released(), ElementsAre("job-1. everywhere"));
  s.restart();
  s.subscribe();
  // the release may not have been sent
  EXPECT_THAT(s.released(), ElementsAre("job-1. everywhere"));
  s.advance(hours(2));
  s.restart();
  s.subscribe();
  EXPECT_THAT(s.released(), IsEmpty());
}

TEST(ReleasedFiles, OfATaskThatEndsAfterItsJobAreThoseToo) {
  JobScenario s(2, 0);
  s.begins_on({{"a", 1}, {"b", 1}});
  const std::string late = s.running_ids().front();
  const std::string at = s.agent_of(late);
  s.unreachable(late);
  s.agent_ends(at);
  while (!s.over()) {
    s.offer_all();
    for (const std::string& id : s.running_ids()) {
      if (id != late) s.finish(id);
    }
  }
  s.released();
  s.returns(late);
  EXPECT_TRUE(s.killed(late));
  EXPECT_THAT(s.released(), IsEmpty());
  s.end(late, State::kKilled);
  EXPECT_THAT(s.released(), ElementsAre(text("job-1. ", at)));
}

TEST(Cancel, EndsTheTasksAndRemovesTheOutput) {
  JobScenario s(3, 1);
  s.begins_on({{"a", 2}});
  s.cancel();
  EXPECT_EQ(s.status().phase, proto::BatchPhase::kCancelled);
  EXPECT_TRUE(s.running().empty());
  EXPECT_THAT(s.error(), HasSubstr("ada"));
  ASSERT_EQ(s.told().size(), 2u);
  EXPECT_EQ(s.told()[1].job->phase, proto::BatchPhase::kRemoving);
}

// --- retry -------------------------------------------------------------------------------------

// Two maps and a reduce; the second map fails for good.
class RetryOfAJob : public ::testing::Test {
 protected:
  void SetUp() override {
    s_.begins_on({{"a", 1}});
    s_.finish("map-00000-1");
    fail_for_good("map-00001");
    ASSERT_EQ(s_.status().phase, proto::BatchPhase::kFailed);
  }
  void fail_for_good(const std::string& task) {
    for (int attempt = 0; attempt < 4; ++attempt) {
      s_.advance(seconds(2));
      s_.offer_all();
      ASSERT_EQ(s_.running().size(), 1u);
      const std::string id = s_.running().begin()->first;
      ASSERT_TRUE(id.starts_with(task)) << id;
      s_.fail(id, "no");
    }
  }
  const Answer& retry() {
    s_.handle(Request{.relay = 3, .what = Retry{s_.id()}, .by = {.user = "ada"}});
    return s_.told().back();
  }

  JobScenario s_ = JobScenario(2, 1);
};

TEST_F(RetryOfAJob, DoesWhatIsMissingAndNothingElse) {
  EXPECT_EQ(s_.status().failed_task, "job-1.map-00001-4");
  EXPECT_EQ(s_.status().retry_until, s_.status().ended_at + kRetryFor);
  EXPECT_EQ(s_.ends(), std::vector{EndWork::Kind::kSetAside});
  ASSERT_TRUE(retry().job);
  EXPECT_EQ(s_.status().phase, proto::BatchPhase::kMap);
  EXPECT_EQ(s_.status().map.done, 1);
  s_.offer_all();
  EXPECT_THAT(s_.running_ids(), ElementsAre("map-00001-1001"));
  const auto work = s_.work_of<MapWork>("map-00001-1001");
  EXPECT_EQ(work.common.output, aside_directory("/out", s_.id(), "plan"));
  s_.finish_all();
  s_.offer_all();
  EXPECT_THAT(s_.work_of<ReduceWork>("reduce-00000-1001").maps,
              ElementsAre(MapOutput{0, 1}, MapOutput{0, 1'001}));
  s_.finish_all();
  EXPECT_TRUE(s_.succeeded());
  EXPECT_EQ(s_.status().map.records_in, 20);
  EXPECT_EQ(s_.ends().back(), EndWork::Kind::kCommit);
  EXPECT_EQ(s_.store().size(), 2u);  // the ended job and the scheduler itself
  ASSERT_FALSE(retry().job);
  EXPECT_THAT(s_.told().back().job.error().message(), HasSubstr("has finished"));
}

TEST_F(RetryOfAJob, HasItsAttemptsAnewAndCanBeRetriedAgain) {
  ASSERT_TRUE(retry().job);
  fail_for_good("map-00001");
  EXPECT_EQ(s_.status().phase, proto::BatchPhase::kFailed);
  EXPECT_EQ(s_.status().failed_task, "job-1.map-00001-1004");
  ASSERT_TRUE(retry().job);
  s_.restart();
  s_.subscribe();
  s_.offer_all();
  EXPECT_EQ(s_.status().map.done, 1);
  s_.finish_all();
  s_.offer_all();
  s_.finish_all();
  EXPECT_TRUE(s_.succeeded());
}

TEST_F(RetryOfAJob, IsPossibleAfterARestartAndForADay) {
  s_.restart();
  s_.subscribe();
  EXPECT_EQ(s_.status().phase, proto::BatchPhase::kFailed);
  EXPECT_EQ(s_.status().retry_until, s_.status().ended_at + kRetryFor);
  EXPECT_TRUE(s_.asks().empty());
  s_.advance(kRetryFor - seconds(1));
  EXPECT_EQ(s_.ends().size(), 1u);
  s_.advance(seconds(2));
  EXPECT_EQ(s_.ends().back(), EndWork::Kind::kRemove);
  EXPECT_EQ(s_.status().phase, proto::BatchPhase::kFailed);
  EXPECT_EQ(s_.status().retry_until, Time());
  EXPECT_EQ(s_.store().size(), 2u);
  ASSERT_FALSE(retry().job);
  EXPECT_THAT(s_.told().back().job.error().message(), HasSubstr("stored any more"));
}

TEST_F(RetryOfAJob, IsGivenUpByCancellingWhatHasEnded) {
  s_.cancel();
  EXPECT_EQ(s_.ends().back(), EndWork::Kind::kRemove);
  EXPECT_EQ(s_.status().phase, proto::BatchPhase::kFailed);
  EXPECT_FALSE(retry().job);
}

TEST(RetryOfJobs, OfOneThatRunsOrIsUnknownIsRefused) {
  JobScenario s(1, 0);
  s.begins_on({{"a", 1}});
  for (const std::string job : {"job-1", "job-2"}) {
    s.handle(Request{.relay = 3, .what = Retry{JobId(job)}, .by = {.user = "ada"}});
    EXPECT_FALSE(s.told().back().job);
  }
  EXPECT_TRUE(s.runs("map-00000-1"));
}

TEST(RetryOfJobs, KeepsWhatFinishedWhileTheJobEnded) {
  JobScenario s(2, 0);
  s.begins_on({{"a", 2}});
  s.finishes_when_killed("map-00000-1");
  s.cancel();
  EXPECT_EQ(s.status().phase, proto::BatchPhase::kCancelled);
  EXPECT_EQ(s.status().map.done, 1);
  s.handle(Request{.relay = 3, .what = Retry{s.id()}, .by = {.user = "ada"}});
  s.offer_all();
  EXPECT_THAT(s.running_ids(), ElementsAre("map-00001-1001"));
}

// --- several users -----------------------------------------------------------------------------

// A scheduler with several users, and a store that accepts everything.
class ManyJobs : public ::testing::Test {
 protected:
  void SetUp() override { subscribe(); }

  void subscribe() {
    handle(sdk::Notification(proto::Subscribed{.framework = FrameworkId("batch-1-1")}));
    handle(sdk::Notification(sdk::AllTasksKnown{}));
  }
  void handle(const JobsEvent& event) {
    std::deque<JobsEvent> events = {event};
    while (!events.empty()) {
      JobsOutbox out;
      jobs_.handle(events.front(), Time::from_nanos(1), out);
      events.pop_front();
      for (const sdk::Command& command : out.commands) {
        if (const auto* asks = std::get_if<proto::DeclareAsks>(&command)) asks_ = asks->asks;
        const auto* request = std::get_if<proto::StoreRequest>(&command);
        if (request == nullptr) continue;
        proto::StoreResult result{.id = request->id};
        result.outcomes.resize(request->operations.size());
        events.push_back(sdk::Notification(result));
      }
      for (const Answer& answer : out.answers) answers_.push_back(answer);
    }
  }
  Result<proto::BatchJob> ask(decltype(Request::what) what, const Caller& by) {
    answers_.clear();
    handle(Request{.relay = ++relays_, .what = std::move(what), .by = by});
    EXPECT_EQ(answers_.size(), 1u);
    return answers_.empty() ? proto::BatchJob() : answers_.back().job;
  }
  Result<proto::BatchJob> submit(const std::string& user, int32_t priority = 0,
                                 const std::string& role = "") {
    JobOrder order = JobScenario::order(1, 0);
    order.plan = text("plan", relays_);
    order.priority = priority;
    return ask(Submit{.order = order, .role = RoleName(role)}, {.user = user});
  }
  std::vector<proto::BatchJob> list(const std::string& user) {
    return jobs_.list({.user = user}, true, {}, 1'000, Time());
  }
  int64_t running_of(const std::string& user) {
    int64_t count = 0;
    for (const proto::BatchJob& job : list(user)) {
      count += job.owner == user && job.phase == proto::BatchPhase::kMap;
    }
    return count;
  }

  Jobs jobs_ = Jobs({.role = RoleName("team"), .serves_users = true});
  std::vector<Ask> asks_;
  std::vector<Answer> answers_;
  uint64_t relays_ = 0;
};

TEST_F(ManyJobs, AreChargedToARoleOfTheirUserUnlessOneIsNamed) {
  EXPECT_EQ(submit("ada")->role, RoleName("team/ada"));
  EXPECT_EQ(submit("ada", 0, "team/night")->role, RoleName("team/night"));
  EXPECT_EQ(submit("no role!")->role, RoleName("team"));
  ASSERT_EQ(asks_.size(), 3u);
  EXPECT_EQ(asks_[0].role, RoleName("team/ada"));
}

TEST_F(ManyJobs, OfOthersShowNothingPrivateAndCannotBeEnded) {
  const std::string job = submit("ada")->job;
  const auto seen = ask(WatchJob{.job = JobId(job)}, {.user = "eve"});
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->owner, "ada");
  EXPECT_EQ(seen->output, "");
  EXPECT_EQ(list("eve")[0].output, "");
  EXPECT_EQ(list("ada")[0].output, "/out");
  const auto refused = ask(Cancel{JobId(job)}, {.user = "eve"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kPermissionDenied);
  const auto retry = ask(Retry{JobId(job)}, {.user = "eve"});
  ASSERT_FALSE(retry);
  EXPECT_EQ(retry.error().code(), ErrorCode::kPermissionDenied);
  EXPECT_TRUE(ask(Cancel{JobId(job)}, {.user = "root", .is_operator = true}));
}

TEST_F(ManyJobs, OfAUserWhoHasManyWaitWithoutHoldingOthersBack) {
  for (size_t i = 0; i < kJobsPerUserMax; ++i) ASSERT_TRUE(submit("ada"));
  EXPECT_EQ(running_of("ada"), static_cast<int64_t>(kJobsRunningMax));
  EXPECT_LE(asks_.size(), kAsksMax);
  const auto one_more = submit("ada");
  ASSERT_FALSE(one_more);
  EXPECT_EQ(one_more.error().code(), ErrorCode::kResourceExhausted);
  const std::string of_bob = submit("bob")->job;
  const std::string urgent = submit("bob", 5)->job;
  // Bob gets the next free place, for his job with the highest priority.
  ASSERT_TRUE(ask(Cancel{JobId("job-1")}, {.user = "ada"}));
  EXPECT_EQ(ask(WatchJob{.job = JobId(urgent)}, {.user = "bob"})->phase, proto::BatchPhase::kMap);
  EXPECT_EQ(ask(WatchJob{.job = JobId(of_bob)}, {.user = "bob"})->phase,
            proto::BatchPhase::kQueued);
}

// Otherwise a release of the files of words-7 would include those of job words-7.x-8.
TEST_F(ManyJobs, HaveNoIdThatBeginsAsTasksOfAnotherDo) {
  JobOrder order = JobScenario::order(1, 0);
  order.name = "words-7.x";
  EXPECT_EQ(ask(Submit{.order = order, .role = {}}, {.user = "ada"})->job, "words-7_x-1");
}

TEST_F(ManyJobs, WithTheSamePlanAreOne) {
  JobOrder order = JobScenario::order(1, 0);
  const auto first = ask(Submit{.order = order, .role = {}}, {.user = "ada"});
  const auto again = ask(Submit{.order = order, .role = {}}, {.user = "ada"});
  EXPECT_EQ(first->job, again->job);
  EXPECT_NE(ask(Submit{.order = order, .role = {}}, {.user = "bob"})->job, first->job);
}

// --- records -----------------------------------------------------------------------------------

TEST(Records, ComeBackAsTheyWere) {
  OrderRecord order{.order = JobScenario::order(7, 2), .owner = "ada", .number = 9};
  order.order.role = RoleName("team/ada");
  order.order.env["A"] = "b\n";
  order.order.fetch.push_back({.uri = "https://host/x", .is_executable = true});
  order.submitted_at = Time::from_nanos(12);
  order.order.map_accepts = {1, 125};
  order.order.fail_if_impossible = true;
  EXPECT_TRUE(*decode_order_record(encode(order)) == order);
  BlockRecord block;
  block.tasks[3] = {.failures = 2};
  block.tasks[200] = {.winner = 1'001,
                      .cpu = milliseconds(1'500),
                      .agent = AgentId("a"),
                      .result = {.bytes_in = 5}};
  EXPECT_TRUE(*decode_block(encode(block)) == block);
  block.tasks[3].is_counted = true;
  block.counters = {{{"words", "long"}, -5}};
  EXPECT_TRUE(*decode_block(encode(block)) == block);
  block.tasks[3].last_failed = 1'002;
  EXPECT_TRUE(*decode_block(encode(block)) == block);
  ElementsRecord gang{.done = {false, false}, .failed = {false, false}, .failures = {{0, 1}}};
  EXPECT_TRUE(*decode_elements(encode(gang)) == gang);
  gang.last_failed = 8'003;
  EXPECT_TRUE(*decode_elements(encode(gang)) == gang);
  const StateRecord state{.started_at = Time::from_nanos(1),
                          .retries = 3,
                          .outcome = Outcome{.phase = proto::BatchPhase::kFailed,
                                             .error = "e",
                                             .failed_task = "job-1.map-00000-4",
                                             .is_kept = true}};
  EXPECT_TRUE(*decode_state(encode(state)) == state);
  EndedRecord ended;
  ended.job.job = "job-1";
  ended.job.phase = proto::BatchPhase::kCancelled;
  ended.job.map.bytes_out = 77;
  ended.job.reduce.cpu = seconds(9);
  ended.job.failed_task = "job-1.reduce-00000-4";
  EXPECT_TRUE(*decode_ended(encode(ended)) == ended);
  ElementsRecord elements{.done = {true, false, false},
                          .failed = {false, true, false},
                          .failures = {{2, 1}},
                          .failed_attempts = 4};
  EXPECT_TRUE(*decode_elements(encode(elements)) == elements);
  elements.retries = 2;
  EXPECT_TRUE(*decode_elements(encode(elements)) == elements);
  ended.job.counters = {{.group = "words", .name = "long", .amount = -5}};
  EXPECT_TRUE(*decode_ended(encode(ended)) == ended);
}

TEST(Records, OfAFullBlockKeepTheirBound) {
  BlockRecord block;
  for (uint32_t i = 0; i < kBlockTasks; ++i) {
    block.tasks[50'000 - kBlockTasks + i] = {.winner = 4'000'000'000,
                                             .failures = 100,
                                             .cpu = hours(24),
                                             .agent = AgentId("agent"),
                                             .result = {.records_in = int64_t{1} << 40,
                                                        .bytes_in = int64_t{1} << 45,
                                                        .records_out = int64_t{1} << 40,
                                                        .bytes_out = int64_t{1} << 45}};
  }
  EXPECT_LE(encode(block).size(), kBlockTasks * kTaskRecordBytes);
}

}  // namespace
}  // namespace proffer::batch::jobs_test
