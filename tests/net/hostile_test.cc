// Garbage on the message port: it is counted and its connection is closed; healthy peers are not
// affected.

#include <vector>

#include <gtest/gtest.h>
#include <zmq.h>

#include "common/check.h"
#include "common/prng.h"
#include "net/dealer.h"
#include "net/router.h"
#include "net/zmq_socket.h"
#include "tests/net/support.h"

namespace proffer::hostile_test {
namespace {

using net_test::bytes;
using net_test::connect_tcp;
using net_test::receive_all;
using net_test::run_until;
using net_test::send_all;
using net_test::text_of;

// A Router whose owner accepts frames that begin with "ok" and drops all other peers, as a codec
// would, and one healthy peer that plays ping-pong with it.
class Hostile : public testing::Test {
 protected:
  Hostile() {
    auto bound =
        Router::bind(loop_, "tcp://127.0.0.1:0",
                     {.on_frame =
                          [this](PeerId peer, std::span<const std::byte> frame) {
                            if (text_of(frame).starts_with("ok")) {
                              router_->send(peer, frame);
                            } else {
                              ++refused_;
                              router_->drop(peer);
                            }
                          },
                      .on_lost = [this](PeerId, PeerLoss why) { losses_.push_back(why); }});
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

  Loop loop_;
  std::unique_ptr<Router> router_;
  std::unique_ptr<Dealer> healthy_;
  int echoes_ = 0;
  int refused_ = 0;
  int disconnects_ = 0;
  std::vector<PeerLoss> losses_;
};

TEST_F(Hostile, HttpRequestsAreEnded) {
  for (int i = 0; i < 20; ++i) {
    const Fd client = connect_tcp(router_->port());
    ASSERT_GE(client.get(), 0);
    send_all(client,
             "GET / HTTP/1.1\r\nHost: x\r\nUser-Agent: a browser that is quite lost here\r\n\r\n");
    ASSERT_TRUE(is_healthy());
  }
  EXPECT_EQ(router_->peers(), 1u);
}

TEST_F(Hostile, RandomBytesAreEnded) {
  Prng random(4711);
  for (int i = 0; i < 200; ++i) {
    const Fd client = connect_tcp(router_->port());
    ASSERT_GE(client.get(), 0);
    std::string noise(random.below(300) + 1, '\0');
    for (char& c : noise) c = static_cast<char>(random.below(256));
    send_all(client, noise);
    if (i % 20 == 0) {
      ASSERT_TRUE(is_healthy());
    }
  }
  EXPECT_TRUE(is_healthy());
  EXPECT_TRUE(run_until(loop_, [&] { return router_->peers() == 1; }));
}

// ZMTP 1.0: a length, flags, and the peer's name, which is empty here.
TEST_F(Hostile, PeersOfOldProtocolsAreShut) {
  const Fd client = connect_tcp(router_->port());
  ASSERT_GE(client.get(), 0);
  ASSERT_TRUE(send_all(client, std::string_view("\x01\x00\x03\x00ok", 6)));
  receive_all(client);  // libzmq's greeting, and the end of the connection
  EXPECT_EQ(refused_, 0);
  EXPECT_TRUE(is_healthy());
}

// libzmq takes bytes that are no ZMTP for ZMTP 1, and aborted the process if the socket was closed
// during such a handshake.
TEST(HostileEnd, ARouterMayEndWhileItIsBeingSentNoise) {
  Loop loop;
  Prng random(4712);
  for (int round = 0; round < 50; ++round) {
    auto router = Router::bind(loop, "tcp://127.0.0.1:0", {});
    ASSERT_TRUE(router) << router.error().message();
    std::vector<Fd> clients;
    for (int i = 0; i < 20; ++i) {
      clients.push_back(connect_tcp((*router)->port()));
      std::string noise(random.below(300) + 1, '\0');
      for (char& c : noise) c = static_cast<char>(random.below(256));
      send_all(clients.back(), noise);
    }
  }
}

TEST_F(Hostile, MessagesOfSeveralOrEmptyFramesEndTheirSession) {
  for (const int parts : {2, 3, 1'000}) {
    losses_.clear();
    void* raw = zmq_socket(zmq_context(loop_), ZMQ_DEALER);
    ASSERT_EQ(zmq_connect(raw, router_->endpoint().c_str()), 0);
    zmq_send(raw, "ok", 2, 0);
    ASSERT_TRUE(run_until(loop_, [&] { return router_->peers() == 2; }));
    const uint64_t before = router_->counters().malformed;
    for (int i = 0; i < parts; ++i) zmq_send(raw, "part", 4, i + 1 < parts ? ZMQ_SNDMORE : 0);
    ASSERT_TRUE(run_until(loop_, [&] { return router_->counters().malformed > before; }));
    ASSERT_TRUE(run_until(loop_, [&] { return losses_.size() == 1; }));
    EXPECT_EQ(losses_[0], PeerLoss::kMalformed);
    EXPECT_EQ(router_->peers(), 1u);
    ASSERT_TRUE(is_healthy());
    zmq_close(raw);
  }
  void* raw = zmq_socket(zmq_context(loop_), ZMQ_DEALER);
  ASSERT_EQ(zmq_connect(raw, router_->endpoint().c_str()), 0);
  const uint64_t before = router_->counters().malformed;
  zmq_send(raw, "", 0, 0);
  EXPECT_TRUE(run_until(loop_, [&] { return router_->counters().malformed > before; }));
  EXPECT_TRUE(is_healthy());
  zmq_close(raw);
}

TEST_F(Hostile, AMultipartFloodOfOnePeerIsDroppedAsItComes) {
  void* raw = zmq_socket(zmq_context(loop_), ZMQ_DEALER);
  const int none = 0;
  zmq_setsockopt(raw, ZMQ_LINGER, &none, sizeof none);
  ASSERT_EQ(zmq_connect(raw, router_->endpoint().c_str()), 0);
  // Complete messages of 50 parts each; the connection is shut at the first one that arrives.
  for (int message = 0; message < 500; ++message) {
    for (int i = 0; i < 50; ++i) {
      if (zmq_send(raw, "part", 4, (i < 49 ? ZMQ_SNDMORE : 0) | ZMQ_DONTWAIT) < 0) break;
    }
  }
  EXPECT_TRUE(run_until(loop_, [&] { return router_->counters().malformed > 0; }));
  EXPECT_TRUE(is_healthy());
  EXPECT_EQ(router_->peers(), 1u);
  EXPECT_EQ(refused_, 0);
  zmq_close(raw);
}

TEST_F(Hostile, AFrameOverTheMaximumEndsItsConnection) {
  void* raw = zmq_socket(zmq_context(loop_), ZMQ_DEALER);
  const int none = 0;
  zmq_setsockopt(raw, ZMQ_LINGER, &none, sizeof none);
  const int never = -1;
  zmq_setsockopt(raw, ZMQ_RECONNECT_IVL, &never, sizeof never);
  ASSERT_EQ(zmq_connect(raw, router_->endpoint().c_str()), 0);
  zmq_send(raw, "ok", 2, 0);
  ASSERT_TRUE(run_until(loop_, [&] { return router_->peers() == 2; }));
  const std::string large(kFrameBytesMax + 1, 'x');
  zmq_send(raw, large.data(), large.size(), 0);
  ASSERT_TRUE(run_until(loop_, [&] { return losses_.size() == 1; }));
  EXPECT_EQ(losses_[0], PeerLoss::kDisconnected);
  EXPECT_EQ(refused_, 0);
  EXPECT_TRUE(is_healthy());
  zmq_close(raw);
}

TEST(HostileCount, ConnectionsOverTheMaximumAreShutAndTheOthersStay) {
  Loop loop;
  int lost = 0;
  std::vector<PeerId> known;
  std::unique_ptr<Router> router;
  auto bound = Router::bind(
      loop, "tcp://127.0.0.1:0",
      {.on_frame = [&](PeerId peer, std::span<const std::byte>) { known.push_back(peer); },
       .on_lost = [&](PeerId, PeerLoss) { ++lost; }},
      {.peers_max = 3});
  ASSERT_TRUE(bound);
  router = *std::move(bound);
  std::vector<std::unique_ptr<Dealer>> dealers;
  int disconnects = 0;
  for (int i = 0; i < 5; ++i) {
    const size_t at = dealers.size();
    dealers.push_back(std::make_unique<Dealer>(
        loop, Dealer::Options{.endpoint = router->endpoint(), .keep_connected = false},
        Dealer::Handlers{.on_connected = [&, at] { dealers[at]->send(bytes("x")); },
                         .on_frame = {},
                         .on_disconnected = [&](const std::string&) { ++disconnects; }}));
    dealers.back()->connect();
  }
  ASSERT_TRUE(run_until(loop, [&] { return known.size() == 3 && disconnects == 2; }));
  EXPECT_EQ(router->counters().peers_refused, 2u);
  EXPECT_EQ(router->peers(), 3u);
  EXPECT_EQ(lost, 0);
  for (const PeerId peer : known) EXPECT_TRUE(router->send(peer, bytes("stay")));
}

}  // namespace
}  // namespace proffer::hostile_test
