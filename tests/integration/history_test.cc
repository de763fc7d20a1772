// The history of a real master: it survives the master, reports gaps, and shows commands only to
// their owners.

#include <chrono>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/text.h"
#include "proto/json/history_json.h"
#include "proto/json/json.h"
#include "tests/integration/processes.h"

namespace proffer::history_integration_test {
namespace {

using namespace test;
using testing::HasSubstr;
using testing::Not;

class HistoryOf : public testing::Test {
 protected:
  void SetUp() override {
    start_master();
    agent_ = std::make_unique<Process>(Words{program("proffer-agent"), "--master=" + socket(),
                                             "--name=a1", "--work_dir=" + (home_ / "agent"),
                                             "--resources=cpus:2;mem:512", "--tasks_on_exit=kill"});
    ASSERT_TRUE(eventually(
        [&] { return proffer({"agents"}).out.find(" connected") != std::string::npos; }));
  }
  void TearDown() override {
    for (const auto& daemon : {agent_.get(), master_.get()}) {
      if (daemon == nullptr) continue;
      daemon->kill(SIGTERM);
      EXPECT_EQ(daemon->wait().code, 0) << daemon->err();
    }
  }

  void start_master(const Words& more = {}) {
    Words words{program("proffer-master"), "--data_dir=" + (home_ / "master"),
                "--socket=" + socket(), "--heartbeat=1s"};
    words.insert(words.end(), more.begin(), more.end());
    master_ = std::make_unique<Process>(words);
    ASSERT_TRUE(eventually([&] { return proffer({"status"}).code == 0; })) << master_->err();
  }
  std::string socket() const { return home_ / "master.sock"; }
  Exit proffer(Words words) const {
    words.insert(words.begin(), {program("proffer"), "--master=" + socket()});
    return run(words);
  }
  Exit runs(const std::string& command) const {
    return proffer({"run", "--cpus=1", "--mem=64", "--", "sh", "-c", command});
  }
  proto::HistoryPage history(Words options = {}) const {
    options.insert(options.begin(), {"history", "--json"});
    const Exit exit = proffer(options);
    EXPECT_EQ(exit.code, 0) << exit.err;
    const auto page = proto::parse_history_page(exit.out);
    EXPECT_TRUE(page) << exit.out;
    return page ? *page : proto::HistoryPage();
  }

  TemporaryDirectory home_;
  std::unique_ptr<Process> master_;
  std::unique_ptr<Process> agent_;
};

TEST_F(HistoryOf, AMasterThatIsKilledIsThereInItsNextLife) {
  EXPECT_EQ(runs("exit 0").code, 0);
  EXPECT_EQ(runs("echo failing; exit 3").code, 3);
  ASSERT_TRUE(eventually([&] { return history().tasks.size() == 2; }));
  const proto::HistoryPage before = history();
  EXPECT_TRUE(before.gaps.empty());
  EXPECT_EQ(before.tasks[1].status.exit_code, 3);
  EXPECT_THAT(before.tasks[1].command, HasSubstr("echo failing"));
  EXPECT_EQ(before.tasks[1].status.agent, AgentId("a1"));
  EXPECT_LE(before.tasks[1].launched_at, before.tasks[1].status.at);

  master_->kill(SIGKILL);
  master_->wait();
  start_master();
  // The same before and after the agent reconnects.
  EXPECT_EQ(history().tasks, before.tasks);
  ASSERT_TRUE(eventually([&] { return history().gaps.size() == 1; }));
  ASSERT_TRUE(
      eventually([&] { return proffer({"agents"}).out.find(" connected") != std::string::npos; }));
  EXPECT_EQ(runs("exit 0").code, 0);
  ASSERT_TRUE(eventually([&] { return history().tasks.size() == 3; }));
  EXPECT_EQ(history({"--state=failed"}).tasks.size(), 1u);
  EXPECT_EQ(history({"--limit=2"}).tasks.size(), 2u);
  EXPECT_EQ(history({"--limit=1"}).tasks[0].status.exit_code, 0);
  EXPECT_EQ(history({"--since=0s"}).tasks.size(), 0u);
  EXPECT_EQ(history({"--role=nobody/there"}).tasks.size(), 0u);
  const Exit table = proffer({"history"});
  EXPECT_THAT(table.out, HasSubstr("the last entries may be lost"));
  EXPECT_THAT(table.out, HasSubstr("exit 3"));
}

TEST_F(HistoryOf, TasksThatWaitedIsSummedByRole) {
  const auto waits = std::make_unique<Process>(Words{program("proffer"), "--master=" + socket(),
                                                     "run", "--cpus=3", "--mem=64", "--", "true"});
  ASSERT_TRUE(eventually([&] {
    return proffer({"blame", "role", "default"}).out.find("impossible") != std::string::npos;
  }));
  master_->kill(SIGTERM);  // a clean end, so that the last minute is written
  EXPECT_EQ(master_->wait().code, 0);
  start_master();
  const Exit told = proffer({"blame", "role", "default", "--since", "1h", "--json"});
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_THAT(told.out, HasSubstr("{\"reason\":\"impossible\",\"millis\":"));
  EXPECT_THAT(proffer({"blame", "role", "other", "--since", "1h"}).out,
              HasSubstr("no task of this role has waited"));
}

TEST_F(HistoryOf, AMasterThatEndsInOrderIsWholeToTheLastTask) {
  EXPECT_EQ(runs("exit 0").code, 0);
  master_->kill(SIGTERM);
  EXPECT_EQ(master_->wait().code, 0);
  start_master();
  const proto::HistoryPage page = history();
  EXPECT_EQ(page.tasks.size(), 1u);
  EXPECT_TRUE(page.gaps.empty());
  // The use of its role is counted to the end, and is what the month's accounting shows.
  const std::vector<proto::RoleUse> uses = history({"--roles"}).roles;
  ASSERT_FALSE(uses.empty());
  int64_t milli_cpu_seconds = 0;
  for (const proto::RoleUse& use : uses) milli_cpu_seconds += use.seconds[ResourceKind::kCpus];
  const auto day = std::chrono::sys_days(
      std::chrono::floor<std::chrono::days>(std::chrono::nanoseconds(uses[0].from.nanos())));
  const std::chrono::year_month_day date(day);
  const std::string month = fmt::format("{:04}-{:02}", static_cast<int>(date.year()),
                                        static_cast<unsigned>(date.month()));
  EXPECT_THAT(proffer({"accounting", month, "--json"}).out, HasSubstr("\"total\":{\"roles\":1,"));
  EXPECT_THAT(
      proffer({"accounting", month, "--csv"}).out,
      HasSubstr(fmt::format(",{}.{:03}", milli_cpu_seconds / 1000, milli_cpu_seconds % 1000)));
  EXPECT_THAT(proffer({"accounting", month}).out, HasSubstr("CPU HOURS"));
  EXPECT_EQ(proffer({"accounting", "2026-13"}).code, 2);
}

TEST_F(HistoryOf, AMasterThatKeepsNoneSaysSo) {
  master_->kill(SIGTERM);
  master_->wait();
  std::filesystem::remove_all(home_ / "master/history");
  start_master({"--history_mib=0"});
  const Exit asked = proffer({"history"});
  EXPECT_EQ(asked.code, 1);
  EXPECT_THAT(asked.err, HasSubstr("keeps no history"));
  EXPECT_THAT(proffer({"status"}).out, HasSubstr("history     not kept: off"));
  EXPECT_FALSE(std::filesystem::exists(home_ / "master/history"));
}

TEST_F(HistoryOf, ATaskIsNotRefusedForADiskThatIs) {
  master_->kill(SIGTERM);
  master_->wait();
  std::filesystem::remove_all(home_ / "master/history");
  Process blocker({"touch", home_ / "master/history"});  // a file blocks the directory's path
  blocker.wait();
  start_master();
  ASSERT_TRUE(
      eventually([&] { return proffer({"agents"}).out.find(" connected") != std::string::npos; }));
  EXPECT_EQ(runs("exit 0").code, 0);
  EXPECT_THAT(proffer({"status"}).out, HasSubstr("history     not kept: cannot read"));
}

TEST_F(HistoryOf, ATaskHasWhatItUsed) {
  if (geteuid() != 0) GTEST_SKIP() << "not run: only root may make cgroups";
  if (proffer({"agents", "--json"}).out.find("not enforced") != std::string::npos) {
    GTEST_SKIP() << "not run: this machine does not count all that tasks use";
  }
  EXPECT_EQ(runs("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done").code, 0);
  ASSERT_TRUE(eventually([&] { return history().tasks.size() == 1; }));
  const std::optional<proto::TaskUsage> usage = history().tasks[0].status.usage;
  ASSERT_TRUE(usage);
  EXPECT_GT(usage->cpu_nanos.value_or(0), 10'000'000);
  EXPECT_GT(usage->memory_peak_bytes.value_or(0), 64 * 1024);
  EXPECT_EQ(usage->out_of_memory, 0);
  const auto rows = proto::parse_tasks(proffer({"tasks", "--all", "--json"}).out);
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->at(0).usage, usage);

  const std::string framework = history().tasks[0].framework_name;
  for (const std::string& name :
       {framework, std::string("default"),
        history().tasks[0].framework.str() + "/" + history().tasks[0].status.task.str()}) {
    const Exit exit = proffer({"usage", name});
    EXPECT_EQ(exit.code, 0) << name << exit.err;
    EXPECT_THAT(exit.out, HasSubstr("less memory is enough")) << name;
  }
  EXPECT_THAT(proffer({"usage", "default", "--json"}).out, HasSubstr("\"counted\":1"));
  EXPECT_EQ(proffer({"usage", "nothing-of-this-name"}).code, 1);

  // The use of a running task comes from its agent.
  Process busy({program("proffer"), "run", "--cpus=1", "--mem=64", "--master=" + socket(), "--",
                "while :; do :; done"});
  EXPECT_TRUE(eventually([&] {
    return proffer({"usage", framework, "--json"})
               .out.find(
                   "\"running\":1,\"ended\":1,"
                   "\"counted\":2") != std::string::npos;
  })) << proffer({"usage", framework, "--json"}).out;
  busy.kill(SIGTERM);
  busy.wait();
}

TEST_F(HistoryOf, IsRefusedWithWrongOptions) {
  EXPECT_EQ(proffer({"history", "--state=running"}).code, 2);
  EXPECT_EQ(proffer({"history", "--state=gonee"}).code, 2);
  EXPECT_EQ(proffer({"history", "--since=soon"}).code, 2);
  EXPECT_EQ(proffer({"history", "--role=a//b"}).code, 2);
  EXPECT_EQ(proffer({"history", "--limit=0"}).code, 2);
}

}  // namespace
}  // namespace proffer::history_integration_test
