// proffer drain and undrain: move the work off an agent for maintenance, and let it take work
// again.

#include <algorithm>
#include <chrono>
#include <thread>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/master_client.h"
#include "cli/output.h"
#include "common/text.h"
#include "proto/json/json.h"

namespace proffer::cli {
namespace {

constexpr Duration kPollEvery = milliseconds(500);

// Waits until the agent runs no task; returns 1 if its drain is cancelled.
int wait_until_empty(const Masters& master, const AgentId& agent, bool json) {
  while (true) {
    const Result<std::vector<proto::AgentRow>> rows =
        call_list<proto::AgentRow>(master, "agents", {}, proto::parse_agents);
    if (!rows) return print_error(rows.error(), json);
    const auto row = std::find_if(rows->begin(), rows->end(),
                                  [&](const proto::AgentRow& one) { return one.agent == agent; });
    if (row == rows->end()) return 0;  // The agent has left.
    if (row->tasks == 0) return 0;
    if (!row->drained_by) {
      return print_error(Error::failed_precondition(
                             text("agent ", quoted(agent.str()), " is no longer being drained")),
                         json);
    }
    std::this_thread::sleep_for(std::chrono::nanoseconds(kPollEvery.nanos()));
  }
}

}  // namespace

int run_drain(const Words& words) {
  std::string master_flag;
  std::string agent;
  std::string grace;
  bool wait = false;
  bool json = false;
  Arguments arguments("proffer drain AGENT [--grace DURATION] [--wait]",
                      "drain an agent: it gets no new tasks, the schedulers of its tasks are "
                      "notified, and tasks that still run after the grace period are killed");
  arguments.master(&master_flag);
  arguments.flag("--json", &json, "print errors as JSON");
  arguments.option(
      "--grace", &grace,
      "grace period of its tasks (default: the master's --revoke_grace, 10s unless set)");
  arguments.flag("--wait", &wait, "wait until no task runs on it");
  arguments.required("AGENT", &agent, "agent name");
  arguments.note(
      "Each scheduler gets a notice for its tasks there, and may start replacements on other "
      "agents. A task that still runs after the grace period is killed: its signal, then SIGKILL "
      "after the task's own grace. Without --wait, drain returns at once. Ctrl-C ends only the "
      "waiting. proffer undrain ends the drain.");
  arguments.exit_codes(
      "0 success, 1 failed, refused, or undrained while it waited, 2 wrong usage, 3 the master "
      "cannot be reached");
  arguments.examples({"proffer drain a17 --grace 10m --wait"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), json);
  if (Result<void> name = check_name("an agent", agent); !name) {
    return usage_error(name.error(), json);
  }
  proto::DrainCall drain{.agent = AgentId(agent)};
  if (!grace.empty()) {
    Result<Duration> parsed = parse_duration(grace);
    if (!parsed) return usage_error(std::move(parsed).error().in("--grace"), json);
    drain.grace = *parsed;
  }
  const Result<CallResult> answer = call(*master, "drain", proto::drain_call_json(drain));
  if (!answer) return print_error(answer.error(), json);
  if (wait) {
    if (const int status = wait_until_empty(*master, drain.agent, json); status != 0) return status;
  }
  if (json) print_json("{}");
  return 0;
}

int run_undrain(const Words& words) {
  std::string master_flag;
  std::string agent;
  bool json = false;
  Arguments arguments("proffer undrain AGENT",
                      "end a drain: the agent may run tasks again. Tasks that still run stay.");
  arguments.master(&master_flag);
  arguments.flag("--json", &json, "print errors as JSON");
  arguments.required("AGENT", &agent, "agent name");
  arguments.examples({"proffer undrain a17"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), json);
  if (Result<void> name = check_name("an agent", agent); !name) {
    return usage_error(name.error(), json);
  }
  const Result<CallResult> answer =
      call(*master, "undrain", proto::drain_call_json({.agent = AgentId(agent)}));
  if (!answer) return print_error(answer.error(), json);
  if (json) print_json("{}");
  return 0;
}

}  // namespace proffer::cli
