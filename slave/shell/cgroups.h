#pragma once

// Groups of processes in which the kernel enforces limits and counts usage. Two implementations:
// cgroups_v1.h and cgroups_v2.h. Each works below one directory of an agent,
// <mount>/<parent>/<agent>, and touches nothing outside it.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "common/result.h"
#include "net/fd.h"

namespace proffer::agent {

// What the processes of one group may use together.
struct GroupLimits {
  int64_t cpus_milli = 0;  // a share of what others leave; a maximum only if GroupOptions says so
  int64_t memory_bytes = 0;
  bool operator==(const GroupLimits&) const = default;
};

// What they use and have used. Nothing: this machine does not count it.
struct GroupUsage {
  std::optional<int64_t> cpu_nanos = {};
  std::optional<int64_t> throttled_nanos = {};  // waited for CPUs because of a maximum
  std::optional<int64_t> memory_bytes = {};
  std::optional<int64_t> memory_peak_bytes = {};
  std::optional<int64_t> memory_limit_bytes = {};
  std::optional<int64_t> out_of_memory = {};  // processes that the kernel killed for their memory
  std::optional<int64_t> processes = {};      // and threads
  std::optional<int64_t> read_bytes = {};
  std::optional<int64_t> written_bytes = {};
  bool operator==(const GroupUsage&) const = default;
};

struct GroupOptions {
  std::string parent = "proffer";  // below the root of each hierarchy
  std::string agent = {};          // which agent of this machine: a name that lasts
  int64_t agent_cpus_milli = 0;    // the share of all groups of the agent
  int64_t processes_max = 4096;    // and threads, in one group
  bool is_cpu_capped = false;      // cpus are a maximum, too
  size_t files_kept_max = 0;       // files of groups that stay open
};

// What is enforced here, and why the rest is not.
struct Enforced {
  std::vector<std::string> limits = {};                           // of "cpu", "memory", "pids"
  std::string by = {};                                            // "cgroups v1"
  std::vector<std::pair<std::string, std::string>> missing = {};  // limit and reason
};
// "cpu, memory, pids (cgroups v1)"; "cpu, pids (cgroups v1); not enforced: memory (not mounted)".
std::string to_text(const Enforced& enforced);

class Cgroups {
 public:
  virtual ~Cgroups() = default;

  virtual const Enforced& enforced() const = 0;
  // A group of this name, one part of a path. Errors: kUnavailable, kResourceExhausted.
  virtual Result<void> make(const std::string& group) = 0;
  // Errors: kFailedPrecondition (a process is in it), kUnavailable. No error if there is none.
  virtual Result<void> remove(const std::string& group) = 0;
  // Whether renew() is ever true.
  virtual bool can_renew() const = 0;
  // Prepares a group whose tasks have ended for others: what it has counted is forgotten. False: it
  // cannot be used again, and is to be removed.
  virtual bool renew(const std::string& group) = 0;
  // A limit below what the group uses is not set, so that nothing is killed and nothing is waited
  // for; false then. Errors: kUnavailable.
  virtual Result<bool> set_limits(const std::string& group, const GroupLimits& limits) = 0;
  // A process of one thread enters the group by writing "0" to each of these.
  virtual std::vector<std::string> entrances(const std::string& group) const = 0;
  // Moves a process into it. Errors: kUnavailable (there is no such process, or no group).
  virtual Result<void> attach(const std::string& group, pid_t pid) = 0;
  // SIGKILL to all that is in it, in a way that none can escape by forking. Whether there was any.
  virtual bool kill_all(const std::string& group) = 0;
  virtual std::vector<pid_t> members(const std::string& group) const = 0;
  // Whether at most one process of one thread is in it.
  virtual bool has_one_at_most(const std::string& group) const {
    return members(group).size() <= 1;
  }
  // Use since it was made or renewed: CPU time, peak of memory, I/O, and processes
  // that were ended because memory was used up.
  virtual GroupUsage used(const std::string& group) const = 0;
  // used(), and what it uses at the moment and may use.
  virtual GroupUsage usage(const std::string& group) const = 0;
  // All groups of this agent, also of earlier lives of it.
  virtual std::vector<std::string> groups() const = 0;
  // The group of this agent that the process is in; empty if it is in none.
  virtual std::string group_of(pid_t pid) const = 0;
};

// What /proc/self/mountinfo says of cgroups.
struct CgroupMount {
  std::string path = {};
  bool is_v2 = false;
  std::vector<std::string> controllers = {};  // of v1
};
std::vector<CgroupMount> parse_cgroup_mounts(std::string_view mountinfo);

// The implementation for this machine: v1 where it has one of the controllers, else v2. Errors:
// kUnsupported, with the reason, if there is neither.
Result<std::unique_ptr<Cgroups>> choose_cgroups(const std::vector<CgroupMount>& mounts,
                                                const GroupOptions& options);

// --- for the implementations -------------------------------------------------------------------

namespace cgroups {

// An errno, or 0. Files of cgroups take a value by one write.
int write_value(const std::string& path, std::string_view value);
// All of a small file; nothing if it cannot be read.
std::optional<std::string> read_value(const std::string& path);
std::optional<int64_t> read_number(const std::string& path);
// The number behind `key` in a file of lines "key number".
std::optional<int64_t> read_keyed(const std::string& path, std::string_view key);
std::vector<pid_t> read_pids(const std::string& path);
// The same of what a file holds; nothing if it could not be read.
std::optional<int64_t> number_in(const std::optional<std::string>& value);
std::optional<int64_t> keyed_in(const std::optional<std::string>& value, std::string_view key);
std::vector<std::string> directories_in(const std::string& path);
// "cpu.shares" counts 1024 for a CPU.
int64_t shares_of(int64_t cpus_milli);
// Microseconds of each 100,000.
int64_t quota_of(int64_t cpus_milli);
// What is behind "/<parent>/<agent>/" in a line of /proc/<pid>/cgroup; empty if it is not below.
std::string group_in(std::string_view cgroup_path, const GroupOptions& options);
// The lines "id:controllers:path" of /proc/<pid>/cgroup whose controllers fit.
std::string path_of(pid_t pid, const std::function<bool(std::string_view controllers)>& fits);
// Makes the directory of an agent, and its parent, and locks it for the life of the descriptor.
// Errors: kUnsupported (it cannot be made, with the reason), kFailedPrecondition (another has it).
Result<Fd> lock_folder(const std::string& folder);
// Directories of agents that are no more and have left only empty groups are removed from each of
// `parents`. An agent that lives holds a lock on its directory in the first of them.
void remove_abandoned(const std::vector<std::string>& parents, const std::string& but);

}  // namespace cgroups

}  // namespace proffer::agent
