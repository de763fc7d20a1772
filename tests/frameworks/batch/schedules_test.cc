// Schedules in the scheduler: the jobs that they start, and their state across crashes.

#include "frameworks/batch/core/schedules.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/prng.h"
#include "tests/frameworks/batch/pipeline_scenario.h"

namespace proffer::batch::schedules_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using What = ChangeSchedule::What;

// An hourly report, whose input is known only when it starts.
ScheduleOrder hourly(Overlap overlap = Overlap::kSkip, CatchUp catch_up = CatchUp::kLast) {
  StageOrder stage = PipelineScenario::stage("");
  stage.order.name = "report";
  stage.order.output = "/report";
  stage.order.maps = 0;
  stage.order.input_bytes = 0;
  return {
      .stages = {.stages = {stage}}, .cron = "0 * * * *", .overlap = overlap, .catch_up = catch_up};
}

std::vector<std::string> outputs(PipelineScenario& s) {
  std::vector<std::string> out;
  for (const proto::BatchJob& job : s.jobs().list({}, true, {}, 1'000, s.now())) {
    out.push_back(job.output);
  }
  return out;
}

proto::BatchSchedule only(PipelineScenario& s, const Caller& by = {.user = "ada"}) {
  const std::vector<proto::BatchSchedule> all = s.jobs().schedules(by, "", 10, 1, s.now());
  EXPECT_THAT(all, SizeIs(1));
  return all.empty() ? proto::BatchSchedule() : all.front();
}

std::vector<std::string> results(const proto::BatchSchedule& schedule) {
  std::vector<std::string> out;
  for (const proto::BatchFiring& firing : schedule.log) {
    out.push_back(firing.result + (firing.job.empty() ? "" : " " + firing.job));
  }
  return out;
}

TEST(Schedules, StartAJobWithAnOutputOfItsOwnAtEachFireTime) {
  PipelineScenario s;
  const auto told = s.ask_schedule(SubmitSchedule{.order = hourly(), .role = {}});
  ASSERT_TRUE(told) << told.error().message();
  EXPECT_EQ(told->name, "report");
  EXPECT_EQ(only(s).next.at(0).at, from_unix(3'600));
  s.run();
  EXPECT_THAT(outputs(s), IsEmpty());
  s.advance(hours(1));
  ASSERT_TRUE(s.launch());
  const Result<Work> work = decode_work(s.running().begin()->second.data);
  const auto* plan = std::get_if<PlanWork>(&*work);
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(plan->place, "/report/19700101T0100Z");
  EXPECT_EQ(plan->model, "/report/.schedule-plan-/_temporary/plan-plan-");
  EXPECT_EQ(plan->common.env.at("PROFFER_FIRE_TIME"), "1970-01-01T01:00Z");
  s.run();
  s.advance(hours(1));
  s.run();
  EXPECT_THAT(outputs(s), ElementsAre("/report/19700101T0100Z", "/report/19700101T0200Z"));
  EXPECT_EQ(s.phase("report-1"), "finished");
  EXPECT_EQ(s.phase("report-2"), "finished");
  EXPECT_THAT(results(only(s)), ElementsAre("started report-1", "started report-2"));
}

TEST(Schedules, StartPipelines) {
  PipelineScenario s;
  ScheduleOrder order = hourly();
  StageOrder clean = PipelineScenario::stage("clean", {{"load"}});
  StageOrder load = PipelineScenario::stage("load");
  load.order.maps = 0;
  load.order.input_bytes = 0;
  order.stages = {.pipeline = "etl", .stages = {load, clean}};
  ASSERT_TRUE(s.ask_schedule(SubmitSchedule{.order = order, .role = {}}));
  s.advance(hours(1));
  EXPECT_EQ(only(s).running, 2);
  s.run();
  EXPECT_EQ(s.phases("etl-1"), "load finished, clean finished");
  EXPECT_EQ(only(s).running, 0);
  EXPECT_THAT(results(only(s)), ElementsAre("started etl-1"));
}

TEST(Schedules, ReplacedJobsAreCancelledAndTheNextOneBegins) {
  PipelineScenario s;
  ASSERT_TRUE(s.ask_schedule(SubmitSchedule{.order = hourly(Overlap::kReplace), .role = {}}));
  s.advance(hours(1));
  ASSERT_TRUE(s.launch());
  s.advance(hours(1));
  s.run();
  EXPECT_EQ(s.phase("report-1"), "cancelled");
  EXPECT_THAT(s.job("report-1").error, HasSubstr("replaced it at its next fire time"));
  EXPECT_EQ(s.phase("report-2"), "finished");
}

TEST(Schedules, AreTheirOwnersToPauseResumeAndRemove) {
  PipelineScenario s;
  ASSERT_TRUE(s.ask_schedule(SubmitSchedule{.order = hourly(), .role = {}}));
  ASSERT_TRUE(s.ask_schedule(ChangeSchedule{.name = "report", .what = What::kPause}));
  s.advance(hours(2));
  s.restart();
  EXPECT_TRUE(only(s).is_paused);
  EXPECT_THAT(outputs(s), IsEmpty());
  const auto resumed = s.ask_schedule(ChangeSchedule{.name = "report", .what = What::kResume});
  ASSERT_TRUE(resumed);
  s.advance(minutes(30));
  s.run();
  EXPECT_THAT(outputs(s), IsEmpty()) << "what was missed while it was paused stays missed";
  s.advance(minutes(30));
  s.run();
  EXPECT_THAT(outputs(s), SizeIs(1));
  ASSERT_TRUE(s.ask_schedule(ChangeSchedule{.name = "report", .what = What::kRemove}));
  s.advance(hours(5));
  EXPECT_THAT(s.jobs().schedules({}, "", 10, 1, s.now()), IsEmpty());
  EXPECT_THAT(outputs(s), SizeIs(1));
  const auto gone = s.ask_schedule(ChangeSchedule{.name = "report", .what = What::kPause});
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code(), ErrorCode::kNotFound);
}

TEST(Schedules, OfAnotherUserAreNotReplacedChangedOrSeenWhole) {
  PipelineScenario s({.serves_users = true});
  const Caller bob{.user = "bob"};
  const Caller operator_of_cluster{.user = "root", .is_operator = true};
  ASSERT_TRUE(s.ask_schedule(SubmitSchedule{.order = hourly(), .role = {}}));
  const auto replaced = s.ask_schedule(SubmitSchedule{.order = hourly(), .role = {}}, bob);
  ASSERT_FALSE(replaced);
  EXPECT_EQ(replaced.error().code(), ErrorCode::kAlreadyExists);
  for (const What what : {What::kPause, What::kResume, What::kRemove}) {
    const auto changed = s.ask_schedule(ChangeSchedule{.name = "report", .what = what}, bob);
    ASSERT_FALSE(changed);
    EXPECT_EQ(changed.error().code(), ErrorCode::kPermissionDenied);
    EXPECT_THAT(changed.error().message(), HasSubstr("'bob' may not"));
  }
  EXPECT_EQ(only(s, bob).output, "");
  EXPECT_EQ(only(s).output, "/report");
  s.advance(hours(1));
  EXPECT_EQ(s.job("report-1").owner, "ada");
  EXPECT_TRUE(
      s.ask_schedule(ChangeSchedule{.name = "report", .what = What::kRemove}, operator_of_cluster));
}

TEST(Schedules, SubmittedAgainOneReplacesThatOfItsName) {
  PipelineScenario s;
  ASSERT_TRUE(s.ask_schedule(SubmitSchedule{.order = hourly(), .role = {}}));
  s.advance(hours(1));
  s.run();
  ScheduleOrder daily = hourly();
  daily.cron = "@daily";
  ASSERT_TRUE(s.ask_schedule(SubmitSchedule{.order = daily, .role = {}}));
  EXPECT_EQ(only(s).cron, "@daily");
  EXPECT_THAT(results(only(s)), ElementsAre("started report-1"));
  s.advance(hours(20));
  EXPECT_THAT(outputs(s), SizeIs(1));
}

TEST(Schedules, OneThatIsThereAgainKnowsWhatItsFormerSelfStarted) {
  PipelineScenario s;
  ASSERT_TRUE(s.ask_schedule(SubmitSchedule{.order = hourly(), .role = {}}));
  s.advance(hours(1));
  ASSERT_TRUE(s.launch());
  ASSERT_TRUE(s.ask_schedule(ChangeSchedule{.name = "report", .what = What::kRemove}));
  ASSERT_TRUE(s.ask_schedule(SubmitSchedule{.order = hourly(), .role = {}}));
  EXPECT_EQ(only(s).running, 1);
  s.advance(hours(1));
  EXPECT_THAT(results(only(s)), ElementsAre("skipped"));
}

TEST(Schedules, EndNoJobsOfAnotherUserThatHadTheirName) {
  PipelineScenario s({.serves_users = true});
  const Caller bob{.user = "bob"};
  ASSERT_TRUE(s.ask_schedule(SubmitSchedule{.order = hourly(), .role = {}}));
  s.advance(hours(1));
  ASSERT_TRUE(s.launch());
  ASSERT_TRUE(s.ask_schedule(ChangeSchedule{.name = "report", .what = What::kRemove}));
  ScheduleOrder his = hourly(Overlap::kReplace);
  his.stages.stages[0].order.plan = "his";
  ASSERT_TRUE(s.ask_schedule(SubmitSchedule{.order = his, .role = {}}, bob));
  s.restart();
  EXPECT_EQ(only(s, bob).running, 0);
  s.advance(hours(1));
  s.run();
  EXPECT_EQ(s.phase("report-1"), "finished");
  EXPECT_EQ(s.job("report-2").owner, "bob");
}

TEST(Schedules, OneWhoseZoneCannotBeReadSaysSo) {
  PipelineScenario s;
  ScheduleOrder order = hourly();
  order.zone = "Nowhere";
  ASSERT_TRUE(s.ask_schedule(SubmitSchedule{.order = order, .role = {}}));
  s.advance(hours(3));
  EXPECT_EQ(only(s).note, "no such zone");
  EXPECT_THAT(outputs(s), IsEmpty());
}

TEST(Schedules, WithoutRoomForItsJobAFireTimeIsRefused) {
  PipelineScenario s;
  ASSERT_TRUE(s.ask_schedule(SubmitSchedule{.order = hourly(), .role = {}}));
  for (size_t i = 0; i < kJobsPerUserMax; ++i) {
    StageOrder stage = PipelineScenario::stage("");
    stage.order.plan = text("other-", i);
    ASSERT_TRUE(s.ask(Submit{.order = stage.order, .role = {}}));
  }
  s.advance(hours(1));
  EXPECT_THAT(results(only(s)), ElementsAre("refused"));
}

// Months of fire times, with a crash between any two writes: each fire time starts one job.
TEST(Schedules, EachFireTimeStartsOneJobWhateverCrashes) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    Prng prng(seed);
    PipelineScenario s;
    ScheduleOrder order = hourly(Overlap::kQueue, CatchUp::kAll);
    order.cron = "15 */7 * * *";
    ASSERT_TRUE(s.ask_schedule(SubmitSchedule{.order = order, .role = {}}));
    const int64_t begin = unix_seconds(s.now());
    while (s.now() < from_unix(90 * 24 * 3'600)) {
      if (prng.chance(1, 4)) s.crash_before_next_write();
      s.advance(minutes(prng.between(1, prng.chance(1, 10) ? 3'000 : 400)));
      if (prng.chance(1, 4)) s.crash_before_next_write();
      s.run();
      if (s.has_crashed()) s.come_back();
    }
    s.crash_before_next_write();
    s.restart();
    s.come_back();
    s.run();
    std::map<std::string, int> started;
    for (const std::string& output : outputs(s)) ++started[output];
    const Cron cron = *parse_cron(order.cron);
    const Zone utc{.end = int64_t{1} << 33, .offsets = {{0, 0}}};
    size_t fire_times = 0;
    for (int64_t at = begin; ++fire_times;) {
      at = *next_fire_time(cron, utc, at);
      if (at > unix_seconds(s.now())) break;
      EXPECT_EQ(started["/report/" + firing_name(at)], 1) << firing_name(at);
    }
    EXPECT_EQ(started.size(), fire_times - 1);
  }
}

}  // namespace
}  // namespace proffer::batch::schedules_test
