// The conversion of rows to nodes, without a server.

#include "store/zookeeper_rows.h"

#include <map>

#include <gtest/gtest.h>

#include "common/limits.h"
#include "tests/store/support.h"

namespace proffer::zookeeper_rows_test {
namespace {

using store_test::erase;
using store_test::put;

std::string every_byte() {
  std::string out;
  for (int byte = 0; byte < 256; ++byte) out += static_cast<char>(byte);
  return out;
}

TEST(ZooKeeperNames, AnyKeyIsANodeNameAndComesBack) {
  for (const std::string& key : {std::string(), std::string("."), std::string(".."),
                                 std::string("zookeeper"), std::string("a/b c%"), every_byte()}) {
    const std::string name = zookeeper_name(key);
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789_-%"),
              name.npos)
        << name;
    EXPECT_EQ(key_of_zookeeper_name(name), key);
  }
}

TEST(ZooKeeperNames, OtherNodesAreNoRows) {
  for (const char* name : {"", "x", "role", "ka%", "ka%4", "ka%4G", "ka b", "ka.b"}) {
    EXPECT_EQ(key_of_zookeeper_name(name), std::nullopt) << name;
  }
}

TEST(ZooKeeperNames, RowsOfATableAreSpreadOverAllFolders) {
  std::map<std::string, int> shards;
  for (int i = 0; i < 25'600; ++i) ++shards[zookeeper_shard("agent", "agent-" + std::to_string(i))];
  EXPECT_EQ(shards.size(), 256u);
  for (const auto& [shard, count] : shards) EXPECT_LT(count, 300) << shard;
}

TEST(ZooKeeperValues, ComeBackWholeAndFitTheirNodes) {
  for (const size_t size : {size_t{0}, size_t{1}, kZooKeeperNodeBytesMax,
                            kZooKeeperNodeBytesMax + 1, kStoreValueBytesMax}) {
    const std::string value(size, 'v');
    const ZooKeeperValue split = to_zookeeper_value(value);
    for (const std::string& part : split.parts) EXPECT_LE(part.size(), kZooKeeperNodeBytesMax);
    EXPECT_EQ(zookeeper_value(split.node, split.parts), value) << size;
  }
}

TEST(ZooKeeperValues, WithoutAllPartsAreNone) {
  ZooKeeperValue split = to_zookeeper_value(std::string(kStoreValueBytesMax, 'v'));
  split.parts.pop_back();
  EXPECT_EQ(zookeeper_value(split.node, split.parts), std::nullopt);
  EXPECT_EQ(zookeeper_value("", {}), std::nullopt);
  EXPECT_EQ(zookeeper_value("x", {}), std::nullopt);
  EXPECT_EQ(zookeeper_value("p0", {}), std::nullopt);
}

TEST(ZooKeeperJournal, ABatchComesBackAndAPartOfItDoesNot) {
  const std::vector<StoreRecord> batch = {put("role", "eng", every_byte()), erase("kv", ""),
                                          put("kv", "empty", "")};
  const std::string bytes = to_journal(batch);
  EXPECT_EQ(parse_journal(bytes), batch);
  for (size_t size = 1; size < bytes.size(); ++size) {
    const auto part = parse_journal(std::string_view(bytes).substr(0, size));
    // A cut between two records gives a shorter batch: only the journal's last node shows that it
    // is complete.
    EXPECT_TRUE(!part || part->size() < batch.size());
  }
}

TEST(ZooKeeperEpoch, IsOneLineThatComesBack) {
  const ZooKeeperEpoch epoch{.epoch = 3, .commits = 17, .writer = "9f86d081"};
  EXPECT_EQ(to_text(epoch), "epoch 3 commits 17 writer 9f86d081\n");
  EXPECT_EQ(parse_zookeeper_epoch(to_text(epoch)), epoch);
  for (const char* other : {"", "epoch 3", "epoch x commits 17 writer a\n",
                            "epoch -1 commits 17 writer a\n", "epoch 3 commits 17 writer a"}) {
    EXPECT_EQ(parse_zookeeper_epoch(other), std::nullopt) << other;
  }
}

TEST(ZooKeeperLeader, IsTwoLinesThatComeBack) {
  const MasterPlace place{.address = "/run/proffer/master.sock", .http_port = "127.0.0.1:5080"};
  EXPECT_EQ(parse_zookeeper_leader(to_zookeeper_leader(place)), place);
  EXPECT_EQ(parse_zookeeper_leader("one line\n"), std::nullopt);
}

}  // namespace
}  // namespace proffer::zookeeper_rows_test
