// An app that is scaled by the CPU use of its instances on a machine other than the master's.

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/text.h"
#include "proto/json/service_json.h"
#include "tests/integration/processes.h"
#include "tests/machines/joined.h"

namespace proffer::autoscale_machines_test {
namespace {

namespace fs = std::filesystem;
using namespace test;

class AutoscaleOnMachines : public JoinedMachines {
 protected:
  proto::ServiceAppRow app() const {
    const auto page =
        proto::parse_service_status(operates({"service", "status", "app", "--json"}).out);
    return page ? page->app : proto::ServiceAppRow();
  }
};

TEST_F(AutoscaleOnMachines, FollowsTheCpuThatIsUsedOnAnother) {
  if (access("/sys/fs/cgroup/cpuacct/cgroup.procs", W_OK) != 0) {
    GTEST_SKIP() << "not run: needs cgroups v1";
  }
  fs::copy_file(program("proffer-service"), home_ / "proffer-service");
  join_agent("a2");
  agent_ = agent_machine_->starts(agent_command(
      "agent", {"--limits=required", text("--cgroup_parent=proffer-test-far-", getpid())}));
  ASSERT_TRUE(eventually([&] { return serves("a2"); })) << agent_->err();
  const auto scheduler = master_machine_->starts(
      {home_ / "proffer", "service", "scheduler", "--master=" + socket_path(),
       "--session-file=" + (home_ / "service.session"), "--serve-users", "--autoscale-every=1s"});
  ASSERT_TRUE(eventually([&] {
    return operates({"service", "list"}).code == 0;
  })) << scheduler->err();
  // It uses CPU time while the file exists; otherwise it is almost idle, also on a slow machine.
  write_file(home_ / "busy", "");
  write_file(home_ / "app.yaml",
             text("name: app\ncommand: 'while :; do test -e ", home_ / "busy",
                  " || sleep 2; done'\nresources: 'cpus:0.1;mem:32'\nscale: {min: 1, max: 2, "
                  "cpu: 50%, up_after: 2s, down_after: 3s}\n"));
  const Exit applied = operates({"service", "apply", home_ / "app.yaml", "--wait"});
  ASSERT_EQ(applied.code, 0) << applied.err;
  EXPECT_TRUE(eventually([&] { return app().ready == 2; })) << scheduler->err();
  const Exit usage = operates({"usage", "service"});
  EXPECT_THAT(usage.out, testing::Not(testing::HasSubstr("no use was recorded")));
  fs::remove(home_ / "busy");
  EXPECT_TRUE(eventually([&] { return app().instances == 1; })) << scheduler->err();
  EXPECT_EQ(operates({"service", "stop", "app", "--wait"}).code, 0);
  scheduler->kill(SIGTERM);
  EXPECT_EQ(scheduler->wait().code, 0) << scheduler->err();
}

}  // namespace
}  // namespace proffer::autoscale_machines_test
