#pragma once

// Entries of the master's history, as values: tasks that ended, use of roles, and gaps. proto/codec
// encodes them, proto/json prints them.

#include <string>
#include <variant>
#include <vector>

#include "common/wait_reason.h"
#include "proto/masters.h"
#include "proto/messages.h"

namespace proffer::proto {

// A task that has ended and whose end its scheduler knows, or a launch that was refused.
struct EndedTask {
  FrameworkId framework = {};
  std::string framework_name = {};  // empty: unknown to the master
  RoleName role = {};
  std::string user = {};
  std::string command = {};  // cut; for people
  AskName ask = {};
  ResourceVector amounts = {};
  Time launched_at = {};
  WaitSpans waited = {};   // until it ran; empty: this master did not see its launch
  TaskStatus status = {};  // of its end, without data
  bool operator==(const EndedTask&) const = default;
};

// Use of a role's tasks in a period.
struct RoleUse {
  RoleName role = {};
  Time from = {};
  Time until = {};
  ResourceVector seconds = {};  // milli-units times seconds, each at most kAmountMax
  bool operator==(const RoleUse&) const = default;
};

// How long the tasks of a role waited in a period, summed by reason.
struct RoleWait {
  RoleName role = {};
  Time from = {};
  Time until = {};
  std::vector<WaitSum> waited = {};  // each reason at most once; `tasks`: at the end of the period
  bool operator==(const RoleWait&) const = default;
};

struct LifeBegan {
  LeaderEpoch leader = {};
  Time at = {};
  bool operator==(const LifeBegan&) const = default;
};

// The master ended in order, so nothing is missing before this entry.
struct LifeEnded {
  Time at = {};
  bool operator==(const LifeEnded&) const = default;
};

// Tasks that ended in this period may be missing.
struct HistoryGap {
  Time from = {};
  Time until = {};
  uint64_t lost = 0;  // number of entries known to be lost; 0: unknown
  bool operator==(const HistoryGap&) const = default;
};

using HistoryRecord = std::variant<EndedTask, RoleUse, LifeBegan, LifeEnded, HistoryGap, RoleWait>;

// The time of the record's last event.
Time time_of(const HistoryRecord& record);

// Which entries to return, and from which place. Pages go back in time.
struct HistoryQuery {
  std::string framework = {};  // its id or its name
  RoleName role = {};          // includes the roles below it
  std::string user = {};
  std::string task = {};  // FRAMEWORK/TASK, or a prefix of it or of a task's id
  std::optional<TaskState> state = {};
  std::optional<Time> since = {};
  bool roles = false;       // return the use of roles instead of tasks
  bool waits = false;       // return the waiting times of roles instead of tasks
  MasterId master = {};     // entries that this master saw; none: the leader
  std::string before = {};  // `next` of the previous page
  size_t limit = kReplyRowsMax;
  bool operator==(const HistoryQuery&) const = default;
};

bool matches(const HistoryQuery& query, const EndedTask& ended);
bool matches(const HistoryQuery& query, const RoleUse& use);
bool matches(const HistoryQuery& query, const RoleWait& wait);

// One page, newest entry first.
struct HistoryPage {
  std::vector<EndedTask> tasks = {};
  std::vector<RoleUse> roles = {};
  std::vector<RoleWait> waits = {};
  std::vector<HistoryGap> gaps = {};  // returned for every query
  int64_t damaged_bytes = 0;          // bytes that were skipped as damaged
  // Masters that have led and cannot be asked. Set by a client that asks all masters.
  std::vector<MasterRow> missing = {};
  bool operator==(const HistoryPage&) const = default;
};

}  // namespace proffer::proto
