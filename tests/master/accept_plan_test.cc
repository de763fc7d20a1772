// Each rule of an accept, and how resources and ports are chosen.

#include "master/core/accept_plan.h"

#include <functional>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proffer::master::accept_plan_test {
namespace {

using proto::TaskReason;

// One agent, "a", with one offer of all it has, to a framework "f".
struct Desk {
  Desk() { add_agent("a", "cpus:4;mem:4096;gpus:2;ports:[31000-31002]"); }

  void add_agent(const std::string& name, const std::string& text) {
    const Resources resources = *parse_agent_resources(text);
    Agent& agent = agents.add(AgentId(name), Secret("s"));
    agent.state = proto::AgentState::kActive;
    agent.free_ports = resources.ports;
    add_offer(name, {.amounts = resources.amounts, .gpus = resources.gpus});
  }
  void add_offer(const std::string& agent, Resources resources) {
    auto grant = std::make_unique<Grant>();
    grant->offer.id = OfferId(grants.size() + 1);
    grant->offer.agent = AgentId(agent);
    grant->offer.slices = {{.resources = std::move(resources)}};
    grants.push_back(std::move(grant));
  }
  static proto::TaskSpec spec(const std::string& id, const std::string& shape) {
    proto::TaskSpec spec;
    spec.id = TaskId(id);
    spec.shape = *parse_shape(shape);
    spec.command = "true";
    return spec;
  }
  AcceptPlan plan(std::vector<proto::TaskSpec> specs, const std::string& on = "a") const {
    TakenOffers taken{.valid = {}, .invalid = invalid};
    for (const auto& grant : grants) taken.valid.push_back(grant.get());
    proto::Accept accept;
    accept.operations.push_back(proto::Launch{AgentId(on), std::move(specs)});
    return plan_accept(accept, FrameworkId("f"), taken, tasks, agents);
  }

  Agents agents;
  Tasks tasks;
  std::vector<std::unique_ptr<Grant>> grants;
  std::optional<OfferId> invalid = {};
};

// What is launched of the first agent's offers.
std::string used_of(const AcceptPlan& plan) {
  Resources used;
  for (const RunningTask& task : plan.uses[0].tasks) {
    for (const Slice& slice : task.claim.slices) used += slice.resources;
  }
  return to_text(used);
}

TEST(AcceptPlan, LaunchesWithWhatItCarvesFromTheOffer) {
  Desk desk;
  proto::TaskSpec first = desk.spec("t1", "cpus:1;mem:512;gpus:0.5");
  first.port_names = {"http", "admin"};
  first.ask = AskName("web");
  proto::TaskSpec second = desk.spec("t2", "cpus:1;gpus:1");
  second.port_names = {"http"};
  const AcceptPlan plan = desk.plan({first, second});

  ASSERT_EQ(plan.launches.size(), 2u);
  EXPECT_TRUE(plan.refusals.empty());
  const proto::Assignment& one = plan.launches[0].assignment;
  EXPECT_EQ(one.ports, (std::map<std::string, uint16_t>{{"http", 31000}, {"admin", 31001}}));
  EXPECT_EQ(one.resources.gpus, (std::vector<GpuDevice>{{0, 500}}));
  EXPECT_TRUE(one.resources.ports.contains(31001));
  const proto::Assignment& two = plan.launches[1].assignment;
  EXPECT_EQ(two.ports.at("http"), 31002);
  EXPECT_EQ(two.resources.gpus, (std::vector<GpuDevice>{{1, 1000}}));
  ASSERT_EQ(plan.uses.size(), 1u);
  ASSERT_EQ(plan.uses[0].tasks.size(), 2u);
  EXPECT_EQ(plan.uses[0].tasks[0].ask, AskName("web"));
  EXPECT_EQ(plan.uses[0].tasks[1].ask, AskName());
  EXPECT_EQ(used_of(plan), "cpus:2;mem:512;gpus:1.5");
  EXPECT_EQ(plan.ports.at(AgentId("a")).size(), 3);
}

TEST(AcceptPlan, RefusesWithTheReasonThatFits) {
  struct Row {
    std::string_view what;
    TaskReason reason;
    std::function<void(Desk&, proto::TaskSpec&)> spoil;
    std::string on = "a";
  };
  const Row rows[] = {
      {"no id", TaskReason::kTaskInvalid, [](Desk&, auto& t) { t.id = TaskId(); }},
      {"a wrong id", TaskReason::kTaskInvalid, [](Desk&, auto& t) { t.id = TaskId("a/b"); }},
      {"a wrong ask", TaskReason::kTaskInvalid, [](Desk&, auto& t) { t.ask = AskName("a b"); }},
      {"a wrong executor id", TaskReason::kTaskInvalid,
       [](Desk&, auto& t) { t.executor_id = ExecutorId(".."); }},
      {"no executor", TaskReason::kTaskInvalid, [](Desk&, auto& t) { t.executor.clear(); }},
      {"no command", TaskReason::kTaskInvalid, [](Desk&, auto& t) { t.command.clear(); }},
      {"a zero in the command", TaskReason::kTaskInvalid,
       [](Desk&, auto& t) { t.command = std::string("a\0b", 3); }},
      {"no shape", TaskReason::kTaskInvalid, [](Desk&, auto& t) { t.shape = ResourceVector(); }},
      {"a negative shape", TaskReason::kTaskInvalid,
       [](Desk&, auto& t) { t.shape = ResourceVector::of(-1, 5); }},
      {"gpus of one and a half", TaskReason::kTaskInvalid,
       [](Desk&, auto& t) { t.shape[ResourceKind::kGpus] = 1500; }},
      {"a negative grace", TaskReason::kTaskInvalid,
       [](Desk&, auto& t) { t.kill_grace = Duration::nanos(-1); }},
      {"a wrong variable", TaskReason::kTaskInvalid,
       [](Desk&, auto& t) { t.environment["A=B"] = "c"; }},
      {"a nameless variable", TaskReason::kTaskInvalid,
       [](Desk&, auto& t) { t.environment[""] = "c"; }},
      {"a wrong port name", TaskReason::kTaskInvalid,
       [](Desk&, auto& t) { t.port_names = {"a-b"}; }},
      {"a port name twice", TaskReason::kTaskInvalid,
       [](Desk&, auto& t) {
         t.port_names = {"a", "a"};
       }},
      {"too many ports", TaskReason::kTaskInvalid,
       [](Desk&, auto& t) { t.port_names.assign(kPortNamesMax + 1, "a"); }},
      {"a health check of another executor", TaskReason::kTaskInvalid,
       [](Desk&, auto& t) {
         t.executor = proto::kBatchExecutor;
         t.health = proto::HealthCheck{.kind = proto::HealthCheck::Kind::kCommand, .command = "x"};
       }},
      {"a health check of a port that it has not", TaskReason::kTaskInvalid,
       [](Desk&, auto& t) { t.health = proto::HealthCheck{.port = "http"}; }},
      {"an id that lives", TaskReason::kDuplicateTaskId,
       [](Desk& d, auto& t) {
         Task live;
         live.key = {FrameworkId("f"), t.id};
         d.tasks.add(std::move(live));
       }},
      {"an id that ended", TaskReason::kDuplicateTaskId,
       [](Desk& d, auto& t) {
         Task ended;
         ended.key = {FrameworkId("f"), t.id};
         ended.state = proto::TaskState::kFinished;
         d.tasks.end(d.tasks.add(std::move(ended)));
       }},
      {"an unknown agent", TaskReason::kAgentNotAvailable, [](Desk&, auto&) {}, "b"},
      {"an agent that is away", TaskReason::kAgentNotAvailable,
       [](Desk& d, auto&) {
         d.agents.find(AgentId("a"))->state = proto::AgentState::kDisconnected;
       }},
      {"a void offer", TaskReason::kOfferNotValid, [](Desk& d, auto&) { d.invalid = OfferId(77); }},
      {"no offer of the agent", TaskReason::kOfferNotValid,
       [](Desk& d, auto&) {
         d.agents.add(AgentId("b"), Secret("s")).state = proto::AgentState::kActive;
       },
       "b"},
      {"too many cpus", TaskReason::kResourcesExceeded,
       [](Desk&, auto& t) { t.shape[ResourceKind::kCpus] = 4001; }},
      {"too many gpus", TaskReason::kResourcesExceeded,
       [](Desk&, auto& t) { t.shape[ResourceKind::kGpus] = 3000; }},
      {"too many ports for the agent", TaskReason::kPortsNotAvailable,
       [](Desk&, auto& t) {
         t.port_names = {"a", "b", "c", "d"};
       }},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    Desk desk;
    proto::TaskSpec spec = desk.spec("t", "cpus:1;mem:512");
    row.spoil(desk, spec);
    // What is wrong with one task is nothing to the next of the same accept.
    const AcceptPlan plan = desk.plan({spec, desk.spec("fine", "cpus:1")}, row.on);
    ASSERT_FALSE(plan.refusals.empty());
    EXPECT_EQ(plan.refusals[0].reason, row.reason)
        << proto::to_text(plan.refusals[0].reason) << ": " << plan.refusals[0].message;
    EXPECT_FALSE(plan.refusals[0].message.empty());
    if (row.reason != TaskReason::kAgentNotAvailable && row.reason != TaskReason::kOfferNotValid) {
      EXPECT_EQ(plan.refusals.size(), 1u);
      EXPECT_EQ(plan.launches.size(), 1u);
    } else {
      EXPECT_EQ(plan.refusals.size(), 2u);
      EXPECT_TRUE(plan.uses[0].tasks.empty());
    }
  }
}

TEST(AcceptPlan, RefusesTheSecondTaskOfOneIdInOneAccept) {
  const Desk desk;
  const AcceptPlan plan = desk.plan({desk.spec("t", "cpus:1"), desk.spec("t", "cpus:1")});
  EXPECT_EQ(plan.launches.size(), 1u);
  ASSERT_EQ(plan.refusals.size(), 1u);
  EXPECT_EQ(plan.refusals[0].reason, TaskReason::kDuplicateTaskId);
  EXPECT_EQ(plan.refusals[0].task, 1u);
}

TEST(AcceptPlan, TakesAnIdAgainWhoseLaunchWasRefused) {
  Desk desk;
  desk.tasks.add_refused(
      {.framework = FrameworkId("f"), .task = TaskId("t"), .state = proto::TaskState::kRefused});
  EXPECT_EQ(desk.plan({desk.spec("t", "cpus:1")}).launches.size(), 1u);
}

TEST(AcceptPlan, RefusesWhatTheTasksBeforeHaveUsedUp) {
  const Desk desk;
  const AcceptPlan plan =
      desk.plan({desk.spec("t1", "cpus:3"), desk.spec("t2", "cpus:3"), desk.spec("t3", "cpus:1")});
  ASSERT_EQ(plan.refusals.size(), 1u);
  EXPECT_EQ(plan.refusals[0].task, 1u);
  EXPECT_EQ(used_of(plan), "cpus:4");
}

TEST(AcceptPlan, JoinsOffersOfOneAgentForATaskThatNeedsBoth) {
  Desk desk;
  desk.add_offer("a", *parse_resources("cpus:2;mem:100"));
  const AcceptPlan plan = desk.plan({desk.spec("t1", "cpus:5;mem:4100")});
  ASSERT_EQ(plan.launches.size(), 1u);
  EXPECT_EQ(plan.uses[0].offers.size(), 2u);
  EXPECT_EQ(used_of(plan), "cpus:5;mem:4100");
}

TEST(AcceptPlan, RefusesMoreTasksThanAnAgentMayHave) {
  Desk desk;
  std::vector<Task> many(kTasksPerAgentMax - 1);
  for (size_t i = 0; i < many.size(); ++i) {
    many[i].key = {FrameworkId("g"), TaskId(std::to_string(i))};
    desk.agents.find(AgentId("a"))->tasks.insert(&many[i]);
  }
  const AcceptPlan plan = desk.plan({desk.spec("t1", "cpus:1"), desk.spec("t2", "cpus:1")});
  EXPECT_EQ(plan.launches.size(), 1u);
  ASSERT_EQ(plan.refusals.size(), 1u);
  EXPECT_EQ(plan.refusals[0].reason, TaskReason::kAgentFull);
}

}  // namespace
}  // namespace proffer::master::accept_plan_test
