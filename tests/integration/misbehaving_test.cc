// Misbehaving tasks whose effects on memory, processes and signals the agent must survive. Each is
// a real task beside a victim, and each end is reported correctly. Memory hogs, fork bombs and
// daemons are in limits_test.cc, a full disk in disk_test.cc.
//
// No task here signals all processes that it may (kill -1): if root runs the test, its tasks are
// root's.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include "common/text.h"
#include "proto/json/json.h"
#include "tests/integration/processes.h"
#include "tests/support/long.h"

namespace proffer::misbehaving_test {
namespace {

namespace fs = std::filesystem;
using namespace test;
using testing::HasSubstr;

// The cluster's own agent is too small for any task.
class Misbehaving : public testing::Test {
 protected:
  void SetUp() override {
    agent_ = cluster_.start_agent("a", "cpus:8;mem:2048;disk:65536",
                                  {"--sandbox_age=1s", "--output_max=16", "--disk_reserve=1"});
    ASSERT_TRUE(eventually([&] {
      return cluster_.proffer({"agents"}).out.find("disk (measured each second)") !=
             std::string::npos;
    })) << agent_->err();
    victim_ = cluster_.start({"run", "--name", "victim", "--cpus", "0.5", "--mem", "64", "--",
                              "while sleep 0.05; do echo beat; done"});
    ASSERT_TRUE(victim_->line_with("beat")) << victim_->err();
  }
  void TearDown() override {
    EXPECT_TRUE(victim_->line_with("beat"));
    EXPECT_TRUE(victim_->line_with("beat"));
    victim_->kill(SIGINT);
    victim_->wait();
    agent_->kill(SIGTERM);
    EXPECT_EQ(agent_->wait().code, 0) << agent_->err();
  }
  Exit run_task(const std::string& command, Words more = {}) const {
    Words words = {"run", "--cpus", "0.5", "--mem", "64"};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", command});
    return cluster_.proffer(words, test::is_long() ? Seconds{900} : kDeadline);
  }

  const Cluster cluster_{{.resources = "cpus:0.1;mem:16"}};
  std::unique_ptr<Process> agent_;
  std::unique_ptr<Process> victim_;
};

// --- signals -------------------------------------------------------------------------------------

// "state reason exit signal" by the number at the end of the task's id.
std::map<int, std::string> ends_of(const std::string& lines) {
  std::map<int, std::string> ends;
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);) {
    if (line.find("\"event\":\"ended\"") == std::string::npos) continue;
    const auto members = proto::parse_json_line(line);
    if (!members) continue;
    const auto word = [&](const char* name) {
      const auto at = members->find(name);
      if (at == members->end()) return std::string("-");
      if (const auto* number = std::get_if<int64_t>(&at->second)) return std::to_string(*number);
      const auto* words = std::get_if<std::string>(&at->second);
      return words == nullptr ? std::string("?") : *words;
    };
    const std::string task = word("task");
    ends[std::atoi(task.c_str() + task.rfind('-') + 1)] =
        text(word("state"), " ", word("reason"), " ", word("exit_code"), " ", word("signal"));
  }
  return ends;
}

// From the table of `proffer tasks`.
bool is_running(const std::string& tasks, const std::string& task) {
  const size_t at = tasks.find(text("/", task, " "));
  const size_t end = tasks.find('\n', at);
  return at != std::string::npos &&
         tasks.substr(at, end - at).find(" running") != std::string::npos;
}

// A task sends each signal from 1 to 31 to itself, to its process group, and to its executor.
TEST_F(Misbehaving, EverySignalIsToldAsWhatItDid) {
  const std::set<int> ignored = {SIGCHLD, SIGCONT, SIGURG, SIGWINCH};
  const std::set<int> stops = {SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};
  const std::map<std::string, std::string> targets = {
      {"self", "$$"}, {"group", "0"}, {"executor", "$PPID"}};
  std::map<std::string, std::unique_ptr<Process>> runs;
  for (const auto& [name, target] : targets) {
    runs[name] = cluster_.start({"run", "--json", "--name", name, "--count", "31", "--cpus", "0.05",
                                 "--mem", "16", "--grace", "0s", "--",
                                 "kill -${PROFFER_TASK_ID##*-} " + target + "; sleep 0.3; exit 5"});
  }
  // A stopped task, or a task of a stopped executor, ends when it is killed. A stopped executor may
  // not have reported that its task runs.
  const std::string stopped = text("executor-", SIGSTOP);
  ASSERT_TRUE(eventually([&] {
    const int left = cluster_.running_tasks("executor-") + cluster_.running_tasks("self-") +
                     cluster_.running_tasks("group-");
    const std::string all = cluster_.proffer({"tasks"}).out;
    const bool are_there = std::all_of(stops.begin(), stops.end(), [&](int signal) {
      return is_running(all, text("self-", signal)) && is_running(all, text("group-", signal));
    });
    return are_there && (left == 4 + 4 || left == 4 + 4 + 1) &&
           all.find(stopped) != std::string::npos;
  })) << cluster_.proffer({"tasks"}).out;
  for (const char* name : {"self", "group"}) {
    for (const int signal : stops) {
      EXPECT_EQ(cluster_.proffer({"kill", text(name, "-", signal)}).code, 0);
    }
  }
  EXPECT_EQ(cluster_.proffer({"kill", stopped}).code, 0);

  for (auto& [name, process] : runs) {
    const std::map<int, std::string> ends = ends_of(process->wait().out);
    EXPECT_EQ(ends.size(), 31u) << name;
    for (const auto& [signal, end] : ends) {
      std::string expected = text("failed command_signalled - ", signal);
      // SIGTERM and SIGINT make the executor kill its command; other signals kill the executor.
      if (name == "executor") {
        const bool is_polite = signal == SIGTERM || signal == SIGINT;
        expected = text("failed executor_ended - ", is_polite ? SIGKILL : signal);
      }
      if (ignored.contains(signal)) expected = "failed command_exited 5 -";
      const bool is_stopped = stops.contains(signal);
      if (is_stopped) expected = "killed killed_by_operator - 9";
      // An executor leads a session without a terminal, so terminal signals do not stop it.
      if (name == "executor" && is_stopped && signal != SIGSTOP) {
        expected = "failed command_exited 5 -";
      }
      EXPECT_EQ(end, expected) << name << " " << signal;
    }
  }
}

TEST_F(Misbehaving, WhoIgnoresThePoliteSignalIsKilledWithItsChildren) {
  const TemporaryDirectory marker;
  const auto task = cluster_.start(
      {"run", "--name", "deaf", "--cpus", "0.5", "--mem", "64", "--grace", "100ms", "--",
       "trap '' TERM HUP INT; sh -c 'echo up; sleep 1000; : " + marker.path() + "'; exit 0"});
  ASSERT_TRUE(task->line_with("up")) << task->err();
  EXPECT_EQ(cluster_.proffer({"kill", "deaf-1"}).code, 0);
  EXPECT_THAT(task->wait().err, HasSubstr("killed_by_operator: the command was ended by signal 9"));
  EXPECT_TRUE(eventually([&] { return processes_of(marker.path()).empty(); }));
}

// --- descriptors and files -----------------------------------------------------------------------

TEST_F(Misbehaving, WhoClosesAllDescriptorsIsHeardOfAtItsEnd) {
  const Exit ended =
      run_task("exec perl -e 'use POSIX; POSIX::close($_) for 0..1023; POSIX::_exit(7)'");
  EXPECT_EQ(ended.code, 7) << ended.err;
  EXPECT_EQ(run_task("exec <&- >&- 2>&-; exit 0").code, 0);
}

TEST_F(Misbehaving, WhoDeletesItsSandboxEndsAsItWould) {
  const Exit ended = run_task("echo before; rm -rf \"$PROFFER_SANDBOX\"; sleep 0.1; exit 6");
  EXPECT_EQ(ended.code, 6) << ended.err;
  // The agent must not follow the link to files that are not the task's.
  EXPECT_EQ(run_task("cd /; rm -rf \"$PROFFER_SANDBOX\"; ln -s /etc \"$PROFFER_SANDBOX\"").code, 0);
  EXPECT_EQ(run_task("echo fine").out, "fine\n");
  EXPECT_TRUE(fs::exists("/etc/passwd"));
}

TEST_F(Misbehaving, WhoHoldsMoreOfTheDiskThanItAskedForFails) {
  // Output counts by the size that is kept.
  const auto printer = cluster_.start(
      {"run", "--name", "printer", "--cpus", "0.5", "--mem", "64", "--disk", "100", "--",
       "for i in 1 2 3 4 5; do head -c 30000000 /dev/zero; sleep 1; done | cat; exit 9"});
  const Exit filler = run_task("head -c 40000000 /dev/zero > filler; exec sleep 1000",
                               {"--disk", "8", "--name", "filler"});
  EXPECT_NE(filler.code, 0);
  EXPECT_THAT(filler.err, HasSubstr("out_of_disk"));
  EXPECT_THAT(filler.err, HasSubstr("and the maximum is 8 MiB"));
  EXPECT_EQ(run_task("head -c 4000000 /dev/zero > file; sleep 1.5", {"--disk", "8"}).code, 0);
  EXPECT_EQ(printer->wait().code, 9) << printer->err();
}

TEST_F(Misbehaving, ManySmallFilesHoldNobodyUp) {
  const int files = test::is_long() ? 1'000'000 : 10'000;
  // The empty files fit into 8 GiB but not into 16 MiB.
  const std::string make =
      text("perl -e 'for (1..", files,
           ") { mkdir \"d\" . int($_ / 1000); "
           "open F, \">\", \"d\" . int($_ / 1000) . \"/$_\" }; print \"made\\n\"'");
  EXPECT_EQ(run_task(make, {"--disk", "8192", "--name", "tidy"}).out, "made\n");
  // The agent answers while it removes them.
  const std::string sandboxes = cluster_.dir() + "/a/sandboxes";
  const std::string trash = cluster_.dir() + "/a/trash";
  EXPECT_TRUE(eventually(
      [&] {
        EXPECT_THAT(get_http(cluster_.told_by("a", "http"), "/healthz"), HasSubstr("200 OK"));
        std::error_code gone;
        size_t left = 0;
        for (const auto& framework : fs::directory_iterator(sandboxes)) {
          for (const auto& executor : fs::directory_iterator(framework, gone)) {
            left += !fs::is_empty(executor, gone) && !gone;
          }
        }
        return left == 1 && fs::exists(trash) && fs::is_empty(trash);  // the victim's remains
      },
      test::is_long() ? Seconds{600} : kDeadline));
  const Exit over = run_task(make + "; exec sleep 1000", {"--disk", "16", "--name", "over"});
  EXPECT_THAT(over.err, HasSubstr("out_of_disk"));
}

TEST_F(Misbehaving, TenGibibytesOfOutputFillNoDisk) {
  if (!test::is_long()) GTEST_SKIP() << "not run: it takes a minute";
  // Adds up received bytes and bytes reported as missing, for a reader slower than the task.
  const std::string adds_up =
      "perl -e '$/ = \\65536;"
      " while (<STDIN>) { $sum += tr/\\0//; tr/\\0//d; $told .= $_ }"
      " $sum += $1 while $told =~ /(\\d+) bytes of stdout of task/g;"
      " print \"$sum\\n\"'";
  Process task({"/bin/sh", "-c",
                program("proffer") + " run --name printer --cpus 1 --mem 64 --master " +
                    cluster_.master() + " -- 'exec head -c 10G /dev/zero' 2>&1 | " + adds_up});
  int64_t most = 0;
  EXPECT_TRUE(eventually(
      [&] {
        int64_t held = 0;
        std::error_code gone;
        fs::recursive_directory_iterator at(cluster_.dir() + "/a/sandboxes", gone);
        for (; !gone && at != fs::recursive_directory_iterator(); at.increment(gone)) {
          struct stat status {};
          if (stat(at->path().c_str(), &status) == 0) held += int64_t{status.st_blocks} * 512;
        }
        most = std::max(most, held);
        return task.line_with("10737418240", Seconds{0}).has_value();
      },
      Seconds{600}));
  EXPECT_EQ(task.wait().code, 0);
  EXPECT_LT(most, int64_t{4} << 30);
}

}  // namespace
}  // namespace proffer::misbehaving_test
