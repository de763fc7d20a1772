#pragma once

// The status and the metrics of an agent for its HTTP server: /v1/status and /metrics.

#include <cstdint>
#include <string>
#include <string_view>

#include "net/local_server.h"
#include "net/metrics_text.h"
#include "net/trace_log.h"
#include "slave/core/agent.h"
#include "slave/shell/fetches.h"
#include "slave/shell/file_cache.h"
#include "slave/shell/isolator.h"
#include "slave/shell/supervisor.h"

namespace proffer::agent {

// The parts that have metrics, and counts of the shell.
struct AgentParts {
  const Agent& core;
  const Isolator& isolator;
  const Fetches& fetches;
  const FileCache& cache;
  const LocalServer& executors;
  const TraceLog& trace;
  uint64_t checkpoint_bytes = 0;
  uint64_t connects_failed = 0;  // attempts that did not reach the master
  uint64_t out_of_memory = 0;    // executors and tasks ended by the kernel
};

// Includes the use of each executor, or of those of one framework, read from the kernel now.
// O(executors) file reads. `path`: kUsagePath and a framework's id; otherwise all executors.
proto::AgentStatus agent_status(const Agent& core, const Supervisor& supervisor,
                                std::string_view path);
// O(executors).
MetricsText agent_metrics(const AgentParts& agent, MetricsFormat format);

}  // namespace proffer::agent
