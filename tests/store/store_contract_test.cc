// What every store promises, told once and run on each engine.

#include <memory>

#include <gtest/gtest.h>

#include "store/memory_store.h"
#include "store/sqlite_store.h"
#include "tests/store/support.h"

namespace proffer::store_contract_test {
namespace {

using store_test::erase;
using store_test::put;

// One disk, and the masters that come and go on it.
class Disk {
 public:
  virtual ~Disk() = default;
  virtual std::unique_ptr<Store> open() = 0;
  // Lets everything that was appended reach the disk, and its callers hear of it.
  virtual void settle(std::unique_ptr<Store>& store) = 0;
};

class InMemory final : public Disk {
 public:
  std::unique_ptr<Store> open() override { return std::make_unique<MemoryStore>(disk_); }
  void settle(std::unique_ptr<Store>& store) override {
    while (store && store->pending() > 0) static_cast<MemoryStore&>(*store).flush();
  }

 private:
  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
};

class InSqlite final : public Disk {
 public:
  std::unique_ptr<Store> open() override {
    worker_.run();  // A commit that the master before had under way keeps the directory until then.
    return SqliteStore::open(directory_.path(), worker_.run_off_loop()).value();
  }
  void settle(std::unique_ptr<Store>&) override { worker_.run(); }

 private:
  store_test::TemporaryDirectory directory_;
  store_test::Worker worker_;
};

class StoreContract : public testing::TestWithParam<std::string> {
 protected:
  StoreContract() {
    if (GetParam() == "memory") disk_ = std::make_unique<InMemory>();
    if (GetParam() == "sqlite") disk_ = std::make_unique<InSqlite>();
  }

  // A new master on the same disk, once the one before is gone.
  void start() {
    store_.reset();
    store_ = disk_->open();
    epoch_ = store_->begin_epoch().value();
  }
  void append(std::vector<StoreRecord> batch) {
    store_->append(std::move(batch), [this](Result<void> result) {
      ASSERT_TRUE(result) << result.error().message();
      ++acknowledged_;
    });
  }
  void settle() { disk_->settle(store_); }
  std::vector<StoreRecord> load() { return store_->load().value(); }

  std::unique_ptr<Disk> disk_;
  std::unique_ptr<Store> store_;
  LeaderEpoch epoch_;
  int acknowledged_ = 0;
};

TEST_P(StoreContract, ANewDiskIsEmptyAndItsFirstEpochIsOne) {
  start();
  EXPECT_EQ(epoch_, LeaderEpoch(1));
  EXPECT_TRUE(load().empty());
}

TEST_P(StoreContract, WhatWasAcknowledgedIsThereForTheNextMaster) {
  start();
  append({put("role", "ads", "weight 2"), put("agent", "a1", "admitted")});
  append({put("agent", "a0", "admitted")});
  settle();
  EXPECT_EQ(acknowledged_, 2);

  start();
  EXPECT_EQ(epoch_, LeaderEpoch(2));
  EXPECT_EQ(load(), (std::vector<StoreRecord>{put("agent", "a0", "admitted"),
                                              put("agent", "a1", "admitted"),
                                              put("role", "ads", "weight 2")}));
}

TEST_P(StoreContract, TheLastWordOnAKeyCountsWithinOneBatchAndAcrossBatches) {
  start();
  append({put("role", "ads", "1"), put("role", "ads", "2"), put("role", "gone", "1")});
  append({put("role", "ads", "3"), erase("role", "gone"), erase("role", "never was")});
  settle();

  start();
  EXPECT_EQ(load(), (std::vector<StoreRecord>{put("role", "ads", "3")}));
}

TEST_P(StoreContract, KeysAndValuesAreKeptByteForByte) {
  const std::string every_byte = [] {
    std::string out;
    for (int byte = 0; byte < 256; ++byte) out += static_cast<char>(byte);
    return out;
  }();
  start();
  append({put("kv", "empty", ""), put("kv", "a'b\"c;--é", every_byte),
          put("kv", "", std::string(1 << 20, 'x'))});
  settle();

  start();
  EXPECT_EQ(load(), (std::vector<StoreRecord>{put("kv", "", std::string(1 << 20, 'x')),
                                              put("kv", "a'b\"c;--é", every_byte),
                                              put("kv", "empty", "")}));
}

TEST_P(StoreContract, CallersHearInTheOrderOfTheirAppendsAndNeverFromWithinThem) {
  start();
  std::vector<std::string> heard;
  const auto say = [&heard](std::string what) {
    return [&heard, what](Result<void> result) {
      EXPECT_TRUE(result);
      heard.push_back(what);
    };
  };
  store_->append({put("role", "a", "1")}, [&](Result<void>) {
    heard.push_back("first");
    store_->append({put("role", "c", "1")}, say("from within the first"));
  });
  store_->append({}, say("without records"));
  store_->append({put("role", "b", "1")}, say("third"));
  EXPECT_TRUE(heard.empty());
  EXPECT_EQ(store_->pending(), 3U);

  settle();
  EXPECT_EQ(heard, (std::vector<std::string>{"first", "without records", "third",
                                             "from within the first"}));
  EXPECT_EQ(store_->pending(), 0U);
}

TEST_P(StoreContract, ADestroyedStoreCallsNobody) {
  start();
  bool called = false;
  store_->append({put("role", "a", "1")}, [&called](Result<void>) { called = true; });
  store_.reset();
  start();
  settle();
  EXPECT_FALSE(called);
}

TEST_P(StoreContract, ACallbackMayDestroyTheStore) {
  start();
  int called = 0;
  store_->append({put("role", "a", "1")}, [&](Result<void>) {
    ++called;
    store_.reset();
  });
  store_->append({put("role", "b", "1")}, [&](Result<void>) { ++called; });
  settle();
  EXPECT_EQ(called, 1);
}

INSTANTIATE_TEST_SUITE_P(Engines, StoreContract, testing::Values("memory", "sqlite"),
                         [](const auto& engine) { return engine.param; });

}  // namespace
}  // namespace proffer::store_contract_test
