// Every event in every state, and random events: the driver keeps its invariants (DriverWorld
// checks them after each step), and the author's callbacks obey the laws.

#include <map>
#include <set>

#include "common/prng.h"
#include "tests/sdk/driver_world.h"

namespace proffer::sdk::storm_test {
namespace {

using proto::TaskState;
using proto::UpdateSource;

std::vector<proto::Message> every_message() {
  const proto::ErrorMessage mild{.message = "m"};
  const proto::ErrorMessage ends{.message = "m", .ends_session = true};
  const proto::ErrorMessage final{.message = "m", .ends_session = true, .retry = false};
  const proto::ErrorMessage odd{.message = "m", .ends_session = false, .retry = false};
  std::vector<proto::Message> all{proto::Unknown{7},
                                  proto::Subscribe{},
                                  proto::DeclareAsks{},
                                  proto::Accept{},
                                  proto::Decline{},
                                  proto::Suppress{},
                                  proto::Revive{},
                                  proto::KillTask{},
                                  proto::Acknowledge{},
                                  proto::Reconcile{},
                                  proto::FrameworkMessage{},
                                  proto::Teardown{},
                                  proto::Subscribed{},
                                  proto::Subscribed{.framework = FrameworkId("f-1")},
                                  proto::Offers{{offer_of(1), offer_of(1)}},
                                  proto::Rescind{{OfferId(1)}},
                                  proto::AskReport{},
                                  proto::Failure{},
                                  mild,
                                  ends,
                                  final,
                                  odd,
                                  proto::RegisterAgent{},
                                  proto::RegisterTasks{},
                                  proto::UnregisterAgent{},
                                  proto::AgentRegistered{},
                                  proto::RunTask{},
                                  proto::ShutdownFramework{},
                                  proto::ReleaseFiles{},
                                  proto::RevokeWithdrawn{},
                                  proto::ExecutorHello{},
                                  proto::ExecutorWelcome{},
                                  proto::ExecutorUpdate{},
                                  proto::ExecutorShutdown{},
                                  proto::Heartbeat{},
                                  proto::Call{},
                                  proto::Reply{}};
  for (size_t state = 0; state < proto::kTaskStateCount; ++state) {
    for (const uint64_t sequence : {0, 1, 2}) {
      all.push_back(
          proto::Update{.status = status_of("t1", static_cast<TaskState>(state), sequence)});
    }
  }
  return all;
}

std::vector<Command> every_command() {
  return {proto::DeclareAsks{.asks = {ask_of("web", 2)}},
          proto::DeclareAsks{},
          accept_of({1}, {task_of("t1", "web")}),
          accept_of({}, {task_of("")}),
          proto::Accept{},
          proto::Decline{.offers = {OfferId(1)}},
          proto::Suppress{},
          proto::Revive{},
          proto::KillTask{.task = TaskId("t1")},
          proto::KillTask{},
          proto::Reconcile{},
          proto::Reconcile{.tasks = {TaskId("t1"), TaskId("")}},
          proto::FrameworkMessage{.agent = AgentId("a1"), .executor = ExecutorId("e1")},
          proto::FrameworkMessage{},
          proto::Teardown{}};
}

using Preparation = void (*)(DriverWorld&);
const std::map<std::string, Preparation>& every_state() {
  static const std::map<std::string, Preparation> states{
      {"never connected", [](DriverWorld&) {}},
      {"subscribing", [](DriverWorld& w) { w.connect(); }},
      {"subscribed", [](DriverWorld& w) { w.subscribe(); }},
      {"with an offer", [](DriverWorld& w) { w.subscribe(), w.hear_offers({1}); }},
      {"with a task", [](DriverWorld& w) { w.subscribe(), w.launch("t1", 5); }},
      {"with a task, away",
       [](DriverWorld& w) { w.subscribe(), w.launch("t1", 5), w.disconnect(); }},
      {"with a task, subscribing again",
       [](DriverWorld& w) { w.subscribe(), w.launch("t1", 5), w.disconnect(), w.connect(); }},
      {"tearing down while away",
       [](DriverWorld& w) { w.subscribe(), w.disconnect(), w.want(proto::Teardown{}); }},
      {"tearing down while subscribing",
       [](DriverWorld& w) {
         w.subscribe(), w.disconnect(), w.want(proto::Teardown{}), w.connect();
       }},
      {"waiting for the answer to a teardown",
       [](DriverWorld& w) { w.subscribe(), w.want(proto::Teardown{}); }},
      {"done", [](DriverWorld& w) { w.want(proto::Teardown{}); }},
  };
  return states;
}

// After any events, the driver is either done or still finds a master.
void expect_it_goes_on(DriverWorld& w) {
  if (w.is_done) return;
  w.reconnect();
  EXPECT_TRUE(w.is_done || w.driver.subscribed());
}

TEST(Matrix, EveryMessageInEveryState) {
  for (const auto& [name, prepare] : every_state()) {
    for (const proto::Message& message : every_message()) {
      SCOPED_TRACE(name + ": " + std::string(message_name(message)));
      DriverWorld w;
      prepare(w);
      w.hear(message);
      w.hear(message);
      expect_it_goes_on(w);
    }
  }
}

TEST(Matrix, EveryCommandInEveryState) {
  for (const auto& [name, prepare] : every_state()) {
    for (const Command& command : every_command()) {
      SCOPED_TRACE(name + ": command " + std::to_string(command.index()));
      DriverWorld w;
      prepare(w);
      w.want(command);
      w.want(command);
      expect_it_goes_on(w);
    }
  }
}

TEST(Matrix, EveryConnectionEventInEveryState) {
  for (const auto& [name, prepare] : every_state()) {
    for (int event = 0; event < 3; ++event) {
      SCOPED_TRACE(name);
      DriverWorld w;
      prepare(w);
      if (event == 0) w.connect();
      if (event == 1) w.disconnect();
      if (event == 2) w.advance(minutes(2));
      expect_it_goes_on(w);
    }
  }
}

// The laws for updates of tasks.
struct Laws {
  std::set<TaskId> ended;
  std::map<std::pair<TaskId, UpdateSource>, uint64_t> last;

  void hear(const proto::TaskStatus& status) {
    if (!is_valid_name(status.task.str())) return;  // no task: each question has an answer
    // A refused id may be launched again; any other end is final.
    if (status.state != TaskState::kRefused) {
      EXPECT_EQ(ended.count(status.task), 0u) << status.task.str() << " speaks after its end";
    }
    if (is_terminal(status.state) && status.state != TaskState::kRefused) {
      ended.insert(status.task);
    }
    if (status.sequence == 0) return;
    uint64_t& sequence = last[{status.task, status.source}];
    EXPECT_GT(status.sequence, sequence) << status.task.str();
    sequence = status.sequence;
  }
};

class Storm {
 public:
  explicit Storm(uint64_t seed) : prng_(seed) {}

  void run(int steps) {
    for (int i = 0; i < steps && !w_.is_done; ++i) {
      step();
      for (const proto::TaskStatus& status : w_.told<proto::TaskStatus>()) laws_.hear(status);
      const size_t updates = std::exchange(updates_heard_, 0);
      EXPECT_EQ(w_.sent<proto::Acknowledge>().size(), updates) << "each update, each time";
      w_.forget();
    }
  }

 private:
  std::string task() { return "t" + std::to_string(prng_.below(12)); }

  void step() {
    const uint64_t offer = prng_.below(6) + 1;
    switch (prng_.below(14)) {
      case 0:
        return w_.connect();
      case 1:
        return w_.disconnect();
      case 2:
      case 3:
        if (!w_.driver.subscribed()) w_.subscribe(prng_.chance(1, 2));
        return;
      case 4:
        return w_.hear_offers({offer, prng_.below(6) + 1});
      case 5:
        return w_.hear(proto::Rescind{.offers = {OfferId(offer)}});
      case 6:
      case 7: {
        proto::Accept accept = accept_of({offer}, {task_of(task(), "web"), task_of(task())});
        if (prng_.chance(1, 3)) accept.offers.push_back(OfferId(prng_.below(6) + 1));
        return w_.want(std::move(accept));
      }
      case 8:
      case 9: {
        const bool was_subscribed = w_.driver.subscribed();
        proto::TaskStatus status =
            status_of(task(), static_cast<TaskState>(prng_.below(proto::kTaskStateCount)),
                      prng_.below(6), static_cast<UpdateSource>(prng_.below(2)));
        if (was_subscribed && status.sequence > 0) ++updates_heard_;
        return w_.hear_update(std::move(status));
      }
      case 10:
        return w_.want(proto::KillTask{.task = TaskId(task())});
      case 11:
        return w_.want(
            proto::DeclareAsks{.asks = {ask_of("web", static_cast<int64_t>(prng_.below(4)))}});
      case 12:
        return w_.advance(milliseconds(static_cast<int64_t>(prng_.below(12'000))));
      default: {
        static const std::vector<Command> commands = every_command();
        // All commands except the teardown, which would end the storm.
        return w_.want(commands[prng_.below(commands.size() - 1)]);
      }
    }
  }

  DriverWorld w_;
  Prng prng_;
  Laws laws_;
  size_t updates_heard_ = 0;
};

TEST(Storm, EachUpdateIsDeliveredOnceInOrderAndNoneAfterTheEnd) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Storm(seed).run(300);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Storm, TheSameEventsGiveTheSameActions) {
  const auto story = [] {
    DriverWorld w;
    Prng prng(7);
    w.want(proto::DeclareAsks{.asks = {ask_of("web", 5)}});
    w.subscribe();
    for (int i = 0; i < 50; ++i) {
      w.launch("t" + std::to_string(i), static_cast<uint64_t>(i) + 1);
      if (prng.chance(1, 5)) w.reconnect();
    }
    return w.story();
  };
  EXPECT_EQ(story(), story());
}

}  // namespace
}  // namespace proffer::sdk::storm_test
