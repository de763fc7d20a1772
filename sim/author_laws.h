#pragma once

// Laws on which the author of a scheduler relies, besides those of the journal about tasks. The
// scheduler is not refused without a reason. An accept is launched as a whole or not at all. A
// declined agent is not offered again at once. No task is preempted without notice.

#include <map>
#include <set>
#include <vector>

#include "common/ids.h"
#include "common/result.h"
#include "common/time.h"
#include "sdk/core/driver.h"

namespace proffer::sim {

class AuthorLaws {
 public:
  explicit AuthorLaws(Duration failover_timeout) : failover_timeout_(failover_timeout) {}

  std::vector<Violation> on_command(const sdk::Command& command, Time now);
  std::vector<Violation> heard(const sdk::Notification& notification);

 private:
  void check_decline(const proto::Decline& decline, Time now, std::vector<Violation>& found);
  void check_notice(const proto::TaskStatus& status, std::vector<Violation>& found) const;
  void check_accept(const proto::TaskStatus& status, std::vector<Violation>& found);

  Duration failover_timeout_;
  bool ended_by_itself_ = false;
  uint64_t accepts_ = 0;
  std::map<TaskId, uint64_t> accept_of_;
  std::set<uint64_t> void_;      // accepts with a task refused for an invalid offer
  std::set<uint64_t> launched_;  // accepts with a task that ran
  struct Declined {
    Time since = {};
    int times = 0;
  };
  std::map<AgentId, Declined> declined_;  // in the second that began then
  std::map<OfferId, AgentId> offers_;     // not answered yet
  // In this session, without a break since then: a scheduler that loses a notice ends its session.
  std::set<TaskId> launched_here_;
  std::set<TaskId> noticed_;
};

}  // namespace proffer::sim
