// HTTP over TLS: a client with the pin of the server's key accepts no other server, and a client
// without a token gets no data.

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "common/check.h"
#include "common/limits.h"
#include "net/http_get.h"
#include "net/http_server.h"
#include "tests/net/support.h"

namespace proffer::https_test {
namespace {

using net_test::connect_tcp;
using net_test::receive_all;
using net_test::run_until;
using net_test::send_all;
using net_test::TempDir;

constexpr std::string_view kToken = "let-me-in";

class Https : public testing::Test {
 protected:
  void listen(size_t connections_max = kHttpConnectionsMax) {
    Result<TlsIdentity> made = make_tls_identity("a1");
    CHECK(made) << made.error().message();
    identity_ = *std::move(made);
    HttpServer::Options options;
    options.connections_max = connections_max;
    options.tls = HttpTls{
        .identity = identity_,
        .admit = [this](std::string_view token, std::string_view path,
                        std::string_view peer) -> std::variant<PrincipalPtr, HttpRefusal> {
          ++asked_;
          if (peer != "127.0.0.1") return HttpRefusal{400, "a strange peer"};
          if (token != kToken) return HttpRefusal{401, "no token"};
          if (path == "/forbidden") return HttpRefusal{403, "not this"};
          return PrincipalPtr(std::make_shared<Principal>(Principal{.user = "ada", .uid = 7}));
        }};
    options.handler = [](const HttpRequest& request, HttpResponder responder) {
      responder.respond_text(
          200, request.principal == nullptr ? "open" : text("hello ", request.principal->user));
    };
    options.files = {
        .prefix = "/files/",
        .resolve = [this](std::string_view rest, const PrincipalPtr&) -> Result<ServedPath> {
          return ServedPath{.root = *open_root(dir_.path()),
                            .relative = std::string(rest),
                            .is_growing = [this] { return is_growing_.load(); }};
        }};
    auto listening = HttpServer::listen(loop_, std::move(options));
    CHECK(listening) << listening.error().message();
    server_ = *std::move(listening);
  }
  HttpPlace place() const {
    return {
        .address = to_text(server_->address()), .pin = identity_.pin, .token = std::string(kToken)};
  }
  // Runs in another thread, while the loop runs here.
  void aside(const std::function<void()>& what) {
    std::atomic<bool> is_done = false;
    std::thread thread([&] {
      what();
      is_done = true;
    });
    EXPECT_TRUE(run_until(loop_, [&] { return is_done.load(); }));
    thread.join();
  }
  Result<HttpAnswer> get(const HttpPlace& from, const std::string& target) {
    std::optional<Result<HttpAnswer>> answer;
    body_.clear();
    aside([&] {
      answer = http_get(from, target, [this](std::string_view bytes) { body_ += bytes; },
                        {.begin_max = seconds(10)});
    });
    return *answer;
  }

  TempDir dir_;
  Loop loop_;
  TlsIdentity identity_;
  std::atomic<int> asked_ = 0;
  std::atomic<bool> is_growing_ = false;
  std::string body_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(Https, ABearerIsAnsweredAndOthersAreNot) {
  listen();
  const Result<HttpAnswer> answer = get(place(), "/v1/status");
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(body_, "hello ada");

  HttpPlace without = place();
  without.token.clear();
  EXPECT_EQ(get(without, "/v1/status")->status, 401);
  EXPECT_EQ(get(without, "/files/x")->status, 401);
  EXPECT_EQ(get(without, "/healthz")->status, 200);
  EXPECT_EQ(body_, "open");
  without.token = "other";
  EXPECT_EQ(get(without, "/v1/status")->status, 401);
  const Result<HttpAnswer> forbidden = get(place(), "/forbidden");
  EXPECT_EQ(forbidden->status, 403);
  EXPECT_EQ(forbidden->reason, "not this\n");
}

TEST_F(Https, AnotherKeyThanThePinIsToldNothing) {
  listen();
  HttpPlace wrong = place();
  wrong.pin = make_tls_identity("a1")->pin;
  const Result<HttpAnswer> answer = get(wrong, "/v1/status");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), ErrorCode::kPermissionDenied);
  EXPECT_NE(answer.error().message().find("is not the one that the master named"),
            std::string::npos);
  EXPECT_EQ(asked_, 0);
}

TEST_F(Https, PlainAndTlsDoNotMix) {
  listen();
  std::string heard;
  aside([&] {
    const Fd plain = connect_tcp(server_->port());
    send_all(plain, "GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n");
    heard = receive_all(plain);
  });
  EXPECT_EQ(heard.find("HTTP/"), std::string::npos) << heard;
  EXPECT_EQ(asked_, 0);

  auto listening = HttpServer::listen(loop_, {.handler = [](const HttpRequest&, HttpResponder r) {
                                        r.respond_text(200, "plain");
                                      }});
  ASSERT_TRUE(listening);
  HttpPlace other = place();
  other.address = to_text((*listening)->address());
  const Result<HttpAnswer> answer = get(other, "/");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), ErrorCode::kUnavailable);
}

TEST_F(Https, BeyondLoopbackNothingIsServedPlainly) {
  for (const char* host : {"0.0.0.0", "::", "10.1.2.3"}) {
    const auto listening = HttpServer::listen(loop_, {.address = {host, 0}});
    ASSERT_FALSE(listening) << host;
    EXPECT_EQ(listening.error().code(), ErrorCode::kUnsupported) << host;
  }
}

TEST_F(Https, LargeFilesAndFilesThatGrowComeWhole) {
  std::string large;
  for (int i = 0; large.size() < (size_t{20} << 20); ++i) large += text("line ", i, "\n");
  std::ofstream(dir_.path() / "large") << large;
  listen();
  ASSERT_TRUE(get(place(), "/files/large"));
  EXPECT_TRUE(body_ == large) << body_.size();

  std::ofstream log(dir_.path() / "log");
  log << "first\n" << std::flush;
  is_growing_ = true;
  std::string followed;
  aside([&] {
    const Result<HttpAnswer> whole = http_get(place(), "/files/log?follow=1",
                                              [&](std::string_view bytes) {
                                                followed += bytes;
                                                if (followed == "first\n") {
                                                  log << "second\n" << std::flush;
                                                  is_growing_ = false;
                                                }
                                              },
                                              {});
    EXPECT_TRUE(whole);
  });
  EXPECT_EQ(followed, "first\nsecond\n");
}

TEST_F(Https, OneAddressHasAQuarterOfTheConnections) {
  listen(16);
  std::vector<Fd> strangers;
  for (int i = 0; i < 12; ++i) strangers.push_back(connect_tcp(server_->port()));
  // Connections of strangers end with their timeouts; here all have the same address.
  ASSERT_TRUE(run_until(loop_, [&] { return server_->connections() <= 4; }));
  strangers.clear();
  ASSERT_TRUE(run_until(loop_, [&] { return server_->connections() == 0; }));
  EXPECT_EQ(get(place(), "/v1/status")->status, 200);
}

TEST(TlsIdentity, IsAnotherEachTime) {
  const Result<TlsIdentity> one = make_tls_identity("a1");
  const Result<TlsIdentity> two = make_tls_identity("a1");
  ASSERT_TRUE(one && two);
  EXPECT_NE(one->pin, two->pin);
  EXPECT_EQ(one->pin.size(), kPinBytesMax);
}

}  // namespace
}  // namespace proffer::https_test
