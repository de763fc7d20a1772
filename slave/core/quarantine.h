#pragma once

// Whether this machine can start executors. An agent that cannot start them fails each task
// quickly, so schedulers would send it more and more tasks. It goes into quarantine instead: it
// takes no tasks for a while, reports the reason, and then tries again. Pure; docs/adr/0042 lists
// the failures that count.

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "common/time.h"

namespace proffer::agent {

// Exit code of a process that could not enter its cgroup or become its user before it became an
// executor (slave/executor/fork_server.cc).
inline constexpr int32_t kCannotBegin = 126;
// Failures in a row, without a hello of an executor in between.
inline constexpr int kFailuresInARow = 3;
// The length of the first quarantine; doubled with each failed try.
inline constexpr Duration kQuarantineMin = seconds(10);
inline constexpr Duration kQuarantineMax = minutes(10);

// An executor that ended before its hello, and was not killed on request.
struct StartFailure {
  // True: the task cannot be the cause, since there was no process, no sandbox or no group. Else
  // `owner` alone may be the cause.
  bool is_machines = false;
  std::string owner = {};
  std::string why = {};  // for people
};

class Quarantine {
 public:
  // An executor sent its hello, so starts work.
  void on_hello();
  // True: the quarantine begins now.
  bool on_failure(const StartFailure& failure, Time now);
  // True: the quarantine ends now, for a try.
  bool on_tick(Time now);

  // No failure since the last hello.
  bool is_clear() const { return failures_ == 0 && wait_ == Duration(); }
  // The end of the quarantine.
  std::optional<Time> ends_at() const { return ends_at_; }
  // A try after a quarantine, without a hello yet: one task at a time is enough.
  bool is_trying() const { return wait_ > Duration() && !ends_at_; }
  // The reason during a quarantine, for people. One line of plain text.
  std::string why() const;

 private:
  int failures_ = 0;                   // in a row, in this try
  int machines_ = 0;                   // those caused by the machine
  std::set<std::string> owners_ = {};  // of these failures; at most two are stored
  std::string last_ = {};
  Duration wait_ = {};  // the length of this quarantine, or of the last one; zero: no failures
  std::optional<Time> ends_at_ = {};
};

}  // namespace proffer::agent
