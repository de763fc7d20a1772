#pragma once

// Preferred hosts of a job's tasks, since their input is near. The allocator waits for these hosts
// up to a limit, and then takes any agent: delay scheduling (Zaharia et al., EuroSys 2010), with
// one wait for each ask.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "common/result.h"
#include "common/time.h"
#include "frameworks/batch/core/splits.h"

namespace proffer {
class ByteReader;
class ByteWriter;
}  // namespace proffer

namespace proffer::batch {

inline constexpr size_t kHostsOfTaskMax = 16;
inline constexpr size_t kHostGroupsMax = 10'000;
inline constexpr Duration kLocalityWait = seconds(3);
inline constexpr Duration kLocalityWaitMax = hours(1);
inline constexpr size_t kLocalityFileBytesMax = size_t{64} << 20;

struct Locality {
  // Lists of hosts, each sorted. Group 1 is the first of them; group 0 has no hosts.
  std::vector<std::vector<std::string>> groups = {};
  uint32_t all = 0;  // the group of all tasks without their own
  // The groups of the map tasks, in order: `count` tasks of one group, then the next run. Map tasks
  // after the last run, and reduces, have no group of their own.
  struct Run {
    uint32_t group = 0;
    uint32_t count = 0;
    bool operator==(const Run&) const = default;
  };
  std::vector<Run> maps = {};
  Duration wait = kLocalityWait;

  bool empty() const { return groups.empty(); }
  // The group of each map task. Empty if no task has one.
  std::vector<uint32_t> of_maps(size_t count) const;
  // The group of each other task.
  std::vector<uint32_t> of_others(size_t count) const;
  bool operator==(const Locality&) const = default;
};

// Errors: kInvalidArgument.
Result<void> check_locality(const Locality& locality, int64_t maps);

void write(ByteWriter& out, const Locality& locality);
Locality read_locality(ByteReader& in);

// Hosts by the path of a file or directory.
using HostsOfPaths = std::map<std::string, std::vector<std::string>>;
// Lines of HOST[,HOST…] PATH. A path may have spaces; empty lines and lines that begin with # are
// ignored. Errors: kInvalidArgument with the number of the line.
Result<HostsOfPaths> parse_hosts_of_paths(std::string_view text);
// The reverse.
std::string to_text(const HostsOfPaths& hosts);
// The hosts of each split: those with at least half as many of its bytes as the host with the most.
// The longest path that is a chunk's file, or a directory above it, counts. `all`: hosts of all
// other tasks. Errors: as check_locality.
Result<Locality> locate(const std::vector<Split>& splits, const HostsOfPaths& hosts,
                        const std::vector<std::string>& all, Duration wait);

// For a job that was planned in the cluster: combines the hosts of all its tasks with those that
// the plan gives to its map tasks.
Locality planned_locality(const Locality& known, Locality planned);

// --- asks ------------------------------------------------------------------------------------

// Pending tasks are asked for in buckets, each a separate ask: tasks without hosts, tasks of each
// of the four largest groups, and all others. There are few buckets, since the asks of all jobs of
// a scheduler are bounded. They stay the same for the life of a job, since each new ask waits anew.
class LocalityBuckets {
 public:
  static constexpr size_t kOwnMax = 4;
  static constexpr size_t kCount = kOwnMax + 2;
  static constexpr size_t kNone = 0;            // no hosts
  static constexpr size_t kRest = kOwnMax + 1;  // groups without their own bucket

  // `groups`: the group of each task.
  LocalityBuckets() = default;
  LocalityBuckets(const Locality& locality, const std::vector<uint32_t>& groups);

  size_t of_group(uint32_t group) const {
    return group < buckets_.size() ? buckets_[group] : kNone;
  }
  // The only group of a bucket other than kRest.
  uint32_t own_group(size_t bucket) const { return own_groups_[bucket]; }
  // At most kPreferredMax; for kRest, the hosts of its first groups.
  const std::vector<std::string>& hosts(size_t bucket) const { return hosts_[bucket]; }
  // The groups that have this agent among their hosts.
  const std::vector<uint32_t>& near(const AgentId& agent) const;

 private:
  std::vector<size_t> buckets_;  // by group
  uint32_t own_groups_[kOwnMax + 1] = {};
  std::vector<std::string> hosts_[kCount];
  std::map<AgentId, std::vector<uint32_t>> near_;
};

}  // namespace proffer::batch
