#pragma once

// The answers to "why has this framework no offer", "why has this role no more" and "what of this
// task", as plain values: proto/json prints them.

#include <string>
#include <vector>

#include "common/explanation.h"
#include "common/standing.h"
#include "proto/status.h"

namespace proffer::proto {

// Accepts in a row that launched nothing, and until when nothing is offered for that.
struct ExplainedWait {
  AskName ask = {};  // empty: all that the framework wants
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
  // The last one.
  TaskId task = {};
  AskName ask = {};
  std::string message = {};
  Time at = {};
  bool operator==(const ExplainedRefusals&) const = default;
};

// An ask that cannot be declared, or a remark on one that was.
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
  std::vector<OfferRow> offers = {};  // outstanding to it
  std::vector<ExplainedWait> waits = {};
  ExplainedRefusals refusals = {};
  std::vector<ExplainedRemark> remarks = {};
  // Offers whose lease ended without an answer: since the master started, and since the last
  // answer.
  int64_t unanswered = 0;
  int64_t unanswered_in_a_row = 0;
  bool operator==(const Explanation&) const = default;
};

struct ExplainedRole {
  std::string answer = {};  // one sentence
  Time now = {};
  RoleExplanation fair = {};
  bool operator==(const ExplainedRole&) const = default;
};

// That a task is to end by a time.
struct ExplainedNotice {
  RevokeReason reason = RevokeReason::kReclaimed;
  RoleName beneficiary = {};
  Time deadline = {};
  bool operator==(const ExplainedNotice&) const = default;
};

struct ExplainedTask {
  std::string answer = {};  // one sentence
  Time now = {};
  // The master knows it: it runs, or has ended and is remembered. If not, only framework and task
  // of `row` are set, and `asks` are what the framework still waits for.
  bool is_known = true;
  TaskRow row = {};
  std::optional<TaskStanding> standing = {};  // while it holds something
  std::optional<ExplainedNotice> notice = {};
  std::optional<Time> drained_by = {};  // its agent is being emptied
  std::vector<AskExplanation> asks = {};
  int64_t agents = 0;  // in the cluster
  bool operator==(const ExplainedTask&) const = default;
};

}  // namespace proffer::proto
