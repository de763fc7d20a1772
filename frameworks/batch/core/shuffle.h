#pragma once

// The path of lines from mapper to reducer, and the form of map outputs.

#include <cstdint>
#include <string>
#include <string_view>

#include "common/result.h"
#include "frameworks/batch/core/fnv.h"
#include "frameworks/batch/core/keys.h"

namespace proffer {
class ByteReader;
class ByteWriter;
}  // namespace proffer

namespace proffer::batch {

// The shuffle of a job; its map and reduce tasks receive it.
struct Shuffle {
  // False for jobs of earlier versions: they have plain lines in map.out, and their tasks report no
  // counters. An agent of an earlier version supports only such tasks.
  bool is_packed = true;
  KeyRule keys = {};
  // A shell command line: sorted lines of one map task in, lines of the same form out. Empty: none.
  std::string combine = {};
  int64_t sort_bytes = 0;  // of memory in each task; 0: a quarter of the task's
  bool operator==(const Shuffle&) const = default;
};
// Less memory holds too few lines to be useful; with more, the offsets of lines would not fit.
inline constexpr int64_t kSortBytesMin = int64_t{1} << 20;
inline constexpr int64_t kSortBytesMax = int64_t{2} << 30;

// Only for a packed shuffle.
void write(ByteWriter& out, const Shuffle& shuffle);
Shuffle read_shuffle(ByteReader& in);

// --- blocks ------------------------------------------------------------------------------------

// A packed map.out is a sequence of blocks: partition by partition, each in the order of its lines.
// The runs that a sort leaves on disk have the same form. A block has whole lines; it can be
// checked and unpacked without the blocks before it.
//
//   header (kBlockHeaderBytes) | stored bytes: a Zstandard frame of the lines, each with a newline
struct BlockHeader {
  uint32_t partition = 0;
  uint32_t records = 0;
  uint32_t raw_bytes = 0;
  uint32_t stored_bytes = 0;
  uint64_t checksum = 0;  // see begin_block_checksum
  bool operator==(const BlockHeader&) const = default;
};
inline constexpr size_t kBlockHeaderBytes = 24;
// A block ends at this size; a longer line has its own block.
inline constexpr size_t kBlockBytes = size_t{64} << 10;
// A longer line fails its task, since a line must be held in memory.
inline constexpr size_t kLineBytesMax = size_t{64} << 20;
inline constexpr size_t kRawBlockBytesMax = kLineBytesMax + kBlockBytes + 1;
// The most that a frame of this many bytes can take, with room for bytes that cannot be compressed.
inline constexpr size_t kStoredBlockBytesMax = kRawBlockBytesMax + (kRawBlockBytesMax >> 7) + 1'024;

// The checksum of the header's numbers; the stored bytes must be added to it. The other form adds
// them.
Fnv1a64 begin_block_checksum(const BlockHeader& header);
uint64_t block_checksum(const BlockHeader& header, std::string_view stored);
std::string encode_block_header(const BlockHeader& header);
// Errors: kCorruption if it is not whole or its numbers are impossible.
Result<BlockHeader> decode_block_header(std::string_view bytes);

}  // namespace proffer::batch
