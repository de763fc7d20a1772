// Word counts on real clusters whose processes are killed while they run. The expected result is
// that of the same mapper and reducer in a pipeline.

#include <algorithm>
#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "common/text.h"
#include "proto/json/batch_json.h"
#include "proto/json/json.h"
#include "tests/integration/word_count.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;

TEST_F(WordCount, EqualsThePipelineToTheLastLine) {
  Cluster cluster({.agents = 3, .batch = true});
  const Exit done = cluster.proffer(job());
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(counted(), expected_);
  EXPECT_TRUE(fs::exists(home_ / "out/_SUCCESS"));
  EXPECT_FALSE(fs::exists(home_ / "out/_temporary"));
  for (const char* part : {"part-00000", "part-00001", "part-00002"}) {
    EXPECT_TRUE(fs::exists(home_ / (std::string("out/") + part)));
  }
  EXPECT_TRUE(eventually([&] { return left_on_agents(cluster).empty(); }))
      << left_on_agents(cluster).front();
  // The output exists: the job is refused and the output is unchanged.
  const Exit again = cluster.proffer(job());
  EXPECT_EQ(again.code, 1);
  EXPECT_NE(again.err.find("out"), std::string::npos) << again.err;
  EXPECT_EQ(counted(), expected_);
}

TEST_F(WordCount, AnAgentKilledTwiceInTheMiddleChangesNothing) {
  Cluster cluster({.agents = 3, .resources = "cpus:2;mem:2048", .batch = true});
  const auto running = cluster.start(job("sh slow_map.sh"));
  ASSERT_TRUE(eventually([&] { return cluster.running_tasks("batch") >= 3; }));
  ::kill(cluster.pid_of("agent-1"), SIGKILL);
  ASSERT_TRUE(cluster.dev().line_with("agent-1").has_value());
  const auto successor = cluster.start_agent("agent-1", "cpus:2;mem:2048");
  ASSERT_TRUE(eventually([&] {
    const auto agents = proto::parse_agents(cluster.proffer({"agents", "--json"}).out);
    return agents && agents->size() == 3 &&
           agents->front().state == proto::AgentState::kConnected && agents->front().tasks > 0;
  }));
  successor->kill(SIGKILL);
  successor->wait();

  const Exit done = running->wait(Seconds(180));
  EXPECT_EQ(done.code, 0) << done.err << done.out;
  EXPECT_EQ(counted(), expected_);
}

TEST_F(WordCount, WithoutAnyAgentItWaitsAndFinishesWhenOneReturns) {
  Cluster cluster({.agents = 1, .resources = "cpus:2;mem:2048", .batch = true});
  const auto running = cluster.start(job("sh slow_map.sh"));
  ASSERT_TRUE(eventually([&] { return cluster.running_tasks("batch") >= 1; }));
  ::kill(cluster.pid_of("agent-1"), SIGKILL);
  ASSERT_TRUE(eventually([&] {
    const auto status = proto::parse_status(cluster.proffer({"status", "--json"}).out);
    return status && status->agents_unreachable == 1;
  }));
  EXPECT_TRUE(is_alive(running->pid()));

  const auto successor = cluster.start_agent("agent-1", "cpus:2;mem:2048");

  const Exit done = running->wait(Seconds(180));
  EXPECT_EQ(done.code, 0) << done.err << done.out;
  EXPECT_EQ(counted(), expected_);
}

// Both are killed with SIGKILL while the job runs.
TEST_F(WordCount, OutlivesTheTerminalAndTheScheduler) {
  Cluster cluster({.agents = 3, .resources = "cpus:2;mem:2048"});
  const Words command = {program("proffer"),
                         "batch",
                         "scheduler",
                         "--master",
                         cluster.master(),
                         "--session-file",
                         cluster.dir() + "/batch.session",
                         "--serve-users"};
  Process scheduler(command);
  ASSERT_TRUE(eventually([&] { return cluster.proffer({"batch", "list"}).code == 0; }));
  const auto running = cluster.start(job("sh slow_map.sh"));
  ASSERT_TRUE(running->line_with("map").has_value());
  running->kill(SIGKILL);
  running->wait();
  ASSERT_TRUE(eventually([&] { return status(cluster).map.done >= 3; }));

  // If the scheduler is killed, the tasks run on, and another scheduler process takes over.
  scheduler.kill(SIGKILL);
  scheduler.wait();
  const Exit away = cluster.proffer({"batch", "list"});
  EXPECT_EQ(away.code, 3);
  EXPECT_NE(away.err.find("start the scheduler again"), std::string::npos) << away.err;
  Process successor(command);
  ASSERT_TRUE(eventually([&] { return status(cluster).map.done >= 5; }));
  for (const auto& [map, attempts] : attempts_of_maps(cluster)) EXPECT_EQ(attempts, 1) << map;

  const Exit done = cluster.proffer({"batch", "wait", "wc-1"}, Seconds(180));
  EXPECT_EQ(done.code, 0) << done.err << done.out;
  EXPECT_EQ(counted(), expected_);
  EXPECT_TRUE(fs::exists(home_ / "out/_SUCCESS"));
  EXPECT_FALSE(fs::exists(home_ / "out/_temporary"));
  EXPECT_EQ(cluster.proffer({"batch", "wait", "wc-1"}).code, 0);  // its end can be queried again
}

TEST_F(WordCount, IsSubmittedSeenAndCancelled) {
  Cluster cluster({.batch = true});
  Words words = job("sleep 1000");
  words[1] = "submit";
  const Exit submitted = cluster.proffer(words);
  ASSERT_EQ(submitted.code, 0) << submitted.err;
  EXPECT_EQ(submitted.out, "wc-1\n");
  ASSERT_TRUE(eventually([&] { return cluster.running_tasks("batch") >= 1; }));
  EXPECT_NE(cluster.proffer({"batch", "list"}).out.find("wc-1"), std::string::npos);
  EXPECT_NE(cluster.proffer({"batch", "status", "wc-1"}).out.find(home_ / "out"),
            std::string::npos);
  EXPECT_EQ(cluster.proffer({"batch", "cancel", "wc-1"}).code, 0);
  const Exit waited = cluster.proffer({"batch", "wait", "wc-1"});
  EXPECT_EQ(waited.code, 1);
  EXPECT_NE(waited.err.find("cancelled"), std::string::npos) << waited.err;
  EXPECT_FALSE(fs::exists(home_ / "out"));
  EXPECT_EQ(cluster.running_tasks(), 0);
  EXPECT_EQ(cluster.proffer({"batch", "status", "none-1"}).code, 1);
  EXPECT_EQ(cluster.proffer({"batch", "list"}).out.find("wc-1"), std::string::npos);
  EXPECT_NE(cluster.proffer({"batch", "list", "--all"}).out.find("cancelled"), std::string::npos);
}

TEST_F(WordCount, SaysWhatIsMissingWithoutItsScheduler) {
  Cluster cluster;
  const Exit refused = cluster.proffer(job());
  EXPECT_EQ(refused.code, 3);
  EXPECT_NE(refused.err.find("proffer batch scheduler"), std::string::npos) << refused.err;
  EXPECT_FALSE(fs::exists(home_ / "out"));
}

TEST_F(WordCount, InterruptTakesItsTasksAndItsOutputAway) {
  Cluster cluster({.agents = 1, .batch = true});
  const auto running = cluster.start(job("sleep 1000"));
  ASSERT_TRUE(eventually([&] { return cluster.running_tasks("batch") >= 1; }));
  running->kill(SIGINT);
  EXPECT_EQ(running->wait().code, 130);
  EXPECT_FALSE(fs::exists(home_ / "out"));
  EXPECT_TRUE(eventually([&] { return cluster.running_tasks() == 0; }));
}

TEST_F(WordCount, AMapperThatAlwaysFailsEndsTheJobWithItsLastWords) {
  Cluster cluster({.agents = 2, .batch = true});
  const Exit failed = cluster.proffer(job("echo the disk is made of cheese >&2; exit 3"));
  EXPECT_EQ(failed.code, 1);
  EXPECT_NE(failed.err.find("the disk is made of cheese"), std::string::npos) << failed.err;
  EXPECT_NE(failed.err.find("attempt 4"), std::string::npos) << failed.err;
  EXPECT_FALSE(fs::exists(home_ / "out"));

  // The job could be retried. After that is no longer possible, the agents keep only the output of
  // its failed tasks.
  EXPECT_FALSE(left_on_agents(cluster).empty());
  EXPECT_EQ(cluster.proffer({"batch", "cancel", "wc-1"}).code, 0);
  const auto is_output = [](const std::string& file) {
    return file.ends_with("/stdout") || file.ends_with("/stderr") || file.ends_with(".failed");
  };
  EXPECT_TRUE(eventually([&] {
    const std::vector<std::string> files = left_on_agents(cluster);
    return std::all_of(files.begin(), files.end(), is_output);
  }));
  const Exit logs = cluster.proffer({"batch", "logs", "wc-1"});
  EXPECT_EQ(logs.code, 0) << logs.err;
  EXPECT_NE(logs.out.find("the disk is made of cheese"), std::string::npos) << logs.out;
}

TEST_F(WordCount, AMapperThatExceedsItsTimeLimitIsEndedAndTheJobNamesTheLimit) {
  Cluster cluster({.agents = 2, .batch = true});
  Words words = job("echo still at work >&2; sleep 1000");
  words.insert(words.end(), {"--time-limit", "300ms"});
  const Exit failed = cluster.proffer(words, Seconds(120));
  EXPECT_EQ(failed.code, 1);
  EXPECT_NE(failed.err.find("it exceeded its time limit of 300ms"), std::string::npos)
      << failed.err;
  EXPECT_NE(failed.err.find("attempt 4"), std::string::npos) << failed.err;
  EXPECT_TRUE(eventually([&] { return cluster.running_tasks() == 0; }));

  const Exit array = cluster.proffer({"batch", "map", "--output", home_ / "results", "--time-limit",
                                      "300ms", "--", "sleep", "{}", ":::", "0", "1000"});
  EXPECT_EQ(array.code, 1);
  EXPECT_NE(array.err.find(
                "1 of 2 elements failed; element 2 exited with 124, which usually means that it "
                "exceeded its time limit of 300ms"),
            std::string::npos)
      << array.err;
}

TEST_F(WordCount, RefusesBadJobsBeforeAnythingStarts) {
  Cluster cluster({.batch = true});
  struct Row {
    std::string file;
    int code;
    std::string says;
  };
  const std::string ok =
      "map: cat\nreduce: cat\ninput: [" + (home_ / "in") + "]\noutput: " + (home_ / "out") + "\n";
  const Row rows[] = {
      {ok + "reducerz: 3\n", 1, "did you mean 'reducers'"},
      {ok + "reducers: many\n", 1, "many"},
      {ok + "reducers: -1\n", 1, "-1"},
      {ok + "map: dog\n", 1, "twice"},
      {ok + "resources: cpus:0\n", 1, "more than zero"},
      {"map: [\n", 1, "line"},
      {"\x01\x02\xff garbage", 1, "job"},
      {"", 1, "empty"},
      {ok + "---\n" + ok, 1, "document"},
      {"map: cat\nreduce: cat\ninput: [/no/such/place]\noutput: " + (home_ / "out") + "\n", 1,
       "/no/such/place"},
      {"map: cat\nreduce: cat\ninput: [" + (home_ / "in/empty") +
           "/x]\noutput: " + (home_ / "out") + "\n",
       1, "in/empty/x"},
  };
  for (const Row& row : rows) {
    write_file(home_ / "job.yaml", row.file);
    const Exit refused = cluster.proffer({"batch", "run", home_ / "job.yaml"});
    EXPECT_TRUE(refused.code == 1 || refused.code == 2) << refused.code << row.file;
    EXPECT_NE(refused.err.find(row.says), std::string::npos) << row.file << "\n" << refused.err;
    EXPECT_FALSE(fs::exists(home_ / "out"));
  }
  const Exit missing = cluster.proffer({"batch", "run", home_ / "none.yaml"});
  EXPECT_NE(missing.code, 0);
  EXPECT_NE(missing.err.find("none.yaml"), std::string::npos) << missing.err;
}

// Files above 256 KiB are copied at submission: tasks get the file's content at that time.
TEST_F(WordCount, ShipsALargeFileThatIsRemovedOnceTheJobIsSubmitted) {
  Cluster cluster({.agents = 2, .batch = true});
  std::string lines;
  while (lines.size() < 2'000'000) lines += text("line ", lines.size(), "\n");
  write_file(home_ / "large.txt", lines);
  const Exit submitted = cluster.proffer({"batch", "submit", "--name", "large", "--map",
                                          "cat >/dev/null; cat ./large.txt; rm -f "
                                          "./large.txt",
                                          "--reducers", "0", "--split", "1GiB", "--files",
                                          home_ / "large.txt", "--files", home_ / "map.sh",
                                          "--input", home_ / "in", "--output", home_ / "out"});
  ASSERT_EQ(submitted.code, 0) << submitted.err;
  fs::remove(home_ / "large.txt");
  const Exit done = cluster.proffer({"batch", "wait", "large-1"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(read_file(home_ / "out/part-00000"), lines);
  EXPECT_FALSE(fs::exists(home_ / "out/_temporary"));
}

// One agent has all of the input near, and the maps wait for it although others are free. For a
// host that is no agent, they wait only a moment.
TEST_F(WordCount, RunsItsMapsOnTheAgentsThatHaveTheirInputNear) {
  Cluster cluster({.agents = 3, .resources = "cpus:2;mem:2048", .batch = true});
  write_file(home_ / "near", text("agent-2 ", home_ / "in", "\n"));
  Words near = job();
  for (const std::string& word :
       Words{"--locality", home_ / "near", "--locality-wait", "10m", "--json"}) {
    near.push_back(word);
  }
  const Exit done = cluster.proffer(near);
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(counted(), expected_);
  const proto::BatchJob job_near = status(cluster);
  EXPECT_GT(job_near.map.total, 3);
  EXPECT_EQ(job_near.map.near, job_near.map.total);
  EXPECT_EQ(job_near.map.far + job_near.reduce.near + job_near.reduce.far, 0);
  const Exit told = cluster.proffer({"batch", "status", "wc-1"});
  EXPECT_NE(told.out.find(text(job_near.map.total, " of ", job_near.map.total,
                               " tasks ran on their preferred hosts")),
            std::string::npos)
      << told.out;

  fs::remove_all(home_ / "out");
  Words nowhere = job();
  for (const std::string& word : Words{"--prefer-hosts", "nowhere", "--locality-wait", "100ms"}) {
    nowhere.push_back(word);
  }
  const Exit also_done = cluster.proffer(nowhere);
  EXPECT_EQ(also_done.code, 0) << also_done.err;
  EXPECT_EQ(counted(), expected_);
  EXPECT_EQ(status(cluster, "wc-2").map.far, status(cluster, "wc-2").map.total);
}

TEST_F(WordCount, AnUnreadableDirectoryIsNamed) {
  Cluster cluster({.batch = true});
  fs::create_directory(home_ / "in/secret");
  fs::permissions(home_ / "in/secret", fs::perms::none);
  if (::access((home_ / "in/secret").c_str(), R_OK) == 0) {
    // Root can read everything, so another user tries it.
    fs::permissions(home_.path(), fs::perms::all);
    const Exit refused =
        run({"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
             program_for_all("proffer"), "batch", "run", "--map", "cat", "--reduce", "cat",
             "--input", home_ / "in", "--output", home_ / "out2"},
            {{"PROFFER_MASTER", cluster.master()}});
    EXPECT_EQ(refused.code, 1) << refused.err;
    EXPECT_NE(refused.err.find("secret"), std::string::npos) << refused.err;
  } else {
    const Exit refused = cluster.proffer(job());
    EXPECT_EQ(refused.code, 1) << refused.err;
    EXPECT_NE(refused.err.find("secret"), std::string::npos) << refused.err;
  }
}

}  // namespace
}  // namespace proffer::test
