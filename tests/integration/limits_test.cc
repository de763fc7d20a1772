// Real tasks that use more than they asked for, or leave processes behind, beside a victim that
// must not be affected. Needs root and cgroups v1.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/text.h"
#include "proto/json/json.h"
#include "tests/integration/processes.h"

namespace proffer::limits_test {
namespace {

namespace fs = std::filesystem;
using namespace test;
using testing::HasSubstr;

class Limits : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0 || access("/sys/fs/cgroup/memory/cgroup.procs", W_OK) != 0) {
      GTEST_SKIP() << "not run: needs root and cgroups v1";
    }
    // Too small for any task: the test's tasks run on its own agent.
    cluster_ =
        std::make_unique<Cluster>(Cluster::Options{.resources = "cpus:0.1;mem:16", .batch = true});
    start_agent();
  }

  void TearDown() override {
    if (cluster_ == nullptr) return;
    agent_->kill(SIGTERM);
    EXPECT_EQ(agent_->wait().code, 0) << agent_->err();
    EXPECT_EQ(groups(), std::vector<std::string>()) << "the agent left groups";
  }

  void start_agent(Words more = {"--task_processes_max=100"}) {
    more.insert(more.end(),
                {"--limits=required", "--cgroup_parent=" + parent_, "--tasks_on_exit=kill"});
    agent_ = cluster_->start_agent("limited", "cpus:4;mem:1024", more);
    ASSERT_TRUE(eventually([&] {
      return cluster_->proffer({"agents"}).out.find("cpu, memory, pids (cgroups v1)") !=
             std::string::npos;
    })) << agent_->err();
  }

  std::unique_ptr<Process> start_victim() const {
    auto victim = cluster_->start(
        {"run", "--name", "victim", "--mem", "64", "--", "while sleep 0.1; do echo beat; done"});
    EXPECT_TRUE(victim->line_with("beat"));
    return victim;
  }
  static void expect_it_runs(Process& victim) {
    EXPECT_TRUE(victim.line_with("beat"));
    EXPECT_TRUE(victim.line_with("beat"));
  }

  std::vector<std::string> groups() const {
    std::vector<std::string> found;
    std::error_code ignored;
    for (const auto& hierarchy : fs::directory_iterator("/sys/fs/cgroup")) {
      if (fs::exists(hierarchy.path() / parent_, ignored)) found.push_back(hierarchy.path());
    }
    return found;
  }

  // Its name among the groups of agents.
  std::string group_of_agent() const {
    for (const auto& entry : fs::directory_iterator("/sys/fs/cgroup/pids/" + parent_)) {
      if (entry.is_directory()) return entry.path().filename();
    }
    return {};
  }

  std::string parent_ = text("proffer-test-", getpid());
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<Process> agent_;
};

TEST_F(Limits, MemoryOverTheLimitEndsThatTaskOnlyAndIsToldWithLimitAndPeak) {
  const auto victim = start_victim();
  // 64 MiB for the task and 32 for its executor.
  const Exit hog = cluster_->proffer(
      {"run", "--mem", "64", "--", "exec dd if=/dev/zero of=/dev/null bs=600M count=1"});
  EXPECT_NE(hog.code, 0);
  EXPECT_THAT(hog.err, HasSubstr("out_of_memory"));
  EXPECT_THAT(hog.err, HasSubstr("may use 96 MiB"));

  // The kernel kills the executor first; the message is the same.
  const Exit other = cluster_->proffer(
      {"run", "--mem", "64", "--",
       "echo 1000 > /proc/$PPID/oom_score_adj; echo 0 > /proc/self/oom_score_adj; "
       "exec dd if=/dev/zero of=/dev/null bs=600M count=1"});
  EXPECT_THAT(other.err, HasSubstr("out_of_memory"));
  EXPECT_THAT(other.err, HasSubstr("may use 96 MiB"));

  // This use is within the limit.
  EXPECT_EQ(cluster_
                ->proffer({"run", "--mem", "64", "--",
                           "exec dd if=/dev/zero of=/dev/null bs=40M count=2 2>/dev/null"})
                .code,
            0);
  expect_it_runs(*victim);
  EXPECT_THAT(get_http(cluster_->told_by("limited", "http"), "/metrics"),
              HasSubstr("proffer_agent_out_of_memory_total 2"));
}

// A task that forks for ever. It is counted by the names of its processes: the kernel locks a
// process's memory, with its arguments and environment, while the process forks, and a process that
// is out of CPU quota keeps the lock. Reading 100 of them took minutes.
class ForkBomb {
 public:
  explicit ForkBomb(const Cluster& cluster) {
    fs::create_symlink("/usr/bin/perl", home_ / name_);
    task_ = cluster.start({"run", "--name", "bomb", "--cpus", "0.1", "--mem", "64", "--",
                           "echo $PPID; exec " + (home_ / name_) + " -e 'fork while 1'"});
    EXPECT_TRUE(eventually([&] {
      if (const std::optional<std::string> line = task_->line_with("")) executor_ = *line;
      return parse_whole("pid", executor_, 2, INT32_MAX).has_value();
    }));
    EXPECT_TRUE(eventually([&] { return size() > 20; }));
  }
  size_t size() const {
    size_t found = 0;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      found += read_file(entry.path() / "comm") == name_ + "\n" ? 1 : 0;
    }
    return found;
  }
  void kill_executor() const {
    ::kill(static_cast<pid_t>(*parse_whole("pid", executor_, 2, INT32_MAX)), SIGKILL);
  }
  void end() {
    task_->kill(SIGINT);
    task_->wait();
    EXPECT_TRUE(eventually([&] { return size() == 0; }));
  }

 private:
  TemporaryDirectory home_;
  std::string name_ = text("bomb-", getpid());
  std::unique_ptr<Process> task_;
  std::string executor_;  // its pid
};

// A wrapper that goes on hides it: its exit code is 0, or its own.
TEST_F(Limits, MemoryThatAChildLackedIsToldWithTheTasksEnd) {
  const std::string hog = "perl -e '$x = \"x\" x 200_000_000; sleep 9'";
  const std::string wrapper = hog + "; echo went on";
  const Exit done = cluster_->proffer({"run", "--mem", "64", "--", wrapper});
  EXPECT_EQ(done.code, 0);
  EXPECT_EQ(done.out, "went on\n");
  EXPECT_THAT(done.err, HasSubstr("done, but 1 process was killed because the task was out of "
                                  "memory"));
  const Exit strict = cluster_->proffer({"run", "--strict-memory", "--mem", "64", "--", wrapper});
  EXPECT_EQ(strict.code, 1);

  const TemporaryDirectory home;
  const Exit array = cluster_->proffer({"batch", "array", "1-3", "--resources", "cpus:1;mem:64",
                                        "--output", home / "out", "--name", "hogs", "--", "sh",
                                        "-c", "test $PROFFER_ARRAY_INDEX != 2 || exec " + hog});
  EXPECT_EQ(array.code, 1);
  EXPECT_THAT(array.err, HasSubstr("element 2 exited with 137: out of memory: a process of the "
                                   "command was killed; its task may use 64 MiB"));
}

TEST_F(Limits, AForkBombIsHeldAndEndsWithItsTask) {
  const auto victim = start_victim();
  ForkBomb bomb(*cluster_);
  EXPECT_LE(bomb.size(), 100u);
  expect_it_runs(*victim);
  bomb.end();
  expect_it_runs(*victim);
}

// Each process leaves its session and ignores SIGTERM. The limit of processes is by the task's
// CPUs. They sleep, since other tests run beside this one.
TEST_F(Limits, ABombOfEscapersEndsWithItsTaskAndItsAgentAnswers) {
  agent_->kill(SIGTERM);
  agent_->wait();
  start_agent({});
  const auto victim = start_victim();
  const auto bomb = cluster_->start(
      {"run", "--name", "bomb", "--cpus", "0.1", "--mem", "256", "--grace", "0s", "--",
       "exec perl -MPOSIX -e '$SIG{TERM} = q(IGNORE); for (1..2000) { my $pid = fork; "
       "next if !defined $pid || $pid; POSIX::setsid(); last } sleep 1000'"});
  const auto processes = [&] {
    size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator("/sys/fs/cgroup/pids/" + parent_)) {
      if (entry.path().filename() != "cgroup.procs") continue;
      const std::string pids = read_file(entry.path());
      count += static_cast<size_t>(std::count(pids.begin(), pids.end(), '\n'));
    }
    return count;
  };
  ASSERT_TRUE(eventually([&] { return processes() > 500; })) << processes();
  EXPECT_LE(processes(), 512u + 102 + 3);  // the victim has a shell, a `sleep` and its executor
  expect_it_runs(*victim);
  bomb->kill(SIGINT);
  bomb->wait();
  EXPECT_TRUE(eventually([&] { return processes() <= 3; })) << processes();
  expect_it_runs(*victim);
  EXPECT_EQ(cluster_->proffer({"agents"}).out.find("unreachable"), std::string::npos);
}

// The agent and its fork server have a group above all tasks, executors a priority within their
// own, and commands neither. A user's processes are limited over all tasks.
TEST_F(Limits, TheAgentIsAboveTasksAndCommandsAreNotAboveEachOther) {
  const Exit task = cluster_->proffer(
      {"run", "--cpus", "0.1", "--mem", "64", "--",
       "nice; ulimit -p; cut -d' ' -f19 /proc/$PPID/stat; grep :cpu: /proc/self/cgroup"});
  EXPECT_EQ(task.code, 0) << task.err;
  std::istringstream lines(task.out);
  std::string nice, users, executor, group;
  std::getline(lines, nice);
  std::getline(lines, users);
  std::getline(lines, executor);
  std::getline(lines, group);
  EXPECT_EQ(nice, std::to_string(getpriority(PRIO_PROCESS, 0)));
  EXPECT_LE(*parse_whole("processes", users, 1, INT32_MAX), 8'192);
  EXPECT_EQ(executor, "-20");
  EXPECT_THAT(group, HasSubstr("/" + parent_ + "/"));
  EXPECT_EQ(group.find(".daemon"), std::string::npos) << group;
  EXPECT_THAT(read_file(text("/proc/", agent_->pid(), "/cgroup")), HasSubstr(".daemon\n"));
  EXPECT_THAT(
      read_file("/sys/fs/cgroup/cpu/" + parent_ + "/" + group_of_agent() + ".daemon/cpu.shares"),
      HasSubstr("262144"));
}

TEST_F(Limits, ATaskThatStopsItsExecutorEndsAtItsLimitAllTheSame) {
  const Exit task = cluster_->proffer({"run", "--mem", "64", "--max-run-time", "1s", "--grace",
                                       "0s", "--", "sleep 0.3; kill -STOP $PPID; sleep 1000"});
  EXPECT_EQ(task.code, 137);
  EXPECT_THAT(task.err, HasSubstr("its maximum run time"));
}

TEST_F(Limits, AllTasksTogetherLeaveTheSystemItsPart) {
  const auto limit = [&] {
    std::error_code none;
    const std::string all = "/sys/fs/cgroup/memory/" + parent_;
    for (const auto& entry : fs::directory_iterator(all, none)) {
      const std::string found = read_file(entry.path() / "memory.limit_in_bytes");
      if (entry.is_directory() && !found.empty()) return std::stoll(found);
    }
    return 0LL;
  };
  // Without a limit it is almost 2^63.
  ASSERT_TRUE(eventually([&] { return limit() > 0 && limit() < int64_t{1} << 60; })) << limit();
  const int64_t by_default = limit();
  agent_->kill(SIGTERM);
  agent_->wait();
  start_agent({"--system_reserved=cpus:0.5;mem:2GiB"});
  // A tenth of the memory of this machine may be less than 1 GiB.
  const int64_t gibi = int64_t{1} << 30;
  EXPECT_TRUE(eventually([&] {
    const int64_t now = limit();
    return now > 0 && by_default - now >= gibi && by_default - now < 2 * gibi;
  })) << by_default
      << " and " << limit();
  EXPECT_THAT(read_file(text("/sys/fs/cgroup/pids/", parent_, "/", group_of_agent(), "/pids.max")),
              testing::Not(HasSubstr("max")));
  const Exit bad = run({program("proffer-agent"), "--system_reserved=gpus:1"});
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.err, HasSubstr("--system_reserved takes cpus, mem and disk, not 'gpus:1'"));
  const Exit all = run({program("proffer-agent"), "--system_reserved=mem:1000TiB"});
  EXPECT_EQ(all.code, 2);
  EXPECT_THAT(all.err, HasSubstr("--system_reserved must leave some mem of this machine's"));
}

constexpr const char* kLeaveMemory =
    "python3 -c 'import ctypes; l = ctypes.CDLL(None); print(l.shmget(77, 65536, 0o1600) >= 0)'; "
    "echo data >/dev/shm/left";
constexpr const char* kCountMemory = "ls -A /dev/shm | wc -l; tail -n +2 /proc/sysvipc/shm | wc -l";

// Files in /dev/shm and segments of System V end with their task, are not seen by others, and count
// as its memory.
TEST_F(Limits, SharedMemoryIsThatOfATask) {
  EXPECT_THAT(cluster_->proffer({"agents"}).out, HasSubstr("shared memory"));
  const std::string mine = text("/dev/shm/proffer-test-of-the-machine-", getpid());
  write_file(mine, "x");
  const auto holder = cluster_->start({"run", "--name", "holds", "--mem", "64", "--",
                                       std::string(kLeaveMemory) + "; echo holds; sleep 1000"});
  ASSERT_TRUE(holder->line_with("True"));
  ASSERT_TRUE(holder->line_with("holds"));
  const auto count = [&](Words before) {
    before.push_back(kCountMemory);
    return cluster_->proffer(before).out;
  };
  EXPECT_EQ(count({"run", "--mem", "64", "--"}), "0\n0\n");
  EXPECT_EQ(count({"exec", "holds-1", "--"}), "1\n1\n") << "exec is in the task";
  EXPECT_EQ(cluster_->proffer({"exec", "holds-1", "--", "pwd; echo $PROFFER_SANDBOX"}).code, 0);
  EXPECT_FALSE(fs::exists("/dev/shm/left"));
  holder->kill(SIGINT);
  holder->wait();
  fs::remove(mine);

  const Exit over = cluster_->proffer(
      {"run", "--mem", "64", "--", "head -c 200M /dev/zero >/dev/shm/big; echo $?"});
  EXPECT_THAT(over.err, HasSubstr("out of memory")) << over.out;
}

// One executor runs these one after the other.
TEST_F(Limits, SharedMemoryIsEmptyForTheNextCommandOfAnExecutor) {
  const TemporaryDirectory home;
  const Exit array =
      cluster_->proffer({"batch", "array", "1-6", "--resources", "cpus:4;mem:900", "--output",
                         home / "out", "--", "sh", "-c", text(kCountMemory, "; ", kLeaveMemory)});
  EXPECT_EQ(array.code, 0) << array.err;
  const Exit outputs = run({"sh", "-c",
                            "cat " + home.path() +
                                "/out/stdout/* 2>/dev/null || "
                                "cat " +
                                home.path() + "/out/*"});
  EXPECT_THAT(outputs.out, HasSubstr("0\n0\nTrue\n0\n0\nTrue\n"));
  EXPECT_EQ(outputs.out.find("1\n"), std::string::npos) << outputs.out;
}

TEST_F(Limits, APrivateTmpIsThatOfOneTask) {
  const std::string name = text("proffer-private-", getpid());
  const std::string leave =
      text("test ! -e /tmp/", name, " && echo kept >/tmp/", name, " && cat /var/tmp/", name);
  for (int i = 0; i < 2; ++i) {
    const Exit ran = cluster_->proffer(
        {"run", "--private-tmp", "--", text(leave, " && ls $PROFFER_SANDBOX/.tmp")});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr(text("kept\n", name)));
  }
  const auto holder = cluster_->start(
      {"run", "--private-tmp", "--name", "holder", "--", text(leave, " && exec sleep 1000")});
  ASSERT_TRUE(holder->line_with("kept"));
  const Exit seen = cluster_->proffer({"exec", "holder", "--", "cat", "/tmp/" + name});
  EXPECT_EQ(seen.out, "kept\n") << seen.err;
  const std::string out =
      text(fs::path(program_of_tests("integration_tests")).parent_path().string(), "/", name);
  const Exit array = cluster_->proffer({"batch", "array", "1", "--private-tmp", "--resources",
                                        "cpus:1;mem:64", "--output", out, "--", leave});
  EXPECT_EQ(array.code, 0) << array.err;
  EXPECT_EQ(array.out, "kept\n");
  const Exit hidden = cluster_->proffer(
      {"batch", "array", "1", "--private-tmp", "--output", "/tmp/" + name, "--", "true"});
  EXPECT_EQ(hidden.code, 2);
  EXPECT_THAT(hidden.err, HasSubstr(text("'/tmp/", name, "' is hidden from tasks")));
  fs::remove_all(out);
  EXPECT_FALSE(fs::exists("/tmp/" + name));
  EXPECT_FALSE(fs::exists("/var/tmp/" + name));

  const auto plain =
      cluster_->start_agent("plain", "cpus:4;mem:1024", {"--limits=none", "--tasks_on_exit=kill"});
  const Exit refused =
      cluster_->proffer({"run", "--private-tmp", "--constraint", "host == plain", "--", "true"});
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.err, HasSubstr("agent plain cannot give a task a /tmp of its own"));
  plain->kill(SIGTERM);
  EXPECT_EQ(plain->wait().code, 0);
}

// The agent examines all processes of the machine when it starts, and again if an executor ended
// meanwhile. It once read the environments of the fork bomb's processes, and served no request for
// 40 s.
class BesideAForkBomb : public Limits, public testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(, BesideAForkBomb, testing::Bool(), [](const auto& without_executor) {
  return without_executor.param ? "WithoutItsExecutor" : "WithItsExecutor";
});

TEST_P(BesideAForkBomb, AnAgentBeginsAgain) {
  const auto victim = start_victim();
  ForkBomb bomb(*cluster_);
  agent_->kill(SIGKILL);
  agent_->wait();
  if (GetParam()) bomb.kill_executor();
  start_agent();
  expect_it_runs(*victim);
  std::string metrics;
  const auto count_of = [&](const std::string& name) {
    const size_t at = metrics.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::stoi(metrics.substr(at + name.size() + 2));
  };
  // Its address may still be the old one, and an event loop's turn counts only when it has ended.
  EXPECT_TRUE(eventually([&] {
    metrics = get_http(cluster_->told_by("limited", "http"), "/metrics");
    return count_of("proffer_agent_registered") == 1 &&
           count_of("proffer_loop_turn_seconds_count") > 0;
  })) << metrics;
  EXPECT_EQ(count_of("proffer_loop_turn_seconds_bucket{le=\"10\"}"),
            count_of("proffer_loop_turn_seconds_count"));
  bomb.end();
  expect_it_runs(*victim);
}

TEST_F(Limits, WhatATaskStartedEndsWithIt) {
  TemporaryDirectory marker;
  const Exit done = cluster_->proffer(
      {"run", "--",
       "env -i setsid sh -c 'trap : TERM; setsid sh -c \"sleep 1000; : " + marker.path() +
           "\" & sleep 1000; : " + marker.path() + "' & exit 0"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_TRUE(eventually([&] { return processes_of(marker.path()).empty(); }));
}

// The executor dies while its agent is away: only the cgroup shows which task the daemon belonged
// to.
TEST_F(Limits, WhatATaskOfAnEarlierLifeLeftEndsAndOthersRunOn) {
  const auto victim = start_victim();
  TemporaryDirectory marker;
  const auto task = cluster_->start(
      {"run", "--name", "leaver", "--",
       "env -i setsid sh -c 'sleep 1000; : " + marker.path() + "' & echo $PPID; sleep 1000"});
  std::string executor;
  ASSERT_TRUE(eventually([&] {
    const std::optional<std::string> line = task->line_with("");
    if (line) executor = *line;
    return parse_whole("pid", executor, 2, INT32_MAX).has_value();
  }));
  ASSERT_TRUE(eventually([&] { return processes_of(marker.path()).size() > 1; }));

  agent_->kill(SIGKILL);
  agent_->wait();
  ::kill(static_cast<pid_t>(*parse_whole("pid", executor, 2, INT32_MAX)), SIGKILL);
  task->kill(SIGKILL);
  task->wait();
  ASSERT_FALSE(processes_of(marker.path()).empty());

  start_agent();
  EXPECT_TRUE(eventually([&] { return processes_of(marker.path()).empty(); }));
  expect_it_runs(*victim);
  const auto status = get_http(cluster_->told_by("limited", "http"), "/v1/status");
  EXPECT_THAT(status, HasSubstr("\"memory_limit_bytes\":100663296"));  // the victim's limit
}

}  // namespace
}  // namespace proffer::limits_test
