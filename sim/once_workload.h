#pragma once

// An author who wants each of some commands to run exactly once, and whose process keeps no state:
// each life learns the earlier launches from the master (SchedulerOptions:: remembers_tasks). The
// id of a task is its command's, so the journal finds a second run.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/prng.h"
#include "sim/sim_task.h"
#include "sim/workload.h"

namespace proffer::sim {

struct OnceWorkloadOptions {
  std::string name = {};
  RoleName role = RoleName("default");
  uint64_t seed = 0;
  size_t tasks = 20;
  Duration runs_max = seconds(40);
};

class OnceWorkload final : public Workload {
 public:
  explicit OnceWorkload(OnceWorkloadOptions options);

  sdk::DriverOptions options() const override;
  void begin(Time now) override;
  void hear(const sdk::Notification& notification, Time now, Commands& out) override;
  void tick(Time, Commands&) override {}
  std::optional<Time> next_deadline() const override { return std::nullopt; }
  // In this life: all commands were launched, and none runs.
  bool is_done() const override;
  std::string progress() const override;

 private:
  void list(const std::string& after, Commands& out);
  void on_entries(const proto::StoreResult& result, Commands& out);
  void launch(const proto::Offers& offers, Commands& out);
  void declare(Commands& out);

  OnceWorkloadOptions options_;
  std::map<TaskId, SimTask> commands_;
  ResourceVector shape_;

  // The state of this life.
  bool is_listed_ = false;
  std::set<TaskId> live_;
  std::set<TaskId> begun_;  // launched by any life
  uint64_t requests_ = 0;
};

}  // namespace proffer::sim
