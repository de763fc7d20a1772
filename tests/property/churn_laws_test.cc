// Laws that hold while tasks come and go, over random small clusters: large tasks beside streams of
// small ones are served, and asks that cannot run leave the cluster to others.

#include <string>

#include <gtest/gtest.h>

#include "common/prng.h"
#include "common/text.h"
#include "tests/support/replay/story.h"
#include "tests/support/seeds.h"

namespace proffer::churn_laws_test {
namespace {

using replay::Replay;
using replay::Story;

constexpr int64_t kEndless = 20'000;

std::string shape(int64_t cpus) { return text("cpus:", cpus, ";mem:", cpus, "GiB"); }

// Endless tasks of this shape, with different durations around `mean`.
void endless(Story& s, const std::string& name, int64_t cpus, Duration mean) {
  s.tasks(name, shape(cpus), kEndless, mean);
  s.scenario().frameworks.back().tasks.back().duration_spread = 500'000;
}

// --- large asks in guaranteed roles -------------------------------------------------------------

struct Large {
  Story story = {};
  int64_t tasks = 0;
  Duration bound = {};
};

// Some machines. One role has a guarantee of a part of them, with endless small tasks and a few
// tasks as large as a machine; other roles have endless small tasks.
Large draw_large(uint64_t seed) {
  Prng random(seed);
  Large drawn;
  const int64_t machines = random.between(2, 4);
  const int64_t cpus = random.between(2, 8);
  const Duration mean = seconds(random.between(5, 15));
  for (int64_t i = 1; i <= machines; ++i) drawn.story.agent(text("a", i), shape(cpus));
  drawn.story.role("team", text("cpus:", random.between(cpus, cpus * (machines - 1))));
  drawn.story.framework("small", random.chance(1, 2) ? "team" : "team/small");
  endless(drawn.story, "s", 1, mean);
  for (int64_t i = random.between(1, 3); i > 0; --i) {
    drawn.story.framework(text("other", i), text("other", i));
    endless(drawn.story, "s", 1, mean);
  }
  drawn.tasks = random.between(1, 3);
  drawn.story.framework("large", random.chance(1, 2) ? "team" : "team/large");
  drawn.story.tasks("l", shape(cpus), drawn.tasks, seconds(10), seconds(30));
  // Each task is owed or has waited, and all tasks on its machine end; one task after another.
  drawn.bound = seconds(30) + (kClaimAfter + mean * 3 + seconds(10)) * drawn.tasks * 2;
  return drawn;
}

TEST(ChurnLaws, LargeAsksInGuaranteedRolesAreServedWithinABound) {
  for (const uint64_t seed : Seeds(80)) {
    const Large drawn = draw_large(seed);
    Replay run = drawn.story.play();
    run.run_until(drawn.bound);
    ASSERT_TRUE(run.wrong().empty()) << "seed " << seed << ": " << run.wrong()[0];
    ASSERT_EQ(run.group("large", "l").finished, drawn.tasks) << "seed " << seed;
  }
}

// --- use of resources ---------------------------------------------------------------------------

// Machines with a service that never ends, endless small tasks, and asks that cannot run as long as
// the service does: tasks as large as a machine if the service is on all machines, or gangs of all
// machines if it is on at least one.
Story draw_blocked(uint64_t seed, bool gangs, int64_t& total) {
  Prng random(seed);
  Story s;
  const int64_t machines = random.between(2, 8);
  const int64_t cpus = random.between(4, 16);
  total = machines * cpus;
  for (int64_t i = 1; i <= machines; ++i) s.agent(text("a", i), shape(cpus));
  s.framework("service", "service");
  s.tasks("s", shape(random.between(1, cpus / 2)), random.chance(1, 2) || !gangs ? machines : 1);
  s.ask().max_per = {{"host", 1}};
  s.framework("small", "small");
  endless(s, "s", 1, seconds(random.between(10, 60)));
  for (int64_t i = random.between(1, machines); i > 0; --i) {
    s.framework(text("large", i), text("large", i));
    s.tasks("l", shape(cpus), machines, seconds(60), seconds(60));
    if (gangs) s.ask().gang = machines;
  }
  return s;
}

void expect_use(uint64_t seed, bool gangs, int64_t percent) {
  int64_t total = 0;
  Replay run = draw_blocked(seed, gangs, total).play({.trace = false});
  int64_t used = 0;
  int64_t samples = 0;
  for (int64_t second = 120; second <= 1'200; second += 10) {
    run.run_until(seconds(second));
    used += run.use(RoleName())[ResourceKind::kCpus] / 1'000;
    ++samples;
  }
  ASSERT_TRUE(run.wrong().empty()) << "seed " << seed << ": " << run.wrong()[0];
  EXPECT_GE(used * 100, samples * total * percent) << "seed " << seed;
}

TEST(ChurnLaws, GangsThatCannotRunLeaveTheClusterToOthers) {
  for (const uint64_t seed : Seeds(12)) {
    expect_use(seed, true, 90);
    if (HasFailure()) return;
  }
}

TEST(ChurnLaws, LargeTasksThatCannotRunLeaveTheClusterToOthers) {
  for (const uint64_t seed : Seeds(30)) {
    expect_use(seed, false, 80);
    if (HasFailure()) return;
  }
}

// --- reclaims ------------------------------------------------------------------------------------

// Some machines and tenants with endless tasks that last minutes. The tenants arrive within the
// first minute, and all borrowed resources may be reclaimed.
Story draw_tenants(uint64_t seed) {
  Prng random(seed);
  Story s;
  s.scenario().options["reclaim"] = "fair_share";
  const int64_t machines = random.between(1, 4);
  const int64_t cpus = random.between(4, 12);
  for (int64_t i = 1; i <= machines; ++i) s.agent(text("a", i), shape(cpus));
  for (int64_t i = random.between(2, 5); i > 0; --i) {
    const std::string name = text("t", i);
    s.role(name, "", "", random.chance(1, 3) ? 2 * kWeightOne : kWeightOne);
    s.framework(name, name, sim::Takes::kAsks, seconds(random.between(0, 60)));
    endless(s, "s", random.between(1, 3), seconds(random.between(30, 120)));
  }
  return s;
}

// In 25 hours of 100 clusters. A reclaim is right if a framework still lacks a task when its
// patience ends. Without patience there are over 400.
TEST(ChurnLaws, NextToNothingIsReclaimedOnceAllHaveHadTheirPart) {
  int64_t late = 0;
  for (const uint64_t seed : Seeds(100)) {
    Replay run = draw_tenants(seed).play({.trace = false});
    run.run_until(minutes(5));
    const int64_t early = run.revokes();
    run.run_until(minutes(20));
    ASSERT_TRUE(run.wrong().empty()) << "seed " << seed << ": " << run.wrong()[0];
    late += run.revokes() - early;
  }
  EXPECT_LE(late, 25);
}

// The same with guarantees of some or all kinds, which may be reclaimed at once. Tasks are much
// shorter; some tenants need mostly CPUs, others memory.
Story draw_guaranteed(uint64_t seed) {
  Prng random(seed);
  Story s;
  const int64_t machines = random.between(1, 4);
  const int64_t cpus = random.between(4, 12);
  for (int64_t i = 1; i <= machines; ++i) s.agent(text("a", i), shape(cpus));
  const int64_t tenants = random.between(2, 4);
  for (int64_t i = 1; i <= tenants; ++i) {
    const std::string name = text("t", i);
    const int64_t part = machines * cpus / tenants;
    const std::string of_cpus = text("cpus:", random.between(1, part));
    const std::string of_mem = text("mem:", random.between(1, part), "GiB");
    const std::string of_both = text(of_cpus, ";", of_mem);
    const std::string guarantees[] = {"", of_cpus, of_mem, of_both};
    s.role(name, guarantees[random.below(4)]);
    s.framework(name, name, sim::Takes::kAsks, seconds(random.between(0, 60)));
    const std::string mem = text("mem:", random.between(1, 8) * 256);
    s.tasks("s", text("cpus:", random.between(1, 2), ";", mem), kEndless,
            seconds(random.between(5, 20)));
    s.scenario().frameworks.back().tasks.back().duration_spread = 500'000;
  }
  return s;
}

// In 17 hours of 100 clusters: 73, half of them in one small cluster. If a guarantee of one kind
// may take all of another kind: 2,128; with claims on places that a guarantee needs: 296.
TEST(ChurnLaws, LittleIsReclaimedForGuaranteesOnceAllHaveHadTheirPart) {
  int64_t late = 0;
  for (const uint64_t seed : Seeds(100)) {
    Replay run = draw_guaranteed(seed).play(
        {.allocator = {.revoke_grace = seconds(1), .minimum_runtime = seconds(5)}, .trace = false});
    run.run_until(minutes(5));
    const int64_t early = run.revokes();
    run.run_until(minutes(15));
    ASSERT_TRUE(run.wrong().empty()) << "seed " << seed << ": " << run.wrong()[0];
    late += run.revokes() - early;
  }
  EXPECT_LE(late, 110);
}

}  // namespace
}  // namespace proffer::churn_laws_test
