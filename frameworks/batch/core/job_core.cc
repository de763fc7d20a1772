// The life of one job. Read `on_status` first: it says what each ending of an attempt means; then
// `on_offer`, which launches, and `declare_asks`, which says what is still wanted.

#include "frameworks/batch/core/job_core.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/text.h"
#include "frameworks/batch/core/stage.h"

namespace proffer::batch {
namespace {

using proto::TaskReason;
using proto::TaskState;
using proto::TaskStatus;

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

// What one accept may carry, with room for the frame around it; what does not fit comes with the
// next offer.
constexpr size_t kAcceptBytesMax = kFrameBytesMax - 256 * 1024;
static_assert(kAcceptBytesMax > kPayloadBytesMax);
constexpr size_t kLaunchOverheadBytes = 1'024;
constexpr size_t kFetchOverheadBytes = 128;
constexpr size_t kCommandShownBytes = 200;

std::string ask_name(TaskKind kind, bool elsewhere) {
  return text(to_text(kind), elsewhere ? "-elsewhere" : "");
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

std::string_view to_text(JobPhase phase) {
  switch (phase) {
    case JobPhase::kConnecting:
      return "connecting";
    case JobPhase::kMap:
      return "map";
    case JobPhase::kReduce:
      return "reduce";
    case JobPhase::kFinished:
      return "finished";
    case JobPhase::kFailed:
      return "failed";
  }
  return "failed";
}

class Job::State {
 public:
  explicit State(JobOptions options)
      : options_(std::move(options)),
        maps_(TaskKind::kMap, options_.splits.size()),
        reduces_(TaskKind::kReduce, static_cast<size_t>(options_.spec.reducers)) {
    const Result<void> valid = check_job(options_.spec);
    CHECK(valid.has_value()) << valid.error().message();
    CHECK(!options_.splits.empty());
    CHECK_LE(options_.splits.size(), kMapsMax);
    for (const Split& split : options_.splits) {
      split_bytes_.push_back(split.bytes());
      input_bytes_ += split_bytes_.back();
    }
  }

  void handle(const JobEvent& event, Time now, JobOutbox& out) {
    if (over()) return;
    maps_.end_waits(now);
    reduces_.end_waits(now);
    if (const auto* notification = std::get_if<sdk::Notification>(&event)) {
      on_notification(*notification, now, out);
    }
    if (over()) return;
    if (maps_.all_done() && reduces_.all_done()) {
      finish({}, out);
      return;
    }
    declare_asks(out);
  }

  std::optional<Time> next_deadline() const {
    if (over()) return std::nullopt;
    const std::optional<Time> map = maps_.next_deadline();
    const std::optional<Time> reduce = reduces_.next_deadline();
    if (!map || !reduce) return map ? map : reduce;
    return std::min(*map, *reduce);
  }

  bool over() const { return phase_ == JobPhase::kFinished || phase_ == JobPhase::kFailed; }

  JobStatus status(Time now) const {
    JobStatus status;
    status.phase = phase();
    status.connected = connected_;
    status.framework = framework_;
    status.map = stage_status(maps_);
    status.reduce = stage_status(reduces_);
    status.input_bytes = input_bytes_;
    if (status.phase == JobPhase::kMap && map_started_) {
      status.map.eta = time_left(now - *map_started_, map_bytes_done_, input_bytes_);
    }
    if (status.phase == JobPhase::kReduce && reduce_started_) {
      status.reduce.eta = time_left(now - *reduce_started_, static_cast<int64_t>(reduces_.done()),
                                    static_cast<int64_t>(reduces_.size()));
    }
    for (const Ask& ask : declared_) {
      const auto row = cannot_fit_.find(ask.name);
      if (row != cannot_fit_.end()) status.cannot_fit = row->second;
    }
    return status;
  }

  std::vector<Violation> violations() const {
    std::vector<Violation> out;
    maps_.check(out);
    reduces_.check(out);
    for (const Stage* stage : {&maps_, &reduces_}) {
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
    for (const auto& [id, attempt] : attempts_) {
      if (!attempt.given_up && stage(attempt.kind).task(attempt.number).active != id) {
        out.push_back(Violation{text("task ", id.str(), " runs and does not count")});
      }
    }
    return out;
  }

 private:
  // From its launch to its end. One that is given up no longer counts: its agent is unreachable, or
  // another attempt won; should it finish first after all, its output is as good.
  struct Attempt {
    TaskKind kind = TaskKind::kMap;
    uint32_t number = 0;
    uint32_t attempt = 0;
    AgentId agent = {};
    bool given_up = false;
    bool kill_asked = false;
  };

  Stage& stage(TaskKind kind) { return kind == TaskKind::kMap ? maps_ : reduces_; }
  const Stage& stage(TaskKind kind) const { return kind == TaskKind::kMap ? maps_ : reduces_; }

  JobPhase phase() const {
    if (over()) return phase_;
    if (framework_.empty()) return JobPhase::kConnecting;
    return maps_.all_done() ? JobPhase::kReduce : JobPhase::kMap;
  }

  static StageStatus stage_status(const Stage& stage) {
    StageStatus status;
    status.total = static_cast<int64_t>(stage.size());
    status.done = static_cast<int64_t>(stage.done());
    status.running = static_cast<int64_t>(stage.running());
    status.failed = stage.failed();
    status.recomputed = stage.recomputed();
    status.records_in = stage.sums().records_in;
    status.bytes_in = stage.sums().bytes_in;
    status.records_out = stage.sums().records_out;
    status.bytes_out = stage.sums().bytes_out;
    return status;
  }

  void on_notification(const sdk::Notification& notification, Time now, JobOutbox& out) {
    std::visit(Overloaded{
                   [&](const proto::Subscribed& subscribed) {
                     framework_ = subscribed.framework;
                     connected_ = true;
                     asks_stale_ =
                         true;  // Asks end with the connection on which they were declared.
                   },
                   [&](const proto::Offers& offers) {
                     for (const Offer& offer : offers.offers) on_offer(offer, now, out);
                   },
                   [&](const TaskStatus& status) { on_status(status, now, out); },
                   [&](const proto::AskReport& report) { on_ask_report(report); },
                   [&](const proto::Failure& failure) {
                     if (failure.executor.empty()) on_agent_lost(failure.agent, out);
                   },
                   [&](const sdk::Disconnected&) { connected_ = false; },
                   [&](const sdk::Refused& refused) { finish(refused.error, out); },
                   // Each offer is answered when it comes, so a rescind finds nothing.
                   [](const proto::Rescind&) {},
                   [](const proto::FrameworkMessage&) {},
                   // What is killed for it is tried again elsewhere: its update says so.
                   [](const proto::RevokeNotice&) {},
                   [](const sdk::Complaint&) {},
                   // Nothing waits for it: what runs for this job, this process launched and
                   // knows. A job that is begun anew is another framework, and is refused while
                   // the output of the first is there.
                   [](const sdk::AllTasksKnown&) {},
                   [](const proto::StoreResult&) {},
                   [&](const proto::FrameworkRequest& request) {
                     out.commands.push_back(proto::FrameworkResponse{
                         .relay = request.relay,
                         .data = {},
                         .error = proto::ErrorMessage{.code = ErrorCode::kUnsupported,
                                                      .message = "a batch job takes no requests"}});
                   },
               },
               notification);
  }

  // --- offers ----------------------------------------------------------------------------------

  void on_offer(const Offer& offer, Time now, JobOutbox& out) {
    proto::Launch launch{.agent = offer.agent, .tasks = {}};
    size_t bytes = 0;
    for (const AskFill& fill : offer.fills) {
      for (int64_t i = 0; i < fill.count; ++i) {
        std::optional<proto::TaskSpec> task = launch_one(fill.ask, offer.agent, bytes, now, out);
        if (over()) return;
        if (!task) break;
        launch.tasks.push_back(*std::move(task));
      }
    }
    if (launch.tasks.empty()) {
      out.commands.push_back(proto::Decline{.offers = {offer.id}, .refusal = {}});
      return;
    }
    out.commands.push_back(
        proto::Accept{.offers = {offer.id}, .operations = {std::move(launch)}, .refusal = {}});
  }

  // The next task for this ask on this agent, or nothing if none is wanted or the accept is full.
  std::optional<proto::TaskSpec> launch_one(const AskName& ask, const AgentId& agent, size_t& bytes,
                                            Time now, JobOutbox& out) {
    const auto declared = std::find_if(declared_.begin(), declared_.end(),
                                       [&](const Ask& one) { return one.name == ask; });
    if (declared == declared_.end())
      return std::nullopt;  // Withdrawn while the offer was under way.
    const bool elsewhere = ask.str().find("-elsewhere") != std::string::npos;
    const TaskKind kind = ask.str().rfind("map", 0) == 0 ? TaskKind::kMap : TaskKind::kReduce;
    if (kind == TaskKind::kReduce && !maps_.all_done()) return std::nullopt;
    Stage& tasks = stage(kind);
    const std::optional<uint32_t> number = tasks.pick(agent, elsewhere);
    if (!number) return std::nullopt;
    const uint32_t attempt = tasks.task(*number).launches + 1;
    std::string work = encode_work(kind == TaskKind::kMap ? map_work(*number, attempt)
                                                          : reduce_work(*number, attempt));
    if (work.size() > kPayloadBytesMax) {
      finish(Error::resource_exhausted(text("what task ", tasks.attempt_id(*number, attempt).str(),
                                            " must be told has ", work.size(), " bytes; at most ",
                                            kPayloadBytesMax, " are allowed"))
                 .with_hint("use larger splits, or ship less with files"),
             out);
      return std::nullopt;
    }
    size_t launch_bytes = work.size() + kLaunchOverheadBytes;
    for (const proto::FetchedFile& file : options_.spec.fetch) {
      launch_bytes += file.uri.size() + file.name.size() + kFetchOverheadBytes;
    }
    if (bytes + launch_bytes > kAcceptBytesMax) return std::nullopt;
    bytes += launch_bytes;

    const TaskId id = tasks.launch(*number);
    attempts_.emplace(id,
                      Attempt{.kind = kind, .number = *number, .attempt = attempt, .agent = agent});
    std::optional<Time>& started = kind == TaskKind::kMap ? map_started_ : reduce_started_;
    if (!started) started = now;
    declared->count -= 1;  // As the master does when it hears of it.
    if (declared->count == 0) declared_.erase(declared);
    out.trace.push_back(TraceEvent{.level = TraceLevel::kShortLived,
                                   .what = "task launched",
                                   .fields = {{"task", id.str()}, {"agent", agent.str()}}});
    proto::TaskSpec spec;
    spec.id = id;
    spec.ask = ask;
    spec.shape = options_.spec.resources;
    spec.command = (kind == TaskKind::kMap ? options_.spec.map : options_.spec.reduce)
                       .substr(0, kCommandShownBytes);  // For people; the work item has all of it.
    spec.executor = std::string(proto::kBatchExecutor);
    spec.fetch = options_.spec.fetch;
    spec.data = std::move(work);
    return spec;
  }

  WorkCommon common_work(const std::string& command, uint32_t number, uint32_t attempt) const {
    const JobSpec& spec = options_.spec;
    return WorkCommon{.command = command,
                      .files = spec.files,
                      .env = spec.env,
                      .output = spec.output,
                      .number = number,
                      .attempt = attempt};
  }

  Work map_work(uint32_t number, uint32_t attempt) const {
    return MapWork{.common = common_work(options_.spec.map, number, attempt),
                   .reducers = static_cast<uint32_t>(options_.spec.reducers),
                   .split = options_.splits[number]};
  }

  Work reduce_work(uint32_t number, uint32_t attempt) const {
    ReduceWork work{.common = common_work(options_.spec.reduce, number, attempt)};
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

  void on_status(const TaskStatus& status, Time now, JobOutbox& out) {
    if (tells_lost_agent(status)) on_agent_lost(status.agent, out);
    const auto found = attempts_.find(status.task);
    if (found == attempts_.end()) return;  // A duplicate, or late: nothing hangs on it.
    const Attempt attempt = found->second;
    Stage& tasks = stage(attempt.kind);
    switch (status.state) {
      case TaskState::kStaging:
      case TaskState::kRunning:
        // It was given up with its agent and is back. Nothing runs twice for longer than it must.
        if (!attempt.given_up || attempt.kill_asked) return;
        if (tasks.task(attempt.number).state != JobTask::State::kPending) {
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
        asks_stale_ = true;  // Whether the master lowered the ask for it is not for us to guess.
        if (attempt.given_up) return;
        if (status.reason == TaskReason::kTaskInvalid) {
          count_failure(attempt, status, status.message, {}, now, out);
          return;
        }
        tasks.lose(attempt.number);
        return;
    }
  }

  void on_finished(const Attempt& attempt, const TaskStatus& status, Time now, JobOutbox& out) {
    Stage& tasks = stage(attempt.kind);
    const JobTask& task = tasks.task(attempt.number);
    if (task.state == JobTask::State::kDone) return;  // Another attempt won.
    Result<TaskResult> result = decode_result(status.data);
    const bool lacks_address = result && attempt.kind == TaskKind::kMap && reduces_.size() > 0 &&
                               result->http_address.empty();
    if (!result || lacks_address) {
      if (attempt.given_up) return;
      count_failure(attempt, status,
                    result ? "its executor told no address of its agent's files"
                           : text("its executor told no result: ", result.error().message()),
                    {}, now, out);
      return;
    }
    // First come, first served: another attempt at the same work need not go on.
    if (task.state == JobTask::State::kRunning && attempt.given_up) {
      const auto other = attempts_.find(task.active);
      CHECK(other != attempts_.end()) << task.active.str();
      kill(other, out);
    }
    tasks.complete(attempt.number, attempt.attempt, attempt.agent, *std::move(result));
    if (attempt.kind == TaskKind::kMap) map_bytes_done_ += split_bytes_[attempt.number];
    trace(TraceLevel::kShortLived, "task done", status, out);
  }

  void on_failed(const Attempt& attempt, const TaskStatus& status, Time now, JobOutbox& out) {
    const Result<TaskFailure> told = decode_failure(status.data);
    const TaskFailure failure = told ? *told : TaskFailure{};
    if (attempt.kind == TaskKind::kReduce && !failure.fetch_failed.empty()) {
      // Not its fault, up to a point: outputs that cannot be had are made again. What has been made
      // again since is left alone.
      for (const MapAttempt& map : failure.fetch_failed) {
        if (map.number >= maps_.size() || maps_.task(map.number).winner != map.attempt ||
            maps_.task(map.number).state != JobTask::State::kDone) {
          continue;
        }
        forget_map(map.number);
      }
      trace(TraceLevel::kMisbehaved, "map outputs cannot be fetched", status, out);
      if (reduces_.fetch_failed(attempt.number) < options_.fetch_rounds) {
        reduces_.lose(attempt.number);
        return;
      }
    }
    count_failure(attempt, status, status.message, failure.stderr_tail, now, out);
  }

  // An attempt that counted has failed by its own fault: another, elsewhere, or the end of the job.
  void count_failure(const Attempt& attempt, const TaskStatus& status, std::string_view why,
                     std::string_view stderr_tail, Time now, JobOutbox& out) {
    Stage& tasks = stage(attempt.kind);
    const int32_t failures =
        tasks.fail(attempt.number, attempt.agent, now + options_.elsewhere_wait);
    out.trace.push_back(TraceEvent{.level = TraceLevel::kMisbehaved,
                                   .what = "task failed",
                                   .fields = {{"task", status.task.str()},
                                              {"agent", attempt.agent.str()},
                                              {"failures", std::to_string(failures)},
                                              {"of", std::to_string(options_.spec.attempts)},
                                              {"reason", std::string(why)}}});
    if (failures < options_.spec.attempts) return;
    std::string message = text(
        "task ", status.task.str(), " failed", failures > 1 ? text(" as attempt ", failures) : "",
        " on agent ", attempt.agent.str(), ": ", why.empty() ? proto::to_text(status.reason) : why);
    const std::string tail = printable_tail(stderr_tail, kStderrTailBytesMax);
    if (!tail.empty()) message += text("; the end of its standard error:\n", tail);
    finish(Error::failed_precondition(std::move(message))
               .with_hint(text("see all of it with: proffer logs --stderr ", framework_.str(), "/",
                               status.task.str())),
           out);
  }

  void kill(std::map<TaskId, Attempt>::iterator attempt, JobOutbox& out) {
    attempt->second.given_up = true;
    attempt->second.kill_asked = true;
    out.commands.push_back(proto::KillTask{.framework = {}, .task = attempt->first, .grace = {}});
  }

  // --- losses ----------------------------------------------------------------------------------

  void forget_map(uint32_t number) {
    maps_.forget(number);
    map_bytes_done_ -= split_bytes_[number];
  }

  // Its map outputs went with it. Parts of the result are where the job's output is, not there.
  void on_agent_lost(const AgentId& agent, JobOutbox& out) {
    if (agent.empty() || reduces_.size() == 0) return;
    const auto outputs = maps_.outputs().find(agent);
    if (outputs == maps_.outputs().end()) return;
    const std::set<uint32_t> lost = outputs->second;
    for (const uint32_t number : lost) forget_map(number);
    out.trace.push_back(TraceEvent{
        .level = TraceLevel::kMisbehaved,
        .what = "agent lost",
        .fields = {{"agent", agent.str()}, {"maps_computed_again", std::to_string(lost.size())}}});
  }

  // --- asks ------------------------------------------------------------------------------------

  void on_ask_report(const proto::AskReport& report) {
    for (const proto::AskReport::Row& row : report.rows) {
      if (row.could_ever_fit) {
        cannot_fit_.erase(row.ask);
        continue;
      }
      // No other agent exists: one on which it failed must do.
      if (row.ask.str() == ask_name(TaskKind::kMap, true))
        maps_.end_waits(std::nullopt);
      else if (row.ask.str() == ask_name(TaskKind::kReduce, true))
        reduces_.end_waits(std::nullopt);
      else
        cannot_fit_[row.ask] = row.why.empty() ? "no agent could ever run it" : row.why;
    }
  }

  std::vector<Ask> wanted() const {
    std::vector<Ask> asks;
    const auto want = [&](const Stage& tasks, bool elsewhere, int32_t priority) {
      const size_t count = elsewhere ? tasks.elsewhere().size() : tasks.pending().size();
      if (count == 0) return;
      Ask ask;
      ask.name = AskName(ask_name(tasks.kind(), elsewhere));
      ask.shape = options_.spec.resources;
      ask.count = static_cast<int64_t>(count);
      ask.priority = priority;
      ask.band = options_.spec.band;
      if (elsewhere) {
        ask.constraints.push_back(Constraint{.attribute = "host",
                                             .op = Constraint::Operator::kNotIn,
                                             .values = tasks.avoided(kConstraintValuesMax)});
      }
      asks.push_back(std::move(ask));
    };
    want(maps_, false, 1);
    want(maps_, true, 1);
    if (maps_.all_done()) {
      want(reduces_, false, 0);
      want(reduces_, true, 0);
    }
    return asks;
  }

  // `declared_` is what the master has, lowered by what was launched since.
  void declare_asks(JobOutbox& out) {
    if (!connected_) return;
    std::vector<Ask> asks = wanted();
    if (!asks_stale_ && asks == declared_) return;
    asks_stale_ = false;
    declared_ = std::move(asks);
    out.commands.push_back(proto::DeclareAsks{.generation = 0, .asks = declared_});
  }

  // --- the end ---------------------------------------------------------------------------------

  void finish(Result<void> result, JobOutbox& out) {
    phase_ = result ? JobPhase::kFinished : JobPhase::kFailed;
    out.finished = std::move(result);
  }

  static void trace(TraceLevel level, std::string_view what, const TaskStatus& status,
                    JobOutbox& out) {
    TraceEvent event{.level = level, .what = what, .fields = {{"task", status.task.str()}}};
    if (!status.agent.empty()) event.fields.emplace_back("agent", status.agent.str());
    if (!status.message.empty())
      event.fields.emplace_back("reason", status.message);
    else if (status.reason != TaskReason::kNone) {
      event.fields.emplace_back("reason", std::string(proto::to_text(status.reason)));
    }
    out.trace.push_back(std::move(event));
  }

  const JobOptions options_;
  Stage maps_;
  Stage reduces_;
  std::map<TaskId, Attempt> attempts_;
  std::vector<int64_t> split_bytes_;
  int64_t input_bytes_ = 0;
  int64_t map_bytes_done_ = 0;

  FrameworkId framework_;
  bool connected_ = false;
  bool asks_stale_ = true;
  std::vector<Ask> declared_;
  std::map<AskName, std::string> cannot_fit_;
  std::optional<Time> map_started_;
  std::optional<Time> reduce_started_;
  JobPhase phase_ = JobPhase::kConnecting;  // or how it ended; phase() tells those between
};

Job::Job(JobOptions options) : state_(std::make_unique<State>(std::move(options))) {}
Job::~Job() = default;
void Job::handle(const JobEvent& event, Time now, JobOutbox& out) {
  state_->handle(event, now, out);
}
std::optional<Time> Job::next_deadline() const { return state_->next_deadline(); }
JobStatus Job::status(Time now) const { return state_->status(now); }
bool Job::over() const { return state_->over(); }
std::vector<Violation> Job::violations() const { return state_->violations(); }

}  // namespace proffer::batch
