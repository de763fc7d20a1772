#pragma once

// Relayed requests that their schedulers have not answered yet.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "common/ids.h"
#include "common/time.h"

namespace proffer::master {

struct RelayedCall {
  uint64_t call = 0;  // the shell's number of its caller
  FrameworkId framework = {};
  Duration timeout = {};
};

class Relays {
 public:
  void add(uint64_t number, RelayedCall call);
  // Takes the request with this number; none if it is missing or belongs to another framework.
  std::optional<RelayedCall> take(uint64_t number, const FrameworkId& framework);
  const RelayedCall* find(uint64_t number) const;

  // In order of their numbers.
  std::vector<uint64_t> of(const FrameworkId& framework) const;
  size_t count(const FrameworkId& framework) const;
  size_t size() const { return calls_.size(); }
  const std::map<uint64_t, RelayedCall>& all() const { return calls_; }

 private:
  std::map<uint64_t, RelayedCall> calls_;
  std::map<FrameworkId, std::set<uint64_t>> by_framework_;  // no set is empty
};

}  // namespace proffer::master
