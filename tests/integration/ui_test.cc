// `proffer ui` with several masters: it contacts the leader. tests/web tests the page.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "tests/integration/leaders.h"

namespace proffer::test {
namespace {

using testing::HasSubstr;

// The text between the first `begin` and the next `end`.
std::string between(const std::string& all, const std::string& begin, const std::string& end) {
  const size_t at = all.find(begin);
  if (at == all.npos) return {};
  const size_t from = at + begin.size();
  return all.substr(from, all.find(end, from) - from);
}

TEST_F(Leaders, ThePageFollowsTheLeader) {
  start(1);
  ASSERT_EQ(leader(), 1);
  start(2);
  // The standby is asked first.
  Process ui({program("proffer"), "ui", "--master=" + socket(2) + "," + socket(1)});
  const std::optional<std::string> link = ui.line_with("http://");
  ASSERT_TRUE(link) << ui.err();
  const std::string place = between(*link, "http://", "/#");
  const std::string key = link->substr(link->find("#key=") + 5);
  const auto post = [&](const std::string& path, const std::string& headers,
                        const std::string& body) {
    return ask_http(place, text("POST ", path, " HTTP/1.1\r\nHost: ", place,
                                "\r\nConnection: close\r\nContent-Length: ", body.size(), "\r\n",
                                headers, "\r\n", body));
  };
  const std::string token = between(post("/session", "", key), "\"token\":\"", "\"");
  ASSERT_FALSE(token.empty());
  const std::string bearer = "Authorization: Bearer " + token;
  const auto status = [&] { return get_http(place, "/v1/status", bearer + "\r\n"); };
  EXPECT_THAT(status(), HasSubstr(" 200 "));
  const std::string first = between(status(), "\"leader\":", ",");
  const auto listen = [&](const std::string& last_id) {
    return std::make_unique<Process>(
        Words{"curl", "-sN", "-H", bearer, "-H", "Accept: text/event-stream", "-H",
              "Last-Event-ID: " + last_id, "http://" + place + "/v1/events?from=" + first + ".1"});
  };
  const std::unique_ptr<Process> before = listen("");
  ASSERT_TRUE(before->line_with("\"master leads\"")) << before->out();

  masters_[1]->kill(SIGKILL);
  masters_[1]->wait();
  EXPECT_EQ(before->wait().code, 0);  // it ends, and does not hang
  EXPECT_EQ(leader(), 2);
  ASSERT_TRUE(eventually([&] { return status().find(" 200 ") != std::string::npos; })) << status();
  const std::string second = between(status(), "\"leader\":", ",");
  EXPECT_NE(first, second);
  // The first leader's events are on its disk, so this stream has a gap, then the second leader's
  // events.
  const std::unique_ptr<Process> after = listen(first + ".1");
  ASSERT_TRUE(after->line_with("event: gap")) << after->out();
  ASSERT_TRUE(after->line_with("id: " + second + ".1")) << after->out();
  EXPECT_THAT(post("/v1/role_set", bearer + "\r\nContent-Type: application/json\r\n",
                   R"({"role":"eng","weight":3})"),
              HasSubstr(" 200 "));
  EXPECT_THAT(ask(2, {"role", "list", "eng"}).out, HasSubstr("eng"));
  ui.kill(SIGINT);
  EXPECT_EQ(ui.wait().code, 0);
}

}  // namespace
}  // namespace proffer::test
