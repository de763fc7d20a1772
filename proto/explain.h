#pragma once

// The answers to "why has this framework no offer", "why has this role no more" and "what of this
// task", as plain values: proto/json prints them.

#include <string>
#include <vector>

#include "common/explanation.h"
#include "common/standing.h"
#include "proto/status.h"

namespace proffer::proto {

struct Explanation {
  std::string answer = {};  // one sentence
  std::string name = {};
  std::string user = {};
  Duration failover_timeout = {};
  Time now = {};
  FrameworkExplanation fair = {};
  std::vector<OfferRow> offers = {};  // outstanding to it
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
