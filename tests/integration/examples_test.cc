// Each example behaves as its paragraph in examples/README.md says.

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/processes.h"

namespace proffer::test::examples_test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string example(const std::string& name) { return program("examples/" + name); }

TEST(Examples, HelloFrameworkRunsItsTasksAndStops) {
  Cluster cluster({.agents = 2});
  const Exit hello = run({program("examples/hello_framework"), "--master=" + cluster.master()});
  EXPECT_EQ(hello.code, 0) << hello.err;
  EXPECT_NE(hello.out.find("finished"), std::string::npos) << hello.out;
  EXPECT_EQ(cluster.running_tasks("hello"), 0);
}

TEST(Examples, AFrameworkWithoutAMasterSaysWhichValueIsWrong) {
  const Exit wrong = run({program("examples/hello_framework"), "--master=nowhere:port"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("'port'"), std::string::npos) << wrong.err;
}

TEST(Examples, FailoverFrameworkFindsItsTasksAfterItWasKilled) {
  const Cluster cluster({.agents = 2});
  const TemporaryDirectory home;
  const Words command = {example("failover_framework"), "--master=" + cluster.master(),
                         "--session_file=" + (home / "session")};
  std::string first;
  {
    Process life(command);
    const std::optional<std::string> line = life.line_with("life 1 of ");
    ASSERT_TRUE(line) << life.out() << life.err();
    EXPECT_THAT(*line, HasSubstr("finds 0 tasks"));
    first = line->substr(0, line->find(" finds")).substr(std::string("life 1 of ").size());
    ASSERT_TRUE(eventually([&] { return cluster.running_tasks(first) == 3; }));
    life.kill(SIGKILL);
    EXPECT_EQ(life.wait().signal, SIGKILL);
  }
  const std::string before = cluster.proffer({"tasks"}).out;
  Process life(command);
  const std::optional<std::string> line = life.line_with("life 2 of ");
  ASSERT_TRUE(line) << life.out() << life.err();
  EXPECT_THAT(*line, HasSubstr(first + " finds 3 tasks"));  // the same framework
  EXPECT_EQ(cluster.proffer({"tasks"}).out, before);        // and the same tasks
  life.kill(SIGINT);
  EXPECT_EQ(life.wait().code, 130);
  EXPECT_TRUE(eventually([&] { return cluster.running_tasks() == 0; }));
  EXPECT_EQ(read_file(home / "session"), "");  // there is no session to resume
}

TEST(Examples, AFrameworkThatWasTornDownMeanwhileSaysSoAndEnds) {
  const Cluster cluster({.agents = 1});
  const TemporaryDirectory home;
  const Words command = {example("failover_framework"), "--master=" + cluster.master(),
                         "--session_file=" + (home / "session")};
  {
    Process life(command);
    ASSERT_TRUE(eventually([&] { return cluster.running_tasks("failover") == 3; }));
    life.kill(SIGKILL);
    life.wait();
  }
  const Exit wrong = cluster.proffer({"teardown", "failove"});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("no framework has the id or name 'failove'"));
  EXPECT_EQ(cluster.running_tasks(), 3);
  EXPECT_EQ(cluster.proffer({"teardown", "failover"}).code, 0);
  EXPECT_TRUE(eventually([&] { return cluster.running_tasks() == 0; }));
  const Exit late = run(command);
  EXPECT_EQ(late.code, 1);
  EXPECT_THAT(late.err, HasSubstr("the framework was torn down"));
}

TEST(Examples, FailoverFrameworkComesBackAsTheSameFramework) {
  const std::string command = example("failover_framework");
  const std::string session = "--session_file={dir}/session";
  const Exit killed = run({program("proffer"), "conformance", "--only", "scheduler_killed",
                           "--restart-with", command + " " + session, "--", command, session},
                          {}, {}, Seconds(120));
  EXPECT_EQ(killed.code, 0) << killed.out << killed.err;
  EXPECT_THAT(killed.out, HasSubstr("came back as failover-"));
}

TEST(Examples, CustomExecutorFrameworkRunsManyTasksInOneProcess) {
  const Cluster cluster({.agents = 1, .resources = "cpus:2;mem:2048"});
  const Exit primes = run({example("custom_executor_framework"), "--master=" + cluster.master()});
  EXPECT_EQ(primes.code, 0) << primes.err;
  EXPECT_THAT(primes.out, HasSubstr("78498 primes below a million"));
  EXPECT_THAT(primes.out, HasSubstr("agent-1: ran 20 tasks in one process"));
  EXPECT_TRUE(eventually([&] { return cluster.running_tasks() == 0; }));
}

TEST(Examples, RawOffersFrameworkTakesWhatIsOfferedAndSaysWhyItDeclines) {
  const Cluster cluster({.agents = 1});
  const auto tiny = cluster.start_agent("tiny", "cpus:0.2;mem:512", {"--attributes=disk:ssd"});
  ASSERT_TRUE(eventually(
      [&] { return cluster.proffer({"agents"}).out.find("tiny") != std::string::npos; }));
  Process raw({example("raw_offers_framework"), "--disk=ssd", "--master=" + cluster.master()});
  EXPECT_TRUE(raw.line_with("declined")) << raw.err();
  EXPECT_TRUE(raw.line_with("declined")) << raw.err();
  // An agent joins that has the wanted resources.
  const auto large = cluster.start_agent("large", "cpus:2;mem:2048", {"--attributes=disk:ssd"});
  const Exit end = raw.wait();
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("agent-1: declined, its disk is not ssd"));
  EXPECT_THAT(end.out, HasSubstr("tiny: declined, cpus:0.2;mem:512 is too little"));
  EXPECT_THAT(end.out, HasSubstr("large: takes 4 tasks"));
  EXPECT_THAT(end.out, HasSubstr("raw-4 is finished"));
}

TEST(Examples, PickyFrameworkComparesDeclinesWithAsks) {
  const Cluster cluster({.agents = 3, .resources = "cpus:1;mem:1024"});
  // The classic way, by declines, takes another host when its patience ends; here it has none.
  const Exit picky = run({example("picky_framework"), "--host=agent-2", "--patience_ms=0",
                          "--master=" + cluster.master()});
  EXPECT_EQ(picky.code, 0) << picky.err;
  EXPECT_THAT(picky.out, HasSubstr("preferred host:"));
  const size_t asks = picky.out.find("asks:");
  ASSERT_NE(asks, std::string::npos) << picky.out;
  EXPECT_THAT(picky.out.substr(0, asks), Not(HasSubstr("100% on agent-2")));
  EXPECT_THAT(picky.out.substr(asks), HasSubstr("100% on agent-2"));
  EXPECT_THAT(picky.out.substr(asks), HasSubstr("declined 0 offers"));
}

TEST(Examples, LoadGeneratorRunsWhatItWasToldAndSaysHowFast) {
  const Cluster cluster({.agents = 2});
  const Exit load = run({example("load_generator"), "--count=60", "--shapes=7", "--seconds=0",
                         "--master=" + cluster.master()});
  EXPECT_EQ(load.code, 0) << load.err;
  EXPECT_THAT(load.out, HasSubstr("60 tasks of 7 shapes in "));
  EXPECT_THAT(load.out, HasSubstr("0 not finished"));
  EXPECT_EQ(cluster.running_tasks(), 0);
  const Exit wrong = run({example("load_generator"), "--shapes=many"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("'many'"));
}

// Each block of docs/guides/write-a-framework.md with a source is in that file word for word, so
// authors copy only code that is compiled and tested.
TEST(Guide, QuotesOnlyWhatIsInTheTree) {
  const std::string root = PROFFER_SOURCE_DIR;
  const std::string guide = read_file(root + "/docs/guides/write-a-framework.md");
  const std::string mark = "<!-- from ";
  int blocks = 0;
  for (size_t at = guide.find(mark); at != std::string::npos; at = guide.find(mark, at + 1)) {
    const size_t path = at + mark.size();
    const std::string file = guide.substr(path, guide.find(" -->", path) - path);
    const size_t open = guide.find("```", path);
    const size_t begin = guide.find('\n', open) + 1;
    const std::string block = guide.substr(begin, guide.find("```", begin) - begin);
    EXPECT_THAT(read_file(root + "/" + file), HasSubstr(block)) << file;
    ++blocks;
  }
  EXPECT_GT(blocks, 2);
}

}  // namespace
}  // namespace proffer::test::examples_test
