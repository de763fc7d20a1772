#include "frameworks/batch/shell/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"

namespace proffer::batch::report_test {
namespace {

using proto::TaskState;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kStart = 1'795'651'200;

Time at(int64_t seconds) { return Time::from_nanos((kStart + seconds) * 1'000'000'000); }

proto::BatchJob job() {
  proto::BatchJob job;
  job.job = "words-7";
  job.owner = "ann";
  job.framework = FrameworkId("batch-1-1");
  job.phase = proto::BatchPhase::kFinished;
  job.submitted_at = at(0);
  job.started_at = at(1);
  job.ended_at = at(31);
  job.map = {.total = 3, .done = 3, .records_in = 1'000, .bytes_in = 2'048};
  job.reduce = {.total = 1, .done = 1, .records_out = 10, .bytes_out = 100};
  job.output = "/data/<words>";
  return job;
}

proto::EndedTask attempt(std::string_view id, std::string_view agent, int64_t from, int64_t until,
                         TaskState state = TaskState::kFinished) {
  proto::EndedTask ended;
  ended.framework = FrameworkId("batch-1-1");
  ended.amounts = ResourceVector::of(1'000, 256'000);
  ended.launched_at = at(from);
  ended.status.task = TaskId(std::string(id));
  ended.status.agent = AgentId(std::string(agent));
  ended.status.state = state;
  ended.status.at = at(until);
  ended.status.usage =
      proto::TaskUsage{.cpu_nanos = (until - from) * 500'000'000, .memory_peak_bytes = 40 << 20};
  return ended;
}

JobReport report() {
  std::vector<proto::EndedTask> history = {
      attempt("words-7.map-00000-1", "a1", 1, 5),
      attempt("words-7.map-00001-1", "a2", 1, 6),
      attempt("words-7.map-00002-1", "a2", 6, 9, TaskState::kFailed),
      attempt("words-7.map-00002-2", "a1", 9, 25),
      attempt("words-7.reduce-00000-1", "a1", 25, 26, TaskState::kLost),
      attempt("words-7.reduce-00000-2", "a1", 26, 30),
      attempt("words-70.map-00000-1", "a1", 1, 5),  // an attempt of another job
  };
  history[2].status.message = "exit 3: <no> such & file";
  return make_report(job(), history);
}

TEST(Report, SumsUpStagesAndNamesWhatWasSlowOrFailed) {
  const JobReport made = report();
  ASSERT_EQ(made.stages.size(), 2u);
  const ReportedStage& map = made.stages[0];
  EXPECT_EQ(map.attempts, 4);
  EXPECT_EQ(map.failed, 1);
  EXPECT_EQ(map.shortest, seconds(4));
  EXPECT_EQ(map.median, seconds(5));
  EXPECT_EQ(map.longest, seconds(16));
  EXPECT_EQ(map.use.cpus_mean, 500);
  EXPECT_EQ(made.stages[1].lost, 1);
  ASSERT_EQ(made.slow.size(), 1u);
  EXPECT_EQ(made.attempts[made.slow[0]].name.attempt, 2u);
  EXPECT_EQ(made.unfinished.size(), 2u);
}

TEST(Report, TextHasARowForEachStage) {
  const std::string text = report_text(report());
  EXPECT_THAT(text, HasSubstr("words-7 of ann: finished in 31.0 s\n"));
  EXPECT_THAT(text, HasSubstr("  waited     1.0 s\n"));
  EXPECT_THAT(text, HasSubstr("\nmap     4         1       0     4.0 s"));
  EXPECT_THAT(text, HasSubstr("cpus:1;mem:256"));
  EXPECT_THAT(text, HasSubstr("map-2, attempt 2 on a1 took 16.0 s, 3.2 times the median"));
  EXPECT_THAT(text, HasSubstr("map-2 on a2 failed after 3.0 s: exit 3: <no> such & file"));
  EXPECT_THAT(text, HasSubstr("reduce-0 on a1 lost after 1.0 s"));
}

TEST(Report, HtmlHasABarForEachAttemptAndEscapesWhatOthersWrote) {
  const std::string html = report_html(report());
  size_t bars = 0;
  for (size_t at = 0; (at = html.find("<title>", at)) != std::string::npos; ++at) ++bars;
  EXPECT_EQ(bars, 1u + 6u);  // the page has a title too
  EXPECT_THAT(html, HasSubstr("exit 3: &lt;no&gt; such &amp; file"));
  EXPECT_THAT(html, HasSubstr("/data/&lt;words&gt;"));
  EXPECT_THAT(html, Not(HasSubstr("<no>")));
  EXPECT_THAT(html, Not(HasSubstr("://")));  // no external links
}

TEST(Report, BarsOfAnAgentThatOverlapHaveRowsOfTheirOwn) {
  const std::string html =
      report_html(make_report(job(), {attempt("words-7.map-00000-1", "a1", 0, 10),
                                      attempt("words-7.map-00001-1", "a1", 5, 10),
                                      attempt("words-7.map-00002-1", "a1", 10, 20)}));
  EXPECT_THAT(html, HasSubstr("x='140' y='20' width='500'"));
  EXPECT_THAT(html, HasSubstr("x='390' y='30' width='250'"));
  EXPECT_THAT(html, HasSubstr("x='640' y='20' width='500'"));
}

TEST(Report, JobWithoutAttemptsSaysSo) {
  const JobReport made = make_report(job(), {});
  EXPECT_THAT(report_text(made), HasSubstr("no attempt"));
  EXPECT_THAT(report_html(made), HasSubstr("no attempt"));
  EXPECT_THAT(report_json(made), HasSubstr("\"stages\":[],\"attempts\":[]}"));
}

}  // namespace
}  // namespace proffer::batch::report_test
