#pragma once

// Which shapes of tasks were asked for lately, and how many of each: what free amounts should be
// good for. Kept for the placement policy fgd only (rules/fragmentation.h).

#include <cstdint>
#include <map>
#include <vector>

#include "common/resources.h"

namespace proffer::fair {

// Counts age: when there are more than kWorkloadMax, each is halved. So the shapes are those of the
// last few thousand tasks, and what was asked for long ago is forgotten. Constraints are not kept:
// a shape counts as one that may go anywhere.
class Workload {
 public:
  struct Typical {
    ResourceVector shape = {};
    int64_t count = 0;
  };

  // So many tasks more are asked for; beyond kTasksMax they do not count, so that one large ask
  // does not push out what is known of all others. O(log shapes), and O(shapes log shapes) each
  // time when the tasks have become an eighth more.
  void note(const ResourceVector& shape, int64_t tasks);
  // At most kTypicalMax, the most popular first. As they were when the version was made.
  const std::vector<Typical>& typical() const { return typical_; }
  // Changes with typical(); never zero.
  uint64_t version() const { return version_; }

  static constexpr int64_t kWorkloadMax = 8'192;
  static constexpr int64_t kTasksMax = 1'024;
  // More of them cost more than they bring: of the trace openb, 64 shapes are 96 % of the tasks.
  static constexpr size_t kTypicalMax = 64;

 private:
  struct ShapeOrder {
    bool operator()(const ResourceVector& a, const ResourceVector& b) const;
  };
  void age();
  void find_typical();

  std::map<ResourceVector, int64_t, ShapeOrder> counts_;  // none is zero
  int64_t total_ = 0;                                     // of them
  int64_t noted_ = 0;                                     // since typical_ was found
  std::vector<Typical> typical_;
  uint64_t version_ = 1;
};

}  // namespace proffer::fair
