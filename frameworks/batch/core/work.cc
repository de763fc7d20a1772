// Work items and results as bytes. `Writer` and `Reader` are the format; a Reader that met
// something wrong gives zeros from then on and says so at the end.

#include "frameworks/batch/core/work.h"

#include <algorithm>
#include <limits>

#include "common/check.h"
#include "common/text.h"
#include "frameworks/batch/core/partition.h"

namespace proffer::batch {
namespace {

constexpr std::string_view kMapTag = "PBm1";
constexpr std::string_view kReduceTag = "PBr1";
constexpr std::string_view kResultTag = "PBo1";
constexpr std::string_view kFailureTag = "PBf1";
constexpr int64_t kFileBytesMax = int64_t{1} << 60;
// Of one task's result: sums over kMapsMax tasks stay within 63 bits.
constexpr int64_t kResultMax = int64_t{1} << 46;

class Writer {
 public:
  explicit Writer(std::string_view tag) : out_(tag) {}

  void number(uint64_t value) {
    while (value >= 0x80) {
      out_ += static_cast<char>(value | 0x80);
      value >>= 7;
    }
    out_ += static_cast<char>(value);
  }
  void signed_number(int64_t value) {
    CHECK_GE(value, 0);
    number(static_cast<uint64_t>(value));
  }
  void bytes(std::string_view value) {
    number(value.size());
    out_ += value;
  }
  void pairs(const std::map<std::string, std::string>& values) {
    number(values.size());
    for (const auto& [name, value] : values) {
      bytes(name);
      bytes(value);
    }
  }
  std::string take() && { return std::move(out_); }

 private:
  std::string out_;
};

class Reader {
 public:
  Reader(std::string_view bytes, std::string_view tag) : rest_(bytes) {
    if (rest_.substr(0, tag.size()) == tag)
      rest_.remove_prefix(tag.size());
    else
      fail();
  }

  uint64_t number(uint64_t max) {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) return fail();
      const auto byte = static_cast<unsigned char>(rest_[0]);
      rest_.remove_prefix(1);
      if (shift == 63 && byte > 1) return fail();
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value <= max ? value : fail();
    }
    return fail();
  }
  uint32_t number32(uint32_t max) { return static_cast<uint32_t>(number(max)); }
  int64_t amount(int64_t max = kFileBytesMax) {
    return static_cast<int64_t>(number(static_cast<uint64_t>(max)));
  }
  // How many things follow, each of at least one byte.
  size_t count(size_t max) {
    const uint64_t value = number(max);
    return value <= rest_.size() ? static_cast<size_t>(value) : static_cast<size_t>(fail());
  }
  std::string_view bytes(size_t max) {
    const uint64_t size = number(max);
    if (size > rest_.size()) {
      fail();
      return {};
    }
    const std::string_view value = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return value;
  }
  // Names rise, so that there is one encoding of a map.
  std::map<std::string, std::string> pairs(size_t count_max, size_t bytes_max) {
    std::map<std::string, std::string> values;
    const size_t size = count(count_max);
    for (size_t i = 0; ok_ && i < size; ++i) {
      std::string name(bytes(kNameBytesMax));
      std::string value(bytes(bytes_max));
      if (!values.empty() && name <= values.rbegin()->first) fail();
      values.emplace_hint(values.end(), std::move(name), std::move(value));
    }
    return values;
  }

  uint64_t fail() {
    ok_ = false;
    rest_ = {};
    return 0;
  }
  bool ok() const { return ok_; }
  bool ended_well() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

void write_common(Writer& out, const WorkCommon& common) {
  out.bytes(common.command);
  out.pairs(common.files);
  out.pairs(common.env);
  out.bytes(common.output);
  out.number(common.number);
  out.number(common.attempt);
}

WorkCommon read_common(Reader& in) {
  WorkCommon common;
  common.command = in.bytes(kStreamCommandBytesMax);
  common.files = in.pairs(kShippedFilesMax, kShippedBytesMax);
  common.env = in.pairs(kJobEnvironmentBytesMax, kJobEnvironmentBytesMax);
  common.output = in.bytes(kPathBytesMax);
  common.number = in.number32(std::numeric_limits<uint32_t>::max());
  common.attempt = in.number32(std::numeric_limits<uint32_t>::max());
  // These become files in the sandbox: nothing that leads out of it.
  for (const auto& [name, content] : common.files) {
    if (!check_shipped_name(name)) in.fail();
  }
  return common;
}

void write_split(Writer& out, const Split& split) {
  out.number(split.chunks.size());
  std::string_view before;
  for (const Chunk& chunk : split.chunks) {
    const size_t shared = common_prefix(before, chunk.path);
    out.number(shared);
    out.bytes(std::string_view(chunk.path).substr(shared));
    out.signed_number(chunk.offset);
    out.signed_number(chunk.length);
    before = chunk.path;
  }
}

Split read_split(Reader& in) {
  Split split;
  const size_t count = in.count(kChunksPerSplitMax);
  std::string before;
  for (size_t i = 0; in.ok() && i < count; ++i) {
    const size_t shared = in.number(kPathBytesMax);
    if (shared > before.size()) in.fail();
    const std::string_view rest = in.bytes(kPathBytesMax);
    if (shared + rest.size() > kPathBytesMax) in.fail();
    if (!in.ok()) break;
    before.resize(shared);
    before += rest;
    if (before.find('\0') != std::string::npos) in.fail();
    Chunk chunk;
    chunk.path = before;
    chunk.offset = in.amount();
    chunk.length = in.amount();
    split.chunks.push_back(std::move(chunk));
  }
  return split;
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

std::string encode_work(const Work& work) {
  if (const auto* map = std::get_if<MapWork>(&work)) {
    Writer out(kMapTag);
    write_common(out, map->common);
    out.number(map->reducers);
    write_split(out, map->split);
    return std::move(out).take();
  }
  const auto& reduce = std::get<ReduceWork>(work);
  Writer out(kReduceTag);
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
    Reader in(bytes, kMapTag);
    MapWork map;
    map.common = read_common(in);
    map.reducers = in.number32(static_cast<uint32_t>(kReducersMax));
    map.split = read_split(in);
    if (!in.ended_well()) return corrupt("a map task");
    return Work(std::move(map));
  }
  Reader in(bytes, kReduceTag);
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

std::string map_task_id(uint32_t number, uint32_t attempt) {
  return text(numbered("map", number), "-", attempt);
}
std::string reduce_task_id(uint32_t number, uint32_t attempt) {
  return text(numbered("reduce", number), "-", attempt);
}
std::string part_name(uint32_t number) { return numbered("part", number); }

std::string encode_result(const TaskResult& result) {
  Writer out(kResultTag);
  out.signed_number(result.records_in);
  out.signed_number(result.bytes_in);
  out.signed_number(result.records_out);
  out.signed_number(result.bytes_out);
  out.bytes(result.http_address);
  return std::move(out).take();
}

Result<TaskResult> decode_result(std::string_view bytes) {
  Reader in(bytes, kResultTag);
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
  Writer out(kFailureTag);
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
  Reader in(bytes, kFailureTag);
  TaskFailure failure;
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
  constexpr auto kMax = static_cast<uint64_t>(kFileBytesMax);
  if (take_fixed(bytes) != seal.value() || offset > kMax || length > kMax || records > length) {
    return corrupt("an index entry");
  }
  entry.offset = static_cast<int64_t>(offset);
  entry.length = static_cast<int64_t>(length);
  entry.records = static_cast<int64_t>(records);
  return entry;
}

}  // namespace proffer::batch
