#pragma once

// A MapReduce job on the production batch core, and what its simulated mappers and reducers do.
// Each input byte and each partition must be counted once, whatever was lost and computed again.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/prng.h"
#include "frameworks/batch/core/job_core.h"
#include "sim/host.h"
#include "sim/workload.h"

namespace proffer::sim {

struct BatchWorkloadOptions {
  std::string name = {};
  RoleName role = RoleName("default");
  uint64_t seed = 0;
  size_t maps = 20;
  int64_t reducers = 4;
  Duration failover_timeout = kFailoverTimeout;
};

class BatchWorkload final : public Workload {
 public:
  explicit BatchWorkload(BatchWorkloadOptions options);

  sdk::DriverOptions options() const override;
  void begin(Time) override {}
  void hear(const sdk::Notification& notification, Time now, Commands& out) override;
  void tick(Time now, Commands& out) override;
  std::optional<Time> next_deadline() const override;
  bool is_done() const override { return finished_; }
  // `proffer batch run` is attached: its job ends with it.
  bool survives_crash() const override { return false; }
  std::vector<Violation> violations() const override;
  std::string progress() const override;

 private:
  void handle(const batch::JobEvent& event, Time now, Commands& out);

  BatchWorkloadOptions options_;
  int64_t input_bytes_ = 0;
  std::unique_ptr<batch::Job> job_;
  bool finished_ = false;
  std::vector<Violation> found_;
};

// The map outputs that lie on the agents.
struct Shuffle {
  std::function<void(const TaskKey& map, int64_t bytes)> write = {};  // for each reducer
  // Nothing if the agent with this address, or the output, cannot be reached.
  std::function<std::optional<int64_t>(const std::string& address, const TaskKey& map)> read = {};
};

// What a task of a job does on `machine`.
TaskScript batch_script(const proto::RunTask& run, const AgentId& machine, const Shuffle& shuffle,
                        Prng& chance);

}  // namespace proffer::sim
