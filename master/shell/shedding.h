#pragma once

// Handles frames for which there is no room: a call gets an error, and any other frame ends its
// session. A peer that reconnects at once would repeat this without end, so shedding is charged to
// the connections that the user may begin (Router::charge), once per session: frames shed before
// the peer knows of the end are not charged again.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>

#include "common/ids.h"
#include "common/result.h"
#include "common/time.h"
#include "net/allowances.h"

namespace proffer::master {

// Refusals because too many frames of the user waited.
struct ShedCounters {
  uint64_t calls = 0;
  uint64_t sessions = 0;
  bool operator==(const ShedCounters&) const = default;
};

class Shedding {
 public:
  struct Handlers {
    std::function<void(PeerId, uint64_t call, const Error&)> answer = {};
    // Ends the session: the peer gets the error after the write to the registry. Then forget() is
    // called.
    std::function<void(PeerId, Error)> end = {};
    // Ends the connection at once, without a message. Calls forget() before it returns.
    std::function<void(PeerId)> cut = {};
    std::function<void(PeerId, int64_t arrivals)> charge = {};
    // True: error messages would have to wait for the disk, so connections are cut.
    std::function<bool()> waits_for_disk = {};
  };

  explicit Shedding(Handlers handlers);

  // Sheds a frame, because too many frames of its user, or of its connection, wait. False: not
  // shed; if only the connection is full, calls alone are refused, and this frame is no call.
  bool shed(PeerId peer, const std::string& user, std::span<const std::byte> frame,
            bool is_user_full, Time now);
  // Ends the session of the connection with most of the waiting frames of its user.
  void end_flood(PeerId peer, const std::string& user);
  // Cuts the connection, for example if its peer does not read its answers.
  void cut(PeerId peer, int64_t arrivals);
  // The session has ended.
  void forget(PeerId peer) { ending_.erase(peer); }

  const ShedCounters& counters() const { return counters_; }

 private:
  void end(PeerId peer, Error why);
  void refuse(PeerId peer, const std::string& user, uint64_t call, const Error& why, Time now);
  // False: the end of this session was already charged.
  bool begin_end(PeerId peer, int64_t arrivals);

  Handlers handlers_;
  ShedCounters counters_ = {};
  std::set<PeerId> ending_ = {};  // waiting for the registry before they end
  Allowances refusals_;           // by user
};

}  // namespace proffer::master
