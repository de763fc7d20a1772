#pragma once

// The answer to "why did it wait" for a task, a framework or a role, as a plain value.

#include <optional>
#include <string>
#include <vector>

#include "common/wait_reason.h"
#include "proto/status.h"

namespace proffer::proto {

// Tasks of one ask that wait now, before their launch.
struct WaitingAsk {
  FrameworkId framework = {};
  AskName ask = {};
  RoleName role = {};
  int64_t lacking = 0;  // tasks without an offer
  // Why they have no offer, as last determined.
  std::optional<WaitReason> reason = {};
  int64_t offered = 0;  // tasks that are offered to the scheduler
  Time since = {};      // the time since which the oldest waits
  bool operator==(const WaitingAsk&) const = default;
};

struct Blame {
  std::string answer = {};  // one sentence
  Time now = {};
  FrameworkId framework = {};  // of the task or framework
  RoleName role = {};
  // For a task that the master saw launched, or still knows.
  TaskId task = {};
  AskName ask = {};
  std::optional<TaskState> state = {};
  std::optional<Time> asked_at = {};  // when its ask wanted it
  std::optional<Time> launched_at = {};
  WaitSpans waited = {};  // until it ran, or until now; together exactly that time
  // For a framework or role: sums over all its tasks since this time, including tasks that are no
  // longer wanted.
  std::optional<Time> since = {};
  std::vector<WaitSum> sums = {};
  // The asks that wait longest first. For a task that the master does not know: the asks of its
  // framework.
  std::vector<WaitingAsk> asks = {};
  int64_t asks_all = 0;  // number of all such asks
  bool operator==(const Blame&) const = default;
};

}  // namespace proffer::proto
