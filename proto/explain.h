#pragma once

// The answers to "why does this framework, role or task wait", as plain values. proto/json prints
// them.

#include <string>
#include <vector>

#include "common/explanation.h"
#include "common/standing.h"
#include "proto/status.h"

namespace proffer::proto {

// Consecutive accepts that launched nothing, and the time until which this delays offers.
struct ExplainedWait {
  AskName ask = {};  // empty: all asks of the framework
  int64_t failures = 0;
  Time until = {};
  bool operator==(const ExplainedWait&) const = default;
};

// Launches that the master refused since it started.
struct ExplainedRefusals {
  struct OfReason {
    TaskReason reason = TaskReason::kNone;
    int64_t count = 0;
    bool operator==(const OfReason&) const = default;
  };
  int64_t count = 0;
  std::vector<OfReason> by_reason = {};
  // The last refused task.
  TaskId task = {};
  AskName ask = {};
  std::string message = {};
  Time at = {};
  bool operator==(const ExplainedRefusals&) const = default;
};

// An ask that cannot be declared, or a remark on a declared ask.
struct ExplainedRemark {
  AskName ask = {};
  bool rejected = true;
  std::string why = {};
  bool operator==(const ExplainedRemark&) const = default;
};

struct Explanation {
  std::string answer = {};  // one sentence
  std::string name = {};
  std::string user = {};
  Duration failover_timeout = {};
  Time now = {};
  FrameworkExplanation fair = {};
  std::vector<OfferRow> offers = {};  // outstanding offers to the framework
  std::vector<ExplainedWait> waits = {};
  ExplainedRefusals refusals = {};
  std::vector<ExplainedRemark> remarks = {};
  // Offers whose lease ended without an answer: since the master started, and since the last
  // answer.
  int64_t unanswered = 0;
  int64_t unanswered_in_a_row = 0;
  int64_t failed_in_a_row = 0;  // its tasks that failed since the last that finished
  bool operator==(const Explanation&) const = default;
};

struct ExplainedRole {
  std::string answer = {};  // one sentence
  Time now = {};
  RoleExplanation fair = {};
  bool operator==(const ExplainedRole&) const = default;
};

// A notice that a task must end by a time.
struct ExplainedNotice {
  RevokeReason reason = RevokeReason::kReclaimed;
  RoleName beneficiary = {};
  Time deadline = {};
  bool operator==(const ExplainedNotice&) const = default;
};

struct ExplainedTask {
  std::string answer = {};  // one sentence
  Time now = {};
  // True: the master knows the task; it runs, or has ended and is remembered. False: only framework
  // and task of `row` are set, and `asks` are the asks for which the framework still waits.
  bool is_known = true;
  TaskRow row = {};
  std::optional<TaskStanding> standing = {};  // set while the task holds resources
  std::optional<ExplainedNotice> notice = {};
  std::optional<Time> drained_by = {};  // set while its agent is drained
  std::vector<AskExplanation> asks = {};
  int64_t agents = 0;  // number of agents in the cluster
  bool operator==(const ExplainedTask&) const = default;
};

}  // namespace proffer::proto
