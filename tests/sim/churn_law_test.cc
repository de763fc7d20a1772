// Promises to tenants under churn, as far as the simulator checks them.

#include "sim/churn_law.h"

#include <gtest/gtest.h>

#include "sim/simulation.h"
#include "tests/support/seeds.h"

namespace proffer::sim::churn_law_test {
namespace {

const FrameworkId kSmall("small");
const FrameworkId kLarge("large");

ResourceVector cpus(int64_t count) { return ResourceVector::of(count * 1'000, 0); }

// One machine with 8 CPUs, and two roles with one tenant each: `small` wants tasks of one CPU,
// `large` of two, and each is entitled to half.
class Moment {
 public:
  Moment() {
    word_.live.agents.push_back({.agent = AgentId("a1"), .total = {.amounts = cpus(8)}});
    for (const auto& [id, size] : {std::pair(kSmall, 1), std::pair(kLarge, 2)}) {
      const RoleName role(id.str());
      word_.roles.push_back({.role = role, .entitlement = cpus(4)});
      word_.live.frameworks.push_back({.framework = id, .role = role});
      word_.live.asks.push_back(
          {.framework = id, .ask = {.name = AskName("task"), .shape = cpus(size), .count = 10}});
    }
  }
  Moment& runs(const FrameworkId& id, int64_t count) {
    word_.live.tasks.push_back({.framework = id, .agent = AgentId("a1"), .shape = cpus(count)});
    row(id).allocated += cpus(count);
    return *this;
  }
  Moment& guarantees(const FrameworkId& id, int64_t count) {
    row(id).guarantee = Quota::of(cpus(count));
    return *this;
  }
  Moment& wants_nothing(const FrameworkId& id) {
    std::erase_if(word_.live.asks, [&](const auto& ask) { return ask.framework == id; });
    return *this;
  }
  // Violations if this state lasts for this time; checked every second.
  std::vector<Violation> lasts(Duration duration, int64_t notices_each = 0) const {
    ChurnLaw law(2, true);
    std::vector<Violation> found;
    int64_t notices = 0;
    for (Time now; now <= Time() + duration; now = now + seconds(1)) {
      for (Violation& one : law.look(word_, notices, now)) found.push_back(std::move(one));
      notices += notices_each;
    }
    return found;
  }

 private:
  proto::RoleRow& row(const FrameworkId& id) { return word_.roles[id == kSmall ? 0 : 1]; }
  MasterWord word_ = {};
};

TEST(ChurnLaw, IsContentWhereEachHasItsPart) {
  EXPECT_TRUE(Moment().runs(kSmall, 4).runs(kLarge, 4).lasts(hours(1)).empty());
  // Whole tasks may cause a difference of one task.
  EXPECT_TRUE(Moment().runs(kSmall, 6).runs(kLarge, 2).lasts(hours(1)).empty());
  // A role without demand lacks nothing.
  EXPECT_TRUE(Moment().runs(kSmall, 8).wants_nothing(kLarge).lasts(hours(1)).empty());
}

TEST(ChurnLaw, SaysWhoHasLessThanItsPartForLong) {
  const Moment moment = Moment().runs(kSmall, 8);
  EXPECT_TRUE(moment.lasts(kBelowMax).empty());
  const std::vector<Violation> found = moment.lasts(kBelowMax + seconds(1));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].what.find("role large is entitled to cpus:4"), std::string::npos)
      << found[0].what;
}

TEST(ChurnLaw, SaysWhatHasRoomAndWaits) {
  const Moment moment = Moment().runs(kSmall, 3).runs(kLarge, 4);
  EXPECT_TRUE(moment.lasts(kRoomMax).empty());
  const std::vector<Violation> found = moment.lasts(kRoomMax + seconds(1));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].what.find("of small has had room"), std::string::npos) << found[0].what;
}

TEST(ChurnLaw, SaysWhichTaskOfAGuaranteedRoleHasNoTurn) {
  const Moment moment = Moment().runs(kSmall, 6).runs(kLarge, 2).guarantees(kLarge, 4);
  EXPECT_TRUE(moment.lasts(kTurnMax).empty());
  EXPECT_EQ(moment.lasts(kTurnMax + seconds(1)).size(), 1u);
}

TEST(ChurnLaw, CountsNoticesOnceTheTenantsAreTheSame) {
  const Moment moment = Moment().runs(kSmall, 4).runs(kLarge, 4);
  EXPECT_TRUE(moment.lasts(kSettledAfter, 1).empty());
  EXPECT_EQ(moment.lasts(kSettledAfter + seconds(kNoticesMax + 2), 1).size(), 1u);
  EXPECT_TRUE(Moment().runs(kSmall, 8).wants_nothing(kLarge).lasts(kSettledAfter * 2, 1).empty());
}

TEST(ChurnLaw, HoldsInClustersWhereThingsHaveGoneWrong) {
  for (const uint64_t seed : Seeds(10)) {
    const SimReport report = simulate({.seed = seed, .workload = "churn"});
    ASSERT_TRUE(report.ok()) << replay_command(report.options) << ": " << report.violations[0].what;
    EXPECT_GT(report.tasks, 100u);
  }
}

}  // namespace
}  // namespace proffer::sim::churn_law_test
