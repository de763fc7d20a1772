#pragma once

// Which mapper reads which bytes, and which records of them are its own.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace proffer::batch {

// How a file is packed. A packed one cannot be cut: one map task reads all of it.
enum class Codec : uint8_t { kNone, kGzip, kZstd };
inline constexpr uint64_t kCodecCount = 3;

// Of a file whose first bytes are these: by its name and by them, so that a name alone means
// nothing.
Codec codec_of(std::string_view path, std::string_view first_bytes);
// Whether `path` is named so that its first kMagicBytes are worth looking at.
bool may_be_packed(std::string_view path);
inline constexpr size_t kMagicBytes = 4;

// What the records of the input are. The mapper is given them as they stand.
struct InputFormat {
  enum class Kind : uint8_t {
    kLines,  // each ends at a newline
    kNul,    // each ends at a NUL byte
    kFixed,  // each has `bytes` bytes
  };
  Kind kind = Kind::kLines;
  int64_t bytes = 0;
  // What a record ends with; only of lines and NUL.
  char end() const { return kind == Kind::kNul ? '\0' : '\n'; }
  bool operator==(const InputFormat&) const = default;
};
inline constexpr int64_t kFixedBytesMax = int64_t{16} << 20;

// "lines", "nul", "fixed:100". Errors: kInvalidArgument.
Result<InputFormat> parse_input_format(std::string_view text);

struct InputFile {
  std::string path = {};
  int64_t size = 0;
  Codec codec = Codec::kNone;
  bool operator==(const InputFile&) const = default;
};

// The records of a file that start in [offset, offset + length); of a packed file all of them.
struct Chunk {
  std::string path = {};
  int64_t offset = 0;
  int64_t length = 0;
  Codec codec = Codec::kNone;
  bool operator==(const Chunk&) const = default;
};

// What one map task reads, in this order.
struct Split {
  std::vector<Chunk> chunks = {};
  InputFormat format = {};
  int64_t bytes() const;
  bool operator==(const Split&) const = default;
};

// Keep a split small enough to be told to its task.
inline constexpr size_t kChunksPerSplitMax = 4'096;
inline constexpr size_t kSplitPathBytesMax = 96 * 1024;

// The splits of these files, in their order: files of more than `split_bytes` are cut, between
// records of a fixed length, smaller ones put together up to it, or with `by_file` not. Read one
// after the other, the splits give the files as they stand. Empty files are left out. Errors:
// kInvalidArgument if there were more than kMapsMax; the hint names what works.
Result<std::vector<Split>> make_splits(const std::vector<InputFile>& files, int64_t split_bytes,
                                       bool by_file = false, const InputFormat& format = {});

// How many bytes the two texts have in common at their start: paths are told without them.
size_t common_prefix(std::string_view a, std::string_view b);

// The records of one chunk out of the bytes of its file, unpacked. A record belongs to the chunk in
// which it starts, so that neighbouring chunks read each one exactly once wherever the cut is.
// Bytes are given in order, from begin() on, in pieces of any size.
class ChunkRecords {
 public:
  explicit ChunkRecords(const Chunk& chunk, const InputFormat& format = {});

  // Where in the file to begin: for lines one byte before the chunk, to see whether one starts
  // there.
  int64_t begin() const { return begin_; }
  // The part of `bytes` that belongs to the chunk; a view into them. Empty once done().
  std::string_view feed(std::string_view bytes);
  // Nothing further of the file belongs to the chunk.
  bool done() const { return done_; }
  // At the end of the file: its last record is the chunk's and is not whole. Of lines and NUL its
  // end is missing; one of a fixed length has so many bytes: 0, none does.
  bool lacks_end() const {
    return format_.kind != InputFormat::Kind::kFixed && inside_ && !at_start_;
  }
  int64_t left_over() const {
    return format_.kind == InputFormat::Kind::kFixed ? (at_ - begin_) % format_.bytes : 0;
  }
  // The same: the file is shorter than when it was divided, by at least so many bytes.
  int64_t missing() const { return is_packed_ ? 0 : std::max<int64_t>(chunk_end_ - at_, 0); }
  int64_t records() const { return records_; }  // that it has given, those with their end

 private:
  std::string_view feed_fixed(std::string_view bytes);

  InputFormat format_;
  bool is_packed_ = false;
  int64_t chunk_end_ = 0;
  int64_t begin_ = 0;
  int64_t end_ = 0;       // records that start here or later are not the chunk's
  int64_t at_ = 0;        // in the file, of the next byte
  bool inside_ = false;   // past the end of a record that started before the chunk
  bool at_start_ = true;  // of a record
  int64_t records_ = 0;
  bool done_ = false;
};

}  // namespace proffer::batch
