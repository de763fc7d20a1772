// Placement of tasks: limits by attribute, spread, preferred hosts, expiry, devices; and invalid
// asks.

#include <gmock/gmock.h>

#include "tests/allocator/scenario.h"

namespace proffer::placement_test {
namespace {

using testing::HasSubstr;

Ask ask_of(const std::string& shape, int64_t count) {
  return {.name = AskName("task"), .shape = parse_shape(shape).value(), .count = count};
}

TEST(MaxPer, LimitsTasksOnAHostAndInARack) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:8GiB", "rack:r1");
  s.agent("a2", "cpus:8;mem:8GiB", "rack:r1");
  s.agent("a3", "cpus:8;mem:8GiB", "rack:r2");
  s.agent("a4", "cpus:8;mem:8GiB");
  Ask ask = ask_of("cpus:1", 100);
  ask.max_per = {{"host", 2}, {"rack", 3}};
  s.framework("f").asks(ask);
  s.run_until_nothing_fits();
  // Two on the third agent, two on the one without a rack, three in the first rack.
  EXPECT_EQ(s.framework("f").tasks_on("a1") + s.framework("f").tasks_on("a2"), 3);
  EXPECT_EQ(s.framework("f").tasks_on("a3"), 2);
  EXPECT_EQ(s.framework("f").tasks_on("a4"), 2);
}

TEST(MaxPer, CountsOffersAndFindsRoomWhereATaskEndedElsewhere) {
  AllocatorScenario s;
  s.agent("a1", "cpus:1;mem:1GiB", "rack:r1");
  s.agent("a2", "cpus:8;mem:8GiB", "rack:r1");
  Ask ask = ask_of("cpus:1", 5);
  ask.max_per = {{"rack", 1}};
  s.framework("f").asks(ask);
  s.decide();
  EXPECT_EQ(s.framework("f").offers(), Offers{"a1 cpus:1"});
  s.framework("f").accepts_all();
  s.framework("early").asks("cpus:1", 1, "task", "host == a1");
  s.decide();
  EXPECT_EQ(s.framework("f").offers(), Offers{});

  s.framework("f").ends(1);
  s.decide();

  EXPECT_EQ(s.framework("early").offers(), Offers{"a1 cpus:1"});
  EXPECT_EQ(s.framework("f").offers(), Offers{"a2 cpus:1"});
}

TEST(MaxPer, CountsTasksThatRanBeforeTheAskWasDeclared) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:8GiB");
  s.framework("f").asks("cpus:1", 2);
  s.run_until_nothing_fits();
  Ask ask = ask_of("cpus:1", 5);
  ask.max_per = {{"host", 3}};
  s.framework("f").asks(ask);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("f").tasks(), 3);
}

// Two versions of one app: the old one has its tasks, and the new one may not double them on an
// agent.
TEST(MaxPer, CountsTheTasksOfAllAsksOfAGroup) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:8GiB");
  s.agent("a2", "cpus:8;mem:8GiB");
  const auto version = [](const std::string& name, int64_t count, const std::string& group) {
    Ask ask = ask_of("cpus:1", count);
    ask.name = AskName(name);
    ask.max_per = {{"host", 2}};
    ask.group = group;
    return ask;
  };
  s.framework("f").asks(version("v1", 3, "web"));
  s.run_until_nothing_fits();
  ASSERT_EQ(s.framework("f").tasks("v1"), 3);
  s.framework("f").asks(version("v2", 5, "web"));
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("f").tasks_on("a1"), 2);
  EXPECT_EQ(s.framework("f").tasks_on("a2"), 2);

  // The end of an old task makes room for a new one.
  s.framework("f").ends(1, "v1");
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("f").tasks("v1"), 2);
  EXPECT_EQ(s.framework("f").tasks("v2"), 2);

  // Another group, and another framework's group of that name, have their own counts.
  s.framework("f").asks(version("v3", 2, "db"));
  s.framework("g").asks(version("v1", 2, "web"));
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("f").tasks("v3"), 2);
  EXPECT_EQ(s.framework("g").tasks("v1"), 2);
}

TEST(MaxPer, CountsAGroupAnewWhenAnAskJoinsOrLeavesIt) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:8GiB");
  Ask old = ask_of("cpus:1", 2);
  old.name = AskName("old");
  s.framework("f").asks(old);
  s.run_until_nothing_fits();
  Ask young = ask_of("cpus:1", 9);
  young.name = AskName("young");
  young.max_per = {{"host", 3}};
  young.group = "web";
  s.framework("f").asks(young);
  s.run_until_nothing_fits();
  ASSERT_EQ(s.framework("f").tasks("young"), 3)
      << "the old ask is of no group: its tasks do not count";
  old.count = 0;
  old.group = "web";
  s.framework("f").asks(old);
  s.framework("f").ends(1, "young");
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("f").tasks("young"), 2);
  old.group = "";
  s.framework("f").asks(old);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("f").tasks("young"), 3);
}

TEST(Spread, IsOverTheTasksOfTheGroup) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB", "zone:z1");
  s.agent("a2", "cpus:4;mem:4GiB", "zone:z2");
  Ask ask = ask_of("cpus:1", 2);
  ask.constraints.push_back(parse_constraint("zone == z1").value());
  ask.name = AskName("v1");
  ask.group = "web";
  s.framework("f").asks(ask);
  s.run_until_nothing_fits();
  Ask next = ask_of("cpus:1", 2);
  next.name = AskName("v2");
  next.group = "web";
  next.spread = "zone";
  s.framework("f").asks(next);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("f").tasks_on("a1"), 2);
  EXPECT_EQ(s.framework("f").tasks_on("a2"), 2);
}

TEST(MaxPer, FollowsTheAgentsAttributes) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:8GiB", "rack:r1");
  s.agent("a2", "cpus:8;mem:8GiB", "rack:r1");
  Ask ask = ask_of("cpus:1", 5);
  ask.max_per = {{"rack", 1}};
  s.framework("f").asks(ask);
  s.run_until_nothing_fits();
  ASSERT_EQ(s.framework("f").tasks(), 1);
  s.agent("a2", "cpus:8;mem:8GiB", "rack:r2");
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("f").tasks(), 2);
}

TEST(Spread, IsAsEvenAsPossibleOverTheValues) {
  AllocatorScenario s;
  // Best fit alone would fill the smallest agent first.
  s.agent("a1", "cpus:4;mem:4GiB", "zone:z1");
  s.agent("a2", "cpus:8;mem:8GiB", "zone:z2");
  s.agent("a3", "cpus:16;mem:16GiB", "zone:z3");
  s.agent("a4", "cpus:16;mem:16GiB", "zone:z3");
  Ask ask = ask_of("cpus:1", 9);
  ask.spread = "zone";
  s.framework("f").asks(ask);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("f").tasks_on("a1"), 3);
  EXPECT_EQ(s.framework("f").tasks_on("a2"), 3);
  EXPECT_EQ(s.framework("f").tasks_on("a3") + s.framework("f").tasks_on("a4"), 3);

  // If one zone is full the others take the rest: spread is no limit.
  ask.count = 9;
  s.framework("f").asks(ask);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("f").tasks_on("a1"), 4);
  EXPECT_EQ(s.framework("f").tasks_on("a2"), 7);
  EXPECT_EQ(s.framework("f").tasks(), 18);
}

TEST(Prefer, WaitsForAHostAndThenGoesAnywhere) {
  AllocatorScenario s;
  s.agent("a1", "cpus:1;mem:1GiB");
  s.agent("a2", "cpus:8;mem:8GiB");
  s.framework("other").asks("cpus:1", 1, "task", "host == a1");
  s.run_until_nothing_fits();
  Ask ask = ask_of("cpus:1", 1);
  ask.prefer = {.hosts = {"a1"}, .wait = seconds(5)};
  s.framework("f").asks(ask);
  s.advance(milliseconds(4'999));
  EXPECT_EQ(s.framework("f").offers(), Offers{});
  // An ask in its locality wait does not block others.
  s.framework("third").asks("cpus:8", 1);
  s.decide();
  EXPECT_EQ(s.framework("third").offers(), Offers{"a2 cpus:8"});
  s.framework("third").declines("a2");

  s.advance(milliseconds(1));
  EXPECT_EQ(s.framework("f").offers(), Offers{"a2 cpus:1"});
}

// The wait bounds how long the ask waits, not each of its tasks.
TEST(Prefer, LocalityWaitIsPerAskAndNotPerTask) {
  AllocatorScenario s;
  s.agent("a1", "cpus:1;mem:1GiB");
  s.agent("a2", "cpus:8;mem:8GiB");
  s.framework("other").asks("cpus:1", 1, "task", "host == a1");
  s.run_until_nothing_fits();
  Ask ask = ask_of("cpus:1", 2);
  ask.prefer = {.hosts = {"a1"}, .wait = seconds(5)};
  s.framework("f").asks(ask);
  s.advance(seconds(4));
  s.framework("other").ends(1);
  s.decide();
  EXPECT_EQ(s.framework("f").offers(), Offers{"a1 cpus:1"});
  s.framework("f").accepts_all();
  s.advance(milliseconds(999));
  EXPECT_EQ(s.framework("f").offers(), Offers{});
  s.advance(milliseconds(1));
  EXPECT_EQ(s.framework("f").offers(), Offers{"a2 cpus:1"});

  // An ask that was met and wants tasks again begins a new wait.
  s.framework("f").accepts_all();
  s.framework("f").asks(ask);
  s.advance(milliseconds(4'999));
  EXPECT_EQ(s.framework("f").offers(), Offers{});
  s.advance(milliseconds(1));
  EXPECT_EQ(s.framework("f").offers(), Offers{"a2 cpus:2"});
}

TEST(Prefer, AHostIsBetterThanItsRackAndThatThanTheRest) {
  AllocatorScenario s;
  s.agent("a1", "cpus:2;mem:2GiB", "rack:r1");
  s.agent("a2", "cpus:8;mem:8GiB", "rack:r2");
  s.agent("a3", "cpus:8;mem:8GiB", "rack:r2");
  s.agent("a4", "cpus:1;mem:1GiB", "rack:r3");
  Ask ask = ask_of("cpus:1", 20);
  ask.prefer = {.hosts = {"a3"}, .racks = {"r2"}, .wait = seconds(5)};
  s.framework("f").asks(ask);
  s.decide();
  EXPECT_EQ(s.framework("f").offers(), (Offers{"a2 cpus:8", "a3 cpus:8"}));
  s.framework("f").accepts_all();
  s.advance(seconds(5));
  EXPECT_EQ(s.framework("f").offers(), (Offers{"a1 cpus:2", "a4 cpus:1"}));
}

TEST(Prefer, WithoutAWaitIsOnlyAnOrder) {
  AllocatorScenario s;
  s.agent("a1", "cpus:1;mem:1GiB");
  s.agent("a2", "cpus:1;mem:1GiB");
  Ask ask = ask_of("cpus:1", 1);
  ask.prefer.hosts = {"a2"};
  s.framework("f").asks(ask);
  s.decide();
  EXPECT_EQ(s.framework("f").offers(), Offers{"a2 cpus:1"});
}

TEST(Prefer, AClaimDoesNotCutTheWaitShort) {
  AllocatorScenario s;
  s.agent("a1", "cpus:1;mem:1GiB");
  s.agent("a2", "cpus:1;mem:1GiB");
  s.framework("other").asks("cpus:1", 2);
  s.run_until_nothing_fits();
  Ask ask = ask_of("cpus:1", 1);
  ask.prefer = {.hosts = {"a1"}, .wait = minutes(2)};
  s.framework("f").asks(ask);
  s.advance(minutes(1));
  EXPECT_EQ(s.framework("f").ask().claimed, std::nullopt);
  s.advance(minutes(1));
  EXPECT_NE(s.framework("f").ask().claimed, std::nullopt);
}

TEST(Expiry, AnAskIsWantedNoLonger) {
  AllocatorScenario s;
  s.agent("a1", "cpus:1;mem:1GiB");
  s.framework("other").asks("cpus:1", 1);
  s.run_until_nothing_fits();
  Ask ask = ask_of("cpus:1", 1);
  ask.expiry = seconds(60);
  s.framework("f").asks(ask);
  s.advance(seconds(59));
  EXPECT_EQ(s.framework("f").ask().claimed, AgentId("a1"));
  s.advance(seconds(1));
  EXPECT_EQ(s.framework("f").ask().claimed, std::nullopt);
  s.framework("other").ends(1);
  s.decide();
  EXPECT_EQ(s.framework("f").offers(), Offers{});
  // A changed declaration makes it wanted again.
  ask.expiry = seconds(61);
  s.framework("f").asks(ask);
  s.decide();
  EXPECT_EQ(s.framework("f").offers(), Offers{"a1 cpus:1"});
}

TEST(Gpus, AnIslandIsForThoseWhoNeedItWhileOthersAreFree) {
  AllocatorScenario s;
  s.agent("gpu1", "cpus:4;mem:4GiB;gpus:2");
  s.agent("plain1", "cpus:4;mem:4GiB");
  s.framework("web").asks("cpus:1;mem:1GiB", 4);
  s.framework("train").asks("cpus:1;mem:1GiB;gpus:0.5", 100);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("web").tasks_on("plain1"), 4);
  EXPECT_EQ(s.framework("train").tasks_on("gpu1"), 4);
  // Each part is on one device: half of each of two.
  std::map<int32_t, int64_t> by_device;
  for (const auto& task : s.framework("train").running()) {
    ASSERT_EQ(task.resources.gpus.size(), 1u);
    by_device[task.resources.gpus[0].index] += task.resources.gpus[0].milli;
  }
  EXPECT_EQ(by_device, (std::map<int32_t, int64_t>{{0, 1'000}, {1, 1'000}}));
}

// Best fit alone would give the only agent with an SSD to the framework that is first by name.
TEST(EqualShares, TheLeastFlexibleAskGoesFirst) {
  AllocatorScenario s;
  s.agent("a1", "cpus:1;mem:1GiB", "disk:ssd");
  s.agent("a2", "cpus:2;mem:2GiB");
  s.framework("any").asks("cpus:1;mem:1GiB", 1);
  s.framework("picky").asks("cpus:1;mem:1GiB", 1, "task", "disk == ssd");
  s.decide();
  EXPECT_EQ(s.framework("picky").offers(), Offers{"a1 cpus:1;mem:1024"});
  EXPECT_EQ(s.framework("any").offers(), Offers{"a2 cpus:1;mem:1024"});
}

TEST(Gpus, TwoHalvesOfTwoDevicesAreNoWholeDevice) {
  AllocatorScenario s;
  s.agent("gpu1", "cpus:8;mem:8GiB;gpus:2");
  s.framework("part").asks("cpus:1;gpus:0.7", 2);
  s.run_until_nothing_fits();
  ASSERT_EQ(s.framework("part").tasks(), 2);
  s.framework("small").asks("cpus:1;gpus:0.5", 1);
  s.decide();
  EXPECT_EQ(s.framework("small").offers(), Offers{});
  EXPECT_EQ(to_text(s.allocator().agents()[0].free), "cpus:6;mem:8192;gpus:0.6");
  s.framework("whole").asks("cpus:1;gpus:1", 1);
  s.framework("part").ends(1);
  s.decide();
  EXPECT_EQ(s.framework("small").offers().size() + s.framework("whole").offers().size(), 1u);
}

TEST(CheckAsk, SaysWhatIsWrongOfWhichAsk) {
  struct Row {
    std::string error;
    std::function<void(Ask&)> change;
  };
  const Row rows[] = {
      {"its max_per must be sorted by attribute, each once; 'host' comes after 'rack'",
       [](Ask& a) {
         a.max_per = {{"rack", 1}, {"host", 1}};
       }},
      {"its max_per of 'host' must be from 1 to 10000000, not 0",
       [](Ask& a) {
         a.max_per = {{"host", 0}};
       }},
      {"it limits its tasks by 9 attributes, at most 8 are allowed",
       [](Ask& a) { a.max_per.resize(9); }},
      {"max_per: attribute",
       [](Ask& a) {
         a.max_per = {{"no good", 1}};
       }},
      {"spread: attribute", [](Ask& a) { a.spread = "a b"; }},
      {"it prefers 257 hosts, at most 256 are allowed",
       [](Ask& a) { a.prefer.hosts.resize(257, "h"); }},
      {"it prefers 257 racks, at most 256 are allowed",
       [](Ask& a) { a.prefer.racks.resize(257, "r"); }},
      {"preferred host", [](Ask& a) { a.prefer.hosts = {"a/b"}; }},
      {"preferred rack", [](Ask& a) { a.prefer.racks = {"a;b"}; }},
      {"its gang must be from 1 to 1024 tasks, not 0", [](Ask& a) { a.gang = 0; }},
      {"its gang must be from 1 to 1024 tasks, not 1025", [](Ask& a) { a.gang = 1'025; }},
      {"its count must be a multiple of its gang of 4 tasks, not 6", [](Ask& a) { a.gang = 4; }},
      {"its band must be free, batch, production or monitoring, not number 9",
       [](Ask& a) { a.band = static_cast<Band>(9); }},
      {"its wait for preferred hosts must be from 0", [](Ask& a) { a.prefer.wait = seconds(-1); }},
      {"its expiry must be from 0", [](Ask& a) { a.expiry = kDurationMax + seconds(1); }},
      {"its duration must be from 0", [](Ask& a) { a.duration = seconds(-1); }},
  };
  for (const Row& row : rows) {
    Ask ask = ask_of("cpus:1", 6);
    row.change(ask);
    const Result<void> checked = check_ask(ask);
    ASSERT_FALSE(checked.has_value()) << row.error;
    EXPECT_THAT(checked.error().message(), HasSubstr(row.error));
    EXPECT_THAT(checked.error().message(), HasSubstr("task"));
  }
}

}  // namespace
}  // namespace proffer::placement_test
