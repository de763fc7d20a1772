// Each request of a leader fails once, in each way: acknowledged writes are there, no write is
// there twice or partially, and the leader continues or reports why not.

#include <map>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "store/zookeeper_leadership.h"
#include "tests/store/support.h"
#include "tests/store/zookeeper_support.h"
#include "tests/support/zookeeper_proxy.h"

namespace proffer::zookeeper_faults_test {
namespace {

using store_test::erase;
using store_test::put;
using store_test::run_until;
using test::ZooKeeperFault;
using test::ZooKeeperProxy;
using Kind = ZooKeeperFault::Kind;

// A leader whose requests pass a proxy: three batches, the last one larger than a transaction. Then
// its successor, which connects to the server directly.
class Life {
 public:
  Life(Loop& loop, Duration session_timeout, ZooKeeperFault fault, int number)
      : loop_(loop), number_(number), proxy_(options_.servers, fault, number) {
    options_.session_timeout = session_timeout;
    batches_ = {{put("role", "a", "1"), put("role", "b", "1")},
                {erase("role", "a"), put("role", "b", "2")},
                {put("kv", "large", std::string(size_t{900} << 10, 'x')), put("role", "c", "1")}};
    ZooKeeperOptions by_proxy = options_;
    by_proxy.servers = proxy_.address();
    leader_ = std::make_unique<ZooKeeperLeadership>(loop_, by_proxy, store_test::next_writer());
    leader_->campaign(
        {.address = "/run/first.sock"},
        {.gained = [this](LeaderEpoch, std::vector<StoreRecord>) { append(0, batches_.size()); },
         .lost = [this](Error why) { lost_ = std::move(why); }});
  }

  bool is_over() const { return lost_ || acknowledged_ == batches_.size(); }

  // The leader ends, and the next one is elected and writes.
  void succeed() {
    leader_.reset();
    leader_ = std::make_unique<ZooKeeperLeadership>(loop_, options_, store_test::next_writer());
    leader_->campaign({.address = "/run/next.sock"},
                      {.gained =
                           [this](LeaderEpoch epoch, std::vector<StoreRecord> rows) {
                             next_epoch_ = epoch;
                             found_ = std::move(rows);
                             leader_->store().append({put("role", "d", "1")},
                                                     [this](const Result<void>& done) {
                                                       has_written_ = static_cast<bool>(done);
                                                     });
                           },
                       .lost = [](Error why) { ADD_FAILURE() << why.message(); }});
  }
  bool has_succeeded() const { return has_written_; }

  // The expected rows after `count` batches.
  std::vector<StoreRecord> after(size_t count) const {
    std::map<std::pair<std::string, std::string>, StoreRecord> rows;
    for (size_t i = 0; i < count; ++i) {
      for (const StoreRecord& record : batches_[i]) {
        if (record.value) {
          rows[{record.table, record.key}] = record;
        } else {
          rows.erase({record.table, record.key});
        }
      }
    }
    std::vector<StoreRecord> all;
    for (const auto& [key, row] : rows) all.push_back(row);
    return all;
  }

  // Acknowledged batches are there. A batch whose answer was lost is there completely or not at
  // all.
  bool has_found_what_was_acknowledged() const {
    return found_ == after(acknowledged_) ||
           (acknowledged_ < batches_.size() && found_ == after(acknowledged_ + 1));
  }

  int number() const { return number_; }
  int requests() const { return proxy_.requests(); }
  const std::optional<Error>& lost() const { return lost_; }
  size_t acknowledged() const { return acknowledged_; }
  size_t batches() const { return batches_.size(); }
  const std::vector<StoreRecord>& found() const { return found_; }
  LeaderEpoch next_epoch() const { return next_epoch_; }

 private:
  void append(size_t from, size_t to) {
    if (from == to) return;
    leader_->store().append(batches_[from], [this, from, to](const Result<void>& done) {
      if (!done) return;
      ++acknowledged_;
      append(from + 1, to);
    });
  }

  Loop& loop_;
  const int number_;
  ZooKeeperOptions options_ = store_test::fresh_zookeeper(store_test::shared_zookeeper());
  ZooKeeperProxy proxy_;
  std::vector<std::vector<StoreRecord>> batches_;
  std::unique_ptr<ZooKeeperLeadership> leader_;
  std::optional<Error> lost_;
  size_t acknowledged_ = 0;
  std::vector<StoreRecord> found_;
  LeaderEpoch next_epoch_;
  bool has_written_ = false;
};

using Lives = std::vector<std::unique_ptr<Life>>;

// One run for each request that fails. All run at the same time.
Lives each_request_fails(Loop& loop, Duration session_timeout, ZooKeeperFault fault) {
  const auto all = [](const Lives& lives, bool (Life::*holds)() const) {
    for (const auto& life : lives) {
      if (!((*life).*holds)()) return false;
    }
    return true;
  };
  Lives lives;
  lives.push_back(std::make_unique<Life>(loop, seconds(60), ZooKeeperFault{}, 0));
  run_until(loop, [&] { return all(lives, &Life::is_over); });
  const int requests = lives[0]->requests();
  EXPECT_GE(requests, 18);  // the election, three batches and a journal
  for (int number = 1; number <= requests; ++number) {
    lives.push_back(std::make_unique<Life>(loop, session_timeout, fault, number));
  }
  run_until(loop, [&] { return all(lives, &Life::is_over); });
  for (const auto& life : lives) life->succeed();
  run_until(loop, [&] { return all(lives, &Life::has_succeeded); });
  return lives;
}

class EachRequest : public testing::TestWithParam<bool> {
 protected:
  Loop loop_;
};

TEST_P(EachRequest, WhoseConnectionIsLostIsMadeOnceAndTheLeaderGoesOn) {
  const Lives lives = each_request_fails(loop_, seconds(20) * test::slowdown(),
                                         {.kind = Kind::kCut, .is_carried_out = GetParam()});
  for (const auto& life : lives) {
    SCOPED_TRACE(text("request ", life->number()));
    EXPECT_FALSE(life->lost()) << life->lost()->message();
    EXPECT_EQ(life->acknowledged(), life->batches());
    EXPECT_EQ(life->found(), life->after(life->batches()));
    EXPECT_EQ(life->next_epoch(), LeaderEpoch(2));
  }
}

// The client gives the connection up after two thirds of the session timeout; on a fast machine,
// the next connection keeps the session.
TEST_P(EachRequest, ThatIsNotAnsweredInTimeIsMadeOnceOrTheLeadIsLost) {
  const Lives lives = each_request_fails(loop_, milliseconds(1'500) * test::slowdown(),
                                         {.kind = Kind::kSilence, .is_carried_out = GetParam()});
  for (const auto& life : lives) {
    SCOPED_TRACE(text("request ", life->number()));
    if (life->lost()) {
      EXPECT_EQ(life->lost()->code(), ErrorCode::kUnavailable);
    }
    EXPECT_TRUE(life->has_found_what_was_acknowledged());
    EXPECT_GT(life->next_epoch(), LeaderEpoch(1));
  }
}

// A leader ends with the reason. A master that does not lead yet starts another session.
TEST_P(EachRequest, ExpiredSessionEndsTheLeadAndLosesNoAcknowledgedWrite) {
  const Duration timeout = milliseconds(500);
  const Lives lives = each_request_fails(
      loop_, timeout,
      {.kind = Kind::kExpiry, .is_carried_out = GetParam(), .lasting = timeout * 4});
  int lost = 0;
  for (const auto& life : lives) {
    SCOPED_TRACE(text("request ", life->number()));
    if (life->lost()) {
      EXPECT_EQ(life->lost()->code(), ErrorCode::kUnavailable);
    }
    lost += life->lost() ? 1 : 0;
    EXPECT_TRUE(life->has_found_what_was_acknowledged());
  }
  EXPECT_GT(lost, 0);
}

INSTANTIATE_TEST_SUITE_P(Faults, EachRequest, testing::Bool(), [](const auto& is_carried_out) {
  return is_carried_out.param ? "CarriedOut" : "NotCarriedOut";
});

}  // namespace
}  // namespace proffer::zookeeper_faults_test
