// Asks, offers and fair shares, through messages.

#include <functional>

#include "tests/master/cluster.h"

namespace proffer::master::offers_test {
namespace {

using proto::TaskState;
using testing::HasSubstr;

TEST(Offers, ComeToTheMeasureOfTheAsks) {
  MasterScenario s;
  s.registered_agent("a1", "cpus:8;mem:8GiB");
  TestScheduler& f = s.subscribed("f");
  EXPECT_TRUE(f.offers.empty());
  f.asks("cpus:1;mem:512", 3);
  s.settle();
  ASSERT_EQ(f.offers.size(), 1u);
  EXPECT_EQ(to_text(f.offers[0].total()), "cpus:3;mem:1536");
  EXPECT_EQ(f.offers[0].fills, (std::vector<AskFill>{{AskName("t"), 3}}));
  EXPECT_EQ(s.master->status().offers, 1);
  EXPECT_EQ(s.master->offers().front().framework, f.id);
}

TEST(Offers, ArePartlyUsedAndTheRestIsOfferedToOthers) {
  MasterScenario s;
  s.registered_agent("a1", "cpus:4;mem:4GiB");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:2", 2);
  s.settle();
  TestScheduler& g = s.subscribed("g");
  g.asks("cpus:2", 1);
  s.settle();
  EXPECT_TRUE(g.offers.empty());
  f.accepts(f.offers, {f.spec("t1", "cpus:2")});
  f.asks("cpus:2", 0);
  s.settle();
  ASSERT_EQ(g.offers.size(), 1u);
  EXPECT_EQ(s.allocated(), "cpus:2");
}

TEST(Offers, ExpireAndSaySo) {
  MasterScenario s;
  s.registered_agent("a1");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 1);
  s.settle();
  ASSERT_EQ(f.offers.size(), 1u);
  const Offer offer = f.offers[0];
  EXPECT_EQ(offer.lease, s.options.allocator.offer_timeout);
  s.advance(s.options.allocator.offer_timeout);
  EXPECT_EQ(f.take_one<proto::Rescind>().offers, (std::vector<OfferId>{offer.id}));
  f.accepts({offer}, {f.spec("t1", "cpus:1")});
  EXPECT_EQ(f.told(), (Lines{"t1 refused offer_not_valid"}));
}

// Half of its offer is above its share while g waits; it gets its share again at once.
TEST(Offers, ThatStayUnansweredAreRescindedWhileOthersWait) {
  MasterScenario s;
  s.registered_agent("a1", "cpus:8;mem:8GiB");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 8);
  s.settle();
  ASSERT_EQ(f.offers.size(), 1u);
  const Offer offer = f.offers[0];
  TestScheduler& g = s.subscribed("g");
  g.asks("cpus:1", 8);
  s.settle();
  EXPECT_TRUE(g.offers.empty());
  s.advance(seconds(1));
  EXPECT_EQ(f.take_one<proto::Rescind>().offers, (std::vector<OfferId>{offer.id}));
  ASSERT_EQ(g.offers.size(), 1u);
  EXPECT_EQ(to_text(g.offers[0].total()), "cpus:4");
  EXPECT_THAT(s.master->explain("f", nullptr)->answer,
              HasSubstr("1 of its offers was rescinded since it was above its share and did not "
                        "answer while others waited, the last "));
  EXPECT_EQ(s.master->explain("f", nullptr)->unanswered, 0);
}

// Its answer may wait to be read.
TEST(Offers, AreNotRescindedByADeafMaster) {
  MasterScenario s;
  s.registered_agent("a1", "cpus:8;mem:8GiB");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 8);
  s.settle();
  TestScheduler& g = s.subscribed("g");
  g.asks("cpus:1", 8);
  s.settle();
  s.now = s.now + seconds(1);
  s.step(Tick{.is_deaf = true});
  EXPECT_TRUE(g.offers.empty());
  f.accepts(f.offers, {f.spec("t1", "cpus:1")});
  EXPECT_EQ(f.told(), Lines());
  s.advance(seconds(1));
  EXPECT_FALSE(g.offers.empty());
}

TEST(Offers, AreKeptFromOneWhoDeclinedAndComeAgainLater) {
  MasterScenario s;
  s.registered_agent("a1");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 1);
  s.settle();
  f.declines(f.offers.at(0), Refusal{.refuse_for = seconds(5)});
  s.settle();
  EXPECT_TRUE(f.offers.empty());
  s.advance(seconds(5));
  EXPECT_EQ(f.offers.size(), 1u);
  f.declines(f.offers.at(0), Refusal{.refuse_for = Duration::nanos(INT64_MAX)});
  s.advance(minutes(2));
  EXPECT_TRUE(f.offers.empty());
  f.sends(proto::Revive{});
  s.settle();
  EXPECT_EQ(f.offers.size(), 1u);
}

TEST(Offers, DoNotComeWhileSuppressed) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f");
  f.sends(proto::Suppress{});
  f.asks("cpus:1", 1);
  s.registered_agent("a1");
  EXPECT_TRUE(f.offers.empty());
  EXPECT_TRUE(s.master->frameworks().front().suppressed);
  f.lose();
  f.subscribes();  // a new session starts again
  f.asks("cpus:1", 1);
  s.settle();
  EXPECT_EQ(f.offers.size(), 1u);
}

TEST(Offers, OfAnotherFrameworkCannotBeUsed) {
  MasterScenario s;
  s.registered_agent("a1");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 1);
  s.settle();
  TestScheduler& thief = s.subscribed("thief");
  thief.accepts(f.offers, {f.spec("t1", "cpus:1")});
  EXPECT_EQ(thief.told(), (Lines{"t1 refused offer_not_valid"}));
  thief.declines(f.offers.at(0), {});
  f.accepts(f.offers, {f.spec("t1", "cpus:1")});
  EXPECT_EQ(s.task(f.id, "t1")->state, TaskState::kStaging);
}

TEST(Offers, AreToldInSeveralMessagesIfThereAreMany) {
  MasterScenario s;
  for (size_t i = 0; i < kOffersPerMessageMax + 10; ++i) {
    s.agent(text("a", i), "cpus:1;mem:1GiB").registers();
  }
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 1'000);
  s.settle();
  EXPECT_EQ(f.offers.size(), kOffersPerMessageMax + 10);
  EXPECT_EQ(f.take<proto::Offers>().size(), 2u);
}

// The valid asks of a set are kept, and each invalid one is rejected with its reason.
TEST(Asks, ThatAreWrongAreRejectedAlone) {
  const auto ask = [](const std::string& name) {
    Ask made;
    made.name = AskName(name);
    made.shape = ResourceVector::of(1000, 0);
    made.count = 1;
    return made;
  };
  struct Row {
    std::string_view what;
    std::function<void(Ask&)> spoil;
    std::string_view why;
  };
  const Row rows[] = {
      {"a negative count", [](Ask& a) { a.count = -1; },
       "ask 'bad': its count must be from 0 to 10000000, not -1"},
      {"another role", [](Ask& a) { a.role = RoleName("other"); },
       "it names the role 'other'; that must be the framework's, 'default', or one below it"},
      {"no expression",
       [](Ask& a) {
         a.constraints = {{"host", Constraint::Operator::kMatches, {"("}}};
       },
       "missing )"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    MasterScenario s;
    s.registered_agent("a1");
    TestScheduler& f = s.subscribed("f");
    Ask bad = ask("bad");
    row.spoil(bad);
    f.sends(proto::DeclareAsks{.generation = 9, .asks = {ask("a"), bad, ask("b")}});
    const auto report = f.take_one<proto::AskReport>();
    EXPECT_EQ(report.generation, 9u);
    ASSERT_EQ(report.rows.size(), 1u);
    EXPECT_EQ(report.rows[0].ask, AskName("bad"));
    EXPECT_FALSE(report.rows[0].could_ever_fit);
    EXPECT_THAT(report.rows[0].why, HasSubstr(row.why));
    s.advance(seconds(3));
    EXPECT_EQ(f.offers.size(), 1u);
    EXPECT_EQ(f.offers.at(0).fills.size(), 2u);
    EXPECT_TRUE(f.take<proto::AskReport>().empty()) << "it is told once";
    EXPECT_THAT(s.master->explain("f", f.by.get())->remarks.at(0).why, HasSubstr(row.why));

    f.sends(proto::DeclareAsks{.generation = 10, .asks = {ask("a"), ask("b")}});
    s.advance(seconds(3));
    EXPECT_TRUE(s.master->explain("f", f.by.get())->remarks.empty());
  }
}

// If a report cannot name the ask, the answer is an error that keeps the session.
TEST(Asks, WithoutANameOfTheirOwnAreAnError) {
  const auto ask = [](const std::string& name, int64_t count) {
    return Ask{.name = AskName(name), .shape = ResourceVector::of(1000, 0), .count = count};
  };
  struct Row {
    std::vector<Ask> asks;
    std::string_view why;
    size_t offers;  // for the valid asks
  };
  std::vector<Ask> many;
  for (size_t i = 0; i <= kAsksMax; ++i) many.push_back(ask(text("a", i), 1));
  const Row rows[] = {
      {{ask("a b", 1), ask("good", 1)}, "'a b'", 1},
      {{ask("a", 1), ask("a", 3)}, "the ask 'a' is declared twice: the first one counts", 1},
      {many, "a framework declares at most 256 asks, not 257", 0},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.why);
    MasterScenario s;
    s.registered_agent("a1");
    TestScheduler& f = s.subscribed("f");
    f.sends(proto::DeclareAsks{.generation = 9, .asks = row.asks});
    const auto error = f.take_one<proto::ErrorMessage>();
    EXPECT_THAT(error.message, HasSubstr(row.why));
    EXPECT_FALSE(error.ends_session);
    EXPECT_TRUE(f.is_connected());
    s.settle();
    EXPECT_EQ(f.offers.size(), row.offers);
    for (const Offer& offer : f.offers) EXPECT_EQ(offer.fills.at(0).count, 1);
  }
}

TEST(AskReport, NamesPreferredHostsThatAreNoAgents) {
  MasterScenario s;
  s.registered_agent("a1");
  TestScheduler& f = s.subscribed("f");
  Ask ask{.name = AskName("near"), .shape = ResourceVector::of(1000, 0), .count = 1};
  ask.prefer = {.hosts = {"a1", "a1.example.org"}, .wait = seconds(30)};
  f.sends(proto::DeclareAsks{.generation = 1, .asks = {ask}});
  s.advance(seconds(2));
  const auto report = f.take_one<proto::AskReport>();
  ASSERT_EQ(report.rows.size(), 1u);
  EXPECT_TRUE(report.rows[0].could_ever_fit);
  EXPECT_EQ(report.rows[0].why,
            "it prefers a1.example.org, which is not an agent of this cluster: a preferred host "
            "must be the name of an agent");
  EXPECT_FALSE(s.master->explain("f", nullptr)->remarks.at(0).rejected);
  s.registered_agent("a1.example.org");
  s.advance(seconds(2));
  EXPECT_EQ(f.take_one<proto::AskReport>().rows.at(0).why, "");
}

TEST(AskReport, NamesWhatNoAgentCouldEverMeetAndTellsWhenOneCan) {
  MasterScenario s;
  s.registered_agent("a1", "cpus:4;mem:4GiB");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:8", 1, "big");
  s.advance(seconds(1));
  const auto report = f.take_one<proto::AskReport>();
  ASSERT_EQ(report.rows.size(), 1u);
  EXPECT_FALSE(report.rows[0].could_ever_fit);
  EXPECT_EQ(report.rows[0].why, "it takes 8 cpus, but the largest agent has 4");
  EXPECT_EQ(report.generation, f.generation);
  s.advance(seconds(3));
  EXPECT_TRUE(f.take<proto::AskReport>().empty());

  s.registered_agent("a2", "cpus:8;mem:4GiB");
  s.advance(seconds(2));
  EXPECT_TRUE(f.take_one<proto::AskReport>().rows.at(0).could_ever_fit);
  EXPECT_FALSE(s.master->frameworks().front().asks.empty());
}

TEST(AskReport, SaysWhichConstraintNobodyMeets) {
  MasterScenario s;
  s.registered_agent("a1");
  TestScheduler& f = s.subscribed("f");
  Ask ask;
  ask.name = AskName("gpu");
  ask.shape = ResourceVector::of(1000, 0);
  ask.count = 1;
  ask.constraints = {{"disk", Constraint::Operator::kEquals, {"ssd"}}};
  f.sends(proto::DeclareAsks{.generation = 1, .asks = {ask}});
  s.advance(seconds(2));
  EXPECT_EQ(f.take_one<proto::AskReport>().rows.at(0).why, "no agent meets 'disk == ssd'");
}

TEST(AskReport, SaysThatAGangHasNoRoom) {
  MasterScenario s;
  s.registered_agent("a1", "cpus:4;mem:4GiB");
  TestScheduler& f = s.subscribed("f");
  Ask ask;
  ask.name = AskName("ranks");
  ask.shape = ResourceVector::of(1000, 0);
  ask.count = 8;
  ask.gang = 8;
  f.sends(proto::DeclareAsks{.generation = 1, .asks = {ask}});
  s.advance(seconds(2));
  EXPECT_EQ(f.take_one<proto::AskReport>().rows.at(0).why,
            "8 tasks of cpus:1 must start together, and the agents have no room for all of them at "
            "once");
}

TEST(AskReport, IsNotMadeOfAClusterThatIsNotComplete) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.subscribed("f");
  s.restart_master();
  f.subscribes();
  f.asks("cpus:1", 1);
  s.advance(seconds(3));
  EXPECT_TRUE(f.take<proto::AskReport>().empty());
  a.registers();
  s.advance(seconds(3));
  EXPECT_TRUE(f.take<proto::AskReport>().empty());
}

TEST(OpenOffers, GoToAFrameworkWithoutAsks) {
  MasterScenario s;
  s.registered_agent("a1", "cpus:4;mem:4GiB");
  TestScheduler& f = s.scheduler("f");
  f.subscribe.mode = OfferMode::kOpen;
  f.subscribes();
  s.settle();
  ASSERT_EQ(f.offers.size(), 1u);
  f.accepts(f.offers, {f.spec("t1", "cpus:1", ""), f.spec("t2", "cpus:1;mem:1GiB", "")});
  EXPECT_EQ(s.allocated(), "cpus:2;mem:1024");
}

// A scheduler with one shape that accepts every offer, on one agent, and whose tasks end one after
// another.
struct Tenant {
  TestScheduler& scheduler;
  std::string shape;
  int launched = 0;
  std::vector<std::string> running = {};

  void takes_what_it_is_offered() {
    for (const Offer& offer : std::vector<Offer>(scheduler.offers)) {
      const int64_t count = count_that_fits(*parse_shape(shape), offer.total(), 100);
      std::vector<proto::TaskSpec> specs;
      for (int64_t i = 0; i < count; ++i) {
        const std::string id = text("t", ++launched);
        specs.push_back(TestScheduler::spec(id, shape));
        running.push_back(id);
      }
      scheduler.accepts({offer}, specs);
    }
  }
  void one_ends(TestAgent& agent) {
    if (running.empty()) return;
    agent.updates(scheduler.id, running.front(), TaskState::kFinished);
    running.erase(running.begin());
  }
};

// The example of section 4.1 of the DRF paper (Ghodsi et al., NSDI 2011): 9 CPUs and 18 GB; A's
// tasks need <1 CPU, 4 GB>, B's <3 CPUs, 1 GB>. The dominant shares are equal, 2/3, with three
// tasks of A and two of B.
TEST(DrfExampleOfThePaper, SettlesAtThreeAndTwoWhicheverCameFirst) {
  for (const bool a_first : {true, false}) {
    SCOPED_TRACE(a_first);
    MasterScenario s;
    TestAgent& agent = s.registered_agent("a1", "cpus:9;mem:18GiB");
    const auto arrive = [&](const std::string& name, const std::string& shape) {
      TestScheduler& f = s.subscribed(name, name);
      f.asks(shape, 1'000);
      s.settle();
      return Tenant{f, shape};
    };
    Tenant first = a_first ? arrive("A", "cpus:1;mem:4GiB") : arrive("B", "cpus:3;mem:1GiB");
    first.takes_what_it_is_offered();
    EXPECT_EQ(first.running.size(), a_first ? 4u : 3u);  // alone, it has all that it can use
    Tenant second = a_first ? arrive("B", "cpus:3;mem:1GiB") : arrive("A", "cpus:1;mem:4GiB");
    second.takes_what_it_is_offered();
    Tenant& a = a_first ? first : second;
    Tenant& b = a_first ? second : first;

    // Tasks of one to three seconds end and are replaced.
    for (int round = 0; round < 9; ++round) {
      s.advance(seconds(1));
      if (round % 3 == 0) b.one_ends(agent);
      a.one_ends(agent);
      s.settle();
      a.takes_what_it_is_offered();
      b.takes_what_it_is_offered();
      s.settle();
      a.takes_what_it_is_offered();
      b.takes_what_it_is_offered();
    }
    EXPECT_EQ(a.running.size(), 3u);
    EXPECT_EQ(b.running.size(), 2u);
    for (const proto::FrameworkRow& row : s.master->frameworks()) {
      EXPECT_EQ(row.dominant_share_millionths, 666'666) << row.name;
    }
    EXPECT_EQ(s.master->roles().size(), 2u);
  }
}

}  // namespace
}  // namespace proffer::master::offers_test
