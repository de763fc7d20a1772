// The texts of an array: indices, replacement strings, and what is refused.

#include "frameworks/batch/core/array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "frameworks/batch/core/order.h"
#include "frameworks/batch/core/results.h"

namespace proffer::batch::array_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string expanded(const ArrayText& array) {
  std::string out;
  for (uint32_t i = 0; i < count_of(array.indices); ++i) {
    out += text(i == 0 ? "" : " ", index_at(array.indices, i));
  }
  return array.at_once == 0 ? out : text(out, " at once ", array.at_once);
}

TEST(ArrayText, IsReadAsSlurmReadsIt) {
  struct Row {
    std::string_view text;
    std::string_view expected;
  };
  const Row rows[] = {
      {"5", "5"},         {"0", "0"},
      {"1-4", "1 2 3 4"}, {"1-10:3", "1 4 7 10"},
      {"1-9:3", "1 4 7"}, {"1,3,7-9", "1 3 7 8 9"},
      {"9,1-2", "9 1 2"}, {"1-6:2,2-6:2%2", "1 3 5 2 4 6 at once 2"},
      {"7-7:5", "7"},     {"999999999", "999999999"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.text);
    const Result<ArrayText> array = parse_array(row.text);
    ASSERT_TRUE(array) << array.error().message();
    EXPECT_EQ(expanded(*array), row.expected);
  }
}

TEST(ArrayText, SaysWhatIsWrongWithIt) {
  struct Row {
    std::string_view text;
    std::string_view why;
  };
  const Row rows[] = {
      {"", "''"},
      {"a", "'a'"},
      {"1-", "'1-'"},
      {"-3", "'-3'"},
      {"1-3:0", "'1-3:0'"},
      {"1:2-3", "'1:2-3'"},
      {"1,,2", "''"},
      {"3-1", "before it begins"},
      {"1-5%0", "%"},
      {"1-5%", "%"},
      {"1-5%x", "%"},
      {"1,1", "index 1 is given twice"},
      {"1-9:2,5-6", "index 5 is given twice"},
      {"1000000000", "999999999"},
      {"1-900000", "500000"},
      {"1--3", "'1--3'"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.text);
    const Result<ArrayText> array = parse_array(row.text);
    ASSERT_FALSE(array);
    EXPECT_EQ(array.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(array.error().message(), HasSubstr(row.why));
    EXPECT_NE(array.error().hint(), "");
  }
}

TEST(ArrayText, ASliceHasTheIndicesOfItsPositions) {
  const Indices indices = parse_array("1-9:2,20,30-32")->indices;
  for (uint32_t first = 0; first < count_of(indices); ++first) {
    for (uint32_t count = 1; first + count <= count_of(indices); ++count) {
      const Indices part = slice(indices, first, count);
      ASSERT_EQ(count_of(part), count);
      for (uint32_t i = 0; i < count; ++i) {
        EXPECT_EQ(index_at(part, i), index_at(indices, first + i)) << first << " " << count;
      }
    }
  }
}

// The expected results are those of GNU parallel 20221122.
TEST(Replacement, IsWhatGnuParallelMakes) {
  struct Row {
    std::string_view argument;
    std::vector<std::string> expected;  // for {} {.} {/} {//} {/.}
  };
  const Row rows[] = {
      {"a/b.tar.gz", {"a/b.tar.gz", "a/b.tar", "b.tar.gz", "a", "b.tar"}},
      {"plain", {"plain", "plain", "plain", ".", "plain"}},
      {"/x/y", {"/x/y", "/x/y", "y", "/x", "y"}},
      {"/y.c", {"/y.c", "/y", "y.c", "/", "y"}},
      {"dir.d/file", {"dir.d/file", "dir.d/file", "file", "dir.d", "file"}},
      {"a b/c d.e f", {"a b/c d.e f", "a b/c d", "c d.e f", "a b", "c d"}},
      {"ends.", {"ends.", "ends", "ends.", ".", "ends"}},
      {"a/.rc", {"a/.rc", "a/", ".rc", "a", ""}},
      {"a/b/", {"a/b/", "a/b/", "", "a", ""}},
      {"//", {"//", "//", "", "/", ""}},
      {"{/}", {"{/}", "{/}", "}", "{", "}"}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.argument);
    EXPECT_EQ(command_for({"{}", "{.}", "{/}", "{//}", "{/.}"}, row.argument, 3), row.expected);
  }
}

TEST(Replacement, StandsAnywhereInAWordAndOften) {
  EXPECT_THAT(command_for({"cp", "{}", "--to={//}/{#}-{/.}.out", "{x}", "{", "}"}, "d/f.in", 12),
              ElementsAre("cp", "d/f.in", "--to=d/12-f.out", "{x}", "{", "}"));
  EXPECT_TRUE(has_replacement({"echo", "x{#}"}));
  EXPECT_TRUE(has_replacement({"echo", "{//}"}));
  EXPECT_FALSE(has_replacement({"echo", "{x}", "}{"}));
}

TEST(ArrayCommand, AShellLineHasItsArgumentsAsParameters) {
  const auto line = [](std::string_view given) { return words_of_line(given)[2]; };
  EXPECT_THAT(words_of_line("wc -l {} | sort >{/.}.out {}"),
              ElementsAre("/bin/sh", "-c", "wc -l \"${1}\" | sort >\"${2}\".out \"${1}\"", "sh",
                          "{}", "{/.}"));
  EXPECT_THAT(words_of_line("date; id"), ElementsAre("/bin/sh", "-c", "date; id"));
  EXPECT_EQ(line(R"(echo "file {}" '{#}' \"{})"), R"(echo "file ${1}" ''"${2}"'' \""${1}")");
  EXPECT_EQ(line("echo $(({} * {})) {}"), "echo $((${1} * ${1})) \"${1}\"");
}

JobOrder order() {
  JobOrder order;
  order.name = "sweep";
  order.output = "/out";
  order.plan = "plan";
  order.resources = ResourceVector::of(1'000, 256'000);
  ArrayOrder& array = order.array.emplace();
  array.command = {"true"};
  array.indices = {{.first = 1, .step = 1, .count = 10}};
  array.directory = "/";
  return order;
}

TEST(ArrayOrder, RepeatsWhatItsCodesSay) {
  struct Row {
    int32_t retries;
    std::vector<int32_t> retry_on;
    int32_t code;
    int32_t failures;
    bool expected;
  };
  const Row rows[] = {
      {0, {}, 1, 1, false},     {1, {}, 1, 1, true},    {1, {}, 1, 2, false},
      {3, {}, 126, 1, false},   {3, {}, 127, 1, false}, {3, {}, 137, 1, true},
      {3, {75}, 1, 1, false},   {3, {75}, 75, 3, true}, {3, {75}, 75, 4, false},
      {3, {127}, 127, 1, true},
  };
  for (const Row& row : rows) {
    const ArrayOrder array{.retries = row.retries, .retry_on = row.retry_on};
    EXPECT_EQ(array.retries_after(row.code, row.failures), row.expected)
        << row.code << " after " << row.failures << " of " << row.retries;
  }
}

TEST(ArrayOrder, RequeuesAfterItsCodes) {
  const ArrayOrder array{.requeue_on = {98, 99}};
  EXPECT_TRUE(array.requeues_after(99, 0));
  EXPECT_TRUE(array.requeues_after(98, kRequeuesMax - 1));
  EXPECT_FALSE(array.requeues_after(99, kRequeuesMax));
  EXPECT_FALSE(array.requeues_after(1, 0));
  EXPECT_FALSE(ArrayOrder().requeues_after(99, 0));
}

TEST(ArrayOrder, IsTheSameAfterItsJourney) {
  JobOrder given = order();
  given.array->requeue_on = {98, 99};
  given.array->retry_on = {75, 111};
  given.array->ok = {0, 1};
  given.array->failed_max = 3;
  given.array->timeout = seconds(9);
  given.array->at_once = 2;
  given.array->retries = 4;
  const Result<JobOrder> back = decode_order(encode_order(given));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(*back, given);
}

TEST(ArrayOrder, SaysWhatIsWrongWithIt) {
  struct Row {
    std::string_view why;
    void (*change)(JobOrder& order);
  };
  const Row rows[] = {
      {"the command of the array is missing", [](JobOrder& o) { o.array->command = {}; }},
      {"the command of the array is missing", [](JobOrder& o) { o.array->command = {""}; }},
      {"NUL",
       [](JobOrder& o) {
         o.array->command = {"a", std::string(1, '\0')};
       }},
      {"16384", [](JobOrder& o) { o.array->command = {std::string(16'384, 'a')}; }},
      {"no elements", [](JobOrder& o) { o.array->indices = {}; }},
      {"indices", [](JobOrder& o) { o.array->indices[0].step = 0; }},
      {"indices", [](JobOrder& o) { o.array->indices[0].first = kIndexMax; }},
      {"at most 500000", [](JobOrder& o) { o.array->indices[0].count = 600'000; }},
      {"directory", [](JobOrder& o) { o.array->directory = "here"; }},
      {"retries", [](JobOrder& o) { o.array->retries = 101; }},
      {"retry_on", [](JobOrder& o) { o.array->retry_on = {256}; }},
      {"requeue_on", [](JobOrder& o) { o.array->requeue_on = {256}; }},
      {"requeue_on and ok both have exit code 0", [](JobOrder& o) { o.array->requeue_on = {0}; }},
      {"requeue_on and retry_on both have exit code 75",
       [](JobOrder& o) { o.array->requeue_on = o.array->retry_on = {75}; }},
      {"rise",
       [](JobOrder& o) {
         o.array->ok = {1, 0};
       }},
      {"at least one", [](JobOrder& o) { o.array->ok = {}; }},
      {"max_failed", [](JobOrder& o) { o.array->failed_max = -2; }},
      {"time limit", [](JobOrder& o) { o.time_limit = seconds(1); }},
      {"time limit", [](JobOrder& o) { o.array->timeout = hours(20'000); }},
      {"either an array, or has map", [](JobOrder& o) { o.map = "cat"; }},
      {"neither", [](JobOrder& o) { o.maps = 1; }},
      {"neither", [](JobOrder& o) { o.array->has_arguments = true; }},
  };
  for (const Row& row : rows) {
    JobOrder changed = order();
    row.change(changed);
    const Result<void> checked = check_order(changed);
    ASSERT_FALSE(checked) << row.why;
    EXPECT_THAT(checked.error().message(), HasSubstr(row.why));
  }
}

TEST(Results, ALineOfTheIndexIsTheSameAfterItsJourney) {
  const ElementEnd end{.position = 0,
                       .attempt = 2,
                       .code = 124,
                       .stdout_offset = 10,
                       .stdout_length = 20,
                       .stderr_offset = 30,
                       .stderr_length = 40,
                       .micros = 1'500'000};
  for (const bool is_done : {false, true}) {
    const ElementResult result{.index = 17, .lane = 3, .is_done = is_done, .end = end};
    std::string line = results_line(result);
    ASSERT_EQ(line,
              text("17\t2\t124\t", is_done ? "done" : "failed", "\t1.5\t3\t10\t20\t30\t40\n"));
    line.pop_back();
    const auto back = parse_results_line(line);
    ASSERT_TRUE(back && *back);
    EXPECT_EQ(**back, result);
  }
  const auto header = parse_results_line(results_header());
  EXPECT_TRUE(header && !*header);
}

// Attempt numbers of a gang continue across restarts of the scheduler.
TEST(Results, OfAGangAreReadInEachLifeOfTheScheduler) {
  const auto line = parse_results_line("0\t7001\t0\tdone\t0.017\t0\t0\t31\t0\t0");
  ASSERT_TRUE(line && *line);
  EXPECT_EQ((*line)->end.attempt, 7'001u);
}

TEST(Results, NoOtherLinesAreRead) {
  for (const std::string_view line :
       {"", "1", "1\t1\t0\tdone\t0\t0\t0\t0\t0", "1\t1\t0\tdone\t0\t0\t0\t0\t0\t-1",
        "1\t1\t256\tdone\t0\t0\t0\t0\t0\t0", "1\t1\t0\tdone\t0\t0\t0\t0\t0\t0\t0",
        "1\t1\t0\tgood\t0\t0\t0\t0\t0\t0", "x\t1\t0\tdone\t0\t0\t0\t0\t0\t0"}) {
    EXPECT_FALSE(parse_results_line(line)) << line;
  }
}

}  // namespace
}  // namespace proffer::batch::array_test
