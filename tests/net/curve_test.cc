// Keys: their files, and which peers a Router with keys admits.

#include <algorithm>
#include <array>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zmq.h>

#include "common/load_limits.h"
#include "common/text.h"
#include "net/curve_keys.h"
#include "net/dealer.h"
#include "net/router.h"
#include "net/zmq_socket.h"
#include "tests/net/peers.h"
#include "tests/net/support.h"

namespace proffer::curve_test {
namespace {

using net_test::bytes;
using net_test::run_for;
using net_test::run_until;
using testing::HasSubstr;
using Server = net_test::Server<Router>;
using Client = net_test::Client<Dealer>;

// --- files ---------------------------------------------------------------------------------------

class KeyFile : public testing::Test {
 protected:
  net_test::TempDir directory_;
  std::string path_ = directory_.path() / "master.key";
};

TEST_F(KeyFile, ComesBackAsItWasWrittenAndIsForItsOwnerOnly) {
  const KeyPair keys = make_key_pair();
  ASSERT_TRUE(write_key_file(path_, keys));
  struct stat found = {};
  ASSERT_EQ(stat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  const Result<KeyPair> read = read_key_file(path_);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, keys);
  EXPECT_NE(make_key_pair(), keys);
}

TEST_F(KeyFile, IsNeverReplaced) {
  const KeyPair keys = make_key_pair();
  ASSERT_TRUE(write_key_file(path_, keys));
  const Result<void> again = write_key_file(path_, make_key_pair());
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), ErrorCode::kAlreadyExists);
  EXPECT_EQ(*read_key_file(path_), keys);
}

TEST_F(KeyFile, ThatOthersMayReadIsRefusedWithTheCommandThatMendsIt) {
  ASSERT_TRUE(write_key_file(path_, make_key_pair()));
  for (const mode_t wider : {0640, 0604, 0660, 0606}) {
    ASSERT_EQ(chmod(path_.c_str(), wider), 0);
    const Result<KeyPair> read = read_key_file(path_);
    ASSERT_FALSE(read) << wider;
    EXPECT_EQ(read.error().code(), ErrorCode::kFailedPrecondition);
    EXPECT_THAT(read.error().hint(), HasSubstr("chmod 600 " + path_));
  }
}

TEST_F(KeyFile, ThatIsDamagedIsRefusedWithoutItsTextInTheMessage) {
  const KeyPair keys = make_key_pair();
  ASSERT_TRUE(write_key_file(path_, keys));
  std::ifstream in(path_);
  const std::string good{std::istreambuf_iterator<char>(in), {}};
  std::string flipped = good;
  flipped[flipped.size() - 3] = flipped[flipped.size() - 3] == 'a' ? 'b' : 'a';
  for (const std::string& bad : {std::string(), good.substr(0, 60), flipped, "x" + good}) {
    directory_.write("master.key", bad);
    const Result<KeyPair> read = read_key_file(path_);
    ASSERT_FALSE(read) << bad;
    EXPECT_EQ(read.error().code(), ErrorCode::kCorruption);
    EXPECT_EQ(read.error().message().find(keys.secret_key.substr(0, 10)), std::string::npos);
  }
  EXPECT_EQ(read_key_file(path_ + ".not").error().code(), ErrorCode::kNotFound);
}

// --- connections ---------------------------------------------------------------------------------

// A Router with a key, on TCP and on a Unix socket, that echoes frames.
class Curve : public testing::Test {
 protected:
  Curve() {
    server_.echoes();
    tcp_ = server_.socket->endpoint();
  }
  Dealer::Options with(KeyPair own, PublicKey server) const {
    return {.endpoint = tcp_,
            .keys = ClientKeys{.own = std::move(own), .server = std::move(server)},
            .keep_connected = false};
  }
  // The connection fails without a session, and the server gets no frame.
  std::string is_refused(Client& client) {
    EXPECT_TRUE(run_until(loop_, [&] { return !client.failures.empty(); }));
    EXPECT_EQ(client.connected, 0);
    EXPECT_TRUE(server_.frames.empty());
    EXPECT_EQ(server_.socket->peers(), 0u);
    return client.failures.empty() ? "" : client.failures.front();
  }
  // A healthy peer is served, in spite of strangers.
  void serves_a_known_key() {
    Client client(loop_, with(known_, master_.public_key));
    EXPECT_TRUE(run_until(loop_, [&] { return client.frames.size() == 1; }));
    EXPECT_EQ(server_.frames.size(), 1u);
  }

  Loop loop_;
  const KeyPair master_ = make_key_pair();
  const KeyPair known_ = make_key_pair();
  std::set<PublicKey> keys_ = {known_.public_key};
  std::vector<PublicKey> asked_;
  Server server_{loop_, "tcp://127.0.0.1:0",
                 Router::Options{.keys = Router::Keys{.own = master_,
                                                      .may_connect = [this](const PublicKey& key) {
                                                        asked_.push_back(key);
                                                        return keys_.contains(key);
                                                      }}}};
  std::string tcp_;
};

TEST_F(Curve, APeerWithAKnownKeyIsServedAndNamedByIt) {
  Client client(loop_, with(known_, master_.public_key));
  ASSERT_TRUE(run_until(loop_, [&] { return client.frames.size() == 1; }));
  const PeerId peer = server_.frames.at(0).first;
  EXPECT_EQ(server_.socket->key_of(peer), known_.public_key);
  EXPECT_FALSE(server_.socket->process_of(peer));
  EXPECT_EQ(client.frames.at(0), "hello");
}

// `proffer keys rotate` has changed the file meanwhile.
TEST_F(Curve, EachAttemptIsMadeWithTheKeysOfItsTime) {
  const KeyPair successor = make_key_pair();
  keys_.insert(successor.public_key);
  Dealer::Options options = with(known_, master_.public_key);
  options.keep_connected = true;
  std::vector<PublicKey> before;
  options.keys_now = [&](const ClientKeys& keys) {
    before.push_back(keys.own.public_key);
    return ClientKeys{.own = before.size() == 1 ? known_ : successor, .server = keys.server};
  };
  Client client(loop_, options);
  ASSERT_TRUE(run_until(loop_, [&] { return client.frames.size() == 1; }));
  keys_.erase(known_.public_key);
  client.socket->reset("its key has ended");
  ASSERT_TRUE(run_until(loop_, [&] { return client.frames.size() == 2; }));
  EXPECT_EQ(server_.socket->key_of(server_.frames.at(1).first), successor.public_key);
  EXPECT_EQ(before, (std::vector{known_.public_key, known_.public_key}));
}

TEST_F(Curve, AnUnknownKeyIsRefusedInTheHandshakeAndToldSo) {
  Client client(loop_, with(make_key_pair(), master_.public_key));
  EXPECT_THAT(is_refused(client), HasSubstr("refuses this key"));
  EXPECT_EQ(asked_.size(), 1u);
  serves_a_known_key();
}

// A client with another peer's public key cannot prove that it has the secret key.
TEST_F(Curve, AnothersPublicKeyIsOfNoUseWithoutItsSecretHalf) {
  KeyPair stolen = make_key_pair();
  stolen.public_key = known_.public_key;
  Client client(loop_, with(stolen, master_.public_key));
  is_refused(client);
  EXPECT_TRUE(asked_.empty());
  serves_a_known_key();
}

TEST_F(Curve, AClientThatPinnedAnotherServersKeyDoesNotTalkToThisOne) {
  Client client(loop_, with(known_, make_key_pair().public_key));
  EXPECT_THAT(is_refused(client), HasSubstr("does not have the key"));
  EXPECT_TRUE(asked_.empty());
  serves_a_known_key();
}

TEST_F(Curve, PlainPeersAreRefused) {
  Client client(loop_, {.endpoint = tcp_, .keep_connected = false});
  EXPECT_THAT(is_refused(client), HasSubstr("may require a key"));
  EXPECT_TRUE(asked_.empty());
  serves_a_known_key();
}

TEST_F(Curve, PeersThatOfferAPasswordAreRefused) {
  void* socket = zmq_socket(zmq_context(loop_), ZMQ_DEALER);
  const int none = 0;
  zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof none);
  ASSERT_EQ(zmq_setsockopt(socket, ZMQ_PLAIN_USERNAME, "root", 4), 0);
  ASSERT_EQ(zmq_setsockopt(socket, ZMQ_PLAIN_PASSWORD, "root", 4), 0);
  ASSERT_EQ(zmq_connect(socket, tcp_.c_str()), 0);
  ASSERT_GE(zmq_send(socket, "hello", 5, 0), 0);
  run_for(loop_, milliseconds(300));
  EXPECT_TRUE(server_.frames.empty());
  EXPECT_TRUE(asked_.empty());
  zmq_close(socket);
  serves_a_known_key();
}

// A client with keys does not connect in plain text to a server without keys.
TEST_F(Curve, AClientWithKeysDoesNotFallBackToAPlainServer) {
  Server plain(loop_, "tcp://127.0.0.1:0");
  Dealer::Options options = with(known_, master_.public_key);
  options.endpoint = plain.socket->endpoint();
  Client client(loop_, options);
  ASSERT_TRUE(run_until(loop_, [&] { return !client.failures.empty(); }));
  EXPECT_EQ(client.connected, 0);
  EXPECT_TRUE(plain.frames.empty());
}

// Bytes that are no handshake, and a handshake that never completes.
TEST_F(Curve, GarbageAndSilenceCostNobodyElseAnything) {
  const Fd silent = net_test::connect_tcp(server_.socket->port());
  const Fd garbage = net_test::connect_tcp(server_.socket->port());
  ASSERT_TRUE(net_test::send_all(garbage, std::string(4'096, 'G')));
  serves_a_known_key();
  EXPECT_EQ(server_.socket->counters().malformed, 0u);
}

// They reconnect repeatedly, each time with a complete handshake before the refusal.
TEST_F(Curve, AFloodOfStrangersDoesNotHoldUpAKnownPeer) {
  std::vector<std::unique_ptr<Client>> strangers;
  for (int i = 0; i < 20; ++i) {
    Dealer::Options options = with(make_key_pair(), master_.public_key);
    options.endpoint = text("tcp://127.0.0.8:0;127.0.0.1:", server_.socket->port());
    options.keep_connected = true;
    options.backoff = {.min = milliseconds(5), .max = milliseconds(20)};
    strangers.push_back(std::make_unique<Client>(loop_, std::move(options)));
  }
  ASSERT_TRUE(run_until(loop_, [&] { return asked_.size() > 40; }));
  Client client(loop_, with(known_, master_.public_key), "0");
  client.also = [&](const std::string&) { client.socket->send(bytes("again")); };
  ASSERT_TRUE(run_until(loop_, [&] { return client.frames.size() > 100 && asked_.size() > 50; }));
  EXPECT_EQ(server_.socket->peers(), 1u);
  for (const auto& stranger : strangers) EXPECT_EQ(stranger->connected, 0);
}

// An address with too many unknown keys gets no more connections: a handshake costs CPU time, and
// is allowed a few times per second. (The address differs from those of other tests.)
TEST_F(Curve, AnAddressOfStrangersIsKeptOutAfterSomeHandshakes) {
  const std::string port = text(server_.socket->port());
  std::vector<std::unique_ptr<Client>> strangers;
  for (int i = 0; i < 20; ++i) {
    Dealer::Options options = with(make_key_pair(), master_.public_key);
    options.endpoint = text("tcp://127.0.0.9:0;127.0.0.1:", port);
    options.keep_connected = true;
    options.backoff = {.min = milliseconds(5), .max = milliseconds(20)};
    strangers.push_back(std::make_unique<Client>(loop_, std::move(options)));
  }
  const Time begun = loop_.now();
  ASSERT_TRUE(run_until(
      loop_, [&] { return server_.socket->counters().connections_refused.of_strangers > 200; }));
  const int64_t seconds_taken = (loop_.now() - begun).millis() / 1'000 + 1;
  // Each client had at most one unfinished handshake when the last one was counted.
  EXPECT_LE(asked_.size(), kStrangersBurst + kStrangersPerSecond * seconds_taken + 20);
  serves_a_known_key();
}

TEST_F(Curve, WhoDoesNotFinishTheHandshakeIsShut) {
  Server server(
      loop_, "tcp://127.0.0.1:0",
      Router::Options{.keys = Router::Keys{.own = master_,
                                           .may_connect = [](const PublicKey&) { return true; },
                                           .handshake_max = milliseconds(200)}});
  const Fd silent = net_test::connect_tcp(server.socket->port());
  // libzmq's own timeout is half a minute.
  const timeval timeout{9, 0};
  setsockopt(silent.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  // It gets only the greeting before the end.
  EXPECT_LE(net_test::receive_all(silent).size(), 64u);
  char more = 0;
  EXPECT_EQ(recv(silent.get(), &more, 1, MSG_DONTWAIT), 0);
}

TEST_F(Curve, UnixSocketsOfTheSameRouterNeedNoKey) {
  const net_test::TempDir directory;
  const std::string path = directory.path() / "master.sock";
  ASSERT_TRUE(server_.socket->listen("ipc://" + path));
  Client local(loop_, {.endpoint = "ipc://" + path, .keep_connected = false});
  ASSERT_TRUE(run_until(loop_, [&] { return local.frames.size() == 1; }));
  const PeerId peer = server_.frames.at(0).first;
  EXPECT_TRUE(server_.socket->process_of(peer));
  EXPECT_EQ(server_.socket->key_of(peer), PublicKey());
  EXPECT_TRUE(asked_.empty());

  // TCP still needs keys, also afterwards.
  Client plain(loop_, {.endpoint = tcp_, .keep_connected = false});
  ASSERT_TRUE(run_until(loop_, [&] { return !plain.failures.empty(); }));
  EXPECT_EQ(server_.frames.size(), 1u);
}

// Each has its own key and its own list of peers.
TEST_F(Curve, TwoRoutersOfOneLoopAskForTheirOwnPeers) {
  const KeyPair other_master = make_key_pair();
  const KeyPair other_known = make_key_pair();
  Server other(loop_, "tcp://127.0.0.1:0",
               Router::Options{.keys = Router::Keys{.own = other_master,
                                                    .may_connect = [&](const PublicKey& key) {
                                                      return key == other_known.public_key;
                                                    }}});
  Dealer::Options options = with(known_, other_master.public_key);
  options.endpoint = other.socket->endpoint();
  Client foreign(loop_, options);
  ASSERT_TRUE(run_until(loop_, [&] { return !foreign.failures.empty(); }));
  EXPECT_EQ(foreign.connected, 0);
  options.keys->own = other_known;
  Client own(loop_, options, "mine");
  ASSERT_TRUE(run_until(loop_, [&] { return other.frames.size() == 1; }));
  EXPECT_TRUE(server_.frames.empty());
}

// As when a key is revoked: its connection ends although the peer sends nothing, and the peer
// cannot reconnect.
TEST_F(Curve, ADroppedPeerThatStaysSilentLosesItsConnection) {
  Client client(loop_, with(known_, master_.public_key));
  ASSERT_TRUE(run_until(loop_, [&] { return client.frames.size() == 1; }));
  const PeerId peer = server_.frames.at(0).first;
  keys_.clear();
  server_.socket->send(peer, bytes("revoked"));
  server_.socket->drop(peer);
  ASSERT_TRUE(run_until(loop_, [&] { return !client.disconnects.empty(); }));
  EXPECT_EQ(client.frames.back(), "revoked");
  EXPECT_FALSE(server_.socket->is_connected(peer));

  Client again(loop_, with(known_, master_.public_key));
  ASSERT_TRUE(run_until(loop_, [&] { return !again.failures.empty(); }));
  EXPECT_EQ(again.connected, 0);
  EXPECT_EQ(server_.frames.size(), 1u);
}

// The authentication handler ends with the last Router that needs it, and is created again.
TEST_F(Curve, RoutersWithKeysMayComeAndGoInOneLoop) {
  server_.socket.reset();
  for (int i = 0; i < 20; ++i) {
    Server server(loop_, "tcp://127.0.0.1:0",
                  Router::Options{.keys = Router::Keys{.own = master_,
                                                       .may_connect = [this](const PublicKey& key) {
                                                         return keys_.contains(key);
                                                       }}});
    Dealer::Options options = with(known_, master_.public_key);
    options.endpoint = server.socket->endpoint();
    Client client(loop_, options);
    ASSERT_TRUE(run_until(loop_, [&] { return server.frames.size() == 1; })) << i;
    options.keys->own = make_key_pair();
    Client stranger(loop_, options);
    ASSERT_TRUE(run_until(loop_, [&] { return !stranger.failures.empty(); })) << i;
    EXPECT_EQ(server.frames.size(), 1u);
  }
}

}  // namespace
}  // namespace proffer::curve_test
