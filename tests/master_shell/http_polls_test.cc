#include "master/shell/http_polls.h"

#include <gtest/gtest.h>

#include "common/text.h"

namespace proffer::master {
namespace {

HttpReply reply_with(const std::string& etag) {
  return {.body = etag, .headers = {{"ETag", etag}}};
}

struct Heard {
  std::vector<HttpReply> replies = {};
};

HttpPolls::Poll poll_of(Loop& loop, const std::string& user, Duration wait, Heard& heard) {
  return {.by = std::make_shared<Principal>(Principal{.user = user}),
          .known = "a",
          .until = loop.now() + wait,
          .tell = [&](HttpReply reply) {
            heard.replies.push_back(std::move(reply));
            loop.stop();
          }};
}

TEST(HttpPolls, AnAnswerThatBecomesAnotherIsTold) {
  Loop loop;
  std::string etag = "a";
  int looks = 0;
  HttpPolls polls(loop, [&](const HttpPolls::Poll&) {
    if (++looks == 3) etag = "b";
    return reply_with(etag);
  });
  Heard heard;
  ASSERT_TRUE(polls.add(poll_of(loop, "ada", minutes(1), heard)));
  loop.run();
  ASSERT_EQ(heard.replies.size(), 1u);
  EXPECT_EQ(heard.replies[0].status, 200);
  EXPECT_EQ(heard.replies[0].body, "b");
  EXPECT_EQ(looks, 3);
  EXPECT_EQ(polls.size(), 0u);
}

TEST(HttpPolls, AnAnswerThatStaysTheSameIs304WhenTheTimeIsOver) {
  Loop loop;
  HttpPolls polls(loop, [](const HttpPolls::Poll&) { return reply_with("a"); });
  Heard heard;
  ASSERT_TRUE(polls.add(poll_of(loop, "ada", milliseconds(30), heard)));
  loop.run();
  ASSERT_EQ(heard.replies.size(), 1u);
  EXPECT_EQ(heard.replies[0].status, 304);
  EXPECT_EQ(etag_of(heard.replies[0]), "a");
}

TEST(HttpPolls, AnErrorIsToldAtOnce) {
  Loop loop;
  HttpPolls polls(loop, [](const HttpPolls::Poll&) { return HttpReply{.status = 503}; });
  Heard heard;
  ASSERT_TRUE(polls.add(poll_of(loop, "ada", minutes(1), heard)));
  loop.run();
  EXPECT_EQ(heard.replies.at(0).status, 503);
}

TEST(HttpPolls, AUserHasAQuarterOfThem) {
  Loop loop;
  HttpPolls polls(loop, [](const HttpPolls::Poll&) { return reply_with("a"); });
  Heard heard;
  for (const char* user : {"ada", "bob", "eve", "joe"}) {
    for (size_t i = 0; i < kPollsPerUserMax; ++i) {
      ASSERT_TRUE(polls.add(poll_of(loop, user, minutes(1), heard)));
    }
    const auto more = polls.add(poll_of(loop, user, minutes(1), heard));
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().code(), ErrorCode::kResourceExhausted);
  }
  EXPECT_EQ(polls.size(), kPollsMax);
  EXPECT_FALSE(polls.add(poll_of(loop, "max", minutes(1), heard)));
}

}  // namespace
}  // namespace proffer::master
