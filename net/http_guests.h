#pragma once

// Connections that the HTTP server may close: their request is incomplete, or their peer does not
// read a short answer.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <sys/socket.h>
#include <unistd.h>

#include "common/principal.h"
#include "common/time.h"
#include "net/http_server.h"

namespace proffer {

// A connection, from its beginning to its end.
struct HttpGuest {
  int fd = -1;
  uint64_t turn = 0;  // the list of HttpGuests with this connection, and its position
  bool is_answered = false;
  std::optional<uint32_t> uid = {};  // for a peer at a Unix socket
  std::string peer = {};             // address of a peer with TLS
  PrincipalPtr principal = {};       // looked up with its first request; used by its thread only
};

// The open connections, with two lists of those that may be closed: connections without a complete
// request, and connections whose peer has not read a short answer. All others wait for this server,
// or take part in the limit of long answers. The caller holds the mutex.
class HttpGuests {
 public:
  explicit HttpGuests(size_t max) : max_(max) {}

  // False: its user or its address has too many connections, and it must be closed.
  bool comes(HttpGuest& guest, Time now) {
    if (++count_ > max_ - max_ / 8) end_one();
    if (guest.uid && ++by_user_[*guest.uid] > max_ / 4 && !is_unbounded(*guest.uid)) {
      ::shutdown(guest.fd, SHUT_RDWR);
      return false;
    }
    if (!guest.peer.empty() && ++by_peer_[guest.peer] > max_ / 4) {
      ::shutdown(guest.fd, SHUT_RDWR);
      return false;
    }
    waits(guest, now);
    return true;
  }
  void goes(HttpGuest& guest) {
    is_busy(guest);
    --count_;
    if (!guest.peer.empty()) {
      const auto peer = by_peer_.find(guest.peer);
      if (--peer->second == 0) by_peer_.erase(peer);
    }
    if (!guest.uid) return;
    const auto at = by_user_.find(*guest.uid);
    if (--at->second == 0) by_user_.erase(at);
  }
  // It waits for its next request.
  void waits(HttpGuest& guest, Time now) { put(guest, now, false); }
  // Its answer waits to be read by the peer.
  void is_answered(HttpGuest& guest, Time now) { put(guest, now, true); }
  void is_busy(HttpGuest& guest) {
    if (guest.turn == 0) return;
    (guest.is_answered ? answered_ : waiting_).erase(guest.turn);
    guest.turn = 0;
  }

  // Whether there is room for one more long answer; each must be given back.
  bool take_long() {
    if (long_ >= max_ - max_ / 4) return false;
    ++long_;
    return true;
  }
  void give_long_back() { --long_; }

  void end_overdue(Time now, Duration request_max) {
    end_older(waiting_, now - request_max);
    end_older(answered_, now - kHttpAnswerMax);
  }
  bool is_watched() const { return !waiting_.empty() || !answered_.empty(); }

 private:
  struct Entry {
    Time since = {};
    HttpGuest* guest = nullptr;
  };
  using List = std::map<uint64_t, Entry>;  // oldest first

  static bool is_unbounded(uint32_t uid) { return uid == 0 || uid == geteuid(); }

  void put(HttpGuest& guest, Time now, bool is_answered) {
    is_busy(guest);
    guest.turn = ++turns_;
    guest.is_answered = is_answered;
    (is_answered ? answered_ : waiting_).emplace(guest.turn, Entry{now, &guest});
  }
  void end_one() {
    if (!waiting_.empty()) return end(waiting_);
    if (!answered_.empty()) return end(answered_);
  }
  void end_older(List& list, Time than) {
    while (!list.empty() && list.begin()->second.since <= than) end(list);
  }
  // Its thread notices the end and reports it; until then the connection keeps the descriptor.
  void end(List& list) {
    HttpGuest& guest = *list.begin()->second.guest;
    ::shutdown(guest.fd, SHUT_RDWR);
    is_busy(guest);
  }

  const size_t max_;
  size_t count_ = 0;
  size_t long_ = 0;
  std::map<uint32_t, size_t> by_user_;
  std::map<std::string, size_t> by_peer_;
  uint64_t turns_ = 0;
  List waiting_;
  List answered_;
};

}  // namespace proffer
