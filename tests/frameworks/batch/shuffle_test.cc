#include "frameworks/batch/core/shuffle.h"

#include <gtest/gtest.h>

#include "common/hex.h"
#include "frameworks/batch/core/order.h"
#include "frameworks/batch/core/plan.h"
#include "frameworks/batch/core/work.h"

namespace proffer::batch::shuffle_test {
namespace {

TEST(BlockHeader, NoticesEveryChangedByte) {
  const std::string stored = "what was packed";
  BlockHeader header{.partition = 3,
                     .records = 2,
                     .raw_bytes = 40,
                     .stored_bytes = static_cast<uint32_t>(stored.size())};
  header.checksum = block_checksum(header, stored);
  const std::string bytes = encode_block_header(header);
  ASSERT_EQ(bytes.size(), kBlockHeaderBytes);
  ASSERT_TRUE(*decode_block_header(bytes) == header);
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    const Result<BlockHeader> back = decode_block_header(changed);
    EXPECT_FALSE(back && block_checksum(*back, stored) == back->checksum) << i;
  }
  EXPECT_FALSE(decode_block_header(bytes.substr(1)));
}

TEST(BlockHeader, AllowsNoMoreMemoryThanABlockMayTake) {
  BlockHeader header{.records = 1, .raw_bytes = 9, .stored_bytes = 9};
  EXPECT_TRUE(decode_block_header(encode_block_header(header)));
  for (const BlockHeader& wrong :
       {BlockHeader{.records = 0, .raw_bytes = 9, .stored_bytes = 9},
        BlockHeader{.records = 10, .raw_bytes = 9, .stored_bytes = 9},
        BlockHeader{.records = 1, .raw_bytes = kRawBlockBytesMax + 1, .stored_bytes = 9},
        BlockHeader{.records = 1, .raw_bytes = 9, .stored_bytes = kStoredBlockBytesMax + 1}}) {
    EXPECT_FALSE(decode_block_header(encode_block_header(wrong)));
  }
}

// Bytes that a version wrote before it had blocks, combiners and key fields.
constexpr std::string_view kMapOfBefore =
    "50426d3307776f7264732d370e61776b202d66206d61702e61776b020103020141013101420374776f082f746d702f"
    "6f7574043565316609070103";
constexpr std::string_view kReduceOfBefore =
    "5042723307776f7264732d370e61776b202d66206d61702e61776b020103020141013101420374776f082f746d702f"
    "6f75740435653166090701020b3132372e302e302e313a310b5b3a3a315d3a363535333502010000ac02";
constexpr std::string_view kOrderOfBefore =
    "50426a3205776f7264730001640363617400010100082f746d702f6f75740435653166090000010e68747470733a2f"
    "2f686f73742f78000005020141013101420374776fe80780d00f00000400";

constexpr std::string_view kSplitOfBefore = "504273310200052f696e2f61006405016205808040";

TEST(Upgrade, PlansOfBeforeHaveLinesOfFilesAsTheyStand) {
  const Result<Split> split = decode_split(*from_hex(kSplitOfBefore));
  ASSERT_TRUE(split) << split.error().message();
  EXPECT_TRUE(*split == (Split{.chunks = {{"/in/a", 0, 100}, {"/in/ab", 5, 1 << 20}}}));
  EXPECT_EQ(encode_split(*split), *from_hex(kSplitOfBefore));
}

// A job that an earlier version accepted keeps its format: executors of that version may run its
// tasks.
TEST(Upgrade, JobsOfBeforeKeepPlainMapOutputs) {
  const Result<JobOrder> order = decode_order(*from_hex(kOrderOfBefore));
  ASSERT_TRUE(order) << order.error().message();
  EXPECT_EQ(order->map, "cat");
  EXPECT_FALSE(order->shuffle.is_packed);
  EXPECT_EQ(encode_order(*order), *from_hex(kOrderOfBefore));
}

TEST(Upgrade, WorkOfBeforeIsReadAndWrittenAsItWas) {
  for (const std::string_view before : {kMapOfBefore, kReduceOfBefore}) {
    const Result<Work> work = decode_work(*from_hex(before));
    ASSERT_TRUE(work) << work.error().message();
    EXPECT_EQ(encode_work(*work), *from_hex(before));
    if (const auto* map = std::get_if<MapWork>(&*work)) {
      EXPECT_EQ(map->reducers, 3u);
      EXPECT_FALSE(map->shuffle.is_packed);
    } else {
      EXPECT_EQ(std::get<ReduceWork>(*work).maps.size(), 2u);
      EXPECT_FALSE(std::get<ReduceWork>(*work).shuffle.is_packed);
    }
  }
}

}  // namespace
}  // namespace proffer::batch::shuffle_test
