// An executor runs one command after another, with real processes: their sandboxes, left-over
// processes and usage, also if their agent is killed.

#include <map>
#include <memory>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "common/prng.h"
#include "common/text.h"
#include "proto/json/history_json.h"
#include "tests/integration/processes.h"

namespace proffer::test::spares_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Room for one task of exactly_once_framework at a time.
constexpr const char* kRoomForOne = "cpus:0.1;mem:64";

class Spares : public testing::Test {
 protected:
  // Runs the commands one after another to their end.
  void run(const Words& commands) {
    std::string lines;
    for (const std::string& command : commands) lines += command + "\n";
    write_file(home_ / "commands", lines);
    framework_ = std::make_unique<Process>(
        Words{program("examples/exactly_once_framework"), "--master=" + cluster_->master(),
              "--commands=" + (home_ / "commands"), "--session_file=" + (home_ / "session")});
  }
  void expect_all_end(size_t commands) {
    const Exit end = framework_->wait(Seconds(120));
    EXPECT_EQ(end.code, 0) << end.out << end.err;
    EXPECT_THAT(end.out, HasSubstr(text("all ", commands, " commands have ended")));
  }
  // The words of each line in a file that the commands wrote.
  std::vector<Words> lines_of(const std::string& file) const {
    std::vector<Words> lines;
    std::istringstream in(read_file(home_ / file));
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      Words& found = lines.emplace_back();
      for (std::string word; words >> word;) found.push_back(word);
    }
    return lines;
  }

  TemporaryDirectory home_;
  std::unique_ptr<Cluster> cluster_ =
      std::make_unique<Cluster>(Cluster::Options{.resources = kRoomForOne});
  std::unique_ptr<Process> framework_;
};

TEST_F(Spares, EachCommandOfAnExecutorHasItsOwnSandboxAndOutput) {
  Words commands;
  for (int i = 0; i < 20; ++i) {
    commands.push_back(text("echo $PPID $PWD $PROFFER_SANDBOX $TMPDIR $PROFFER_TASK_ID >>",
                            home_ / "seen", "; ls -A | wc -l >>", home_ / "files", "; echo out ", i,
                            "; echo err ", i, " >&2"));
  }
  run(commands);
  expect_all_end(commands.size());

  std::set<std::string> executors;
  std::set<std::string> sandboxes;
  const std::vector<Words> seen = lines_of("seen");
  ASSERT_EQ(seen.size(), commands.size());
  for (const Words& line : seen) {
    ASSERT_EQ(line.size(), 5u);
    executors.insert(line[0]);
    sandboxes.insert(line[1]);
    EXPECT_EQ(line[2], line[1]);
    EXPECT_EQ(line[3], line[1]);
    const std::string number = line[4].substr(std::string("command-").size());
    EXPECT_EQ(read_file(line[1] + "/stdout"), "out " + number + "\n");
    EXPECT_EQ(read_file(line[1] + "/stderr"), "err " + number + "\n");
  }
  EXPECT_EQ(sandboxes.size(), commands.size());
  EXPECT_LT(executors.size(), commands.size()) << "each command had an executor of its own";
  for (const Words& files : lines_of("files")) {
    EXPECT_EQ(files, Words{"2"}) << "a sandbox began with more than stdout and stderr";
  }
}

// Processes that hold the output of their command are waited for, see CommandLife.
TEST_F(Spares, ACommandFindsNothingThatTheOneBeforeLeftRunning) {
  Words commands;
  for (int i = 0; i < 6; ++i) {
    commands.push_back(text("for pid in $(cat ", home_ / "pids", " 2>/dev/null); do kill -0 $pid ",
                            "2>/dev/null && echo $pid >>", home_ / "found",
                            "; done; exec >/dev/null 2>&1; setsid sleep 1000 & echo $! >>",
                            home_ / "pids", "; (sleep 1000 & echo $! >>", home_ / "pids", ")"));
  }
  run(commands);
  expect_all_end(commands.size());
  EXPECT_EQ(lines_of("pids").size(), 12u);
  EXPECT_THAT(lines_of("found"), IsEmpty());
}

TEST_F(Spares, WhatACommandUsedIsNotCountedForTheNext) {
  if (cluster_->proffer({"agents"}).out.find("(cgroups v1)") == std::string::npos) {
    GTEST_SKIP() << "not run: needs root and cgroups v1";
  }
  run({text("echo $PPID >>", home_ / "seen",
            "; dd if=/dev/zero of=/dev/null bs=24M count=4 2>/dev/null"),
       text("echo $PPID >>", home_ / "seen")});
  expect_all_end(2);
  const std::vector<Words> seen = lines_of("seen");
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0], seen[1]) << "the second command had another executor";

  std::map<std::string, int64_t> peaks;
  ASSERT_TRUE(eventually([&] {
    const auto page = proto::parse_history_page(cluster_->proffer({"history", "--json"}).out);
    if (!page) return false;
    for (const auto& task : page->tasks) {
      if (task.status.usage) {
        peaks[task.status.task.str()] = task.status.usage->memory_peak_bytes.value_or(0);
      }
    }
    return peaks.size() == 2;
  }));
  EXPECT_GT(peaks.at("command-0"), int64_t{24} << 20);
  EXPECT_LT(peaks.at("command-1"), int64_t{12} << 20);
}

TEST_F(Spares, AKilledAgentLosesNoCommandAndBeginsNoneTwice) {
  constexpr int kCommands = 200;
  constexpr int kKills = 6;
  Prng chance(59);
  const auto ran = [&](int i) { return home_ / text("ran-", i); };
  Words commands;
  for (int i = 0; i < kCommands; ++i) commands.push_back(text("echo begun >>", ran(i)));
  const auto begun = [&] {
    int count = 0;
    for (int i = 0; i < kCommands; ++i) count += read_file(ran(i)).empty() ? 0 : 1;
    return count;
  };
  std::unique_ptr<Process> agent = cluster_->start_agent("killed", "cpus:0.2;mem:128");
  run(commands);
  for (int i = 0; i < kKills; ++i) {
    const int wanted = begun() + static_cast<int>(chance.between(1, 20));
    ASSERT_TRUE(eventually([&] { return begun() >= std::min(wanted, kCommands); }))
        << framework_->out() << framework_->err();
    agent->kill(SIGKILL);
    agent.reset();
    agent = cluster_->start_agent("killed", "cpus:0.2;mem:128");
  }
  expect_all_end(kCommands);
  EXPECT_THAT(framework_->out(), Not(HasSubstr("lost")));
  EXPECT_THAT(framework_->out(), Not(HasSubstr("failed")));
  for (int i = 0; i < kCommands; ++i) EXPECT_EQ(read_file(ran(i)), "begun\n") << "command " << i;
}

}  // namespace
}  // namespace proffer::test::spares_test
