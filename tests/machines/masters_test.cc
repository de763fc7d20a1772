// Three masters on their own machines, which are network namespaces, with one key and a real
// ZooKeeper server; an agent and a user are on two others. The leader is killed, and its job
// continues.

#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "tests/integration/processes.h"
#include "tests/machines/machines.h"
#include "tests/support/zookeeper_proxy.h"
#include "tests/support/zookeeper_server.h"

namespace proffer::masters_test {
namespace {

namespace fs = std::filesystem;
using namespace test;
using testing::HasSubstr;
using testing::Not;

constexpr int kMasters = 3;
constexpr unsigned kNobody = 65'534;

class Masters : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "not run: only root can make network namespaces";
    if (run({"unshare", "--net", "ip", "link"}).code != 0) {
      GTEST_SKIP() << "not run: no network namespaces can be made here";
    }
    fs::permissions(home_.path(), fs::perms::owner_all | fs::perms::others_exec);
    for (const char* name :
         {"proffer", "proffer-master", "proffer-agent", "proffer-executor", "proffer-fetch"}) {
      fs::copy_file(program(name), home_ / name);
    }
    write_file(home_ / "secret", "the secret of these tests\n");
    ::chmod((home_ / "secret").c_str(), 0600);
    zookeeper_ = std::make_unique<ZooKeeperServer>();
    agent_machine_ = std::make_unique<Machine>("a", home_.path());
    user_machine_ = std::make_unique<Machine>("u", home_.path());
    for (int i = 0; i < kMasters; ++i) {
      machines_.push_back(std::make_unique<Machine>(text("m", i), home_.path()));
      // Each master has one address, which the others reach over separate links.
      does(*machines_[i], {"ip", "addr", "add", text(host(i), "/32"), "dev", "lo"});
      for (const auto& [other, network] :
           {std::pair(agent_machine_.get(), 10 + i), std::pair(user_machine_.get(), 20 + i)}) {
        const std::string link = text("10.232.", network);
        machines_[i]->link(*other, link);
        does(*other, {"ip", "route", "add", host(i), "via", link + ".1"});
      }
      Fd listener;
      machines_[i]->within([&] { listener = listening_on_loopback(); });
      tunnels_.push_back(std::make_unique<ZooKeeperProxy>(zookeeper_->address(), ZooKeeperFault{},
                                                          0, std::move(listener)));
      fs::create_directory(dir(i));
    }
    // The masters also reach each other.
    for (int i = 0; i < kMasters; ++i) {
      for (int k = i + 1; k < kMasters; ++k) {
        const std::string link = text("10.232.", 30 + i * kMasters + k);
        machines_[i]->link(*machines_[k], link);
        does(*machines_[k], {"ip", "route", "add", host(i), "via", link + ".1"});
        does(*machines_[i], {"ip", "route", "add", host(k), "via", link + ".2"});
      }
    }
    does(*machines_[0], {home_ / "proffer", "keys", "init", "--data-dir=" + dir(0)});
    for (int i = 0; i < kMasters; ++i) {
      if (i != 0) fs::copy_file(dir(0) + "/master.key", dir(i) + "/master.key");
      masters_.push_back(start_master(i));
    }
    for (int i = 0; i < kMasters; ++i) {
      ASSERT_TRUE(eventually([&] { return fs::exists(dir(i) + "/address.json"); }))
          << masters_[i]->err();
    }
  }

  void TearDown() override {
    if (agent_ != nullptr) {
      agent_->kill(SIGTERM);
      EXPECT_EQ(agent_->wait().code, 0) << agent_->err();
    }
    for (const auto& master : masters_) {
      if (!is_alive(master->pid())) continue;
      master->kill(SIGTERM);
      EXPECT_EQ(master->wait().code, 0) << master->err();
    }
  }

  static void does(const Machine& machine, const Words& words) {
    const Exit done = machine.runs(words);
    ASSERT_EQ(done.code, 0) << done.err;
  }
  static std::string host(int i) { return text("10.233.0.", i + 1); }
  std::string dir(int i) const { return home_ / text("master-", i); }
  std::string socket(int i) const { return dir(i) + "/master.sock"; }
  // For --advertise: this master's address comes first.
  static std::string all_from(int i) {
    std::string all;
    for (int k = 0; k < kMasters; ++k) {
      all += text(k == 0 ? "" : ",", host((i + k) % kMasters));
    }
    return all;
  }
  std::unique_ptr<Process> start_master(int i) const {
    return machines_[i]->starts(
        {home_ / "proffer-master", "--data_dir=" + dir(i), "--socket=" + socket(i), "--port=5050",
         "--advertise=" + all_from(i), text("--zk=", tunnels_[i]->address(), "/proffer"),
         "--zk_secret_file=" + (home_ / "secret"), "--zk_session_timeout=4s", "--heartbeat=500ms",
         "--agent_timeout=10s"});
  }
  // Runs `proffer …` beside a master, as an operator.
  Exit operates(int i, Words words) const {
    words.insert(words.begin(), home_ / "proffer");
    words.push_back("--master=" + socket(i));
    return machines_[i]->runs(words);
  }
  int leader() const {
    int found = -1;
    EXPECT_TRUE(eventually([&] {
      for (int i = 0; i < kMasters; ++i) {
        if (is_alive(masters_[i]->pid()) && operates(i, {"status"}).code == 0) found = i;
      }
      return found != -1;
    }));
    return found;
  }
  void joins(const Machine& machine, unsigned uid, const Words& whom, int by) const {
    Words words = {"join-token"};
    words.insert(words.end(), whom.begin(), whom.end());
    const Exit made = operates(by, words);
    ASSERT_EQ(made.code, 0) << made.err;
    const std::string token = home_ / "token";
    write_file(token, made.out);
    fs::permissions(token, fs::perms::owner_read | fs::perms::others_read);
    fs::create_directories(machine / "config");
    ASSERT_EQ(chown((machine / "config").c_str(), uid, uid), 0);
    const Exit joined = machine.runs_as(uid, {home_ / "proffer", "join", "--join-file", token});
    ASSERT_EQ(joined.code, 0) << joined.err;
  }
  Exit user_runs(Words words) const {
    words.insert(words.begin(), home_ / "proffer");
    return user_machine_->runs_as(kNobody, words);
  }
  bool serves_agent() const {
    return user_runs({"agents"}).out.find(" connected") != std::string::npos;
  }

  TemporaryDirectory home_;
  std::unique_ptr<ZooKeeperServer> zookeeper_;
  std::vector<std::unique_ptr<Machine>> machines_;
  std::unique_ptr<Machine> agent_machine_;
  std::unique_ptr<Machine> user_machine_;
  // from each machine's loopback address to the server
  std::vector<std::unique_ptr<ZooKeeperProxy>> tunnels_;
  std::vector<std::unique_ptr<Process>> masters_;
  std::unique_ptr<Process> agent_;
};

TEST_F(Masters, OfOneKeyServeOtherMachinesOneAfterTheOther) {
  const int first = leader();
  joins(*agent_machine_, 0, {"--agent", "a1"}, first);
  joins(*user_machine_, kNobody, {"--user", "nobody"}, first);
  agent_ = agent_machine_->starts({home_ / "proffer-agent", "--work_dir=" + (home_ / "agent"),
                                   "--resources=cpus:2;mem:512", "--tasks_on_exit=kill",
                                   "--heartbeat=500ms", "--master_timeout=5s"});
  ASSERT_TRUE(eventually([&] { return serves_agent(); })) << agent_->err();

  // A standby's port is closed; a local client is redirected to the leader.
  const int standby = (first + 1) % kMasters;
  const Exit closed = user_runs({"status", text("--master=", host(standby), ":5050")});
  EXPECT_EQ(closed.code, 3);
  EXPECT_THAT(closed.err, HasSubstr("no process listens"));
  const Exit told = operates(standby, {"status"});
  EXPECT_EQ(told.code, 3);
  EXPECT_THAT(told.err, HasSubstr(text("the leader is at ", host(first), ":5050")));

  // Standbys connect to the leader with the masters' key.
  for (int i = 0; i < kMasters; ++i) {
    EXPECT_TRUE(eventually([&] {
      return i == first ||
             user_runs({"status"}).out.find(text(host(i), ":5050 stands by")) != std::string::npos;
    })) << user_runs({"status"}).out;
  }
  EXPECT_EQ(user_runs({"run", "--", "exit 3"}).code, 3);

  const std::string proof = home_ / "proof";
  fs::create_directory(proof);
  ASSERT_EQ(chown(proof.c_str(), kNobody, kNobody), 0);
  const std::string goes_on = proof + "/goes-on";
  Words job = {"setpriv",
               text("--reuid=", kNobody),
               text("--regid=", kNobody),
               "--clear-groups",
               home_ / "proffer",
               "run",
               "--",
               text("echo begun >> ", proof, "/runs; until [ -e ", goes_on,
                    " ]; do sleep 0.05; done; exit 7")};
  const std::unique_ptr<Process> running = user_machine_->starts(job);
  ASSERT_TRUE(eventually([&] { return fs::exists(proof + "/runs"); })) << running->err();
  // Events are first written, then sent to both standbys.
  ASSERT_TRUE(eventually([&] {
    return operates(first, {"events"}).out.find("task ended  framework=run-1-") !=
           std::string::npos;
  }));
  ASSERT_TRUE(eventually(
      [&] { return operates(first, {"status"}).out.find("events behind") == std::string::npos; }));

  masters_[first]->kill(SIGKILL);
  masters_[first]->wait();
  const int next = leader();
  EXPECT_NE(next, first);
  ASSERT_TRUE(eventually([&] { return serves_agent(); })) << agent_->err();
  // The new leader has the events that it copied as a standby.
  const std::string events = operates(next, {"events", "--from=1.1"}).out;
  EXPECT_THAT(events, HasSubstr("task ended  framework=run-1-"));
  EXPECT_THAT(events, HasSubstr("gap: events may be missing from 1."));
  write_file(goes_on, "");
  const Exit ended = running->wait();
  EXPECT_EQ(ended.code, 7) << ended.err;
  EXPECT_EQ(read_file(proof + "/runs"), "begun\n");

  // The old leader's history is on its own machine.
  const std::string led = text("the master ", host(first), ":5050 led from ");
  EXPECT_THAT(user_runs({"history"}).out, HasSubstr(led));

  // The killed master returns as a standby, and serves its history to the leader.
  masters_[first] = start_master(first);
  EXPECT_TRUE(eventually([&] {
    return operates(first, {"status"}).err.find("this master is a standby") != std::string::npos;
  }));
  EXPECT_EQ(user_runs({"run", "--", "true"}).code, 0);
  EXPECT_TRUE(eventually([&] {
    const std::string out = user_runs({"history"}).out;
    return out.find("exit 3") < out.find("exit 7") && out.find("exit 7") < out.find("exit 0") &&
           out.find("exit 0") != std::string::npos;
  })) << user_runs({"history"}).out;
  EXPECT_THAT(user_runs({"history"}).out, Not(HasSubstr(led)));
}

// The registry has the keys: the next leader refuses a revoked one.
TEST_F(Masters, KnowTheKeysThatTheOneBeforeRegisteredAndRevoked) {
  const int first = leader();
  joins(*agent_machine_, 0, {"--agent", "a1"}, first);
  joins(*user_machine_, kNobody, {"--user", "nobody"}, first);
  ASSERT_EQ(operates(first, {"keys", "revoke", "--agent", "a1"}).code, 0);
  masters_[first]->kill(SIGKILL);
  masters_[first]->wait();
  const int next = leader();
  EXPECT_NE(next, first);
  EXPECT_EQ(user_runs({"status"}).code, 0);
  EXPECT_THAT(operates(next, {"keys", "list"}).out, HasSubstr("nobody"));
  const std::unique_ptr<Process> revoked = agent_machine_->starts(
      {home_ / "proffer-agent", "--work_dir=" + (home_ / "agent"), "--resources=cpus:2;mem:512"});
  EXPECT_TRUE(revoked->complains("refuses this key"));
}

}  // namespace
}  // namespace proffer::masters_test
