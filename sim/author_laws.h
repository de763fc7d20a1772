#pragma once

// What the author of a scheduler may count on, beside what the journal knows of tasks: that it is
// not refused for nothing, that an accept is launched as a whole or not at all, that what it
// declines is not offered to it again at once, and that no task is taken from it without notice.

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

  std::vector<Violation> said(const sdk::Command& command, Time now);
  std::vector<Violation> heard(const sdk::Notification& notification);

 private:
  void check_decline(const proto::Decline& decline, Time now, std::vector<Violation>& found);
  void check_notice(const proto::TaskStatus& status, std::vector<Violation>& found) const;
  void check_accept(const proto::TaskStatus& status, std::vector<Violation>& found);

  Duration failover_timeout_;
  bool ended_by_itself_ = false;
  uint64_t accepts_ = 0;
  std::map<TaskId, uint64_t> accept_of_;
  std::set<uint64_t> void_;      // accepts of which a task was refused since an offer was not valid
  std::set<uint64_t> launched_;  // accepts of which a task ran
  struct Declined {
    Time since = {};
    int times = 0;
  };
  std::map<AgentId, Declined> declined_;  // in the second that began then
  std::map<OfferId, AgentId> offers_;     // not answered yet
  // In this session, which has not been broken since: who loses a notice ends it.
  std::set<TaskId> launched_here_;
  std::set<TaskId> noticed_;
};

}  // namespace proffer::sim
