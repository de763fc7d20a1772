// Operators set guarantees and limits; frameworks learn of asks that a limit makes impossible.

#include "tests/master/cluster.h"

namespace proffer::master::roles_test {
namespace {

SetRole set(const std::string& role) { return {.role = RoleName(role)}; }
SetRole guarantee(const std::string& role, const std::string& quota) {
  return {.role = RoleName(role), .guarantee = *parse_quota(quota)};
}
SetRole limit(const std::string& role, const std::string& quota) {
  return {.role = RoleName(role), .limit = *parse_quota(quota)};
}

TEST(Roles, WhatIsSetIsToldAndSurvivesTheMaster) {
  MasterScenario s;
  SetRole all = limit("eng", "cpus:20");
  all.weight = 2'500;
  all.guarantee = *parse_quota("cpus:10;mem:1GiB");
  EXPECT_EQ(s.calls(all), "done");
  EXPECT_EQ(s.calls(guarantee("eng/ads", "cpus:4")), "done");
  for (int life = 0; life < 2; ++life) {
    const proto::RoleRow row = s.role_row("eng");
    EXPECT_EQ(row.weight, 2'500);
    EXPECT_EQ(to_text(row.guarantee), "cpus:10;mem:1024");
    EXPECT_EQ(to_text(row.limit), "cpus:20");
    EXPECT_EQ(to_text(s.role_row("eng/ads").guarantee), "cpus:4");
    s.restart_master();
  }
}

TEST(Roles, EachSettingChangesByItselfAndUnsetEndsAll) {
  MasterScenario s;
  SetRole weight = set("eng");
  weight.weight = 3'000;
  s.calls(weight);
  s.calls(limit("eng", "cpus:20"));
  EXPECT_EQ(s.role_row("eng").weight, 3'000);
  s.calls(limit("eng", ""));
  EXPECT_TRUE(s.role_row("eng").limit.empty());
  SetRole unset = set("eng");
  unset.unset = true;
  EXPECT_EQ(s.calls(unset), "done");
  EXPECT_TRUE(s.master->roles().empty());
  s.restart_master();
  EXPECT_TRUE(s.master->roles().empty());
}

TEST(Roles, WhatTheTableDoesNotAllowIsRefusedWithTheNumbers) {
  MasterScenario s;
  s.calls(guarantee("eng", "cpus:10"));
  EXPECT_EQ(s.calls(guarantee("eng/ads", "cpus:11")).find("the guarantees of the roles in 'eng'"),
            0u);
  EXPECT_NE(s.calls(limit("eng", "cpus:9")).find("cpus:10, is above its own limit"),
            std::string::npos);
  SetRole weight = set("eng");
  weight.weight = 0;
  EXPECT_NE(s.calls(weight).find("between 0.001 and 1000, not 0"), std::string::npos);
  EXPECT_EQ(s.calls(set("eng")), "no setting is given for role 'eng'");
  EXPECT_EQ(to_text(s.role_row("eng").guarantee), "cpus:10");
  EXPECT_EQ(s.master->roles().size(), 1u);
}

TEST(Roles, OptionsAreThereAgainAtEachStartUntilAnOperatorSaysOtherwise) {
  MasterOptions options;
  options.allocator.roles[RoleName("ads")].weight = 2'000;
  MasterScenario s(options);
  EXPECT_EQ(s.role_row("ads").weight, 2'000);
  SetRole other = set("ads");
  other.weight = 5'000;
  s.calls(other);
  s.restart_master();
  EXPECT_EQ(s.role_row("ads").weight, 5'000);
  SetRole unset = set("ads");
  unset.unset = true;
  s.calls(unset);
  EXPECT_EQ(s.role_row("ads").weight, 2'000);
  s.restart_master();
  EXPECT_EQ(s.role_row("ads").weight, 2'000);
}

TEST(Roles, AnAskAboveALimitIsToldSoWithTheNumbers) {
  MasterScenario s;
  s.registered_agent("a1", "cpus:16;mem:8GiB");
  s.calls(limit("eng", "cpus:4"));
  TestScheduler& f = s.subscribed("f", "eng/ads");
  f.asks("cpus:8", 1);
  s.advance(seconds(1));
  const proto::AskReport report = f.take_one<proto::AskReport>();
  ASSERT_EQ(report.rows.size(), 1u);
  EXPECT_FALSE(report.rows[0].could_ever_fit);
  EXPECT_EQ(report.rows[0].why, "it takes 8 cpus, but the limit of role 'eng' is 4");
  s.calls(limit("eng", "cpus:8"));
  s.advance(seconds(2));
  EXPECT_TRUE(f.take_one<proto::AskReport>().rows.at(0).could_ever_fit);
}

TEST(Roles, AsksMayNameRolesWithinTheFrameworks) {
  MasterScenario s;
  s.registered_agent("a1");
  TestScheduler& f = s.subscribed("f", "eng");
  Ask ask{.name = AskName("x"), .shape = *parse_shape("cpus:1"), .count = 1};
  ask.role = RoleName("engineering");
  f.sends(proto::DeclareAsks{.generation = 1, .asks = {ask}});
  EXPECT_EQ(
      f.take_one<proto::AskReport>().rows.at(0).why,
      "it names the role 'engineering'; that must be the framework's, 'eng', or one below it");
  ask.role = RoleName("eng/ads");
  f.sends(proto::DeclareAsks{.generation = 2, .asks = {ask}});
  EXPECT_TRUE(f.take<proto::ErrorMessage>().empty());
  s.settle();
  ASSERT_EQ(f.offers.size(), 1u);
}

// Tasks on an agent that has not returned count in the role too.
TEST(Roles, WithALimitGetNothingUntilAllAgentsAreBack) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestAgent& b = s.registered_agent("a2");
  s.calls(limit("eng", "cpus:4"));
  TestScheduler& limited = s.subscribed("f", "eng");
  TestScheduler& other = s.subscribed("g", "batch");
  s.restart_master();
  limited.subscribes();
  other.subscribes();
  a.registers();
  limited.asks("cpus:1", 1);
  other.asks("cpus:1", 1);
  s.settle();
  EXPECT_TRUE(limited.offers.empty());
  EXPECT_EQ(other.offers.size(), 1u);
  b.registers();
  s.settle();
  EXPECT_EQ(limited.offers.size(), 1u);
}

TEST(Roles, ALimitIsNeverExceeded) {
  MasterScenario s;
  s.registered_agent("a1", "cpus:8;mem:8GiB");
  s.calls(limit("eng", "cpus:2"));
  TestScheduler& f = s.subscribed("f", "eng/ads");
  f.asks("cpus:1", 5);
  s.settle();
  int64_t offered = 0;
  for (const Offer& offer : f.offers) offered += offer.total().amounts[ResourceKind::kCpus];
  EXPECT_EQ(offered, 2'000);
}

}  // namespace
}  // namespace proffer::master::roles_test
