// The socket for commands in tasks: hostile clients, and the answers to permitted ones.

#include "slave/shell/exec_server.h"

#include <optional>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/local_address.h"
#include "net/passed_fds.h"
#include "tests/net/support.h"

namespace proffer::agent::exec_server_test {
namespace {

constexpr pid_t kPid = 4711;
const std::string kAsked = R"({"framework":"f","task":"t","command":"id","terminal":false})";

class Execs : public testing::Test {
 protected:
  Execs() {
    auto bound = ExecServer::bind(
        loop_, path_,
        {.start = [this](const ExecRequest& request, const PrincipalPtr& by,
                         std::span<const int> streams) -> Result<pid_t> {
           started_ = request;
           user_ = by->uid;
           EXPECT_EQ(streams.size(), request.is_terminal ? 1u : 3u);
           if (is_refused_) return Error::permission_denied("not yours").with_hint("ask");
           return kPid;
         },
         .signal = [this](pid_t pid, int signal) { signals_.emplace_back(pid, signal); },
         .kill = [this](pid_t pid) { killed_.push_back(pid); }});
    EXPECT_TRUE(bound) << bound.error().message();
    server_ = *std::move(bound);
  }
  Fd connects() {
    Fd made(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const sockaddr_un address = *local_address(path_);
    EXPECT_EQ(connect(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return made;
  }
  static void says(const Fd& caller, std::string_view bytes, size_t descriptors) {
    const int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    const std::vector<int> fds(descriptors, fd);
    EXPECT_EQ(send_with_fds(caller.get(), bytes, fds, 0), static_cast<ssize_t>(bytes.size()));
    close(fd);
  }
  // The received data; "" if the connection was closed; empty if nothing has arrived.
  std::optional<std::string> hears(const Fd& caller) {
    std::string bytes(4'096, '\0');
    const ssize_t got = recv(caller.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0) return std::nullopt;
    return bytes.substr(0, static_cast<size_t>(got));
  }
  std::string answer(const Fd& caller) {
    std::optional<std::string> heard;
    EXPECT_TRUE(net_test::run_until(loop_, [&] { return (heard = hears(caller)).has_value(); }));
    return heard.value_or("nothing");
  }

  net_test::TempDir home_;
  const std::string path_ = home_.path() / "a-exec.sock";
  Loop loop_;
  std::unique_ptr<ExecServer> server_;
  bool is_refused_ = false;
  std::optional<ExecRequest> started_;
  uint32_t user_ = ~0U;
  std::vector<std::pair<pid_t, int>> signals_;
  std::vector<pid_t> killed_;
};

TEST_F(Execs, TellItsCallerHowItsCommandEnded) {
  for (const auto& [status, told] : {std::pair(W_EXITCODE(7, 0), R"({"exit_code":7})"),
                                     std::pair(W_EXITCODE(0, 9), R"({"signal":9})")}) {
    const Fd caller = connects();
    started_.reset();
    says(caller, kAsked, 3);
    ASSERT_TRUE(net_test::run_until(loop_, [&] { return started_.has_value(); }));
    EXPECT_EQ(started_->command, "id");
    EXPECT_EQ(user_, geteuid());
    says(caller, "\x02", 0);
    ASSERT_TRUE(net_test::run_until(loop_, [&] { return !signals_.empty(); }));
    EXPECT_EQ(signals_.back(), std::pair(kPid, 2));
    signals_.clear();
    server_->ended(kPid, status);
    EXPECT_EQ(answer(caller), told);
    EXPECT_TRUE(killed_.empty());
  }
}

TEST_F(Execs, KillTheCommandOfACallerThatWent) {
  {
    const Fd caller = connects();
    says(caller, kAsked, 3);
    ASSERT_TRUE(net_test::run_until(loop_, [&] { return started_.has_value(); }));
  }
  EXPECT_TRUE(net_test::run_until(loop_, [&] { return killed_ == std::vector<pid_t>{kPid}; }));
  server_->ended(kPid, 9);
}

TEST_F(Execs, RefuseWhatIsNoRequest) {
  const auto refused = [&](const std::string& bytes, size_t descriptors) {
    const Fd caller = connects();
    says(caller, bytes, descriptors);
    return answer(caller);
  };
  for (const char* wrong :
       {"x", "{}", "[1]", R"({"framework":"f","task":"t","command":"","terminal":false})",
        R"({"framework":"f","task":"t","command":"id"})",
        R"({"framework":1,"task":"t","command":"id","terminal":false})"}) {
    EXPECT_NE(refused(wrong, 3).find("invalid_argument"), std::string::npos) << wrong;
  }
  for (const size_t descriptors : {0, 1, 2}) {
    EXPECT_NE(refused(kAsked, descriptors).find("must have 3 descriptors"), std::string::npos);
  }
  EXPECT_NE(refused(std::string(kExecBytesMax + 1, ' '), 3).find("resource_exhausted"),
            std::string::npos);
  EXPECT_FALSE(started_);
  is_refused_ = true;
  EXPECT_EQ(refused(kAsked, 3),
            R"({"code":"permission_denied","message":"not yours","hint":"ask"})");
}

TEST_F(Execs, ShutACallerThatIsOneTooMany) {
  std::vector<Fd> callers;
  for (size_t i = 0; i < kExecCallersMax; ++i) {
    callers.push_back(connects());
    net_test::run_until(loop_, [] { return true; });  // it accepts some connections per turn
  }
  EXPECT_EQ(answer(connects()), "");
  callers.clear();
  const Fd next = connects();
  says(next, "{}", 3);
  EXPECT_NE(answer(next), "");
}

}  // namespace
}  // namespace proffer::agent::exec_server_test
