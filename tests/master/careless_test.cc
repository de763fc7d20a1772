// Schedulers that repeat a mistake: each costs the master and other frameworks little, fills only
// its own history, and can read the cause of its failures.

#include <functional>

#include "master/core/back_off.h"
#include "tests/master/cluster.h"

namespace proffer::master::careless_test {
namespace {

using proto::TaskReason;
using proto::TaskState;
using testing::HasSubstr;

// Answers each offer at once, with the same mistake.
struct Careless {
  MasterScenario& s;
  TestScheduler& f;
  std::function<void(const Offer&)> answer;
  int answered = 0;

  // Runs for this time and answers each offer when it arrives.
  void runs_for(Duration time) {
    const Time end = s.now + time;
    while (true) {
      s.settle();
      while (!f.offers.empty()) {
        ASSERT_LT(++answered, 1'000) << "it spins";
        const Offer offer = f.offers.front();
        answer(offer);
        f.take<proto::Update>();
        s.settle();
      }
      if (s.now >= end) return;
      s.now = std::min(end, s.now + milliseconds(50));
      if (s.now.nanos() % seconds(1).nanos() == 0) s.show_life();
    }
  }
};

struct Row {
  std::string_view what;
  TaskReason reason;
  std::function<std::vector<proto::TaskSpec>(int)> tasks;  // of its nth answer
};

const Row kRows[] = {
    {"a task id that was used", TaskReason::kDuplicateTaskId,
     [](int) { return std::vector{TestScheduler::spec("first", "cpus:1;mem:64")}; }},
    {"a negative shape", TaskReason::kTaskInvalid,
     [](int n) {
       proto::TaskSpec spec = TestScheduler::spec(text("t", n), "cpus:1;mem:64");
       spec.shape = ResourceVector::of(-1000, 0);
       return std::vector{spec};
     }},
    {"more than was offered", TaskReason::kResourcesExceeded,
     [](int n) { return std::vector{TestScheduler::spec(text("t", n), "cpus:64;mem:64")}; }},
    {"no ask", TaskReason::kNotAsked,
     [](int n) { return std::vector{TestScheduler::spec(text("t", n), "cpus:1;mem:64", "")}; }},
    {"an unknown ask", TaskReason::kNotAsked,
     [](int n) { return std::vector{TestScheduler::spec(text("t", n), "cpus:1;mem:64", "x")}; }},
};

TEST(Careless, ASchedulerWhoseLaunchesAreRefusedWaitsLongerAndLonger) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.what);
    MasterScenario s;
    s.registered_agent("a1", "cpus:4;mem:4GiB");
    s.registered_agent("a2", "cpus:4;mem:4GiB");
    TestScheduler& f = s.subscribed("f");
    f.asks("cpus:1;mem:64", 1);
    s.settle();
    f.accepts({f.offers.front()}, {TestScheduler::spec("first", "cpus:1;mem:64")});
    f.asks("cpus:1;mem:64", 3);
    Careless careless{
        s, f, [&](const Offer& offer) { f.accepts({offer}, row.tasks(careless.answered)); }};
    careless.runs_for(minutes(2));
    // Two at once, then after 100 ms, 200 ms … up to 30 s; one or two offers each time.
    EXPECT_LE(careless.answered, 2 * 14);
    EXPECT_GE(careless.answered, 10);
    EXPECT_EQ(s.allocated(), "cpus:1;mem:64");

    const proto::Explanation all = *s.master->explain("f", f.by.get());
    EXPECT_EQ(all.refusals.count, careless.answered);
    ASSERT_EQ(all.refusals.by_reason.size(), 1u);
    EXPECT_EQ(all.refusals.by_reason[0].reason, row.reason);
    ASSERT_EQ(all.waits.size(), 1u);
    EXPECT_EQ(all.waits[0].ask, AskName("t"));
    EXPECT_THAT(all.answer, HasSubstr("its ask 't' launched nothing in"));
    EXPECT_THAT(all.answer, testing::ContainsRegex("for another [0-9]+(\\.[0-9])?s;"));
    EXPECT_THAT(all.answer, HasSubstr(all.refusals.message));

    // When it behaves correctly, everything works again after its back-off.
    careless.answer = [&](const Offer& offer) {
      f.accepts({offer}, {TestScheduler::spec(text("good", careless.answered), "cpus:1;mem:64")});
    };
    careless.runs_for(seconds(31));
    EXPECT_EQ(s.allocated(), "cpus:4;mem:256");
    EXPECT_TRUE(s.master->explain("f", nullptr)->waits.empty());
  }
}

// The scheduler's SDK refuses an invalid task itself, so its accept is empty.
TEST(Careless, AnAcceptOfNothingIsAFailureToo) {
  MasterScenario s;
  s.registered_agent("a1", "cpus:4;mem:4GiB");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 3);
  Careless careless{s, f, [&](const Offer& offer) { f.accepts({offer}, {}); }};
  careless.runs_for(minutes(2));
  EXPECT_LE(careless.answered, 14);
  EXPECT_EQ(s.master->explain("f", nullptr)->refusals.count, 0);
}

TEST(Careless, OpenOffersWaitAsAsksDo) {
  MasterScenario s;
  for (int i = 0; i < 5; ++i) s.registered_agent(text("a", i), "cpus:4;mem:4GiB");
  TestScheduler& f = s.scheduler("f");
  f.subscribe.mode = OfferMode::kOpen;
  f.subscribes();
  Careless careless{s, f, [&](const Offer& offer) {
                      f.accepts({offer}, {TestScheduler::spec("t", "cpus:99", "")});
                    }};
  careless.runs_for(minutes(2));
  EXPECT_LE(careless.answered, 5 * 14);
  EXPECT_THAT(s.master->explain("f", nullptr)->answer, HasSubstr("it launched nothing in"));
}

// Each failure has a new ask name: then the back-off applies to the whole framework.
TEST(Careless, NewNamesForAsksDoNotHelp) {
  MasterScenario s;
  s.registered_agent("a1", "cpus:4;mem:4GiB");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 1, "ask-0");
  Careless careless{s, f, [&](const Offer& offer) {
                      f.accepts({offer}, {TestScheduler::spec("t", "cpus:99", "x")});
                      f.asks("cpus:1", 1, text("ask-", careless.answered));
                    }};
  careless.runs_for(minutes(2));
  EXPECT_LE(careless.answered, 16 + 14);
  EXPECT_THAT(s.master->explain("f", nullptr)->answer, HasSubstr("it launched nothing in"));
}

TEST(Careless, AnotherAskOfTheFrameworkDoesNotWait) {
  MasterScenario s;
  s.registered_agent("a1", "cpus:16;mem:4GiB");
  TestScheduler& f = s.subscribed("f");
  const auto ask = [](const std::string& name, int64_t count) {
    return Ask{.name = AskName(name), .shape = *parse_shape("cpus:1"), .count = count};
  };
  f.sends(proto::DeclareAsks{.generation = 1, .asks = {ask("bad", 1), ask("good", 1)}});
  int good = 0;
  Careless careless{
      s, f, [&](const Offer& offer) {
        std::vector<proto::TaskSpec> specs;
        for (const AskFill& fill : offer.fills) {
          const bool is_good = fill.ask == AskName("good");
          specs.push_back(TestScheduler::spec(is_good ? text("good-", ++good) : "bad",
                                              is_good ? "cpus:1" : "cpus:99", fill.ask.str()));
        }
        f.accepts({offer}, specs);
        f.sends(
            proto::DeclareAsks{.generation = 1, .asks = {ask("bad", 1), ask("good", good < 12)}});
      }};
  careless.runs_for(seconds(10));
  EXPECT_EQ(good, 12);
  EXPECT_LE(careless.answered, 12 + 9);
}

TEST(Careless, AReconnectDoesNotEndTheWait) {
  MasterScenario s;
  s.registered_agent("a1", "cpus:4;mem:4GiB");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 1);
  Careless careless{s, f, [&](const Offer& offer) {
                      f.accepts({offer}, {TestScheduler::spec("t", "cpus:99")});
                      f.lose();
                      f.offers.clear();
                      f.subscribes();
                      f.asks("cpus:1", 1);
                    }};
  careless.runs_for(minutes(2));
  EXPECT_LE(careless.answered, 14);
}

// An honest framework beside it gets all its offers, and keeps its history.
TEST(Careless, OthersAreServedAndKeepTheirHistory) {
  MasterOptions options;
  options.ended_kept = 50;
  MasterScenario s(options);
  TestAgent& a = s.registered_agent("a1", "cpus:2;mem:4GiB");
  TestScheduler& honest = s.subscribed("honest");
  honest.asks("cpus:1", 1);
  s.settle();
  honest.accepts(honest.offers, {TestScheduler::spec("done", "cpus:1")});
  a.updates(honest.id, "done", TaskState::kRunning);
  a.updates(honest.id, "done", TaskState::kFinished);
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 1);
  Careless careless{
      s, f, [&](const Offer& offer) {
        std::vector<proto::TaskSpec> specs;
        for (int i = 0; i < 200; ++i) {
          specs.push_back(TestScheduler::spec(text("t", careless.answered, "-", i), "cpus:99"));
        }
        f.accepts({offer}, specs);
      }};
  careless.runs_for(seconds(5));
  honest.asks("cpus:1", 2);
  s.settle();
  EXPECT_EQ(honest.offers.size(), 1u);
  EXPECT_EQ(honest.offers.at(0).fills.at(0).count, 2) << "what the other waits for is free";
  const std::vector<proto::TaskRow> rows =
      s.master->tasks({.prefix = "honest", .ended = true}, nullptr);
  EXPECT_EQ(rows.size(), 1u);
}

TEST(Careless, ATaskOfADeclaredAskCountsAgainstIt) {
  MasterScenario s;
  s.registered_agent("a1", "cpus:8;mem:4GiB");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:4", 2);
  s.settle();
  f.accepts(f.offers, {f.spec("t1", "cpus:1"), f.spec("t2", "cpus:1"), f.spec("t3", "cpus:1")});
  EXPECT_EQ(f.told(), std::vector<std::string>{"t3 refused not_asked"});
  EXPECT_EQ(s.allocated(), "cpus:2");
  s.settle();
  EXPECT_TRUE(f.offers.empty());
  EXPECT_THAT(s.master->explain("f", f.by.get())->refusals.message,
              HasSubstr("the ask 't' is already filled: declare it with a greater count first"));
}

TEST(Careless, ASchedulerThatDoesNotAnswerIsNamed) {
  MasterScenario s;
  s.registered_agent("a1", "cpus:8;mem:4GiB");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:4", 2);
  s.advance(minutes(2));
  const proto::Explanation all = *s.master->explain("f", nullptr);
  EXPECT_GE(all.unanswered_in_a_row, 3);
  EXPECT_THAT(all.answer, HasSubstr("its scheduler did not answer the last"));
  while (f.offers.empty()) s.advance(seconds(1));
  f.declines(f.offers.back());
  EXPECT_EQ(s.master->explain("f", nullptr)->unanswered_in_a_row, 0);
  EXPECT_EQ(s.master->explain("f", nullptr)->unanswered, all.unanswered);
}

TEST(Careless, TasksThatFailOneAfterAnotherAreNamed) {
  MasterScenario s;
  TestAgent& a1 = s.registered_agent("a1", "cpus:8;mem:4GiB");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 100);
  const auto end_one = [&](int number, TaskState state) {
    const std::string id = text("t", number);
    s.settle();
    ASSERT_FALSE(f.offers.empty());
    f.accepts(f.offers, {f.spec(id, "cpus:1")});
    a1.updates(f.id, id, state, TaskReason::kCommandExited);
  };
  for (int i = 1; i <= 12; ++i) end_one(i, TaskState::kFailed);
  proto::Explanation all = *s.master->explain("f", f.by.get());
  EXPECT_EQ(all.failed_in_a_row, 12);
  EXPECT_THAT(all.answer, HasSubstr("its last 12 tasks failed, the last one, 't12', "));
  EXPECT_THAT(all.answer, HasSubstr("command_exited"));
  EXPECT_THAT(s.master->explain("f", nullptr)->answer, HasSubstr("its last 12 tasks failed"));
  end_one(13, TaskState::kFinished);
  all = *s.master->explain("f", f.by.get());
  EXPECT_EQ(all.failed_in_a_row, 0);
  EXPECT_THAT(all.answer, Not(HasSubstr("failed")));
}

// --- declines -----------------------------------------------------------------------------------

Refusal for_so_long(Duration refuse_for) { return {.refuse_for = refuse_for}; }

// Three at once, then after 100 ms, 200 ms … up to 5 s.
constexpr int kDeclinesInTwoMinutes = 3 + 6 + 23;

// The only place is offered to the silent scheduler first, since it has the least share.
TEST(Careless, ASchedulerThatDoesNotAnswerHoldsLessAndLess) {
  MasterScenario s;
  s.registered_agent("a1", "cpus:1;mem:1GiB");
  TestScheduler& silent = s.subscribed("silent");
  silent.asks("cpus:1;mem:1GiB", 1);
  s.settle();
  std::vector<Duration> leases;
  const auto note = [&] {
    for (const Offer& offer : std::exchange(silent.offers, {})) leases.push_back(offer.lease);
  };
  note();
  const Time begin = s.now;
  while (s.now < begin + minutes(10)) {
    s.advance(milliseconds(500));
    silent.sends(proto::Heartbeat{});
    note();
  }
  ASSERT_GE(leases.size(), 6u);
  EXPECT_EQ(leases[0], seconds(30));
  EXPECT_EQ(leases[1], seconds(15));
  EXPECT_EQ(leases[2], milliseconds(7'500));
  EXPECT_EQ(leases.back(), seconds(2));
  EXPECT_LE(leases.size(), 30u) << "it is offered the place too often";

  TestScheduler& honest = s.subscribed("honest");
  honest.asks("cpus:1;mem:1GiB", 1);
  s.advance(seconds(3));
  EXPECT_EQ(honest.offers.size(), 1u);
}

TEST(Careless, AnAnswerBringsBackTheWholeLease) {
  for (const bool accepts : {false, true}) {
    MasterScenario s;
    TestAgent& a = s.registered_agent("a1", "cpus:1;mem:1GiB");
    TestScheduler& slow = s.subscribed("slow");
    slow.asks("cpus:1;mem:1GiB", 2);
    s.settle();
    slow.offers.clear();
    for (int i = 0; i < 200 && slow.offers.empty(); ++i) s.advance(milliseconds(500));
    ASSERT_EQ(slow.offers.size(), 1u);
    const Offer offer = std::exchange(slow.offers, {}).at(0);
    EXPECT_EQ(offer.lease, seconds(15));
    if (accepts) {
      slow.accepts({offer}, {TestScheduler::spec("t1", "cpus:1;mem:1GiB")});
      a.updates(slow.id, "t1", TaskState::kFinished);
    } else {
      slow.sends(proto::Decline{.offers = {offer.id}, .refusal = {}});
    }
    for (int i = 0; i < 200 && slow.offers.empty(); ++i) s.advance(milliseconds(500));
    ASSERT_EQ(slow.offers.size(), 1u);
    EXPECT_EQ(slow.offers[0].lease, seconds(30));
  }
}

TEST(Careless, AnAgentThatIsDeclinedForNoTimeIsOfferedLessAndLessOften) {
  for (const bool is_open : {false, true}) {
    for (const Duration refuse_for : {Duration(), nanoseconds(1), milliseconds(10)}) {
      SCOPED_TRACE(text(is_open, " ", to_text(refuse_for)));
      MasterScenario s;
      s.registered_agent("a1", "cpus:4;mem:4GiB");
      s.registered_agent("a2", "cpus:4;mem:4GiB");
      TestScheduler& f = s.scheduler("f");
      f.subscribe.mode = is_open ? OfferMode::kOpen : OfferMode::kAsks;
      f.subscribes();
      if (!is_open) f.asks("cpus:1;mem:64", 3);
      Careless careless{s, f, [&](const Offer& o) { f.declines(o, for_so_long(refuse_for)); }};
      careless.runs_for(minutes(2));
      EXPECT_LE(careless.answered, 2 * (kDeclinesInTwoMinutes + 2));
      EXPECT_GE(careless.answered, 2 * (kDeclinesInTwoMinutes - 2));
      EXPECT_THAT(s.master->explain("f", nullptr)->answer,
                  HasSubstr("declined by the framework itself, for a while"));
    }
  }
}

TEST(Careless, AnAcceptOfNothingThatRefusesForHardlyAnyTimeIsADecline) {
  MasterScenario s;
  s.registered_agent("a1", "cpus:4;mem:4GiB");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 3);
  Careless careless{
      s, f, [&](const Offer& offer) {
        f.forget(offer.id);
        f.sends(proto::Accept{.offers = {offer.id}, .refusal = for_so_long(nanoseconds(1))});
      }};
  careless.runs_for(minutes(2));
  EXPECT_LE(careless.answered, kDeclinesInTwoMinutes + 2);
}

// Each operation is refused: such an accept launches nothing either.
TEST(Careless, AReservationThatCannotBeMadeIsAFailedAccept) {
  MasterScenario s;
  s.registered_agent("a1", "cpus:4;mem:4GiB");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 3);
  Careless careless{
      s, f, [&](const Offer& offer) {
        f.forget(offer.id);
        f.sends(proto::Accept{.offers = {offer.id},
                              .operations = {proto::Reserve{.agent = offer.agent,
                                                            .role = RoleName("of-others"),
                                                            .amounts = *parse_shape("cpus:1")}}});
        f.take<proto::ErrorMessage>();
      }};
  careless.runs_for(minutes(2));
  EXPECT_LE(careless.answered, 14);
}

TEST(Declines, OfASecondAndMoreAreAsTheSchedulerSays) {
  MasterScenario s;
  s.registered_agent("a1", "cpus:4;mem:4GiB");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 3);
  Careless patient{s, f, [&](const Offer& offer) { f.declines(offer, for_so_long(seconds(1))); }};
  patient.runs_for(seconds(60));
  EXPECT_GE(patient.answered, 60);
}

TEST(Declines, AFewOfThemOrRareOnesCostNothing) {
  MasterScenario s;
  s.registered_agent("a1", "cpus:4;mem:4GiB");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 3);
  s.settle();
  for (int minute = 0; minute < 10; ++minute) {
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(f.offers.size(), 1u) << "minute " << minute;
      f.declines(f.offers[0]);
      s.settle();
    }
    ASSERT_EQ(f.offers.size(), 1u) << "minute " << minute;
    f.declines(f.offers[0], for_so_long(minutes(1)));
    s.advance(minutes(1));
  }
}

TEST(Declines, LaunchResetsTheCountAndOtherAgentsAreNotDelayed) {
  MasterScenario s;
  s.registered_agent("a1", "cpus:1;mem:4GiB");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 3);
  for (int i = 0; i < 12; ++i) {
    while (f.offers.empty()) s.advance(seconds(1));
    f.declines(f.offers[0]);
    s.settle();
  }
  EXPECT_TRUE(f.offers.empty());
  TestAgent& other = s.registered_agent("a2", "cpus:1;mem:4GiB");
  ASSERT_EQ(f.offers.size(), 1u) << "at once";
  f.accepts(f.offers, {f.spec("t1", "cpus:1")});
  other.updates(f.id, "t1", TaskState::kFinished);
  s.settle();
  ASSERT_EQ(f.offers.size(), 1u) << "of the same agent: it is of use";
  for (int i = 0; i < 12; ++i) {
    while (f.offers.empty()) s.advance(seconds(1));
    f.declines(f.offers[0]);
    s.settle();
  }
  while (f.offers.empty()) s.advance(seconds(1));
  const std::string agent = f.offers[0].agent.str();
  f.accepts({f.offers[0]}, {f.spec("t2", "cpus:1")});
  EXPECT_EQ(f.told().back(), "t1 finished");
  EXPECT_EQ(s.task(f.id, "t2")->agent.str(), agent);
}

TEST(ShortDeclines, AreForgottenWithTheirAgents) {
  ShortDeclines declines;
  const Time now = Time() + hours(1);
  for (int i = 0; i < 10; ++i) declines.note(AgentId(text("a", i)), now);
  declines.keep_only(10, [](const AgentId&) { return false; });
  EXPECT_EQ(declines.size(), 10u) << "they may all be there";
  declines.keep_only(9, [](const AgentId& id) { return id == AgentId("a3"); });
  EXPECT_EQ(declines.size(), 1u);
}

TEST(BackOff, DoublesFromTheSecondFailureOfAnAsk) {
  BackOff back_off;
  const Time now = Time::from_nanos(0) + hours(1);
  const std::set<AskName> asks = {AskName("a")};
  std::vector<Duration> waits;
  for (int i = 0; i < 12; ++i) {
    back_off.note_failed(asks, now);
    const auto row = back_off.asks().at(AskName("a"));
    waits.push_back(row.until ? *row.until - now : Duration());
  }
  EXPECT_EQ(waits.at(0), Duration());
  EXPECT_EQ(waits.at(1), milliseconds(100));
  EXPECT_EQ(waits.at(2), milliseconds(200));
  EXPECT_EQ(waits.at(9), milliseconds(25'600));
  EXPECT_EQ(waits.at(10), seconds(30));
  EXPECT_EQ(waits.at(11), seconds(30));

  // A launch resets the back-off, but a pause that has begun continues.
  back_off.note_launched(AskName("a"));
  EXPECT_TRUE(back_off.pauses(AskName("a")));
  EXPECT_EQ(back_off.take_ended(now + seconds(29)).asks.size(), 0u);
  EXPECT_EQ(back_off.take_ended(now + seconds(30)).asks.size(), 1u);
  back_off.note_failed(asks, now);
  EXPECT_FALSE(back_off.pauses(AskName("a")));
  EXPECT_EQ(back_off.next_end(), std::nullopt);
}

}  // namespace
}  // namespace proffer::master::careless_test
