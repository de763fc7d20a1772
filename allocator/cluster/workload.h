#pragma once

// The shapes of recently requested tasks, and their counts, for the placement policy fgd
// (rules/fragmentation.h): free amounts should fit these shapes.

#include <cstdint>
#include <map>
#include <vector>

#include "common/resources.h"

namespace proffer::fair {

// Counts age: when their sum exceeds kWorkloadMax, each is halved. So they represent the last few
// thousand tasks. Constraints are ignored: each shape counts as one that may go anywhere.
class Workload {
 public:
  struct Typical {
    ResourceVector shape = {};
    int64_t count = 0;
  };

  // Adds requested tasks, at most kTasksMax of them, so that one large ask does not displace all
  // others. O(log shapes), and O(shapes log shapes) each time that the tasks have grown by an
  // eighth.
  void note(const ResourceVector& shape, int64_t tasks);
  // At most kTypicalMax shapes, the most frequent first, as of version().
  const std::vector<Typical>& typical() const { return typical_; }
  // Changes with typical(); never zero.
  uint64_t version() const { return version_; }

  static constexpr int64_t kWorkloadMax = 8'192;
  static constexpr int64_t kTasksMax = 1'024;
  // More shapes cost more than they improve: in the trace openb, 64 shapes are 96 % of the tasks.
  static constexpr size_t kTypicalMax = 64;

 private:
  struct ShapeOrder {
    bool operator()(const ResourceVector& a, const ResourceVector& b) const;
  };
  void age();
  void find_typical();

  std::map<ResourceVector, int64_t, ShapeOrder> counts_;  // no count is zero
  int64_t total_ = 0;                                     // their sum
  int64_t noted_ = 0;                                     // tasks added since typical_ was computed
  std::vector<Typical> typical_;
  uint64_t version_ = 1;
};

}  // namespace proffer::fair
