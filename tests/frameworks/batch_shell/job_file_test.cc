#include "frameworks/batch/shell/job_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/prng.h"

namespace proffer::batch::job_file_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error_of(const std::string& yaml) {
  const Result<JobText> job = parse_job_file(yaml);
  return job ? "" : job.error().message();
}

TEST(JobFile, SaysWhatTheFlagsSay) {
  const Result<JobText> job = parse_job_file(R"(
# The words of two directories.
name: wordcount
role: eng/ads
map: awk -f map.awk
reduce: "awk -f reduce.awk"
input: [/usr/include, /etc]
output: out
reducers: 4
split: 8MiB
map_accepts: [1, 3]
reduce_accepts: 2
by_file: true
allow_empty: false
fail_if_impossible: true
resources: cpus:1;mem:256
files:
  - map.awk
  - reduce.awk
env: {COLOUR: yes, NUMBER: 010}
)");
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(job->name, "wordcount");
  EXPECT_EQ(job->role, "eng/ads");
  EXPECT_EQ(job->map, "awk -f map.awk");
  EXPECT_EQ(job->reduce, "awk -f reduce.awk");
  EXPECT_THAT(job->inputs, ElementsAre("/usr/include", "/etc"));
  EXPECT_EQ(job->output, "out");
  EXPECT_EQ(job->reducers, "4");
  EXPECT_EQ(job->split, "8MiB");
  EXPECT_THAT(job->map_accepts, ElementsAre("1", "3"));
  EXPECT_THAT(job->reduce_accepts, ElementsAre("2"));
  EXPECT_EQ(job->by_file, "true");
  EXPECT_EQ(job->allow_empty, "false");
  EXPECT_EQ(job->fail_if_impossible, "true");
  EXPECT_EQ(job->resources, "cpus:1;mem:256");
  EXPECT_THAT(job->files, ElementsAre("map.awk", "reduce.awk"));
  // As they are written: neither true nor 8.
  EXPECT_EQ(job->env.at("COLOUR"), "yes");
  EXPECT_EQ(job->env.at("NUMBER"), "010");
}

TEST(JobFile, MayBeJson) {
  const Result<JobText> job = parse_job_file(R"({"map": "cat", "input": "/x", "reducers": 0})");
  ASSERT_TRUE(job);
  EXPECT_EQ(job->reducers, "0");
  EXPECT_THAT(job->inputs, ElementsAre("/x"));
}

TEST(JobFile, NamesTheLineAndTheNearestKey) {
  EXPECT_EQ(error_of("map: cat\nreducer: cat\n"),
            "line 2: unknown key 'reducer' in a job file; did you mean 'reduce'?");
  EXPECT_EQ(error_of("map: cat\nxyzzy: 1\n"), "line 2: unknown key 'xyzzy' in a job file");
}

TEST(JobFile, RefusesWhatYamlWouldSwallow) {
  EXPECT_EQ(error_of("map: a\nreduce: b\nmap: c\n"), "line 3: key 'map' is given twice");
  EXPECT_EQ(error_of("env:\n  A: 1\n  A: 2\n"), "line 3: key 'A' is given twice");
  EXPECT_THAT(error_of("map: a\n---\nmap: b\n"), HasSubstr("a second document begins"));
}

TEST(JobFile, SaysWhichValueHasAWrongForm) {
  EXPECT_EQ(error_of("map: [a, b]\n"), "line 1: the value of 'map' must be one text or number");
  EXPECT_EQ(error_of("map: ~\n"), "line 1: the value of 'map' must be one text or number");
  EXPECT_EQ(error_of("input: {a: b}\n"), "line 1: the value of 'input' must be a text or a list");
  EXPECT_EQ(error_of("env: [A=1]\n"), "line 1: env must be a table of KEY: value");
  EXPECT_EQ(error_of("- a\n- b\n"), "line 1: a job file must be a table of KEY: value");
  EXPECT_EQ(error_of("just text"), "line 1: a job file must be a table of KEY: value");
}

TEST(JobFile, SurvivesGarbage) {
  EXPECT_THAT(error_of(""), HasSubstr("empty"));
  EXPECT_THAT(error_of("map: 'open"), HasSubstr("line"));
  EXPECT_NE(error_of("{[}]"), "");
  EXPECT_NE(error_of(std::string("\0\0\0", 3)), "");
  EXPECT_NE(error_of("\xFF\xFE\x00"), "");
  EXPECT_NE(error_of("a: &x [*x]\n"), "");
  EXPECT_NE(error_of(std::string(100'000, '[')), "");
  EXPECT_NE(error_of(std::string(100'000, '{')), "");
  EXPECT_THAT(error_of(std::string(2'000'000, '#')), HasSubstr("at most"));
  const std::string good = "name: n\nmap: cat\ninput: [a, b]\nenv: {A: b}\nfiles:\n  - x\n";
  Prng random(5);
  for (int round = 0; round < 3'000; ++round) {
    std::string bytes = good;
    for (uint64_t i = random.below(5) + 1; i > 0; --i) {
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    }
    const Result<JobText> job = parse_job_file(bytes);
    if (!job) {
      ASSERT_EQ(job.error().code(), ErrorCode::kInvalidArgument);
    }
  }
}

}  // namespace
}  // namespace proffer::batch::job_file_test
