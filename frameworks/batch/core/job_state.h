#pragma once

// The state of one job, and its handlers, one file for each topic. For this folder only.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frameworks/batch/core/avoided_agents.h"
#include "frameworks/batch/core/elements.h"
#include "frameworks/batch/core/job_core.h"
#include "frameworks/batch/core/records.h"
#include "frameworks/batch/core/stage.h"
#include "frameworks/batch/core/stragglers.h"
#include "frameworks/batch/core/work.h"

namespace proffer::batch {

class Job::State {
 public:
  explicit State(JobOptions options);

  // job_core.cc: stored records, time, updates, losses, the end.
  void restore(uint32_t block, const ElementsRecord& record);
  void restore(TaskKind kind, const BlockRecord& block);
  void restore(const Outcome& outcome);
  void on_restored(JobOutbox& out) { end_if_done(out); }
  std::optional<Time> next_deadline() const;
  void on_time(Time now);
  void on_status(const TaskName& name, const proto::TaskStatus& status, Time now, JobOutbox& out);
  void on_agent_lost(const AgentId& agent, JobOutbox& out);
  void on_tasks_known(JobOutbox& out);
  void end(Outcome outcome, JobOutbox& out);
  void on_outcome_kept() { is_outcome_kept_ = true; }
  void follow(const std::vector<std::pair<uint32_t, Fate>>& fates, JobOutbox& out);
  Elements* elements() { return elements_ ? &*elements_ : nullptr; }
  const Elements* elements() const { return elements_ ? &*elements_ : nullptr; }
  std::optional<PlanResult> plan() const {
    return is_planned_ || outcome_ ? std::nullopt : plan_result_;
  }
  void on_planned(JobOrder planned);
  const std::optional<Outcome>& outcome() const { return outcome_; }
  bool is_over() const { return is_over_; }
  const std::set<AgentId>& agents() const { return agents_; }
  std::set<std::pair<TaskKind, uint32_t>> take_changed();
  std::string block(TaskKind kind, uint32_t block) const;

  // job_launch.cc: asks and launches.
  std::vector<Ask> asks() const;
  void on_ask_report(const proto::AskReport::Row& row, JobOutbox& out);
  std::optional<proto::TaskSpec> launch(const AskName& ask, const AgentId& agent, size_t room,
                                        Time now, JobOutbox& out);

  std::vector<proto::TaskSpec> launch_gang(const AskName& ask, const std::vector<AgentId>& agents,
                                           size_t room, Time now, JobOutbox& out);

  // job_speculation.cc: second attempts.
  void on_progress(const TaskName& name, std::string_view bytes, Time now);
  // Call it after a change that may make other tasks run or wait.
  void plan_look(Time now);

  // job_status.cc: the status for people.
  proto::BatchJob status(Time now) const;
  std::vector<Violation> violations() const;

 private:
  // An attempt from its launch to its end. An attempt that is given up no longer counts, because
  // its agent is unreachable, or another attempt won. If it finishes first after all, its output is
  // used.
  struct Attempt {
    TaskKind kind = TaskKind::kMap;
    uint32_t number = 0;
    uint32_t attempt = 0;
    AgentId agent = {};
    Time since = {};  // its launch; of an earlier life's, when this life learned of it
    // Its last reported progress, and the time of the report.
    int64_t done = 0;
    std::optional<Time> told_at = {};
    bool given_up = false;
    bool kill_asked = false;
    bool is_unreachable = false;
  };
  using Attempts = std::map<TaskId, Attempt>;

  const JobOrder& order() const { return options_.record.order; }
  Stage& stage(TaskKind kind) { return const_cast<Stage&>(std::as_const(*this).stage(kind)); }
  const Stage& stage(TaskKind kind) const {
    return kind == TaskKind::kMap      ? maps_
           : kind == TaskKind::kReduce ? reduces_
           : kind == TaskKind::kPlan   ? plan_
                                       : end_;
  }

  // --- updates, ends: job_core.cc ----------------------------------------------------------------
  void on_range_status(const TaskName& name, const proto::TaskStatus& status, Time now,
                       JobOutbox& out);
  // Ends the job if all its work is done and only the last task remains.
  void end_if_done(JobOutbox& out);
  // An attempt of an earlier life was reported: the task takes it if it wants one.
  Attempts::iterator adopt(const TaskName& name, const proto::TaskStatus& status, Time now);
  // The job is ending, and this is not one of its last tasks.
  bool is_late(const Attempt& attempt) const;
  void on_finished(const Attempt& attempt, const proto::TaskStatus& status, Time now,
                   JobOutbox& out);
  void on_failed(const Attempt& attempt, const proto::TaskStatus& status, Time now, JobOutbox& out);
  void on_time_limit_exceeded(const Attempt& attempt, const proto::TaskStatus& status, Time now,
                              JobOutbox& out);
  // An attempt that counted has failed by its own fault: the task is tried on another agent, or the
  // job ends.
  void count_failure(const Attempt& attempt, const proto::TaskStatus& status, std::string_view why,
                     const TaskFailure& failure, Time now, JobOutbox& out);
  // An attempt has ended, or another attempt at the same task has won.
  void note_end(const Attempt& attempt, bool has_won, Time now, JobOutbox& out);
  void avoid_if_bad(const AgentId& agent, TaskKind kind, uint32_t number, Time now, JobOutbox& out);
  // Each retry of the job adds as many attempts again.
  int64_t allowed_attempts(TaskKind kind) const;
  int64_t allowed_failures_of_end() const;
  // An output that cannot be committed is set aside. An output that cannot be set aside is removed.
  // An output that cannot be removed stays.
  void on_end_failed(int32_t failures, std::string_view why, JobOutbox& out);
  void fail(const Error& error, JobOutbox& out);
  void kill(Attempts::iterator attempt, JobOutbox& out);
  // Kills the attempts that run at this task, except `but`.
  void kill_others(const Attempt& attempt, const TaskId& but, Time now, JobOutbox& out);
  static void kill(const TaskId& task, JobOutbox& out);
  // A problem is also shown to people, until the next one.
  void trace(TraceEvent happened, JobOutbox& out);

  // --- second attempts: job_speculation.cc -------------------------------------------------------
  struct Speculation {
    TaskTimes times = {};
    std::optional<Time> look_at = {};
    Time may_look_at = {};              // one second after the last look
    std::vector<uint32_t> wanted = {};  // as of the last look
  };
  static constexpr TaskKind kSpeculated[] = {TaskKind::kMap, TaskKind::kReduce, TaskKind::kEnd};
  Speculation& speculation_of(TaskKind kind) {
    return kind == TaskKind::kMap      ? map_speculation_
           : kind == TaskKind::kReduce ? reduce_speculation_
                                       : end_speculation_;
  }
  const Speculation& speculation_of(TaskKind kind) const {
    return const_cast<State&>(*this).speculation_of(kind);
  }
  bool may_speculate(TaskKind kind) const;
  // The last task has no other task to compare with.
  std::vector<uint32_t> slow_tasks(TaskKind kind, const std::vector<RunningTask>& running) const;
  void look_for_stragglers(TaskKind kind, Time now);
  // Tasks that want a copy, within the bound, most urgent first.
  std::vector<uint32_t> wanted_copies(TaskKind kind) const;
  // The first of these that does not run on this agent.
  std::optional<uint32_t> pick_copy(TaskKind kind, const AgentId& agent) const;
  const AgentId& agent_of_active(TaskKind kind, uint32_t number) const;

  // --- launches: job_launch.cc -------------------------------------------------------------------
  std::optional<proto::TaskSpec> launch_range(const AskName& ask, const AgentId& agent, size_t room,
                                              Time now, JobOutbox& out);
  proto::TaskSpec range_task(const AskName& ask, Elements::Draft& draft) const;
  void on_range_launched(const Elements::Draft& draft, const proto::TaskSpec& spec,
                         const AgentId& agent, Time now, JobOutbox& out);
  // The common parts of all tasks of a kind.
  void describe(proto::TaskSpec& spec, const AskName& ask, TaskKind kind) const;
  ResourceVector shape(TaskKind kind) const;
  // The time limit of a task; zero: none.
  Duration time_limit(TaskKind kind) const;
  // True if tasks of this kind may be launched now. The output is not removed while other tasks
  // write into it; tasks on unreachable agents are not waited for.
  bool wants(TaskKind kind) const;
  // True if the last task commits the output.
  bool commits() const { return outcome_ && outcome_->phase == proto::BatchPhase::kFinished; }
  EndWork::Kind end_kind() const;
  std::string end_words() const;
  std::string aside() const;
  std::string waiting() const;
  // The directory in which its tasks write, once it is planned. The directory of an array is never
  // set aside.
  std::string directory() const {
    return options_.is_aside && !order().array ? aside() : order().output;
  }
  // An array has no maps.
  size_t maps() const { return static_cast<size_t>(order().array ? 0 : order().maps); }
  void make_elements();
  void prefer_hosts();
  WorkCommon common_work(const std::string& command, const std::vector<int32_t>& accepts,
                         uint32_t number, uint32_t attempt) const;
  Work work(TaskKind kind, uint32_t number, uint32_t attempt) const;
  Work reduce_work(uint32_t number, uint32_t attempt) const;

  JobOptions options_;
  Stage plan_;  // for a job that begins with it
  bool is_planned_;
  std::optional<PlanResult> plan_result_;
  Stage maps_;
  Stage reduces_;
  Stage end_;
  std::optional<Elements> elements_;  // for an array
  Attempts attempts_;
  AvoidedAgents avoided_;
  Speculation map_speculation_;
  Speculation reduce_speculation_;
  Speculation end_speculation_;
  std::set<AgentId> agents_;
  std::optional<Outcome> outcome_;
  bool is_outcome_kept_ = false;
  bool is_over_ = false;
  std::map<AskName, std::string> cannot_fit_;
  int64_t ends_given_up_ = 0;  // ways to end that no attempt of the last task could carry out
  std::string note_;
  std::string task_status_;  // of the task that last reported a status
  std::string failed_task_;
  std::optional<Time> map_started_;
  std::optional<Time> reduce_started_;
};

}  // namespace proffer::batch
