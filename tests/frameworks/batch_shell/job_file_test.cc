#include "frameworks/batch/shell/job_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/prng.h"
#include "common/text.h"

namespace proffer::batch::job_file_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error_of(const std::string& yaml) {
  const Result<JobFile> file = parse_job_file(yaml);
  return file ? "" : file.error().message();
}

TEST(JobFile, SaysWhatTheFlagsSay) {
  const Result<JobFile> file = parse_job_file(R"(
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
speculation: off
allow_empty: false
fail_if_impossible: true
resources: cpus:1;mem:256
files:
  - map.awk
  - reduce.awk
env: {COLOUR: yes, NUMBER: 010}
)");
  ASSERT_TRUE(file) << file.error().message();
  const JobText* job = &file->job;
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
  EXPECT_EQ(job->speculation, "off");
  EXPECT_EQ(job->allow_empty, "false");
  EXPECT_EQ(job->fail_if_impossible, "true");
  EXPECT_EQ(job->resources, "cpus:1;mem:256");
  EXPECT_THAT(job->files, ElementsAre("map.awk", "reduce.awk"));
  // Values are kept as written: `yes` is not true, and `010` is not 8.
  EXPECT_EQ(job->env.at("COLOUR"), "yes");
  EXPECT_EQ(job->env.at("NUMBER"), "010");
}

TEST(JobFile, MayBeJson) {
  const Result<JobFile> file = parse_job_file(R"({"map": "cat", "input": "/x", "reducers": 0})");
  ASSERT_TRUE(file);
  const JobText* job = &file->job;
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
  EXPECT_EQ(error_of("map: [a, b]\n"),
            "line 1: the value of 'map' must be one text or number, not a list");
  EXPECT_EQ(error_of("map: ~\n"),
            "line 1: the value of 'map' must be one text or number, not nothing");
  EXPECT_EQ(error_of("input: {a: b}\n"),
            "line 1: the value of 'input' must be a text or a list, not a table");
  EXPECT_EQ(error_of("env: [A=1]\n"), "line 1: env must be a table of KEY: value, not a list");
  EXPECT_EQ(error_of("- a\n- b\n"), "line 1: a job file must be a table of KEY: value, not a list");
  EXPECT_EQ(error_of("just text"),
            "line 1: a job file must be a table of KEY: value, not 'just text'");
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
    const Result<JobFile> file = parse_job_file(bytes);
    if (!file) {
      ASSERT_EQ(file.error().code(), ErrorCode::kInvalidArgument);
    }
  }
}

// --- the schema --------------------------------------------------------------------------------

// A value that is valid for each key of a place.
std::string value_of(std::string_view key) {
  if (key == "env" || key == "parameters") return "{A: x}";
  if (key == "stages") return "{a: {run: x}}";
  if (key == "band") return "free";
  if (key == "when") return "any";
  if (key == "speculation") return "off";
  if (key == "by_file" || key == "allow_empty" || key == "fail_if_impossible" ||
      key == "decompress" || key == "private_tmp") {
    return "true";
  }
  if (key == "resources") return "'cpus:7'";
  if (key == "time_limit" || key == "timeout" || key == "locality_wait") return "7s";
  return "\"7\"";
}

// Each key of the schema is read into its own place, and no other key is accepted.
TEST(Schema, HasTheKeysThatAreRead) {
  std::set<std::string> seen;
  for (const std::string_view key : job_file_schema().properties("/")) {
    if (key == "parameters" || key == "stages") continue;
    const Result<JobFile> file = parse_job_file(text(key, ": ", value_of(key), "\n"));
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_FALSE(*file == JobFile()) << key;
    EXPECT_TRUE(std::none_of(seen.begin(), seen.end(), [&](const std::string& other) {
      return *parse_job_file(other) == *file;
    })) << key;
    seen.insert(text(key, ": ", value_of(key), "\n"));
  }
  EXPECT_GT(seen.size(), 30u);
  for (const std::string_view key : job_file_schema().properties("/$defs/stage")) {
    const Result<JobFile> file =
        parse_job_file(text("stages: {a: {", key, ": ", value_of(key), "}}\n"));
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_TRUE(file->stages.front().job ==
                parse_job_file(text(key, ": ", value_of(key), "\n"))->job)
        << key;
  }
}

TEST(JobFile, HasACronExpressionAsItsScheduleOrATable) {
  const Result<JobFile> brief = parse_job_file("run: x\nschedule: '@daily'\n");
  ASSERT_TRUE(brief) << brief.error().message();
  EXPECT_EQ(brief->schedule, (ScheduleText{.cron = "@daily"}));
  const Result<JobFile> whole = parse_job_file(
      "run: x\nschedule:\n  cron: 5 4 * * *\n  zone: Asia/Tokyo\n  overlap: queue\n"
      "  catch_up: all\n");
  ASSERT_TRUE(whole) << whole.error().message();
  EXPECT_EQ(whole->schedule,
            (ScheduleText{
                .cron = "5 4 * * *", .zone = "Asia/Tokyo", .overlap = "queue", .catch_up = "all"}));
  EXPECT_THAT(error_of("run: x\nschedule: {cron: '@daily', overlap: never}\n"),
              HasSubstr("line 2"));
  EXPECT_THAT(error_of("run: x\nschedule: [a]\n"), HasSubstr("line 2"));
}

TEST(Schema, SaysWhatIsAllowedWithLineAndKey) {
  EXPECT_EQ(error_of("map: cat\nband: some\n"),
            "line 2: band must be free, batch, production or monitoring, not 'some'");
  EXPECT_EQ(error_of("stages:\n  a:\n    run: x\n    when: none\n"),
            "line 4: when must be all or any, not 'none'");
  EXPECT_EQ(error_of("env: [A]\n"), "line 1: env must be a table of KEY: value, not a list");
}

TEST(Schema, FitsTheExamples) {
  int examples = 0;
  const std::string root = text(PROFFER_SOURCE_DIR, "/examples");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const std::string path = entry.path().string();
    if (!path.ends_with("/job.yaml") && path.find("/pipeline/") == std::string::npos) continue;
    std::ifstream file(path);
    const std::string yaml{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(error_of(yaml), "") << path;
    ++examples;
  }
  EXPECT_GE(examples, 2);
}

// --- pipelines ---------------------------------------------------------------------------------

TEST(PipelineFile, HasStagesInTheirOrder) {
  const Result<JobFile> file = parse_job_file(R"(
name: etl
env: {LEVEL: "1"}
stages:
  clean: {map: cat, input: [a, b], output: clean, reducers: 0}
  count:
    after: clean
    after_any: [other-7]
    when: any
    each_file: clean
    command: [wc, -l]
  alarm: {after_failure: [clean, count], run: "echo oh | mail root"}
  each: {after_each: count, array: 1-3, command: [true]}
)");
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->job.name, "etl");
  EXPECT_EQ(file->job.env.at("LEVEL"), "1");
  ASSERT_EQ(file->stages.size(), 4u);
  EXPECT_EQ(file->stages[3].job.after_each, "count");
  EXPECT_EQ(file->stages[0].name, "clean");
  EXPECT_EQ(file->stages[0].line, 5);
  const JobText& count = file->stages[1].job;
  EXPECT_THAT(count.after, ElementsAre("clean"));
  EXPECT_THAT(count.after_any, ElementsAre("other-7"));
  EXPECT_EQ(count.when, "any");
  EXPECT_TRUE(count.says_array());
  EXPECT_THAT(file->stages[2].job.after_failure, ElementsAre("clean", "count"));
  EXPECT_EQ(file->stages[2].job.run, "echo oh | mail root");
}

TEST(PipelineFile, SaysWhichKeyOfWhichStageIsWrong) {
  EXPECT_EQ(error_of("stages:\n  a:\n    mapp: cat\n"),
            "line 3: unknown key 'mapp' in stage 'a'; did you mean 'map'?");
  EXPECT_EQ(error_of("stages:\n  a: {name: x, map: cat}\n"),
            "line 2: unknown key 'name' in stage 'a'");
  EXPECT_EQ(error_of("map: cat\nstages: {a: {map: cat}}\n"),
            "line 1: unknown key 'map' in the file of a pipeline");
  EXPECT_EQ(error_of("stages: {}\n"), "line 1: a pipeline needs at least one stage");
  EXPECT_EQ(error_of("stages:\n  a: cat\n"),
            "line 2: stage 'a' must be a table of KEY: value, not 'cat'");
}

// --- parameters --------------------------------------------------------------------------------

Result<JobFile> with(const std::string& yaml, const Parameters& given = {}) {
  return parse_job_file(yaml, given, "/home/ada");
}

TEST(Parameters, AreThoseOfTheFileUnlessOthersAreGiven) {
  const std::string yaml =
      "parameters: {day: 2026-11-25, n: 4}\nmap: grep ~{day}\ninput: [a, b/~{day}/~{n}]\n"
      "reducers: ~{n}\nenv: {DAY: x~{day}}\noutput: out\n";
  // A list in brackets must be quoted.
  EXPECT_FALSE(with(yaml));
  std::string quoted = yaml;
  quoted.replace(quoted.find("b/~{day}/~{n}"), 13, "\"b/~{day}/~{n}\"");
  quoted.replace(quoted.find("x~{day}"), 7, "\"x~{day}\"");
  const Result<JobFile> file = with(quoted, {{"n", "7"}});
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->job.map, "grep 2026-11-25");
  EXPECT_THAT(file->job.inputs, ElementsAre("a", "b/2026-11-25/7"));
  EXPECT_EQ(file->job.reducers, "7");
  EXPECT_EQ(file->job.env.at("DAY"), "x2026-11-25");
}

TEST(Parameters, LeaveToTheShellWhatIsTheShells) {
  const Result<JobFile> file =
      with("parameters: {a: \"~{b} ${a}\"}\nmap: echo $a ${a} $(a) ~/x ~~{a} {} ~{a} ~~~{a}\n");
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->job.map, "echo $a ${a} $(a) ~/x ~{a} {} ~{b} ${a} ~~{a}");
}

TEST(Parameters, NameTheOutputsOfStages) {
  const Result<JobFile> file = with(
      "parameters: {day: d1}\nstages:\n  a: {map: cat, output: \"out/~{day}\"}\n"
      "  b: {input: \"~{a.output}\", output: /b}\n  c: {run: \"cat ~{b.output}/*\"}\n");
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_THAT(file->stages[1].job.inputs, ElementsAre("/home/ada/out/d1"));
  EXPECT_EQ(file->stages[2].job.run, "cat /b/*");
}

TEST(Parameters, ThatAreNotKnownAreErrorsWithLineAndKey) {
  const auto error = [](const std::string& yaml, const Parameters& given = {}) {
    const Result<JobFile> file = with(yaml, given);
    return file ? "" : file.error().message();
  };
  EXPECT_EQ(error("parameters: {day: 1}\nmap: cat\ninput: ~{dya}\n"),
            "line 3: input: there is no parameter 'dya'; did you mean 'day'?");
  EXPECT_EQ(error("map: cat ~{x\n"), "line 1: map: } is missing after ~{");
  EXPECT_EQ(error("parameters: {day: 1}\nmap: cat\n", {{"dy", "2"}}),
            "the job file does not declare the parameter 'dy'; did you mean 'day'?");
  EXPECT_THAT(error("parameters: {\"a b\": 1}\nmap: cat\n"), HasSubstr("line 1: parameter 'a b'"));
  EXPECT_THAT(error("stages:\n  a: {run: x}\n  b: {run: \"~{a.output}\"}\n"),
              HasSubstr("line 3: run: there is no parameter 'a.output'"));
}

// A file of 1 MiB could refer to a long value 100,000 times.
TEST(Parameters, DoNotFillTheMemory) {
  std::string yaml = "parameters: {a: " + std::string(10'000, 'x') + "}\nmap: \"";
  for (int i = 0; i < 10'000; ++i) yaml += "~{a}";
  const Result<JobFile> file = with(yaml + "\"\n");
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message(), HasSubstr("line 2: map: after its parameters are filled in"));
}

}  // namespace
}  // namespace proffer::batch::job_file_test
