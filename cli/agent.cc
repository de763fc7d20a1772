// proffer agent: without a subcommand it runs an agent. Its subcommands are for operators: `gone`
// declares that an agent never comes back, `lift-brake` lifts the brake.

#include <algorithm>
#include <cstdio>
#include <iostream>

#include <unistd.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/master_client.h"
#include "cli/output.h"
#include "cli/programs.h"
#include "common/text.h"
#include "common/usage_problem.h"
#include "proto/json/json.h"

namespace proffer::cli {
namespace {

// The question to confirm, with the tasks that would be lost.
std::string question_about(const std::string& agent, const std::vector<proto::AgentRow>& rows) {
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const proto::AgentRow& one) {
    return one.agent.str() == agent;
  });
  const std::string state = row == rows.end() ? "unknown" : std::string(to_text(row->state));
  const int64_t tasks = row == rows.end() ? 0 : row->tasks;
  return text("agent ", agent, " is ", state, ", with ", tasks, tasks == 1 ? " task" : " tasks",
              ". Its tasks end as gone, and the agent cannot come back with its work directory. "
              "Declare it gone? [y/N] ");
}

bool is_confirmed(const std::string& question) {
  print_question(question);
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

int gone(const Words& words) {
  std::string master_flag;
  std::string agent;
  bool yes = false;
  bool json = false;
  Arguments arguments("proffer agent gone AGENT [--yes]",
                      "declare that an agent's machine never comes back. Its tasks end as gone at "
                      "once. If the machine does come back with its work directory, the agent ends "
                      "its tasks. The agent must be disconnected or unreachable.");
  arguments.master(&master_flag);
  arguments.flag("--yes", &yes, "do not ask for confirmation; needed without a terminal");
  arguments.flag("--json", &json, "print errors as JSON");
  arguments.required("AGENT", &agent, "agent name");
  arguments.note("It asks for confirmation, and cannot be undone.");
  arguments.exit_codes(
      "0 success, 1 failed, refused or not confirmed, 2 wrong usage (also without --yes and a "
      "terminal), 3 the master cannot be reached");
  arguments.examples({"proffer agent gone a17"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), json);
  if (Result<void> name = check_name("an agent", agent); !name) {
    return usage_error(name.error(), json);
  }
  if (!yes) {
    if (isatty(STDIN_FILENO) == 0 || isatty(STDERR_FILENO) == 0) {
      return usage_error(
          Error::invalid_argument(
              "gone cannot be undone, and without a terminal no confirmation is possible")
              .with_hint(text("proffer agent gone ", agent, " --yes")),
          json);
    }
    const Result<std::vector<proto::AgentRow>> rows =
        call_list<proto::AgentRow>(*master, "agents", {}, proto::parse_agents);
    if (!rows) return print_error(rows.error(), json);
    if (!is_confirmed(question_about(agent, *rows))) {
      return print_error(Error::failed_precondition("not confirmed: nothing was changed"), json);
    }
  }
  const Result<CallResult> answer =
      call(*master, "agent_gone", proto::agent_gone_call_json({.agent = AgentId(agent)}));
  if (!answer) return print_error(answer.error(), json);
  if (json) print_json("{}");
  return 0;
}

int lift_brake(const Words& words) {
  std::string master_flag;
  std::string span;
  bool json = false;
  Arguments arguments("proffer agent lift-brake [--for DURATION]",
                      "release the agents that the brake holds back, and hold back no others for a "
                      "while. Their tasks become unreachable and are replaced. Use it when the "
                      "machines have failed, not when a network switch has.");
  arguments.master(&master_flag);
  arguments.option(
      "--for", &span,
      "how long the brake stays off (default: the master's --agent_loss_period); 0s: on again now");
  arguments.flag("--json", &json, "print errors as JSON");
  arguments.examples({"proffer agent lift-brake --for 30m"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), json);
  proto::BrakeLiftCall lift;
  if (!span.empty()) {
    Result<Duration> parsed = parse_duration(span);
    if (!parsed) return usage_error(std::move(parsed).error().in("--for"), json);
    lift.span = *parsed;
  }
  const Result<CallResult> answer = call(*master, "brake_lift", proto::brake_lift_call_json(lift));
  if (!answer) return print_error(answer.error(), json);
  if (json) print_json("{}");
  return 0;
}

}  // namespace

int run_agent(const Words& words) {
  const std::string_view verb = words.empty() ? std::string_view() : words.front();
  if (verb.empty() || verb.starts_with("-")) return print_error(become("agent", words), false);
  const Words rest(words.begin() + 1, words.end());
  if (verb == "gone") return gone(rest);
  if (verb == "lift-brake") return lift_brake(rest);
  Error error = unknown_verb(verb, "proffer agent", {"gone", "lift-brake"});
  std::string hint = text(error.hint(), "\nwithout a subcommand it runs an agent");
  return usage_error(std::move(error).with_hint(std::move(hint)), false);
}

}  // namespace proffer::cli
