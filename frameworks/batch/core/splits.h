#pragma once

// The bytes that each mapper reads, and the records in them that are its own.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace proffer::batch {

// How a file is compressed. A compressed file cannot be cut: one map task reads all of it.
enum class Codec : uint8_t { kNone, kGzip, kZstd };
inline constexpr uint64_t kCodecCount = 3;

// The codec of a file with these first bytes. Both name and bytes must agree, so a name alone is
// not enough.
Codec codec_of(std::string_view path, std::string_view first_bytes);
// True if the name of `path` makes it necessary to read its first kMagicBytes.
bool may_be_packed(std::string_view path);
inline constexpr size_t kMagicBytes = 4;

// The form of the records in the input. The mapper receives them unchanged.
struct InputFormat {
  enum class Kind : uint8_t {
    kLines,  // each ends at a newline
    kNul,    // each ends at a NUL byte
    kFixed,  // each has `bytes` bytes
  };
  Kind kind = Kind::kLines;
  int64_t bytes = 0;
  // The end of a record; only for lines and NUL.
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

// The input of one map task, read in this order.
struct Split {
  std::vector<Chunk> chunks = {};
  InputFormat format = {};
  int64_t bytes() const;
  bool operator==(const Split&) const = default;
};

// Bounds a split so that it can be sent to its task.
inline constexpr size_t kChunksPerSplitMax = 4'096;
inline constexpr size_t kSplitPathBytesMax = 96 * 1024;

// The splits of these files, in order. Files of more than `split_bytes` are cut, records of a fixed
// length only between records; smaller files are combined up to that size, unless `by_file`. Read
// one after the other, the splits give the files unchanged. Empty files are left out. Errors:
// kInvalidArgument if there were more than kMapsMax; the hint names a value that works.
Result<std::vector<Split>> make_splits(const std::vector<InputFile>& files, int64_t split_bytes,
                                       bool by_file = false, const InputFormat& format = {});

// The number of bytes that two texts have in common at their start. Paths are sent without them.
size_t common_prefix(std::string_view a, std::string_view b);

// The records of one chunk, from the unpacked bytes of its file. A record belongs to the chunk in
// which it starts, so neighbouring chunks read each record exactly once, wherever the cut is. Pass
// the bytes in order, from begin() on, in pieces of any size.
class ChunkRecords {
 public:
  explicit ChunkRecords(const Chunk& chunk, const InputFormat& format = {});

  // The place in the file to begin at: for lines one byte before the chunk, to see whether a line
  // starts there.
  int64_t begin() const { return begin_; }
  // The part of `bytes` that belongs to the chunk; a view into them. Empty once done().
  std::string_view feed(std::string_view bytes);
  // The rest of the file does not belong to the chunk.
  bool done() const { return done_; }
  // At the end of the file: its last record belongs to the chunk and is not whole. For lines and
  // NUL its end is missing. left_over() is the size of a partial record of fixed length; 0: there
  // is none.
  bool lacks_end() const {
    return format_.kind != InputFormat::Kind::kFixed && inside_ && !at_start_;
  }
  int64_t left_over() const {
    return format_.kind == InputFormat::Kind::kFixed ? (at_ - begin_) % format_.bytes : 0;
  }
  // The file is shorter than when it was divided, by at least this many bytes.
  int64_t missing() const { return is_packed_ ? 0 : std::max<int64_t>(chunk_end_ - at_, 0); }
  int64_t records() const { return records_; }  // records returned so far, counted at their ends

 private:
  std::string_view feed_fixed(std::string_view bytes);

  InputFormat format_;
  bool is_packed_ = false;
  int64_t chunk_end_ = 0;
  int64_t begin_ = 0;
  int64_t end_ = 0;       // records that start here or later are not the chunk's
  int64_t at_ = 0;        // place of the next byte in the file
  bool inside_ = false;   // past the end of a record that started before the chunk
  bool at_start_ = true;  // at the start of a record
  int64_t records_ = 0;
  bool done_ = false;
};

}  // namespace proffer::batch
