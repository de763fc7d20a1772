// The contract of every store, run on each engine.

#include <memory>
#include <numeric>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "common/limits.h"
#include "store/elected_at_once.h"
#include "store/memory_store.h"
#include "store/sqlite_store.h"
#include "store/zookeeper_leadership.h"
#include "tests/store/support.h"
#include "tests/store/zookeeper_support.h"

namespace proffer::store_contract_test {
namespace {

using store_test::erase;
using store_test::put;

// What a master gets at its election.
struct Gained {
  LeaderEpoch epoch = {};
  std::vector<StoreRecord> rows = {};
};

// One disk, and successive masters on it.
class Disk {
 public:
  virtual ~Disk() = default;
  // A master that is not elected yet.
  virtual std::unique_ptr<Leadership> open() = 0;
  // Lets time pass until `condition` holds.
  virtual void run_until(const std::function<bool()>& condition) = 0;
  // Another master begins an epoch while one leads.
  virtual void begin_later_epoch() = 0;
};

class InMemory final : public Disk {
 public:
  std::unique_ptr<Leadership> open() override {
    auto store = std::make_unique<MemoryStore>(disk_);
    store_ = store.get();
    return std::make_unique<ElectedAtOnce>(std::move(store));
  }
  void run_until(const std::function<bool()>& condition) override {
    while (!condition()) store_->flush();
  }
  void begin_later_epoch() override { ASSERT_TRUE(MemoryStore(disk_).begin_epoch()); }

 private:
  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  MemoryStore* store_ = nullptr;
};

class InSqlite final : public Disk {
 public:
  std::unique_ptr<Leadership> open() override {
    worker_.run();  // a commit in progress of the previous master holds the directory until then
    return std::make_unique<ElectedAtOnce>(
        SqliteStore::open(directory_.path(), worker_.run_off_loop()).value());
  }
  void run_until(const std::function<bool()>& condition) override {
    while (!condition()) ASSERT_TRUE(worker_.run_one());
  }
  // The lock of the directory keeps real masters apart.
  void begin_later_epoch() override {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open((directory_ / "registry.db").c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, "UPDATE leader SET epoch = epoch + 1", nullptr, nullptr, nullptr),
              SQLITE_OK);
    sqlite3_close(db);
  }

 private:
  store_test::TemporaryDirectory directory_;
  store_test::Worker worker_;
};

class InZooKeeper final : public Disk {
 public:
  std::unique_ptr<Leadership> open() override {
    return std::make_unique<ZooKeeperLeadership>(loop_, options_, store_test::next_writer());
  }
  void run_until(const std::function<bool()>& condition) override {
    store_test::run_until(loop_, condition);
  }
  void begin_later_epoch() override {
    ZooKeeperSession session(loop_, options_, {});
    ZooKeeperStore store(loop_, session, options_.root, store_test::next_writer());
    bool has_begun = false;
    store.take_over(
        [&](Result<ZooKeeperStore::TakenOver> taken) { has_begun = static_cast<bool>(taken); });
    run_until([&] { return has_begun; });
  }

 private:
  Loop loop_;
  ZooKeeperOptions options_ = store_test::fresh_zookeeper(store_test::shared_zookeeper());
};

class StoreContract : public testing::TestWithParam<std::string> {
 protected:
  StoreContract() {
    if (GetParam() == "memory") disk_ = std::make_unique<InMemory>();
    if (GetParam() == "sqlite") disk_ = std::make_unique<InSqlite>();
    if (GetParam() == "zookeeper") disk_ = std::make_unique<InZooKeeper>();
  }

  // Starts a new master on the same disk, after the old one has ended.
  void start() {
    leadership_.reset();
    leadership_ = disk_->open();
    gained_.reset();
    leadership_->campaign({}, {.gained =
                                   [this](LeaderEpoch epoch, std::vector<StoreRecord> rows) {
                                     gained_ = Gained{epoch, std::move(rows)};
                                   },
                               .lost = [](Error why) { ADD_FAILURE() << why.message(); }});
    disk_->run_until([this] { return gained_.has_value(); });
    ASSERT_TRUE(gained_);
  }
  Store& store() { return leadership_->store(); }
  void append(std::vector<StoreRecord> batch) {
    store().append(std::move(batch), [this](Result<void> result) {
      ASSERT_TRUE(result) << result.error().message();
      ++acknowledged_;
    });
  }
  // Runs until all appended batches are on the disk and acknowledged.
  void settle() {
    disk_->run_until([this] { return leadership_ == nullptr || store().pending() == 0; });
  }
  LeaderEpoch epoch() const { return gained_->epoch; }
  // The rows that the last started master found.
  const std::vector<StoreRecord>& rows() const { return gained_->rows; }

  std::unique_ptr<Disk> disk_;
  std::unique_ptr<Leadership> leadership_;
  std::optional<Gained> gained_;
  int acknowledged_ = 0;
};

TEST_P(StoreContract, ANewDiskIsEmptyAndItsFirstEpochIsOne) {
  start();
  EXPECT_EQ(epoch(), LeaderEpoch(1));
  EXPECT_TRUE(rows().empty());
}

TEST_P(StoreContract, WhatWasAcknowledgedIsThereForTheNextMaster) {
  start();
  append({put("role", "ads", "weight 2"), put("agent", "a1", "admitted")});
  append({put("agent", "a0", "admitted")});
  settle();
  EXPECT_EQ(acknowledged_, 2);

  start();
  EXPECT_EQ(epoch(), LeaderEpoch(2));
  EXPECT_EQ(rows(), (std::vector<StoreRecord>{put("agent", "a0", "admitted"),
                                              put("agent", "a1", "admitted"),
                                              put("role", "ads", "weight 2")}));
}

TEST_P(StoreContract, TheLastWordOnAKeyCountsWithinOneBatchAndAcrossBatches) {
  start();
  append({put("role", "ads", "1"), put("role", "ads", "2"), put("role", "gone", "1")});
  append({put("role", "ads", "3"), erase("role", "gone"), erase("role", "never was")});
  settle();

  start();
  EXPECT_EQ(rows(), (std::vector<StoreRecord>{put("role", "ads", "3")}));
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
  EXPECT_EQ(rows(), (std::vector<StoreRecord>{put("kv", "", std::string(1 << 20, 'x')),
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
  store().append({put("role", "a", "1")}, [&](Result<void>) {
    heard.push_back("first");
    store().append({put("role", "c", "1")}, say("from within the first"));
  });
  store().append({}, say("without records"));
  store().append({put("role", "b", "1")}, say("third"));
  EXPECT_TRUE(heard.empty());
  EXPECT_EQ(store().pending(), 3U);

  settle();
  EXPECT_EQ(heard, (std::vector<std::string>{"first", "without records", "third",
                                             "from within the first"}));
  EXPECT_EQ(store().pending(), 0U);
}

TEST_P(StoreContract, ADestroyedStoreCallsNobody) {
  start();
  bool called = false;
  store().append({put("role", "a", "1")}, [&called](Result<void>) { called = true; });
  leadership_.reset();
  start();
  settle();
  EXPECT_FALSE(called);
}

TEST_P(StoreContract, ACallbackMayDestroyTheStore) {
  start();
  int called = 0;
  store().append({put("role", "a", "1")}, [&](Result<void>) {
    ++called;
    leadership_.reset();
  });
  store().append({put("role", "b", "1")}, [&](Result<void>) { ++called; });
  settle();
  EXPECT_EQ(called, 1);
}

TEST_P(StoreContract, EachMasterLeadsInALaterEpoch) {
  for (uint64_t i = 1; i <= 4; ++i) {
    start();
    EXPECT_EQ(epoch(), LeaderEpoch(i));
  }
}

TEST_P(StoreContract, ADeposedLeaderWritesNothing) {
  start();
  append({put("role", "a", "1")});
  settle();
  disk_->begin_later_epoch();
  std::vector<ErrorCode> codes;
  const auto expect_failure = [&codes](const Result<void>& result) {
    ASSERT_FALSE(result);
    codes.push_back(result.error().code());
  };
  store().append({put("role", "a", "2")}, expect_failure);
  store().append({}, [](const Result<void>&) {});
  store().append({put("role", "b", "1")}, expect_failure);
  settle();
  EXPECT_EQ(codes, std::vector<ErrorCode>(2, ErrorCode::kFailedPrecondition));

  start();
  EXPECT_EQ(epoch(), LeaderEpoch(3));
  EXPECT_EQ(rows(), (std::vector<StoreRecord>{put("role", "a", "1")}));
}

// Each value fits into one transaction of every engine, or it does not, alone or with its batch.
TEST_P(StoreContract, LargeValuesAndLargeBatchesAreWrittenAsAWhole) {
  constexpr size_t kHalf = size_t{512} << 10;
  std::vector<StoreRecord> all;
  for (char c = 'a'; c <= 'h'; ++c) {
    all.push_back(put("kv", std::string(1, c), std::string(kHalf, c)));
  }
  all.push_back(put("kv", "largest", std::string(kStoreValueBytesMax, 'x')));
  start();
  append(all);
  append({put("kv", "largest", "small now"),
          put("kv", "other", std::string(kStoreValueBytesMax, 'y'))});
  settle();
  EXPECT_EQ(acknowledged_, 2);
  all.back() = put("kv", "largest", "small now");
  all.push_back(put("kv", "other", std::string(kStoreValueBytesMax, 'y')));

  start();
  EXPECT_EQ(rows(), all);
  append({put("kv", "largest", std::string(kHalf * 2, 'z')), erase("kv", "other")});
  for (char c = 'a'; c <= 'h'; ++c) append({erase("kv", std::string(1, c))});
  settle();

  start();
  EXPECT_EQ(rows(), (std::vector<StoreRecord>{put("kv", "largest", std::string(kHalf * 2, 'z'))}));
}

TEST_P(StoreContract, ThousandsOfRowsComeBackInOrder) {
  std::vector<int> numbers(3'000);
  std::iota(numbers.begin(), numbers.end(), 10'000);
  start();
  std::vector<StoreRecord> batch;
  for (const int number : numbers) {
    batch.push_back(put("agent", "agent-" + std::to_string(number), std::string(400, 'r')));
  }
  append(batch);                      // one batch of more than a megabyte
  for (const int number : numbers) {  // and many batches that share transactions
    append({put("task", "task-" + std::to_string(number), std::to_string(number))});
  }
  settle();
  EXPECT_EQ(acknowledged_, 3'001);
  for (const int number : numbers) {
    batch.push_back(put("task", "task-" + std::to_string(number), std::to_string(number)));
  }

  start();
  EXPECT_EQ(rows(), batch);
}

TEST_P(StoreContract, TooManyWaitingBatchesAreAFinalFailure) {
  start();
  size_t refused = 0;
  for (size_t i = 0; i < kStoreQueuedMax + kStoreGroupMax + 2; ++i) {
    store().append({put("role", "a", "1")}, [&](Result<void> result) {
      if (result) return;
      EXPECT_EQ(result.error().code(), ErrorCode::kResourceExhausted);
      ++refused;
    });
  }
  settle();
  EXPECT_GT(refused, 0u);
  store().append({put("role", "a", "2")}, [](Result<void> result) { EXPECT_FALSE(result); });
  settle();
  EXPECT_EQ(store().pending(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Engines, StoreContract, testing::Values("memory", "sqlite", "zookeeper"),
                         [](const auto& engine) { return engine.param; });

}  // namespace
}  // namespace proffer::store_contract_test
