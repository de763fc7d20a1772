// The work in a master's steps: refused launches are not work, expired asks no longer wait, and
// finished work is forgotten.

#include "sim/recorded_work.h"

#include <gtest/gtest.h>

#include "common/text.h"
#include "sim/policy_trial.h"
#include "tests/master/cluster.h"
#include "tests/support/trial_cases.h"

namespace proffer::sim::recorded_work_test {
namespace {

using master::MasterScenario;
using master::TestAgent;
using master::TestScheduler;

class WorkReaderOf : public testing::Test {
 protected:
  WorkReaderOf() {
    reader_.begins(cluster_.options, {});
    cluster_.hears = [this](const master::MasterEvent& event) {
      reader_.hears(event, cluster_.now);
    };
    cluster_.says = [this](const master::MasterOutbox& out) { reader_.says(out); };
  }

  MasterScenario cluster_;
  WorkReader reader_;
};

Ask ask_of(const std::string& name, int64_t count, Duration expiry = {}) {
  return {.name = AskName(name),
          .shape = parse_shape("cpus:1;mem:64").value(),
          .count = count,
          .expiry = expiry};
}

TEST_F(WorkReaderOf, ChangesOfOperatorsThatAreRefusedAreNoPartOfTheWork) {
  cluster_.registered_agent("a1", "cpus:4;mem:8GiB");
  const PrincipalPtr by = master::user_with_all_rights();
  const AgentId a1("a1");
  const AgentId unknown("nobody");
  cluster_.step(master::DrainAgent{.by = by, .agent = unknown});
  cluster_.step(master::UndrainAgent{.by = by, .agent = unknown});
  const ResourceVector too_much = parse_shape("cpus:64;mem:64").value();
  cluster_.step(
      master::ReserveForRole{.by = by, .agent = a1, .role = RoleName("eng"), .amounts = too_much});
  // More than the parent role may use.
  cluster_.step(
      master::SetRole{.by = by, .role = RoleName("eng"), .limit = parse_quota("cpus:1").value()});
  cluster_.step(master::SetRole{
      .by = by, .role = RoleName("eng/ads"), .guarantee = parse_quota("cpus:2").value()});
  cluster_.step(master::DrainAgent{.by = by, .agent = a1});
  const Work work = reader_.work();
  ASSERT_EQ(work.operations.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<master::SetRole>(work.operations[0].second));
  EXPECT_TRUE(std::holds_alternative<master::DrainAgent>(work.operations[1].second));
}

TEST_F(WorkReaderOf, RegistrationsThatAreRefusedAreNoPartOfTheWork) {
  cluster_.registered_agent("a1", "cpus:4;mem:8GiB");
  // An agent with the same name but without the secret.
  TestAgent& impostor = cluster_.agent("a1", "cpus:64;mem:64GiB");
  impostor.registers();
  cluster_.settle();
  EXPECT_TRUE(impostor.was_dropped());
  TestScheduler& sort = cluster_.subscribed("sort", "eng");
  TestScheduler& thief = cluster_.scheduler("thief");
  thief.id = sort.id;
  thief.subscribes();
  cluster_.settle();
  thief.sends(proto::DeclareAsks{.generation = 1, .asks = {ask_of("map", 5)}});
  sort.sends(proto::DeclareAsks{.generation = 1, .asks = {ask_of("map", 2)}});
  const Work work = reader_.work();
  ASSERT_EQ(work.agents.size(), 1u);
  EXPECT_EQ(work.agents[0].total.amounts, parse_shape("cpus:4;mem:8GiB").value());
  ASSERT_EQ(work.frameworks.size(), 1u);
  EXPECT_EQ(work.frameworks[0].name, "sort");
  EXPECT_EQ(work.items.size(), 2u);
}

TEST_F(WorkReaderOf, AsksThatAreRejectedAreNoPartOfTheWork) {
  TestScheduler& sort = cluster_.subscribed("sort", "eng");
  Ask elsewhere = ask_of("reduce", 3);
  elsewhere.role = RoleName("ops");
  sort.sends(proto::DeclareAsks{.generation = 1, .asks = {ask_of("map", 2), elsewhere}});
  EXPECT_EQ(reader_.work().items.size(), 2u);
}

TEST_F(WorkReaderOf, TasksOfAnAskThatExpiresWaitNoLonger) {
  TestScheduler& sort = cluster_.subscribed("sort");
  sort.sends(proto::DeclareAsks{.generation = 1,
                                .asks = {ask_of("map", 3, seconds(20)), ask_of("reduce", 2)}});
  cluster_.advance(seconds(10));
  // The same ask with another count keeps its expiry.
  sort.sends(proto::DeclareAsks{.generation = 2,
                                .asks = {ask_of("map", 4, seconds(20)), ask_of("reduce", 2)}});
  EXPECT_EQ(reader_.work().items.size(), 6u);
  cluster_.advance(seconds(11));
  EXPECT_EQ(reader_.work().items.size(), 2u);
  EXPECT_EQ(reader_.work().withdrawn, 4);
  sort.sends(proto::DeclareAsks{.generation = 3,
                                .asks = {ask_of("map", 9, seconds(20)), ask_of("reduce", 2)}});
  EXPECT_EQ(reader_.work().items.size(), 2u);
  // Another ask with the same name starts a new one.
  sort.sends(proto::DeclareAsks{.generation = 4,
                                .asks = {ask_of("map", 9, seconds(30)), ask_of("reduce", 2)}});
  EXPECT_EQ(reader_.work().items.size(), 11u);
}

// A session's asks end with it: an equal ask of the next session is another one.
TEST_F(WorkReaderOf, AnExpiryBeginsAnewWithASession) {
  TestScheduler& sort = cluster_.subscribed("sort");
  sort.sends(proto::DeclareAsks{.generation = 1, .asks = {ask_of("map", 3, seconds(20))}});
  cluster_.advance(seconds(21));
  EXPECT_EQ(reader_.work().items.size(), 0u);
  sort.lose();
  sort.connect();
  sort.subscribes();
  sort.sends(proto::DeclareAsks{.generation = 1, .asks = {ask_of("map", 3, seconds(20))}});
  EXPECT_EQ(reader_.work().items.size(), 3u);
  cluster_.advance(seconds(21));
  EXPECT_EQ(reader_.work().items.size(), 0u);
  EXPECT_EQ(reader_.work().withdrawn, 6);
}

// Otherwise a framework with a new ask name for each job would fill the memory.
TEST_F(WorkReaderOf, AsksThatAreNoLongerDeclaredAreForgotten) {
  TestScheduler& sort = cluster_.subscribed("sort");
  for (uint64_t job = 1; job <= 50; ++job) {
    sort.sends(proto::DeclareAsks{
        .generation = job, .asks = {ask_of(text("job-", job), 1, hours(1)), ask_of("always", 1)}});
    EXPECT_EQ(reader_.asks(), 2u);
  }
  EXPECT_EQ(reader_.work().withdrawn, 49);
}

// The master continued unrecorded: the time until its next run was not without a master.
TEST(LifeReplay, SaysIfTheMasterWentOnUnrecorded) {
  const auto ended_by = [](std::string_view why) {
    MasterScenario cluster;
    master::RecordingWriter writer;
    std::vector<std::string> records =
        writer.begin("1", cluster.options, cluster.master->snapshot());
    if (!why.empty()) records.push_back(writer.end(why));
    master::LifeReplay life;
    CHECK(life.take_all(records).has_value());
    return life.is_ended_early();
  };
  EXPECT_FALSE(ended_by(""));
  EXPECT_FALSE(ended_by(master::kMasterEnded));
  EXPECT_TRUE(ended_by("this life has filled its half of --record_mib, 512 MiB"));
}

// --- work before the recording -------------------------------------------------------------------

// The work of the last run, from its recording alone.
Work work_of_last_life(const TrialCase& trial) {
  std::map<LeaderEpoch, std::vector<std::string>> lives;
  LifeRecorder recorder([&lives](LeaderEpoch leader, std::vector<std::string> records) {
    std::move(records.begin(), records.end(), std::back_inserter(lives[leader]));
  });
  run_case(scenario_of(trial), trial, &recorder);
  recorder.ends();
  WorkReader reader;
  master::LifeReplay life({}, &reader);
  const Result<void> told = life.take_all(lives.rbegin()->second);
  CHECK(told.has_value()) << told.error().message();
  return reader.work();
}

TrialCase two_lives() {
  return {.name = "two lives",
          .yaml = R"(
agents: [{name: a, count: 4, resources: "cpus:4;mem:8GiB"}]
frameworks:
  - {name: f, role: x, joins: 60s,
     tasks: [{name: t, count: 100, resources: "cpus:1", duration: 10s}]}
  - {name: g, role: y, joins: 60s,
     tasks: [{name: t, count: 100, resources: "cpus:1", duration: 10s}]}
)",
          .master_ends = seconds(30)};
}

// The error of the role's waits without a change, in thousandths of the recorded waits.
int64_t off(const Work& work, const std::string& role) {
  const Result<proto::PolicyTrial> tried = try_policy(work, {});
  CHECK(tried.has_value()) << tried.error().message();
  const proto::PolicyTrial::Role& of = tried->roles.at(role);
  return off_thousandths({.truth = of.recorded.wait_mean, .forecast = of.again.wait_mean});
}

TEST(TrialFromTheMiddle, AgentsThatWereDrainedBeforeTakeNoTasks) {
  TrialCase trial = two_lives();
  trial.operations = {
      {seconds(10), master::DrainAgent{.agent = AgentId("a-0"), .grace = hours(1)}},
      {seconds(11), master::DrainAgent{.agent = AgentId("a-1"), .grace = hours(1)}}};
  const Work work = work_of_last_life(trial);
  EXPECT_EQ(work.drained.size(), 2u);
  EXPECT_TRUE(work.operations.empty());
  EXPECT_LE(off(work, "x"), 100);
  EXPECT_LE(off(work, "y"), 100);
  Work without = work;
  without.drained.clear();
  EXPECT_GT(off(without, "x"), 200);
}

TEST(TrialFromTheMiddle, WhatWasReservedBeforeIsReserved) {
  TrialCase trial = two_lives();
  for (const char* agent : {"a-0", "a-1", "a-2"}) {
    trial.operations.emplace_back(seconds(10),
                                  master::ReserveForRole{.agent = AgentId(agent),
                                                         .role = RoleName("y"),
                                                         .amounts = parse_shape("cpus:4").value()});
  }
  const Work work = work_of_last_life(trial);
  EXPECT_EQ(work.reservations.size(), 3u);
  EXPECT_LE(off(work, "x"), 100);
  EXPECT_LE(off(work, "y"), 100);
  Work without = work;
  without.reservations.clear();
  EXPECT_GT(off(without, "x"), 200);
}

TEST(TrialFromTheMiddle, GuaranteesFromBeforeHold) {
  TrialCase trial = two_lives();
  trial.operations = {{seconds(10), master::SetRole{.role = RoleName("y"),
                                                    .guarantee = parse_quota("cpus:14").value()}}};
  const Work work = work_of_last_life(trial);
  EXPECT_TRUE(work.operations.empty());
  EXPECT_LE(off(work, "x"), 100);
  EXPECT_LE(off(work, "y"), 100);
  Work without = work;
  without.roles.clear();
  EXPECT_GT(off(without, "x"), 200);
}

// A machine that returns is another agent in the trial: an operation applies to the present one.
TEST(TrialFromTheMiddle, AnAgentThatCameBackIsDrainedByItsNewName) {
  Work work;
  work.begins = Time() + seconds(100);
  work.ends = work.begins + seconds(100);
  const Resources total = parse_resources("cpus:1;mem:1GiB").value();
  work.agents = {{.agent = AgentId("a"),
                  .total = total,
                  .joins = work.begins,
                  .leaves = work.begins + seconds(10)},
                 {.agent = AgentId("a"), .total = total, .joins = work.begins + seconds(20)}};
  work.frameworks = {{.id = FrameworkId("f"), .name = "f", .role = RoleName("x")}};
  work.kinds = {{.role = RoleName("x"), .ask = {.shape = parse_shape("cpus:1").value()}}};
  work.items = {{.attempts = {{.wanted = work.begins}}}};
  work.operations = {{work.begins + seconds(5), master::DrainAgent{.agent = AgentId("a")}},
                     {work.begins + seconds(30), master::DrainAgent{.agent = AgentId("a")}}};
  const Result<WorkScenario> made = scenario_of(work, {});
  ASSERT_TRUE(made.has_value()) << made.error().message();
  ASSERT_EQ(made->operations.size(), 2u);
  EXPECT_EQ(std::get<master::DrainAgent>(made->operations[0].second).agent, AgentId("a"));
  EXPECT_EQ(std::get<master::DrainAgent>(made->operations[1].second).agent, AgentId("a.2"));
}

}  // namespace
}  // namespace proffer::sim::recorded_work_test
