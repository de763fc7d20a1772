#pragma once

// Keeps the runs of executors within their limits and apart: each run has a group of processes,
// which the kernel limits and counts, and which is killed as a whole when the run has ended. Where
// the machine has no groups for this process it does nothing, and says so.

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

// What the executor itself may use beside its tasks.
inline constexpr int64_t kExecutorMemoryBytes = int64_t{32} << 20;

enum class LimitsWanted : uint8_t {
  kWherePossible,
  kRequired,  // or the agent does not start
  kNone,
};
// "auto", "required", "none". Errors: kInvalidArgument.
Result<LimitsWanted> parse_limits_wanted(std::string_view text);

class Isolator {
 public:
  // Nothing is limited, for this reason.
  explicit Isolator(std::string why_not);
  explicit Isolator(std::unique_ptr<Cgroups> cgroups);
  // Groups of runs stay, for the next life of this agent.
  ~Isolator();
  Isolator(const Isolator&) = delete;
  Isolator& operator=(const Isolator&) = delete;

  // What this machine allows. Errors: what kRequired lacks.
  static Result<std::unique_ptr<Isolator>> choose(LimitsWanted wanted, const GroupOptions& options);

  // "cpu, memory, pids (cgroups v1)", or what is not enforced, and why.
  const std::string& words() const { return words_; }
  bool is_enforcing() const { return cgroups_ != nullptr; }

  // A group for a run that starts; it keeps one that it has. Errors: kUnavailable,
  // kResourceExhausted.
  Result<void> prepare(uint64_t run, const ResourceVector& resources);
  // Whether hand_over() can ever be true here.
  bool hands_over() const { return cgroups_ == nullptr || cgroups_->can_renew(); }
  // The one process of a run whose task has ended goes on as another run's, which has its group
  // from now on; prepare() follows. False: more is in the group, or its counts cannot be set back.
  bool hand_over(uint64_t from, uint64_t to);
  // Files to which the first process of a run writes "0" before it runs anything else.
  std::vector<std::string> entrances(uint64_t run) const;
  // For a process that could not do so. Errors: kUnavailable.
  Result<void> attach(uint64_t run, pid_t pid);
  // Its tasks are others now.
  void update(uint64_t run, const ResourceVector& resources);
  // Nothing if the run has no group. used() is the cheaper half of usage() (Cgroups).
  std::optional<GroupUsage> used(uint64_t run) const;
  std::optional<GroupUsage> usage(uint64_t run) const;
  // Of all runs of this agent, also those that have ended since its directory was made.
  GroupUsage usage_of_all() const;
  // SIGKILL to all that is in its group; whether there was any. Called until there is none.
  bool kill_all(uint64_t run);
  // The run has ended, and `is_empty` if kill_all() has just found nothing. False: its group cannot
  // be removed yet (tidy_up).
  bool cleanup(uint64_t run, bool is_empty = false);
  // A process of a run of an earlier life lives: the group that it is in is that run's.
  void recover(uint64_t run, pid_t pid);
  // Whether the process is in a group of this agent: of a run that lives, or a stray one.
  bool holds(pid_t pid) const { return cgroups_ != nullptr && !cgroups_->group_of(pid).empty(); }
  // All runs that live are recovered: other groups that an earlier life left are ended. Whether any
  // process is left in them. Called until there is none.
  bool kill_strays();
  // Tries again to remove groups that could not be removed; whether any is left.
  bool tidy_up();

 private:
  struct Leaving {
    std::string group = {};
    int attempts = 0;
  };
  bool let_go(std::string group);
  const std::string* group_of(uint64_t run) const;

  std::unique_ptr<Cgroups> cgroups_;
  std::string words_;
  uint64_t last_ = 0;                     // number of the newest group
  std::map<uint64_t, std::string> runs_;  // their groups
  std::vector<std::string> idle_;         // groups that can be used again
  std::vector<Leaving> leaving_;
  std::set<std::string> strays_;  // groups of an earlier life that no run has
};

}  // namespace proffer::agent
