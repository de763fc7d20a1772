// Texts of addresses, and the waits before retries.

#include "net/address.h"

#include <set>

#include <gtest/gtest.h>

#include "net/backoff.h"

namespace proffer::address_test {
namespace {

TEST(Address, IsReadAndPrinted) {
  const struct {
    std::string text;
    Address address;
  } rows[] = {
      {"127.0.0.1:5050", {"127.0.0.1", 5050}}, {"master.example:80", {"master.example", 80}},
      {"localhost:0", {"localhost", 0}},       {"[::1]:5050", {"::1", 5050}},
      {"[fe80::1]:65535", {"fe80::1", 65535}},
  };
  for (const auto& row : rows) {
    const Result<Address> parsed = parse_address("--master", row.text);
    ASSERT_TRUE(parsed) << row.text << ": " << parsed.error().message();
    EXPECT_EQ(*parsed, row.address) << row.text;
    EXPECT_EQ(to_text(*parsed), row.text);
  }
}

TEST(Address, MayLeaveOutThePortWhereThereIsADefault) {
  EXPECT_EQ(*parse_address("--master", "host", 5050), (Address{"host", 5050}));
  EXPECT_EQ(*parse_address("--master", "[::1]", 5050), (Address{"::1", 5050}));
  EXPECT_FALSE(parse_address("--master", "host"));
}

TEST(Address, SaysWhatIsWrongAndWhatIsAllowed) {
  for (const std::string text :
       {"", ":", ":5050", "host:", "host:port", "host:65536", "host:-1", "a b:1", "::1:5050",
        "[::1", "[::1]5050", "[host]:1", "http://host:1", "host:1:2", "host:5050 x"}) {
    const Result<Address> parsed = parse_address("--master", text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(parsed.error().message().find("--master"), std::string::npos) << text;
  }
}

TEST(Address, OfAMasterMayBeASocket) {
  for (const std::string path : {"/run/proffer/master.sock", "./m.sock", "dir/with:colon"}) {
    const Result<Address> parsed = parse_socket_or_address("--master", path, 5050);
    ASSERT_TRUE(parsed) << path;
    EXPECT_EQ(*parsed, Address{.socket = path});
    EXPECT_EQ(to_text(*parsed), path);
  }
  EXPECT_EQ(*parse_socket_or_address("--master", "host", 5050), (Address{"host", 5050}));
  const Result<Address> long_one =
      parse_socket_or_address("--master", "/" + std::string(108, 'x'), 5050);
  ASSERT_FALSE(long_one);
  EXPECT_NE(long_one.error().message().find("107 bytes"), std::string::npos);
}

TEST(Address, MakesEndpoints) {
  EXPECT_EQ(zmq_endpoint({"::1", 5050}), "tcp://[::1]:5050");
  EXPECT_EQ(zmq_endpoint({.socket = "/run/m.sock"}), "ipc:///run/m.sock");
}

TEST(Address, KnowsLoopbackWithoutAskingAnybody) {
  for (const char* host : {"127.0.0.1", "127.8.9.10", "::1", "localhost", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(is_loopback(host)) << host;
  }
  for (const char* host : {"0.0.0.0", "128.0.0.1", "::", "192.168.0.1", "localhost.example", "",
                           "127.0.0.1.example", "*"}) {
    EXPECT_FALSE(is_loopback(host)) << host;
  }
}

TEST(Backoff, DoublesUpToItsMaximumWithJitter) {
  const BackoffLimits limits{.min = milliseconds(20), .max = seconds(2)};
  Backoff backoff(limits, 1);
  Duration full = limits.min;
  for (int i = 0; i < 100; ++i) {
    const Duration wait = backoff.next();
    EXPECT_GE(wait, full / 2) << i;
    EXPECT_LE(wait, full) << i;
    full = std::min(limits.max, full * 2);
  }
  backoff.reset();
  EXPECT_LE(backoff.next(), limits.min);
}

TEST(Backoff, WithinOneMachineAWaitIsAPartOfTheTimeAway) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Backoff backoff(kLocalBackoff, seed);
    Duration away = Duration();
    int attempts = 0;
    for (; away < minutes(10); ++attempts) {
      const Duration wait = backoff.next();
      EXPECT_LE(wait, std::min(kLocalBackoff.min + away / 2, seconds(1))) << to_text(away);
      away = away + wait;
    }
    EXPECT_LT(attempts, 1'000);  // in 10 minutes, with waits of at least half a second
  }
}

TEST(Backoff, SpreadsPeersAndRepeatsItselfForASeed) {
  std::set<Duration> waits;
  for (uint64_t seed = 0; seed < 100; ++seed) waits.insert(Backoff({}, seed).next());
  EXPECT_GT(waits.size(), 95u);
  EXPECT_EQ(Backoff({}, 7).next(), Backoff({}, 7).next());
}

}  // namespace
}  // namespace proffer::address_test
