#pragma once

// Records the events of simulated masters in the format of real ones (master/recording). So a
// finding of a seed becomes a recording, and a scenario becomes the recording of a cluster that
// does not exist.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "master/recording/recording.h"
#include "master/recording/step_watcher.h"

namespace proffer::sim {

// The version of Proffer that such a recording names.
inline constexpr std::string_view kSimulatedVersion = "simulated";

class LifeRecorder final : public master::StepWatcher {
 public:
  // Receives the records of each life in order, some at a time.
  using Keep = std::function<void(LeaderEpoch leader, std::vector<std::string> records)>;
  // For one master. If there are several, whose lives overlap, each has its own.
  explicit LifeRecorder(Keep keep) : keep_(std::move(keep)) {}

  void begins(const master::MasterOptions& options,
              const master::MasterSnapshot& snapshot) override;
  void hears(const master::MasterEvent& event, Time now) override;
  void says(const master::MasterOutbox& out) override;
  // Passes on the rest of the life, if any.
  void ends() override;

 private:
  struct Life {
    LeaderEpoch leader = {};
    master::RecordingWriter writer;
    master::TraceHash hash;
    uint64_t steps = 0;
    uint64_t summed = 0;  // the number of steps in the last checksum
    std::vector<std::string> records = {};
  };
  void give();

  const Keep keep_;
  std::unique_ptr<Life> life_;  // none: it has not begun, or has ended
};

}  // namespace proffer::sim
