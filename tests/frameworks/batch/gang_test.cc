// Gangs: all ranks run at the same time, or none does.

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frameworks/batch/core/jobs.h"
#include "tests/frameworks/batch/job_scenario.h"

namespace proffer::batch::gang_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using State = JobScenario::State;

JobOrder gang(uint32_t ranks, int32_t retries = 0, std::vector<int32_t> requeue_on = {}) {
  JobOrder order = JobScenario::array(ranks);
  order.array->indices = {{.first = 0, .step = 1, .count = ranks}};
  order.array->is_gang = true;
  order.array->retries = retries;
  order.array->requeue_on = std::move(requeue_on);
  return order;
}

struct Gang : JobScenario {
  explicit Gang(uint32_t ranks, int32_t retries = 0, std::vector<int32_t> requeue_on = {})
      : JobScenario(gang(ranks, retries, std::move(requeue_on))) {
    subscribe();
  }
  // Offers like the master: for the whole gang or not at all.
  int start(const std::vector<std::pair<std::string, int64_t>>& places) {
    proto::Offers offers;
    for (const auto& [agent, count] : places) {
      Offer offer{.id = OfferId(++made_), .agent = AgentId(agent)};
      offer.fills.push_back({AskName("job-1.range"), count});
      offer.gang = 7;
      offers.offers.push_back(offer);
    }
    const size_t before = running().size();
    notify(offers);
    return static_cast<int>(running().size() - before);
  }
  std::string environment(const std::string& id, const std::string& name) const {
    const proto::Environment env = work_of<RangeWork>(id).common.env;
    const auto found = env.find(name);
    return found == env.end() ? "" : found->second;
  }
  // Ends the tasks that were killed.
  void end_killed() {
    for (const std::string& id : running_ids()) {
      if (killed(id)) end(id, State::kKilled);
    }
  }
  void exits(const std::string& id, int32_t code) {
    const auto work = work_of<RangeWork>(id);
    const auto attempt = work.failures.at(0) + 1;
    finish_range(id, 1, {{.place = 0, .attempt = attempt, .code = code}});
  }

  uint64_t made_ = 1'000;
};

TEST(Gang, IsAskedForAsAWholeAndEachRankKnowsAll) {
  Gang s(3);
  ASSERT_EQ(s.asks().size(), 1u);
  EXPECT_EQ(s.asks().front().count, 3);
  EXPECT_EQ(s.asks().front().gang, 3);
  ASSERT_EQ(s.start({{"a", 2}, {"b", 1}}), 3);
  EXPECT_THAT(s.asks(), IsEmpty());
  const std::vector<std::string> ids = s.running_ids();
  for (size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(s.environment(ids[rank], "PROFFER_RANK"), std::to_string(rank));
    EXPECT_EQ(s.environment(ids[rank], "PROFFER_SIZE"), "3");
    EXPECT_EQ(s.environment(ids[rank], "PROFFER_HOSTS"), "a,a,b");
  }
  EXPECT_EQ(s.agent_of(ids[2]), "b");
  for (const std::string& id : ids) s.finish_range(id, 1);
  EXPECT_TRUE(s.succeeded());
  EXPECT_EQ(s.status().array->done, 3);
}

TEST(Gang, IsNotStartedInPart) {
  Gang s(3);
  EXPECT_EQ(s.start({{"a", 2}}), 0);
  EXPECT_EQ(s.asked("range"), 3);
  // An offer for an ask without a gang does not start it either.
  EXPECT_EQ(s.offer(AgentId("a"), AskName("range"), 3), 0);
}

TEST(Gang, IsBegunAgainAsAWholeIfOneFails) {
  Gang s(3, 1);
  s.start({{"a", 3}});
  const std::vector<std::string> first = s.running_ids();
  s.finish_range(first[0], 1);
  s.exits(first[1], 1);
  EXPECT_TRUE(s.killed(first[2]));
  EXPECT_THAT(s.asks(), IsEmpty());  // not while tasks of the first attempt remain
  s.end_killed();
  EXPECT_EQ(s.asked("range"), 3);
  ASSERT_EQ(s.start({{"b", 3}}), 3);
  for (const std::string& id : s.running_ids()) {
    EXPECT_EQ(s.work_of<RangeWork>(id).failures.at(0), 1);
    s.finish_range(id, 1);
  }
  EXPECT_TRUE(s.succeeded());
}

TEST(Gang, IsBegunAgainWithoutAFailedAttemptIfARankIsRequeued) {
  Gang s(2, 0, {99});
  for (int32_t round = 0; round < 3; ++round) {
    ASSERT_EQ(s.start({{"a", 2}}), 2) << round;
    s.exits(s.running_ids()[0], 99);
    s.end_killed();
    EXPECT_EQ(s.status().array->failed_attempts, 0);
    s.restart();
    s.subscribe();
  }
  ASSERT_EQ(s.start({{"a", 2}}), 2);
  for (const std::string& id : s.running_ids()) {
    EXPECT_GE(s.work_of<RangeWork>(id).failures.at(0), 3);
    s.finish_range(id, 1);
  }
  EXPECT_TRUE(s.succeeded());
}

TEST(Gang, HasFailedWhenItsAttemptsAreUsed) {
  Gang s(2);
  s.start({{"a", 2}});
  s.exits(s.running_ids()[1], 3);
  s.end_killed();
  ASSERT_TRUE(s.over());
  EXPECT_THAT(s.error(), HasSubstr("rank 1 exited with 3: oh"));
}

// A retry also repeats the ranks that had succeeded.
TEST(Gang, RunsAsAWholeWhenItIsRetried) {
  for (const bool is_cancelled : {false, true}) {
    SCOPED_TRACE(is_cancelled);
    Gang s(2);
    s.start({{"a", 2}});
    const std::vector<std::string> first = s.running_ids();
    s.finish_range(first[0], 1);
    is_cancelled ? s.cancel() : s.exits(first[1], 3);
    s.end_killed();
    ASSERT_TRUE(s.over());
    s.handle(Request{.relay = 3, .what = Retry{s.id()}, .by = {.user = "ada"}});
    ASSERT_TRUE(s.told().back().job);
    EXPECT_EQ(s.status().array->done, 0);
    ASSERT_EQ(s.start({{"a", 2}}), 2);
    for (const std::string& id : s.running_ids()) {
      // for each rank, only the last attempt counts
      EXPECT_EQ(s.work_of<RangeWork>(id).failures.at(0), 1'000);
      s.finish_range(id, 1);
    }
    EXPECT_TRUE(s.succeeded());
  }
}

TEST(Gang, LosesNoAttemptWithAnAgent) {
  Gang s(2);
  s.start({{"a", 1}, {"b", 1}});
  std::vector<std::string> ids = s.running_ids();
  s.end(ids[0], State::kLost);
  EXPECT_TRUE(s.killed(ids[1]));
  s.end_killed();
  s.start({{"b", 2}});
  ids = s.running_ids();
  // An unreachable rank does not delay the next attempt.
  s.unreachable(ids[0]);
  s.end_killed();
  ASSERT_EQ(s.start({{"c", 2}}), 2);
  for (const std::string& id : s.running_ids()) {
    if (s.agent_of(id) == "c") s.finish_range(id, 1);
  }
  EXPECT_TRUE(s.succeeded());
}

TEST(Gang, GoesOnInTheNextLifeOfTheSchedulerIfAllOfItRuns) {
  Gang s(3);
  s.start({{"a", 3}});
  const std::vector<std::string> ids = s.running_ids();
  s.finish_range(ids[0], 1);
  s.restart();
  s.subscribe();
  EXPECT_THAT(s.asks(), IsEmpty());
  s.finish_range(ids[1], 1);
  s.finish_range(ids[2], 1);
  EXPECT_TRUE(s.succeeded());
}

TEST(Gang, IsBegunAgainByTheNextLifeIfAPartIsGone) {
  Gang s(3);
  s.start({{"a", 3}});
  const std::vector<std::string> ids = s.running_ids();
  s.restart();
  s.forget(ids[1]);
  s.subscribe();
  EXPECT_TRUE(s.killed(ids[0]));
  s.end_killed();
  EXPECT_EQ(s.asked("range"), 3);
  ASSERT_EQ(s.start({{"a", 3}}), 3);
  for (const std::string& id : s.running_ids()) s.finish_range(id, 1);
  EXPECT_TRUE(s.succeeded());
}

// Agents return one after another: first one rank's end is reported, later that another rank runs.
TEST(Gang, EndsRanksThatAreToldOfAfterTheirGangIsBroken) {
  Gang s(2);
  ASSERT_EQ(s.start({{"a", 1}, {"b", 1}}), 2);
  const std::vector<std::string> ids = s.running_ids();
  s.restart();
  s.notify(proto::Subscribed{.framework = FrameworkId("batch-1-1"), .session = SessionEpoch(9)});
  s.notify(sdk::AllTasksKnown{});
  s.end(ids[0], State::kLost);
  s.status(ids[1], AgentId("b"), State::kRunning);
  EXPECT_TRUE(s.killed(ids[1]));
  s.end_killed();
  ASSERT_EQ(s.start({{"a", 2}}), 2);
  for (const std::string& id : s.running_ids()) s.finish_range(id, 1);
  EXPECT_TRUE(s.succeeded());
}

// A rank's failure was stored, but the acknowledgement of its end was lost with the scheduler.
TEST(Gang, LosesOneAttemptHoweverOftenItsFailureIsTold) {
  Gang s(2, 1);
  ASSERT_EQ(s.start({{"a", 2}}), 2);
  const std::string first = s.running_ids().front();
  s.end(first, State::kFailed);
  s.end_killed();
  for (int life = 0; life < 3; ++life) {
    s.restart();
    s.notify(proto::Subscribed{.framework = FrameworkId("batch-1-1"), .session = SessionEpoch(9)});
    s.status(first, AgentId("a"), State::kFailed);
    s.notify(sdk::AllTasksKnown{});
  }
  EXPECT_FALSE(s.over()) << s.error();
  ASSERT_EQ(s.start({{"a", 2}}), 2);
  s.end(s.running_ids().front(), State::kFailed);
  s.end_killed();
  ASSERT_TRUE(s.over());
  EXPECT_THAT(s.error(), HasSubstr("cannot be run"));
}

TEST(Gang, OfTooManyRanksIsRefused) {
  EXPECT_THAT(check_order(gang(257)).error().message(), HasSubstr("from 1 to 256 ranks"));
  JobOrder order = gang(2);
  order.array->at_once = 1;
  EXPECT_THAT(check_order(order).error().message(), HasSubstr("a gang cannot have at_once"));
  EXPECT_EQ(*decode_order(encode_order(gang(2))), gang(2));
}

}  // namespace
}  // namespace proffer::batch::gang_test
