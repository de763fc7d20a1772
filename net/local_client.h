#pragma once

// The connecting side of messages within one machine: one session at a time with a LocalServer. By
// default it reconnects by itself, with back-off and jitter; messages queued for an old session
// never reach a new one.
//
// Nothing here blocks, except close_gracefully(). Handlers are called from the loop only, never
// within connect(), send(), reset() or close().

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "common/limits.h"
#include "net/backoff.h"
#include "net/loop.h"

namespace proffer {

class LocalClient {
 public:
  struct Handlers {
    // A session begins: send a hello.
    std::function<void()> on_connected = {};
    // The bytes are valid during the call only and not aligned. Never empty.
    std::function<void(std::span<const std::byte>)> on_frame = {};
    // The session that on_connected began has ended, after its last frame; not called after
    // close().
    std::function<void(const std::string& reason)> on_disconnected = {};
    // An attempt did not become a session: there is no listener.
    std::function<void(const std::string& reason)> on_failed = {};
  };
  struct Options {
    std::string path = {};
    bool keep_connected = true;  // reconnect after failures and disconnects
    uint64_t seed = 0;           // of the jitter; give each process its own
    BackoffLimits backoff = kLocalBackoff;
    size_t outgoing_bytes_max = kOutgoingBytesPerPeerMax;  // a session with more queued bytes ends
  };

  LocalClient(Loop& loop, Options options, Handlers handlers);
  ~LocalClient();  // as close()
  LocalClient(const LocalClient&) = delete;
  LocalClient& operator=(const LocalClient&) = delete;

  // Begins the first attempt at once. Ignored during a session; ends a back-off.
  void connect();

  // Sends or queues one frame (1 to kFrameBytesMax bytes; other sizes are a bug). False if there is
  // no session, or if this frame has ended it (overflow).
  bool send(std::span<const std::byte> frame);

  // Ends the session; on_disconnected(reason) follows, and then (if keep_connected) a new one after
  // the back-off. Ignored if there is none.
  void reset(std::string reason);
  // Ends everything; no handler is called any more. Unsent frames are lost.
  void close();
  // As close(), after the queued frames have left. Blocks for that, at most for `linger`, so the
  // process may end right after.
  void close_gracefully(Duration linger);

  bool is_connected() const;
  size_t queued() const;  // bytes waiting here because the other end reads slowly

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace proffer
