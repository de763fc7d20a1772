// Gangs never run in part: if one task ends before all have run, all end.

#include "master/core/gangs.h"

#include "tests/master/cluster.h"

namespace proffer::master::gangs_test {
namespace {

using proto::TaskReason;
using proto::TaskState;

const FrameworkId kF("f");

std::vector<TaskId> ids(std::initializer_list<const char*> names) {
  std::vector<TaskId> out;
  for (const char* name : names) out.emplace_back(name);
  return out;
}

TEST(Gangs, TheEndOfOneBeforeAllHaveRunIsTheEndOfAll) {
  Gangs gangs;
  gangs.add(kF, 1, TaskId("t1"), false);
  gangs.add(kF, 1, TaskId("t2"), false);
  gangs.add(kF, 1, TaskId("t3"), false);
  gangs.add(kF, 2, TaskId("u1"), false);
  gangs.ran(kF, 1, TaskId("t1"));
  EXPECT_EQ(gangs.end(kF, 1, TaskId("t1")), ids({"t2", "t3"}));
  EXPECT_TRUE(gangs.end(kF, 1, TaskId("t2")).empty());  // a known gang
  EXPECT_TRUE(gangs.end(kF, 1, TaskId("t3")).empty());
  EXPECT_EQ(gangs.size(), 1u);
}

TEST(Gangs, OnceAllHaveRunEachEndsByItself) {
  Gangs gangs;
  gangs.add(kF, 1, TaskId("t1"), false);
  gangs.add(kF, 1, TaskId("t2"), false);
  gangs.ran(kF, 1, TaskId("t1"));
  gangs.ran(kF, 1, TaskId("t2"));
  EXPECT_TRUE(gangs.end(kF, 1, TaskId("t1")).empty());
  EXPECT_TRUE(gangs.end(kF, 1, TaskId("t2")).empty());
  EXPECT_EQ(gangs.size(), 0u);
}

TEST(Gangs, OneThatIsFoundLateEndsWithAGangThatHasFailed) {
  Gangs gangs;
  gangs.add(kF, 1, TaskId("t1"), true);
  gangs.add(kF, 1, TaskId("t2"), false);
  EXPECT_EQ(gangs.end(kF, 1, TaskId("t2")), ids({"t1"}));
  EXPECT_TRUE(gangs.add(kF, 1, TaskId("t3"), true));
}

// A restarted master learns of a gang in which one task has not run yet.
TEST(Gangs, AreKnownAgainFromWhatAgentsTell) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.subscribed("f");
  // An earlier version made the framework, so its tasks may have no tickets.
  MasterSnapshot durable = s.master->snapshot();
  for (proto::RegistryRow& row : durable.rows) {
    if (auto* framework = std::get_if<proto::FrameworkRecord>(&row)) framework->ticket_key = {};
  }
  s.options.leader = LeaderEpoch(s.options.leader.value() + 1);
  s.restart_with(durable);
  for (const char* name : {"t1", "t2"}) {
    proto::AgentTask task;
    task.framework = f.id;
    task.task = TaskId(name);
    task.resources = {.amounts = *parse_shape("cpus:1")};
    task.claim = {
        .slices = {{.resources = task.resources}}, .role = RoleName("default"), .gang = 7};
    a.tasks.emplace(std::pair(f.id, TaskId(name)), task);
  }
  a.registers();
  f.subscribes();
  a.updates(f.id, "t1", TaskState::kRunning);
  a.take<proto::KillTask>();
  a.updates(f.id, "t2", TaskState::kFailed, TaskReason::kLaunchFailed);
  EXPECT_EQ(a.take_one<proto::KillTask>().task, TaskId("t1"));
  f.told();
  a.updates(f.id, "t1", TaskState::kKilled, TaskReason::kKilledByScheduler);
  EXPECT_EQ(f.told(), (Lines{"t1 killed gang_incomplete"}));
}

// Two agents with room for one task each, and a framework with an offer of a gang of two.
struct GangStory : MasterScenario {
  GangStory() {
    a = &registered_agent("a1", "cpus:1;mem:1GiB");
    b = &registered_agent("a2", "cpus:1;mem:1GiB");
    f = &subscribed("f");
    Ask ask{.name = AskName("g"), .shape = *parse_shape("cpus:1"), .count = 2};
    ask.gang = 2;
    f->sends(proto::DeclareAsks{.generation = 1, .asks = {ask}});
    settle();
    EXPECT_EQ(f->offers.size(), 2u);
  }
  // Launches one task on each of these offers.
  void accepts(std::vector<Offer> used) {
    proto::Accept accept;
    int number = 0;
    for (const Offer& offer : used) {
      accept.offers.push_back(offer.id);
      proto::TaskSpec spec = TestScheduler::spec("t" + std::to_string(++number), "cpus:1", "g");
      accept.operations.push_back(proto::Launch{offer.agent, {spec}});
    }
    f->sends(accept);
  }
  TestAgent* a = nullptr;
  TestAgent* b = nullptr;
  TestScheduler* f = nullptr;
};

TEST(GangOffers, AreOfOneGangAndLaunchedAsAWhole) {
  GangStory s;
  const std::vector<Offer> offers = s.f->offers;
  EXPECT_NE(offers[0].gang, 0u);
  EXPECT_EQ(offers[0].gang, offers[1].gang);
  s.accepts(offers);
  EXPECT_EQ(s.a->tasks.size() + s.b->tasks.size(), 2u);
  EXPECT_TRUE(s.f->told().empty());
}

TEST(GangOffers, OneAloneIsRefusedAndTheOtherTakenBack) {
  GangStory s;
  s.accepts({s.f->offers.at(0)});
  EXPECT_EQ(s.f->told(), (Lines{"t1 refused gang_incomplete"}));
  EXPECT_TRUE(s.a->tasks.empty() && s.b->tasks.empty());
  s.f->offers.clear();
  s.settle();
  EXPECT_EQ(s.f->offers.size(), 2u);  // a second gang: the ask is not complete
}

TEST(GangOffers, ADeclineOfBothIsAnsweredOnce) {
  GangStory s;
  s.f->sends(proto::Decline{.offers = {s.f->offers[0].id, s.f->offers[1].id},
                            .refusal = {.refuse_for = seconds(5)}});
  s.settle();
  EXPECT_EQ(s.allocated(), "");
}

TEST(GangOffers, WhatTheAgentCannotStartEndsTheOthers) {
  GangStory s;
  s.accepts(s.f->offers);
  s.a->updates(s.f->id, s.a->tasks.begin()->first.second.str(), TaskState::kRunning);
  s.b->updates(s.f->id, s.b->tasks.begin()->first.second.str(), TaskState::kFailed,
               TaskReason::kLaunchFailed);
  EXPECT_EQ(s.a->take<proto::KillTask>().size(), 1u);
}

}  // namespace
}  // namespace proffer::master::gangs_test
