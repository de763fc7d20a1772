#pragma once

// The metrics of a master for its HTTP server. docs/concepts/metrics.md lists the names.

#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "common/latency_histogram.h"
#include "master/core/master.h"
#include "master/shell/conditions.h"
#include "master/shell/event_follower.h"
#include "master/shell/event_log.h"
#include "master/shell/forecaster.h"
#include "master/shell/history.h"
#include "master/shell/inbox.h"
#include "master/shell/shedding.h"
#include "net/metrics_text.h"
#include "net/router.h"
#include "net/time_histogram.h"
#include "net/trace_log.h"

namespace proffer::master {

// The writes to the registry. They end in the order in which they begin.
class RegistryWrites {
 public:
  void began(Time now) { waiting_.push_back(now); }
  void ended(Time now) {
    took_.record(now - waiting_.front());
    waiting_.pop_front();
  }
  // How long the oldest write has waited for the disk; zero: none waits.
  Duration oldest(Time now) const { return waiting_.empty() ? Duration() : now - waiting_.front(); }
  const TimeHistogram& took() const { return took_; }

 private:
  std::deque<Time> waiting_;  // at most kStoreQueuedMax, as in the store
  TimeHistogram took_;
};

// Counts of task changes.
class TaskCounts {
 public:
  using Ends = std::map<std::pair<proto::TaskState, proto::TaskReason>, uint64_t>;

  void count(const std::vector<TraceEvent>& events);
  // Ended tasks, by how they ended.
  const Ends& ends() const { return ends_; }
  // The number of launches and changes of state.
  uint64_t moves() const { return moves_; }

 private:
  Ends ends_;
  uint64_t moves_ = 0;
};

// The parts that have metrics.
struct MasterParts {
  const Master& core;
  LeaderEpoch leader = {};
  const LatencyHistogram& decisions;
  const History* history;  // nullptr: none is kept
  const EventLog* events;  // nullptr: none is kept
  const Router& router;
  const Inbox& inbox;
  size_t writes_waiting;  // to the registry
  const RegistryWrites& writes;
  const TaskCounts& tasks;
  const ConditionWatch& conditions;
  const Forecaster& forecaster;
  const std::vector<proto::MasterRow>& masters;  // with MasterRow::events_behind
  const ShedCounters& shed;
  const TraceLog& trace;
  Time now = {};
};

// O(agents + frameworks + roles + offers).
MetricsText master_metrics(const MasterParts& master, MetricsFormat format);

// The metrics of a standby. `follower`: nullptr: it keeps no events.
MetricsText standby_metrics(const TraceLog& trace, const EventFollower* follower,
                            MetricsFormat format);

}  // namespace proffer::master
