// One user floods the master. The work of others continues, the master's memory stays bounded, and
// shed messages are counted. Needs root, to run as another user.

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/limits.h"
#include "common/text.h"
#include "tests/integration/processes.h"

namespace proffer::floods_test {
namespace {

namespace fs = std::filesystem;
using namespace test;

constexpr int64_t kMemoryMaxKib = 1'024 * 1'024;

int64_t memory_kib(pid_t pid) {
  std::ifstream in(text("/proc/", pid, "/status"));
  for (std::string word; in >> word;) {
    int64_t kib = 0;
    if (word == "VmHWM:" && in >> kib) return kib;
  }
  return 0;
}

// Returns zero while the metric does not exist.
int64_t metric_at(const std::string& http, const std::string& name) {
  std::istringstream lines(get_http(http, "/metrics"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name + " ")) return std::stoll(line.substr(name.size() + 1));
  }
  return 0;
}

class Floods : public testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() {
    if (geteuid() != 0) return;
    cluster_ = new Cluster({.agents = 1});
    // Another user must be able to enter the directories.
    const fs::path dir = cluster_->dir();
    for (const fs::path& passed : {dir.parent_path(), dir}) {
      fs::permissions(passed, fs::perms::group_exec | fs::perms::others_exec,
                      fs::perm_options::add);
    }
  }
  static void TearDownTestSuite() {
    delete cluster_;
    cluster_ = nullptr;
  }
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "not run: only root can become another user";
  }

  std::unique_ptr<Process> flood(const std::string& kind, int connections,
                                 std::optional<uid_t> user = std::nullopt) const {
    return std::make_unique<Process>(
        Words{program_of_tests("flood"), text("--uid=", user ? *user : ++last_uid_),
              "--at=" + cluster_->master(), "--kind=" + kind, text("--connections=", connections),
              text("--seconds=", kDeadline.count())});
  }
  static int64_t metric(const std::string& name) { return metric_at(cluster_->http(), name); }

  static Cluster* cluster_;
  // Debian has the users 1 to 10. Each flood uses another one, because a user that flooded can open
  // no connections for some seconds.
  static uid_t last_uid_;
};
Cluster* Floods::cluster_ = nullptr;
uid_t Floods::last_uid_ = 0;

// The counter that proves that the flood works; nullptr if messages are answered or refused one by
// one.
const char* shed_by(const std::string& kind) {
  if (kind == "unfinished") return "proffer_connections_refused_total{reason=\"unfinished\"}";
  if (kind == "calls") return "proffer_calls_shed_total";
  if (kind == "messages" || kind == "giants") return "proffer_sessions_shed_total";
  if (kind == "unread") return "proffer_connections_refused_total{reason=\"too_often\"}";
  return nullptr;
}

TEST_P(Floods, LeaveOthersTheirWork) {
  const std::string kind = GetParam();
  const char* counter = shed_by(kind);
  const int64_t before = counter == nullptr ? 0 : metric(counter);
  const std::unique_ptr<Process> flooder = flood(kind, kind == "calls" ? 100 : 20);
  ASSERT_TRUE(flooder->line_with("flooding")) << flooder->err();
  if (counter != nullptr) {
    EXPECT_TRUE(eventually([&] { return metric(counter) > before; })) << counter;
  }
  const Exit done = cluster_->proffer({"run", "--count", "3", "--", "echo done"});
  EXPECT_EQ(done.code, 0) << done.err;
  flooder->kill(SIGKILL);
  flooder->wait();
  EXPECT_LT(memory_kib(cluster_->pid_of("master")), kMemoryMaxKib);
}
INSTANTIATE_TEST_SUITE_P(Of, Floods,
                         testing::Values("connections", "messages", "giants", "asks", "calls",
                                         "unread", "reconnects", "unfinished"),
                         [](const auto& kind) { return std::string(kind.param); });

// The master's own user, as in `proffer dev`: it is neither refused connections nor paced as a
// whole.
class FloodsOfTheSameUser : public Floods {};

TEST_P(FloodsOfTheSameUser, LeaveItsOtherConnectionsTheirWork) {
  const std::string kind = GetParam();
  const std::unique_ptr<Process> flooder = flood(kind, 20, geteuid());
  ASSERT_TRUE(flooder->line_with("flooding")) << flooder->err();
  std::string status;
  EXPECT_TRUE(eventually([&] {
    status = cluster_->proffer({"status"}).out;
    return status.find("of the master's time") != std::string::npos;
  })) << status;
  const Exit done = cluster_->proffer({"run", "--count", "3", "--", "echo done"});
  EXPECT_EQ(done.code, 0) << done.err;
  flooder->kill(SIGKILL);
  flooder->wait();
  EXPECT_LT(memory_kib(cluster_->pid_of("master")), kMemoryMaxKib);
  EXPECT_EQ(cluster_->proffer({"status"}).out.find("AgentLost"), std::string::npos);
}
INSTANTIATE_TEST_SUITE_P(Of, FloodsOfTheSameUser, testing::Values("messages", "asks", "calls"),
                         [](const auto& kind) { return std::string(kind.param); });

// A master whose registry is on a disk that can be frozen.
class StandingDisk : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "not run: only root can mount a file system";
    fs::permissions(home_ / "", fs::perms::others_exec, fs::perm_options::add);
    const std::string image = home_ / "image";
    ASSERT_EQ(mkdir(disk_.c_str(), 0700), 0);
    ASSERT_EQ(run({"truncate", "--size=64M", image}).code, 0);
    ASSERT_EQ(run({"/sbin/mkfs.ext4", "-q", image}).code, 0);
    if (const Exit mounted = run({"mount", "-o", "loop", image, disk_}); mounted.code != 0) {
      GTEST_SKIP() << "not run: this machine mounts no image: " << mounted.err;
    }
    is_mounted_ = true;
    // A flood causes more log lines than a pipe holds.
    master_ = std::make_unique<Process>(
        Words{"/bin/sh", "-c", R"(exec "$@" 2>"$0")", home_ / "log", program("proffer-master"),
              "--data_dir=" + disk_ + "/master", "--socket=" + socket_});
    ASSERT_TRUE(eventually([&] { return status().code == 0; })) << log();
  }
  void TearDown() override {
    if (stands_) thaw();
    if (master_ != nullptr) {
      master_->kill(SIGTERM);
      EXPECT_EQ(master_->wait().code, 0) << log();
    }
    if (is_mounted_) {
      EXPECT_EQ(run({"umount", disk_}).code, 0);
    }
  }
  // Floods until the master reports at least `most` for `metric`.
  void flood_until(const std::string& kind, bool as_nobody, const std::string& metric,
                   int64_t most) {
    Words words = {program_of_tests("flood"), "--at=" + socket_, "--kind=" + kind,
                   "--connections=20", text("--seconds=", kDeadline.count())};
    if (as_nobody) words.push_back("--uid=65534");
    Process flooder(words);
    EXPECT_TRUE(flooder.line_with("flooding")) << flooder.err();
    EXPECT_TRUE(eventually([&] { return metric_at(http_, metric) >= most; }))
        << metric << " " << metric_at(http_, metric) << "; " << log();
    flooder.kill(SIGKILL);
    flooder.wait();
    EXPECT_LT(memory_kib(master_->pid()), kMemoryMaxKib);
  }
  static constexpr const char* kWaiting = "proffer_queue_items{queue=\"registry_writes\"}";
  std::string log() const { return read_file(home_ / "log"); }
  Exit status() const { return run({program("proffer"), "--master=" + socket_, "status"}); }
  // From now on a write waits for the disk, and each later step waits for that write.
  void freeze() {
    ASSERT_EQ(run({"/sbin/fsfreeze", "--freeze", disk_}).code, 0);
    stands_ = true;
    writer_ = std::make_unique<Process>(
        Words{program("proffer"), "--master=" + socket_, "role", "set", "eng", "--weight=3"});
    ASSERT_TRUE(eventually([&] { return metric_at(http_, kWaiting) > 0; })) << log();
  }
  void thaw() {
    EXPECT_EQ(run({"/sbin/fsfreeze", "--unfreeze", disk_}).code, 0);
    stands_ = false;
    // On a busy machine the disk may be frozen longer than a command's timeout.
    const Exit written = writer_->wait();
    EXPECT_TRUE(written.code == 0 || written.err.find("no answer in") != std::string::npos)
        << written.code << " " << written.err << log();
  }
  TemporaryDirectory home_;
  const std::string socket_ = home_ / "master.sock";
  const std::string http_ = home_ / "master-http.sock";
  const std::string disk_ = home_ / "disk";
  bool is_mounted_ = false;
  bool stands_ = false;
  std::unique_ptr<Process> master_;
  std::unique_ptr<Process> writer_;
};

// Once, 100,000 heartbeats that waited for one write ended the master.
TEST_F(StandingDisk, EndsNoMasterUnderAFloodOfMessages) {
  freeze();
  flood_until("messages", true, "proffer_frames_received_total", 4 * kStoreQueuedMax);
  thaw();
}

// Answers wait for the write, up to a limit at which the master serves no more frames. Then frames
// wait, and those of another user are shed.
TEST_F(StandingDisk, EndsNoMasterUnderAFloodOfSubscriptions) {
  freeze();
  flood_until("reconnects", false, kWaiting, kStoreServedMax);
  flood_until("messages", true, "proffer_sessions_shed_total", 20);
  EXPECT_LT(metric_at(http_, kWaiting), kStoreServedMax + kStoreGroupMax);
  thaw();
}

}  // namespace
}  // namespace proffer::floods_test
