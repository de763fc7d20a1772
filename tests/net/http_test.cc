// The HTTP server, tested with plain sockets.

#include <atomic>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "common/check.h"
#include "net/http_hosts.h"
#include "net/http_server.h"
#include "tests/net/support.h"

namespace proffer::http_test {
namespace {

namespace fs = std::filesystem;
using net_test::connect_tcp;
using net_test::receive_all;
using net_test::receive_until;
using net_test::run_until;
using net_test::send_all;
using net_test::TempDir;

class Http : public testing::Test {
 protected:
  Http() {
    fs::create_directories(dir_.path() / "box/sub");
    dir_.write("secret", "secret");
    fs::create_symlink("../secret", dir_.path() / "box/out");
    dir_.write("box/stdout", "0123456789");
    start();
  }

  void start() {
    HttpServer::Options options = options_;
    options.names = {"x"};
    options.handler = [this](const HttpRequest& request, HttpResponder responder) {
      answer(request, std::move(responder));
    };
    options.files = {
        .prefix = "/files/",
        .resolve = [this](std::string_view rest, const PrincipalPtr&) -> Result<ServedPath> {
          if (!rest.starts_with("task/")) return Error::not_found("no such task");
          return ServedPath{.root = *open_root(dir_.path() / "box"),
                            .relative = std::string(rest.substr(5)),
                            .is_growing = [this] { return is_growing_.load(); },
                            .name = "task",
                            .is_output = rest == "task/stdout"};
        },
        .encode_directory =
            [](const std::vector<DirEntry>& entries) {
              std::string out;
              for (const DirEntry& entry : entries) out += entry.name + " ";
              return out;
            }};
    auto listening = HttpServer::listen(loop_, std::move(options));
    CHECK(listening) << listening.error().message();
    server_ = *std::move(listening);
  }

  void answer(const HttpRequest& request, HttpResponder responder) {
    ++asked_;
    if (request.path == "/healthz") return responder.respond_text(200, "ok\n");
    if (request.path == "/echo") {
      return responder.respond_text(
          200, text(request.method, "|", request.param("q").value_or("none"), "|",
                    request.header("x-test").value_or("none"), "|", request.body));
    }
    if (request.path == "/silence") return;
    if (request.path == "/later") return later_.push_back(std::move(responder));
    if (request.path == "/stream") {
      stream_.emplace(responder.stream(200, "text/event-stream"));
      stream_->on_closed([this] { ++closed_; });
      return;
    }
    responder.respond_text(404, "nothing here\n");
  }

  // The complete answer to one request, while the loop runs.
  std::string ask(const std::string& request) {
    std::string answer;
    bool done = false;
    loop_.work(
        [&, port = server_->port()] {
          const Fd fd = connect_tcp(port);
          send_all(fd, request);
          answer = receive_all(fd);
        },
        [&] { done = true; });
    CHECK(run_until(loop_, [&] { return done; }));
    return answer;
  }
  std::string get(const std::string& target, const std::string& headers = "") {
    return ask(
        text("GET ", target, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n", headers, "\r\n"));
  }
  static std::string body_of(const std::string& answer) {
    const size_t end = answer.find("\r\n\r\n");
    return end == std::string::npos ? "" : answer.substr(end + 4);
  }
  static int status_of(const std::string& answer) {
    return answer.size() < 12 ? 0 : std::stoi(answer.substr(9, 3));
  }

  // The status of the answer within ten seconds; 0 if there is none.
  int answer_in_time(const std::string& target) {
    const Fd fd = connect_tcp(server_->port());
    send_all(fd, text("GET ", target, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    std::string answer;
    run_until(
        loop_, [&] { return has_ended(fd, &answer); }, seconds(10));
    return status_of(answer);
  }
  // Whether the other end has closed, without waiting; received bytes are added to `all`.
  static bool has_ended(const Fd& fd, std::string* all = nullptr) {
    char buffer[4096];
    while (true) {
      const ssize_t count = recv(fd.get(), buffer, sizeof buffer, MSG_DONTWAIT);
      if (count <= 0) return count == 0 || (errno != EAGAIN && errno != EINTR);
      if (all != nullptr) all->append(buffer, static_cast<size_t>(count));
    }
  }

  TempDir dir_;
  std::atomic<bool> is_growing_ = false;
  Loop loop_;
  HttpServer::Options options_;
  int asked_ = 0;
  int closed_ = 0;
  std::vector<HttpResponder> later_;
  std::optional<HttpStream> stream_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(Http, AnswersFromTheLoop) {
  const std::string answer = get("/healthz");
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_EQ(body_of(answer), "ok\n");
  EXPECT_EQ(status_of(get("/nothing")), 404);
  EXPECT_EQ(asked_, 2);
}

TEST_F(Http, GivesPathQueryHeadersAndBodyDecoded) {
  EXPECT_EQ(body_of(get("/%65cho?q=a%20b%26c&r=1", "X-Test: yes\r\n")), "GET|a b&c|yes|");
  EXPECT_EQ(
      body_of(ask(
          "POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 4\r\n\r\nbody")),
      "POST|none|none|body");
}

TEST_F(Http, HeadHasNoBody) {
  const std::string answer = ask("HEAD /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_EQ(body_of(answer), "");
  EXPECT_NE(answer.find("Content-Length: 3"), std::string::npos);
}

TEST_F(Http, RefusesOtherMethodsLargeBodiesAndBrokenTargets) {
  const std::string end = " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  for (const std::string method : {"PUT", "DELETE", "OPTIONS", "BREW"}) {
    const std::string answer = ask(method + " /healthz" + end);
    EXPECT_EQ(status_of(answer), 405) << method;
    EXPECT_NE(answer.find("Allow: GET, HEAD, POST"), std::string::npos);
  }
  const std::string large(kHttpBodyBytesMax + 1, 'x');
  EXPECT_EQ(
      status_of(ask(text("POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ",
                         large.size(), "\r\n\r\n", large))),
      413);
  EXPECT_EQ(status_of(get("/%zz")), 400);
  EXPECT_EQ(status_of(get("/%00")), 400);
  EXPECT_EQ(status_of(get("/echo?q=%4")), 400);
  const std::string long_target = ask("GET /" + std::string(64 * 1024, 'x') + end);
  EXPECT_TRUE(long_target.empty() || status_of(long_target) >= 400) << long_target.substr(0, 80);
  EXPECT_EQ(asked_, 0);
  EXPECT_EQ(body_of(get("/healthz")), "ok\n");
}

// A browser sends the host that it contacts, and the origin of the page.
TEST_F(Http, AnswersNoPageOfAStranger) {
  const struct {
    const char* headers;
    int status;
  } rows[] = {
      {"Host: localhost\r\n", 200},
      {"Host: LocalHost:5080\r\n", 200},  // a tunnel's port
      {"Host: 127.0.0.1:1\r\n", 200},
      {"Host: 127.8.9.1\r\n", 200},
      {"Host: [::1]:5080\r\n", 200},
      {"Host: x:5080\r\n", 200},  // permitted by a flag
      {"Host: localhost:5080\r\nOrigin: http://localhost:5080\r\n", 200},
      {"Host: x\r\nOrigin: https://X\r\n", 200},
      {"Host: evil.example\r\n", 421},
      {"Host: evil.example:5080\r\n", 421},
      {"Host: localhost.evil.example\r\n", 421},
      {"Host: 127.0.0.1.evil.example\r\n", 421},
      {"Host: 10.0.0.1\r\n", 421},
      {"Host: 0.0.0.0\r\n", 421},
      {"Host: [::2]\r\n", 421},
      {"Host: \r\n", 400},
      {"Host: localhost@evil.example\r\n", 400},
      {"Host: localhost:80:80\r\n", 400},
      {"Host: localhost\r\nHost: evil.example\r\n", 400},
      {"Host: localhost:5080\r\nOrigin: http://evil.example\r\n", 403},
      {"Host: localhost:5080\r\nOrigin: http://localhost:3000\r\n", 403},
      {"Host: localhost\r\nOrigin: null\r\n", 403},
      {"Host: localhost\r\nOrigin: ftp://localhost\r\n", 403},
      {"Host: evil.example\r\nOrigin: http://evil.example\r\n", 421},
  };
  int allowed = 0;
  for (const auto& row : rows) {
    if (row.status == 200) ++allowed;
    const std::string answer =
        ask(text("GET /healthz HTTP/1.1\r\nConnection: close\r\n", row.headers, "\r\n"));
    EXPECT_EQ(status_of(answer), row.status) << row.headers << answer;
    if (row.status == 421) {
      EXPECT_NE(answer.find("localhost"), std::string::npos) << answer;
    }
  }
  EXPECT_EQ(asked_, allowed);
  // Files have the same check. Old tools send no Host header.
  EXPECT_EQ(status_of(ask("GET /files/task/stdout HTTP/1.1\r\nHost: evil\r\n"
                          "Connection: close\r\n\r\n")),
            421);
  EXPECT_EQ(status_of(ask("GET /healthz HTTP/1.0\r\n\r\n")), 200);
  EXPECT_EQ(status_of(ask("GET /healthz HTTP/1.0\r\nOrigin: http://evil\r\n\r\n")), 403);
}

TEST(HttpNames, AreHostsWithoutPorts) {
  EXPECT_EQ(*parse_http_names(""), std::vector<std::string>());
  EXPECT_EQ(*parse_http_names("Cluster.Example, proxy"),
            (std::vector<std::string>{"cluster.example", "proxy"}));
  for (const char* wrong : {"a,", ",", "a:80", "http://a", "a b", "*"}) {
    EXPECT_FALSE(parse_http_names(wrong)) << wrong;
  }
}

TEST_F(Http, GarbageDisturbsNobody) {
  for (const std::string& garbage :
       {std::string("\0\1\2\3\4", 5), std::string("\r\n\r\n\r\n"), std::string(1000, '\xff'),
        std::string("GET\r\n\r\n"), std::string("GET / HTTP/9.9\r\n\r\n")}) {
    const Fd fd = connect_tcp(server_->port());
    ASSERT_GE(fd.get(), 0);
    send_all(fd, garbage);
    EXPECT_EQ(body_of(get("/healthz")), "ok\n");
  }
}

TEST_F(Http, AnUnansweredRequestGets500AndALateAnswerArrives) {
  EXPECT_EQ(status_of(get("/silence")), 500);
  Timer answerer(loop_, [&] {
    if (later_.empty()) return answerer.arm(loop_.now() + milliseconds(5));
    later_[0].respond_text(200, "at last");
  });
  answerer.arm(loop_.now());
  EXPECT_EQ(body_of(get("/later")), "at last");
}

TEST_F(Http, ManyRequestsOverOneConnection) {
  std::string all;
  bool done = false;
  loop_.work(
      [&, port = server_->port()] {
        const Fd fd = connect_tcp(port);
        for (int i = 0; i < 200; ++i) {
          std::string answer;
          send_all(fd, text("GET /echo?q=", i, " HTTP/1.1\r\nHost: x\r\n\r\n"));
          if (!receive_until(fd, answer, text("GET|", i, "|none|"))) return;
        }
        all = "done";
      },
      [&] { done = true; });
  ASSERT_TRUE(run_until(loop_, [&] { return done; }));
  EXPECT_EQ(all, "done");
}

TEST_F(Http, ManyConnectionsAtOnce) {
  std::vector<Fd> clients;
  for (int i = 0; i < 300; ++i) {
    clients.push_back(connect_tcp(server_->port()));
    ASSERT_GE(clients.back().get(), 0) << i;
  }
  for (const Fd& fd : clients) {
    ASSERT_TRUE(send_all(fd, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  }
  ASSERT_TRUE(run_until(loop_, [&] { return asked_ == 300; }));
  for (const Fd& fd : clients) EXPECT_EQ(body_of(receive_all(fd)), "ok\n");
}

// A client that sends bytes slowly is also disconnected.
TEST_F(Http, WhoDoesNotSendHisRequestInTimeIsNotWaitedFor) {
  server_.reset();
  options_.request_max = milliseconds(200);
  start();
  for (const std::string& begun : {std::string(), std::string("GET /healthz HT"),
                                   std::string("POST /echo HTTP/1.1\r\nHost: x\r\n"
                                               "Content-Length: 1000\r\n\r\nbo")}) {
    const Fd fd = connect_tcp(server_->port());
    send_all(fd, begun);
    EXPECT_TRUE(run_until(
        loop_,
        [&] {
          send_all(fd, "x");
          return has_ended(fd);
        },
        seconds(30)))
        << begun;
  }
  EXPECT_EQ(asked_, 0);
  EXPECT_EQ(body_of(get("/healthz")), "ok\n");
  // The time that a client waits for the server's answer does not count.
  Timer answerer(loop_, [&] { later_.at(0).respond_text(200, "at last"); });
  answerer.arm(loop_.now() + milliseconds(600));
  EXPECT_EQ(body_of(get("/later")), "at last");
}

TEST_F(Http, ThousandsThatAskNothingKeepNobodyOut) {
  server_.reset();
  options_.connections_max = 16;
  start();
  std::vector<Fd> idle;
  for (int i = 0; i < 200; ++i) {
    idle.push_back(connect_tcp(server_->port()));
    ASSERT_GE(idle.back().get(), 0) << i;
    send_all(idle.back(), "GET /healthz HT");
    if (i % 20 == 0) {
      EXPECT_EQ(answer_in_time("/healthz"), 200) << i;
    }
  }
  EXPECT_EQ(answer_in_time("/healthz"), 200);
  EXPECT_LE(server_->connections(), 16u);
}

TEST_F(Http, FollowersAndStreamsLeaveRoomForShortRequests) {
  server_.reset();
  options_.connections_max = 16;
  start();
  is_growing_ = true;
  std::vector<Fd> followers;
  for (int i = 0; i < 40; ++i) {
    followers.push_back(connect_tcp(server_->port()));
    ASSERT_GE(followers.back().get(), 0) << i;
    send_all(followers.back(), "GET /files/task/stdout?follow=1 HTTP/1.1\r\nHost: x\r\n\r\n");
    std::string answer;
    if (i < 12) {
      ASSERT_TRUE(receive_until(followers.back(), answer, "0123456789")) << i;
      continue;
    }
    ASSERT_TRUE(receive_until(followers.back(), answer, "try again")) << i << answer;
    EXPECT_EQ(status_of(answer), 503) << i;
  }
  EXPECT_EQ(answer_in_time("/healthz"), 200);
  EXPECT_EQ(answer_in_time("/files/task/stdout"), 200);
  EXPECT_EQ(answer_in_time("/stream"), 503);
  ASSERT_TRUE(stream_.has_value());
  EXPECT_TRUE(stream_->is_closed());
  // When a follower leaves, another one is accepted.
  followers.erase(followers.begin(), followers.begin() + 2);
  ASSERT_TRUE(run_until(loop_, [&] {
    const Fd fd = connect_tcp(server_->port());
    send_all(fd, "GET /files/task/stdout?follow=1 HTTP/1.1\r\nHost: x\r\n\r\n");
    std::string answer;
    receive_until(fd, answer, "\r\n\r\n");
    return status_of(answer) == 200;
  }));
}

TEST_F(Http, StreamsWithBackpressureUntilFinished) {
  const Fd fd = connect_tcp(server_->port());
  send_all(fd, "GET /stream HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  ASSERT_TRUE(run_until(loop_, [&] { return stream_.has_value(); }));
  std::string all;
  bool done = false;
  loop_.work([&] { all = receive_all(fd); }, [&] { done = true; });
  const std::string block(32 * 1024, '#');
  size_t written = 0;
  int rooms = 0;
  stream_->on_writable([&] { ++rooms; });
  // The amount that the loop writes at once is bounded; the handler is called when there is room
  // again.
  for (int round = 1; round <= 3; ++round) {
    size_t in_one_go = 0;
    while (stream_->write(block)) in_one_go += block.size();
    written += in_one_go;
    ASSERT_TRUE(run_until(loop_, [&] { return rooms == round; }));
  }
  stream_->finish();
  ASSERT_TRUE(run_until(loop_, [&] { return done && closed_ == 1; }));
  EXPECT_EQ(static_cast<size_t>(std::count(all.begin(), all.end(), '#')), written);
  EXPECT_NE(all.find("text/event-stream"), std::string::npos);
  EXPECT_TRUE(stream_->is_closed());
  EXPECT_FALSE(stream_->write("more"));
}

TEST_F(Http, TellsAStreamWhoseReaderHasGone) {
  {
    const Fd fd = connect_tcp(server_->port());
    send_all(fd, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    ASSERT_TRUE(run_until(loop_, [&] { return stream_.has_value(); }));
    stream_->write("first");
    std::string all;
    bool got = false;
    loop_.work([&] { receive_until(fd, all, "first"); }, [&] { got = true; });
    ASSERT_TRUE(run_until(loop_, [&] { return got; }));
  }
  EXPECT_TRUE(run_until(loop_, [&] { return closed_ == 1; }));
}

TEST_F(Http, ServesFilesWithoutTheLoop) {
  // The loop does not run here: the server's own threads do all the work.
  const auto fetch = [&](const std::string& target, const std::string& headers = "") {
    const Fd fd = connect_tcp(server_->port());
    send_all(
        fd, text("GET ", target, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n", headers, "\r\n"));
    return receive_all(fd);
  };
  std::string answer = fetch("/files/task/stdout");
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_EQ(body_of(answer), "0123456789");
  EXPECT_NE(answer.find("Content-Type: text/plain"), std::string::npos);
  answer = fetch("/files/task/stdout", "Range: bytes=2-4\r\n");
  EXPECT_EQ(status_of(answer), 206);
  EXPECT_EQ(body_of(answer), "234");
  EXPECT_NE(answer.find("Content-Range: bytes 2-4/10"), std::string::npos);
  EXPECT_EQ(body_of(fetch("/files/task/stdout", "Range: bytes=-3\r\n")), "789");
  EXPECT_EQ(body_of(fetch("/files/task/stdout", "Range: bytes=7-\r\n")), "789");
  answer = fetch("/files/task/stdout", "Range: bytes=10-\r\n");
  EXPECT_EQ(status_of(answer), 416);
  EXPECT_NE(answer.find("Content-Range: bytes */10"), std::string::npos);
  EXPECT_EQ(body_of(fetch("/files/task/")), "stdout sub ");
  dir_.write("box/empty", "");
  EXPECT_EQ(status_of(fetch("/files/task/empty")), 200);
  std::string large(3 << 20, '\0');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 7);
  dir_.write("box/large", large);
  EXPECT_EQ(body_of(fetch("/files/task/large")), large);
  EXPECT_EQ(asked_, 0);
}

TEST_F(Http, NoPathLeavesItsRoot) {
  for (const std::string target :
       {"/files/task/../secret", "/files/task/%2e%2e/secret", "/files/task/sub/../../secret",
        "/files/task/%2E%2E%2Fsecret", "/files/task//etc/passwd", "/files/task/%2fetc/passwd",
        "/files/task/out", "/files/task/..%00", "/files/../secret", "/files/other/x",
        "/files/task/%252e%252e/secret", "/files/task/nothing", "/../secret",
        "/files/task/..\\secret"}) {
    const std::string answer = get(target);
    EXPECT_GE(status_of(answer), 400) << target;
    EXPECT_LT(status_of(answer), 500) << target;
    EXPECT_EQ(answer.find("secret\n\0"), std::string::npos) << target;
    EXPECT_NE(body_of(answer), "secret") << target;
  }
  EXPECT_EQ(status_of(ask("POST /files/task/stdout HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                          "Content-Length: 0\r\n\r\n")),
            405);
}

// The loop does not run here, so no timer wakes the reader.
TEST_F(Http, AFollowerHearsAtOnceThatItsFileHasEnded) {
  is_growing_ = true;
  const Fd fd = connect_tcp(server_->port());
  send_all(fd, "GET /files/task/stdout?follow=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  std::string all;
  ASSERT_TRUE(receive_until(fd, all, "56789"));
  server_->followed_ended("other");
  dir_.append("box/stdout", "last words");
  is_growing_ = false;
  server_->followed_ended("task");
  EXPECT_TRUE(receive_until(fd, all, "last words\r\n0\r\n\r\n"));
}

TEST_F(Http, FollowsAGrowingFileToItsEnd) {
  is_growing_ = true;
  const Fd fd = connect_tcp(server_->port());
  send_all(
      fd,
      "GET /files/task/stdout?follow=1&offset=5 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  std::string all;
  int step = 0;
  const auto wait_for = [&](const std::string& wanted) {
    bool done = false;
    bool found = false;
    loop_.work([&] { found = receive_until(fd, all, wanted); }, [&] { done = true; });
    return run_until(loop_, [&] { return done; }) && found;
  };
  ASSERT_TRUE(wait_for("56789"));
  EXPECT_EQ(all.find("01234"), std::string::npos);
  for (; step < 3; ++step) {
    dir_.append("box/stdout", text("line", step));
    ASSERT_TRUE(wait_for(text("line", step))) << step;
  }
  dir_.append("box/stdout", "last words");
  is_growing_ = false;
  EXPECT_TRUE(wait_for("last words\r\n0\r\n\r\n"));
}

// As an agent leaves the output file of a task that wrote too much.
TEST_F(Http, WhatIsNotKeptOfAnOutputIsPassedOver) {
  constexpr off_t kBytes = off_t{1} << 20;
  // The rest of a line is not kept either.
  const std::string kept(kBytes / 2, 'k');
  dir_.write("box/stdout", std::string(kBytes / 2, 'l') + kept);
  const Fd file(open((dir_.path() / "box/stdout").c_str(), O_WRONLY | O_CLOEXEC));
  if (fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kBytes / 2) != 0) {
    GTEST_SKIP() << "the file system has no holes";
  }
  const std::string note = text("\n[", kBytes / 2, " bytes of this output are not kept]\n");
  EXPECT_NE(get("/files/task/stdout").find(note), std::string::npos);
  const auto without_chunks = [](const std::string& answer) {
    return std::count(answer.begin(), answer.end(), 'k');
  };
  EXPECT_GE(without_chunks(get("/files/task/stdout")), kBytes / 2);
  EXPECT_NE(get("/files/task/stdout?follow=1").find(note), std::string::npos);
  EXPECT_EQ(get(text("/files/task/stdout?follow=1&offset=", kBytes / 2)).find(note),
            std::string::npos);
  const std::string marked = get("/files/task/stdout?follow=1&hole=here-");
  EXPECT_NE(marked.find(text("here-", kBytes / 2, "\n")), std::string::npos);
  EXPECT_EQ(marked.find("not kept"), std::string::npos);
  EXPECT_NE(get("/files/task/stdout?follow=1&hole=" + std::string(65, 'x')).find(" 400 "),
            std::string::npos);
  EXPECT_EQ(body_of(get("/files/task/stdout", "Range: bytes=0-1\r\n")), std::string(2, '\0'));

  // On a file system without holes, the file is truncated instead.
  is_growing_ = true;
  std::string answer;
  const Fd fd = connect_tcp(server_->port());
  send_all(fd, "GET /files/task/stdout?follow=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  ASSERT_TRUE(run_until(loop_, [&] {
    has_ended(fd, &answer);
    return without_chunks(answer) >= kBytes / 2;
  }));
  ASSERT_EQ(ftruncate(file.get(), 0), 0);
  dir_.append("box/stdout", "anew");
  EXPECT_TRUE(run_until(loop_, [&] {
    has_ended(fd, &answer);
    return answer.find("anew") != std::string::npos;
  }));
  is_growing_ = false;
  EXPECT_TRUE(run_until(loop_, [&] { return has_ended(fd); }));
}

TEST_F(Http, AFollowerThatHasGoneIsForgotten) {
  is_growing_ = true;
  {
    const Fd fd = connect_tcp(server_->port());
    send_all(fd, "GET /files/task/stdout?follow=1 HTTP/1.1\r\nHost: x\r\n\r\n");
    std::string all;
    ASSERT_TRUE(receive_until(fd, all, "0123456789"));
    EXPECT_EQ(server_->connections(), 1u);
  }
  EXPECT_TRUE(run_until(loop_, [&] { return server_->connections() == 0; }));
}

TEST_F(Http, EndsWithRequestsStreamsAndFollowersUnderWay) {
  is_growing_ = true;
  std::vector<Fd> clients;
  for (const std::string target : {"/later", "/stream", "/files/task/stdout?follow=1", "/later"}) {
    clients.push_back(connect_tcp(server_->port()));
    send_all(clients.back(), text("GET ", target, " HTTP/1.1\r\nHost: x\r\n\r\n"));
  }
  ASSERT_TRUE(run_until(loop_, [&] { return later_.size() == 2 && stream_.has_value(); }));
  std::string all;
  ASSERT_TRUE(receive_until(clients[2], all, "0123456789"));
  server_.reset();
  later_[0].respond_text(200, "too late");
  EXPECT_FALSE(stream_->write("too late"));
  for (const Fd& fd : clients) EXPECT_EQ(receive_all(fd).find("too late"), std::string::npos);
}

TEST_F(Http, APortInUseIsRefusedWithAReason) {
  HttpServer::Options options;
  options.address = server_->address();
  const auto again = HttpServer::listen(loop_, options);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), ErrorCode::kFailedPrecondition);
  EXPECT_NE(again.error().message().find(text("port ", server_->port())), std::string::npos);
  EXPECT_NE(again.error().hint().find("--http_port"), std::string::npos);
  for (const char* beyond : {"not-numeric.example", "192.0.2.1", "0.0.0.0"}) {
    options.address = {beyond, 0};
    EXPECT_EQ(HttpServer::listen(loop_, options).error().code(), ErrorCode::kUnsupported) << beyond;
  }
  // The port is free as soon as the server ends.
  options.address = server_->address();
  server_.reset();
  EXPECT_TRUE(HttpServer::listen(loop_, options));
}

}  // namespace
}  // namespace proffer::http_test
