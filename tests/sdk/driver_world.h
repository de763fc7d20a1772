#pragma once

// A driver whose master is played by the test. It collects the driver's messages, and checks the
// invariants after every step.

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "proto/channel.h"
#include "sdk/core/driver.h"
#include "sdk/core/trace.h"

namespace proffer::sdk {

// The n-th offer of an agent: 4 CPUs, 4 GiB, for 30 s.
inline Offer offer_of(uint64_t id, const std::string& agent = "a1") {
  return {.id = OfferId(id),
          .agent = AgentId(agent),
          .slices = {{.resources = {.amounts = ResourceVector::of(4'000, 4'096'000)}}},
          .lease = seconds(30)};
}

inline proto::TaskSpec task_of(const std::string& id, const std::string& ask = "") {
  return {.id = TaskId(id),
          .ask = AskName(ask),
          .shape = ResourceVector::of(1'000, 512'000),
          .command = "true"};
}

inline Ask ask_of(const std::string& name, int64_t count) {
  return {.name = AskName(name), .shape = ResourceVector::of(1'000, 512'000), .count = count};
}

inline proto::Accept accept_of(std::vector<uint64_t> offers, std::vector<proto::TaskSpec> tasks,
                               const std::string& agent = "a1") {
  proto::Accept accept;
  for (const uint64_t id : offers) accept.offers.push_back(OfferId(id));
  accept.operations.push_back(proto::Launch{.agent = AgentId(agent), .tasks = std::move(tasks)});
  return accept;
}

inline proto::TaskStatus status_of(const std::string& task, proto::TaskState state,
                                   uint64_t sequence,
                                   proto::UpdateSource source = proto::UpdateSource::kAgent) {
  return {.task = TaskId(task),
          .agent = AgentId("a1"),
          .state = state,
          .source = source,
          .sequence = sequence};
}

class DriverWorld {
 public:
  static DriverOptions options() {
    return {.name = "hello", .secret = Secret("0123456789abcdef0123456789abcdef")};
  }

  explicit DriverWorld(DriverOptions given = options()) : driver(std::move(given)) {}

  // --- events ----------------------------------------------------------------------------------

  void connect() {
    from_driver_ = 0;
    to_driver_ = {};
    step(MasterConnected{});
  }
  void disconnect() { step(MasterDisconnected{"the network is down"}); }
  void hear(proto::Message message) {
    step(MasterFrame{to_driver_.stamp(LeaderEpoch(1), std::move(message))});
  }
  void hear_update(proto::TaskStatus status) {
    hear(proto::Update{.framework = FrameworkId("f-1"), .status = std::move(status)});
  }
  void hear_subscribed(bool failed_over = false) {
    hear(proto::Subscribed{.framework = FrameworkId("f-1"),
                           .session = SessionEpoch(1),
                           .failed_over = failed_over,
                           .heartbeat = seconds(5),
                           .timeout = seconds(30)});
  }
  void hear_offers(std::vector<uint64_t> ids) {
    proto::Offers offers;
    for (const uint64_t id : ids) offers.offers.push_back(offer_of(id));
    hear(std::move(offers));
  }
  // A new connection with a subscription that the master accepts.
  void subscribe(bool failed_over = false) {
    connect();
    hear_subscribed(failed_over);
  }
  void reconnect() {
    disconnect();
    subscribe(true);
  }
  void want(Command command) { step(CommandGiven{std::move(command)}); }
  // Launches a task on a new offer; it runs.
  void launch(const std::string& task, uint64_t offer) {
    hear_offers({offer});
    want(accept_of({offer}, {task_of(task)}));
    hear_update(status_of(task, proto::TaskState::kRunning, 1));
  }
  // Lets time pass, with a tick at each deadline.
  void advance(Duration duration) {
    const Time end = now + duration;
    for (int ticks = 0; driver.next_deadline() && *driver.next_deadline() <= end; ++ticks) {
      ASSERT_LT(ticks, 1'000) << "the driver spins";
      now = std::max(now, *driver.next_deadline());
      step(Tick{});
    }
    now = end;
  }

  void step(const DriverEvent& event) {
    DriverOutbox out;
    driver.handle(event, now, out);
    EXPECT_FALSE(is_done && !out.actions.empty()) << "spoke after it was done";
    for (DriverAction& action : out.actions) take(action);
    for (TraceEvent& happened : out.trace) trace.push_back(std::move(happened));
    for (const Violation& violation : driver.violations()) ADD_FAILURE() << violation.what;
  }

  // --- results since the last call -------------------------------------------------------------

  template <class T>
  std::vector<T> sent() {
    return taken<T>(messages_);
  }
  template <class T>
  std::vector<T> told() {
    return taken<T>(notifications_);
  }
  // The first event of this kind; nullptr if there was none.
  template <Traced T>
  const T* traced() const {
    for (const TraceEvent& one : trace) {
      if (const T* found = one.as<T>()) return found;
    }
    return nullptr;
  }
  // Messages and updates in order: ">update_acknowledged", "task t1 running".
  std::vector<std::string> story() { return std::exchange(story_, {}); }
  void forget() {
    messages_.clear();
    notifications_.clear();
    story_.clear();
    resets = 0;
  }
  std::vector<std::string> states_told() {
    std::vector<std::string> states;
    for (const proto::TaskStatus& status : told<proto::TaskStatus>()) {
      states.push_back(status.task.str() + " " + std::string(to_text(status.state)));
    }
    return states;
  }

  Driver driver;
  Time now = Time::from_nanos(1'000'000'000);
  int resets = 0;
  uint32_t last_version = 0;  // version of the last message sent
  bool is_done = false;
  std::vector<SaveIdentity> saved;
  std::vector<TraceEvent> trace;

 private:
  template <class T, class Variant>
  static std::vector<T> taken(std::vector<Variant>& from) {
    std::vector<T> found;
    std::vector<Variant> rest;
    for (Variant& one : from) {
      if (T* it = std::get_if<T>(&one)) {
        found.push_back(std::move(*it));
      } else {
        rest.push_back(std::move(one));
      }
    }
    from = std::move(rest);
    return found;
  }

  void take(DriverAction& action) {
    if (auto* send = std::get_if<SendToMaster>(&action)) {
      EXPECT_EQ(send->envelope.sequence, ++from_driver_) << "a gap on the wire";
      last_version = send->envelope.version;
      const bool is_subscribe = std::holds_alternative<proto::Subscribe>(*send->envelope.message);
      EXPECT_EQ(is_subscribe, from_driver_ == 1) << "the first message, and only it, subscribes";
      story_.push_back(">" + std::string(message_name(*send->envelope.message)));
      messages_.push_back(std::move(*send->envelope.message));
    } else if (auto* notify = std::get_if<Notify>(&action)) {
      if (const auto* status = std::get_if<proto::TaskStatus>(&notify->notification)) {
        story_.push_back("task " + status->task.str() + " " + std::string(to_text(status->state)));
      } else if (std::holds_alternative<Disconnected>(notify->notification)) {
        story_.push_back("disconnected");
      }
      notifications_.push_back(std::move(notify->notification));
    } else if (auto* save = std::get_if<SaveIdentity>(&action)) {
      saved.push_back(*save);
    } else if (std::holds_alternative<ResetMaster>(action)) {
      ++resets;
      story_.push_back("reset");
    } else {
      is_done = true;
      story_.push_back("done");
    }
  }

  proto::Channel to_driver_ = {};
  uint64_t from_driver_ = 0;
  std::vector<proto::Message> messages_;
  std::vector<Notification> notifications_;
  std::vector<std::string> story_;
};

}  // namespace proffer::sdk
