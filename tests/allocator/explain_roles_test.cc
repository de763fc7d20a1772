// Explanations of roles, and of tasks that would be preempted: examples.

#include <gmock/gmock.h>

#include "tests/allocator/scenario.h"

namespace proffer::explain_roles_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

RoleExplanation role(AllocatorScenario& s, const std::string& path) {
  const auto found = s.allocator().explain_role(RoleName(path), s.now());
  EXPECT_TRUE(found.has_value()) << path;
  return found.value_or(RoleExplanation());
}

TaskStanding task(AllocatorScenario& s, const std::string& framework, size_t number = 0) {
  const AllocatorScenario::Task& of = s.framework(framework).running().at(number);
  const auto found = s.allocator().explain_task(of.agent, FrameworkId(framework), of.id, s.now());
  EXPECT_TRUE(found.has_value()) << of.id.str();
  return found.value_or(TaskStanding());
}

TEST(ExplainRole, SaysWhatItHasAndWhatItMayCountOn) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:8GiB");
  s.guarantee("eng", "cpus:4");
  s.limit("eng", "cpus:6");
  s.weight("eng/ads", 2000);
  s.framework("web").in_role("eng/web").asks("cpus:1;mem:1GiB", 1);
  s.run_until_nothing_fits();
  s.framework("ops").asks("cpus:1", 1);
  s.decide();

  const RoleExplanation eng = role(s, "eng");
  EXPECT_EQ(eng.allocated, ResourceVector::of(1'000, 1'024'000));
  EXPECT_EQ(eng.share_millionths, 125'000);
  EXPECT_EQ(eng.headroom, ResourceVector::of(3'000, 0));
  EXPECT_FALSE(eng.headroom_is_held);
  EXPECT_TRUE(eng.guarantee_met) << "it wants no more";
  ASSERT_EQ(eng.limits.size(), 1u);
  EXPECT_EQ(eng.limits[0].use[ResourceKind::kCpus], 1'000);
  EXPECT_EQ(eng.place, 0);
  EXPECT_THAT(eng.held, IsEmpty());
  ASSERT_EQ(eng.children.size(), 2u);
  EXPECT_EQ(eng.children[0].name, "eng/ads");
  EXPECT_EQ(eng.children[1].name, "eng/web");
  EXPECT_EQ(eng.children[1].use, eng.allocated);
  EXPECT_EQ(role(s, "eng/web").children.at(0).name, "web");
  EXPECT_TRUE(role(s, "eng/web").children.at(0).is_framework);

  EXPECT_FALSE(s.allocator().explain_role(RoleName("nobody"), s.now()).has_value());
  EXPECT_FALSE(s.allocator().explain_role(RoleName(), s.now()).has_value());
}

TEST(ExplainRole, CountsAsksByWhatHoldsThemBack) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:8GiB");
  s.limit("eng", "cpus:4");
  s.framework("web").in_role("eng/web").asks("cpus:2", 4);
  s.run_until_nothing_fits();
  s.framework("ads").in_role("eng/ads").asks("cpus:1", 3);
  s.framework("big").in_role("eng/big").asks("cpus:1;mem:9GiB", 1);
  s.framework("gone").in_role("eng/gone").asks("cpus:1", 5);
  s.allocator().set_framework_active(FrameworkId("gone"), false);
  s.decide();

  const RoleExplanation eng = role(s, "eng");
  EXPECT_EQ(eng.asks_unmet, 4);
  ASSERT_EQ(eng.held.size(), 2u);
  const HeldAsks& gone = eng.held[1];
  const HeldAsks& limit = eng.held[0];
  EXPECT_EQ(limit.why, RoleHindrance::kLimit);
  EXPECT_EQ(limit.role, RoleName("eng"));
  EXPECT_EQ(limit.asks, 3);
  EXPECT_EQ(limit.tasks, 6);
  EXPECT_EQ(limit.left, 0);
  EXPECT_EQ(gone.why, RoleHindrance::kNoOffers);
  EXPECT_EQ(gone.tasks, 5);
  EXPECT_EQ(to_text(limit), "the limit of role 'eng': it takes 1 cpus, 0 are left");
}

TEST(ExplainRole, SaysWhoHasBorrowedAndWhatComesBackByWhen) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB");
  s.guarantee("eng", "cpus:2");
  s.framework("batch").in_role("ops").asks("cpus:1", 10);
  s.run_until_nothing_fits();
  ASSERT_EQ(s.framework("batch").tasks(), 4);
  s.framework("web").in_role("eng").asks("cpus:1", 2);
  s.decide();
  const Time young = s.now();

  // The tasks are too young to be preempted.
  RoleExplanation eng = role(s, "eng");
  ASSERT_EQ(eng.held.size(), 1u);
  EXPECT_EQ(eng.held[0].why, RoleHindrance::kLent);
  EXPECT_EQ(eng.held[0].back, "the possible victims are younger than the minimum runtime");
  EXPECT_EQ(eng.held[0].until, young + kMinimumRuntime);
  ASSERT_EQ(eng.borrowers.size(), 1u);
  EXPECT_EQ(eng.borrowers[0].name, "ops");
  EXPECT_EQ(eng.borrowers[0].borrowed[ResourceKind::kCpus], 2'000);
  EXPECT_FALSE(eng.guarantee_met);
  EXPECT_EQ(eng.place, 1);

  const TaskStanding newest = task(s, "batch", 3);
  EXPECT_EQ(newest.protected_until, young + kMinimumRuntime);
  ASSERT_FALSE(newest.over.empty());
  EXPECT_EQ(newest.over.back().name, "ops");
  EXPECT_FALSE(newest.ends_by.has_value());

  s.advance(kMinimumRuntime);
  eng = role(s, "eng");
  ASSERT_EQ(s.revokes().size(), 2u);
  EXPECT_EQ(eng.held[0].why, RoleHindrance::kComing);
  EXPECT_EQ(eng.held[0].until, s.revokes()[0].deadline);
  ASSERT_EQ(eng.coming.size(), 2u);
  EXPECT_EQ(eng.coming[0].deadline, s.revokes()[0].deadline);
  EXPECT_EQ(eng.coming[0].role, RoleName("ops"));
  int told = 0;
  for (size_t i = 0; i < 4; ++i) told += task(s, "batch", i).ends_by ? 1 : 0;
  EXPECT_EQ(told, 2);
}

TEST(ExplainRole, SpeaksOfBorrowersOnlyWhereThereAreSome) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB");
  s.agent("a2", "cpus:1;mem:4GiB", "", {{"eng", "cpus:3"}});
  // Two tasks fit nowhere beside the reservation; no role exceeds its entitlement.
  s.framework("web").in_role("ops").asks("cpus:3", 2);
  s.run_until_nothing_fits();
  ASSERT_EQ(s.framework("web").tasks(), 1);
  RoleExplanation ops = role(s, "ops");
  ASSERT_EQ(ops.held.size(), 1u);
  EXPECT_EQ(ops.held[0].why, RoleHindrance::kTooLittle);
  EXPECT_EQ(ops.held[0].back, "");
  EXPECT_THAT(ops.borrowers, IsEmpty());
}

TEST(ExplainRole, DoesNotBlameBorrowersForWhatNoAgentCouldDo) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB");
  s.framework("batch").in_role("lab").asks("cpus:1", 10);
  s.run_until_nothing_fits();
  ASSERT_EQ(s.framework("batch").tasks(), 4);
  s.framework("web").in_role("ops").asks("cpus:1", 1, "web", "disk == ssd");
  s.decide();
  const RoleExplanation ops = role(s, "ops");
  ASSERT_EQ(ops.held.size(), 1u);
  EXPECT_EQ(ops.held[0].why, RoleHindrance::kTooLittle);
}

// The gate makes an ask above its entitlement wait behind those below theirs.
TEST(ExplainRole, NamesThoseThatAreOwedATaskAndComeFirst) {
  AllocatorScenario s({.claim_after = hours(24)});
  s.agent("a1", "cpus:12;mem:12GiB");
  s.framework("batch").in_role("lab").asks("cpus:1", 100'000);
  s.run_until_nothing_fits();
  s.framework("web").in_role("eng/web").asks("cpus:4;mem:1GiB", 100'000);
  s.advance(seconds(1));
  const RoleExplanation lab = role(s, "lab");
  ASSERT_EQ(lab.held.size(), 1u);
  EXPECT_EQ(lab.held[0].why, RoleHindrance::kOwed);
  EXPECT_EQ(
      to_text(lab.held[0]),
      "resources that become free are held for eng/web/web, which is entitled to 6 cpus and has 0");
  // A freed place is kept for it, until there is a second.
  s.framework("batch").ends(1);
  s.advance(seconds(1));
  EXPECT_EQ(role(s, "eng").held.at(0).why, RoleHindrance::kSetAside);
}

// The next decision revokes the victims that explain_task() names.
TEST(ExplainTask, NamesThoseWhoAreToldNext) {
  AllocatorScenario s;
  s.agent("a1", "cpus:6;mem:6GiB");
  s.guarantee("eng", "cpus:2");
  s.guarantee("lab", "cpus:1");
  s.framework("exact").in_role("lab").asks("cpus:1", 1);
  s.run_until_nothing_fits();
  s.framework("batch").in_role("ops").asks("cpus:1", 5);
  s.run_until_nothing_fits();
  s.advance(minutes(1));
  s.framework("web").in_role("eng").asks("cpus:2", 1);
  std::vector<TaskId> said;
  for (size_t i = 0; i < 5; ++i) {
    const TaskStanding standing = task(s, "batch", i);
    if (standing.victim_for.empty()) continue;
    EXPECT_EQ(standing.victim_for[0].framework, FrameworkId("web"));
    EXPECT_EQ(standing.victim_for[0].role, RoleName("eng"));
    EXPECT_FALSE(standing.victim_for[0].from.has_value());
    said.push_back(s.framework("batch").running()[i].id);
  }
  const TaskStanding covered = task(s, "exact");
  EXPECT_EQ(covered.guaranteed_by, RoleName("lab"));
  EXPECT_THAT(covered.victim_for, IsEmpty());
  EXPECT_THAT(covered.over, IsEmpty());

  s.decide();
  std::vector<TaskId> told;
  for (const Revoke& revoke : s.revokes()) told.push_back(revoke.task);
  EXPECT_EQ(told.size(), 2u);
  EXPECT_THAT(said, testing::UnorderedElementsAreArray(told));
  EXPECT_FALSE(s.allocator()
                   .explain_task(AgentId("a1"), FrameworkId("web"), TaskId("none"), s.now())
                   .has_value());
}

TEST(ExplainRole, WithoutLendingSaysThatHeadroomIsHeld) {
  AllocatorScenario s({.reclaim = ReclaimMode::kOff});
  s.agent("a1", "cpus:4;mem:4GiB");
  s.guarantee("eng", "cpus:3");
  s.framework("f").in_role("ops").asks("cpus:2", 1);
  s.decide();
  const RoleExplanation ops = role(s, "ops");
  ASSERT_EQ(ops.held.size(), 1u);
  EXPECT_EQ(ops.held[0].why, RoleHindrance::kGuarantees);
  EXPECT_EQ(ops.held[0].wanted, 2'000);
  EXPECT_EQ(ops.held[0].left, 1'000);
  EXPECT_TRUE(role(s, "eng").headroom_is_held);
  EXPECT_EQ(role(s, "eng").headroom[ResourceKind::kCpus], 3'000);
}

}  // namespace
}  // namespace proffer::explain_roles_test
