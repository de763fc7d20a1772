#include "slave/shell/agent_report.h"

#include <optional>
#include <string_view>

#include "slave/shell/file_gate.h"

namespace proffer::agent {

proto::AgentStatus agent_status(const Agent& core, const Supervisor& supervisor,
                                std::string_view path) {
  proto::AgentStatus status = core.status();
  if (path.starts_with(kUsagePath)) {
    const std::string_view framework = path.substr(kUsagePath.size());
    std::erase_if(status.executors, [&](auto& row) { return row.framework.str() != framework; });
  }
  for (proto::AgentExecutorRow& row : status.executors) {
    const std::optional<GroupUsage> usage = supervisor.usage(row.framework, row.executor);
    if (!usage) continue;
    row.usage = {.cpu_nanos = usage->cpu_nanos,
                 .throttled_nanos = usage->throttled_nanos,
                 .memory_bytes = usage->memory_bytes,
                 .memory_peak_bytes = usage->memory_peak_bytes,
                 .memory_limit_bytes = usage->memory_limit_bytes,
                 .out_of_memory = usage->out_of_memory,
                 .processes = usage->processes,
                 .read_bytes = usage->read_bytes,
                 .written_bytes = usage->written_bytes};
  }
  return status;
}

MetricsText agent_metrics(const AgentParts& agent, MetricsFormat format) {
  const proto::AgentStatus status = agent.core.status();
  MetricsText text(format);
  text.gauge("proffer_agent_registered", "1: the agent is registered with a master; 0: it is not.",
             status.registered);
  text.gauge(
      "proffer_agent_takes_tasks",
      "1; 0 while the agent takes no tasks: its disk is full, or executors cannot be started.",
      agent.core.trouble().empty() ? 1 : 0);
  text.gauge("proffer_agent_tasks", "Tasks that have not ended.", status.tasks);
  text.gauge("proffer_agent_executors", "Executors.",
             static_cast<int64_t>(status.executors.size()));
  text.gauge("proffer_agent_updates_unacknowledged", "Updates that wait for acknowledgement.",
             status.updates_unacknowledged);
  text.amounts("proffer_agent_resources_capacity", "Resources of this agent.",
               status.total.amounts);
  text.amounts("proffer_agent_resources_used", "Resources used by its tasks.", status.used);
  // The sum over all tasks and executors, including ended ones; empty if nothing is counted.
  const GroupUsage usage = agent.isolator.usage_of_all();
  text.family(MetricType::kCounter, "proffer_agent_tasks_cpu_seconds_total",
              "CPU time of tasks since the start of the agent's cgroup.");
  if (usage.cpu_nanos) text.sample_seconds(nanoseconds(*usage.cpu_nanos));
  const auto gauge_if_counted = [&](std::string_view name, std::string_view help,
                                    const std::optional<int64_t>& value) {
    text.family(MetricType::kGauge, name, help);
    if (value) text.sample(*value);
  };
  gauge_if_counted("proffer_agent_tasks_memory_bytes", "Memory used by tasks.", usage.memory_bytes);
  gauge_if_counted("proffer_agent_tasks_processes", "Processes and threads of tasks.",
                   usage.processes);
  text.counter("proffer_agent_out_of_memory_total", "Executors and tasks that ran out of memory.",
               agent.out_of_memory);
  text.gauge("proffer_agent_fetches", "Executors that wait for the files of their tasks.",
             static_cast<int64_t>(agent.fetches.running()));
  text.counter("proffer_agent_fetches_failed_total", "Executors whose files could not be fetched.",
               agent.fetches.failed());
  text.gauge("proffer_agent_cache_bytes", "Size of the cache of fetched files.",
             agent.cache.bytes());
  text.gauge("proffer_agent_checkpoint_bytes", "Size of the checkpoint.",
             static_cast<int64_t>(agent.checkpoint_bytes));
  text.counter("proffer_agent_connects_failed_total", "Failed attempts to connect to the master.",
               agent.connects_failed);
  const LocalServer::Counters& frames = agent.executors.counters();
  text.counter("proffer_frames_received_total", "Frames from executors.", frames.frames_received);
  text.counter("proffer_frames_sent_total", "Frames to executors.", frames.frames_sent);
  text.counter("proffer_frames_malformed_total",
               "Received messages that were not exactly one frame.", frames.malformed);
  text.counter("proffer_accepts_failed_total",
               "Connections of executors that could not be accepted and were retried.",
               frames.unaccepted);
  text.gauge("proffer_peers", "Executors with a connection.",
             static_cast<int64_t>(agent.executors.peers()));
  text.events(agent.trace);
  return text;
}

}  // namespace proffer::agent
