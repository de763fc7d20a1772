#include "master/shell/kept_answers.h"

#include <gtest/gtest.h>

#include "common/text.h"

namespace proffer::master {
namespace {

constexpr Time kStart = Time::from_nanos(1'000'000'000'000);
const KeptAnswers::Name kName = {.user = "ada", .key = "k1"};

struct Told {
  std::vector<HttpReply> replies = {};
  KeptAnswers::Tell tell() {
    return [this](const HttpReply& reply) { replies.push_back(reply); };
  }
};

TEST(KeptAnswers, TheSameKeyGetsTheFirstAnswerForTenMinutes) {
  KeptAnswers answers;
  Told told;
  EXPECT_TRUE(*answers.begin(kName, "kill a", kStart, told.tell()));
  answers.finish(kName, {.status = 404, .body = "first"});
  EXPECT_FALSE(*answers.begin(kName, "kill a", kStart + minutes(9), told.tell()));
  ASSERT_EQ(told.replies.size(), 1u);
  EXPECT_EQ(told.replies[0].status, 404);
  EXPECT_EQ(told.replies[0].body, "first");
  EXPECT_TRUE(*answers.begin(kName, "kill a", kStart + minutes(10), told.tell()));
}

TEST(KeptAnswers, OneThatAsksAgainBeforeTheAnswerIsToldItToo) {
  KeptAnswers answers;
  Told told;
  EXPECT_TRUE(*answers.begin(kName, "kill a", kStart, told.tell()));
  EXPECT_FALSE(*answers.begin(kName, "kill a", kStart, told.tell()));
  EXPECT_FALSE(*answers.begin(kName, "kill a", kStart + minutes(20), told.tell()));
  EXPECT_TRUE(told.replies.empty());
  answers.finish(kName, {.status = 200});
  EXPECT_EQ(told.replies.size(), 2u);
}

TEST(KeptAnswers, KeysAreOfTheirUser) {
  KeptAnswers answers;
  Told told;
  EXPECT_TRUE(*answers.begin(kName, "kill a", kStart, told.tell()));
  EXPECT_TRUE(*answers.begin({.user = "bob", .key = "k1"}, "kill b", kStart, told.tell()));
}

TEST(KeptAnswers, AKeyOfAnotherRequestAndAWrongKeyAreRefused) {
  KeptAnswers answers;
  Told told;
  EXPECT_TRUE(*answers.begin(kName, "kill a", kStart, told.tell()));
  const auto other = answers.begin(kName, "kill b", kStart, told.tell());
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(other.error().message(), "the Idempotency-Key 'k1' was used for another request");
  const auto wrong = answers.begin({.user = "ada", .key = "a b"}, "kill b", kStart, told.tell());
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code(), ErrorCode::kInvalidArgument);
}

TEST(KeptAnswers, WhatMayBeTriedAgainIsNotKept) {
  for (const int status : {429, 503, 504}) {
    KeptAnswers answers;
    Told told;
    EXPECT_TRUE(*answers.begin(kName, "kill a", kStart, told.tell()));
    answers.finish(kName, {.status = status});
    EXPECT_TRUE(*answers.begin(kName, "kill a", kStart, told.tell())) << status;
  }
}

// Repeated attempts with new keys leave nothing behind.
TEST(KeptAnswers, WhatIsNotKeptTakesNoRoom) {
  KeptAnswers answers;
  Told told;
  for (size_t i = 0; i < 2 * kAnswersKeptMax; ++i) {
    const KeptAnswers::Name name = {.user = "ada", .key = text("k", i)};
    ASSERT_TRUE(answers.begin(name, "x", kStart, told.tell())) << i;
    answers.finish(name, {.status = i % 2 == 0 ? 503 : 200,
                          .body = std::string(i % 2 == 0 ? 1 : kAnswerKeptBytesMax + 1, 'x')});
    EXPECT_EQ(answers.size(), 0u);
  }
}

TEST(KeptAnswers, AUserHasATenthOfTheKeysAndOfTheBytes) {
  KeptAnswers answers;
  Told told;
  for (size_t i = 0; i < kAnswersKeptMax / kUserPart; ++i) {
    const KeptAnswers::Name name = {.user = "ada", .key = text("k", i)};
    ASSERT_TRUE(answers.begin(name, "x", kStart, told.tell()));
    answers.finish(name, {.status = 200});
  }
  const auto more = answers.begin({.user = "ada", .key = "more"}, "x", kStart, told.tell());
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code(), ErrorCode::kResourceExhausted);
  const std::string body(kAnswerKeptBytesMax, 'x');
  for (size_t i = 0; i <= kAnswersKeptBytesMax / kUserPart / body.size(); ++i) {
    const KeptAnswers::Name name = {.user = "bob", .key = text("k", i)};
    ASSERT_TRUE(answers.begin(name, "x", kStart, told.tell())) << i;
    answers.finish(name, {.body = body});
  }
  EXPECT_FALSE(answers.begin({.user = "bob", .key = "l"}, "x", kStart, told.tell()));
  // All of the room is free again after the timeout.
  EXPECT_TRUE(
      answers.begin({.user = "ada", .key = "later"}, "x", kStart + minutes(20), told.tell()));
  EXPECT_TRUE(
      answers.begin({.user = "bob", .key = "later"}, "x", kStart + minutes(20), told.tell()));
}

}  // namespace
}  // namespace proffer::master
