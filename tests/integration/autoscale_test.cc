// Apps that are scaled by their load, with real processes on both sides.

#include <algorithm>
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/text.h"
#include "proto/json/json.h"
#include "proto/json/service_json.h"
#include "tests/integration/processes.h"

namespace proffer::test::autoscale_test {
namespace {

using testing::HasSubstr;

// An additional scheduler in the cluster, and its framework's id.
class Scheduler {
 public:
  Scheduler(const Cluster& cluster, const std::string& session, const std::string& every)
      : cluster_(cluster) {
    const std::vector<std::string> before = ids();
    process_ = std::make_unique<Process>(Words{program("proffer-service"), "scheduler", "--master",
                                               cluster.master(), "--session-file", session,
                                               "--serve-users", "--autoscale-every", every});
    EXPECT_TRUE(eventually([&] {
      for (const std::string& id : ids()) {
        if (std::find(before.begin(), before.end(), id) == before.end()) id_ = id;
      }
      return !id_.empty() && ask({"list"}).code == 0;
    })) << process_->err();
  }
  ~Scheduler() {
    process_->kill(SIGTERM);
    EXPECT_EQ(process_->wait().code, 0) << process_->err();
  }

  const std::string& id() const { return id_; }
  // Runs `proffer service …` for this scheduler.
  Exit ask(Words words) const {
    words.insert(words.begin(), "service");
    words.insert(words.end(), {"--framework", id_});
    return cluster_.proffer(std::move(words));
  }
  proto::ServiceAppRow app() const {
    const auto page = proto::parse_service_status(ask({"status", "app", "--json"}).out);
    return page ? page->app : proto::ServiceAppRow();
  }
  // Whether the app has this many instances, all of them ready.
  bool has(int64_t instances) const {
    const proto::ServiceAppRow row = app();
    return row.instances == instances && row.ready == instances && row.live == instances;
  }
  // The process that measures for this scheduler, or 0.
  pid_t measuring() const {
    for (const pid_t pid : processes_of(id_)) {
      const std::string command = read_file(text("/proc/", pid, "/cmdline"));
      if (command.find(std::string("service\0autoscale", 17)) != std::string::npos) return pid;
    }
    return 0;
  }

 private:
  std::vector<std::string> ids() const {
    const auto rows = proto::parse_frameworks(cluster_.proffer({"frameworks", "--json"}).out);
    std::vector<std::string> ids;
    if (!rows) return ids;
    for (const proto::FrameworkRow& row : *rows) ids.push_back(row.framework.str());
    return ids;
  }

  const Cluster& cluster_;
  std::unique_ptr<Process> process_;
  std::string id_;
};

std::string app_file(const std::string& load, const std::string& more = "") {
  return text("name: app\ncommand: 'exec ", program_of_tests("http_server"),
              " 127.0.0.1 $PORT_http'\nports: [http]\nenv: {LOAD: ", load,
              "}\nresources: 'cpus:0.1;mem:32'\nscale: {min: 1, max: 4, http: {port: http, "
              "path: /load, target: 10}, up_after: 2s, down_after: 3s",
              more, "}\n");
}

TEST(Autoscale, FollowsANumberThatInstancesTell) {
  const TemporaryDirectory home;
  const Cluster cluster;
  const Scheduler scheduler(cluster, home / "session", "0s");
  const std::string load = home / "load";
  write_file(load, "10");
  const std::string path = home / "app.yaml";
  write_file(path, app_file(load));
  ASSERT_EQ(scheduler.ask({"apply", path, "--wait"}).code, 0);
  EXPECT_THAT(scheduler.ask({"status", "app"}).out, HasSubstr("scaled by http: no measurements"));
  const auto measures = cluster.start({"service", "autoscale", "--every", "1s"});
  ASSERT_TRUE(measures->line_with("app: stays at 1: http 10, target 10"));
  write_file(load, "20");
  ASSERT_TRUE(measures->line_with("app: goes from 1 to 2: http 20, target 10"));
  EXPECT_TRUE(eventually([&] { return scheduler.has(4); }));
  ASSERT_TRUE(measures->line_with("stays at 4: http 20, target 10, the maximum"));
  EXPECT_THAT(scheduler.ask({"status", "app"}).out,
              HasSubstr("scaled by http: stays at 4: http 20, target 10, the maximum"));
  write_file(load, "1");
  EXPECT_TRUE(eventually([&] { return scheduler.has(1); }));
  // An answer that is not a number does not count.
  write_file(load, "much");
  ASSERT_TRUE(measures->line_with("stays at 1: no measured http from its 1 ready instances"));
  // A dry run only reports the change.
  write_file(path, app_file(load, ", dry_run: true"));
  ASSERT_EQ(scheduler.ask({"apply", path}).code, 0);
  write_file(load, "40");
  ASSERT_TRUE(measures->line_with("would go from 1 to 4: http 40, target 10"));
  EXPECT_TRUE(scheduler.has(1));
  EXPECT_THAT(scheduler.ask({"scale", "app", "5"}).err,
              HasSubstr("is scaled by its load, from 1 to 4 instances"));
  measures->kill(SIGTERM);
}

// Both apps are called "app", and both schedulers "service".
TEST(Autoscale, EachSchedulerHasItsAppsMeasured) {
  const TemporaryDirectory home;
  const Cluster cluster({.service = true});
  const Scheduler other(cluster, home / "session", "1s");
  EXPECT_EQ(other.measuring(), 0);
  const std::string path = home / "app.yaml";
  write_file(path, app_file(home / "much"));
  write_file(home / "much", "40");
  ASSERT_EQ(other.ask({"apply", path, "--wait"}).code, 0);
  EXPECT_TRUE(eventually([&] { return other.has(4); }));
  EXPECT_THAT(cluster.proffer({"service", "logs", "app"}).err,
              HasSubstr("several frameworks are named 'service'"));

  // The killed process is started again.
  const pid_t killed = other.measuring();
  ASSERT_NE(killed, 0);
  ::kill(killed, SIGKILL);
  write_file(home / "much", "1");
  EXPECT_TRUE(eventually([&] { return other.has(1); }));
  EXPECT_NE(other.measuring(), killed);

  ASSERT_EQ(other.ask({"stop", "app", "--wait"}).code, 0);
  EXPECT_TRUE(eventually([&] { return other.measuring() == 0; }));
}

TEST(Autoscale, ALocalClusterMeasures) {
  const TemporaryDirectory home;
  const Cluster cluster({.service = true});
  write_file(home / "load", "40");
  write_file(home / "app.yaml", app_file(home / "load"));
  ASSERT_EQ(cluster.proffer({"service", "apply", home / "app.yaml", "--wait"}).code, 0);
  EXPECT_TRUE(eventually([&] {
    const auto page =
        proto::parse_service_status(cluster.proffer({"service", "status", "app", "--json"}).out);
    return page && page->app.instances == 4;
  }));
}

TEST(Autoscale, FollowsTheCpuThatInstancesUse) {
  if (geteuid() != 0 || access("/sys/fs/cgroup/cpuacct/cgroup.procs", W_OK) != 0) {
    GTEST_SKIP() << "not run: needs root and cgroups v1";
  }
  const TemporaryDirectory home;
  // This agent is too small, so the instances are on the agent below, which measures them.
  Cluster cluster({.resources = "cpus:0.01;mem:16"});
  const auto agent = cluster.start_agent(
      "counts", "cpus:4;mem:1024",
      {"--limits=required", text("--cgroup_parent=proffer-test-scale-", getpid())});
  const Scheduler scheduler(cluster, home / "session", "1s");
  const std::string path = home / "app.yaml";
  // While the file exists the instance uses its whole CPU share, to which it is limited. Otherwise
  // it starts a process every two seconds, which costs up to a tenth of the share on a slow
  // machine.
  write_file(path, text("name: app\ncommand: 'while :; do test -e ", home / "busy",
                        " || sleep 2; done'\nresources: 'cpus:0.1;mem:32'\nscale: {min: 1, "
                        "max: 2, cpu: 50%, up_after: 2s, down_after: 3s}\n"));
  write_file(home / "busy", "");
  ASSERT_EQ(scheduler.ask({"apply", path, "--wait"}).code, 0);
  EXPECT_TRUE(eventually([&] { return scheduler.has(2); }));
  ::unlink((home / "busy").c_str());
  EXPECT_TRUE(eventually([&] { return scheduler.has(1); }));
  EXPECT_EQ(scheduler.ask({"stop", "app", "--wait"}).code, 0);
  agent->kill(SIGTERM);
  EXPECT_EQ(agent->wait().code, 0) << agent->err();
}

}  // namespace
}  // namespace proffer::test::autoscale_test
