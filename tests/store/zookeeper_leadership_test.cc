// The election and the end of a lead, with a real server that is stopped and started.

#include "store/zookeeper_leadership.h"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/zookeeper_rows.h"
#include "tests/store/support.h"
#include "tests/store/zookeeper_support.h"

namespace proffer::zookeeper_leadership_test {
namespace {

using store_test::put;
using testing::HasSubstr;
using Kind = ZooKeeperSession::Write::Kind;

class Election : public testing::Test {
 protected:
  // One master and its callbacks.
  struct Master {
    std::unique_ptr<Leadership> leadership = {};
    LeaderEpoch epoch = {};
    std::vector<StoreRecord> rows = {};
    std::optional<MasterPlace> follows = {};
    std::optional<Error> lost = {};
    bool leads() const { return static_cast<bool>(epoch) && !lost; }
  };

  std::unique_ptr<Master> start(const std::string& address, const ZooKeeperOptions& options) {
    auto master = std::make_unique<Master>();
    Master* const m = master.get();
    m->leadership =
        std::make_unique<ZooKeeperLeadership>(loop_, options, store_test::next_writer());
    m->leadership->campaign(
        {.address = address, .http_port = "127.0.0.1:5080"},
        {.gained =
             [m](LeaderEpoch epoch, std::vector<StoreRecord> rows) {
               m->epoch = epoch;
               m->rows = std::move(rows);
             },
         .follows = [m](const std::optional<MasterPlace>& leader) { m->follows = leader; },
         .lost = [m](Error why) { m->lost = std::move(why); }});
    return master;
  }
  std::unique_ptr<Master> start(const std::string& address) { return start(address, options_); }
  void until(const std::function<bool()>& condition) { store_test::run_until(loop_, condition); }
  // Writes nodes that no master would write.
  void write(std::vector<ZooKeeperSession::Write> writes) {
    ZooKeeperSession session(loop_, options_, {});
    std::optional<ZooKeeperSession::Status> status;
    session.write(std::move(writes),
                  [&](const ZooKeeperSession::Written& written) { status = written.status; });
    until([&] { return status.has_value(); });
    EXPECT_EQ(status, ZooKeeperSession::Status::kOk);
  }

  Loop loop_;
  ZooKeeperOptions options_ = store_test::fresh_zookeeper(store_test::shared_zookeeper());
};

TEST_F(Election, AStandbyKnowsTheLeaderAndLeadsWhenItHasGone) {
  auto first = start("/run/first.sock");
  until([&] { return first->leads(); });
  auto second = start("/run/second.sock");
  until([&] { return second->follows.has_value(); });
  EXPECT_EQ(second->follows,
            (MasterPlace{.address = "/run/first.sock", .http_port = "127.0.0.1:5080"}));
  EXPECT_EQ(second->leadership->other_leader(), second->follows);
  EXPECT_FALSE(second->leadership->may_serve(loop_.now()));
  EXPECT_TRUE(first->leadership->may_serve(loop_.now()));

  first.reset();
  until([&] { return second->leads(); });
  EXPECT_EQ(second->epoch, LeaderEpoch(2));
  EXPECT_EQ(second->leadership->other_leader(), std::nullopt);
}

TEST_F(Election, MastersWithAnotherSecretAreToldSo) {
  auto first = start("/run/first.sock");
  until([&] { return first->leads(); });
  ZooKeeperOptions other = options_;
  other.secret = "another secret than theirs";
  auto second = start("/run/second.sock", other);
  until([&] { return second->lost.has_value(); });
  EXPECT_THAT(second->lost->message(), HasSubstr("created with another secret"));
  EXPECT_TRUE(first->leads());
}

TEST_F(Election, ABatchThatALeaderDidNotBringToItsEndIsBroughtThereByTheNext) {
  auto first = start("/run/first.sock");
  until([&] { return first->leads(); });
  bool is_written = false;
  first->leadership->store().append(
      {put("role", "old", "1"), put("role", "stays", "1")},
      [&](Result<void> done) { is_written = static_cast<bool>(done); });
  until([&] { return is_written; });
  first.reset();
  // As left by a leader that was killed after the journal was complete and the first rows were
  // written.
  const std::string large(size_t{900} << 10, 'x');
  const std::string bytes =
      to_journal({{.table = "role", .key = "old"}, put("kv", "large", large)});
  const std::string rows = options_.root + "/rows/";
  write({{.path = options_.root + "/journal/0", .data = bytes.substr(0, kZooKeeperNodeBytesMax)}});
  write({{.path = options_.root + "/journal/1", .data = bytes.substr(kZooKeeperNodeBytesMax)}});
  write({{.path = options_.root + "/journal/commit"},
         {.kind = Kind::kErase, .path = rows + zookeeper_path("role", "old")},
         {.path = rows + "kv"},
         {.path = rows + zookeeper_shard("kv", "large")},
         {.path = rows + zookeeper_path("kv", "large"), .data = "p2"}});

  auto second = start("/run/second.sock");
  until([&] { return second->leads(); });
  const std::vector<StoreRecord> all = {put("kv", "large", large), put("role", "stays", "1")};
  EXPECT_EQ(second->rows, all);
  second.reset();
  auto third = start("/run/third.sock");
  until([&] { return third->leads(); });
  EXPECT_EQ(third->rows, all);
}

TEST_F(Election, AJournalThatIsNotWholeMeansNothing) {
  auto first = start("/run/first.sock");
  until([&] { return first->leads(); });
  first.reset();
  write({{.path = options_.root + "/journal/0", .data = to_journal({put("role", "a", "1")})}});
  auto second = start("/run/second.sock");
  until([&] { return second->leads(); });
  EXPECT_TRUE(second->rows.empty());
}

TEST_F(Election, NodesThatNoMasterWroteAreNamedAndNotUsed) {
  auto first = start("/run/first.sock");
  until([&] { return first->leads(); });
  first.reset();
  const std::string rows = options_.root + "/rows/";
  write({{.path = rows + "role"},
         {.path = rows + zookeeper_shard("role", "eng")},
         {.path = rows + zookeeper_path("role", "eng"), .data = "p3"},
         {.path = rows + zookeeper_path("role", "eng") + "/0", .data = "one of three"}});
  auto second = start("/run/second.sock");
  until([&] { return second->lost.has_value(); });
  EXPECT_EQ(second->lost->code(), ErrorCode::kCorruption);
  EXPECT_THAT(second->lost->message(), HasSubstr("'eng'"));
}

// An election on a server that can be stopped.
class Interrupted : public Election {
 protected:
  Interrupted() { options_ = store_test::fresh_zookeeper(server_); }
  test::ZooKeeperServer server_;
};

TEST_F(Interrupted, WhatWasUnderWayGoesOnAfterALostConnectionAndIsWrittenOnce) {
  options_.session_timeout = seconds(60);
  auto master = start("/run/first.sock");
  until([&] { return master->leads(); });
  int acknowledged = 0;
  const auto append = [&](int i) {
    master->leadership->store().append(
        {put("kv", std::to_string(i), "1")},
        [&](const Result<void>& done) { acknowledged += done ? 1 : 1'000; });
  };
  for (int i = 0; i < 20; ++i) append(i);
  until([&] { return acknowledged >= 1; });  // the next transaction is in progress
  for (int i = 20; i < 40; ++i) append(i);
  server_.kill();
  for (int i = 40; i < 60; ++i) append(i);
  server_.start();
  until([&] { return acknowledged >= 60; });
  EXPECT_EQ(acknowledged, 60);
  EXPECT_TRUE(master->leads());
  EXPECT_EQ(master->epoch, LeaderEpoch(1));
  master.reset();
  auto next = start("/run/next.sock");
  until([&] { return next->leads(); });
  EXPECT_EQ(next->rows.size(), 60u);
}

TEST_F(Interrupted, ALeaderStopsServingBeforeItsSessionCanHaveExpired) {
  options_.session_timeout = seconds(2);
  auto master = start("/run/first.sock");
  until([&] { return master->leads(); });
  server_.kill();
  const Time killed = loop_.now();
  until([&] { return !master->leadership->may_serve(loop_.now()); });
  EXPECT_LT(loop_.now() - killed, seconds(2));
  until([&] { return master->lost.has_value(); });
  EXPECT_EQ(master->lost->code(), ErrorCode::kUnavailable);
  EXPECT_THAT(master->lost->hint(), HasSubstr("restart this master"));
}

// A server that has lost the others answers reads for some seconds, and does not know that they let
// the session expire.
TEST_F(Election, ALeaderWhoseServerHasLostTheOthersStopsServing) {
  test::ZooKeeperEnsemble ensemble;
  test::ZooKeeperServer& server = ensemble.follower();
  options_ = store_test::fresh_zookeeper(server);
  options_.session_timeout = seconds(2) * test::slowdown();
  ZooKeeperOptions reads = options_;
  reads.session_timeout = seconds(60);
  ZooKeeperSession reader(loop_, reads, {});
  auto master = start("/run/first.sock");
  until([&] { return master->leads() && reader.is_connected(); });
  for (test::ZooKeeperServer* other : ensemble.others_than(server)) ::kill(other->pid(), SIGSTOP);
  until([&] { return master->lost.has_value(); });
  EXPECT_EQ(master->lost->code(), ErrorCode::kUnavailable);
  std::optional<ZooKeeperSession::Status> read;
  reader.get(options_.root + "/epoch",
             [&](const ZooKeeperSession::Node& node) { read = node.status; });
  until([&] { return read.has_value(); });
  EXPECT_EQ(read, ZooKeeperSession::Status::kOk);
  EXPECT_TRUE(reader.is_connected());
}

TEST_F(Interrupted, AStandbyKnowsTheLeaderAgainWhenItIsConnectedAgain) {
  options_.session_timeout = seconds(60);
  auto leader = start("/run/first.sock");
  until([&] { return leader->leads(); });
  auto standby = start("/run/second.sock");
  until([&] { return standby->follows.has_value(); });
  server_.kill();
  until([&] { return !standby->follows.has_value(); });
  server_.start();
  until([&] { return standby->follows.has_value(); });
  EXPECT_EQ(standby->follows->address, "/run/first.sock");
  EXPECT_TRUE(leader->leads());
}

TEST_F(Interrupted, AStandbyWaitsForTheServersAndLeadsWhenTheyAreBack) {
  server_.kill();
  auto master = start("/run/first.sock");
  bool is_later = false;
  Timer later(loop_, [&] { is_later = true; });
  later.arm(loop_.now() + milliseconds(300));
  until([&] { return is_later; });
  EXPECT_FALSE(master->lost);
  EXPECT_FALSE(master->leads());
  server_.start();
  until([&] { return master->leads(); });
}

}  // namespace
}  // namespace proffer::zookeeper_leadership_test
