#pragma once

// The runs of executors that are in use, from the agent's records: their sandboxes stay.

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "proto/records.h"

namespace proffer::agent {

struct RunKey {
  std::string framework = {};
  std::string executor = {};
  uint64_t run = 0;
  auto operator<=>(const RunKey&) const = default;
};

// A run is in use while its executor is recorded, and while one of its tasks has an unacknowledged
// update.
class RunsInUse {
 public:
  // Called for each record in the order of writing.
  void follow(const proto::CheckpointRecord& record);

  // Any thread.
  bool contains(const RunKey& run) const;
  // The run of a task whose end is not acknowledged. None: the task is unknown, or its run has not
  // begun.
  std::optional<RunKey> run_of(const FrameworkId& framework, const TaskId& task) const;
  // The runs that ended their use since the last call; one of them may be in use again. At most
  // kEndedWaitingMax are kept; `was_full`: there were more. Any thread.
  std::vector<RunKey> take_ended(bool& was_full);
  static constexpr size_t kEndedWaitingMax = 200'000;
  // At most `limit` runs of executors, in order, after `after`. Any thread.
  std::vector<RunKey> executors_after(const RunKey& after, size_t limit) const;

 private:
  using Name = std::pair<std::string, std::string>;  // the framework, and an executor or a task
  struct Task {
    RunKey run = {};
    std::optional<uint64_t> last = {};  // the sequence of its terminal update
  };
  void use(const RunKey& run) { ++uses_[run]; }
  void leave(const RunKey& run);

  mutable std::mutex mutex_;
  std::map<Name, RunKey> executors_;
  std::set<RunKey> of_executors_;
  std::map<Name, Task> tasks_;
  std::map<RunKey, size_t> uses_;
  std::vector<RunKey> ended_;
  bool was_full_ = false;
};

}  // namespace proffer::agent
