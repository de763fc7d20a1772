#pragma once

// An index of the sandboxes of ended executors, by end and by run, with their sizes. Housekeeping
// uses it to find sandboxes to remove without a walk over the disk. For one thread.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "slave/shell/runs_in_use.h"

namespace proffer::agent {

// The content of a directory. Links are not followed.
struct Held {
  int64_t bytes = 0;  // on the disk
  int64_t files = 0;  // of all kinds, including directories
  // It contains only empty output files.
  bool is_bare = false;
  bool operator==(const Held&) const = default;
};
// Measures a directory `name` in the directory descriptor `in`. At most kMeasuredMax entries and
// kMeasuredDepth levels are counted; a full disk is detected separately.
Held measure_sandbox(int in, const std::string& name);
inline constexpr int64_t kMeasuredMax = 200'000;
inline constexpr int kMeasuredDepth = 32;

class EndedSandboxes {
 public:
  struct Ended {
    int64_t since = 0;  // nanoseconds of a steady clock; negative: before its beginning
    RunKey run = {};
    auto operator<=>(const Ended&) const = default;
  };

  // Replaces an earlier measurement of the run. O(log sandboxes).
  void add(const RunKey& run, int64_t since, const Held& held);
  void remove(const RunKey& run);
  bool contains(const RunKey& run) const { return by_run_.contains(run); }
  // The run must be known.
  int64_t since(const RunKey& run) const { return by_run_.at(run).since; }

  size_t size() const { return by_run_.size(); }
  size_t size_of(const std::string& framework) const;
  int64_t bytes() const { return bytes_; }
  int64_t files() const { return files_; }

  // The sandbox that ended first; nullptr: there is none. With `after`: the next one.
  const Ended* oldest() const { return by_end_.empty() ? nullptr : &*by_end_.begin(); }
  const Ended* next(const Ended& after) const;
  // The same for those with only empty output.
  const Ended* oldest_bare() const { return bare_.empty() ? nullptr : &*bare_.begin(); }
  const Ended* next_bare(const Ended& after) const;
  // The sandboxes of the framework's executors whose ids have this prefix. O(log sandboxes +
  // found).
  std::vector<RunKey> that_begin(const std::string& framework, const std::string& begin) const;

 private:
  struct Known {
    int64_t since = 0;
    Held held = {};
  };

  std::map<RunKey, Known> by_run_;
  std::set<Ended> by_end_;
  std::set<Ended> bare_;
  std::map<std::string, size_t> of_framework_;
  int64_t bytes_ = 0;
  int64_t files_ = 0;
};

}  // namespace proffer::agent
