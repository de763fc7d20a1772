// How input is divided among map tasks. `make_splits` packs and cuts; `ChunkLines` is the rule by
// which a line that crosses a cut is read by one side only.

#include "frameworks/batch/core/splits.h"

#include <algorithm>

#include "common/check.h"
#include "common/text.h"
#include "frameworks/batch/core/job.h"

namespace proffer::batch {
namespace {

constexpr size_t kChunkNumbersBytes = 24;  // two varints and two lengths, at most

// Fills splits one after the other, so that they keep the order of the files.
class Packer {
 public:
  explicit Packer(int64_t split_bytes) : split_bytes_(split_bytes) {}

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
                                       bool by_file) {
  CHECK_GE(split_bytes, 1);
  Packer packer(split_bytes);
  int64_t total = 0;
  for (const InputFile& file : files) total += file.size;
  for (const InputFile& file : files) {
    if (by_file) packer.close();
    for (int64_t at = 0; at < file.size; at += split_bytes) {
      packer.add(Chunk{file.path, at, std::min(split_bytes, file.size - at)});
      if (packer.count() < kMapsMax) continue;  // And one more is open.
      // Twice what an even division would need leaves room for what does not pack well.
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

ChunkLines::ChunkLines(const Chunk& chunk)
    : begin_(std::max<int64_t>(chunk.offset - 1, 0)),
      end_(chunk.offset + chunk.length),
      at_(begin_),
      inside_(chunk.offset == 0),
      done_(chunk.length <= 0) {}

std::string_view ChunkLines::feed(std::string_view bytes) {
  if (done_) return {};
  if (!inside_) {
    // The line that started before is the chunk's before; its newline may be the byte before ours.
    const size_t newline = bytes.find('\n');
    if (newline == std::string_view::npos) {
      at_ += static_cast<int64_t>(bytes.size());
      return {};
    }
    bytes.remove_prefix(newline + 1);
    at_ += static_cast<int64_t>(newline) + 1;
    if (at_ >= end_) {
      done_ = true;
      return {};
    }
    inside_ = true;
  }
  if (bytes.empty()) return {};
  // The last line is the one that ends at or after the chunk's last byte.
  const size_t from = end_ - 1 > at_ ? static_cast<size_t>(end_ - 1 - at_) : 0;
  size_t size = bytes.size();
  if (from < bytes.size()) {
    const size_t newline = bytes.find('\n', from);
    if (newline != std::string_view::npos) {
      size = newline + 1;
      done_ = true;
    }
  }
  at_ += static_cast<int64_t>(size);
  at_line_start_ = bytes[size - 1] == '\n';
  return bytes.substr(0, size);
}

}  // namespace proffer::batch
