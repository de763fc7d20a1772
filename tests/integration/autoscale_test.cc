// Apps that are scaled by their load, with real processes that measure and are measured.

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/text.h"
#include "proto/json/service_json.h"
#include "tests/integration/processes.h"

namespace proffer::test::autoscale_test {
namespace {

using testing::HasSubstr;

proto::ServiceAppRow row(const Cluster& cluster) {
  const Exit shown = cluster.proffer({"service", "status", "app", "--json"});
  const auto page = proto::parse_service_status(shown.out);
  return page ? page->app : proto::ServiceAppRow();
}

// Ready, and as many as are wanted.
bool has(const Cluster& cluster, int64_t instances) {
  const proto::ServiceAppRow app = row(cluster);
  return app.instances == instances && app.ready == instances && app.live == instances;
}

TEST(Autoscale, FollowsANumberThatInstancesTell) {
  const TemporaryDirectory home;
  Cluster cluster({.service = true});
  const std::string load = home / "load";
  write_file(load, "10");
  const std::string path = home / "app.yaml";
  const auto file = [&](const std::string& more) {
    write_file(path, text("name: app\ncommand: 'exec ", program_of_tests("http_server"),
                          " 127.0.0.1 $PORT_http'\nports: [http]\nenv: {LOAD: ", load,
                          "}\nresources: 'cpus:0.1;mem:32'\nscale: {min: 1, max: 4, "
                          "http: {port: http, path: /load, target: 10}, up_after: 2s, "
                          "down_after: 3s",
                          more, "}\n"));
    return path;
  };
  ASSERT_EQ(cluster.proffer({"service", "apply", file(""), "--wait"}).code, 0);
  EXPECT_THAT(cluster.proffer({"service", "status", "app"}).out,
              HasSubstr("scaled by http: no figures; is `proffer service autoscale` running?"));
  const auto measures = cluster.start({"service", "autoscale", "--every", "1s"});
  ASSERT_TRUE(measures->line_with("app: stays at 1: http 10, target 10"));
  write_file(load, "20");
  ASSERT_TRUE(measures->line_with("app: goes from 1 to 2: http 20, target 10"));
  EXPECT_TRUE(eventually([&] { return has(cluster, 4); }));
  ASSERT_TRUE(measures->line_with("stays at 4: http 20, target 10, and that is the most"));
  EXPECT_THAT(cluster.proffer({"service", "status", "app"}).out,
              HasSubstr("scaled by http: stays at 4: http 20, target 10, and that is the most"));
  write_file(load, "1");
  EXPECT_TRUE(eventually([&] { return has(cluster, 1); }));
  // What answers no number is not counted.
  write_file(load, "much");
  ASSERT_TRUE(measures->line_with("stays at 1: no figure of http of its 1 ready instances"));
  // A dry run only says it.
  ASSERT_EQ(cluster.proffer({"service", "apply", file(", dry_run: true")}).code, 0);
  write_file(load, "40");
  ASSERT_TRUE(measures->line_with("would go from 1 to 4: http 40, target 10"));
  EXPECT_TRUE(has(cluster, 1));
  EXPECT_THAT(cluster.proffer({"service", "scale", "app", "5"}).err,
              HasSubstr("is scaled by its load, from 1 to 4 instances"));
  measures->kill(SIGTERM);
}

TEST(Autoscale, FollowsTheCpuThatInstancesUse) {
  if (geteuid() != 0 || access("/sys/fs/cgroup/cpuacct/cgroup.procs", W_OK) != 0) {
    GTEST_SKIP() << "not run: needs root and cgroups v1";
  }
  const TemporaryDirectory home;
  // Too small for any instance: they are on the agent below, which counts.
  Cluster cluster({.resources = "cpus:0.01;mem:16", .service = true});
  const auto agent = cluster.start_agent(
      "counts", "cpus:4;mem:1024",
      {"--limits=required", text("--cgroup_parent=proffer-test-scale-", getpid())});
  const std::string path = home / "app.yaml";
  // It works while the file is there: more than its share, to which it is held.
  write_file(path, text("name: app\ncommand: 'while :; do test -e ", home / "busy",
                        " || sleep 0.2; done'\nresources: 'cpus:0.1;mem:32'\nscale: {min: 1, "
                        "max: 2, cpu: 50%, up_after: 2s, down_after: 3s}\n"));
  write_file(home / "busy", "");
  ASSERT_EQ(cluster.proffer({"service", "apply", path, "--wait"}).code, 0);
  const auto measures = cluster.start({"service", "autoscale", "--every", "1s"});
  ASSERT_TRUE(measures->line_with("app: goes from 1 to 2: cpu "));
  EXPECT_TRUE(eventually([&] { return has(cluster, 2); }));
  ::unlink((home / "busy").c_str());
  EXPECT_TRUE(eventually([&] { return has(cluster, 1); }));
  measures->kill(SIGTERM);
  EXPECT_EQ(cluster.proffer({"service", "stop", "app", "--wait"}).code, 0);
  agent->kill(SIGTERM);
  EXPECT_EQ(agent->wait().code, 0) << agent->err();
}

}  // namespace
}  // namespace proffer::test::autoscale_test
