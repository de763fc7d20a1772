#pragma once

// Process groups with limits and usage counts by the kernel. There are two implementations,
// cgroups_v1.h and cgroups_v2.h. Each uses only one directory of an agent,
// <mount>/<parent>/<agent>.

#include <cstdint>
#include <functional>
#include <map>
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

// Limits on all processes of a group together.
struct GroupLimits {
  int64_t cpus_milli = 0;  // a weight; a maximum only with GroupOptions::is_cpu_capped
  int64_t memory_bytes = 0;
  int64_t processes = 4096;               // and threads
  std::vector<int64_t> hidden_gpus = {};  // minor numbers of devices that it may not open
  bool operator==(const GroupLimits&) const = default;
};

// Present and past use. None: not counted on this machine.
struct GroupUsage {
  std::optional<int64_t> cpu_nanos = {};
  std::optional<int64_t> throttled_nanos = {};  // time waited for CPUs because of a maximum
  std::optional<int64_t> memory_bytes = {};
  std::optional<int64_t> memory_peak_bytes = {};
  std::optional<int64_t> memory_limit_bytes = {};
  std::optional<int64_t> out_of_memory = {};  // processes killed by the kernel for lack of memory
  std::optional<int64_t> processes = {};      // including threads
  std::optional<int64_t> read_bytes = {};
  std::optional<int64_t> written_bytes = {};
  bool operator==(const GroupUsage&) const = default;
};

struct GroupOptions {
  std::string parent = "proffer";  // below the root of each hierarchy
  std::string agent = {};          // a permanent name of the agent, unique on this machine
  int64_t agent_cpus_milli = 0;    // the weight of all groups of the agent
  int64_t memory_bytes = 0;        // maximum of all groups of the agent together; 0: none
  int64_t processes_max = 0;       // per group, including threads; 0: by processes_for()
  bool is_cpu_capped = false;      // cpus are also a maximum
  size_t files_kept_max = 0;       // maximum of group files that stay open
  std::map<int32_t, int64_t> gpu_minors = {};  // by index; not empty: groups hide GPUs
};

// The maximum of processes and threads of a task by its CPUs, if the operator sets none.
int64_t processes_for(int64_t cpus_milli);
// The maximum of all groups of an agent together: half of the number that the machine permits.
int64_t processes_of_all();

// The major number of NVIDIA's devices.
inline constexpr int64_t kGpuMajor = 195;

// The enforced limits, and why the others are not enforced.
struct Enforced {
  std::vector<std::string> limits = {};  // of "cpu", "gpus", "memory", "pids"
  std::string by = {};                   // "cgroups v1"
  std::vector<std::pair<std::string, std::string>> missing = {};  // the limit and the reason
};
// "cpu, memory, pids (cgroups v1)"; "cpu, pids (cgroups v1); not enforced: memory (not mounted)".
std::string to_text(const Enforced& enforced);

class Cgroups {
 public:
  virtual ~Cgroups() = default;

  virtual const Enforced& enforced() const = 0;
  // Makes a group with this name, which is one path component. Errors: kUnavailable,
  // kResourceExhausted.
  virtual Result<void> make(const std::string& group) = 0;
  // Errors: kFailedPrecondition (it contains a process), kUnavailable. A missing group is no error.
  virtual Result<void> remove(const std::string& group) = 0;
  // Whether renew() can return true.
  virtual bool can_renew() const = 0;
  // Resets the counts of a group, so that other tasks can use it. False: it cannot be reused and
  // must be removed.
  virtual bool renew(const std::string& group) = 0;
  // A limit below the present use is not set, so that no process is killed or stalled; then it
  // returns false. Errors: kUnavailable.
  virtual Result<bool> set_limits(const std::string& group, const GroupLimits& limits) = 0;
  // A single-threaded process enters the group by writing "0" to each of these files.
  virtual std::vector<std::string> entrances(const std::string& group) const = 0;
  // Moves a process into the group. Errors: kUnavailable (no such process or group).
  virtual Result<void> attach(const std::string& group, pid_t pid) = 0;
  // Sends SIGKILL to all processes in it, so that none can escape by forking. Returns whether there
  // were any.
  virtual bool kill_all(const std::string& group) = 0;
  virtual std::vector<pid_t> members(const std::string& group) const = 0;
  // Whether it contains at most one single-threaded process.
  virtual bool has_one_at_most(const std::string& group) const {
    return members(group).size() <= 1;
  }
  // Use since it was made or renewed: CPU time, memory peak, I/O, and processes killed for lack of
  // memory.
  virtual GroupUsage used(const std::string& group) const = 0;
  // used(), and the present use and the limits.
  virtual GroupUsage usage(const std::string& group) const = 0;
  // All groups of this agent, including those of earlier lives.
  virtual std::vector<std::string> groups() const = 0;
  // The group of this agent that contains the process; empty if none does.
  virtual std::string group_of(pid_t pid) const = 0;
};

// A cgroup mount in /proc/self/mountinfo.
struct CgroupMount {
  std::string path = {};
  bool is_v2 = false;
  std::vector<std::string> controllers = {};  // for v1
};
std::vector<CgroupMount> parse_cgroup_mounts(std::string_view mountinfo);

// The implementation for this machine: v1 if it has one of the controllers, else v2. Errors:
// kUnsupported with the reason, if both are unusable.
Result<std::unique_ptr<Cgroups>> choose_cgroups(const std::vector<CgroupMount>& mounts,
                                                const GroupOptions& options);

// --- for the implementations -------------------------------------------------------------------

namespace cgroups {

// Returns an errno, or 0. Cgroup files need the value in one write.
int write_value(const std::string& path, std::string_view value);
// The content of a small file; none if it cannot be read.
std::optional<std::string> read_value(const std::string& path);
std::optional<int64_t> read_number(const std::string& path);
// The number after `key` in a file with lines "key number".
std::optional<int64_t> read_keyed(const std::string& path, std::string_view key);
std::vector<pid_t> read_pids(const std::string& path);
// The number in `value`; none if the file could not be read.
std::optional<int64_t> number_in(const std::optional<std::string>& value);
std::optional<int64_t> keyed_in(const std::optional<std::string>& value, std::string_view key);
std::vector<std::string> directories_in(const std::string& path);
// The greatest values of cpu.shares, and of cpu.weight in version 2.
inline constexpr std::string_view kSharesMax = "262144";
inline constexpr std::string_view kWeightMax = "10000";
// "cpu.shares" counts 1024 for a CPU.
int64_t shares_of(int64_t cpus_milli);
// Microseconds per 100,000.
int64_t quota_of(int64_t cpus_milli);
// The part after "/<parent>/<agent>/" in a line of /proc/<pid>/cgroup; empty if there is none.
std::string group_in(std::string_view cgroup_path, const GroupOptions& options);
// Reads the lines "id:controllers:path" of /proc/<pid>/cgroup; only those whose controllers fit.
std::string path_of(pid_t pid, const std::function<bool(std::string_view controllers)>& fits);
// Makes the directory of an agent and its parent, and locks it while the descriptor is open.
// Errors: kUnsupported (it cannot be made, with the reason), kFailedPrecondition (another agent has
// the lock).
Result<Fd> lock_folder(const std::string& folder);
// The group of the agent's own process and its fork server, <parent>/<agent>.daemon beside the
// tasks' <parent>/<agent> and with far more weight: however many processes tasks have, the agent
// answers.
class OwnGroup {
 public:
  OwnGroup() = default;
  // This process enters it, if the machine permits that. `back`: its group so far, which it enters
  // again at the end. `weight`: the file for the weight, and the greatest value that it takes.
  OwnGroup(const std::string& folder, std::string back,
           std::pair<std::string_view, std::string_view> weight);
  ~OwnGroup() { leave(); }
  OwnGroup(OwnGroup&& other) noexcept { *this = std::move(other); }
  OwnGroup& operator=(OwnGroup&& other) noexcept;

 private:
  void leave();
  std::string folder_ = {};  // empty: not entered
  std::string back_ = {};
};
// The folder of the above for an agent's folder.
std::string own_folder(const std::string& folder);

// Removes from each of `parents` the directories of ended agents with only empty groups. A running
// agent has a lock on its directory in the first of them.
void remove_abandoned(const std::vector<std::string>& parents, const std::string& but);

}  // namespace cgroups

}  // namespace proffer::agent
