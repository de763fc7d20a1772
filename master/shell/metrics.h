#pragma once

// The metrics of a master, as its HTTP server gives them. docs/concepts/metrics.md has the names.

#include <string>

#include "common/latency_histogram.h"
#include "master/core/master.h"
#include "master/shell/event_log.h"
#include "master/shell/history.h"
#include "master/shell/inbox.h"
#include "net/router.h"
#include "net/trace_log.h"

namespace proffer::master {

// What was refused because too much of its user waited.
struct ShedCounters {
  uint64_t calls = 0;
  uint64_t sessions = 0;
};

// The parts that have figures of their own.
struct MasterParts {
  const Master& core;
  const LatencyHistogram& decisions;
  const History* history;  // nullptr: none is kept
  const EventLog* events;  // the same
  const Router& router;
  const Inbox& inbox;
  size_t writes_waiting;  // of the registry
  const ShedCounters& shed;
  const TraceLog& trace;
  Time now = {};
};

// In Prometheus' text format. O(agents + frameworks + offers).
std::string master_metrics(const MasterParts& master);

}  // namespace proffer::master
