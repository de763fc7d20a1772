#pragma once

// The answer to "for what did it wait": of a task, of a framework, or of a role, as a plain value.

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
  // Why they have none, as it was looked at last.
  std::optional<WaitReason> reason = {};
  int64_t offered = 0;  // tasks that were offered to the scheduler
  Time since = {};      // the one that waits longest
  bool operator==(const WaitingAsk&) const = default;
};

struct Blame {
  std::string answer = {};  // one sentence
  Time now = {};
  FrameworkId framework = {};  // of a task or framework
  RoleName role = {};
  // Of a task that the master saw launched, or still knows.
  TaskId task = {};
  AskName ask = {};
  std::optional<TaskState> state = {};
  std::optional<Time> asked_at = {};  // when its ask wanted it
  std::optional<Time> launched_at = {};
  WaitSpans waited = {};  // from then until it ran, or until now: together exactly that time
  // Of a framework or role: of all its tasks since then, also of those that are wanted no longer.
  std::optional<Time> since = {};
  std::vector<WaitSum> sums = {};
  // The ones that wait longest first; of a task that the master does not know, its framework's.
  std::vector<WaitingAsk> asks = {};
  int64_t asks_all = 0;  // how many there are
  bool operator==(const Blame&) const = default;
};

}  // namespace proffer::proto
