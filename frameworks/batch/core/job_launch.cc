// The asks of a job, and the work items of its tasks. Read `asks` and `launch` first.

#include <algorithm>
#include <utility>

#include "common/text.h"
#include "frameworks/batch/core/job_state.h"
#include "frameworks/batch/core/plan.h"
#include "frameworks/batch/core/trace.h"
#include "proto/private_tmp.h"

namespace proffer::batch {
namespace {

constexpr size_t kLaunchOverheadBytes = 1'024;
constexpr size_t kFetchOverheadBytes = 128;
constexpr size_t kCommandShownBytes = 200;

// Suffixes to the kind in the names of asks: for tasks that failed, and for second attempts.
constexpr std::string_view kElsewhere = "-elsewhere";
constexpr std::string_view kCopy = "-copy";
// For tasks that prefer hosts: the bucket follows, as in "-near2".
constexpr std::string_view kNear = "-near";

std::string near_words(size_t bucket) {
  return bucket == LocalityBuckets::kNone ? "" : text(kNear, bucket);
}
size_t bucket_of(std::string_view words) {
  const size_t at = words.rfind(kNear);
  if (at == std::string_view::npos) return LocalityBuckets::kNone;
  const Result<int64_t> bucket = parse_whole("bucket", words.substr(at + kNear.size()), 0,
                                             int64_t{LocalityBuckets::kCount} - 1);
  return bucket ? static_cast<size_t>(*bucket) : LocalityBuckets::kNone;
}

AskName ask_name(const JobId& job, TaskKind kind, std::string_view what = "") {
  return AskName(text(job.str(), ".", to_text(kind), what));
}

}  // namespace

// --- asks ------------------------------------------------------------------------------------

void Job::State::on_ask_report(const proto::AskReport::Row& row, JobOutbox& out) {
  if (row.could_ever_fit) {
    cannot_fit_.erase(row.ask);
    return;
  }
  // There is no other agent, so one on which tasks failed must be used.
  if (!avoided_.all().empty()) return avoided_.forgive_all();
  for (Stage* stage : {&plan_, &maps_, &reduces_, &end_}) {
    if (row.ask == ask_name(options_.id, stage->kind(), kElsewhere)) {
      return stage->end_waits(std::nullopt);
    }
    if (row.ask == ask_name(options_.id, stage->kind(), kCopy)) return;
  }
  std::string& why = cannot_fit_[row.ask];
  why = row.why.empty() ? "no agent could ever run it" : row.why;
  if (!order().fail_if_impossible || map_started_ || outcome_) return;
  fail(Error::failed_precondition(text("no agent of the cluster could run a task: ", why))
           .with_hint("without --fail-if-impossible the job waits for an agent that can"),
       out);
}

std::vector<Ask> Job::State::asks() const {
  std::vector<Ask> asks;
  const auto ask_for = [&](TaskKind kind, size_t count, std::string_view what = "") {
    Ask ask;
    ask.name = ask_name(options_.id, kind, what);
    ask.role = order().role;
    ask.shape = shape(kind);
    ask.count = static_cast<int64_t>(count);
    // Reduces and the last task of a job go before the maps of other jobs: a user that always has
    // more maps would delay them forever. Copies come last.
    const bool is_late = kind == TaskKind::kReduce || kind == TaskKind::kEnd;
    ask.priority = 3 * order().priority + (what == kCopy ? 0 : is_late ? 2 : 1);
    ask.band = order().band;
    ask.max_run_time = time_limit(kind);
    return ask;
  };
  // Not on these agents, nor on those that the job avoids.
  const auto not_on = [&](std::vector<std::string> agents, Ask ask) {
    for (const AgentId& agent : avoided_.all()) {
      const bool is_named = std::find(agents.begin(), agents.end(), agent.str()) != agents.end();
      if (!is_named && agents.size() < kConstraintValuesMax) agents.push_back(agent.str());
    }
    if (agents.empty()) return ask;
    ask.constraints.push_back(Constraint{
        .attribute = "host", .op = Constraint::Operator::kNotIn, .values = std::move(agents)});
    return ask;
  };
  for (const Stage* stage : {&plan_, &maps_, &reduces_, &end_}) {
    const TaskKind kind = stage->kind();
    if (!wants(kind)) continue;
    for (size_t bucket = 0; bucket < LocalityBuckets::kCount; ++bucket) {
      const size_t pending = stage->pending_in(bucket);
      if (pending == 0) continue;
      asks.push_back(not_on({}, ask_for(kind, pending, near_words(bucket))));
      if (bucket == LocalityBuckets::kNone) continue;
      asks.back().prefer = {.hosts = stage->buckets().hosts(bucket), .wait = order().locality.wait};
    }
    if (!stage->elsewhere().empty()) {
      asks.push_back(not_on(stage->avoided(kConstraintValuesMax / 2),
                            ask_for(kind, stage->elsewhere().size(), kElsewhere)));
    }
    if (kind == TaskKind::kPlan) continue;
    // The agent of the most urgent task is avoided; each other agent can run some copy.
    const std::vector<uint32_t> copies = wanted_copies(kind);
    if (copies.empty()) continue;
    asks.push_back(
        not_on({agent_of_active(kind, copies.front()).str()}, ask_for(kind, copies.size(), kCopy)));
  }
  if (elements_ && wants(TaskKind::kRange) && elements_->wanted() > 0) {
    asks.push_back(not_on({}, ask_for(TaskKind::kRange, static_cast<size_t>(elements_->wanted()))));
    if (order().array->is_gang) asks.back().gang = asks.back().count;
    const Locality& locality = order().locality;
    if (locality.all > 0) {
      asks.back().prefer = {.hosts = locality.groups[locality.all - 1], .wait = locality.wait};
    }
  }
  return asks;
}

// --- launches --------------------------------------------------------------------------------

std::optional<proto::TaskSpec> Job::State::launch(const AskName& ask, const AgentId& agent,
                                                  size_t room, Time now, JobOutbox& out) {
  const std::string_view words = std::string_view(ask.str()).substr(ask.str().rfind('.') + 1);
  const bool elsewhere = words.ends_with(kElsewhere);
  const bool is_copy = words.ends_with(kCopy);
  if (avoided_.contains(agent)) return std::nullopt;  // offered before the ask excluded it
  if (words == to_text(TaskKind::kRange)) return launch_range(ask, agent, room, now, out);
  const TaskKind kind = words.starts_with(to_text(TaskKind::kMap))      ? TaskKind::kMap
                        : words.starts_with(to_text(TaskKind::kReduce)) ? TaskKind::kReduce
                        : words.starts_with(to_text(TaskKind::kPlan))   ? TaskKind::kPlan
                                                                        : TaskKind::kEnd;
  if (!wants(kind)) return std::nullopt;
  Stage& tasks = stage(kind);
  const std::optional<uint32_t> number =
      is_copy ? pick_copy(kind, agent) : tasks.pick(agent, elsewhere, bucket_of(words));
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
    fail(Error::resource_exhausted(
             text("the description of task ", tasks.attempt_id(*number, *attempt).str(), " has ",
                  spec.data.size(), " bytes; at most ", kPayloadBytesMax, " are allowed"))
             .with_hint("use larger splits"),
         out);
    return std::nullopt;
  }
  describe(spec, ask, kind);
  spec.command = (kind == TaskKind::kMap      ? order().map
                  : kind == TaskKind::kReduce ? order().reduce
                  : kind == TaskKind::kPlan   ? "plan the job"
                  : elements_                 ? "index the results"
                                              : end_words())
                     .substr(0, kCommandShownBytes);  // for people; the work item has all
  spec.id = tasks.attempt_id(*number, *attempt);
  if (message_bytes(spec) > room) return std::nullopt;

  is_copy ? tasks.launch_copy(*number) : tasks.launch(*number);
  agents_.insert(agent);
  attempts_.emplace(
      spec.id,
      Attempt{.kind = kind, .number = *number, .attempt = *attempt, .agent = agent, .since = now});
  if (kind != TaskKind::kPlan) {
    std::optional<Time>& started = kind == TaskKind::kMap ? map_started_ : reduce_started_;
    if (!started) started = now;
  }
  trace(TaskLaunched{spec.id, agent}, out);
  plan_look(now);
  return spec;
}

std::optional<proto::TaskSpec> Job::State::launch_range(const AskName& ask, const AgentId& agent,
                                                        size_t room, Time now, JobOutbox& out) {
  if (!wants(TaskKind::kRange) || order().array->is_gang) return std::nullopt;
  std::optional<Elements::Draft> draft = elements_->draft();
  if (!draft) return std::nullopt;
  proto::TaskSpec spec = range_task(ask, *draft);
  if (message_bytes(spec) > room) return std::nullopt;
  on_range_launched(*draft, spec, agent, now, out);
  return spec;
}

proto::TaskSpec Job::State::range_task(const AskName& ask, Elements::Draft& draft) const {
  proto::Environment own = std::move(draft.work.common.env);
  draft.work.common = common_work("", {}, draft.name.number, draft.name.attempt);
  for (auto& [name, value] : own) draft.work.common.env[name] = std::move(value);
  proto::TaskSpec spec;
  spec.id = to_task_id(draft.name);
  spec.data = encode_work(draft.work);
  describe(spec, ask, TaskKind::kRange);
  for (const std::string& word : order().array->command) {
    if (spec.command.size() > kCommandShownBytes) break;
    spec.command += text(spec.command.empty() ? "" : " ", word);
  }
  spec.command.resize(std::min(spec.command.size(), kCommandShownBytes));
  return spec;
}

void Job::State::on_range_launched(const Elements::Draft& draft, const proto::TaskSpec& spec,
                                   const AgentId& agent, Time now, JobOutbox& out) {
  elements_->launch(draft, agent);
  agents_.insert(agent);
  if (!map_started_) map_started_ = now;
  trace(TaskLaunched{spec.id, agent}, out);
}

std::vector<proto::TaskSpec> Job::State::launch_gang(const AskName& ask,
                                                     const std::vector<AgentId>& agents,
                                                     size_t room, Time now, JobOutbox& out) {
  if (!wants(TaskKind::kRange) || !order().array->is_gang ||
      elements_->wanted() != std::ssize(agents)) {
    return {};
  }
  std::string hosts;
  for (const AgentId& agent : agents) hosts += text(hosts.empty() ? "" : ",", agent.str());
  std::vector<proto::TaskSpec> ranks;
  size_t bytes = 0;
  for (size_t rank = 0; rank < agents.size(); ++rank) {
    Elements::Draft draft = elements_->draft_rank();
    draft.work.common.env = {{"PROFFER_RANK", std::to_string(rank)},
                             {"PROFFER_SIZE", std::to_string(agents.size())},
                             {"PROFFER_HOSTS", hosts}};
    ranks.push_back(range_task(ask, draft));
    bytes += message_bytes(ranks.back());
    // All of them or none; the size of the first gives the size of the others.
    if (rank == 0 && bytes * agents.size() > room) return {};
    on_range_launched(draft, ranks.back(), agents[rank], now, out);
  }
  return ranks;
}

void Job::State::describe(proto::TaskSpec& spec, const AskName& ask, TaskKind kind) const {
  spec.ask = ask;
  spec.shape = shape(kind);
  spec.executor = std::string(proto::kBatchExecutor);
  if (kind != TaskKind::kEnd && kind != TaskKind::kPlan) spec.fetch = order().fetch;
  spec.max_run_time = time_limit(kind);
  spec.user = options_.user;
  if (proto::wants_private_tmp(order().env)) {
    spec.environment[std::string(proto::kPrivateTmpVariable)] = proto::kPrivateTmp;
  }
}

// A range begins no element after kRangeTime, and its executor ends the last one at its limit. So
// the agent ends a range only if its executor does not.
Duration Job::State::time_limit(TaskKind kind) const {
  if (kind == TaskKind::kMap || kind == TaskKind::kReduce) return order().time_limit;
  if (kind != TaskKind::kRange || order().array->timeout == Duration()) return {};
  return order().array->timeout + kRangeTime + kRangeMargin;
}

ResourceVector Job::State::shape(TaskKind kind) const {
  if (kind == TaskKind::kPlan) return ResourceVector::of(kPlanMilliCpus, kPlanMilliMem);
  return kind == TaskKind::kEnd
             ? ResourceVector::of(kEndMilliCpus, elements_ ? kGatherMilliMem : kEndMilliMem)
             : order().resources;
}

bool Job::State::wants(TaskKind kind) const {
  if (is_over_) return false;
  if (kind == TaskKind::kPlan) return !outcome_;
  if (kind != TaskKind::kEnd) {
    return !outcome_ && is_planned_ && (kind != TaskKind::kReduce || maps_.all_done());
  }
  if (!outcome_ || !is_outcome_kept_) return false;
  if (elements_ && !elements_->is_quiet()) return false;
  return commits() || std::all_of(attempts_.begin(), attempts_.end(), [](const auto& row) {
           return row.second.kind == TaskKind::kEnd || row.second.is_unreachable;
         });
}

EndWork::Kind Job::State::end_kind() const {
  if (commits()) return EndWork::Kind::kCommit;
  return outcome_->is_kept ? EndWork::Kind::kSetAside : EndWork::Kind::kRemove;
}
std::string Job::State::end_words() const {
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

std::string Job::State::aside() const {
  return aside_directory(order().output, options_.id, order().plan);
}
std::string Job::State::waiting() const { return waiting_directory(order().output, order().plan); }
WorkCommon Job::State::common_work(const std::string& command, const std::vector<int32_t>& accepts,
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

Work Job::State::work(TaskKind kind, uint32_t number, uint32_t attempt) const {
  switch (kind) {
    case TaskKind::kMap:
      return MapWork{.common = common_work(order().map, order().map_accepts, number, attempt),
                     .reducers = static_cast<uint32_t>(order().reducers),
                     .shuffle = order().shuffle};
    case TaskKind::kReduce:
      return reduce_work(number, attempt);
    case TaskKind::kPlan: {
      PlanWork work{.common = common_work("", {}, number, attempt),
                    .place = directory(),
                    .model = options_.model};
      work.common.output = waiting();
      return work;
    }
    case TaskKind::kEnd:
    case TaskKind::kRange:
      break;
  }
  if (elements_) {
    return GatherWork{.common = common_work("", {}, number, attempt),
                      .indices = order().array->indices,
                      .ok = order().array->ok,
                      .done = static_cast<uint32_t>(elements_->done()),
                      .commits = commits(),
                      .is_gang = order().array->is_gang,
                      .keeps = !commits() && outcome_->is_kept};
  }
  EndWork work{.common = common_work("", {}, number, attempt),
               .kind = end_kind(),
               .place = commits() ? order().output : aside(),
               .parts = static_cast<uint32_t>(order().parts())};
  if (!is_planned_) {
    // The directory of a job that waits goes back to its waiting place, or is removed.
    work.place = waiting();
    if (work.kind == EndWork::Kind::kRemove) work.common.output = waiting();
  }
  return work;
}

Work Job::State::reduce_work(uint32_t number, uint32_t attempt) const {
  ReduceWork work{.common = common_work(order().reduce, order().reduce_accepts, number, attempt),
                  .shuffle = order().shuffle};
  work.shuffle.combine.clear();
  std::map<std::string, uint32_t> known;
  for (uint32_t i = 0; i < maps_.size(); ++i) {
    const JobTask& map = maps_.task(i);
    const auto [address, added] = known.emplace(map.result.http_address, known.size());
    if (added) work.addresses.push_back(map.result.http_address);
    work.maps.push_back(MapOutput{.agent = address->second, .attempt = map.winner});
  }
  return work;
}
size_t Job::message_bytes(const proto::TaskSpec& task) {
  size_t bytes = task.data.size() + kLaunchOverheadBytes;
  for (const proto::FetchedFile& file : task.fetch) {
    bytes += file.uri.size() + file.name.size() + kFetchOverheadBytes;
  }
  return bytes;
}

}  // namespace proffer::batch
