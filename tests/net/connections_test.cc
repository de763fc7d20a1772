// Connections that never send a complete message: libzmq does not report them, and they would
// occupy memory and descriptors.

#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/check.h"
#include "common/load_limits.h"
#include "net/dealer.h"
#include "net/router.h"
#include "tests/net/support.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/zmtp.h"

namespace proffer::connections_test {
namespace {

using net_test::bytes;
using net_test::connect_path;
using net_test::kCarelessUser;
using net_test::kNobody;
using net_test::receive_all;
using net_test::run_for;
using net_test::run_until;
using net_test::send_all;
using test::kZmtpHandshakeBytes;
using test::zmtp_frame;
using test::zmtp_handshake;

// A connection after its handshake: libzmq closes connections that send more before.
Fd connect_dealer(const std::string& path) {
  Fd fd = connect_path(path);
  CHECK_EQ(zmtp_handshake().size(), kZmtpHandshakeBytes);
  std::string answer(kZmtpHandshakeBytes, '\0');
  if (!send_all(fd, zmtp_handshake()) ||
      recv(fd.get(), answer.data(), answer.size(), MSG_WAITALL) != ssize_t{kZmtpHandshakeBytes}) {
    return Fd();
  }
  return fd;
}
const std::string kPart = zmtp_frame("part", true);  // with the flag for more parts

// A Router on a Unix socket, and a healthy peer that gets answers.
class Connections : public testing::Test {
 protected:
  Connections() { CHECK_EQ(::chmod(directory_.path().c_str(), 0755), 0); }
  ~Connections() override {
    healthy_.reset();
    router_.reset();
  }

  void bind(const ConnectionWatch::Options& connections) {
    auto bound = Router::bind(
        loop_, "ipc://" + path(),
        {.on_frame = [this](PeerId peer,
                            std::span<const std::byte> frame) { router_->send(peer, frame); },
         .on_shut = [this](const std::string& what) { told_.push_back(what); }},
        {.may_read = [this] { return may_read_; }, .connections = connections});
    CHECK(bound) << bound.error().message();
    router_ = *std::move(bound);
    healthy_ = std::make_unique<Dealer>(
        loop_, Dealer::Options{.endpoint = router_->endpoint()},
        Dealer::Handlers{.on_connected = [this] { healthy_->send(bytes("ok")); },
                         .on_frame = [this](std::span<const std::byte>) { ++echoes_; },
                         .on_disconnected = [this](const std::string&) { ++disconnects_; }});
    healthy_->connect();
    CHECK(run_until(loop_, [this] { return echoes_ == 1; }));
  }
  bool is_healthy() {
    const int before = echoes_;
    healthy_->send(bytes("ok"));
    return run_until(loop_, [&] { return echoes_ > before; }) && disconnects_ == 0;
  }
  std::string path() const { return directory_ / "router.sock"; }
  const ConnectionWatch::Counters& shut() const { return router_->counters().connections_shut; }

  Loop loop_;
  const test::TemporaryDirectory directory_;
  std::unique_ptr<Router> router_;
  bool may_read_ = true;
  std::unique_ptr<Dealer> healthy_;
  std::vector<std::string> told_;
  int echoes_ = 0;
  int disconnects_ = 0;
};

class PartsWithoutEnd : public Connections, public testing::WithParamInterface<size_t> {};

// Each part takes more of libzmq's memory than its own size.
TEST_P(PartsWithoutEnd, AreShutBeforeTheyTakeAllMemory) {
  bind({});
  for (const std::string& first : {std::string(), zmtp_frame("ok")}) {
    const uint64_t before = shut().unfinished;
    std::thread flooder([&] {
      const Fd fd = connect_dealer(path());
      std::string part = kPart;
      if (GetParam() > 4) {  // a long frame: flags, then 8 bytes of length
        part = std::string("\x03") + std::string(5, '\0') + std::string("\x01\x00\x00", 3) +
               std::string(GetParam(), 'x');
      }
      std::string parts;
      while (parts.size() < 64 * 1024) parts += part;
      if (!send_all(fd, first)) return;
      // A bound, so that the test fails below if the connection is never shut.
      const size_t most = GetParam() > 4 ? size_t{3} << 30 : size_t{100} << 20;
      for (size_t sent = 0; sent < most && send_all(fd, parts);) sent += parts.size();
    });
    EXPECT_TRUE(run_until(
        loop_, [&] { return shut().unfinished > before; }, seconds(30)));
    flooder.join();
    EXPECT_TRUE(is_healthy());
  }
  ASSERT_FALSE(told_.empty());
  EXPECT_EQ(told_[0], text("a connection of the user ", geteuid(),
                           " was closed: it sends an endless multi-part message"));
}
INSTANTIATE_TEST_SUITE_P(Of, PartsWithoutEnd, testing::Values(4, 64 * 1024),
                         [](const auto& size) { return text(size.param, "Bytes"); });

TEST_F(Connections, WithoutAMessageAreShutInTime) {
  bind({.first_message_max = milliseconds(50)});
  const Fd silent = connect_path(path());
  const Fd shaking = connect_path(path());
  send_all(shaking, zmtp_handshake());
  EXPECT_TRUE(run_until(loop_, [&] { return shut().silent == 2; }));
  receive_all(silent);
  receive_all(shaking);
  EXPECT_TRUE(is_healthy());
}

TEST_F(Connections, WhoseMessagesAreNotReadYetStay) {
  bind({});
  may_read_ = false;
  // Many more messages than libzmq reads ahead, each of the maximum size.
  constexpr int kMessages = 2 * kReceiveQueueFrames;
  std::thread client([&] {
    const Fd fd = connect_dealer(path());
    const std::string message = zmtp_frame(std::string(kFrameBytesMax, 'x'));
    for (int i = 0; i < kMessages; ++i) {
      if (!send_all(fd, message)) return;
    }
    receive_all(fd);
  });
  run_for(loop_, seconds(1));
  EXPECT_EQ(shut(), ConnectionWatch::Counters());
  may_read_ = true;
  EXPECT_TRUE(is_healthy());
  EXPECT_TRUE(run_until(loop_, [&] { return router_->counters().frames_received > kMessages; }));
  router_.reset();
  client.join();
}

TEST_F(Connections, ThatSendPartsWithoutEndAreShutAlsoWhileNobodyReads) {
  bind({});
  may_read_ = false;
  std::thread client([&] {
    const Fd fd = connect_dealer(path());
    const std::string part = zmtp_frame(std::string(kFrameBytesMax / 2, 'x'), true);
    // A bound, so that the test fails below if the client is never shut.
    for (int i = 0; i < 4 * kReceiveQueueFrames && send_all(fd, part); ++i) {
    }
    receive_all(fd);
  });
  EXPECT_TRUE(run_until(loop_, [&] { return shut().unfinished == 1; }));
  client.join();
  may_read_ = true;
  EXPECT_TRUE(is_healthy());
}

TEST_F(Connections, OfOneUserAreBounded) {
  if (geteuid() != 0) GTEST_SKIP() << "not run: only root can be another user";
  bind({.connections_per_user_max = 3});
  const pid_t other = fork();
  ASSERT_GE(other, 0);
  if (other == 0) {
    if (setuid(kNobody) != 0) _exit(99);
    std::vector<Fd> all;
    for (int i = 0; i < 3; ++i) {
      all.push_back(connect_dealer(path()));
      if (!send_all(all.back(), zmtp_frame("ok"))) _exit(98);
    }
    // libzmq may complete handshakes before the connections are shut.
    for (int i = 0; i < 2; ++i) receive_all(connect_path(path()));
    // The other connections stay open.
    for (const Fd& fd : all) {
      std::string echo = zmtp_frame("ok");
      if (recv(fd.get(), echo.data(), echo.size(), MSG_WAITALL) != ssize_t(echo.size())) _exit(97);
      if (recv(fd.get(), echo.data(), 1, MSG_DONTWAIT) >= 0 || errno != EAGAIN) _exit(96);
    }
    _exit(0);
  }
  EXPECT_TRUE(run_until(loop_, [&] { return shut().of_one_user == 2; }));
  int status = 0;
  EXPECT_TRUE(run_until(loop_, [&] { return waitpid(other, &status, WNOHANG) == other; }));
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(is_healthy());
  EXPECT_NE(told_.at(0).find("of the user 65534 was closed: its user has 3 connections already"),
            std::string::npos);
  // New connections are accepted when others have gone.
  EXPECT_TRUE(run_until(loop_, [&] { return router_->peers() == 1; }));
}

TEST_F(Connections, ThatLeaveAnswersUnreadKeepTheirUserOutForAWhile) {
  if (geteuid() != 0) GTEST_SKIP() << "not run: only root can be another user";
  bind({});
  const pid_t other = fork();
  ASSERT_GE(other, 0);
  if (other == 0) {
    if (setuid(kCarelessUser) != 0) _exit(99);
    const Fd first = connect_dealer(path());
    if (!send_all(first, zmtp_frame("more"))) _exit(98);
    receive_all(first);  // without further messages until its end
    std::string byte(1, '\0');
    const Fd second = connect_path(path());
    _exit(recv(second.get(), byte.data(), 1, MSG_WAITALL) <= 0 ? 0 : 97);
  }
  std::optional<PeerId> careless;
  EXPECT_TRUE(run_until(loop_, [&] {
    for (uint64_t id = 1; id <= router_->counters().peers_seen; ++id) {
      const auto process = router_->process_of(PeerId(id));
      if (process && process->uid == kCarelessUser) careless = PeerId(id);
    }
    return careless.has_value();
  }));
  router_->charge(*careless, kMisusedArrivals);
  router_->cut(*careless);
  EXPECT_FALSE(router_->has_session(*careless));
  int status = 0;
  EXPECT_TRUE(run_until(loop_, [&] { return waitpid(other, &status, WNOHANG) == other; }));
  EXPECT_EQ(status, 0);
  EXPECT_EQ(router_->counters().connections_refused.of_users, 1u);
  EXPECT_TRUE(is_healthy());
}

}  // namespace
}  // namespace proffer::connections_test
