// Listeners of an event log on a real HTTP server: they get each event once and in order, also
// across a restart of the master, independently of other listeners.

#include "master/shell/event_streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "master/core/trace.h"
#include "master/shell/http_routes.h"
#include "proto/json/json.h"
#include "tests/net/support.h"

namespace proffer::master::event_streams_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TraceEvent launched(const std::string& task, const std::string& by = "ada") {
  return TaskLaunched{FrameworkId("web-1-1"), TaskId(task), AgentId("a1"), by, {}, {}};
}

// A listener that reads only when the test asks it to.
class Listener {
 public:
  Listener(const std::string& socket, const std::string& target, const std::string& headers = "")
      : fd_(net_test::connect_path(socket)) {
    // HTTP 1.0, so that the body has no chunks.
    net_test::send_all(fd_, text("GET ", target, " HTTP/1.0\r\nHost: localhost\r\n",
                                 "Accept: text/event-stream\r\n", headers, "\r\n"));
  }

  const std::string& read() {
    std::string block(64 * 1024, '\0');
    for (ssize_t count = 1; count > 0;) {
      count = ::recv(fd_.get(), block.data(), block.size(), MSG_DONTWAIT);
      if (count > 0) got_.append(block.data(), static_cast<size_t>(count));
      if (count == 0) is_ended_ = true;
    }
    return got_;
  }
  bool has(std::string_view part) { return read().find(part) != std::string::npos; }
  bool is_ended() {
    read();
    return is_ended_;
  }
  // The ids of its events in order, without heartbeats.
  std::vector<std::string> ids() {
    std::vector<std::string> ids;
    const std::string& all = read();
    for (size_t at = all.find("\nid: "); at != std::string::npos; at = all.find("\nid: ", at + 1)) {
      const size_t end = all.find('\n', at + 1);
      if (all.compare(end + 1, 6, "data: ") == 0) ids.push_back(all.substr(at + 5, end - at - 5));
    }
    return ids;
  }

 private:
  Fd fd_;
  std::string got_;
  bool is_ended_ = false;
};

// A leader's log with its listeners.
struct Life {
  explicit Life(const net_test::TempDir& in, uint64_t leader = 1, EventStreamOptions options = {},
                uint64_t log_bytes = uint64_t{64} << 20)
      : socket(in.path() / "http.sock"),
        log(loop, {.log = {.directory = in.path() / "events", .bytes_max = log_bytes},
                   .leader = LeaderEpoch(leader),
                   .delay = milliseconds(1),
                   .retry = milliseconds(1)}),
        streams(loop, log, quick(options)) {
    HttpServer::Options web;
    web.address = {.socket = socket};
    web.handler = [this](const HttpRequest& request, HttpResponder responder) {
      answer(request, std::move(responder));
    };
    Result<std::unique_ptr<HttpServer>> listening = HttpServer::listen(loop, std::move(web));
    CHECK(listening) << listening.error().message();
    server = *std::move(listening);
  }
  static EventStreamOptions quick(EventStreamOptions options) {
    options.look = milliseconds(5);
    return options;
  }

  void answer(const HttpRequest& request, HttpResponder responder) {
    const std::variant<HttpCall, HttpReply> call = http_call(request);
    const auto refuse = [&](const Error& error) {
      responder.respond_json(http_status(error.code()), proto::error_json(error));
    };
    if (!wants_event_stream(request)) return refuse(Error::internal("no stream is wanted"));
    const Result<proto::EventQuery> query =
        event_stream_query(std::get<HttpCall>(call).arguments, request);
    if (!query) return refuse(query.error());
    PrincipalPtr by;
    if (const auto user = request.header("x-user")) {
      by = std::make_shared<const Principal>(Principal{.user = std::string(*user)});
    }
    if (Result<void> room = streams.check_room(by.get(), by == nullptr); !room) {
      return refuse(room.error());
    }
    streams.add(*query, by, by == nullptr, responder.stream(200, kEventStreamType));
  }

  void add(const std::vector<TraceEvent>& events) { log.add(loop.now(), events); }
  void until(const std::function<bool()>& is_so) { EXPECT_TRUE(net_test::run_until(loop, is_so)); }
  void until_listening(size_t count) {
    until([&] { return streams.size() == count; });
  }
  // Adds this many events; at the end, each reading listener has the last one.
  void flood(int from, int count, const std::vector<Listener*>& readers) {
    for (int i = from; i < from + count; ++i) {
      add({launched(text("flood-", i))});
      if (i % 500 != 0 && i != from + count - 1) continue;
      const std::string last = text("\"flood-", i, '"');
      for (Listener* reader : readers) until([&] { return reader->has(last); });
      if (readers.empty()) until([&] { return log.end().number > log.written(); });
    }
    until([&] { return log.written() == log.end().number - 1; });
  }

  const std::string socket;
  Loop loop;
  EventLog log;
  EventStreams streams;
  std::unique_ptr<HttpServer> server;
};

TEST(EventStreams, TellWhatHappensFromNowOnInOrder) {
  net_test::TempDir directory;
  Life life(directory);
  life.add({launched("before")});
  life.until([&] { return life.log.written() == 2; });
  Listener all(life.socket, "/v1/events");
  Listener of_agent(life.socket, "/v1/events?agent=a2");
  Listener newest(life.socket, "/v1/events?last=1");
  Listener from_first(life.socket, "/v1/events?from=1.1");
  life.until_listening(4);
  // Wait until they have read the earlier events.
  for (Listener* one : {&newest, &from_first}) {
    life.until([&] { return one->has("\"before\""); });
  }
  life.add({launched("t1"), launched("t2"), AgentDisconnected{AgentId("a2"), 1}});
  for (Listener* one : {&all, &of_agent, &newest, &from_first}) {
    life.until([&] { return one->has("agent disconnected"); });
  }
  EXPECT_THAT(all.read(), HasSubstr("Content-Type: text/event-stream\r\n"));
  EXPECT_THAT(all.read(), HasSubstr("\nid: 1.4\ndata: {\"seq\":\"1.4\","));
  EXPECT_EQ(all.ids(), (std::vector<std::string>{"1.3", "1.4", "1.5"}));
  EXPECT_EQ(of_agent.ids(), (std::vector<std::string>{"1.5"}));
  EXPECT_EQ(newest.ids(), (std::vector<std::string>{"1.2", "1.3", "1.4", "1.5"}));
  EXPECT_EQ(from_first.ids(), (std::vector<std::string>{"1.1", "1.2", "1.3", "1.4", "1.5"}));
}

// The master examines some thousands of events per turn.
TEST(EventStreams, TellOneEventBehindManyThatAreNotWanted) {
  net_test::TempDir directory;
  Life life(directory);
  life.flood(0, 9'000, {});
  life.add({AgentDisconnected{AgentId("a2"), 1}});
  Listener one(life.socket, "/v1/events?agent=a2", "Last-Event-ID: 1.1\r\n");
  life.until([&] { return one.has("agent disconnected"); });
  EXPECT_EQ(one.ids(), (std::vector<std::string>{"1.9002"}));
}

TEST(EventStreams, TellEachUserWhatIsTheirsToSee) {
  net_test::TempDir directory;
  Life life(directory);
  Listener ada(life.socket, "/v1/events", "X-User: ada\r\n");
  Listener bob(life.socket, "/v1/events", "X-User: bob\r\n");
  life.until_listening(2);
  life.add({launched("t1"), launched("t2", "bob"), AgentDisconnected{AgentId("a2"), 1}});
  for (Listener* one : {&ada, &bob}) life.until([&] { return one->has("agent disconnected"); });
  EXPECT_EQ(ada.ids(), (std::vector<std::string>{"1.2", "1.4"}));
  EXPECT_EQ(bob.ids(), (std::vector<std::string>{"1.3", "1.4"}));
}

TEST(EventStreams, GoOnBehindTheLastIdOverARestartOfTheMaster) {
  net_test::TempDir directory;
  std::string seen;
  {
    Life life(directory, 1);
    Listener listener(life.socket, "/v1/events?last=5");
    life.until_listening(1);
    life.add({launched("t1")});
    life.until([&] { return listener.has("\"t1\""); });
    seen = listener.ids().back();
    life.add({launched("t2")});
    life.until([&] { return life.log.written() == 3; });
  }
  Life life(directory, 2);
  life.add({launched("t3")});
  // Like a browser, it repeats its first request and adds the last id.
  Listener listener(life.socket, "/v1/events?last=5", text("Last-Event-ID: ", seen, "\r\n"));
  life.until([&] { return listener.has("\"t3\""); });
  // The first run ended without a record of its end, so events may be missing.
  EXPECT_EQ(listener.ids(), (std::vector<std::string>{"1.3", "2.0", "2.1", "2.2"}));
  EXPECT_THAT(listener.read(), HasSubstr("event: gap\nid: 2.0\ndata: {\"seq\":\"1.4\","));
  // The id of the gap is a valid place, and the gap is not repeated.
  Listener again(life.socket, "/v1/events", "Last-Event-ID: 2.0\r\n");
  life.until([&] { return again.has("\"t3\""); });
  EXPECT_EQ(again.ids(), (std::vector<std::string>{"2.1", "2.2"}));
}

TEST(EventStreams, AreNotHeldUpByAListenerThatDoesNotRead) {
  net_test::TempDir directory;
  Life life(directory, 1, {.unread_max = seconds(600)});
  Listener stuck(life.socket, "/v1/events");
  Listener reads(life.socket, "/v1/events");
  life.until_listening(2);
  life.flood(0, 10'000, {&reads});
  EXPECT_EQ(reads.ids().size(), 10'000u);
  EXPECT_EQ(life.streams.size(), 2u);
}

TEST(EventStreams, CutAListenerOffThatReadsNothing) {
  net_test::TempDir directory;
  Life life(directory, 1, {.unread_max = milliseconds(50)});
  Listener stuck(life.socket, "/v1/events");
  life.until_listening(1);
  life.flood(0, 10'000, {});
  life.until_listening(0);
  life.until([&] { return stuck.is_ended(); });
  EXPECT_LT(stuck.ids().size(), 10'000u);
}

TEST(EventStreams, TellASlowListenerAllThatTheLogHasAndAGapOfTheRest) {
  net_test::TempDir directory;
  Life life(directory, 1, {.unread_max = seconds(600)}, 1 << 20);
  Listener slow(life.socket, "/v1/events");
  life.until_listening(1);
  life.flood(0, 8'000, {});
  life.until([&] { return slow.has("\"flood-7999\""); });
  EXPECT_EQ(slow.ids().size(), 8'000u);
  EXPECT_FALSE(slow.has("event: gap"));
  // So many events follow that the log drops old ones.
  life.flood(8'000, 60'000, {});
  life.until([&] { return slow.has("\"flood-67999\""); });
  EXPECT_TRUE(slow.has("event: gap"));
  EXPECT_LT(slow.ids().size(), 68'000u);
}

TEST(EventStreams, BeatWithThePlaceThatWasLookedAt) {
  net_test::TempDir directory;
  Life life(directory, 1, {.beat = milliseconds(10)});
  Listener of_agent(life.socket, "/v1/events?agent=a2");
  life.until_listening(1);
  life.add({launched("t1")});
  life.until([&] { return of_agent.has("\n:\nid: 1.2\n\n"); });
  EXPECT_TRUE(of_agent.ids().empty());
}

// All are due at each look, and a look serves two.
TEST(EventStreams, BeatToAllHoweverManyTheyAre) {
  net_test::TempDir directory;
  Life life(directory, 1, {.beat = milliseconds(1), .writes_per_turn = 2});
  std::vector<Listener> listeners;
  for (int i = 0; i < 7; ++i) listeners.emplace_back(life.socket, "/v1/events");
  life.until_listening(7);
  for (Listener& one : listeners) life.until([&] { return one.has("\n:\nid: "); });
}

TEST(EventStreams, TellAGapToAListenerFromBeyondTheEnd) {
  net_test::TempDir directory;
  Life life(directory, 2);
  life.add({launched("before")});
  life.until([&] { return life.log.written() == 2; });
  // The registry was restored: earlier leaders had higher numbers.
  Listener of_leader(life.socket, "/v1/events", "Last-Event-ID: 7.40\r\n");
  Listener of_number(life.socket, "/v1/events?agent=a1", "Last-Event-ID: 2.40\r\n");
  for (Listener* one : {&of_leader, &of_number}) {
    life.until([&] { return one->has("event: gap"); });
  }
  life.add({launched("t1")});
  for (Listener* one : {&of_leader, &of_number}) {
    life.until([&] { return one->has("\"t1\""); });
    EXPECT_EQ(one->ids(), (std::vector<std::string>{"2.2", "2.3"}));
  }
  EXPECT_THAT(of_leader.read(), HasSubstr("event: gap\nid: 2.2\ndata: {\"seq\":\"7.41\","));
  EXPECT_THAT(of_leader.read(), HasSubstr("\"until\":\"2.3\""));
}

TEST(EventStreams, HaveABound) {
  net_test::TempDir directory;
  Life life(directory, 1, {.streams_max = 4, .streams_per_user_max = 2});
  std::vector<Listener> bobs;
  for (int i = 0; i < 3; ++i) bobs.emplace_back(life.socket, "/v1/events", "X-User: bob\r\n");
  life.until([&] { return bobs[0].has("429") || bobs[1].has("429") || bobs[2].has("429"); });
  life.until_listening(2);
  Listener operators(life.socket, "/v1/events");
  Listener other(life.socket, "/v1/events");
  life.until_listening(4);
  Listener more(life.socket, "/v1/events");
  life.until([&] { return more.is_ended(); });
  EXPECT_THAT(more.read(), HasSubstr("too many event streams are open: 4, at most 4"));
  // A listener that leaves makes room.
  bobs.clear();
  life.until_listening(2);
}

TEST(EventStreams, AreNotAllOfOneOperator) {
  net_test::TempDir directory;
  Life life(directory, 1, {.streams_max = 9, .streams_per_operator_max = 2});
  Listener one(life.socket, "/v1/events");
  Listener two(life.socket, "/v1/events");
  life.until_listening(2);
  Listener more(life.socket, "/v1/events");
  life.until([&] { return more.is_ended(); });
  EXPECT_THAT(more.read(), HasSubstr(" 2, at most 2"));
  Listener bob(life.socket, "/v1/events", "X-User: bob\r\n");
  life.until_listening(3);
}

TEST(EventStreams, RefuseWhatTheyDoNotUnderstandBeforeTheyBegin) {
  const auto refusal = [](const std::string& arguments, HttpHeaders query, HttpHeaders headers) {
    const Result<proto::EventQuery> read = event_stream_query(
        arguments, {.method = "GET", .query = std::move(query), .headers = std::move(headers)});
    return read ? std::string() : text(to_text(read.error().code()), ' ', read.error().message());
  };
  EXPECT_EQ(refusal("", {}, {{"last-event-id", "3.4"}}), "");
  EXPECT_THAT(refusal("", {}, {{"last-event-id", "yesterday"}}),
              testing::AllOf(HasSubstr("Last-Event-ID"), HasSubstr("LEADER.NUMBER")));
  EXPECT_THAT(refusal("", {{"limit", "5"}}, {}), HasSubstr("limit: a stream of events"));
  EXPECT_THAT(refusal("", {{"wait_s", "5"}}, {}), HasSubstr("wait_s: a stream of events"));
  EXPECT_THAT(refusal(R"({"task":"t1"})", {}, {}), HasSubstr("a task must be FRAMEWORK/TASK"));
  const auto wants = [](const std::string& accept) {
    return wants_event_stream({.method = "GET", .headers = {{"accept", accept}}});
  };
  EXPECT_TRUE(wants("text/event-stream"));
  EXPECT_TRUE(wants("text/html, text/event-stream;q=0.9"));
  EXPECT_FALSE(wants("*/*"));
  EXPECT_FALSE(wants("text/event-streams"));
}

}  // namespace
}  // namespace proffer::master::event_streams_test
