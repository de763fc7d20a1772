#pragma once

// Whether this machine can start executors at all. An agent that cannot fails every task that it is
// given, and fast, so that a scheduler gives it more and more of them: it takes no tasks for a
// while instead, says why, and tries again. Pure; docs/adr/0042 lists the failures that count.

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "common/time.h"

namespace proffer::agent {

// Exit code of a process that was to become an executor and could not enter its group of processes
// or become its user (slave/executor/stem.cc).
inline constexpr int32_t kCannotBegin = 126;
// Failures in a row, without an executor in between that said hello.
inline constexpr int kFailuresInARow = 3;
// After them no tasks are taken for the first of these; doubled each time that the next try fails.
inline constexpr Duration kQuarantineMin = seconds(10);
inline constexpr Duration kQuarantineMax = minutes(10);

// An executor that did not come to say hello, and was not killed on request.
struct StartFailure {
  // True: the task cannot have caused it, since there was no process, no sandbox or no group.
  // Else `owner` alone may have caused it.
  bool is_machines = false;
  std::string owner = {};
  std::string why = {};  // for people
};

class Quarantine {
 public:
  // An executor said hello: all is well.
  void on_hello();
  // True: from now on no tasks are taken.
  bool on_failure(const StartFailure& failure, Time now);
  // True: from now on they are, to try whether it works again.
  bool on_tick(Time now);

  // Nothing has failed since the last hello.
  bool is_clear() const { return failures_ == 0 && wait_ == Duration(); }
  // No tasks are taken until then.
  std::optional<Time> ends_at() const { return ends_at_; }
  // Tasks are taken again, and no executor has said hello since: one at a time is enough to try.
  bool is_trying() const { return wait_ > Duration() && !ends_at_; }
  // While no tasks are taken: why, for people. One line of plain text.
  std::string why() const;

 private:
  int failures_ = 0;                   // in a row, of this try
  int machines_ = 0;                   // failures of the machine among them
  std::set<std::string> owners_ = {};  // of these failures; at most two are kept
  std::string last_ = {};
  Duration wait_ = {};  // of this quarantine, or of the one before; zero: all is well
  std::optional<Time> ends_at_ = {};
};

}  // namespace proffer::agent
