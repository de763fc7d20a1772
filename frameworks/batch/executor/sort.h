#pragma once

// Sorts more lines than fit into memory: a buffer, runs on disk, and their merge. Lines of equal
// keys keep their order.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/result.h"
#include "frameworks/batch/core/keys.h"
#include "frameworks/batch/executor/blocks.h"
#include "frameworks/batch/executor/lines.h"

namespace proffer::batch {

// The number of files to merge at once in this much memory.
size_t merge_width(int64_t bytes);

// Merges sorted sources into `out`. Lines of equal keys come in the order of the sources. Ends
// early if `out` wants no more.
Result<void> merge(std::vector<std::unique_ptr<LineSource>> sources, const KeyRule& keys,
                   LineSink& out);

// A sorted file of lines.
struct Run {
  std::string path = {};
  bool is_packed = true;   // blocks; else plain lines
  uint32_t partition = 0;  // of plain lines; blocks have their own
};
// Writes the lines of all runs in order, in passes of `width` files. Merged runs are removed. Runs
// of further passes are made in `directory`, which must exist. Errors: kUnavailable from the
// system, kCorruption of a file.
Result<void> merge_runs(std::vector<Run> runs, const KeyRule& keys, size_t width,
                        const std::string& directory, LineSink& out);

// Lines in one block of memory of a given size: texts from its front, their places from its back.
class SortBuffer {
 public:
  SortBuffer(int64_t bytes, const KeyRule& keys);
  // False: there is no room for the line.
  bool add(uint32_t partition, std::string_view line);
  bool empty() const { return count_ == 0; }
  // Sorts the lines and passes them on; then the buffer is empty.
  Result<void> drain(LineSink& out);
  // Frees its memory: from now on there is room for nothing.
  void release();

 private:
  // The place of a line, and eight bytes of its key, which are compared first.
  struct Entry {
    uint64_t prefix;
    uint32_t partition;
    uint32_t offset;
    uint32_t size;
    uint32_t key_size;
  };
  Entry* first() const;
  std::string_view key(const Entry& entry) const;
  void sort_by_rule(Entry* begin, Entry* end) const;
  void sort_by_bytes(Entry* begin, Entry* end, size_t depth) const;

  LineOrder order_;
  size_t entries_max_;
  std::unique_ptr<Entry[]> memory_;
  size_t text_bytes_ = 0;
  size_t count_ = 0;
};

// Takes any number of lines, then returns them sorted.
class ExternalSort : public LineSink {
 public:
  // Its runs are in `directory`, which must exist. `keys` must outlive it.
  ExternalSort(std::string directory, int64_t bytes, const KeyRule& keys);
  ~ExternalSort() override;
  Result<bool> put(uint32_t partition, std::string_view line) override;
  // Call it once, after the last line.
  Result<void> finish(LineSink& out);
  size_t runs() const { return runs_.size(); }  // runs that it left on disk

 private:
  Result<void> spill(const std::function<Result<void>(LineSink&)>& lines);

  const std::string directory_;
  const int64_t bytes_;
  KeyRule keys_;
  SortBuffer buffer_;
  std::vector<Run> runs_;
};

}  // namespace proffer::batch
