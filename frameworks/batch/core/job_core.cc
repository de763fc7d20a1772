// The life of one job. Read `on_status` first: it says what each ending of an attempt means; then
// `launch` and `asks`, which say what is still wanted, and `end`.

#include "frameworks/batch/core/job_core.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/text.h"
#include "frameworks/batch/core/elements.h"
#include "frameworks/batch/core/plan.h"
#include "frameworks/batch/core/stage.h"

namespace proffer::batch {
namespace {

using proto::TaskReason;
using proto::TaskState;
using proto::TaskStatus;

constexpr size_t kLaunchOverheadBytes = 1'024;
constexpr size_t kFetchOverheadBytes = 128;
constexpr size_t kCommandShownBytes = 200;

constexpr std::string_view kElsewhere = "-elsewhere";

AskName ask_name(const JobId& job, TaskKind kind, bool elsewhere) {
  return AskName(text(job.str(), ".", to_text(kind), elsewhere ? kElsewhere : ""));
}

// Nobody will ever have the files of this agent again, by what the cluster says of its task.
bool tells_lost_agent(const TaskStatus& status) {
  if (status.state == TaskState::kUnreachable || status.state == TaskState::kGone) return true;
  return status.state == TaskState::kLost &&
         (status.reason == TaskReason::kAgentRemoved || status.reason == TaskReason::kAgentForgot ||
          status.reason == TaskReason::kAgentUnreachable);
}

// What can be expected of the rest by what was done: rest / done * elapsed. In thousandths of a
// percent, so that no product leaves 63 bits; nothing before the first of them.
std::optional<Duration> time_left(Duration elapsed, int64_t done, int64_t total) {
  while (total > (int64_t{1} << 40)) {
    total >>= 1;
    done >>= 1;
  }
  if (total <= 0 || done <= 0 || elapsed < Duration()) return std::nullopt;
  const int64_t part = std::min<int64_t>(done * 100'000 / total, 100'000);
  if (part == 0) return std::nullopt;
  const int64_t elapsed_ms = std::min<int64_t>(elapsed.millis(), int64_t{1} << 40);
  return milliseconds(elapsed_ms * (100'000 - part) / part);
}

}  // namespace

class Job::State {
 public:
  explicit State(JobOptions options)
      : options_(std::move(options)),
        maps_(options_.id, TaskKind::kMap, static_cast<size_t>(order().array ? 0 : order().maps),
              options_.attempts_before),
        reduces_(options_.id, TaskKind::kReduce, static_cast<size_t>(order().reducers),
                 options_.attempts_before),
        end_(options_.id, TaskKind::kEnd, 1, options_.attempts_before) {
    const Result<void> valid = check_order(order());
    CHECK(valid.has_value()) << valid.error().message();
    if (order().array) {
      elements_.emplace(options_.id, *order().array, order().attempts, options_.attempts_before);
    }
  }

  void restore(uint32_t block, const ElementsRecord& record) {
    if (elements_) elements_->restore(block, record);
  }
  void restore(TaskKind kind, const BlockRecord& block) {
    for (const auto& [number, kept] : block) {
      if (number < stage(kind).size()) stage(kind).restore(number, kept);
    }
    (kind == TaskKind::kMap ? map_started_ : reduce_started_) = options_.started_at;
  }
  void restore(const Outcome& outcome) {
    outcome_ = outcome;
    failed_task_ = outcome.failed_task;
    is_outcome_kept_ = true;
  }
  void on_restored(JobOutbox& out) { end_if_done(out); }

  std::optional<Time> next_deadline() const {
    std::optional<Time> first;
    for (const Stage* stage : {&maps_, &reduces_, &end_}) {
      const std::optional<Time> next = stage->next_deadline();
      if (next && (!first || *next < *first)) first = next;
    }
    return is_over_ ? std::nullopt : first;
  }

  void on_time(Time now) {
    for (Stage* stage : {&maps_, &reduces_, &end_}) stage->end_waits(now);
  }

  const std::optional<Outcome>& outcome() const { return outcome_; }
  bool is_over() const { return is_over_; }
  const std::set<AgentId>& agents() const { return agents_; }
  void on_outcome_kept() { is_outcome_kept_ = true; }

  std::set<std::pair<TaskKind, uint32_t>> take_changed() {
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
  std::string block(TaskKind kind, uint32_t block) const {
    if (kind == TaskKind::kRange) {
      const std::optional<ElementsRecord> record = elements_->block(block);
      return record ? encode(*record) : "";
    }
    const BlockRecord record = stage(kind).block(block);
    return record.empty() ? "" : encode(record);
  }

  proto::BatchJob status(Time now) const {
    const OrderRecord& record = options_.record;
    proto::BatchJob status;
    status.job = options_.id.str();
    status.owner = record.owner;
    status.role = order().role;
    status.priority = order().priority;
    status.framework = options_.framework;
    status.map = stage_status(maps_);
    status.reduce = stage_status(reduces_);
    status.input_bytes = order().input_bytes;
    status.submitted_at = record.submitted_at;
    status.started_at = options_.started_at;
    status.output = order().output;
    status.phase =
        maps_.all_done() && !elements_ ? proto::BatchPhase::kReduce : proto::BatchPhase::kMap;
    if (elements_) {
      status.array = elements_->status();
      status.array->bytes_out = end_.sums().bytes_out;
    }
    if (outcome_) {
      status.phase = outcome_->phase == proto::BatchPhase::kFinished || elements_
                         ? proto::BatchPhase::kCommitting
                         : proto::BatchPhase::kRemoving;
      status.error = outcome_->error;
      status.hint = outcome_->hint;
    }
    status.failed_task = failed_task_;
    if (status.phase == proto::BatchPhase::kMap && map_started_) {
      status.map.eta = time_left(now - *map_started_, maps_.sums().bytes_in, order().input_bytes);
    }
    if (status.phase == proto::BatchPhase::kReduce && reduce_started_) {
      status.reduce.eta = time_left(now - *reduce_started_, static_cast<int64_t>(reduces_.done()),
                                    static_cast<int64_t>(reduces_.size()));
    }
    status.note = note_;
    for (const auto& [ask, why] : cannot_fit_) {
      status.note =
          text("no agent of the cluster could run a task now: ", why, "; waiting for one that can");
    }
    return status;
  }

  std::vector<Violation> violations() const {
    std::vector<Violation> out;
    for (const Stage* stage : {&maps_, &reduces_, &end_}) {
      stage->check(out);
      for (uint32_t i = 0; i < stage->size(); ++i) {
        const TaskId& active = stage->task(i).active;
        if (active.empty()) continue;
        const auto found = attempts_.find(active);
        if (found == attempts_.end() || found->second.given_up) {
          out.push_back(
              Violation{text("task ", active.str(), " counts but is not known or given up")});
        }
      }
    }
    if (elements_) elements_->check(out);
    for (const auto& [id, attempt] : attempts_) {
      if (!attempt.given_up && stage(attempt.kind).task(attempt.number).active != id) {
        out.push_back(Violation{text("task ", id.str(), " runs and does not count")});
      }
    }
    return out;
  }

  // From its launch to its end. One that is given up no longer counts: its agent is unreachable, or
  // another attempt won; should it finish first after all, its output is as good.
  struct Attempt {
    TaskKind kind = TaskKind::kMap;
    uint32_t number = 0;
    uint32_t attempt = 0;
    AgentId agent = {};
    bool given_up = false;
    bool kill_asked = false;
    bool is_unreachable = false;
  };
  using Attempts = std::map<TaskId, Attempt>;

  const JobOrder& order() const { return options_.record.order; }
  Stage& stage(TaskKind kind) { return const_cast<Stage&>(std::as_const(*this).stage(kind)); }
  const Stage& stage(TaskKind kind) const {
    return kind == TaskKind::kMap ? maps_ : kind == TaskKind::kReduce ? reduces_ : end_;
  }

  static proto::BatchStage stage_status(const Stage& stage) {
    proto::BatchStage status;
    status.total = static_cast<int64_t>(stage.size());
    status.done = static_cast<int64_t>(stage.done());
    status.running = static_cast<int64_t>(stage.running());
    status.failed = stage.failed();
    status.recomputed = stage.recomputed();
    status.records_in = stage.sums().records_in;
    status.bytes_in = stage.sums().bytes_in;
    status.records_out = stage.sums().records_out;
    status.bytes_out = stage.sums().bytes_out;
    status.cpu = stage.cpu();
    return status;
  }

  // --- launches --------------------------------------------------------------------------------

  std::optional<proto::TaskSpec> launch(const AskName& ask, const AgentId& agent, size_t room,
                                        Time now, JobOutbox& out) {
    const std::string_view words = std::string_view(ask.str()).substr(ask.str().rfind('.') + 1);
    const bool elsewhere = words.ends_with(kElsewhere);
    if (words == to_text(TaskKind::kRange)) return launch_range(ask, agent, room, now, out);
    const TaskKind kind = words.starts_with(to_text(TaskKind::kMap))      ? TaskKind::kMap
                          : words.starts_with(to_text(TaskKind::kReduce)) ? TaskKind::kReduce
                                                                          : TaskKind::kEnd;
    if (!wants(kind)) return std::nullopt;
    Stage& tasks = stage(kind);
    const std::optional<uint32_t> number = tasks.pick(agent, elsewhere);
    if (!number) return std::nullopt;
    const std::optional<uint32_t> attempt = tasks.next_attempt(*number);
    if (!attempt) {
      fail(Error::failed_precondition(text("a ", to_text(kind), " task was lost ",
                                           kAttemptsPerLife - 1, " times: task ", *number)),
           out);
      return std::nullopt;
    }
    proto::TaskSpec spec;
    spec.data = encode_work(work(kind, *number, *attempt));
    if (spec.data.size() > kPayloadBytesMax) {
      fail(Error::resource_exhausted(text("what task ", tasks.attempt_id(*number, *attempt).str(),
                                          " must be told has ", spec.data.size(),
                                          " bytes; at most ", kPayloadBytesMax, " are allowed"))
               .with_hint("use larger splits"),
           out);
      return std::nullopt;
    }
    describe(spec, ask, kind);
    spec.command = (kind == TaskKind::kMap      ? order().map
                    : kind == TaskKind::kReduce ? order().reduce
                    : elements_                 ? "index the results"
                                                : end_words())
                       .substr(0, kCommandShownBytes);  // For people; the work item has all of it.
    spec.id = tasks.attempt_id(*number, *attempt);
    if (message_bytes(spec) > room) return std::nullopt;

    tasks.launch(*number);
    agents_.insert(agent);
    attempts_.emplace(
        spec.id, Attempt{.kind = kind, .number = *number, .attempt = *attempt, .agent = agent});
    std::optional<Time>& started = kind == TaskKind::kMap ? map_started_ : reduce_started_;
    if (!started) started = now;
    trace_launch(spec, agent, out);
    return spec;
  }

  std::optional<proto::TaskSpec> launch_range(const AskName& ask, const AgentId& agent, size_t room,
                                              Time now, JobOutbox& out) {
    if (!wants(TaskKind::kRange)) return std::nullopt;
    std::optional<Elements::Draft> draft = elements_->draft();
    if (!draft) return std::nullopt;
    draft->work.common = common_work("", {}, draft->name.number, draft->name.attempt);
    proto::TaskSpec spec;
    spec.id = to_task_id(draft->name);
    spec.data = encode_work(draft->work);
    describe(spec, ask, TaskKind::kRange);
    for (const std::string& word : order().array->command) {
      if (spec.command.size() > kCommandShownBytes) break;
      spec.command += text(spec.command.empty() ? "" : " ", word);
    }
    spec.command.resize(std::min(spec.command.size(), kCommandShownBytes));
    if (message_bytes(spec) > room) return std::nullopt;
    elements_->launch(*draft, agent);
    agents_.insert(agent);
    if (!map_started_) map_started_ = now;
    trace_launch(spec, agent, out);
    return spec;
  }

  // What tasks of a kind have in common.
  void describe(proto::TaskSpec& spec, const AskName& ask, TaskKind kind) const {
    spec.ask = ask;
    spec.shape = shape(kind);
    spec.executor = std::string(proto::kBatchExecutor);
    if (kind != TaskKind::kEnd) spec.fetch = order().fetch;
    spec.user = options_.user;
  }

  static void trace_launch(const proto::TaskSpec& spec, const AgentId& agent, JobOutbox& out) {
    out.trace.push_back(TraceEvent{.level = TraceLevel::kShortLived,
                                   .what = "task launched",
                                   .fields = {{"task", spec.id.str()}, {"agent", agent.str()}}});
  }

  ResourceVector shape(TaskKind kind) const {
    return kind == TaskKind::kEnd
               ? ResourceVector::of(kEndMilliCpus, elements_ ? kGatherMilliMem : kEndMilliMem)
               : order().resources;
  }

  // Whether the output is to be committed, once the last task runs.
  bool commits() const { return outcome_ && outcome_->phase == proto::BatchPhase::kFinished; }

  // Whether tasks of this kind may be launched now. While others write into the output, it is not
  // removed; those on agents that cannot be reached are not waited for.
  bool wants(TaskKind kind) const {
    if (is_over_) return false;
    if (kind != TaskKind::kEnd) {
      return !outcome_ && (kind != TaskKind::kReduce || maps_.all_done());
    }
    if (!outcome_ || !is_outcome_kept_) return false;
    if (elements_ && !elements_->is_quiet()) return false;
    return commits() || std::all_of(attempts_.begin(), attempts_.end(), [](const auto& row) {
             return row.second.kind == TaskKind::kEnd || row.second.is_unreachable;
           });
  }

  EndWork::Kind end_kind() const {
    if (commits()) return EndWork::Kind::kCommit;
    return outcome_->is_kept ? EndWork::Kind::kSetAside : EndWork::Kind::kRemove;
  }
  std::string end_words() const {
    switch (end_kind()) {
      case EndWork::Kind::kCommit:
        return "commit the output";
      case EndWork::Kind::kSetAside:
        return "set the output aside";
      case EndWork::Kind::kRemove:
        break;
    }
    return "remove the output";
  }

  std::string aside() const { return aside_directory(order().output, options_.id, order().plan); }
  // Where its tasks write.
  std::string directory() const { return options_.is_aside ? aside() : order().output; }

  WorkCommon common_work(const std::string& command, const std::vector<int32_t>& accepts,
                         uint32_t number, uint32_t attempt) const {
    return WorkCommon{.job = options_.id.str(),
                      .command = command,
                      .accepts = accepts,
                      .env = order().env,
                      .output = directory(),
                      .plan = order().plan,
                      .maps = static_cast<uint32_t>(order().maps),
                      .number = number,
                      .attempt = attempt};
  }

  Work work(TaskKind kind, uint32_t number, uint32_t attempt) const {
    switch (kind) {
      case TaskKind::kMap:
        return MapWork{.common = common_work(order().map, order().map_accepts, number, attempt),
                       .reducers = static_cast<uint32_t>(order().reducers)};
      case TaskKind::kReduce:
        return reduce_work(number, attempt);
      case TaskKind::kEnd:
      case TaskKind::kRange:
        break;
    }
    if (elements_) {
      return GatherWork{.common = common_work("", {}, number, attempt),
                        .indices = order().array->indices,
                        .ok = order().array->ok,
                        .done = static_cast<uint32_t>(elements_->done()),
                        .commits = commits()};
    }
    return EndWork{.common = common_work("", {}, number, attempt),
                   .kind = end_kind(),
                   .place = commits() ? order().output : aside(),
                   .parts = static_cast<uint32_t>(order().parts())};
  }

  Work reduce_work(uint32_t number, uint32_t attempt) const {
    ReduceWork work{.common = common_work(order().reduce, order().reduce_accepts, number, attempt)};
    std::map<std::string, uint32_t> known;
    for (uint32_t i = 0; i < maps_.size(); ++i) {
      const JobTask& map = maps_.task(i);
      const auto [address, added] = known.emplace(map.result.http_address, known.size());
      if (added) work.addresses.push_back(map.result.http_address);
      work.maps.push_back(MapOutput{.agent = address->second, .attempt = map.winner});
    }
    return work;
  }

  // --- updates ---------------------------------------------------------------------------------

  void on_status(const TaskName& name, const TaskStatus& status, Time now, JobOutbox& out) {
    if (name.kind == TaskKind::kRange) return on_range_status(name, status, out);
    if (name.number >= stage(name.kind).size() || is_over_) return;
    if (tells_lost_agent(status)) on_agent_lost(status.agent, out);
    auto found = attempts_.find(status.task);
    if (found == attempts_.end()) {
      // A duplicate, or late: nothing hangs on it. Or an earlier life has launched it.
      if (!stage(name.kind).is_of_earlier_life(name.attempt)) return;
      found = adopt(name, status);
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
        // It was given up with its agent and is back. Nothing runs twice for longer than it must.
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
        tasks.lose(attempt.number);
        trace(TraceLevel::kMisbehaved, "task unreachable", status, out);
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
        trace(TraceLevel::kMisbehaved, "task lost", status, out);
        tasks.lose(attempt.number);
        return;
      case TaskState::kRefused:
        attempts_.erase(found);
        if (attempt.given_up) return;
        if (status.reason == TaskReason::kTaskInvalid) {
          count_failure(attempt, status, status.message, TaskFailure(), now, out);
          return;
        }
        tasks.lose(attempt.number);
        return;
    }
  }

  void on_range_status(const TaskName& name, const TaskStatus& status, JobOutbox& out) {
    if (!elements_ || is_over_) return;
    if (!status.agent.empty()) agents_.insert(status.agent);
    std::vector<TaskId> to_kill;
    elements_->on_status(name, status, outcome_.has_value(), to_kill);
    for (const TaskId& task : to_kill) kill(task, out);
    if (proto::is_terminal(status.state)) {
      const bool is_fine = status.state == TaskState::kFinished;
      trace(is_fine ? TraceLevel::kShortLived : TraceLevel::kMisbehaved,
            is_fine ? "task done" : "task ended early", status, out);
    }
    if (const std::optional<Error> trouble = elements_->trouble()) fail(*trouble, out);
    end_if_done(out);
  }

  // All work is done: what remains is the last task.
  void end_if_done(JobOutbox& out) {
    if (elements_ && elements_->all_ended()) {
      if (const std::optional<Error> verdict = elements_->verdict()) fail(*verdict, out);
    }
    if (elements_ ? elements_->all_ended() : maps_.all_done() && reduces_.all_done()) {
      end({.phase = proto::BatchPhase::kFinished}, out);
    }
  }

  // The cluster tells of an attempt of an earlier life: the task takes it if it wants one.
  Attempts::iterator adopt(const TaskName& name, const TaskStatus& status) {
    Attempt attempt{
        .kind = name.kind, .number = name.number, .attempt = name.attempt, .agent = status.agent};
    Stage& tasks = stage(name.kind);
    attempt.given_up =
        tasks.task(name.number).state != JobTask::State::kPending || is_late(attempt);
    if (!attempt.given_up) tasks.resume(name.number, status.task);
    if (name.kind == TaskKind::kMap && !map_started_) map_started_ = options_.started_at;
    agents_.insert(status.agent);
    return attempts_.emplace(status.task, std::move(attempt)).first;
  }

  // The job is ending, and this is none of its last tasks.
  bool is_late(const Attempt& attempt) const {
    return outcome_.has_value() != (attempt.kind == TaskKind::kEnd);
  }

  void on_finished(const Attempt& attempt, const TaskStatus& status, Time now, JobOutbox& out) {
    Stage& tasks = stage(attempt.kind);
    const JobTask& task = tasks.task(attempt.number);
    if (task.state == JobTask::State::kDone) return;  // Another attempt won.
    // What finishes while the job is ending is done: a retry need not do it again.
    if (attempt.kind == TaskKind::kEnd && !outcome_) return;
    Result<TaskResult> result = decode_result(status.data);
    const bool lacks_address = result && attempt.kind == TaskKind::kMap && reduces_.size() > 0 &&
                               result->http_address.empty();
    if (!result || lacks_address) {
      if (attempt.given_up) return;
      count_failure(attempt, status,
                    result ? "its executor told no address of its agent's files"
                           : text("its executor told no result: ", result.error().message()),
                    TaskFailure(), now, out);
      return;
    }
    // First come, first served: another attempt at the same work need not go on.
    if (task.state == JobTask::State::kRunning && attempt.given_up) {
      const auto other = attempts_.find(task.active);
      CHECK(other != attempts_.end()) << task.active.str();
      kill(other, out);
    }
    tasks.complete(attempt.number, attempt.attempt, attempt.agent, *std::move(result));
    trace(TraceLevel::kShortLived, "task done", status, out);
    if (attempt.kind == TaskKind::kEnd) {
      is_over_ = true;
    } else {
      end_if_done(out);
    }
  }

  void on_failed(const Attempt& attempt, const TaskStatus& status, Time now, JobOutbox& out) {
    const Result<TaskFailure> told = decode_failure(status.data);
    TaskFailure failure = told ? *told : TaskFailure{};
    if (attempt.kind == TaskKind::kReduce && !failure.fetch_failed.empty()) {
      // Not its fault, up to a point: outputs that cannot be had are made again. What has been made
      // again since is left alone.
      for (const MapAttempt& map : failure.fetch_failed) {
        if (map.number >= maps_.size() || maps_.task(map.number).winner != map.attempt ||
            maps_.task(map.number).state != JobTask::State::kDone) {
          continue;
        }
        maps_.forget(map.number);
      }
      trace(TraceLevel::kMisbehaved, "map outputs cannot be fetched", status, out);
      if (reduces_.fetch_failed(attempt.number) < options_.fetch_rounds) {
        reduces_.lose(attempt.number);
        return;
      }
    }
    count_failure(attempt, status, status.message, std::move(failure), now, out);
  }

  // An attempt that counted has failed by its own fault: another, elsewhere, or the end of the job.
  void count_failure(const Attempt& attempt, const TaskStatus& status, std::string_view why,
                     const TaskFailure& failure, Time now, JobOutbox& out) {
    Stage& tasks = stage(attempt.kind);
    const int32_t failures =
        tasks.fail(attempt.number, attempt.agent, now + options_.elsewhere_wait);
    const int64_t allowed = allowed_attempts(attempt.kind);
    out.trace.push_back(TraceEvent{.level = TraceLevel::kMisbehaved,
                                   .what = "task failed",
                                   .fields = {{"task", status.task.str()},
                                              {"agent", attempt.agent.str()},
                                              {"failures", std::to_string(failures)},
                                              {"of", std::to_string(allowed)},
                                              {"reason", std::string(why)}}});
    note(out.trace.back());
    if (attempt.kind == TaskKind::kEnd) return on_end_failed(failures, why, out);
    failed_task_ = status.task.str();
    const bool is_hopeless =
        failure.blame == Blame::kInput || (failure.blame == Blame::kCommand && tasks.done() == 0);
    if (failures < allowed && !is_hopeless) return;
    std::string message = text(
        "task ", status.task.str(), " failed", failures > 1 ? text(" as attempt ", failures) : "",
        " on agent ", attempt.agent.str(), ": ", why.empty() ? proto::to_text(status.reason) : why);
    const std::string tail = printable_tail(failure.stderr_tail, kEndedErrorBytesMax / 2);
    if (!tail.empty()) message += text("; the end of its standard error:\n", tail);
    fail(Error::failed_precondition(std::move(message))
             .with_hint(text("proffer batch logs ", options_.id.str(),
                             " shows all of it; proffer batch retry ", options_.id.str(),
                             " does what is missing")),
         out);
  }

  // Each retry has as many again.
  int64_t allowed_attempts(TaskKind kind) const {
    const int64_t attempts = int64_t{order().attempts} * (int64_t{options_.retries} + 1);
    return kind == TaskKind::kEnd ? std::max(kAttempts, order().attempts) : attempts;
  }

  // An output that cannot be committed is set aside, one that cannot be set aside is removed, and
  // one that cannot be removed stays.
  void on_end_failed(int32_t failures, std::string_view why, JobOutbox& out) {
    const int64_t allowed = allowed_attempts(TaskKind::kEnd) * (ends_given_up_ + 1);
    if (failures < allowed) return;
    ++ends_given_up_;
    if (commits()) {
      outcome_.reset();
      return fail(Error::failed_precondition(text("the output cannot be committed: ", why)), out);
    }
    if (std::exchange(outcome_->is_kept, false)) return;
    outcome_->error += text("; its output ", quoted(order().output), " cannot be ",
                            elements_ ? "indexed: " : "removed: ", why);
    is_over_ = true;
  }

  void fail(const Error& error, JobOutbox& out) {
    end({.phase = proto::BatchPhase::kFailed,
         .error = error.message(),
         .hint = error.hint(),
         .failed_task = failed_task_,
         .is_kept = !elements_},  // An array keeps its results in any case.
        out);
  }

  void end(Outcome outcome, JobOutbox& out) {
    if (outcome_) return;
    outcome_ = std::move(outcome);
    is_outcome_kept_ = false;
    for (auto at = attempts_.begin(); at != attempts_.end(); ++at) {
      const Attempt& attempt = at->second;
      if (attempt.kind == TaskKind::kEnd || attempt.kill_asked) continue;
      if (!attempt.given_up) stage(attempt.kind).lose(attempt.number);
      kill(at, out);
    }
    if (!elements_) return;
    for (const TaskId& task : elements_->kill_all()) kill(task, out);
  }

  void kill(Attempts::iterator attempt, JobOutbox& out) {
    attempt->second.given_up = true;
    attempt->second.kill_asked = true;
    kill(attempt->first, out);
  }
  static void kill(const TaskId& task, JobOutbox& out) {
    out.commands.push_back(proto::KillTask{.framework = {}, .task = task, .grace = {}});
  }

  // --- losses ----------------------------------------------------------------------------------

  // Its map outputs went with it. Parts of the result are where the job's output is, not there.
  void on_agent_lost(const AgentId& agent, JobOutbox& out) {
    if (agent.empty() || reduces_.size() == 0 || outcome_) return;
    const auto outputs = maps_.outputs().find(agent);
    if (outputs == maps_.outputs().end()) return;
    const std::set<uint32_t> lost = outputs->second;
    for (const uint32_t number : lost) maps_.forget(number);
    out.trace.push_back(TraceEvent{
        .level = TraceLevel::kMisbehaved,
        .what = "agent lost",
        .fields = {{"agent", agent.str()}, {"maps_computed_again", std::to_string(lost.size())}}});
    note(out.trace.back());
  }

  // --- asks ------------------------------------------------------------------------------------

  void on_ask_report(const proto::AskReport::Row& row, JobOutbox& out) {
    if (row.could_ever_fit) {
      cannot_fit_.erase(row.ask);
      return;
    }
    for (Stage* stage : {&maps_, &reduces_, &end_}) {
      // No other agent exists: one on which it failed must do.
      if (row.ask == ask_name(options_.id, stage->kind(), true)) {
        return stage->end_waits(std::nullopt);
      }
    }
    std::string& why = cannot_fit_[row.ask];
    why = row.why.empty() ? "no agent could ever run it" : row.why;
    if (!order().fail_if_impossible || map_started_ || outcome_) return;
    fail(Error::failed_precondition(text("no agent of the cluster could run a task: ", why))
             .with_hint("without --fail-if-impossible the job waits for an agent that can"),
         out);
  }

  std::vector<Ask> asks() const {
    std::vector<Ask> asks;
    const auto ask_for = [&](TaskKind kind, int64_t count, bool elsewhere) {
      Ask ask;
      ask.name = ask_name(options_.id, kind, elsewhere);
      ask.role = order().role;
      ask.shape = shape(kind);
      ask.count = count;
      // Of one job, reduces come after maps: they use what those have left.
      ask.priority = 2 * order().priority + (kind == TaskKind::kReduce ? 0 : 1);
      ask.band = order().band;
      return ask;
    };
    const auto want = [&](const Stage& tasks, bool elsewhere) {
      const size_t count = elsewhere ? tasks.elsewhere().size() : tasks.pending().size();
      if (count == 0) return;
      Ask ask = ask_for(tasks.kind(), static_cast<int64_t>(count), elsewhere);
      if (elsewhere) {
        ask.constraints.push_back(Constraint{.attribute = "host",
                                             .op = Constraint::Operator::kNotIn,
                                             .values = tasks.avoided(kConstraintValuesMax)});
      }
      asks.push_back(std::move(ask));
    };
    for (const Stage* stage : {&maps_, &reduces_, &end_}) {
      if (!wants(stage->kind())) continue;
      want(*stage, false);
      want(*stage, true);
    }
    if (elements_ && wants(TaskKind::kRange) && elements_->wanted() > 0) {
      asks.push_back(ask_for(TaskKind::kRange, elements_->wanted(), false));
    }
    return asks;
  }

  // What went wrong last, for people.
  void note(const TraceEvent& event) {
    note_ = printable_tail(to_text(event), kReasonTextBytesMax / 4);
  }

  void trace(TraceLevel level, std::string_view what, const TaskStatus& status, JobOutbox& out) {
    TraceEvent event{.level = level, .what = what, .fields = {{"task", status.task.str()}}};
    if (!status.agent.empty()) event.fields.emplace_back("agent", status.agent.str());
    if (!status.message.empty())
      event.fields.emplace_back("reason", status.message);
    else if (status.reason != TaskReason::kNone) {
      event.fields.emplace_back("reason", std::string(proto::to_text(status.reason)));
    }
    if (level == TraceLevel::kMisbehaved) note(event);
    out.trace.push_back(std::move(event));
  }

 private:
  const JobOptions options_;
  Stage maps_;
  Stage reduces_;
  Stage end_;
  std::optional<Elements> elements_;  // of an array
  Attempts attempts_;
  std::set<AgentId> agents_;
  std::optional<Outcome> outcome_;
  bool is_outcome_kept_ = false;
  bool is_over_ = false;
  std::map<AskName, std::string> cannot_fit_;
  int64_t ends_given_up_ = 0;  // ways to end that no attempt of the last task could carry out
  std::string note_;
  std::string failed_task_;
  std::optional<Time> map_started_;
  std::optional<Time> reduce_started_;
};

Job::Job(JobOptions options) : state_(std::make_unique<State>(std::move(options))) {}
Job::~Job() = default;
void Job::restore(TaskKind kind, const BlockRecord& block) { state_->restore(kind, block); }
void Job::restore(uint32_t block, const ElementsRecord& record) { state_->restore(block, record); }
void Job::restore(const Outcome& outcome) { state_->restore(outcome); }
void Job::on_restored(JobOutbox& out) { state_->on_restored(out); }
void Job::on_status(const TaskName& name, const proto::TaskStatus& status, Time now,
                    JobOutbox& out) {
  state_->on_status(name, status, now, out);
}
void Job::on_agent_lost(const AgentId& agent, JobOutbox& out) { state_->on_agent_lost(agent, out); }
void Job::on_ask_report(const proto::AskReport::Row& row, JobOutbox& out) {
  state_->on_ask_report(row, out);
}
void Job::on_time(Time now) { state_->on_time(now); }
std::optional<Time> Job::next_deadline() const { return state_->next_deadline(); }
void Job::end(Outcome outcome, JobOutbox& out) { state_->end(std::move(outcome), out); }
void Job::on_outcome_kept() { state_->on_outcome_kept(); }
std::vector<Ask> Job::asks() const { return state_->asks(); }
std::optional<proto::TaskSpec> Job::launch(const AskName& ask, const AgentId& agent, size_t room,
                                           Time now, JobOutbox& out) {
  return state_->launch(ask, agent, room, now, out);
}
size_t Job::message_bytes(const proto::TaskSpec& task) {
  size_t bytes = task.data.size() + kLaunchOverheadBytes;
  for (const proto::FetchedFile& file : task.fetch) {
    bytes += file.uri.size() + file.name.size() + kFetchOverheadBytes;
  }
  return bytes;
}
const std::set<AgentId>& Job::agents() const { return state_->agents(); }
const std::optional<Outcome>& Job::outcome() const { return state_->outcome(); }
bool Job::is_over() const { return state_->is_over(); }
std::set<std::pair<TaskKind, uint32_t>> Job::take_changed() { return state_->take_changed(); }
std::string Job::block(TaskKind kind, uint32_t block) const { return state_->block(kind, block); }
proto::BatchJob Job::status(Time now) const { return state_->status(now); }
std::vector<Violation> Job::violations() const { return state_->violations(); }

}  // namespace proffer::batch
