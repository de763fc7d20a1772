// Jobs with tasks that hang or kill their executor, with real processes.

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/word_count.h"

namespace proffer::test {
namespace {

using testing::HasSubstr;

class SlowTasks : public WordCount {
 protected:
  // The processes of this agent's tasks, by their environment.
  static std::vector<pid_t> tasks_on(const Cluster& cluster, const std::string& agent) {
    const std::string named = std::string(1, '\0') + "PROFFER_AGENT=" + agent + '\0';
    std::vector<pid_t> tasks;
    for (const pid_t pid : processes_of(cluster.dir())) {
      const std::string environment =
          '\0' + read_file(text("/proc/", static_cast<int64_t>(pid), "/environ"));
      if (environment.find(named) != std::string::npos) tasks.push_back(pid);
    }
    return tasks;
  }
  static bool stands(pid_t pid) {
    return read_file(text("/proc/", static_cast<int64_t>(pid), "/stat")).find(") T ") !=
           std::string::npos;
  }
};

// Their agent works, so nothing else would ever end them.
TEST_F(SlowTasks, ThatAreStoppedHoldUpNoJob) {
  Cluster cluster({.agents = 2, .resources = "cpus:2;mem:2048", .batch = true});
  const auto running = cluster.start(job("sh slow_map.sh", "32KiB"));
  bool is_stopped = false;
  ASSERT_TRUE(eventually([&] {
    if (status(cluster).map.done < 2) return false;
    for (const pid_t pid : tasks_on(cluster, "agent-1")) ::kill(pid, SIGSTOP);
    // A task may have ended just before.
    for (const pid_t pid : tasks_on(cluster, "agent-1")) is_stopped = is_stopped || stands(pid);
    return is_stopped;
  }));
  const Exit done = running->wait(Seconds(180));
  EXPECT_EQ(done.code, 0) << done.err << done.out;
  EXPECT_EQ(counted(), expected_);
  int repeated = 0;
  for (const auto& [map, attempts] : attempts_of_maps(cluster)) repeated += attempts > 1;
  EXPECT_GE(repeated, 1);
  EXPECT_EQ(status(cluster).map.failed, 0);
}

// The dead executor cannot report it: the agent does, from output that the executor had forwarded.
TEST_F(SlowTasks, ThatKillTheirExecutorEndTheJobWithTheirLastWords) {
  Cluster cluster({.agents = 2, .resources = "cpus:2;mem:2048", .batch = true});
  const Exit done = cluster.proffer(job("echo the disk of $PROFFER_AGENT is on fire >&2; "
                                        "until grep -q fire $PROFFER_SANDBOX/stderr; do sleep "
                                        "0.01; done; kill -9 $PPID; sleep 9"),
                                    Seconds(120));
  EXPECT_EQ(done.code, 1);
  EXPECT_THAT(done.err, HasSubstr("failed as attempt 4"));
  EXPECT_THAT(done.err, HasSubstr("the executor ended by signal 9"));
  EXPECT_THAT(done.err, HasSubstr("is on fire"));
}

}  // namespace
}  // namespace proffer::test
