#include "proto/codec/records.h"

#include <gtest/gtest.h>

namespace proffer::proto::records_test {
namespace {

const Secret kSecret(std::string(32, '0'));

TEST(Records, ARowKnowsItsTableAndKey) {
  EXPECT_EQ(table_of(FrameworkRecord{.framework = FrameworkId("f-1-2")}), "frameworks");
  EXPECT_EQ(key_of(FrameworkRecord{.framework = FrameworkId("f-1-2")}), "f-1-2");
  EXPECT_EQ(table_of(AgentRecord{.agent = AgentId("a1")}), "agents");
  EXPECT_EQ(key_of(AgentRecord{.agent = AgentId("a1")}), "a1");
  EXPECT_EQ(table_of(RoleRecord{.role = RoleName("eng/ads")}), "roles");
  EXPECT_EQ(key_of(RoleRecord{.role = RoleName("eng/ads")}), "eng/ads");
  const ReservationRecord part{.agent = AgentId("a1"), .role = RoleName("eng/ads")};
  EXPECT_EQ(table_of(part), "reservations");
  EXPECT_EQ(key_of(part), "a1/eng/ads");
  const KnownKey key{.key = PublicKey(std::string(kPublicKeyBytes, 'k')), .name = "a1"};
  EXPECT_EQ(table_of(key), "keys");
  EXPECT_EQ(key_of(key), std::string(kPublicKeyBytes, 'k'));
  const SecretRecord secret{.owner = "ada", .name = "db"};
  EXPECT_EQ(table_of(secret), "secrets");
  EXPECT_EQ(key_of(secret), "ada/db");
  const StoreRecord entry{.framework = FrameworkId("f-1-2"), .key = "apps/web"};
  EXPECT_EQ(table_of(entry), "store");
  EXPECT_EQ(key_of(entry), "f-1-2/apps/web");
}

TEST(Records, ARowUnderAnotherTableOrKeyIsCorrupt) {
  const std::string bytes = encode_row(AgentRecord{.agent = AgentId("a1"), .secret = kSecret});
  EXPECT_TRUE(decode_row("agents", "a1", bytes));
  for (const auto& [table, key] : {std::pair("agents", "a2"), std::pair("frameworks", "a1")}) {
    const Result<RegistryRow> row = decode_row(table, key, bytes);
    ASSERT_FALSE(row);
    EXPECT_EQ(row.error().code(), ErrorCode::kCorruption);
    EXPECT_NE(row.error().message().find("'a1' of 'agents'"), std::string::npos)
        << row.error().message();
  }
}

TEST(Records, DamagedBytesAreCorrupt) {
  const std::string good = encode_record(ExecutorRecord{
      .framework = FrameworkId("f"), .executor = ExecutorId("e"), .token = kSecret, .pid = 17});
  ASSERT_TRUE(decode_record(good));
  for (const std::string& bytes : {std::string(), good.substr(8), good.substr(0, good.size() - 8),
                                   good + "12345678", std::string(64, '\xFF')}) {
    const Result<CheckpointRecord> record = decode_record(bytes);
    ASSERT_FALSE(record);
    EXPECT_EQ(record.error().code(), ErrorCode::kCorruption);
    EXPECT_EQ(record.error().message().find("checkpoint record: "), 0u);
  }
}

TEST(Records, ValuesOutOfBoundsAreCorrupt) {
  const std::string bytes =
      encode_row(RoleRecord{.role = RoleName("r"), .settings = {.weight = 0}});
  const Result<RegistryRow> row = decode_row("roles", "r", bytes);
  ASSERT_FALSE(row);
  EXPECT_EQ(row.error().code(), ErrorCode::kCorruption);

  const Result<CheckpointRecord> record = decode_record(encode_record(ExecutorRecord{
      .framework = FrameworkId("f"), .executor = ExecutorId("e"), .token = kSecret, .pid = -1}));
  ASSERT_FALSE(record);
  EXPECT_EQ(record.error().code(), ErrorCode::kCorruption);
}

TEST(Records, ALargeTaskIsARecord) {
  TaskRecord task{.framework = FrameworkId("f"),
                  .spec = {.id = TaskId("t"), .data = std::string(kPayloadBytesMax, 'x')},
                  .executor = ExecutorId("e")};
  const Result<CheckpointRecord> record = decode_record(encode_record(task));
  ASSERT_TRUE(record) << record.error().message();
  EXPECT_EQ(*record, CheckpointRecord(task));
}

}  // namespace
}  // namespace proffer::proto::records_test
