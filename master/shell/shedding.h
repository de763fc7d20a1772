#pragma once

// What becomes of frames for which there is no room: a call is answered by an error, and of any
// other frame the session ends. Who comes again at once would go on without end, so that counts
// for connections that the user may begin (Router::charge), once for each session: what of it was
// shed before its end was heard of is no further misuse.

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

// What was refused because too much of its user waited.
struct ShedCounters {
  uint64_t calls = 0;
  uint64_t sessions = 0;
  bool operator==(const ShedCounters&) const = default;
};

class Shedding {
 public:
  struct Handlers {
    std::function<void(PeerId, uint64_t call, const Error&)> answer = {};
    // The session ends, and its peer is told why once the registry has heard of it. Then forget()
    // is called.
    std::function<void(PeerId, Error)> end = {};
    // The connection ends now and without a word. Calls forget() before it returns.
    std::function<void(PeerId)> cut = {};
    std::function<void(PeerId, int64_t arrivals)> charge = {};
    // Words would wait for it, too: what is shed meanwhile is cut.
    std::function<bool()> waits_for_disk = {};
  };

  explicit Shedding(Handlers handlers);

  // There is no room for this frame: too much of its user waits, or too much of its connection.
  // False: of the latter only calls are refused, and it is none.
  bool shed(PeerId peer, const std::string& user, std::span<const std::byte> frame,
            bool is_user_full, Time now);
  // Of a peer that does not read its answers, say.
  void cut(PeerId peer, int64_t arrivals);
  // The session has ended.
  void forget(PeerId peer) { ending_.erase(peer); }

  const ShedCounters& counters() const { return counters_; }

 private:
  void refuse(PeerId peer, const std::string& user, uint64_t call, const Error& why, Time now);
  // False: that this session ends is counted already.
  bool begin_end(PeerId peer, int64_t arrivals);

  Handlers handlers_;
  ShedCounters counters_ = {};
  std::set<PeerId> ending_ = {};  // their ends wait for the registry
  Allowances refusals_;           // by user
};

}  // namespace proffer::master
