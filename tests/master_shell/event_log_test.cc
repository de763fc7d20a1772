// The event log as a master writes it and as readers get it: in one order, from any place; gaps
// show events that a crash, a full disk or removed files cost; and each reader sees only events
// that it may see.

#include "master/shell/event_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "master/core/trace.h"
#include "proto/json/events_json.h"
#include "tests/store/support.h"

namespace proffer::master::event_log_test {
namespace {

using proto::EventPage;
using proto::EventPlace;
using proto::EventQuery;
using proto::EventRow;
using proto::FollowCall;
using store_test::FullDisk;
using store_test::TemporaryDirectory;
using testing::HasSubstr;

const FrameworkId kWeb("web-1-1");

PrincipalPtr user(const std::string& name) {
  return std::make_shared<const Principal>(Principal{.user = name});
}

TraceEvent launched(const std::string& task, const std::string& by = "ada",
                    const FrameworkId& framework = kWeb, const std::string& agent = "a1") {
  return TaskLaunched{framework, TaskId(task), AgentId(agent), by, {}, {}};
}

std::string field(const EventRow& row, std::string_view key) {
  for (const auto& [name, value] : row.fields) {
    if (name == key) return value;
  }
  return "";
}

proto::MasterId standby(char letter) { return proto::MasterId(std::string(32, letter)); }

// The log of one leader in a directory.
struct Life {
  explicit Life(const TemporaryDirectory& in, uint64_t leader = 1, EventLogOptions options = {})
      : log(loop, with(std::move(options), in, leader)) {}
  static EventLogOptions with(EventLogOptions options, const TemporaryDirectory& in,
                              uint64_t leader) {
    options.log.directory = in / "events";
    options.leader = LeaderEpoch(leader);
    if (options.delay == EventLogOptions().delay) options.delay = milliseconds(1);
    options.retry = milliseconds(1);
    return options;
  }

  void add(const std::vector<TraceEvent>& events) { log.add(loop.now(), events); }
  // Runs the loop until the condition holds.
  template <class IsSo>
  void until(IsSo is_so) {
    Timer timer(loop, [&] {
      if (is_so()) return loop.stop();
      timer.arm(loop.now() + milliseconds(1));
    });
    timer.arm(loop.now());
    loop.run();
  }
  void write_all(uint64_t events) {
    until([&] { return log.written() >= events; });
  }
  EventPage read(const EventQuery& query, const PrincipalPtr& by = nullptr) {
    std::optional<Result<Page>> page;
    log.read(query, by, by == nullptr, [&](Result<Page> answer) { page = std::move(answer); });
    until([&] { return page.has_value(); });
    EXPECT_TRUE(*page) << page->error().message();
    if (!*page) return {};
    Result<EventPage> parsed = proto::parse_event_page((*page)->json);
    EXPECT_TRUE(parsed) << parsed.error().message() << (*page)->json;
    return parsed ? *parsed : EventPage();
  }
  // The events of all pages by their task, "gap" for a gap, or their words; '|' separates pages.
  std::string names(EventQuery query, const PrincipalPtr& by = nullptr) {
    std::string names;
    while (true) {
      const EventPage page = read(query, by);
      for (const EventRow& row : page.events) {
        const std::string task = field(row, "task");
        names += text(names.empty() ? "" : " ", task.empty() ? row.event : task);
      }
      if (page.events.empty() || (!query.from && query.last > 0)) return names;
      names += " |";
      query.from = page.next;
    }
  }

  Loop loop;
  EventLog log;
};

constexpr EventPlace place(uint64_t leader, uint64_t number) {
  return {LeaderEpoch(leader), number};
}

TEST(EventLog, IsReadInOrderFromAnyPlace) {
  TemporaryDirectory directory;
  Life life(directory);
  life.add({launched("t1"), launched("t2"), launched("t3")});
  life.write_all(4);
  EXPECT_EQ(life.names({}), "master leads t1 t2 t3 |");
  EXPECT_EQ(life.names({.from = place(1, 3)}), "t2 t3 |");
  EXPECT_EQ(life.names({.limit = 2}), "master leads t1 | t2 t3 |");
  EXPECT_EQ(life.names({.last = 2}), "t2 t3");
  EXPECT_EQ(life.names({.from = place(1, 5)}), "");
  const EventPage page = life.read({.last = 1});
  EXPECT_EQ(page.events.at(0).seq, place(1, 4));
  EXPECT_EQ(page.events.at(0).event, "task launched");
  EXPECT_EQ(page.events.at(0).level, "detail");
  EXPECT_EQ(page.next, place(1, 5));
}

// A page does not block the loop for long.
TEST(EventLog, ExaminesABoundedNumberOfEventsForAPage) {
  TemporaryDirectory directory;
  Life life(directory);
  for (int i = 1; i < 9'000; ++i) life.add({launched("t")});
  life.add({launched("last", "ada", kWeb, "a2")});
  life.write_all(9'001);
  // The call would wait if no further events existed.
  EventQuery query{.from = place(1, 1), .agent = "a2", .wait = seconds(30)};
  int pages = 0;
  EventPage page;
  while (page.events.empty()) {
    page = life.read(query);
    ASSERT_GT(page.next, *query.from);
    query.from = page.next;
    ++pages;
  }
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(page.events.at(0).seq, place(1, 9'001));
}

// Each waiting call examines every event; one iteration of the loop ends before all have done so.
TEST(EventLog, AnswersAllThatWaitHoweverManyEventsCome) {
  TemporaryDirectory directory;
  Life life(directory);
  life.write_all(1);
  constexpr size_t kWaits = 20;
  std::vector<std::string> answers(kWaits);
  for (std::string& answer : answers) {
    life.log.read({.from = place(1, 2), .agent = "a2", .wait = minutes(1)}, nullptr, true,
                  [&](Result<Page> told) { answer = told->json; });
  }
  for (int i = 0; i < 3'000; ++i) life.add({launched("t")});
  life.write_all(3'001);
  EXPECT_EQ(life.log.waits(), kWaits);
  for (int i = 0; i < 3'000; ++i) life.add({launched("t")});
  life.add({launched("last", "ada", kWeb, "a2")});
  life.until([&] { return life.log.waits() == 0; });
  for (const std::string& answer : answers) {
    EXPECT_THAT(answer, HasSubstr("\"task\":\"last\""));
    EXPECT_THAT(answer, HasSubstr("\"next\":\"1.6003\""));
  }
}

TEST(EventLog, WritesAtOnceWhatABusyMasterAdds) {
  TemporaryDirectory directory;
  Life life(directory, 1, {.delay = hours(1), .batch_events = 3});
  life.add({launched("t1"), launched("t2"), launched("t3")});
  life.write_all(4);
  life.add({launched("t4")});
  life.add({launched("t5"), launched("t6")});
  life.write_all(7);
  EXPECT_EQ(life.names({.from = place(1, 2)}), "t1 t2 t3 t4 t5 t6 |");
}

TEST(EventLog, FindsWhatIsAskedFor) {
  TemporaryDirectory directory;
  Life life(directory);
  const FrameworkId batch("web-2-1-7");  // of a framework with the name web-2
  life.add({FrameworkSubscribed{kWeb, RoleName("eng/ads"), "ada", false},
            FrameworkSubscribed{batch, RoleName("engine"), "bob", false}, launched("t1"),
            launched("t2", "ada", kWeb, "a2"), launched("t1", "bob", batch),
            AgentDisconnected{AgentId("a2"), 1}, RoleSet{RoleName("eng"), {}, ""}});
  life.write_all(8);
  const std::string subscribed = "framework subscribed";
  EXPECT_EQ(life.names({.last = 9, .framework = "web-1-1"}), subscribed + " t1 t2");
  EXPECT_EQ(life.names({.last = 9, .framework = "web"}), subscribed + " t1 t2");
  EXPECT_EQ(life.names({.last = 9, .framework = "web-2"}), subscribed + " t1");
  EXPECT_EQ(life.names({.last = 9, .framework = "we"}), "");
  EXPECT_EQ(life.names({.last = 9, .task = "web/t1"}), "t1");
  EXPECT_EQ(life.names({.last = 9, .agent = "a2"}), "t2 agent disconnected");
  EXPECT_EQ(life.names({.last = 9, .role = "eng"}), subscribed + " t1 t2 role set");
  EXPECT_EQ(life.names({.last = 9, .role = "eng/ads"}), subscribed + " t1 t2");
  EXPECT_EQ(life.names({.last = 1, .framework = "web"}), "t2");
}

// The role may change within one block.
TEST(EventLog, EventsOfAFrameworkHaveTheRoleThatItHasThen) {
  TemporaryDirectory directory;
  Life life(directory);
  const TraceEvent declined = OfferDeclined{kWeb, OfferId(7), AgentId("a1")};
  life.add({FrameworkSubscribed{kWeb, RoleName("eng"), "ada", false}, declined,
            FrameworkSubscribed{kWeb, RoleName("ops"), "ada", true}, declined,
            FrameworkTornDown{kWeb, "", 0}});
  life.write_all(6);
  life.add({declined});
  life.write_all(7);
  std::string roles;
  for (const EventRow& row : life.read({.last = 6}).events) {
    roles += text(field(row, "user"), ":", field(row, "role"), " ");
  }
  EXPECT_EQ(roles, "ada:eng ada:eng ada:ops ada:ops ada:ops : ");
}

TEST(EventLog, EachSeesWhatIsTheirsToSee) {
  TemporaryDirectory directory;
  Life life(directory, 1, {.owners = {{kWeb.str(), {"ada", "eng"}}}});
  life.add({launched("t1"), launched("t2", "bob"), OfferDeclined{kWeb, OfferId(7), AgentId("a1")},
            StrayTaskKilled{FrameworkId("old-1-9"), TaskId("t9"), AgentId("a1")},
            AgentUnreachable{AgentId("a1"), 2}, AgentRefused{AgentId("a9"), "its key", false},
            SessionEnded{PeerId(4), "it sent garbage"}, AuditRefused{"bob", "kill a task", "t1"},
            AuditDone{"root", "drain an agent", "a1"}});
  life.write_all(10);
  // The visible events of each reader.
  EXPECT_EQ(life.names({.last = 20}, user("ada")),
            "master leads t1 offer declined agent unreachable");
  EXPECT_EQ(life.names({.last = 20}, user("bob")),
            "master leads t2 agent unreachable audit: refused");
  EXPECT_EQ(life.names({.last = 20}, user("")), "master leads agent unreachable");
  EXPECT_EQ(life.names({.last = 20}),
            "master leads t1 t2 offer declined t9 agent unreachable agent refused session ended "
            "audit: refused audit: done");
}

// Foreign text stays within its field, for any content.
TEST(EventLog, WhatSomebodyWritesIsNoFieldOfAnEvent) {
  TemporaryDirectory directory;
  Life life(directory);
  const std::string forged = "x\",\"user\":\"eve\",\"framework\":\"web-1-1\",\"y\":\"\n\xff";
  life.add({AuditRefused{"bob", "kill a task", forged}, FrameworkRefused{forged, forged, false}});
  life.write_all(3);
  EXPECT_EQ(life.names({.last = 9}, user("eve")), "master leads");
  EXPECT_EQ(life.names({.last = 9, .framework = "web"}), "");
  const EventPage page = life.read({.last = 2});
  EXPECT_THAT(field(page.events.at(0), "of"), HasSubstr("x\",\"user\":\"eve\""));
  EXPECT_EQ(proto::lines_of_event_page(proto::event_page_json({}, place(1, 1))).size(), 0u);
}

// Long and frequent refusals do not disturb readers, and other events are kept.
TEST(EventLog, ARefusalStopsNoReaderAndPushesNobodyOut) {
  TemporaryDirectory directory;
  Life life(directory);
  const std::string endless(2'000'000, 'x');
  for (int i = 0; i < 1'000; ++i) {
    life.log.add(Time() + seconds(5), {AuditRefused{"eve", "revoke a key", endless}});
  }
  life.log.add(Time() + seconds(5), {AuditRefused{"bob", "revoke a key", "k"}, launched("t1")});
  life.write_all(13);
  EXPECT_EQ(life.names({.last = 1}, user("ada")), "t1");
  const EventPage page = life.read({});
  ASSERT_EQ(page.events.size(), 13u);  // The first event, ten of eve's, and those of others.
  EXPECT_EQ(field(page.events.at(1), "of").size(), proto::kEventTextBytesMax);
}

// The reason is a string that is freed after the step.
TEST(EventLog, TellsWhyAFrameworkWasTornDown) {
  TemporaryDirectory directory;
  Life life(directory);
  {
    const std::string why = text("by user ", quoted("somebody-with-a-long-name"));
    life.add({FrameworkTornDown{kWeb, why, 3}});
  }
  life.write_all(2);
  EXPECT_EQ(field(life.read({.last = 1}).events.at(0), "reason"),
            "by user 'somebody-with-a-long-name'");
}

TEST(EventLog, ACallWaitsForTheNextEventOrItsTime) {
  TemporaryDirectory directory;
  Life life(directory);
  std::string answer;
  const EventQuery next{.from = place(1, 2), .framework = "web", .wait = seconds(30)};
  life.log.read(next, nullptr, true, [&](Result<Page> page) { answer = page->json; });
  EXPECT_EQ(life.log.waits(), 1u);
  life.add({launched("other", "bob", FrameworkId("batch-1-2"))});
  life.write_all(2);
  EXPECT_EQ(answer, "");
  life.add({launched("t1")});
  life.write_all(3);
  EXPECT_THAT(answer, HasSubstr("\"task\":\"t1\""));
  EXPECT_THAT(answer, HasSubstr("\"next\":\"1.4\""));
  EXPECT_EQ(life.log.waits(), 0u);
  // Nothing happens; the page names the place of the next event.
  const EventPage page = life.read({.wait = milliseconds(5)});
  EXPECT_TRUE(page.events.empty());
  EXPECT_EQ(page.next, place(1, 4));
}

TEST(EventLog, OfEachUserSomeCallsWaitAndMoreAreRefused) {
  TemporaryDirectory directory;
  Life life(directory, 1, {.waits_max = 6, .waits_per_user_max = 2, .waits_per_operator_max = 3});
  std::vector<std::string> errors;
  const auto wait = [&](const std::string& by, bool is_operator) {
    errors.clear();
    life.log.read({.from = place(1, 2), .wait = seconds(30)}, user(by), is_operator,
                  [&](const Result<Page>& page) {
                    if (page) return;
                    EXPECT_EQ(page.error().code(), ErrorCode::kResourceExhausted);
                    errors.push_back(page.error().message());
                  });
    return errors.empty() ? std::string() : errors[0];
  };
  for (int i = 0; i < 2; ++i) EXPECT_EQ(wait("ada", false), "");
  EXPECT_THAT(wait("ada", false), HasSubstr("; of user 'ada' 2, at most 2"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(wait("root", true), "");
  EXPECT_THAT(wait("root", true), HasSubstr("; of user 'root' 3, at most 3"));
  EXPECT_EQ(wait("bob", false), "");
  EXPECT_THAT(wait("bob", false), HasSubstr("too many calls wait for events: 6, at most 6; "));
}

TEST(EventLog, CallsThatWaitKeepNoStandbyAway) {
  TemporaryDirectory directory;
  Life life(directory, 1, {.waits_max = 1});
  std::vector<std::string> errors;
  const auto note = [&](const Result<Page>& page) {
    if (!page) errors.push_back(page.error().message());
  };
  for (int i = 0; i < 2; ++i) {
    life.log.read({.from = place(1, 2), .wait = seconds(30)}, nullptr, true, note);
  }
  EXPECT_EQ(errors.size(), 1u);
  life.log.follow(standby('b'), {.from = place(1, 2), .wait = seconds(30)}, note);
  EXPECT_EQ(errors.size(), 1u);
  EXPECT_EQ(life.log.waits(), 2u);
}

TEST(EventLog, AStandbyHasOneCallThatWaitsAndKeepsNobodyAway) {
  TemporaryDirectory directory;
  Life life(directory, 1, {.waits_max = 1});
  std::vector<ErrorCode> errors;
  const auto note = [&](const Result<Page>& page) {
    if (!page) errors.push_back(page.error().code());
  };
  const FollowCall call{.from = place(1, 2), .wait = seconds(30)};
  for (int i = 0; i < 3; ++i) life.log.follow(standby('a'), call, note);
  EXPECT_EQ(errors, (std::vector{ErrorCode::kUnavailable, ErrorCode::kUnavailable}));
  for (size_t i = 1; i < proto::kStandbysMax; ++i) {
    life.log.follow(standby(static_cast<char>('a' + i)), call, note);
  }
  EXPECT_EQ(life.log.waits(), proto::kStandbysMax);
  errors.clear();
  life.log.follow(standby('z'), call, note);
  EXPECT_EQ(errors, std::vector{ErrorCode::kResourceExhausted});
  life.log.read({.from = place(1, 2), .wait = seconds(30)}, user("ada"), false, note);
  EXPECT_EQ(errors.size(), 1u);
  EXPECT_EQ(life.log.waits(), proto::kStandbysMax + 1);
}

// A standby with an empty log reads all files, even if other readers read without a pause; and
// others read meanwhile.
TEST(EventLog, FilesAreReadForStandbysInTheirTurnAndForOthersMeanwhile) {
  TemporaryDirectory directory;
  {
    Life first(directory);
    first.add({launched("t1")});
    first.log.finish();
  }
  // This test does not last until the end of the rest.
  Life life(directory, 2, {.standby_rests = 1'000'000});
  std::vector<ErrorCode> refused;
  std::vector<std::string> pages;
  const auto note = [&](Result<Page> page) {
    if (page) {
      pages.push_back(page->json);
    } else {
      refused.push_back(page.error().code());
    }
  };
  size_t reads = 0;
  std::function<void(const PrincipalPtr&)> read_on = [&](const PrincipalPtr& by) {
    life.log.read({.from = place(1, 1)}, by, false, [&, by](const Result<Page>& page) {
      EXPECT_TRUE(page);
      ++reads;
      read_on(by);
    });
  };
  read_on(user("ada"));
  read_on(user("bob"));
  life.log.read({.from = place(1, 1)}, user("eve"), false, note);
  EXPECT_EQ(refused, std::vector{ErrorCode::kResourceExhausted});
  const FollowCall oldest{.from = place(1, 1), .wait = seconds(30)};
  life.log.follow(standby('b'), oldest, note);
  life.log.follow(standby('c'), oldest, note);
  ASSERT_EQ(refused.size(), 1u) << "standbys wait for no other reader";
  life.until([&] { return !pages.empty(); });
  EXPECT_THAT(pages[0], HasSubstr("\"task\":\"t1\""));
  life.until([&, until = reads + 100] { return reads > until; });
  EXPECT_EQ(pages.size(), 1u) << "the first reading has its rest";
  EXPECT_EQ(refused.size(), 1u);
  // Events in memory need no turn. A standby that asks again drops its earlier request.
  life.log.follow(standby('c'), {.from = place(2, 1)}, note);
  EXPECT_EQ(pages.size(), 2u);
  ASSERT_EQ(refused.size(), 2u);
  EXPECT_EQ(refused[1], ErrorCode::kUnavailable);
  read_on = [](const PrincipalPtr&) {};
}

TEST(EventLog, FilesAreReadForAllStandbys) {
  TemporaryDirectory directory;
  {
    Life first(directory);
    first.add({launched("t1")});
    first.log.finish();
  }
  Life life(directory, 2, {.standby_rests = 1});
  size_t pages = 0;
  for (size_t i = 0; i < proto::kStandbysMax; ++i) {
    life.log.follow(standby(static_cast<char>('a' + i)), {.from = place(1, 1)},
                    [&](const Result<Page>& page) { pages += page ? 1 : 0; });
  }
  life.until([&] { return pages == proto::kStandbysMax; });
}

TEST(EventLog, WhatIsAddedBehindTheEndIsDropped) {
  TemporaryDirectory directory;
  {
    Life first(directory);
    first.log.finish();
    first.add({launched("t1")});
    first.log.finish();
  }
  Life second(directory, 2);
  EXPECT_EQ(second.names({.from = place(1, 1)}),
            "master leads master leads no longer master leads |");
}

TEST(EventLog, GoesOnAfterALeaderThatEndedInOrderWithoutAGap) {
  TemporaryDirectory directory;
  EventPlace next;
  {
    Life first(directory);
    first.add({launched("t1")});
    first.write_all(2);
    next = first.read({}).next;
    first.add({launched("t2")});
    first.log.finish();
  }
  Life second(directory, 2);
  second.add({launched("t3")});
  second.write_all(2);
  EXPECT_EQ(second.names({.from = next}), "t2 master leads no longer master leads t3 |");
  EXPECT_EQ(second.names({.from = place(1, 5)}), "master leads t3 |");
}

TEST(EventLog, TellsWhatAKilledLeaderMayHaveSeenAsAGap) {
  TemporaryDirectory directory;
  EventPlace next;
  {
    Life first(directory);
    first.add({launched("t1")});
    first.write_all(2);
    next = first.read({}).next;
    first.add({launched("lost")});
  }
  Life second(directory, 2);
  second.write_all(1);
  EXPECT_EQ(second.names({.from = next}), "gap master leads |");
  EXPECT_EQ(second.names({}), "master leads t1 gap master leads |");
  const EventRow gap = second.read({.from = next}).events.at(0);
  EXPECT_EQ(gap.seq, next);
  EXPECT_EQ(field(gap, "until"), "2.1");
  EXPECT_EQ(field(gap, "lost"), "");
}

// Another master led in between; its events are on its own disk.
TEST(EventLog, TellsThatAnotherMasterLedBetween) {
  TemporaryDirectory directory;
  {
    Life first(directory);
    first.log.finish();
  }
  Life third(directory, 3);
  third.write_all(1);
  EXPECT_EQ(third.names({.from = place(1, 1)}),
            "master leads master leads no longer gap master leads |");
  // A reader comes from the second leader.
  EXPECT_EQ(third.names({.from = place(2, 17)}), "gap master leads |");
}

TEST(EventLog, TellsAGapToAReaderFromBeyondItsEnd) {
  TemporaryDirectory directory;
  Life life(directory, 2);
  life.add({launched("t1")});
  life.write_all(2);
  EXPECT_EQ(life.names({.from = place(2, 3)}), "") << "the next event is no gap";
  for (const EventPlace beyond : {place(2, 4), place(7, 1)}) {
    const EventPage page = life.read({.from = beyond, .framework = "web", .wait = seconds(30)});
    ASSERT_EQ(page.events.size(), 1u);
    EXPECT_EQ(page.events[0].event, "gap");
    EXPECT_EQ(page.events[0].seq, beyond);
    EXPECT_EQ(field(page.events[0], "until"), "2.3");
    EXPECT_EQ(page.next, place(2, 3));
  }
  life.add({launched("t2")});
  life.write_all(3);
  EXPECT_EQ(life.names({.from = place(7, 1)}), "gap |");
  EXPECT_EQ(life.names({.from = place(2, 3)}), "t2 |");
}

std::vector<std::string> logs_in(const TemporaryDirectory& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The leader's registry was restored or created again. In one log its events would come before the
// existing ones, and readers would get events twice or not at all.
TEST(EventLog, OfALeaderThatCountsFromALowerNumberIsANewOne) {
  for (const EventPlace last : {place(7, 2), place(4, 2), place(4, 1)}) {
    TemporaryDirectory directory;
    {
      Life before(directory, last.leader.value());
      if (last.number > 1) before.add({launched("before")});
      before.write_all(last.number);
    }
    Life life(directory, 4);
    life.add({launched("t1")});
    life.write_all(2);
    EXPECT_EQ(life.names({}), "master leads t1 |");
    EXPECT_EQ(life.names({.from = place(3, 1)}), "gap master leads t1 |");
    EXPECT_EQ(life.names({.from = place(7, 3)}), "gap |");
    const EventRow begins = life.read({}).events.at(0);
    EXPECT_EQ(field(begins, "set_aside"), to_text(last));
    EXPECT_EQ(field(begins, "after"), "");
    EXPECT_EQ(logs_in(directory), (std::vector<std::string>{"events", "events.aside-1"}));
  }
}

TEST(EventLog, KeepsTheNewestOfThoseThatWereSetAside) {
  TemporaryDirectory directory;
  for (uint64_t leader = 9; leader > 4; --leader) Life life(directory, leader);
  EXPECT_EQ(logs_in(directory),
            (std::vector<std::string>{"events", "events.aside-3", "events.aside-4"}));
  Life next(directory, 6);
  EXPECT_EQ(next.names({.from = place(5, 1)}), "master leads gap master leads |");
}

TEST(EventLog, WaitsForAFullDiskAndTellsWhatIsLost) {
  TemporaryDirectory directory;
  Life life(directory, 1, {.waiting_max = 10});
  life.write_all(1);
  std::string answer;
  life.log.read({.from = place(1, 2), .wait = seconds(30)}, nullptr, true,
                [&](Result<Page> page) { answer = page->json; });
  {
    const FullDisk full(60);
    for (int i = 0; i < 15; ++i) life.add({launched(text("t", i))});
    life.until([&] { return !life.log.trouble().empty(); });
    life.until([&] { return life.log.lost() == 5; });
    EXPECT_EQ(life.log.written(), 1u);
    EXPECT_EQ(answer, "");  // Readers get no event that a crash could revert.
  }
  life.write_all(11);
  EXPECT_EQ(life.log.trouble(), "");
  EXPECT_EQ(life.names({.from = place(1, 2)}), "gap t5 t6 t7 t8 t9 t10 t11 t12 t13 t14 |");
  EXPECT_EQ(field(life.read({.from = place(1, 2)}).events.at(0), "lost"), "5");
  EXPECT_THAT(answer, HasSubstr("\"lost\":5"));
}

// A full queue loses a sixteenth of its events at a time.
TEST(EventLog, LosesWholeBlocksToAFullDisk) {
  TemporaryDirectory directory;
  Life life(directory, 1, {.waiting_max = 160});
  life.write_all(1);
  {
    const FullDisk full(60);
    for (int i = 0; i < 165; ++i) life.add({launched(text("t", i))});
    life.until([&] { return !life.log.trouble().empty(); });
    EXPECT_EQ(life.log.lost(), 10u);
    // During the next attempt no events are queued.
    life.until([&] { return life.log.waiting() == 155; });
  }
  life.write_all(156);
  EXPECT_EQ(life.log.lost(), 10u);
  EXPECT_EQ(life.log.waiting(), 0u);
  const EventPage page = life.read({.from = place(1, 2), .limit = 2});
  EXPECT_EQ(field(page.events.at(0), "lost"), "10");
  EXPECT_EQ(field(page.events.at(1), "task"), "t10");
}

// The worker may have finished writing, be writing, or not have begun.
TEST(EventLog, EndsWithEachEventOnceAlsoWhileItIsWritten) {
  for (int round = 0; round < 20; ++round) {
    TemporaryDirectory directory;
    {
      Life first(directory, 1, {.batch_events = 1});
      first.add({launched("t1")});
      int turns = round % 3;
      first.until([&] { return turns-- <= 0; });
      first.log.finish();
    }
    Life second(directory, 2);
    ASSERT_EQ(second.names({.from = place(1, 1)}),
              "master leads t1 master leads no longer master leads |");
  }
}

// A later version of the master may have left such files.
TEST(EventLog, PassesOverFilesThatItCannotRead) {
  TemporaryDirectory directory;
  HistoryLogOptions options;
  {
    Life first(directory);
    first.add({launched("t1")});
    first.write_all(2);
    options = Life::with({}, directory, 1).log;
  }
  {
    const auto log = HistoryLog::open(options, Time()).value();
    const std::string unknown(1'900'000, '\x02');
    for (int i = 0; i < 9; ++i) ASSERT_TRUE(log->append({unknown}, Time()));
    ASSERT_GT(log->files().size(), 2u);
  }
  Life second(directory, 2, {.recent_bytes_max = 0});
  second.add({launched("t2")});
  second.write_all(2);
  EventQuery query{.from = place(1, 1)};
  std::string names;
  for (int pages = 0; pages < 5; ++pages) {
    const EventPage page = second.read(query);
    for (const EventRow& row : page.events) names += text(row.event, ", ");
    query.from = page.next;
  }
  EXPECT_EQ(names, "master leads, task launched, gap, master leads, task launched, ");
}

TEST(EventLog, ForgetsTheOldestAndTellsWhoComesFromThere) {
  TemporaryDirectory directory;
  // The files have the smallest size, and memory holds only a few lines.
  Life life(directory, 1, {.log = {.bytes_max = uint64_t{256} << 10}, .recent_bytes_max = 500});
  constexpr int kEvents = 5'000;
  const std::string long_name(100, 'x');
  for (int i = 0; i < kEvents; ++i) {
    life.add({launched(text(long_name, i))});
    if (i % 500 == 0) life.write_all(static_cast<uint64_t>(i) + 2);
  }
  life.write_all(kEvents + 1);
  EXPECT_LE(life.log.bytes(), uint64_t{512} << 10);
  const EventPage first = life.read({.from = place(1, 1)});
  ASSERT_GT(first.events.size(), 1u);
  EXPECT_EQ(first.events[0].event, "gap");
  const EventPlace oldest = first.events[1].seq;
  EXPECT_EQ(field(first.events[0], "lost"), std::to_string(oldest.number - 1));
  // All other events are there, once each and in order.
  uint64_t number = oldest.number;
  EventQuery query{.from = oldest};
  for (EventPage page = life.read(query); !page.events.empty(); page = life.read(query)) {
    for (const EventRow& row : page.events) ASSERT_EQ(row.seq, place(1, number++));
    query.from = page.next;
  }
  EXPECT_EQ(number, kEvents + 2u);
  EXPECT_EQ(life.names({.last = 1}), text(long_name, kEvents - 1));
  // The next leader has not yet read the files, but finds the place.
  life.log.finish();
  Life next(directory, 2, {.log = {.bytes_max = uint64_t{256} << 10}, .recent_bytes_max = 500});
  next.write_all(1);
  const EventPage last_ones = next.read({.last = 3});
  ASSERT_EQ(last_ones.events.size(), 3u);
  EXPECT_EQ(last_ones.events.at(0).seq, place(1, kEvents + 1));
}

TEST(EventLog, GoesOnWithoutADirectory) {
  TemporaryDirectory directory;
  store_test::write_file(directory / "events", "a file is in its place");
  Life life(directory);
  EXPECT_NE(life.log.trouble(), "");
  life.add({launched("t1")});
  std::filesystem::remove(directory / "events");
  life.write_all(2);
  EXPECT_EQ(life.log.trouble(), "");
  EXPECT_EQ(life.names({}), "master leads t1 |");
}

TEST(EventQuery, SaysWhatIsWrong) {
  const auto wrong = [](std::string_view json) {
    const Result<EventQuery> query = proto::parse_event_query(json);
    return query ? std::string() : query.error().message();
  };
  EXPECT_EQ(wrong(""), "");
  EXPECT_THAT(wrong(R"({"from":"17"})"), HasSubstr("LEADER.NUMBER, as in 17.4021, not '17'"));
  EXPECT_THAT(wrong(R"({"from":"1.2.3"})"), HasSubstr("1.2.3"));
  EXPECT_THAT(wrong(R"({"task":"t1"})"), HasSubstr("a task must be FRAMEWORK/TASK, not 't1'"));
  EXPECT_THAT(wrong(R"({"role":"//"})"), HasSubstr("role"));
  EXPECT_THAT(wrong(R"({"wait_s":61})"), HasSubstr("the maximum is 1m"));
  EXPECT_THAT(wrong(R"({"limit":0})"), HasSubstr("limit"));
  EXPECT_THAT(wrong(R"({"whatever":1})"), HasSubstr("whatever"));
  const EventQuery all{.from = place(3, 4),
                       .last = 5,
                       .framework = "f",
                       .role = "r",
                       .task = "f/t",
                       .agent = "a",
                       .limit = 6,
                       .wait = seconds(7)};
  EXPECT_EQ(*proto::parse_event_query(proto::event_query_json(all)), all);
}

}  // namespace
}  // namespace proffer::master::event_log_test
