#pragma once

// A framework that wants some tasks to run, each until it ends by itself or is killed as planned.
// It retries lost, gone and refused tasks with a new id.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/prng.h"
#include "sim/sim_task.h"
#include "sim/workload.h"

namespace proffer::sim {

struct TaskWorkloadOptions {
  std::string name = {};
  RoleName role = RoleName("default");
  OfferMode mode = OfferMode::kAsks;
  uint64_t seed = 0;
  size_t tasks = 40;
  Duration arrive_within = seconds(60);  // the tasks are wanted over this time
  Duration runs_max = seconds(20);
  // How it answers offers; per hundred. The other offers are used.
  uint32_t declines = 0;
  uint32_t holds = 0;  // does not answer, or at the last moment: the lease ends
  // Of the tasks; per hundred.
  uint32_t fails = 10;   // exit code or signal
  uint32_t kills = 0;    // killed some time after the launch
  uint32_t shares = 0;   // several in one executor
  uint32_t ports = 0;    // want a port
  uint32_t endless = 0;  // run until the framework is torn down
  uint32_t stays = 0;    // run until they must go, or for minutes
  // How it reacts to notices: its tasks end by themselves in time, or are killed.
  bool heeds = true;
  Band band = Band::kBatch;
  bool borrow = true;
  // The framework ends then, even if tasks run.
  std::optional<Time> teardown_at = {};
  Duration failover_timeout = kFailoverTimeout;
};

class TaskWorkload final : public Workload {
 public:
  explicit TaskWorkload(TaskWorkloadOptions options);

  sdk::DriverOptions options() const override;
  void begin(Time now) override;
  void hear(const sdk::Notification& notification, Time now, Commands& out) override;
  void tick(Time now, Commands& out) override;
  std::optional<Time> next_deadline() const override;
  bool is_done() const override { return done_ == items_.size() || torn_down_; }
  std::vector<Violation> violations() const override;
  int64_t notices() const override { return notices_; }
  std::string progress() const override;

 private:
  struct Shape {
    ResourceVector amounts = {};
    int64_t ports = 0;
  };
  enum class State : uint8_t { kLater, kWaiting, kLaunched, kDone };
  struct Item {
    size_t shape = 0;
    SimTask task = {};
    bool shared = false;
    std::optional<Duration> kill_after = {};
    State state = State::kLater;
    int attempts = 0;
    TaskId current = {};
    bool kill_said = false;
  };

  AskName ask_of(size_t shape) const;
  void on_offers(const proto::Offers& offers, Time now, Commands& out);
  void answer_late(Time now, Commands& out);
  // The tasks for one offer.
  std::vector<ResourceKind> missing_for_all(const ResourceVector& offered) const;
  std::vector<proto::TaskSpec> use(const Offer& offer, Time now);
  proto::TaskSpec launch(size_t item, Time now);
  void on_update(const proto::TaskStatus& status);
  void on_notice(const proto::RevokeNotice& notice, Time now);
  void want(size_t item);
  void declare(Commands& out);

  TaskWorkloadOptions options_;
  Prng chance_;
  std::vector<Shape> shapes_;
  std::vector<Item> items_;
  std::vector<std::set<size_t>> waiting_;  // by shape
  std::map<TaskId, size_t> by_id_;         // every attempt
  std::set<std::pair<Time, size_t>> arrivals_;
  std::set<std::pair<Time, size_t>> kills_;
  std::set<std::pair<Time, TaskId>> leaves_;  // tasks with a notice
  // Offers that are answered at the last moment of their lease, when the master may have rescinded
  // them already.
  std::multimap<Time, Offer> late_;
  size_t done_ = 0;
  int64_t notices_ = 0;
  bool new_life_ = false;
  bool stale_ = false;  // the declared asks are not the wanted ones
  bool torn_down_ = false;
};

}  // namespace proffer::sim
