// Jobs that wait for other jobs, and pipelines.

#include "frameworks/batch/core/waiting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/frameworks/batch/pipeline_scenario.h"

namespace proffer::batch::waiting_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
constexpr auto kFailed = Condition::kFailed;
constexpr auto kEnded = Condition::kEnded;

auto stage(const std::string& name, std::vector<StageDependency> after = {}) {
  return PipelineScenario::stage(name, std::move(after));
}

// --- fates -------------------------------------------------------------------------------------

TEST(Fate, OfEachConditionByEachEnd) {
  using proto::BatchPhase;
  const struct {
    BatchPhase ended;
    Fate finished, failed, any;
  } rows[] = {
      {BatchPhase::kFinished, Fate::kMet, Fate::kNever, Fate::kMet},
      {BatchPhase::kFailed, Fate::kNever, Fate::kMet, Fate::kMet},
      {BatchPhase::kCancelled, Fate::kNever, Fate::kMet, Fate::kMet},
      {BatchPhase::kSkipped, Fate::kNever, Fate::kNever, Fate::kMet},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(to_text(row.ended));
    EXPECT_EQ(fate_of(Condition::kFinished, row.ended), row.finished);
    EXPECT_EQ(fate_of(Condition::kFailed, row.ended), row.failed);
    EXPECT_EQ(fate_of(Condition::kEnded, row.ended), row.any);
  }
}

TEST(Fate, OfAJobIsThatOfAllItWaitsForOrOfAny) {
  const auto of = [](std::vector<Fate> fates, bool takes_any) {
    Waiting waiting{.takes_any = takes_any};
    for (const Fate fate : fates) waiting.after.push_back({.job = JobId("a-1"), .fate = fate});
    return verdict(waiting);
  };
  EXPECT_EQ(of({}, false), Fate::kMet);
  EXPECT_EQ(of({}, true), Fate::kMet);
  EXPECT_EQ(of({Fate::kMet, Fate::kOpen}, false), Fate::kOpen);
  EXPECT_EQ(of({Fate::kMet, Fate::kMet}, false), Fate::kMet);
  EXPECT_EQ(of({Fate::kNever, Fate::kOpen}, false), Fate::kNever);
  EXPECT_EQ(of({Fate::kNever, Fate::kOpen}, true), Fate::kOpen);
  EXPECT_EQ(of({Fate::kNever, Fate::kMet}, true), Fate::kMet);
  EXPECT_EQ(of({Fate::kNever, Fate::kNever}, true), Fate::kNever);
}

// --- pipelines ---------------------------------------------------------------------------------

TEST(Pipeline, RunsItsStagesInTheOrderOfTheirDependencies) {
  PipelineScenario s;
  const auto told = s.submit({stage("c", {{"b"}}), stage("b", {{"a"}}), stage("a")});
  ASSERT_TRUE(told) << told.error().message();
  EXPECT_EQ(told->pipeline, "p-1");
  EXPECT_EQ(s.phases(), "c waiting, b waiting, a map");
  EXPECT_EQ(s.job("p-c-2").note, "waits for p-b-3 to finish");
  s.run();
  EXPECT_EQ(s.phases(), "c finished, b finished, a finished");
  EXPECT_THAT(s.begun(),
              ElementsAre("p-a-4.map-00000-1", "p-b-3.plan-00000-1", "p-c-2.plan-00000-1"));
  EXPECT_EQ(s.job("p-c-2").map.total, 2);
  // The store keeps only the ends of the stages.
  EXPECT_EQ(s.store().size(), 4u);
}

TEST(Pipeline, IsOneForOneSubmitter) {
  PipelineScenario s;
  const auto first = s.submit({stage("a"), stage("b", {{"a"}})});
  const auto again = s.submit({stage("a"), stage("b", {{"a"}})});
  EXPECT_EQ(first->job, again->job);
}

TEST(Pipeline, IsKeptWholeOrNotAtAll) {
  PipelineScenario s;
  const auto refused = s.submit({stage("a"), stage("b", {{"a"}, {"gone-7"}})});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("there is no job 'gone-7'"));
  EXPECT_EQ(s.phases(), "");
  s.crash_before_next_write();
  (void)s.submit({stage("a"), stage("b", {{"a"}})});
  s.come_back();
  EXPECT_EQ(s.phases(), "");
  ASSERT_TRUE(s.submit({stage("a"), stage("b", {{"a"}})}));
  s.run();
  EXPECT_EQ(s.phases(), "a finished, b finished");
}

TEST(Pipeline, SkipsWhatCanNeverBeAndAllThatWaitsForIt) {
  PipelineScenario s;
  s.fails("p-a-");
  ASSERT_TRUE(s.submit({stage("a"), stage("b", {{"a"}}), stage("c", {{"b"}}),
                        stage("alarm", {{"a", kFailed}}), stage("tidy", {{"c", kEnded}}),
                        stage("calm", {{"b", kFailed}})}));
  s.run();
  EXPECT_EQ(s.phases(),
            "a failed, b skipped, c skipped, alarm finished, tidy finished, calm skipped");
  EXPECT_EQ(s.job("p-b-3").error, "it waited for p-a-2 to finish, which can no longer happen");
}

TEST(Pipeline, BeginsAStageOnceOneOfSeveralIsMet) {
  PipelineScenario s;
  s.fails("p-a-");
  StageOrder either = stage("c", {{"a"}, {"b"}});
  either.takes_any = true;
  ASSERT_TRUE(s.submit({stage("a"), stage("b"), either}));
  s.run();
  EXPECT_EQ(s.phases(), "a failed, b finished, c finished");
}

TEST(Pipeline, GoesOnWithWhatWasSkippedWhenTheStageIsRetriedThatFailed) {
  PipelineScenario s;
  s.fails("p-a-");
  ASSERT_TRUE(s.submit({stage("a"), stage("b", {{"a"}}), stage("c", {{"b"}})}));
  s.run();
  ASSERT_EQ(s.phases(), "a failed, b skipped, c skipped");
  const auto refused = s.retry("p-b-3");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("waits for p-a-2 to finish"));
  s.works("p-a-");
  ASSERT_TRUE(s.retry("p-1.a"));
  EXPECT_EQ(s.phases(), "a map, b waiting, c waiting");
  s.run();
  EXPECT_EQ(s.phases(), "a finished, b finished, c finished");
  EXPECT_EQ(s.store().size(), 4u);
}

// The array knows its missing elements; the stages after it wait again.
TEST(Pipeline, IsRetriedFromAnArrayThatFailed) {
  PipelineScenario s;
  s.fails("p-b-3.range");
  StageOrder array{.stage = "b", .order = JobScenario::array(3), .after = {{"a"}}};
  array.order.name = "b";
  array.order.output = "/out-b";
  array.order.plan = "plan-b";
  ASSERT_TRUE(s.submit({stage("a"), array, stage("c", {{"b"}})}));
  s.run();
  ASSERT_EQ(s.phases(), "a finished, b failed, c skipped");
  EXPECT_EQ(s.job("p-b-3").array->failed, 3);
  s.works("p-b-3.range");
  ASSERT_TRUE(s.retry("p-1.b"));
  EXPECT_EQ(s.phases(), "a finished, b map, c waiting");
  s.restart();
  s.run();
  EXPECT_EQ(s.phases(), "a finished, b finished, c finished");
  EXPECT_EQ(s.store().size(), 4u);
}

// The first task made the array's plan, and the plan is stored.
TEST(Pipeline, AnArrayThatIsCancelledBeforeItBeginsIsRetriedAsANewOne) {
  PipelineScenario s;
  StageOrder array{.stage = "b", .order = JobScenario::array(3), .after = {{"a"}}};
  array.order.name = "b";
  array.order.output = "/out-b";
  array.order.plan = "plan-b";
  ASSERT_TRUE(s.submit({stage("a"), array}));
  ASSERT_TRUE(s.cancel("p-1.b"));
  s.run();
  ASSERT_EQ(s.phases(), "a finished, b cancelled");
  ASSERT_TRUE(s.retry("p-1.b"));
  s.run();
  EXPECT_EQ(s.phases(), "a finished, b finished");
  EXPECT_EQ(s.job("p-b-3").array->done, 3);
}

TEST(Pipeline, CanBeCancelledWhileItWaits) {
  PipelineScenario s;
  ASSERT_TRUE(s.submit({stage("a"), stage("b", {{"a"}}), stage("c", {{"b"}})}));
  ASSERT_TRUE(s.cancel("p-b-3"));
  s.run();
  EXPECT_EQ(s.phases(), "a finished, b cancelled, c skipped");
  ASSERT_TRUE(s.retry("p-b-3"));
  s.run();
  EXPECT_EQ(s.phases(), "a finished, b finished, c finished");
}

// The scheduler may end at any step: each stage runs once, after the stages that it waits for, and
// no stage is left waiting.
TEST(Pipeline, EndsTheSameWayWhereverTheSchedulerEnds) {
  for (int at = 0; at < 40; ++at) {
    SCOPED_TRACE(at);
    PipelineScenario s;
    s.fails("p-x-");
    const std::vector<StageOrder> stages = {stage("a"),          stage("x", {{"a"}}),
                                            stage("y", {{"x"}}), stage("z", {{"y"}}),
                                            stage("b", {{"a"}}), stage("w", {{"x", kFailed}})};
    ASSERT_TRUE(s.submit(stages));
    for (int round = 0; round < 40; ++round) {
      if (round == at) s.crash_before_next_write();
      s.launch();
      if (!s.has_crashed() && !s.running().empty()) s.end(s.running().begin()->first);
      if (s.has_crashed()) s.come_back();
    }
    s.run();
    EXPECT_EQ(s.phases(), "a finished, x failed, y skipped, z skipped, b finished, w finished");
    s.works("p-x-");
    auto retried = s.retry("p-1.x");
    if (s.has_crashed()) {
      s.come_back();
      retried = s.retry("p-1.x");
    }
    ASSERT_TRUE(retried) << retried.error().message();
    if (at % 2 == 0) s.restart();
    s.run();
    EXPECT_EQ(s.phases(), "a finished, x finished, y finished, z finished, b finished, w finished");
  }
}

// The retry is stored, but the process ends before the skipped stages wait again.
TEST(Pipeline, GoesOnAfterARetryThatTheSchedulerDidNotSeeThrough) {
  PipelineScenario s;
  s.fails("p-a-");
  ASSERT_TRUE(s.submit({stage("a"), stage("b", {{"a"}})}));
  s.run();
  s.works("p-a-");
  std::map<std::string, std::string> before = s.store();
  ASSERT_TRUE(s.retry("p-1.a"));
  s.crash_before_next_write();
  s.run();
  if (s.has_crashed()) s.come_back();
  s.run();
  EXPECT_EQ(s.phases(), "a finished, b finished");
}

// --- single jobs -------------------------------------------------------------------------------

TEST(Waiting, ForAJobThatHasEndedAlreadyIsOverAtOnce) {
  PipelineScenario s;
  ASSERT_TRUE(s.submit({stage("")}, ""));
  s.run();
  ASSERT_EQ(s.phase("job-1"), "finished");
  StageOrder next = stage("", {{"job-1"}});
  next.order.plan = "next";
  ASSERT_TRUE(s.submit({next}, ""));
  StageOrder never = stage("", {{"job-1", kFailed}});
  never.order.plan = "never";
  ASSERT_TRUE(s.submit({never}, ""));
  s.run();
  EXPECT_EQ(s.phase("job-2"), "finished");
  EXPECT_EQ(s.phase("job-3"), "skipped");
}

TEST(Waiting, OutlivesTheMemoryOfWhatItWaitedFor) {
  PipelineScenario s;
  ASSERT_TRUE(s.submit({stage("a"), stage("slow"), stage("b", {{"a"}, {"slow"}})}));
  s.launch();
  for (const auto& [task, spec] : std::map(s.running())) {
    if (task.str().starts_with("p-a-")) s.end(task);
  }
  s.launch();
  for (const auto& [task, spec] : std::map(s.running())) {
    if (task.str().starts_with("p-a-")) s.end(task);
  }
  ASSERT_EQ(s.phase("p-a-2"), "finished");
  // Newer ended jobs replace it in memory.
  for (size_t i = 0; i < kEndedMax + 10; ++i) {
    StageOrder other = stage("");
    other.order.plan = text("other-", i);
    ASSERT_TRUE(s.submit({other}, ""));
    s.launch();
    for (const char* what : {"job-", "job-"}) {
      for (const auto& [task, spec] : std::map(s.running())) {
        if (task.str().starts_with(what)) s.end(task);
      }
      s.launch();
    }
  }
  ASSERT_EQ(s.job("p-a-2").job, "");
  s.restart();
  s.run();
  EXPECT_EQ(s.phase("p-b-4"), "finished");
}

TEST(Waiting, IsGivenUpWithTheTimeForARetry) {
  PipelineScenario s;
  s.fails("p-a-");
  ASSERT_TRUE(s.submit({stage("a"), stage("b", {{"a"}})}));
  s.run();
  ASSERT_TRUE(s.cancel("p-1.b"));  // its waiting directory is removed
  s.run();
  EXPECT_EQ(s.job("p-b-3").retry_until, Time());
  EXPECT_EQ(s.phases(), "a failed, b skipped");
  ASSERT_TRUE(s.retry("p-1.a"));
  s.works("p-a-");
  s.run();
  EXPECT_EQ(s.phases(), "a finished, b skipped");
}

// --- submissions -------------------------------------------------------------------------------

TEST(Submission, ThatCannotBeIsRefusedWithWhatToDo) {
  const auto refused = [](std::vector<StageOrder> stages, const std::string& name = "p") {
    const Result<void> ok = check_submission({.pipeline = name, .stages = std::move(stages)});
    return ok ? "" : ok.error().message();
  };
  EXPECT_EQ(refused({stage("a"), stage("b", {{"a"}})}), "");
  EXPECT_THAT(refused({}), HasSubstr("from 1 to 50 stages"));
  EXPECT_THAT(refused({stage("a"), stage("a")}), HasSubstr("stage 'a' is given twice"));
  EXPECT_THAT(refused({stage("a", {{"a"}})}), HasSubstr("in a circle: a"));
  EXPECT_THAT(refused({stage("a", {{"b"}}), stage("b", {{"c"}}), stage("c", {{"b"}}), stage("d")}),
              HasSubstr("in a circle: a, b, c"));
  EXPECT_THAT(refused({stage("a.b")}), HasSubstr("no dot"));
  EXPECT_THAT(refused({stage("a"), stage("b", {{"a"}, {"a"}})}), HasSubstr("'a' twice"));
  StageOrder same = stage("b");
  same.order.output = "/out-a";
  EXPECT_THAT(refused({stage("a"), same}),
              HasSubstr("two stages have the same output or plan: '/out-a'"));
  EXPECT_THAT(refused({stage("a"), stage("b")}, ""), HasSubstr("stages"));
  StageOrder long_one = stage("a");
  long_one.order.map = std::string(16'000, 'x');
  std::vector<StageOrder> many;
  for (int i = 0; i < 8; ++i) {
    many.push_back(long_one);
    many.back().stage = many.back().order.plan = text("s", i);
    many.back().order.output = text("/", i);
  }
  EXPECT_THAT(refused(many), HasSubstr("the description of the pipeline has"));
}

TEST(Submission, ComesBackAsItWas) {
  StageOrder either = stage("c", {{"a", kFailed}, {"b", kEnded}, {"other-9"}});
  either.takes_any = true;
  const Submission given{.pipeline = "p", .stages = {stage("a"), stage("b", {{"a"}}), either}};
  const std::string bytes = encode_submission(given);
  const Result<Submission> back = decode_submission(bytes);
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_TRUE(*back == given);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_submission(bytes.substr(0, size)));
  }
  EXPECT_FALSE(decode_submission(bytes + "x"));
}

TEST(WaitingRecord, ComesBackAsItWas) {
  const Waiting given{.pipeline = "p-1",
                      .stage = "c",
                      .after = {{.job = JobId("p-a-2"), .on = kFailed, .fate = Fate::kNever},
                                {.job = JobId("p-b-3"), .on = kEnded, .fate = Fate::kMet}},
                      .takes_any = true,
                      .is_planned = true};
  const Result<Waiting> back = decode_waiting(encode(given));
  ASSERT_TRUE(back);
  EXPECT_TRUE(*back == given);
}

TEST(EndedRecord, OfAStageComesBackAsItWas) {
  EndedRecord given;
  given.job.job = "p-c-4";
  given.job.phase = proto::BatchPhase::kSkipped;
  given.job.error = "it waited";
  given.job.pipeline = "p-1";
  given.job.stage = "c";
  given.job.after = {{.job = "p-a-2", .on = "finished", .fate = "never"}};
  const Result<EndedRecord> back = decode_ended(encode(given));
  ASSERT_TRUE(back);
  EXPECT_TRUE(*back == given);
}

}  // namespace
}  // namespace proffer::batch::waiting_test
