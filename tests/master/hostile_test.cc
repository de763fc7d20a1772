// Hostile peers: the master survives, its accounts stay correct, and other peers are not affected.

#include "master/core/frameworks.h"
#include "tests/master/cluster.h"
#include "tests/support/message_generator.h"
#include "tests/support/seeds.h"

namespace proffer::master::hostile_test {
namespace {

using proto::MessageGenerator;
using proto::TaskState;

enum class Sender { kStranger, kScheduler, kAgent };

// The messages that each kind of peer may send after it has registered.
bool may_send(Sender sender, std::string_view name) {
  static const std::set<std::string_view> kScheduler = {
      "accept",       "acknowledge", "declare_asks",  "decline",
      "kill_task",    "reconcile",   "revive",        "framework_message",
      "suppress",     "heartbeat",   "store_request", "framework_response",
      "release_files"};
  static const std::set<std::string_view> kAgent = {"framework_message", "heartbeat", "update",
                                                    "agent_trouble"};
  if (sender == Sender::kScheduler) return kScheduler.contains(name);
  if (sender == Sender::kAgent) return kAgent.contains(name);
  return false;
}

// A client that subscribes as a new framework after each lost connection, for lack of a session
// file or on purpose.
TEST(Frameworks, OfOneUserThatAreAwayDoNotFillTheTable) {
  MasterScenario s;
  const auto user = [](const std::string& name, uint32_t uid) {
    return std::make_shared<Principal>(Principal{.user = name, .uid = uid});
  };
  const PrincipalPtr mallory = user("mallory", 1001);
  std::vector<TestScheduler*> kept;
  const auto begins = [&](const PrincipalPtr& by) {
    TestScheduler& scheduler = s.scheduler("again");
    scheduler.by = by;
    scheduler.subscribes();
    if (!scheduler.id.empty()) kept.push_back(&scheduler);
    return &scheduler;
  };
  for (size_t i = 0; i < kAwayFrameworksPerUserMax; ++i) begins(mallory)->lose();
  ASSERT_EQ(kept.size(), kAwayFrameworksPerUserMax);

  const auto expect_refused = [&] {
    TestScheduler& one_more = *begins(mallory);
    EXPECT_TRUE(one_more.was_dropped());
    const proto::ErrorMessage refused = one_more.take_one<proto::ErrorMessage>();
    EXPECT_TRUE(refused.retry);
    EXPECT_NE(refused.message.find("user 'mallory' has 1000 frameworks"), std::string::npos)
        << refused.message;
  };
  expect_refused();
  s.restart_master();
  expect_refused();

  EXPECT_FALSE(begins(user("ada", 1002))->was_dropped()) << "nobody else is disturbed";
  // An earlier framework reconnects, which makes room for one.
  kept.front()->subscribes();
  EXPECT_FALSE(kept.front()->was_dropped());
  EXPECT_FALSE(begins(mallory)->was_dropped());
  kept.back()->lose();
  expect_refused();
  kept.front()->sends(proto::Teardown{});
  expect_refused();
}

TEST(EveryMessage, FromEverybodyIsTakenOrRefusedAndDisturbsNobody) {
  for (size_t index = 1; index < MessageGenerator::kMessageCount; ++index) {
    for (const Sender sender : {Sender::kStranger, Sender::kScheduler, Sender::kAgent}) {
      for (uint64_t seed = 0; seed < 5; ++seed) {
        MessageGenerator generator(seed * 100 + index);
        const proto::Message message = generator.message(index);
        SCOPED_TRACE(text(proto::message_name(message), " by ", static_cast<int>(sender)));
        MasterScenario s;
        TestAgent& bystander = s.registered_agent("bystander");
        TestScheduler& tenant = s.with_task("t1");
        ASSERT_TRUE(bystander.has(tenant.id, "t1"));

        TestPeer* peer = nullptr;
        if (sender == Sender::kAgent) peer = &s.registered_agent("sender");
        if (sender == Sender::kScheduler) peer = &s.subscribed("sender");
        if (sender == Sender::kStranger) {
          peer = &s.scheduler("stranger");
          peer->connect();
        }
        peer->sends(message);
        s.settle();

        // A generated value may be valid or not, so a valid sender's session may end or not. A
        // message from a wrong sender always ends the session, with a reason.
        const std::string_view name = proto::message_name(message);
        const bool registers = name == "register_agent" || name == "subscribe";
        const bool ends = name == "teardown" || name == "unregister_agent" || name == "error";
        if (!may_send(sender, name) && !ends && !(sender == Sender::kStranger && registers)) {
          EXPECT_TRUE(peer->was_dropped());
          EXPECT_TRUE(peer->take_one<proto::ErrorMessage>().ends_session);
        }
        bystander.updates(tenant.id, "t1", TaskState::kRunning);
        EXPECT_EQ(tenant.told(), (Lines{"t1 running"}));
      }
    }
  }
}

// Agents, schedulers, an operator and the network do random actions in a random order.
class Storm {
 public:
  explicit Storm(uint64_t seed) : prng_(seed), generator_(seed) {
    for (int i = 0; i < 3; ++i) {
      agents_.push_back(&s_.agent(text("a", i), "cpus:4;mem:4GiB;gpus:2;ports:[31000-31005]"));
    }
    for (int i = 0; i < 3; ++i) {
      TestScheduler& made = s_.scheduler(text("f", i));
      made.subscribe.role = RoleName(i == 2 ? "other" : "default");
      made.subscribe.mode = i == 1 ? OfferMode::kOpen : OfferMode::kAsks;
      made.subscribe.failover_timeout = i == 2 ? Duration() : minutes(2);
      schedulers_.push_back(&made);
    }
  }

  void blow(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      const uint64_t what = prng_.below(100);
      if (what < 35)
        agent_does_something(*agents_[prng_.below(agents_.size())]);
      else if (what < 75)
        scheduler_does_something(*schedulers_[prng_.below(schedulers_.size())]);
      else if (what < 85)
        s_.settle();
      else if (what < 97)
        s_.advance(seconds(static_cast<int64_t>(prng_.below(8))));
      else if (what < 98)
        s_.advance(minutes(static_cast<int64_t>(prng_.below(4))));
      else if (what < 99)
        s_.restart_master();
      else if (prng_.chance(1, 2))
        someone_asks();
      else
        s_.step(OperatorKill{.call = 1, .task = prng_.chance(1, 2) ? "t" : "f", .grace = {}});
    }
  }

  // All peers reconnect and behave; then all tasks must end.
  void calm() {
    for (TestScheduler* scheduler : schedulers_) {
      if (!scheduler->is_connected()) scheduler->subscribes();
      if (!scheduler->is_connected()) {
        scheduler->id = FrameworkId();
        scheduler->subscribes();
      }
      ASSERT_TRUE(scheduler->is_connected());
      scheduler->acknowledges_by_itself = true;
      // A new session gets all unacknowledged updates again.
      scheduler->lose();
      scheduler->subscribes();
      if (!scheduler->is_connected()) {
        scheduler->id = FrameworkId();
        scheduler->subscribes();
      }
      scheduler->sends(proto::Suppress{});
    }
    for (TestAgent* agent : agents_) {
      agent->receives_tasks = true;
      agent->registers();
      ASSERT_TRUE(agent->is_connected());
    }
    for (TestAgent* agent : agents_) {
      const auto tasks = agent->tasks;
      for (const auto& [key, task] : tasks) {
        if (!proto::is_terminal(task.state)) {
          agent->updates(key.first, key.second.str(), TaskState::kKilled);
        }
      }
    }
    s_.settle();
    EXPECT_EQ(s_.allocated(), "");
    EXPECT_TRUE(s_.master->tasks({}, nullptr).empty());
    for (const TestAgent* agent : agents_) EXPECT_TRUE(agent->tasks.empty()) << agent->name;
  }

 private:
  void agent_does_something(TestAgent& agent) {
    if (!agent.is_connected()) return agent.registers();
    switch (prng_.below(12)) {
      case 0:
        return agent.lose();
      case 1:
        // A second connection; the master does not know the end of the first.
        return agent.registers();
      case 2:
        agent.silent = !agent.silent;
        return;
      case 3:
        agent.receives_tasks = !agent.receives_tasks;
        return;
      case 4:
        agent.lose();
        if (prng_.chance(1, 4)) agent.tasks.clear();
        return agent.registers();
      case 5:
        if (!prng_.chance(1, 8)) return;
        return agent.sends(generator_.message());
      case 6:
        if (prng_.chance(1, 8)) {
          agent.slices[0].resources.amounts[ResourceKind::kCpus] = prng_.between(0, 6) * 1000;
        }
        return;
      default:
        break;
    }
    if (agent.tasks.empty()) return;
    auto at = agent.tasks.begin();
    std::advance(at, prng_.below(agent.tasks.size()));
    if (proto::is_terminal(at->second.state)) return;
    static constexpr TaskState kStates[] = {
        TaskState::kRunning, TaskState::kRunning, TaskState::kFinished, TaskState::kFailed,
        TaskState::kKilled,  TaskState::kLost,    TaskState::kRefused};
    const auto key = at->first;
    agent.updates(key.first, key.second.str(), kStates[prng_.below(std::size(kStates))]);
  }

  // An operator's explain, and a user's request to the framework.
  void someone_asks() {
    const std::string name = text("f", prng_.below(4));
    if (const auto explained = s_.master->explain(name, nullptr)) {
      EXPECT_FALSE(explained->answer.empty());
    }
    s_.request(name, text("r", prng_.below(5)), "", seconds(prng_.between(1, 60)));
  }

  std::vector<proto::StoreOperation> store_operations() {
    std::vector<proto::StoreOperation> operations;
    for (uint64_t i = 0; i <= prng_.below(3); ++i) {
      proto::StoreOperation operation;
      operation.kind =
          static_cast<proto::StoreOperation::Kind>(prng_.below(proto::kStoreOperationKindCount));
      operation.key = text("k", prng_.below(4));
      operation.value = std::string(prng_.below(20), 'x');
      if (prng_.chance(1, 3)) operation.expected = 0;
      operations.push_back(std::move(operation));
    }
    return operations;
  }

  void scheduler_does_something(TestScheduler& f) {
    if (!f.is_connected()) {
      f.subscribes();
      if (!f.is_connected()) f.id = FrameworkId();
      return;
    }
    switch (prng_.below(19)) {
      case 0:
        return f.lose();
      case 1:
        return f.subscribes();
      case 2:
        f.silent = !f.silent;
        return;
      case 3:
        f.acknowledges_by_itself = !f.acknowledges_by_itself;
        return;
      case 4:
        return f.asks(shape(), prng_.between(0, 5), prng_.chance(1, 2) ? "t" : "u");
      case 5:
        return f.sends(kill());
      case 6:
        return f.sends(proto::Reconcile{});
      case 7:
        return f.sends(proto::Reconcile{.tasks = {TaskId("t1"), task_id()}});
      case 8:
        return f.sends(proto::Revive{});
      case 9:
        if (!f.offers.empty()) f.declines(f.offers[0], Refusal{.refuse_for = seconds(2)});
        return;
      case 10:
        if (prng_.chance(1, 10)) f.sends(proto::Teardown{});
        return;
      case 11:
        if (prng_.chance(1, 8)) f.sends(generator_.message());
        return;
      case 12: {
        for (const proto::Update& update : f.take<proto::Update>()) {
          if (!f.is_connected()) return;
          if (update.status.sequence > 0) f.acknowledges(update.status);
        }
        return;
      }
      case 13:
      case 14:
        return f.sends(proto::StoreRequest{.id = 1, .operations = store_operations()});
      case 15:
        someone_asks();
        for (const auto& request : f.take<proto::FrameworkRequest>()) {
          if (!f.is_connected() || prng_.chance(1, 3)) return;
          f.sends(proto::FrameworkResponse{.relay = request.relay, .data = "done"});
        }
        return;
      default:
        break;
    }
    f.asks(shape(), prng_.between(0, 5));
    s_.settle();
    if (f.offers.empty() || !f.is_connected()) return;
    std::vector<proto::TaskSpec> specs;
    for (uint64_t i = 0; i <= prng_.below(3); ++i) {
      proto::TaskSpec spec = f.spec(task_id().str(), shape());
      if (prng_.chance(1, 3)) spec.port_names = {"http", "admin"};
      specs.push_back(spec);
    }
    f.accepts(prng_.chance(1, 2) ? f.offers : std::vector{f.offers[0]}, specs);
  }

  std::string shape() {
    static const std::string kShapes[] = {"cpus:1", "cpus:0.5;mem:1GiB", "gpus:0.5", "gpus:1",
                                          "cpus:1;mem:512;gpus:2"};
    return kShapes[prng_.below(std::size(kShapes))];
  }
  TaskId task_id() { return TaskId(text("t", prng_.below(60))); }
  proto::KillTask kill() { return {.framework = {}, .task = task_id(), .grace = {}}; }

  Prng prng_;
  MessageGenerator generator_;
  MasterScenario s_;
  std::vector<TestAgent*> agents_;
  std::vector<TestScheduler*> schedulers_;
};

TEST(Storm, LeavesTheBooksRightAndComesToAnEnd) {
  for (const uint64_t seed : Seeds(300)) {
    SCOPED_TRACE(text("seed ", seed));
    Storm storm(seed);
    storm.blow(100);
    if (testing::Test::HasFailure()) return;
    storm.calm();
    if (testing::Test::HasFailure()) return;
  }
}

// A scheduler that never acknowledges cannot make the master's memory grow without limit.
TEST(Unacknowledged, AreDroppedAtTheirMostAndItIsSaid) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f");
  f.acknowledges_by_itself = false;
  proto::TaskSpec wrong;
  wrong.id = TaskId("not/an/id");
  const std::vector<proto::TaskSpec> many(1'024, wrong);
  for (size_t sent = 0; sent <= kUnacknowledgedMax; sent += many.size()) {
    f.accepts({}, many);
    f.inbox.clear();
  }
  EXPECT_EQ(s.traced("updates dropped: schedulers do not acknowledge"), 1);
  EXPECT_TRUE(f.is_connected());
}

// Equal events give equal actions and an equal trace, in every field.
TEST(Determinism, OfTheTraceOfOneStory) {
  const auto story = [] {
    MasterScenario s;
    TestAgent& a = s.registered_agent("a1");
    s.registered_agent("a2");
    TestScheduler& f = s.subscribed("f");
    TestScheduler& g = s.subscribed("g");
    f.asks("cpus:1", 5);
    g.asks("mem:1GiB", 5);
    s.settle();
    if (!f.offers.empty()) f.accepts({f.offers[0]}, {f.spec("t1", "cpus:1")});
    a.lose();
    s.advance(minutes(1));
    s.restart_master();
    f.subscribes();
    a.registers();
    s.advance(minutes(11));
    std::string whole;
    for (const TraceEvent& event : s.trace) whole += to_text(event) + "\n";
    return whole;
  };
  const std::string once = story();
  EXPECT_GT(once.size(), 500u);
  EXPECT_EQ(once, story());
}

}  // namespace
}  // namespace proffer::master::hostile_test
