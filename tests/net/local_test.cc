// LocalServer and LocalClient: frames within one machine, begins and ends of sessions, and peers
// that are lost, slow, silent or hostile.

#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/prng.h"
#include "net/frame_reader.h"
#include "net/local_client.h"
#include "net/local_server.h"
#include "tests/net/peers.h"
#include "tests/net/support.h"

namespace proffer::local_test {
namespace {

using net_test::bytes;
using net_test::run_for;
using net_test::run_until;
using net_test::send_all;
using net_test::TempDir;
using net_test::text_of;

std::string framed(std::string_view frame) {
  return text_of(frame_header(frame.size())) + std::string(frame);
}

// A plain blocking connection, without LocalClient.
Fd connect_local(const std::string& path) {
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const timeval timeout{60, 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return Fd();
  return fd;
}

using Server = net_test::Server<LocalServer>;
using Client = net_test::Client<LocalClient>;

class Local : public testing::Test {
 protected:
  std::string path() const { return (dir_.path() / "s").string(); }
  TempDir dir_;
  Loop loop_;
};

TEST_F(Local, CarriesFramesBothWaysInOrder) {
  Server server(loop_, path());
  server.echoes();
  Client client(loop_, {.path = path()}, "0");
  ASSERT_TRUE(run_until(loop_, [&] { return client.connected == 1; }));
  for (int i = 1; i < 2'000; ++i) EXPECT_TRUE(client.socket->send(bytes(text(i))));
  ASSERT_TRUE(run_until(loop_, [&] { return client.frames.size() == 2'000; }));
  for (int i = 0; i < 2'000; ++i) EXPECT_EQ(client.frames[static_cast<size_t>(i)], text(i));
  EXPECT_EQ(server.socket->peers(), 1u);
  EXPECT_EQ(server.socket->counters().frames_received, 2'000u);
}

TEST_F(Local, CarriesTheLargestFrameAndEveryByte) {
  Server server(loop_, path());
  server.echoes();
  std::string large(kFrameBytesMax, '\0');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 31);
  Client client(loop_, {.path = path()}, large);
  ASSERT_TRUE(run_until(loop_, [&] { return client.frames.size() == 1; }));
  EXPECT_EQ(client.frames[0], large);
}

TEST_F(Local, FramesMayComeByteByByte) {
  Server server(loop_, path());
  const Fd raw = connect_local(path());
  ASSERT_GE(raw.get(), 0);
  const std::string all = framed("one") + framed(std::string(300, 'x')) + framed("three");
  for (const char c : all) {
    ASSERT_TRUE(send_all(raw, std::string_view(&c, 1)));
    loop_.stop();
    loop_.run();
  }
  ASSERT_TRUE(run_until(loop_, [&] { return server.frames.size() == 3; }));
  EXPECT_EQ(server.frames[0].second, "one");
  EXPECT_EQ(server.frames[1].second, std::string(300, 'x'));
  EXPECT_EQ(server.frames[2].second, "three");
}

TEST_F(Local, TellsALostPeerOnceAndAfterItsLastFrame) {
  Server server(loop_, path());
  Client client(loop_, {.path = path()});
  Client other(loop_, {.path = path()}, "other");
  ASSERT_TRUE(run_until(loop_, [&] { return server.frames.size() == 2; }));
  for (int i = 0; i < 300; ++i) client.socket->send(bytes("x"));
  client.socket->send(bytes("last"));
  client.socket->close_gracefully(seconds(5));
  ASSERT_TRUE(run_until(loop_, [&] { return server.lost.size() == 1; }));
  EXPECT_EQ(server.frames.back().second, "last");
  EXPECT_EQ(server.lost[0], std::pair(server.frames.back().first, PeerLoss::kDisconnected));
  EXPECT_FALSE(server.socket->send(server.lost[0].first, bytes("x")));
  run_for(loop_, milliseconds(50));
  EXPECT_EQ(server.lost.size(), 1u);
  EXPECT_EQ(server.socket->peers(), 1u);
}

TEST_F(Local, WhatAPeerSaidLastIsHeardThoughItCanBeSentNothingAnyMore) {
  Server server(loop_, path());
  const Fd raw = connect_local(path());
  ASSERT_TRUE(send_all(raw, framed("here")));
  ASSERT_TRUE(run_until(loop_, [&] { return server.frames.size() == 1; }));
  const PeerId peer = server.frames[0].first;
  ASSERT_TRUE(send_all(raw, framed("last")));
  shutdown(raw.get(), SHUT_RDWR);
  server.socket->send(peer, bytes("too late"));
  ASSERT_TRUE(run_until(loop_, [&] { return server.lost.size() == 1; }));
  ASSERT_EQ(server.frames.size(), 2u);
  EXPECT_EQ(server.frames[1].second, "last");
}

// The kernel reports an error on a connection whose other end closed with data unread, before the
// data that this end has not read yet.
TEST_F(Local, APeerThatClosesWithUnreadDataIsLostAfterItsLastFrame) {
  Server server(loop_, path());
  Fd raw = connect_local(path());
  ASSERT_TRUE(send_all(raw, framed("here")));
  ASSERT_TRUE(run_until(loop_, [&] { return server.frames.size() == 1; }));
  ASSERT_TRUE(server.socket->send(server.frames[0].first, bytes("never read")));
  char byte = 0;
  ASSERT_TRUE(
      run_until(loop_, [&] { return recv(raw.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 1; }));
  ASSERT_TRUE(send_all(raw, framed("last")));
  raw = Fd();
  ASSERT_TRUE(run_until(
      loop_, [&] { return server.lost.size() == 1; }, seconds(10)));
  EXPECT_EQ(server.frames.back().second, "last");
  EXPECT_EQ(server.lost[0], std::pair(server.frames[0].first, PeerLoss::kDisconnected));
  EXPECT_EQ(server.socket->peers(), 0u);
}

TEST_F(Local, NoticesAKilledProcess) {
  Server server(loop_, path());
  const pid_t child = fork();
  if (child == 0) {
    const Fd raw = connect_local(path());
    send_all(raw, framed("here"));
    while (true) pause();
  }
  ASSERT_TRUE(run_until(loop_, [&] { return server.frames.size() == 1; }));
  EXPECT_TRUE(server.lost.empty());
  kill(child, SIGKILL);
  EXPECT_TRUE(run_until(loop_, [&] { return server.lost.size() == 1; }));
  waitpid(child, nullptr, 0);
}

TEST_F(Local, AClientConnectsOnceTheServerIsThere) {
  Client client(loop_,
                {.path = path(), .backoff = {.min = milliseconds(1), .max = milliseconds(20)}});
  EXPECT_TRUE(client.failures.empty());  // reported from the loop, not within connect()
  ASSERT_TRUE(run_until(loop_, [&] { return client.failures.size() >= 3; }));
  EXPECT_NE(client.failures[0].find(path()), std::string::npos);
  EXPECT_EQ(client.connected, 0);
  EXPECT_FALSE(client.socket->send(bytes("nobody hears this")));

  Server server(loop_, path());
  ASSERT_TRUE(run_until(loop_, [&] { return server.frames.size() == 1; }));
  EXPECT_EQ(server.frames[0].second, "hello");
  EXPECT_TRUE(client.disconnects.empty());
}

TEST_F(Local, AClientComesBackToARestartedServerAsAnotherPeer) {
  auto server = std::make_unique<Server>(loop_, path());
  Client client(loop_,
                {.path = path(), .backoff = {.min = milliseconds(1), .max = milliseconds(20)}});
  ASSERT_TRUE(run_until(loop_, [&] { return server->frames.size() == 1; }));
  server.reset();
  EXPECT_NE(access(path().c_str(), F_OK), 0);
  ASSERT_TRUE(run_until(loop_, [&] { return client.disconnects.size() == 1; }));
  EXPECT_FALSE(client.socket->is_connected());
  // A killed server's socket file exists where the next server listens.
  dir_.write("s", "stale");
  Server restarted(loop_, path());
  ASSERT_TRUE(run_until(loop_, [&] { return restarted.frames.size() == 1; }));
  EXPECT_EQ(restarted.frames[0].second, "hello");
  EXPECT_EQ(client.connected, 2);
  EXPECT_EQ(client.disconnects.size(), 1u);
}

TEST_F(Local, AResetIsAFreshSession) {
  Server server(loop_, path());
  Client client(loop_, {.path = path()});
  ASSERT_TRUE(run_until(loop_, [&] { return server.frames.size() == 1; }));
  client.socket->reset("an older epoch");
  EXPECT_FALSE(client.socket->is_connected());
  EXPECT_FALSE(client.socket->send(bytes("x")));
  EXPECT_TRUE(client.disconnects.empty());  // reported from the loop, not within reset()
  ASSERT_TRUE(
      run_until(loop_, [&] { return server.frames.size() == 2 && server.lost.size() == 1; }));
  EXPECT_EQ(client.disconnects, std::vector<std::string>{"an older epoch"});
  EXPECT_NE(server.frames[0].first, server.frames[1].first);
  EXPECT_EQ(server.lost[0].first, server.frames[0].first);
}

TEST_F(Local, ADroppedPeerHearsWhatItWasToldBeforeAndIsHeardNoMore) {
  Server server(loop_, path());
  Client client(loop_, {.path = path(), .keep_connected = false});
  ASSERT_TRUE(run_until(loop_, [&] { return server.frames.size() == 1; }));
  const PeerId peer = server.frames[0].first;
  server.socket->send(peer, bytes("refused"));
  server.socket->drop(peer);
  EXPECT_FALSE(server.socket->send(peer, bytes("x")));
  client.socket->send(bytes("still here"));
  ASSERT_TRUE(run_until(loop_, [&] { return client.disconnects.size() == 1; }));
  EXPECT_EQ(client.frames, std::vector<std::string>{"refused"});
  EXPECT_EQ(server.frames.size(), 1u);
  EXPECT_TRUE(server.lost.empty());
  EXPECT_EQ(server.socket->peers(), 0u);
}

TEST_F(Local, ASlowPeerIsDroppedAtTheBoundAndOthersGoOn) {
  Server server(loop_, path(), {.outgoing_bytes_max = 4 << 20});
  const Fd slow = connect_local(path());
  ASSERT_TRUE(send_all(slow, framed("slow")));
  ASSERT_TRUE(run_until(loop_, [&] { return server.frames.size() == 1; }));
  const PeerId slow_peer = server.frames[0].first;
  Client client(loop_, {.path = path()}, "quick");
  ASSERT_TRUE(run_until(loop_, [&] { return server.frames.size() == 2; }));
  const PeerId quick_peer = server.frames[1].first;

  const std::string frame(64 * 1024, 'x');
  size_t sent = 0;
  Timer feed(loop_, [&] {
    for (int i = 0; i < 10; ++i) {
      if (!server.socket->send(slow_peer, bytes(frame))) return;
      ++sent;
    }
    server.socket->send(quick_peer, bytes("go on"));
    feed.arm(loop_.now());
  });
  feed.arm(loop_.now());
  ASSERT_TRUE(run_until(loop_, [&] { return server.lost.size() == 1; }));
  EXPECT_EQ(server.lost[0], std::pair(slow_peer, PeerLoss::kOverflow));
  EXPECT_EQ(server.socket->counters().overflows, 1u);
  EXPECT_GE(sent, 60u);
  EXPECT_LT(sent, 1'000u);
  server.socket->send(quick_peer, bytes("the end"));
  EXPECT_TRUE(run_until(
      loop_, [&] { return !client.frames.empty() && client.frames.back() == "the end"; }));
}

TEST_F(Local, FramesQueuedForASlowPeerArriveInOrderOnceItReads) {
  Server server(loop_, path());
  const Fd slow = connect_local(path());
  ASSERT_TRUE(send_all(slow, framed("slow")));
  ASSERT_TRUE(run_until(loop_, [&] { return server.frames.size() == 1; }));
  const PeerId peer = server.frames[0].first;
  const std::string padding(60'000, ' ');
  std::string expected;
  for (size_t i = 0; server.socket->queued(peer) < 3'000'000; ++i) {
    ASSERT_TRUE(server.socket->send(peer, bytes(text(i, padding))));
    expected += framed(text(i, padding));
  }
  std::string received;
  std::string buffer(100'000, '\0');
  EXPECT_TRUE(run_until(loop_, [&] {
    while (true) {
      const ssize_t got = recv(slow.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (got <= 0) return received.size() == expected.size();
      received.append(buffer, 0, static_cast<size_t>(got));
    }
  }));
  EXPECT_TRUE(received == expected);
  EXPECT_EQ(server.socket->queued(peer), 0u);
}

TEST_F(Local, AClientWhoseServerDoesNotReadEndsTheSessionAtTheBound) {
  Server server(loop_, path());
  Client client(loop_, {.path = path(), .keep_connected = false, .outgoing_bytes_max = 1 << 20});
  ASSERT_TRUE(run_until(loop_, [&] { return client.connected == 1; }));
  const std::string frame(64 * 1024, 'x');
  int sent = 0;
  // The loop does not run in between, so the server cannot read.
  while (client.socket->send(bytes(frame))) ++sent;
  EXPECT_GT(sent, 10);
  EXPECT_LT(sent, 1'000);
  EXPECT_FALSE(client.socket->is_connected());
  ASSERT_TRUE(run_until(loop_, [&] { return client.disconnects.size() == 1; }));
  EXPECT_NE(client.disconnects[0].find("slowly"), std::string::npos);
}

TEST_F(Local, HandlersMayDestroyTheirSocket) {
  Server server(loop_, path());
  server.echoes();
  std::unique_ptr<LocalClient> client;
  client = std::make_unique<LocalClient>(
      loop_, LocalClient::Options{.path = path()},
      LocalClient::Handlers{.on_connected =
                                [&] {
                                  client->send(bytes("x"));
                                  client->send(bytes("y"));
                                },
                            .on_frame = [&](std::span<const std::byte>) { client.reset(); }});
  client->connect();
  ASSERT_TRUE(run_until(loop_, [&] { return client == nullptr; }));
  server.also = [&](PeerId, const std::string&) { server.socket.reset(); };
  Client another(loop_, {.path = path(), .keep_connected = false});
  EXPECT_TRUE(run_until(loop_, [&] { return server.socket == nullptr; }));
}

TEST_F(Local, AProcessMayEndRightAfterItsLastMessage) {
  Server server(loop_, path());
  const pid_t child = fork();
  if (child == 0) {
    Loop own;
    Client client(own, {.path = path()}, "");
    if (!run_until(own, [&] { return client.connected == 1; })) _exit(1);
    for (int i = 0; i < 100; ++i) client.socket->send(bytes(std::string(10'000, 'x')));
    client.socket->send(bytes("teardown"));
    client.socket->close_gracefully(seconds(30));
    _exit(0);
  }
  EXPECT_TRUE(run_until(loop_, [&] { return server.lost.size() == 1; }));
  EXPECT_EQ(server.frames.size(), 101u);
  EXPECT_EQ(server.frames.back().second, "teardown");
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(Local, PathsThatCannotBeSocketsAreRefusedWithAReason) {
  const auto refused = LocalServer::bind(loop_, "/" + std::string(200, 'x'), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.error().message().find("107"), std::string::npos);
  const auto nowhere = LocalServer::bind(loop_, (dir_.path() / "no/s").string(), {});
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code(), ErrorCode::kUnavailable);
  Client client(loop_, {.path = std::string(200, 'x'), .keep_connected = false});
  ASSERT_TRUE(run_until(loop_, [&] { return client.failures.size() == 1; }));
}

// --- hostile peers -----------------------------------------------------------------------------

// A server whose owner echoes frames that begin with "ok" and drops all other peers, as a codec
// would, and one healthy peer.
class HostileLocal : public Local {
 protected:
  void start(LocalServer::Options options = {}) {
    server_ = std::make_unique<Server>(loop_, path(), options);
    server_->also = [this](PeerId peer, const std::string& frame) {
      if (frame.starts_with("ok")) {
        server_->socket->send(peer, bytes(frame));
      } else {
        server_->socket->drop(peer);
      }
    };
    healthy_ = std::make_unique<Client>(loop_, LocalClient::Options{.path = path()}, "ok");
    ASSERT_TRUE(run_until(loop_, [this] { return healthy_->frames.size() == 1; }));
  }
  void TearDown() override { EXPECT_TRUE(is_healthy()); }
  bool is_healthy() {
    const size_t before = healthy_->frames.size();
    healthy_->socket->send(bytes("ok"));
    return run_until(loop_, [&] { return healthy_->frames.size() > before; }) &&
           healthy_->disconnects.empty();
  }
  const LocalServer::Counters& counts() const { return server_->socket->counters(); }

  std::unique_ptr<Server> server_;
  std::unique_ptr<Client> healthy_;
};

TEST_F(HostileLocal, GarbageIsEnded) {
  start();
  Prng random(4711);
  for (int i = 0; i < 200; ++i) {
    const Fd raw = connect_local(path());
    ASSERT_GE(raw.get(), 0);
    std::string noise(random.below(300) + 1, '\0');
    for (char& c : noise) c = static_cast<char>(random.below(256));
    send_all(raw, noise);
    if (i % 20 == 0) {
      ASSERT_TRUE(is_healthy());
    }
  }
  EXPECT_TRUE(run_until(loop_, [&] { return server_->socket->peers() == 1; }));
  EXPECT_GT(counts().malformed, 150u);
}

TEST_F(HostileLocal, ALengthOutOfBoundsEndsTheConnectionBeforeAnythingIsKept) {
  start();
  uint64_t malformed = 0;
  for (const size_t size : {size_t{0}, kFrameBytesMax + 1, size_t{0xffffffff}}) {
    const Fd raw = connect_local(path());
    ASSERT_TRUE(send_all(raw, framed("ok") + text_of(frame_header(size))));
    ++malformed;
    ASSERT_TRUE(run_until(loop_, [&] { return counts().malformed == malformed; })) << size;
    ASSERT_TRUE(run_until(loop_, [&] { return server_->lost.size() == malformed; }));
    EXPECT_EQ(server_->lost.back().second, PeerLoss::kMalformed);
    EXPECT_EQ(net_test::receive_all(raw), framed("ok"));
  }
}

TEST_F(HostileLocal, HalfAFrameIsWaitedForAndForgottenWithItsSender) {
  start();
  {
    const Fd raw = connect_local(path());
    ASSERT_TRUE(send_all(raw, framed("ok") + framed(std::string(1'000, 'x')).substr(0, 500)));
    ASSERT_TRUE(run_until(loop_, [&] { return server_->socket->peers() == 2; }));
    ASSERT_TRUE(is_healthy());
    EXPECT_TRUE(server_->lost.empty());
  }
  ASSERT_TRUE(run_until(loop_, [&] { return server_->lost.size() == 1; }));
  EXPECT_EQ(server_->lost[0].second, PeerLoss::kDisconnected);
  EXPECT_EQ(counts().malformed, 0u);
}

TEST_F(HostileLocal, WhoSaysNothingIsShut) {
  start({.speak_within = milliseconds(100)});
  const Fd raw = connect_local(path());
  const Fd half = connect_local(path());
  ASSERT_TRUE(send_all(half, "\x10"));
  ASSERT_TRUE(run_until(loop_, [&] { return counts().silent == 2; }));
  EXPECT_EQ(net_test::receive_all(raw), "");
  EXPECT_TRUE(server_->lost.empty());  // they never were peers
}

TEST_F(HostileLocal, ConnectionsOverTheMaximumAreShut) {
  start({.peers_max = 3});
  std::vector<Fd> raw;
  for (int i = 0; i < 5; ++i) raw.push_back(connect_local(path()));
  ASSERT_TRUE(run_until(loop_, [&] { return counts().refused == 3; }));
  EXPECT_EQ(net_test::receive_all(raw.back()), "");
  raw.clear();
  ASSERT_TRUE(is_healthy());
  const Fd again = connect_local(path());
  ASSERT_TRUE(send_all(again, framed("ok")));
  EXPECT_TRUE(run_until(loop_, [&] { return server_->socket->peers() == 2; }));
}

TEST_F(HostileLocal, AProcessOfAnotherUserIsShut) {
  start();
  if (geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  // As if other users could enter the directory.
  chmod(dir_.path().c_str(), 0755);
  chmod(path().c_str(), 0777);
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(net_test::kNobody) != 0 || setuid(net_test::kNobody) != 0) _exit(2);
    const Fd raw = connect_local(path());
    if (raw.get() < 0) _exit(3);
    send_all(raw, framed("ok"));
    _exit(net_test::receive_all(raw).empty() ? 0 : 1);
  }
  EXPECT_TRUE(run_until(loop_, [&] { return counts().refused == 1; }));
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(server_->socket->peers(), 1u);
}

}  // namespace
}  // namespace proffer::local_test
