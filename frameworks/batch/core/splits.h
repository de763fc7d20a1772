#pragma once

// Which mapper reads which bytes, and which lines of them are its own.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace proffer::batch {

struct InputFile {
  std::string path = {};
  int64_t size = 0;
  bool operator==(const InputFile&) const = default;
};

// The lines of a file that start in [offset, offset + length).
struct Chunk {
  std::string path = {};
  int64_t offset = 0;
  int64_t length = 0;
  bool operator==(const Chunk&) const = default;
};

// What one map task reads, in this order.
struct Split {
  std::vector<Chunk> chunks = {};
  int64_t bytes() const;
  bool operator==(const Split&) const = default;
};

// Keep a split small enough to be told to its task.
inline constexpr size_t kChunksPerSplitMax = 4'096;
inline constexpr size_t kSplitPathBytesMax = 96 * 1024;

// The splits of these files, in their order: files of more than `split_bytes` are cut, smaller ones
// packed together up to it, or with `by_file` not. Read one after the other, the splits give the
// files as they stand. Empty files are left out. Errors: kInvalidArgument if there were more than
// kMapsMax; the hint names what works.
Result<std::vector<Split>> make_splits(const std::vector<InputFile>& files, int64_t split_bytes,
                                       bool by_file = false);

// How many bytes the two texts have in common at their start: paths are told without them.
size_t common_prefix(std::string_view a, std::string_view b);

// The lines of one chunk out of the bytes of its file. A line belongs to the chunk in which it
// starts, so that neighbouring chunks read each line exactly once wherever the cut is. Bytes are
// given in order, from begin() on, in pieces of any size.
class ChunkLines {
 public:
  explicit ChunkLines(const Chunk& chunk);

  // Where in the file to begin: one byte before the chunk, to see whether a line starts with it.
  int64_t begin() const { return begin_; }
  // The part of `bytes` that belongs to the chunk; a view into them. Empty once done().
  std::string_view feed(std::string_view bytes);
  // Nothing further of the file belongs to the chunk.
  bool done() const { return done_; }
  // At the end of the file: its last line is the chunk's and lacks its newline.
  bool lacks_newline() const { return inside_ && !at_line_start_; }

 private:
  int64_t begin_ = 0;
  int64_t end_ = 0;      // lines that start here or later are not the chunk's
  int64_t at_ = 0;       // in the file, of the next byte
  bool inside_ = false;  // past the end of a line that started before the chunk
  bool at_line_start_ = true;
  bool done_ = false;
};

}  // namespace proffer::batch
