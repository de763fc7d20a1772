// Speculative copies of slow tasks: the first attempt that finishes wins.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/prng.h"
#include "tests/frameworks/batch/job_scenario.h"

namespace proffer::batch::speculation_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using State = proto::TaskState;

// Four maps on two agents. Those on "fast" finish after a second; those on "slow" do not report.
class SlowAgent : public ::testing::Test {
 protected:
  explicit SlowAgent(JobOrder order = JobScenario::order(4, 1)) : s(std::move(order)) {
    s.begins_on({{"fast", 2}, {"slow", 2}});
    s.advance(seconds(1));
    for (const std::string& id : s.running_ids()) {
      if (s.agent_of(id) == "fast") s.finish(id);
    }
    slow_ = s.running_ids();
  }
  // Runs until the tasks on "slow" have copies.
  void copy() {
    s.advance(seconds(5));
    s.offer_all();
  }

  JobScenario s;
  std::vector<std::string> slow_;
};

}  // namespace

TEST_F(SlowAgent, HasItsTasksDoneElsewhere) {
  EXPECT_EQ(s.asked("map-copy"), 0);
  copy();
  ASSERT_EQ(s.running().size(), 4U);
  for (const auto& [id, task] : s.running()) {
    const bool is_copy = id.ends_with("-2");
    EXPECT_EQ(task.agent.str(), is_copy ? "fast" : "slow") << id;
  }
  EXPECT_EQ(s.status().map.running, 2);
  EXPECT_EQ(s.status().map.copies, 2);
  for (const std::string& id : s.running_ids()) {
    if (id.ends_with("-2")) s.finish(id);
  }
  for (const std::string& id : slow_) EXPECT_TRUE(s.killed(id)) << id;
  EXPECT_EQ(s.status().map.done, 4);
  EXPECT_EQ(s.status().map.copies, 0);
  // Reduces read the outputs of the copies.
  s.agent("fast", 3);
  s.offer_all();
  const auto reduce = s.work_of<ReduceWork>("reduce-00000-1");
  EXPECT_EQ(reduce.addresses, std::vector<std::string>{"fast:5081"});
  s.finish("reduce-00000-1");
  EXPECT_TRUE(s.succeeded());
  EXPECT_EQ(s.status().map.failed, 0);
}

TEST_F(SlowAgent, ThatFinishesFirstAfterAllHasTheCopyKilled) {
  copy();
  s.finish(slow_[0]);
  const std::string copy = slow_[0].substr(0, slow_[0].size() - 1) + "2";
  EXPECT_TRUE(s.killed(copy));
  s.end(copy, State::kKilled);
  EXPECT_EQ(s.status().map.done, 3);
  EXPECT_EQ(s.status().map.copies, 1);
  EXPECT_EQ(s.status().map.failed, 0);
}

TEST_F(SlowAgent, GetsNoCopiesItself) {
  s.agent_ends("fast");
  s.agent("slow", 8);
  s.advance(seconds(10));
  EXPECT_GT(s.asked("map-copy"), 0);
  EXPECT_EQ(s.offer_all(), 0);
  EXPECT_EQ(s.offer(AgentId("slow"), AskName("map-copy"), 2), 0);
}

TEST_F(SlowAgent, ThatIsLostLeavesTheCopyAsTheTask) {
  copy();
  for (const std::string& id : slow_) s.unreachable(id);
  EXPECT_EQ(s.status().map.running, 2);
  EXPECT_EQ(s.status().map.copies, 0);
  EXPECT_EQ(s.asked("map"), 0);
  // It is back, and is not needed.
  s.returns(slow_[0]);
  EXPECT_TRUE(s.killed(slow_[0]));
}

TEST_F(SlowAgent, WhoseTaskFailsLeavesTheCopyAsTheTask) {
  copy();
  s.fail(slow_[0], "no");
  EXPECT_EQ(s.status().map.failed, 1);
  EXPECT_EQ(s.asked("map"), 0);
  EXPECT_EQ(s.asked("map-elsewhere"), 0);
  const std::string copy = slow_[0].substr(0, slow_[0].size() - 1) + "2";
  s.fail(copy, "no");
  EXPECT_EQ(s.asked("map-elsewhere"), 1);
  EXPECT_EQ(s.status().map.failed, 2);
}

TEST_F(SlowAgent, WhoseTasksCopyIsLostMayHaveAnother) {
  copy();
  const std::string stem = slow_[0].substr(0, slow_[0].size() - 1);
  s.end(stem + "2", State::kLost);
  EXPECT_EQ(s.status().map.copies, 1);
  s.advance(seconds(5));
  s.offer_all();
  EXPECT_TRUE(s.runs(stem + "3"));
}

TEST_F(SlowAgent, IsWaitedForIfTheMasterHasTheOnlyCopiesKilled) {
  copy();
  for (const std::string& id : s.running_ids()) {
    if (id.ends_with("-2")) s.end(id, State::kKilled, proto::TaskReason::kRevoked);
  }
  EXPECT_EQ(s.running_ids(), slow_);
  for (const std::string& id : slow_) s.finish(id);
  EXPECT_EQ(s.status().map.done, 4);
  EXPECT_EQ(s.status().map.failed, 0);
}

TEST_F(SlowAgent, OfACancelledJobHasAllAttemptsKilled) {
  copy();
  s.cancel();
  EXPECT_TRUE(s.over());
  EXPECT_THAT(s.running_ids(), IsEmpty());
}

TEST_F(SlowAgent, IsKnownAgainAfterARestart) {
  copy();
  s.restart();
  s.subscribe();
  // One of the two attempts continues.
  int killed = 0;
  for (const auto& [id, task] : s.running()) killed += task.kill_asked;
  EXPECT_EQ(killed, 2);
  EXPECT_EQ(s.status().map.running, 2);
  for (const std::string& id : s.running_ids()) {
    if (s.killed(id)) {
      s.end(id, State::kKilled);
    } else {
      s.finish(id);
    }
  }
  EXPECT_EQ(s.status().map.done, 4);
}

namespace {
class SlowAgentOfAJobWithoutCopies : public SlowAgent {
 protected:
  static JobOrder order() {
    JobOrder order = JobScenario::order(4, 1);
    order.speculates = false;
    return order;
  }
  SlowAgentOfAJobWithoutCopies() : SlowAgent(order()) {}
};
}  // namespace

TEST_F(SlowAgentOfAJobWithoutCopies, IsWaitedFor) {
  s.advance(minutes(10));
  EXPECT_EQ(s.asked("map-copy"), 0);
  EXPECT_EQ(s.deadline(), std::nullopt);
}

TEST(Speculation, WaitsUntilNoTaskWantsAnAgent) {
  JobScenario s(5, 1);
  s.begins_on({{"fast", 2}, {"slow", 2}});
  s.advance(seconds(1));
  std::string last;
  for (const std::string& id : s.running_ids()) {
    if (s.agent_of(id) == "fast") s.finish(id);
  }
  s.advance(seconds(30));
  EXPECT_EQ(s.asked("map"), 1);
  EXPECT_EQ(s.asked("map-copy"), 0);
}

// The slots of the last wave become free one after another: a copy may be asked for at once.
TEST(Speculation, BeginsAtOnceWhenTheLastTaskIsLaunched) {
  JobScenario s(6, 1);
  s.begins_on({{"fast", 2}, {"slow", 1}});
  for (int wave = 0; wave < 2; ++wave) {
    s.advance(seconds(2));
    for (const std::string& id : s.running_ids()) {
      if (s.agent_of(id) == "fast") s.finish(id);
    }
    EXPECT_EQ(s.asked("map-copy"), 0);
    s.offer_all();
  }
  ASSERT_EQ(s.asked("map"), 0);
  s.advance(Duration());
  EXPECT_EQ(s.asked("map-copy"), 1);
}

// The last task is lost and launched repeatedly, and each launch could cause a comparison. A
// comparison costs time for each running task.
TEST(Speculation, ComparesAtMostOnceASecond) {
  JobScenario s(3, 1);
  s.begins_on({{"fast", 2}, {"slow", 1}});
  s.advance(seconds(1));
  const Time compared = s.now();
  for (int i = 0; i < 3; ++i) {
    for (const std::string& id : s.running_ids()) {
      if (s.agent_of(id) != "fast") continue;
      s.end(id, State::kLost);
      break;
    }
    s.offer_all();
    ASSERT_TRUE(s.deadline());
    EXPECT_EQ(*s.deadline(), compared + seconds(1));
    s.advance(milliseconds(100));
  }
}

TEST(Speculation, FollowsWhatExecutorsTell) {
  JobScenario s(4, 1);
  s.begins_on({{"a", 4}});
  s.agent("b", 2);
  s.advance(seconds(10));
  const auto tell = [&](const std::string& id, int64_t percent) {
    s.notify(proto::FrameworkMessage{.agent = AgentId(s.agent_of(id)),
                                     .executor = ExecutorId("job-1." + id),
                                     .to_scheduler = true,
                                     .data = encode_progress({.done = percent * 100})});
  };
  for (const std::string& id : s.running_ids()) {
    tell(id, id == "map-00002-1" ? 10 : 50);
  }
  s.advance(seconds(2));
  s.offer_all();
  std::vector<std::string> copies;
  for (const std::string& id : s.running_ids()) {
    if (id.ends_with("-2")) copies.push_back(id);
  }
  EXPECT_THAT(copies, ElementsAre("map-00002-2"));
}

TEST(Speculation, IgnoresWhatIsNoReport) {
  JobScenario s(1, 0);
  s.begins_on({{"a", 1}});
  for (const std::string executor :
       {"", "job-1", "job-1.map-00000-9", "job-7.map-00000-1", "job-1.map-00000-1"}) {
    for (const std::string& data : {std::string(), std::string("PBv1"), std::string("PBv1\xFF\x7F"),
                                    std::string(1'000, 'x')}) {
      s.notify(proto::FrameworkMessage{.agent = AgentId("a"),
                                       .executor = ExecutorId(executor),
                                       .to_scheduler = true,
                                       .data = data});
    }
  }
  s.finish_all();
  EXPECT_TRUE(s.succeeded());
}

TEST(Speculation, RunsNoMoreCopiesThanItsBound) {
  JobScenario s(40, 0);
  s.begins_on({{"fast", 20}, {"slow", 20}});
  s.advance(seconds(1));
  for (const std::string& id : s.running_ids()) {
    if (s.agent_of(id) == "fast") s.finish(id);
  }
  for (int i = 0; i < 5; ++i) {
    s.advance(seconds(5));
    s.offer_all();
    EXPECT_EQ(s.status().map.copies, 2);
  }
  // Each copy that ends makes room for another one.
  int rounds = 0;
  while (!s.over() && ++rounds < 100) {
    for (const std::string& id : s.running_ids()) {
      if (id.ends_with("-2") && !s.killed(id)) s.finish(id);
    }
    s.advance(seconds(1));
    s.offer_all();
    EXPECT_LE(s.status().map.copies, 2);
  }
  EXPECT_TRUE(s.succeeded());
}

// A job whose only map has finished; the task that commits its output runs on "slow".
class SlowCommit : public ::testing::Test {
 protected:
  SlowCommit() : s(JobScenario::order(1, 0)) {
    s.begins_on({{"slow", 1}});
    s.holds_last_tasks();
    s.finish("map-00000-1");
    s.offer_all();
  }
  JobScenario s;
};

TEST_F(SlowCommit, GetsACopyElsewhereAfterHalfAMinute) {
  ASSERT_TRUE(s.runs("end-00000-1"));
  s.agent("fast", 1);
  s.advance(seconds(29));
  EXPECT_EQ(s.offer_all(), 0);
  s.advance(seconds(2));
  EXPECT_EQ(s.asked("end-copy"), 1);
  EXPECT_EQ(s.offer_all(), 1);
  EXPECT_EQ(s.agent_of("end-00000-2"), "fast");
  EXPECT_EQ(s.asked("end-copy"), 0);
  s.finish("end-00000-2");
  EXPECT_TRUE(s.succeeded());
  EXPECT_TRUE(s.killed("end-00000-1"));
}

// The output is not set aside while an attempt may still commit it.
TEST_F(SlowCommit, WhoseCopyFailsForGoodIsWaitedFor) {
  s.agent("fast", 1);
  for (int attempt = 2; attempt < 6; ++attempt) {
    s.advance(seconds(31));
    ASSERT_EQ(s.offer_all(), 1) << attempt;
    s.fail(text("end-00000-", attempt), "no space left");
  }
  s.advance(seconds(31));
  EXPECT_EQ(s.offer_all(), 0);
  EXPECT_FALSE(s.over());
  EXPECT_EQ(s.status().phase, proto::BatchPhase::kCommitting);
  s.finish("end-00000-1");
  EXPECT_TRUE(s.succeeded());
}

TEST_F(SlowCommit, ThatFailsAfterItsCopyIsTheEndOfTheJob) {
  s.agent("fast", 1);
  for (int attempt = 2; attempt < 6; ++attempt) {
    s.advance(seconds(31));
    ASSERT_EQ(s.offer_all(), 1) << attempt;
    s.fail(text("end-00000-", attempt), "no space left");
  }
  s.fail("end-00000-1", "no space left");
  EXPECT_EQ(s.status().phase, proto::BatchPhase::kRemoving);
  s.advance(seconds(3));  // It has failed on both agents.
  EXPECT_EQ(s.asked("end"), 1);
  // The task that sets the output aside gets no copy: two of them could move another job's output.
  s.offer_all();
  s.advance(seconds(100));
  EXPECT_EQ(s.asked("end-copy"), 0);
}

// Reports, losses, failures and ends come in any order. The job ends, and each task has one winner.
TEST(Speculation, GetsThroughAnyStorm) {
  int64_t copies = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    Prng random(seed);
    JobOrder order = JobScenario::order(static_cast<int>(random.between(1, 12)),
                                        static_cast<int>(random.between(0, 3)));
    order.attempts = 100;
    JobScenario s(order);
    for (int i = 0; i < 4; ++i) s.agent(std::string(1, static_cast<char>('a' + i)), 3);
    s.subscribe();
    for (int step = 0; step < 2'000 && !s.over(); ++step) {
      s.offer_all();
      const std::vector<std::string> ids = s.running_ids();
      copies += s.status().map.copies + s.status().reduce.copies;
      ASSERT_LE(s.status().map.copies, 2) << "seed " << seed;
      if (ids.empty() || random.chance(1, 3)) {
        s.advance(milliseconds(random.between(100, 4'000)));
        continue;
      }
      const std::string id = ids[random.below(ids.size())];
      if (!s.runs(id)) continue;
      const bool is_slow = s.agent_of(id) == "a";
      switch (random.below(is_slow ? 40 : 12)) {
        case 0:
          s.fail(id, "no");
          break;
        case 1:
          s.end(id, State::kKilled, proto::TaskReason::kRevoked);
          break;
        case 2:
          s.unreachable(id);
          break;
        case 3:
          s.returns(id);
          break;
        case 4:
          s.end(id, State::kLost);
          break;
        case 5:
        case 6:
          s.notify(proto::FrameworkMessage{
              .agent = AgentId(s.agent_of(id)),
              .executor = ExecutorId("job-1." + id),
              .to_scheduler = true,
              .data = encode_progress({.done = random.between(0, kProgressWhole)})});
          break;
        default:
          if (s.killed(id)) {
            s.end(id, State::kKilled);
          } else if (!is_slow || random.chance(1, 3)) {
            s.finish(id);
          }
          break;
      }
    }
    ASSERT_TRUE(s.succeeded()) << "seed " << seed << ": " << s.error() << s.status().note;
  }
  EXPECT_GT(copies, 1'000);
}

}  // namespace proffer::batch::speculation_test
