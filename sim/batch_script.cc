// The behaviour of the batch workload's tasks on the machines. Read batch_script() first.

#include <algorithm>

#include "common/check.h"
#include "common/text.h"
#include "frameworks/batch/core/fnv.h"
#include "frameworks/batch/core/work.h"
#include "sim/batch_facts.h"
#include "sim/batch_workload.h"

namespace proffer::sim {
namespace {

// Some attempts are slow, and some stop for long; only first attempts, so that others do not.
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

bool fails(const batch::WorkCommon& common) {
  if (common.command == kFails) return true;
  batch::Fnv1a64 hash;
  hash.add(text(common.plan, " ", common.attempt / 1'000));
  return common.command == kFlaky && hash.value() % 2 == 0;
}

// Checks that the element that this one waits for is done, and its end is stored.
void check_before(const std::string& plan, uint32_t position, const TaskKey& task,
                  const Results& results) {
  const auto [one, end] = results.read(plan).equal_range(position);
  if (std::any_of(one, end, [](const auto& kept) { return kept.second.code == 0; })) return;
  results.violated(
      {text(task.second.str(), " has element ", position, ", and that of ", plan, " is not done")});
}

// Elements one after the other, as in the executor (frameworks/batch/executor/range_task.cc).
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
    if (work.command.size() > 2) check_before(work.command[2], position, task, results);
    const auto known = work.failures.find(place);
    const uint32_t failures =
        known == work.failures.end() ? 0 : static_cast<uint32_t>(known->second);
    std::optional<KeptElement> earlier;
    for (auto [one, end] = kept.equal_range(position); one != end; ++one) {
      const KeptElement& other = one->second;
      if (other.code != 0 && other.attempt <= failures) continue;
      if (!earlier || other.code == 0) earlier = other;
    }
    // An earlier range that continues late, since its agent was away, may repeat done elements: it
    // could not know.
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

// A slow task reports its progress; a task that stops, or ends soon, does not.
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

// The output may be committed only when each part is in place.
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

// A map task writes as many bytes for each reducer as its split has. So the reducers must have read
// in the end exactly what the maps wrote.
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
