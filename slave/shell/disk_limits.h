#pragma once

// Measures the files in the sandboxes of running tasks, and reports sandboxes above their limit.
// Project quotas of the file system would be exact, but few machines have them; so a separate
// thread measures the files periodically.
//
// A task without `disk` in its ask is not measured.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <dirent.h>
#include <sys/types.h>

#include "common/ids.h"
#include "common/time.h"
#include "net/fd.h"
#include "proto/records.h"
#include "slave/shell/runs_in_use.h"
#include "slave/shell/sandboxes.h"

namespace proffer::agent {

// Sums up the files below a directory in small portions. A file counts at least 4 KiB, so a million
// empty files are not free. A file with several names counts once, in parts. Other file systems do
// not count. Deleted files that are still open are not found.
class SandboxWalk {
 public:
  explicit SandboxWalk(const std::string& sandbox);
  // Examines this many further entries; false: none are left.
  bool advance(size_t entries);
  // The sum so far.
  int64_t bytes() const { return bytes_; }

 private:
  // The longest path relative to an open directory, since directories may be nested deeper than the
  // maximum length of a path.
  static constexpr size_t kPathMax = 2'000;
  // Limits on memory and descriptors; entries beyond them are not counted.
  static constexpr size_t kPendingMax = 200'000;
  static constexpr size_t kAnchorsMax = 64;

  struct Directory {
    std::shared_ptr<Fd> from = {};
    std::string path = {};
    size_t anchors = 0;
  };
  bool open_next();
  void look_at(const char* name);

  dev_t device_ = 0;
  int64_t bytes_ = 0;
  std::vector<Directory> pending_;  // the last one is next
  Directory at_;                    // the one that is being read
  std::unique_ptr<DIR, int (*)(DIR*)> reading_;
};

// The tasks with a disk limit, from the agent's records.
class DiskLimits {
 public:
  struct Limit {
    FrameworkId framework = {};
    TaskId task = {};
    int64_t bytes = 0;
  };
  // Called for each record in the order of writing.
  void follow(const proto::CheckpointRecord& record);
  // May be called from any thread.
  std::map<RunKey, Limit> all() const;

 private:
  using TaskName = std::pair<FrameworkId, TaskId>;
  mutable std::mutex mutex_;
  std::map<TaskName, RunKey> runs_;
  std::map<RunKey, Limit> limits_;
};

struct DiskWatchOptions {
  Duration every = seconds(1);  // per round, if it does not take longer
  size_t entries = 2'000;       // of a sandbox per round; the next round continues
  int64_t rest_for_work = 9;    // at most a tenth of a CPU
};

class DiskWatch {
 public:
  // A sandbox above its task's limit. Repeated with each measurement.
  struct Over {
    DiskLimits::Limit limit = {};
    uint64_t run = 0;
    int64_t bytes = 0;  // at least
  };
  // Begins at once; `on_over` is called in its thread. All arguments must outlive it.
  DiskWatch(const Sandboxes& sandboxes, const DiskLimits& limits,
            std::function<void(const Over&)> on_over, DiskWatchOptions options = {});
  ~DiskWatch();
  DiskWatch(const DiskWatch&) = delete;
  DiskWatch& operator=(const DiskWatch&) = delete;

 private:
  void go();
  bool wait(Duration span);  // false: the watch must end
  bool round();

  const Sandboxes& sandboxes_;
  const DiskLimits& limits_;
  const std::function<void(const Over&)> on_over_;
  const DiskWatchOptions options_;
  std::map<RunKey, SandboxWalk> walks_;

  std::mutex mutex_;
  std::condition_variable wakes_;
  bool is_over_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace proffer::agent
