// Router and Dealer: frames in both directions, begins and ends of sessions, lost and slow peers.

#include <algorithm>
#include <optional>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include "common/check.h"
#include "net/address.h"
#include "net/dealer.h"
#include "net/router.h"
#include "net/zmq_socket.h"
#include "tests/net/peers.h"
#include "tests/net/support.h"

namespace proffer::messages_test {
namespace {

using net_test::bytes;
using net_test::run_for;
using net_test::run_until;
using net_test::text_of;

using Server = net_test::Server<Router>;
using Client = net_test::Client<Dealer>;

// Dealers that read slowly or send garbage: plain libzmq without our rules.
struct RawDealer {
  void* socket;
  RawDealer(Loop& loop, const std::string& endpoint)
      : socket(zmq_socket(zmq_context(loop), ZMQ_DEALER)) {
    const int none = 0;
    zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof none);
    const int few = 10;
    zmq_setsockopt(socket, ZMQ_RCVHWM, &few, sizeof few);
    CHECK_EQ(zmq_connect(socket, endpoint.c_str()), 0);
  }
  ~RawDealer() { zmq_close(socket); }
  RawDealer(const RawDealer&) = delete;
  RawDealer& operator=(const RawDealer&) = delete;
  void send(std::string_view frame, bool more = false) {
    CHECK_GE(zmq_send(socket, frame.data(), frame.size(), more ? ZMQ_SNDMORE : 0), 0);
  }
};

class Transport : public testing::Test {
 protected:
  std::string endpoint() const { return "tcp://127.0.0.1:0"; }
  Loop loop_;
};

// 200 messages arrive at once at either end, and each takes 5 ms: a timer must not wait a second
// for them.
TEST_F(Transport, MessagesThatTakeLongDoNotHoldTimersUp) {
  size_t received = 0;
  std::optional<size_t> received_before_timer;
  Timer timer(loop_, [&] { received_before_timer = received; });
  const auto take_long = [&] {
    if (++received == 1) timer.arm(loop_.now());
    const Time end = loop_.now() + milliseconds(5);
    while (loop_.now() < end) {
    }
  };
  Server server(loop_, endpoint());
  Client client(loop_, {.endpoint = server.socket->endpoint()}, "");
  ASSERT_TRUE(run_until(loop_, [&] { return client.connected == 1; }));

  server.also = [&](PeerId, const std::string&) { take_long(); };
  for (int i = 0; i < 200; ++i) client.socket->send(bytes("question"));
  ASSERT_TRUE(run_until(loop_, [&] { return received == 200; }));
  ASSERT_TRUE(received_before_timer);
  EXPECT_LT(*received_before_timer, 100u);

  client.also = [&](const std::string&) { take_long(); };
  received = 0;
  received_before_timer.reset();
  for (int i = 0; i < 200; ++i) server.socket->send(server.frames[0].first, bytes("answer"));
  ASSERT_TRUE(run_until(loop_, [&] { return received == 200; }));
  ASSERT_TRUE(received_before_timer);
  EXPECT_LT(*received_before_timer, 100u);
}

// So the owner can skip work for a client that has gone.
TEST_F(Transport, FramesOfAPeerThatHasGoneAreKnownAsSuchWhileTheyAreHandled) {
  Server server(loop_, endpoint());
  size_t of_the_gone = 0;
  server.also = [&](PeerId peer, const std::string&) {
    if (!server.socket->is_connected(peer)) ++of_the_gone;
    const Time end = loop_.now() + milliseconds(5);
    while (loop_.now() < end) {
    }
  };
  auto client =
      std::make_unique<Client>(loop_, Dealer::Options{.endpoint = server.socket->endpoint()}, "");
  ASSERT_TRUE(run_until(loop_, [&] { return client->connected == 1; }));
  for (int i = 0; i < 200; ++i) client->socket->send(bytes("question"));
  ASSERT_TRUE(run_until(loop_, [&] { return server.frames.size() > 2; }));
  client.reset();
  ASSERT_TRUE(run_until(loop_, [&] { return !server.lost.empty(); }));
  EXPECT_GT(of_the_gone, 0u);
}

TEST_F(Transport, CarriesFramesBothWaysInOrder) {
  Server server(loop_, endpoint());
  server.echoes();
  Client client(loop_, {.endpoint = server.socket->endpoint()}, "0");
  ASSERT_TRUE(run_until(loop_, [&] { return client.connected == 1; }));
  for (int i = 1; i < 2'000; ++i) EXPECT_TRUE(client.socket->send(bytes(text(i))));
  ASSERT_TRUE(run_until(loop_, [&] { return client.frames.size() == 2'000; }));
  for (int i = 0; i < 2'000; ++i) EXPECT_EQ(client.frames[static_cast<size_t>(i)], text(i));
  EXPECT_EQ(server.socket->peers(), 1u);
  EXPECT_EQ(server.socket->counters().frames_received, 2'000u);
}

TEST_F(Transport, CarriesTheLargestFrameAndEveryByte) {
  Server server(loop_, endpoint());
  server.echoes();
  std::string large(kFrameBytesMax, '\0');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 31);
  Client client(loop_, {.endpoint = server.socket->endpoint()}, large);
  ASSERT_TRUE(run_until(loop_, [&] { return client.frames.size() == 1; }));
  EXPECT_EQ(client.frames[0], large);
}

TEST_F(Transport, TellsALostPeerOnceAndAfterItsLastFrame) {
  Server server(loop_, endpoint());
  auto client =
      std::make_unique<Client>(loop_, Dealer::Options{.endpoint = server.socket->endpoint()});
  Client other(loop_, {.endpoint = server.socket->endpoint()}, "other");
  ASSERT_TRUE(run_until(loop_, [&] { return server.frames.size() == 2; }));
  for (int i = 0; i < 300; ++i) client->socket->send(bytes("x"));
  client->socket->send(bytes("last"));
  client->socket->close_gracefully(seconds(5));
  ASSERT_TRUE(run_until(loop_, [&] { return server.lost.size() == 1; }));
  EXPECT_EQ(server.frames.back().second, "last");
  EXPECT_EQ(server.lost[0], std::pair(server.frames.back().first, PeerLoss::kDisconnected));
  EXPECT_FALSE(server.socket->send(server.lost[0].first, bytes("x")));
  run_for(loop_, milliseconds(50));
  EXPECT_EQ(server.lost.size(), 1u);
  EXPECT_EQ(server.socket->peers(), 1u);
}

TEST_F(Transport, NoticesAKilledProcess) {
  Server server(loop_, endpoint());
  const std::string endpoint = server.socket->endpoint();
  const pid_t child = fork();
  if (child == 0) {
    void* context = zmq_ctx_new();
    void* socket = zmq_socket(context, ZMQ_DEALER);
    zmq_connect(socket, endpoint.c_str());
    zmq_send(socket, "here", 4, 0);
    while (true) pause();
  }
  ASSERT_TRUE(run_until(loop_, [&] { return server.frames.size() == 1; }));
  EXPECT_TRUE(server.lost.empty());
  kill(child, SIGKILL);
  EXPECT_TRUE(run_until(loop_, [&] { return server.lost.size() == 1; }));
  waitpid(child, nullptr, 0);
}

// A busy timer before each send can swallow wake-ups if a socket is not checked in every turn.
TEST_F(Transport, PingPongNeverStallsUnderBusyTimers) {
  Server server(loop_, endpoint());
  server.echoes();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(
        std::make_unique<Client>(loop_, Dealer::Options{.endpoint = server.socket->endpoint()}));
    Client& client = *clients.back();
    client.also = [&client](const std::string& frame) {
      if (client.frames.size() < 3'000) client.socket->send(bytes(frame));
    };
  }
  Timer busy(loop_, [&] {
    const Time end = loop_.now() + milliseconds(2);
    while (loop_.now() < end) {
    }
    if (!server.frames.empty()) server.socket->send(server.frames[0].first, bytes("tick"));
    busy.arm(loop_.now() + milliseconds(5));
  });
  busy.arm(loop_.now());
  EXPECT_TRUE(run_until(loop_, [&] {
    return std::all_of(clients.begin(), clients.end(),
                       [](const auto& client) { return client->frames.size() >= 3'000; });
  }));
}

TEST(Messages, AreAllHandledBeforeATimerArmedByOneOfThem) {
  Loop loop;
  Server server(loop, "tcp://127.0.0.1:0");
  size_t frames_at_decision = 0;
  Timer decide(loop, [&] { frames_at_decision = server.frames.size(); });
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(std::make_unique<Client>(
        loop, Dealer::Options{.endpoint = server.socket->endpoint()}, "x"));
  }
  ASSERT_TRUE(run_until(loop, [&] { return server.frames.size() == 20; }));
  server.also = [&](PeerId, const std::string&) {
    if (!decide.is_armed()) decide.arm(loop.now());
  };
  for (auto& client : clients) client->socket->send(bytes("y"));
  ASSERT_TRUE(run_until(loop, [&] { return server.frames.size() == 40; }));
  ASSERT_TRUE(run_until(loop, [&] { return !decide.is_armed(); }));
  EXPECT_EQ(frames_at_decision, 40u);
}

TEST(Messages, EndpointsInUseOrWrongAreRefusedWithAReason) {
  Loop loop;
  Server server(loop, "tcp://127.0.0.1:0");
  EXPECT_NE(server.socket->port(), 0);
  const auto again = Router::bind(loop, server.socket->endpoint(), {});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), ErrorCode::kFailedPrecondition);
  EXPECT_NE(again.error().message().find(text(server.socket->port())), std::string::npos);
  EXPECT_NE(again.error().hint().find("another port"), std::string::npos);

  for (const std::string wrong :
       {"", "tcp://", "ipc://", "udp://127.0.0.1:1", "127.0.0.1:5050", "tcp://127.0.0.1:x"}) {
    const auto refused = Router::bind(loop, wrong, {});
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument) << wrong;
  }
  const auto remote = Router::bind(loop, "tcp://192.0.2.1:0", {});
  ASSERT_FALSE(remote);
  EXPECT_EQ(remote.error().code(), ErrorCode::kFailedPrecondition);
}

TEST(Messages, TheKernelSaysWhoIsAtTheOtherEndOfAUnixSocket) {
  Loop loop;
  const std::string path = text("/tmp/proffer-messages-", getpid(), ".sock");
  Server server(loop, text("ipc://", path));
  ASSERT_TRUE(server.socket->listen("tcp://127.0.0.1:0"));
  struct stat status = {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0666u);  // all users may connect, for any umask

  Client local(loop, {.endpoint = text("ipc://", path)}, "from here");
  ASSERT_TRUE(run_until(loop, [&] { return server.frames.size() == 1; }));
  const auto process = server.socket->process_of(server.frames[0].first);
  EXPECT_EQ(process, (PeerProcess{.uid = getuid(), .gid = getgid(), .pid = getpid()}));

  Client remote(loop, {.endpoint = text("tcp://127.0.0.1:", server.socket->port())},
                "from anywhere");
  ASSERT_TRUE(run_until(loop, [&] { return server.frames.size() == 2; }));
  EXPECT_EQ(server.socket->process_of(server.frames[1].first), std::nullopt);
}

// Otherwise the client would obey or believe another user of the machine.
TEST(Messages, AClientLeavesAServerOfAUserItDoesNotTrust) {
  Loop loop;
  const std::string path = text("/tmp/proffer-served-", getpid(), ".sock");
  Server server(loop, text("ipc://", path));
  std::optional<uint32_t> served_by;
  Client client(loop, {.endpoint = text("ipc://", path),
                       .may_serve =
                           [&](uint32_t uid) {
                             served_by = uid;
                             return false;
                           },
                       .keep_connected = false});
  ASSERT_TRUE(run_until(loop, [&] { return server.frames.size() == 1; }));
  ASSERT_TRUE(server.socket->send(server.frames[0].first, bytes("obey")));
  ASSERT_TRUE(run_until(loop, [&] { return client.disconnects.size() == 1; }));
  EXPECT_EQ(served_by, getuid());
  EXPECT_TRUE(client.frames.empty());
  EXPECT_NE(client.disconnects[0].find("which is not trusted"), std::string::npos);
}

TEST(Messages, AClientConnectsOnceTheServerIsThere) {
  Loop loop;
  auto [reserved, port] = net_test::reserve_port();
  Client client(loop, {.endpoint = zmq_endpoint({"127.0.0.1", port}),
                       .backoff = {.min = milliseconds(1), .max = milliseconds(20)}});
  ASSERT_TRUE(run_until(loop, [&] { return client.failures.size() >= 3; }));
  EXPECT_NE(client.failures[0].find(text(port)), std::string::npos);
  EXPECT_EQ(client.connected, 0);
  EXPECT_FALSE(client.socket->send(bytes("nobody hears this")));

  reserved = Fd();
  Server server(loop, zmq_endpoint({"127.0.0.1", port}));
  ASSERT_TRUE(run_until(loop, [&] { return server.frames.size() == 1; }));
  EXPECT_EQ(server.frames[0].second, "hello");
  EXPECT_TRUE(client.disconnects.empty());
}

TEST(Messages, AClientComesBackToARestartedServerAsAnotherPeer) {
  Loop loop;
  auto server = std::make_unique<Server>(loop, "tcp://127.0.0.1:0");
  const std::string endpoint = server->socket->endpoint();
  Client client(
      loop, {.endpoint = endpoint, .backoff = {.min = milliseconds(1), .max = milliseconds(20)}});
  ASSERT_TRUE(run_until(loop, [&] { return server->frames.size() == 1; }));
  server.reset();
  ASSERT_TRUE(run_until(loop, [&] { return client.disconnects.size() == 1; }));
  EXPECT_FALSE(client.socket->is_connected());
  // libzmq closes the old listener in the background, so the port may be in use for a moment.
  std::vector<std::string> frames;
  std::unique_ptr<Router> restarted;
  ASSERT_TRUE(run_until(loop, [&] {
    auto bound =
        Router::bind(loop, endpoint, {.on_frame = [&](PeerId, std::span<const std::byte> frame) {
                       frames.push_back(text_of(frame));
                     }});
    if (bound) restarted = *std::move(bound);
    return restarted != nullptr;
  }));
  ASSERT_TRUE(run_until(loop, [&] { return frames.size() == 1; }));
  EXPECT_EQ(frames[0], "hello");
  EXPECT_EQ(client.connected, 2);
  EXPECT_EQ(client.disconnects.size(), 1u);
}

TEST(Messages, AResetIsAFreshSession) {
  Loop loop;
  Server server(loop, "tcp://127.0.0.1:0");
  Client client(loop, {.endpoint = server.socket->endpoint()});
  ASSERT_TRUE(run_until(loop, [&] { return server.frames.size() == 1; }));
  client.socket->reset("an older epoch");
  EXPECT_FALSE(client.socket->is_connected());
  EXPECT_TRUE(client.disconnects.empty());  // reported from the loop, not within reset()
  ASSERT_TRUE(
      run_until(loop, [&] { return server.frames.size() == 2 && server.lost.size() == 1; }));
  EXPECT_EQ(client.disconnects, std::vector<std::string>{"an older epoch"});
  EXPECT_NE(server.frames[0].first, server.frames[1].first);
  EXPECT_EQ(server.lost[0].first, server.frames[0].first);
}

TEST(Messages, ADroppedPeerIsHeardNoMoreAndItsConnectionShut) {
  Loop loop;
  Server server(loop, "tcp://127.0.0.1:0");
  Client client(loop, {.endpoint = server.socket->endpoint(), .keep_connected = false});
  ASSERT_TRUE(run_until(loop, [&] { return server.frames.size() == 1; }));
  const PeerId peer = server.frames[0].first;
  server.socket->drop(peer);
  EXPECT_FALSE(server.socket->send(peer, bytes("x")));
  client.socket->send(bytes("still here"));
  ASSERT_TRUE(run_until(loop, [&] { return client.disconnects.size() == 1; }));
  EXPECT_EQ(server.frames.size(), 1u);
  EXPECT_EQ(server.socket->counters().ignored, 1u);
  EXPECT_TRUE(server.lost.empty());
  EXPECT_EQ(server.socket->peers(), 0u);
}

TEST(Messages, TheFramesOfOneTurnArriveInOrderHoweverManyThereAre) {
  Loop loop;
  Server server(loop, "tcp://127.0.0.1:0");
  Client one(loop, {.endpoint = server.socket->endpoint()}, "one");
  Client two(loop, {.endpoint = server.socket->endpoint()}, "two");
  ASSERT_TRUE(run_until(loop, [&] { return server.frames.size() == 2; }));
  std::vector<std::string> said;
  for (int i = 0; i < 100; ++i) {
    said.push_back(std::to_string(i));
    for (const auto& [peer, hello] : std::vector(server.frames)) {
      ASSERT_TRUE(server.socket->send(peer, bytes(said.back())));
    }
  }
  ASSERT_TRUE(
      run_until(loop, [&] { return one.frames.size() == 100 && two.frames.size() == 100; }));
  EXPECT_EQ(one.frames, said);
  EXPECT_EQ(two.frames, said);
}

TEST(Messages, TheLastWordsOfASessionLeaveBeforeItIsDropped) {
  Loop loop;
  Server server(loop, "tcp://127.0.0.1:0");
  Client client(loop, {.endpoint = server.socket->endpoint(), .keep_connected = false});
  ASSERT_TRUE(run_until(loop, [&] { return server.frames.size() == 1; }));
  const PeerId peer = server.frames[0].first;
  server.socket->send(peer, bytes("you are"));
  server.socket->send(peer, bytes("not welcome"));
  server.socket->drop(peer);
  ASSERT_TRUE(run_until(loop, [&] { return client.frames.size() == 2; }));
  EXPECT_EQ(client.frames[1], "not welcome");
}

// An agent sends its tasks right after its registration, which may be refused.
TEST(Messages, WhatWasOnItsWayWhenASessionEndedDoesNotShutOutItsLastWords) {
  Loop loop;
  Server server(loop, "tcp://127.0.0.1:0");
  server.also = [&](PeerId peer, const std::string&) {
    server.socket->send(peer, bytes("not welcome"));
    server.socket->drop(peer);
  };
  for (size_t i = 0; i < 20; ++i) {
    Client client(loop, {.endpoint = server.socket->endpoint(), .keep_connected = false}, "");
    ASSERT_TRUE(run_until(loop, [&] { return client.connected == 1; }));
    for (int part = 0; part < 3; ++part) client.socket->send(bytes("part"));
    ASSERT_TRUE(
        run_until(loop, [&] { return !client.frames.empty() || !client.disconnects.empty(); }));
    EXPECT_EQ(client.frames, std::vector<std::string>{"not welcome"}) << i;
  }
  EXPECT_EQ(server.frames.size(), 20u);
}

TEST(Messages, ASlowPeerIsDroppedAtTheBoundAndOthersGoOn) {
  Loop loop;
  Server server(loop, "tcp://127.0.0.1:0", {.outgoing_frames_max = 100});
  RawDealer slow(loop, server.socket->endpoint());
  slow.send("slow");
  ASSERT_TRUE(run_until(loop, [&] { return server.frames.size() == 1; }));
  const PeerId slow_peer = server.frames[0].first;
  Client client(loop, {.endpoint = server.socket->endpoint()}, "quick");
  ASSERT_TRUE(run_until(loop, [&] { return server.frames.size() == 2; }));
  const PeerId quick_peer = server.frames[1].first;

  const std::string frame(64 * 1024, 'x');
  size_t sent = 0;
  Timer feed(loop, [&] {
    for (int i = 0; i < 50; ++i) {
      if (!server.socket->send(slow_peer, bytes(frame))) return;
      ++sent;
    }
    server.socket->send(quick_peer, bytes("go on"));
    feed.arm(loop.now());
  });
  feed.arm(loop.now());
  ASSERT_TRUE(run_until(loop, [&] { return server.lost.size() == 1; }));
  EXPECT_EQ(server.lost[0], std::pair(slow_peer, PeerLoss::kOverflow));
  EXPECT_EQ(server.socket->counters().overflows, 1u);
  EXPECT_GT(sent, 100u);
  EXPECT_LT(sent, 100'000u);
  server.socket->send(quick_peer, bytes("the end"));
  EXPECT_TRUE(
      run_until(loop, [&] { return !client.frames.empty() && client.frames.back() == "the end"; }));
}

TEST(Messages, FramesQueuedForASlowPeerArriveInOrderOnceItReads) {
  Loop loop;
  Server server(loop, "tcp://127.0.0.1:0");
  RawDealer slow(loop, server.socket->endpoint());
  slow.send("slow");
  ASSERT_TRUE(run_until(loop, [&] { return server.frames.size() == 1; }));
  const PeerId peer = server.frames[0].first;
  const std::string padding(60'000, ' ');
  size_t sent = 0;
  while (server.socket->queued(peer) < 50) {
    ASSERT_TRUE(server.socket->send(peer, bytes(text(sent, padding))));
    ++sent;
  }
  size_t received = 0;
  std::string buffer(100'000, '\0');
  EXPECT_TRUE(run_until(loop, [&] {
    while (true) {
      const int size = zmq_recv(slow.socket, buffer.data(), buffer.size(), ZMQ_DONTWAIT);
      if (size < 0) return received == sent;
      if (size == 0) continue;  // a probe
      EXPECT_EQ(buffer.substr(0, static_cast<size_t>(size)), text(received, padding));
      ++received;
    }
  }));
  EXPECT_EQ(server.socket->queued(peer), 0u);
}

TEST(Messages, ADealerWhoseServerDoesNotReadEndsTheSessionAtTheBound) {
  Loop loop;
  Server server(loop, "tcp://127.0.0.1:0");
  Client client(
      loop,
      {.endpoint = server.socket->endpoint(), .keep_connected = false, .outgoing_frames_max = 10});
  ASSERT_TRUE(run_until(loop, [&] { return client.connected == 1; }));
  const std::string frame(64 * 1024, 'x');
  int sent = 0;
  // The loop does not run in between, so the Router cannot read.
  while (client.socket->send(bytes(frame))) ++sent;
  EXPECT_GT(sent, 10);
  EXPECT_FALSE(client.socket->is_connected());
  ASSERT_TRUE(run_until(loop, [&] { return client.disconnects.size() == 1; }));
  EXPECT_NE(client.disconnects[0].find("slowly"), std::string::npos);
}

TEST(Messages, HandlersMayDestroyTheirSocket) {
  Loop loop;
  Server server(loop, "tcp://127.0.0.1:0");
  server.echoes();
  std::unique_ptr<Dealer> dealer;
  bool destroyed = false;
  dealer =
      std::make_unique<Dealer>(loop, Dealer::Options{.endpoint = server.socket->endpoint()},
                               Dealer::Handlers{.on_connected = [&] { dealer->send(bytes("x")); },
                                                .on_frame =
                                                    [&](std::span<const std::byte>) {
                                                      dealer.reset();
                                                      destroyed = true;
                                                    }});
  dealer->connect();
  ASSERT_TRUE(run_until(loop, [&] { return destroyed; }));
  server.also = [&](PeerId, const std::string&) { server.socket.reset(); };
  Client client(loop, {.endpoint = server.socket->endpoint(), .keep_connected = false});
  EXPECT_TRUE(run_until(loop, [&] { return server.socket == nullptr; }));
}

TEST(Messages, AProcessMayEndRightAfterItsLastMessage) {
  Loop loop;
  Server server(loop, "tcp://127.0.0.1:0");
  const std::string endpoint = server.socket->endpoint();
  const pid_t child = fork();
  if (child == 0) {
    {
      Loop own;
      Client client(own, {.endpoint = endpoint}, "");
      if (!run_until(own, [&] { return client.connected == 1; })) _exit(1);
      client.socket->send(bytes("teardown"));
      client.socket->close_gracefully(seconds(10));
      client.socket.reset();
    }
    _exit(0);
  }
  EXPECT_TRUE(run_until(loop, [&] { return server.frames.size() == 1; }));
  EXPECT_TRUE(run_until(loop, [&] { return server.lost.size() == 1; }));
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace proffer::messages_test
