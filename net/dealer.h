#pragma once

// The connecting side of messages: a ZeroMQ DEALER, one session at a time.
//
// Every session is a fresh socket and hence a fresh peer for the Router at the other end: nothing
// queued for an old session ever reaches a new one. Unless told otherwise the Dealer reconnects by
// itself, with back-off and jitter.
//
// Nothing here blocks. Handlers are called from the loop only, never from within connect(), send(),
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

// In the reason of on_failed, if the other end has told that this key is not known there (any
// more). Of several masters the leader says so; that nobody listens at the others means nothing
// then.
inline constexpr std::string_view kRefusesKey = "refuses this key";

class Dealer {
 public:
  struct Handlers {
    // A session begins: register, subscribe.
    std::function<void()> on_connected = {};
    // The bytes are valid during the call only and not aligned. Never empty.
    std::function<void(std::span<const std::byte>)> on_frame = {};
    // The session that on_connected began has ended, after its last frame; not told after close().
    std::function<void(const std::string& reason)> on_disconnected = {};
    // An attempt did not become a session: nobody listens, or no handshake in time.
    std::function<void(const std::string& reason)> on_failed = {};
  };
  struct Options {
    std::string endpoint = {};  // "tcp://host:port", "ipc:///path"
    // Further places. One of all serves at a time: after an attempt or a session has ended, the
    // next one is tried at once, and the back-off comes after the last.
    std::vector<std::string> others = {};
    // By CURVE, with this key and only to a server with that one; TCP only. None: plain.
    std::optional<ClientKeys> keys = {};
    // Asked before each attempt, with the keys of the one before: what they are now (current_keys
    // of membership.h). None: they stay the same.
    std::function<ClientKeys(const ClientKeys&)> keys_now = {};
    // Whether a process of this user may be at the other end of a Unix socket: else the session
    // ends before any frame of it is told. None: root, this process's user, and
    // the owner of the folder that the socket lies in.
    std::function<bool(uint32_t uid)> may_serve = {};
    bool keep_connected = true;  // try again by itself, after failures and disconnects
    uint64_t seed = 0;           // of the jitter; give each process its own
    BackoffLimits backoff = {};
    Duration connect_timeout = seconds(5);  // from the attempt to the end of the handshake
    size_t outgoing_frames_max = kOutgoingPerPeerMax;  // over it the session ends
    size_t outgoing_bytes_max = kOutgoingBytesPerPeerMax;
  };

  Dealer(Loop& loop, Options options, Handlers handlers);
  ~Dealer();  // as close()
  Dealer(const Dealer&) = delete;
  Dealer& operator=(const Dealer&) = delete;

  // Starts the first attempt, at once. Nothing if one is under way or connected; if one is waiting
  // out its back-off, it starts now.
  void connect();
  // Where the session is, or the attempt under way, or the next one.
  const std::string& endpoint() const;
  // As reset(), since this place does not serve but says that `endpoint` does (empty: it does not
  // know). If that is one of ours it is tried next, and at once: but only once until the next
  // back-off, for two that name each other must not keep us busy.
  void redirect(const std::string& endpoint, std::string reason);

  // Queues one frame (1 to kFrameBytesMax bytes; anything else is a bug), which leaves at the end
  // of the turn, or sooner behind others. False if there is no session, or if this frame has ended
  // it (overflow).
  bool send(std::span<const std::byte> frame);

  // Ends the session; on_disconnected(reason) follows, and then (if keep_connected) a fresh one
  // after the back-off. An attempt under way is given up likewise. Nothing if closed.
  void reset(std::string reason);
  // Ends everything; no handler is called any more. What was not sent yet is lost.
  void close();
  // As close(), but what was sent so far may still leave within `linger` in the background. The
  // destructor of the Loop waits for it: a process can end right after.
  void close_gracefully(Duration linger);

  bool is_connected() const;
  size_t queued() const;  // frames waiting here because the other end reads slowly

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace proffer
