#include "frameworks/batch/core/records.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "common/text.h"
#include "frameworks/batch/core/bytes.h"
#include "frameworks/batch/core/waiting.h"

namespace proffer::batch {
namespace {

constexpr std::string_view kSchedulerTag = "PBk1";
constexpr std::string_view kOrderRecordTag = "PBq1";
constexpr std::string_view kStateTag = "PBt2";
constexpr std::string_view kBlockTag = "PBb2";
constexpr std::string_view kCountedBlockTag = "PBb3";  // with counters
constexpr std::string_view kFailedBlockTag = "PBb4";   // and with the last failed attempt of tasks
constexpr std::string_view kElementsTag = "PBc1";
constexpr std::string_view kLaterElementsTag = "PBc2";     // after a failure of a gang, or a retry
constexpr std::string_view kRequeuedElementsTag = "PBc3";  // the same, with requeues
constexpr std::string_view kEndedTag = "PBz2";
constexpr std::string_view kCountedEndedTag = "PBz3";  // with counters
constexpr std::string_view kEndedArrayTag = "PBy2";
constexpr std::string_view kSkippedArrayTag = "PBy3";  // with skipped elements
constexpr std::string_view kEndedStageTag = "PBx1";
constexpr int64_t kAnyAmount = std::numeric_limits<int64_t>::max();
constexpr uint32_t kAnyNumber = std::numeric_limits<uint32_t>::max();

// Times of a scheduler are not before 1970.
void write(ByteWriter& out, Time time) { out.signed_number(std::max<int64_t>(time.nanos(), 0)); }
Time read_time(ByteReader& in) { return Time::from_nanos(in.amount(kAnyAmount)); }

void write(ByteWriter& out, const Outcome& outcome) {
  out.number(static_cast<uint64_t>(outcome.phase));
  out.bytes(outcome.error);
  out.bytes(outcome.hint);
  out.bytes(outcome.failed_task);
  out.number(outcome.is_kept ? 1 : 0);
}

Outcome read_outcome(ByteReader& in) {
  Outcome outcome;
  const uint64_t phase = in.number(proto::kBatchPhaseCount - 1);
  outcome.phase = static_cast<proto::BatchPhase>(phase);
  if (!proto::has_ended(outcome.phase)) in.fail();
  outcome.error = in.bytes(kStoreEntryBytesMax);
  outcome.hint = in.bytes(kStoreEntryBytesMax);
  outcome.failed_task = in.bytes(kNameBytesMax);
  outcome.is_kept = in.number(1) == 1;
  return outcome;
}

void write(ByteWriter& out, Duration duration) {
  out.signed_number(std::max<int64_t>(duration.millis(), 0));
}
Duration read_duration(ByteReader& in) { return milliseconds(in.amount(kDurationMax.millis())); }

void write(ByteWriter& out, const proto::BatchStage& stage) {
  for (const int64_t number :
       {stage.total, stage.done, stage.failed, stage.recomputed, stage.records_in, stage.bytes_in,
        stage.records_out, stage.bytes_out}) {
    out.signed_number(number);
  }
  const bool has_places = stage.near + stage.far > 0;
  out.number((stage.cpu ? 1 : 0) | (has_places ? 2 : 0));
  if (stage.cpu) write(out, *stage.cpu);
  if (!has_places) return;
  out.signed_number(stage.near);
  out.signed_number(stage.far);
}

proto::BatchStage read_stage(ByteReader& in) {
  proto::BatchStage stage;
  for (int64_t* number :
       {&stage.total, &stage.done, &stage.failed, &stage.recomputed, &stage.records_in,
        &stage.bytes_in, &stage.records_out, &stage.bytes_out}) {
    *number = in.amount(kAnyAmount);
  }
  const uint64_t flags = in.number(3);
  if ((flags & 1) != 0) stage.cpu = read_duration(in);
  if ((flags & 2) != 0) {
    stage.near = in.amount(kMapsMax);
    stage.far = in.amount(kMapsMax);
    if (stage.near + stage.far == 0) in.fail();  // there is only one encoding of none
  }
  return stage;
}

void write(ByteWriter& out, const proto::BatchElements& array) {
  for (const int64_t number :
       {array.total, array.done, array.failed, array.failed_attempts, array.bytes_out}) {
    out.signed_number(number);
  }
}

proto::BatchElements read_elements(ByteReader& in) {
  proto::BatchElements array;
  for (int64_t* number :
       {&array.total, &array.done, &array.failed, &array.failed_attempts, &array.bytes_out}) {
    *number = in.amount(kAnyAmount);
  }
  return array;
}

std::string bits_text(const std::vector<bool>& bits) {
  std::string bytes((bits.size() + 7) / 8, '\0');
  for (size_t i = 0; i < bits.size(); ++i) {
    if (bits[i]) bytes[i / 8] = static_cast<char>(bytes[i / 8] | 1 << (i % 8));
  }
  return bytes;
}

std::vector<bool> read_bits(ByteReader& in, size_t size) {
  const std::string_view bytes = in.bytes(kBlockElements / 8);
  std::vector<bool> bits(size);
  if (bytes.size() != (size + 7) / 8) {
    in.fail();
    return bits;
  }
  for (size_t i = 0; i < bits.size(); ++i) {
    bits[i] = (static_cast<unsigned char>(bytes[i / 8]) >> (i % 8) & 1) != 0;
  }
  // Bits after the last element must not be set.
  if (bits_text(bits) != bytes) in.fail();
  return bits;
}

std::string key(std::string_view prefix, const JobId& job) { return text(prefix, job.str()); }

}  // namespace

std::string order_key(const JobId& job) { return key(kOrdersPrefix, job); }
std::string state_key(const JobId& job) { return key(kStatesPrefix, job); }
std::string waits_key(const JobId& job) { return key(kWaitsPrefix, job); }
std::string ended_key(const JobId& job) { return key(kEndedPrefix, job); }
std::string block_key(const JobId& job, TaskKind kind, uint32_t block) {
  const std::string_view prefix = kind == TaskKind::kMap      ? kMapsPrefix
                                  : kind == TaskKind::kReduce ? kReducesPrefix
                                                              : kElementsPrefix;
  return text(prefix, job.str(), "/", block);
}
uint32_t block_of(const TaskName& name) {
  return name.kind == TaskKind::kRange ? name.first / kBlockElements : name.number / kBlockTasks;
}
std::vector<std::string> block_keys(const JobId& job, const JobOrder& order) {
  std::vector<std::string> keys;
  const auto add = [&](TaskKind kind, int64_t count, int64_t of_block) {
    for (int64_t first = 0; first < count; first += of_block) {
      keys.push_back(block_key(job, kind, static_cast<uint32_t>(first / of_block)));
    }
  };
  if (order.array) {
    add(TaskKind::kRange, order.array->size(), kBlockElements);
  } else {
    add(TaskKind::kMap, order.maps, kBlockTasks);
    add(TaskKind::kReduce, order.reducers, kBlockTasks);
  }
  return keys;
}

std::string encode(const SchedulerRecord& record) {
  ByteWriter out(kSchedulerTag);
  out.number(record.lives);
  out.number(record.jobs);
  return std::move(out).take();
}

Result<SchedulerRecord> decode_scheduler(std::string_view bytes) {
  ByteReader in(bytes, kSchedulerTag);
  SchedulerRecord record;
  record.lives = in.number32(kAnyNumber);
  record.jobs = in.number(std::numeric_limits<uint64_t>::max());
  if (!in.ended_well()) return corrupt("a scheduler");
  return record;
}

std::string encode(const OrderRecord& record) {
  ByteWriter out(kOrderRecordTag);
  out.bytes(encode_order(record.order));
  out.bytes(record.owner);
  out.number(record.number);
  write(out, record.submitted_at);
  return std::move(out).take();
}

Result<OrderRecord> decode_order_record(std::string_view bytes) {
  ByteReader in(bytes, kOrderRecordTag);
  OrderRecord record;
  Result<JobOrder> order = decode_order(in.bytes(kOrderBytesMax));
  if (order)
    record.order = *std::move(order);
  else
    in.fail();
  record.owner = in.bytes(kNameBytesMax);
  record.number = in.number(std::numeric_limits<uint64_t>::max());
  record.submitted_at = read_time(in);
  if (!in.ended_well()) return corrupt("an order record");
  return record;
}

std::string encode(const StateRecord& record) {
  ByteWriter out(kStateTag);
  write(out, record.started_at);
  out.number(record.retries);
  out.number(record.outcome ? 1 : 0);
  if (record.outcome) write(out, *record.outcome);
  return std::move(out).take();
}

Result<StateRecord> decode_state(std::string_view bytes) {
  ByteReader in(bytes, kStateTag);
  StateRecord record;
  record.started_at = read_time(in);
  record.retries = in.number32(kAnyNumber);
  if (in.number(1) == 1) record.outcome = read_outcome(in);
  if (!in.ended_well()) return corrupt("a job's state");
  return record;
}

// Agents and their addresses are stored once, before the tasks.
std::string encode(const BlockRecord& record) {
  const auto any_task = [&](const auto& is_so) {
    return std::any_of(record.tasks.begin(), record.tasks.end(),
                       [&](const auto& row) { return is_so(row.second); });
  };
  const bool has_failed = any_task([](const TaskRecord& task) { return task.last_failed != 0; });
  const bool is_counted = has_failed || !record.counters.empty() ||
                          any_task([](const TaskRecord& task) { return task.is_counted; });
  ByteWriter out(has_failed ? kFailedBlockTag : is_counted ? kCountedBlockTag : kBlockTag);
  std::map<std::pair<std::string, std::string>, uint64_t> places;
  for (const auto& [number, task] : record.tasks) {
    if (task.winner != 0) places.emplace(std::pair(task.agent.str(), task.result.http_address), 0);
  }
  out.number(places.size());
  uint64_t index = 0;
  for (auto& [place, at] : places) {
    at = index++;
    out.bytes(place.first);
    out.bytes(place.second);
  }
  out.number(record.tasks.size());
  uint32_t before = 0;
  for (const auto& [number, task] : record.tasks) {
    out.number(number - before);
    before = number;
    const auto failures = static_cast<uint64_t>(task.failures);
    out.number(is_counted ? failures << 1 | (task.is_counted ? 1 : 0) : failures);
    if (has_failed) out.number(task.last_failed);
    write(out, task.cpu);
    out.number(task.winner);
    if (task.winner == 0) continue;
    out.number(places.at({task.agent.str(), task.result.http_address}));
    out.signed_number(task.result.records_in);
    out.signed_number(task.result.bytes_in);
    out.signed_number(task.result.records_out);
    out.signed_number(task.result.bytes_out);
  }
  if (is_counted) write(out, record.counters);
  return std::move(out).take();
}

Result<BlockRecord> decode_block(std::string_view bytes) {
  const bool has_failed = bytes.starts_with(kFailedBlockTag);
  const bool is_counted = has_failed || bytes.starts_with(kCountedBlockTag);
  ByteReader in(bytes, has_failed ? kFailedBlockTag : is_counted ? kCountedBlockTag : kBlockTag);
  BlockRecord record;
  std::vector<std::pair<std::string, std::string>> places;
  std::vector<bool> used;
  const size_t agents = in.count(kBlockTasks);
  for (size_t i = 0; in.ok() && i < agents; ++i) {
    std::string agent(in.bytes(kNameBytesMax));
    std::string address(in.bytes(kNameBytesMax * 2));
    std::pair place(std::move(agent), std::move(address));
    if (!places.empty() && place <= places.back()) in.fail();
    places.push_back(std::move(place));
    used.push_back(false);
  }
  const size_t count = in.count(kBlockTasks);
  uint64_t number = 0;
  for (size_t i = 0; in.ok() && i < count; ++i) {
    const uint32_t step = in.number32(kAnyNumber);
    number += step;
    if ((i > 0 && step == 0) || number > kAnyNumber) in.fail();
    TaskRecord task;
    const uint64_t failures = in.number(std::numeric_limits<int32_t>::max() >> 1);
    task.failures = static_cast<int32_t>(is_counted ? failures >> 1 : failures);
    task.is_counted = is_counted && (failures & 1) != 0;
    if (has_failed) task.last_failed = in.number32(kAnyNumber);
    task.cpu = read_duration(in);
    task.winner = in.number32(kAnyNumber);
    if (task.winner != 0) {
      const uint64_t place = in.number(places.empty() ? 0 : places.size() - 1);
      task.result.records_in = in.amount(kResultMax);
      task.result.bytes_in = in.amount(kResultMax);
      task.result.records_out = in.amount(kResultMax);
      task.result.bytes_out = in.amount(kResultMax);
      if (place >= places.size()) in.fail();
      if (!in.ok()) break;
      used[place] = true;
      task.agent = AgentId(places[place].first);
      task.result.http_address = places[place].second;
    }
    if (in.ok()) {
      record.tasks.emplace_hint(record.tasks.end(), static_cast<uint32_t>(number), std::move(task));
    }
  }
  if (is_counted) record.counters = read_counters(in);
  const bool knows_a_failure =
      std::any_of(record.tasks.begin(), record.tasks.end(),
                  [](const auto& row) { return row.second.last_failed != 0; });
  if (has_failed != knows_a_failure) in.fail();
  if (std::find(used.begin(), used.end(), false) != used.end()) in.fail();
  if (!in.ended_well()) return corrupt("a block of tasks");
  return record;
}

namespace {

void write(ByteWriter& out, const std::map<uint32_t, int32_t>& counts) {
  out.number(counts.size());
  uint32_t before = 0;
  for (const auto& [place, count] : counts) {
    out.number(place - std::exchange(before, place));
    out.signed_number(count);
  }
}

std::map<uint32_t, int32_t> read_counts(ByteReader& in, uint32_t size, int64_t most) {
  std::map<uint32_t, int32_t> counts;
  const size_t rows = in.count(size);
  uint64_t place = 0;
  for (size_t i = 0; in.ok() && i < rows; ++i) {
    const uint32_t step = in.number32(kBlockElements);
    place += step;
    const int64_t count = in.amount(most);
    if ((i > 0 && step == 0) || place >= size) in.fail();
    if (in.ok()) counts[static_cast<uint32_t>(place)] = static_cast<int32_t>(count);
  }
  return counts;
}

}  // namespace

std::string encode(const ElementsRecord& record) {
  const bool is_requeued = !record.requeues.empty();
  const bool is_later = is_requeued || record.last_failed != 0 || record.retries != 0;
  ByteWriter out(is_requeued ? kRequeuedElementsTag : is_later ? kLaterElementsTag : kElementsTag);
  if (is_later) {
    out.number(record.last_failed);
    out.number(record.retries);
  }
  out.number(record.done.size());
  out.bytes(bits_text(record.done));
  out.bytes(bits_text(record.failed));
  write(out, record.failures);
  if (is_requeued) write(out, record.requeues);
  out.signed_number(record.failed_attempts);
  return std::move(out).take();
}

Result<ElementsRecord> decode_elements(std::string_view bytes) {
  const bool is_requeued = bytes.starts_with(kRequeuedElementsTag);
  const bool is_later = is_requeued || bytes.starts_with(kLaterElementsTag);
  ByteReader in(bytes, is_requeued ? kRequeuedElementsTag
                       : is_later  ? kLaterElementsTag
                                   : kElementsTag);
  ElementsRecord record;
  if (is_later) {
    record.last_failed = in.number32(kAnyNumber);
    record.retries = in.number32(kAnyNumber);
    if (!is_requeued && record.last_failed == 0 && record.retries == 0) in.fail();
  }
  const uint32_t size = in.number32(kBlockElements);
  record.done = read_bits(in, size);
  record.failed = read_bits(in, size);
  record.failures = read_counts(in, size, kRetriesMax + 1 + (is_requeued ? kRequeuesMax : 0));
  if (is_requeued) {
    record.requeues = read_counts(in, size, kRequeuesMax);
    if (record.requeues.empty()) in.fail();
  }
  record.failed_attempts = in.amount(kResultMax);
  if (!in.ended_well()) return corrupt("a block of elements");
  return record;
}

namespace {

// For a job that waited for others, or was a stage: that information first, then the rest.
std::string encode_stage(const proto::BatchJob& job) {
  ByteWriter out(kEndedStageTag);
  out.bytes(job.pipeline);
  out.bytes(job.stage);
  out.number(job.after.size());
  for (const proto::BatchDependency& one : job.after) {
    out.bytes(one.job);
    out.bytes(one.on);
    out.bytes(one.fate);
  }
  EndedRecord rest{job};
  rest.job.pipeline.clear();
  rest.job.stage.clear();
  rest.job.after.clear();
  out.bytes(encode(rest));
  return std::move(out).take();
}

Result<EndedRecord> decode_ended_stage(std::string_view bytes) {
  ByteReader in(bytes, kEndedStageTag);
  const std::string pipeline(in.bytes(kNameBytesMax));
  const std::string stage(in.bytes(kNameBytesMax));
  std::vector<proto::BatchDependency> after;
  const size_t count = in.count(kDependenciesMax);
  for (size_t i = 0; in.ok() && i < count; ++i) {
    proto::BatchDependency one;
    one.job = in.bytes(kNameBytesMax);
    one.on = in.bytes(kNameBytesMax);
    one.fate = in.bytes(kNameBytesMax);
    after.push_back(std::move(one));
  }
  const std::string_view rest = in.bytes(kStoreEntryBytesMax);
  if (!in.ended_well() || rest.starts_with(kEndedStageTag) ||
      (pipeline.empty() && stage.empty() && after.empty())) {
    return corrupt("a job that has ended");
  }
  Result<EndedRecord> record = decode_ended(rest);
  if (!record) return record;
  record->job.pipeline = pipeline;
  record->job.stage = stage;
  record->job.after = std::move(after);
  return record;
}

}  // namespace

std::string encode(const EndedRecord& record) {
  const proto::BatchJob& job = record.job;
  if (!job.pipeline.empty() || !job.stage.empty() || !job.after.empty()) return encode_stage(job);
  const bool has_skipped = job.array && job.array->skipped > 0;
  ByteWriter out(has_skipped            ? kSkippedArrayTag
                 : job.array            ? kEndedArrayTag
                 : job.counters.empty() ? kEndedTag
                                        : kCountedEndedTag);
  out.bytes(job.job);
  out.bytes(job.owner);
  out.bytes(job.role.str());
  out.signed_number(job.priority + proto::kBatchPriorityMax);
  out.bytes(job.framework.str());
  write(out, job.map);
  write(out, job.reduce);
  out.signed_number(job.input_bytes);
  write(out, job.submitted_at);
  write(out, job.started_at);
  write(out, job.ended_at);
  out.bytes(job.output);
  write(out, Outcome{.phase = job.phase,
                     .error = job.error.substr(0, kEndedErrorBytesMax),
                     .hint = job.hint.substr(0, kEndedErrorBytesMax),
                     .failed_task = job.failed_task});
  if (job.array) {
    write(out, *job.array);
    if (has_skipped) out.signed_number(job.array->skipped);
  } else if (!job.counters.empty()) {
    write(out, from_rows(job.counters));
  }
  return std::move(out).take();
}

Result<EndedRecord> decode_ended(std::string_view bytes) {
  if (bytes.starts_with(kEndedStageTag)) return decode_ended_stage(bytes);
  const bool has_skipped = bytes.starts_with(kSkippedArrayTag);
  const bool is_array = has_skipped || bytes.starts_with(kEndedArrayTag);
  const bool has_counters = bytes.starts_with(kCountedEndedTag);
  ByteReader in(bytes, has_skipped    ? kSkippedArrayTag
                       : is_array     ? kEndedArrayTag
                       : has_counters ? kCountedEndedTag
                                      : kEndedTag);
  EndedRecord record;
  proto::BatchJob& job = record.job;
  job.job = in.bytes(kNameBytesMax);
  job.owner = in.bytes(kNameBytesMax);
  job.role = RoleName(std::string(in.bytes(kRoleBytesMax)));
  job.priority = in.amount(2 * proto::kBatchPriorityMax) - proto::kBatchPriorityMax;
  job.framework = FrameworkId(std::string(in.bytes(kNameBytesMax)));
  job.map = read_stage(in);
  job.reduce = read_stage(in);
  job.input_bytes = in.amount(kAnyAmount);
  job.submitted_at = read_time(in);
  job.started_at = read_time(in);
  job.ended_at = read_time(in);
  job.output = in.bytes(kPathBytesMax);
  const Outcome outcome = read_outcome(in);
  job.phase = outcome.phase;
  job.error = outcome.error.substr(0, kEndedErrorBytesMax);
  job.hint = outcome.hint.substr(0, kEndedErrorBytesMax);
  job.failed_task = outcome.failed_task;
  if (outcome.error != job.error || outcome.hint != job.hint || outcome.is_kept) in.fail();
  if (is_array) job.array = read_elements(in);
  if (has_skipped) {
    job.array->skipped = in.amount(kAnyAmount);
    if (job.array->skipped == 0) in.fail();
  }
  if (has_counters) job.counters = to_rows(read_counters(in));
  if (!in.ended_well()) return corrupt("a job that has ended");
  return record;
}

}  // namespace proffer::batch
