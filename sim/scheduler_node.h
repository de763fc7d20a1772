#pragma once

// A scheduler as a simulated process: the production driver core and a Workload. It checks the
// driver's promises to its author: each update once, in order, none after the last.

#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sdk/core/driver.h"
#include "sim/author_laws.h"
#include "sim/journal.h"
#include "sim/network.h"
#include "sim/workload.h"
#include "sim/world.h"

namespace proffer::sim {

class SchedulerNode final : public Node, public Caller {
 public:
  SchedulerNode(World& world, Network& network, Journal& journal, std::vector<Place> masters,
                std::unique_ptr<Workload> workload);

  // Has no effect if it is already up (or down), or if its workload did not survive.
  void start();
  // kill -9. A restarted scheduler takes over by its id; or by its secret, if it never received its
  // id. If its workload stands by (DriverOptions), another process is started that has neither.
  void crash();

  // True if the others can finish without it.
  bool may_crash() const;
  const Workload& workload() const { return *workload_; }
  Workload& workload() { return *workload_; }
  Party party() const { return party_; }
  const FrameworkId& framework() const { return framework_; }
  // Its session is over permanently: torn down, or refused.
  bool is_over() const { return over_; }
  bool was_refused() const { return refused_; }
  // The workload is done, and the driver waits for nothing.
  bool is_settled() const;

  std::optional<Time> next_deadline() const override;
  void tick() override;
  std::vector<Violation> violations() const override;
  void on_line_connected() override { step(sdk::MasterConnected{}); }
  void on_line_frame(proto::Envelope envelope) override {
    step(sdk::MasterFrame{std::move(envelope)});
  }
  void on_line_disconnected(const std::string& reason) override {
    step(sdk::MasterDisconnected{reason});
  }

 private:
  struct Heard {
    std::array<uint64_t, 2> sequence = {};  // by source
    bool ended = false;
  };

  void step(const sdk::DriverEvent& event);
  void carry_out(const sdk::DriverAction& action);
  void give(Workload::Commands commands);
  void hear(const sdk::Notification& notification);
  void check_liars(const sdk::Notification& notification);
  void check_promises(const proto::TaskStatus& status);

  Network& network_;
  Journal& journal_;
  std::vector<Place> masters_;
  Party party_;
  std::unique_ptr<Workload> workload_;
  Prng chance_;
  Secret secret_;
  FrameworkId framework_;
  Line line_ = {};
  std::unique_ptr<sdk::Driver> driver_;
  AuthorLaws laws_;
  std::map<TaskId, Heard> heard_;  // in this life
  std::set<TaskId> asked_;         // by its own reconcile: an unknown task among them is `lost`
  std::map<TaskId, proto::Labels> labels_;  // labels with which its tasks were launched
  bool begun_ = false;                      // in any life
  bool over_ = false;
  bool refused_ = false;
};

}  // namespace proffer::sim
