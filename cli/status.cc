// proffer status, agents, frameworks: summaries of the cluster. Problems come first.

#include <map>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/master_client.h"
#include "cli/output.h"
#include "common/text.h"
#include "proto/json/conditions_json.h"
#include "proto/json/json.h"

namespace proffer::cli {
namespace {

struct Common {
  std::string master = {};
  bool json = false;
};

void add_common(Arguments& arguments, Common* common) {
  arguments.master(&common->master);
  arguments.flag("--json", &common->json, "print one JSON object");
}

std::string total_text(const ResourceVector& total) {
  const std::string text = to_text(total);
  return text.empty() ? "nothing" : text;
}

std::string state_of(const proto::AgentRow& row) {
  if (row.held_back) return text(to_text(row.state), ", held back by the brake");
  if (!row.trouble.empty()) return text(to_text(row.state), ", takes no tasks: ", row.trouble);
  if (!row.drained_by) return std::string(to_text(row.state));
  return text(to_text(row.state), row.tasks == 0 ? ", drained" : ", draining");
}

// Empty if the brake holds no agent back.
std::string brake_of(const proto::MasterStatus& status) {
  if (status.brake_lifted_until) {
    return text("lifted for ", age(*status.brake_lifted_until - status.now));
  }
  if (status.agents_held_back == 0) return {};
  const Duration next = status.agents_lost_next.value_or(status.now) - status.now;
  return text(
      status.agents_held_back, " of the disconnected agents are held back by the brake: at most ",
      status.agents_lost_max, " become unreachable per ", to_text(status.agents_lost_period),
      ", the next in ", age(next), "; if they will not come back: proffer agent lift-brake");
}

// "leads in epoch 3", "stands by, 12 events behind", "is away; it led in epoch 2, until 4m ago"
std::string standing_of(const proto::MasterRow& row, Time now) {
  if (row.role == proto::MasterRole::kLeads) return text("leads in epoch ", row.last.value());
  std::string words = row.role == proto::MasterRole::kAway ? "is away" : "stands by";
  if (!row.keeps_history) words += ", keeps no history";
  if (row.events_behind.value_or(0) > 0) words += text(", ", *row.events_behind, " events behind");
  if (!row.last) return words;
  words += text("; it led in epoch ", row.last.value());
  if (row.led_until)
    words += text(", until ", age(std::max(Duration(), now - *row.led_until)), " ago");
  return words;
}

void print_conditions(const std::vector<proto::ConditionRow>& rows, Time now) {
  if (rows.empty()) return print_line("nothing is wrong");
  for (const proto::ConditionRow& row : rows) {
    print_line(text(to_text(row.severity),
                    row.severity == proto::Severity::kWarning ? "     " : "    ", row.condition,
                    " ", row.object, ", for ", age(std::max(Duration(), now - row.since)), ": ",
                    row.message));
    print_line(text("            look: ", row.command));
  }
}

std::string reserved_of(const proto::AgentRow& row) {
  std::map<RoleName, ResourceVector> sums;
  for (const proto::ReservedRow& part : row.reserved) sums[part.role] += part.amounts;
  std::string out;
  for (const auto& [role, amounts] : sums) {
    out += text(out.empty() ? "" : ", ", role.str(), "=", to_text(amounts));
  }
  return out.empty() ? "-" : out;
}

}  // namespace

int run_status(const Words& words) {
  Common common;
  Arguments arguments("proffer status [--json]",
                      "show problems in the cluster, the most severe first, and a summary");
  add_common(arguments, &common);
  arguments.exit_codes(
      "0 success, also if it shows problems; 1 failed or refused, 2 wrong usage, 3 the master "
      "cannot "
      "be reached");
  arguments.examples({"proffer status"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<Masters> master = master_address(common.master);
  if (!master) return usage_error(master.error(), common.json);
  const Result<CallResult> answer = call(*master, "status", "");
  if (!answer) return print_error(answer.error(), common.json);
  if (common.json) {
    print_json(answer->json);
    return 0;
  }
  const Result<proto::MasterStatus> status = proto::parse_status(answer->json);
  if (!status) return print_error(status.error(), false);
  const Result<std::vector<proto::ConditionRow>> wrong = proto::parse_conditions(answer->json);
  if (!wrong) return print_error(wrong.error(), false);
  print_conditions(*wrong, status->now);
  print_line(text("master      ", answer->master, ", leader epoch ", status->leader.value(),
                  ", up ", age(status->now - status->started_at)));
  if (status->masters.size() > 1) {
    std::string_view label = "masters     ";
    for (const proto::MasterRow& row : status->masters) {
      print_line(text(label, row.name, " ", standing_of(row, status->now)));
      label = "            ";
    }
  }
  print_line(text("agents      ", status->agents_connected, " connected, ",
                  status->agents_disconnected, " disconnected, ", status->agents_unreachable,
                  " unreachable, ", status->agents_gone, " gone"));
  if (const std::string brake = brake_of(*status); !brake.empty()) {
    print_line(text("brake       ", brake));
  }
  if (status->agents_awaited > 0) {
    print_line(
        text("awaited     ", status->agents_awaited,
             " agents have not registered with this leader yet: it does not know their tasks"));
  }
  print_line(text("frameworks  ", status->frameworks_connected, " connected, ",
                  status->frameworks_disconnected, " disconnected"));
  print_line(text("tasks       ", status->tasks_running, " running, ", status->tasks_staging,
                  " staging, ", status->tasks_killing, " killing, ", status->tasks_unreachable,
                  " unreachable; ", status->tasks_ended, " ended"));
  print_line(text("allocated   ", use_of(status->allocated, status->total)));
  print_line(text("offered     ", total_text(status->offered), " in ", status->offers, " offers"));
  if (!status->history.empty()) print_line(text("history     not kept: ", status->history));
  return 0;
}

int run_agents(const Words& words) {
  Common common;
  Arguments arguments("proffer agents [--json]", "list agents and their resources");
  add_common(arguments, &common);
  arguments.note(
      "States: connected; disconnected (no connection); unreachable (silent for the master's "
      "--agent_timeout: its tasks may still run, and schedulers may replace them); gone (an "
      "operator declared that it never comes back). An agent that is unreachable for the master's "
      "--reregistration_timeout is removed and no longer listed; its tasks end as gone.");
  arguments.examples({"proffer agents"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<Masters> master = master_address(common.master);
  if (!master) return usage_error(master.error(), common.json);
  const Result<std::vector<proto::AgentRow>> rows =
      call_list<proto::AgentRow>(*master, "agents", {}, proto::parse_agents);
  if (!rows) return print_error(rows.error(), common.json);
  if (common.json) {
    print_json(proto::agents_json(*rows));
    return 0;
  }
  Table table({"AGENT", "STATE", "TASKS", "ALLOCATED", "RESERVED", "ATTRIBUTES", "HTTP", "LIMITS"});
  for (const proto::AgentRow& row : *rows) {
    table.row({row.agent.str(), state_of(row), std::to_string(row.tasks),
               use_of(row.allocated, row.total.amounts), reserved_of(row),
               row.attributes.empty() ? "-" : to_text(row.attributes), row.http_address,
               row.limits.empty() ? "-" : row.limits});
  }
  table.print();
  return 0;
}

int run_frameworks(const Words& words) {
  Common common;
  Arguments arguments("proffer frameworks [--json]", "list frameworks and their shares");
  add_common(arguments, &common);
  arguments.note(
      "While a scheduler is disconnected, its tasks keep running for the framework's failover "
      "timeout; then they are killed. Unless the scheduler sets it, it is 7 days with a session "
      "file or standbys, else 10s (as for proffer run): a new process is then a new framework.");
  arguments.examples({"proffer frameworks"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<Masters> master = master_address(common.master);
  if (!master) return usage_error(master.error(), common.json);
  const Result<std::vector<proto::FrameworkRow>> rows =
      call_list<proto::FrameworkRow>(*master, "frameworks", {}, proto::parse_frameworks);
  if (!rows) return print_error(rows.error(), common.json);
  if (common.json) {
    print_json(proto::frameworks_json(*rows));
    return 0;
  }
  Table table({"FRAMEWORK", "ROLE", "STATE", "TASKS", "SHARE", "ALLOCATED", "WANTS", "USER"});
  for (const proto::FrameworkRow& row : *rows) {
    int64_t wanted = 0;
    bool impossible = false;
    for (const proto::AskRow& ask : row.asks) {
      wanted += ask.wanted;
      impossible |= !ask.could_ever_fit && ask.wanted > 0;
    }
    const std::string wants =
        row.mode == OfferMode::kOpen
            ? "open offers"
            : text(wanted, " tasks", impossible ? " (some fit on no agent)" : "");
    table.row({row.framework.str(), row.role.str(), std::string(to_text(row.state)),
               std::to_string(row.tasks), percent(row.dominant_share_millionths),
               total_text(row.allocated), wants, row.user});
  }
  table.print();
  return 0;
}

}  // namespace proffer::cli
