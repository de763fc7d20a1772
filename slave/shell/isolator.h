#pragma once

// Separates the runs of executors and enforces their limits. Each run has a process group that the
// kernel limits and counts, and that is killed as a whole when the run has ended. If this process
// cannot use groups on the machine, the isolator does nothing, and reports that.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

#include "common/resources.h"
#include "common/result.h"
#include "slave/shell/cgroups.h"

namespace proffer::agent {

// The memory of the executor itself, in addition to its tasks.
inline constexpr int64_t kExecutorMemoryBytes = int64_t{32} << 20;

enum class LimitsWanted : uint8_t {
  kWherePossible,
  kRequired,  // the agent does not start without limits
  kNone,
};
// "auto", "required", "none". Errors: kInvalidArgument.
Result<LimitsWanted> parse_limits_wanted(std::string_view text);

class Isolator {
 public:
  // Enforces no limits, for this reason.
  explicit Isolator(std::string why_not);
  // `options`: those of `cgroups`.
  explicit Isolator(std::unique_ptr<Cgroups> cgroups, GroupOptions options = {});
  // Groups of runs stay, for the agent's next life.
  ~Isolator();
  Isolator(const Isolator&) = delete;
  Isolator& operator=(const Isolator&) = delete;

  // The isolator for this machine. Errors: a limit that kRequired needs is missing.
  static Result<std::unique_ptr<Isolator>> choose(LimitsWanted wanted, const GroupOptions& options);

  // "cpu, memory, pids (cgroups v1)", or which limits are not enforced, and why.
  const std::string& words() const { return words_; }
  bool is_enforcing() const { return cgroups_ != nullptr; }

  // Makes a group for a run that starts, unless it has one. Errors: kUnavailable,
  // kResourceExhausted.
  Result<void> prepare(uint64_t run, const ResourceVector& resources,
                       const std::vector<GpuDevice>& gpus = {});
  // Whether hand_over() can return true here.
  bool hands_over() const { return cgroups_ == nullptr || cgroups_->can_renew(); }
  // The only process of a run whose task has ended continues as another run, which takes over its
  // group; prepare() follows. False: the group has other processes, or its counts cannot be reset.
  bool hand_over(uint64_t from, uint64_t to);
  // Files to which the first process of a run writes "0" before it runs other code.
  std::vector<std::string> entrances(uint64_t run) const;
  // For a process that could not do that. Errors: kUnavailable.
  Result<void> attach(uint64_t run, pid_t pid);
  // Its tasks have changed.
  void update(uint64_t run, const ResourceVector& resources,
              const std::vector<GpuDevice>& gpus = {});
  // None if the run has no group. used() is the cheaper part of usage() (Cgroups).
  std::optional<GroupUsage> used(uint64_t run) const;
  std::optional<GroupUsage> usage(uint64_t run) const;
  // The use of all runs of this agent, including ended ones, since its directory was made.
  GroupUsage usage_of_all() const;
  // Sends SIGKILL to all processes in its group; returns whether there were any. To be repeated
  // until there are none.
  bool kill_all(uint64_t run);
  // The run has ended; `is_empty`: kill_all() has just returned false. False: its group cannot be
  // removed yet (tidy_up).
  bool cleanup(uint64_t run, bool is_empty = false);
  // A process of a run of an earlier life is alive; its group becomes the group of that run.
  void recover(uint64_t run, pid_t pid);
  // Whether the process is in a group of this agent, of a live run or a stray one.
  bool holds(pid_t pid) const { return cgroups_ != nullptr && !cgroups_->group_of(pid).empty(); }
  // All live runs are recovered: kills the processes in other groups of an earlier life. Returns
  // whether any are left. To be repeated until there are none.
  bool kill_strays();
  // Tries again to remove groups; returns whether any are left.
  bool tidy_up();

 private:
  struct Leaving {
    std::string group = {};
    int attempts = 0;
  };
  bool let_go(std::string group);
  const std::string* group_of(uint64_t run) const;
  GroupLimits limits_of(const ResourceVector& resources, const std::vector<GpuDevice>& gpus) const;

  std::unique_ptr<Cgroups> cgroups_;
  std::string words_;
  GroupOptions options_ = {};
  uint64_t last_ = 0;                     // number of the newest group
  std::map<uint64_t, std::string> runs_;  // their groups
  std::vector<std::string> idle_;         // reusable groups
  std::vector<Leaving> leaving_;
  std::set<std::string> strays_;  // groups of an earlier life without a run
};

}  // namespace proffer::agent
