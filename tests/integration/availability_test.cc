// The commands of docs/concepts/availability.md, and the failures in its table of several masters:
// three masters and three ZooKeeper servers, one beside each master. leadership_test.cc,
// kill_storm_test.cc, registry_test.cc and tests/store test its other statements.

#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "proto/json/json.h"
#include "tests/integration/processes.h"
#include "tests/support/shell_blocks.h"
#include "tests/support/zookeeper_proxy.h"
#include "tests/support/zookeeper_server.h"

namespace proffer::availability_test {
namespace {

using namespace test;
using testing::HasSubstr;

constexpr int kMasters = 3;
constexpr const char* kSecret = "a-secret-of-these-tests";

class Availability : public testing::Test {
 protected:
  static void SetUpTestSuite() { ensemble_ = std::make_unique<ZooKeeperEnsemble>(); }
  static void TearDownTestSuite() { ensemble_ = nullptr; }

  void SetUp() override {
    write_file(home_ / "secret", text(kSecret, "\n"));
    ::chmod((home_ / "secret").c_str(), 0600);
    for (int i = 0; i < kMasters; ++i) start(i);
    agent_ = std::make_unique<Process>(Words{program("proffer-agent"), "--master=" + all(),
                                             "--name=a1", "--work_dir=" + (home_ / "a1"),
                                             "--resources=cpus:4;mem:512", "--tasks_on_exit=kill"});
    ASSERT_TRUE(eventually([&] { return is_agent_active(); })) << agent_->err();
  }

  // A path in ZooKeeper: each test has its own cluster.
  static std::string path() {
    return text("/", testing::UnitTest::GetInstance()->current_test_info()->name());
  }
  std::string dir(int i) const { return home_ / text("m", i); }
  std::string socket(int i) const { return dir(i) + ".sock"; }
  std::string all() const { return socket(0) + "," + socket(1) + "," + socket(2); }
  void start(int i) {
    std::filesystem::remove(dir(i) + "/address.json");
    masters_[i] = std::make_unique<Process>(
        Words{program("proffer-master"), "--socket=" + socket(i), "--data_dir=" + dir(i),
              text("--zk=", ensemble_->server(i).address(), path()),
              "--zk_secret_file=" + (home_ / "secret"), "--zk_session_timeout=2s",
              "--heartbeat=500ms", "--agent_timeout=10s"});
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(dir(i) + "/address.json"); }))
        << masters_[i]->err();
  }
  static Exit ask(const std::string& masters, Words words) {
    words.insert(words.begin(), program("proffer"));
    return run(words, {{"PROFFER_MASTER", masters}});
  }
  int leader() const {
    int found = -1;
    EXPECT_TRUE(eventually([&] {
      for (int i = 0; i < kMasters; ++i) {
        if (is_alive(masters_[i]->pid()) && ask(socket(i), {"status"}).code == 0) found = i;
      }
      return found != -1;
    }));
    return found;
  }
  bool is_agent_active() const {
    return ask(all(), {"agents"}).out.find(" connected") != std::string::npos;
  }
  int64_t epoch() const {
    const auto status = proto::parse_status(ask(all(), {"status", "--json"}).out);
    EXPECT_TRUE(status);
    return status ? static_cast<int64_t>(status->leader.value()) : -1;
  }
  // A task that prints a line and runs until the file `end` exists.
  std::unique_ptr<Process> start_task() const {
    auto task = std::make_unique<Process>(
        Words{program("proffer"), "run", "--master=" + all(), "--",
              "echo begun; until [ -e " + (home_ / "end") + " ]; do sleep 0.05; done; exit 7"});
    EXPECT_TRUE(task->line_with("begun")) << task->err();
    return task;
  }
  void expect_the_task_ends(Process& task) const {
    write_file(home_ / "end", "");
    const Exit ended = task.wait();
    EXPECT_EQ(ended.code, 7) << ended.err;
  }

  static std::unique_ptr<ZooKeeperEnsemble> ensemble_;
  TemporaryDirectory home_;
  std::unique_ptr<Process> masters_[kMasters];
  std::unique_ptr<Process> agent_;
};
std::unique_ptr<ZooKeeperEnsemble> Availability::ensemble_;

TEST_F(Availability, TheCommandsOfItsPageWork) {
  const std::string page =
      read_file(std::string(PROFFER_SOURCE_DIR) + "/docs/concepts/availability.md");
  const int leads = leader();
  const std::string bin = std::filesystem::path(program("proffer")).parent_path().string();
  const auto shell = [&](const std::string& command) {
    return run({"/bin/sh", "-c", text("PATH=", bin, ":$PATH; ", command)},
               {{"PROFFER_MASTER", all()}});
  };
  const std::vector<std::string> commands =
      commands_between(page, "## Several masters", "## What the next leader knows");
  ASSERT_EQ(commands.size(), 1u);
  const Exit status = shell(commands[0]);
  EXPECT_EQ(status.code, 0) << status.err;
  const size_t line = status.out.find("\nmaster ");
  ASSERT_NE(line, std::string::npos) << status.out;
  EXPECT_THAT(status.out.substr(line + 1, status.out.find('\n', line + 1) - line),
              HasSubstr(socket(leads)));

  // The output of a standby is quoted on the page, except for addresses.
  const std::string prompt = "```\n$ ";
  const size_t at = page.find(prompt) + prompt.size();
  const size_t newline = page.find('\n', at);
  const auto with_places = [&](std::string words) {
    const auto replace = [&](const std::string& from, const std::string& to) {
      for (size_t found = 0; (found = words.find(from, found)) != std::string::npos;) {
        words.replace(found, from.size(), to);
        found += to.size();
      }
    };
    replace("/run/proffer/master.sock", socket((leads + 1) % kMasters));
    replace("m1.example:5050", socket(leads));
    return words;
  };
  const Exit standby = shell(with_places(page.substr(at, newline - at)));
  EXPECT_EQ(standby.code, 3);
  EXPECT_EQ(standby.out + standby.err,
            with_places(page.substr(newline + 1, page.find("```", newline) - newline - 1)));
}

// Like a machine that is off: connections are neither refused nor answered.
TEST_F(Availability, CommandsGoOnToAnotherMasterWhenTheFirstOneIsSilent) {
  const Fd silent = listening_on_loopback();
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ASSERT_EQ(::getsockname(silent.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const Exit status = ask(text("127.0.0.1:", ntohs(address.sin_port), ",", all()), {"status"});
  EXPECT_EQ(status.code, 0) << status.err;
}

TEST_F(Availability, AStandbyThatIsKilledIsNotNoticed) {
  const auto task = start_task();
  const int leads = leader();
  const int64_t before = epoch();
  const int standby = (leads + 1) % kMasters;
  masters_[standby]->kill(SIGKILL);
  masters_[standby]->wait();
  EXPECT_EQ(ask(all(), {"run", "--", "true"}).code, 0);
  EXPECT_EQ(epoch(), before);
  expect_the_task_ends(*task);
}

TEST_F(Availability, ALeaderThatIsStoppedWithSigtermGivesTheLeadAway) {
  const auto task = start_task();
  const int first = leader();
  masters_[first]->kill(SIGTERM);
  const Exit ended = masters_[first]->wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(leader(), first);
  EXPECT_TRUE(eventually([&] { return is_agent_active(); })) << agent_->err();
  expect_the_task_ends(*task);
}

TEST_F(Availability, ALeaderThatWasStoppedAndGoesOnEndsWithCode4) {
  const auto task = start_task();
  const int first = leader();
  masters_[first]->kill(SIGSTOP);
  int next = -1;
  EXPECT_TRUE(eventually([&] {
    for (int i = 0; i < kMasters; ++i) {
      if (i != first && ask(socket(i), {"status"}).code == 0) next = i;
    }
    return next != -1;
  }));
  masters_[first]->kill(SIGCONT);
  const Exit ended = masters_[first]->wait();
  EXPECT_EQ(ended.code, 4) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("the master ends: "));
  EXPECT_TRUE(eventually([&] { return is_agent_active(); })) << agent_->err();
  expect_the_task_ends(*task);
}

TEST_F(Availability, AZooKeeperServerBesideAStandbyIsNotMissed) {
  const auto task = start_task();
  const int leads = leader();
  const int64_t before = epoch();
  ZooKeeperServer& server = ensemble_->server((leads + 1) % kMasters);
  server.kill();
  EXPECT_TRUE(eventually([&] { return ask(all(), {"run", "--", "true"}).code == 0; }));
  EXPECT_EQ(epoch(), before);
  expect_the_task_ends(*task);
  server.start();
}

TEST_F(Availability, ALeaderWithoutTheZooKeeperServerBesideItEndsAndAnotherLeads) {
  const auto task = start_task();
  const int first = leader();
  ensemble_->server(first).kill();
  const Exit ended = masters_[first]->wait();
  EXPECT_EQ(ended.code, 4) << ended.err;
  start(first);
  EXPECT_NE(leader(), first);
  EXPECT_TRUE(eventually([&] { return is_agent_active(); })) << agent_->err();
  expect_the_task_ends(*task);
  ensemble_->server(first).start();
}

TEST_F(Availability, WithoutMostZooKeeperServersNobodyLeadsAndTasksRunOn) {
  const auto task = start_task();
  const int first = leader();
  EXPECT_EQ(ask(all(), {"role", "set", "eng", "--weight", "3"}).code, 0);
  for (int i = 1; i < kMasters; ++i) ensemble_->server((first + i) % kMasters).kill();
  const Exit ended = masters_[first]->wait();
  EXPECT_EQ(ended.code, 4) << ended.err;
  start(first);
  for (int i = 0; i < kMasters; ++i) {
    EXPECT_TRUE(eventually([&] {
      return ask(socket(i), {"status"}).err.find("no master leads at the moment") !=
             std::string::npos;
    })) << i;
  }
  EXPECT_TRUE(is_alive(task->pid()));
  for (int i = 1; i < kMasters; ++i) ensemble_->server((first + i) % kMasters).start();
  leader();
  EXPECT_THAT(ask(all(), {"role", "list", "eng"}).out, HasSubstr("3"));
  EXPECT_TRUE(eventually([&] { return is_agent_active(); })) << agent_->err();
  expect_the_task_ends(*task);
}

TEST_F(Availability, ANodeThatNoMasterWroteIsNamedByMastersThatEnd) {
  ASSERT_EQ(ask(all(), {"role", "set", "eng", "--weight", "3"}).code, 0);
  const int first = leader();
  const Exit written =
      run({"/bin/sh", "-c",
           text("printf '%s\\n' 'addauth digest proffer:", kSecret, "' 'set ", path(),
                "/epoch nonsense' quit | java -cp /usr/share/java/zookeeper.jar "
                "org.apache.zookeeper.ZooKeeperMain -server ",
                ensemble_->server(first).address())});
  EXPECT_EQ(written.code, 0) << written.out << written.err;
  masters_[first]->kill(SIGKILL);
  for (int i = 1; i < kMasters; ++i) {
    const Exit ended = masters_[(first + i) % kMasters]->wait();
    EXPECT_NE(ended.code, 0);
    EXPECT_THAT(ended.err, HasSubstr(text("'epoch' below '", path(), "'")));
  }
}

// The registry of a single master, on a small disk.
TEST(FullRegistry, EndsItsMasterWhichServesAgainWhenThereIsRoom) {
  if (geteuid() != 0) GTEST_SKIP() << "not run: only root can mount a file system";
  const TemporaryDirectory home;
  const std::string data = home / "data";
  ASSERT_EQ(::mkdir(data.c_str(), 0700), 0);
  if (::mount("tmpfs", data.c_str(), "tmpfs", 0, "size=2m") != 0) {
    GTEST_SKIP() << "not run: this machine does not let root mount a file system";
  }
  const std::string socket = home / "master.sock";
  const auto ask = [&](const Words& words) {
    Words command = {program("proffer"), "--master=" + socket};
    command.insert(command.end(), words.begin(), words.end());
    return run(command);
  };
  const auto start = [&] {
    auto master = std::make_unique<Process>(
        Words{program("proffer-master"), "--data_dir=" + data, "--socket=" + socket});
    EXPECT_TRUE(eventually([&] { return ask({"status"}).code == 0; })) << master->err();
    return master;
  };
  auto master = start();
  EXPECT_EQ(ask({"role", "set", "eng", "--weight", "3"}).code, 0);
  run({"/bin/sh", "-c", "cat /dev/zero > " + data + "/filler"});
  // Writes still succeed while they fit into existing pages.
  for (int i = 0; i < 200 && ask({"role", "set", text("r", i), "--weight", "2"}).code == 0; ++i) {
  }
  const Exit ended = master->wait();
  EXPECT_NE(ended.code, 0);
  EXPECT_THAT(ended.err, HasSubstr("the registry cannot be written"));
  std::filesystem::remove(data + "/filler");
  master = start();
  EXPECT_THAT(ask({"role", "list", "eng"}).out, HasSubstr("3"));
  master->kill(SIGTERM);
  EXPECT_EQ(master->wait().code, 0) << master->err();
  EXPECT_EQ(::umount2(data.c_str(), MNT_DETACH), 0);
}

}  // namespace
}  // namespace proffer::availability_test
