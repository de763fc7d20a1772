// The life of one job. Read `on_status` first, which handles each end of an attempt; then `end`.
// job_launch.cc has the tasks that are still wanted.

#include "frameworks/batch/core/job_core.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/text.h"
#include "frameworks/batch/core/job_state.h"
#include "frameworks/batch/core/trace.h"

namespace proffer::batch {
namespace {

using proto::TaskReason;
using proto::TaskState;
using proto::TaskStatus;

// True if a task's status shows that the files of its agent are permanently lost.
bool tells_lost_agent(const TaskStatus& status) {
  if (status.state == TaskState::kUnreachable || status.state == TaskState::kGone) return true;
  return status.state == TaskState::kLost &&
         (status.reason == TaskReason::kAgentRemoved || status.reason == TaskReason::kAgentForgot ||
          status.reason == TaskReason::kAgentUnreachable);
}

bool is_of_executor(TaskReason reason) {
  return reason == TaskReason::kExecutorEnded || reason == TaskReason::kOutOfMemory;
}

}  // namespace

Job::State::State(JobOptions options)
    : options_(std::move(options)),
      plan_(options_.id, TaskKind::kPlan, options_.begins_with_plan ? 1 : 0,
            options_.attempts_before),
      is_planned_(!options_.begins_with_plan),
      maps_(options_.id, TaskKind::kMap, maps(), options_.attempts_before),
      reduces_(options_.id, TaskKind::kReduce, static_cast<size_t>(order().reducers),
               options_.attempts_before),
      end_(options_.id, TaskKind::kEnd, 1, options_.attempts_before) {
  const Result<void> valid = check_order(order());
  CHECK(valid.has_value()) << valid.error().message();
  CHECK(!order().awaits_plan() || options_.begins_with_plan);
  prefer_hosts();
  if (is_planned_) make_elements();
}

void Job::State::prefer_hosts() {
  const Locality& locality = order().locality;
  maps_.prefer(locality, locality.of_maps(maps_.size()));
  reduces_.prefer(locality, locality.of_others(reduces_.size()));
}

void Job::State::make_elements() {
  if (!order().array) return;
  elements_.emplace(options_.id, *order().array, order().attempts, options_.attempts_before,
                    options_.retries);
}

void Job::State::on_planned(JobOrder planned) {
  CHECK(!is_planned_) << options_.id.str();
  options_.record.order = std::move(planned);
  is_planned_ = true;
  maps_ = Stage(options_.id, TaskKind::kMap, maps(), options_.attempts_before);
  maps_.prefer(order().locality, order().locality.of_maps(maps_.size()));
  make_elements();
}

void Job::State::restore(uint32_t block, const ElementsRecord& record) {
  if (elements_) elements_->restore(block, record);
}
void Job::State::restore(TaskKind kind, const BlockRecord& block) {
  stage(kind).restore(block);
  (kind == TaskKind::kMap ? map_started_ : reduce_started_) = options_.started_at;
}
void Job::State::restore(const Outcome& outcome) {
  outcome_ = outcome;
  failed_task_ = outcome.failed_task;
  is_outcome_kept_ = true;
  // Its directory is unchanged in its waiting place, so no last task is needed.
  if (!is_planned_ && !options_.has_begun && outcome.is_kept) is_over_ = true;
}

std::optional<Time> Job::State::next_deadline() const {
  std::optional<Time> first;
  for (const Stage* stage : {&plan_, &maps_, &reduces_, &end_}) {
    const std::optional<Time> next = stage->next_deadline();
    if (next && (!first || *next < *first)) first = next;
  }
  for (const std::optional<Time>& next : {map_speculation_.look_at, reduce_speculation_.look_at,
                                          end_speculation_.look_at, avoided_.next_deadline()}) {
    if (next && (!first || *next < *first)) first = next;
  }
  return is_over_ ? std::nullopt : first;
}

void Job::State::on_time(Time now) {
  for (Stage* stage : {&plan_, &maps_, &reduces_, &end_}) stage->end_waits(now);
  avoided_.forgive(now);
  for (const TaskKind kind : kSpeculated) look_for_stragglers(kind, now);
  plan_look(now);
}

std::set<std::pair<TaskKind, uint32_t>> Job::State::take_changed() {
  std::set<std::pair<TaskKind, uint32_t>> changed;
  for (Stage* stage : {&maps_, &reduces_}) {
    for (const uint32_t block : stage->take_changed()) changed.emplace(stage->kind(), block);
  }
  if (elements_) {
    for (const uint32_t block : elements_->take_changed()) {
      changed.emplace(TaskKind::kRange, block);
    }
  }
  return changed;
}
std::string Job::State::block(TaskKind kind, uint32_t block) const {
  if (kind == TaskKind::kRange) {
    if (!elements_) return "";  // It was not planned.
    const std::optional<ElementsRecord> record = elements_->block(block);
    return record ? encode(*record) : "";
  }
  const BlockRecord record = stage(kind).block(block);
  return record.tasks.empty() ? "" : encode(record);
}

// --- updates ---------------------------------------------------------------------------------

void Job::State::on_status(const TaskName& name, const TaskStatus& status, Time now,
                           JobOutbox& out) {
  if (name.kind == TaskKind::kRange) return on_range_status(name, status, now, out);
  if (name.number >= stage(name.kind).size() || is_over_) return;
  if (tells_lost_agent(status)) on_agent_lost(status.agent, out);
  auto found = attempts_.find(status.task);
  if (found == attempts_.end()) {
    // A duplicate or late update has no effect, unless an earlier life launched the task.
    if (!stage(name.kind).is_of_earlier_life(name.attempt)) return;
    found = adopt(name, status, now);
  }
  const Attempt attempt = found->second;
  Stage& tasks = stage(attempt.kind);
  if (proto::is_terminal(status.state) && status.usage && status.usage->cpu_nanos) {
    tasks.add_cpu(attempt.number, nanoseconds(*status.usage->cpu_nanos));
  }
  found->second.is_unreachable = status.state == TaskState::kUnreachable;
  switch (status.state) {
    case TaskState::kStaging:
    case TaskState::kRunning:
      // The attempt was given up with its agent, and is back. A duplicate is ended as soon as
      // possible.
      if (!attempt.given_up || attempt.kill_asked) return;
      if (tasks.task(attempt.number).state != JobTask::State::kPending || is_late(attempt)) {
        kill(found, out);
        return;
      }
      found->second.given_up = false;
      tasks.resume(attempt.number, status.task);
      return;
    case TaskState::kKilling:
      return;
    case TaskState::kUnreachable:
      if (attempt.given_up) return;
      found->second.given_up = true;
      tasks.lose(attempt.number, status.task);
      trace(TaskUnreachable{OfStatus(status)}, out);
      return;
    case TaskState::kFinished:
      attempts_.erase(found);
      on_finished(attempt, status, now, out);
      return;
    case TaskState::kFailed:
      attempts_.erase(found);
      if (!attempt.given_up) on_failed(attempt, status, now, out);
      return;
    case TaskState::kKilled:
    case TaskState::kLost:
    case TaskState::kGone:
      attempts_.erase(found);
      if (attempt.given_up) return;
      if (status.reason == TaskReason::kRanTooLong) {
        return on_time_limit_exceeded(attempt, status, now, out);
      }
      trace(TaskLost{OfStatus(status)}, out);
      tasks.lose(attempt.number, status.task);
      return;
    case TaskState::kRefused:
      attempts_.erase(found);
      if (attempt.given_up) return;
      if (status.reason == TaskReason::kTaskInvalid) {
        count_failure(attempt, status, status.message, TaskFailure(), now, out);
        return;
      }
      tasks.lose(attempt.number, status.task);
      return;
  }
}

void Job::State::on_range_status(const TaskName& name, const TaskStatus& status, Time now,
                                 JobOutbox& out) {
  if (!elements_ || is_over_) return;
  if (!status.agent.empty()) agents_.insert(status.agent);
  std::vector<TaskId> to_kill;
  elements_->on_status(name, status, outcome_.has_value(), to_kill);
  for (const TaskId& task : to_kill) kill(task, out);
  if (const std::string trouble = elements_->take_trouble(); !trouble.empty()) {
    trace(OutputTrouble{status.task, status.agent, trouble}, out);
  }
  if (proto::is_terminal(status.state)) {
    if (status.state == TaskState::kFailed) {
      avoid_if_bad(status.agent, name.kind, name.first, now, out);
    }
    if (status.state == TaskState::kFinished) {
      trace(TaskDone{OfStatus(status)}, out);
    } else {
      trace(TaskEndedEarly{OfStatus(status)}, out);
    }
  }
  if (const std::optional<Error> trouble = elements_->trouble()) fail(*trouble, out);
  end_if_done(out);
}

void Job::State::on_tasks_known(JobOutbox& out) {
  if (!elements_ || outcome_) return;
  std::vector<TaskId> to_kill;
  elements_->on_tasks_known(to_kill);
  for (const TaskId& task : to_kill) kill(task, out);
}

void Job::State::end_if_done(JobOutbox& out) {
  if (!is_planned_) return;
  if (elements_ && elements_->all_ended()) {
    if (const std::optional<Error> verdict = elements_->verdict()) fail(*verdict, out);
  }
  if (elements_ ? elements_->all_ended() : maps_.all_done() && reduces_.all_done()) {
    end({.phase = proto::BatchPhase::kFinished}, out);
  }
}

void Job::State::follow(const std::vector<std::pair<uint32_t, Fate>>& fates, JobOutbox& out) {
  if (!elements_) return;
  for (const auto& [position, fate] : fates) {
    if (position < elements_->size()) elements_->follow(position, fate);
  }
  if (outcome_) return;
  // The job has not failed: it never began, and waits again if the other job is retried.
  if (elements_->all_skipped()) {
    return end(
        {.phase = proto::BatchPhase::kSkipped,
         .error = "no element can run: all elements that they wait for failed or were skipped",
         .is_kept = true},
        out);
  }
  if (const std::optional<Error> trouble = elements_->trouble()) fail(*trouble, out);
  end_if_done(out);
}

Job::State::Attempts::iterator Job::State::adopt(const TaskName& name, const TaskStatus& status,
                                                 Time now) {
  Attempt attempt{.kind = name.kind,
                  .number = name.number,
                  .attempt = name.attempt,
                  .agent = status.agent,
                  .since = now};
  Stage& tasks = stage(name.kind);
  attempt.given_up = tasks.task(name.number).state != JobTask::State::kPending || is_late(attempt);
  if (!attempt.given_up) tasks.resume(name.number, status.task);
  if (name.kind == TaskKind::kMap && !map_started_) map_started_ = options_.started_at;
  agents_.insert(status.agent);
  return attempts_.emplace(status.task, std::move(attempt)).first;
}

bool Job::State::is_late(const Attempt& attempt) const {
  return outcome_.has_value() != (attempt.kind == TaskKind::kEnd);
}

void Job::State::on_finished(const Attempt& attempt, const TaskStatus& status, Time now,
                             JobOutbox& out) {
  Stage& tasks = stage(attempt.kind);
  const JobTask& task = tasks.task(attempt.number);
  if (task.state == JobTask::State::kDone) return;  // Another attempt won.
  // A task that finishes while the job is ending is done: a retry need not repeat it.
  if (attempt.kind == TaskKind::kEnd && !outcome_) return;
  Result<TaskResult> result = TaskResult();
  if (attempt.kind == TaskKind::kPlan) {
    const Result<PlanResult> plan = decode_plan_result(status.data);
    if (plan && !plan_result_) plan_result_ = *plan;
    if (!plan) result = plan.error();
  } else {
    result = decode_result(status.data);
  }
  const bool lacks_address = result && attempt.kind == TaskKind::kMap && reduces_.size() > 0 &&
                             result->http_address.empty();
  if (!result || lacks_address) {
    if (attempt.given_up) return;
    count_failure(attempt, status,
                  result ? "its executor reported no address of its agent's files"
                         : text("its executor returned no result: ", result.error().message()),
                  TaskFailure(), now, out);
    return;
  }
  // The first attempt wins: others at the same work are not needed.
  kill_others(attempt, status.task, now, out);
  const bool is_timed = attempt.kind == TaskKind::kMap || attempt.kind == TaskKind::kReduce;
  if (is_timed && !tasks.is_of_earlier_life(attempt.attempt)) {
    note_end(attempt, true, now, out);
    speculation_of(attempt.kind).times.add(now - attempt.since);
  }
  tasks.complete(attempt.number, attempt.attempt, attempt.agent, *std::move(result));
  trace(TaskDone{OfStatus(status)}, out);
  if (attempt.kind == TaskKind::kEnd) {
    is_over_ = true;
  } else {
    end_if_done(out);
  }
}

void Job::State::on_failed(const Attempt& attempt, const TaskStatus& status, Time now,
                           JobOutbox& out) {
  const Result<TaskFailure> told = decode_failure(status.data);
  TaskFailure failure = told ? *told : TaskFailure{};
  // A killed executor reports no failure; the end of its stderr may show the cause.
  if (!told && is_of_executor(status.reason)) failure.stderr_tail = status.data;
  if (attempt.kind == TaskKind::kReduce && !failure.fetch_failed.empty()) {
    // It is not the reduce's fault, up to a limit: map outputs that cannot be fetched are made
    // again, except those that were already made again.
    for (const MapAttempt& map : failure.fetch_failed) {
      if (map.number >= maps_.size() || maps_.task(map.number).winner != map.attempt ||
          maps_.task(map.number).state != JobTask::State::kDone) {
        continue;
      }
      maps_.forget(map.number);
    }
    trace(MapOutputsCannotBeFetched{OfStatus(status)}, out);
    if (reduces_.fetch_failed(attempt.number) < options_.fetch_rounds) {
      reduces_.lose(attempt.number, status.task);
      return;
    }
  }
  count_failure(attempt, status, status.message, std::move(failure), now, out);
}

void Job::State::on_time_limit_exceeded(const Attempt& attempt, const TaskStatus& status, Time now,
                                        JobOutbox& out) {
  const Result<TaskFailure> told = decode_failure(status.data);
  // Its command was killed, so neither the command nor the input is at fault.
  const TaskFailure failure{.stderr_tail = told ? told->stderr_tail : ""};
  count_failure(attempt, status,
                text("it exceeded its time limit of ", to_text(time_limit(attempt.kind))), failure,
                now, out);
}

void Job::State::count_failure(const Attempt& attempt, const TaskStatus& status,
                               std::string_view why, const TaskFailure& failure, Time now,
                               JobOutbox& out) {
  Stage& tasks = stage(attempt.kind);
  if (tasks.was_counted(attempt.number, attempt.attempt)) {
    return tasks.lose(attempt.number, status.task);
  }
  const int32_t failures = tasks.fail(attempt.number, attempt.attempt, status.task, attempt.agent,
                                      now + options_.elsewhere_wait);
  // The last task begins anew when it was given up: its failures go on being counted.
  const int64_t allowed = attempt.kind == TaskKind::kEnd
                              ? std::max<int64_t>(allowed_failures_of_end(),
                                                  failures + static_cast<int64_t>(end_.running()))
                              : allowed_attempts(attempt.kind);
  trace(TaskFailed{status.task, attempt.agent, failures, allowed, std::string(why)}, out);
  if (attempt.kind == TaskKind::kEnd) return on_end_failed(failures, why, out);
  if (status.state == TaskState::kFailed) {
    avoid_if_bad(attempt.agent, attempt.kind, attempt.number, now, out);
  }
  failed_task_ = status.task.str();
  const bool is_hopeless =
      failure.blame == Blame::kInput || (failure.blame == Blame::kCommand && tasks.done() == 0);
  if (failures < allowed && !is_hopeless) return;
  std::string message = text(
      "task ", status.task.str(), " failed", failures > 1 ? text(" as attempt ", failures) : "",
      " on agent ", attempt.agent.str(), ": ", why.empty() ? proto::to_text(status.reason) : why);
  const std::string tail = printable_tail(failure.stderr_tail, kEndedErrorBytesMax / 2);
  if (!tail.empty()) message += text("; the end of its standard error:\n", tail);
  const std::string mends =
      status.reason == TaskReason::kRanTooLong ? "submit the job again with a longer time_limit"
      : failure.blame == Blame::kJob
          ? "submit the job again: a retry needs unchanged files"
          : text("run the missing parts with: proffer batch retry ", options_.id.str());
  fail(Error::failed_precondition(std::move(message))
           .with_hint(
               text("see its output with: proffer batch logs ", options_.id.str(), "; ", mends)),
       out);
}

void Job::State::avoid_if_bad(const AgentId& agent, TaskKind kind, uint32_t number, Time now,
                              JobOutbox& out) {
  if (!avoided_.add_failure(agent, kind, number, now, agents_.size())) return;
  trace(AgentAvoided{.job = options_.id, .agent = agent}, out);
}

int64_t Job::State::allowed_attempts(TaskKind kind) const {
  const int64_t attempts = int64_t{order().attempts} * (int64_t{options_.retries} + 1);
  return kind == TaskKind::kEnd ? std::max(kAttempts, order().attempts) : attempts;
}

int64_t Job::State::allowed_failures_of_end() const {
  return allowed_attempts(TaskKind::kEnd) * (ends_given_up_ + 1);
}

void Job::State::on_end_failed(int32_t failures, std::string_view why, JobOutbox& out) {
  // Another attempt still runs and may succeed; no other work may be done beside it.
  if (failures < allowed_failures_of_end() || end_.running() > 0) return;
  ++ends_given_up_;
  if (commits()) {
    outcome_.reset();
    return fail(Error::failed_precondition(text("the output cannot be committed: ", why)), out);
  }
  if (elements_) {
    // Finished work is in the lanes: it can be read there, and a retry can continue it.
    outcome_->error +=
        text("; the results in ", quoted(order().output), " cannot be indexed: ", why);
    is_over_ = true;
    return;
  }
  if (std::exchange(outcome_->is_kept, false)) return;
  outcome_->error += text("; its output ", quoted(order().output), " cannot be removed: ", why);
  is_over_ = true;
}

void Job::State::fail(const Error& error, JobOutbox& out) {
  end({.phase = proto::BatchPhase::kFailed,
       .error = error.message(),
       .hint = error.hint(),
       .failed_task = failed_task_,
       .is_kept = true},
      out);
}

void Job::State::end(Outcome outcome, JobOutbox& out) {
  if (outcome_) return;
  outcome_ = std::move(outcome);
  is_outcome_kept_ = false;
  for (auto at = attempts_.begin(); at != attempts_.end(); ++at) {
    const Attempt& attempt = at->second;
    if (attempt.kind == TaskKind::kEnd || attempt.kill_asked) continue;
    if (!attempt.given_up) stage(attempt.kind).lose(attempt.number, at->first);
    kill(at, out);
  }
  if (!elements_) return;
  for (const TaskId& task : elements_->kill_all()) kill(task, out);
}

void Job::State::note_end(const Attempt& attempt, bool has_won, Time now, JobOutbox& out) {
  const bool was_slow = is_slow(now - attempt.since, speculation_of(attempt.kind).times);
  if (!was_slow && !has_won) return;  // it was ended early
  if (!avoided_.add_end(attempt.agent, was_slow, now, agents_.size())) return;
  trace(AgentAvoided{.job = options_.id, .agent = attempt.agent, .is_slow = true}, out);
}

void Job::State::kill_others(const Attempt& attempt, const TaskId& but, Time now, JobOutbox& out) {
  const JobTask& task = stage(attempt.kind).task(attempt.number);
  for (const TaskId& id : {task.active, task.copy}) {
    if (id.empty() || id == but) continue;
    const auto other = attempts_.find(id);
    CHECK(other != attempts_.end()) << id.str();
    if (attempt.kind == TaskKind::kMap || attempt.kind == TaskKind::kReduce) {
      note_end(other->second, false, now, out);
    }
    kill(other, out);
  }
}

void Job::State::kill(Attempts::iterator attempt, JobOutbox& out) {
  attempt->second.given_up = true;
  attempt->second.kill_asked = true;
  kill(attempt->first, out);
}
void Job::State::kill(const TaskId& task, JobOutbox& out) {
  out.commands.push_back(proto::KillTask{.framework = {}, .task = task, .grace = {}});
}

// --- losses ----------------------------------------------------------------------------------

// Its map outputs are lost with it. Parts of the result are not: they are at the job's output.
void Job::State::on_agent_lost(const AgentId& agent, JobOutbox& out) {
  if (agent.empty() || reduces_.size() == 0 || outcome_) return;
  const auto outputs = maps_.outputs().find(agent);
  if (outputs == maps_.outputs().end()) return;
  const std::set<uint32_t> lost = outputs->second;
  for (const uint32_t number : lost) maps_.forget(number);
  trace(AgentLost{agent, lost.size()}, out);
}

void Job::State::trace(TraceEvent happened, JobOutbox& out) {
  if (happened.level() == TraceLevel::kMisbehaved) {
    // Without the length limit of a log line.
    std::string note(happened.what());
    for (const auto& [key, value] : fields_of(happened)) note += text(' ', key, '=', value);
    note_ = printable_tail(note, kReasonTextBytesMax / 4);
  }
  out.trace.push_back(std::move(happened));
}

// --- interface -------------------------------------------------------------------------------

Job::Job(JobOptions options) : state_(std::make_unique<State>(std::move(options))) {}
Job::~Job() = default;
void Job::restore(TaskKind kind, const BlockRecord& block) { state_->restore(kind, block); }
void Job::restore(uint32_t block, const ElementsRecord& record) { state_->restore(block, record); }
void Job::restore(const Outcome& outcome) { state_->restore(outcome); }
void Job::on_restored(JobOutbox& out) { state_->on_restored(out); }
void Job::on_status(const TaskName& name, const proto::TaskStatus& status, Time now,
                    JobOutbox& out) {
  state_->on_status(name, status, now, out);
  state_->plan_look(now);
}
void Job::on_progress(const TaskName& name, std::string_view bytes, Time now) {
  state_->on_progress(name, bytes, now);
}
void Job::on_agent_lost(const AgentId& agent, JobOutbox& out) { state_->on_agent_lost(agent, out); }
void Job::on_ask_report(const proto::AskReport::Row& row, JobOutbox& out) {
  state_->on_ask_report(row, out);
}
void Job::on_time(Time now) { state_->on_time(now); }
std::optional<Time> Job::next_deadline() const { return state_->next_deadline(); }
void Job::end(Outcome outcome, JobOutbox& out) { state_->end(std::move(outcome), out); }
void Job::on_tasks_known(JobOutbox& out) { state_->on_tasks_known(out); }
std::vector<proto::TaskSpec> Job::launch_gang(const AskName& ask,
                                              const std::vector<AgentId>& agents, size_t room,
                                              Time now, JobOutbox& out) {
  return state_->launch_gang(ask, agents, room, now, out);
}
void Job::on_outcome_kept() { state_->on_outcome_kept(); }
void Job::follow(const std::vector<std::pair<uint32_t, Fate>>& fates, JobOutbox& out) {
  state_->follow(fates, out);
}
std::optional<uint32_t> Job::elements() const {
  const Elements* elements = std::as_const(*state_).elements();
  return elements == nullptr ? std::nullopt : std::optional(elements->size());
}
Fate Job::fate_of(uint32_t element) const {
  return std::as_const(*state_).elements()->fate_of(element);
}
std::vector<uint32_t> Job::take_ended_elements() {
  Elements* elements = state_->elements();
  return elements == nullptr ? std::vector<uint32_t>() : elements->take_ended();
}
bool Job::have_all_failed() const {
  const Elements* elements = std::as_const(*state_).elements();
  return elements != nullptr && elements->have_all_failed();
}
bool Job::is_held() const {
  const Elements* elements = std::as_const(*state_).elements();
  return elements != nullptr && !outcome() && elements->is_held();
}
std::optional<PlanResult> Job::plan() const { return state_->plan(); }
void Job::on_planned(JobOrder order) { state_->on_planned(std::move(order)); }
std::vector<Ask> Job::asks() const { return state_->asks(); }
std::optional<proto::TaskSpec> Job::launch(const AskName& ask, const AgentId& agent, size_t room,
                                           Time now, JobOutbox& out) {
  return state_->launch(ask, agent, room, now, out);
}
const std::set<AgentId>& Job::agents() const { return state_->agents(); }
const std::optional<Outcome>& Job::outcome() const { return state_->outcome(); }
bool Job::is_over() const { return state_->is_over(); }
std::set<std::pair<TaskKind, uint32_t>> Job::take_changed() { return state_->take_changed(); }
std::string Job::block(TaskKind kind, uint32_t block) const { return state_->block(kind, block); }
proto::BatchJob Job::status(Time now) const { return state_->status(now); }
std::vector<Violation> Job::violations() const { return state_->violations(); }

}  // namespace proffer::batch
