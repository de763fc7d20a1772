#pragma once

// Requests that were relayed to a scheduler and have no answer yet.

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
  // Takes the one with this number; none if there is none, or it is of another framework.
  std::optional<RelayedCall> take(uint64_t number, const FrameworkId& framework);
  const RelayedCall* find(uint64_t number) const;

  // In order of their numbers.
  std::vector<uint64_t> of(const FrameworkId& framework) const;
  size_t count(const FrameworkId& framework) const;
  size_t size() const { return calls_.size(); }
  const std::map<uint64_t, RelayedCall>& all() const { return calls_; }

 private:
  std::map<uint64_t, RelayedCall> calls_;
  std::map<FrameworkId, std::set<uint64_t>> by_framework_;  // none is empty
};

}  // namespace proffer::master
