// Secrets with several masters and a real ZooKeeper: the next leader can use them if it has their
// key file. Values are neither in ZooKeeper nor in any directory of a process.

#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "tests/integration/leaders.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const std::string kValue = "Zq7-one-leader-after-another-Wk4";

class SecretsOfLeaders : public Leaders {
 protected:
  Exit proffer(Words words, Seconds deadline = kDeadline) const {
    words.insert(words.begin(), program("proffer"));
    return run(words, {{"PROFFER_MASTER", masters()}}, {}, deadline);
  }
  std::string masters() const { return socket(1) + "," + socket(2); }
  std::string key(int i) const { return dir(i) + "/secrets.key"; }
  std::string status() const { return proffer({"service", "status", "db"}).out; }
  bool says(const std::string& words) const {
    return eventually([&] { return status().find(words) != std::string::npos; });
  }

  void SetUp() override {
    start(1);
    start(2);
    agent_ = std::make_unique<Process>(Words{program("proffer-agent"), "--master=" + masters(),
                                             "--name=a1", "--work_dir=" + (home_ / "a1"),
                                             "--resources=cpus:4;mem:512;ports:[31000-31010]",
                                             "--tasks_on_exit=kill", "--heartbeat=500ms"});
    scheduler_ = std::make_unique<Process>(Words{program("proffer-service"), "scheduler",
                                                 "--master=" + masters(), "--session-file",
                                                 home_ / "service.session", "--serve-users"});
    write_file(home_ / "value", kValue);
    write_file(home_ / "app.yaml",
               text("name: db\nresources: 'cpus:0.1;mem:32'\nready: {after: 100ms}\n"
                    "command: '[ \"$P\" = \"$(cat secrets/p.txt)\" ] && [ \"$(printf %s \"$P\" | "
                    "wc -c)\" = ",
                    kValue.size(),
                    " ] && exec sleep 1000'\n"
                    "secrets: {password: {env: P, file: p.txt}}\n"));
    ASSERT_TRUE(eventually([&] {
      return proffer({"service", "list"}).code == 0;
    })) << scheduler_->err();
    const Exit set = proffer({"secret", "set", "password", "--file", home_ / "value"});
    ASSERT_EQ(set.code, 0) << set.err;
    const Exit applied = proffer({"service", "apply", home_ / "app.yaml", "--wait"}, Seconds(120));
    ASSERT_EQ(applied.code, 0) << applied.err;
  }
  void TearDown() override {
    if (scheduler_ == nullptr) return;
    for (Process* one : {scheduler_.get(), agent_.get()}) {
      one->kill(SIGTERM);
      one->wait();
    }
  }

  // Kills the leader, and returns the other master, which leads then.
  int next_leader() {
    const int first = leader();
    masters_[first]->kill(SIGKILL);
    masters_[first]->wait();
    EXPECT_EQ(leader(), 3 - first);
    return 3 - first;
  }
  void expect_nothing_on_disk() const {
    for (const std::string& directory : {zookeeper_.directory(), home_.path()}) {
      std::error_code gone;  // running processes may remove files meanwhile
      for (auto at = fs::recursive_directory_iterator(directory, gone);
           at != fs::recursive_directory_iterator(); at.increment(gone)) {
        const fs::directory_entry& entry = *at;
        if (!entry.is_regular_file(gone) || entry.is_symlink(gone)) continue;
        if (entry.path() == home_ / "value") continue;
        EXPECT_EQ(read_file(entry.path()).find(kValue), std::string::npos) << entry.path();
      }
    }
  }

  std::unique_ptr<Process> agent_;
  std::unique_ptr<Process> scheduler_;
};

TEST_F(SecretsOfLeaders, AreGivenByTheNextOneWithTheirKeyFile) {
  const int first = leader();
  EXPECT_FALSE(fs::exists(key(3 - first)));
  // As the documentation says: copy the file, and restart the standby.
  masters_[3 - first]->kill(SIGTERM);
  masters_[3 - first]->wait();
  fs::copy_file(key(first), key(3 - first));
  fs::permissions(key(3 - first), fs::perms::owner_read | fs::perms::owner_write);
  start(3 - first);
  next_leader();
  EXPECT_TRUE(eventually([&] { return proffer({"service", "scale", "db", "3"}).code == 0; }));
  EXPECT_TRUE(says("3 of 3 ready")) << status();
  expect_nothing_on_disk();
}

TEST_F(SecretsOfLeaders, AreRefusedByTheNextOneWithoutItAndRunOn) {
  next_leader();
  EXPECT_THAT(proffer({"secret", "list"}).out, HasSubstr("the master has no key file"));
  EXPECT_TRUE(eventually([&] { return proffer({"service", "scale", "db", "2"}).code == 0; }));
  EXPECT_TRUE(says("secrets.key")) << status();
  EXPECT_TRUE(says("1 of 2 ready")) << status();
  expect_nothing_on_disk();
}

}  // namespace
}  // namespace proffer::test
