#pragma once

// A framework of a scenario: the production driver core and a simple author, which wants the tasks
// that are pending in the book and answers offers as the scenario says.

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/constraint_matcher.h"
#include "sdk/core/driver.h"
#include "sim/network.h"
#include "sim/task_book.h"
#include "sim/world.h"

namespace proffer::sim {

class Tenant final : public Node, public Caller {
 public:
  // `index` is its index in the scenario. Its messages reach the master after `delay`.
  Tenant(World& world, Network& network, Place master, TaskBook& book,
         const ScenarioFramework& framework, uint32_t index, Duration delay);

  // Its identity, for a framework that a master knew before the scenario began.
  void takes_over(FrameworkId id) { framework_ = std::move(id); }
  const Secret& secret() const { return secret_; }
  const ScenarioFramework& description() const { return description_; }

  void join();
  // Tears the framework down: its tasks are killed, and it wants nothing any more.
  void leave();

  int64_t offers() const { return offers_; }
  int64_t declined() const { return declined_; }

  std::optional<Time> next_deadline() const override;
  void tick() override;
  std::vector<Violation> violations() const override { return driver_->violations(); }
  void on_line_connected() override { step(sdk::MasterConnected{}); }
  void on_line_frame(proto::Envelope envelope) override {
    step(sdk::MasterFrame{std::move(envelope)});
  }
  void on_line_disconnected(const std::string& reason) override {
    step(sdk::MasterDisconnected{reason});
  }

 private:
  // Suffix to the name of the tasks, for an ask for members of gangs that continue without them.
  static constexpr std::string_view kMembersSuffix = ".again";

  void step(sdk::DriverEvent event);
  void take_step(const sdk::DriverEvent& event);
  void say(sdk::Command command) { step(sdk::CommandGiven{std::move(command)}); }
  void hear(const sdk::Notification& notification);

  // tenant_offers.cc
  void on_offers(const proto::Offers& offers);
  void on_rescind(const proto::Rescind& rescind);
  void answer(const proto::Offers& offers);
  void answer_due();
  void take_asked(const std::vector<const Offer*>& offers);
  void take_open(const Offer& offer);
  void decline(const OfferId& offer, Refusal refusal);
  Refusal refusal_of(const Offer& offer) const;
  proto::TaskSpec spec_of(const TaskRef& ref) const;

  void on_status(const proto::TaskStatus& status);
  void say_what_is_wanted();
  std::vector<Ask> asks() const;
  Ask ask_of(uint32_t group, bool members) const;

  Network& network_;
  Place master_;
  TaskBook& book_;
  const ScenarioFramework& description_;
  uint32_t index_;
  Duration delay_;
  Party party_;
  Secret secret_;
  FrameworkId framework_;
  Line line_ = {};
  std::unique_ptr<sdk::Driver> driver_;
  sdk::DriverOutbox out_;
  std::vector<ConstraintMatcher> matchers_;  // by group; for open offers
  std::vector<uint32_t> order_;              // groups, by priority
  std::deque<sdk::DriverEvent> waiting_;     // events of this instant, after the present one
  bool stepping_ = false;
  std::optional<Time> next_arrival_;
  // Offers that it will answer, with the time; in order.
  std::deque<std::pair<Time, proto::Offers>> answers_;
  bool dirty_ = false;       // the wanted asks differ from the declared ones
  bool suppressed_ = false;  // takes open offers, and none now
  bool leaving_ = false;
  int64_t offers_ = 0;
  int64_t declined_ = 0;
};

}  // namespace proffer::sim
