#pragma once

// The connecting side of messages within one machine: one session at a time with a LocalServer.
// Unless told otherwise it reconnects by itself, with back-off and jitter; nothing that was queued
// for an old session ever reaches a new one.
//
// Nothing here blocks, but close_gracefully() on request. Handlers are called from the loop only,
// never from within connect(), send(), reset() or close().

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
    // A session begins: say hello.
    std::function<void()> on_connected = {};
    // The bytes are valid during the call only and not aligned. Never empty.
    std::function<void(std::span<const std::byte>)> on_frame = {};
    // The session that on_connected began has ended, after its last frame; not told after close().
    std::function<void(const std::string& reason)> on_disconnected = {};
    // An attempt did not become a session: nobody listens.
    std::function<void(const std::string& reason)> on_failed = {};
  };
  struct Options {
    std::string path = {};
    bool keep_connected = true;  // try again by itself, after failures and disconnects
    uint64_t seed = 0;           // of the jitter; give each process its own
    BackoffLimits backoff = kLocalBackoff;
    size_t outgoing_bytes_max = kOutgoingBytesPerPeerMax;  // over it the session ends
  };

  LocalClient(Loop& loop, Options options, Handlers handlers);
  ~LocalClient();  // as close()
  LocalClient(const LocalClient&) = delete;
  LocalClient& operator=(const LocalClient&) = delete;

  // Starts the first attempt, at once. Nothing if there is a session; if an attempt is waiting out
  // its back-off, it starts now.
  void connect();

  // Sends or queues one frame (1 to kFrameBytesMax bytes; anything else is a bug). False if there
  // is no session, or if this frame has ended it (overflow).
  bool send(std::span<const std::byte> frame);

  // Ends the session; on_disconnected(reason) follows, and then (if keep_connected) a fresh one
  // after the back-off. Nothing if there is none.
  void reset(std::string reason);
  // Ends everything; no handler is called any more. What was not sent yet is lost.
  void close();
  // As close(), once what was sent so far has left. Waits for that, at most `linger`: the process
  // can end right after.
  void close_gracefully(Duration linger);

  bool is_connected() const;
  size_t queued() const;  // bytes waiting here because the other end reads slowly

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace proffer
