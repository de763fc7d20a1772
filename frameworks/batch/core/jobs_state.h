#pragma once

// The state of the batch scheduler, and its handlers, one file for each topic. For this folder
// only.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/deadlines.h"
#include "frameworks/batch/core/jobs.h"
#include "frameworks/batch/core/records.h"
#include "frameworks/batch/core/waiting.h"
#include "sdk/store_journal.h"
#include "sdk/store_loader.h"

namespace proffer::batch {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

// The number in the id of a job; 0: it has none.
uint64_t number_of(const JobId& job);

// A job that has not ended, or whose end is not stored yet, or that can be retried.
struct KnownJob {
  OrderRecord record = {};
  std::optional<Waiting> waiting = {};  // set if the job waits, or is a stage
  bool is_kept = false;                 // its order is stored
  std::vector<uint64_t> submits = {};   // requests that wait for that
  std::unique_ptr<Job> job = {};        // set once it has begun
  uint32_t life = 0;                    // the scheduler's life that numbers attempts; 0: this one
  bool is_restored = false;             // found in the store: its tasks may run
  StateRecord state = {};               // as stored, or as being written
  bool is_outcome_asked = false;        // its outcome is being written
  bool is_plan_asked = false;           // the result of its plan is being written
  std::vector<std::pair<uint64_t, Caller>> cancels = {};  // requests that wait for that
  bool is_end_asked = false;                              // its end is being written
  std::vector<TaskId> last_ends = {};                     // acknowledged when that is done

  // For a job that has ended and can be retried, until its finished work is removed.
  std::optional<proto::BatchJob> ended = {};                         // its status
  Time retry_until = {};                                             // then the removal begins
  std::map<std::pair<TaskKind, uint32_t>, std::string> blocks = {};  // stored records of its tasks
  std::vector<std::pair<uint64_t, Caller>> retries = {};             // requests that wait for it
  bool is_retry_asked = false;                                       // the retry is being written

  bool begins_with_plan() const {
    return record.order.awaits_plan() || (waiting && !waiting->is_planned &&
                                          (!waiting->after.empty() || !waiting->model.empty()));
  }
  bool is_waiting() const { return waiting && verdict(*waiting) != Fate::kMet; }
  bool is_retryable() const { return ended && !job; }
  bool has_outcome() const { return ended || state.outcome || (job && job->outcome()); }
};

class Jobs::State {
 public:
  explicit State(JobsOptions options) : options_(std::move(options)) {}

  void handle(const JobsEvent& event, Time now, JobsOutbox& out);
  std::optional<Time> next_deadline() const;
  bool connected() const { return connected_; }
  bool loaded() const { return loaded_; }
  const FrameworkId& framework() const { return framework_; }
  std::vector<proto::BatchJob> list(const Caller& by, bool with_ended, const JobId& after,
                                    size_t limit, Time now, const std::string& pipeline) const;
  std::vector<proto::BatchSchedule> schedules(const Caller& by, const std::string& after,
                                              size_t limit, size_t fire_times, Time now) const;
  std::vector<Violation> violations() const;

 private:
  struct Step {
    Time now;
    JobsOutbox& out;

    void trace(TraceEvent happened) { out.trace.push_back(std::move(happened)); }
  };
  // A block of tasks whose record must be written.
  struct BlockName {
    JobId job = {};
    TaskKind kind = TaskKind::kMap;
    uint32_t block = 0;
    auto operator<=>(const BlockName&) const = default;
  };
  // The reasons to wait for a ticket of the journal.
  struct Load {};
  struct Begin {};  // this life is counted
  struct Submitted {
    std::vector<JobId> jobs = {};  // the first of these is the answer
  };
  struct OutcomeKept {
    JobId job = {};
  };
  struct PlanKept {
    JobId job = {};
    JobOrder order = {};  // the planned order
  };
  struct Progress {
    std::map<BlockName, std::vector<TaskId>> blocks = {};  // with the task ends in each record
  };
  struct Ended {
    JobId job = {};
    proto::BatchJob picture = {};
    uint32_t next_life = 0;  // for a job that can be retried
  };
  struct Retried {
    JobId job = {};
  };
  struct ScheduleKept {
    std::string name = {};
    std::optional<ScheduleRecord> record = {};  // none: it is removed
    uint64_t relay = 0;
    Caller by = {};
  };
  struct Fired {
    std::string schedule = {};
    ScheduleRecord record = {};
    std::vector<JobId> jobs = {};  // jobs that were started
  };
  using Continuation = std::variant<Load, Begin, Submitted, OutcomeKept, PlanKept, Progress, Ended,
                                    Retried, ScheduleKept, Fired>;

  // jobs.cc: sessions, time, asks, offers, updates.
  void on_notification(Step& step, const sdk::Notification& notification);
  void on_subscribed(Step& step, const proto::Subscribed& subscribed);
  void on_offers(Step& step, const std::vector<Offer>& offers);
  void on_offer(Step& step, const Offer& offer);
  void on_gang_offers(Step& step, const std::vector<const Offer*>& offers);
  void on_status(Step& step, const proto::TaskStatus& status);
  void on_progress(Step& step, const proto::FrameworkMessage& message);
  void on_ask_report(Step& step, const proto::AskReport& report);
  void begin_jobs(Step& step);
  void begin(Step& step, const JobId& id, KnownJob& known);
  void declare_asks(Step& step);
  void release_files(Step& step, const JobId& job, const std::set<AgentId>& agents,
                     bool on_all_agents) const;
  // A job that the following code may change is *touched*: the rest of the step checks it.
  KnownJob* find(const JobId& job);
  KnownJob& touch(const JobId& job);  // the job must exist
  void take_changed();
  void note_touched();
  bool may_run(const KnownJob& known) const { return tasks_known_ || !known.is_restored; }

  // jobs_store.cc: reading and writing the store.
  void begin_loading();
  void load_more();
  void on_loaded(Step& step, const std::vector<proto::StoreResult::Outcome>& outcomes);
  void restore(Step& step, const sdk::StoreEntries& entries);
  void settle(Step& step);
  void on_settled(Step& step, const Continuation& continuation,
                  const sdk::StoreJournal::Settled& settled);
  void write_progress();
  // Writes the decisions of this step about its jobs.
  void keep_decisions(Step& step);
  void on_ended(Step& step, const Ended& ended);

  // jobs_retry.cc: jobs that have ended and can be retried.
  void on_retry(Step& step, uint64_t relay, const Retry& retry, const Caller& by);
  void ask_for_retry(const JobId& job, KnownJob& known);
  void on_retried(Step& step, const JobId& job, const std::optional<Error>& error);
  void make_retryable(Step& step, const Ended& ended, KnownJob& known);
  void give_up_oldest(Time now);
  std::optional<Time> next_removal(Time now) const;
  bool has_unwritten(const JobId& job) const;

  // jobs_waiting.cc: jobs that wait for others, and for their plans.
  void keep_plan(Step& step, const JobId& id, KnownJob& known);
  // A job has ended, or will do its missing work: updates the jobs that wait for it.
  void on_dependency_ended(Step& step, const JobId& job);
  void on_dependency_retried(Step& step, const JobId& job);
  void restore_waits(Step& step);
  // The job was skipped. If its conditions can be met after all, it waits again.
  void wait_again(Step& step, const JobId& id, KnownJob& known);
  // Ends the job as skipped if its conditions can never be met.
  void decide_wait(Step& step, const JobId& id, KnownJob& known);
  // The phase in which a job has ended; none if it has not. kSkipped for an unknown job.
  std::optional<proto::BatchPhase> end_of(const JobId& job) const;
  void write_waiting(const JobId& id, const KnownJob& known);
  // The same with the present fates.
  Waiting looked_at_again(const Waiting& waiting) const;
  void add_waiting(const JobId& id, KnownJob& known, Waiting waiting);
  void forget_waiting(const JobId& id, const KnownJob& known);
  // Checks a planned array: it must have as many elements as the array that its elements wait for.
  Result<void> check_size(const JobOrder& order, const JobId& other) const;
  Result<std::vector<Waiting>> waits_of(const Submission& stages,
                                        const std::vector<JobId>& ids) const;

  // jobs_each.cc: arrays whose elements wait for those of other arrays.
  static const Dependency* each_of(const KnownJob& known);
  // The jobs that wait for this one by element.
  std::vector<JobId> followers_of(const JobId& job) const;
  std::vector<Fate> fates_of_elements(const JobId& of, uint32_t count) const;
  // The fate of a dependency, from all that is known now.
  Fate fate_now(const Dependency& one) const;
  Result<void> check_each_of(const JobOrder& order, const JobId& other) const;
  // Passes the fates of all elements of the other array to its elements.
  void follow_all(Step& step, const JobId& id, KnownJob& known);
  void follow_again(Step& step, const JobId& other);
  // Passes on the ends of elements of touched jobs.
  void tell_followers(Step& step);
  // The job has begun, so jobs that wait for it by element may begin.
  void open_followers(const JobId& job);
  // Stores them before the job is forgotten.
  void keep_elements(const JobId& job, const KnownJob& known);
  // Forgets them unless another job needs them.
  void forget_elements(const JobId& job, const JobId& follower);
  size_t kept_elements_bytes() const;

  // jobs_schedules.cc: jobs that are started again and again.
  void on_schedule(Step& step, uint64_t relay, const SubmitSchedule& submit, const Caller& by);
  void on_schedule_change(Step& step, uint64_t relay, const ChangeSchedule& change,
                          const Caller& by);
  void write_schedule(const std::string& name, ScheduleRecord record, uint64_t relay,
                      const Caller& by);
  void on_schedule_kept(Step& step, const ScheduleKept& kept, const std::optional<Error>& error);
  static Error busy_schedule(const std::string& name);
  proto::BatchSchedule shown_to(const Caller& by, proto::BatchSchedule schedule) const;
  void on_zone(Step& step, const ZoneRead& read);
  void find_started_jobs();
  // Makes the decisions that are due.
  void fire(Step& step);
  void on_fired(Step& step, const Fired& fired, const std::optional<Error>& error);

  // jobs_requests.cc: requests of users, and their answers.
  void on_request(Step& step, const Request& request);
  void on_submit(Step& step, uint64_t relay, const Submission& stages, const RoleName& role,
                 const Caller& by);
  // Adds the jobs; they are not stored yet. `operations` receive the writes. `fired` is the
  // schedule that starts them, if any; their roles are known then. Errors: kResourceExhausted;
  // kNotFound for a job to wait for.
  Result<std::vector<JobId>> add_jobs(Step& step, const Submission& stages,
                                      const std::string& owner, const std::string& schedule,
                                      std::vector<proto::StoreOperation>& operations);
  void on_submitted(Step& step, const std::vector<JobId>& jobs, const std::optional<Error>& error);
  // Each user has its own role by default, so that users share resources fairly.
  RoleName charged_role(const RoleName& role, const std::string& user) const;
  void end_as_cancelled(Step& step, const JobId& id, KnownJob& known, const std::string& why);
  void on_cancel(Step& step, uint64_t relay, const Cancel& cancel, const Caller& by);
  void answer_watches(Step& step);
  Result<void> has_room(const std::vector<const JobOrder*>& orders, const std::string& owner) const;
  // "etl-7.clean" is a stage of a pipeline.
  JobId resolved(const JobId& job) const;
  // Checks that there is room for `order` in place of the job's present order.
  Result<void> has_room_for_plan(const JobId& job, const JobOrder& order) const;
  // `what` is a verb for the message, as in "end".
  Result<void> may(std::string_view what, const std::string& owner, const JobId& job,
                   const Caller& by) const;
  Error unknown_job(const JobId& job) const;
  std::optional<proto::BatchJob> picture(const JobId& job, Time now) const;
  proto::BatchJob picture(const JobId& id, const KnownJob& known, Time now) const;
  static void say_what_it_waited_for(const std::optional<Waiting>& waiting, proto::BatchJob& job);
  proto::BatchJob shown_to(const Caller& by, proto::BatchJob job) const;
  void answer(Step& step, uint64_t relay, Result<proto::BatchJob> job) const {
    step.out.answers.push_back({relay, std::move(job)});
  }
  const JobId* next_to_begin(Time now) const;

  // Compares jobs by order of submission.
  struct ByNumber {
    bool operator()(const JobId& a, const JobId& b) const;
  };

  const JobsOptions options_;
  sdk::StoreJournal journal_ = sdk::StoreJournal(true);
  std::map<sdk::StoreJournal::Ticket, Continuation> continuations_;
  std::optional<sdk::StoreLoader> loader_;
  bool is_writing_progress_ = false;
  std::set<JobId> waits_for_progress_;  // to be written, so that they can end
  std::optional<Time> next_removal_;    // next removal of a job's finished work

  bool connected_ = false;
  bool loaded_ = false;
  bool tasks_known_ = false;  // all launches of earlier lives were reported
  FrameworkId framework_;
  SchedulerRecord self_;
  std::map<JobId, KnownJob, ByNumber> jobs_;
  std::map<JobId, std::set<JobId>> dependents_;  // of jobs_, by the job that they wait for
  std::map<JobId, proto::BatchJob, ByNumber> ended_;
  // Stored blocks of elements of ended arrays for whose elements other jobs wait.
  std::map<JobId, std::map<uint32_t, std::string>> kept_elements_;
  Schedules schedules_;
  size_t ended_bytes_ = 0;
  std::map<BlockName, std::vector<TaskId>> changed_;  // changed and not yet being written
  std::map<TaskId, proto::TaskStatus> early_;         // reported before the store was read

  // The work of a step is proportional to the number of touched jobs.
  std::set<JobId, ByNumber> touched_;
  DeadlineQueue<JobId> wakes_;  // next_deadline() of each job
  std::map<JobId, std::vector<Ask>, ByNumber> asks_;
  bool asks_touched_ = false;
  bool begin_stale_ = false;  // other jobs may begin now
  bool asks_stale_ = true;
  std::vector<Ask> declared_;  // as the master has them, less the launches since

  struct Watch {
    WatchJob what = {};
    Caller by = {};
    Time until = {};
  };
  std::map<uint64_t, Watch> watches_;  // by relay
};

}  // namespace proffer::batch
