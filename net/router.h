#pragma once

// The listening side of messages: a ZeroMQ ROUTER whose peers are DEALERs, on a Unix socket, a TCP
// port, or both. With a key of its own it takes on TCP only peers whose keys are known (CURVE): a
// stranger is refused in the handshake, and a peer without this key does not get so far.
//
// A peer is one connection. It becomes known with its first well-formed frame and gets a PeerId
// that is never given again; after a reconnect it is another peer. One message is exactly one frame
// of 1 to kFrameBytesMax bytes; anything else ends that peer's session and is counted. Empty frames
// go out now and then to find out whether a peer is still connected: a Dealer ignores them.
//
// Nothing here blocks. Handlers are called from the loop only, never from within send() or drop().

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
    // A handler may keep it, or take a span, which is valid during the call only.
    std::function<void(PeerId, ReceivedFrame)> on_frame = {};
    // Told once per peer, after its last frame; the id is unknown from then on. Not told for peers
    // that were dropped by drop(). Within milliseconds of a disconnect as a rule; but the
    // application's heartbeats are what counts.
    std::function<void(PeerId, PeerLoss)> on_lost = {};
    // A connection was shut before it said anything: a line for the log. A flood makes many.
    std::function<void(const std::string& what)> on_shut = {};
  };
  // Serves TCP by CURVE. `may_connect` is asked on the loop for each handshake.
  struct Keys {
    KeyPair own = {};
    std::function<bool(const PublicKey&)> may_connect = {};
    Duration handshake_max = seconds(10);  // a stranger holds a descriptor no longer
  };
  struct Options {
    std::optional<Keys> keys = {};  // none: TCP is plain, and its peers are anybody
    size_t peers_max = kPeersMax;   // more connections are shut when they first speak
    size_t frames_per_turn = kMessagesPerTurn;
    Duration turn_time_max = kTurnTimeMax;
    // Asked before each frame: false leaves it in the sockets, and TCP holds its sender back.
    std::function<bool()> may_read = {};
    ConnectionWatch::Options connections = {};
    // What waits for one slow peer, beside what ZeroMQ (kSendQueueFrames) and the kernel hold.
    size_t outgoing_frames_max = kOutgoingPerPeerMax;
    size_t outgoing_bytes_max = kOutgoingBytesPerPeerMax;
  };
  struct Counters {
    uint64_t frames_received = 0;  // handed to on_frame
    uint64_t frames_sent = 0;
    uint64_t malformed = 0;      // messages that were not one frame
    uint64_t ignored = 0;        // frames of peers whose session had ended
    uint64_t overflows = 0;      // peers dropped because they read too slowly
    uint64_t peers_refused = 0;  // connections over peers_max
    ConnectionsRefused connections_refused = {};
    uint64_t peers_seen = 0;
    uint64_t peers_lost = 0;
    ConnectionWatch::Counters connections_shut = {};  // before they said anything whole
    bool operator==(const Counters&) const = default;
  };

  // Binds "tcp://127.0.0.1:5050" (port 0: any free one; "tcp://[::1]:0"), or "ipc:///path", to
  // which all users of this machine may connect. What is at the path is replaced: hold a lock on
  // its meaning first. Errors: kInvalidArgument (not such an endpoint), kFailedPrecondition (in
  // use, or no such local address), kUnavailable.
  static Result<std::unique_ptr<Router>> bind(Loop& loop, const std::string& endpoint,
                                              Handlers handlers, Options options);
  static Result<std::unique_ptr<Router>> bind(Loop& loop, const std::string& endpoint,
                                              Handlers handlers) {
    return bind(loop, endpoint, std::move(handlers), Options());
  }
  // What was sent is given 100 ms to leave.
  ~Router();
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  // Listens there too, as bind() says.
  Result<void> listen(const std::string& endpoint);

  // The real address of what was bound last, with the port that was given:
  // "tcp://127.0.0.1:41003".
  const std::string& endpoint() const;
  uint16_t port() const;

  // Queues one frame (1 to kFrameBytesMax bytes; anything else is a bug), which leaves at the end
  // of the turn, or sooner behind others. False if the peer's session has ended, also by this very
  // frame (overflow): on_lost says so later. True promises nothing: only the application's
  // acknowledgement does.
  bool send(PeerId peer, std::span<const std::byte> frame);
  // Ends a peer's session: its queue is freed and its frames are ignored from now on; its
  // connection is shut with the next frame it sends, or within some seconds. No on_lost follows.
  // Unknown peers are ignored.
  void drop(PeerId peer);
  // The same at once: it is told nothing more.
  void cut(PeerId peer);
  // A peer that came by a Unix socket made so much work that it counts for `arrivals` of the
  // connections that its user may begin (common/load_limits.h), or it would connect again and go on
  // without end.
  void charge(PeerId peer, int64_t arrivals);

  // False once it was lost or dropped.
  bool has_session(PeerId peer) const;
  bool is_connected(PeerId peer) const;
  size_t peers() const;                         // with a session
  size_t queued(PeerId peer) const;             // frames waiting here for a slow peer
  size_t queued_bytes(PeerId peer) const;       // theirs
  std::string peer_address(PeerId peer) const;  // for logs: "127.0.0.1"
  // Of a peer that came by a Unix socket; none of others, and of unknown ones.
  std::optional<PeerProcess> process_of(PeerId peer) const;
  // The public key of a peer that came by CURVE; empty for others.
  PublicKey key_of(PeerId peer) const;
  const Counters& counters() const;

 private:
  struct Impl;
  explicit Router(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace proffer
