// Slices: reserved for a role, unreserved, and only estimated to be free.

#include <gtest/gtest.h>

#include "tests/allocator/running.h"
#include "tests/allocator/scenario.h"

namespace proffer::reservations_test {
namespace {

// "eng cpus:2", " cpus:4" for unreserved, "~ cpus:1" for revocable; in the order of the offer.
std::vector<std::string> slices(const Offer& offer) {
  std::vector<std::string> all;
  for (const Slice& slice : offer.slices) {
    all.push_back(
        text(slice.revocable ? "~" : slice.reserved_for.str(), " ", to_text(slice.resources)));
  }
  return all;
}
using Slices = std::vector<std::string>;

TEST(Reserved, IsUsedByItsRoleAndThoseBelowOnly) {
  AllocatorScenario s;
  s.agent("a1", "cpus:1;mem:8GiB", "", {{"eng", "cpus:3"}});
  s.framework("out").in_role("ops").asks("cpus:1", 10);
  s.framework("in").in_role("eng/ads").asks("cpus:1", 10);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("in").tasks(), 3);
  EXPECT_EQ(s.framework("out").tasks(), 1);
  EXPECT_EQ(to_text(s.allocator().total()), "cpus:4;mem:8192") << "counted once";
  EXPECT_EQ(s.framework("in").dominant_share(), Share::of(3, 4));
}

TEST(Reserved, OfTheMostSpecificRoleGoesFirstAndIsCombinedWithTheRest) {
  AllocatorScenario s;
  s.agent("a1", "cpus:2;mem:8GiB", "", {{"eng", "cpus:2"}, {"eng/ads", "cpus:1"}});
  s.framework("f").in_role("eng/ads").asks("cpus:4;mem:1GiB", 1);
  s.decide();
  const std::vector<Grant> offers = s.framework("f").outstanding();
  ASSERT_EQ(offers.size(), 1u);
  std::vector<std::string> told = slices(offers[0].offer);
  std::sort(told.begin(), told.end());
  EXPECT_EQ(told, (Slices{" cpus:1;mem:1024", "eng cpus:2", "eng/ads cpus:1"}));
  s.framework("f").accepts_all();
  EXPECT_EQ(to_text(s.allocator().agents()[0].free), "cpus:1;mem:7168");
  s.framework("f").ends(1);
  EXPECT_EQ(to_text(s.allocator().agents()[0].free), "cpus:5;mem:8192");
}

TEST(Reserved, IsNeverLent) {
  AllocatorScenario s;
  s.agent("a1", "cpus:1;mem:8GiB", "", {{"eng", "cpus:3"}});
  s.framework("open").subscribes();
  Ask eager{.name = AskName("task"),
            .shape = parse_shape("cpus:1").value(),
            .count = 10,
            .revocable_ok = true};
  s.framework("eager").asks(eager);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("eager").tasks() + s.framework("open").tasks(), 1);
  EXPECT_EQ(to_text(s.allocator().agents()[0].free), "cpus:3;mem:8192");
  const AskExplanation ask = s.allocator().explain(FrameworkId("eager"), s.now()).asks.at(0);
  ASSERT_EQ(ask.hindered.size(), 1u);
  EXPECT_EQ(ask.hindered[0].why, Hindrance::kReserved);
  EXPECT_EQ(to_text(ask.hindered[0]),
            "not enough cpus outside reservations of other roles: a task takes 1, at most 0 for "
            "this role");
}

TEST(Reserved, IsPartOfOpenOffersToItsRole) {
  AllocatorScenario s;
  s.agent("a1", "cpus:1;mem:8GiB", "", {{"eng", "cpus:3"}});
  s.framework("open").in_role("eng", OfferMode::kOpen);
  s.decide();
  ASSERT_EQ(s.framework("open").outstanding().size(), 1u);
  std::vector<std::string> told = slices(s.framework("open").outstanding()[0].offer);
  std::sort(told.begin(), told.end());
  EXPECT_EQ(told, (Slices{" cpus:1;mem:8192", "eng cpus:3"}));
  s.framework("open").accepts_all();
  EXPECT_EQ(to_text(s.allocator().agents()[0].free), "");
}

TEST(Reserved, ItsOwnIsUsedBeforeWhatOthersCouldUse) {
  AllocatorScenario s;
  s.agent("a1", "cpus:1;mem:8GiB");
  s.agent("a2", "cpus:1;mem:8GiB", "", {{"eng", "cpus:4"}});
  s.framework("in").in_role("eng").asks("cpus:1", 4);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("in").tasks_on("a2"), 4);
  EXPECT_EQ(s.allocator().agents()[1].free.amounts[ResourceKind::kCpus], 1'000);
}

TEST(Reserved, DevicesAreCountedOnce) {
  AllocatorScenario s;
  Slice plain{.resources = {.amounts = ResourceVector::of(4'000, 4'096'000, 0, 1'000),
                            .gpus = {{0, 1'000}}}};
  Slice reserved{.resources = {.amounts = ResourceVector::of(0, 0, 0, 1'000), .gpus = {{1, 1'000}}},
                 .reserved_for = RoleName("eng")};
  s.allocator().set_agent(AgentId("a1"), {.slices = {plain, reserved}});
  s.check();
  s.framework("out").asks("cpus:1;gpus:1", 2);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("out").tasks(), 1);
  s.framework("in").in_role("eng").asks("cpus:1;gpus:0.5", 3);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("in").tasks(), 2);
  for (const auto& task : s.framework("in").running()) {
    EXPECT_EQ(task.resources.gpus, (std::vector<GpuDevice>{{1, 500}}));
  }
}

// An operator reserves resources that tasks use: the tasks stay, and the resources count once.
TEST(Reserved, ChangesWhileTasksRun) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:8GiB");
  s.framework("out").asks("cpus:2;mem:1GiB", 3);
  s.run_until_nothing_fits();
  ASSERT_EQ(s.framework("out").tasks(), 3);
  s.agent("a1", "cpus:4;mem:8GiB", "", {{"eng", "cpus:4"}});
  s.framework("in").in_role("eng").asks("cpus:1", 10);
  s.decide();
  EXPECT_EQ(s.framework("in").offers(), Offers{"a1 cpus:2"}) << "six of eight are used";
  s.framework("in").accepts_all();
  s.framework("out").ends(1);
  s.framework("out").asks("cpus:1", 5);
  s.run_until_nothing_fits();
  // Two more CPUs are free, of the reserved ones, since tasks hold all unreserved ones.
  EXPECT_EQ(s.framework("in").tasks(), 4);
  EXPECT_EQ(s.framework("out").tasks(), 2);
  EXPECT_EQ(to_text(s.allocator().total()), "cpus:8;mem:8192");

  // The reservation ends: resources of its tasks are not free for others.
  s.agent("a1", "cpus:8;mem:8GiB");
  s.run_until_nothing_fits();
  EXPECT_EQ(to_text(s.allocator().agents()[0].free), "mem:6144");
  s.framework("in").ends(4);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.allocator().agents()[0].free.amounts[ResourceKind::kCpus], 0);
}

TEST(Reserved, AChangeTakesBackOnlyOffersThatNoLongerFit) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:8GiB");
  s.framework("x").asks("cpus:3;mem:1GiB", 1);
  s.decide();
  s.framework("y").asks("cpus:3;mem:1GiB", 1);
  s.decide();
  ASSERT_EQ(s.framework("y").offers().size(), 1u);
  s.agent("a1", "cpus:6;mem:8GiB", "", {{"eng", "cpus:2"}});
  EXPECT_EQ(s.framework("y").offers().size(), 1u);
  s.agent("a1", "cpus:4;mem:8GiB", "", {{"eng", "cpus:4"}});
  EXPECT_EQ(s.framework("x").offers().size(), 1u);
  EXPECT_EQ(s.framework("y").offers().size(), 0u);
}

// A reregistered agent runs a task in a reservation that no longer exists.
TEST(Reserved, ATaskOfAnUnknownReservationIsAdopted) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:8GiB");
  s.framework("in").in_role("eng").asks("cpus:1", 0);
  RunningTask task = running_task("t", RoleName("eng"), {.amounts = ResourceVector::of(3'000, 0)});
  task.claim.slices[0].reserved_for = RoleName("eng");
  s.allocator().adopt(AgentId("a1"), FrameworkId("in"), task);
  s.check();
  EXPECT_EQ(to_text(s.allocator().agents()[0].free), "cpus:1;mem:8192");
  s.allocator().release(AgentId("a1"), FrameworkId("in"), TaskId("t"));
  s.check();
  EXPECT_EQ(to_text(s.allocator().agents()[0].free), "cpus:4;mem:8192");
}

Ask revocable(const std::string& shape, int64_t count) {
  return {.name = AskName("task"),
          .shape = parse_shape(shape).value(),
          .count = count,
          .revocable_ok = true};
}

TEST(Estimated, IsForAsksThatMayBeRevokedAndCountsInNothing) {
  AllocatorScenario s;
  s.agent("a1", "cpus:2;mem:2GiB", "", {{"~", "cpus:3;mem:3GiB"}});
  s.framework("sure").asks("cpus:1;mem:1GiB", 10);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("sure").tasks(), 2);
  EXPECT_EQ(to_text(s.allocator().total()), "cpus:2;mem:2048");

  s.framework("spare").asks(revocable("cpus:1;mem:1GiB", 10));
  s.decide();
  ASSERT_EQ(s.framework("spare").outstanding().size(), 1u);
  EXPECT_EQ(slices(s.framework("spare").outstanding()[0].offer), Slices{"~ cpus:3;mem:3072"});
  s.framework("spare").accepts_all();
  EXPECT_EQ(s.framework("spare").tasks(), 3);
  EXPECT_EQ(s.framework("spare").dominant_share(), Share::of(0, 1));
}

TEST(Estimated, IsSharedEvenly) {
  AllocatorScenario s;
  s.agent("a1", "disk:1GiB", "", {{"~", "cpus:6;mem:6GiB"}});
  for (const char* name : {"x", "y", "z"}) s.framework(name).asks(revocable("cpus:1", 10));
  s.run_until_nothing_fits();
  for (const char* name : {"x", "y", "z"}) EXPECT_EQ(s.framework(name).tasks(), 2) << name;
}

TEST(Estimated, TasksAreRevokedWhenItShrinksTheYoungestFirst) {
  AllocatorScenario s;
  s.agent("a1", "disk:1GiB", "", {{"~", "cpus:2;mem:2GiB"}});
  s.framework("spare").asks(revocable("cpus:1", 1));
  s.run_until_nothing_fits();
  s.advance(seconds(5));
  s.framework("spare").asks(revocable("cpus:1", 1));
  s.run_until_nothing_fits();
  ASSERT_EQ(s.framework("spare").tasks(), 2);
  const TaskId youngest = s.framework("spare").running()[1].id;

  s.agent("a1", "disk:1GiB", "", {{"~", "cpus:1;mem:2GiB"}});
  s.decide();
  s.advance(seconds(1));

  ASSERT_EQ(s.revokes().size(), 1u) << "one is enough, and it has one notice";
  EXPECT_EQ(s.revokes()[0].task, youngest);
  EXPECT_EQ(s.revokes()[0].reason, RevokeReason::kEstimate);
  EXPECT_EQ(s.revokes()[0].deadline, s.now() - seconds(1) + kRevokeGrace);
}

TEST(Draining, AnAgentIsOfferedToNobodyAndItsTasksCount) {
  AllocatorScenario s;
  s.agent("a1", "cpus:2;mem:2GiB", "", {{"eng", "cpus:2"}, {"~", "cpus:2"}});
  s.framework("in").in_role("eng").asks("cpus:1", 1);
  s.framework("in").asks(revocable("cpus:1", 10));
  s.framework("open").subscribes();
  s.decide();
  s.framework("in").accepts_all();
  ASSERT_EQ(s.framework("open").offers().size(), 1u);
  s.allocator().set_agent_draining(AgentId("a1"), true);
  s.check();
  s.advance(minutes(1));
  EXPECT_EQ(s.framework("open").offers(), Offers{});
  EXPECT_EQ(s.framework("in").offers(), Offers{});
  EXPECT_GT(s.framework("in").dominant_share(), Share());
  s.allocator().set_agent_draining(AgentId("a1"), false);
  s.framework("in").ends(1);
  s.decide();
  EXPECT_EQ(s.framework("in").offers().size(), 1u);
}

TEST(Take, TakesTheMostSpecificFirstAndDevicesFromOneSlice) {
  std::vector<Slice> from = {
      {.resources = {.amounts = ResourceVector::of(4'000, 0, 0, 2'000),
                     .gpus = {{0, 1'000}, {1, 1'000}}}},
      {.resources = {.amounts = ResourceVector::of(1'000, 0)}, .revocable = true},
      {.resources = {.amounts = ResourceVector::of(1'000, 0, 0, 500), .gpus = {{2, 500}}},
       .reserved_for = RoleName("eng")},
      {.resources = {.amounts = ResourceVector::of(1'000, 0)}, .reserved_for = RoleName("eng/ads")},
  };
  const std::vector<Slice> before = from;
  EXPECT_EQ(take(ResourceVector::of(8'000, 0), from), std::nullopt);
  EXPECT_EQ(take(ResourceVector::of(0, 0, 0, 3'000), from), std::nullopt);
  EXPECT_EQ(from, before);
  EXPECT_EQ(slices({.slices = take(ResourceVector::of(3'000, 0, 0, 500), from).value()}),
            (Slices{"eng/ads cpus:1", "eng cpus:1;gpus:0.5", " cpus:1"}));
  EXPECT_EQ(slices({.slices = take(ResourceVector::of(0, 0, 0, 2'000), from).value()}),
            Slices{" gpus:2"});
  EXPECT_EQ(slices({.slices = take(ResourceVector::of(4'000, 0), from).value()}),
            (Slices{" cpus:3", "~ cpus:1"}));
  EXPECT_TRUE(from.empty() || to_text(Offer{.slices = from}.total()).empty());
}

}  // namespace
}  // namespace proffer::reservations_test
