// Work items and results as bytes.

#include "frameworks/batch/core/work.h"

#include <algorithm>
#include <limits>

#include "common/check.h"
#include "common/text.h"
#include "frameworks/batch/core/bytes.h"
#include "frameworks/batch/core/fnv.h"

namespace proffer::batch {
namespace {

constexpr std::string_view kMapTag = "PBm4";
constexpr std::string_view kReduceTag = "PBr4";
// for jobs whose shuffle is not packed
constexpr std::string_view kPlainMapTag = "PBm3";
constexpr std::string_view kPlainReduceTag = "PBr3";
// In the field of an index entry with the number of records.
constexpr uint64_t kPackedMark = uint64_t{1} << 63;
constexpr std::string_view kEndTag = "PBe2";
constexpr std::string_view kRangeTag = "PBa2";
constexpr std::string_view kGatherTag = "PBg2";
constexpr std::string_view kProgressTag = "PBv1";
constexpr std::string_view kPlanTag = "PBl1";
constexpr std::string_view kStatusTag = "PBv2";  // progress with a status
constexpr std::string_view kRangeResultTag = "PBh1";
constexpr std::string_view kTroubledRangeResultTag = "PBh2";
constexpr std::string_view kPlanResultTag = "PBn1";
constexpr std::string_view kLocatedPlanResultTag = "PBn2";  // with hosts
constexpr std::string_view kResultTag = "PBo1";
constexpr std::string_view kCountedResultTag = "PBo2";  // with counters
constexpr std::string_view kFailureTag = "PBf2";
constexpr int64_t kNumberMax = std::numeric_limits<uint32_t>::max();

void write_common(ByteWriter& out, const WorkCommon& common) {
  out.bytes(common.job);
  out.bytes(common.command);
  write_exit_codes(out, common.accepts);
  out.pairs(common.env);
  out.bytes(common.output);
  out.bytes(common.plan);
  out.number(common.maps);
  out.number(common.number);
  out.number(common.attempt);
}

WorkCommon read_common(ByteReader& in) {
  WorkCommon common;
  common.job = in.bytes(kNameBytesMax);
  common.command = in.bytes(kStreamCommandBytesMax);
  common.accepts = read_exit_codes(in, kAcceptedExitCodesMax);
  common.env = in.pairs(kJobEnvironmentBytesMax, kJobEnvironmentBytesMax);
  common.output = in.bytes(kPathBytesMax);
  common.plan = in.bytes(kPlanBytesMax);
  common.maps = in.number32(static_cast<uint32_t>(kMapsMax));
  common.number = in.number32(std::numeric_limits<uint32_t>::max());
  common.attempt = in.number32(std::numeric_limits<uint32_t>::max());
  // they become parts of paths
  if (!is_valid_name(common.job) || !is_valid_name(common.plan)) in.fail();
  return common;
}

std::string numbered(std::string_view prefix, uint32_t number) {
  std::string digits = std::to_string(number);
  if (digits.size() < 5) digits.insert(0, 5 - digits.size(), '0');
  return text(prefix, "-", digits);
}

void put_fixed(std::string& out, uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(value >> shift);
}

uint64_t take_fixed(std::string_view& in) {
  uint64_t value = 0;
  for (int i = 0; i < 8; ++i) {
    value |= static_cast<uint64_t>(static_cast<unsigned char>(in[static_cast<size_t>(i)]))
             << (8 * i);
  }
  in.remove_prefix(8);
  return value;
}

}  // namespace

std::string encode_work(const Work& work) {
  if (const auto* map = std::get_if<MapWork>(&work)) {
    ByteWriter out(map->shuffle.is_packed ? kMapTag : kPlainMapTag);
    write_common(out, map->common);
    out.number(map->reducers);
    if (map->shuffle.is_packed) write(out, map->shuffle);
    return std::move(out).take();
  }
  if (const auto* end = std::get_if<EndWork>(&work)) {
    ByteWriter out(kEndTag);
    write_common(out, end->common);
    out.number(static_cast<uint64_t>(end->kind));
    out.bytes(end->place);
    out.number(end->parts);
    return std::move(out).take();
  }
  if (const auto* range = std::get_if<RangeWork>(&work)) {
    ByteWriter out(kRangeTag);
    write_common(out, range->common);
    write_words(out, range->command);
    out.number(range->first);
    write(out, range->indices);
    out.bytes(range->directory);
    write_exit_codes(out, range->ok);
    out.signed_number(range->timeout.nanos());
    out.signed_number(range->time.nanos());
    out.number(range->lane);
    out.number(range->looks_back ? 1 : 0);
    out.number(range->failures.size());
    uint32_t before = 0;
    for (const auto& [place, failures] : range->failures) {
      out.number(place - std::exchange(before, place));
      out.signed_number(failures);
    }
    return std::move(out).take();
  }
  if (const auto* gather = std::get_if<GatherWork>(&work)) {
    ByteWriter out(kGatherTag);
    write_common(out, gather->common);
    write(out, gather->indices);
    write_exit_codes(out, gather->ok);
    out.number(gather->done);
    out.number((gather->commits ? 1 : 0) | (gather->is_gang ? 2 : 0) | (gather->keeps ? 4 : 0));
    return std::move(out).take();
  }
  if (const auto* plan = std::get_if<PlanWork>(&work)) {
    ByteWriter out(kPlanTag);
    write_common(out, plan->common);
    out.bytes(plan->place);
    out.bytes(plan->model);
    return std::move(out).take();
  }
  const auto& reduce = std::get<ReduceWork>(work);
  ByteWriter out(reduce.shuffle.is_packed ? kReduceTag : kPlainReduceTag);
  write_common(out, reduce.common);
  out.number(reduce.addresses.size());
  for (const std::string& address : reduce.addresses) out.bytes(address);
  out.number(reduce.maps.size());
  for (const MapOutput& map : reduce.maps) {
    out.number(map.agent);
    out.number(map.attempt);
  }
  if (reduce.shuffle.is_packed) write(out, reduce.shuffle);
  return std::move(out).take();
}

namespace {

Result<Work> decode_range(std::string_view bytes) {
  ByteReader in(bytes, kRangeTag);
  RangeWork range;
  range.common = read_common(in);
  range.command = read_words(in);
  range.first = in.number32(kElementsMax);
  range.indices = read_indices(in);
  range.directory = in.bytes(kPathBytesMax);
  range.ok = read_exit_codes(in);
  range.timeout = nanoseconds(in.amount(kTimeLimitMax.nanos()));
  range.time = nanoseconds(in.amount(kTimeLimitMax.nanos()));
  range.lane = in.number32(kElementsMax);
  range.looks_back = in.number(1) == 1;
  const uint32_t count = range.count();
  if (count == 0 || count > kRangeElementsMax || range.command.empty()) in.fail();
  const size_t failures = in.count(count);
  uint64_t place = 0;
  for (size_t i = 0; in.ok() && i < failures; ++i) {
    const uint32_t step = in.number32(count);
    place += step;
    if ((i > 0 && step == 0) || place >= count) in.fail();
    range.failures[static_cast<uint32_t>(place)] =
        static_cast<int32_t>(in.amount(kElementAttemptMax));
  }
  if (!std::is_sorted(range.ok.begin(), range.ok.end())) in.fail();
  if (!in.ended_well()) return corrupt("a range of an array");
  return Work(std::move(range));
}

Result<Work> decode_gather(std::string_view bytes) {
  ByteReader in(bytes, kGatherTag);
  GatherWork gather;
  gather.common = read_common(in);
  gather.indices = read_indices(in);
  gather.ok = read_exit_codes(in);
  gather.done = in.number32(kElementsMax);
  const uint64_t flags = in.number(7);
  gather.commits = (flags & 1) != 0;
  gather.is_gang = (flags & 2) != 0;
  gather.keeps = (flags & 4) != 0;
  if (gather.commits && gather.keeps) in.fail();
  if (!std::is_sorted(gather.ok.begin(), gather.ok.end())) in.fail();
  if (!in.ended_well()) return corrupt("the last task of an array");
  return Work(std::move(gather));
}

}  // namespace

Result<Work> decode_work(std::string_view bytes) {
  if (bytes.substr(0, kRangeTag.size()) == kRangeTag) return decode_range(bytes);
  if (bytes.substr(0, kGatherTag.size()) == kGatherTag) return decode_gather(bytes);
  if (bytes.starts_with(kMapTag) || bytes.starts_with(kPlainMapTag)) {
    MapWork map;
    map.shuffle.is_packed = bytes.starts_with(kMapTag);
    ByteReader in(bytes, map.shuffle.is_packed ? kMapTag : kPlainMapTag);
    map.common = read_common(in);
    map.reducers = in.number32(static_cast<uint32_t>(kReducersMax));
    if (map.shuffle.is_packed) map.shuffle = read_shuffle(in);
    if (!in.ended_well()) return corrupt("a map task");
    return Work(std::move(map));
  }
  if (bytes.substr(0, kPlanTag.size()) == kPlanTag) {
    ByteReader in(bytes, kPlanTag);
    PlanWork plan;
    plan.common = read_common(in);
    plan.place = in.bytes(kPathBytesMax);
    plan.model = in.bytes(kPathBytesMax);
    if (!in.ended_well()) return corrupt("a plan task");
    return Work(std::move(plan));
  }
  if (bytes.substr(0, kEndTag.size()) == kEndTag) {
    ByteReader in(bytes, kEndTag);
    EndWork end;
    end.common = read_common(in);
    end.kind = static_cast<EndWork::Kind>(in.number(2));
    end.place = in.bytes(kPathBytesMax);
    end.parts = in.number32(static_cast<uint32_t>(kMapsMax));
    if (!in.ended_well()) return corrupt("the last task");
    return Work(std::move(end));
  }
  ReduceWork reduce;
  reduce.shuffle.is_packed = !bytes.starts_with(kPlainReduceTag);
  ByteReader in(bytes, reduce.shuffle.is_packed ? kReduceTag : kPlainReduceTag);
  reduce.common = read_common(in);
  const size_t addresses = in.count(kMapsMax);
  for (size_t i = 0; in.ok() && i < addresses; ++i) {
    reduce.addresses.emplace_back(in.bytes(kNameBytesMax * 2));
  }
  const size_t maps = in.count(kMapsMax);
  for (size_t i = 0; in.ok() && i < maps; ++i) {
    MapOutput output;
    output.agent = in.number32(std::numeric_limits<uint32_t>::max());
    output.attempt = in.number32(std::numeric_limits<uint32_t>::max());
    if (output.agent >= reduce.addresses.size()) in.fail();
    reduce.maps.push_back(output);
  }
  if (reduce.shuffle.is_packed) reduce.shuffle = read_shuffle(in);
  if (!in.ended_well()) return corrupt("a task");
  return Work(std::move(reduce));
}

std::string_view to_text(TaskKind kind) {
  switch (kind) {
    case TaskKind::kMap:
      return "map";
    case TaskKind::kReduce:
      return "reduce";
    case TaskKind::kEnd:
      return "end";
    case TaskKind::kRange:
      return "range";
    case TaskKind::kPlan:
      return "plan";
  }
  return "end";
}

TaskId to_task_id(const TaskName& name) {
  const std::string range =
      name.kind == TaskKind::kRange ? text("-", name.first, "-", name.count) : "";
  return TaskId(text(name.job.str(), ".", numbered(to_text(name.kind), name.number), "-",
                     name.attempt, range));
}

std::optional<TaskName> parse_task_id(const TaskId& task) {
  const std::string& id = task.str();
  const size_t dot = id.rfind('.');
  if (dot == std::string::npos || dot == 0) return std::nullopt;
  const std::vector<std::string_view> words = split(std::string_view(id).substr(dot + 1), '-');
  if (words.size() != 3 && words.size() != 5) return std::nullopt;
  TaskName name{.job = JobId(id.substr(0, dot))};
  const auto number = parse_whole("number", words[1], 0, kNumberMax);
  const auto attempt = parse_whole("attempt", words[2], 1, kNumberMax);
  if (!number || !attempt) return std::nullopt;
  name.number = static_cast<uint32_t>(*number);
  name.attempt = static_cast<uint32_t>(*attempt);
  if (words.size() == 5) {
    const auto first = parse_whole("first", words[3], 0, kNumberMax);
    const auto count = parse_whole("count", words[4], 0, kNumberMax);
    if (!first || !count) return std::nullopt;
    name.first = static_cast<uint32_t>(*first);
    name.count = static_cast<uint32_t>(*count);
  }
  for (const TaskKind kind :
       {TaskKind::kMap, TaskKind::kReduce, TaskKind::kEnd, TaskKind::kRange, TaskKind::kPlan}) {
    name.kind = kind;
    // there is only one text of each name
    if (to_task_id(name) == task) return name;
  }
  return std::nullopt;
}

std::string part_name(uint32_t number) { return numbered("part", number); }

std::string encode_result(const TaskResult& result) {
  ByteWriter out(result.counters.empty() ? kResultTag : kCountedResultTag);
  out.signed_number(result.records_in);
  out.signed_number(result.bytes_in);
  out.signed_number(result.records_out);
  out.signed_number(result.bytes_out);
  out.bytes(result.http_address);
  if (!result.counters.empty()) write(out, result.counters);
  return std::move(out).take();
}

Result<TaskResult> decode_result(std::string_view bytes) {
  const bool has_counters = bytes.starts_with(kCountedResultTag);
  ByteReader in(bytes, has_counters ? kCountedResultTag : kResultTag);
  TaskResult result;
  result.records_in = in.amount(kResultMax);
  result.bytes_in = in.amount(kResultMax);
  result.records_out = in.amount(kResultMax);
  result.bytes_out = in.amount(kResultMax);
  result.http_address = in.bytes(kNameBytesMax * 2);
  if (has_counters) result.counters = read_counters(in);
  if (!in.ended_well()) return corrupt("a result");
  return result;
}

std::string encode_plan_result(const PlanResult& result) {
  ByteWriter out(result.locality.empty() ? kPlanResultTag : kLocatedPlanResultTag);
  out.signed_number(result.maps);
  out.signed_number(result.elements);
  out.signed_number(result.input_bytes);
  if (!result.locality.empty()) write(out, result.locality);
  return std::move(out).take();
}

Result<PlanResult> decode_plan_result(std::string_view bytes) {
  const bool is_located = bytes.starts_with(kLocatedPlanResultTag);
  ByteReader in(bytes, is_located ? kLocatedPlanResultTag : kPlanResultTag);
  PlanResult result;
  result.maps = in.amount(static_cast<int64_t>(kMapsMax));
  result.elements = in.amount(kElementsMax);
  result.input_bytes = in.amount();
  if (is_located) result.locality = read_locality(in);
  if (!in.ended_well()) return corrupt("the result of a plan task");
  return result;
}

std::string encode_failure(const TaskFailure& failure) {
  ByteWriter out(kFailureTag);
  out.number(static_cast<uint64_t>(failure.blame));
  std::string_view tail = failure.stderr_tail;
  if (tail.size() > kStderrTailBytesMax) tail.remove_prefix(tail.size() - kStderrTailBytesMax);
  out.bytes(tail);
  const size_t told = std::min(failure.fetch_failed.size(), kFetchFailedMax);
  out.number(told);
  for (size_t i = 0; i < told; ++i) {
    out.number(failure.fetch_failed[i].number);
    out.number(failure.fetch_failed[i].attempt);
  }
  return std::move(out).take();
}

Result<TaskFailure> decode_failure(std::string_view bytes) {
  ByteReader in(bytes, kFailureTag);
  TaskFailure failure;
  failure.blame = static_cast<Blame>(in.number(kBlameCount - 1));
  failure.stderr_tail = in.bytes(kStderrTailBytesMax);
  const size_t count = in.count(kFetchFailedMax);
  for (size_t i = 0; in.ok() && i < count; ++i) {
    MapAttempt map;
    map.number = in.number32(std::numeric_limits<uint32_t>::max());
    map.attempt = in.number32(std::numeric_limits<uint32_t>::max());
    failure.fetch_failed.push_back(map);
  }
  if (!in.ended_well()) return corrupt("a failure");
  return failure;
}

std::string encode_progress(const TaskProgress& progress) {
  ByteWriter out(progress.status.empty() ? kProgressTag : kStatusTag);
  out.signed_number(std::clamp<int64_t>(progress.done, 0, kProgressWhole));
  if (!progress.status.empty()) {
    out.bytes(std::string_view(progress.status).substr(0, kTaskStatusBytesMax));
  }
  return std::move(out).take();
}

Result<TaskProgress> decode_progress(std::string_view bytes) {
  const bool has_status = bytes.starts_with(kStatusTag);
  ByteReader in(bytes, has_status ? kStatusTag : kProgressTag);
  TaskProgress progress{.done = in.amount(kProgressWhole)};
  if (has_status) progress.status = in.bytes(kTaskStatusBytesMax);
  if (has_status && progress.status.empty()) in.fail();
  if (!in.ended_well()) return corrupt("progress");
  return progress;
}

std::string encode_range_result(const RangeResult& result) {
  ByteWriter out(result.trouble.empty() ? kRangeResultTag : kTroubledRangeResultTag);
  out.number(result.ended);
  out.number(result.ran);
  out.signed_number(result.micros);
  out.number(result.failures.size());
  uint32_t before = 0;
  for (const ElementFailure& failure : result.failures) {
    out.number(failure.place - std::exchange(before, failure.place));
    out.signed_number(failure.attempt);
    out.signed_number(failure.code);
  }
  std::string_view tail = result.stderr_tail;
  if (tail.size() > kElementStderrBytesMax)
    tail.remove_prefix(tail.size() - kElementStderrBytesMax);
  out.bytes(tail);
  if (!result.trouble.empty()) {
    out.bytes(std::string_view(result.trouble).substr(0, kRangeTroubleBytesMax));
    out.number(result.lost_last ? 1 : 0);
  }
  return std::move(out).take();
}

Result<RangeResult> decode_range_result(std::string_view bytes) {
  const bool has_trouble = bytes.starts_with(kTroubledRangeResultTag);
  ByteReader in(bytes, has_trouble ? kTroubledRangeResultTag : kRangeResultTag);
  RangeResult result;
  result.ended = in.number32(kRangeElementsMax);
  result.ran = in.number32(result.ended);
  result.micros = in.amount(kResultMax);
  const size_t count = in.count(result.ended);
  uint64_t place = 0;
  for (size_t i = 0; in.ok() && i < count; ++i) {
    const uint32_t step = in.number32(kRangeElementsMax);
    place += step;
    if ((i > 0 && step == 0) || place >= result.ended) in.fail();
    const auto attempt = static_cast<int32_t>(in.amount(kElementAttemptMax));
    const auto code = static_cast<int32_t>(in.amount(255));
    result.failures.push_back(
        {.place = static_cast<uint32_t>(place), .attempt = attempt, .code = code});
  }
  result.stderr_tail = in.bytes(kElementStderrBytesMax);
  if (has_trouble) {
    result.trouble = in.bytes(kRangeTroubleBytesMax);
    result.lost_last = in.number(1) == 1;
    const bool is_told =
        !result.failures.empty() && result.failures.back().place + 1 == result.ended;
    if (result.trouble.empty() || (result.lost_last && !is_told)) in.fail();
  }
  if (!in.ended_well()) return corrupt("the result of a range");
  return result;
}

std::string encode_element_end(const ElementEnd& end) {
  std::string out;
  put_fixed(out, uint64_t{end.position} << 32 | end.attempt);
  for (const int64_t number : {int64_t{end.code}, end.stdout_offset, end.stdout_length,
                               end.stderr_offset, end.stderr_length, end.micros}) {
    put_fixed(out, static_cast<uint64_t>(number));
  }
  Fnv1a64 seal;
  seal.add(out);
  put_fixed(out, seal.value());
  return out;
}

Result<ElementEnd> decode_element_end(std::string_view bytes) {
  if (bytes.size() != kElementEndBytes) return corrupt("the end of an element");
  Fnv1a64 seal;
  seal.add(bytes.substr(0, kElementEndBytes - 8));
  ElementEnd end;
  const uint64_t number = take_fixed(bytes);
  end.position = static_cast<uint32_t>(number >> 32);
  end.attempt = static_cast<uint32_t>(number);
  const uint64_t code = take_fixed(bytes);
  end.code = static_cast<int32_t>(code & 0xFF);
  bool is_sound = code <= 255;
  for (int64_t* field : {&end.stdout_offset, &end.stdout_length, &end.stderr_offset,
                         &end.stderr_length, &end.micros}) {
    const uint64_t value = take_fixed(bytes);
    is_sound &= value <= static_cast<uint64_t>(kBytesAmountMax);
    *field = static_cast<int64_t>(value);
  }
  is_sound &= take_fixed(bytes) == seal.value();
  if (!is_sound) return corrupt("the end of an element");
  return end;
}

std::string lane_path(std::string_view output, LaneFile file, uint32_t lane) {
  switch (file) {
    case LaneFile::kStdout:
      return text(output, "/", numbered("stdout", lane));
    case LaneFile::kStderr:
      return text(output, "/", numbered("stderr", lane));
    case LaneFile::kIndex:
      break;
  }
  return text(output, "/_temporary/", numbered("index", lane));
}

std::optional<uint32_t> parse_lane_index(std::string_view file_name) {
  constexpr std::string_view kPrefix = "index-";
  if (!file_name.starts_with(kPrefix)) return std::nullopt;
  const auto lane = parse_whole("lane", file_name.substr(kPrefix.size()), 0, kElementsMax);
  if (!lane || numbered("index", static_cast<uint32_t>(*lane)) != file_name) return std::nullopt;
  return static_cast<uint32_t>(*lane);
}

std::string encode_index_entry(const IndexEntry& entry) {
  std::string out;
  put_fixed(out, static_cast<uint64_t>(entry.offset));
  put_fixed(out, static_cast<uint64_t>(entry.length));
  put_fixed(out, static_cast<uint64_t>(entry.records) | (entry.is_packed ? kPackedMark : 0));
  put_fixed(out, entry.checksum);
  Fnv1a64 seal;
  seal.add(out);
  put_fixed(out, seal.value());
  return out;
}

Result<IndexEntry> decode_index_entry(std::string_view bytes) {
  if (bytes.size() != kIndexEntryBytes) return corrupt("an index entry");
  Fnv1a64 seal;
  seal.add(bytes.substr(0, kIndexEntryBytes - 8));
  IndexEntry entry;
  const uint64_t offset = take_fixed(bytes);
  const uint64_t length = take_fixed(bytes);
  const uint64_t marked = take_fixed(bytes);
  entry.is_packed = (marked & kPackedMark) != 0;
  const uint64_t records = marked & ~kPackedMark;
  entry.checksum = take_fixed(bytes);
  constexpr auto kMax = static_cast<uint64_t>(kBytesAmountMax);
  if (take_fixed(bytes) != seal.value() || offset > kMax || length > kMax ||
      records > (entry.is_packed ? kMax : length)) {
    return corrupt("an index entry");
  }
  entry.offset = static_cast<int64_t>(offset);
  entry.length = static_cast<int64_t>(length);
  entry.records = static_cast<int64_t>(records);
  return entry;
}

}  // namespace proffer::batch
