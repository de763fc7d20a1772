// Recovery from a lost registry, with real processes: a dump of a running master restores the
// cluster, and its tasks are not affected.

#include <csignal>
#include <filesystem>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "tests/integration/processes.h"
#include "tests/support/zookeeper_server.h"

namespace proffer::test::registry_test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

class LostRegistry : public testing::Test {
 protected:
  void SetUp() override {
    start_master();
    agent_ = std::make_unique<Process>(Words{program("proffer-agent"), "--master=" + socket(),
                                             "--name=a1", "--work_dir=" + (home_ / "agent"),
                                             "--heartbeat=1s", "--resources=cpus:2;mem:512",
                                             "--tasks_on_exit=kill"});
    ASSERT_TRUE(eventually([&] { return has("agents", " connected"); }));
    ASSERT_EQ(proffer({"role", "set", "eng", "--weight", "3"}).code, 0);
    // Long enough for its scheduler to return at any time in the test.
    work_ = std::make_unique<Process>(
        Words{program("proffer"), "--master=" + socket(), "run", "--cpus=1", "--mem=64", "--",
              text("echo begun >>", home_ / "story", "; while ! test -e ", home_ / "enough",
                   "; do sleep 0.1; done; echo ended >>", home_ / "story")});
    ASSERT_TRUE(eventually([&] { return has("tasks", "running"); })) << work_->err();
  }
  void TearDown() override {
    for (const auto& daemon : {agent_.get(), master_.get()}) {
      daemon->kill(SIGTERM);
      EXPECT_EQ(daemon->wait().code, 0) << daemon->err();
    }
  }

  void start_master(const Words& more = {}) {
    master_.reset();
    Words words = {program("proffer-master"), "--data_dir=" + data(), "--socket=" + socket(),
                   "--heartbeat=1s"};
    words.insert(words.end(), more.begin(), more.end());
    master_ = std::make_unique<Process>(words);
  }
  void kill_master() {
    master_->kill(SIGKILL);
    master_->wait();
  }
  std::string socket() const { return home_ / "master.sock"; }
  std::string data() const { return home_ / "master"; }
  Exit proffer(Words words) const {
    words.insert(words.begin(), program("proffer"));
    return run(words, {{"PROFFER_MASTER", socket()}});
  }
  Exit registry(Words words) const {
    words.insert(words.begin(), {"registry"});
    words.push_back("--data-dir=" + data());
    return proffer(words);
  }
  bool has(const std::string& command, const std::string& what) const {
    return proffer({command}).out.find(what) != std::string::npos;
  }
  void expect_the_task_ends_as_it_began() {
    EXPECT_TRUE(eventually([&] { return has("tasks", "running"); })) << agent_->err();
    write_file(home_ / "enough", "");
    EXPECT_EQ(work_->wait().code, 0) << work_->err();
    EXPECT_EQ(read_file(home_ / "story"), "begun\nended\n");
  }

  // Each test has its own path and secret.
  static ZooKeeperServer& zookeeper() {
    static ZooKeeperServer server;
    return server;
  }
  std::string zk() const {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    return text(zookeeper().address(), "/", test->name());
  }
  std::string zk_secret() const {
    const std::string file = home_ / "zookeeper.secret";
    if (!std::filesystem::exists(file)) {
      write_file(file, "secret of this cluster\n");
      std::filesystem::permissions(file, std::filesystem::perms::owner_read);
    }
    return file;
  }

  TemporaryDirectory home_;
  std::unique_ptr<Process> master_;
  std::unique_ptr<Process> agent_;
  std::unique_ptr<Process> work_;
};

TEST_F(LostRegistry, ComesBackFromADumpAndItsTasksRunOn) {
  const std::string dump = home_ / "dump";
  EXPECT_THAT(proffer({"backup", "--help"}).out, HasSubstr("usage: proffer backup FILE"));
  const Exit made = proffer({"backup", dump, "--data-dir=" + data()});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("is intact"));

  kill_master();

  const Exit refused = registry({"restore", dump});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("has a registry, epoch "));
  EXPECT_THAT(refused.err, HasSubstr("--replace"));
  const Exit restored = registry({"restore", "--replace", dump});
  ASSERT_EQ(restored.code, 0) << restored.err;
  start_master();

  expect_the_task_ends_as_it_began();
  EXPECT_THAT(proffer({"role", "list"}).out, HasSubstr("eng"));
}

// It may start several times: at last its epoch is above the old one.
TEST_F(LostRegistry, AMasterWithoutItsRegistryEndsNothing) {
  const std::string dump = home_ / "dump";
  ASSERT_EQ(proffer({"backup", dump, "--data-dir=" + data()}).code, 0);
  kill_master();
  std::filesystem::remove_all(data());
  for (int start = 0; start < 3; ++start) {
    start_master();
    EXPECT_TRUE(eventually([&] { return proffer({"status"}).code == 0; }));
    if (start == 0) {
      EXPECT_TRUE(agent_->complains("belongs to the cluster")) << agent_->err();
      EXPECT_TRUE(work_->complains("belongs to the cluster")) << work_->err();
    }
    kill_master();
  }
  ASSERT_EQ(registry({"restore", "--replace", dump}).code, 0);
  start_master();
  expect_the_task_ends_as_it_began();
}

TEST_F(LostRegistry, IsNamedWhenItIsDamagedAndNotUsed) {
  const std::string dump = home_ / "dump";
  ASSERT_EQ(registry({"dump", dump}).code, 0);
  EXPECT_THAT(registry({"check"}).out, HasSubstr("is intact"));
  EXPECT_THAT(registry({"inspect"}).out, HasSubstr("roles"));
  kill_master();
  write_file(data() + "/registry.db", "what is left of a database");
  const Exit checked = registry({"check"});
  EXPECT_EQ(checked.code, 1);
  EXPECT_THAT(checked.err, HasSubstr("registry.db"));
  start_master();
  const Exit ended = master_->wait();
  EXPECT_NE(ended.code, 0);
  EXPECT_THAT(ended.err, HasSubstr("proffer registry restore --replace"));

  ASSERT_EQ(registry({"restore", "--replace", dump}).code, 0);
  start_master();
  expect_the_task_ends_as_it_began();
}

// The commands of docs/concepts/registry.md, as written.
TEST_F(LostRegistry, TheCommandsOfItsPageWork) {
  const std::string page =
      read_file(std::string(PROFFER_SOURCE_DIR) + "/docs/concepts/registry.md");
  const std::string bin = std::filesystem::path(program("proffer")).parent_path().string();
  int blocks = 0;
  const std::string fence = "```sh\n";
  for (size_t at = page.find(fence); at != std::string::npos; at = page.find(fence, at)) {
    at += fence.size();
    const std::string commands = page.substr(at, page.find("```", at) - at);
    // The last commands repair the registry, so no master may run.
    if (commands.find("restore") != std::string::npos) kill_master();
    const Exit exit = run({"/bin/sh", "-e", "-c", "PATH=" + bin + ":$PATH; " + commands},
                          {{"DATA", data()},
                           {"BACKUP", home_ / "backup"},
                           {"CLUSTER", std::string(32, 'c')},
                           {"ZK", zk()},
                           {"SECRET", zk_secret()}});
    EXPECT_EQ(exit.code, 0) << commands << exit.err;
    ++blocks;
  }
  EXPECT_EQ(blocks, 6);
  // After the last command, the registry belongs to another cluster.
  start_master();
  EXPECT_TRUE(agent_->complains("and this master to the cluster cccc")) << agent_->err();
  kill_master();
  ASSERT_EQ(registry({"restore", "--replace", home_ / "backup"}).code, 0);
  start_master();
  expect_the_task_ends_as_it_began();
}

// A single master becomes one of several, and then a single one again.
TEST_F(LostRegistry, MovesToZooKeeperAndBackWhileItsTasksRunOn) {
  const Words there = {"--zk=" + zk(), "--zk_secret_file=" + zk_secret()};
  const auto in_zookeeper = [&](Words words) {
    words.insert(words.begin(), "registry");
    words.insert(words.end(), there.begin(), there.end());
    return proffer(words);
  };
  const std::string dump = home_ / "dump";
  kill_master();
  ASSERT_EQ(registry({"dump", dump}).code, 0);
  const Exit none = in_zookeeper({"inspect"});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("ZooKeeper has no registry at"));
  const Exit moved = in_zookeeper({"restore", dump});
  ASSERT_EQ(moved.code, 0) << moved.err;
  EXPECT_THAT(moved.out, HasSubstr("the next master leads in epoch 1000002"));
  std::filesystem::create_directory(home_ / "before");
  for (const auto& file : std::filesystem::directory_iterator(data())) {
    const std::string name = file.path().filename();
    if (name.starts_with("registry")) {
      std::filesystem::rename(file.path(), home_ / ("before/" + name));
    }
  }

  start_master(there);
  ASSERT_TRUE(eventually([&] { return has("tasks", "running"); })) << master_->err();
  EXPECT_THAT(proffer({"role", "list"}).out, HasSubstr("eng"));
  EXPECT_THAT(in_zookeeper({"check"}).out, HasSubstr("is intact: epoch 1000002"));
  for (const Words& words : {Words{"restore", dump}, Words{"set-epoch", "2000000"}}) {
    const Exit refused = in_zookeeper(words);
    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(refused.err, ContainsRegex("has a registry|leads with this registry"));
  }
  const std::string back = home_ / "back";
  ASSERT_EQ(in_zookeeper({"dump", back}).code, 0);

  kill_master();
  ASSERT_EQ(registry({"restore", back}).code, 0);
  start_master();
  expect_the_task_ends_as_it_began();
}

TEST_F(LostRegistry, IsNamedInOnePlace) {
  const std::vector<std::pair<Words, std::string>> wrong = {
      {{"check", "--zk=127.0.0.1:2181/p"}, "--zk needs --zk-secret-file"},
      {{"check", "--zk-secret-file=" + zk_secret()}, "--zk-secret-file needs --zk"},
      {{"check", "--zk=10.0.0.7:2181/p", "--zk-secret-file=" + zk_secret()}, "requires loopback"},
      {{"check", "--zk=" + zk(), "--zk-secret-file=" + zk_secret(), "--data-dir=" + data()},
       "exclude each other"}};
  for (auto [words, reason] : wrong) {
    words.insert(words.begin(), "registry");
    const Exit refused = proffer(words);
    EXPECT_EQ(refused.code, 2) << reason;
    EXPECT_THAT(refused.err, HasSubstr(reason));
  }
  expect_the_task_ends_as_it_began();
}

TEST_F(LostRegistry, IsNotMendedWhileAMasterUsesIt) {
  const std::string dump = home_ / "dump";
  ASSERT_EQ(registry({"dump", dump}).code, 0);
  for (const Words& words : {Words{"restore", "--replace", dump}, Words{"set-epoch", "9"}}) {
    const Exit refused = registry(words);
    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(refused.err, HasSubstr("is in use by another process"));
  }
  for (const Words& wrong :
       {Words{"set-epoch", "-3"}, Words{"set-epoch", "nine"}, Words{"restart"}}) {
    const Exit refused = registry(wrong);
    EXPECT_EQ(refused.code, 2) << refused.err;
    EXPECT_THAT(refused.err, ContainsRegex("must be a whole number|did you mean"));
  }
  expect_the_task_ends_as_it_began();
}

}  // namespace
}  // namespace proffer::test::registry_test
