// The event log of a standby: it has the events of the leader, each once and in order, and the next
// leader continues it. It reports missing events as a gap, and nothing else.

#include "master/shell/event_follower.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "master/core/trace.h"
#include "master/shell/event_log.h"
#include "proto/json/event_lines.h"
#include "proto/json/events_json.h"
#include "tests/store/support.h"

namespace proffer::master::event_follower_test {
namespace {

using proto::EventPage;
using proto::EventPlace;
using proto::EventQuery;
using proto::EventRow;
using proto::FollowCall;
using store_test::FullDisk;
using store_test::TemporaryDirectory;
using testing::HasSubstr;

TraceEvent launched(const std::string& task) {
  return TaskLaunched{FrameworkId("web-1-1"), TaskId(task), AgentId("a1"), "ada", {}, {}};
}

constexpr EventPlace place(uint64_t leader, uint64_t number) {
  return {LeaderEpoch(leader), number};
}

// An event as a leader writes it.
std::string line(const EventPlace& at, Time when, const TraceEvent& event) {
  proto::EventBlockWriter block;
  block.add(at, when, event, {});
  return proto::last_line_of(block.take());
}

std::string field(const EventRow& row, std::string_view key) {
  for (const auto& [name, value] : row.fields) {
    if (name == key) return value;
  }
  return "";
}

proto::ErrorMessage told(const Error& error) {
  return {error.code(), error.message(), error.hint()};
}

const proto::MasterId kStandby(std::string(32, 'b'));

class Followers : public testing::Test {
 protected:
  // Masters are numbered, and each has a directory.
  HistoryLogOptions log_of(int master) const {
    return {.directory = home_ / text("events", master), .bytes_max = bytes_max_};
  }
  std::unique_ptr<EventLog> leads(int master, uint64_t epoch) {
    return std::make_unique<EventLog>(loop_, EventLogOptions{.log = log_of(master),
                                                             .leader = LeaderEpoch(epoch),
                                                             .delay = milliseconds(1),
                                                             .retry = milliseconds(1),
                                                             .recent_bytes_max = recent_bytes_max_,
                                                             .standby_rests = 0});
  }
  // Follows the master that is `leader_` at the time of each call.
  std::unique_ptr<EventFollower> follows(int master) {
    auto follower = std::make_unique<EventFollower>(
        loop_,
        EventFollowerOptions{.log = log_of(master),
                             .wait = seconds(30),
                             .pause = milliseconds(1),
                             .retry = milliseconds(1),
                             .backoff = {.min = milliseconds(1), .max = milliseconds(1)}},
        [this](const FollowCall& call) {
          calls_.push_back(call);
          if (leader_ == nullptr) return;
          leader_->follow(kStandby, call, [this, number = calls_.size()](Result<Page> page) {
            proto::Reply reply;
            if (page) {
              reply.json = std::move(page->json);
            } else {
              reply.error = told(page.error());
            }
            // The answer comes in a later iteration, as over a connection.
            loop_.post([this, number, reply] {
              if (follower_ != nullptr && number == calls_.size()) follower_->on_answer(reply);
            });
          });
        });
    return follower;
  }
  void begin_to_follow(int master) {
    calls_.clear();
    follower_ = follows(master);
    follower_->begin();
  }
  // Runs the loop until the condition holds.
  template <class IsSo>
  void until(IsSo is_so) {
    Timer timer(loop_, [&] {
      if (is_so()) return loop_.stop();
      timer.arm(loop_.now() + milliseconds(1));
    });
    timer.arm(loop_.now());
    loop_.run();
  }
  void until_asked_from(EventPlace from) {
    until([&] { return !calls_.empty() && calls_.back().from == from; });
  }
  EventPage read(EventLog& log, const EventQuery& query) {
    std::optional<Result<Page>> page;
    log.read(query, nullptr, true, [&](Result<Page> answer) { page = std::move(answer); });
    until([&] { return page.has_value(); });
    EXPECT_TRUE(*page) << page->error().message();
    if (!*page) return {};
    Result<EventPage> parsed = proto::parse_event_page((*page)->json);
    EXPECT_TRUE(parsed) << parsed.error().message();
    return parsed ? *parsed : EventPage();
  }
  std::vector<EventRow> rows(EventLog& log, EventPlace from) {
    std::vector<EventRow> all;
    for (EventQuery query{.from = from};;) {
      const EventPage page = read(log, query);
      if (page.events.empty()) return all;
      all.insert(all.end(), page.events.begin(), page.events.end());
      query.from = page.next;
    }
  }
  // The tasks of the events; for events without a task, their words.
  std::string names(EventLog& log, EventPlace from) {
    std::string names;
    for (const EventRow& row : rows(log, from)) {
      const std::string task = field(row, "task");
      names += text(names.empty() ? "" : ", ", task.empty() ? row.event : task);
    }
    return names;
  }

  TemporaryDirectory home_;
  uint64_t bytes_max_ = uint64_t{64} << 20;
  size_t recent_bytes_max_ = size_t{4} << 20;
  Loop loop_;
  std::vector<FollowCall> calls_;
  std::unique_ptr<EventLog> leader_;
  std::unique_ptr<EventFollower> follower_;
};

TEST_F(Followers, ANextLeaderGoesOnWithoutAGapBehindALeaderThatEndedInOrder) {
  leader_ = leads(1, 1);
  leader_->add(loop_.now(), {launched("t1"), launched("t2")});
  begin_to_follow(2);
  until_asked_from(place(1, 4));
  leader_->add(loop_.now(), {launched("t3")});
  until_asked_from(place(1, 5));
  // The last events of a leader that ends cleanly answer the waiting call.
  leader_->add(loop_.now(), {launched("t4")});
  leader_->finish();
  leader_.reset();
  until_asked_from(place(1, 7));
  EXPECT_EQ(follower_->written(), 6u);
  follower_.reset();

  leader_ = leads(2, 2);
  leader_->add(loop_.now(), {launched("t5")});
  until([&] { return leader_->written() == 2; });
  EXPECT_EQ(names(*leader_, place(1, 1)),
            "master leads, t1, t2, t3, t4, master leads no longer, master leads, t5");
  // A reader of the earlier leader continues at its place.
  EXPECT_EQ(names(*leader_, place(1, 5)), "t4, master leads no longer, master leads, t5");
  EXPECT_EQ(field(read(*leader_, {.from = place(2, 1)}).events.at(0), "after"), "1.6");
}

TEST_F(Followers, ANextLeaderTellsAGapBehindALeaderThatWasKilled) {
  leader_ = leads(1, 1);
  leader_->add(loop_.now(), {launched("t1")});
  begin_to_follow(2);
  until_asked_from(place(1, 3));
  leader_.reset();
  follower_.reset();

  leader_ = leads(2, 2);
  EXPECT_EQ(names(*leader_, place(1, 1)), "master leads, t1, gap, master leads");
  const EventRow gap = read(*leader_, {.from = place(1, 3)}).events.at(0);
  EXPECT_EQ(gap.seq, place(1, 3));
  EXPECT_EQ(field(gap, "until"), "2.1");
}

TEST_F(Followers, AnEmptyLogGetsAllThatTheLeaderStillHas) {
  bytes_max_ = uint64_t{256} << 10;
  recent_bytes_max_ = 500;
  leader_ = leads(1, 1);
  constexpr int kEvents = 5'000;
  for (int i = 0; i < kEvents; ++i) {
    leader_->add(loop_.now(), {launched(text(std::string(100, 'x'), i))});
    if (i % 500 == 0) until([&] { return leader_->written() >= static_cast<uint64_t>(i) + 2; });
  }
  until([&] { return leader_->written() == kEvents + 1; });
  bytes_max_ = uint64_t{64} << 20;
  begin_to_follow(2);
  until_asked_from(place(1, kEvents + 2));
  const std::vector<EventRow> at_leader = rows(*leader_, place(1, 1));
  leader_->finish();
  leader_.reset();
  until_asked_from(place(1, kEvents + 3));
  follower_.reset();

  leader_ = leads(2, 2);
  std::vector<EventRow> all = rows(*leader_, place(1, 1));
  ASSERT_EQ(all.size(), at_leader.size() + 2);
  all.resize(at_leader.size());
  EXPECT_EQ(all, at_leader);
  EXPECT_EQ(all.at(0).event, "gap");
}

// Pages end in the middle of files that are not the newest.
TEST_F(Followers, AnEmptyLogGetsManyFilesPageByPage) {
  bytes_max_ = uint64_t{8} << 20;
  recent_bytes_max_ = 500;
  leader_ = leads(1, 1);
  constexpr int kEvents = 12'000;
  for (int i = 0; i < kEvents; ++i) {
    leader_->add(loop_.now(), {launched(text(std::string(100, 'x'), i))});
    if (i % 500 == 0) until([&] { return leader_->written() >= static_cast<uint64_t>(i) + 2; });
  }
  until([&] { return leader_->written() == kEvents + 1; });
  begin_to_follow(2);
  until_asked_from(place(1, kEvents + 2));
  leader_->finish();
  leader_.reset();
  until_asked_from(place(1, kEvents + 3));
  follower_.reset();

  leader_ = leads(2, 2);
  const std::vector<EventRow> all = rows(*leader_, place(1, 1));
  ASSERT_EQ(all.size(), kEvents + 3u);  // including one event of each leader
  for (size_t i = 0; i + 1 < all.size(); ++i) ASSERT_EQ(all[i].seq, place(1, i + 1));
}

TEST_F(Followers, WhatTheLeaderHasForgottenIsAGapInTheLogOfTheStandby) {
  bytes_max_ = uint64_t{256} << 10;
  recent_bytes_max_ = 500;
  leader_ = leads(1, 1);
  leader_->add(loop_.now(), {launched("t1")});
  begin_to_follow(2);
  until_asked_from(place(1, 3));
  follower_.reset();
  constexpr int kEvents = 5'000;
  for (int i = 0; i < kEvents; ++i) {
    leader_->add(loop_.now(), {launched(text(std::string(100, 'x'), i))});
    if (i % 500 == 0) until([&] { return leader_->written() >= static_cast<uint64_t>(i) + 3; });
  }
  until([&] { return leader_->written() == kEvents + 2; });
  bytes_max_ = uint64_t{64} << 20;
  begin_to_follow(2);
  until_asked_from(place(1, kEvents + 3));
  follower_.reset();
  leader_ = leads(2, 2);
  const std::vector<EventRow> all = rows(*leader_, place(1, 1));
  EXPECT_EQ(all.at(1).seq, place(1, 2));
  EXPECT_EQ(all.at(2).event, "gap");
  EXPECT_EQ(all.at(2).seq, place(1, 3));
  EXPECT_EQ(field(all.at(2), "until"), to_text(all.at(3).seq));
  EXPECT_EQ(field(all.at(2), "lost"), std::to_string(all.at(3).seq.number - 3));
}

// Events that only the dead leader's disk has stay there: they come before all events of the next
// leader.
TEST_F(Followers, ALeaderThatComesBackKeepsItsLastEventsAndGoesOnBehindThem) {
  leader_ = leads(1, 1);
  leader_->add(loop_.now(), {launched("t1")});
  begin_to_follow(2);
  until_asked_from(place(1, 3));
  follower_.reset();
  leader_->add(loop_.now(), {launched("t2"), launched("t3")});
  until([&] { return leader_->written() == 4; });
  leader_ = leads(2, 2);
  leader_->add(loop_.now(), {launched("t4")});
  until([&] { return leader_->written() == 2; });
  EXPECT_EQ(names(*leader_, place(1, 5)), "gap, master leads, t4") << "from the dead leader's end";

  begin_to_follow(1);
  until_asked_from(place(2, 3));
  EXPECT_EQ(calls_.at(calls_.size() - 2).from, place(1, 5));
  leader_->finish();
  leader_.reset();
  until_asked_from(place(2, 4));
  follower_.reset();
  leader_ = leads(1, 3);
  EXPECT_EQ(names(*leader_, place(1, 1)),
            "master leads, t1, t2, t3, gap, master leads, t4, master leads no longer, "
            "master leads");
}

TEST_F(Followers, NoGapAfterALeaderThatEndedCleanly) {
  leader_ = leads(1, 1);
  leader_->add(loop_.now(), {launched("t1")});
  begin_to_follow(2);
  until_asked_from(place(1, 3));
  follower_.reset();
  leader_->add(loop_.now(), {launched("t2")});
  leader_->finish();
  leader_ = leads(2, 2);
  EXPECT_EQ(names(*leader_, place(1, 1)), "master leads, t1, gap, master leads");
  begin_to_follow(1);
  until_asked_from(place(2, 2));
  follower_.reset();
  leader_ = leads(1, 3);
  EXPECT_EQ(names(*leader_, place(1, 1)),
            "master leads, t1, t2, master leads no longer, master leads, gap, master leads");
}

TEST_F(Followers, AFullDiskIsWaitedForAndNothingIsLost) {
  leader_ = leads(1, 1);
  begin_to_follow(2);
  until_asked_from(place(1, 2));
  {
    const FullDisk full(60);
    const proto::Reply page{.json = proto::event_page_json(
                                {line(place(1, 2), loop_.now(), launched("t1"))}, place(1, 3))};
    follower_->on_answer(page);
    until([&] { return !follower_->trouble().empty(); });
    EXPECT_EQ(follower_->written(), 1u);
  }
  leader_->add(loop_.now(), {launched("t1")});
  until_asked_from(place(1, 3));
  EXPECT_EQ(follower_->trouble(), "");
  follower_.reset();
  leader_ = leads(2, 2);
  EXPECT_EQ(names(*leader_, place(1, 1)), "master leads, t1, gap, master leads");
}

TEST_F(Followers, ADamagedEndIsAskedForAgain) {
  leader_ = leads(1, 1);
  begin_to_follow(2);
  until_asked_from(place(1, 2));
  leader_->add(loop_.now(), {launched("t1"), launched("t2")});
  until_asked_from(place(1, 4));
  follower_.reset();
  for (const auto& file : std::filesystem::directory_iterator(log_of(2).directory)) {
    std::fstream log(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    log.seekp(-3, std::ios::end);
    log.write("XYZ", 3);
  }
  begin_to_follow(2);
  until_asked_from(place(1, 4));
  // Both tasks are in one block, because they arrived together.
  EXPECT_EQ(calls_.at(calls_.size() - 2).from, place(1, 2));
  leader_->finish();
  leader_.reset();
  until_asked_from(place(1, 5));
  follower_.reset();
  leader_ = leads(2, 2);
  EXPECT_EQ(names(*leader_, place(1, 1)),
            "master leads, t1, t2, master leads no longer, master leads");
}

TEST_F(Followers, APageThatHasArrivedIsWrittenBeforeTheLogIsHandedOver) {
  follower_ = follows(2);
  follower_->begin();
  until_asked_from(place(0, 0));
  follower_->on_answer(
      {.json = proto::event_page_json({line(place(1, 1), loop_.now(), MasterLeads{}),
                                       line(place(1, 2), loop_.now(), launched("t1"))},
                                      place(1, 3))});
  follower_.reset();
  leader_ = leads(2, 2);
  EXPECT_EQ(names(*leader_, place(1, 1)), "master leads, t1, gap, master leads");
}

TEST_F(Followers, ALeaderThatDoesNotKnowTheCallIsAskedOnceForEachConnection) {
  for (const Error& error :
       {Error::not_found("there is no method"), Error::permission_denied("the key"),
        Error::failed_precondition("this master has no event log")}) {
    begin_to_follow(2);
    until([&] { return !calls_.empty(); });
    follower_->on_answer({.error = told(error)});
    calls_.clear();
    // A further call would come after a millisecond.
    until([at = loop_.now() + milliseconds(20), this] { return loop_.now() > at; });
    EXPECT_TRUE(calls_.empty()) << error.message();
    follower_->end();
    follower_->begin();
    until([&] { return !calls_.empty(); });
    calls_.clear();
  }
}

TEST_F(Followers, ALeaderThatIsBusyIsAskedAgain) {
  begin_to_follow(2);
  for (const Error& error :
       {Error::resource_exhausted("others read"), Error::unavailable("soon")}) {
    until([&] { return !calls_.empty(); });
    calls_.clear();
    follower_->on_answer({.error = told(error)});
  }
  until([&] { return !calls_.empty(); });
}

// The leader's registry was restored or created again.
TEST_F(Followers, ALeaderThatCountsFromALowerNumberIsFollowedInANewLog) {
  leader_ = leads(1, 7);
  leader_->add(loop_.now(), {launched("of the other registry")});
  begin_to_follow(2);
  until_asked_from(place(7, 3));
  leader_.reset();
  follower_.reset();
  leader_ = leads(3, 4);
  leader_->add(loop_.now(), {launched("t1")});
  until([&] { return leader_->written() == 2; });
  begin_to_follow(2);
  until_asked_from(place(4, 3));
  leader_->add(loop_.now(), {launched("t2")});
  until_asked_from(place(4, 4));
  leader_->finish();
  leader_.reset();
  until_asked_from(place(4, 5));
  follower_.reset();
  leader_ = leads(2, 5);
  EXPECT_EQ(names(*leader_, place(7, 3)), "gap");
  EXPECT_EQ(names(*leader_, place(4, 1)),
            "master leads, t1, t2, master leads no longer, master leads");
  EXPECT_EQ(names(*leader_, place(0, 1)),
            "gap, master leads, t1, t2, master leads no longer, master leads");
  EXPECT_EQ(field(read(*leader_, {.from = place(5, 1)}).events.at(0), "after"), "4.4");
  HistoryLogOptions aside = log_of(2);
  aside.directory += ".aside-1";
  const auto before = HistoryLog::look(aside, loop_.now());
  ASSERT_TRUE(before) << before.error().message();
  EXPECT_THAT((*before)->last().value_or(""), HasSubstr("of the other registry"));
}

TEST_F(Followers, ADiskThatRefusesToSetALogAsideIsTriedAgain) {
  leader_ = leads(1, 7);
  begin_to_follow(2);
  until_asked_from(place(7, 2));
  leader_ = leads(3, 4);
  const std::string elsewhere = home_.path() + ".elsewhere";
  std::filesystem::rename(home_.path(), elsewhere);
  follower_->end();
  follower_->begin();
  until([&] { return !follower_->trouble().empty(); });
  std::filesystem::rename(elsewhere, home_.path());
  until_asked_from(place(4, 2));
  EXPECT_EQ(follower_->trouble(), "");
}

TEST(FollowedEvents, ArePagesOfWholeEventsInOrder) {
  const std::string one = line(place(1, 2), Time(), launched("t1"));
  const std::string two = line(place(1, 3), Time(), launched("t2"));
  const std::string gap = proto::event_gap_json(place(1, 1), place(1, 2), Time(), 1);
  const auto read = [](const std::vector<std::string>& lines, EventPlace next,
                       EventPlace from = place(1, 1)) {
    const Result<proto::FollowedEvents> events =
        proto::parse_followed_events(proto::event_page_json(lines, next), from);
    return events ? text(events->events, " to ", to_text(events->next)) : events.error().message();
  };
  EXPECT_EQ(read({gap, one, two}, place(1, 4)), "2 to 1.4");
  EXPECT_EQ(read({}, place(1, 1)), "0 to 1.1");
  EXPECT_EQ(read({gap}, place(0, 7)), "0 to 0.7");
  EXPECT_THAT(read({two, one}, place(1, 3)), HasSubstr("1.2 is not after"));
  EXPECT_THAT(read({one, one}, place(1, 3)), HasSubstr("1.2 is not after"));
  EXPECT_THAT(read({one}, place(1, 3), place(1, 3)), HasSubstr("1.2 is not after"));
  EXPECT_THAT(read({one}, place(1, 9)), HasSubstr("next"));
  EXPECT_THAT(read({"{ \"seq\":\"1.2\",\"event\":\"x\"}"}, place(1, 3)),
              HasSubstr("is not an event"));
  EXPECT_THAT(read({"{\"seq\":\"1.2\",\n\"event\":\"x\"}"}, place(1, 3)),
              HasSubstr("is not an event"));
  const std::string head = R"({"seq":"1.2","time_s":1.250,"event":"x","level":"info")";
  for (const char* good :
       {"}", R"(,"a":"\"\u001f\n","b":-5})", ",\"a\":\"\xc3\xa9\"}", R"(,"a":0})"}) {
    EXPECT_EQ(read({head + good}, place(1, 3)), "1 to 1.3") << good;
  }
  for (const char* bad :
       {R"(,"a":{}})", R"(,"a":{"b":{}}})", R"(,"a":01})", R"(,"a":"\x"})", ",\"a\":\"\xc3\"}",
        ",\"a\":\"\n\"}", R"(,"time_s":"now"})", R"(,"a"})", R"(,"seq":"1.3"})", ""}) {
    EXPECT_THAT(read({head + bad}, place(1, 3)), HasSubstr("event")) << bad;
  }
  const auto read_list = [](const std::string& list, std::string_view next) {
    const auto events = proto::parse_followed_events(
        text("{\"events\":[", list, "],\"next\":\"", next, "\"}"), place(1, 1));
    return events ? "taken" : events.error().message();
  };
  EXPECT_EQ(read_list(one, "1.3"), "taken");
  EXPECT_EQ(read_list(text(one, ",", two), "1.4"), "taken");
  for (const std::string& bad : {text(",", one), text(one, ","), text("[", one, "]"),
                                 text("1,", one), text(one, ",1"), text(" ", one)}) {
    EXPECT_THAT(read_list(bad, "1.3"), HasSubstr("not a page of events")) << bad;
  }
  for (const std::string& bad : {text(one, ",,", two), text(one, " ,", two), text(one, two)}) {
    EXPECT_THAT(read_list(bad, "1.4"), HasSubstr("not a page of events")) << bad;
  }
  EXPECT_FALSE(proto::parse_followed_events("{}", place(1, 1)));
  EXPECT_FALSE(proto::parse_followed_events("", place(1, 1)));
}

TEST(FollowCall, SaysFromWhereAndHowLong) {
  const FollowCall call{.from = place(17, 4), .wait = seconds(20)};
  EXPECT_EQ(*proto::parse_follow_call(proto::follow_call_json(call)), call);
  const auto wrong = [](std::string_view json) {
    const Result<FollowCall> read = proto::parse_follow_call(json);
    return read ? std::string() : read.error().message();
  };
  EXPECT_THAT(wrong("{}"), HasSubstr("from: is missing"));
  EXPECT_THAT(wrong(R"({"from":"17"})"), HasSubstr("LEADER.NUMBER"));
  EXPECT_THAT(wrong(R"({"from":"1.1","wait_s":61})"), HasSubstr("the maximum is 1m"));
  EXPECT_THAT(wrong(R"({"from":"1.1","last":1})"), HasSubstr("last"));
}

}  // namespace
}  // namespace proffer::master::event_follower_test
