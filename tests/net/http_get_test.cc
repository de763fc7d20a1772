// An HTTP client: answers in any pieces, and misbehaving servers.

#include "net/http_get.h"

#include <future>
#include <thread>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include "common/check.h"
#include "common/text.h"
#include "net/http_reader.h"
#include "net/local_address.h"
#include "tests/net/support.h"

namespace proffer::http_get_test {
namespace {

using net_test::TempDir;

struct Read {
  Result<void> result = {};
  int status = 0;
  std::string body = {};
  std::string reason = {};
};

Read read(std::string_view bytes, bool is_closed = true) {
  Read out;
  HttpReader reader([&out](std::string_view piece) { out.body += piece; });
  out.result = reader.take(bytes);
  if (out.result && is_closed) out.result = reader.close();
  out.status = reader.status();
  out.reason = reader.reason();
  return out;
}

TEST(HttpReader, ReadsBodiesWithALengthInChunksAndUpToTheEnd) {
  const std::pair<std::string, std::string> answers[] = {
      {"Content-Length: 5\r\n\r\nhello", "hello"},
      {"content-length:5 \r\n\r\nhello and more", "hello"},
      {"Content-Length: 0\r\n\r\n", ""},
      {"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0a;x=y\r\n0123456789\r\n0\r\n\r\n",
       "hello0123456789"},
      {"Transfer-Encoding: Chunked\r\n\r\n0\r\nChecksum: 1\r\n\r\n", ""},
      {"Connection: close\r\n\r\nto the end", "to the end"},
  };
  for (const auto& [answer, body] : answers) {
    const Read out = read("HTTP/1.1 200 OK\r\n" + answer);
    EXPECT_TRUE(out.result) << answer;
    EXPECT_EQ(out.status, 200) << answer;
    EXPECT_EQ(out.body, body) << answer;
  }
}

TEST(HttpReader, KeepsTheReasonOfARefusal) {
  const Read out = read("HTTP/1.1 403 Forbidden\r\nContent-Length: 9\r\n\r\nnot yours");
  EXPECT_TRUE(out.result);
  EXPECT_EQ(out.status, 403);
  EXPECT_EQ(out.reason, "not yours");
  EXPECT_EQ(out.body, "");
  const Read large = read("HTTP/1.1 500 X\r\n\r\n" + std::string(5'000, 'x'));
  EXPECT_EQ(large.reason.size(), kHttpReasonBytesMax);
}

TEST(HttpReader, RefusesWhatIsNoAnswer) {
  const std::string answers[] = {
      "hello\r\n",
      "HTTP/1.0 200 OK\r\n",
      "HTTP/1.1 100 Continue\r\n",
      "HTTP/1.1 2000 OK\r\n",
      "HTTP/1.1 +20 OK\r\n",
      "HTTP/1.1 200 OK\n",
      "HTTP/1.1 200 OK\r\nno colon\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;" + std::string(300, 'x'),
      "HTTP/1.1 200 OK\r\nX: " + std::string(kHttpHeadBytesMax, 'x'),
  };
  for (const std::string& answer : answers) {
    const Read out = read(answer, false);
    ASSERT_FALSE(out.result) << answer;
    EXPECT_EQ(out.result.error().code(), ErrorCode::kInvalidArgument) << answer;
  }
}

TEST(HttpReader, SaysThatAnAnswerWasCut) {
  for (const std::string answer :
       {"", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"}) {
    const Read out = read(answer);
    ASSERT_FALSE(out.result) << answer;
    EXPECT_EQ(out.result.error().code(), ErrorCode::kUnavailable) << answer;
  }
}

TEST(PercentEncoded, LeavesNothingThatEndsARequestLine) {
  EXPECT_EQ(percent_encoded("/v1/files/a-1_2.x~/b"), "/v1/files/a-1_2.x~/b");
  EXPECT_EQ(percent_encoded("a b\r\n?#%\xC3\xA9"), "a%20b%0D%0A%3F%23%25%C3%A9");
}

Fd listen_at(const std::string& path) {
  const Result<sockaddr_un> address = local_address(path);
  CHECK(address);
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  CHECK(bind(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) == 0);
  CHECK(listen(fd.get(), 8) == 0);
  return fd;
}

// Answers one request with `answer` and closes the connection; the future gets the request.
class OneAnswer {
 public:
  OneAnswer(const std::string& path, std::string answer) : listening_(listen_at(path)) {
    thread_ = std::thread([this, answer = std::move(answer)] {
      const Fd peer(accept(listening_.get(), nullptr, nullptr));
      std::string asked;
      CHECK(net_test::receive_until(peer, asked, "\r\n\r\n"));
      asked_.set_value(asked);
      CHECK(net_test::send_all(peer, answer));
    });
  }
  ~OneAnswer() { thread_.join(); }
  OneAnswer(const OneAnswer&) = delete;
  OneAnswer& operator=(const OneAnswer&) = delete;
  std::string asked() { return asked_.get_future().get(); }

 private:
  Fd listening_;
  std::promise<std::string> asked_;
  std::thread thread_;
};

TEST(HttpGet, AsksOverASocketAndGivesTheBody) {
  const TempDir dir;
  const std::string path = dir.path() / "s";
  OneAnswer server(path, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
  std::string body;
  const Result<HttpAnswer> answer =
      http_get({.address = path}, "/v1/x?a=1", [&](std::string_view bytes) { body += bytes; }, {});
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(body, "hello");
  EXPECT_EQ(server.asked(),
            "GET /v1/x?a=1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
}

TEST(HttpGet, TellsWhatWentWrong) {
  const TempDir dir;
  const std::string path = dir.path() / "s";
  const auto get = [&](const std::string& address, HttpDeadlines deadlines = {}) {
    const Result<HttpAnswer> answer = http_get(
        {.address = address}, "/", [](std::string_view) {}, deadlines);
    CHECK(!answer);
    return answer.error();
  };
  const auto closed = net_test::reserve_port();  // bound, without a listener
  EXPECT_EQ(get(path).code(), ErrorCode::kUnavailable);
  EXPECT_EQ(get("no address").code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(get(text("127.0.0.1:", closed.second)).code(), ErrorCode::kUnavailable);
  {
    const OneAnswer server(path, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello");
    EXPECT_EQ(get(path).code(), ErrorCode::kUnavailable);
  }
  std::filesystem::remove(path);
  const Fd silent = listen_at(path);
  EXPECT_EQ(get(path, {.begin_max = milliseconds(10)}).code(), ErrorCode::kTimeout);
  EXPECT_EQ(get(path, {.end_max = milliseconds(10)}).code(), ErrorCode::kTimeout);
}

}  // namespace
}  // namespace proffer::http_get_test
