#pragma once

// One job from its start to its last task: its asks, its launches, and its reaction to failures.
// Pure. Jobs (jobs.h) has one of these for each job that has begun, passes it the SDK's events, and
// stores the state that must survive the process.
//
//   maps first → all maps done → reduces → all reduces done ─┐
//                     ↑                        │             ├→ last task → over
//                     └── maps computed again ─┘   fails ────┘
//                         an agent was lost, or    is cancelled
//                         its files cannot be fetched
//
// A task is pending, running (one attempt counts) or done (one attempt won, only its output is
// used). A failed task is tried on another agent first. An attempt that was lost through no fault
// of its own is not counted. A task that would delay the job gets a second attempt beside the first
// (stragglers.h). The last task, as the job's user, commits the output, sets it aside for a retry,
// or removes it.
//
// The input of some jobs is not known when they are submitted: their first task makes the plan
// (plan.h), and when the plan is stored, the maps begin.
//
// An array has ranges of elements in place of maps and reduces (elements.h). Its last task makes
// the index of the results, and removes only the files for a retry.

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/trace.h"
#include "frameworks/batch/core/order.h"
#include "frameworks/batch/core/records.h"
#include "frameworks/batch/core/waiting.h"
#include "proto/batch_status.h"
#include "sdk/notifications.h"

namespace proffer::batch {

struct JobOptions {
  JobId id = {};
  OrderRecord record = {};     // CHECKed with check_order
  FrameworkId framework = {};  // the framework that runs it
  std::string user = {};       // the user that its tasks run as; empty: the framework's own
  Time started_at = {};
  // The directory of a retried job, or of one whose work is to be removed, is set aside.
  uint32_t retries = 0;
  bool is_aside = false;
  bool begins_with_plan = false;  // its directory waits where its plan is made
  std::string model = {};         // its plan is made from this one (schedule.h)
  bool has_begun = true;          // one of its tasks may have run
  uint32_t attempts_before = 0;   // attempt numbers that earlier lives of the scheduler have used
  // How long a failed task waits for an agent on which it has not failed, before it takes any
  // agent.
  Duration elsewhere_wait = seconds(2);
  // A reduce that could not fetch this many times has failed.
  int32_t fetch_rounds = 8;
};

struct JobOutbox {
  std::vector<sdk::Command> commands = {};  // sent in this order
  std::vector<TraceEvent> trace = {};
};

// Resources of the last task.
inline constexpr int64_t kEndMilliCpus = 100;
inline constexpr int64_t kEndMilliMem = 64'000;
inline constexpr int64_t kGatherMilliMem = 128'000;  // of an array, for the whole index
// Resources of the first task, which has the paths of all files.
inline constexpr int64_t kPlanMilliCpus = 100;
inline constexpr int64_t kPlanMilliMem = 256'000;

class Job {
 public:
  explicit Job(JobOptions options);
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // --- records that an earlier life of the scheduler stored; call these first --------------------
  void restore(TaskKind kind, const BlockRecord& block);  // numbers beyond the job's are ignored
  void restore(uint32_t block, const ElementsRecord& record);
  void restore(const Outcome& outcome);
  void on_restored(JobOutbox& out);  // after the last of these

  // --- events ------------------------------------------------------------------------------------
  // An update of one of its tasks.
  void on_status(const TaskName& name, const proto::TaskStatus& status, Time now, JobOutbox& out);
  // The progress of one of its tasks, from its executor.
  void on_progress(const TaskName& name, std::string_view bytes, Time now);
  void on_agent_lost(const AgentId& agent, JobOutbox& out);
  // All launches of earlier lives were reported.
  void on_tasks_known(JobOutbox& out);
  // A report on one of its asks.
  void on_ask_report(const proto::AskReport::Row& row, JobOutbox& out);
  void on_time(Time now);
  std::optional<Time> next_deadline() const;
  // Ends the job with this outcome, unless it is ending already.
  void end(Outcome outcome, JobOutbox& out);
  // The result of its plan, until the order with that result is stored (planned_order); then call
  // on_planned().
  std::optional<PlanResult> plan() const;
  void on_planned(JobOrder order);
  // Its outcome is stored: the last task may run.
  void on_outcome_kept();
  // Sets the fates that elements of an array wait for, by position. Ignored before the array is
  // planned.
  void follow(const std::vector<std::pair<uint32_t, Fate>>& fates, JobOutbox& out);

  // --- decisions and status ----------------------------------------------------------------------
  std::vector<Ask> asks() const;
  // The next task for this ask on this agent; none if no task is wanted, or if it takes more than
  // `room` bytes of a message.
  std::optional<proto::TaskSpec> launch(const AskName& ask, const AgentId& agent, size_t room,
                                        Time now, JobOutbox& out);
  // The ranks of a gang, each on the agent at its place. Empty if the number of agents is not the
  // wanted one, or the ranks take more than `room` bytes together.
  std::vector<proto::TaskSpec> launch_gang(const AskName& ask, const std::vector<AgentId>& agents,
                                           size_t room, Time now, JobOutbox& out);
  // Bytes of a message that this task takes.
  static size_t message_bytes(const proto::TaskSpec& task);
  // The agents on which its tasks were launched, as far as this life of the scheduler knows.
  const std::set<AgentId>& agents() const;
  // Its outcome, which must be stored before on_outcome_kept().
  const std::optional<Outcome>& outcome() const;
  // Its last task has ended, successfully or not; the outcome has the result of the job.
  bool is_over() const;
  // Blocks of tasks (records.h) that have changed since the last call.
  std::set<std::pair<TaskKind, uint32_t>> take_changed();
  // The encoded record of a block; empty if there is nothing to store.
  std::string block(TaskKind kind, uint32_t block) const;

  // For an array: the number of elements, once it is planned; the fate of an element, for those
  // that wait for it; and the elements that have ended since the last call.
  std::optional<uint32_t> elements() const;
  Fate fate_of(uint32_t element) const;
  std::vector<uint32_t> take_ended_elements();
  // Every element has failed or was skipped.
  bool have_all_failed() const;
  // All of its elements that have not ended wait for elements of another array.
  bool is_held() const;

  proto::BatchJob status(Time now) const;
  // Broken invariants; O(tasks). For tests and the simulator.
  std::vector<Violation> violations() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace proffer::batch
