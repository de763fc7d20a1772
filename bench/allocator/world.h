#pragma once

// The cluster of the allocator's benchmarks: equal agents, and frameworks that want as much as they
// can get. All resources are offered or accepted.

#include <cstdint>
#include <map>
#include <vector>

#include "allocator/allocator.h"
#include "common/prng.h"

namespace proffer::bench {

enum class Roles : uint8_t { kOne, kEach };

struct WorldOptions {
  int64_t agents = 0;
  int64_t frameworks = 0;
  OfferMode mode = OfferMode::kAsks;
  Roles roles = Roles::kEach;
  bool quota = false;  // the roles are quota_roles()
  // The wants of the asks: tasks of a whole agent; tasks of a quarter; or tasks of 1, 2 or 4 CPUs
  // and as many GiB, by the framework's number, on agents of 16 CPUs and 16 GiB.
  enum class Tasks : uint8_t { kWholeAgent, kQuarter, kMixed };
  Tasks tasks = Tasks::kWholeAgent;
  Placement placement = Placement::kBalanced;

  bool operator==(const WorldOptions&) const = default;
};

// Each has a guarantee of a quarter of an agent and a limit of half of one. With as many agents as
// roles, half of the cluster stays free when all roles have reached their limits.
RoleTable quota_roles(int64_t count);

class World {
 public:
  explicit World(const WorldOptions& options);

  // One decision. The offers are outstanding afterwards. Returns their number.
  int64_t decide();
  // Accepts the outstanding offers: launches each task for which an offer was made. Returns the
  // number of tasks.
  int64_t accept();
  // The framework returns one outstanding offer, drawn at random, without a filter.
  void return_one();
  // One task, drawn at random, ends.
  void end_one();
  // Decides and declines for an hour until a decision makes no offer. Returns the number of offers.
  int64_t decline_until_quiet();

  const WorldOptions& options() const { return options_; }
  int64_t outstanding() const { return static_cast<int64_t>(offers_.size()); }

 private:
  struct Held {
    OfferId offer = {};
    AgentId agent = {};
    FrameworkId framework = {};
    RoleName role = {};
    ResourceVector shape = {};  // of each task
    std::vector<AskFill> fills = {};
  };
  struct Task {
    AgentId agent = {};
    FrameworkId framework = {};
    TaskId id = {};
  };

  WorldOptions options_;
  Allocator allocator_;
  std::map<FrameworkId, ResourceVector> shapes_;
  std::vector<Held> offers_;
  std::vector<Task> tasks_;
  uint64_t number_ = 0;
  Prng random_{1};
  Time now_ = Time() + seconds(1);
};

// A world in which all resources have been offered (and, with `accepted`, accepted). It is the one
// of the previous call if the options are the same, because google-benchmark calls each case
// several times and the first decision may take seconds.
World& full_world(const WorldOptions& options, bool accepted);

}  // namespace proffer::bench
