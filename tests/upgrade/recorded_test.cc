// Real processes of an earlier version make the registry and the checkpoint that the tests of this
// directory read, and current processes continue from them. With PROFFER_RECORD=1 the files become
// the fixtures: tools/previous --record. A long test.

#include "tests/upgrade/recorded.h"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/upgrade/long_upgrade.h"

namespace proffer::upgrade_test {
namespace {

namespace fs = std::filesystem;
using namespace test;
using testing::HasSubstr;

class RecordedState : public LongUpgrade {
 protected:
  // Records the files of `from` whose names begin with this as fixtures, if requested.
  void record(const std::string& from, const std::string& begin) const {
    if (std::getenv("PROFFER_RECORD") == nullptr) return;
    fs::create_directories(version().fixture(""));
    for (const auto& file : fs::directory_iterator(from)) {
      const std::string name = file.path().filename();
      const bool is_kept = name.starts_with(begin) && !name.ends_with("-shm");
      if (is_kept)
        fs::copy_file(file.path(), version().fixture(name), fs::copy_options::overwrite_existing);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Of, RecordedState, testing::ValuesIn(versions()), name_of);

// A current master has all durable state of operators and frameworks of the earlier version.
TEST_P(RecordedState, OfAMasterIsKept) {
  MixedCluster cluster(version());
  cluster.set_master(Of::kBefore);
  cluster.set_agent(Of::kBefore);
  auto second = cluster.start_agent(Of::kBefore, "a2");
  ASSERT_TRUE(eventually(
      [&] { return cluster.has_agent(Of::kBefore) && cluster.has_agent(Of::kBefore, "a2"); }));
  for (const Words& words : {Words{"role", "set", "ads", "--weight", "3", "--guarantee", "cpus:1",
                                   "--limit", "cpus:3;mem:2048"},
                             {"role", "set", "ads/batch", "--weight", "2"},
                             {"reserve", "a1", "ads", "cpus:1;mem:256"},
                             {"drain", "a2", "--grace", "24h"}}) {
    const Exit done = cluster.proffer(Of::kBefore, words);
    ASSERT_EQ(done.code, 0) << done.err;
  }
  const Words service = {"service", "scheduler", "--session-file", cluster.path("session")};
  auto scheduler = cluster.start(Of::kBefore, service);
  write_file(cluster.path("web.yaml"),
             "name: web\ninstances: 2\ncommand: 'exec sleep 1000'\nresources: 'cpus:1;mem:64'\n");
  ASSERT_TRUE(eventually([&] {
    return cluster.proffer(Of::kBefore, {"service", "apply", cluster.path("web.yaml")}).code == 0;
  })) << scheduler->err();
  const auto is_running = [&](Of of) {
    const auto tasks = proto::parse_tasks(cluster.proffer(of, {"tasks", "--json"}).out);
    return tasks && std::count_if(tasks->begin(), tasks->end(), [](const proto::TaskRow& task) {
                      return task.state == proto::TaskState::kRunning;
                    }) == 2;
  };
  ASSERT_TRUE(eventually([&] { return is_running(Of::kBefore); }));
  const std::string running = cluster.proffer(Of::kBefore, {"tasks", "--json"}).out;

  cluster.end_master();
  record(cluster.path("master"), "registry.");
  cluster.set_master(Of::kToday);
  ASSERT_TRUE(eventually([&] { return cluster.has_agent(Of::kToday); }));
  const Exit roles = cluster.proffer(Of::kToday, {"role", "list", "--json"});
  const auto rows = proto::parse_roles(roles.out);
  ASSERT_TRUE(rows) << roles.out << roles.err;
  std::vector<std::string> weights;
  for (const proto::RoleRow& row : *rows) {
    weights.push_back(text(row.role.str(), " ", row.weight));
  }
  EXPECT_THAT(weights, testing::IsSupersetOf({"ads 3000", "ads/batch 2000"}));
  const Exit agents = cluster.proffer(Of::kToday, {"agents", "--json"});
  EXPECT_THAT(agents.out, HasSubstr("drained_by_s"));
  EXPECT_THAT(agents.out, HasSubstr("\"reserved\""));

  // The same two instances run on, also with a current scheduler.
  const auto ids_of = [](const std::string& json) {
    std::vector<std::string> ids;
    const auto tasks = proto::parse_tasks(json);
    EXPECT_TRUE(tasks) << json;
    for (const proto::TaskRow& task : *tasks) ids.push_back(task.task.str());
    std::sort(ids.begin(), ids.end());
    return ids;
  };
  ASSERT_TRUE(eventually([&] { return is_running(Of::kToday); }));
  scheduler->kill(SIGTERM);
  scheduler->wait();
  scheduler = cluster.start(Of::kToday, service);
  ASSERT_TRUE(eventually([&] {
    const Exit shown = cluster.proffer(Of::kToday, {"service", "status", "web"});
    return shown.out.find("2 of 2 ready") != std::string::npos;
  })) << cluster.proffer(Of::kToday, {"service", "status", "web"}).out
      << scheduler->err();
  EXPECT_EQ(ids_of(cluster.proffer(Of::kToday, {"tasks", "--json"}).out), ids_of(running));
}

// checkpoint_test.cc describes its required content.
TEST_P(RecordedState, OfAnAgentIsKept) {
  MixedCluster cluster(version(), false);
  cluster.set_master(Of::kBefore);
  cluster.set_agent(Of::kBefore);
  ASSERT_TRUE(eventually([&] { return cluster.has_agent(Of::kBefore); }));
  const auto run_task = [&](const std::string& name, const std::string& command) {
    return cluster.start(Of::kBefore, {"run", "--name", name, "--mem", "64", "--", command});
  };
  const auto sleeper = run_task("sleeper", kSleeper);
  ASSERT_TRUE(sleeper->line_with("begun")) << sleeper->err();
  const auto shell = run_task("shell", kShell);
  ASSERT_TRUE(shell->line_with("begun")) << shell->err();
  EXPECT_EQ(run_task("done", "true")->wait().code, 0);
  std::string pid_file;
  ASSERT_TRUE(eventually([&] {
    for (const auto& file : fs::recursive_directory_iterator(cluster.path("a1/sandboxes"))) {
      if (file.path().filename() == "pid") pid_file = file.path();
    }
    return !pid_file.empty() && read_file(pid_file).ends_with("\n");
  }));
  cluster.kill_master();
  ::kill(std::stoi(read_file(pid_file)), SIGTERM);
  ASSERT_TRUE(eventually([&] {
    return get_http(cluster.told("a1", "http"), "/v1/status")
               .find("\"updates_unacknowledged\":1") != std::string::npos;
  })) << get_http(cluster.told("a1", "http"), "/v1/status");
  cluster.kill_agent();
  for (const std::string name : {"checkpoint", "identity"}) record(cluster.path("a1"), name);

  // A current agent with a running executor of the earlier version; no task runs twice.
  cluster.set_master(Of::kToday);
  cluster.set_agent(Of::kToday);
  ASSERT_TRUE(eventually([&] { return cluster.has_agent(Of::kToday); })) << cluster.agent().err();
  EXPECT_EQ(shell->wait().code, 7) << shell->err();
  ASSERT_TRUE(eventually([&] {
    return cluster.proffer(Of::kToday, {"tasks"}).out.find("running") != std::string::npos;
  }));
  EXPECT_TRUE(is_alive(sleeper->pid()));
}

}  // namespace
}  // namespace proffer::upgrade_test
