// Pipelines on real clusters.

#include <algorithm>
#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "proto/json/batch_json.h"
#include "tests/integration/word_count.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

class Pipelines : public WordCount {
 protected:
  void SetUp() override {
    fs::create_directories(home_ / "in");
    write_file(home_ / "in/text", "b a\na c\na\n");
  }
  // Lists the stages and their phases, as in "clean finished, count skipped".
  static std::string phases(const Cluster& cluster, const std::string& pipeline) {
    const Exit shown = cluster.proffer({"batch", "status", "--json", pipeline});
    const Result<proto::BatchPage> page = proto::parse_batch_page(shown.out);
    std::string line;
    if (!page) return shown.err;
    for (const proto::BatchJob& job : page->jobs) {
      line += text(line.empty() ? "" : ", ", job.stage, " ", to_text(job.phase));
    }
    return line;
  }
  Exit submit(const Cluster& cluster, const std::string& yaml) const {
    write_file(home_ / "pipeline.yaml", yaml);
    return cluster.proffer({"batch", "submit", home_ / "pipeline.yaml"});
  }
};

// The pipeline in docs/concepts/batch.md is the same as the example.
TEST_F(Pipelines, OfTheExampleRunsAsTheDocumentationSays) {
  const std::string root = PROFFER_SOURCE_DIR;
  const std::string example = read_file(root + "/examples/pipeline/licences.yaml");
  const std::string guide = read_file(root + "/docs/concepts/batch.md");
  const size_t from = guide.find("# examples/pipeline/licences.yaml\n");
  ASSERT_NE(from, std::string::npos);
  const size_t begin = guide.find('\n', from) + 1;
  EXPECT_THAT(example, HasSubstr(guide.substr(begin, guide.find("```", begin) - begin)));

  Cluster cluster({.agents = 2, .batch = true});
  const Exit done =
      cluster.proffer({"batch", "run", root + "/examples/pipeline/licences.yaml", "-p",
                       "texts=" + (home_ / "in"), "-p", "out=" + (home_ / "out"), "-p", "top=2"},
                      Seconds(120));
  EXPECT_EQ(done.code, 0) << done.err << done.out;
  EXPECT_THAT(done.out, HasSubstr("licences-1 has finished"));
  EXPECT_EQ(phases(cluster, "licences-1"),
            "words finished, counts finished, report finished, alarm skipped");
  const Exit report = cluster.proffer({"batch", "results", "licences-1.report"});
  EXPECT_EQ(report.code, 0) << report.err;
  EXPECT_EQ(report.out, "      3 a\n      1 b\n");
  EXPECT_FALSE(fs::exists(home_ / "out-alarm"));
}

TEST_F(Pipelines, GoOnWithASchedulerThatWasKilled) {
  Cluster cluster({.agents = 2, .batch = true});
  const std::string yaml = text(
      "name: p\nstages:\n"
      "  first: {run: \"while [ ! -e ",
      home_.path(),
      "/go ]; do sleep 0.05; done\", output: first}\n"
      "  second: {after: first, input: in, map: cat, reducers: 0, output: second}\n"
      "  third: {after: second, each_file: second, command: [wc, -l], output: third}\n");
  const Exit submitted = submit(cluster, yaml);
  ASSERT_EQ(submitted.code, 0) << submitted.err;
  EXPECT_EQ(submitted.out, "p-1\n");
  EXPECT_FALSE(fs::exists(home_ / "second"));
  ASSERT_TRUE(eventually([&] {
    return phases(cluster, "p-1") == "first map, second waiting, third waiting";
  })) << phases(cluster, "p-1");
  ::kill(scheduler_of(cluster), SIGKILL);
  write_file(home_ / "go", "");
  const Exit done = cluster.proffer({"batch", "wait", "p-1"}, Seconds(120));
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(phases(cluster, "p-1"), "first finished, second finished, third finished");
  const Exit lines = cluster.proffer({"batch", "results", "p-1.third"});
  EXPECT_THAT(lines.out, HasSubstr("3 " + (home_ / "second/part-00000"))) << lines.err;
}

TEST_F(Pipelines, ThatFailAreRetriedFromWhereTheyFailed) {
  Cluster cluster({.agents = 2, .batch = true});
  write_file(home_ / "map.sh", "exit 2\n");
  const Exit submitted = submit(
      cluster, text("name: p\nstages:\n"
                    "  a: {input: in, map: sh ",
                    home_.path(),
                    "/map.sh, reducers: 0, output: a}\n"
                    "  b: {after: a, input: \"~{a.output}\", map: cat, reducers: 0, output: b}\n"
                    "  c: {after_failure: a, run: echo oh, output: c}\n"));
  ASSERT_EQ(submitted.code, 0) << submitted.err;
  const Exit failed = cluster.proffer({"batch", "wait", "p-1"}, Seconds(60));
  EXPECT_EQ(failed.code, 1);
  EXPECT_THAT(failed.err, HasSubstr("stage a of p-1"));
  EXPECT_EQ(phases(cluster, "p-1"), "a failed, b skipped, c finished");
  write_file(home_ / "map.sh", "cat\n");
  const Exit retried = cluster.proffer({"batch", "retry", "p-1"});
  EXPECT_EQ(retried.code, 0) << retried.err;
  const Exit done = cluster.proffer({"batch", "wait", "p-1"}, Seconds(60));
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(phases(cluster, "p-1"), "a finished, b finished, c finished");
  EXPECT_EQ(read_file(home_ / "b/part-00000"), "b a\na c\na\n");
}

// A `run` stage and an array: only their failed parts run again.
TEST_F(Pipelines, AreRetriedFromCommandsAndArraysThatFailed) {
  Cluster cluster({.agents = 2, .batch = true});
  const Exit submitted = submit(
      cluster,
      text("name: p\ndirectory: ", home_.path(),
           "\nstages:\n"
           "  a: {run: \"echo a >> runs; cat mended\", output: a}\n"
           "  b: {arguments: [x, y, z], command: [sh, -c, \"echo {} >> runs; echo {}; test {} != "
           "y || cat mended\"], output: b}\n"
           "  c: {after: [a, b], run: \"cat ~{b.output}/stdout-* | sort -u\", output: c}\n"));
  ASSERT_EQ(submitted.code, 0) << submitted.err;
  EXPECT_EQ(cluster.proffer({"batch", "wait", "p-1"}, Seconds(60)).code, 1);
  EXPECT_EQ(phases(cluster, "p-1"), "a failed, b failed, c skipped");
  write_file(home_ / "mended", "yes\n");
  const Exit retried = cluster.proffer({"batch", "retry", "p-1"});
  EXPECT_EQ(retried.code, 0) << retried.err;
  const Exit done = cluster.proffer({"batch", "wait", "p-1"}, Seconds(60));
  EXPECT_EQ(done.code, 0) << done.err;
  const Exit listed = cluster.proffer({"batch", "list", "p-1"});
  EXPECT_THAT(listed.out, MatchesRegex("STAGE +JOB +PHASE +PROGRESS\na +p-a-2 +finished\n"
                                       "b +p-b-3 +finished\nc +p-c-4 +finished\n"));
  EXPECT_EQ(cluster.proffer({"batch", "results", "p-1.a"}).out, "yes\n");
  EXPECT_EQ(cluster.proffer({"batch", "results", "p-1.b"}).out, "x\ny\nyes\nz\n");
  const std::string runs = read_file(home_ / "runs");
  EXPECT_EQ(std::count(runs.begin(), runs.end(), '\n'), 6) << runs;
  EXPECT_EQ(cluster.proffer({"batch", "list", "q-1"}).code, 1);
}

// Element 6 of the first array still runs when elements of the second one have already ended.
TEST_F(Pipelines, AnElementFollowsThatOfAnotherArray) {
  Cluster cluster({.agents = 2, .batch = true});
  const Exit submitted = submit(
      cluster,
      text("name: p\ndirectory: ", home_.path(),
           "\nstages:\n"
           "  b:\n    after_each: a\n    arguments: [1, 2, 3, 4, 5, 6]\n    output: b\n"
           "    command: [sh, -c, \"cat a-{}; touch b-{}\"]\n"
           "  a:\n    array: 1-6\n    output: a\n    command: [sh, -c, \"test {} != 6 || while [ ! "
           "-e go ]; do sleep 0.05; done; echo {} > a-{}; test {} != 2 || test -e mended\"]\n"));
  ASSERT_EQ(submitted.code, 0) << submitted.err;
  EXPECT_TRUE(eventually([&] { return fs::exists(home_ / "b-1") && fs::exists(home_ / "b-3"); }));
  EXPECT_FALSE(fs::exists(home_ / "a-6"));
  write_file(home_ / "go", "");
  EXPECT_EQ(cluster.proffer({"batch", "wait", "p-1"}, Seconds(60)).code, 1);
  EXPECT_EQ(phases(cluster, "p-1"), "b failed, a failed");
  EXPECT_THAT(cluster.proffer({"batch", "status", "p-1.b"}).out, HasSubstr("1 was skipped"));
  EXPECT_EQ(cluster.proffer({"batch", "results", "p-1.b"}).out, "1\n3\n4\n5\n6\n");
  EXPECT_FALSE(fs::exists(home_ / "b-2"));
  write_file(home_ / "mended", "");
  EXPECT_EQ(cluster.proffer({"batch", "retry", "p-1"}).code, 0);
  const Exit done = cluster.proffer({"batch", "wait", "p-1"}, Seconds(60));
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(cluster.proffer({"batch", "results", "p-1.b"}).out, "1\n2\n3\n4\n5\n6\n");
  const Exit third =
      cluster.proffer({"batch", "array", "1-6", "--after-each", "p-1.a", "--directory",
                       home_.path(), "--output", home_ / "c", "--", "cat", "a-{}"});
  EXPECT_EQ(third.out, "1\n2\n3\n4\n5\n6\n") << third.err;
  EXPECT_EQ(third.code, 0);
}

TEST_F(Pipelines, ThatCannotBeAreRefusedBeforeAnythingIsThere) {
  const Cluster cluster({.batch = true});
  const auto refused = [&](const std::string& yaml) {
    const Exit exit = submit(cluster, yaml);
    EXPECT_NE(exit.code, 0) << yaml;
    EXPECT_FALSE(fs::exists(home_ / "a")) << yaml;
    return exit.err;
  };
  EXPECT_THAT(refused("stages:\n  a: {input: in, map: cat, reducers: 0, output: a}\n"
                      "  b: {after: gone, input: a, map: cat, reducers: 0, output: b}\n"),
              HasSubstr("there is no stage 'gone'"));
  EXPECT_THAT(refused("stages:\n  a: {input: in, map: cat, reducers: 0, output: a}\n"
                      "  b: {input: nowhere, map: cat, reducers: 0, output: b}\n"),
              HasSubstr("stage 'b'"));
  EXPECT_THAT(refused("stages:\n  a: {after: b, run: x, output: a}\n"
                      "  b: {after: a, run: x, output: b}\n"),
              HasSubstr("in a circle"));
  for (const auto& entry : fs::directory_iterator(home_.path())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with(".waiting")) << entry.path();
  }
}

// The command first looks for a job with the name, then for the stages of a pipeline.
TEST_F(Pipelines, AreNotToldToBeMissingIfTheSchedulerEndsBetweenTwoQuestions) {
  const Cluster cluster;
  Process store({program_of_tests("store_scheduler"), "--master=" + cluster.master()});
  ASSERT_TRUE(store.line_with("subscribed")) << store.err();
  const Exit status = cluster.proffer({"batch", "status", "p-1", "--framework", "store"});
  EXPECT_NE(status.code, 0);
  EXPECT_NE(status.err, "");
  EXPECT_THAT(status.err, Not(HasSubstr("there is no job"))) << status.err;
}

TEST_F(Pipelines, AJobWaitsForOneThatThereIs) {
  Cluster cluster({.batch = true});
  Words first = {"batch", "array", "1-2", "--detach", "--name", "one", "--output", home_ / "one"};
  first.insert(first.end(), {"--", "true"});
  ASSERT_EQ(cluster.proffer(first).code, 0);
  Words next = {"batch", "submit",   "--after", "one-1",   "--name",     "two",      "--map",
                "cat",   "--reduce", "cat",     "--input", home_ / "in", "--output", home_ / "two"};
  const Exit submitted = cluster.proffer(next);
  ASSERT_EQ(submitted.code, 0) << submitted.err;
  const Exit done = cluster.proffer({"batch", "wait", "two-2"}, Seconds(60));
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_TRUE(fs::exists(home_ / "two/_SUCCESS"));
  EXPECT_THAT(cluster.proffer({"batch", "status", "two-2"}).out, HasSubstr("one-1 finished (met)"));
}

// Each rank waits for all others: if they were not started together, none would end.
TEST_F(Pipelines, StartTheRanksOfAGangTogetherAndAllAgainIfOneFails) {
  Cluster cluster({.agents = 2, .resources = "cpus:2;mem:1024", .batch = true});
  write_file(home_ / "rank.sh",
             "echo $PROFFER_RANK of $PROFFER_SIZE on $PROFFER_HOSTS\n"
             "here=$1/try-$PROFFER_ARRAY_ATTEMPT; mkdir -p $here; touch $here/$PROFFER_RANK\n"
             "while [ $(ls $here | wc -l) -lt $PROFFER_SIZE ]; do sleep 0.05; done\n"
             "[ $PROFFER_RANK = 1 ] && [ ! -e $1/failed ] && touch $1/failed && exit 7\n"
             "[ -e $1/failed ] || exec sleep 100\n"
             "exit 0\n");
  const Exit submitted =
      submit(cluster, text("name: p\nstages:\n"
                           "  ranks: {gang: 3, command: [sh, ",
                           home_.path(), "/rank.sh, ", home_.path(),
                           "], retries: 1, resources: \"cpus:1;mem:64\", output: ranks}\n"
                           "  next: {after: ranks, run: cat ",
                           home_.path(), "/ranks/stdout-*, output: n}\n"));
  ASSERT_EQ(submitted.code, 0) << submitted.err;
  const Exit done = cluster.proffer({"batch", "wait", "p-1"}, Seconds(60));
  EXPECT_EQ(done.code, 0) << done.err;
  const std::string results = cluster.proffer({"batch", "results", "p-1.ranks"}).out;
  for (const char* rank : {"0 of 3 on ", "1 of 3 on ", "2 of 3 on "}) {
    EXPECT_THAT(results, HasSubstr(rank));
  }
}

}  // namespace
}  // namespace proffer::test
