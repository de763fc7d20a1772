// One user floods the master: the work of others is done, the master's memory stays bounded, and
// what was shed is counted. Needs root, to be somebody else.

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

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

class Floods : public testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() {
    if (geteuid() != 0) return;
    cluster_ = new Cluster({.agents = 1});
    // Another user must be able to pass.
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

  std::unique_ptr<Process> flood(const std::string& kind, int connections) const {
    return std::make_unique<Process>(
        Words{program_of_tests("flood"), "--nobody", "--at=" + cluster_->master(), "--kind=" + kind,
              text("--connections=", connections), text("--seconds=", kDeadline.count())});
  }
  static int64_t metric(const std::string& name) {
    std::istringstream lines(get_http(cluster_->http(), "/metrics"));
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(name + " ")) return std::stoll(line.substr(name.size() + 1));
    }
    return 0;
  }

  static Cluster* cluster_;
};
Cluster* Floods::cluster_ = nullptr;

// What must have been counted for the flood to have been one; nullptr: it is answered or refused
// one by one.
const char* shed_by(const std::string& kind) {
  if (kind == "unfinished") return "proffer_connections_unfinished_total";
  if (kind == "calls") return "proffer_calls_shed_total";
  if (kind == "unread") return "proffer_sessions_shed_total";
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

}  // namespace
}  // namespace proffer::floods_test
