// Jobs that failed or were cancelled, after their end. For some time the finished work is kept, set
// aside (plan.h), or in place for an array, and a retry does the rest (on_retry). After that time,
// or when others need the room, a last task removes the work (for an array all except its results),
// and the job is only history. Such an end counts as a life of the scheduler, so that the ids of
// later tasks are new.

#include "common/check.h"
#include "common/text.h"
#include "frameworks/batch/core/jobs_state.h"
#include "frameworks/batch/core/trace.h"
#include "sdk/store.h"

namespace proffer::batch {
namespace {

// The use of the store by a job that can be retried.
struct StoreUse {
  size_t bytes = 0;
  size_t keys = 0;
};

StoreUse use_of(const KnownJob& known) {
  StoreUse use{.bytes = encode(known.record).size() + encode(known.state).size() +
                        encode(EndedRecord{*known.ended}).size(),
               .keys = 3 + known.blocks.size()};
  for (const auto& [name, bytes] : known.blocks) use.bytes += bytes.size();
  return use;
}

}  // namespace

void Jobs::State::on_retry(Step& step, uint64_t relay, const Retry& retry, const Caller& by) {
  const auto refuse = [&](const Error& error) { answer(step, relay, error); };
  const auto ended = ended_.find(retry.job);
  KnownJob* known = find(retry.job);
  if (ended == ended_.end() && (known == nullptr || !known->is_kept)) {
    return refuse(unknown_job(retry.job));
  }
  const std::string& owner = known != nullptr ? known->record.owner : ended->second.owner;
  if (Result<void> ok = may("retry", owner, retry.job, by); !ok) return refuse(ok.error());
  const std::string name = text("job ", quoted(retry.job.str()));
  if (known == nullptr && ended->second.phase == proto::BatchPhase::kFinished) {
    return refuse(Error::failed_precondition(text(name, " has finished: there is nothing to retry"))
                      .with_hint("to run it again, submit it with another output"));
  }
  if (known == nullptr || (known->ended && (known->job || known->retry_until <= step.now))) {
    return refuse(Error::failed_precondition(text("nothing of ", name, " is stored any more"))
                      .with_hint(text("submit it again; a job can be retried for ",
                                      to_text(options_.retry_for),
                                      " after its end, or less when space is needed")));
  }
  if (!known->ended) {
    return refuse(
        Error::failed_precondition(text(name, " has not ended"))
            .with_hint(text("wait for its end with: proffer batch wait ", retry.job.str())));
  }
  const std::optional<Waiting> waiting =
      known->waiting ? looked_at_again(*known->waiting) : known->waiting;
  if (waiting && verdict(*waiting) == Fate::kNever) {
    return refuse(
        Error::failed_precondition(text(name, " waits for ", waits_for(*waiting, Fate::kNever),
                                        ", which can no longer happen"))
            .with_hint("retry that job first; the jobs that wait for it then wait again"));
  }
  if (Result<void> ok = has_room({&known->record.order}, owner); !ok) return refuse(ok.error());
  known->retries.emplace_back(relay, by);
  if (known->retries.size() > 1) return;
  ask_for_retry(retry.job, *known);
}

void Jobs::State::ask_for_retry(const JobId& job, KnownJob& known) {
  known.is_retry_asked = true;
  StateRecord again = known.state;
  again.retries += 1;
  again.outcome.reset();
  if (known.begins_with_plan()) again.started_at = Time();
  std::vector<proto::StoreOperation> operations = {sdk::put(state_key(job), encode(again)),
                                                   sdk::erase(ended_key(job))};
  if (known.waiting) {
    operations.push_back(sdk::put(waits_key(job), encode(looked_at_again(*known.waiting))));
  }
  continuations_[journal_.add(std::move(operations))] = Retried{job};
}

void Jobs::State::on_retried(Step& step, const JobId& job, const std::optional<Error>& error) {
  KnownJob& known = touch(job);
  known.is_retry_asked = false;
  const std::vector<std::pair<uint64_t, Caller>> asked = std::exchange(known.retries, {});
  if (!error) {
    known.state.retries += 1;
    known.state.outcome.reset();
    known.ended.reset();
    if (known.waiting) known.waiting = looked_at_again(*known.waiting);
    // Its directory shows no work that has begun.
    if (known.begins_with_plan()) known.state.started_at = Time();
    step.trace(JobRetried{job, asked.empty() ? "" : asked.front().second.user});
  }
  for (const auto& [relay, by] : asked) {
    if (error) {
      answer(step, relay, Error(*error).in("cannot store the retry"));
    } else {
      answer(step, relay, shown_to(by, picture(job, known, step.now)));
    }
  }
  if (error) return;
  decide_wait(step, job, known);
  on_dependency_retried(step, job);
}

// Its end is stored, and so is all its finished work.
void Jobs::State::make_retryable(Step& step, const Ended& ended, KnownJob& known) {
  const auto keep = [&](TaskKind kind, int64_t tasks, uint32_t of_block = kBlockTasks) {
    for (uint32_t block = 0; int64_t{block} * of_block < tasks; ++block) {
      std::string record = known.job->block(kind, block);
      if (!record.empty()) known.blocks[{kind, block}] = std::move(record);
    }
  };
  const JobOrder& order = known.record.order;
  if (order.array) {
    keep(TaskKind::kRange, order.array->size(), kBlockElements);
  } else {
    keep(TaskKind::kMap, order.maps);
    keep(TaskKind::kReduce, order.reducers);
  }
  known.job.reset();
  known.is_restored = false;
  known.life = ended.next_life;
  known.ended = ended.picture;
  known.retry_until = ended.picture.ended_at + options_.retry_for;
  give_up_oldest(step.now);
}

void Jobs::State::give_up_oldest(Time now) {
  std::multimap<Time, std::pair<KnownJob*, StoreUse>> by_end;
  StoreUse all;
  for (auto& [id, known] : jobs_) {
    if (!known.is_retryable() || known.retry_until <= now) continue;
    const StoreUse use = use_of(known);
    all.bytes += use.bytes;
    all.keys += use.keys;
    by_end.emplace(known.ended->ended_at, std::pair(&known, use));
  }
  for (const auto& [ended_at, row] : by_end) {
    if (all.bytes <= kRetryBytesMax && all.keys <= kRetryKeysMax) return;
    const auto& [known, use] = row;
    if (known->is_retry_asked) continue;
    known->retry_until = now;
    all.bytes -= use.bytes;
    all.keys -= use.keys;
  }
}

std::optional<Time> Jobs::State::next_removal(Time now) const {
  std::optional<Time> next;
  for (const auto& [id, known] : jobs_) {
    if (!known.is_retryable() || known.retry_until <= now) continue;
    if (!next || known.retry_until < *next) next = known.retry_until;
  }
  return next;
}

// True if some result of its tasks is not in the store yet.
bool Jobs::State::has_unwritten(const JobId& job) const {
  if (is_writing_progress_) return true;
  const auto first = changed_.lower_bound({.job = job});
  return first != changed_.end() && first->first.job == job;
}

}  // namespace proffer::batch
