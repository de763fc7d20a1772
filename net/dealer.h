#pragma once

// The connecting side of messages: a ZeroMQ DEALER, one session at a time.
//
// Every session has a new socket and so is a new peer for the Router at the other end: messages
// queued for an old session never reach a new one. By default the Dealer reconnects by itself, with
// back-off and jitter.
//
// Nothing here blocks. Handlers are called from the loop only, never within connect(), send(),
// reset() or close().

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/limits.h"
#include "net/backoff.h"
#include "net/curve_keys.h"
#include "net/loop.h"

namespace proffer {

// Part of the reason of on_failed if the other end does not know this key (any more). Among several
// masters the leader reports this; failed connections to the others mean nothing then.
inline constexpr std::string_view kRefusesKey = "refuses this key";

class Dealer {
 public:
  struct Handlers {
    // A session begins: register, subscribe.
    std::function<void()> on_connected = {};
    // The bytes are valid during the call only and not aligned. Never empty.
    std::function<void(std::span<const std::byte>)> on_frame = {};
    // The session that on_connected began has ended, after its last frame; not called after
    // close().
    std::function<void(const std::string& reason)> on_disconnected = {};
    // An attempt did not become a session: there is no listener, or the handshake timed out.
    std::function<void(const std::string& reason)> on_failed = {};
  };
  struct Options {
    std::string endpoint = {};  // "tcp://host:port", "ipc:///path"
    // Further endpoints. Only one of all serves at a time: after an attempt or a session has ended,
    // the next endpoint is tried at once, and the back-off comes after the last one.
    std::vector<std::string> others = {};
    // Use CURVE with this key, and only with a server that has the other key; TCP only. None:
    // plain.
    std::optional<ClientKeys> keys = {};
    // Called before each attempt with the last keys; returns the present ones (current_keys of
    // membership.h). None: the keys do not change.
    std::function<ClientKeys(const ClientKeys&)> keys_now = {};
    // Whether a process of this user may serve a Unix socket; otherwise the session ends before its
    // first frame is delivered. None: root, this process's user, and the owner of the socket's
    // folder may.
    std::function<bool(uint32_t uid)> may_serve = {};
    bool keep_connected = true;  // reconnect after failures and disconnects
    uint64_t seed = 0;           // of the jitter; give each process its own
    BackoffLimits backoff = {};
    Duration connect_timeout = seconds(5);  // from the attempt to the end of the handshake
    size_t outgoing_frames_max = kOutgoingPerPeerMax;  // a session with more queued frames ends
    size_t outgoing_bytes_max = kOutgoingBytesPerPeerMax;
  };

  Dealer(Loop& loop, Options options, Handlers handlers);
  ~Dealer();  // as close()
  Dealer(const Dealer&) = delete;
  Dealer& operator=(const Dealer&) = delete;

  // Begins the first attempt at once. Ignored during an attempt or a session; ends a back-off.
  void connect();
  // The endpoint of the session, of the present attempt, or of the next one.
  const std::string& endpoint() const;
  // As reset(), because this endpoint does not serve but names another `endpoint` (empty: unknown).
  // If that is in the list it is tried next, at once, but only once per back-off, so that two
  // endpoints that name each other do not cause a busy loop.
  void redirect(const std::string& endpoint, std::string reason);

  // Queues one frame (1 to kFrameBytesMax bytes; other sizes are a bug), which leaves at the end of
  // the turn, or earlier behind others. False if there is no session, or if this frame has ended it
  // (overflow).
  bool send(std::span<const std::byte> frame);

  // Ends the session; on_disconnected(reason) follows, and then (if keep_connected) a new session
  // after the back-off. An attempt is cancelled in the same way. Ignored after close().
  void reset(std::string reason);
  // Ends everything; no handler is called any more. Unsent frames are lost.
  void close();
  // As close(), but frames that were sent so far may still leave in the background within `linger`.
  // The destructor of the Loop waits for that, so the process may end right after.
  void close_gracefully(Duration linger);

  bool is_connected() const;
  size_t queued() const;  // frames waiting here because the other end reads slowly

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace proffer
