// Explanations of frameworks without an offer: examples, and a comparison with a count over all
// agents.

#include <algorithm>
#include <set>

#include <gmock/gmock.h>

#include "common/constraint_matcher.h"
#include "common/prng.h"
#include "tests/allocator/scenario.h"

namespace proffer::explain_test {
namespace {

using testing::HasSubstr;

FrameworkExplanation explain(AllocatorScenario& s, const std::string& framework) {
  return s.allocator().explain(FrameworkId(framework), s.now());
}

// "2 total cpus", "1 constraint disk == ssd", most first; usable ones first of all.
std::vector<std::string> reasons(int64_t usable, const std::vector<HinderedAgents>& hindered) {
  std::vector<std::string> lines;
  if (usable > 0) lines.push_back(text(usable, " usable"));
  for (const HinderedAgents& row : hindered) {
    lines.push_back(text(row.agents, " ", to_text(row.why), row.kind ? " " : "",
                         row.kind ? to_text(*row.kind) : "", row.constraint.empty() ? "" : " ",
                         row.constraint));
  }
  return lines;
}
std::vector<std::string> reasons(const AskExplanation& ask) {
  return reasons(ask.usable, ask.hindered);
}

using Texts = std::vector<std::string>;

TEST(Explain, CountsEachAgentUnderItsFirstReason) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:8GiB", "disk:ssd");
  s.agent("a2", "cpus:2;mem:8GiB", "disk:ssd");
  s.agent("a3", "cpus:16;mem:1GiB", "disk:ssd");
  s.agent("a4", "cpus:4;mem:8GiB", "disk:hdd");
  s.agent("a5", "cpus:4;mem:8GiB", "disk:ssd");
  s.agent("a6", "cpus:4;mem:8GiB", "disk:ssd");
  s.allocator().set_agent_active(AgentId("a5"), false);
  s.framework("other").asks("cpus:1;mem:7GiB", 1, "task", "host == a6");
  s.run_until_nothing_fits();
  s.framework("f").asks("cpus:3;mem:4GiB", 5, "task", "disk == ssd");
  s.decide();

  const FrameworkExplanation found = explain(s, "f");
  ASSERT_EQ(found.asks.size(), 1u);
  const AskExplanation& ask = found.asks[0];
  EXPECT_THAT(reasons(ask), testing::UnorderedElementsAre("1 offered", "1 total cpus",
                                                          "1 total mem", "1 constraint disk == ssd",
                                                          "1 not_connected", "1 used mem"));
  EXPECT_TRUE(ask.could_ever_fit);
  EXPECT_EQ(ask.wanted, 5);
  EXPECT_EQ(ask.offered, 1);
  for (const HinderedAgents& row : ask.hindered) {
    if (row.why == Hindrance::kOffered) {
      EXPECT_EQ(to_text(row), "held by outstanding offers to f (cpus:3;mem:4096)");
    }
    if (row.why == Hindrance::kUsed) {
      EXPECT_EQ(to_text(row),
                "not enough mem free: a task takes 4 GiB, at most 1 GiB free; used by other "
                "(cpus:1;mem:7168)");
    }
    if (row.kind == ResourceKind::kCpus) {
      EXPECT_EQ(to_text(row), "not enough cpus in total: a task takes 3, at most 2 on one agent");
    }
  }
  EXPECT_EQ(found.agents, 6);
  EXPECT_EQ(found.agents_active, 5);
}

TEST(Explain, SaysWhatWouldHaveToChangeIfNothingCouldEverFit) {
  struct Row {
    std::string shape;
    std::string constraint;
    int64_t ports;
    std::string changes;
  };
  const Row rows[] = {
      {"cpus:16", "", 0, "it takes 16 cpus, but no agent has more than 8"},
      {"cpus:16;mem:64GiB", "", 0,
       "it takes 16 cpus, but no agent has more than 8; it takes 64 GiB of mem, but no agent has "
       "more than 8 GiB"},
      {"cpus:6", "disk == ssd", 0,
       "it takes 6 cpus, but no agent has more than 4, counting only agents that meet its "
       "constraints"},
      {"cpus:1", "disk == tape", 0, "no agent meets 'disk == tape': there are hdd, ssd"},
      {"cpus:1", "zone == z1", 0, "no agent meets 'zone == z1': none has this attribute"},
      {"cpus:1", "host =~ b.*", 0, "no agent meets 'host =~ b.*': there are a1, a2"},
      {"cpus:8;mem:8GiB", "", 0, "no single agent has all of these resources"},
      {"cpus:1", "", 3, "it takes 3 ports, but no agent has more than 2"},
      {"cpus:1;gpus:1", "", 0, "it takes 1 gpus, but no agent has more than 0"},
  };
  for (const Row& row : rows) {
    AllocatorScenario s;
    s.agent("a1", "cpus:4;mem:8GiB;ports:[100-101]", "disk:ssd");
    s.agent("a2", "cpus:8;mem:4GiB", "disk:hdd");
    s.framework("f").asks(row.shape, 1, "task", row.constraint, row.ports);
    s.decide();
    const AskExplanation ask = explain(s, "f").asks.at(0);
    EXPECT_FALSE(ask.could_ever_fit);
    EXPECT_EQ(changes_text(ask), row.changes);
  }
}

TEST(Explain, ConstraintsThatOnlySomeAgentsMeetAreNotMetTogether) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:8GiB", "disk:ssd;zone:z1");
  s.agent("a2", "cpus:4;mem:8GiB", "disk:hdd;zone:z2");
  Ask ask{.name = AskName("task"), .shape = parse_shape("cpus:1").value(), .count = 1};
  ask.constraints = {parse_constraint("disk == ssd").value(),
                     parse_constraint("zone == z2").value()};
  s.framework("f").asks(ask);
  s.decide();
  const AskExplanation found = explain(s, "f").asks.at(0);
  EXPECT_EQ(changes_text(found), "no agent meets all of its constraints");
  ASSERT_EQ(found.hindered.size(), 2u);
  EXPECT_EQ(to_text(found.hindered[0]), "not 'disk == ssd': there is hdd");
  EXPECT_EQ(to_text(found.hindered[1]), "not 'zone == z2': there is z1");
}

// Each agent fits a task; the gang is too large.
TEST(Explain, GangThatIsTooLargeIsToldHowManyCanStartTogether) {
  struct Row {
    int64_t gang;
    std::vector<MaxPer> max_per;
    std::string changes;
  };
  const Row rows[] = {
      {4, {{"rack", 1}}, "4 tasks must start together, but by its maximum per rack at most 2 can"},
      {5,
       {{"host", 1}, {"rack", 2}},
       "5 tasks must start together, but by its maximum per host and rack at most 3 can"},
      {16, {}, "16 tasks must start together, but at most 12 fit on all agents together"},
  };
  for (const Row& row : rows) {
    AllocatorScenario s;
    s.agent("a1", "cpus:4;mem:8GiB", "rack:r1");
    s.agent("a2", "cpus:4;mem:8GiB", "rack:r1");
    s.agent("a3", "cpus:4;mem:8GiB", "rack:r2");
    s.framework("f").asks({.name = AskName("task"),
                           .shape = parse_shape("cpus:1").value(),
                           .count = row.gang,
                           .max_per = row.max_per,
                           .gang = row.gang});
    s.decide();
    const AskExplanation ask = explain(s, "f").asks.at(0);
    EXPECT_FALSE(ask.could_ever_fit);
    EXPECT_EQ(changes_text(ask), row.changes);
  }
}

// For a waiting gang: the number of tasks that could start now, limited also by its maximum per
// rack.
TEST(Explain, GangIsToldHowManyOfItsTasksCouldStartNow) {
  AllocatorScenario s;
  for (const char* name : {"a1", "a2", "a3"}) s.agent(name, "cpus:4;mem:8GiB", "rack:r1");
  s.agent("b1", "cpus:4;mem:8GiB", "rack:r2");
  s.framework("other").asks("cpus:4", 1, "task", "rack == r2");
  s.run_until_nothing_fits();
  s.framework("f").asks({.name = AskName("task"),
                         .shape = parse_shape("cpus:1").value(),
                         .count = 4,
                         .max_per = {{"rack", 2}},
                         .gang = 4});
  s.decide();
  const AskExplanation ask = explain(s, "f").asks.at(0);
  ASSERT_EQ(reasons(ask), (Texts{"3 gang", "1 used cpus"}));
  EXPECT_EQ(to_text(ask.hindered[0]),
            "has room for a task, but 4 tasks must start together, and at most 2 fit now");
}

// A part of a GPU is on one device, and whole GPUs are whole devices.
TEST(Explain, GpusThatAreFreeAreCountedByDevice) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:8GiB;gpus:2");
  s.framework("other").asks("cpus:1;gpus:0.7", 2);
  s.run_until_nothing_fits();
  ASSERT_EQ(s.framework("other").tasks(), 2);
  struct Row {
    std::string gpus;
    std::string why;
  };
  const Row rows[] = {
      {"0.5", "not enough gpus free: a task takes 0.5 of one device, at most 0.3 free"},
      {"0.8", "not enough gpus free: a task takes 0.8 of one device, at most 0.3 free"},
      {"1", "not enough gpus free: a task takes 1 whole device, at most 0 free"},
      {"2", "not enough gpus free: a task takes 2 whole devices, at most 0 free"},
  };
  for (const Row& row : rows) {
    s.framework("f").asks("gpus:" + row.gpus, 1);
    s.decide();
    const AskExplanation ask = explain(s, "f").asks.at(0);
    ASSERT_EQ(reasons(ask), Texts{"1 used gpus"});
    EXPECT_EQ(to_text(ask.hindered[0]), row.why + "; used by other (cpus:2;gpus:1.4)");
  }
  s.framework("f").asks("gpus:4", 1);
  s.decide();
  EXPECT_EQ(changes_text(explain(s, "f").asks.at(0)),
            "it takes 4 gpus, but no agent has more than 2");
}

TEST(Explain, ADeclineIsToldUntilWhenOrUntilWhat) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:8GiB");
  s.framework("f").asks("cpus:1", 1);
  s.decide();
  s.framework("f").declines("a1", seconds(60));
  s.decide();
  AskExplanation ask = explain(s, "f").asks.at(0);
  ASSERT_EQ(reasons(ask), Texts{"1 declined_for_time"});
  EXPECT_EQ(ask.hindered[0].until, s.now() + seconds(60));
  EXPECT_EQ(explain(s, "f").declined, 1);

  s.advance(seconds(60));
  s.framework("f").declines("a1", Refusal{.too_little = {ResourceKind::kMem}});
  s.decide();
  EXPECT_EQ(reasons(explain(s, "f").asks.at(0)), Texts{"1 declined_too_little mem"});

  s.framework("f").revives();
  s.decide();
  s.framework("f").declines("a1", Refusal{.wrong_agent = true});
  s.decide();
  EXPECT_EQ(reasons(explain(s, "f").asks.at(0)), Texts{"1 declined_attributes"});
}

TEST(Explain, PlacesTheFrameworkAmongThoseWithDemand) {
  AllocatorScenario s;
  s.agent("a1", "cpus:10;mem:10GiB");
  s.framework("large").asks("cpus:5", 1);
  s.run_until_nothing_fits();
  s.framework("small").asks("cpus:2", 1);
  s.run_until_nothing_fits();
  s.framework("content").asks("cpus:3", 1);
  s.run_until_nothing_fits();
  EXPECT_EQ(explain(s, "large").place, 0);
  s.framework("large").asks("cpus:1", 1);
  s.framework("small").asks("cpus:1", 1);
  s.decide();

  const FrameworkExplanation large = explain(s, "large");
  EXPECT_EQ(large.with_demand, 2);
  EXPECT_EQ(large.place, 2);
  ASSERT_EQ(large.before.size(), 1u);
  EXPECT_EQ(large.before[0].framework.str(), "small");
  EXPECT_EQ(large.before[0].share_millionths, 200'000);
  EXPECT_EQ(large.share_millionths, 500'000);
  EXPECT_EQ(large.dominant_kind, ResourceKind::kCpus);
  EXPECT_EQ(explain(s, "small").place, 1);
  EXPECT_EQ(reasons(large.asks.at(0)), Texts{"1 used cpus"});
  // The holders of the resources that it waits for, the largest first.
  const std::vector<Holder>& holders = large.asks[0].hindered[0].holders;
  ASSERT_EQ(holders.size(), 3u);
  EXPECT_EQ(holders[0].framework.str(), "large");
  EXPECT_EQ(holders[1].framework.str(), "content");
  EXPECT_EQ(holders[2].framework.str(), "small");
}

TEST(Explain, WhatIsSetAsideForAnotherIsToldSo) {
  AllocatorScenario s({.claim_after = seconds(30)});
  s.agent("a1", "cpus:4;mem:8GiB");
  s.framework("f").asks("cpus:3", 1);
  s.run_until_nothing_fits();
  s.framework("big").asks("cpus:4", 1);
  s.decide();
  s.advance(seconds(40));
  ASSERT_EQ(s.framework("big").ask().claimed, AgentId("a1"));
  EXPECT_EQ(explain(s, "big").asks.at(0).claimed, AgentId("a1"));
  s.framework("late").asks("cpus:1", 1);
  s.decide();
  const AskExplanation ask = explain(s, "late").asks.at(0);
  ASSERT_EQ(reasons(ask), Texts{"1 claimed cpus"});
  EXPECT_EQ(to_text(ask.hindered[0]), "claimed for big, which has waited longer");
}

// An ask of two kinds that is owed a task has a claim on free resources: they count as held, not as
// too little.
TEST(Explain, WhatIsHeldForAnAskThatIsOwedATaskIsToldSo) {
  AllocatorScenario s({.claim_after = hours(24)});
  s.agent("a1", "cpus:12;mem:12GiB");
  s.framework("cpus").in_role("one").asks("cpus:1", 100'000);
  s.framework("mem").in_role("one").asks("mem:1GiB", 100'000);
  s.run_until_nothing_fits();
  s.framework("both").in_role("two/x").asks("cpus:2;mem:2GiB", 100'000);
  s.advance(seconds(1));
  s.framework("cpus").ends(1);
  s.advance(seconds(1));
  ASSERT_EQ(s.framework("both").ask().kept.at(0).on, AgentId("a1"));

  const AskExplanation ask = explain(s, "cpus").asks.at(0);
  ASSERT_EQ(reasons(ask), Texts{"1 owed cpus"});
  EXPECT_EQ(to_text(ask.hindered[0]), "held for two/x/both, which is entitled to 6 cpus and has 0");
  // Where nothing is free it comes first for freed resources.
  const AskExplanation mem = explain(s, "mem").asks.at(0);
  EXPECT_EQ(reasons(mem), Texts{"1 used mem"});
  EXPECT_EQ(owed_text(mem.first), "two/x/both, which is entitled to 6 GiB of mem and has 0 MiB");
  const AskExplanation both = explain(s, "both").asks.at(0);
  ASSERT_EQ(reasons(both), Texts{"1 used cpus"});
  EXPECT_EQ(to_text(both.hindered[0]),
            "not enough cpus free: a task takes 2, at most 1 free; used by cpus (cpus:11)");
  EXPECT_TRUE(both.first.empty());
}

TEST(Explain, OpenOffersHaveReasonsOfTheirOwn) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:8GiB");
  s.agent("a2", "cpus:4;mem:8GiB");
  s.agent("a3", "cpus:4;mem:8GiB");
  s.framework("f").asks("cpus:4;mem:8GiB", 1, "task", "host == a1");
  s.run_until_nothing_fits();
  s.framework("open").subscribes();
  s.decide();
  s.framework("open").declines("a2");
  s.decide();
  const FrameworkExplanation found = explain(s, "open");
  EXPECT_THAT(reasons(found.usable, found.hindered),
              testing::UnorderedElementsAre("1 used", "1 declined_for_time", "1 already_offered"));
  s.framework("open").suppresses();
  EXPECT_TRUE(explain(s, "open").suppressed);
  EXPECT_EQ(explain(s, "open").place, 0);
}

TEST(Explain, ManyAsksAreCutAndCounted) {
  AllocatorScenario s;
  for (int i = 0; i < 20; ++i) s.framework("f").asks("cpus:1", 1, text("ask", i));
  s.decide();
  EXPECT_EQ(explain(s, "f").asks.size(), static_cast<size_t>(kAsksExplainedMax));
  EXPECT_EQ(explain(s, "f").asks_unmet, 20);
}

// --- by looking ----------------------------------------------------------------------------------

// The test's own record of an agent, from its declarations, tasks and offers; independent of the
// allocator's books.
struct Seen {
  Resources total = {};
  Attributes attributes = {};
  bool active = true;
  Resources used = {};
  Resources offered = {};
};

// The first reason, as a value of Hindrance, for one task of the ask.
std::string look(const Ask& ask, const AgentId& id, const Seen& agent, bool is_declined) {
  if (!agent.active) return "not_connected";
  if (!ConstraintMatcher::compile(ask.constraints)->matches(id, agent.attributes)) {
    return "constraint";
  }
  if (!fits(ask.shape, agent.total)) return "total";
  if (is_declined) return "declined_for_time";
  Resources rest = agent.total;
  rest -= agent.used;
  if (!fits(ask.shape, rest)) return "used";
  rest -= agent.offered;
  return fits(ask.shape, rest) ? "none" : "offered";
}

TEST(Explain, CountsAsOneDoesByLookingAtEachAgent) {
  int compared = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Prng random(seed);
    AllocatorScenario s({.claim_after = hours(1)});  // no claims: they have their own tests
    std::map<AgentId, Seen> seen;
    const int64_t agents = random.between(1, 6);
    for (int64_t i = 0; i < agents; ++i) {
      const std::string name = text("a", i);
      const std::string resources =
          text("cpus:", random.between(1, 8), ";mem:", random.between(1, 8) * 512,
               random.chance(1, 3) ? ";gpus:2" : "");
      const std::string attributes = random.chance(1, 2) ? "disk:ssd" : "";
      s.agent(name, resources, attributes);
      seen[AgentId(name)] = {.total = parse_agent_resources(resources).value(),
                             .attributes = parse_attributes(attributes).value()};
    }
    const auto shape = [&] {
      return text("cpus:", random.between(1, 6), ";mem:", random.between(1, 6) * 512,
                  random.chance(1, 5) ? ";gpus:1" : "");
    };
    const auto constraint = [&] { return std::string(random.chance(1, 3) ? "disk == ssd" : ""); };
    // Some frameworks launch, some only hold offers.
    const int64_t frameworks = random.between(1, 4);
    for (int64_t i = 0; i < frameworks; ++i) {
      auto other = s.framework(text("other", i));
      other.asks(shape(), random.between(1, 3), "task", constraint());
      s.decide();
      if (random.chance(2, 3)) other.accepts_all();
    }
    Ask ask{.name = AskName("task"), .shape = parse_shape(shape()).value(), .count = 3};
    if (const std::string text = constraint(); !text.empty()) {
      ask.constraints.push_back(parse_constraint(text).value());
    }
    s.framework("f").asks(to_text(ask.shape), ask.count, "task",
                          ask.constraints.empty() ? "" : to_text(ask.constraints[0]));
    s.decide();
    std::set<AgentId> declined;
    if (random.chance(1, 2)) {
      for (const Grant& grant : s.framework("f").outstanding()) {
        if (random.chance(1, 2)) continue;
        declined.insert(grant.offer.agent);
        s.framework("f").declines(grant.offer.agent.str(), seconds(60));
      }
    }
    for (auto& [id, agent] : seen) {
      if (!random.chance(1, 6)) continue;
      agent.active = false;
      s.allocator().set_agent_active(id, false);
    }
    s.decide();

    for (int64_t i = 0; i <= frameworks; ++i) {
      const std::string name = i == frameworks ? std::string("f") : text("other", i);
      for (const auto& task : s.framework(name).running()) {
        seen[task.agent].used += task.resources;
      }
      for (const Grant& grant : s.framework(name).outstanding()) {
        seen[grant.offer.agent].offered += grant.offer.total();
      }
    }
    std::map<std::string, int64_t> looked;
    bool could_ever_fit = false;
    for (const auto& [id, agent] : seen) {
      ++looked[look(ask, id, agent, declined.contains(id))];
      could_ever_fit |= fits(ask.shape, agent.total) &&
                        ConstraintMatcher::compile(ask.constraints)->matches(id, agent.attributes);
    }
    const FrameworkExplanation found = explain(s, "f");
    if (found.asks.empty()) continue;  // All tasks of the ask are offered.
    ++compared;
    std::map<std::string, int64_t> told;
    if (found.asks[0].usable > 0) told["none"] = found.asks[0].usable;
    for (const HinderedAgents& row : found.asks[0].hindered) {
      told[std::string(to_text(row.why))] += row.agents;
    }
    EXPECT_EQ(told, looked) << "seed " << seed;
    EXPECT_EQ(found.asks[0].could_ever_fit, could_ever_fit) << "seed " << seed;
    // After a decision no offer is possible.
    EXPECT_EQ(found.asks[0].usable, 0) << "seed " << seed;
    EXPECT_EQ(found.agents, agents);
  }
  EXPECT_GE(compared, 100);
}

// The same for conditions besides the fit, and for reservations.
TEST(Explain, CountsLimitsReservationsWaitsAndGangsAsOneDoesByLooking) {
  std::map<std::string, int> seen_reasons;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Prng random(seed);
    AllocatorScenario s({.claim_after = hours(1)});
    struct Machine {
      Resources total = {};     // usable by all roles
      Resources reserved = {};  // for eng
      std::string rack = {};
      Resources used = {};     // used of `total`
      Resources offered = {};  // likewise
      int64_t tasks = 0;       // tasks of the ask, running and offered
    };
    std::map<AgentId, Machine> machines;
    const int64_t agents = random.between(1, 6);
    for (int64_t i = 0; i < agents; ++i) {
      const std::string name = text("a", i);
      const std::string open = text("cpus:", random.between(1, 6), ";mem:4096");
      const std::string rack = text("r", random.below(2));
      std::map<std::string, std::string> reserved;
      if (random.chance(1, 2)) reserved["eng"] = text("cpus:", random.between(1, 6), ";mem:512");
      s.agent(name, open, "rack:" + rack, reserved);
      machines[AgentId(name)] = {.total = parse_agent_resources(open).value(), .rack = rack};
      if (!reserved.empty()) {
        machines[AgentId(name)].reserved = parse_agent_resources(reserved["eng"]).value();
      }
    }
    s.framework("other").asks(text("cpus:", random.between(1, 4)), random.between(1, 3));
    s.run_until_nothing_fits();

    Ask ask{.name = AskName("task"),
            .shape = parse_shape(text("cpus:", random.between(1, 4))).value()};
    if (random.chance(1, 2)) ask.gang = random.between(2, 4);
    if (random.chance(1, 2)) ask.max_per = {{"rack", random.between(1, 3)}};
    if (random.chance(1, 3)) ask.prefer = {.racks = {"r0"}, .wait = seconds(10)};
    ask.count = 5 * ask.gang;
    s.framework("f").asks(ask);
    if (random.chance(1, 2)) {
      s.run_until_nothing_fits();
    } else {
      s.decide();
    }
    std::map<std::string, int64_t> in_rack;
    for (const char* framework : {"f", "other"}) {
      const bool is_f = framework == std::string("f");
      for (const auto& task : s.framework(framework).running()) {
        machines[task.agent].used += task.resources;
        if (is_f) ++in_rack[machines[task.agent].rack];
      }
      for (const Grant& grant : s.framework(framework).outstanding()) {
        machines[grant.offer.agent].offered += grant.offer.total();
        if (!is_f) continue;
        for (const AskFill& fill : grant.offer.fills) {
          in_rack[machines[grant.offer.agent].rack] += fill.count;
        }
      }
    }
    const FrameworkExplanation found = explain(s, "f");
    if (found.asks.empty()) continue;

    std::map<std::string, int64_t> looked;
    for (const auto& [id, its] : machines) {
      const auto& machine = its;
      const auto look_there = [&]() -> std::string {
        Resources all = machine.total;
        all += machine.reserved;
        if (!fits(ask.shape, all)) return "total";
        if (!ask.max_per.empty() && in_rack[machine.rack] >= ask.max_per[0].count) {
          return "max_per";
        }
        if (!ask.prefer.empty() && machine.rack != "r0") return "not_preferred";
        Resources rest = machine.total;
        rest -= machine.used;
        if (!fits(ask.shape, rest)) {
          Resources with_reserved = rest;
          with_reserved += machine.reserved;
          const bool never = !fits(ask.shape, machine.total);
          return never || fits(ask.shape, with_reserved) ? "reserved" : "used";
        }
        rest -= machine.offered;
        if (!fits(ask.shape, rest)) return "offered";
        // Otherwise the decision would have granted it, if there was enough for its gang.
        return ask.gang > 1 ? "gang" : "none";
      };
      ++looked[look_there()];
    }
    std::map<std::string, int64_t> told;
    if (found.asks[0].usable > 0) told["none"] = found.asks[0].usable;
    for (const HinderedAgents& row : found.asks[0].hindered) {
      told[std::string(to_text(row.why))] += row.agents;
    }
    EXPECT_EQ(told, looked) << "seed " << seed;
    for (const auto& [reason, count] : looked) ++seen_reasons[reason];
  }
  for (const char* reason :
       {"total", "max_per", "not_preferred", "used", "reserved", "offered", "gang"}) {
    EXPECT_GE(seen_reasons[reason], 5) << reason;
  }
  EXPECT_EQ(seen_reasons["none"], 0) << "after a decision nothing is left that could be given";
}

}  // namespace
}  // namespace proffer::explain_test
