// Times of health checks, their reports, and valid answers. Tables, without a clock.

#include "slave/executor/health.h"

#include <gtest/gtest.h>

#include "common/text.h"

namespace proffer::executor::health_test {
namespace {

constexpr Duration kInterval = seconds(10);
const Time kStart = Time::from_nanos(5'000'000'000);

// Checks one after another, each taking a second: '+' passes, '-' fails. Returns which health was
// reported after which check, such as "2:well 5:ill".
std::string told_of(std::string_view looks, int64_t failures, Duration grace) {
  Health health({.interval = kInterval, .grace = grace, .failures = failures}, kStart);
  std::string told;
  Time now = kStart;
  for (size_t i = 0; i < looks.size(); ++i) {
    EXPECT_TRUE(health.on_tick(now));
    now = now + seconds(1);
    const Looked looked{looks[i] == '+' ? "" : "it is broken"};
    if (const auto news = health.on_looked(looked, now)) {
      told += text(told.empty() ? "" : " ", i + 1, news->healthy ? ":well" : ":ill");
    }
    now = now + kInterval;
  }
  return told;
}

TEST(Health, IsToldWhenItChangesAndOnlyThen) {
  struct Row {
    std::string_view looks;
    int64_t failures;
    Duration grace;
    std::string told;
  };
  const Row rows[] = {
      {"", 3, seconds(0), ""},
      {"+", 3, seconds(0), "1:well"},
      {"++++", 3, seconds(0), "1:well"},
      {"--", 3, seconds(0), ""},
      {"---", 3, seconds(0), "3:ill"},
      {"------", 3, seconds(0), "3:ill"},
      {"---+", 3, seconds(0), "3:ill 4:well"},
      {"+--+--+", 3, seconds(0), "1:well"},
      {"+---+---+", 3, seconds(0), "1:well 4:ill 5:well 8:ill 9:well"},
      {"-+", 1, seconds(0), "1:ill 2:well"},
      {"+-+-", 1, seconds(0), "1:well 2:ill 3:well 4:ill"},
      // Checks begin at 0, 11, 22, 33 s. Failures of checks that begin within the grace period do
      // not count.
      {"-", 1, seconds(1), ""},
      {"--", 1, seconds(11), "2:ill"},
      {"--", 1, seconds(12), ""},
      {"----", 2, seconds(12), "4:ill"},
      {"--+", 1, seconds(12), "3:well"},
      // A passed check ends the grace period.
      {"+-", 1, seconds(100), "1:well 2:ill"},
      {"-+--", 2, seconds(100), "2:well 4:ill"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(told_of(row.looks, row.failures, row.grace), row.told)
        << row.looks << ", " << row.failures << " failures, grace " << to_text(row.grace);
  }
}

TEST(Health, SaysWhatFailedAndHow) {
  Health three({.interval = kInterval, .grace = seconds(0), .failures = 3}, kStart);
  Health one({.interval = kInterval, .grace = seconds(0), .failures = 1}, kStart);
  std::optional<HealthNews> news;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(three.on_tick(kStart + hours(i)));
    news = three.on_looked({i == 2 ? "connection refused" : "something else"}, kStart + hours(i));
  }
  EXPECT_EQ(news, (HealthNews{false, "3 health checks in a row failed: connection refused"}));
  ASSERT_TRUE(one.on_tick(kStart));
  EXPECT_EQ(one.on_looked({"it answered with status 503"}, kStart),
            (HealthNews{false, "a health check failed: it answered with status 503"}));
  ASSERT_TRUE(one.on_tick(kStart + hours(1)));
  EXPECT_EQ(one.on_looked({}, kStart + hours(1)), (HealthNews{true, ""}));
}

TEST(Health, IsLookedAtFromTheStartAndAnIntervalAfterTheLastLookEnded) {
  Health health({.interval = kInterval}, kStart);
  EXPECT_EQ(health.next_deadline(), kStart);
  EXPECT_FALSE(health.on_tick(kStart - milliseconds(1)));
  EXPECT_TRUE(health.on_tick(kStart));
  EXPECT_FALSE(health.next_deadline());  // during a check of any length
  EXPECT_FALSE(health.on_tick(kStart + hours(1)));
  health.on_looked({}, kStart + hours(1));
  EXPECT_EQ(health.next_deadline(), kStart + hours(1) + kInterval);
  EXPECT_FALSE(health.on_tick(kStart + hours(1) + kInterval - milliseconds(1)));
  EXPECT_TRUE(health.on_tick(kStart + hours(1) + kInterval));
}

TEST(Answer, IsJudgedByItsFirstLine) {
  const std::string full(kStatusLineBytesMax, 'a');
  struct Row {
    std::string received;
    std::optional<std::string> failure;  // empty: passed; none: more is needed
  };
  const Row rows[] = {
      {"", {}},
      {"HTTP", {}},
      {"HTTP/1.", {}},
      {"HTTP/1.1 200 OK", {}},
      {"HTTP/1.1 200 OK\r", {}},
      {"HTTP/1.1 200 OK\r\n", ""},
      {"HTTP/1.0 204 No Content\r\n", ""},
      {"HTTP/1.1 302 Found\r\nLocation: /\r\n", ""},
      {"HTTP/1.1 399\r\n", ""},
      {"HTTP/1.1 200\n", ""},
      {"HTTP/1.1 200 \n", ""},
      {"HTTP/1.1 200 OK\r\nX: " + full + full, ""},
      {"HTTP/1.1 199 Odd\r\n", "it answered with status 199"},
      {"HTTP/1.1 400 Bad Request\r\n", "it answered with status 400"},
      {"HTTP/1.1 404 Not Found\r\n\r\n", "it answered with status 404"},
      {"HTTP/1.1 503 Busy\n", "it answered with status 503"},
      {"HTTP/1.1 000 Nothing\r\n", "it answered with status 0"},
      {"\n", "the answer is not HTTP/1"},
      {"HTTP/2 200\r\n", "the answer is not HTTP/1"},
      {"HTTP/1.x 200\r\n", "the answer is not HTTP/1"},
      {"HTTP/1.1 2000\r\n", "the answer is not HTTP/1"},
      {"HTTP/1.1 20\r\n", "the answer is not HTTP/1"},
      {"HTTP/1.1 2 0 \r\n", "the answer is not HTTP/1"},
      {"HTTP/1.1\r\n", "the answer is not HTTP/1"},
      {"SSH-2.0-OpenSSH_9.2", "the answer is not HTTP/1"},
      {std::string("\0\1\2", 3), "the answer is not HTTP/1"},
      {"HTTP/1.1 200 " + full.substr(13 + 1), {}},
      {"HTTP/1.1 200 " + full, "the first line of the answer is longer than 1024"},
  };
  for (const Row& row : rows) {
    const std::optional<Looked> judged = judge_answer(row.received);
    ASSERT_EQ(judged.has_value(), row.failure.has_value()) << row.received;
    EXPECT_EQ(judged.value_or(Looked{}).failure, row.failure.value_or("")) << row.received;
  }
}

TEST(ToldPorts, AreTextThatASchedulerReads) {
  EXPECT_EQ(told_ports({}), "");
  EXPECT_EQ(told_ports({{"http", 31000}}), R"({"ports":{"http":31000}})");
  EXPECT_EQ(told_ports({{"admin_2", 1}, {"http", 65535}}),
            R"({"ports":{"admin_2":1,"http":65535}})");
}

TEST(ToldPorts, FitAnUpdateHoweverManyThereAre) {
  std::map<std::string, uint16_t> most;
  for (size_t i = 0; i < kPortNamesMax; ++i) {
    most[text(i, std::string(kNameBytesMax, 'n')).substr(0, kNameBytesMax)] = 65535;
  }
  ASSERT_EQ(most.size(), kPortNamesMax);
  EXPECT_LE(told_ports(most).size(), kUpdateDataBytesMax);
}

}  // namespace
}  // namespace proffer::executor::health_test
