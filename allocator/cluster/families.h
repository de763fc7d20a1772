#pragma once

// Families of agents. Agents of any size whose totals have about the same proportions are one
// family: the ratio of any two kinds differs by at most a half from that of its first agent. A
// family has all kinds that its first agent has and no others.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/resources.h"

namespace proffer::fair {

struct Family {
  ResourceVector total = {};    // of its first agent
  ResourceVector largest = {};  // the largest total of each kind of its agents so far
  bool has_gpus = false;
};

class Families {
 public:
  // If there are as many, another agent joins the family that is most like it.
  static constexpr size_t kFamiliesMax = 32;

  // The number of the family of an agent with this total: one that is there, or a new one.
  // O(families).
  size_t join(const ResourceVector& total);
  const std::vector<Family>& all() const { return all_; }
  // Never zero. Another one after each change.
  uint64_t version() const { return version_; }

 private:
  std::vector<Family> all_;
  uint64_t version_ = 1;
};

}  // namespace proffer::fair
