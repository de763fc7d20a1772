// The life of the scheduler: read `handle` first. A session begins, the store is read
// (jobs_store.cc), then events change jobs. After each event the decisions are written, queued jobs
// begin, and asks are declared.

#include "frameworks/batch/core/jobs.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/text.h"
#include "frameworks/batch/core/jobs_state.h"
#include "frameworks/batch/core/stage.h"
#include "frameworks/batch/core/trace.h"
#include "sdk/store.h"

namespace proffer::batch {
namespace {

// The most that one accept may carry, with room for the frame around it. The rest follows with the
// next offer.
constexpr size_t kAcceptBytesMax = kFrameBytesMax - 256 * 1024;
static_assert(kAcceptBytesMax > kPayloadBytesMax);
}  // namespace

uint64_t number_of(const JobId& job) {
  const std::string& id = job.str();
  const size_t dash = id.rfind('-');
  const auto number = parse_whole("number", dash == std::string::npos ? "" : id.substr(dash + 1), 0,
                                  std::numeric_limits<int64_t>::max());
  return number ? static_cast<uint64_t>(*number) : 0;
}

bool Jobs::State::ByNumber::operator()(const JobId& a, const JobId& b) const {
  const uint64_t left = number_of(a);
  const uint64_t right = number_of(b);
  return left != right ? left < right : a < b;
}

void Jobs::State::handle(const JobsEvent& event, Time now, JobsOutbox& out) {
  Step step{now, out};
  while (const std::optional<JobId> due = wakes_.pop(now)) touch(*due).job->on_time(now);
  std::visit(
      Overloaded{
          [&](const sdk::Notification& notification) { on_notification(step, notification); },
          [&](const Request& request) { on_request(step, request); },
          [](const Tick&) {},
          [&](const ZoneRead& read) { on_zone(step, read); },
      },
      event);
  settle(step);
  tell_followers(step);
  fire(step);
  take_changed();
  keep_decisions(step);
  begin_jobs(step);
  keep_decisions(step);  // A retry may find that all is done.
  write_progress();
  if (std::optional<proto::StoreRequest> request = journal_.next(now)) {
    out.commands.push_back(*std::move(request));
  }
  answer_watches(step);
  note_touched();
  declare_asks(step);
}

std::optional<Time> Jobs::State::next_deadline() const {
  std::optional<Time> next = journal_.next_deadline();
  const auto at = [&next](const std::optional<Time>& time) {
    if (time) next = next ? std::min(*next, *time) : *time;
  };
  at(wakes_.next());
  if (loaded_) at(schedules_.next_deadline());
  for (const auto& [relay, watch] : watches_) at(watch.until);
  at(next_removal_);
  return next;
}

KnownJob* Jobs::State::find(const JobId& job) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return nullptr;
  touched_.insert(job);
  return &found->second;
}

KnownJob& Jobs::State::touch(const JobId& job) {
  KnownJob* known = find(job);
  CHECK(known != nullptr) << job.str();
  return *known;
}

// Collects the results of tasks since the last call.
void Jobs::State::take_changed() {
  for (const JobId& id : touched_) {
    const auto known = jobs_.find(id);
    if (known == jobs_.end() || !known->second.job) continue;
    for (const auto& [kind, block] : known->second.job->take_changed()) {
      changed_[{.job = id, .kind = kind, .block = block}];
    }
  }
}

// The end of a step: data derived from the touched jobs is updated.
void Jobs::State::note_touched() {
  for (const JobId& id : std::exchange(touched_, {})) {
    const auto known = jobs_.find(id);
    const Job* job = known == jobs_.end() ? nullptr : known->second.job.get();
    const std::optional<Time> wake = job != nullptr ? job->next_deadline() : std::nullopt;
    if (wake) {
      wakes_.arm(id, *wake);
    } else {
      wakes_.cancel(id);
    }
    std::vector<Ask> asks;
    if (job != nullptr && may_run(known->second)) asks = job->asks();
    if (asks.empty()) {
      asks_.erase(id);
    } else {
      asks_[id] = std::move(asks);
    }
    asks_touched_ = true;
  }
}

// --- sessions ----------------------------------------------------------------------------------

void Jobs::State::on_notification(Step& step, const sdk::Notification& notification) {
  std::visit(Overloaded{
                 [&](const proto::Subscribed& subscribed) { on_subscribed(step, subscribed); },
                 [&](const proto::Offers& offers) { on_offers(step, offers.offers); },
                 [&](const proto::TaskStatus& status) { on_status(step, status); },
                 [&](const proto::FrameworkMessage& message) { on_progress(step, message); },
                 [&](const proto::AskReport& report) { on_ask_report(step, report); },
                 [&](const proto::Failure& failure) {
                   if (!failure.executor.empty()) return;
                   for (auto& [id, known] : jobs_) {
                     if (!known.job) continue;
                     touched_.insert(id);
                     known.job->on_agent_lost(failure.agent, step.out);
                   }
                 },
                 [&](const sdk::AllTasksKnown&) {
                   tasks_known_ = true;
                   begin_stale_ = true;
                   for (const auto& [id, known] : jobs_) {
                     touched_.insert(id);
                     if (known.job) known.job->on_tasks_known(step.out);
                   }
                 },
                 [&](const proto::StoreResult& result) { journal_.on_result(result, step.now); },
                 [&](const sdk::Disconnected&) { connected_ = false; },
                 // Each offer is answered when it comes, so a rescind has no effect. Tasks killed
                 // by a revoke are retried elsewhere, because of their update. Requests are
                 // separate events.
                 [](const auto&) {},
             },
             notification);
}

void Jobs::State::on_subscribed(Step& step, const proto::Subscribed& subscribed) {
  framework_ = subscribed.framework;
  connected_ = true;
  asks_stale_ = true;  // asks end with the connection on which they were declared
  if (!loaded_ && !loader_) begin_loading();
  step.trace(BatchSubscribed{framework_});
}

// --- jobs begin --------------------------------------------------------------------------------

void Jobs::State::begin_jobs(Step& step) {
  if (next_removal_ && *next_removal_ <= step.now) begin_stale_ = true;
  if (!loaded_ || !std::exchange(begin_stale_, false)) return;
  next_removal_ = next_removal(step.now);
  while (const JobId* next = next_to_begin(step.now)) {
    const JobId id = *next;
    begin(step, id, jobs_.at(id));
    open_followers(id);
  }
}

// The beginning is written, but nothing waits for the write: if it is lost, the job's tasks show
// that it has begun.
void Jobs::State::begin(Step& step, const JobId& id, KnownJob& known) {
  if (known.job) return;
  touched_.insert(id);
  const bool is_new = known.state.started_at == Time();
  bool is_retry = false;
  if (known.life == 0) known.life = self_.lives;
  if (is_new) known.state.started_at = step.now;
  if (known.ended) {  // the time for a retry is over: its finished work is removed
    known.state.outcome = Outcome{.phase = known.ended->phase};
    keep_elements(id, known);
    known.blocks.clear();
  }
  known.job =
      std::make_unique<Job>(JobOptions{.id = id,
                                       .record = known.record,
                                       .framework = framework_,
                                       .user = options_.serves_users ? known.record.owner : "",
                                       .started_at = known.state.started_at,
                                       .retries = known.state.retries,
                                       .is_aside = known.state.retries > 0 || known.ended,
                                       .begins_with_plan = known.begins_with_plan(),
                                       .model = known.waiting ? known.waiting->model : "",
                                       .has_begun = !is_new,
                                       .attempts_before = (known.life - 1) * kAttemptsPerLife,
                                       .elsewhere_wait = options_.elsewhere_wait,
                                       .fetch_rounds = options_.fetch_rounds});
  if (known.state.outcome) known.job->restore(*known.state.outcome);
  for (const auto& [name, bytes] : std::exchange(known.blocks, {})) {
    const auto& [kind, block] = name;
    if (kind == TaskKind::kRange) {
      known.job->restore(block, *decode_elements(bytes));
    } else {
      known.job->restore(kind, *decode_block(bytes));
    }
    is_retry = true;
  }
  if (loaded_) follow_all(step, id, known);
  if (is_retry) known.job->on_restored(step.out);
  if (is_new) journal_.add({sdk::put(state_key(id), encode(known.state))});
}

// Users take turns by the number of their running jobs. The jobs of one user are ordered by
// priority, then by submission. Jobs that only end go first.
const JobId* Jobs::State::next_to_begin(Time now) const {
  size_t running = 0;
  size_t ending = 0;
  std::map<std::string_view, size_t> of_user;
  for (const auto& [id, known] : jobs_) {
    if (!known.job || known.job->is_held()) continue;
    ++(known.has_outcome() ? ending : running);
    if (!known.has_outcome()) ++of_user[known.record.owner];
  }
  const JobId* best = nullptr;
  std::pair<size_t, int64_t> best_rank;
  for (const auto& [id, known] : jobs_) {
    if (known.job || !known.is_kept || known.is_outcome_asked || !may_run(known)) continue;
    if (known.is_waiting() && !known.has_outcome()) continue;
    if (known.ended && (known.is_retry_asked || now < known.retry_until)) continue;
    if (known.has_outcome()) {
      if (ending < kJobsEndingMax) return &id;
      continue;
    }
    if (running >= kJobsRunningMax) continue;
    const std::pair<size_t, int64_t> rank(of_user[known.record.owner],
                                          -int64_t{known.record.order.priority});
    if (best != nullptr && rank >= best_rank) continue;
    best = &id;
    best_rank = rank;
  }
  return best;
}

// --- offers ------------------------------------------------------------------------------------

void Jobs::State::on_offers(Step& step, const std::vector<Offer>& offers) {
  std::map<uint64_t, std::vector<const Offer*>> gangs;
  for (const Offer& offer : offers) {
    if (offer.gang == 0) {
      on_offer(step, offer);
    } else {
      gangs[offer.gang].push_back(&offer);
    }
  }
  for (const auto& [gang, all] : gangs) on_gang_offers(step, all);
}

// Ranks are numbered in the order of the offers.
void Jobs::State::on_gang_offers(Step& step, const std::vector<const Offer*>& offers) {
  std::vector<OfferId> ids;
  std::vector<AgentId> agents;
  AskName ask;
  for (const Offer* offer : offers) {
    ids.push_back(offer->id);
    for (const AskFill& fill : offer->fills) {
      ask = fill.ask;
      agents.insert(agents.end(), static_cast<size_t>(fill.count), offer->agent);
    }
  }
  KnownJob* known = find(JobId(ask.str().substr(0, ask.str().rfind('.'))));
  std::vector<proto::TaskSpec> ranks;
  if (known != nullptr && known->job) {
    ranks = known->job->launch_gang(ask, agents, kAcceptBytesMax, step.now, step.out);
  }
  if (ranks.empty()) {
    step.out.commands.push_back(proto::Decline{.offers = std::move(ids), .refusal = {}});
    return;
  }
  std::erase_if(declared_, [&](const Ask& one) { return one.name == ask; });
  proto::Accept accept{.offers = std::move(ids), .operations = {}, .refusal = {}};
  size_t rank = 0;
  for (const Offer* offer : offers) {
    proto::Launch launch{.agent = offer->agent, .tasks = {}};
    for (const AskFill& fill : offer->fills) {
      for (int64_t i = 0; i < fill.count; ++i) launch.tasks.push_back(std::move(ranks[rank++]));
    }
    accept.operations.emplace_back(std::move(launch));
  }
  step.out.commands.push_back(std::move(accept));
}

void Jobs::State::on_offer(Step& step, const Offer& offer) {
  proto::Launch launch{.agent = offer.agent, .tasks = {}};
  size_t bytes = 0;
  for (const AskFill& fill : offer.fills) {
    KnownJob* known = find(JobId(fill.ask.str().substr(0, fill.ask.str().rfind('.'))));
    if (known == nullptr || !known->job) continue;
    for (int64_t i = 0; i < fill.count; ++i) {
      const auto declared = std::find_if(declared_.begin(), declared_.end(),
                                         [&](const Ask& one) { return one.name == fill.ask; });
      if (declared == declared_.end()) break;  // withdrawn while the offer was on its way
      std::optional<proto::TaskSpec> task =
          known->job->launch(fill.ask, offer.agent, kAcceptBytesMax - bytes, step.now, step.out);
      if (!task) break;
      bytes += Job::message_bytes(*task);
      declared->count -= 1;  // as the master does when it receives it
      if (declared->count == 0) declared_.erase(declared);
      launch.tasks.push_back(*std::move(task));
    }
  }
  if (launch.tasks.empty()) {
    step.out.commands.push_back(proto::Decline{.offers = {offer.id}, .refusal = {}});
    return;
  }
  step.out.commands.push_back(
      proto::Accept{.offers = {offer.id}, .operations = {std::move(launch)}, .refusal = {}});
}

// --- updates -----------------------------------------------------------------------------------

void Jobs::State::on_status(Step& step, const proto::TaskStatus& status) {
  if (!loaded_) {
    early_[status.task] = status;
    return;
  }
  const bool has_ended = proto::is_terminal(status.state);
  const auto acknowledge = [&] {
    if (has_ended) step.out.commands.push_back(sdk::AcknowledgeEnd{status.task});
  };
  const std::optional<TaskName> name = parse_task_id(status.task);
  KnownJob* known = name ? find(name->job) : nullptr;
  const bool is_waiting = known != nullptr && !known->job && known->is_waiting();
  if (known == nullptr || known->is_end_asked || known->is_retryable() || is_waiting) {
    // for a job that has ended: its work is not wanted
    if (has_ended && known == nullptr && name)
      release_files(step, name->job, {status.agent}, false);
    if (!has_ended) {
      step.out.commands.push_back(
          proto::KillTask{.framework = {}, .task = status.task, .grace = {}});
    }
    return acknowledge();
  }
  if (!known->job) begin_stale_ = true;
  begin(step, name->job, *known);  // it had begun in an earlier life
  // It is unknown whether the master lowered the ask for it.
  if (status.state == proto::TaskState::kRefused) asks_stale_ = true;
  Job& job = *known->job;
  job.on_status(*name, status, step.now, step.out);
  for (const auto& [kind, block] : job.take_changed()) {
    changed_[{.job = name->job, .kind = kind, .block = block}];
  }
  if (!has_ended) return;
  if (job.is_over()) {
    known->last_ends.push_back(status.task);
    return;
  }
  const auto block =
      changed_.find({.job = name->job, .kind = name->kind, .block = block_of(*name)});
  if (block == changed_.end()) return acknowledge();  // it changed nothing
  block->second.push_back(status.task);
}

// An executor has one task, with the same id.
void Jobs::State::on_progress(Step& step, const proto::FrameworkMessage& message) {
  const std::optional<TaskName> name = parse_task_id(TaskId(message.executor.str()));
  const auto known = name ? jobs_.find(name->job) : jobs_.end();
  if (known == jobs_.end() || !known->second.job) return;
  known->second.job->on_progress(*name, message.data, step.now);
}

// For the tasks of an ended job: agents keep only the output of failed tasks.
void Jobs::State::release_files(Step& step, const JobId& job, const std::set<AgentId>& agents,
                                bool on_all_agents) const {
  if (agents.empty() && !on_all_agents) return;
  proto::ReleaseFiles files{.framework = {}, .begins = {job.str() + "."}, .agents = {}};
  if (!on_all_agents) files.agents.assign(agents.begin(), agents.end());
  step.out.commands.push_back(std::move(files));
}

void Jobs::State::on_ask_report(Step& step, const proto::AskReport& report) {
  for (const proto::AskReport::Row& row : report.rows) {
    KnownJob* known = find(JobId(row.ask.str().substr(0, row.ask.str().rfind('.'))));
    if (known != nullptr && known->job) known->job->on_ask_report(row, step.out);
  }
}

// --- asks --------------------------------------------------------------------------------------

// `declared_` is the master's set, less the launches since.
void Jobs::State::declare_asks(Step& step) {
  if (!connected_ || !loaded_) return;
  if (!asks_stale_ && !std::exchange(asks_touched_, false)) return;
  std::vector<Ask> asks;
  for (const auto& [id, of_job] : asks_) {
    for (const Ask& ask : of_job) {
      if (asks.size() < kAsksMax) asks.push_back(ask);
    }
  }
  if (!asks_stale_ && asks == declared_) return;
  asks_stale_ = false;
  declared_ = std::move(asks);
  step.out.commands.push_back(proto::DeclareAsks{.generation = 0, .asks = declared_});
}

std::vector<Violation> Jobs::State::violations() const {
  std::vector<Violation> found;
  for (const auto& [id, known] : jobs_) {
    if (ended_.contains(id))
      found.push_back({text("job ", id.str(), " is listed both as ended and as not ended")});
    if (!known.job) continue;
    if (known.is_waiting() && !known.has_outcome()) {
      found.push_back({text("job ", id.str(), " has begun and waits for others")});
    }
    for (Violation& violation : known.job->violations()) {
      found.push_back({text("job ", id.str(), ": ", violation.what)});
    }
    if (wakes_.time_of(id) != known.job->next_deadline()) {
      found.push_back({text("job ", id.str(), " changed and its deadline was not noted")});
    }
    const auto asks = asks_.find(id);
    if ((asks == asks_.end() ? std::vector<Ask>() : asks->second) !=
        (may_run(known) ? known.job->asks() : std::vector<Ask>())) {
      found.push_back({text("job ", id.str(), " changed and its asks were not noted")});
    }
  }
  for (const auto& [block, ends] : changed_) {
    if (!jobs_.contains(block.job)) {
      found.push_back({text("a block of job ", block.job.str(), " is to be written")});
    }
  }
  if (declared_.size() > kAsksMax) found.push_back({text(declared_.size(), " asks")});
  return found;
}

// --- interface ---------------------------------------------------------------------------------

Jobs::Jobs(JobsOptions options) : state_(std::make_unique<State>(std::move(options))) {}
Jobs::~Jobs() = default;
void Jobs::handle(const JobsEvent& event, Time now, JobsOutbox& out) {
  state_->handle(event, now, out);
}
std::optional<Time> Jobs::next_deadline() const { return state_->next_deadline(); }
bool Jobs::connected() const { return state_->connected(); }
bool Jobs::loaded() const { return state_->loaded(); }
const FrameworkId& Jobs::framework() const { return state_->framework(); }
std::vector<proto::BatchJob> Jobs::list(const Caller& by, bool with_ended, const JobId& after,
                                        size_t limit, Time now, const std::string& pipeline) const {
  return state_->list(by, with_ended, after, limit, now, pipeline);
}
std::vector<proto::BatchSchedule> Jobs::schedules(const Caller& by, const std::string& after,
                                                  size_t limit, size_t fire_times, Time now) const {
  return state_->schedules(by, after, limit, fire_times, now);
}
std::vector<Violation> Jobs::violations() const { return state_->violations(); }

}  // namespace proffer::batch
