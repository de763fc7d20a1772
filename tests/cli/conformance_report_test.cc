// A trial's process passes its outcome to the report as one line.

#include "cli/conformance_report.h"

#include <gtest/gtest.h>

namespace proffer::cli {
namespace conformance_report_test {
namespace {

TEST(ConformanceReport, AnOutcomeIsTheSameAfterItsLine) {
  for (const Outcome& outcome : {Outcome{.seen = "steady; 3 tasks", .took = milliseconds(6'083)},
                                 Outcome{.verdict = Verdict::kFailed,
                                 .seen = "died of \"signal 6\"; and 2 more",
                                 .output = {"first line", "", "a tab\tand a \\"},
                                 .took = seconds(12)},
                                 Outcome{.verdict = Verdict::kNotTested, .seen = ""}}) {
    const Result<Outcome> read = parse_outcome(outcome_json("baseline", "its work", outcome));
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->verdict, outcome.verdict);
    EXPECT_EQ(read->seen, outcome.seen);
    EXPECT_EQ(read->output, outcome.output);
    EXPECT_EQ(read->took, outcome.took);
  }
}

TEST(ConformanceReport, ALineWithoutAResultIsRefused) {
  for (const char* line : {"", "error: no master", "{}", R"({"result":"perhaps"})"}) {
    EXPECT_FALSE(parse_outcome(line)) << line;
  }
}

TEST(ConformanceReport, OnlyFailuresShowTheLastOutput) {
  const std::vector<std::string> output = {"one", "two"};
  EXPECT_EQ(outcome_lines("baseline", "its work", {.seen = "steady", .output = output}),
            (std::vector<std::string>{"baseline          passed     steady"}));
  EXPECT_EQ(
      outcome_lines("baseline", "its work",
                    {.verdict = Verdict::kFailed, .seen = "it died", .output = output}),
      (std::vector<std::string>{"baseline          FAILED     it died",
                                "      (its work; last output:)", "      | one", "      | two"}));
}

}  // namespace
}  // namespace conformance_report_test
}  // namespace proffer::cli
