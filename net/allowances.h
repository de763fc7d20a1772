#pragma once

// How many connections peers may begin: a token bucket for each name. The accept guard has two of
// them: of addresses with unknown keys, whose handshakes cost their server a good part of a
// millisecond before the key is known, and of users of this machine, whose connections cost its
// I/O thread as much. Pure.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "common/load_limits.h"
#include "common/time.h"

namespace proffer {

class Allowances {
 public:
  struct Rate {
    int64_t burst = 1;
    int64_t per_second = 1;  // at most 1'000'000
  };
  explicit Allowances(Rate rate);

  // So much of the name's allowance is used. If less is left, nothing is left until `count` less
  // one have come back; earlier debts are forgotten. O(log names).
  void use(const std::string& name, int64_t count, Time now);
  bool has_left(const std::string& name, Time now) const;
  // At most kAllowancesMax; the one that has most left is forgotten first.
  size_t names() const { return full_at_.size(); }

 private:
  Duration one_;                         // until one has come back
  Duration all_;                         // until all have
  std::map<std::string, Time> full_at_;  // when all of it has come back
  std::set<std::pair<Time, std::string>> order_;
};

}  // namespace proffer
