#pragma once

// What happens to lines between mapper and reducer, and the form of map outputs.

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

// Of a job; its map and reduce tasks are told it.
struct Shuffle {
  // Jobs of before this was known have plain lines in map.out, and their tasks report no counters:
  // false. An agent of before knows no task of another kind.
  bool is_packed = true;
  KeyRule keys = {};
  // A shell command line: sorted lines of one map task in, lines of the same form out. Empty: none.
  std::string combine = {};
  int64_t sort_bytes = 0;  // of memory in each task; 0: a quarter of the task's
  bool operator==(const Shuffle&) const = default;
};
// Less holds no useful number of lines; more, and the offsets of lines would not fit.
inline constexpr int64_t kSortBytesMin = int64_t{1} << 20;
inline constexpr int64_t kSortBytesMax = int64_t{2} << 30;

// Only of a shuffle that is packed.
void write(ByteWriter& out, const Shuffle& shuffle);
Shuffle read_shuffle(ByteReader& in);

// --- blocks ------------------------------------------------------------------------------------

// A packed map.out is a sequence of blocks: of each partition one after the other, in the order of
// its lines. So are the runs that a sort leaves on disk. A block has whole lines; it can be checked
// and unpacked without those before it.
//
//   header (kBlockHeaderBytes) | stored bytes: a Zstandard frame of the lines, each with a newline
struct BlockHeader {
  uint32_t partition = 0;
  uint32_t records = 0;
  uint32_t raw_bytes = 0;
  uint32_t stored_bytes = 0;
  uint64_t checksum = 0;  // as block_checksum
  bool operator==(const BlockHeader&) const = default;
};
inline constexpr size_t kBlockHeaderBytes = 24;
// A block ends when it has so many; a longer line has one of its own.
inline constexpr size_t kBlockBytes = size_t{64} << 10;
// A line longer than this fails its task: it would have to be held in memory.
inline constexpr size_t kLineBytesMax = size_t{64} << 20;
inline constexpr size_t kRawBlockBytesMax = kLineBytesMax + kBlockBytes + 1;
// What a frame of so many bytes can take, with room for those that do not shrink.
inline constexpr size_t kStoredBlockBytesMax = kRawBlockBytesMax + (kRawBlockBytesMax >> 7) + 1'024;

// Of the header's numbers and the stored bytes; the other form of it is to have those added.
Fnv1a64 begin_block_checksum(const BlockHeader& header);
uint64_t block_checksum(const BlockHeader& header, std::string_view stored);
std::string encode_block_header(const BlockHeader& header);
// Errors: kCorruption if it is not whole or its numbers cannot be.
Result<BlockHeader> decode_block_header(std::string_view bytes);

}  // namespace proffer::batch
