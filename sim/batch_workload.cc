// Some jobs: the constructor makes the wishes, go_on requests them, and look checks the scheduler's
// reports. Each life of the scheduler gets a request again until it is answered. batch_script.cc
// has the work of tasks on machines.

#include "sim/batch_workload.h"

#include <algorithm>

#include "common/check.h"
#include "common/text.h"
#include "frameworks/batch/core/stragglers.h"
#include "frameworks/batch/core/work.h"
#include "sim/batch_facts.h"

namespace proffer::sim {
namespace {

const batch::Caller kSomebody{.user = "ada", .is_operator = false};

// Some of the jobs are arrays; this choice does not change the others.
void make_array(batch::JobOrder& order, Prng& chance) {
  order.map.clear();
  order.reduce.clear();
  order.maps = 0;
  order.reducers = 0;
  order.input_bytes = 0;
  batch::ArrayOrder& array = order.array.emplace();
  const auto size = static_cast<uint32_t>(chance.between(1, 60));
  array.indices = {{.first = 7, .step = 3, .count = size}};
  array.directory = "/";
  array.at_once = chance.chance(1, 2) ? chance.between(1, 3) : 0;
  array.command = {"at-once", std::to_string(array.at_once)};
  array.retries = static_cast<int32_t>(chance.between(0, 2));
  array.failed_max = size;
}

// An array. If `plan_before` is set, an element waits for the same element of that array.
batch::ArrayOrder some_array(uint32_t size, const std::string& plan_before, Prng& chance) {
  batch::ArrayOrder array;
  array.indices = {{.first = 1, .step = 1, .count = size}};
  array.directory = "/";
  array.command = {"at-once", "0"};
  if (!plan_before.empty()) array.command.push_back(plan_before);
  array.retries = static_cast<int32_t>(chance.between(0, 1));
  array.failed_max = size;
  return array;
}

// Tasks of some jobs prefer hosts. One of the hosts does not exist; all work ends nevertheless.
void prefer_hosts(batch::JobOrder& order, Prng& chance) {
  batch::Locality& locality = order.locality;
  locality.groups = {{"a1"}, {"a2", "a3"}, {"nowhere"}};
  locality.wait = milliseconds(chance.between(0, 10'000));
  const auto group = [&] { return static_cast<uint32_t>(chance.between(0, 3)); };
  locality.all = group();
  for (int64_t map = 0; map < order.maps && !order.array; ++map) {
    locality.maps.push_back({.group = group(), .count = 1});
  }
}

// True if the element fails in all attempts of one try of the job.
bool fails_in(const std::string& plan, const batch::ArrayOrder& array, uint32_t position,
              int32_t tries_before) {
  const int32_t first = tries_before * (array.retries + 1) + 1;
  bool fails = true;
  for (int32_t attempt = first; attempt <= first + array.retries; ++attempt) {
    fails &= exit_code(plan, position, static_cast<uint32_t>(attempt)) != 0;
  }
  return fails;
}

// The bounds of the number of elements that failed in the end. An element that succeeded before a
// retry stays done.
std::pair<int64_t, int64_t> failing(const std::string& plan, const batch::ArrayOrder& array,
                                    bool is_retried) {
  std::pair<int64_t, int64_t> least_and_most;
  for (uint32_t position = 0; position < array.size(); ++position) {
    const bool fails = fails_in(plan, array, position, is_retried ? 1 : 0);
    least_and_most.first += fails && fails_in(plan, array, position, 0);
    least_and_most.second += fails;
  }
  return least_and_most;
}

// True if the end of another stage meets the condition; independent of batch::fate_of, which is
// under test.
bool is_met(batch::Condition condition, proto::BatchPhase ended) {
  switch (condition) {
    case batch::Condition::kFinished:
      return ended == proto::BatchPhase::kFinished;
    case batch::Condition::kFailed:
      return ended == proto::BatchPhase::kFailed || ended == proto::BatchPhase::kCancelled;
    case batch::Condition::kEnded:
    case batch::Condition::kEach:
      return true;
  }
  return false;
}

}  // namespace

BatchWorkload::BatchWorkload(BatchWorkloadOptions options) : options_(std::move(options)) {
  Prng chance(options_.seed);
  Prng of_arrays(options_.seed ^ 0xA55A);
  Prng of_hosts(options_.seed ^ 0x10CA1);
  Time at = Time();
  for (int64_t i = 0; i < options_.jobs; ++i) {
    Wish wish{.at = at};
    batch::JobOrder& order = wish.order;
    order.name = "words";
    order.map = "map";
    order.reduce = "reduce";
    order.output = text("/out", i);
    order.plan = text("plan", i, "-", chance.below(1'000'000));
    order.maps = chance.between(1, static_cast<int64_t>(options_.maps));
    order.reducers = options_.reducers;
    order.priority = static_cast<int32_t>(chance.between(-1, 1));
    order.resources = ResourceVector::of(chance.between(1, 4) * 250, 128'000);
    order.attempts = 100;  // executors crash often here
    for (uint32_t map = 0; map < order.maps; ++map) {
      order.input_bytes += split_bytes(order.plan, map);
    }
    if (i > 0 && of_arrays.chance(1, 2)) make_array(order, of_arrays);
    if (of_hosts.chance(1, 2)) prefer_hosts(order, of_hosts);
    if (i > 0 && chance.chance(1, 4)) {
      wish.cancel_after = milliseconds(chance.between(0, 30'000));
      wish.wants_retry = split_bytes(order.plan, 0) % 200 == 0;         // every second one
    } else if (order.array && split_bytes(order.plan, 1) % 300 == 0) {  // every third one
      // The first failed element ends the job, until a retry has no failure.
      order.array->failed_max = -1 + split_bytes(order.plan, 2) / kRecordBytes % 2;
      wish.is_flaky = true;
    }
    wishes_.push_back(std::move(wish));
    at = at + milliseconds(chance.between(0, 2 * options_.every.millis()));
  }
  Prng of_pipelines(options_.seed ^ 0x57A6E);
  if (of_pipelines.chance(1, 2)) {
    wish_for_pipeline(of_pipelines,
                      Time() + milliseconds(of_pipelines.between(0, options_.every.millis())));
  }
  Prng of_followers(options_.seed ^ 0xEAC4);
  if (of_followers.chance(1, 2)) {
    wish_for_arrays(of_followers,
                    Time() + milliseconds(of_followers.between(0, options_.every.millis())));
  }
}

// An array, and one or two arrays whose elements wait for those of the array before.
void BatchWorkload::wish_for_arrays(Prng& chance, Time at) {
  const size_t first = wishes_.size();
  const auto arrays = static_cast<size_t>(chance.between(2, 3));
  const auto size = static_cast<uint32_t>(chance.between(1, 40));
  for (size_t i = 0; i < arrays; ++i) {
    Wish wish{.at = at, .first = first};
    wish.stage.stage = text("s", i);
    batch::JobOrder& order = wish.order;
    order.name = wish.stage.stage;
    order.output = text("/array", i);
    order.plan = text("array", i, "-", chance.below(1'000'000));
    order.resources = ResourceVector::of(250, 128'000);
    order.attempts = 100;
    const Wish* before = i == 0 ? nullptr : &wishes_.back();
    order.array = some_array(size, before == nullptr ? "" : before->order.plan, chance);
    if (before != nullptr) {
      wish.stage.after = {{.job = before->stage.stage, .on = batch::Condition::kEach}};
    }
    for (uint32_t position = 0; position < size; ++position) {
      const bool is_skipped = before != nullptr && before->unfinished.contains(position);
      wish.skipped += is_skipped;
      if (is_skipped || fails_in(order.plan, *order.array, position, 0)) {
        wish.unfinished.insert(position);
      }
    }
    if (wish.skipped == size) wish.expected = proto::BatchPhase::kSkipped;
    wish.stage.order = order;
    wishes_.push_back(std::move(wish));
  }
}

// Stages wait for stages before them.
void BatchWorkload::wish_for_pipeline(Prng& chance, Time at) {
  const size_t first = wishes_.size();
  const auto stages = static_cast<size_t>(chance.between(2, 5));
  for (size_t i = 0; i < stages; ++i) {
    Wish wish{.at = at, .first = first};
    wish.stage.stage = text("s", i);
    batch::JobOrder& order = wish.order;
    order.name = wish.stage.stage;
    order.reduce = "reduce";
    order.output = text("/stage", i);
    order.plan = text("stage", i, "-", chance.below(1'000'000));
    order.reducers = options_.reducers;
    order.resources = ResourceVector::of(250, 128'000);
    order.attempts = 100;
    wish.is_flaky = chance.chance(1, 4);
    const bool fails = !wish.is_flaky && chance.chance(1, 4);
    order.map = wish.is_flaky ? kFlaky : fails ? kFails : "map";
    for (size_t other = 0; other < i; ++other) {
      if (!chance.chance(1, 2)) continue;
      // Others may wait for a stage whose first end may change after a retry only with kFinished.
      const Wish& before = wishes_[first + other];
      const bool may_change = before.is_flaky || before.may_wait_again;
      const auto condition = static_cast<batch::Condition>(may_change ? 0 : chance.between(0, 2));
      wish.may_wait_again |= may_change;
      wish.stage.after.push_back({.job = text("s", other), .on = condition});
    }
    wish.stage.takes_any = chance.chance(1, 4);
    size_t met = 0;
    for (const batch::StageDependency& one : wish.stage.after) {
      const Wish& other = wishes_[first + static_cast<size_t>(one.job[1] - '0')];
      met += is_met(one.on, other.expected);
    }
    const size_t needed =
        wish.stage.takes_any && !wish.stage.after.empty() ? 1 : wish.stage.after.size();
    if (met < needed) {
      wish.expected = proto::BatchPhase::kSkipped;
    } else if (fails) {
      wish.expected = proto::BatchPhase::kFailed;
    }
    if (wish.stage.after.empty()) {
      order.maps = plan_maps(order.plan);
      order.input_bytes = plan_bytes(order.plan);
    }
    wish.stage.order = order;
    wishes_.push_back(std::move(wish));
  }
}

batch::Submission BatchWorkload::submission(size_t first) const {
  batch::Submission all{.pipeline = wishes_[first].order.array ? "arrays" : "pipe"};
  for (const Wish& wish : wishes_) {
    if (wish.first == first) all.stages.push_back(wish.stage);
  }
  return all;
}

std::optional<batch::Request> BatchWorkload::ask_of_stage(size_t number) {
  Wish& wish = wishes_[number];
  batch::Request request{.relay = 0, .what = batch::Cancel{}, .by = kSomebody};
  if (wish.job.empty()) {
    if (wish.first != number) return std::nullopt;  // the first stage submits all
    request.what = batch::SubmitStages{.stages = submission(number), .role = {}};
    return request;
  }
  if (!wish.ended || wish.ended->retry_until == Time()) return std::nullopt;
  if (wish.is_flaky && wish.ended->phase == proto::BatchPhase::kFailed) {
    request.what = batch::Retry{batch::JobId(wish.job)};
    return request;
  }
  // The kept work is given up when the whole pipeline has ended as expected.
  for (const Wish& other : wishes_) {
    if (other.first != wish.first) continue;
    if (!other.ended || other.ended->phase != other.expected) return std::nullopt;
  }
  request.what = batch::Cancel{batch::JobId(wish.job)};
  wish.is_given_up = true;
  return request;
}

sdk::DriverOptions BatchWorkload::options() const {
  sdk::DriverOptions options;
  options.name = options_.name;
  options.role = options_.role;
  options.acknowledges_ends = true;
  return options;
}

// A new life knows only what is in the store.
void BatchWorkload::begin(Time now) {
  jobs_ = std::make_unique<batch::Jobs>(
      batch::JobsOptions{.role = options_.role, .fetch_rounds = 1'000});
  asked_.clear();
  waiting_.clear();
  is_torn_down_ = false;
  look_at_ = now + kWorkloadLook;
}

void BatchWorkload::hear(const sdk::Notification& notification, Time now, Commands& out) {
  // A framework that was torn down is refused; its jobs are over.
  if (std::holds_alternative<sdk::Refused>(notification)) refused_ = true;
  handle(notification, now, out);
}

void BatchWorkload::tick(Time now, Commands& out) {
  handle(batch::Tick{}, now, out);
  if (!look_at_ || *look_at_ > now) return;
  look_at_ = now + kWorkloadLook;
  look(now);
  go_on(now, out);
}

std::optional<Time> BatchWorkload::next_deadline() const {
  if (jobs_ == nullptr || is_done()) return std::nullopt;
  std::optional<Time> next = jobs_->next_deadline();
  if (look_at_) next = next ? std::min(*next, *look_at_) : look_at_;
  return next;
}

void BatchWorkload::handle(const batch::JobsEvent& event, Time now, Commands& out) {
  batch::JobsOutbox outbox;
  jobs_->handle(event, now, outbox);
  for (sdk::Command& command : outbox.commands) {
    if (const auto* accept = std::get_if<proto::Accept>(&command)) check_copies(*accept, now);
    if (const auto* files = std::get_if<proto::ReleaseFiles>(&command)) check_released(*files, now);
    out.push_back(std::move(command));
  }
  for (const batch::Answer& answer : outbox.answers) on_answer(answer);
}

// Only files that no task fetches any more may be released.
void BatchWorkload::check_released(const proto::ReleaseFiles& released, Time now) {
  for (const std::string& begin : released.begins) {
    released_.insert(begin);
    for (const proto::BatchJob& job : jobs_->list(kSomebody, true, {}, 1'000, now)) {
      if (job.job + "." != begin) continue;
      if (proto::has_ended(job.phase) && job.retry_until == Time()) continue;
      found_.push_back(
          {text("the files of job ", job.job, " are released, and the job ",
                job.retry_until == Time() ? "is " : "can be retried: it is ", to_text(job.phase))});
    }
  }
}

// The number of second attempts stays within its bound.
void BatchWorkload::check_copies(const proto::Accept& accept, Time now) {
  std::set<std::string> copied;  // jobs
  for (const proto::Operation& operation : accept.operations) {
    const auto* launch = std::get_if<proto::Launch>(&operation);
    if (launch == nullptr) continue;
    for (const proto::TaskSpec& task : launch->tasks) {
      const std::optional<batch::TaskName> name = batch::parse_task_id(task.id);
      if (name && is_copy(task)) copied.insert(name->job.str());
    }
  }
  if (copied.empty()) return;
  for (const proto::BatchJob& job : jobs_->list(kSomebody, false, {}, 1'000, now)) {
    if (!copied.contains(job.job)) continue;
    for (const proto::BatchStage& stage : {job.map, job.reduce}) {
      if (stage.copies <= static_cast<int64_t>(batch::copies_max(stage.running))) continue;
      found_.push_back({text("job ", job.job, " runs ", stage.running, " tasks, ", stage.copies,
                             " of them twice")});
    }
  }
}

void BatchWorkload::on_answer(const batch::Answer& answer) {
  const auto asked = asked_.extract(answer.relay);
  if (asked.empty()) {
    found_.push_back({text("request ", answer.relay, " was answered without a request")});
    return;
  }
  waiting_.erase(asked.mapped());
  Wish& wish = wishes_[asked.mapped()];
  if (!answer.job) {
    if (answer.job.error().code() == ErrorCode::kUnavailable) return;  // The request is repeated.
    // An earlier life of the scheduler retried the job, but its answer was lost.
    if (wish.is_flaky && answer.job.error().code() == ErrorCode::kFailedPrecondition) {
      wish.ended.reset();
      return;
    }
    // An earlier life of the scheduler retried the job, but its answer was lost.
    if (wish.is_retry_asked && answer.job.error().code() == ErrorCode::kFailedPrecondition) {
      return note_retry(wish);
    }
    found_.push_back({text("a request was refused: ", answer.job.error().message())});
  } else if (wish.job.empty()) {
    wish.job = answer.job->job;
    wish.pipeline = answer.job->pipeline;
    for (const Wish& other : wishes_) {
      if (&other != &wish && other.job == wish.job) {
        found_.push_back({text("two jobs are ", wish.job)});
      }
    }
  } else if (answer.job->job == wish.job && wish.is_flaky && !wish.is_given_up) {
    wish.ended.reset();
  } else if (answer.job->job == wish.job && wish.is_retry_asked && wish.wants_retry) {
    note_retry(wish);
  } else if (answer.job->job == wish.job) {
    wish.is_cancel_answered = true;
  } else {
    found_.push_back({text("job ", wish.job, " was answered as ", answer.job->job)});
  }
}

void BatchWorkload::go_on(Time now, Commands& out) {
  if (!jobs_->loaded() || is_done()) return;
  for (size_t i = 0; i < wishes_.size(); ++i) {
    Wish& wish = wishes_[i];
    if (waiting_.contains(i) || wish.at > now) continue;
    batch::Request request{.relay = 0, .what = batch::Cancel{}, .by = kSomebody};
    if (wish.first) {
      const std::optional<batch::Request> asked = ask_of_stage(i);
      if (!asked) continue;
      request = *asked;
    } else if (wish.job.empty()) {
      request.what = batch::Submit{.order = wish.order, .role = {}};
    } else if (wish.cancel_after && !wish.is_cancel_answered && !wish.ended) {
      if (!wish.cancel_at) wish.cancel_at = now + *wish.cancel_after;
      if (*wish.cancel_at > now) continue;
      request.what = batch::Cancel{batch::JobId(wish.job)};
    } else if (wish.is_flaky && wish.ended && wish.ended->phase == proto::BatchPhase::kFailed) {
      request.what = batch::Retry{batch::JobId(wish.job)};
    } else if (wish.wants_retry && wish.ended &&
               wish.ended->phase == proto::BatchPhase::kCancelled) {
      request.what = batch::Retry{batch::JobId(wish.job)};
      wish.is_retry_asked = true;
    } else if (wish.ended && wish.ended->retry_until != Time()) {
      request.what = batch::Cancel{batch::JobId(wish.job)};  // The kept work is given up.
      wish.is_given_up = true;
    } else {
      continue;
    }
    request.relay = ++relays_;
    asked_[request.relay] = i;
    waiting_.insert(i);
    handle(request, now, out);
  }
  const bool all_ended = std::all_of(wishes_.begin(), wishes_.end(), [&](const Wish& wish) {
    return wish.ended && wish.ended->retry_until == Time() &&
           (!wish.is_given_up || has_released(wish.job));
  });
  if (!all_ended || (stays_until_ && now < *stays_until_)) return;
  is_torn_down_ = true;
  out.push_back(proto::Teardown{});
}

// Checks the scheduler's report of each job that it has accepted.
void BatchWorkload::look(Time now) {
  if (!jobs_->loaded()) return;
  std::map<std::string, proto::BatchJob> told;
  for (proto::BatchJob& job : jobs_->list(kSomebody, true, {}, 1'000, now)) {
    told[job.job] = std::move(job);
  }
  for (Wish& wish : wishes_) {
    if (wish.first) look_at_stage(wish, told);
    if (wish.job.empty()) continue;
    const auto job = told.find(wish.job);
    if (job == told.end()) {
      found_.push_back({text("job ", wish.job, " is forgotten")});
    } else if (wish.ended) {
      if (wish.is_given_up) wish.ended->retry_until = job->second.retry_until;
      // It was skipped because a flaky stage had not been retried yet.
      if (wish.ended->phase == proto::BatchPhase::kSkipped && wish.may_wait_again &&
          job->second != *wish.ended) {
        wish.ended.reset();
      } else if (wish.is_flaky && wish.ended->phase == proto::BatchPhase::kFailed &&
                 job->second != *wish.ended) {
        wish.ended.reset();
      } else if (job->second != *wish.ended && wish.is_retry_asked && wish.wants_retry) {
        note_retry(wish);
      } else if (job->second != *wish.ended) {
        found_.push_back({text("job ", wish.job, " was reported as ", to_text(wish.ended->phase),
                               " but is ", to_text(job->second.phase))});
      }
    } else if (proto::has_ended(job->second.phase)) {
      wish.ended = job->second;
      check_ended(wish, job->second);
    } else if (wish.is_cancel_answered && job->second.phase != proto::BatchPhase::kRemoving &&
               job->second.phase != proto::BatchPhase::kCommitting) {
      found_.push_back({text("job ", wish.job, " was cancelled but goes on")});
    }
  }
}

// A stage must do nothing before its conditions are met.
void BatchWorkload::look_at_stage(Wish& wish, const std::map<std::string, proto::BatchJob>& told) {
  const std::string& pipeline = wishes_[*wish.first].pipeline;
  if (pipeline.empty()) return;
  std::map<std::string, const proto::BatchJob*> stages;
  for (const auto& [id, job] : told) {
    if (job.pipeline == pipeline) stages[job.stage] = &job;
  }
  const auto own = stages.find(wish.stage.stage);
  if (own == stages.end()) return;  // look() reports this.
  if (wish.job.empty()) wish.job = own->second->job;
  const proto::BatchPhase phase = own->second->phase;
  if (phase == proto::BatchPhase::kWaiting || phase == proto::BatchPhase::kSkipped ||
      phase == proto::BatchPhase::kRemoving || wish.stage.after.empty()) {
    return;
  }
  size_t met = 0;
  for (const batch::StageDependency& one : wish.stage.after) {
    const proto::BatchJob& other = *stages.at(one.job);
    met += is_met_now(one, other);
  }
  if (met == wish.stage.after.size() || (wish.stage.takes_any && met > 0)) return;
  found_.push_back({text("stage ", wish.job, " is ", to_text(phase), ", and of ",
                         wish.stage.after.size(), " that it waits for ", met, " are met")});
}

// Elements are checked where they run (range_script).
bool BatchWorkload::is_met_now(const batch::StageDependency& one, const proto::BatchJob& other) {
  if (one.on == batch::Condition::kEach) return other.phase != proto::BatchPhase::kWaiting;
  return proto::has_ended(other.phase) && is_met(one.on, other.phase);
}

// From now on the job is expected to end like any other job.
void BatchWorkload::note_retry(Wish& wish) {
  wish.ended.reset();
  wish.wants_retry = false;
  wish.cancel_after.reset();
  wish.is_cancel_answered = false;
}

void BatchWorkload::check_ended(const Wish& wish, const proto::BatchJob& job) {
  if (wish.first) {
    const bool may_go_on = job.phase == proto::BatchPhase::kSkipped ||
                           (wish.is_flaky && job.phase == proto::BatchPhase::kFailed);
    if (job.phase != wish.expected && !(may_go_on && job.retry_until != Time())) {
      found_.push_back({text("stage ", job.job, " ", to_text(job.phase), " and not ",
                             to_text(wish.expected), ": ", job.error)});
    }
    if (wish.order.array) return check_arrays(wish, job);
    const std::string& plan = wish.order.plan;
    if (job.phase == proto::BatchPhase::kFinished &&
        (job.map.bytes_in != plan_bytes(plan) || job.map.done != plan_maps(plan) ||
         job.reduce.bytes_in != job.map.bytes_out)) {
      found_.push_back(
          {text("stage ", job.job, " read ", job.map.bytes_in, " of ", plan_bytes(plan),
                " bytes in ", job.map.done, " of ", plan_maps(plan), " maps, and its reducers ",
                job.reduce.bytes_in, " of ", job.map.bytes_out)});
    }
    return;
  }
  if (job.phase == proto::BatchPhase::kCancelled && wish.cancel_after) return;
  if (wish.is_flaky && job.phase == proto::BatchPhase::kFailed && job.retry_until != Time()) return;
  if (job.phase != proto::BatchPhase::kFinished) {
    found_.push_back({text("job ", job.job, " ", to_text(job.phase), ": ", job.error)});
    return;
  }
  if (wish.order.array) {
    const auto [least, most] =
        wish.is_flaky ? std::pair<int64_t, int64_t>()
                      : failing(wish.order.plan, *wish.order.array, wish.is_retry_asked);
    const int64_t total = wish.order.array->size();
    if (!job.array || job.array->failed < least || job.array->failed > most ||
        job.array->done != total - job.array->failed) {
      found_.push_back({text("of ", total, " elements ", least, " to ", most, " fail; ", job.job,
                             " reports ", job.array ? job.array->failed : 0, " and ",
                             job.array ? job.array->done : 0, " done")});
    }
    return;
  }
  if (job.map.bytes_in != wish.order.input_bytes) {
    found_.push_back(
        {text("the maps read ", job.map.bytes_in, " bytes of ", wish.order.input_bytes)});
  }
  if (job.map.done != wish.order.maps || job.reduce.done != wish.order.reducers) {
    found_.push_back(
        {text("finished with ", job.map.done, " maps and ", job.reduce.done, " reduces")});
  }
  if (job.reduce.bytes_in != job.map.bytes_out) {
    found_.push_back({text("the reducers read ", job.reduce.bytes_in, " bytes, the maps wrote ",
                           job.map.bytes_out)});
  }
}

void BatchWorkload::check_arrays(const Wish& wish, const proto::BatchJob& job) {
  if (job.phase != proto::BatchPhase::kFinished) return;
  const auto unfinished = static_cast<int64_t>(wish.unfinished.size());
  const int64_t done = wish.order.array->size() - unfinished;
  if (job.array && job.array->done == done && job.array->skipped == wish.skipped &&
      job.array->failed + job.array->skipped == unfinished) {
    return;
  }
  found_.push_back({text("array ", job.job, " reports ", job.array ? job.array->done : 0, " done, ",
                         job.array ? job.array->skipped : 0, " skipped; these are ", done, " and ",
                         wish.skipped)});
}

std::vector<Violation> BatchWorkload::violations() const {
  std::vector<Violation> found = found_;
  if (jobs_ == nullptr) return found;
  for (Violation& violation : jobs_->violations()) found.push_back(std::move(violation));
  return found;
}

std::string BatchWorkload::progress() const {
  std::string out = text(wishes_.size(), " jobs");
  if (jobs_ == nullptr) return out;
  for (const proto::BatchJob& job : jobs_->list(kSomebody, true, {}, 100, Time())) {
    out += text("; ", job.job, " ", to_text(job.phase), " maps ", job.map.done, " of ",
                job.map.total, ", reduces ", job.reduce.done, " of ", job.reduce.total,
                job.note.empty() ? "" : text(" (", job.note, ")"));
  }
  return out;
}

}  // namespace proffer::sim
