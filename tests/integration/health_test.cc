// Health checks of real tasks, reported to a real scheduler (health/health_scheduler.cc), while
// agents, masters and schedulers are killed.

#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/text.h"
#include "proto/json/json.h"
#include "tests/integration/processes.h"

namespace proffer::test::health_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// A free port that no other process gets by chance: it is bound, but has no listener.
class FreePort {
 public:
  FreePort() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    ::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    number_ = ntohs(address.sin_port);
  }
  ~FreePort() { ::close(fd_); }
  FreePort(const FreePort&) = delete;
  FreePort& operator=(const FreePort&) = delete;
  int number() const { return number_; }

 private:
  int fd_;
  int number_ = 0;
};

class HealthChecks : public testing::Test {
 protected:
  std::unique_ptr<Process> start(const Words& more) {
    Words words = {program_of_tests("health_scheduler"), "--master=" + cluster_.master(),
                   "--session_file=" + (home_ / "session")};
    words.insert(words.end(), more.begin(), more.end());
    return std::make_unique<Process>(words);
  }
  // The health that the master shows; empty if the task does not run yet.
  std::optional<bool> shown() const {
    const auto rows = proto::parse_tasks(cluster_.proffer({"tasks", "--json"}).out);
    if (!rows || rows->size() != 1 || rows->front().state != proto::TaskState::kRunning) return {};
    return rows->front().healthy;
  }
  // The states and healths that the scheduler received, in order.
  static Words heard(const Process& scheduler) {
    Words lines;
    for (const std::string_view line : split(scheduler.out(), '\n')) {
      if (!line.empty()) lines.emplace_back(line.substr(0, line.find(' ', line.find(' ') + 1)));
    }
    return lines;
  }
  static void end(Process& scheduler) {
    scheduler.kill(SIGTERM);
    EXPECT_EQ(scheduler.wait().code, 143);
  }

  const FreePort port_;
  const std::string resources_ =
      text("cpus:4;mem:4096;ports:[", port_.number(), "-", port_.number(), "]");
  Cluster cluster_{{.resources = resources_}};
  TemporaryDirectory home_;
};

TEST_F(HealthChecks, ByCommandAreToldWhenTheyChangeAndTheTaskRunsOn) {
  const std::string up = home_ / "up";
  write_file(up, "");
  auto scheduler = start({"--command=exec sleep 1000", "--check=command:test -e " + up});
  const auto first = scheduler->line_with("running none");
  ASSERT_TRUE(first.has_value()) << scheduler->err();
  EXPECT_THAT(*first, StartsWith("running none {\"ports\":{\"http\":"));
  ASSERT_TRUE(scheduler->line_with("running true {\"ports\":{\"http\":").has_value());
  EXPECT_TRUE(eventually([&] { return shown() == std::optional(true); }));

  std::filesystem::remove(up);
  const auto bad = scheduler->line_with("running false");
  ASSERT_TRUE(bad.has_value());
  EXPECT_THAT(*bad,
              HasSubstr("3 health checks in a row failed: its command ended with exit code 1"));
  EXPECT_TRUE(eventually([&] { return shown() == std::optional(false); }));
  EXPECT_THAT(cluster_.proffer({"tasks"}).out, HasSubstr("running (unhealthy)"));
  EXPECT_THAT(heard(*scheduler), ElementsAre("running none", "running true", "running false"));

  // A restarted scheduler reconciles, and gets the health once.
  scheduler->kill(SIGKILL);
  scheduler->wait();
  scheduler = start({});
  ASSERT_TRUE(scheduler->line_with("running false").has_value());
  // A restarted master gets the health from the agent; the scheduler already has it.
  const auto master = cluster_.restart_master();
  EXPECT_TRUE(eventually([&] { return shown() == std::optional(false); }));
  write_file(up, "");
  ASSERT_TRUE(scheduler->line_with("running true").has_value());
  EXPECT_THAT(heard(*scheduler), ElementsAre("running false", "running true"));
  EXPECT_TRUE(eventually([&] { return shown() == std::optional(true); }));
  end(*scheduler);
}

TEST_F(HealthChecks, ByHttpAreToldOnceThoughTheAgentIsKilled) {
  const auto scheduler =
      start({"--command=exec " + program_of_tests("http_server") + " 127.0.0.1 $PORT_http",
             "--check=http:/",
             // Long enough for it to listen.
             "--grace=60000", text("--timeout=", 1000 * slowdown())});
  ASSERT_TRUE(scheduler->line_with("running true").has_value()) << scheduler->err();

  ::kill(cluster_.pid_of("agent-1"), SIGKILL);
  ASSERT_TRUE(cluster_.dev().line_with("agent-1").has_value());
  const auto agent = cluster_.start_agent("agent-1", resources_);
  // The agent has reported to the master, and the master to the scheduler: later updates come after
  // that.
  ASSERT_TRUE(eventually([&] {
    const auto agents = proto::parse_agents(cluster_.proffer({"agents", "--json"}).out);
    return agents && agents->size() == 1 &&
           agents->front().state == proto::AgentState::kConnected && shown() == std::optional(true);
  }));

  pid_t server = 0;
  for (const pid_t pid : processes_of(cluster_.dir())) {
    const std::string command = read_file(text("/proc/", static_cast<int64_t>(pid), "/cmdline"));
    if (command.starts_with(program_of_tests("http_server"))) server = pid;
  }
  ASSERT_NE(server, 0);
  ::kill(server, SIGSTOP);  // connections are accepted but never answered
  const auto bad = scheduler->line_with("running false");
  ASSERT_TRUE(bad.has_value());
  EXPECT_THAT(*bad, HasSubstr("3 health checks in a row failed: no answer within "));
  ::kill(server, SIGCONT);
  ASSERT_TRUE(scheduler->line_with("running true").has_value());
  EXPECT_THAT(heard(*scheduler),
              ElementsAre("running none", "running true", "running false", "running true"));
  EXPECT_TRUE(is_alive(server));
  end(*scheduler);
  EXPECT_TRUE(eventually([&] { return !is_alive(server); }));
}

TEST_F(HealthChecks, FailOnAClosedPortAndLeaveNoProcessesAfterTheTask) {
  const auto silent = start({"--command=exec sleep 1000", "--check=tcp"});
  const auto bad = silent->line_with("running false");
  ASSERT_TRUE(bad.has_value()) << silent->err();
  EXPECT_THAT(*bad, HasSubstr("3 health checks in a row failed: connection refused"));
  end(*silent);

  // The check hangs, and has left a process behind when the task ends.
  const std::string left = home_ / "left";
  const auto scheduler =
      start({"--command=exec sleep 1000",
             "--check=command:setsid sleep 7654 & echo $! > " + left + "; exec sleep 7655"});
  ASSERT_TRUE(eventually([&] { return !read_file(left).empty(); })) << scheduler->err();
  const pid_t process = std::stoi(read_file(left));
  EXPECT_TRUE(is_alive(process));
  const Exit killed = cluster_.proffer({"kill", "t1", "--grace", "0s"});
  EXPECT_EQ(killed.code, 0) << killed.err;
  ASSERT_TRUE(scheduler->line_with("killed none").has_value());
  EXPECT_TRUE(eventually([&] { return !is_alive(process); }));
  EXPECT_THAT(heard(*scheduler), ElementsAre("running none", "killed none"));
  end(*scheduler);
}

}  // namespace
}  // namespace proffer::test::health_test
