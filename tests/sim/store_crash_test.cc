// The frameworks' store between a real driver and a real master. Connections are lost, and the
// master is killed at any time: before or after its records are durable, and before or after
// answers are sent. No acknowledged write is lost, and no operation with `expected` is done twice.

#include <deque>
#include <map>
#include <memory>
#include <set>

#include <gtest/gtest.h>

#include "common/prng.h"
#include "common/text.h"
#include "master/core/master.h"
#include "proto/codec/records.h"
#include "sdk/core/driver.h"
#include "sdk/store.h"

namespace proffer::sim::store_crash_test {
namespace {

class Pair {
 public:
  explicit Pair(uint64_t seed) : random_(seed) {
    begin_master();
    connect();
    count();
  }

  // --- events --------------------------------------------------------------------------------

  void happen() {
    const uint64_t what = random_.below(100);
    if (what < 2) return crash_master();
    if (what < 4) return disconnect();
    if (what < 8) return put();
    if (what < 40) return flush();
    deliver_one();
  }
  // Without further faults, runs until no message is in flight.
  void calm() {
    is_calm_ = true;
    for (int i = 0; i < 100'000; ++i) {
      flush();
      if (to_master_.empty() && to_driver_.empty()) {
        if (checked_) return;
        if (std::exchange(asked_last_, true)) {
          ADD_FAILURE() << "not all is answered";
          return;
        }
        check_at_the_end();
      }
      deliver_one();
    }
    ADD_FAILURE() << "it does not end";
  }

 private:
  using Answered = std::function<void(const proto::StoreResult&)>;

  // --- the author ------------------------------------------------------------------------------

  void store(std::vector<proto::StoreOperation> operations, Answered answered) {
    answers_[++requests_] = std::move(answered);
    drive(sdk::CommandGiven{
        proto::StoreRequest{.id = requests_, .operations = std::move(operations)}});
  }
  void is_new(uint64_t version) {
    EXPECT_TRUE(versions_.insert(version).second) << version << " is used twice";
  }

  // The value of a key is from the last sent put or erase, despite all repetitions.
  void put() {
    const std::string key = text("k", random_.below(3));
    if (random_.chance(1, 3)) {
      said_[key] = "";
      return store({sdk::erase(key)}, [](const proto::StoreResult& result) {
        ASSERT_FALSE(result.error.has_value()) << result.error->message;
      });
    }
    const std::string value = std::to_string(++values_);
    said_[key] = value;
    store({sdk::put(key, value)}, [this](const proto::StoreResult& result) {
      ASSERT_FALSE(result.error.has_value()) << result.error->message;
      is_new(result.outcomes[0].version);
    });
  }

  // A counter by compare-and-set. Its value contains the count and the writer, so that a writer
  // without an answer can find out by reading.
  void count() {
    store({sdk::get("counter")}, [this](const proto::StoreResult& read) {
      ASSERT_FALSE(read.error.has_value()) << read.error->message;
      const proto::StoreResult::Outcome& now = read.outcomes[0];
      if (!now.value.empty() && now.value == in_doubt_) ++counted_;
      in_doubt_.clear();
      if (is_calm_) return;
      const std::string next = std::to_string(counted_ + 1) + " " + std::to_string(++values_);
      store({sdk::put("counter", next, now.version)},
            [this, next](const proto::StoreResult& written) {
              if (!written.error) {
                ++counted_;
                is_new(written.outcomes[0].version);
              } else {
                EXPECT_EQ(written.error->code, ErrorCode::kUnavailable) << written.error->message;
                in_doubt_ = next;
                ++doubts_;
              }
              count();
            });
    });
  }

  void check_at_the_end() {
    store({sdk::get("counter"), sdk::get("k0"), sdk::get("k1"), sdk::get("k2")},
          [this](const proto::StoreResult& result) {
            ASSERT_EQ(result.outcomes.size(), 4u);
            if (counted_ > 0) {
              EXPECT_EQ(result.outcomes[0].value.substr(0, result.outcomes[0].value.find(' ')),
                        std::to_string(counted_));
            }
            for (size_t i = 0; i < 3; ++i) {
              EXPECT_EQ(result.outcomes[i + 1].value, said_[text("k", i)]);
            }
            checked_ = true;
          });
  }

  // --- the two cores -----------------------------------------------------------------------------

  void drive(const sdk::DriverEvent& event) {
    sdk::DriverOutbox out;
    driver_.handle(event, now_, out);
    for (const Violation& violation : driver_.violations()) ADD_FAILURE() << violation.what;
    for (sdk::DriverAction& action : out.actions) {
      if (auto* send = std::get_if<sdk::SendToMaster>(&action)) {
        to_master_.push_back(std::move(send->envelope));
      } else if (const auto* notify = std::get_if<sdk::Notify>(&action)) {
        const auto* result = std::get_if<proto::StoreResult>(&notify->notification);
        if (result != nullptr) told_.push_back(*result);
      } else {
        EXPECT_FALSE(std::holds_alternative<sdk::ResetMaster>(action));
      }
    }
    while (!told_.empty()) {
      const proto::StoreResult result = std::move(told_.front());
      told_.pop_front();
      const auto waiting = answers_.find(result.id);
      ASSERT_NE(waiting, answers_.end()) << "answered twice";
      const Answered answered = std::move(waiting->second);
      answers_.erase(waiting);
      answered(result);
    }
  }

  void tell_master(master::MasterEvent event) {
    Step step;
    master_->handle(std::move(event), now_, step.out);
    for (const Violation& violation : master_->violations()) ADD_FAILURE() << violation.what;
    steps_.push_back(std::move(step));
  }
  void flush() {
    while (!steps_.empty()) {
      make_durable(steps_.front());
      for (master::MasterAction& action : steps_.front().out.actions) {
        if (auto* send = std::get_if<master::Send>(&action); send && send->peer == peer_) {
          to_driver_.push_back(std::move(send->envelope));
        }
      }
      steps_.pop_front();
    }
  }
  struct Step {
    master::MasterOutbox out = {};
  };
  void make_durable(const Step& step) {
    for (const proto::RegistryWrite& write : step.out.records) {
      const std::string key = proto::table_of(write.row) + ":" + proto::key_of(write.row);
      if (write.erase) {
        durable_.erase(key);
      } else {
        durable_[key] = write.row;
      }
    }
  }

  void deliver_one() {
    now_ = now_ + milliseconds(1);
    if (!to_master_.empty() && (to_driver_.empty() || random_.chance(1, 2))) {
      proto::Envelope envelope = std::move(to_master_.front());
      to_master_.pop_front();
      tell_master(master::FrameReceived{peer_, std::move(envelope), by_});
    } else if (!to_driver_.empty()) {
      proto::Envelope envelope = std::move(to_driver_.front());
      to_driver_.pop_front();
      drive(sdk::MasterFrame{std::move(envelope)});
    }
  }

  void begin_master() {
    master::MasterSnapshot snapshot;
    for (const auto& [key, row] : durable_) snapshot.rows.push_back(row);
    master_ = std::make_unique<master::Master>(
        master::MasterOptions{.leader = LeaderEpoch(++lives_), .started_at = now_}, snapshot);
  }
  void connect() {
    peer_ = PeerId(++peers_);
    to_master_.clear();
    to_driver_.clear();
    drive(sdk::MasterConnected{});
  }
  void disconnect() {
    const PeerId lost = peer_;
    to_master_.clear();
    to_driver_.clear();
    drive(sdk::MasterDisconnected{"the network"});
    tell_master(master::PeerLost{lost});
    connect();
  }
  void crash_master() {
    // A random number of the steps that wait for the disk are already on it.
    for (size_t durable = random_.below(steps_.size() + 1); durable > 0; --durable) {
      make_durable(steps_.front());
      steps_.pop_front();
    }
    steps_.clear();
    begin_master();
    to_master_.clear();
    to_driver_.clear();
    drive(sdk::MasterDisconnected{"the master was killed"});
    connect();
  }

  Prng random_;
  Time now_ = Time::from_nanos(1'000'000'000'000);
  std::map<std::string, proto::RegistryRow> durable_;
  std::unique_ptr<master::Master> master_;
  std::deque<Step> steps_;  // not yet on disk, and not yet answered
  sdk::Driver driver_{{.name = "f", .secret = Secret("0123456789abcdef0123456789abcdef")}};
  std::deque<proto::Envelope> to_master_;
  std::deque<proto::Envelope> to_driver_;
  std::deque<proto::StoreResult> told_;
  PeerId peer_ = {};
  const PrincipalPtr by_ =
      std::make_shared<Principal>(Principal{.user = "root", .uid = 0, .groups = {0}});
  uint64_t peers_ = 0;
  uint64_t lives_ = 0;

  std::map<uint64_t, Answered> answers_;
  uint64_t requests_ = 0;
  uint64_t values_ = 0;
  std::set<uint64_t> versions_;
  std::map<std::string, std::string> said_;
  int64_t counted_ = 0;
  std::string in_doubt_;
  bool is_calm_ = false;
  bool asked_last_ = false;
  bool checked_ = false;

 public:
  int64_t doubts_ = 0;
  int64_t counted() const { return counted_; }
};

TEST(StoreCrash, NothingAcknowledgedIsLostAndNothingExpectedIsDoneTwice) {
  int64_t doubts = 0;
  int64_t counted = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(text("seed ", seed));
    Pair pair(seed);
    for (int i = 0; i < 500; ++i) pair.happen();
    pair.calm();
    doubts += pair.doubts_;
    counted += pair.counted();
    if (testing::Test::HasFailure()) return;
  }
  // The runs had enough unanswered requests to be meaningful.
  EXPECT_GT(doubts, 300);
  EXPECT_GT(counted, 3'000);
}

}  // namespace
}  // namespace proffer::sim::store_crash_test
