#pragma once

// Which runs of executors are in use, as the agent's records tell: their sandboxes stay.

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

// A run is in use while its executor is recorded, and while a task of it has an update that is not
// acknowledged.
class RunsInUse {
 public:
  // In the order in which they are written.
  void follow(const proto::CheckpointRecord& record);

  // Any thread.
  bool contains(const RunKey& run) const;
  // Of a task whose end is not acknowledged. None: it is not known, or its run has not begun.
  std::optional<RunKey> run_of(const FrameworkId& framework, const TaskId& task) const;
  // Those that have left use since this was asked last; one of them may be in use again. At most
  // kEndedWaitingMax are kept; `was_full`: there were more. Any thread.
  std::vector<RunKey> take_ended(bool& was_full);
  static constexpr size_t kEndedWaitingMax = 200'000;
  // At most `limit` runs of executors, in order, behind `after`. Any thread.
  std::vector<RunKey> executors_after(const RunKey& after, size_t limit) const;

 private:
  using Name = std::pair<std::string, std::string>;  // of an executor or a task, with its framework
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
