#pragma once

// The sandboxes of executors that have ended, by the time of their end and by their run, with how
// much each holds. So housekeeping finds those to remove without a walk over the disk. For one
// thread.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "slave/shell/runs_in_use.h"

namespace proffer::agent {

// What a directory holds. Links are not followed.
struct Held {
  int64_t bytes = 0;  // on the disk
  int64_t files = 0;  // of every kind, directories too
  // Nothing but outputs without content: there is nothing to ask for.
  bool is_bare = false;
  bool operator==(const Held&) const = default;
};
// Of a directory `name` in the directory `in`, a descriptor. At most kMeasuredMax entries and
// kMeasuredDepth levels are counted: a full disk is noticed otherwise.
Held measure_sandbox(int in, const std::string& name);
inline constexpr int64_t kMeasuredMax = 200'000;
inline constexpr int kMeasuredDepth = 32;

class EndedSandboxes {
 public:
  struct Ended {
    int64_t since = 0;  // in nanoseconds of a steady clock; below 0: before it began
    RunKey run = {};
    auto operator<=>(const Ended&) const = default;
  };

  // Also of one that is known: it is measured again. O(log sandboxes).
  void add(const RunKey& run, int64_t since, const Held& held);
  void remove(const RunKey& run);
  bool contains(const RunKey& run) const { return by_run_.contains(run); }
  // Of one that is known.
  int64_t since(const RunKey& run) const { return by_run_.at(run).since; }

  size_t size() const { return by_run_.size(); }
  size_t size_of(const std::string& framework) const;
  int64_t bytes() const { return bytes_; }
  int64_t files() const { return files_; }

  // The one that ended first; nullptr: there is none. Behind `after`: the next.
  const Ended* oldest() const { return by_end_.empty() ? nullptr : &*by_end_.begin(); }
  const Ended* next(const Ended& after) const;
  // Likewise of those that hold nothing to ask for.
  const Ended* oldest_bare() const { return bare_.empty() ? nullptr : &*bare_.begin(); }
  const Ended* next_bare(const Ended& after) const;
  // Of the framework, whose executors' ids begin so. O(log sandboxes + found).
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
