#pragma once

// One job from its start to its last task: what to ask for, what to launch where, what to
// do about everything that fails. Pure; Jobs (jobs.h) has one of these for each job that has begun,
// feeds it what the SDK hears of it, and keeps what must outlive the process.
//
//   maps first → all maps done → reduces → all reduces done ─┐
//                     ↑                        │             ├→ last task → over
//                     └── maps computed again ─┘   fails ────┘
//                         an agent was lost, or    is cancelled
//                         its files cannot be fetched
//
// A task is pending, running (one attempt counts) or done (one attempt won, only its output is
// used). What failed is tried elsewhere first; what was lost through nobody's fault is not counted.
// A task that would hold up the job gets a second attempt beside the first (stragglers.h).
// The last task, as the job's user, commits the output, or sets aside what there is for a retry, or
// removes it.
//
// The input of some jobs is not known when they are submitted: their first task makes the plan
// (plan.h), and when that is kept, the maps begin.
//
// An array has ranges of elements in place of maps and reduces (elements.h). Its last task makes
// the index of the results, and removes nothing but what a retry would need.

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
  FrameworkId framework = {};  // that runs it
  std::string user = {};       // that its tasks run as; empty: the framework's own
  Time started_at = {};
  // The directory of a job that is tried again, or whose work is to be removed, is set aside.
  uint32_t retries = 0;
  bool is_aside = false;
  bool begins_with_plan = false;  // its directory waits where its plan is made
  std::string model = {};         // its plan is made from this one (schedule.h)
  bool has_begun = true;          // a task of it may have run
  uint32_t attempts_before =
      0;  // numbers of attempts that earlier lives of the scheduler have used
  // How long what failed waits for an agent on which it has not, before any agent will do.
  Duration elsewhere_wait = seconds(2);
  // A reduce that has been unable to fetch so often has failed.
  int32_t fetch_rounds = 8;
};

struct JobOutbox {
  std::vector<sdk::Command> commands = {};  // in this order
  std::vector<TraceEvent> trace = {};
};

// What the last task takes.
inline constexpr int64_t kEndMilliCpus = 100;
inline constexpr int64_t kEndMilliMem = 64'000;
inline constexpr int64_t kGatherMilliMem = 128'000;  // of an array: it has the whole index
// And the first: it has the paths of all files.
inline constexpr int64_t kPlanMilliCpus = 100;
inline constexpr int64_t kPlanMilliMem = 256'000;

class Job {
 public:
  explicit Job(JobOptions options);
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // --- what an earlier life of the scheduler has kept; before anything else ----------------------
  void restore(TaskKind kind, const BlockRecord& block);  // numbers beyond the job's are ignored
  void restore(uint32_t block, const ElementsRecord& record);
  void restore(const Outcome& outcome);
  void on_restored(JobOutbox& out);  // behind the last of these

  // --- what happens ------------------------------------------------------------------------------
  // Of one of its tasks.
  void on_status(const TaskName& name, const proto::TaskStatus& status, Time now, JobOutbox& out);
  // How far one of its tasks is, by its executor.
  void on_progress(const TaskName& name, std::string_view bytes, Time now);
  void on_agent_lost(const AgentId& agent, JobOutbox& out);
  // All that earlier lives have launched was told.
  void on_tasks_known(JobOutbox& out);
  // Of one of its asks.
  void on_ask_report(const proto::AskReport::Row& row, JobOutbox& out);
  void on_time(Time now);
  std::optional<Time> next_deadline() const;
  // Ends it so, unless it is ending already.
  void end(Outcome outcome, JobOutbox& out);
  // What its plan says, until the order is kept that says the same (planned_order); then
  // on_planned().
  std::optional<PlanResult> plan() const;
  void on_planned(JobOrder order);
  // Its outcome is kept: the last task may run.
  void on_outcome_kept();
  // Elements of an array by position: what they wait for is so far. Before it is planned, nothing
  // is heard.
  void follow(const std::vector<std::pair<uint32_t, Fate>>& fates, JobOutbox& out);

  // --- what is to be done ------------------------------------------------------------------------
  std::vector<Ask> asks() const;
  // The next task for this ask on this agent; nothing if none is wanted, or if it takes more than
  // `room` bytes of a message.
  std::optional<proto::TaskSpec> launch(const AskName& ask, const AgentId& agent, size_t room,
                                        Time now, JobOutbox& out);
  // The ranks of a gang, each on the agent at its place; nothing if these are not as many as are
  // wanted, or take more than `room` bytes together.
  std::vector<proto::TaskSpec> launch_gang(const AskName& ask, const std::vector<AgentId>& agents,
                                           size_t room, Time now, JobOutbox& out);
  // Bytes of a message that this task takes.
  static size_t message_bytes(const proto::TaskSpec& task);
  // Where its tasks were launched, as far as this life of the scheduler knows.
  const std::set<AgentId>& agents() const;
  // How it is to end; to be kept before on_outcome_kept().
  const std::optional<Outcome>& outcome() const;
  // Its last task is done, in vain perhaps: the outcome says what became of it.
  bool is_over() const;
  // Blocks of tasks (records.h) that have changed since this was last called.
  std::set<std::pair<TaskKind, uint32_t>> take_changed();
  // The record of one, encoded; empty if there is nothing to keep.
  std::string block(TaskKind kind, uint32_t block) const;

  // Of an array: how many elements it has, once that is planned; what has come of one, for those
  // that wait for it; and which have ended since this was last called.
  std::optional<uint32_t> elements() const;
  Fate fate_of(uint32_t element) const;
  std::vector<uint32_t> take_ended_elements();
  // All of its elements that have not ended wait for those of another array.
  bool is_held() const;

  proto::BatchJob status(Time now) const;
  // Broken invariants; O(tasks). For tests and the simulator.
  std::vector<Violation> violations() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace proffer::batch
