#pragma once

// Room on the disk: sandboxes of executors that have ended are removed when their framework has
// released them, when they are old, soon if they hold nothing, and the oldest of them when there
// are more than the bounds or the disk becomes full; the output files of those that run keep their
// last part. One thread of its own, so a hundred thousand sandboxes hold up nothing.

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
  Time wall = {};    // that somebody may set
  Time steady = {};  // from any beginning
};
Clocks system_clocks();

struct HousekeepingOptions {
  Duration sandbox_age = hours(24 * 7);     // of a sandbox that nobody uses any more
  int64_t disk_reserve = int64_t{1} << 28;  // bytes that are to be free
  // What sandboxes that nobody uses any more may hold together; 0: no bound. Of `bytes_max`
  // kHalfOfTheDisk: half of what the file system has. Those that ended within `least_age` stay
  // beyond it.
  int64_t count_max = 0;
  int64_t bytes_max = 0;
  int64_t files_max = 0;
  static constexpr int64_t kHalfOfTheDisk = -1;
  // Also on a full disk a sandbox stays so long after its end: its output is being read. Then one
  // goes that holds no output and no file, unless its task has failed.
  Duration least_age = seconds(60);
  // Of each stdout and stderr that is kept while its task runs; 0: all.
  int64_t output_max = int64_t{1} << 30;
  // Called in its thread, with each round over sandboxes.
  std::function<void()> make_room = {};
  Clocks (*clocks)() = system_clocks;
  std::string sockets = {};            // the folder of the agents' sockets, also of dead ones
  Duration every = seconds(60);        // what has ended is looked through
  Duration output_every = seconds(1);  // outputs are
};

// The files of `sandbox` that are outputs keep their last part if they hold more than `bytes_max`:
// the first part becomes a hole, so that what writes and what follows them goes on where it was.
void bound_outputs(const std::string& sandbox, int64_t bytes_max);

// Sockets in `folder` of this process's user at which nobody listens: of agents that were killed
// and are not started again. Those of at least `age`, since one that starts binds before it
// listens.
void remove_dead_sockets(const std::string& folder, Duration age = hours(1));

// From the end of a round over sandboxes to the next, if the disk is not short: a hundred times as
// long as the round took, so that it costs a hundredth of a CPU at most; at least `every`, at most
// an hour or `every`.
Duration rest_after(Duration round, Duration every);

class Housekeeping {
 public:
  // Begins at once, in its thread. `sandboxes` and `in_use` must outlive it.
  Housekeeping(std::string work_dir, const Sandboxes& sandboxes, RunsInUse& in_use,
               HousekeepingOptions options);
  // Ends after the entry that is being removed; the next life goes on.
  ~Housekeeping();
  Housekeeping(const Housekeeping&) = delete;
  Housekeeping& operator=(const Housekeeping&) = delete;

  // The sandboxes of these executors, by the beginnings of their ids, are needed no more: those
  // that are in use by then are left alone. Of failed tasks the end of the output stays until it is
  // old. Any thread; returns at once. At most kReleasedMax beginnings wait; what is beyond stays
  // until it is old.
  void remove_released(const FrameworkId& framework, const std::vector<std::string>& begins);

 private:
  using Ended = EndedSandboxes::Ended;
  void go();
  bool wait(Duration span);                               // false: it is over
  using Beginnings = std::set<std::string, std::less<>>;  // of ids
  void remove_released();
  void remove_released(const std::string& framework, const Beginnings& begins);
  bool is_over() const;
  void for_each_executor(const std::function<void(const RunKey&)>& what) const;
  void collect();
  void remove_beyond(std::map<std::string, size_t>& removed_of);
  bool remove(const RunKey& run, std::map<std::string, size_t>& removed_of);
  // By a walk over the disk: what an earlier life left, and what was missed.
  void find_ended();
  // What has ended since.
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
  // How many sandboxes were removed of a framework while names of their tasks may be left.
  std::map<std::string, size_t> named_;

  mutable std::mutex mutex_;
  std::condition_variable wakes_;
  bool is_over_ = false;  // guarded by mutex_
  // By framework; guarded by mutex_, too.
  std::map<std::string, Beginnings> released_;
  size_t released_waiting_ = 0;
  std::thread thread_;
};

}  // namespace proffer::agent
