#include "sim/checkers.h"

#include "common/text.h"

namespace proffer::sim {

std::vector<Violation> unsettled_schedulers(const Cluster& cluster) {
  std::vector<Violation> found;
  for (const auto& scheduler : cluster.schedulers) {
    if (!scheduler->is_settled()) {
      std::string why;
      if (cluster.master.is_up()) {
        if (const auto all = cluster.master.core().explain(scheduler->name(), nullptr); all) {
          why = "; " + all->answer;
        }
      }
      found.push_back({text("scheduler ", scheduler->name(),
                            " is not done: ", scheduler->workload().progress(), why)});
    }
  }
  return found;
}

std::vector<Violation> disagreements(const Cluster& cluster) {
  if (!cluster.master.is_up()) return {{"there is no master"}};
  std::vector<Violation> found;
  const proto::MasterStatus master = cluster.master.core().status();
  const auto none = [&found](std::string_view what, int64_t count) {
    if (count != 0) found.push_back({text("the master has ", count, " ", what)});
  };
  none("tasks staging", master.tasks_staging);
  none("tasks running", master.tasks_running);
  none("tasks killing", master.tasks_killing);
  none("tasks unreachable", master.tasks_unreachable);
  none("agents disconnected", master.agents_disconnected);
  none("agents unreachable", master.agents_unreachable);
  if (!master.allocated.is_zero()) {
    found.push_back(
        {text("the master has ", to_text(master.allocated), " allocated without a task")});
  }

  int64_t up = 0;
  ResourceVector total;
  for (const auto& agent : cluster.agents) {
    if (!agent->is_up()) continue;
    ++up;
    const proto::AgentStatus status = agent->status();
    if (!status.registered) found.push_back({text(agent->name(), " is not registered")});
    if (status.tasks != 0) found.push_back({text(agent->name(), " has ", status.tasks, " tasks")});
    if (status.updates_unacknowledged != 0) {
      found.push_back(
          {text(agent->name(), " has ", status.updates_unacknowledged, " unacknowledged updates")});
    }
    if (!status.trouble.empty()) {
      found.push_back({text(agent->name(), " takes no tasks: ", status.trouble)});
    }
    if (!status.used.is_zero()) {
      found.push_back(
          {text(agent->name(), " has ", to_text(status.used), " in use without a task")});
    }
    total += status.total.amounts;
  }
  for (const proto::AgentRow& row : cluster.master.core().agents()) {
    if (!row.trouble.empty()) {
      found.push_back({text("by its master ", row.agent.str(), " takes no tasks: ", row.trouble)});
    }
  }
  if (master.agents_connected != up) {
    found.push_back(
        {text("the master has ", master.agents_connected, " agents connected of ", up)});
  }
  if (master.total != total) {
    found.push_back(
        {text("the master has ", to_text(master.total), " of the agents' ", to_text(total))});
  }
  return found;
}

std::vector<Violation> unfinished(const Cluster& cluster) {
  std::vector<Violation> found = unsettled_schedulers(cluster);
  for (Violation& one : disagreements(cluster)) found.push_back(std::move(one));
  for (Violation& one : cluster.journal.unsettled()) found.push_back(std::move(one));
  return found;
}

}  // namespace proffer::sim
