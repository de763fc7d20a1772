// The store whose disk the simulator controls.

#include "store/memory_store.h"

#include <gtest/gtest.h>

#include "tests/store/support.h"

namespace proffer::memory_store_test {
namespace {

using store_test::put;

// The leading master on `disk`.
struct Master {
  explicit Master(std::shared_ptr<MemoryDisk> disk) : store(std::move(disk)) {
    EXPECT_TRUE(store.begin_epoch());
  }
  void append(std::string key) {
    store.append({put("role", std::move(key), "1")}, [this](Result<void> result) {
      if (result) {
        ++acknowledged;
      } else {
        errors.push_back(result.error());
      }
    });
  }

  MemoryStore store;
  int acknowledged = 0;
  std::vector<Error> errors = {};
};

TEST(MemoryStore, NothingIsDurableBeforeTheFlush) {
  auto disk = std::make_shared<MemoryDisk>();
  Master master(disk);
  const MemoryDisk before = *disk;

  master.append("a");
  EXPECT_EQ(*disk, before);
  EXPECT_EQ(master.acknowledged, 0);

  master.store.flush();
  EXPECT_EQ(disk->rows.size(), 1U);
  EXPECT_EQ(master.acknowledged, 1);
}

TEST(MemoryStore, ACrashLosesWhatWasNotFlushedAndNothingElse) {
  auto disk = std::make_shared<MemoryDisk>();
  {
    Master master(disk);
    master.append("kept");
    master.store.flush();
    master.append("lost");
  }
  MemoryStore next(disk);
  ASSERT_TRUE(next.begin_epoch());
  EXPECT_EQ(next.load().value(), (std::vector<StoreRecord>{put("role", "kept", "1")}));
}

TEST(MemoryStore, AnOlderLeaderChangesNothingThatItsSuccessorHasSeen) {
  auto disk = std::make_shared<MemoryDisk>();
  Master older(disk);
  older.append("in time");
  older.store.flush();
  older.append("too late");

  Master newer(disk);
  const MemoryDisk seen = *disk;
  older.store.flush();
  older.append("later still");
  older.store.flush();

  EXPECT_EQ(*disk, seen);
  EXPECT_EQ(older.acknowledged, 1);
  ASSERT_EQ(older.errors.size(), 2U);
  EXPECT_EQ(older.errors[0].code(), ErrorCode::kFailedPrecondition);
  EXPECT_EQ(older.errors[1].code(), ErrorCode::kFailedPrecondition);
  newer.append("mine");
  newer.store.flush();
  EXPECT_EQ(newer.acknowledged, 1);
}

TEST(MemoryStore, AfterADiskErrorNothingIsWrittenAnyMore) {
  auto disk = std::make_shared<MemoryDisk>();
  Master master(disk);
  master.append("a");
  master.store.fail(Error::resource_exhausted("disk full"));
  master.store.flush();
  master.append("b");
  master.store.flush();

  EXPECT_TRUE(disk->rows.empty());
  EXPECT_EQ(master.errors, (std::vector<Error>{Error::resource_exhausted("disk full"),
                                               Error::resource_exhausted("disk full")}));
}

TEST(MemoryStore, ADiskCanBePutBackToAnEarlierMoment) {
  auto disk = std::make_shared<MemoryDisk>();
  Master master(disk);
  const MemoryDisk moment = *disk;
  master.append("a");
  master.store.flush();
  ASSERT_NE(*disk, moment);

  *disk = moment;
  EXPECT_TRUE(master.store.load().value().empty());
}

}  // namespace
}  // namespace proffer::memory_store_test
