// The framework's store and requests to the framework, in the author's API.

#include "sdk/store.h"

#include <gmock/gmock.h>

#include "common/text.h"
#include "sdk/core/relayed_requests.h"
#include "sdk/core/store_requests.h"
#include "tests/sdk/driver_world.h"

namespace proffer::sdk::store_test {
namespace {

proto::StoreRequest request_of(uint64_t id, std::vector<proto::StoreOperation> operations) {
  return {.id = id, .operations = std::move(operations)};
}

// The first key of each sent request.
std::vector<std::string> keys_sent(DriverWorld& w) {
  std::vector<std::string> keys;
  for (const proto::StoreRequest& request : w.sent<proto::StoreRequest>()) {
    keys.push_back(request.operations.front().key);
  }
  return keys;
}

// "7 ok" and "8 unavailable".
std::vector<std::string> results_told(DriverWorld& w) {
  std::vector<std::string> told;
  for (const proto::StoreResult& result : w.told<proto::StoreResult>()) {
    told.push_back(text(result.id, " ", result.error ? to_text(result.error->code) : "ok"));
  }
  return told;
}

using Texts = std::vector<std::string>;

TEST(StoreRequests, WaitForASessionAndAreAnsweredUnderTheAuthorsId) {
  DriverWorld w;
  w.want(request_of(7, {put("a", "1")}));
  EXPECT_TRUE(w.sent<proto::StoreRequest>().empty());
  w.subscribe();
  const auto sent = w.sent<proto::StoreRequest>();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].operations[0], put("a", "1"));
  w.hear(proto::StoreResult{.id = sent[0].id, .outcomes = {{.version = 5}}});
  const auto told = w.told<proto::StoreResult>();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].id, 7u);
  EXPECT_EQ(told[0].outcomes[0].version, 5u);
  // A repeated result is not reported again.
  w.hear(proto::StoreResult{.id = sent[0].id, .outcomes = {{.version = 5}}});
  EXPECT_TRUE(w.told<proto::StoreResult>().empty());
}

TEST(StoreRequests, AreSentAgainInOrderUnlessTheyExpectAVersion) {
  DriverWorld w;
  w.subscribe();
  w.want(request_of(1, {put("a", "1")}));
  w.want(request_of(2, {put("b", "1", 0)}));
  w.want(request_of(3, {get("c"), list("x")}));
  w.want(request_of(4, {erase("d", 4), put("e", "")}));
  EXPECT_EQ(keys_sent(w), (Texts{"a", "b", "c", "d"}));
  w.disconnect();
  EXPECT_EQ(results_told(w), (Texts{"2 unavailable", "4 unavailable"}));
  w.want(request_of(5, {put("f", "", 0)}));  // not sent yet, so it is not lost either
  w.subscribe(true);
  const auto sent = w.sent<proto::StoreRequest>();
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_EQ(sent[0].operations.front().key, "a");
  EXPECT_EQ(sent[1].operations.front().key, "c");
  EXPECT_EQ(sent[2].operations.front().key, "f");
  for (const proto::StoreRequest& one : sent) {
    proto::StoreResult result{.id = one.id};
    result.outcomes.resize(one.operations.size());
    w.hear(std::move(result));
  }
  EXPECT_EQ(results_told(w), (Texts{"1 ok", "3 ok", "5 ok"}));
}

TEST(StoreRequests, AreSentAFewAtATime) {
  DriverWorld w;
  w.subscribe();
  const size_t count = StoreRequests::kSentMax + 3;
  for (size_t i = 0; i < count; ++i) w.want(request_of(i, {get(text("k", i))}));
  const auto first = w.sent<proto::StoreRequest>();
  EXPECT_EQ(first.size(), StoreRequests::kSentMax);
  w.hear(proto::StoreResult{.id = first[0].id, .outcomes = {{}}});
  EXPECT_EQ(keys_sent(w), (Texts{text("k", StoreRequests::kSentMax)}));
}

TEST(StoreRequests, ThatCannotBeSentAreAnsweredAtOnceAndTheSessionGoesOn) {
  DriverWorld w;
  w.subscribe();
  const std::string large(kStoreEntryBytesMax, 'x');
  const proto::StoreRequest wrong[] = {
      request_of(1, {}),
      request_of(2, {put("no key", "")}),
      request_of(3, {put("", "")}),
      request_of(4, {list("what \x01")}),
      request_of(5, {put("a", large + "x")}),
      request_of(6, {put("a", large), put("b", large)}),
      request_of(7, std::vector<proto::StoreOperation>(kStoreOperationsMax + 1, get("a"))),
  };
  for (const proto::StoreRequest& request : wrong) w.want(request);
  EXPECT_EQ(
      results_told(w),
      (Texts{"1 invalid_argument", "2 invalid_argument", "3 invalid_argument", "4 invalid_argument",
             "5 resource_exhausted", "6 resource_exhausted", "7 invalid_argument"}));
  EXPECT_TRUE(w.sent<proto::StoreRequest>().empty());
  EXPECT_EQ(w.resets, 0);
}

TEST(StoreRequests, AreBoundedInNumberAndBytes) {
  DriverWorld w;
  for (size_t i = 0; i <= StoreRequests::kKeptMax; ++i) w.want(request_of(i, {get("a")}));
  EXPECT_EQ(results_told(w), (Texts{text(StoreRequests::kKeptMax, " resource_exhausted")}));

  DriverWorld v;
  const std::string value(kStoreEntryBytesMax - 10, 'x');
  const size_t fit = StoreRequests::kKeptBytesMax / (value.size() + 1);
  for (size_t i = 0; i <= fit; ++i) v.want(request_of(i, {put("a", value)}));
  EXPECT_EQ(results_told(v), (Texts{text(fit, " resource_exhausted")}));
}

TEST(StoreRequests, AnAnswerAboutOtherOperationsIsAnError) {
  DriverWorld w;
  w.subscribe();
  w.want(request_of(7, {get("a"), get("b")}));
  w.hear(proto::StoreResult{.id = w.sent<proto::StoreRequest>()[0].id, .outcomes = {{}}});
  EXPECT_EQ(results_told(w), (Texts{"7 internal"}));
}

TEST(StoreRequests, OfARefusedFrameworkAreAnswered) {
  DriverWorld w;
  w.want(request_of(7, {get("a")}));
  w.connect();
  w.hear(proto::ErrorMessage{
      .code = ErrorCode::kNotFound, .message = "no", .ends_session = true, .retry = false});
  EXPECT_EQ(results_told(w), (Texts{"7 unavailable"}));
  EXPECT_TRUE(w.is_done);
}

proto::FrameworkRequest relayed(uint64_t relay, const std::string& id) {
  return {.relay = relay, .id = id, .data = "please", .timeout = seconds(30)};
}

// "17 done" and "17 not_found".
std::vector<std::string> responses_sent(DriverWorld& w) {
  std::vector<std::string> sent;
  for (const proto::FrameworkResponse& response : w.sent<proto::FrameworkResponse>()) {
    sent.push_back(
        text(response.relay, " ",
             response.error ? std::string(to_text(response.error->code)) : response.data));
  }
  return sent;
}

TEST(Requests, AreToldAndAnswered) {
  DriverWorld w;
  w.subscribe();
  w.hear(relayed(17, "a"));
  const auto told = w.told<proto::FrameworkRequest>();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].data, "please");
  w.want(proto::FrameworkResponse{.relay = told[0].relay, .data = "done"});
  EXPECT_EQ(responses_sent(w), Texts{"17 done"});
  // A second answer is ignored.
  w.want(proto::FrameworkResponse{.relay = told[0].relay, .data = "again"});
  EXPECT_EQ(responses_sent(w), Texts{});
}

TEST(Requests, ThatAreRepeatedGetTheSameAnswerWithoutTroublingTheAuthor) {
  DriverWorld w;
  w.subscribe();
  w.hear(relayed(17, "a"));
  const auto told = w.told<proto::FrameworkRequest>();
  w.hear(relayed(18, "a"));
  EXPECT_TRUE(w.told<proto::FrameworkRequest>().empty());
  w.want(proto::FrameworkResponse{.relay = told[0].relay, .data = "done"});
  EXPECT_EQ(responses_sent(w), (Texts{"17 done", "18 done"}));
  w.hear(relayed(19, "a"));
  EXPECT_EQ(responses_sent(w), Texts{"19 done"});
  EXPECT_TRUE(w.told<proto::FrameworkRequest>().empty());
  w.hear(relayed(20, "b"));
  EXPECT_EQ(w.told<proto::FrameworkRequest>().size(), 1u);
}

TEST(Requests, OfALostSessionAreAnsweredWhenTheirCallerTriesAgain) {
  DriverWorld w;
  w.subscribe();
  w.hear(relayed(17, "a"));
  w.hear(relayed(18, "b"));
  const auto told = w.told<proto::FrameworkRequest>();
  w.disconnect();
  w.want(proto::FrameworkResponse{.relay = told[0].relay, .data = "done"});
  EXPECT_EQ(responses_sent(w), Texts{});
  w.subscribe(true);
  w.want(proto::FrameworkResponse{.relay = told[1].relay, .data = "done too"});
  EXPECT_EQ(responses_sent(w), Texts{});
  // The restarted master may use the same numbers again.
  w.hear(relayed(17, "b"));
  w.hear(relayed(18, "a"));
  EXPECT_EQ(responses_sent(w), (Texts{"17 done too", "18 done"}));
  EXPECT_TRUE(w.told<proto::FrameworkRequest>().empty());
}

TEST(Requests, ThatCameTooEarlyAreTriedAgain) {
  DriverWorld w;
  w.subscribe();
  w.hear(relayed(17, "a"));
  w.want(proto::FrameworkResponse{
      .relay = w.told<proto::FrameworkRequest>()[0].relay,
      .error = proto::ErrorMessage{ErrorCode::kUnavailable, "it is reading its jobs", ""}});
  EXPECT_EQ(responses_sent(w), Texts{"17 unavailable"});
  w.hear(relayed(18, "a"));
  const auto told = w.told<proto::FrameworkRequest>();
  ASSERT_EQ(told.size(), 1u);
  w.want(proto::FrameworkResponse{.relay = told[0].relay, .data = "done"});
  EXPECT_EQ(responses_sent(w), Texts{"18 done"});
}

TEST(Requests, AnAnswerThatIsTooLargeIsAnError) {
  DriverWorld w;
  w.subscribe();
  w.hear(relayed(17, "a"));
  w.want(proto::FrameworkResponse{.relay = w.told<proto::FrameworkRequest>()[0].relay,
                                  .data = std::string(kRelayedBytesMax + 1, 'x')});
  EXPECT_EQ(responses_sent(w), Texts{"17 resource_exhausted"});
}

TEST(Requests, ManyAreForgottenOldestFirstAndThoseInProgressLast) {
  DriverWorld w;
  w.subscribe();
  w.hear(relayed(1, "slow"));
  const uint64_t slow = w.told<proto::FrameworkRequest>()[0].relay;
  for (uint64_t i = 0; i < 2 * RelayedRequests::kKeptMax; ++i) {
    w.hear(relayed(100 + i, text("r", i)));
    w.want(proto::FrameworkResponse{.relay = w.told<proto::FrameworkRequest>()[0].relay,
                                    .data = "done"});
  }
  w.forget();
  w.hear(relayed(5'000, "r0"));
  EXPECT_EQ(w.told<proto::FrameworkRequest>().size(), 1u);
  w.hear(relayed(5'001, text("r", 2 * RelayedRequests::kKeptMax - 1)));
  w.want(proto::FrameworkResponse{.relay = slow, .data = "at last"});
  EXPECT_EQ(responses_sent(w), (Texts{"5001 done", "1 at last"}));
}

TEST(Requests, InProgressAreBoundedToo) {
  DriverWorld w;
  w.subscribe();
  for (uint64_t i = 0; i <= RelayedRequests::kKeptMax; ++i) w.hear(relayed(1 + i, text("r", i)));
  const auto told = w.told<proto::FrameworkRequest>();
  w.want(proto::FrameworkResponse{.relay = told.front().relay, .data = "forgotten"});
  w.want(proto::FrameworkResponse{.relay = told.back().relay, .data = "done"});
  EXPECT_EQ(responses_sent(w), (Texts{text(RelayedRequests::kKeptMax + 1, " done")}));
}

}  // namespace
}  // namespace proffer::sdk::store_test
