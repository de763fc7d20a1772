#pragma once

// The true state of the tasks of a scenario, independent of the knowledge of any core: which are
// wanted, where they run, how often they were lost. Tenants and machines write it; the report is
// made from it.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "common/resources.h"
#include "common/time.h"
#include "sim/scenario.h"

namespace proffer::sim {

// One attempt to run one task. Its text is sent as the task's data.
struct TaskRef {
  uint32_t framework = 0;  // its index in the scenario; group likewise
  uint32_t group = 0;
  uint32_t number = 0;
  uint32_t attempt = 0;  // from 1

  auto operator<=>(const TaskRef&) const = default;
};
std::string to_text(const TaskRef& ref);
// Parses a text of to_text(); any other text is a bug.
TaskRef parse_task_ref(std::string_view text);

// Amounts summed over time, exactly: sums of amount times nanoseconds.
class TimeIntegral {
 public:
  void set(const ResourceVector& amounts, Time now);
  const ResourceVector& amounts() const { return amounts_; }
  // The mean of `kind` in thousandths of the mean of `whole`, from the beginning until now.
  int64_t thousandths_of(const TimeIntegral& whole, ResourceKind kind, Time now) const;
  void begin(Time now) { since_ = now; }

 private:
  __extension__ using Sum = __int128;
  Sum sum(ResourceKind kind, Time now) const;

  ResourceVector amounts_;
  Time since_;
  std::array<Sum, kResourceKindCount> sums_ = {};
};

class TaskBook {
 public:
  // `zero` is when the scenario begins. Requires a checked scenario that outlives it.
  TaskBook(const Scenario& scenario, Time zero);

  // --- demands of a tenant -----------------------------------------------------------------------
  // The arrival time of the next task of this framework; none if all have arrived.
  std::optional<Time> next_arrival(uint32_t framework) const;
  // All that arrive until `at`.
  void arrive(uint32_t framework, Time at);
  // Pending tasks of a group: those in whole gangs (without gangs: all), and members of gangs that
  // continue without them.
  struct Pending {
    int64_t whole = 0;
    int64_t members = 0;
  };
  Pending pending(uint32_t framework, uint32_t group) const;
  // The next `count` pending tasks, launched from now on: a whole gang, or `members` of broken
  // ones. Fewer if fewer are pending; none if a gang is not whole.
  std::vector<TaskRef> launch(uint32_t framework, uint32_t group, int64_t count);
  std::vector<TaskRef> launch_members(uint32_t framework, uint32_t group, int64_t count);
  // The framework ends: none of its tasks is wanted any more.
  void cancel(uint32_t framework);

  // --- events that a tenant receives -------------------------------------------------------------
  enum class Outcome : uint8_t { kFinished, kFailed, kLost, kPreempted, kDrained, kRefused };
  // The outcome of an attempt. False if it is not the newest attempt, and so is ignored.
  bool hear(const TaskRef& ref, Outcome outcome, Time now);
  bool is_current(const TaskRef& ref) const;
  // The task must end for this cause. A repeated call has no effect.
  struct Cause {
    uint32_t framework = 0;
    RoleName role = {};
    RevokeReason reason = RevokeReason::kReclaimed;
    RoleName beneficiary = {};
    auto operator<=>(const Cause&) const = default;
  };
  void told_to_end(const TaskRef& ref, RevokeReason reason, const RoleName& beneficiary);

  // --- events on a machine -----------------------------------------------------------------------
  void started(const TaskRef& ref, Time now);
  void ended(const TaskRef& ref, Time now);
  // Its machine went down: it no longer runs, and this is not reported yet.
  void taken_down(const TaskRef& ref, Time now);
  // The total of all present machines.
  void set_total(const ResourceVector& total, Time now) { total_.set(total, now); }
  const ResourceVector& total() const { return total_.amounts(); }

  // --- for reports -----------------------------------------------------------------------------
  struct Counts {
    int64_t wanted = 0;  // arrived, not finished and not cancelled
    int64_t running = 0;
    int64_t finished = 0;
    int64_t failed = 0;
    int64_t lost = 0;
    int64_t preempted = 0;
  };
  const Counts& counts(uint32_t framework) const { return books_[framework].counts; }
  // For started tasks: the time from wanted to running, the first time; unsorted.
  const std::vector<Duration>& waits(uint32_t framework) const { return books_[framework].waits; }
  // The first starts of the group's tasks that did not run when the scenario began; in order.
  const std::vector<Time>& starts(uint32_t framework, uint32_t group) const {
    return books_[framework].groups[group].starts;
  }
  // Sums over all groups.
  int64_t started() const { return started_; }
  // Neither finished nor cancelled, whether or not they have arrived.
  int64_t open() const { return open_; }
  int64_t preempted() const { return preempted_; }
  struct Revoked {
    int64_t told = 0;
    int64_t ended = 0;  // of these, the tasks that ended because of it
  };
  const std::map<Cause, Revoked>& revoked() const { return revoked_; }
  // From the first wanted task to the last finished one; zero before.
  Duration makespan() const;
  int64_t mean_utilisation(ResourceKind kind, Time now) const {
    return running_.thousandths_of(total_, kind, now);
  }
  const ScenarioTasks& tasks(const TaskRef& ref) const {
    return scenario_.frameworks[ref.framework].tasks[ref.group];
  }
  // The run times of attempts, in place of the scenario's. Set before the run.
  using Durations = std::function<std::optional<Duration>(const TaskRef&)>;
  void set_durations(Durations durations) { durations_ = std::move(durations); }
  // The arrival times, after the scenario begins, of tasks that arrive at 0s in the scenario. Set
  // before the run.
  using Arrivals = std::function<Duration(uint32_t framework, uint32_t group)>;
  void set_arrivals(Arrivals arrivals) { arrivals_ = std::move(arrivals); }
  // How long this attempt runs; none: forever.
  std::optional<Duration> duration_of(const TaskRef& ref) const {
    if (durations_) return durations_(ref);
    return tasks(ref).duration_of(scenario_.seed, scenario_.frameworks[ref.framework].name,
                                  ref.number, ref.attempt);
  }
  // "A/t-0".
  std::string name_of(const TaskRef& ref) const;
  // When the scenario begins.
  Time zero() const { return zero_; }
  // "t-0"; from the second attempt on "t-0.2".
  TaskId id_of(const TaskRef& ref) const;
  // The reverse of id_of() for a task of this framework.
  std::optional<TaskRef> find(uint32_t framework, const TaskId& id) const;

 private:
  enum class State : uint8_t { kLater, kPending, kLaunched, kRunning, kFinished, kCancelled };
  struct Item {
    Time wanted = {};
    uint32_t attempt = 0;
    State state = State::kLater;
    bool waited = false;  // its wait is counted
  };
  struct Group {
    std::vector<Item> items = {};
    uint32_t arrived = 0;           // number of the first tasks that have arrived
    uint32_t fresh = 0;             // the first task that was never launched
    std::set<uint32_t> again = {};  // tasks that are wanted again
    std::vector<Time> starts = {};
  };
  struct Book {
    std::vector<Group> groups = {};
    Counts counts = {};
    std::vector<Duration> waits = {};
  };

  Item& item(const TaskRef& ref) {
    return books_[ref.framework].groups[ref.group].items[ref.number];
  }
  const Item& item(const TaskRef& ref) const {
    return books_[ref.framework].groups[ref.group].items[ref.number];
  }
  Time arrival(uint32_t framework, uint32_t group, uint32_t number) const;
  uint32_t arrived_by(uint32_t framework, uint32_t group, Time at) const;
  TaskRef launch_one(uint32_t framework, uint32_t group, uint32_t number);

  const Scenario& scenario_;
  Time zero_;
  std::vector<Book> books_;
  Durations durations_;
  Arrivals arrivals_;
  int64_t open_ = 0;
  int64_t started_ = 0;
  int64_t preempted_ = 0;
  std::map<Cause, Revoked> revoked_;
  std::map<TaskRef, Cause> notices_;  // of those that have not ended
  std::optional<Time> first_wanted_;
  std::optional<Time> last_finished_;
  TimeIntegral running_;
  TimeIntegral total_;
};

}  // namespace proffer::sim
