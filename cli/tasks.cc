// proffer tasks and proffer kill.

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/master_client.h"
#include "cli/output.h"
#include "cli/pending.h"
#include "common/text.h"
#include "proto/json/json.h"

namespace proffer::cli {
namespace {

std::string outcome_of(const proto::TaskRow& row) {
  if (row.exit_code) return text("exit ", *row.exit_code);
  if (row.signal) return text("signal ", *row.signal);
  if (row.reason == proto::TaskReason::kNone) return "-";
  return std::string(to_text(row.reason));
}

std::string state_of(const proto::TaskRow& row) {
  return text(to_text(row.state), row.healthy == std::optional(false) ? " (unhealthy)"
                                  : row.ready == std::optional(false) ? " (not ready)"
                                                                      : "");
}

std::string shortened(const std::string& command) {
  constexpr size_t kShown = 40;
  if (command.empty()) return "-";
  return command.size() <= kShown ? command : command.substr(0, kShown) + "…";
}

}  // namespace

int run_tasks(const Words& words) {
  std::string master_flag;
  std::string prefix;
  bool json = false;
  bool all = false;
  bool pending = false;
  Arguments arguments("proffer tasks [PREFIX] [--all | --pending] [--json]",
                      "list running tasks; with --all also ended ones; with --pending waiting asks "
                      "and their estimated start");
  arguments.master(&master_flag);
  arguments.flag("--json", &json, "print one JSON object");
  arguments.flag("--all", &all, "also show ended tasks");
  arguments.flag("--pending", &pending, "show asks with tasks that are not launched yet");
  arguments.option(
      "PREFIX", &prefix,
      "only FRAMEWORK/TASK or task ids that begin with this; with --pending FRAMEWORK/ASK");
  arguments.note(
      "States of running tasks: staging (launched, not reported as running yet), running, killing, "
      "unreachable (its agent is unreachable; the task may still run). States of ended tasks: "
      "finished (success), failed, killed, lost (its end is unknown), gone (its agent was "
      "removed or declared gone), refused (never started).");
  arguments.examples({"proffer tasks --all", "proffer tasks --pending web-17-3/web"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), json);
  if (all && pending) {
    return usage_error(
        Error::invalid_argument("--all shows ended tasks, and --pending waiting asks")
            .with_hint("give one of them"),
        json);
  }
  if (pending) return print_pending(*master, prefix, json);
  const Result<std::vector<proto::TaskRow>> rows = call_list<proto::TaskRow>(
      *master, "tasks", {.prefix = prefix, .ended = all}, proto::parse_tasks);
  if (!rows) return print_error(rows.error(), json);
  if (json) {
    print_json(proto::tasks_json(*rows));
    return 0;
  }
  Table table({"TASK", "STATE", "AGENT", "RESOURCES", "OUTCOME", "COMMAND"});
  for (const proto::TaskRow& row : *rows) {
    table.row({row.framework.str() + "/" + row.task.str(), state_of(row),
               row.agent.empty() ? "-" : row.agent.str(), to_text(row.resources), outcome_of(row),
               shortened(row.command)});
  }
  table.print();
  return 0;
}

int run_kill(const Words& words) {
  std::string master_flag;
  std::string task;
  std::string grace;
  bool json = false;
  std::string framework;
  Arguments arguments("proffer kill TASK | --framework FRAMEWORK",
                      "kill a task, or all tasks of a framework. The scheduler may launch others; "
                      "proffer teardown ends the scheduler, too.");
  arguments.master(&master_flag);
  arguments.flag("--json", &json, "print errors as JSON");
  arguments.option("--grace", &grace,
                   "time between the polite signal and SIGKILL (default: the task's own)");
  arguments.option("--framework", &framework,
                   "kill all tasks of this framework: its whole id, or its name if unique");
  arguments.option("TASK", &task, "FRAMEWORK/TASK or a unique prefix");
  arguments.note("It asks for no confirmation and returns at once, before the tasks have ended.");
  arguments.examples(
      {"proffer kill web-17-3/web.1 --grace 5s", "proffer kill --framework web-17-3"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), json);
  if (task.empty() == framework.empty()) {
    return usage_error(Error::invalid_argument("give either a task or --framework")
                           .with_hint("for example: proffer kill web/web-1"),
                       json);
  }
  proto::KillCall kill{.task = task, .framework = framework};
  if (!grace.empty()) {
    Result<Duration> parsed = parse_duration(grace);
    if (!parsed) return usage_error(std::move(parsed).error().in("--grace"), json);
    kill.grace = *parsed;
  }
  const Result<CallResult> answer = call(*master, "kill", proto::kill_call_json(kill));
  if (!answer) return print_error(answer.error(), json);
  if (json) print_json("{}");
  return 0;
}

}  // namespace proffer::cli
