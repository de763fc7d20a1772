// Hostile bytes for a real master: it answers with a typed error if it knows the session, else it
// closes the connection. Nothing is lost, and other peers are not disturbed.

#include <algorithm>
#include <csignal>
#include <cstring>

#include <gtest/gtest.h>

#include "common/check.h"
#include "common/prng.h"
#include "net/address.h"
#include "net/dealer.h"
#include "proto/codec/codec.h"
#include "tests/integration/processes.h"

namespace proffer::test {
namespace {

using Bytes = std::vector<std::byte>;

Bytes encoded(const proto::Envelope& envelope) {
  proto::Encoder encoder;
  const auto frame = encoder.encode(envelope);
  CHECK(frame.has_value()) << frame.error().message();
  return Bytes(frame->begin(), frame->end());
}

Bytes encoded(uint64_t sequence, proto::Message message) {
  return encoded({.sequence = sequence, .message = std::move(message)});
}

proto::Subscribe subscribe() {
  return {.name = "raw",
          .role = RoleName("raw"),
          .secret = Secret("0123456789abcdef0123456789abcdef"),
          .failover_timeout = Duration()};
}

// Sends frames as they are, without a driver that would correct them.
class RawPeer {
 public:
  explicit RawPeer(const std::string& master)
      : dealer_(loop_,
                {.endpoint = zmq_endpoint(*parse_socket_or_address("master", master)),
                 .keep_connected = false},
                {.on_connected = [this] { note([this] { connected_ = true; }); },
                 .on_frame =
                     [this](std::span<const std::byte> frame) {
                       auto envelope = proto::decode(frame);
                       note([&] {
                         if (envelope) heard_.push_back(std::move(*envelope->message));
                       });
                     },
                 .on_disconnected = [this](const std::string&) { note([this] { ended_ = true; }); },
                 .on_failed = [this](const std::string&) { note([this] { ended_ = true; }); }}) {
    dealer_.connect();
    CHECK(turn_until([this] { return connected_; }));
  }

  void send(const Bytes& frame) { dealer_.send(frame); }
  bool has_ended() {
    return turn_until([this] { return ended_; });
  }
  // Waits for the next message of this kind.
  template <class Kind>
  std::optional<Kind> hear() {
    std::optional<Kind> found;
    turn_until([&] {
      for (size_t i = 0; i < heard_.size(); ++i) {
        if (const auto* kind = std::get_if<Kind>(&heard_[i])) {
          found = *kind;
          heard_.erase(heard_.begin(), heard_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
          return true;
        }
      }
      return ended_;
    });
    return found;
  }

 private:
  void note(const std::function<void()>& what) {
    what();
    loop_.stop();
  }
  bool turn_until(const std::function<bool()>& done) {
    Timer timer(loop_, [this] { loop_.stop(); });
    const Time deadline = loop_.now() + seconds(30);
    while (!done()) {
      if (loop_.now() >= deadline) return false;
      timer.arm(deadline);
      loop_.run();
    }
    return true;
  }

  Loop loop_;
  Dealer dealer_;
  bool connected_ = false;
  bool ended_ = false;
  std::vector<proto::Message> heard_;
};

class HostilePeers : public testing::Test {
 protected:
  // An honest peer, which must not be disturbed.
  void SetUp() override {
    witness_ = cluster_.start({"run", "--name", "witness", "--", "sleep 1000"});
    ASSERT_TRUE(eventually([&] { return cluster_.running_tasks("witness") == 1; }));
  }
  void TearDown() override {
    EXPECT_EQ(cluster_.running_tasks("witness"), 1);
    EXPECT_EQ(witness_->err(), "");
    EXPECT_EQ(cluster_.proffer({"run", "--", "echo fine"}).out, "fine\n");
    witness_->kill(SIGINT);
    EXPECT_EQ(witness_->wait().code, 130);
  }

  Cluster cluster_;
  std::unique_ptr<Process> witness_;
};

TEST_F(HostilePeers, AFrameThatIsNotAMessageIsAnsweredAndEndsTheSession) {
  RawPeer peer(cluster_.master());
  peer.send(Bytes(64, std::byte{0xA5}));
  const auto error = peer.hear<proto::ErrorMessage>();
  ASSERT_TRUE(error.has_value());
  EXPECT_TRUE(error->ends_session);
}

TEST_F(HostilePeers, AnotherProtocolVersionIsToldWhichAreSpoken) {
  RawPeer peer(cluster_.master());
  peer.send(encoded({.version = 99, .sequence = 1, .message = subscribe()}));
  const auto error = peer.hear<proto::ErrorMessage>();
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, ErrorCode::kUnsupported);
  EXPECT_NE(error->message.find("99"), std::string::npos) << error->message;
}

TEST_F(HostilePeers, AMessageBeforeRegisteringEndsTheSession) {
  RawPeer peer(cluster_.master());
  peer.send(encoded(1, proto::Accept{.offers = {OfferId(1)}}));
  const auto error = peer.hear<proto::ErrorMessage>();
  ASSERT_TRUE(error.has_value());
  EXPECT_TRUE(error->ends_session);
}

TEST_F(HostilePeers, AMessageOfTheWrongDirectionEndsTheSession) {
  RawPeer peer(cluster_.master());
  peer.send(encoded(1, subscribe()));
  ASSERT_TRUE(peer.hear<proto::Subscribed>().has_value());
  peer.send(encoded(2, proto::AgentRegistered{.agent = AgentId("x"), .session = SessionEpoch(1)}));
  const auto error = peer.hear<proto::ErrorMessage>();
  ASSERT_TRUE(error.has_value());
  EXPECT_TRUE(error->ends_session);
}

TEST_F(HostilePeers, AKindOfMessageThatIsNotKnownYetIsIgnored) {
  // The frames differ only in the tag of the union; 0x7FFF is not a known kind.
  Bytes unknown = encoded(2, proto::Suppress{});
  const Bytes other = encoded(2, proto::Revive{});
  ASSERT_EQ(unknown.size(), other.size());
  const auto [tag, ignored] = std::mismatch(unknown.begin(), unknown.end(), other.begin());
  ASSERT_NE(tag, unknown.end());
  tag[0] = std::byte{0xFF};
  tag[1] = std::byte{0x7F};

  RawPeer peer(cluster_.master());
  peer.send(encoded(1, subscribe()));
  ASSERT_TRUE(peer.hear<proto::Subscribed>().has_value());
  peer.send(unknown);
  peer.send(encoded(3, proto::Reconcile{.tasks = {TaskId("never-seen")}}));
  const auto update = peer.hear<proto::Update>();  // the session continues
  ASSERT_TRUE(update.has_value());
  EXPECT_EQ(update->status.reason, proto::TaskReason::kTaskUnknown);
}

TEST_F(HostilePeers, AGapInTheSequenceEndsTheSession) {
  RawPeer peer(cluster_.master());
  peer.send(encoded(1, subscribe()));
  ASSERT_TRUE(peer.hear<proto::Subscribed>().has_value());
  peer.send(encoded(7, proto::Suppress{}));
  const auto error = peer.hear<proto::ErrorMessage>();
  ASSERT_TRUE(error.has_value());
  EXPECT_TRUE(error->ends_session);
}

TEST_F(HostilePeers, AForeignIdIsRefusedForGood) {
  RawPeer peer(cluster_.master());
  proto::Subscribe theft = subscribe();
  theft.framework = FrameworkId("witness-1-1");
  peer.send(encoded(1, theft));
  const auto error = peer.hear<proto::ErrorMessage>();
  ASSERT_TRUE(error.has_value());
  EXPECT_FALSE(error->retry);
}

TEST_F(HostilePeers, GarbageOnThePortEndsThatConnectionOnly) {
  const std::string port = cluster_.master().substr(cluster_.master().find(':') + 1);
  for (const char* command :
       {"printf 'GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'", "head -c 100000 /dev/urandom",
        "head -c 4096 /dev/zero", "printf '\\377\\0\\0\\0\\0\\0\\0\\0\\001\\177'"}) {
    for (int i = 0; i < 5; ++i) {
      run({"bash", "-c",
           "exec 3<>/dev/tcp/127.0.0.1/" + port + "; " + std::string(command) +
               " >&3 2>/dev/null"});
    }
  }
}

TEST_F(HostilePeers, AMessageOverTheBoundEndsTheConnection) {
  // The master's ZeroMQ reads the length and closes the connection. Our Dealer would refuse to send
  // it, so the test writes the bytes itself: a ZMTP 3.0 NULL handshake, then 2 MiB.
  const std::string port = cluster_.master().substr(cluster_.master().find(':') + 1);
  const std::string script =
      "exec 3<>/dev/tcp/127.0.0.1/" + port +
      "; { printf '\\377\\0\\0\\0\\0\\0\\0\\0\\001\\177\\003\\0NULL'; head -c 48 /dev/zero; "
      "printf '\\004\\046\\005READY\\013Socket-Type\\0\\0\\0\\006DEALER\\010Identity\\0\\0\\0\\0'; "
      "printf '\\002\\0\\0\\0\\0\\0\\040\\0\\0'; head -c 2097152 /dev/zero; } >&3 2>/dev/null; "
      "timeout 20 cat <&3 >/dev/null 2>&1; [ $? -eq 124 ] && echo open || echo closed";
  const Exit sent = run({"bash", "-c", script});
  // The connection is closed, or reset if bytes were still in flight.
  EXPECT_EQ(sent.out, "closed\n");
}

TEST_F(HostilePeers, AsksThatCannotBeAreRejectedWithTheReason) {
  RawPeer peer(cluster_.master());
  peer.send(encoded(1, subscribe()));
  ASSERT_TRUE(peer.hear<proto::Subscribed>().has_value());
  Ask ask{.name = AskName("a"), .shape = ResourceVector(), .count = 1};  // zero resources
  peer.send(encoded(2, proto::DeclareAsks{.generation = 1, .asks = {ask}}));
  const auto report = peer.hear<proto::AskReport>();
  ASSERT_TRUE(report.has_value() && report->rows.size() == 1);
  EXPECT_FALSE(report->rows[0].could_ever_fit);
  EXPECT_NE(report->rows[0].why.find("more than zero"), std::string::npos) << report->rows[0].why;
}

}  // namespace
}  // namespace proffer::test
