#pragma once

// What each framework did and how long it waited for offers, as counts for /metrics. The names are
// those of sdk::SchedulerFigures: the scheduler's own library counts the same from its side.

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
  uint64_t accepted = 0;   // offers that an accept used while they were outstanding
  uint64_t declined = 0;   // likewise
  uint64_t rescinded = 0;  // for whatever reason
  uint64_t expired = 0;    // those of them whose lease ended without an answer
  uint64_t launches = 0;   // tasks in accepts, also those that were refused
  std::map<proto::TaskReason, uint64_t> refused = {};  // launches, by the master or an agent
  // Each from when an ask wanted tasks that were not offered to it, or an open offer was answered,
  // until the next offer.
  LatencyHistogram waits = {};
};

// The asks of one framework that want tasks which are not offered to them, and since when. A
// framework with open offers waits under the empty name.
class OfferWaits {
 public:
  // Nothing changes if the ask waits already.
  void begin(const AskName& ask, Time now) { since_.try_emplace(ask, now); }
  // How long it waited; none if it did not.
  std::optional<Duration> end(const AskName& ask, Time now);
  void clear() { since_.clear(); }
  // Those that are declared; the rest wait no longer.
  void keep_only(const std::map<AskName, Ask>& asks);
  const std::map<AskName, Time>& all() const { return since_; }

 private:
  std::map<AskName, Time> since_;
};

// The figures of at most kFrameworkSeriesMax frameworks by name, and those of all others in one
// sum: each name is another series for a collector. A framework that counts in the sum stays there
// while it is subscribed, and its ended tasks are not taken out, so no count ever falls.
class FrameworkSeries {
 public:
  // It has figures of its own from now on, if there is room.
  void name(const FrameworkId& framework);
  void forget(const FrameworkId& framework) { named_.erase(framework); }
  // Of the sum if it is not named.
  FrameworkFigures& of(const FrameworkId& framework);
  const std::map<FrameworkId, FrameworkFigures>& named() const { return named_; }
  const FrameworkFigures& other() const { return other_; }

 private:
  std::map<FrameworkId, FrameworkFigures> named_;
  FrameworkFigures other_;
};

// One framework, or all that are not named, as they are now.
struct FrameworkSeriesRow {
  std::string framework = {};  // its id, or "other"
  FrameworkFigures figures = {};
  Duration oldest_offer = {};  // outstanding for so long; zero: none is
  Duration longest_wait = {};  // of those that have not ended; zero: there are none
  int64_t backing_off = 0;     // waits for its own failures: of asks, and of the framework
};

// For what tasks of one role wait, and waited.
struct RoleWaitSums {
  RoleName role = {};
  std::vector<WaitSum> sums = {};  // of reasons that some task waited for
};

}  // namespace proffer::master
