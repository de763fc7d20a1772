#include "frameworks/batch/core/shuffle.h"

#include "frameworks/batch/core/bytes.h"
#include "frameworks/batch/core/job.h"

namespace proffer::batch {
namespace {

void put_number(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

uint64_t take_number(std::string_view& in, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) {
    value |= uint64_t{static_cast<unsigned char>(in[static_cast<size_t>(i)])} << (8 * i);
  }
  in.remove_prefix(static_cast<size_t>(bytes));
  return value;
}

std::string numbers_of(const BlockHeader& header) {
  std::string out;
  for (const uint32_t number :
       {header.partition, header.records, header.raw_bytes, header.stored_bytes}) {
    put_number(out, number, 4);
  }
  return out;
}

}  // namespace

void write(ByteWriter& out, const Shuffle& shuffle) {
  write(out, shuffle.keys);
  out.bytes(shuffle.combine);
  out.signed_number(shuffle.sort_bytes);
}

Shuffle read_shuffle(ByteReader& in) {
  Shuffle shuffle;
  shuffle.keys = read_keys(in);
  shuffle.combine = in.bytes(kStreamCommandBytesMax);
  shuffle.sort_bytes = in.amount(kSortBytesMax);
  return shuffle;
}

Fnv1a64 begin_block_checksum(const BlockHeader& header) {
  Fnv1a64 sum;
  sum.add(numbers_of(header));
  return sum;
}

uint64_t block_checksum(const BlockHeader& header, std::string_view stored) {
  Fnv1a64 sum = begin_block_checksum(header);
  sum.add(stored);
  return sum.value();
}

std::string encode_block_header(const BlockHeader& header) {
  std::string out = numbers_of(header);
  put_number(out, header.checksum, 8);
  return out;
}

Result<BlockHeader> decode_block_header(std::string_view bytes) {
  if (bytes.size() != kBlockHeaderBytes) return corrupt("the header of a block");
  BlockHeader header;
  for (uint32_t* number :
       {&header.partition, &header.records, &header.raw_bytes, &header.stored_bytes}) {
    *number = static_cast<uint32_t>(take_number(bytes, 4));
  }
  header.checksum = take_number(bytes, 8);
  // each line has its newline
  if (header.records == 0 || header.records > header.raw_bytes ||
      header.raw_bytes > kRawBlockBytesMax || header.stored_bytes == 0 ||
      header.stored_bytes > kStoredBlockBytesMax) {
    return corrupt("the header of a block");
  }
  return header;
}

}  // namespace proffer::batch
