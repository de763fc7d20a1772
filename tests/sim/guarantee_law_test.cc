// Whether an unmet guarantee is the allocator's fault: only while borrowers could give back enough.

#include "sim/guarantee_law.h"

#include <string>

#include <gtest/gtest.h>

namespace proffer::sim::guarantee_law_test {
namespace {

const RoleName kOwner("owner");
const RoleName kOther("other");

// One machine with 4 CPUs. The role `owner` has a guarantee of 2, uses none, and wants one task.
class Word {
 public:
  explicit Word(int64_t shape) {
    const ResourceVector total = ResourceVector::of(4'000, 0);
    word_.live.agents.push_back({.agent = AgentId("a1"), .total = {.amounts = total}});
    word_.roles.push_back({.role = kOwner,
                           .guarantee = Quota::of(ResourceVector::of(2'000, 0)),
                           .guarantee_met = false});
    word_.roles.push_back({.role = kOther});
    for (const RoleName& role : {kOwner, kOther}) {
      word_.live.frameworks.push_back({.framework = FrameworkId(role.str()), .role = role});
    }
    word_.live.asks.push_back(
        {.framework = FrameworkId(kOwner.str()),
         .ask = {.shape = ResourceVector::of(shape, 0), .count = 1, .ports = 0}});
  }
  // The task that is added last is the youngest.
  Word& runs(const RoleName& role, int64_t cpus, std::vector<PortRange> ports = {}) {
    const TaskId task("t" + std::to_string(word_.live.tasks.size()));
    const FrameworkId framework(role.str());
    const ResourceVector shape = ResourceVector::of(cpus, 0);
    for (proto::LiveTask& one : word_.live.tasks) one.since = one.since + seconds(1);
    word_.live.tasks.push_back({.framework = framework,
                                .task = task,
                                .agent = AgentId("a1"),
                                .role = role,
                                .shape = shape});
    word_.tasks.push_back({.framework = framework,
                           .task = task,
                           .resources = {.amounts = shape, .ports = PortSet(std::move(ports))}});
    row(role).allocated += shape;
    return *this;
  }
  Word& borrows(int64_t cpus) {
    row(kOther).borrowed = ResourceVector::of(cpus, 0);
    return *this;
  }
  bool could_be_met() const { return sim::could_be_met(kOwner, word_); }

  proto::RoleRow& row(const RoleName& role) { return word_.roles[role == kOwner ? 0 : 1]; }
  MasterWord& all() { return word_; }

 private:
  MasterWord word_ = {};
};

TEST(GuaranteeLaw, WantsWhatWouldFitIfBorrowersGaveBack) {
  EXPECT_TRUE(Word(2'000).runs(kOther, 1'000).could_be_met()) << "it is free";
  EXPECT_TRUE(Word(2'000).runs(kOther, 4'000).borrows(2'000).could_be_met());
  EXPECT_FALSE(Word(2'000).runs(kOther, 4'000).could_be_met()) << "nobody borrows";
}

// Seed 66152: others had borrowed, but not enough to fit the role's next task beside its first one.
TEST(GuaranteeLaw, WantsNothingThatTheRoleItselfIsInTheWayOf) {
  Word word(1'500);
  word.row(kOwner).guarantee = Quota::of(ResourceVector::of(4'000, 0));
  word.runs(kOwner, 1'750).runs(kOwner, 1'000).runs(kOther, 1'000).borrows(1'000);
  EXPECT_FALSE(word.could_be_met());
}

TEST(GuaranteeLaw, TakesTheYoungestAndNothingFromWhoBorrowsNoMore) {
  EXPECT_TRUE(Word(2'000).runs(kOther, 2'000).runs(kOther, 2'000).borrows(1'000).could_be_met());
  EXPECT_FALSE(Word(2'000).runs(kOther, 3'000).runs(kOther, 1'000).borrows(1'000).could_be_met());
}

TEST(GuaranteeLaw, TakesNothingThatIsPromisedToOthers) {
  Word word(2'000);
  word.runs(kOther, 4'000).borrows(2'000);
  word.row(kOther).guarantee = Quota::of(ResourceVector::of(4'000, 0));
  EXPECT_FALSE(word.could_be_met());
  word.row(kOther).guarantee = Quota::of(ResourceVector::of(3'000, 0));
  EXPECT_TRUE(word.could_be_met());
}

TEST(GuaranteeLaw, WantsNothingOfWhatIsKeptForAnAskOfTheRoleItself) {
  Word word(1'000);
  EXPECT_TRUE(word.could_be_met());
  const proto::AskRow claimant{.ask = AskName("large"), .claimed = AgentId("a1")};
  word.all().frameworks.push_back({.role = kOther, .asks = {claimant}});
  EXPECT_TRUE(word.could_be_met());
  word.all().frameworks.push_back({.role = kOwner, .asks = {claimant}});
  EXPECT_FALSE(word.could_be_met());
}

TEST(GuaranteeLaw, CountsPorts) {
  Word word(1'000);
  word.all().live.agents[0].total.ports = PortSet({{31000, 31000}});
  word.all().live.asks[0].ask.ports = 1;
  EXPECT_TRUE(word.could_be_met());
  word.runs(kOther, 1'000, {{31000, 31000}});
  EXPECT_FALSE(word.could_be_met());
  word.borrows(1'000);
  EXPECT_FALSE(word.could_be_met()) << "a port is not lent";
}

TEST(GuaranteeLaw, DemandsNothingAboveGuaranteeOrLimitOrFromAbsentAgents) {
  EXPECT_FALSE(Word(3'000).could_be_met());
  Word limited(2'000);
  limited.row(kOwner).limit = Quota::of(ResourceVector::of(1'000, 0));
  EXPECT_FALSE(limited.could_be_met());
  Word drained(2'000);
  drained.all().live.agents[0].drains_for = seconds(1);
  EXPECT_FALSE(drained.could_be_met());
  Word unknown(2'000);
  unknown.all().live.agents.push_back(
      {.agent = AgentId("a2"), .state = proto::AgentState::kUnreachable});
  EXPECT_FALSE(unknown.could_be_met()) << "nobody knows what runs there";
  Word away(2'000);
  away.all().live.frameworks[0].connected = false;
  EXPECT_FALSE(away.could_be_met());
}

}  // namespace
}  // namespace proffer::sim::guarantee_law_test
