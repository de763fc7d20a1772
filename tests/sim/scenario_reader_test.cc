// The syntax and meaning of scenario files, and messages about mistakes.

#include "sim/scenario_reader.h"

#include <gtest/gtest.h>

#include "common/limits.h"
#include "common/text.h"
#include "sim/scenario_writer.h"

namespace proffer::sim::scenario_reader_test {
namespace {

constexpr std::string_view kAll = R"(
seed: 7
until: 600s
report_at: [60s, 10s]
options: {offer_timeout: 20s, reclaim: fair_share, revokes_per_minute: 5}
network: {delay: 2ms, loss: 0.015, duplicate: 0.5}
frameworks:
  - name: A
    role: eng/ads
    takes: asks
    joins: 0s
    leaves: 500s
    tasks:
      - name: t
        count: 1000
        resources: "cpus:1;mem:4GiB"
        duration: {mean: 60s, spread: 0.25}
        declared_duration: true
        arrives: every 5s
        priority: -3
        constraints:
          ["rack == r1", "disk in [ssd, nvme]", "zone != z3", "host =~ big-.*", "gpu exists"]
        spread: rack
        max_per: {host: 2, rack: 10}
        group: web
        prefer: {hosts: [big-0], racks: [r1], wait: 10s}
        gang: 4
        band: production
        borrow: false
        revocable_ok: true
        time_limit: 2h
        running: [{agent: big-0, count: 4, since: 40s}]
  - {name: B, takes: hoard, answers_after: 28s}
agents:
  - name: big
    count: 2
    resources: "cpus:9;mem:18GiB;gpus:2;ports:[31000-31099]"
    attributes: {rack: r1, disk: "a \"quoted\\ one"}
    reserved: {ads: "cpus:1;mem:1GiB"}
    joins: 0s
    drains: 200s
    drain_grace: 30s
    undrains: 250s
    leaves: 300s
    returns: 400s
roles:
  - {name: eng, weight: 2, guarantee: "cpus:10;mem:10GiB", limit: "cpus:20"}
  - {name: eng/ads, weight: 0.5}
)";

TEST(ScenarioReader, ReadsEveryKey) {
  const Result<Scenario> read = parse_scenario(kAll);
  ASSERT_TRUE(read.has_value()) << read.error().message();
  EXPECT_EQ(read->seed, 7u);
  EXPECT_EQ(read->until, seconds(600));
  EXPECT_EQ(read->report_at, (std::vector<Duration>{seconds(10), seconds(60)}));
  EXPECT_EQ(read->options.at("offer_timeout"), "20s");
  EXPECT_EQ(read->network, (ScenarioNetwork{milliseconds(2), 15'000, 500'000}));
  ASSERT_EQ(read->agents.size(), 1u);
  const ScenarioAgent& agent = read->agents[0];
  EXPECT_EQ(agent.name_of(1), AgentId("big-1"));
  EXPECT_EQ(agent.attributes.at("disk"), "a \"quoted\\ one");
  EXPECT_EQ(agent.reserved.at(RoleName("ads")), ResourceVector::of(1'000, 1'024'000));
  EXPECT_EQ(agent.drains, seconds(200));
  EXPECT_EQ(agent.drain_grace, seconds(30));
  EXPECT_EQ(agent.undrains, seconds(250));
  EXPECT_EQ(agent.returns, seconds(400));
  EXPECT_EQ(read->roles.at(RoleName("eng")).weight, 2'000);
  EXPECT_EQ(to_text(read->roles.at(RoleName("eng")).guarantee), "cpus:10;mem:10240");
  EXPECT_EQ(read->roles.at(RoleName("eng/ads")).weight, 500);
  ASSERT_EQ(read->frameworks.size(), 2u);
  EXPECT_EQ(read->frameworks[1].takes, Takes::kHoard);
  EXPECT_EQ(read->frameworks[1].answers_after, seconds(28));
  EXPECT_EQ(read->frameworks[1].role, RoleName("default"));
  const ScenarioTasks& tasks = read->frameworks[0].tasks.at(0);
  EXPECT_EQ(tasks.arrival(3), seconds(15));
  EXPECT_EQ(tasks.duration, seconds(60));
  EXPECT_EQ(tasks.duration_spread, 250'000u);
  EXPECT_TRUE(tasks.declared_duration);
  EXPECT_EQ(tasks.ask.priority, -3);
  EXPECT_EQ(tasks.ask.constraints.size(), 5u);
  EXPECT_EQ(tasks.ask.spread, "rack");
  EXPECT_EQ(tasks.ask.max_per, (std::vector<MaxPer>{{"host", 2}, {"rack", 10}}));
  EXPECT_EQ(tasks.ask.group, "web");
  EXPECT_EQ(tasks.ask.prefer.wait, seconds(10));
  EXPECT_EQ(tasks.ask.gang, 4);
  EXPECT_EQ(tasks.ask.band, Band::kProduction);
  EXPECT_FALSE(tasks.ask.borrow);
  EXPECT_TRUE(tasks.ask.revocable_ok);
  EXPECT_EQ(tasks.ask.max_run_time, hours(2));
  EXPECT_EQ(tasks.running.at(0).since, seconds(40));
}

TEST(ScenarioReader, WhatIsWrittenReadsBackTheSame) {
  for (const std::string_view yaml :
       {kAll,
        std::string_view("{\"agents\": [{\"name\": \"true\", \"resources\": \"cpus:1\"}]}")}) {
    const Result<Scenario> first = parse_scenario(yaml);
    ASSERT_TRUE(first.has_value()) << first.error().message();
    const std::string written = to_yaml(*first);
    const Result<Scenario> again = parse_scenario(written);
    ASSERT_TRUE(again.has_value()) << again.error().message() << "\n" << written;
    EXPECT_EQ(*again, *first) << written;
    EXPECT_EQ(to_yaml(*again), written);
  }
}

TEST(ScenarioReader, WhatIsNotSaidHasItsDefault) {
  const Result<Scenario> read = parse_scenario(
      "agents: [{name: a, resources: \"cpus:1\"}]\n"
      "frameworks: [{name: f, tasks: [{name: t, resources: \"cpus:1\", duration: forever}]}]");
  ASSERT_TRUE(read.has_value()) << read.error().message();
  EXPECT_EQ(read->seed, 1u);
  EXPECT_FALSE(read->until.has_value());
  EXPECT_EQ(read->network, ScenarioNetwork());
  EXPECT_EQ(read->agents[0].name_of(0), AgentId("a"));
  EXPECT_EQ(read->frameworks[0].takes, Takes::kAsks);
  EXPECT_EQ(read->frameworks[0].tasks[0].count, 1);
  EXPECT_FALSE(read->frameworks[0].tasks[0].duration.has_value());
}

struct Mistake {
  std::string_view what;
  std::string_view yaml;
  // The message contains all of these.
  std::vector<std::string_view> told;
};

// {A} stands for a valid agent, {T} for a valid entry of tasks without its closing brace.
std::string with_parts(std::string_view yaml) {
  std::string whole(yaml);
  const auto replace = [&](std::string_view from, std::string_view to) {
    for (size_t at = whole.find(from); at != std::string::npos; at = whole.find(from, at + 1)) {
      whole.replace(at, from.size(), to);
    }
  };
  replace("{A}", "{name: a, count: 2, resources: \"cpus:4;mem:4GiB\"}");
  replace("{T}", "{name: t, count: 4, resources: \"cpus:1\", duration: 60s");
  return whole;
}

const Mistake kMistakes[] = {
    {"nothing", "", {"empty"}},
    {"no table", "[1, 2]", {"line 1", "a scenario must be a table"}},
    {"no agents", "seed: 1", {"no agents"}},
    {"two documents", "agents: [{A}]\n---\nseed: 1", {"line 2", "second document"}},
    {"malformed", "agents: [{", {"line"}},
    {"unknown key", "agents: [{A}]\nframworks: []", {"line 2", "'framworks'", "'frameworks'"}},
    {"unknown key of an agent",
     "agents:\n  - {name: a, resorces: x}",
     {"line 2", "'resorces'", "'resources'"}},
    {"unknown key of tasks",
     "agents: [{A}]\nframeworks: [{name: f, tasks: [{T}, gangs: 2}]}]",
     {"line 2", "'gangs'", "'gang'"}},
    {"waves beside a count",
     "agents: [{A}]\nframeworks:\n  - name: f\n    tasks:\n      - {name: t, count: 2, resources: "
     "\"cpus:1\", waves: [{duration: 1s}]}",
     {"line 5", "waves and count"}},
    {"a wave without a duration",
     "agents: [{A}]\nframeworks: [{name: f, tasks: [{name: t, resources: \"cpus:1\",\n"
     "waves: [{count: 2}]}]}]",
     {"line 3", "a wave has no duration"}},
    {"a wave of no time",
     "agents: [{A}]\nframeworks: [{name: f, tasks: [{name: t, resources: \"cpus:1\",\n"
     "waves: [{duration: 0s}]}]}]",
     {"line 2", "above zero"}},
    {"waves that run",
     "agents: [{A}]\nframeworks: [{name: f, tasks: [{name: t, resources: \"cpus:1\",\n"
     "waves: [{duration: 9s}], running: [{agent: a-0}]}]}]",
     {"line 2", "waves cannot run at 0s"}},
    {"no waves",
     "agents: [{A}]\nframeworks: [{name: f, tasks: [{name: t, resources: \"cpus:1\",\n"
     "waves: []}]}]",
     {"line 3", "at least one"}},
    {"key twice", "agents: [{A}]\nseed: 1\nseed: 2", {"line 3", "'seed'", "twice"}},
    {"wrong seed", "seed: -1\nagents: [{A}]", {"line 1", "seed", "-1"}},
    {"wrong duration", "until: 10\nagents: [{A}]", {"line 1", "until", "'10'"}},
    {"until too late", "until: 100w\nagents: [{A}]", {"line 1", "until", "at most"}},
    {"report after the end", "until: 10s\nreport_at: [20s]\nagents: [{A}]", {"20s", "10s"}},
    {"unknown option",
     "options: {offer_timeot: 3s}\nagents: [{A}]",
     {"line 1", "'offer_timeot'", "'offer_timeout'"}},
    {"unknown policy",
     "options: {placement: best}\nagents: [{A}]",
     {"line 1", "balanced, best_fit, spread, worst_fit, dot_product or fgd", "'best'"}},
    {"wrong option", "options: {reclaim: maybe}\nagents: [{A}]", {"line 1", "reclaim", "'maybe'"}},
    {"weights as an option", "options: {weights: eng=2}\nagents: [{A}]", {"line 1", "'weights'"}},
    {"loss of all", "network: {loss: 1.0}\nagents: [{A}]", {"line 1", "loss", "'1.0'", "0.5"}},
    {"no resources", "agents:\n  - {name: a}", {"line 2", "no resources"}},
    {"unknown kind", "agents: [{name: a, resources: \"cpu:1\"}]", {"line 1", "'cpu'", "cpus"}},
    {"wrong name", "agents: [{name: \"a b\", resources: \"cpus:1\"}]", {"line 1", "'a b'"}},
    {"same name", "agents:\n  - {A}\n  - {name: a-1, resources: \"cpus:1\"}", {"line 3", "'a-1'"}},
    {"too many agents",
     "agents: [{name: a, count: 10001, resources: \"cpus:1\"}]",
     {"line 1", "10001", "10000"}},
    {"more reserved than there is",
     "agents: [{name: a, resources: \"cpus:1\", reserved: {ads: \"cpus:2\"}}]",
     {"line 1", "cpus:2", "cpus:1"}},
    {"returns without leaving",
     "agents: [{name: a, resources: \"cpus:1\", returns: 5s}]",
     {"line 1", "returns"}},
    {"host as an attribute",
     "agents: [{name: a, resources: \"cpus:1\", attributes: {host: b}}]",
     {"line 1", "host"}},
    {"wrong weight", "agents: [{A}]\nroles: [{name: r, weight: 0}]", {"line 2", "weight", "0.001"}},
    {"negative quota",
     "agents: [{A}]\nroles: [{name: r, limit: \"cpus:-1\"}]",
     {"line 2", "limit", "-1"}},
    {"guarantee above limit",
     "agents: [{A}]\nroles: [{name: r, guarantee: \"cpus:4\", limit: \"cpus:3\"}]",
     {"line 2", "cpus:4", "cpus:3"}},
    {"child above parent",
     "agents: [{A}]\nroles: [{name: r, guarantee: \"cpus:1\"}, {name: r/s, guarantee: "
     "\"cpus:2\"}]",
     {"line 2", "'r'", "cpus:2", "cpus:1"}},
    {"role twice", "agents: [{A}]\nroles: [{name: r}, {name: r}]", {"line 2", "'r'", "twice"}},
    {"unknown way to take offers",
     "agents: [{A}]\nframeworks: [{name: f, takes: all}]",
     {"line 2", "'all'", "asks, open, hoard or decline"}},
    {"framework twice",
     "agents: [{A}]\nframeworks:\n  - {name: f}\n  - {name: f}",
     {"line 4", "'f'"}},
    {"no duration",
     "agents: [{A}]\nframeworks: [{name: f, tasks: [{name: t, resources: "
     "\"cpus:1\"}]}]",
     {"line 2", "no duration"}},
    {"duration without a mean",
     "agents: [{A}]\n"
     "frameworks: [{name: f, tasks: [{name: t, resources: \"cpus:1\", duration: {spread: 0.5}}]}]",
     {"line 2", "needs a mean"}},
    {"spread of all",
     "agents: [{A}]\nframeworks: [{name: f, tasks: [{name: t, resources: \"cpus:1\", "
     "duration: {mean: 1s, spread: 1}}]}]",
     {"line 2", "spread", "'1'", "0.999"}},
    {"declared duration of open offers",
     "agents: [{A}]\nframeworks: [{name: f, takes: open, tasks: [{name: t, resources: \"cpus:1\", "
     "duration: 1s, declared_duration: true}]}]",
     {"line 2", "open", "declared_duration"}},
    {"half a gang",
     "agents: [{A}]\nframeworks: [{name: f, tasks: [{T}, gang: 3}]}]",
     {"line 2", "4", "count 4 must be a multiple of gang 3"}},
    {"gang of open offers",
     "agents: [{A}]\nframeworks: [{name: f, takes: open, tasks: [{T}, gang: 2}]}]",
     {"line 2", "open", "gang"}},
    {"unknown band",
     "agents: [{A}]\nframeworks: [{name: f, tasks: [{T}, band: gold}]}]",
     {"line 2", "'gold'", "production"}},
    {"wrong truth",
     "agents: [{A}]\nframeworks: [{name: f, tasks: [{T}, borrow: maybe}]}]",
     {"line 2", "'maybe'", "true or false"}},
    {"wrong constraint",
     "agents: [{A}]\nframeworks: [{name: f, tasks: [{T}, constraints: [rack is r1]}]}]",
     {"line 2", "constraints", "rack is r1"}},
    {"wrong expression",
     "agents: [{A}]\nframeworks: [{name: f, tasks: [{T}, constraints: [\"host =~ (\"]}]}]",
     {"line 2", "host =~ ("}},
    {"runs where nothing is",
     "agents: [{A}]\nframeworks: [{name: f, tasks: [{T}, running: [{agent: a}]}]}]",
     {"line 2", "'a'"}},
    {"runs more than there are",
     "agents: [{A}]\nframeworks: [{name: f, tasks: [{T}, running: [{agent: a-0, count: 5}]}]}]",
     {"line 2", "5", "4"}},
    {"runs without room",
     "agents: [{name: s, resources: \"cpus:3\"}]\nframeworks: [{name: f, tasks: [{T}, running: "
     "[{agent: s, count: 4}]}]}]",
     {"line 2", "'s'", "room"}},
    {"an interval of nothing",
     "options: {heartbeat: 0s}\nagents: [{A}]",
     {"line 1", "heartbeat", "at least 1ms", "'0s'"}},
    {"an interval of next to nothing",
     "options: {offer_timeout: 1us}\nagents: [{A}]",
     {"line 1", "offer_timeout", "at least 1ms", "'1us'"}},
    {"more than can be counted",
     "agents:\n  - {A}\n  - {name: b, count: 9000, resources: \"cpus:1000000000\"}",
     {"line 3", "'b'", "cpus", "1125899906842.624"}},
    {"deeper than anything",
     "agents: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
     {"line 1", "more than 64"}},
    {"has run too long",
     "agents: [{A}]\nframeworks: [{name: f, tasks: [{T}, running: [{agent: a-0, since: 60s}]}]}]",
     {"line 2", "1m"}},
};

TEST(ScenarioReader, AsManyRolesAsAMasterHolds) {
  const auto with_roles = [](size_t count) {
    std::string yaml = "agents: [{name: a, resources: \"cpus:1\"}]\nroles:\n";
    for (size_t i = 0; i < count; ++i) yaml += text("  - {name: r", i, ", weight: 2}\n");
    return parse_scenario(yaml);
  };
  EXPECT_TRUE(with_roles(kRolesMax).has_value());
  const Result<Scenario> more = with_roles(kRolesMax + 1);
  ASSERT_FALSE(more.has_value());
  EXPECT_EQ(more.error().message(),
            "line 3: roles names 10001 roles; at most 10000 have settings of their own");
}

TEST(ScenarioReader, MistakesAreToldWithLineAndValue) {
  for (const Mistake& mistake : kMistakes) {
    const Result<Scenario> read = parse_scenario(with_parts(mistake.yaml));
    ASSERT_FALSE(read.has_value()) << mistake.what;
    for (const std::string_view part : mistake.told) {
      EXPECT_NE(read.error().message().find(part), std::string::npos)
          << mistake.what << ": " << part << " is not in: " << read.error().message();
    }
  }
}

}  // namespace
}  // namespace proffer::sim::scenario_reader_test
