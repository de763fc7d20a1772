// How `proffer ui` decides and relays, to a server that answers, streams, stands by or is away.

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/ui/relay.h"
#include "cli/ui/sessions.h"
#include "cli/ui/web_files.h"
#include "common/text.h"
#include "net/local_address.h"
#include "tests/net/support.h"

namespace proffer::cli::ui_test {
namespace {

using net_test::connect_path;
using net_test::run_until;
using net_test::send_all;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

constexpr Time at(int64_t second) { return Time::from_nanos(second * 1'000'000'000); }

TEST(UiSessions, ALinkWorksOnceAndForAShortTime) {
  UiSessions sessions;
  EXPECT_FALSE(sessions.begin("", "t", at(0))) << "there is no link yet";
  sessions.offer("key", at(0));
  EXPECT_FALSE(sessions.begin("kez", "t", at(1)));
  EXPECT_FALSE(sessions.begin("key2", "t", at(1)));
  EXPECT_FALSE(sessions.is_known("t"));
  EXPECT_TRUE(sessions.begin("key", "t", at(600)));
  EXPECT_TRUE(sessions.is_known("t"));
  EXPECT_FALSE(sessions.is_known(""));
  EXPECT_FALSE(sessions.is_known("tt"));
  const Result<void> again = sessions.begin("key", "u", at(601));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), ErrorCode::kPermissionDenied);
  EXPECT_FALSE(sessions.is_known("u"));
  sessions.offer("late", at(700));
  EXPECT_FALSE(sessions.begin("late", "v", at(1'301)));
}

TEST(UiSessions, HaveABound) {
  UiSessions sessions;
  for (size_t i = 0; i < kUiSessionsMax; ++i) {
    sessions.offer("key", at(0));
    EXPECT_TRUE(sessions.begin("key", text("t", i), at(0)));
  }
  sessions.offer("key", at(0));
  const Result<void> more = sessions.begin("key", "more", at(0));
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code(), ErrorCode::kResourceExhausted);
  EXPECT_TRUE(sessions.is_known("t0"));
}

TEST(WebFiles, AreWholeAndNameNoOtherHost) {
  ASSERT_FALSE(web_files().empty());
  size_t pages = 0;
  for (const WebFile& file : web_files()) {
    EXPECT_FALSE(file.body.empty()) << file.path;
    EXPECT_GT(file.etag.size(), 10u) << file.path;
    pages += file.path == "/" ? 1 : 0;
    // The name of the format is not an address to contact.
    std::string body(file.body);
    const std::string svg = "http://www.w3.org/2000/svg";
    if (const size_t found = body.find(svg); found != body.npos) body.erase(found, svg.size());
    EXPECT_THAT(body, Not(HasSubstr("://"))) << file.path;
    EXPECT_THAT(body, Not(HasSubstr("innerHTML"))) << file.path;
  }
  EXPECT_EQ(pages, 1u);
}

TEST(UiRelay, PassesOnWhatIsForTheMaster) {
  const HttpRequest request{.method = "POST",
                            .path = "/v1/frameworks/a b/requests",
                            .query = {{"role", "a/b&c"}, {"x", "1"}},
                            .headers = {{"authorization", "Bearer secret"},
                                        {"cookie", "a=b"},
                                        {"origin", "http://127.0.0.1:1"},
                                        {"content-type", "application/json"},
                                        {"idempotency-key", "k1"}},
                            .body = "{}"};
  EXPECT_EQ(relayed_request(request),
            "POST /v1/frameworks/a%20b/requests?role=a/b%26c&x=1 HTTP/1.0\r\nHost: localhost\r\n"
            "content-type: application/json\r\nidempotency-key: k1\r\ncontent-length: 2\r\n\r\n{}");
}

// Masters and a relay, on one event loop.
struct Story {
  std::string socket(const std::string& name) const { return dir.path() / name; }
  std::unique_ptr<HttpServer> serve(
      const std::string& name, std::function<void(const HttpRequest&, HttpResponder)> handler) {
    HttpServer::Options options;
    options.address = {.socket = socket(name)};
    options.handler = std::move(handler);
    Result<std::unique_ptr<HttpServer>> listening = HttpServer::listen(loop, std::move(options));
    CHECK(listening) << listening.error().message();
    return *std::move(listening);
  }
  // Reads until the other end closes.
  std::string read_all(const Fd& fd) {
    std::string got;
    std::string block(64 * 1024, '\0');
    EXPECT_TRUE(run_until(loop, [&] {
      const ssize_t count = ::recv(fd.get(), block.data(), block.size(), MSG_DONTWAIT);
      if (count > 0) got.append(block.data(), static_cast<size_t>(count));
      return count == 0;
    }));
    return got;
  }
  // The relay's answer to a request.
  std::string ask(const std::string& request) {
    const Fd fd = connect_path(socket("relay"));
    CHECK(send_all(fd, request));
    return read_all(fd);
  }
  std::string get(const std::string& target) {
    return ask(text("GET ", target, " HTTP/1.0\r\nHost: localhost\r\n\r\n"));
  }
  void relay_to(const std::vector<std::string>& names, Duration head_wait = kRelayedHeadWait) {
    relaying.reset();
    std::vector<std::string> sockets;
    for (const std::string& name : names) sockets.push_back(socket(name));
    relay = std::make_unique<UiRelay>(loop, std::move(sockets), head_wait);
    relaying = serve("relay", [this](const HttpRequest& request, HttpResponder responder) {
      const std::string_view session = request.header("x-session").value_or("");
      if (request.path == "/logs") return relay->to_output(request, std::move(responder), session);
      relay->to_master(request, std::move(responder), session);
    });
  }

  net_test::TempDir dir;
  Loop loop;
  std::unique_ptr<UiRelay> relay;
  std::unique_ptr<HttpServer> relaying;
};

// As a script with a link could do, or tabs that stay open.
TEST(UiRelay, ASessionThatFollowsALotKeepsNoOtherAway) {
  Story story;
  std::vector<HttpStream> streams;
  const auto master = story.serve("m1", [&](const HttpRequest& request, HttpResponder responder) {
    if (request.path == "/v1/status") return responder.respond_json(200, "{}");
    streams.push_back(responder.stream(200, "text/event-stream"));
  });
  story.relay_to({"m1"});
  const auto get = [&](const std::string& path, const std::string& session) {
    return text("GET ", path, " HTTP/1.0\r\nHost: localhost\r\nX-Session: ", session, "\r\n\r\n");
  };
  std::vector<Fd> followers;
  for (size_t i = 0; i < kRelayedCallsPerSessionMax; ++i) {
    followers.push_back(connect_path(story.socket("relay")));
    ASSERT_TRUE(send_all(followers.back(), get("/v1/events", "one")));
    ASSERT_TRUE(run_until(story.loop, [&] { return streams.size() == i + 1; }));
  }
  for (const char* path : {"/v1/status", "/logs?task=a/b"}) {
    const std::string refused = story.ask(get(path, "one"));
    EXPECT_THAT(refused, HasSubstr(" 429 ")) << path;
    EXPECT_THAT(refused, HasSubstr("this session has 24 open requests")) << path;
  }
  EXPECT_THAT(story.ask(get("/v1/status", "another")), HasSubstr(" 200 "));
  // Closed connections no longer count.
  followers.clear();
  streams.clear();
  std::string answer;
  do {
    answer = story.ask(get("/v1/status", "one"));
    ASSERT_THAT(answer, AnyOf(HasSubstr(" 200 "), HasSubstr(" 429 ")));
  } while (answer.find(" 200 ") == std::string::npos);
}

TEST(UiRelay, AsksTheMasterThatLeads) {
  Story story;
  int asked = 0;
  const auto standby = story.serve("a", [&](const HttpRequest&, HttpResponder responder) {
    ++asked;
    responder.respond_json(503, "{}");
  });
  const auto leader = story.serve("b", [](const HttpRequest& request, HttpResponder responder) {
    responder.respond(409, "application/json", text("[\"", request.body, "\"]"),
                      {{"ETag", "\"7\""}});
  });
  story.relay_to({"away", "a", "b"});
  const std::string answer =
      story.ask("POST /v1/kill HTTP/1.0\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody");
  EXPECT_THAT(answer, HasSubstr(" 409 "));
  EXPECT_THAT(answer, HasSubstr("etag: \"7\""));
  EXPECT_THAT(answer, HasSubstr("[\"body\"]"));
  EXPECT_THAT(story.get("/v1/status"), HasSubstr(" 409 "));
  EXPECT_EQ(asked, 1) << "the one that answered is asked first";
}

TEST(UiRelay, AsksForTheWholeAnswerOfWhichHeadWantsTheHead) {
  Story story;
  const auto master = story.serve("a", [](const HttpRequest& request, HttpResponder responder) {
    responder.respond_text(200, text(request.method, " body"));
  });
  story.relay_to({"a"});
  const std::string answer = story.ask("HEAD /v1/status HTTP/1.0\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr(" 200 "));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 8\r\n"));
  EXPECT_THAT(answer, Not(HasSubstr("body")));
}

TEST(UiRelay, SaysThatNoMasterAnswers) {
  Story story;
  story.relay_to({"away"});
  const std::string answer = story.get("/v1/status");
  EXPECT_THAT(answer, HasSubstr(" 503 "));
  EXPECT_THAT(answer, HasSubstr("no master answers"));
}

TEST(UiRelay, PassesAStreamOnAsItsReaderTakesIt) {
  Story story;
  std::optional<HttpStream> stream;
  size_t written = 0;
  const std::string block(32 * 1024, '#');
  constexpr size_t kBlocks = 200;
  const std::function<void()> more = [&] {
    while (written < kBlocks && stream->write(block)) ++written;
    if (written == kBlocks) stream->finish();
  };
  const auto master = story.serve("a", [&](const HttpRequest&, HttpResponder responder) {
    stream.emplace(responder.stream(200, "text/event-stream"));
    stream->on_writable(more);
    more();
  });
  story.relay_to({"a"});
  const Fd slow = connect_path(story.socket("relay"));
  ASSERT_TRUE(send_all(slow, "GET /v1/events HTTP/1.0\r\nHost: localhost\r\n\r\n"));
  // If the reader stops, the relay accepts no more than its buffers hold.
  ASSERT_TRUE(run_until(story.loop, [&] { return written > 0; }));
  size_t before = 0;
  do {
    before = written;
    net_test::run_for(story.loop, milliseconds(200));
  } while (before != written);
  EXPECT_LT(written, kBlocks);
  const std::string got = story.read_all(slow);
  EXPECT_EQ(std::count(got.begin(), got.end(), '#'),
            static_cast<std::ptrdiff_t>(kBlocks * block.size()));
}

// It accepts connections but never answers, like a stopped process.
struct Still {
  explicit Still(const std::string& path, int queue = 64)
      : fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    const Result<sockaddr_un> at = local_address(path);
    CHECK(at && ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&*at), sizeof *at) == 0 &&
          ::listen(fd.get(), queue) == 0);
  }
  const Fd fd;
};

TEST(UiRelay, AsksTheNextMasterIfOneStandsStill) {
  Story story;
  const Still still(story.socket("still"));
  int asked = 0;
  const auto leader = story.serve("b", [&](const HttpRequest&, HttpResponder responder) {
    ++asked;
    responder.respond_json(200, R"({"leads":"b"})");
  });
  story.relay_to({"still", "b"}, milliseconds(50));
  // The first master may have carried out a change.
  const std::string change =
      story.ask("POST /v1/kill HTTP/1.0\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}");
  EXPECT_THAT(change, HasSubstr(" 504 "));
  EXPECT_THAT(change, HasSubstr("within 50ms"));
  EXPECT_EQ(asked, 0);
  story.relay_to({"still", "b"}, milliseconds(50));
  EXPECT_THAT(story.get("/v1/status"), HasSubstr(R"({"leads":"b"})"));
}

TEST(UiRelay, WaitsAsLongAsTheRequestDoes) {
  EXPECT_EQ(wait_of({.query = {{"timeout_s", "20"}}}), seconds(20));
  EXPECT_EQ(wait_of({.query = {{"wait_s", "30"}, {"timeout_s", "x"}}}), seconds(30));
  EXPECT_EQ(wait_of({.query = {{"wait", "5s"}}}), seconds(5));
  EXPECT_EQ(wait_of({.query = {{"last", "5"}}}), Duration());
  Story story;
  std::vector<HttpResponder> held;
  const auto leader = story.serve("a", [&](const HttpRequest&, HttpResponder responder) {
    held.push_back(std::move(responder));
  });
  story.relay_to({"a"}, milliseconds(50));
  const Fd waiting = connect_path(story.socket("relay"));
  ASSERT_TRUE(send_all(waiting, "GET /v1/agents?wait=60s HTTP/1.0\r\nHost: localhost\r\n\r\n"));
  ASSERT_TRUE(run_until(story.loop, [&] { return held.size() == 1; }));
  // A request to another master is answered meanwhile.
  EXPECT_THAT(story.get("/v1/agents"), HasSubstr(" 504 "));
  held.front().respond_json(200, "[]");
  EXPECT_THAT(story.read_all(waiting), HasSubstr(" 200 "));
}

// A task may be silent for hours, and the response headers come only with its first byte.
TEST(UiRelay, FollowsATaskThatHasWrittenNothing) {
  Story story;
  const Still agent(story.socket("agent"));
  const auto master = story.serve("a", [&](const HttpRequest&, HttpResponder responder) {
    responder.respond_json(
        200, text(R"({"tasks":[{"framework":"web-1-1","task":"t1","agent":"a",)",
                  R"("state":"running","http_address":")", story.socket("agent"), R"("}]})"));
  });
  const auto next_connection = [&] {
    Fd fd;
    EXPECT_TRUE(run_until(story.loop, [&] {
      fd = Fd(::accept4(agent.fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
      return fd.get() >= 0;
    }));
    return fd;
  };
  story.relay_to({"a"}, milliseconds(50));
  const Fd reader = connect_path(story.socket("relay"));
  ASSERT_TRUE(send_all(reader, "GET /logs?task=web-1-1/t1 HTTP/1.0\r\nHost: localhost\r\n\r\n"));
  {
    const Fd size = next_connection();
    std::string asked(4'096, '\0');
    ASSERT_TRUE(run_until(story.loop, [&] {
      return ::recv(size.get(), asked.data(), asked.size(), MSG_DONTWAIT) > 0;
    }));
    ASSERT_TRUE(send_all(size, "HTTP/1.0 416 Empty\r\nContent-Length: 0\r\n\r\n"));
  }
  {
    const Fd output = next_connection();
    net_test::run_for(story.loop, milliseconds(200));
    ASSERT_TRUE(send_all(output, "HTTP/1.0 200 OK\r\n\r\nat last"));
    // Read the relay's request first, so that closing does not cause a reset.
    std::string asked(4'096, '\0');
    EXPECT_GT(::recv(output.get(), asked.data(), asked.size(), 0), 0);
  }
  EXPECT_THAT(story.read_all(reader), HasSubstr("at last"));
}

TEST(UiRelay, GoesOnWhileTheQueueOfAMasterIsFull) {
  Story story;
  const Still full(story.socket("full"), 0);
  const Fd first = connect_path(story.socket("full"));
  const auto leader = story.serve("b", [](const HttpRequest&, HttpResponder responder) {
    responder.respond_json(200, R"({"leads":"b"})");
  });
  story.relay_to({"full", "b"}, seconds(600));
  const Time begin = story.loop.now();
  EXPECT_THAT(story.get("/v1/status"), HasSubstr(R"({"leads":"b"})"));
  EXPECT_LT(story.loop.now() - begin, seconds(60));
}

TEST(UiRelay, ReadsTheSizeInARange) {
  EXPECT_EQ(size_of_range("bytes 0-0/1234"), 1'234);
  EXPECT_EQ(size_of_range("bytes */0"), 0);
  for (const char* none : {"", "bytes 0-0/*", "bytes 0-0/-1", "lines 0-0/5", "bytes 5"}) {
    EXPECT_EQ(size_of_range(none), std::nullopt) << none;
  }
}

TEST(UiRelay, FindsTheOutputOfATask) {
  Story story;
  int64_t size = 0;
  const auto agent = story.serve("agent", [&](const HttpRequest& request, HttpResponder responder) {
    if (request.header("range") == "bytes=0-0") {
      return responder.respond(
          size > 0 ? 206 : 416, "text/plain", size > 0 ? "#" : "",
          {{"Content-Range", text(size > 0 ? "bytes 0-0/" : "bytes */", size)}});
    }
    HttpStream stream = responder.stream(200, "text/plain");
    stream.write(text(request.path, " ", request.param("follow").value_or("no"), " from ",
                      request.param("offset").value_or("none")));
    stream.finish();
  });
  const auto master = story.serve("a", [&](const HttpRequest& request, HttpResponder responder) {
    EXPECT_EQ(request.param("prefix"), "web-1-1/t1");
    responder.respond_json(
        200,
        text(R"({"tasks":[{"framework":"web-1-1","task":"t10","agent":"a","state":"running"},)",
             R"({"framework":"web-1-1","task":"t1","agent":"a","state":"running",)",
             R"("http_address":")", story.socket("agent"), R"("}]})"));
  });
  story.relay_to({"a"});
  const auto read = [&] { return story.get("/logs?task=web-1-1/t1&file=stderr"); };
  const std::string whole = "\r\n\r\n/v1/files/web-1-1/t1/stderr 1 from 0";
  EXPECT_THAT(read(), HasSubstr(whole));
  size = kOutputTailBytes;
  EXPECT_THAT(read(), HasSubstr(whole));
  // The last part of a long output, with a sign that more exists.
  size = kOutputTailBytes + 17;
  EXPECT_THAT(read(),
              HasSubstr("\r\n\r\n[17 bytes before this are omitted; show all with `proffer logs "
                        "web-1-1/t1`]\n/v1/files/web-1-1/t1/stderr 1 from 17"));
  EXPECT_THAT(story.get("/logs?task=web-1-1/t1&file=../secret"), HasSubstr(" 400 "));
}

}  // namespace
}  // namespace proffer::cli::ui_test
