#pragma once

// Frees disk space. Sandboxes of ended executors are removed when their framework has released
// them, when they are old, soon if they are empty, and oldest first when they exceed the limits or
// the disk is full. Output files of running tasks are cut to their last part. This runs in its own
// thread, so a hundred thousand sandboxes do not delay other work.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "common/time.h"
#include "net/fd.h"
#include "slave/shell/ended_sandboxes.h"
#include "slave/shell/runs_in_use.h"
#include "slave/shell/sandboxes.h"

namespace proffer::agent {

struct Clocks {
  Time wall = {};    // may be set by users
  Time steady = {};  // with an arbitrary beginning
};
Clocks system_clocks();

struct HousekeepingOptions {
  Duration sandbox_age = hours(24 * 7);     // of an unused sandbox
  int64_t disk_reserve = int64_t{1} << 28;  // bytes that must stay free
  // Limits on all unused sandboxes together; 0: no limit. If `bytes_max` is kHalfOfTheDisk, it is
  // half of the file system. Those that ended within `least_age` do not count.
  int64_t count_max = 0;
  int64_t bytes_max = 0;
  int64_t files_max = 0;
  static constexpr int64_t kHalfOfTheDisk = -1;
  // A sandbox stays this long after its end even on a full disk, since its output is being read.
  // After that time it is removed if it contains no output and no file, unless its task failed.
  Duration least_age = seconds(60);
  // Limit on each kept stdout and stderr while the task runs; 0: no limit.
  int64_t output_max = int64_t{1} << 30;
  // Called in its thread with each round over sandboxes.
  std::function<void()> make_room = {};
  Clocks (*clocks)() = system_clocks;
  std::string sockets = {};            // the folder with the sockets of agents, including dead ones
  Duration every = seconds(60);        // interval of rounds over ended sandboxes
  Duration output_every = seconds(1);  // interval of rounds over outputs
};

// Cuts the output files of `sandbox` to their last part if they exceed `bytes_max`. The first part
// becomes a hole, so that writers and followers continue at their positions.
void bound_outputs(const std::string& sandbox, int64_t bytes_max);

// Removes sockets of this process's user in `folder` without a listener: those of killed agents
// that were not restarted. Only sockets of at least `age`, since a starting agent binds before it
// listens.
void remove_dead_sockets(const std::string& folder, Duration age = hours(1));

// The pause after a round over sandboxes, if the disk is not short. It is a hundred times the time
// of the round, so that rounds cost at most a hundredth of a CPU. It is at least `every`, and at
// most an hour or `every`, whichever is longer.
Duration rest_after(Duration round, Duration every);

class Housekeeping {
 public:
  // Begins at once, in its own thread. `sandboxes` and `in_use` must outlive it.
  Housekeeping(std::string work_dir, const Sandboxes& sandboxes, RunsInUse& in_use,
               HousekeepingOptions options);
  // Finishes the current entry; the next life continues.
  ~Housekeeping();
  Housekeeping(const Housekeeping&) = delete;
  Housekeeping& operator=(const Housekeeping&) = delete;

  // The sandboxes of these executors, given by prefixes of their ids, are no longer needed. Those
  // in use are left alone. The end of the output of failed tasks stays until it is old. Any thread;
  // returns at once. At most kReleasedMax prefixes wait; the sandboxes of further ones stay until
  // they are old.
  void remove_released(const FrameworkId& framework, const std::vector<std::string>& begins);

 private:
  using Ended = EndedSandboxes::Ended;
  void go();
  bool wait(Duration span);                               // false: it must end
  using Beginnings = std::set<std::string, std::less<>>;  // prefixes of ids
  void remove_released();
  void remove_released(const std::string& framework, const Beginnings& begins);
  bool is_over() const;
  void for_each_executor(const std::function<void(const RunKey&)>& what) const;
  void collect();
  void remove_beyond(std::map<std::string, size_t>& removed_of);
  bool remove(const RunKey& run, std::map<std::string, size_t>& removed_of);
  // Walks over the disk to find sandboxes of an earlier life, and missed ones.
  void find_ended();
  // Adds the runs that have ended since.
  void note_ended();
  void note(const RunKey& run, int64_t since);
  bool is_beyond_bounds() const;
  Time now() const { return options_.clocks().steady; }
  bool is_short_of_disk() const;
  void keep_outputs(const RunKey& run);
  void empty_trash();
  void empty(int in, const std::string& name, bool keeps_output);
  void note_progress(size_t removed);

  const std::string work_dir_;
  const Sandboxes& sandboxes_;
  RunsInUse& in_use_;
  const HousekeepingOptions options_;
  Fd trash_;
  uint64_t trash_number_ = 0;
  Time next_progress_ = {};
  int64_t bytes_max_ = 0;
  EndedSandboxes ended_;
  Time next_walk_ = {};  // over the disk
  // The number of removed sandboxes per framework whose tasks may still have names.
  std::map<std::string, size_t> named_;

  mutable std::mutex mutex_;
  std::condition_variable wakes_;
  bool is_over_ = false;  // guarded by mutex_
  // By framework; guarded by mutex_.
  std::map<std::string, Beginnings> released_;
  size_t released_waiting_ = 0;
  std::thread thread_;
};

}  // namespace proffer::agent
