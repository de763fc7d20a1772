#include "frameworks/batch/core/plan.h"

#include <algorithm>

#include "common/text.h"
#include "frameworks/batch/core/bytes.h"
#include "frameworks/batch/core/fnv.h"

namespace proffer::batch {
namespace {

constexpr std::string_view kSplitTag = "PBs1";
// for packed files, or records that are not lines
constexpr std::string_view kFormattedSplitTag = "PBs2";
constexpr std::string_view kFilesTag = "PBp1";
constexpr std::string_view kRequestTag = "PBd1";
// with large files
constexpr std::string_view kLargeFilesTag = "PBp2";
constexpr std::string_view kLargeRequestTag = "PBd2";

void write(ByteWriter& out, const InputFormat& format) {
  out.number(static_cast<uint64_t>(format.kind));
  out.signed_number(format.bytes);
}

InputFormat read_format(ByteReader& in) {
  InputFormat format{.kind = static_cast<InputFormat::Kind>(in.number(2)),
                     .bytes = in.amount(kFixedBytesMax)};
  if ((format.kind == InputFormat::Kind::kFixed) != (format.bytes > 0)) in.fail();
  return format;
}

void write(ByteWriter& out, const ShippedFiles& files) {
  out.pairs(files.contents);
  if (files.large.empty()) return;
  out.number(files.large.size());
  for (const auto& [name, file] : files.large) {
    out.bytes(name);
    out.signed_number(file.bytes);
    out.signed_number(file.modified_s);
  }
}

// They become files in the sandbox, so their names must not lead out of it.
ShippedFiles read_files(ByteReader& in, bool has_large) {
  ShippedFiles files{.contents = in.pairs(kShippedFilesMax, kShippedBytesMax)};
  for (const auto& [name, content] : files.contents) {
    if (!check_shipped_name(name)) in.fail();
  }
  if (!has_large) return files;
  const size_t count = in.count(kShippedFilesMax - files.contents.size());
  if (count == 0) in.fail();  // there is only one encoding of no large files
  for (size_t i = 0; in.ok() && i < count; ++i) {
    std::string name(in.bytes(kNameBytesMax));
    const LargeFile file{.bytes = in.amount(kLargeFilesBytesMax), .modified_s = in.amount()};
    const bool rises = files.large.empty() || name > files.large.rbegin()->first;
    if (!check_shipped_name(name) || !rises || files.contents.contains(name)) in.fail();
    files.large.emplace_hint(files.large.end(), std::move(name), file);
  }
  return files;
}

}  // namespace

std::string plan_directory(std::string_view output, std::string_view plan) {
  return text(output, "/_temporary/plan-", plan);
}

std::string aside_directory(std::string_view output, const JobId& job, std::string_view plan) {
  return text(output.substr(0, output.rfind('/')), "/.unfinished-", job.str(), "-", plan);
}

std::string waiting_directory(std::string_view output, std::string_view plan) {
  return text(output.substr(0, output.rfind('/')), "/.waiting-", plan);
}

std::string made_plan(std::string_view plan_directory) { return text(plan_directory, "/made"); }

std::string exported_path(std::string_view plan_directory) {
  return text(plan_directory, "/exported");
}

// An index entry with the checksum, then "NAME=value" and a NUL for each variable.
std::string encode_exported(const proto::Environment& exported) {
  std::string bytes;
  for (const auto& [name, value] : exported) {
    bytes += text(name, "=", value);
    bytes += '\0';
  }
  return encode_index_entry(plan_entry(0, bytes)) + bytes;
}

Result<proto::Environment> decode_exported(std::string_view bytes) {
  const auto damaged = [] {
    return Error::corruption("the file of exported variables is damaged");
  };
  if (bytes.size() < kIndexEntryBytes) return damaged();
  const Result<IndexEntry> entry = decode_index_entry(bytes.substr(0, kIndexEntryBytes));
  bytes.remove_prefix(kIndexEntryBytes);
  if (!entry || !check_plan_entry(*entry, bytes)) return damaged();
  proto::Environment exported;
  while (!bytes.empty()) {
    const size_t end = bytes.find('\0');
    const size_t equals = bytes.find('=');
    if (end == std::string_view::npos || equals == 0 || equals > end) return damaged();
    exported[std::string(bytes.substr(0, equals))] = bytes.substr(equals + 1, end - equals - 1);
    bytes.remove_prefix(end + 1);
  }
  return exported;
}

std::string large_file_path(std::string_view plan_directory, std::string_view name) {
  return text(plan_directory, "/files/", name);
}

std::string encode_split(const Split& split) {
  const bool is_formatted =
      split.format != InputFormat() ||
      std::any_of(split.chunks.begin(), split.chunks.end(),
                  [](const Chunk& chunk) { return chunk.codec != Codec::kNone; });
  ByteWriter out(is_formatted ? kFormattedSplitTag : kSplitTag);
  if (is_formatted) {
    write(out, split.format);
  }
  out.number(split.chunks.size());
  std::string_view before;
  for (const Chunk& chunk : split.chunks) {
    const size_t shared = common_prefix(before, chunk.path);
    out.number(shared);
    out.bytes(std::string_view(chunk.path).substr(shared));
    out.signed_number(chunk.offset);
    out.signed_number(chunk.length);
    if (is_formatted) out.number(static_cast<uint64_t>(chunk.codec));
    before = chunk.path;
  }
  return std::move(out).take();
}

Result<Split> decode_split(std::string_view bytes) {
  const bool is_formatted = bytes.starts_with(kFormattedSplitTag);
  ByteReader in(bytes, is_formatted ? kFormattedSplitTag : kSplitTag);
  Split split;
  if (is_formatted) {
    split.format = read_format(in);
  }
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
    if (is_formatted) chunk.codec = static_cast<Codec>(in.number(kCodecCount - 1));
    split.chunks.push_back(std::move(chunk));
  }
  if (!in.ended_well()) return corrupt("a split");
  return split;
}

std::string encode_files(const ShippedFiles& files) {
  ByteWriter out(files.large.empty() ? kFilesTag : kLargeFilesTag);
  write(out, files);
  return std::move(out).take();
}

Result<ShippedFiles> decode_files(std::string_view bytes) {
  const bool has_large = bytes.starts_with(kLargeFilesTag);
  ByteReader in(bytes, has_large ? kLargeFilesTag : kFilesTag);
  ShippedFiles files = read_files(in, has_large);
  if (!in.ended_well()) return corrupt("the shipped files");
  return files;
}

std::string encode_plan_request(const PlanRequest& request) {
  ByteWriter out(request.files.large.empty() ? kRequestTag : kLargeRequestTag);
  out.number(request.inputs.size());
  for (const std::string& input : request.inputs) out.bytes(input);
  out.signed_number(request.split_bytes);
  const bool has_format = request.format != InputFormat();
  out.number((request.by_file ? 1 : 0) | (request.allow_empty ? 2 : 0) |
             (request.decompresses ? 0 : 4) | (has_format ? 8 : 0) |
             (request.locality_wait ? 16 : 0));
  if (has_format) write(out, request.format);
  write(out, request.files);
  out.bytes(request.lines_of);
  if (request.locality_wait) out.signed_number(request.locality_wait->nanos());
  return std::move(out).take();
}

Result<PlanRequest> decode_plan_request(std::string_view bytes) {
  const bool has_large = bytes.starts_with(kLargeRequestTag);
  ByteReader in(bytes, has_large ? kLargeRequestTag : kRequestTag);
  PlanRequest request;
  const size_t inputs = in.count(kInputsMax);
  const auto read_path = [&in] {
    std::string path(in.bytes(kPathBytesMax));
    if (path.find('\0') != std::string::npos) in.fail();
    return path;
  };
  for (size_t i = 0; in.ok() && i < inputs; ++i) request.inputs.push_back(read_path());
  request.split_bytes = in.amount();
  if (request.split_bytes < 1) in.fail();
  const uint64_t flags = in.number(31);
  request.by_file = (flags & 1) != 0;
  request.allow_empty = (flags & 2) != 0;
  request.decompresses = (flags & 4) == 0;
  if ((flags & 8) != 0) {
    request.format = read_format(in);
    if (request.format == InputFormat()) in.fail();
  }
  request.files = read_files(in, has_large);
  request.lines_of = read_path();
  if ((flags & 16) != 0) request.locality_wait = nanoseconds(in.amount(kLocalityWaitMax.nanos()));
  if (!in.ended_well()) return corrupt("the request for a plan");
  return request;
}

IndexEntry plan_entry(int64_t offset, std::string_view bytes) {
  Fnv1a64 checksum;
  checksum.add(bytes);
  return {.offset = offset,
          .length = static_cast<int64_t>(bytes.size()),
          .records = 1,
          .checksum = checksum.value()};
}

Result<void> check_plan_entry(const IndexEntry& entry, std::string_view bytes) {
  if (plan_entry(entry.offset, bytes) == entry) return {};
  return Error::corruption("an entry of the job's plan was changed");
}

}  // namespace proffer::batch
