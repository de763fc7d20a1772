// Checks of real servers that behave and misbehave, and checks by real commands.

#include "slave/executor/health_probe.h"

#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "common/check.h"
#include "tests/net/support.h"

namespace proffer::executor::health_probe_test {
namespace {

using net_test::run_until;
using testing::HasSubstr;
using testing::StartsWith;
using Kind = proto::HealthCheck::Kind;

// Long, for an immediate answer on any machine; short, for a server that never answers.
constexpr Duration kLong = seconds(60);
constexpr Duration kShort = milliseconds(100);

// Accepts connections on its own port, sends this answer to each client after its request, and then
// closes the connection or keeps it open.
class Server {
 public:
  Server(Loop& loop, std::string says, bool closes) : says_(std::move(says)), closes_(closes) {
    listener_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    CHECK_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    CHECK_EQ(getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    CHECK_EQ(listen(listener_.get(), 8), 0);
    port_ = ntohs(address.sin_port);
    watcher_ =
        std::make_unique<FdWatcher>(loop, listener_.get(), FdWatcher::Events{.readable = true},
                                    [this, &loop](FdWatcher::Events) { take(loop); });
  }
  uint16_t port() const { return port_; }
  const std::string& heard() const { return heard_; }

 private:
  void take(Loop& loop) {
    client_ = Fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    reader_ = std::make_unique<FdWatcher>(loop, client_.get(), FdWatcher::Events{.readable = true},
                                          [this](FdWatcher::Events) { answer(); });
  }
  void answer() {
    char buffer[8192];
    const ssize_t got = recv(client_.get(), buffer, sizeof buffer, 0);
    if (got > 0) {
      heard_.append(buffer, static_cast<size_t>(got));
      if (heard_.find("\r\n\r\n") == std::string::npos) return;
      net_test::send_all(client_, says_);
    }
    if (got > 0 && !closes_) return;
    reader_.reset();
    client_ = Fd();
  }

  const std::string says_;
  const bool closes_;
  uint16_t port_ = 0;
  std::string heard_;
  Fd listener_;
  Fd client_;
  std::unique_ptr<FdWatcher> watcher_;
  std::unique_ptr<FdWatcher> reader_;
};

class Probe : public testing::Test {
 protected:
  Probe() {
    loop_.on_signal(SIGCHLD, [this] { reap(); });
  }
  ~Probe() override { loop_.on_signal(SIGCHLD, {}); }

  void reap() {
    int status = 0;
    pid_t pid = 0;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
      reaped_.push_back(pid);
      if (probe_ != nullptr && probe_->command() == pid) probe_->on_command_ended(status);
    }
  }
  bool has_ended(pid_t pid) {
    return std::find(reaped_.begin(), reaped_.end(), pid) != reaped_.end();
  }

  void make(HealthProbeOptions options) {
    looked_.clear();
    probe_ = std::make_unique<HealthProbe>(
        loop_, std::move(options), [this](const Looked& looked) { looked_.push_back(looked); });
  }
  // The failure of one check; "" if it passed.
  std::string look() {
    const size_t before = looked_.size();
    probe_->look();
    EXPECT_TRUE(run_until(loop_, [&] { return looked_.size() > before; }));
    return looked_.size() > before ? looked_.back().failure : "nothing came of it";
  }
  std::string look_at(Kind kind, uint16_t port, Duration timeout = kLong,
                      const std::string& path = "/") {
    make({.check = {.kind = kind, .port = "p", .path = path, .timeout = timeout}, .port = port});
    return look();
  }
  std::string run(const std::string& command, Duration timeout = kLong) {
    make({.check = {.kind = Kind::kCommand, .command = command, .timeout = timeout},
          .environment = {"PATH=/usr/bin:/bin", "PORT_http=31000"},
          .sandbox = sandbox_.path().string()});
    return look();
  }

  Loop loop_;
  net_test::TempDir sandbox_;
  std::vector<pid_t> reaped_;
  std::vector<Looked> looked_;
  std::unique_ptr<HealthProbe> probe_;
};

TEST_F(Probe, OfAPortIsGoodWhenItTakesAConnection) {
  const Server silent(loop_, "", false);
  EXPECT_EQ(look_at(Kind::kTcp, silent.port()), "");
  EXPECT_EQ(look(), "");  // the second one
  const auto [reserved, port] = net_test::reserve_port();
  EXPECT_EQ(look_at(Kind::kTcp, port), "connection refused");
  EXPECT_EQ(look_at(Kind::kHttp, port), "connection refused");
}

TEST_F(Probe, ByHttpIsGoodWhenTheFirstLineSaysSo) {
  struct Row {
    std::string says;
    bool closes;
    Duration timeout;
    std::string failure;
  };
  const std::string endless(8 * kStatusLineBytesMax, 'x');
  const Row rows[] = {
      {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", true, kLong, ""},
      {"HTTP/1.0 301 Moved\r\n\r\n", true, kLong, ""},
      {"HTTP/1.1 404 Not Found\r\n\r\n", true, kLong, "it answered with status 404"},
      {"HTTP/1.1 200 OK\r\nX: " + endless, false, kLong, ""},
      {"HTTP/1.1 200 " + endless, false, kLong, "the first line of the answer is longer than 1024"},
      {"220 mail ready\r\n", false, kLong, "the answer is not HTTP/1"},
      {"HTTP/1.1 20", true, kLong, "the connection was closed in the first line of the answer"},
      {"HTTP/1.1 20", false, kShort, "no answer within 100ms"},
      {"", true, kLong, "the connection was closed without an answer"},
      {"", false, kShort, "no answer within 100ms"},
  };
  for (const Row& row : rows) {
    const Server server(loop_, row.says, row.closes);
    EXPECT_EQ(look_at(Kind::kHttp, server.port(), row.timeout), row.failure)
        << row.says.substr(0, 40) << (row.closes ? ", closes" : "");
  }
}

TEST_F(Probe, ByHttpAsksForThePath) {
  const std::string path = "/" + std::string(kHealthPathBytesMax - 1, 'p');
  const Server server(loop_, "HTTP/1.1 200 OK\r\n\r\n", true);
  EXPECT_EQ(look_at(Kind::kHttp, server.port(), kLong, path), "");
  EXPECT_THAT(server.heard(), StartsWith("GET " + path + " HTTP/1.1\r\n"));
  EXPECT_THAT(server.heard(), HasSubstr(text("\r\nHost: 127.0.0.1:", server.port(), "\r\n")));
}

TEST_F(Probe, ByACommandIsGoodWhenItExitsWithZero) {
  EXPECT_EQ(run("true"), "");
  EXPECT_EQ(run("exit 3"), "its command ended with exit code 3");
  EXPECT_EQ(run("no-such-command-here"), "its command ended with exit code 127");
  EXPECT_EQ(run("kill -9 $$"), "its command was ended by signal 9");
}

TEST_F(Probe, ByACommandIsDoneInTheSandboxWithTheEnvironmentOfTheTask) {
  sandbox_.write("up", "");
  EXPECT_EQ(run("test -e up && test $PORT_http = 31000"), "");
  std::filesystem::remove(sandbox_.path() / "up");
  EXPECT_EQ(look(), "its command ended with exit code 1");
}

TEST_F(Probe, KillsACommandThatTakesTooLongWithItsChildren) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // as the executor does
  EXPECT_EQ(run("sleep 1000 & wait", kShort), "its command did not end within 100ms");
  EXPECT_TRUE(run_until(loop_, [&] { return probe_->command() == 0 && reaped_.size() == 2; }));
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  EXPECT_EQ(looked_.size(), 1u);  // its end is not reported
}

TEST_F(Probe, GivenUpItKillsItsCommandAndSaysNothing) {
  make({.check = {.kind = Kind::kCommand, .command = "sleep 1000", .timeout = kLong},
        .environment = {"PATH=/usr/bin:/bin"},
        .sandbox = sandbox_.path().string()});
  probe_->look();
  const pid_t command = probe_->command();
  ASSERT_GT(command, 0);
  probe_.reset();
  EXPECT_TRUE(run_until(loop_, [&] { return has_ended(command); }));
  EXPECT_TRUE(looked_.empty());
}

TEST_F(Probe, GivenUpItLeavesItsServerAlone) {
  const Server silent(loop_, "", false);
  make({.check = {.kind = Kind::kHttp, .port = "p", .timeout = kLong}, .port = silent.port()});
  probe_->look();
  ASSERT_TRUE(run_until(loop_, [&] { return !silent.heard().empty(); }));
  probe_.reset();
  EXPECT_EQ(look_at(Kind::kTcp, silent.port()), "");
}

TEST_F(Probe, ACommandThatCannotBeStartedIsAFailure) {
  make({.check = {.kind = Kind::kCommand, .command = "true", .timeout = kLong},
        .sandbox = (sandbox_.path() / "missing").string()});
  EXPECT_THAT(look(), HasSubstr("cannot start /bin/sh"));
  EXPECT_EQ(probe_->command(), 0);
}

}  // namespace
}  // namespace proffer::executor::health_probe_test
