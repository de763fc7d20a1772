// The life of the scheduler: `handle` first. A session begins, the store is read (on_loaded), then
// events change jobs; behind each, what was decided is written down (keep_decisions), queued jobs
// begin, and asks are declared. What waits for the store goes on in on_settled.

#include "frameworks/batch/core/jobs.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/text.h"
#include "frameworks/batch/core/jobs_state.h"
#include "frameworks/batch/core/stage.h"
#include "sdk/store.h"

namespace proffer::batch {
namespace {

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
// What records can have, for reading them back.
constexpr size_t kSmallRecordBytesMax = 16 * 1024;
constexpr size_t kBlockBytesMax =
    kBlockTasks * (3 * kNameBytesMax + kTaskRecordBytes) + kCountersBytesMax;
// Records of blocks that are written at once.
constexpr size_t kProgressBytesMax = kStoreRequestBytesMax - 2 * kBlockBytesMax;
// Blocks that a job can have, and so entries that its end erases.
constexpr size_t kBlocksMax = kMapsMax / kBlockTasks + kReducersMax / kBlockTasks + 2;
static_assert(kElementsMax / kBlockElements + 1 <= kBlocksMax);
static_assert(kBlockElements * (kBitsPerElement + 8 * kRetriedElementBytes) / 8 < kBlockBytesMax);
constexpr size_t kForgottenAtOnce = 8;  // jobs that ended long ago
// The files of jobs that ended so long ago are released again by each life of the scheduler.
constexpr Duration kReleaseAgain = hours(1);
static_assert(kBlocksMax + kForgottenAtOnce + 4 <= kStoreOperationsMax);

sdk::StoreLoader new_loader() {
  return sdk::StoreLoader({{std::string(kReducesPrefix), kBlockBytesMax},
                           {std::string(kMapsPrefix), kBlockBytesMax},
                           {std::string(kElementsPrefix), kBlockBytesMax},
                           {std::string(kSchedulesPrefix), kSubmissionBytesMax + 16 * 1'024},
                           {std::string(kStatesPrefix), kSmallRecordBytesMax},
                           {std::string(kWaitsPrefix), kSmallRecordBytesMax},
                           {std::string(kOrdersPrefix), kOrderBytesMax + 1'024},
                           {std::string(kEndedPrefix), kSmallRecordBytesMax},
                           {std::string(kSchedulerKey), kSmallRecordBytesMax}});
}

uint64_t number_of(const JobId& job) {
  const std::string& id = job.str();
  const size_t dash = id.rfind('-');
  const auto number = parse_whole("number", dash == std::string::npos ? "" : id.substr(dash + 1), 0,
                                  std::numeric_limits<int64_t>::max());
  return number ? static_cast<uint64_t>(*number) : 0;
}

// As a job that is over is told from now on.
proto::BatchJob ended_picture(const Job& job, Time now) {
  proto::BatchJob picture = job.status(now);
  picture.phase = job.outcome()->phase;
  picture.ended_at = now;
  picture.map.running = 0;
  picture.reduce.running = 0;
  if (picture.array) {
    picture.array->running = 0;
    picture.array->tasks = 0;
    picture.array->eta.reset();
  }
  picture.map.eta.reset();
  picture.reduce.eta.reset();
  picture.note.clear();
  picture.avoided_agents.clear();
  for (std::string* text : {&picture.error, &picture.hint}) {
    *text = text->substr(0, kEndedErrorBytesMax);
  }
  return picture;
}

}  // namespace

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
  fire(step);
  take_changed();
  keep_decisions(step);
  begin_jobs(step);
  keep_decisions(step);  // Of a retry all may be done.
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

// What tasks have done since the last look.
void Jobs::State::take_changed() {
  for (const JobId& id : touched_) {
    const auto known = jobs_.find(id);
    if (known == jobs_.end() || !known->second.job) continue;
    for (const auto& [kind, block] : known->second.job->take_changed()) {
      changed_[{.job = id, .kind = kind, .block = block}];
    }
  }
}

// The end of a step: what this scheduler holds of the touched jobs, beside them, is made anew.
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
                 // Each offer is answered when it comes, so a rescind finds nothing. What is killed
                 // for a revoke is tried again elsewhere: its update says so. Requests come as
                 // events of their own.
                 [](const auto&) {},
             },
             notification);
}

void Jobs::State::on_subscribed(Step& step, const proto::Subscribed& subscribed) {
  framework_ = subscribed.framework;
  connected_ = true;
  asks_stale_ = true;  // Asks end with the connection on which they were declared.
  if (!loaded_ && !loader_) {
    loader_ = new_loader();
    load_more();
  }
  trace(step, TraceLevel::kMessage, "batch subscribed", {{"framework", framework_.str()}});
}

// --- the store ---------------------------------------------------------------------------------

void Jobs::State::load_more() { continuations_[journal_.add(loader_->next())] = Load{}; }

void Jobs::State::on_loaded(Step& step, const std::vector<proto::StoreResult::Outcome>& outcomes) {
  if (!loader_->take(outcomes)) {
    trace(step, TraceLevel::kMisbehaved, "the store answered something else", {});
    loader_ = new_loader();
  }
  if (!loader_->done()) return load_more();
  const sdk::StoreEntries entries = (*std::move(loader_)).entries();
  if (const auto self = entries.find(std::string(kSchedulerKey)); self != entries.end()) {
    if (const Result<SchedulerRecord> record = decode_scheduler(self->second)) self_ = *record;
  }
  self_.lives += 1;
  restore(step, entries);
  // Task ids are made of the number of this life: nothing is launched before it is kept.
  continuations_[journal_.add({sdk::put(std::string(kSchedulerKey), encode(self_))})] = Begin{};
}

// What is not ours to read is left alone: a newer scheduler may have written it.
void Jobs::State::restore(Step& step, const sdk::StoreEntries& entries) {
  const auto each = [&entries](std::string_view prefix, const auto& take) {
    for (auto at = entries.lower_bound(std::string(prefix));
         at != entries.end() && at->first.starts_with(prefix); ++at) {
      take(at->first.substr(prefix.size()), at->second);
    }
  };
  each(kEndedPrefix, [&](const std::string& id, const std::string& value) {
    Result<EndedRecord> record = decode_ended(value);
    if (!record || record->job.job != id) return;
    self_.jobs = std::max(self_.jobs, number_of(JobId(id)));
    ended_bytes_ += value.size();
    ended_.emplace(JobId(id), std::move(record->job));
  });
  each(kOrdersPrefix, [&](const std::string& id, const std::string& value) {
    Result<OrderRecord> record = decode_order_record(value);
    if (!record) return;
    self_.jobs = std::max(self_.jobs, record->number);
    KnownJob& known = jobs_[JobId(id)];
    known.record = *std::move(record);
    known.is_kept = true;
    known.is_restored = true;
    const auto ended = ended_.find(JobId(id));
    if (ended == ended_.end()) return;
    ended_bytes_ -= encode(EndedRecord{ended->second}).size();
    known.retry_until = ended->second.ended_at + options_.retry_for;
    known.ended = std::move(ended->second);
    ended_.erase(ended);
  });
  each(kWaitsPrefix, [&](const std::string& id, const std::string& value) {
    Result<Waiting> waiting = decode_waiting(value);
    KnownJob* known = find(JobId(id));
    if (waiting && known != nullptr) add_waiting(JobId(id), *known, *std::move(waiting));
  });
  each(kStatesPrefix, [&](const std::string& id, const std::string& value) {
    Result<StateRecord> record = decode_state(value);
    KnownJob* known = find(JobId(id));
    if (!record || known == nullptr) return;
    known->state = *std::move(record);
    const bool has_begun = known->state.started_at != Time() || known->state.outcome;
    if (!known->ended && has_begun) begin(step, JobId(id), *known);
  });
  each(kElementsPrefix, [&](const std::string& rest, const std::string& value) {
    const size_t slash = rest.rfind('/');
    if (slash == std::string::npos) return;
    const JobId id(rest.substr(0, slash));
    const auto block = parse_whole("block", rest.substr(slash + 1), 0, kElementsMax);
    const Result<ElementsRecord> record = decode_elements(value);
    KnownJob* known = find(id);
    if (!block || !record || known == nullptr || known->ended) return;
    begin(step, id, *known);
    known->job->restore(static_cast<uint32_t>(*block), *record);
  });
  for (const TaskKind kind : {TaskKind::kMap, TaskKind::kReduce}) {
    each(kind == TaskKind::kMap ? kMapsPrefix : kReducesPrefix,
         [&](const std::string& rest, const std::string& value) {
           const JobId id(rest.substr(0, rest.rfind('/')));
           const Result<BlockRecord> record = decode_block(value);
           KnownJob* known = find(id);
           if (!record || known == nullptr) return;
           if (known->ended) {
             const auto block = parse_whole("block", rest.substr(rest.rfind('/') + 1), 0, kMapsMax);
             if (block) known->blocks[{kind, static_cast<uint32_t>(*block)}] = value;
             return;
           }
           begin(step, id, *known);
           known->job->restore(kind, *record);
         });
  }
  for (auto& [id, known] : jobs_) {
    touched_.insert(id);
    if (known.job) known.job->on_restored(step.out);
  }
  each(kSchedulesPrefix, [&](const std::string& name, const std::string& value) {
    Result<ScheduleRecord> record = decode_schedule(value);
    if (record) schedules_.put(name, *std::move(record), step.now);
  });
  for (const auto& [id, known] : jobs_) {
    if (known.waiting && !known.ended) schedules_.on_job_started(known.waiting->schedule, id);
  }
  trace(step, TraceLevel::kLongLived, "jobs read from the store",
        {{"jobs", std::to_string(jobs_.size())}, {"ended", std::to_string(ended_.size())}});
}

// What waited for the store goes on.
void Jobs::State::settle(Step& step) {
  for (const sdk::StoreJournal::Settled& settled : journal_.take_settled()) {
    const auto waiting = continuations_.extract(settled.ticket);
    if (waiting.empty()) continue;
    if (settled.error && settled.error->code() != ErrorCode::kUnavailable) {
      trace(step, TraceLevel::kOperator, "the store refuses",
            {{"error", settled.error->message()}});
    }
    begin_stale_ |= !std::holds_alternative<Progress>(waiting.mapped());
    on_settled(step, waiting.mapped(), settled);
  }
}

void Jobs::State::on_settled(Step& step, const Continuation& continuation,
                             const sdk::StoreJournal::Settled& settled) {
  const bool is_done = !settled.error;
  std::visit(
      Overloaded{
          [&](const Load&) {
            if (is_done) return on_loaded(step, settled.outcomes);
            loader_ = new_loader();
            load_more();
          },
          [&](const Begin&) {
            if (!is_done) {
              continuations_[journal_.add({sdk::put(std::string(kSchedulerKey), encode(self_))})] =
                  Begin{};
              return;
            }
            loaded_ = true;
            // The life before may have ended before it could say so.
            for (const auto& [id, job] : ended_) {
              if (job.ended_at + kReleaseAgain > step.now) {
                release_files(step, id, {}, true);
              }
            }
            for (const auto& [task, status] : std::exchange(early_, {})) on_status(step, status);
            restore_waits(step);
          },
          [&](const Submitted& submitted) { on_submitted(step, submitted.jobs, settled.error); },
          [&](const OutcomeKept& kept) {
            KnownJob& known = touch(kept.job);
            known.is_outcome_asked = false;
            for (const auto& [relay, by] : std::exchange(known.cancels, {})) {
              if (is_done) {
                answer(step, relay, shown_to(by, picture(kept.job, known, step.now)));
              } else {
                answer(step, relay, Error(*settled.error).in("that it is to end cannot be kept"));
              }
            }
            if (!is_done) {
              known.state.outcome.reset();
            } else if (known.job && known.job->outcome() == known.state.outcome) {
              known.job->on_outcome_kept();
            }
          },
          [&](const PlanKept& kept) {
            KnownJob& known = touch(kept.job);
            known.is_plan_asked = false;
            if (!is_done) return;
            known.record.order = kept.order;
            if (known.waiting) known.waiting->is_planned = true;
            // One that ends now does so as a job that was planned.
            if (known.job) known.job->on_planned(kept.order);
          },
          [&](const Progress& progress) {
            is_writing_progress_ = false;
            for (const JobId& job : std::exchange(waits_for_progress_, {})) find(job);
            for (const auto& [block, ends] : progress.blocks) {
              if (is_done) {
                for (const TaskId& task : ends) {
                  step.out.commands.push_back(sdk::AcknowledgeEnd{task});
                }
              } else {
                std::vector<TaskId>& again = changed_[block];
                again.insert(again.end(), ends.begin(), ends.end());
              }
            }
          },
          [&](const Ended& ended) {
            if (is_done) return on_ended(step, ended);
            touch(ended.job).is_end_asked = false;
          },
          [&](const Retried& retried) { on_retried(step, retried.job, settled.error); },
          [&](const ScheduleKept& kept) { on_schedule_kept(step, kept, settled.error); },
          [&](const Fired& fired) { on_fired(step, fired, settled.error); },
      },
      continuation);
}

// Its end is kept: those of its tasks need not be told again.
void Jobs::State::on_ended(Step& step, const Ended& ended) {
  KnownJob& known = touch(ended.job);
  known.is_end_asked = false;
  for (const TaskId& task : std::exchange(known.last_ends, {})) {
    step.out.commands.push_back(sdk::AcknowledgeEnd{task});
  }
  const bool is_kept = known.job->outcome()->is_kept;
  const bool ends_now = !known.ended;
  if (ends_now && known.waiting) {
    schedules_.on_job_ended(known.waiting->schedule, ended.job, step.now);
  }
  if (ends_now) {
    trace(step, TraceLevel::kLongLived, "job ended",
          {{"job", ended.job.str()},
           {"owner", known.record.owner},
           {"phase", std::string(proto::to_text(ended.picture.phase))}});
  }
  for (auto at = changed_.begin(); at != changed_.end();) {
    if (at->first.job != ended.job) {
      ++at;
      continue;
    }
    for (const TaskId& task : at->second) {
      step.out.commands.push_back(sdk::AcknowledgeEnd{task});
    }
    at = changed_.erase(at);
  }
  if (is_kept) {
    make_retryable(step, ended, known);
    // What it waited for may have been retried before this end was kept.
    wait_again(step, ended.job, known);
    return on_dependency_ended(step, ended.job, ended.picture.phase);
  }
  // Where an earlier life, or an earlier try, has launched its tasks is not kept.
  const bool is_everywhere = known.is_restored || known.state.retries > 0 || known.ended;
  release_files(step, ended.job, known.job->agents(), is_everywhere);
  forget_waiting(ended.job, known);
  jobs_.erase(ended.job);
  ended_.emplace(ended.job, ended.picture);
  ended_bytes_ += encode(EndedRecord{ended.picture}).size();
  if (ends_now) on_dependency_ended(step, ended.job, ended.picture.phase);
}

// One group at a time: what changes meanwhile goes with the next.
void Jobs::State::write_progress() {
  if (is_writing_progress_ || changed_.empty()) return;
  std::vector<proto::StoreOperation> operations;
  Progress progress;
  size_t bytes = 0;
  for (auto at = changed_.begin(); at != changed_.end() && bytes < kProgressBytesMax &&
                                   operations.size() < kStoreOperationsMax;) {
    const BlockName& name = at->first;
    const auto known = jobs_.find(name.job);
    CHECK(known != jobs_.end() && known->second.job) << name.job.str();
    if (known->second.is_end_asked) {
      ++at;
      continue;
    }
    std::string record = known->second.job->block(name.kind, name.block);
    const std::string key = block_key(name.job, name.kind, name.block);
    operations.push_back(record.empty() ? sdk::erase(key) : sdk::put(key, std::move(record)));
    bytes += key.size() + operations.back().value.size();
    progress.blocks.insert(changed_.extract(at++));
  }
  if (operations.empty()) return;
  is_writing_progress_ = true;
  continuations_[journal_.add(std::move(operations))] = std::move(progress);
}

void Jobs::State::keep_decisions(Step& step) {
  for (const JobId& id : touched_) {
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) continue;
    KnownJob& known = found->second;
    if (known.job && known.job->plan() && !known.is_plan_asked) keep_plan(step, id, known);
    if (!known.job || !known.job->outcome() || known.is_outcome_asked || known.is_end_asked) {
      continue;
    }
    if (!known.job->is_over()) {
      if (known.state.outcome == known.job->outcome()) continue;
      known.state.outcome = known.job->outcome();
      known.is_outcome_asked = true;
      begin_stale_ = true;  // It needs no place among those that run any more.
      continuations_[journal_.add({sdk::put(state_key(id), encode(known.state))})] =
          OutcomeKept{id};
      continue;
    }
    const bool is_kept = known.job->outcome()->is_kept;
    if (is_kept && has_unwritten(id)) {  // A retry relies on all that was done.
      waits_for_progress_.insert(id);
      continue;
    }
    known.is_end_asked = true;
    Ended ended{.job = id,
                .picture = known.ended ? *known.ended : ended_picture(*known.job, step.now)};
    if (!known.ended) say_what_it_waited_for(known.waiting, ended.picture);
    std::vector<proto::StoreOperation> operations = {
        sdk::put(ended_key(id), encode(EndedRecord{ended.picture}))};
    if (is_kept) {
      // What runs of it from now on, a retry or the task that removes it, has ids of its own.
      self_.lives += 1;
      ended.next_life = self_.lives;
      operations.push_back(sdk::put(std::string(kSchedulerKey), encode(self_)));
      continuations_[journal_.add(std::move(operations))] = std::move(ended);
      continue;
    }
    operations.push_back(sdk::erase(order_key(id)));
    operations.push_back(sdk::erase(state_key(id)));
    if (known.waiting) operations.push_back(sdk::erase(waits_key(id)));
    for (std::string& key : block_keys(id, known.record.order)) {
      operations.push_back(sdk::erase(std::move(key)));
    }
    for (size_t i = 0; i < kForgottenAtOnce && !ended_.empty() &&
                       (ended_.size() >= kEndedMax || ended_bytes_ >= kEndedBytesMax);
         ++i) {
      const auto oldest = ended_.begin();
      operations.push_back(sdk::erase(ended_key(oldest->first)));
      ended_bytes_ -= encode(EndedRecord{oldest->second}).size();
      ended_.erase(oldest);
    }
    continuations_[journal_.add(std::move(operations))] = std::move(ended);
  }
}

// --- jobs begin --------------------------------------------------------------------------------

void Jobs::State::begin_jobs(Step& step) {
  if (next_removal_ && *next_removal_ <= step.now) begin_stale_ = true;
  if (!loaded_ || !std::exchange(begin_stale_, false)) return;
  next_removal_ = next_removal(step.now);
  while (const JobId* id = next_to_begin(step.now)) begin(step, JobId(*id), jobs_.at(*id));
}

// That it has begun is written down, but nothing waits for that: of one that is not known to have
// begun, its tasks will tell.
void Jobs::State::begin(Step& step, const JobId& id, KnownJob& known) {
  if (known.job) return;
  touched_.insert(id);
  const bool is_new = known.state.started_at == Time();
  bool is_retry = false;
  if (known.life == 0) known.life = self_.lives;
  if (is_new) known.state.started_at = step.now;
  if (known.ended) {  // The time for a retry is over: what it has done is removed.
    known.state.outcome = Outcome{.phase = known.ended->phase};
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
    known.job->restore(name.first, *decode_block(bytes));
    is_retry = true;
  }
  if (is_retry) known.job->on_restored(step.out);
  if (is_new) journal_.add({sdk::put(state_key(id), encode(known.state))});
}

// Users in turn, by how many of their jobs run; of one user by priority, then in the order of
// submission. What only ends goes first.
const JobId* Jobs::State::next_to_begin(Time now) const {
  size_t running = 0;
  size_t ending = 0;
  std::map<std::string_view, size_t> of_user;
  for (const auto& [id, known] : jobs_) {
    if (!known.job) continue;
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

// The ranks are numbered in the order of the offers.
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
      if (declared == declared_.end()) break;  // Withdrawn while the offer was under way.
      std::optional<proto::TaskSpec> task =
          known->job->launch(fill.ask, offer.agent, kAcceptBytesMax - bytes, step.now, step.out);
      if (!task) break;
      bytes += Job::message_bytes(*task);
      declared->count -= 1;  // As the master does when it hears of it.
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
    // Of a job that has ended: nothing that it does is wanted.
    if (has_ended && known == nullptr && name)
      release_files(step, name->job, {status.agent}, false);
    if (!has_ended) {
      step.out.commands.push_back(
          proto::KillTask{.framework = {}, .task = status.task, .grace = {}});
    }
    return acknowledge();
  }
  if (!known->job) begin_stale_ = true;
  begin(step, name->job, *known);  // It had begun in an earlier life.
  // Whether the master lowered the ask for it is not for us to guess.
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
  if (block == changed_.end()) return acknowledge();  // It has left no trace.
  block->second.push_back(status.task);
}

// An executor has one task, whose id it has.
void Jobs::State::on_progress(Step& step, const proto::FrameworkMessage& message) {
  const std::optional<TaskName> name = parse_task_id(TaskId(message.executor.str()));
  const auto known = name ? jobs_.find(name->job) : jobs_.end();
  if (known == jobs_.end() || !known->second.job) return;
  known->second.job->on_progress(*name, message.data, step.now);
}

// The tasks of a job that has ended: agents keep nothing but the output of those that failed.
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

// `declared_` is what the master has, lowered by what was launched since.
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
    if (ended_.contains(id)) found.push_back({text("job ", id.str(), " has ended and has not")});
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

// --- the outside -------------------------------------------------------------------------------

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
