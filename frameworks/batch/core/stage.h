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
  uint32_t last_failed = 0;  // the highest attempt whose failure is among them
  int32_t fetch_failures = 0;
  std::set<AgentId> failed_on = {};
  std::optional<Time> elsewhere_until = {};  // pending, and only for agents not in failed_on
  TaskId active = {};                        // the attempt that counts, while running
  TaskId copy = {};                          // another at the same time (stragglers.h), or none
  uint32_t winner = 0;                       // these three once done
  AgentId winner_agent = {};
  TaskResult result = {};
  bool is_counted = false;           // by its first winner
  std::optional<Duration> cpu = {};  // of all its attempts, as far as it was counted
};

// Attempts that one life of a scheduler can make of a task. Life 1 numbers them 1, 2, …; life 2
// 1001, 1002, …: no task id is used twice, and nothing needs to be written before a launch.
inline constexpr uint32_t kAttemptsPerLife = 1'000;

class Stage {
 public:
  // Attempts are numbered from behind `attempts_before`.
  Stage(const JobId& job, TaskKind kind, size_t size, uint32_t attempts_before)
      : job_(job), kind_(kind), attempts_before_(attempts_before), tasks_(size) {
    for (uint32_t i = 0; i < size; ++i) pending_.insert(pending_.end(), i);
  }

  // Tasks prefer the hosts of their groups; before anything else is said of them.
  void prefer(const Locality& locality, std::vector<uint32_t> groups);

  TaskKind kind() const { return kind_; }
  size_t size() const { return tasks_.size(); }
  const JobTask& task(uint32_t number) const { return tasks_[number]; }
  size_t done() const { return done_; }
  size_t running() const { return running_; }
  // Tasks that run twice now, and the second attempts that were ever launched in this life.
  size_t copies() const { return copies_; }
  int64_t copied() const { return copied_; }
  bool all_done() const { return done_ == tasks_.size(); }
  int64_t failed() const { return failed_; }
  int64_t recomputed() const { return recomputed_; }
  // Sums of the results of the tasks that are done.
  const TaskResult& sums() const { return sums_; }
  // What the tasks counted. Each is counted once, by the attempt that first won with counters: one
  // whose output is lost and computed again stays counted.
  const Counters& counters() const { return counters_; }
  // Of all attempts that have ended, as far as it was counted.
  const std::optional<Duration>& cpu() const { return cpu_; }

  // Tasks that want an agent: any, or one on which they have not failed.
  const std::set<uint32_t>& pending() const { return pending_; }
  const std::set<uint32_t>& elsewhere() const { return elsewhere_; }
  // How many of pending() are in this bucket.
  size_t pending_in(size_t bucket) const;
  const LocalityBuckets& buckets() const { return buckets_; }
  // Done with preferred hosts: on one of them, and elsewhere.
  int64_t near() const { return near_; }
  int64_t far() const { return far_; }
  // The agents that the tasks of elsewhere() avoid, at most `max` of them.
  std::vector<std::string> avoided(size_t max) const;
  std::optional<Time> next_deadline() const;

  // The task to launch on this agent. Tasks of elsewhere() come first or after pending(), by the
  // ask of the offer. Of pending(), tasks that prefer the agent come first, then the tasks of the
  // offer's bucket, then tasks without preferred hosts. Tasks of other buckets still wait for their
  // hosts. A task of pending() that failed on the agent is the last choice.
  std::optional<uint32_t> pick(const AgentId& agent, bool elsewhere_first, size_t bucket) const;

  // The number of its next attempt; none if this life of the scheduler has made all it can.
  std::optional<uint32_t> next_attempt(uint32_t number) const {
    const uint32_t launches = tasks_[number].launches;
    if (launches + 1 >= kAttemptsPerLife) return std::nullopt;
    return attempts_before_ + launches + 1;
  }
  // The task gets a further attempt, next_attempt(); its id.
  TaskId launch(uint32_t number);
  // The same of a task that runs, once.
  TaskId launch_copy(uint32_t number);
  TaskId attempt_id(uint32_t number, uint32_t attempt) const {
    return to_task_id({.job = job_, .kind = kind_, .number = number, .attempt = attempt});
  }
  // Whether an earlier life of the scheduler has launched an attempt of this number.
  bool is_of_earlier_life(uint32_t attempt) const { return attempt <= attempts_before_; }
  // What an earlier life of the scheduler has kept; only of tasks that are as they began. Numbers
  // beyond the last task are ignored.
  void restore(const BlockRecord& kept);
  // What is to be kept of a task; nothing, as long as it is as it began.
  std::optional<TaskRecord> kept(uint32_t number) const;
  // Blocks whose kept tasks have changed since this was last called.
  std::set<uint32_t> take_changed() { return std::exchange(changed_, {}); }
  BlockRecord block(uint32_t block) const;

  // An attempt that was given up counts again; only of a pending task.
  void resume(uint32_t number, TaskId id);
  // An attempt that is not known runs beside the one that counts; only of a task without a copy.
  void resume_copy(uint32_t number, TaskId id);
  // An attempt of a running task is no more; nobody's fault. The other one, if there is one, counts
  // from now on; else the task is pending.
  void lose(uint32_t number, const TaskId& id);
  // The same by its own fault. Returns how often the task has failed.
  int32_t fail(uint32_t number, uint32_t attempt, const TaskId& id, const AgentId& agent,
               std::optional<Time> elsewhere_until);
  // Whether an earlier life of the scheduler has counted the failure of this attempt: it is told
  // again if the acknowledgement was lost with that life. Of two attempts that ran at the same time
  // and failed in two lives, the older one may be taken for counted: the task has one more attempt.
  bool was_counted(uint32_t number, uint32_t attempt) const {
    return is_of_earlier_life(attempt) && attempt <= tasks_[number].last_failed;
  }
  int32_t fetch_failed(uint32_t number) { return ++tasks_[number].fetch_failures; }
  // This attempt won, whether it counted or not. Not of a task that is done.
  void complete(uint32_t number, uint32_t attempt, const AgentId& agent, TaskResult result);
  // The output of a task that is done is gone.
  void forget(uint32_t number);
  // Those that have waited long enough take any agent; without a time, all.
  void end_waits(std::optional<Time> now);

  // An attempt has used so much, to the millisecond.
  void add_cpu(uint32_t number, Duration cpu);

  // Maps that are done, by the agent that has their output.
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
  // Whether a task that is done was near; none if it prefers no hosts.
  void count_place(uint32_t number, int64_t sign);
  // Whether the task still runs without this attempt.
  bool runs_without(JobTask& task, const TaskId& id);
  void add_to_sums(const TaskResult& result, int64_t sign);
  void restore(uint32_t number, const TaskRecord& kept);
  // As far as the stage's counters have room.
  void count(uint32_t block, const Counters& counters);

  void note_change(uint32_t number) { changed_.insert(number / kBlockTasks); }

  JobId job_;
  TaskKind kind_;
  uint32_t attempts_before_;
  std::vector<JobTask> tasks_;
  std::set<uint32_t> changed_;
  std::set<uint32_t> pending_;
  // Empty if no task prefers hosts; else the group of each, and of the pending ones the tasks of
  // each group.
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
  std::map<uint32_t, Counters> block_counters_;  // the same of each block of them
  std::optional<Duration> cpu_;
};

}  // namespace proffer::batch
