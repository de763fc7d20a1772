#include "frameworks/batch/core/job.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proffer::batch::job_test {
namespace {

using ::testing::HasSubstr;

JobSpec good() {
  JobSpec job;
  job.map = "cat";
  job.reduce = "uniq -c";
  job.inputs = {"/in"};
  job.output = "/out";
  return job;
}

TEST(CheckJob, TakesAGoodJob) { EXPECT_TRUE(check_job(good())); }

TEST(CheckJob, SaysWhichValueIsWrong) {
  struct Row {
    std::string what;
    std::function<void(JobSpec&)> change;
  };
  for (const Row& row : std::vector<Row>{
           {"job name", [](JobSpec& job) { job.name = "a b"; }},
           {"no mapper", [](JobSpec& job) { job.map = ""; }},
           {"no reducer", [](JobSpec& job) { job.reduce = ""; }},
           {"reducers is 0", [](JobSpec& job) { job.reducers = 0; }},
           {"reducers must be from 0 to 10000, not -1", [](JobSpec& job) { job.reducers = -1; }},
           {"not 10001", [](JobSpec& job) { job.reducers = 10'001; }},
           {"no input", [](JobSpec& job) { job.inputs.clear(); }},
           {"input path 'in'", [](JobSpec& job) { job.inputs = {"in"}; }},
           {"no output", [](JobSpec& job) { job.output = ""; }},
           {"output path",
            [](JobSpec& job) { job.output = "/" + std::string(kPathBytesMax, 'x'); }},
           {"split must be at least 1 byte", [](JobSpec& job) { job.split_bytes = 0; }},
           {"at most 16384", [](JobSpec& job) { job.map = std::string(20'000, 'x'); }},
           {"NUL byte", [](JobSpec& job) { job.reduce = std::string("a\0b", 3); }},
           {"name of a shipped file", [](JobSpec& job) { job.files["a/b"] = ""; }},
           {"the task has a file of that name", [](JobSpec& job) { job.files["map.out"] = ""; }},
           {"at most 262144", [](JobSpec& job) { job.files["f"] = std::string(300'000, 'x'); }},
           {"fetch: ", [](JobSpec& job) { job.fetch = {{.uri = "ftp://host/x"}}; }},
           {"another file of that name",
            [](JobSpec& job) { job.fetch = {{.uri = "http://host/map.out"}}; }},
           {"environment name '1X'", [](JobSpec& job) { job.env["1X"] = ""; }},
           {"at most 32768", [](JobSpec& job) { job.env["X"] = std::string(40'000, 'x'); }},
           {"more than zero of some resource", [](JobSpec& job) { job.resources = {}; }},
           {"attempts", [](JobSpec& job) { job.attempts = 0; }},
           {"time limit", [](JobSpec& job) { job.time_limit = seconds(-1); }},
           {"time limit", [](JobSpec& job) { job.time_limit = kDurationMax; }},
       }) {
    JobSpec job = good();
    row.change(job);
    const Result<void> checked = check_job(job);
    ASSERT_FALSE(checked) << row.what;
    EXPECT_EQ(checked.error().code(), ErrorCode::kInvalidArgument) << row.what;
    EXPECT_THAT(checked.error().message(), HasSubstr(row.what));
  }
}

TEST(CheckJob, TakesAJobOfMappersOnly) {
  JobSpec job = good();
  job.reduce = "";
  job.reducers = 0;
  EXPECT_TRUE(check_job(job));
}

TEST(Bytes, AreReadExactly) {
  EXPECT_EQ(*parse_bytes("split", "4096"), 4'096);
  EXPECT_EQ(*parse_bytes("split", "1B"), 1);
  EXPECT_EQ(*parse_bytes("split", "8MiB"), int64_t{8} << 20);
  EXPECT_EQ(*parse_bytes("split", " 512 KiB "), 512 * 1'024);
  EXPECT_EQ(*parse_bytes("split", "1024TiB"), int64_t{1} << 50);
  for (const char* wrong : {"", "MiB", "8MB", "8mib", "-1", "1.5MiB", "1025TiB",
                            "99999999999999999999", "0x10", "8MiB8", "1e3"}) {
    EXPECT_FALSE(parse_bytes("split", wrong)) << wrong;
  }
  EXPECT_EQ(print_bytes(812), "812 B");
  EXPECT_EQ(print_bytes(1'536), "1.5 KiB");
  EXPECT_EQ(print_bytes(int64_t{8} << 20), "8.0 MiB");
}

TEST(PrintableTail, DoesNothingToTheScreen) {
  EXPECT_EQ(printable_tail("plain\twith é and 🙂\n", 100), "plain\twith é and 🙂");
  EXPECT_EQ(printable_tail("\x1b[2J\r\nred\x07", 100), "\\x1b[2J\nred\\x07");
  EXPECT_EQ(printable_tail(std::string("\0\xFF\xC3", 3), 100), "\\x00\\xff\\xc3");
  EXPECT_EQ(printable_tail("\xC2\x9B"
                           "31m",
                           100),
            "\\xc2\\x9b31m");  // a C1 control character
}

TEST(PrintableTail, StartsWithALine) {
  EXPECT_EQ(printable_tail("first line\nsecond\nthird\n", 14), "second\nthird");
  EXPECT_EQ(printable_tail("one line that is too long", 8), "too long");
}

}  // namespace
}  // namespace proffer::batch::job_test
