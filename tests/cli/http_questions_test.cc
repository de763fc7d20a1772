// Calls to many servers at the same time, over real sockets.

#include "cli/http_questions.h"

#include <thread>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/text.h"
#include "net/fd.h"
#include "tests/net/support.h"

namespace proffer::cli::http_questions_test {
namespace {

using net_test::reserve_port;

// Connections to it are never accepted, unless a test accepts them.
struct Listener {
  Listener() : Listener(reserve_port()) {}
  explicit Listener(std::pair<Fd, uint16_t> reserved)
      : fd(std::move(reserved.first)), address(text("127.0.0.1:", reserved.second)) {
    CHECK_EQ(::listen(fd.get(), 64), 0);
  }
  const Fd fd;
  const std::string address;
};

// Answers each request with "12" until its destruction.
class Answering {
 public:
  Answering() : server_([this] { serve(); }) {}
  ~Answering() {
    ::shutdown(listener_.fd.get(), SHUT_RDWR);
    server_.join();
  }
  HttpQuestion question(const std::string& target = "/load") const {
    return {.place = {.address = listener_.address}, .target = target, .bytes_max = 100};
  }

 private:
  void serve() {
    while (true) {
      const Fd one(::accept(listener_.fd.get(), nullptr, nullptr));
      if (one.get() < 0) return;
      char request[4'096];
      const ssize_t read = ::recv(one.get(), request, sizeof request, 0);
      const std::string_view asked(request, static_cast<size_t>(std::max<ssize_t>(read, 0)));
      const bool is_known = asked.starts_with("GET /load ");
      const std::string answer = text("HTTP/1.1 ", is_known ? "200 OK" : "404 Not Found",
                                      "\r\nContent-Length: 2\r\n\r\n12");
      ::send(one.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
    }
  }

  const Listener listener_;
  std::thread server_;
};

TEST(HttpQuestions, AllOfManyAreAskedThoughFewAtATime) {
  const Answering server;
  const std::vector<HttpQuestion> questions(200, server.question());
  const auto replies = ask_all(questions, {.at_once = 8, .each = seconds(60), .all = seconds(60)});
  ASSERT_EQ(replies.size(), questions.size());
  for (const HttpReply& reply : replies) {
    EXPECT_TRUE(reply.is_asked);
    EXPECT_EQ(reply.body, "12");
  }
}

TEST(HttpQuestions, ThoseThatDoNotAnswerDelayNoOther) {
  const Answering server;
  const Listener silent;
  const HttpQuestion unanswered{
      .place = {.address = silent.address}, .target = "/load", .bytes_max = 100};
  const auto replies = ask_all({unanswered, unanswered, server.question(), server.question("/")},
                               {.at_once = 3, .each = milliseconds(200), .all = seconds(60)});
  for (const size_t i : {0, 1, 3}) EXPECT_EQ(replies[i].body, std::nullopt) << i;
  EXPECT_EQ(replies[2].body, "12");
}

TEST(HttpQuestions, NoneBeginsWhenTheTimeIsOver) {
  const Answering server;
  const Listener silent;
  const HttpQuestion unanswered{
      .place = {.address = silent.address}, .target = "/load", .bytes_max = 100};
  const auto replies = ask_all({unanswered, server.question()},
                               {.at_once = 1, .each = seconds(1), .all = milliseconds(500)});
  EXPECT_TRUE(replies[0].is_asked);
  EXPECT_FALSE(replies[1].is_asked);
  EXPECT_EQ(replies[1].body, std::nullopt);
}

TEST(HttpQuestions, OfALongAnswerTheBeginningIsKept) {
  const Answering server;
  HttpQuestion question = server.question();
  question.bytes_max = 1;
  EXPECT_EQ(ask_all({question}, {.each = seconds(60), .all = seconds(60)})[0].body, "1");
}

}  // namespace
}  // namespace proffer::cli::http_questions_test
