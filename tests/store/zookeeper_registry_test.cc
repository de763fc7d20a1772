// `proffer registry` with a registry in ZooKeeper and a real server: it reads the result of a
// single commit, also while a leader writes, and makes changes only when no master leads.

#include "store/zookeeper_registry.h"

#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "store/zookeeper_leadership.h"
#include "tests/store/support.h"
#include "tests/store/zookeeper_support.h"

namespace proffer::zookeeper_registry_test {
namespace {

using store_test::put;
using testing::ElementsAre;
using testing::HasSubstr;
using Batch = std::vector<StoreRecord>;

class RegistryInZooKeeper : public testing::Test {
 protected:
  // Leads until the loop has no more work.
  void lead(const std::function<void(Store&, std::function<void()> done)>& work) {
    Loop loop;
    ZooKeeperLeadership leader(loop, options_, store_test::next_writer());
    bool is_done = false;
    leader.campaign({.address = "/run/leader.sock"},
                    {.gained =
                         [&](LeaderEpoch epoch, Batch rows) {
                           epoch_ = static_cast<int64_t>(epoch.value());
                           rows_ = std::move(rows);
                           work(leader.store(), [&] { is_done = true; });
                         },
                     .lost = [](Error why) { ADD_FAILURE() << why.message(); }});
    store_test::run_until(loop, [&] { return is_done; });
  }
  void write(Batch batch) {
    lead([&](Store& store, std::function<void()> done) {
      store.append(std::move(batch), [done = std::move(done)](const Result<void>& written) {
        EXPECT_TRUE(written) << written.error();
        done();
      });
    });
  }
  void look() {
    lead([](Store&, const std::function<void()>& done) { done(); });
  }
  // `count` commits in sequence, each of two rows with equal values.
  static void write_pairs(Store& store, int count, const std::function<void()>& done, int i = 1) {
    if (i > count) return done();
    store.append(
        {put("role", "a", text(i)), put("zone", "z", text(i))},
        [&store, count, done, i](const Result<void>&) { write_pairs(store, count, done, i + 1); });
  }
  static ZooKeeperRegistry::Edit answer(Result<Batch> batch) {
    return [batch = std::move(batch)](const Batch&) { return batch; };
  }

  ZooKeeperOptions options_ = store_test::fresh_zookeeper(store_test::shared_zookeeper());
  ZooKeeperRegistry registry_{options_};
  int64_t epoch_ = 0;  // the latest leader's epoch, and the rows that it found
  Batch rows_;
};

TEST_F(RegistryInZooKeeper, IsReadAsItsLeaderLeftIt) {
  const std::string large(size_t{900} << 10, 'x');
  write({put("role", "eng/ads", "1"), put("kv", "large", large)});
  const Result<RegistrySnapshot> found = registry_.read();
  ASSERT_TRUE(found) << found.error();
  EXPECT_THAT(found->records, ElementsAre(put("kv", "large", large), put("role", "eng/ads", "1")));
  EXPECT_EQ(found->progress.epoch, epoch_);
}

TEST_F(RegistryInZooKeeper, IsNotFoundWhereNoMasterWasAndReadingMakesNothing) {
  for (int i = 0; i < 2; ++i) {
    const Result<RegistrySnapshot> found = registry_.read();
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code(), ErrorCode::kNotFound);
  }
}

TEST_F(RegistryInZooKeeper, OfAnotherSecretIsRefused) {
  write({put("role", "a", "1")});
  options_.secret = "the secret of others";
  const ZooKeeperRegistry theirs(options_);
  for (const Result<RegistrySnapshot>& refused :
       {theirs.read(), theirs.change(1, answer(Batch{}))}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::kFailedPrecondition);
    EXPECT_THAT(refused.error().message(), HasSubstr("created with another secret"));
  }
}

TEST_F(RegistryInZooKeeper, OutOfReachIsSaidWhenThePatienceIsOver) {
  test::ZooKeeperServer server;
  options_.servers = server.address();
  server.kill();
  const ZooKeeperRegistry registry(options_, milliseconds(200));
  for (const Result<RegistrySnapshot>& refused :
       {registry.read(), registry.change(1, answer(Batch{}))}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::kUnavailable);
    EXPECT_THAT(refused.error().message(), HasSubstr("did not answer for 200ms"));
  }
}

// Rows that are larger than a transaction, at an unused path.
TEST_F(RegistryInZooKeeper, TakesAllRowsOrNoneAndTheNextLeaderIsAboveTheEpoch) {
  Batch rows;
  for (int i = 0; i < 40; ++i) rows.push_back(put("kv", text(100 + i), std::string(50'000, 'x')));
  const Result<RegistrySnapshot> changed = registry_.change(1'000'000, answer(rows));
  ASSERT_TRUE(changed) << changed.error();
  EXPECT_EQ(changed->progress.epoch, 1'000'000);
  EXPECT_EQ(changed->records, rows);
  look();
  EXPECT_EQ(epoch_, 1'000'001);
  EXPECT_EQ(rows_, rows);
  // A lower epoch has no effect.
  ASSERT_TRUE(registry_.change(7, answer(Batch{{.table = "kv", .key = "100"}})));
  look();
  EXPECT_EQ(epoch_, 1'000'003);
  EXPECT_EQ(rows_, Batch(rows.begin() + 1, rows.end()));
}

TEST_F(RegistryInZooKeeper, IsNotChangedByWhatAnEditRefusesNorByARowThatNoRegistryTakes) {
  write({put("role", "a", "1")});
  const std::vector<std::pair<Result<Batch>, const char*>> refusals = {
      {Error::already_exists("there is a registry"), "there is a registry"},
      {Batch{put("ro/le", "b", "1")}, "a table of the registry"},
      {Batch{put("role", "b", std::string((size_t{1} << 20) + 1, 'x'))}, "a row has at most"}};
  for (const auto& [batch, words] : refusals) {
    const Result<RegistrySnapshot> refused = registry_.change(1, answer(batch));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr(words));
    EXPECT_THAT(registry_.read()->records, ElementsAre(put("role", "a", "1")));
  }
}

TEST_F(RegistryInZooKeeper, IsReadAndNotChangedWhileAMasterLeads) {
  lead([&](Store& store, std::function<void()> done) {
    store.append({put("role", "a", "1")}, [this, done = std::move(done)](const Result<void>&) {
      const Result<RegistrySnapshot> refused = registry_.change(9, answer(Batch{}));
      EXPECT_FALSE(refused);
      EXPECT_EQ(refused.error().code(), ErrorCode::kFailedPrecondition);
      EXPECT_THAT(refused.error().message(), HasSubstr("the master at '/run/leader.sock' leads"));
      EXPECT_EQ(registry_.read()->progress.epoch, epoch_);
      done();
    });
  });
}

// Such a command leads without an address of its own.
TEST_F(RegistryInZooKeeper, IsNotChangedWhileAnotherCommandChangesIt) {
  Loop loop;
  ZooKeeperLeadership other(loop, options_, store_test::next_writer());
  bool has_answered = false;
  other.campaign({}, {.gained =
                          [&](LeaderEpoch, const Batch&) {
                            const ZooKeeperRegistry registry(options_, milliseconds(500));
                            const Result<RegistrySnapshot> refused =
                                registry.change(9, answer(Batch{}));
                            ASSERT_FALSE(refused);
                            EXPECT_EQ(refused.error().code(), ErrorCode::kFailedPrecondition);
                            EXPECT_THAT(refused.error().message(),
                                        HasSubstr("another `proffer registry` command changes"));
                            has_answered = true;
                          },
                      .lost = [](Error why) { ADD_FAILURE() << why.message(); }});
  store_test::run_until(loop, [&] { return has_answered; });
  EXPECT_TRUE(registry_.change(9, answer(Batch{put("role", "a", "1")})));
}

TEST_F(RegistryInZooKeeper, IsOfOneMomentWhileALeaderWrites) {
  constexpr int kCommits = 300;
  write({put("role", "a", "0"), put("zone", "z", "0")});
  std::atomic<bool> is_over = false;
  std::thread leader([&] {
    lead([&](Store& store, const std::function<void()>& done) {
      write_pairs(store, kCommits, done);
    });
    is_over = true;
  });
  while (!is_over) {
    const Result<RegistrySnapshot> found = registry_.read();
    if (!found) {
      EXPECT_THAT(found.error().message(), HasSubstr("changed in each of"));
      continue;
    }
    EXPECT_EQ(found->records.at(0).value, found->records.at(1).value);
  }
  leader.join();
  const Result<RegistrySnapshot> last = registry_.read();
  ASSERT_TRUE(last) << last.error();
  EXPECT_THAT(last->records,
              ElementsAre(put("role", "a", text(kCommits)), put("zone", "z", text(kCommits))));
}

}  // namespace
}  // namespace proffer::zookeeper_registry_test
