#pragma once

// The listening side of messages within one machine: a Unix stream socket, with length-prefixed
// frames (net/frame_reader.h). It is for executors, which begin and end with their tasks, so it
// needs no thread and no handshake.
//
// A peer is one connection of a process; connections of users who are not admitted are closed at
// once. A peer becomes known with its first frame and gets a PeerId that is never reused; after a
// reconnect it is another peer. Bytes that are not a frame of 1 to kFrameBytesMax bytes end the
// peer's session and are counted.
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
#include "common/time.h"
#include "net/loop.h"
#include "net/peer_loss.h"

namespace proffer {

class LocalServer {
 public:
  struct Handlers {
    // The bytes are valid during the call only and not aligned.
    std::function<void(PeerId, std::span<const std::byte>)> on_frame = {};
    // Called once per peer, after its last frame; the id is unknown from then on. Not called after
    // drop().
    std::function<void(PeerId, PeerLoss)> on_lost = {};
  };
  struct Options {
    size_t peers_max = kLocalPeersMax;  // further connections are closed
    // The maximum of connections of a user; called for each connection. None: only this process's
    // user is admitted. If it is given, every user of the machine can reach the socket, provided
    // that the socket's folder lets them pass.
    std::function<size_t(uint32_t uid)> connections_of = {};
    size_t outgoing_bytes_max = kOutgoingBytesPerPeerMax;  // queued for one slow peer
    Duration speak_within = seconds(10);                   // a connection without a frame is closed
  };
  struct Counters {
    uint64_t frames_received = 0;  // passed to on_frame
    uint64_t frames_sent = 0;
    uint64_t malformed = 0;   // connections with invalid frames
    uint64_t overflows = 0;   // peers dropped because they read too slowly
    uint64_t refused = 0;     // connections above peers_max, or above their user's maximum
    uint64_t silent = 0;      // connections without a frame in time
    uint64_t unaccepted = 0;  // failed accepts, mostly for lack of descriptors
    bool operator==(const Counters&) const = default;
  };

  // Binds the path, replacing an existing file: hold a lock for the path first, and put it in a
  // folder that other users cannot write to. Errors: kInvalidArgument (the path is too long for a
  // socket), kUnavailable.
  static Result<std::unique_ptr<LocalServer>> bind(Loop& loop, const std::string& path,
                                                   Handlers handlers, Options options);
  static Result<std::unique_ptr<LocalServer>> bind(Loop& loop, const std::string& path,
                                                   Handlers handlers) {
    return bind(loop, path, std::move(handlers), Options());
  }
  // Removes the path. Queued frames are passed to the kernel, as far as it has room.
  ~LocalServer();
  LocalServer(const LocalServer&) = delete;
  LocalServer& operator=(const LocalServer&) = delete;

  const std::string& path() const;

  // Sends or queues one frame (1 to kFrameBytesMax bytes; other sizes are a bug). False if the
  // peer's session has ended, even because of this frame (overflow): on_lost follows. True does not
  // mean delivery, which only an acknowledgement by the application confirms.
  bool send(PeerId peer, std::span<const std::byte> frame);
  // Ends a peer's session and connection, after the queued frames, as far as the kernel has room.
  // No on_lost follows. Unknown peers are ignored.
  void drop(PeerId peer);

  bool is_connected(PeerId peer) const;
  // The user of its process, from the kernel; none if the peer is unknown.
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
