// Divides input among map tasks. `make_splits` combines and cuts files; `ChunkRecords` ensures that
// a record that crosses a cut is read by only one side.

#include "frameworks/batch/core/splits.h"

#include <algorithm>
#include <limits>

#include "common/check.h"
#include "common/text.h"
#include "frameworks/batch/core/job.h"

namespace proffer::batch {
namespace {

constexpr size_t kChunkNumbersBytes = 24;  // two varints and two lengths, at most

// Fills splits one after the other, so that they keep the order of the files.
class Packer {
 public:
  Packer(int64_t split_bytes, const InputFormat& format)
      : split_bytes_(split_bytes), format_(format) {}

  void add(Chunk chunk) {
    const size_t told = told_bytes(chunk);
    if (!open_.chunks.empty() &&
        (bytes_ + chunk.length > split_bytes_ || open_.chunks.size() >= kChunksPerSplitMax ||
         path_bytes_ + told > kSplitPathBytesMax)) {
      close();
    }
    path_bytes_ += told_bytes(chunk);
    bytes_ += chunk.length;
    open_.chunks.push_back(std::move(chunk));
  }

  void close() {
    if (open_.chunks.empty()) return;
    open_.format = format_;
    splits_.push_back(std::move(open_));
    open_ = {};
    bytes_ = 0;
    path_bytes_ = 0;
  }

  size_t count() const { return splits_.size(); }
  std::vector<Split> take() && { return std::move(splits_); }

 private:
  size_t told_bytes(const Chunk& chunk) const {
    const std::string_view before =
        open_.chunks.empty() ? std::string_view() : std::string_view(open_.chunks.back().path);
    return chunk.path.size() - common_prefix(before, chunk.path) + kChunkNumbersBytes;
  }

  int64_t split_bytes_;
  const InputFormat& format_;
  std::vector<Split> splits_;
  Split open_;
  int64_t bytes_ = 0;
  size_t path_bytes_ = 0;
};

}  // namespace

int64_t Split::bytes() const {
  int64_t sum = 0;
  for (const Chunk& chunk : chunks) sum += chunk.length;
  return sum;
}

size_t common_prefix(std::string_view a, std::string_view b) {
  const size_t size = std::min(a.size(), b.size());
  size_t i = 0;
  while (i < size && a[i] == b[i]) ++i;
  return i;
}

Result<std::vector<Split>> make_splits(const std::vector<InputFile>& files, int64_t split_bytes,
                                       bool by_file, const InputFormat& format) {
  CHECK_GE(split_bytes, 1);
  Packer packer(split_bytes, format);
  // Cuts between records of a fixed length cost nothing.
  const int64_t cut_bytes = format.kind == InputFormat::Kind::kFixed
                                ? std::max<int64_t>(split_bytes / format.bytes, 1) * format.bytes
                                : split_bytes;
  int64_t total = 0;
  for (const InputFile& file : files) total += file.size;
  for (const InputFile& file : files) {
    if (by_file) packer.close();
    const int64_t step = file.codec == Codec::kNone ? cut_bytes : file.size;
    for (int64_t at = 0; at < file.size; at += step) {
      packer.add(Chunk{file.path, at, std::min(step, file.size - at), file.codec});
      if (packer.count() < kMapsMax) continue;  // and another one is open
      // Twice the size of an even division leaves room for files that do not combine well.
      const int64_t enough = total / static_cast<int64_t>(kMapsMax / 2) + 1;
      return Error::invalid_argument(text("a split of ", split_bytes, " bytes makes more than ",
                                          kMapsMax, " map tasks of ", print_bytes(total),
                                          " of input"))
          .with_hint(text("use a split of at least ", std::max(enough >> 20, int64_t{1}), "MiB",
                          by_file ? ", or leave out by_file" : ""));
    }
  }
  packer.close();
  return std::move(packer).take();
}

Codec codec_of(std::string_view path, std::string_view first_bytes) {
  constexpr std::string_view kGzipMagic = "\x1f\x8b";
  constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";
  if (path.ends_with(".gz") && first_bytes.starts_with(kGzipMagic)) return Codec::kGzip;
  if (path.ends_with(".zst") && first_bytes.starts_with(kZstdMagic)) return Codec::kZstd;
  return Codec::kNone;
}

bool may_be_packed(std::string_view path) {
  return path.ends_with(".gz") || path.ends_with(".zst");
}

Result<InputFormat> parse_input_format(std::string_view given) {
  constexpr std::string_view kFixed = "fixed:";
  if (given == "lines") return InputFormat();
  if (given == "nul") return InputFormat{.kind = InputFormat::Kind::kNul};
  if (!given.starts_with(kFixed)) {
    return Error::invalid_argument(
               text("input_format must be lines, nul or fixed:BYTES, not ", quoted(given)))
        .with_hint("for records of 100 bytes, write fixed:100");
  }
  const Result<int64_t> bytes = parse_whole("input_format: bytes of a record",
                                            given.substr(kFixed.size()), 1, kFixedBytesMax);
  if (!bytes) return bytes.error();
  return InputFormat{.kind = InputFormat::Kind::kFixed, .bytes = *bytes};
}

ChunkRecords::ChunkRecords(const Chunk& chunk, const InputFormat& format)
    : format_(format),
      is_packed_(chunk.codec != Codec::kNone),
      chunk_end_(chunk.offset + chunk.length),
      begin_(std::max<int64_t>(chunk.offset - 1, 0)),
      end_(chunk.codec == Codec::kNone ? chunk.offset + chunk.length
                                       : std::numeric_limits<int64_t>::max()),
      at_(begin_),
      inside_(chunk.offset == 0),
      done_(chunk.length <= 0) {
  if (format_.kind != InputFormat::Kind::kFixed) return;
  // The first record that starts in the chunk, and the first after the chunk.
  const auto next_start = [&](int64_t at) {
    return at / format_.bytes * format_.bytes + (at % format_.bytes == 0 ? 0 : format_.bytes);
  };
  begin_ = at_ = next_start(chunk.offset);
  if (chunk.codec == Codec::kNone) end_ = next_start(end_);
  done_ = done_ || begin_ >= end_;
}

std::string_view ChunkRecords::feed_fixed(std::string_view bytes) {
  bytes = bytes.substr(
      0, static_cast<size_t>(std::min<int64_t>(static_cast<int64_t>(bytes.size()), end_ - at_)));
  at_ += static_cast<int64_t>(bytes.size());
  records_ = (at_ - begin_) / format_.bytes;
  done_ = at_ == end_;
  return bytes;
}

std::string_view ChunkRecords::feed(std::string_view bytes) {
  if (done_) return {};
  if (format_.kind == InputFormat::Kind::kFixed) return feed_fixed(bytes);
  const char end = format_.end();
  if (!inside_) {
    // The record that started earlier belongs to the previous chunk; its end may be the byte before
    // ours.
    const size_t found = bytes.find(end);
    if (found == std::string_view::npos) {
      at_ += static_cast<int64_t>(bytes.size());
      done_ = at_ >= end_ - 1;  // the record is as long as the chunk: none starts here
      return {};
    }
    bytes.remove_prefix(found + 1);
    at_ += static_cast<int64_t>(found) + 1;
    if (at_ >= end_) {
      done_ = true;
      return {};
    }
    inside_ = true;
  }
  if (bytes.empty()) return {};
  // The last record is the one that ends at or after the chunk's last byte.
  const size_t from = end_ - 1 > at_ ? static_cast<size_t>(end_ - 1 - at_) : 0;
  size_t size = bytes.size();
  if (from < bytes.size()) {
    const size_t found = bytes.find(end, from);
    if (found != std::string_view::npos) {
      size = found + 1;
      done_ = true;
    }
  }
  at_ += static_cast<int64_t>(size);
  at_start_ = bytes[size - 1] == end;
  bytes = bytes.substr(0, size);
  records_ += std::count(bytes.begin(), bytes.end(), end);
  return bytes;
}

}  // namespace proffer::batch
