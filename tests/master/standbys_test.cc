// The current masters, and all masters that have led, so that a reader of the history knows whose
// part is missing (ADR 0072).

#include "master/core/standbys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/master/cluster.h"

namespace proffer::master::standbys_test {
namespace {

using proto::LedMaster;
using proto::MasterId;
using proto::MasterRole;
using proto::MasterRow;
using testing::HasSubstr;

MasterId id(char letter) { return MasterId(std::string(32, letter)); }
Time at(int64_t second) { return Time() + seconds(second); }

LedMaster led(char letter, uint64_t first, uint64_t last, int64_t since,
              std::optional<Time> until = {}) {
  return {.master = id(letter),
          .name = std::string("m") + letter,
          .first = LeaderEpoch(first),
          .last = LeaderEpoch(last),
          .since = at(since),
          .until = until};
}

TEST(WithLead, EndsTheLeadOfTheOneBefore) {
  const std::vector<LedMaster> first = with_lead({}, led('a', 1, 1, 100), at(0));
  EXPECT_EQ(first, std::vector<LedMaster>{led('a', 1, 1, 100)});
  const std::vector<LedMaster> second = with_lead(first, led('b', 2, 2, 200), at(0));
  EXPECT_EQ(second, (std::vector<LedMaster>{led('a', 1, 1, 100, at(200)), led('b', 2, 2, 200)}));
  // A master that leads again stays one entry, whose history begins with its first lead.
  const std::vector<LedMaster> third = with_lead(second, led('a', 3, 3, 300), at(0));
  EXPECT_EQ(third, (std::vector<LedMaster>{led('b', 2, 2, 200, at(300)), led('a', 1, 3, 100)}));
  // No other master led in between.
  EXPECT_EQ(with_lead(third, led('a', 4, 4, 400), at(0)),
            (std::vector<LedMaster>{led('b', 2, 2, 200, at(300)), led('a', 1, 4, 100)}));
}

TEST(WithLead, ForgetsWhomTheHistoryHasForgotten) {
  const std::vector<LedMaster> before = {led('a', 1, 1, 100, at(200)), led('b', 2, 2, 200)};
  EXPECT_EQ(with_lead(before, led('c', 3, 3, 300), at(201)),
            (std::vector<LedMaster>{led('b', 2, 2, 200, at(300)), led('c', 3, 3, 300)}));
}

TEST(WithLead, IsBoundedAndForgetsTheOneThatLedLongestAgo) {
  std::vector<LedMaster> all;
  for (uint64_t epoch = 1; epoch <= proto::kLedMastersMax + 3; ++epoch) {
    all = with_lead(std::move(all),
                    led(static_cast<char>('a' + epoch), epoch, epoch, static_cast<int64_t>(epoch)),
                    at(0));
  }
  ASSERT_EQ(all.size(), proto::kLedMastersMax);
  EXPECT_EQ(all.front().last, LeaderEpoch(4));
  EXPECT_EQ(all.back().last, LeaderEpoch(proto::kLedMastersMax + 3));
}

MasterOptions of(char letter) {
  MasterOptions options;
  options.cluster_if_new = ClusterId(std::string(32, 'c'));
  options.master = id(letter);
  options.name = std::string("m") + letter;
  return options;
}

std::string stands_by(MasterScenario& s, char letter, PeerId peer,
                      PrincipalPtr by = user_with_all_rights(), bool keeps_history = true) {
  return s.calls(StandBy{.peer = peer,
                         .by = std::move(by),
                         .standby = {.master = id(letter),
                                     .name = std::string("m") + letter,
                                     .keeps_history = keeps_history}});
}

// "ma leads 1-1, mb standby"
std::string masters(const MasterScenario& s) {
  std::string all;
  for (const MasterRow& row : s.master->masters()) {
    if (!all.empty()) all += ", ";
    all += row.name + " " + std::string(to_text(row.role));
    if (row.last) all += text(" ", row.first.value(), "-", row.last.value());
  }
  return all;
}

// The next master leads, with the durable state.
void next_leads(MasterScenario& s, char letter) {
  s.options.master = id(letter);
  s.options.name = std::string("m") + letter;
  s.restart_master();
  s.step(Tick{});
}

TEST(Masters, TheRegistryNamesThoseThatHaveLed) {
  MasterScenario s(of('a'));
  s.step(Tick{});
  EXPECT_EQ(masters(s), "ma leads 1-1");
  EXPECT_TRUE(s.master->status().masters.empty());
  s.advance(seconds(60));
  next_leads(s, 'b');
  EXPECT_EQ(masters(s), "mb leads 2-2, ma away 1-1");
  EXPECT_EQ(s.master->masters()[1].led_until, s.now);
  EXPECT_EQ(s.master->status().masters.size(), 2u);
  next_leads(s, 'a');
  EXPECT_EQ(masters(s), "ma leads 1-3, mb away 2-2");
}

TEST(Masters, AnOldOneOfManyDaysAgoIsNotMissed) {
  MasterScenario s(of('a'));
  s.step(Tick{});
  next_leads(s, 'b');
  s.now = s.now + s.options.history_age + seconds(1);
  next_leads(s, 'c');
  EXPECT_EQ(masters(s), "mc leads 3-3, mb away 2-2");
}

TEST(Masters, AStandbyIsThereUntilItsConnectionEnds) {
  MasterScenario s(of('a'));
  EXPECT_EQ(stands_by(s, 'b', PeerId(501)), "done");
  EXPECT_EQ(stands_by(s, 'c', PeerId(502)), "done");
  EXPECT_EQ(masters(s), "ma leads 1-1, mb standby, mc standby");
  EXPECT_TRUE(s.master->is_standby(PeerId(501)));
  // It reconnects before the end of the old connection is known.
  EXPECT_EQ(stands_by(s, 'b', PeerId(503)), "done");
  s.step(PeerLost{PeerId(501)});
  EXPECT_EQ(masters(s), "ma leads 1-1, mb standby, mc standby");
  s.step(PeerLost{PeerId(503)});
  // It has never led, so nothing is missing.
  EXPECT_EQ(masters(s), "ma leads 1-1, mc standby");
  EXPECT_FALSE(s.master->is_standby(PeerId(503)));
}

TEST(Masters, ASilentStandbyIsAway) {
  MasterScenario s(of('a'));
  s.step(Tick{});
  next_leads(s, 'b');
  EXPECT_EQ(stands_by(s, 'a', PeerId(501)), "done");
  s.advance(s.options.agent_timeout - seconds(1));
  EXPECT_EQ(stands_by(s, 'a', PeerId(501)), "done");
  s.advance(s.options.agent_timeout - seconds(1));
  EXPECT_EQ(masters(s), "mb leads 2-2, ma standby 1-1");
  s.advance(seconds(2));
  EXPECT_EQ(masters(s), "mb leads 2-2, ma away 1-1");
}

TEST(Masters, OnlyAMasterStandsBy) {
  MasterScenario s(of('a'));
  const auto user = [](Principal principal) { return std::make_shared<Principal>(principal); };
  const PublicKey key(std::string(kPublicKeyBytes, 'k'));
  const PrincipalPtr strangers[] = {
      user({.user = "bob", .uid = 1002}),
      user({.user = "root", .uid = 0, .key = key}),  // from another machine
      user({.user = "root", .uid = 0, .key = key, .agent = AgentId("a1")}),
      nullptr,
  };
  for (const PrincipalPtr& by : strangers) {
    s.trace.clear();
    s.step(StandBy{
        .call = 9, .peer = PeerId(501), .by = by, .standby = {.master = id('b'), .name = "mb"}});
    ASSERT_FALSE(s.answers.back().result) << audit_name(by.get());
    EXPECT_EQ(s.answers.back().result.error().code(), ErrorCode::kPermissionDenied);
    EXPECT_TRUE(std::any_of(s.trace.begin(), s.trace.end(), [](const TraceEvent& event) {
      return event.what() == "audit: refused";
    }));
    EXPECT_EQ(masters(s), "ma leads 1-1");
  }
  EXPECT_EQ(stands_by(s, 'b', PeerId(502),
                      user({.user = "master", .uid = kNoUid, .key = key, .is_master = true})),
            "done");
  // One connection belongs to one master.
  EXPECT_THAT(stands_by(s, 'c', PeerId(502)), HasSubstr("this connection belongs to master 'mb'"));
}

TEST(Masters, ACopyOfADataDirectoryIsToldAsSuch) {
  MasterScenario s(of('a'));
  const auto copy = [&](char of, const std::string& name, uint64_t peer) {
    return s.calls(StandBy{.peer = PeerId(peer),
                           .by = user_with_all_rights(),
                           .standby = {.master = id(of), .name = name}});
  };
  EXPECT_THAT(copy('a', "mz", 501), HasSubstr("is a copy of that of master 'ma'"));
  EXPECT_EQ(copy('b', "mb", 502), "done");
  EXPECT_THAT(copy('b', "mz", 503), HasSubstr("is a copy of that of master 'mb'"));
}

TEST(Masters, StandbysAreBounded) {
  MasterScenario s(of('a'));
  for (size_t i = 0; i < proto::kStandbysMax; ++i) {
    ASSERT_EQ(stands_by(s, static_cast<char>('b' + i), PeerId(500 + i)), "done");
  }
  EXPECT_THAT(stands_by(s, 'z', PeerId(600)), HasSubstr("a leader accepts at most 16"));
}

TEST(Masters, WhoKeepsTheHistoryOfAMaster) {
  MasterScenario s(of('a'));
  s.step(Tick{});
  s.advance(seconds(60));
  next_leads(s, 'b');
  EXPECT_EQ(*s.master->keeper_of(MasterId()), HistoryKeeper());
  EXPECT_EQ(*s.master->keeper_of(id('b')), HistoryKeeper());
  EXPECT_EQ(s.master->keeper_of(id('a')).error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(s.master->keeper_of(id('x')).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(stands_by(s, 'a', PeerId(501)), "done");
  EXPECT_EQ(*s.master->keeper_of(id('a')),
            (HistoryKeeper{.standby = PeerId(501), .led_until = s.now}));
  EXPECT_EQ(stands_by(s, 'a', PeerId(501), user_with_all_rights(), false), "done");
  EXPECT_EQ(s.master->keeper_of(id('a')).error().code(), ErrorCode::kFailedPrecondition);
}

TEST(Masters, StatusSaysWhichAgentsAreAwaited) {
  MasterScenario s(of('a'));
  TestAgent& first = s.registered_agent("a1");
  s.registered_agent("a2");
  EXPECT_EQ(s.master->status().agents_awaited, 0);
  s.restart_master();
  EXPECT_EQ(s.master->status().agents_awaited, 2);
  first.registers();
  EXPECT_EQ(s.master->status().agents_awaited, 1);
}

}  // namespace
}  // namespace proffer::master::standbys_test
