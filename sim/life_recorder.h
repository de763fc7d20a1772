#pragma once

// Records what simulated masters are told, in the format of real ones (master/recording): what a
// seed found becomes a recording, and a scenario becomes the recording of a cluster that nobody
// has.

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

// What such a recording has for the version of Proffer that wrote it.
inline constexpr std::string_view kSimulatedVersion = "simulated";

class LifeRecorder final : public master::StepWatcher {
 public:
  // Is given the records of each life in their order, some at a time.
  using Keep = std::function<void(LeaderEpoch leader, std::vector<std::string> records)>;
  // Of one master: of several, whose lives overlap, each has its own.
  explicit LifeRecorder(Keep keep) : keep_(std::move(keep)) {}

  void begins(const master::MasterOptions& options,
              const master::MasterSnapshot& snapshot) override;
  void hears(const master::MasterEvent& event, Time now) override;
  void says(const master::MasterOutbox& out) override;
  // Gives the rest of the life, if there is one.
  void ends() override;

 private:
  struct Life {
    LeaderEpoch leader = {};
    master::RecordingWriter writer;
    master::TraceHash hash;
    uint64_t steps = 0;
    uint64_t summed = 0;  // steps that the last sum is of
    std::vector<std::string> records = {};
  };
  void give();

  const Keep keep_;
  std::unique_ptr<Life> life_;  // none: it has not begun, or is over
};

}  // namespace proffer::sim
