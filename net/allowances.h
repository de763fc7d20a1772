#pragma once

// Token buckets by name. The accept guard has two sets: one for addresses whose peers had unknown
// keys, since a handshake costs the server a large part of a millisecond before the key is known,
// and one for users of this machine, whose connections cost its I/O thread as much. The master has
// one for its loop's microseconds (master/shell/inbox.h). Pure.

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
    int64_t debt_max = 0;    // maximum that a name may owe; a single use may be larger
  };
  explicit Allowances(Rate rate);

  // Uses `count` of the name's allowance. If less is left, nothing is left until the debt has been
  // refilled: over all uses at most `debt_max`, or `count` minus one if that is more. O(log names).
  void use(const std::string& name, int64_t count, Time now);
  // Returns `count` of the used allowance now. O(log names).
  void give_back(const std::string& name, int64_t count, Time now);
  bool has_left(const std::string& name, Time now) const { return left_at(name, now) <= now; }
  // `now`, or the time when something is left again without further uses. O(log names).
  Time left_at(const std::string& name, Time now) const;
  // At most kAllowancesMax; the name with the most left is forgotten first.
  size_t names() const { return full_at_.size(); }

 private:
  Duration one_;  // time to refill one
  Duration all_;  // time to refill all
  Duration debt_max_;
  std::map<std::string, Time> full_at_;  // when each is full again
  std::set<std::pair<Time, std::string>> order_;
};

}  // namespace proffer
