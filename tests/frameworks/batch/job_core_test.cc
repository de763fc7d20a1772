#include "frameworks/batch/core/job_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/prng.h"
#include "tests/frameworks/batch/job_scenario.h"

namespace proffer::batch::job_core_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using State = JobScenario::State;
using Reason = JobScenario::Reason;

TEST(Job, RunsMapsThenReducesThenIsDone) {
  JobScenario s(3, 2);
  s.agent("a", 2);
  s.agent("b", 2);
  s.subscribe();
  EXPECT_EQ(s.asked("map"), 3);
  EXPECT_EQ(s.asked("reduce"), 0);

  EXPECT_EQ(s.offer_all(), 3);
  EXPECT_THAT(s.running_ids(), ElementsAre("map-00000-1", "map-00001-1", "map-00002-1"));
  EXPECT_EQ(s.work_of<MapWork>("map-00001-1").common.number, 1u);
  EXPECT_EQ(s.work_of<MapWork>("map-00001-1").reducers, 2u);
  EXPECT_TRUE(s.asks().empty());

  s.finish("map-00000-1");
  s.finish("map-00001-1");
  EXPECT_EQ(s.offer_all(), 0);
  s.finish("map-00002-1");
  EXPECT_EQ(s.status().phase, proto::BatchPhase::kReduce);
  EXPECT_EQ(s.asked("reduce"), 2);
  EXPECT_EQ(s.offer_all(), 2);
  const auto reduce = s.work_of<ReduceWork>("reduce-00001-1");
  EXPECT_THAT(reduce.addresses, ElementsAre("a:5081", "b:5081"));
  EXPECT_THAT(reduce.maps, ElementsAre(MapOutput{0, 1}, MapOutput{0, 1}, MapOutput{1, 1}));

  s.finish("reduce-00001-1");
  EXPECT_FALSE(s.over());
  s.finish("reduce-00000-1");
  EXPECT_TRUE(s.succeeded());
  EXPECT_EQ(s.status().phase, proto::BatchPhase::kFinished);
  EXPECT_EQ(s.status().map.records_out, 60);
}

TEST(Job, OfMappersOnlyIsDoneWithTheMaps) {
  JobScenario s(2, 0);
  s.begins_on({{"a", 2}});
  s.finish_all();
  EXPECT_TRUE(s.succeeded());
}

TEST(Job, DeclinesWhatItDoesNotWant) {
  JobScenario s(1, 1);
  s.begins_on({{"a", 9}});
  EXPECT_EQ(s.offer(AgentId("a"), AskName("map"), 3), 0);
  EXPECT_EQ(s.offer(AgentId("a"), AskName("reduce"), 3), 0);
  EXPECT_EQ(s.offer(AgentId("a"), AskName("something"), 3), 0);
}

TEST(Job, TriesElsewhereWhatFailed) {
  JobScenario s(1, 1);
  s.begins_on({{"a", 1}, {"b", 1}});
  EXPECT_EQ(s.agent_of("map-00000-1"), "a");
  s.fail("map-00000-1", "the mapper exited with 2");
  EXPECT_EQ(s.asked("map"), 0);
  EXPECT_EQ(s.asked("map-elsewhere"), 1);
  EXPECT_EQ(to_text(s.asks()[0].constraints[0]), "host not in [a]");
  s.offer_all();
  EXPECT_EQ(s.agent_of("map-00000-2"), "b");
}

TEST(Job, TakesTheSameAgentAgainIfNoOtherComes) {
  JobScenario s(1, 1);
  s.begins_on({{"a", 1}});
  s.fail("map-00000-1", "no");
  EXPECT_EQ(s.offer_all(), 0);
  s.advance(seconds(2));
  EXPECT_EQ(s.asked("map"), 1);
  EXPECT_EQ(s.offer_all(), 1);
  EXPECT_EQ(s.agent_of("map-00000-2"), "a");
  EXPECT_EQ(s.deadline(), std::nullopt);
}

// Another agent or a later attempt would not help.
TEST(Job, FailsAtOnceIfItsCommandIsWrong) {
  JobScenario s(3, 0);
  s.begins_on({{"a", 2}, {"b", 1}});
  s.fail("map-00000-1", "the mapper exited with 127", {.blame = Blame::kCommand});
  EXPECT_EQ(s.status().phase, proto::BatchPhase::kFailed);
  EXPECT_THAT(s.error(), HasSubstr("exited with 127"));
}

TEST(Job, TriesAgainAfterAnErrorOfACommandThatHasDoneItsWorkElsewhere) {
  JobScenario s(2, 0);
  s.begins_on({{"a", 1}, {"b", 1}});
  s.finish("map-00000-1");
  s.fail("map-00001-1", "the mapper exited with 127", {.blame = Blame::kCommand});
  s.offer_all();
  EXPECT_EQ(s.agent_of("map-00001-2"), "a");
  s.fail("map-00001-2", "a line of output is longer than 64 MiB", {.blame = Blame::kInput});
  EXPECT_THAT(s.error(), HasSubstr("longer than 64 MiB"));
}

// A retry uses the job's stored plan and files. If one agent does not find them, another may.
TEST(Job, WhoseFilesAreGoneIsToBeSubmittedAgain) {
  JobScenario s(1, 0);
  s.agent("a", 1);
  s.subscribe();
  for (int attempt = 1; attempt <= 4; ++attempt) {
    s.advance(seconds(3));
    s.offer_all();
    s.fail(text("map-00000-", attempt), "its copy is gone", {.blame = Blame::kJob});
  }
  EXPECT_EQ(s.status().phase, proto::BatchPhase::kFailed);
  EXPECT_THAT(s.status().hint, HasSubstr("submit the job again"));
  EXPECT_THAT(s.status().hint, Not(HasSubstr("batch retry")));
}

TEST(Job, ThatIsImpossibleFailsIfItSaysSoBeforeItHasBegun) {
  const auto tell = [](JobScenario& s) {
    proto::AskReport report;
    report.rows.push_back(
        {.ask = AskName("job-1.map"), .could_ever_fit = false, .why = "not enough gpus"});
    s.notify(report);
  };
  JobOrder order = JobScenario::order(2, 0);
  order.fail_if_impossible = true;
  JobScenario never(order);
  never.subscribe();
  tell(never);
  EXPECT_EQ(never.status().phase, proto::BatchPhase::kFailed);
  EXPECT_THAT(never.error(), HasSubstr("not enough gpus"));
  // For a running job, the agents may only be disconnected.
  JobScenario begun(order);
  begun.begins_on({{"a", 1}});
  tell(begun);
  EXPECT_FALSE(begun.over());
}

TEST(Job, AddsUpTheCpuOfItsAttemptsOverRestarts) {
  JobScenario s(1, 1);
  s.agent("a", 1);
  s.attempts_use(milliseconds(1'250));
  s.subscribe();
  EXPECT_EQ(s.status().map.cpu, std::nullopt);
  s.offer_all();
  s.fail("map-00000-1", "no");
  s.advance(seconds(2));
  s.offer_all();
  s.finish("map-00000-2");
  s.restart();
  s.subscribe();
  EXPECT_EQ(s.status().map.cpu, milliseconds(2'500));
  s.offer_all();
  s.finish_all();
  EXPECT_TRUE(s.succeeded());
  EXPECT_EQ(s.status().reduce.cpu, milliseconds(1'250));
}

TEST(Job, TakesTheSameAgentAtOnceIfThereIsNoOther) {
  JobScenario s(1, 1);
  s.begins_on({{"a", 1}});
  s.fail("map-00000-1", "no");
  proto::AskReport report;
  report.rows.push_back(
      {.ask = AskName("job-1.map-elsewhere"), .could_ever_fit = false, .why = "host"});
  s.notify(report);
  EXPECT_EQ(s.offer_all(), 1);
}

TEST(Job, FailsAfterFourAttemptsWithTheEndOfStandardError) {
  JobScenario s(2, 1);
  s.agent("a", 2);
  s.agent("b", 2);
  s.subscribe();
  for (int attempt = 1; attempt <= 4; ++attempt) {
    s.offer_all();
    EXPECT_FALSE(s.over());
    s.fail(text("map-00001-", attempt), "the mapper exited with 2",
           TaskFailure{.stderr_tail = text("line ", attempt, "\x1b[2J\n")});
    s.advance(seconds(2));
  }
  EXPECT_TRUE(s.over());
  EXPECT_FALSE(s.succeeded());
  EXPECT_THAT(s.error(), HasSubstr("map-00001-4"));
  EXPECT_THAT(s.error(), HasSubstr("the mapper exited with 2"));
  EXPECT_THAT(s.error(), HasSubstr("line 4\\x1b[2J"));
  EXPECT_EQ(s.status().phase, proto::BatchPhase::kFailed);
}

// The log line has the beginning of the reason, without the author's line breaks.
TEST(Job, NotesTheWholeReasonOfAFailure) {
  JobScenario s(1, 0);
  s.begins_on({{"a", 1}});
  s.fail("map-00000-1", std::string(300, 'x') + "\nthe end");
  EXPECT_THAT(s.status().note, HasSubstr(std::string(300, 'x')));
  EXPECT_THAT(s.status().note, HasSubstr("the end"));
  const auto* failed = s.traced<TaskFailed>();
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->agent, AgentId("a"));
  EXPECT_EQ(failed->failures, 1);
  EXPECT_EQ(to_text(TraceEvent(*failed)).find('\n'), std::string::npos);
}

// The executor has died, so its agent reports its last words.
TEST(Job, FailsWithTheLastWordsOfATaskThatEndsItsExecutor) {
  JobScenario s(1, 1);
  s.agent("a", 1);
  s.agent("b", 1);
  s.subscribe();
  for (int attempt = 1; attempt <= 4; ++attempt) {
    s.advance(seconds(2));
    ASSERT_EQ(s.offer_all(), 1) << attempt;
    const std::string id = text("map-00000-", attempt);
    const std::string agent = s.agent_of(id);
    s.end(id, State::kFailed, Reason::kExecutorEnded, "the executor ended by signal 9",
          "the disk of " + agent + " is on fire\n");
  }
  EXPECT_TRUE(s.over());
  EXPECT_THAT(s.error(), HasSubstr("failed as attempt 4"));
  EXPECT_THAT(s.error(), HasSubstr("the executor ended by signal 9"));
  EXPECT_THAT(s.error(), HasSubstr("is on fire"));
}

TEST(Job, DoesNotCountWhatWasNobodysFault) {
  JobScenario s(1, 1);
  s.agent("a", 1);
  s.subscribe();
  int attempt = 0;
  for (const auto& [state, reason] :
       std::vector<std::pair<State, Reason>>{{State::kLost, Reason::kAgentRestarted},
                                             {State::kLost, Reason::kTaskUnknown},
                                             {State::kKilled, Reason::kKilledByOperator},
                                             {State::kKilled, Reason::kRevoked},
                                             {State::kKilled, Reason::kDrained},
                                             {State::kGone, Reason::kAgentRemoved},
                                             {State::kRefused, Reason::kOfferNotValid},
                                             {State::kRefused, Reason::kAgentNotAvailable},
                                             {State::kRefused, Reason::kResourcesExceeded}}) {
    ASSERT_EQ(s.offer_all(), 1) << attempt;
    s.end(text("map-00000-", ++attempt), state, reason);
    EXPECT_FALSE(s.over());
    EXPECT_EQ(s.asked("map"), 1);
  }
  EXPECT_EQ(s.status().map.failed, 0);
}

TEST(Job, CountsATaskThatTheMasterWillNeverTake) {
  JobScenario s(1, 1);
  s.agent("a", 1);
  s.subscribe();
  for (int attempt = 1; attempt <= 4; ++attempt) {
    s.offer_all();
    s.end(text("map-00000-", attempt), State::kRefused, Reason::kTaskInvalid,
          "its command is wrong");
    s.advance(seconds(2));
  }
  EXPECT_THAT(s.error(), HasSubstr("its command is wrong"));
}

TEST(TimeLimit, IsToldToTheAgentWithEachTaskThatRunsACommand) {
  JobOrder order = JobScenario::order(1, 1);
  order.time_limit = minutes(3);
  JobScenario s(order);
  s.agent("a", 1);
  s.subscribe();
  for (const std::string_view task : {"map-00000-1", "reduce-00000-1"}) {
    ASSERT_EQ(s.offer_all(), 1);
    EXPECT_EQ(s.running().at(std::string(task)).spec.max_run_time, minutes(3)) << task;
    s.finish(std::string(task));
  }
  EXPECT_TRUE(s.succeeded());
}

TEST(TimeLimit, IsNotOfTheTaskThatPlansAJob) {
  JobOrder order = JobScenario::order(0, 1);
  order.input_bytes = 0;
  order.time_limit = minutes(3);
  JobScenario s(order);
  s.agent("a", 1);
  s.subscribe();
  ASSERT_EQ(s.offer_all(), 1);
  EXPECT_EQ(s.running().begin()->first, "plan-00000-1");
  EXPECT_EQ(s.running().begin()->second.spec.max_run_time, Duration());
}

TEST(TimeLimit, ThatIsExceededCountsAsAFailureAndNamesItself) {
  JobOrder order = JobScenario::order(2, 1);
  order.time_limit = seconds(90);
  JobScenario s(order);
  s.begins_on({{"a", 2}});
  for (int attempt = 1; attempt <= 4; ++attempt) {
    EXPECT_FALSE(s.over()) << attempt;
    s.end(text("map-00000-", attempt), State::kKilled, Reason::kRanTooLong,
          "it ran for 90s, its maximum run time",
          encode_failure({.blame = Blame::kCommand, .stderr_tail = "step 17"}));
    EXPECT_EQ(s.status().map.failed, attempt);
    s.advance(seconds(2));
    s.offer_all();
  }
  EXPECT_THAT(s.error(),
              HasSubstr("failed as attempt 4 on agent a: it exceeded its time limit of 90s; the "
                        "end of its standard error:\nstep 17"));
  EXPECT_THAT(s.status().hint, HasSubstr("a longer time_limit"));
}

TEST(TimeLimit, OfAnElementIsThatOfItsExecutorAndItsAgentEndsWhatOutlivesIt) {
  JobOrder order = JobScenario::array(2);
  order.array->timeout = seconds(90);
  JobScenario s(order);
  s.begins_on({{"a", 1}});
  const std::string range = s.running().begin()->first;
  EXPECT_EQ(s.work_of<RangeWork>(range).timeout, seconds(90));
  EXPECT_EQ(s.running().begin()->second.spec.max_run_time, seconds(90) + kRangeTime + kRangeMargin);
  // The executor reports a timeout as an exit code.
  s.finish_range(range, 1, {{.place = 0, .attempt = 1, .code = 124}});
  while (!s.over()) {
    ASSERT_GT(s.offer_all(), 0);
    s.finish_all();
  }
  EXPECT_EQ(s.status().array->failed, 1);
  EXPECT_THAT(s.error(),
              HasSubstr("element 1 exited with 124, which usually means that it exceeded its time "
                        "limit of 90s: oh"));
}

TEST(TimeLimit, OfARangeThatItsAgentEndsIsAFailureOfTheTask) {
  JobOrder order = JobScenario::array(1);
  order.array->timeout = seconds(90);
  JobScenario s(order);
  s.agent("a", 1);
  s.subscribe();
  for (int attempt = 1; attempt <= 4; ++attempt) {
    ASSERT_EQ(s.offer_all(), 1) << attempt;
    s.end(s.running().begin()->first, State::kKilled, Reason::kRanTooLong, "it ran for 2m2s");
  }
  EXPECT_TRUE(s.over());
  EXPECT_THAT(s.error(), HasSubstr("it ran for 2m2s"));
}

TEST(Job, ComputesTheOutputsOfALostAgentAgain) {
  JobScenario s(2, 1);
  s.begins_on({{"a", 1}, {"b", 1}});
  s.finish("map-00000-1");
  s.agent_ends("a");
  s.notify(proto::Failure{.agent = AgentId("a")});
  EXPECT_EQ(s.status().map.done, 0);
  EXPECT_EQ(s.asked("map"), 1);
  s.finish("map-00001-1");
  EXPECT_EQ(s.asked("reduce"), 0);
  s.offer_all();
  s.finish("map-00000-2");
  EXPECT_EQ(s.offer_all(), 1);
  const auto reduce = s.work_of<ReduceWork>("reduce-00000-1");
  EXPECT_THAT(reduce.addresses, ElementsAre("b:5081"));
  EXPECT_THAT(reduce.maps, ElementsAre(MapOutput{0, 2}, MapOutput{0, 1}));
  // A repeated message changes nothing.
  s.notify(proto::Failure{.agent = AgentId("a")});
  EXPECT_EQ(s.status().map.done, 2);
  s.finish_all();
  EXPECT_TRUE(s.succeeded());
}

// Otherwise a steady flow of the user's other maps could delay them for ever.
TEST(Reduces, AndTheEndOfAJobGoBeforeTheMapsOfOthers) {
  JobScenario s(2, 1);
  s.agent("a", 2);
  s.subscribe();
  s.holds_last_tasks();
  const int32_t of_maps = s.asks().front().priority;
  s.offer_all();
  s.finish_all();
  ASSERT_EQ(s.asked("reduce"), 1);
  EXPECT_GT(s.asks().front().priority, of_maps);
  s.offer_all();
  s.finish_all();
  ASSERT_EQ(s.asked("end"), 1);
  EXPECT_GT(s.asks().front().priority, of_maps);
}

// Reduces occupy all slots when an output is lost. The first reduce that cannot fetch it fails and
// frees a slot for the map; no other reduce takes this slot.
TEST(Reduces, MakeRoomForAMapThatHasToRunAgain) {
  JobScenario s(2, 4);
  s.begins_on({{"a", 1}, {"b", 2}});
  const std::string of_a = s.agent_of("map-00000-1") == "a" ? "map-00000" : "map-00001";
  s.finish_all();
  EXPECT_EQ(s.offer_all(), 3);
  s.agent_ends("a");
  for (const std::string& id : s.running_ids()) {
    if (s.agent_of(id) == "a") s.end(id, State::kLost, Reason::kAgentRemoved);
  }
  EXPECT_EQ(s.asked("map"), 1);
  EXPECT_EQ(s.asked("reduce"), 0);
  EXPECT_EQ(s.offer_all(), 0);
  const std::vector<std::string> reduces = s.running_ids();
  ASSERT_EQ(reduces.size(), 2u);
  s.fail(reduces[0], "cannot fetch 1 map outputs",
         {.fetch_failed = {{.number = of_a == "map-00000" ? 0u : 1u, .attempt = 1}}});
  EXPECT_EQ(s.asked("reduce"), 0);
  EXPECT_EQ(s.offer_all(), 1);
  EXPECT_TRUE(s.runs(of_a + "-2"));
  s.finish(reduces[1]);  // It had fetched all of its input.
  EXPECT_EQ(s.asked("reduce"), 0);
  s.finish(of_a + "-2");
  EXPECT_EQ(s.asked("reduce"), 3);
  while (s.offer_all() > 0) s.finish_all();
  EXPECT_TRUE(s.succeeded());
}

TEST(Job, LeavesPartsOfTheResultAloneWhenTheirAgentIsLost) {
  JobScenario s(1, 2);
  s.begins_on({{"a", 1}});
  s.finish_all();
  s.offer_all();
  s.finish("reduce-00000-1");
  s.notify(proto::Failure{.agent = AgentId("a")});
  EXPECT_EQ(s.status().reduce.done, 1);
  EXPECT_EQ(s.status().map.done, 0);
  s.offer_all();
  s.finish_all();
  s.offer_all();
  EXPECT_THAT(s.running_ids(), ElementsAre("reduce-00001-1"));
  s.finish_all();
  EXPECT_TRUE(s.succeeded());
}

TEST(Job, MakesAgainWhatAReduceCannotFetchAndRunsItAgain) {
  JobScenario s(3, 1);
  s.begins_on({{"a", 3}});
  s.finish_all();
  s.offer_all();
  s.fail("reduce-00000-1", "cannot fetch", TaskFailure{.fetch_failed = {{1, 1}}});
  EXPECT_EQ(s.status().map.done, 2);
  EXPECT_EQ(s.status().reduce.failed, 0);
  EXPECT_EQ(s.offer_all(), 1);
  s.finish("map-00001-2");
  EXPECT_EQ(s.offer_all(), 1);
  // An output that was made again since is kept; unknown task numbers are ignored.
  s.fail("reduce-00000-2", "cannot fetch", TaskFailure{.fetch_failed = {{1, 1}, {99, 1}}});
  EXPECT_EQ(s.status().map.done, 3);
  s.offer_all();
  s.finish_all();
  EXPECT_TRUE(s.succeeded());
}

TEST(Job, DoesNotFetchForEver) {
  JobScenario s(1, 1);
  s.agent("a", 1);
  s.subscribe();
  for (uint32_t round = 1; round <= 100 && !s.over(); ++round) {
    s.offer_all();
    if (s.runs(text("map-00000-", round))) s.finish(text("map-00000-", round));
    s.offer_all();
    s.fail(text("reduce-00000-", round), "cannot fetch", TaskFailure{.fetch_failed = {{0, round}}});
    s.advance(seconds(3));
  }
  EXPECT_TRUE(s.over());
  EXPECT_THAT(s.error(), HasSubstr("cannot fetch"));
}

TEST(Job, RunsElsewhereWhatIsUnreachableAndKillsItWhenItReturns) {
  JobScenario s(1, 1);
  s.begins_on({{"a", 1}});
  s.agent_ends("a");
  s.unreachable("map-00000-1");
  EXPECT_EQ(s.asked("map"), 1);
  s.agent("b", 1);
  s.offer_all();
  EXPECT_EQ(s.agent_of("map-00000-2"), "b");
  s.returns("map-00000-1");
  EXPECT_TRUE(s.killed("map-00000-1"));
  s.end("map-00000-1", State::kKilled);
  EXPECT_TRUE(s.runs("map-00000-2"));
  EXPECT_FALSE(s.killed("map-00000-2"));
  s.finish("map-00000-2");
  EXPECT_EQ(s.status().map.done, 1);
}

TEST(Job, TakesBackWhatReturnsBeforeAnotherWasLaunched) {
  JobScenario s(1, 1);
  s.begins_on({{"a", 1}});
  s.unreachable("map-00000-1");
  s.returns("map-00000-1");
  EXPECT_EQ(s.asked("map"), 0);
  EXPECT_FALSE(s.killed("map-00000-1"));
  s.finish("map-00000-1");
  EXPECT_EQ(s.status().map.done, 1);
}

TEST(Job, UsesTheOutputOfWhicheverAttemptFinishesFirst) {
  JobScenario s(1, 1);
  s.begins_on({{"a", 1}, {"b", 1}});
  s.unreachable("map-00000-1");
  s.offer_all();
  EXPECT_TRUE(s.runs("map-00000-2"));
  s.finish("map-00000-1");  // It continued while its agent was unreachable.
  EXPECT_TRUE(s.killed("map-00000-2"));
  EXPECT_EQ(s.status().map.done, 1);
  s.finish("map-00000-2");  // It ends before the kill arrives; its result is not used.
  s.offer_all();
  EXPECT_THAT(s.work_of<ReduceWork>("reduce-00000-1").maps, ElementsAre(MapOutput{0, 1}));
}

TEST(Job, IsNotMovedByDuplicatesAndLateUpdates) {
  JobScenario s(1, 1);
  s.begins_on({{"a", 1}});
  s.finish("map-00000-1");
  for (const State state : {State::kRunning, State::kFailed, State::kLost, State::kUnreachable}) {
    s.status("map-00000-1", AgentId("z"), state);
    s.status("map-99999-1", AgentId("z"), state);
    s.status("nonsense", AgentId("z"), state);
  }
  EXPECT_EQ(s.status().map.done, 1);
  EXPECT_EQ(s.status().map.failed, 0);
}

TEST(Job, TakesGarbageFromAnExecutorForAFailure) {
  JobScenario s(1, 1);
  s.begins_on({{"a", 1}});
  s.status("map-00000-1", AgentId("a"), State::kFinished, Reason::kNone, "", "\xFFgarbage");
  EXPECT_EQ(s.status().map.failed, 1);
  EXPECT_EQ(s.status().map.done, 0);
}

TEST(Job, FailsIfItsMapsNeverTellWhereTheirOutputIs) {
  JobScenario s(1, 1);
  s.begins_on({{"a", 1}});
  s.status("map-00000-1", AgentId("a"), State::kFinished, Reason::kNone, "",
           encode_result(TaskResult{}));
  EXPECT_EQ(s.status().map.failed, 1);
}

TEST(Job, DeclaresItsAsksAgainForEachSession) {
  JobScenario s(2, 1);
  s.begins_on({{"a", 1}});
  s.disconnect();
  EXPECT_EQ(s.asks().size(), 0u);
  s.subscribe();
  EXPECT_EQ(s.asked("map"), 1);
}

TEST(Job, SaysWhyNothingCouldRunIt) {
  JobScenario s(1, 1);
  s.subscribe();
  proto::AskReport report;
  report.rows.push_back(
      {.ask = AskName("job-1.map"), .could_ever_fit = false, .why = "not enough cpus"});
  s.notify(report);
  EXPECT_THAT(s.status().note, HasSubstr("not enough cpus"));
  report.rows[0].could_ever_fit = true;
  s.notify(report);
  EXPECT_EQ(s.status().note, "");
}

TEST(Job, TellsHowLongThePhaseWillTake) {
  JobScenario s(4, 1);
  s.begins_on({{"a", 1}});
  EXPECT_EQ(s.status().map.eta, std::nullopt);
  s.advance(seconds(10));
  s.finish_all();
  EXPECT_EQ(s.status().map.eta, seconds(30));
}

TEST(Job, LaunchesNoMoreThanOneMessageCanCarry) {
  JobOrder order = JobScenario::order(100, 1);
  order.env["BIG"] = std::string(30'000, 'x');
  JobScenario s(order);
  s.subscribe();
  const int launched = s.offer(AgentId("a"), AskName("map"), 100);
  EXPECT_GT(launched, 10);
  EXPECT_LT(launched, 30);
  EXPECT_EQ(s.asked("map"), 100 - launched);  // The ask remains, minus the launched tasks.
}

// After any order of events all invariants hold, and the job ends successfully.
TEST(Job, GetsThroughAnyStorm) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(text("seed ", seed));
    Prng random(seed);
    JobScenario s(static_cast<int>(random.below(12) + 1), static_cast<int>(random.below(4)));
    const std::vector<std::string> names = {"a", "b", "c", "d"};
    for (const std::string& name : names) s.agent(name, 2);
    s.subscribe();
    bool connected = true;
    std::set<std::string> out_of_sight;
    for (int step = 0; step < 300 && !s.over(); ++step) {
      if (connected && random.chance(1, 2)) s.offer_all();
      if (s.over()) break;
      if (random.chance(1, 20)) {
        if (connected)
          s.disconnect();
        else
          s.subscribe();
        connected = !connected;
      }
      if (random.chance(1, 10)) s.advance(milliseconds(random.between(0, 3'000)));
      if (random.chance(1, 30)) s.notify(proto::Failure{.agent = AgentId(names[random.below(4)])});
      const std::vector<std::string> ids = s.running_ids();
      if (ids.empty()) continue;
      const std::string id = ids[random.below(ids.size())];
      switch (random.below(12)) {
        case 0:
          s.unreachable(id);
          break;
        case 1:
          s.returns(id);
          break;
        case 2:
          s.end(id, State::kLost, Reason::kAgentRestarted);
          break;
        case 3:
          s.end(id, State::kGone, Reason::kAgentRemoved);
          break;
        case 4:
          s.end(id, State::kRefused, Reason::kOfferNotValid);
          break;
        case 5:
          s.end(id, State::kKilled, Reason::kKilledByOperator);
          break;
        case 6:
          if (random.chance(1, 4)) s.fail(id, "chance");
          break;
        case 7:
          if (id[0] == 'r') {
            s.fail(id, "cannot fetch", TaskFailure{.fetch_failed = {{0, 1}, {1, 2}, {77, 1}}});
          }
          break;
        case 8:
          s.status(id, AgentId("a"), State::kKilling);
          break;
        default:
          s.finish(id);
          break;
      }
    }
    // Everything works again.
    if (!connected && !s.over()) s.subscribe();
    for (int round = 0; round < 200 && !s.over(); ++round) {
      s.offer_all();
      s.finish_all();
      s.advance(seconds(1));
    }
    ASSERT_TRUE(s.over());
    // A job may fail only because a task failed four times by itself.
    if (!s.succeeded()) {
      EXPECT_THAT(s.error(), HasSubstr("failed as attempt 4"));
    }
  }
}

}  // namespace
}  // namespace proffer::batch::job_core_test
