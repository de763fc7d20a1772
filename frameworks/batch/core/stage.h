#pragma once

// The tasks of one kind, map or reduce, and which of them want an agent.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/result.h"
#include "common/time.h"
#include "frameworks/batch/core/locality.h"
#include "frameworks/batch/core/records.h"
#include "frameworks/batch/core/work.h"

namespace proffer::batch {

struct JobTask {
  enum class State : uint8_t { kPending, kRunning, kDone };
  State state = State::kPending;
  uint32_t launches = 0;  // in this life of the scheduler
  int32_t failures = 0;
  uint32_t last_failed = 0;  // the highest attempt among the counted failures
  int32_t fetch_failures = 0;
  std::set<AgentId> failed_on = {};
  std::optional<Time> elsewhere_until = {};  // pending, and only for agents not in failed_on
  TaskId active = {};                        // the attempt that counts, while running
  TaskId copy = {};                          // a second attempt (stragglers.h), or none
  uint32_t winner = 0;                       // these three are set once done
  AgentId winner_agent = {};
  TaskResult result = {};
  bool is_counted = false;           // by its first winner
  std::optional<Duration> cpu = {};  // of all its attempts, where it was counted
};

// The attempts that one life of a scheduler can make of a task. Life 1 numbers them 1, 2, …; life 2
// 1001, 1002, …. So no task id is used twice, and nothing needs to be written before a launch.
inline constexpr uint32_t kAttemptsPerLife = 1'000;

class Stage {
 public:
  // The first attempt has number `attempts_before` + 1.
  Stage(const JobId& job, TaskKind kind, size_t size, uint32_t attempts_before)
      : job_(job), kind_(kind), attempts_before_(attempts_before), tasks_(size) {
    for (uint32_t i = 0; i < size; ++i) pending_.insert(pending_.end(), i);
  }

  // Tasks prefer the hosts of their groups. Call it first.
  void prefer(const Locality& locality, std::vector<uint32_t> groups);

  TaskKind kind() const { return kind_; }
  size_t size() const { return tasks_.size(); }
  const JobTask& task(uint32_t number) const { return tasks_[number]; }
  size_t done() const { return done_; }
  size_t running() const { return running_; }
  // Tasks that run twice now, and all second attempts that this life launched.
  size_t copies() const { return copies_; }
  int64_t copied() const { return copied_; }
  bool all_done() const { return done_ == tasks_.size(); }
  int64_t failed() const { return failed_; }
  int64_t recomputed() const { return recomputed_; }
  // Sums of the results of the tasks that are done.
  const TaskResult& sums() const { return sums_; }
  // The counters of the tasks. Each task counts once, by the first attempt that won with counters:
  // a task whose output is lost and computed again stays counted.
  const Counters& counters() const { return counters_; }
  // CPU time of all ended attempts, where it was counted.
  const std::optional<Duration>& cpu() const { return cpu_; }

  // Tasks that want an agent: any agent, or one on which they have not failed.
  const std::set<uint32_t>& pending() const { return pending_; }
  const std::set<uint32_t>& elsewhere() const { return elsewhere_; }
  // The number of tasks of pending() in this bucket.
  size_t pending_in(size_t bucket) const;
  const LocalityBuckets& buckets() const { return buckets_; }
  // Done tasks with preferred hosts: on one of these, and elsewhere.
  int64_t near() const { return near_; }
  int64_t far() const { return far_; }
  // The agents that the tasks of elsewhere() avoid, at most `max`.
  std::vector<std::string> avoided(size_t max) const;
  std::optional<Time> next_deadline() const;

  // The task to launch on this agent. Tasks of elsewhere() come first or after pending(), by the
  // ask of the offer. Of pending(), tasks that prefer the agent come first, then the tasks of the
  // offer's bucket, then tasks without preferred hosts. Tasks of other buckets still wait for their
  // hosts. A task of pending() that failed on the agent is the last choice.
  std::optional<uint32_t> pick(const AgentId& agent, bool elsewhere_first, size_t bucket) const;

  // The number of its next attempt; none if this life of the scheduler has used all its numbers.
  std::optional<uint32_t> next_attempt(uint32_t number) const {
    const uint32_t launches = tasks_[number].launches;
    if (launches + 1 >= kAttemptsPerLife) return std::nullopt;
    return attempts_before_ + launches + 1;
  }
  // Starts a new attempt, next_attempt(), and returns its id.
  TaskId launch(uint32_t number);
  // The same for a second attempt of a running task.
  TaskId launch_copy(uint32_t number);
  TaskId attempt_id(uint32_t number, uint32_t attempt) const {
    return to_task_id({.job = job_, .kind = kind_, .number = number, .attempt = attempt});
  }
  // True if an earlier life of the scheduler launched an attempt with this number.
  bool is_of_earlier_life(uint32_t attempt) const { return attempt <= attempts_before_; }
  // The record that an earlier life of the scheduler stored. Only tasks in their initial state take
  // it. Numbers beyond the last task are ignored.
  void restore(const BlockRecord& kept);
  // The record to store for a task; none while it is in its initial state.
  std::optional<TaskRecord> kept(uint32_t number) const;
  // Blocks whose stored tasks have changed since the last call.
  std::set<uint32_t> take_changed() { return std::exchange(changed_, {}); }
  BlockRecord block(uint32_t block) const;

  // An attempt that was given up counts again; only for a pending task.
  void resume(uint32_t number, TaskId id);
  // An unknown attempt runs beside the one that counts; only for a task without a copy.
  void resume_copy(uint32_t number, TaskId id);
  // An attempt of a running task was lost through no fault of its own. The other attempt, if any,
  // counts from now on; else the task is pending.
  void lose(uint32_t number, const TaskId& id);
  // An attempt failed by its own fault. Returns the number of failures of the task.
  int32_t fail(uint32_t number, uint32_t attempt, const TaskId& id, const AgentId& agent,
               std::optional<Time> elsewhere_until);
  // True if an earlier life of the scheduler has counted the failure of this attempt; it is
  // reported again if the acknowledgement was lost with that life. If two attempts ran at the same
  // time and failed in two lives, the older one may wrongly count as counted: the task then has one
  // more attempt.
  bool was_counted(uint32_t number, uint32_t attempt) const {
    return is_of_earlier_life(attempt) && attempt <= tasks_[number].last_failed;
  }
  int32_t fetch_failed(uint32_t number) { return ++tasks_[number].fetch_failures; }
  // This attempt won, whether it counted or not. The task must not be done.
  void complete(uint32_t number, uint32_t attempt, const AgentId& agent, TaskResult result);
  // The output of a done task is lost.
  void forget(uint32_t number);
  // Tasks that have waited long enough take any agent; without a time, all tasks.
  void end_waits(std::optional<Time> now);

  // Adds the CPU time of an attempt, in milliseconds.
  void add_cpu(uint32_t number, Duration cpu);

  // Done maps, by the agent that has their output.
  const std::map<AgentId, std::set<uint32_t>>& outputs() const { return outputs_; }

  void check(std::vector<Violation>& out) const;

 private:
  void want(uint32_t number);
  void unwant(uint32_t number);
  void add_pending(uint32_t number);
  void remove_pending(uint32_t number);
  std::optional<uint32_t> pick_pending(const AgentId& agent, size_t bucket,
                                       bool takes_failed) const;
  uint32_t group_of(uint32_t number) const { return groups_.empty() ? 0 : groups_[number]; }
  // Counts whether a done task ran on a preferred host. It does nothing if the task has none.
  void count_place(uint32_t number, int64_t sign);
  // True if the task still runs without this attempt.
  bool runs_without(JobTask& task, const TaskId& id);
  void add_to_sums(const TaskResult& result, int64_t sign);
  void restore(uint32_t number, const TaskRecord& kept);
  // Adds counters while the stage has room for them.
  void count(uint32_t block, const Counters& counters);

  void note_change(uint32_t number) { changed_.insert(number / kBlockTasks); }

  JobId job_;
  TaskKind kind_;
  uint32_t attempts_before_;
  std::vector<JobTask> tasks_;
  std::set<uint32_t> changed_;
  std::set<uint32_t> pending_;
  // Empty if no task prefers hosts; else the group of each task, and the pending tasks of each
  // group.
  std::vector<uint32_t> groups_;
  LocalityBuckets buckets_;
  std::map<uint32_t, std::set<uint32_t>> pending_of_group_;
  std::array<size_t, LocalityBuckets::kCount> pending_in_ = {};
  int64_t near_ = 0;
  int64_t far_ = 0;
  std::set<uint32_t> elsewhere_;
  std::map<AgentId, std::set<uint32_t>> outputs_;
  size_t running_ = 0;
  size_t copies_ = 0;
  int64_t copied_ = 0;
  size_t done_ = 0;
  int64_t failed_ = 0;
  int64_t recomputed_ = 0;
  TaskResult sums_;
  Counters counters_;                            // of all tasks
  std::map<uint32_t, Counters> block_counters_;  // the counters of each of its blocks
  std::optional<Duration> cpu_;
};

}  // namespace proffer::batch
