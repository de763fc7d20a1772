// What a batch job survives, and how it is inspected and retried, with real processes.

#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/terminal.h"
#include "tests/integration/word_count.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class LifeOfAJob : public WordCount {
 protected:
  Words submission(const std::string& map) const {
    Words words = job(map, "32KiB");
    words[1] = "submit";
    return words;
  }
};

TEST_F(LifeOfAJob, GoesOnWithAMasterThatWasKilledAndRepeatsNoMap) {
  Cluster cluster({.agents = 2, .resources = "cpus:2;mem:2048", .batch = true});
  const auto running = cluster.start(job("sh slow_map.sh", "32KiB"));
  ASSERT_TRUE(eventually([&] { return status(cluster).map.done >= 3; }));
  const pid_t old = cluster.pid_of("master");
  ::kill(old, SIGKILL);
  ASSERT_TRUE(eventually([&] { return !is_alive(old); }));
  ASSERT_TRUE(running->complains("the job continues")) << running->out();
  Process master({program("proffer-master"), "--data_dir=" + cluster.dir() + "/master",
                  "--socket=" + cluster.master(), "--heartbeat=1s", "--agent_timeout=5s"});
  const Exit done = running->wait(Seconds(180));
  EXPECT_EQ(done.code, 0) << done.err << done.out;
  EXPECT_EQ(counted(), expected_);
  for (const auto& [map, attempts] : attempts_of_maps(cluster)) EXPECT_EQ(attempts, 1) << map;
}

TEST_F(LifeOfAJob, GoesOnWithASchedulerThatWasKilledAndDevStartsAgain) {
  Cluster cluster({.agents = 2, .resources = "cpus:2;mem:2048", .batch = true});
  const Exit submitted = cluster.proffer(submission("sh slow_map.sh"));
  ASSERT_EQ(submitted.code, 0) << submitted.err;
  ASSERT_TRUE(eventually([&] { return status(cluster).map.done >= 1; }));
  ::kill(scheduler_of(cluster), SIGKILL);
  EXPECT_TRUE(cluster.dev().line_with("\"again_in_s\"").has_value());
  const Exit done = cluster.proffer({"batch", "wait", "wc-1"}, Seconds(180));
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(counted(), expected_);
  for (const auto& [map, attempts] : attempts_of_maps(cluster)) EXPECT_EQ(attempts, 1) << map;
}

TEST_F(LifeOfAJob, OnATerminalIsDetachedOrCancelledAsItsUserAnswers) {
  Cluster cluster({.batch = true});
  const auto run_on_terminal = [&] {
    Words words = job("sleep 1000");
    words.insert(words.begin(), program("proffer"));
    return std::make_unique<Terminal>(
        words, std::map<std::string, std::string>{{"PROFFER_MASTER", cluster.master()}});
  };
  const auto is_gone = [&] { return !fs::exists(home_ / "out"); };

  {  // Ctrl-C asks; d detaches
    const auto terminal = run_on_terminal();
    ASSERT_TRUE(terminal->shows("running")) << terminal->screen();
    terminal->type("\x03");
    ASSERT_TRUE(terminal->shows("detach (d)")) << terminal->screen();
    terminal->type("d\n");
    EXPECT_TRUE(terminal->shows("proffer batch watch wc-1")) << terminal->screen();
    EXPECT_EQ(terminal->wait(), 130);
    EXPECT_EQ(status(cluster).phase, proto::BatchPhase::kMap);
    ASSERT_EQ(cluster.proffer({"batch", "cancel", "wc-1"}).code, 0);
    cluster.proffer({"batch", "wait", "wc-1"});
  }
  {  // Ctrl-C twice cancels
    const auto terminal = run_on_terminal();
    ASSERT_TRUE(terminal->shows("running")) << terminal->screen();
    terminal->type("\x03");
    ASSERT_TRUE(terminal->shows("detach (d)")) << terminal->screen();
    terminal->type("\x03");
    EXPECT_TRUE(terminal->shows("cancelling wc-2")) << terminal->screen();
    EXPECT_EQ(terminal->wait(), 130);
    EXPECT_EQ(status(cluster, "wc-2").phase, proto::BatchPhase::kCancelled);
    EXPECT_TRUE(is_gone());
  }
  {  // closing the terminal sends SIGHUP
    const auto terminal = run_on_terminal();
    ASSERT_TRUE(terminal->shows("running")) << terminal->screen();
    terminal->close();
    EXPECT_EQ(terminal->wait(), 128 + SIGHUP);
    EXPECT_EQ(status(cluster, "wc-3").phase, proto::BatchPhase::kMap);
    EXPECT_GE(cluster.running_tasks("batch"), 1);
    ASSERT_EQ(cluster.proffer({"batch", "cancel", "wc-3"}).code, 0);
    cluster.proffer({"batch", "wait", "wc-3"});
    EXPECT_TRUE(is_gone());
  }
}

// In the first try, a file that one of its maps needs is missing.
TEST_F(LifeOfAJob, ThatFailedIsLookedIntoAndRetriedWithoutRepeatingWhatIsDone) {
  Cluster cluster({.agents = 2, .resources = "cpus:2;mem:2048", .batch = true});
  const std::string needs = home_ / "needed";
  const Exit failed =
      cluster.proffer(job("if [ $PROFFER_TASK_INDEX = 0 ] && [ ! -e '" + needs +
                              "' ]; then sleep 1; "
                              "echo \"where is the file?\" >&2; exit 3; fi; sh map.sh",
                          "32KiB"));
  EXPECT_EQ(failed.code, 1);
  EXPECT_THAT(failed.err, HasSubstr("proffer batch retry wc-1"));
  EXPECT_FALSE(fs::exists(home_ / "out"));
  const proto::BatchJob before = status(cluster);
  EXPECT_EQ(before.map.done, before.map.total - 1);

  const Exit logs = cluster.proffer({"batch", "logs", "wc-1"});
  EXPECT_EQ(logs.code, 0) << logs.err;
  EXPECT_EQ(logs.out, "where is the file?\n");
  EXPECT_EQ(cluster.proffer({"batch", "logs", "wc-1", "map-0-1"}).out, "where is the file?\n");
  EXPECT_EQ(cluster.proffer({"batch", "logs", "wc-1", "map-0", "--stdout"}).out, "");
  EXPECT_EQ(cluster.proffer({"batch", "logs", "wc-1", "map"}).code, 2);
  EXPECT_EQ(cluster.proffer({"batch", "logs", "wc-1", "reduce-0"}).code, 1);

  write_file(needs, "");
  fs::create_directory(home_ / "out");
  const Exit taken = cluster.proffer({"batch", "retry", "wc-1"});
  EXPECT_EQ(taken.code, 1);
  EXPECT_THAT(taken.err, HasSubstr("already exists"));
  fs::remove(home_ / "out");
  const Exit again = cluster.proffer({"batch", "retry", "wc-1"});
  EXPECT_EQ(again.code, 0) << again.err;
  const Exit done = cluster.proffer({"batch", "wait", "wc-1"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(counted(), expected_);
  EXPECT_TRUE(fs::exists(home_ / "out/_SUCCESS"));
  for (const auto& [map, attempts] : attempts_of_maps(cluster)) {
    EXPECT_EQ(attempts, map == "wc-1.map-00000" ? 5 : 1) << map;
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(home_.path())) {
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr("unfinished")));
  }
  const Exit refused = cluster.proffer({"batch", "retry", "wc-1"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("has finished"));

  const Exit history = cluster.proffer({"batch", "history"});
  EXPECT_EQ(history.code, 0) << history.err;
  EXPECT_THAT(history.out, HasSubstr("wc-1"));
  EXPECT_THAT(history.out, HasSubstr("finished"));
  const auto rows = proto::parse_batch_page(cluster.proffer({"batch", "history", "--json"}).out);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->jobs.size(), 1u);
  EXPECT_EQ(rows->jobs[0].job, "wc-1");
  EXPECT_GT(rows->jobs[0].ended_at, rows->jobs[0].submitted_at);

  // The history is written asynchronously.
  EXPECT_TRUE(eventually([&] {
    const Exit report = cluster.proffer({"batch", "report", "wc-1", "--html", home_ / "r.html"});
    EXPECT_EQ(report.code, 0) << report.err;
    return read_file(home_ / "r.html").find(">end<") != std::string::npos;
  }));
  const Exit report = cluster.proffer({"batch", "report", "wc-1"});
  EXPECT_EQ(report.code, 0) << report.err;
  EXPECT_THAT(report.out, HasSubstr("wc-1 of "));
  EXPECT_THAT(report.out, HasSubstr("map-0, attempt 4 on "));
  EXPECT_THAT(report.out, HasSubstr("exited with 3"));
}

// `grep` without a match, empty input, a missing command, a cluster that is too small.
TEST_F(LifeOfAJob, DoesAsItIsToldWithWhatMayBeAnError) {
  Cluster cluster({.batch = true});
  const auto run_with = [&](Words words) {
    Words all = {"batch", "run", "--reducers", "0", "--output", home_ / "out"};
    all.insert(all.end(), words.begin(), words.end());
    Exit exit = cluster.proffer(all);
    fs::remove_all(home_ / "out");
    return exit;
  };
  const std::string input = home_ / "in";
  const Exit accepted =
      run_with({"--map", "grep no-such-word", "--map-accepts", "1", "--input", input});
  EXPECT_EQ(accepted.code, 0) << accepted.err;
  const Exit unknown = run_with({"--map", "no-such-program", "--input", input});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("it was not found"));
  EXPECT_THAT(unknown.err, Not(HasSubstr("attempt 4")));
  const std::string empty = home_ / "in/empty";
  EXPECT_THAT(run_with({"--map", "cat", "--input", empty}).err, HasSubstr("--allow-empty"));
  EXPECT_EQ(run_with({"--map", "cat", "--input", empty, "--allow-empty"}).code, 0);
  const Exit large = run_with({"--map", "cat", "--input", input, "--resources", "cpus:1000;mem:64",
                               "--fail-if-impossible"});
  EXPECT_EQ(large.code, 1);
  EXPECT_THAT(large.err, HasSubstr("no agent of the cluster could run a task"));
  const Exit named = cluster.proffer({"batch", "run", "--reducers", "0", "--output", home_ / "out",
                                      "--map", "printf '%s\\n' \"$mapreduce_map_input_file\"",
                                      "--by-file", "--input", input});
  EXPECT_EQ(named.code, 0) << named.err;
  const Exit files = run({"bash", "-c",
                          "export LC_ALL=C; diff <(cat out/part-* | sort) "
                          "<(find \"$PWD/in\" -type f -size +0 | sort)"},
                         {}, home_.path());
  EXPECT_EQ(files.code, 0) << files.out << files.err;
}

}  // namespace
}  // namespace proffer::test
