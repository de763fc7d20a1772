// Work items and results as bytes.

#include "frameworks/batch/core/work.h"

#include <algorithm>
#include <limits>

#include "common/check.h"
#include "common/text.h"
#include "frameworks/batch/core/bytes.h"
#include "frameworks/batch/core/partition.h"

namespace proffer::batch {
namespace {

constexpr std::string_view kMapTag = "PBm3";
constexpr std::string_view kReduceTag = "PBr3";
constexpr std::string_view kEndTag = "PBe2";
constexpr std::string_view kResultTag = "PBo1";
constexpr std::string_view kFailureTag = "PBf2";
// Of one task's result: sums over kMapsMax tasks stay within 63 bits.
constexpr int64_t kResultMax = int64_t{1} << 46;
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
  common.accepts = read_exit_codes(in);
  common.env = in.pairs(kJobEnvironmentBytesMax, kJobEnvironmentBytesMax);
  common.output = in.bytes(kPathBytesMax);
  common.plan = in.bytes(kPlanBytesMax);
  common.maps = in.number32(static_cast<uint32_t>(kMapsMax));
  common.number = in.number32(std::numeric_limits<uint32_t>::max());
  common.attempt = in.number32(std::numeric_limits<uint32_t>::max());
  // These become parts of paths.
  if (!is_valid_name(common.job) || !is_valid_name(common.plan)) in.fail();
  return common;
}

Error corrupt(std::string_view what) {
  return Error::corruption(text("these bytes are not ", what, " of batch"));
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

void write_exit_codes(ByteWriter& out, const std::vector<int32_t>& codes) {
  out.number(codes.size());
  for (const int32_t code : codes) out.signed_number(code);
}

std::vector<int32_t> read_exit_codes(ByteReader& in) {
  std::vector<int32_t> codes;
  const size_t count = in.count(kAcceptedExitCodesMax);
  for (size_t i = 0; in.ok() && i < count; ++i) {
    codes.push_back(static_cast<int32_t>(in.amount(255)));
  }
  return codes;
}

std::string encode_work(const Work& work) {
  if (const auto* map = std::get_if<MapWork>(&work)) {
    ByteWriter out(kMapTag);
    write_common(out, map->common);
    out.number(map->reducers);
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
  const auto& reduce = std::get<ReduceWork>(work);
  ByteWriter out(kReduceTag);
  write_common(out, reduce.common);
  out.number(reduce.addresses.size());
  for (const std::string& address : reduce.addresses) out.bytes(address);
  out.number(reduce.maps.size());
  for (const MapOutput& map : reduce.maps) {
    out.number(map.agent);
    out.number(map.attempt);
  }
  return std::move(out).take();
}

Result<Work> decode_work(std::string_view bytes) {
  if (bytes.substr(0, kMapTag.size()) == kMapTag) {
    ByteReader in(bytes, kMapTag);
    MapWork map;
    map.common = read_common(in);
    map.reducers = in.number32(static_cast<uint32_t>(kReducersMax));
    if (!in.ended_well()) return corrupt("a map task");
    return Work(std::move(map));
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
  ByteReader in(bytes, kReduceTag);
  ReduceWork reduce;
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
  }
  return "end";
}

TaskId to_task_id(const TaskName& name) {
  return TaskId(
      text(name.job.str(), ".", numbered(to_text(name.kind), name.number), "-", name.attempt));
}

std::optional<TaskName> parse_task_id(const TaskId& task) {
  const std::string& id = task.str();
  const size_t dot = id.rfind('.');
  if (dot == std::string::npos || dot == 0) return std::nullopt;
  const std::vector<std::string_view> words = split(std::string_view(id).substr(dot + 1), '-');
  if (words.size() != 3) return std::nullopt;
  TaskName name{.job = JobId(id.substr(0, dot))};
  const auto number = parse_whole("number", words[1], 0, kNumberMax);
  const auto attempt = parse_whole("attempt", words[2], 1, kNumberMax);
  if (!number || !attempt) return std::nullopt;
  name.number = static_cast<uint32_t>(*number);
  name.attempt = static_cast<uint32_t>(*attempt);
  for (const TaskKind kind : {TaskKind::kMap, TaskKind::kReduce, TaskKind::kEnd}) {
    name.kind = kind;
    // There is one text of each name.
    if (to_task_id(name) == task) return name;
  }
  return std::nullopt;
}

std::string part_name(uint32_t number) { return numbered("part", number); }

std::string encode_result(const TaskResult& result) {
  ByteWriter out(kResultTag);
  out.signed_number(result.records_in);
  out.signed_number(result.bytes_in);
  out.signed_number(result.records_out);
  out.signed_number(result.bytes_out);
  out.bytes(result.http_address);
  return std::move(out).take();
}

Result<TaskResult> decode_result(std::string_view bytes) {
  ByteReader in(bytes, kResultTag);
  TaskResult result;
  result.records_in = in.amount(kResultMax);
  result.bytes_in = in.amount(kResultMax);
  result.records_out = in.amount(kResultMax);
  result.bytes_out = in.amount(kResultMax);
  result.http_address = in.bytes(kNameBytesMax * 2);
  if (!in.ended_well()) return corrupt("a result");
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
  failure.blame = static_cast<Blame>(in.number(2));
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

std::string encode_index_entry(const IndexEntry& entry) {
  std::string out;
  put_fixed(out, static_cast<uint64_t>(entry.offset));
  put_fixed(out, static_cast<uint64_t>(entry.length));
  put_fixed(out, static_cast<uint64_t>(entry.records));
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
  const uint64_t records = take_fixed(bytes);
  entry.checksum = take_fixed(bytes);
  constexpr auto kMax = static_cast<uint64_t>(kBytesAmountMax);
  if (take_fixed(bytes) != seal.value() || offset > kMax || length > kMax || records > length) {
    return corrupt("an index entry");
  }
  entry.offset = static_cast<int64_t>(offset);
  entry.length = static_cast<int64_t>(length);
  entry.records = static_cast<int64_t>(records);
  return entry;
}

}  // namespace proffer::batch
