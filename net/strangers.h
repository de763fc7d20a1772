#pragma once

// Addresses from which peers with unknown keys come. A handshake costs its server a good part of a
// millisecond before the key is known, so an address that has had several refused may begin few
// more of them. Pure: a token bucket for each address.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "common/load_limits.h"
#include "common/time.h"

namespace proffer {

class Strangers {
 public:
  // A handshake from the address ended with an unknown key.
  void refused(const std::string& address, Time now);
  // Whether a connection from it is taken.
  bool may_come(const std::string& address, Time now) const;
  size_t addresses() const { return rows_.size(); }

 private:
  struct Row {
    int64_t refused = 0;  // as of `at`, without those that time has forgiven
    Time at = {};
  };
  static int64_t held_against(const Row& row, Time now);

  std::map<std::string, Row> rows_;
  std::set<std::pair<Time, std::string>> oldest_;  // by the last refusal
};

}  // namespace proffer
