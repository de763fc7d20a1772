// The rules of an accept, and the choice of resources and ports.

#include "master/core/accept_plan.h"

#include <functional>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "master/core/remembered.h"

namespace proffer::master::accept_plan_test {
namespace {

using proto::TaskReason;

// Agent "a", with one offer of all its resources to framework "f".
struct Desk {
  Desk() { add_agent("a", "cpus:4;mem:4096;gpus:2;ports:[31000-31002]"); }

  void add_agent(const std::string& name, const std::string& text) {
    const Resources resources = *parse_agent_resources(text);
    Agent& agent = agents.add(AgentId(name), Secret("s"));
    agent.state = proto::AgentState::kConnected;
    ports[AgentId(name)] = resources.ports;
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
    TakenOffers taken{.valid = {}, .invalid = invalid, .gangs = {}, .ports = ports};
    for (const auto& grant : grants) taken.valid.push_back(grant.get());
    proto::Accept accept;
    accept.operations.push_back(proto::Launch{AgentId(on), std::move(specs)});
    return plan_accept(accept, framework, taken, tasks, agents, stores);
  }
  // `gangs` has the outstanding offers of each gang, also those that the accept does not name.
  AcceptPlan plan(const proto::Accept& accept, std::map<uint64_t, GangOffers> gangs = {}) const {
    TakenOffers taken{.valid = {}, .invalid = invalid, .gangs = std::move(gangs), .ports = ports};
    for (const auto& grant : grants) taken.valid.push_back(grant.get());
    return plan_accept(accept, framework, taken, tasks, agents);
  }

  // An open framework, so that a task may name any ask or none.
  Framework framework = {
      .record = {.framework = FrameworkId("f"), .role = RoleName("eng"), .mode = OfferMode::kOpen}};
  Agents agents;
  Tasks tasks;
  std::vector<std::unique_ptr<Grant>> grants;
  std::map<AgentId, PortSet> ports = {};
  std::optional<OfferId> invalid = {};
  const FrameworkStores* stores = nullptr;  // for a framework that remembers its tasks
};

// The resources of the first agent that the plan uses.
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
  int64_t taken_ports = 0;
  for (const RunningTask& task : plan.uses[0].tasks) taken_ports += task.ports.size();
  EXPECT_EQ(taken_ports, 3);
}

// Avoids ports that another process has just used, or whose clients still connect.
TEST(AcceptPlan, GivesTheFreePortsAfterTheLastOnesAndThenTheLowest) {
  Desk desk;
  const auto ports_of = [&](std::vector<std::string> names) {
    proto::TaskSpec spec = desk.spec("t", "cpus:1");
    spec.port_names = std::move(names);
    const AcceptPlan plan = desk.plan({spec});
    for (const auto& [agent, port] : plan.next_ports) desk.agents.find(agent)->next_port = port;
    return plan.launches.at(0).assignment.ports;
  };
  using Ports = std::map<std::string, uint16_t>;
  EXPECT_EQ(ports_of({"http"}), (Ports{{"http", 31000}}));
  EXPECT_EQ(ports_of({"http"}), (Ports{{"http", 31001}}));
  EXPECT_EQ(ports_of({"a", "b"}), (Ports{{"a", 31002}, {"b", 31000}}));
  EXPECT_EQ(ports_of({}), Ports{});
  EXPECT_EQ(ports_of({"http"}), (Ports{{"http", 31001}}));
  desk.agents.find(AgentId("a"))->next_port = 65535;
  EXPECT_EQ(ports_of({"http"}), (Ports{{"http", 31000}}));
}

TEST(AcceptPlan, GivesPortsByNumberWhereTheyAreFree) {
  Desk desk;
  proto::TaskSpec spec = desk.spec("t1", "cpus:1");
  spec.port_names = {"http", "admin"};
  spec.static_ports = {{"admin", 31000}};
  proto::TaskSpec second = desk.spec("t2", "cpus:1");
  second.port_names = {"admin"};
  second.static_ports = {{"admin", 31000}};
  proto::TaskSpec third = desk.spec("t3", "cpus:1");
  third.port_names = {"x"};
  const AcceptPlan plan = desk.plan({spec, second, third});
  using Ports = std::map<std::string, uint16_t>;
  ASSERT_EQ(plan.launches.size(), 2u);
  EXPECT_EQ(plan.launches[0].assignment.ports, (Ports{{"http", 31001}, {"admin", 31000}}));
  EXPECT_EQ(plan.launches[1].assignment.ports, (Ports{{"x", 31002}}));
  ASSERT_EQ(plan.refusals.size(), 1u);
  EXPECT_EQ(plan.refusals[0].reason, TaskReason::kPortsNotAvailable);
  EXPECT_THAT(plan.refusals[0].message, ::testing::HasSubstr("port 31000 of agent 'a'"));
  // The refused task's resources are free again.
  EXPECT_EQ(used_of(plan), "cpus:2");
}

TEST(AcceptPlan, ATaskRunsNoLongerThanItOrItsAskSays) {
  struct Row {
    Duration of_task, of_ask, expected;
  };
  for (const Row& row :
       {Row{{}, {}, {}}, Row{minutes(1), {}, minutes(1)}, Row{{}, minutes(2), minutes(2)},
        Row{minutes(1), minutes(2), minutes(1)}, Row{minutes(3), minutes(2), minutes(2)}}) {
    Desk desk;
    desk.framework.asks[AskName("web")] = {.name = AskName("web"), .max_run_time = row.of_ask};
    proto::TaskSpec task = desk.spec("t1", "cpus:1");
    task.ask = AskName("web");
    task.max_run_time = row.of_task;
    const AcceptPlan plan = desk.plan({task});
    ASSERT_EQ(plan.launches.size(), 1u);
    EXPECT_EQ(plan.launches[0].assignment.claim.max_run_time, row.expected);
    EXPECT_EQ(plan.uses[0].tasks[0].claim.max_run_time, row.expected);
  }
}

TEST(AcceptPlan, AnOfferOfWhatIsClaimedIsForTasksThatEndInTime) {
  Desk desk;
  desk.grants[0]->offer.max_run_time = minutes(5);
  desk.add_offer("a", {.amounts = ResourceVector::of(1'000, 0)});
  proto::TaskSpec endless = desk.spec("t1", "cpus:1");
  proto::TaskSpec in_time = desk.spec("t2", "cpus:1");
  in_time.max_run_time = minutes(5);
  proto::TaskSpec too_long = desk.spec("t3", "cpus:1");
  too_long.max_run_time = minutes(5) + milliseconds(1);
  const AcceptPlan plan = desk.plan({endless, in_time, too_long});
  ASSERT_EQ(plan.launches.size(), 2u);
  ASSERT_EQ(plan.refusals.size(), 1u);
  EXPECT_EQ(plan.refusals[0].task, 2u);
  EXPECT_EQ(plan.refusals[0].reason, TaskReason::kResourcesExceeded);
  EXPECT_THAT(plan.refusals[0].message, ::testing::HasSubstr("for at most 5m"));
  ASSERT_EQ(plan.uses.size(), 2u);
  for (const OffersUse& use : plan.uses) {
    ASSERT_EQ(use.tasks.size(), 1u);
    const bool is_claimed = use.offers == std::vector<OfferId>{OfferId(1)};
    EXPECT_EQ(use.tasks[0].task, TaskId(is_claimed ? "t2" : "t1"));
  }
}

TEST(AcceptPlan, ReservesNothingOfWhatIsClaimed) {
  Desk desk;
  desk.grants[0]->offer.max_run_time = minutes(5);
  proto::Accept accept;
  accept.operations.push_back(proto::Reserve{
      .agent = AgentId("a"), .role = RoleName("eng"), .amounts = ResourceVector::of(1'000, 0)});
  const AcceptPlan plan = desk.plan(accept);
  EXPECT_TRUE(plan.reservations.empty());
  ASSERT_EQ(plan.complaints.size(), 1u);
}

// The entries of one accept are counted together: the framework's store has room for two of them,
// all stores together for one.
TEST(AcceptPlan, LaunchesWhatTheStoresHaveRoomToRemember) {
  const std::string value(kStoreEntryBytesMax, 'x');
  const size_t bytes_of_launch =
      remembered_key(TaskId("t1")).size() + remembered_value({.agent = AgentId("a")}).size();
  const auto fill = [&](FrameworkStores& stores, const std::string& prefix, size_t most,
                        size_t per_framework) {
    size_t number = 0;
    for (size_t left = most; left > 0;) {
      const std::string key = text(1'000'000 + number);
      const size_t bytes = std::min(left, key.size() + value.size());
      if (bytes < key.size()) break;
      stores.apply({.framework = FrameworkId(text(prefix, number / per_framework)),
                    .key = key,
                    .value = value.substr(0, bytes - key.size()),
                    .version = ++number},
                   false);
      left -= bytes;
    }
  };
  Desk desk;
  FrameworkStores own;
  fill(own, "f", kStoreBytesPerFrameworkMax - 2 * bytes_of_launch, 1'000);
  desk.framework.record.framework = FrameworkId("f0");
  desk.stores = &own;
  const std::vector<proto::TaskSpec> three = {desk.spec("t1", "cpus:1"), desk.spec("t2", "cpus:1"),
                                              desk.spec("t3", "cpus:1")};
  AcceptPlan plan = desk.plan(three);
  EXPECT_EQ(plan.launches.size(), 2u);
  ASSERT_EQ(plan.refusals.size(), 1u);
  EXPECT_EQ(plan.refusals[0].reason, TaskReason::kTaskInvalid);
  EXPECT_THAT(plan.refusals[0].message, testing::HasSubstr("the store of framework f0 has"));

  FrameworkStores all;
  fill(all, "other", kStoreBytesMax - bytes_of_launch, 15);
  desk.stores = &all;
  plan = desk.plan(three);
  EXPECT_EQ(plan.launches.size(), 1u);
  ASSERT_EQ(plan.refusals.size(), 2u);
  EXPECT_THAT(plan.refusals[0].message, testing::HasSubstr("the stores of all frameworks have"));
  EXPECT_THAT(plan.refusals[0].message, testing::HasSubstr("erase the entries tasks/TASK"));
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
      {"readiness of another executor", TaskReason::kTaskInvalid,
       [](Desk&, auto& t) {
         t.executor = proto::kBatchExecutor;
         t.readiness = proto::Readiness{.after = seconds(1)};
       }},
      {"readiness by a port that it has not", TaskReason::kTaskInvalid,
       [](Desk&, auto& t) { t.readiness = proto::Readiness{.ports = {"http"}}; }},
      {"an id that lives", TaskReason::kDuplicateTaskId,
       [](Desk& d, auto& t) {
         d.tasks.add({FrameworkId("f"), t.id}, Task());
       }},
      {"an id that ended", TaskReason::kDuplicateTaskId,
       [](Desk& d, auto& t) {
         Task ended;
         ended.state = proto::TaskState::kFinished;
         d.tasks.end(d.tasks.add({FrameworkId("f"), t.id}, std::move(ended)));
       }},
      {"an unknown agent", TaskReason::kAgentNotAvailable, [](Desk&, auto&) {}, "b"},
      {"an agent that is away", TaskReason::kAgentNotAvailable,
       [](Desk& d, auto&) {
         d.agents.find(AgentId("a"))->state = proto::AgentState::kDisconnected;
       }},
      {"a void offer", TaskReason::kOfferNotValid, [](Desk& d, auto&) { d.invalid = OfferId(77); }},
      {"no offer of the agent", TaskReason::kOfferNotValid,
       [](Desk& d, auto&) {
         d.agents.add(AgentId("b"), Secret("s")).state = proto::AgentState::kConnected;
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
    // An invalid task does not affect the next task of the same accept.
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
  for (size_t i = 0; i < kTasksPerAgentMax - 1; ++i) {
    Task& task = desk.tasks.add({FrameworkId("g"), TaskId(std::to_string(i))}, Task());
    desk.agents.find(AgentId("a"))->tasks.insert(task);
  }
  const AcceptPlan plan = desk.plan({desk.spec("t1", "cpus:1"), desk.spec("t2", "cpus:1")});
  EXPECT_EQ(plan.launches.size(), 1u);
  ASSERT_EQ(plan.refusals.size(), 1u);
  EXPECT_EQ(plan.refusals[0].reason, TaskReason::kAgentFull);
}

// --- roles, bands and slices --------------------------------------------------------------------

TEST(AcceptPlan, AClaimHasTheRoleOfItsOfferAndTheBandAndPriorityOfItsAsk) {
  Desk desk;
  desk.grants[0]->role = RoleName("eng/ads");
  desk.framework.asks[AskName("web")] = {
      .name = AskName("web"), .priority = 7, .band = Band::kProduction};
  proto::TaskSpec asked = desk.spec("t1", "cpus:1");
  asked.ask = AskName("web");
  const AcceptPlan plan = desk.plan({asked, desk.spec("t2", "cpus:1")});
  ASSERT_EQ(plan.launches.size(), 2u);
  const TaskClaim& first = plan.launches[0].assignment.claim;
  EXPECT_EQ(first.role, RoleName("eng/ads"));
  EXPECT_EQ(first.priority, 7);
  EXPECT_EQ(first.band, Band::kProduction);
  EXPECT_EQ(first.gang, 0u);
  EXPECT_EQ(plan.launches[1].assignment.claim.band, Band::kBatch);
}

TEST(AcceptPlan, UsesReservedSlicesFirstAndRevocableOnesLast) {
  Desk desk;
  desk.grants[0]->offer.slices = {
      {.resources = {.amounts = *parse_shape("cpus:4")}, .revocable = true},
      {.resources = {.amounts = *parse_shape("cpus:1")}},
      {.resources = {.amounts = *parse_shape("cpus:1")}, .reserved_for = RoleName("eng")}};
  const AcceptPlan plan = desk.plan({desk.spec("t1", "cpus:1.5"), desk.spec("t2", "cpus:1")});
  ASSERT_EQ(plan.launches.size(), 2u);
  const std::vector<Slice>& first = plan.launches[0].assignment.claim.slices;
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].reserved_for, RoleName("eng"));
  EXPECT_EQ(to_text(first[0].resources), "cpus:1");
  EXPECT_EQ(to_text(first[1].resources), "cpus:0.5");
  EXPECT_FALSE(first[1].revocable);
  const std::vector<Slice>& second = plan.launches[1].assignment.claim.slices;
  ASSERT_EQ(second.size(), 2u);
  EXPECT_TRUE(second[1].revocable);
}

TEST(AcceptPlan, OffersInDifferentRolesAreNotMixedInOneTask) {
  Desk desk;
  desk.grants.clear();
  desk.add_offer("a", {.amounts = *parse_shape("cpus:1")});
  desk.add_offer("a", {.amounts = *parse_shape("cpus:1")});
  desk.grants[0]->role = RoleName("eng");
  desk.grants[1]->role = RoleName("eng/ads");
  const AcceptPlan plan =
      desk.plan({desk.spec("t1", "cpus:2"), desk.spec("t2", "cpus:1"), desk.spec("t3", "cpus:1")});
  ASSERT_EQ(plan.refusals.size(), 1u);
  EXPECT_NE(plan.refusals[0].message.find("different roles"), std::string::npos);
  ASSERT_EQ(plan.launches.size(), 2u);
  EXPECT_EQ(plan.launches[0].assignment.claim.role, RoleName("eng"));
  EXPECT_EQ(plan.launches[1].assignment.claim.role, RoleName("eng/ads"));
  EXPECT_EQ(plan.uses.size(), 2u);
}

TEST(AcceptPlan, ATaskGoesWithTheOfferThatWasMadeForItsAsk) {
  Desk desk;
  desk.add_offer("a", {.amounts = *parse_shape("cpus:1")});
  desk.grants[0]->role = RoleName("eng");
  desk.grants[1]->role = RoleName("eng/web");
  desk.grants[1]->offer.fills = {{.ask = AskName("web"), .count = 1}};
  proto::TaskSpec task = desk.spec("t1", "cpus:1");
  task.ask = AskName("web");
  const AcceptPlan plan = desk.plan({task});
  ASSERT_EQ(plan.launches.size(), 1u);
  EXPECT_EQ(plan.launches[0].assignment.claim.role, RoleName("eng/web"));
}

// --- gangs --------------------------------------------------------------------------------------

// Two agents, each with an offer for one task of gang 3.
struct GangDesk : Desk {
  GangDesk() {
    grants.clear();
    add_agent("b", "cpus:4");
    grants.clear();
    for (const char* on : {"a", "b"}) {
      add_offer(on, {.amounts = *parse_shape("cpus:1")});
      grants.back()->offer.gang = 3;
      grants.back()->offer.fills = {{.ask = AskName("g"), .count = 1}};
    }
  }
  proto::TaskSpec task(const std::string& id, const std::string& shape = "cpus:1") const {
    proto::TaskSpec made = spec(id, shape);
    made.ask = AskName("g");
    return made;
  }
  static proto::Accept both(const proto::TaskSpec& a, const proto::TaskSpec& b) {
    return {.operations = {proto::Launch{AgentId("a"), {a}}, proto::Launch{AgentId("b"), {b}}}};
  }
  static std::map<uint64_t, GangOffers> all(size_t offers = 2, int64_t count = 2) {
    return {{3, {.offers = offers, .tasks = count, .ask = AskName("g")}}};
  }
};

std::vector<TaskReason> reasons_of(const AcceptPlan& plan) {
  std::vector<TaskReason> reasons;
  for (const TaskRefusal& refusal : plan.refusals) reasons.push_back(refusal.reason);
  return reasons;
}

TEST(AcceptPlan, LaunchesAGangAsAWhole) {
  GangDesk desk;
  const AcceptPlan plan = desk.plan(GangDesk::both(desk.task("t1"), desk.task("t2")), desk.all());
  EXPECT_TRUE(plan.refusals.empty());
  ASSERT_EQ(plan.launches.size(), 2u);
  EXPECT_EQ(plan.launches[0].assignment.claim.gang, 3u);
  EXPECT_EQ(plan.launches[1].assignment.claim.gang, 3u);
}

TEST(AcceptPlan, RefusesAGangOfWhichOneTaskCannotBeLaunched) {
  GangDesk desk;
  proto::TaskSpec with_port = desk.task("t1");
  with_port.port_names = {"http"};
  const AcceptPlan plan =
      desk.plan(GangDesk::both(with_port, desk.task("t2", "cpus:2")), desk.all());
  EXPECT_TRUE(plan.launches.empty());
  for (const OffersUse& use : plan.uses) EXPECT_TRUE(use.tasks.empty());
  EXPECT_EQ(reasons_of(plan),
            (std::vector{TaskReason::kGangIncomplete, TaskReason::kResourcesExceeded}));
  EXPECT_NE(plan.refusals[0].message.find("task 't2'"), std::string::npos)
      << plan.refusals[0].message;
  for (const OffersUse& use : plan.uses) EXPECT_TRUE(use.tasks.empty());
}

TEST(AcceptPlan, RefusesAGangWithoutAllItsOffersOrTasks) {
  GangDesk desk;
  const proto::Accept accept = GangDesk::both(desk.task("t1"), desk.task("t2"));
  const AcceptPlan fewer_offers = desk.plan(accept, desk.all(3, 3));
  EXPECT_EQ(reasons_of(fewer_offers),
            (std::vector{TaskReason::kGangIncomplete, TaskReason::kGangIncomplete}));
  EXPECT_NE(fewer_offers.refusals[0].message.find("has 3 offers, but the accept names 2"),
            std::string::npos);
  const AcceptPlan fewer_tasks = desk.plan(accept, desk.all(2, 3));
  EXPECT_EQ(reasons_of(fewer_tasks),
            (std::vector{TaskReason::kGangIncomplete, TaskReason::kGangIncomplete}));
  EXPECT_NE(fewer_tasks.refusals[0].message.find("has 3 tasks, but the accept launches 2"),
            std::string::npos);
}

TEST(AcceptPlan, AnotherTaskDoesNotTakeWhatAGangWasOffered) {
  GangDesk desk;
  const AcceptPlan plan = desk.plan(
      {.operations = {proto::Launch{AgentId("a"), {desk.spec("x", "cpus:1")}}}}, desk.all());
  EXPECT_EQ(reasons_of(plan), (std::vector{TaskReason::kResourcesExceeded}));
}

// --- reservations -------------------------------------------------------------------------------

std::string complaint_of(const AcceptPlan& plan) {
  return plan.complaints.empty() ? "done" : plan.complaints[0].message();
}

TEST(AcceptPlan, ReservesWhatTheOffersHoldAndUsesTheRest) {
  Desk desk;
  const AcceptPlan plan = desk.plan(
      {.operations = {
           proto::Reserve{AgentId("a"), RoleName("eng/ads"), *parse_shape("cpus:3;gpus:1")},
           proto::Launch{AgentId("a"), {desk.spec("t1", "cpus:1"), desk.spec("t2", "cpus:1")}}}});
  EXPECT_EQ(complaint_of(plan), "done");
  ASSERT_EQ(plan.reservations.size(), 1u);
  EXPECT_EQ(plan.reservations[0].role, RoleName("eng/ads"));
  EXPECT_EQ(plan.reservations[0].resources.gpus, (std::vector<GpuDevice>{{0, 1000}}));
  EXPECT_EQ(plan.launches.size(), 1u);
  EXPECT_EQ(reasons_of(plan), (std::vector{TaskReason::kResourcesExceeded}));
}

TEST(AcceptPlan, ReservesOnlyForARoleWithinTheFrameworksAndOnlyWhatThereIs) {
  Desk desk;
  const auto reserve = [&](const std::string& role, const std::string& amounts) {
    return complaint_of(desk.plan(
        {.operations = {proto::Reserve{AgentId("a"), RoleName(role), *parse_shape(amounts)}}}));
  };
  EXPECT_EQ(reserve("eng", "cpus:4"), "done");
  EXPECT_EQ(reserve("eng/a/b", "cpus:4"), "done");
  EXPECT_NE(reserve("engineering", "cpus:1").find("or a role below it"), std::string::npos);
  EXPECT_NE(reserve("batch", "cpus:1").find("or a role below it"), std::string::npos);
  EXPECT_NE(reserve("eng", "cpus:5").find("not reserved"), std::string::npos);
}

TEST(AcceptPlan, UnreservesWhatOperationsReservedAndTheOffersHold) {
  Desk desk;
  desk.grants[0]->offer.slices = {
      {.resources = {.amounts = *parse_shape("cpus:3")}, .reserved_for = RoleName("eng")}};
  desk.agents.find(AgentId("a"))->reserved[RoleName("eng")] = {.amounts = *parse_shape("cpus:2")};
  const auto unreserve = [&](const std::string& amounts) {
    return desk.plan(
        {.operations = {proto::Unreserve{AgentId("a"), RoleName("eng"), *parse_shape(amounts)}}});
  };
  const AcceptPlan done = unreserve("cpus:2");
  ASSERT_EQ(done.reservations.size(), 1u) << complaint_of(done);
  EXPECT_TRUE(done.reservations[0].unreserve);
  // One of the three is the agent's own static reservation.
  EXPECT_NE(complaint_of(unreserve("cpus:3")).find("'cpus:2'"), std::string::npos)
      << complaint_of(unreserve("cpus:3"));
}

}  // namespace
}  // namespace proffer::master::accept_plan_test
