// Names, plans and shrinking of faults, and the agents' simulated disk.

#include "sim/faults.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "sim/agent_disk.h"
#include "sim/shrink.h"

namespace proffer::sim::faults_test {
namespace {

// The number of kinds that seeds draw, which is what `all` means.
size_t kinds_drawn() {
  return static_cast<size_t>(
      std::count_if(kFaultKinds.begin(), kFaultKinds.end(),
                    [](const FaultKindRow& row) { return !row.is_by_name_only; }));
}

TEST(Faults, NamesParseAndPrint) {
  for (const FaultKindRow& row : kFaultKinds) {
    const Result<FaultKinds> kinds = parse_fault_kinds(row.name);
    ASSERT_TRUE(kinds.has_value()) << row.name;
    EXPECT_EQ(*kinds, FaultKinds{row.kind});
    EXPECT_EQ(to_text(*kinds), row.name);
  }
  EXPECT_EQ(parse_fault_kinds("all")->size(), kinds_drawn());
  EXPECT_EQ(to_text(*parse_fault_kinds("all")), "all");
  EXPECT_TRUE(parse_fault_kinds("none")->empty());
  EXPECT_EQ(to_text(*parse_fault_kinds("clog,lost")), "lost,clog");
  for (const std::string_view wrong : {"", "clogs", "lost,,clog", "all,lost"}) {
    EXPECT_FALSE(parse_fault_kinds(wrong).has_value()) << wrong;
  }
}

TEST(Faults, NumbersParseAndPrint) {
  EXPECT_EQ(*parse_numbers("3,7-9"), (std::set<uint64_t>{3, 7, 8, 9}));
  EXPECT_EQ(to_text(std::set<uint64_t>{3, 7, 8, 9, 11}), "3,7-9,11");
  for (const std::string_view wrong : {"", "a", "0", "5-3", "1,", "1-99999"}) {
    EXPECT_FALSE(parse_numbers(wrong).has_value()) << wrong;
  }
}

TEST(Faults, TheDocumentNamesThemAll) {
  std::ifstream file(std::string(PROFFER_SOURCE_DIR) + "/docs/TESTING.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const FaultKindRow& row : kFaultKinds) {
    EXPECT_NE(text.str().find("`" + std::string(row.name) + "`"), std::string::npos) << row.name;
  }
}

bool same(const Fault& a, const Fault& b) {
  return a.at == b.at && a.kind == b.kind && a.target == b.target && a.lasts == b.lasts &&
         a.seed == b.seed;
}

TEST(Faults, LeavingKindsOrOccurrencesAwayDoesNotChangeTheOthers) {
  const World world(77);
  const FaultKinds all = *parse_fault_kinds("all");
  const FaultPlan plan = draw_faults(world, all, {});
  ASSERT_GT(plan.faults.size(), 10u);

  FaultKinds fewer = all;
  fewer.erase(FaultKind::kMasterCrash);
  for (const Fault& fault : draw_faults(world, fewer, {}).faults) {
    EXPECT_TRUE(std::any_of(plan.faults.begin(), plan.faults.end(),
                            [&](const Fault& other) { return same(fault, other); }));
  }
  const FaultPlan skipped = draw_faults(world, all, {1, 3});
  ASSERT_EQ(skipped.faults.size() + 2, plan.faults.size());
  EXPECT_EQ(skipped.faults[0].number, 2u);
  EXPECT_TRUE(same(skipped.faults[0], plan.faults[1]));
  EXPECT_TRUE(same(skipped.faults[1], plan.faults[3]));
}

// The first hundred seeds include one with many kinds and one without any.
TEST(Faults, EachSeedHasItsOwnMix) {
  size_t least = kFaultKinds.size();
  size_t most = 0;
  FaultKinds seen;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    FaultKinds kinds = draw_fault_kinds(World(seed), true);
    seen.insert(kinds.begin(), kinds.end());
    // A single master leaves out faults of several masters, and the other faults stay.
    for (const FaultKind kind :
         {FaultKind::kLeaderPaused, FaultKind::kSessionExpires, FaultKind::kEnsembleSlow}) {
      kinds.erase(kind);
    }
    EXPECT_EQ(draw_fault_kinds(World(seed)), kinds);
    least = std::min(least, kinds.size());
    most = std::max(most, kinds.size());
  }
  EXPECT_LT(least, 2u);
  EXPECT_GT(most, 12u);
  EXPECT_EQ(seen.size(), kinds_drawn());
}

// A run that fails if two kinds and one occurrence of one of them are present.
TEST(Shrink, LeavesWhatMatters) {
  SimOptions options{
      .seed = 5, .workload = "mixed", .agents = 7, .faults = *parse_fault_kinds("all")};
  const auto culprit = [](const SimOptions& run) -> std::optional<Fault> {
    for (const Fault& fault : draw_faults(World(run.seed), *run.faults, run.skip_faults).faults) {
      if (fault.kind == FaultKind::kAgentCrash) return fault;
    }
    return std::nullopt;
  };
  const Fault first = *culprit(options);
  size_t runs = 0;
  const SimOptions least = shrink(
      options,
      [&](const SimOptions& run) {
        ++runs;
        const std::optional<Fault> there = culprit(run);
        return run.agents >= 2 && run.faults->count(FaultKind::kLost) > 0 && there &&
               there->at == first.at;
      },
      1'000);
  EXPECT_EQ(to_text(*least.faults), "lost,agent_crash");
  EXPECT_EQ(fault_numbers(least).size(), 1u);
  EXPECT_EQ(least.agents, 2u);
  EXPECT_EQ(least.tasks_max, 1u);
  EXPECT_EQ(least.workload, kWorkloads[0]);
  EXPECT_LT(runs, 200u);
}

// --- the agent's disk --------------------------------------------------------------------------

proto::CheckpointRecord record(std::string_view executor) {
  return proto::ExecutorGone{FrameworkId("f"), ExecutorId(std::string(executor))};
}

std::vector<std::string> read(AgentDisk& disk) {
  std::vector<std::string> names;
  const Result<AgentDisk::Opened> opened = disk.open();
  if (!opened) return {"refused"};
  if (opened->damaged) names.push_back("damaged");
  for (const proto::CheckpointRecord& one : opened->records) {
    names.push_back(std::get<proto::ExecutorGone>(one).executor.str());
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(AgentDisk, ATornEndIsCutOff) {
  AgentDisk disk;
  EXPECT_TRUE(disk.append({record("a")}).has_value());
  disk.append_torn({record("b"), record("c"), record("d")}, 1);
  EXPECT_EQ(read(disk), (Names{"a", "b"}));
  EXPECT_TRUE(disk.append({record("e")}).has_value());
  EXPECT_EQ(read(disk), (Names{"a", "b", "e"}));
}

TEST(AgentDisk, ALossOfPowerKeepsWhatWasSynced) {
  std::set<Names> seen;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    AgentDisk disk;
    Prng chance(seed);
    EXPECT_TRUE(disk.append({record("a"), record("b")}).has_value());
    EXPECT_TRUE(disk.sync().has_value());
    EXPECT_TRUE(disk.append({record("c"), record("d")}).has_value());
    disk.lose_power(chance);
    seen.insert(read(disk));
  }
  EXPECT_EQ(seen,
            (std::set<Names>{
                {"a", "b"}, {"a", "b", "c"}, {"a", "b", "c", "d"}, {"damaged", "a", "b", "d"}}));
}

TEST(AgentDisk, ADamagedMiddleIsSetAside) {
  AgentDisk disk;
  Prng chance(1);
  EXPECT_TRUE(disk.append({record("a"), record("b")}).has_value());
  disk.damage(chance);
  const uint32_t mark = disk.mark();
  EXPECT_EQ(read(disk), (Names{"damaged", "b"}));
  EXPECT_NE(disk.mark(), mark);
  EXPECT_EQ(read(disk), Names());
}

TEST(AgentDisk, AFullOneRefusesAndStaysAsItWas) {
  AgentDisk disk;
  EXPECT_TRUE(disk.append({record("a")}).has_value());
  disk.set_trouble(AgentDisk::Trouble::kFull);
  EXPECT_FALSE(disk.append({record("b")}).has_value());
  EXPECT_FALSE(disk.rewrite({record("b")}).has_value());
  EXPECT_EQ(read(disk), Names{"a"});
  disk.set_trouble(AgentDisk::Trouble::kNone);
  EXPECT_TRUE(disk.append({record("b")}).has_value());
  EXPECT_EQ(read(disk), (Names{"a", "b"}));
}

}  // namespace
}  // namespace proffer::sim::faults_test
