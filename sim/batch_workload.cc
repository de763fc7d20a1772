// The story of some jobs: the constructor says what is wanted, go_on asks for it, look checks what
// is told. What was asked is asked again by each life of the scheduler until it is answered.
// batch_script is what tasks do on the machines.

#include "sim/batch_workload.h"

#include <algorithm>

#include "common/check.h"
#include "common/text.h"
#include "frameworks/batch/core/fnv.h"
#include "frameworks/batch/core/stragglers.h"
#include "frameworks/batch/core/work.h"

namespace proffer::sim {
namespace {

// Of a map task's records each reducer gets some.
constexpr int64_t kRecordBytes = 100;
constexpr Duration kLook = seconds(1);
const batch::Caller kSomebody{.user = "ada", .is_operator = false};

// What a plan would say: the same for the job and for its tasks.
int64_t split_bytes(const std::string& plan, uint32_t number) {
  batch::Fnv1a64 hash;
  hash.add(text(plan, " ", number));
  return static_cast<int64_t>(hash.value() % 1'000 + 1) * kRecordBytes;
}

// An attempt that is made twice ends the same way.
int32_t exit_code(const std::string& plan, uint32_t position, uint32_t attempt) {
  batch::Fnv1a64 hash;
  hash.add(text(plan, " ", position, " ", attempt));
  return hash.value() % 5 == 0 ? 75 : 0;
}

// Some attempts are slow, and some stand still for long: first ones, so that others are not.
constexpr Duration kStandsFor = seconds(120);
constexpr int64_t kSlower = 6;
enum class Pace { kNormal, kSlow, kStandsStill };
Pace pace_of(const batch::WorkCommon& common, batch::TaskKind kind) {
  if (common.attempt != 1) return Pace::kNormal;
  batch::Fnv1a64 hash;
  hash.add(text("pace of ", common.plan, " ", to_text(kind), " ", common.number));
  const uint64_t one = hash.value() % 10;
  return one == 0 ? Pace::kStandsStill : one == 1 ? Pace::kSlow : Pace::kNormal;
}

// A part of the jobs are arrays; what others are does not depend on it.
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

// Whether this element fails at each of the attempts that one try of the job has.
bool fails_in(const std::string& plan, const batch::ArrayOrder& array, uint32_t position,
              int32_t tries_before) {
  const int32_t first = tries_before * (array.retries + 1) + 1;
  bool fails = true;
  for (int32_t attempt = first; attempt <= first + array.retries; ++attempt) {
    fails &= exit_code(plan, position, static_cast<uint32_t>(attempt)) != 0;
  }
  return fails;
}

// How many elements can have failed in the end: what ended well before a retry is done.
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

// How many map tasks a plan says, and what they read.
int64_t plan_maps(const std::string& plan) {
  batch::Fnv1a64 hash;
  hash.add(plan);
  return static_cast<int64_t>(hash.value() % 5 + 1);
}
int64_t plan_bytes(const std::string& plan) {
  int64_t bytes = 0;
  for (uint32_t map = 0; map < plan_maps(plan); ++map) bytes += split_bytes(plan, map);
  return bytes;
}

// Mappers of stages that fail, always or in half of the lives of the scheduler; each retry is a
// life.
constexpr std::string_view kFails = "fails";
constexpr std::string_view kFlaky = "flaky";
bool fails(const batch::WorkCommon& common) {
  if (common.command == kFails) return true;
  batch::Fnv1a64 hash;
  hash.add(text(common.plan, " ", common.attempt / 1'000));
  return common.command == kFlaky && hash.value() % 2 == 0;
}

// By how another stage ends, in words of its own: batch::fate_of is what is tested.
bool is_met(batch::Condition condition, proto::BatchPhase ended) {
  switch (condition) {
    case batch::Condition::kFinished:
      return ended == proto::BatchPhase::kFinished;
    case batch::Condition::kFailed:
      return ended == proto::BatchPhase::kFailed || ended == proto::BatchPhase::kCancelled;
    case batch::Condition::kEnded:
    case batch::Condition::kEach:  // None of these here.
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
    order.attempts = 100;  // Executors crash here more often than anywhere.
    for (uint32_t map = 0; map < order.maps; ++map) {
      order.input_bytes += split_bytes(order.plan, map);
    }
    if (i > 0 && of_arrays.chance(1, 2)) make_array(order, of_arrays);
    if (of_hosts.chance(1, 2)) prefer_hosts(order, of_hosts);
    if (i > 0 && chance.chance(1, 4)) {
      wish.cancel_after = milliseconds(chance.between(0, 30'000));
      wish.wants_retry = split_bytes(order.plan, 0) % 200 == 0;         // every second one
    } else if (order.array && split_bytes(order.plan, 1) % 300 == 0) {  // every third one
      // The first element that fails for good ends it, until a retry finds none.
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
      // What ended once and is retried must not have been enough.
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
  batch::Submission all{.pipeline = "pipe"};
  for (const Wish& wish : wishes_) {
    if (wish.first == first) all.stages.push_back(wish.stage);
  }
  return all;
}

std::optional<batch::Request> BatchWorkload::ask_of_stage(size_t number) {
  Wish& wish = wishes_[number];
  batch::Request request{.relay = 0, .what = batch::Cancel{}, .by = kSomebody};
  if (wish.job.empty()) {
    if (wish.first != number) return std::nullopt;  // The first one tells of it.
    request.what = batch::SubmitStages{.stages = submission(number), .role = {}};
    return request;
  }
  if (!wish.ended || wish.ended->retry_until == Time()) return std::nullopt;
  if (wish.is_flaky && wish.ended->phase == proto::BatchPhase::kFailed) {
    request.what = batch::Retry{batch::JobId(wish.job)};
    return request;
  }
  // What is kept is given up once all of the pipeline has ended as it is to end.
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

// Whatever was not in the store is forgotten.
void BatchWorkload::begin(Time now) {
  jobs_ = std::make_unique<batch::Jobs>(
      batch::JobsOptions{.role = options_.role, .fetch_rounds = 1'000});
  asked_.clear();
  waiting_.clear();
  is_torn_down_ = false;
  look_at_ = now + kLook;
}

void BatchWorkload::hear(const sdk::Notification& notification, Time now, Commands& out) {
  // A framework that was torn down is refused, and that is the end of its jobs.
  if (std::holds_alternative<sdk::Refused>(notification)) refused_ = true;
  handle(notification, now, out);
}

void BatchWorkload::tick(Time now, Commands& out) {
  handle(batch::Tick{}, now, out);
  if (!look_at_ || *look_at_ > now) return;
  look_at_ = now + kLook;
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

// Only what nobody fetches any more.
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

// Second attempts beside slow ones keep their bound.
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
    found_.push_back({text("request ", answer.relay, " was answered and not asked")});
    return;
  }
  waiting_.erase(asked.mapped());
  Wish& wish = wishes_[asked.mapped()];
  if (!answer.job) {
    if (answer.job.error().code() == ErrorCode::kUnavailable) return;  // It is asked again.
    // It was retried by an earlier life, which could not say so.
    if (wish.is_flaky && answer.job.error().code() == ErrorCode::kFailedPrecondition) {
      wish.ended.reset();
      return;
    }
    // It was retried by an earlier life, which could not say so.
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
      request.what = batch::Cancel{batch::JobId(wish.job)};  // What is kept of it is given up.
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

// What the scheduler says of each job that it has answered for.
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
      // A flaky stage before it was retried.
      if (wish.ended->phase == proto::BatchPhase::kSkipped && wish.may_wait_again &&
          job->second != *wish.ended) {
        wish.ended.reset();
      } else if (wish.is_flaky && wish.ended->phase == proto::BatchPhase::kFailed &&
                 job->second != *wish.ended) {
        wish.ended.reset();
      } else if (job->second != *wish.ended && wish.is_retry_asked && wish.wants_retry) {
        note_retry(wish);
      } else if (job->second != *wish.ended) {
        found_.push_back({text("job ", wish.job, " was told as ", to_text(wish.ended->phase),
                               " and is ", to_text(job->second.phase))});
      }
    } else if (proto::has_ended(job->second.phase)) {
      wish.ended = job->second;
      check_ended(wish, job->second);
    } else if (wish.is_cancel_answered && job->second.phase != proto::BatchPhase::kRemoving &&
               job->second.phase != proto::BatchPhase::kCommitting) {
      found_.push_back({text("job ", wish.job, " was cancelled and goes on")});
    }
  }
}

// Nothing of a stage is done before what it waits for has ended as it says.
void BatchWorkload::look_at_stage(Wish& wish, const std::map<std::string, proto::BatchJob>& told) {
  const std::string& pipeline = wishes_[*wish.first].pipeline;
  if (pipeline.empty()) return;
  std::map<std::string, const proto::BatchJob*> stages;
  for (const auto& [id, job] : told) {
    if (job.pipeline == pipeline) stages[job.stage] = &job;
  }
  const auto own = stages.find(wish.stage.stage);
  if (own == stages.end()) return;  // look() says so.
  if (wish.job.empty()) wish.job = own->second->job;
  const proto::BatchPhase phase = own->second->phase;
  if (phase == proto::BatchPhase::kWaiting || phase == proto::BatchPhase::kSkipped ||
      phase == proto::BatchPhase::kRemoving || wish.stage.after.empty()) {
    return;
  }
  size_t met = 0;
  for (const batch::StageDependency& one : wish.stage.after) {
    const proto::BatchJob& other = *stages.at(one.job);
    met += proto::has_ended(other.phase) && is_met(one.on, other.phase);
  }
  if (met == wish.stage.after.size() || (wish.stage.takes_any && met > 0)) return;
  found_.push_back({text("stage ", wish.job, " is ", to_text(phase), ", and of ",
                         wish.stage.after.size(), " that it waits for ", met, " are met")});
}

// From now on it is to end as any other job.
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
                             " tells ", job.array ? job.array->failed : 0, " and ",
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

namespace {

// Elements one after the other, as the executor does it (frameworks/batch/executor/range_task.cc).
TaskScript range_script(const TaskKey& task, const batch::RangeWork& work, const Results& results,
                        Prng& chance) {
  const std::string& plan = work.common.plan;
  const std::multimap<uint32_t, KeptElement>& kept = results.read(plan);
  const std::optional<batch::TaskName> name = batch::parse_task_id(task.second);
  const std::pair<uint32_t, uint32_t> range(name->attempt, name->number);
  batch::RangeResult result;
  Duration at;
  const Result<int64_t> at_once = parse_whole("number", work.command.at(1), 0, 1'000);
  const std::optional<int64_t> running = results.running(task);
  if (*at_once > 0 && running.value_or(0) > *at_once) {
    results.violated({text(task.second.str(), " begins, and with it ", *running,
                           " ranges run; at most ", *at_once, " may")});
  }
  for (uint32_t place = 0; place < work.count(); ++place) {
    const uint32_t position = work.first + place;
    const auto known = work.failures.find(place);
    const uint32_t failures =
        known == work.failures.end() ? 0 : static_cast<uint32_t>(known->second);
    std::optional<KeptElement> earlier;
    for (auto [one, end] = kept.equal_range(position); one != end; ++one) {
      const KeptElement& other = one->second;
      if (other.code != 0 && other.attempt <= failures) continue;
      if (!earlier || other.code == 0) earlier = other;
    }
    // What an earlier range does late, since its agent was away, may be done already: nobody could
    // tell it.
    if (earlier && !work.looks_back && earlier->range < range) {
      results.violated({text("element ", position, " of ", plan, " runs again in ",
                             task.second.str(), ", and its end was kept")});
    }
    KeptElement ended = earlier.value_or(KeptElement{
        .attempt = failures + 1, .code = exit_code(plan, position, failures + 1), .range = range});
    if (!earlier) {
      if (result.ran > 0 && at >= work.time) break;
      const Duration takes = milliseconds(chance.between(10, 1'500));
      at = at + takes;
      results.keep(task, plan, at, position, ended);
      ++result.ran;
      result.micros += takes.micros();
    }
    ++result.ended;
    if (ended.code == 0) continue;
    result.failures.push_back(
        {.place = place, .attempt = static_cast<int32_t>(ended.attempt), .code = ended.code});
  }
  TaskScript script;
  script.task.runs = at + milliseconds(5);
  script.data = batch::encode_range_result(result);
  return script;
}

TaskScript gather_script(const batch::GatherWork& work, const Results& results) {
  std::set<uint32_t> done;
  for (const auto& [position, kept] : results.read(work.common.plan)) {
    if (kept.code == 0) done.insert(position);
  }
  if (work.commits && done.size() < work.done) {
    results.violated({text(work.common.plan, ": ", work.done, " elements are said to be done, ",
                           done.size(), " are")});
  }
  TaskScript script;
  script.task.runs = milliseconds(100);
  script.data = batch::encode_result({.bytes_out = static_cast<int64_t>(done.size())});
  return script;
}

}  // namespace

namespace {

// One that is slow tells how far it is; one that stands still, and one that ends soon, does not.
void set_pace(TaskScript& script, Pace pace) {
  if (pace == Pace::kStandsStill) script.task.runs = kStandsFor;
  if (pace == Pace::kSlow) script.task.runs = script.task.runs * kSlower;
  if (pace == Pace::kStandsStill) return;
  for (Duration at = batch::kProgressEvery; at < script.task.runs;
       at = at + batch::kProgressEvery) {
    const int64_t done = batch::kProgressWhole * at.millis() / script.task.runs.millis();
    script.messages.emplace_back(at, batch::encode_progress({.done = done}));
  }
}

// The output is committed when each part is in place.
void check_parts(const batch::EndWork& work, const Results& results) {
  if (work.kind != batch::EndWork::Kind::kCommit) return;
  const std::multimap<uint32_t, KeptElement>& parts = results.read(work.common.plan);
  for (uint32_t part = 0; part < work.parts; ++part) {
    if (parts.contains(part)) continue;
    results.violated({text(work.common.plan, " is committed, and part ", part, " is not there")});
  }
}

}  // namespace

bool is_copy(const proto::TaskSpec& task) { return task.ask.str().ends_with("-copy"); }

// A map task writes, for each reducer, as many bytes as its split has; so what reducers have read
// in the end must be what the maps wrote, neither more nor less.
TaskScript batch_script(const proto::RunTask& run, const AgentId& machine, const Shuffle& shuffle,
                        const Results& results, Prng& chance) {
  const Result<batch::Work> work = batch::decode_work(run.spec.data);
  CHECK(work.has_value()) << work.error().message();
  if (const auto* range = std::get_if<batch::RangeWork>(&*work)) {
    return range_script({run.framework, run.spec.id}, *range, results, chance);
  }
  if (const auto* gather = std::get_if<batch::GatherWork>(&*work)) {
    TaskScript script = gather_script(*gather, results);
    if (gather->commits) set_pace(script, pace_of(gather->common, batch::TaskKind::kEnd));
    return script;
  }
  TaskScript script;
  script.task.runs = milliseconds(chance.between(100, 10'000));
  if (const auto* plan = std::get_if<batch::PlanWork>(&*work)) {
    script.data = batch::encode_plan_result(
        {.maps = plan_maps(plan->common.plan), .input_bytes = plan_bytes(plan->common.plan)});
    return script;
  }
  const auto* failing = std::get_if<batch::MapWork>(&*work);
  if (failing != nullptr && fails(failing->common)) {
    script.task.exit_code = 1;
    script.data = batch::encode_failure({.blame = batch::Blame::kInput});
    return script;
  }
  if (const auto* map = std::get_if<batch::MapWork>(&*work)) {
    set_pace(script, pace_of(map->common, batch::TaskKind::kMap));
    const int64_t bytes = split_bytes(map->common.plan, map->common.number);
    shuffle.write({run.framework, run.spec.id}, bytes);
    script.data = batch::encode_result({.records_in = bytes / kRecordBytes,
                                        .bytes_in = bytes,
                                        .records_out = bytes / kRecordBytes * map->reducers,
                                        .bytes_out = bytes * map->reducers,
                                        .http_address = text(machine.str(), ":5081")});
    return script;
  }
  if (const auto* end = std::get_if<batch::EndWork>(&*work)) {
    check_parts(*end, results);
    if (end->kind == batch::EndWork::Kind::kCommit) {
      set_pace(script, pace_of(end->common, batch::TaskKind::kEnd));
    }
    script.data = batch::encode_result({});
    return script;
  }
  const auto& reduce = std::get<batch::ReduceWork>(*work);
  set_pace(script, pace_of(reduce.common, batch::TaskKind::kReduce));
  batch::TaskResult result;
  batch::TaskFailure failure;
  for (uint32_t number = 0; number < reduce.maps.size(); ++number) {
    const batch::MapOutput& output = reduce.maps[number];
    const TaskKey map(run.framework, batch::to_task_id({.job = batch::JobId(reduce.common.job),
                                                        .number = number,
                                                        .attempt = output.attempt}));
    const std::optional<int64_t> bytes = shuffle.read(reduce.addresses.at(output.agent), map);
    if (bytes) {
      result.bytes_in += *bytes;
    } else if (failure.fetch_failed.size() < batch::kFetchFailedMax) {
      failure.fetch_failed.push_back({number, output.attempt});
    }
  }
  if (failure.fetch_failed.empty()) {
    script.data = batch::encode_result(result);
    results.keep({run.framework, run.spec.id}, reduce.common.plan, script.task.runs,
                 reduce.common.number, {.attempt = reduce.common.attempt});
  } else {
    script.task.exit_code = 1;
    script.data = batch::encode_failure(failure);
  }
  return script;
}

}  // namespace proffer::sim
