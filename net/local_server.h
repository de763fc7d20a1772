#pragma once

// The listening side of messages within one machine: a Unix stream socket, frames with their length
// before them (net/frame_reader.h). For executors, which begin and end with their tasks: nothing of
// it starts a thread or needs a handshake.
//
// A peer is one connection of a process; those of users that are not admitted are shut at once. It
// becomes known with its first frame and gets a PeerId that is never given again; after a reconnect
// it is another peer. What is no frame of 1 to kFrameBytesMax bytes ends that peer's session and is
// counted.
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
#include "common/time.h"
#include "net/loop.h"
#include "net/peer_loss.h"

namespace proffer {

class LocalServer {
 public:
  struct Handlers {
    // The bytes are valid during the call only and not aligned.
    std::function<void(PeerId, std::span<const std::byte>)> on_frame = {};
    // Told once per peer, after its last frame; the id is unknown from then on. Not told for peers
    // that were dropped by drop().
    std::function<void(PeerId, PeerLoss)> on_lost = {};
  };
  struct Options {
    size_t peers_max = kLocalPeersMax;  // more connections are shut
    // How many connections a user may have; asked at each connection. None: those of this process's
    // user are admitted and nobody else's. If it is given, every user of the machine can reach the
    // socket; the folder it lies in must let them pass.
    std::function<size_t(uint32_t uid)> connections_of = {};
    size_t outgoing_bytes_max = kOutgoingBytesPerPeerMax;  // waiting for one slow peer
    Duration speak_within = seconds(10);                   // a connection that says nothing is shut
  };
  struct Counters {
    uint64_t frames_received = 0;  // handed to on_frame
    uint64_t frames_sent = 0;
    uint64_t malformed = 0;   // connections that were not frames
    uint64_t overflows = 0;   // peers dropped because they read too slowly
    uint64_t refused = 0;     // connections over peers_max, or of a user over its own
    uint64_t silent = 0;      // connections that said nothing in time
    uint64_t unaccepted = 0;  // attempts to accept that failed, for want of descriptors mostly
    bool operator==(const Counters&) const = default;
  };

  // Binds the path, in place of what is there: hold a lock on its meaning first, and keep it in a
  // folder that others cannot write to. Errors: kInvalidArgument (longer than a socket's path may
  // be), kUnavailable.
  static Result<std::unique_ptr<LocalServer>> bind(Loop& loop, const std::string& path,
                                                   Handlers handlers, Options options);
  static Result<std::unique_ptr<LocalServer>> bind(Loop& loop, const std::string& path,
                                                   Handlers handlers) {
    return bind(loop, path, std::move(handlers), Options());
  }
  // Takes the path away. What was sent is given to the kernel, as far as it has room.
  ~LocalServer();
  LocalServer(const LocalServer&) = delete;
  LocalServer& operator=(const LocalServer&) = delete;

  const std::string& path() const;

  // Sends or queues one frame (1 to kFrameBytesMax bytes; anything else is a bug). False if the
  // peer's session has ended, also by this very frame (overflow): on_lost says so later. True
  // promises nothing: only the application's acknowledgement does.
  bool send(PeerId peer, std::span<const std::byte> frame);
  // Ends a peer's session and connection, after what was sent to it so far, as far as the kernel
  // has room. No on_lost follows. Unknown peers are ignored.
  void drop(PeerId peer);

  bool is_connected(PeerId peer) const;
  // The user of its process, by the kernel; none if the peer is unknown.
  std::optional<uint32_t> uid_of(PeerId peer) const;
  size_t peers() const;              // with a session
  size_t queued(PeerId peer) const;  // bytes waiting here for a slow peer
  const Counters& counters() const;

 private:
  struct Impl;
  explicit LocalServer(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace proffer
