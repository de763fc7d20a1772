#pragma once

// Counts of each framework for /metrics: its actions, and its waits for offers. The names are
// those of sdk::SchedulerFigures, since the SDK counts the same events in the scheduler.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/latency_histogram.h"
#include "common/limits.h"
#include "common/offers.h"
#include "common/time.h"
#include "common/wait_reason.h"
#include "proto/messages.h"

namespace proffer::master {

// Counted since this master started.
struct FrameworkFigures {
  uint64_t offers = 0;     // made
  uint64_t accepted = 0;   // outstanding offers that an accept used
  uint64_t declined = 0;   // outstanding offers that were declined
  uint64_t rescinded = 0;  // for any reason
  uint64_t expired = 0;    // rescinded offers whose lease ended without an answer
  // rescinded offers that stayed unanswered while a framework below its share waited for them
  uint64_t unanswered = 0;
  uint64_t launches = 0;                               // tasks in accepts, including refused ones
  std::map<proto::TaskReason, uint64_t> refused = {};  // launches refused by the master or an agent
  // Waits for an offer. Each begins when an ask wants tasks that are not offered, or when an open
  // offer is answered, and ends with the next offer.
  LatencyHistogram waits = {};
};

// The asks of one framework that want tasks without an offer, with the time since when they wait. A
// framework that gets open offers waits under the empty name.
class OfferWaits {
 public:
  // Nothing changes if the ask waits already.
  void begin(const AskName& ask, Time now) { since_.try_emplace(ask, now); }
  // The length of the ask's wait; none if it did not wait.
  std::optional<Duration> end(const AskName& ask, Time now);
  void clear() { since_.clear(); }
  // Keeps the waits of declared asks; the others end.
  void keep_only(const std::map<AskName, Ask>& asks);
  const std::map<AskName, Time>& all() const { return since_; }

 private:
  std::map<AskName, Time> since_;
};

// The figures of at most kFrameworkSeriesMax frameworks by name, and one sum for all others, since
// a metrics collector keeps a series for each name. A framework in the sum stays there while it is
// subscribed, and its counts stay in the sum after its end, so no count ever falls.
class FrameworkSeries {
 public:
  // Gives the framework figures of its own from now on, if there is room.
  void name(const FrameworkId& framework);
  void forget(const FrameworkId& framework) { named_.erase(framework); }
  // Its own figures, or the sum if it has none.
  FrameworkFigures& of(const FrameworkId& framework);
  const std::map<FrameworkId, FrameworkFigures>& named() const { return named_; }
  const FrameworkFigures& other() const { return other_; }

 private:
  std::map<FrameworkId, FrameworkFigures> named_;
  FrameworkFigures other_;
};

// The present figures of one framework, or of all frameworks without a name.
struct FrameworkSeriesRow {
  std::string framework = {};  // its id, or "other"
  FrameworkFigures figures = {};
  Duration oldest_offer = {};  // age of the oldest outstanding offer; zero: there is none
  Duration longest_wait = {};  // the longest wait that goes on; zero: there is none
  int64_t backing_off = 0;     // waits after failed accepts: of asks, and of the framework
};

// What the tasks of one role wait for and have waited for.
struct RoleWaitSums {
  RoleName role = {};
  std::vector<WaitSum> sums = {};  // of reasons that some task waited for
};

}  // namespace proffer::master
