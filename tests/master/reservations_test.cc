// Reservations of agents' resources for roles: by operators, and by frameworks in their offers.

#include "master/core/reservations.h"

#include "tests/master/cluster.h"

namespace proffer::master::reservations_test {
namespace {

ReserveForRole reserve(const std::string& agent, const std::string& role,
                       const std::string& amounts) {
  return {.agent = AgentId(agent), .role = RoleName(role), .amounts = *parse_shape(amounts)};
}
ReserveForRole unreserve(const std::string& agent, const std::string& role,
                         const std::string& amounts = "") {
  return {.agent = AgentId(agent),
          .role = RoleName(role),
          .amounts = amounts.empty() ? ResourceVector() : *parse_shape(amounts),
          .unreserve = true};
}
// "eng cpus:2 dynamic", by role.
Lines reserved_on(const MasterScenario& s, const std::string& agent) {
  Lines lines;
  for (const proto::ReservedRow& row : s.agent_row(agent).reserved) {
    lines.push_back(text(row.role.str(), " ", to_text(row.amounts), row.dynamic ? " dynamic" : ""));
  }
  return lines;
}

TEST(Reservations, MovePartsAndNeverChangeTheSum) {
  const Resources all = *parse_agent_resources("cpus:4;mem:4GiB;gpus:2");
  const std::vector<Slice> own = {{.resources = {.amounts = all.amounts, .gpus = all.gpus}}};
  const Resources part = {.amounts = *parse_shape("cpus:1;gpus:1"), .gpus = {{1, 1000}}};
  const std::vector<Slice> slices = with_reserved(own, {{RoleName("eng"), part}});
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(part_of(slices, RoleName("eng")), part);
  EXPECT_EQ(part_of(slices, RoleName()).gpus, (std::vector<GpuDevice>{{0, 1000}}));
  EXPECT_EQ(part_of(slices, RoleName()).amounts + part.amounts, all.amounts);
  // Resources that are not there cannot be reserved.
  const std::vector<Slice> small = with_reserved(
      {{.resources = {.amounts = *parse_shape("cpus:0.5")}}}, {{RoleName("eng"), part}});
  ASSERT_EQ(small.size(), 1u);
  EXPECT_EQ(to_text(small[0].resources), "cpus:0.5");
  EXPECT_EQ(small[0].reserved_for, RoleName("eng"));
}

TEST(Reservations, OfOperatorsSurviveMasterAndAgent) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1", "cpus:4;mem:8GiB");
  EXPECT_EQ(s.calls(reserve("a1", "eng", "cpus:1;mem:1GiB")), "done");
  EXPECT_EQ(s.calls(reserve("a1", "eng", "cpus:1")), "done");
  EXPECT_EQ(s.calls(reserve("a1", "batch/x", "cpus:1")), "done");
  const Lines expected = {"batch/x cpus:1 dynamic", "eng cpus:2;mem:1024 dynamic"};
  EXPECT_EQ(reserved_on(s, "a1"), expected);
  EXPECT_EQ(to_text(s.agent_row("a1").total), "cpus:4;mem:8192");
  s.restart_master();
  a.registers();
  s.settle();
  EXPECT_EQ(reserved_on(s, "a1"), expected);
  a.lose();
  a.registers();
  s.settle();
  EXPECT_EQ(reserved_on(s, "a1"), expected);
  EXPECT_EQ(to_text(s.agent_row("a1").total), "cpus:4;mem:8192");
}

TEST(Reservations, AreGivenBackInPartOrWhole) {
  MasterScenario s;
  s.registered_agent("a1");
  s.calls(reserve("a1", "eng", "cpus:3"));
  EXPECT_EQ(s.calls(unreserve("a1", "eng", "cpus:1")), "done");
  EXPECT_EQ(reserved_on(s, "a1"), (Lines{"eng cpus:2 dynamic"}));
  EXPECT_EQ(s.calls(unreserve("a1", "eng")), "done");
  EXPECT_EQ(reserved_on(s, "a1"), Lines{});
}

TEST(Reservations, OnlyOfWhatIsNeitherReservedNorInUse) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1", "cpus:4;mem:8GiB");
  TestScheduler& f = s.with_task("t1", "cpus:3;mem:1GiB");
  a.updates(f.id, "t1", proto::TaskState::kRunning);
  EXPECT_EQ(s.calls(reserve("a1", "eng", "cpus:2")).find("agent 'a1' has only 'cpus:1;mem:7168'"),
            0u)
      << s.calls(reserve("a1", "eng", "cpus:2"));
  EXPECT_EQ(s.calls(reserve("a1", "eng", "cpus:1")), "done");
  EXPECT_NE(s.calls(reserve("a1", "eng", "cpus:1")), "done");
  EXPECT_EQ(s.calls(reserve("a2", "eng", "cpus:1")), "there is no agent 'a2'");
  EXPECT_NE(s.calls(unreserve("a1", "batch")).find("nothing is reserved for role 'batch'"),
            std::string::npos);
  EXPECT_NE(s.calls(unreserve("a1", "eng", "cpus:2")).find("and only 'cpus:1' is not in use"),
            std::string::npos);
}

TEST(Reservations, OfTheAgentsOwnAreToldAndStay) {
  MasterScenario s;
  TestAgent& a = s.agent("a1", "cpus:4;mem:8GiB");
  a.slices = {{.resources = {.amounts = *parse_shape("cpus:3;mem:8GiB")}},
              {.resources = {.amounts = *parse_shape("cpus:1")}, .reserved_for = RoleName("eng")}};
  a.registers();
  s.settle();
  EXPECT_EQ(reserved_on(s, "a1"), (Lines{"eng cpus:1"}));
  s.calls(reserve("a1", "eng", "cpus:1"));
  EXPECT_EQ(reserved_on(s, "a1"), (Lines{"eng cpus:1", "eng cpus:1 dynamic"}));
  s.calls(unreserve("a1", "eng"));
  EXPECT_NE(s.calls(unreserve("a1", "eng", "cpus:1")), "done");
  EXPECT_EQ(reserved_on(s, "a1"), (Lines{"eng cpus:1"}));
}

TEST(Reservations, OfAnAgentThatIsRemovedAreForgotten) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  s.calls(reserve("a1", "eng", "cpus:1"));
  a.sends(proto::UnregisterAgent{});
  s.settle();
  a.registers();
  s.settle();
  EXPECT_EQ(reserved_on(s, "a1"), Lines{});
}

TEST(Reservations, AnAgentThatComesBackSmallerKeepsWhatFits) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1", "cpus:4;mem:8GiB");
  s.calls(reserve("a1", "eng", "cpus:3"));
  a.lose();
  a.slices = {{.resources = {.amounts = *parse_shape("cpus:2;mem:8GiB")}}};
  a.registers();
  s.settle();
  EXPECT_EQ(s.traced("agent brings less than is reserved of it"), 1);
  EXPECT_EQ(to_text(s.agent_row("a1").total), "cpus:2;mem:8192");
}

TEST(Reservations, AFrameworkReservesOfWhatItWasOffered) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1", "cpus:4;mem:8GiB");
  TestScheduler& f = s.scheduler("f");
  f.subscribe.role = RoleName("eng");
  f.subscribe.mode = OfferMode::kOpen;
  f.subscribes();
  s.settle();
  ASSERT_EQ(f.offers.size(), 1u);
  f.sends(proto::Accept{
      .offers = {f.offers[0].id},
      .operations = {proto::Reserve{AgentId("a1"), RoleName("eng/ads"), *parse_shape("cpus:2")},
                     proto::Launch{AgentId("a1"), {TestScheduler::spec("t1", "cpus:1")}}},
      .refusal = {}});
  EXPECT_TRUE(a.has(f.id, "t1"));
  EXPECT_EQ(reserved_on(s, "a1"), (Lines{"eng/ads cpus:2 dynamic"}));
  s.settle();
  f.offers.clear();
  f.sends(proto::Accept{
      .offers = {},
      .operations = {proto::Reserve{AgentId("a1"), RoleName("batch"), *parse_shape("cpus:1")}},
      .refusal = {}});
  const proto::ErrorMessage error = f.take_one<proto::ErrorMessage>();
  EXPECT_FALSE(error.ends_session);
  EXPECT_NE(error.message.find("or a role below it, not for 'batch'"), std::string::npos);
  EXPECT_TRUE(f.is_connected());
}

TEST(Reservations, AreOfferedToTheirRoleOnlyAndAreInTheClaims) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1", "cpus:2;mem:4GiB");
  s.calls(reserve("a1", "eng", "cpus:2;mem:2GiB"));
  TestScheduler& other = s.subscribed("g", "batch");
  other.asks("cpus:1", 1);
  s.settle();
  EXPECT_TRUE(other.offers.empty());
  TestScheduler& f = s.subscribed("f", "eng");
  f.asks("cpus:1;mem:1GiB", 1);
  s.settle();
  ASSERT_EQ(f.offers.size(), 1u);
  f.accepts({f.offers[0]}, {TestScheduler::spec("t1", "cpus:1;mem:1GiB")});
  ASSERT_TRUE(a.has(f.id, "t1"));
  const TaskClaim& claim = a.tasks.at({f.id, TaskId("t1")}).claim;
  ASSERT_EQ(claim.slices.size(), 1u);
  EXPECT_EQ(claim.slices[0].reserved_for, RoleName("eng"));
  // Resources in use stay reserved; the rest can be unreserved.
  EXPECT_NE(s.calls(unreserve("a1", "eng")), "done");
  EXPECT_EQ(s.calls(unreserve("a1", "eng", "cpus:1;mem:1GiB")), "done");
  s.settle();
  EXPECT_EQ(other.offers.size(), 1u);
  // A new master knows the slice of the task.
  a.updates(f.id, "t1", proto::TaskState::kRunning);
  s.restart_master();
  a.registers();
  s.settle();
  EXPECT_NE(s.calls(unreserve("a1", "eng")), "done");
  EXPECT_EQ(s.calls(reserve("a1", "eng", "cpus:1")), "done");
}

}  // namespace
}  // namespace proffer::master::reservations_test
