#pragma once

// Entries of the master's history, as values: tasks that ended, use of roles, and where
// something is missing. proto/codec gives them bytes, proto/json prints them.

#include <string>
#include <variant>
#include <vector>

#include "common/wait_reason.h"
#include "proto/masters.h"
#include "proto/messages.h"

namespace proffer::proto {

// A task that has ended, and whose scheduler knows it; or a launch that was refused.
struct EndedTask {
  FrameworkId framework = {};
  std::string framework_name = {};  // empty: the master did not know it
  RoleName role = {};
  std::string user = {};
  std::string command = {};  // cut, for people
  AskName ask = {};
  ResourceVector amounts = {};
  Time launched_at = {};
  WaitSpans waited = {};   // until it ran; none: its launch was not seen by the master
  TaskStatus status = {};  // of its end, without data
  bool operator==(const EndedTask&) const = default;
};

// Use of a role's tasks in a span of time.
struct RoleUse {
  RoleName role = {};
  Time from = {};
  Time until = {};
  ResourceVector seconds = {};  // milli-units times seconds, each at most kAmountMax
  bool operator==(const RoleUse&) const = default;
};

// How long a role's tasks waited for what in a span of time, together.
struct RoleWait {
  RoleName role = {};
  Time from = {};
  Time until = {};
  std::vector<WaitSum> waited = {};  // each reason at most once; `tasks`: at the end of the span
  bool operator==(const RoleWait&) const = default;
};

struct LifeBegan {
  LeaderEpoch leader = {};
  Time at = {};
  bool operator==(const LifeBegan&) const = default;
};

// The master ended in order: nothing is missing before this.
struct LifeEnded {
  Time at = {};
  bool operator==(const LifeEnded&) const = default;
};

// Tasks that ended in this span may be missing.
struct HistoryGap {
  Time from = {};
  Time until = {};
  uint64_t lost = 0;  // entries that are known to be lost; 0: not known
  bool operator==(const HistoryGap&) const = default;
};

using HistoryRecord = std::variant<EndedTask, RoleUse, LifeBegan, LifeEnded, HistoryGap, RoleWait>;

// Time of its last event.
Time time_of(const HistoryRecord& record);

// Which entries, and from where: pages go back in time.
struct HistoryQuery {
  std::string framework = {};  // its id or its name
  RoleName role = {};          // and those below it
  std::string user = {};
  std::string task = {};  // FRAMEWORK/TASK or the beginning of it, or of a task's id
  std::optional<TaskState> state = {};
  std::optional<Time> since = {};
  bool roles = false;       // use of roles, and not tasks
  bool waits = false;       // waiting of roles, and not tasks
  MasterId master = {};     // what this one saw; none: what the leader saw
  std::string before = {};  // `next` of the page before
  size_t limit = kReplyRowsMax;
  bool operator==(const HistoryQuery&) const = default;
};

bool matches(const HistoryQuery& query, const EndedTask& ended);
bool matches(const HistoryQuery& query, const RoleUse& use);
bool matches(const HistoryQuery& query, const RoleWait& wait);

// One page, the newest entry first.
struct HistoryPage {
  std::vector<EndedTask> tasks = {};
  std::vector<RoleUse> roles = {};
  std::vector<RoleWait> waits = {};
  std::vector<HistoryGap> gaps = {};  // with every query
  int64_t damaged_bytes = 0;          // that were skipped on the way
  // Masters that have led and cannot be asked. Filled in by a client that asks all masters.
  std::vector<MasterRow> missing = {};
  bool operator==(const HistoryPage&) const = default;
};

}  // namespace proffer::proto
