// Reading and writing the store: it is read once (on_loaded), decisions are written
// (keep_decisions), and the work that waited for a write continues (on_settled).

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/text.h"
#include "frameworks/batch/core/jobs_state.h"
#include "frameworks/batch/core/stage.h"
#include "frameworks/batch/core/trace.h"
#include "sdk/store.h"
#include "sdk/store_loader.h"

namespace proffer::batch {
namespace {

// The most bytes of such a record, for reading it.
constexpr size_t kSmallRecordBytesMax = 16 * 1024;
constexpr size_t kBlockBytesMax =
    kBlockTasks * (3 * kNameBytesMax + kTaskRecordBytes) + kCountersBytesMax;
// Records of blocks in one write.
constexpr size_t kProgressBytesMax = kStoreRequestBytesMax - 2 * kBlockBytesMax;
// Blocks that a job can have, which are the entries that its end erases.
constexpr size_t kBlocksMax = kMapsMax / kBlockTasks + kReducersMax / kBlockTasks + 2;
static_assert(kElementsMax / kBlockElements + 1 <= kBlocksMax);
static_assert(kBlockElements * (kBitsPerElement + 8 * kRequeuedElementBytes) / 8 < kBlockBytesMax);
constexpr size_t kForgottenAtOnce = 8;  // jobs that ended long ago
// Each life of the scheduler releases the files of jobs again that ended within this time.
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

// The status of a job from its end on.
proto::BatchJob ended_picture(const Job& job, Time now) {
  proto::BatchJob picture = job.status(now);
  picture.phase = job.outcome()->phase;
  picture.ended_at = now;
  picture.retries = 0;
  picture.map.running = 0;
  picture.reduce.running = 0;
  if (picture.array) {
    picture.array->running = 0;
    picture.array->tasks = 0;
    picture.array->waiting = 0;
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

void Jobs::State::begin_loading() {
  loader_ = new_loader();
  load_more();
}

void Jobs::State::load_more() { continuations_[journal_.add(loader_->next())] = Load{}; }

void Jobs::State::on_loaded(Step& step, const std::vector<proto::StoreResult::Outcome>& outcomes) {
  if (!loader_->take(outcomes)) {
    step.trace(sdk::StoreAnsweredSomethingElse{});
    loader_ = new_loader();
  }
  if (!loader_->done()) return load_more();
  const sdk::StoreEntries entries = (*std::move(loader_)).entries();
  if (const auto self = entries.find(std::string(kSchedulerKey)); self != entries.end()) {
    if (const Result<SchedulerRecord> record = decode_scheduler(self->second)) self_ = *record;
  }
  self_.lives += 1;
  restore(step, entries);
  // Task ids contain the number of this life, so nothing is launched before it is stored.
  continuations_[journal_.add({sdk::put(std::string(kSchedulerKey), encode(self_))})] = Begin{};
}

// Unreadable entries are left alone, since a newer scheduler may have written them.
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
    if (!block || !record) return;
    if (known == nullptr) {  // of an ended array; restore_waits knows its followers
      kept_elements_[id][static_cast<uint32_t>(*block)] = value;
      return;
    }
    if (known->ended) {
      known->blocks[{TaskKind::kRange, static_cast<uint32_t>(*block)}] = value;
      return;
    }
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
    follow_all(step, id, known);
    if (known.job) known.job->on_restored(step.out);
  }
  each(kSchedulesPrefix, [&](const std::string& name, const std::string& value) {
    Result<ScheduleRecord> record = decode_schedule(value);
    if (record) schedules_.put(name, *std::move(record), step.now);
  });
  find_started_jobs();
  step.trace(JobsRead{jobs_.size(), ended_.size()});
}

// Continues the work that waited for the store.
void Jobs::State::settle(Step& step) {
  for (const sdk::StoreJournal::Settled& settled : journal_.take_settled()) {
    const auto waiting = continuations_.extract(settled.ticket);
    if (waiting.empty()) continue;
    if (settled.error && settled.error->code() != ErrorCode::kUnavailable) {
      step.trace(StoreRefuses{settled.error->message()});
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
            begin_loading();
          },
          [&](const Begin&) {
            if (!is_done) {
              continuations_[journal_.add({sdk::put(std::string(kSchedulerKey), encode(self_))})] =
                  Begin{};
              return;
            }
            loaded_ = true;
            // The previous life may have ended before it could release them.
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
                answer(step, relay, Error(*settled.error).in("cannot store the end of the job"));
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
            // A job that ends now ends as a planned job.
            if (known.job) known.job->on_planned(kept.order);
            follow_all(step, kept.job, known);
            open_followers(kept.job);
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

// Its end is stored, so the ends of its tasks need not be reported again.
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
    step.trace(JobEnded{ended.job, known.record.owner, ended.picture.phase});
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
    // The jobs that it waits for may have been retried before this end was stored.
    wait_again(step, ended.job, known);
    return on_dependency_ended(step, ended.job);
  }
  // The agents of an earlier life's launches, or of an earlier retry's, are not stored.
  const bool is_everywhere = known.is_restored || known.state.retries > 0 || known.ended;
  release_files(step, ended.job, known.job->agents(), is_everywhere);
  if (ends_now) keep_elements(ended.job, known);
  forget_waiting(ended.job, known);
  jobs_.erase(ended.job);
  ended_.emplace(ended.job, ended.picture);
  ended_bytes_ += encode(EndedRecord{ended.picture}).size();
  if (ends_now) on_dependency_ended(step, ended.job);
}

// One group at a time: later changes go with the next group.
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
      begin_stale_ = true;  // it no longer counts as a running job
      continuations_[journal_.add({sdk::put(state_key(id), encode(known.state))})] =
          OutcomeKept{id};
      continue;
    }
    const bool is_kept = known.job->outcome()->is_kept;
    // A retry relies on all stored results, and so do arrays that wait for its elements.
    const bool is_followed = known.record.order.array && !followers_of(id).empty();
    if ((is_kept || is_followed) && has_unwritten(id)) {
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
      // Its later tasks, of a retry or of the removal, get new ids.
      self_.lives += 1;
      ended.next_life = self_.lives;
      operations.push_back(sdk::put(std::string(kSchedulerKey), encode(self_)));
      continuations_[journal_.add(std::move(operations))] = std::move(ended);
      continue;
    }
    operations.push_back(sdk::erase(order_key(id)));
    operations.push_back(sdk::erase(state_key(id)));
    if (known.waiting) operations.push_back(sdk::erase(waits_key(id)));
    if (!is_followed) {
      for (std::string& key : block_keys(id, known.record.order)) {
        operations.push_back(sdk::erase(std::move(key)));
      }
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

}  // namespace proffer::batch
