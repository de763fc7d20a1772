// Arguments from standard input, the flags and files of arrays, and the output about arrays.

#include "frameworks/batch/shell/results.h"

#include <cstdio>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "frameworks/batch/shell/progress.h"
#include "frameworks/batch/shell/submit.h"

namespace proffer::batch::results_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<std::vector<std::string>> arguments_of(const std::string& text, char end) {
  std::FILE* file = std::tmpfile();
  std::fwrite(text.data(), 1, text.size(), file);
  std::rewind(file);
  Result<std::vector<std::string>> arguments = read_arguments(file, end);
  std::fclose(file);
  return arguments;
}

TEST(Arguments, AreReadOneALineOrUpToANul) {
  EXPECT_THAT(*arguments_of("a\nb c\n\nlast", '\n'), ElementsAre("a", "b c", "", "last"));
  EXPECT_THAT(*arguments_of(std::string("a\nb\0c\0", 6), '\0'), ElementsAre("a\nb", "c"));
  EXPECT_TRUE(arguments_of("", '\n')->empty());
  EXPECT_THAT(arguments_of(text("a\n", std::string(5'000, 'x')), '\n').error().message(),
              HasSubstr("argument 2 has more than 4096 bytes"));
}

JobText array_of(const std::string& indices) {
  JobText job;
  job.command = {"true"};
  job.array = indices;
  job.output = "/tmp/out";
  return job;
}

TEST(ArrayJob, FlagsSayMoreThanTheFile) {
  JobText file = array_of("1-10");
  file.retries = "2";
  file.max_failed = "25%";
  JobText flags;
  flags.array = "1-20%3";
  flags.retry_on = "75, 9";
  flags.timeout = "90s";
  const Result<JobSpec> job = make_job(file, flags);
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(job->array->size(), 20u);
  EXPECT_EQ(job->array->at_once, 3);
  EXPECT_EQ(job->array->retries, 2);
  EXPECT_THAT(job->array->retry_on, ElementsAre(9, 75));
  EXPECT_EQ(job->array->failed_max, 5);
  EXPECT_EQ(job->array->timeout, seconds(90));
  EXPECT_EQ(job->array->directory.front(), '/');
}

TEST(ArrayJob, OfArgumentsGetsThemAsItsLastWord) {
  JobText given = array_of("");
  given.array.reset();
  given.arguments = {"a", "b"};
  const Result<JobSpec> job = make_job({}, given);
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_THAT(job->array->command, ElementsAre("true", "{}"));
  EXPECT_THAT(job->arguments, ElementsAre("a", "b"));
  EXPECT_TRUE(job->array->has_arguments);
  given.command = {"echo", "{/}"};
  EXPECT_THAT(make_job({}, given)->array->command, ElementsAre("echo", "{/}"));
}

TEST(ArrayJob, OfOneWordIsAShellLineUnlessItIsAProgram) {
  JobText given = array_of("1-2");
  const auto words = [&](const std::string& word) {
    given.command = {word};
    return make_job({}, given)->array->command;
  };
  EXPECT_THAT(words("echo {} | cat"),
              ElementsAre("/bin/sh", "-c", "echo \"${1}\" | cat", "sh", "{}"));
  EXPECT_THAT(words("exit"), ElementsAre("/bin/sh", "-c", "exit"));
  EXPECT_THAT(words("./job.sh"), ElementsAre("./job.sh"));
  EXPECT_THAT(words("true"), ElementsAre("true"));
  given.array.reset();
  given.arguments = {"a"};
  EXPECT_THAT(words("gzip -9"), ElementsAre("/bin/sh", "-c", "gzip -9 \"${1}\"", "sh", "{}"));
  given.command = {"my program", "x"};
  EXPECT_THAT(make_job({}, given)->array->command, ElementsAre("my program", "x", "{}"));
}

TEST(ArrayJob, SaysWhatIsWrongWithIt) {
  struct Row {
    std::string_view why;
    void (*change)(JobText& job);
  };
  const Row rows[] = {
      {"has one of array, arguments", [](JobText& j) { j.arguments = {"a"}; }},
      {"a job is either an array", [](JobText& j) { j.map = "cat"; }},
      {"reducers cannot be given for an array", [](JobText& j) { j.reducers = "2"; }},
      {"split cannot be given for an array", [](JobText& j) { j.split = "1MiB"; }},
      {"speculation cannot be given for an array", [](JobText& j) { j.speculation = "on"; }},
      {"by_file cannot be given for an array", [](JobText& j) { j.by_file = "true"; }},
      {"allow_empty cannot be given for an array", [](JobText& j) { j.allow_empty = "false"; }},
      {"has no array, arguments", [](JobText& j) { j.array.reset(); }},
      {"the command of the array is missing", [](JobText& j) { j.command.clear(); }},
      {"max_failed", [](JobText& j) { j.max_failed = "101%"; }},
      {"max_failed", [](JobText& j) { j.max_failed = "few"; }},
      {"retries", [](JobText& j) { j.retries = "-1"; }},
      {"ok", [](JobText& j) { j.ok = "0,x"; }},
      {"timeout", [](JobText& j) { j.timeout = "9"; }},
      {"at_once", [](JobText& j) { j.at_once = "0"; }},
  };
  for (const Row& row : rows) {
    JobText job = array_of("1-10");
    row.change(job);
    const Result<JobSpec> made = make_job({}, job);
    ASSERT_FALSE(made) << row.why;
    EXPECT_EQ(made.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(made.error().message(), HasSubstr(row.why));
  }
}

TEST(ArrayJob, IsReadFromAFile) {
  const Result<JobFile> file = parse_job_file(
      "command: [./simulate, --seed, '{}']\narray: 1-9%2\nok: 0,1\ntimeout: 1h\noutput: out\n");
  ASSERT_TRUE(file) << file.error().message();
  const JobText* job = &file->job;
  EXPECT_THAT(job->command, ElementsAre("./simulate", "--seed", "{}"));
  EXPECT_EQ(job->array, "1-9%2");
  EXPECT_EQ(job->ok, "0,1");
}

TEST(ArrayProgress, IsShownByElements) {
  proto::BatchJob job;
  job.phase = proto::BatchPhase::kMap;
  job.output = "/tmp/out";
  job.array = {.total = 20,
               .done = 4,
               .failed = 1,
               .running = 6,
               .tasks = 2,
               .failed_attempts = 3,
               .bytes_out = 2'048,
               .eta = seconds(9)};
  EXPECT_EQ(phase_text(job), "elements");
  EXPECT_EQ(progress_line(job), "5 of 20 elements, 1 failed, 2 running, 9 s left");
  EXPECT_THAT(bars(job, 80), ElementsAre(HasSubstr("5 of 20  2 running  1 failed  9 s left")));
  EXPECT_EQ(result_text(job, milliseconds(1'500)),
            "4 of 20 elements done, 1 failed, 2 attempts repeated, 2.0 KiB of output in /tmp/out "
            "in 1.5 s");
  EXPECT_THAT(progress_json(job, seconds(1)), HasSubstr("\"elements_failed\":1"));
}

}  // namespace
}  // namespace proffer::batch::results_test
