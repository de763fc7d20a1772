// Errors of a call that reaches no master.

#include "sdk/shell/master_call.h"

#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/router.h"
#include "tests/net/peers.h"
#include "tests/net/support.h"

namespace proffer::sdk {
namespace {

using testing::HasSubstr;
using testing::Not;

Error error_of(const Masters& masters, const KeyPair& own, const PublicKey& server) {
  const Result<MasterReply> answer = call_master(masters, ClientKeys{.own = own, .server = server},
                                                 "status", "", milliseconds(500));
  EXPECT_FALSE(answer);
  return answer ? Error::internal("it was answered") : answer.error();
}

// Its loop runs in a thread of its own, like a master's.
TEST(MasterCall, SpeaksOfTheUsersKeyIfTheMasterRefusedIt) {
  const KeyPair master = make_key_pair();
  std::promise<std::string> serves;
  std::promise<void> is_over;
  std::thread thread([&] {
    Loop loop;
    net_test::Server<Router> server(
        loop, "tcp://127.0.0.1:0",
        Router::Options{.keys = Router::Keys{
                            .own = master, .may_connect = [](const PublicKey&) { return false; }}});
    serves.set_value(server.socket->endpoint());
    std::future<void> over = is_over.get_future();
    net_test::run_until(
        loop, [&] { return over.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
  });
  const std::string endpoint = serves.get_future().get();
  const Result<Masters> masters = parse_masters("master", endpoint.substr(endpoint.find("//") + 2));
  ASSERT_TRUE(masters);
  const Error error = error_of(*masters, make_key_pair(), master.public_key);
  is_over.set_value();
  thread.join();
  EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
  EXPECT_THAT(error.message(), HasSubstr("refuses this key"));
  EXPECT_THAT(error.hint(), HasSubstr("whether this user's key is known"));
}

// As during a failover, or when the machine is off.
TEST(MasterCall, SpeaksOfNoKeyIfNoMasterAnswers) {
  const KeyPair own = make_key_pair();
  for (const char* place : {"127.0.0.1:1", "192.0.2.7:5050"}) {
    const Error error = error_of(*parse_masters("master", place), own, make_key_pair().public_key);
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable) << place;
    EXPECT_THAT(error.hint(), Not(HasSubstr("key"))) << place;
    EXPECT_NE(error.hint(), "") << place;
  }
}

}  // namespace
}  // namespace proffer::sdk
