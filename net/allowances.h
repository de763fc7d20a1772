#pragma once

// How much of something each name may have: a token bucket for each. The accept guard has two of
// them, of connections that peers begin: of addresses with unknown keys, whose handshakes cost
// their server a good part of a millisecond before the key is known, and of users of this machine,
// whose connections cost its I/O thread as much. The master has one of its loop's microseconds
// (master/shell/inbox.h). Pure.

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
    int64_t debt_max = 0;    // beyond all that there is; what one use takes may be more
  };
  explicit Allowances(Rate rate);

  // So much of the name's allowance is used. If less is left, nothing is left until what lacks has
  // come back: of all uses together at most `debt_max`, or `count` less one. O(log names).
  void use(const std::string& name, int64_t count, Time now);
  // So much of what it used comes back now. O(log names).
  void give_back(const std::string& name, int64_t count, Time now);
  bool has_left(const std::string& name, Time now) const { return left_at(name, now) <= now; }
  // `now`, or when something will be left again if nothing is used until then. O(log names).
  Time left_at(const std::string& name, Time now) const;
  // At most kAllowancesMax; the one that has most left is forgotten first.
  size_t names() const { return full_at_.size(); }

 private:
  Duration one_;  // until one has come back
  Duration all_;  // until all have
  Duration debt_max_;
  std::map<std::string, Time> full_at_;  // when all of it has come back
  std::set<std::pair<Time, std::string>> order_;
};

}  // namespace proffer
