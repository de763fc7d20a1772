// proffer debug bundle: the archive's content, with and without a master, and the absence of
// secrets.

#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/processes.h"

namespace proffer::operations_test {
namespace {

namespace fs = std::filesystem;
using namespace test;
using testing::HasSubstr;
using testing::Not;

class DebugBundle : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(home_ / "settings");
    write_file(home_ / "settings/service.env",
               "PROFFER_SERVICE_OPTIONS=\"--role eng\"\nDB_PASSWORD=planted-env\n");
    write_file(home_ / "settings/master.flags", "--heartbeat=7s\n--hook_token=planted-flag\n");
  }
  // Makes a bundle and unpacks it.
  Exit take(const Cluster& cluster, const Words& more = {}) {
    fs::remove_all(home_ / "unpacked");
    fs::create_directory(home_ / "unpacked");
    Words words = {"debug",
                   "bundle",
                   home_ / "bundle.tar.gz",
                   "--settings",
                   home_ / "settings",
                   "--data-dir",
                   cluster.dir() + "/master"};
    words.insert(words.end(), more.begin(), more.end());
    Exit taken = cluster.proffer(words);
    EXPECT_EQ(taken.code, 0) << taken.err;
    const Exit unpacked = run(
        {"tar", "-xzf", home_ / "bundle.tar.gz", "-C", home_ / "unpacked", "--strip-components=1"});
    EXPECT_EQ(unpacked.code, 0) << unpacked.err;
    return taken;
  }
  std::string part(const std::string& name) const { return read_file(home_ / "unpacked/" + name); }
  // The contents of all its files, with their names.
  std::string all() const {
    std::string all;
    for (const auto& entry : fs::directory_iterator(home_ / "unpacked")) {
      all += entry.path().filename().string() + "\n" + read_file(entry.path());
    }
    return all;
  }

  TemporaryDirectory home_;
};

TEST_F(DebugBundle, HasTheClusterAndNoSecret) {
  const Cluster cluster;
  write_file(cluster.dir() + "/master/planted_secret", "planted-content-of-a-file\n");
  write_file(home_ / "daemon.log",
             "agent lost agent=a1\nsent planted-content-of-a-file to somebody\n"
             "Authorization: Bearer planted-bearer\n");
  ASSERT_EQ(cluster.proffer({"run", "--name", "job", "--", "true"}).code, 0);
  ASSERT_TRUE(eventually(
      [&] { return cluster.proffer({"events"}).out.find("task launched") != std::string::npos; }));
  const Exit taken = take(cluster, {"--log", home_ / "daemon.log"});
  EXPECT_THAT(taken.out, HasSubstr("wrote "));

  EXPECT_THAT(part("status.json"), HasSubstr("\"agents_connected\":1"));
  EXPECT_THAT(part("agents.json"), HasSubstr("\"agent\":\"agent-1\""));
  EXPECT_THAT(part("roles.json"), HasSubstr("{\"roles\":["));
  EXPECT_THAT(part("metrics.txt"), HasSubstr("\nproffer_master_leads 1\n"));
  EXPECT_THAT(part("events.json"), HasSubstr("\"event\":\"task launched\""));
  EXPECT_THAT(part("registry.txt"), HasSubstr("exit code 0\n"));
  EXPECT_THAT(part("versions.txt"), HasSubstr("proffer 0."));
  EXPECT_THAT(part("processes.txt"), HasSubstr("--data_dir=" + cluster.dir() + "/master"));
  EXPECT_THAT(part("settings-master.flags"), HasSubstr("--heartbeat=7s\n--hook_token=[removed]"));
  EXPECT_THAT(part("settings-service.env"), HasSubstr("DB_PASSWORD=[removed]"));
  EXPECT_THAT(part("log-1-daemon.log"), HasSubstr("agent lost agent=a1\nsent [removed] to"));
  EXPECT_THAT(part("manifest.txt"), HasSubstr("has      status.json\n"));

  const std::string whole = all();
  for (const char* secret :
       {"planted-env", "planted-flag", "planted-content-of-a-file", "planted-bearer"}) {
    EXPECT_THAT(whole, Not(HasSubstr(secret)));
  }
  EXPECT_EQ(fs::status(home_ / "bundle.tar.gz").permissions() & fs::perms::mask,
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(DebugBundle, OfADeadMasterHasWhatIsOnItsDiskAndSaysWhatIsMissing) {
  const Cluster cluster;
  ASSERT_EQ(cluster.proffer({"run", "--name", "job", "--", "true"}).code, 0);
  ASSERT_TRUE(eventually(
      [&] { return cluster.proffer({"events"}).out.find("task ended") != std::string::npos; }));
  const pid_t master = cluster.pid_of("master");
  ::kill(master, SIGSTOP);  // it keeps its socket, but does not answer
  const Exit taken = take(cluster);
  ::kill(master, SIGCONT);
  EXPECT_THAT(part("manifest.txt"), HasSubstr("missing  status.json: "));
  EXPECT_THAT(part("manifest.txt"), HasSubstr("missing  agents.json: the master does not answer"));
  EXPECT_THAT(part("events.txt"), HasSubstr("\"event\":\"task ended\""));
  EXPECT_THAT(part("registry.txt"), HasSubstr("exit code 0\n"));
}

TEST_F(DebugBundle, RefusesAFileThatIsNoArchiveAndOneThatCannotBeWritten) {
  const Exit wrong = run({program("proffer"), "debug", "bundle", "x.zip"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("FILE must end in .tar.gz or .tgz, not 'x.zip'"));
  const Exit nowhere = run({program("proffer"), "debug", "bundle", home_ / "no/where.tar.gz",
                            "--master=/nowhere/master.sock", "--data-dir", home_ / "none"});
  EXPECT_EQ(nowhere.code, 3);
  EXPECT_THAT(nowhere.err, HasSubstr("cannot write"));
  EXPECT_EQ(run({program("proffer"), "debug"}).code, 2);
}

}  // namespace
}  // namespace proffer::operations_test
