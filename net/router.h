#pragma once

// The listening side of messages: a ZeroMQ ROUTER whose peers are DEALERs, on a Unix socket, a TCP
// port, or both. With its own key it accepts on TCP only peers with known keys (CURVE): a peer with
// an unknown key is refused in the handshake, and a peer that does not know the Router's key cannot
// get that far.
//
// A peer is one connection. It becomes known with its first well-formed frame and gets a PeerId
// that is never reused; after a reconnect it is another peer. One message is exactly one frame of 1
// to kFrameBytesMax bytes; anything else ends that peer's session and is counted. Empty frames are
// sent sometimes to test whether a peer is still connected: a Dealer ignores them.
//
// Nothing here blocks. Handlers are called from the loop only, never within send() or drop().

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "common/ids.h"
#include "common/limits.h"
#include "common/result.h"
#include "net/accept_guard.h"
#include "net/connection_watch.h"
#include "net/curve_keys.h"
#include "net/loop.h"
#include "net/peer_loss.h"
#include "net/peer_process.h"
#include "net/received_frame.h"

namespace proffer {

class Router {
 public:
  struct Handlers {
    // A handler may keep the frame, or use its span, which is valid during the call only.
    std::function<void(PeerId, ReceivedFrame)> on_frame = {};
    // Called once per peer, after its last frame; the id is unknown from then on. Not called after
    // drop(). Usually within milliseconds of a disconnect, but only the application's heartbeats
    // are reliable.
    std::function<void(PeerId, PeerLoss)> on_lost = {};
    // A connection was closed before its first message: a line for the log. A flood causes many
    // calls.
    std::function<void(const std::string& what)> on_shut = {};
  };
  // Serves TCP with CURVE. `may_connect` is called on the loop for each handshake.
  struct Keys {
    KeyPair own = {};
    std::function<bool(const PublicKey&)> may_connect = {};
    Duration handshake_max = seconds(10);  // after which an incomplete connection is closed
  };
  struct Options {
    std::optional<Keys> keys = {};  // none: TCP is plain, and its peers are not identified
    size_t peers_max = kPeersMax;   // further connections are closed at their first frame
    size_t frames_per_turn = kMessagesPerTurn;
    Duration turn_time_max = kTurnTimeMax;
    // Called before each frame: false leaves it in the socket, and TCP slows its sender down.
    std::function<bool()> may_read = {};
    ConnectionWatch::Options connections = {};
    // Queued for one slow peer, in addition to the queues of ZeroMQ (kSendQueueFrames) and the
    // kernel.
    size_t outgoing_frames_max = kOutgoingPerPeerMax;
    size_t outgoing_bytes_max = kOutgoingBytesPerPeerMax;
  };
  struct Counters {
    uint64_t frames_received = 0;  // passed to on_frame
    uint64_t frames_sent = 0;
    uint64_t malformed = 0;      // messages other than one frame
    uint64_t ignored = 0;        // frames of ended sessions
    uint64_t overflows = 0;      // peers dropped because they read too slowly
    uint64_t peers_refused = 0;  // connections above peers_max
    ConnectionsRefused connections_refused = {};
    uint64_t peers_seen = 0;
    uint64_t peers_lost = 0;
    ConnectionWatch::Counters connections_shut = {};  // before their first complete message
    bool operator==(const Counters&) const = default;
  };

  // Binds "tcp://127.0.0.1:5050" (port 0: any free port; "tcp://[::1]:0"), or "ipc:///path", to
  // which all users of this machine may connect. An existing file at the path is replaced: hold a
  // lock for the path first. Errors: kInvalidArgument (not such an endpoint), kFailedPrecondition
  // (in use, or no such local address), kUnavailable.
  static Result<std::unique_ptr<Router>> bind(Loop& loop, const std::string& endpoint,
                                              Handlers handlers, Options options);
  static Result<std::unique_ptr<Router>> bind(Loop& loop, const std::string& endpoint,
                                              Handlers handlers) {
    return bind(loop, endpoint, std::move(handlers), Options());
  }
  // Queued frames have 100 ms to leave.
  ~Router();
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  // Also listens at this endpoint, as bind().
  Result<void> listen(const std::string& endpoint);

  // The real address of the last endpoint, with its assigned port: "tcp://127.0.0.1:41003".
  const std::string& endpoint() const;
  uint16_t port() const;

  // Queues one frame (1 to kFrameBytesMax bytes; other sizes are a bug), which leaves at the end of
  // the turn, or earlier behind others. False if the peer's session has ended, even because of this
  // frame (overflow): on_lost follows. True does not mean delivery, which only an acknowledgement
  // by the application confirms.
  bool send(PeerId peer, std::span<const std::byte> frame);
  // Ends a peer's session: its queue is freed and its frames are ignored from now on; its
  // connection is closed with its next frame, or within some seconds. No on_lost follows. Unknown
  // peers are ignored.
  void drop(PeerId peer);
  // The same at once, without sending queued frames.
  void cut(PeerId peer);
  // Charges a peer at a Unix socket for `arrivals` connections of its user's allowance
  // (common/load_limits.h), because of the work that it caused; otherwise it could reconnect and
  // continue without end.
  void charge(PeerId peer, int64_t arrivals);

  // Everything that had arrived at this time was read. It is `now` while nothing is to be read.
  Time read_until(Time now) const;
  // False once it was lost or dropped.
  bool has_session(PeerId peer) const;
  bool is_connected(PeerId peer) const;
  size_t peers() const;                         // with a session
  size_t queued(PeerId peer) const;             // frames waiting here for a slow peer
  size_t queued_bytes(PeerId peer) const;       // the size of these frames
  std::string peer_address(PeerId peer) const;  // for logs: "127.0.0.1"
  // For a peer at a Unix socket; none for others, and for unknown peers.
  std::optional<PeerProcess> process_of(PeerId peer) const;
  // The public key of a peer with CURVE; empty for others.
  PublicKey key_of(PeerId peer) const;
  const Counters& counters() const;

 private:
  struct Impl;
  explicit Router(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace proffer
