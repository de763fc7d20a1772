// A Dealer with several masters, and the text form of their list. One master serves at a time.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/address.h"
#include "net/dealer.h"
#include "net/router.h"
#include "tests/net/peers.h"
#include "tests/net/support.h"

namespace proffer::masters_test {
namespace {

using net_test::run_for;
using net_test::run_until;
using testing::HasSubstr;
using Server = net_test::Server<Router>;
using Client = net_test::Client<Dealer>;

constexpr const char* kAnyPort = "tcp://127.0.0.1:0";

class SeveralMasters : public testing::Test {
 protected:
  Loop loop_;
};

// Waits between rounds that are long enough for a test to notice.
constexpr BackoffLimits kLong{.min = seconds(100), .max = seconds(100)};

TEST_F(SeveralMasters, ThatDoNotListenArePassedOverWithoutAWait) {
  const auto [first, first_port] = net_test::reserve_port();
  const auto [second, second_port] = net_test::reserve_port();
  Server server(loop_, kAnyPort);
  Client client(loop_,
                {.endpoint = text("tcp://127.0.0.1:", first_port),
                 .others = {text("tcp://127.0.0.1:", second_port), server.socket->endpoint()},
                 .backoff = kLong});
  ASSERT_TRUE(run_until(loop_, [&] { return !server.frames.empty(); }));
  EXPECT_EQ(client.socket->endpoint(), server.socket->endpoint());
  EXPECT_EQ(client.failures.size(), 2u);
}

TEST_F(SeveralMasters, TheOneThatAStandbyNamesIsNext) {
  Server standby(loop_, kAnyPort);
  Server another(loop_, kAnyPort);
  Server leader(loop_, kAnyPort);
  standby.echoes();
  Client client(loop_, {.endpoint = standby.socket->endpoint(),
                        .others = {another.socket->endpoint(), leader.socket->endpoint()},
                        .backoff = kLong});
  client.also = [&](const std::string&) {
    client.socket->redirect(leader.socket->endpoint(), "a standby");
  };
  ASSERT_TRUE(run_until(loop_, [&] { return !leader.frames.empty(); }));
  EXPECT_TRUE(another.frames.empty());
  EXPECT_EQ(client.disconnects, std::vector<std::string>{"a standby"});
}

TEST_F(SeveralMasters, AfterAStandbyThatNamesNoneOfThemTheNextIsTried) {
  Server standby(loop_, kAnyPort);
  Server leader(loop_, kAnyPort);
  standby.echoes();
  Client client(loop_, {.endpoint = standby.socket->endpoint(),
                        .others = {leader.socket->endpoint()},
                        .backoff = kLong});
  client.also = [&](const std::string&) {
    client.socket->redirect("tcp://127.0.0.1:1", "a standby");
  };
  ASSERT_TRUE(run_until(loop_, [&] { return !leader.frames.empty(); }));
}

TEST_F(SeveralMasters, ThatNameEachOtherDoNotKeepItBusy) {
  Server first(loop_, kAnyPort);
  Server second(loop_, kAnyPort);
  first.echoes();
  second.echoes();
  Client client(loop_, {.endpoint = first.socket->endpoint(),
                        .others = {second.socket->endpoint()},
                        .backoff = kLong});
  client.also = [&](const std::string&) {
    client.socket->redirect(client.socket->endpoint() == first.socket->endpoint()
                                ? second.socket->endpoint()
                                : first.socket->endpoint(),
                            "a standby");
  };
  ASSERT_TRUE(run_until(loop_, [&] { return client.disconnects.size() >= 2; }));
  run_for(loop_, milliseconds(300));
  EXPECT_LE(client.connected, 4);
}

TEST_F(SeveralMasters, WhenTheLeaderEndsTheNextOneIsTriedAtOnce) {
  auto leader = std::make_unique<Server>(loop_, kAnyPort);
  Server next(loop_, kAnyPort);
  Client client(loop_, {.endpoint = leader->socket->endpoint(),
                        .others = {next.socket->endpoint()},
                        .backoff = kLong});
  ASSERT_TRUE(run_until(loop_, [&] { return !leader->frames.empty(); }));
  leader.reset();
  ASSERT_TRUE(run_until(loop_, [&] { return !next.frames.empty(); }));
}

TEST(MastersList, IsWrittenWithCommasAndComesBack) {
  const auto masters =
      parse_masters("--master", "/run/a.sock,127.0.0.1:5051,[::1]:5052,localhost", 5050);
  ASSERT_TRUE(masters) << masters.error().message();
  EXPECT_EQ(to_text(*masters), "/run/a.sock,127.0.0.1:5051,[::1]:5052,localhost:5050");
  EXPECT_EQ(*parse_masters("--master", to_text(*masters)), *masters);
  EXPECT_EQ(zmq_endpoints(*masters)[0], "ipc:///run/a.sock");
}

TEST(MastersList, NamesNobodyTwiceAndNotTooMany) {
  const auto twice = parse_masters("--master", "/run/a.sock,/run/b.sock,/run/a.sock");
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().message(), HasSubstr("'/run/a.sock' twice"));
  std::string many = "/run/0.sock";
  for (size_t i = 1; i <= kMastersMax; ++i) many += text(",/run/", i, ".sock");
  EXPECT_THAT(parse_masters("--master", many).error().message(), HasSubstr("at most 16"));
  for (const char* wrong : {"", ",", "/run/a.sock,", "a:1,,b:2"}) {
    EXPECT_FALSE(parse_masters("--master", wrong)) << wrong;
  }
}

TEST(MastersList, WhatAStandbySaysOfTheLeaderIsAnEndpointOrNothing) {
  EXPECT_EQ(leader_endpoint("/run/a.sock"), "ipc:///run/a.sock");
  EXPECT_EQ(leader_endpoint("127.0.0.1:5050"), "tcp://127.0.0.1:5050");
  EXPECT_EQ(leader_endpoint(""), "");
  EXPECT_EQ(leader_endpoint("no address"), "");
}

}  // namespace
}  // namespace proffer::masters_test
