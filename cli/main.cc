// proffer: the command line program. A command is a function here, or a separate program beside
// this one.

#include <cstddef>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/programs.h"
#include "common/check.h"
#include "common/text.h"
#include "common/usage_problem.h"

namespace {

using namespace proffer;
using namespace proffer::cli;

struct Command {
  std::string_view name;
  int (*run)(const Words&);  // null: runs proffer-<name>
  std::string_view what;
  bool has_verbs = false;
};

constexpr Command kCommands[] = {
    {"dev", run_dev, "start a local cluster: a master and agents"},
    {"run", run_run, "run a command on the cluster and stream its output"},
    {"batch", nullptr, "run arrays of commands and MapReduce jobs: proffer batch --help", true},
    {"service", run_service, "keep apps running: proffer service run APP.yaml", true},
    {"status", run_status, "show problems and a summary of the cluster"},
    {"top", run_top, "show the cluster live in the terminal"},
    {"ui", nullptr, "show the cluster as a web page"},
    {"agents", run_agents, "list agents and their resources"},
    {"frameworks", run_frameworks, "list frameworks and their shares"},
    {"role", run_role, "show and set quotas and weights: proffer role list|tree|set|unset", true},
    {"drain", run_drain, "drain an agent, for maintenance"},
    {"undrain", run_undrain, "end a drain, also a completed one: the agent gets tasks again"},
    {"reserve", run_reserve, "reserve a part of an agent for one role"},
    {"unreserve", run_unreserve, "remove a reservation"},
    {"snapshot", run_snapshot, "write the live cluster as a scenario for `proffer simulate`"},
    {"offers", run_offers, "list outstanding offers"},
    {"explain", run_explain, "explain why a framework, role or task waits"},
    {"blame", run_blame, "show the waiting time of a task, framework or role by reason"},
    {"tasks", run_tasks, "list running tasks; --pending: waiting ones; --all: ended ones, too"},
    {"history", run_history, "list ended tasks, also those under earlier masters"},
    {"events", run_events, "list or follow events: proffer events -f"},
    {"accounting", run_accounting, "show the use of roles in a month: proffer accounting 2026-11"},
    {"usage", run_usage, "compare the use of tasks with their asks"},
    {"logs", run_logs, "print the output of a task"},
    {"exec", run_exec, "run one more command in a running task"},
    {"kill", run_kill, "kill a task"},
    {"teardown", run_teardown, "end a framework and all of its tasks"},
    {"keys", run_keys, "manage keys of the cluster: proffer keys init|list|rotate|revoke", true},
    {"secret", run_secret, "manage secrets for tasks: proffer secret set|list|remove", true},
    {"join-token", run_join_token, "create a join token for another machine or user"},
    {"join", run_join, "join a cluster with a join token"},
    {"conformance", run_conformance, "test a framework's scheduler against a list of faults"},
    {"debug", run_debug, "collect the state of the cluster in one archive: proffer debug bundle",
     true},
    {"doctor", nullptr, "check whether an agent would work on this machine"},
    {"registry", nullptr, "check, dump and restore a master's registry", true},
    {"zookeeper", nullptr, "set up masters that share a ZooKeeper: proffer zookeeper init", true},
    {"backup", run_backup, "copy the registry of a running master to a file"},
    {"master", nullptr, "run a master"},
    {"agent", run_agent, "run an agent; if one never comes back: proffer agent gone", true},
    {"replay", nullptr, "replay what proffer-master --record has written: proffer replay DIR",
     true},
    {"simulate", nullptr, "simulate a cluster that a file describes: proffer simulate FILE.yaml"},
    {"sim", nullptr, "test Proffer itself: random clusters with random faults, from a seed"},
};

void print_usage(std::FILE* where) {
  print_lines("usage: proffer [OPTION]… COMMAND …\n\n", where);
  for (const Command& command : kCommands) {
    print_lines(help_row(command.name, command.what, 12), where);
  }
  print_lines(
      "\nproffer COMMAND --help shows the options of a command. Options may stand before the "
      "command\ntoo, as in proffer --json tasks. There, write an option with a value as "
      "--OPTION=VALUE, except\nfor --master. The master's address is the first of these: "
      "--master=SOCKET or\n--master=HOST:PORT; $PROFFER_MASTER; the cluster that you joined; your "
      "own `proffer dev`;\n/run/proffer/master.sock. Schedulers and agents do not look for a "
      "`proffer dev`.\n\n"
      "Exit codes: 0 success, 1 failed or refused, 2 wrong usage, 3 the master cannot be reached; "
      "run\nand exec return the exit code of their command.\n\n"
      "A duration has units (ms, s, m for minutes, h, d or w), as in 90s, 1.5h or 1h30m. Quote "
      "resources for\nthe shell: 'cpus:2;mem:4GiB'. The kinds are cpus, mem, disk, gpus and ports; "
      "mem and disk are in MiB,\nor have a unit: KiB, MiB, GiB or TiB (powers of 1024). In usage "
      "lines, [OPTION] may be omitted, A|B is\na choice, and … is the command's own words.\n",
      where);
}

// A command line; `options` are the arguments before the command.
struct Split {
  Words options = {};
  std::string command = {};  // may be empty
  Words rest = {};
};

Split split_at_command(const Words& words) {
  Split split;
  auto word = words.begin();
  for (; word != words.end() && word->starts_with("-"); ++word) {
    split.options.push_back(*word);
    const bool has_value = *word == "--master";
    if (has_value && word + 1 != words.end()) split.options.push_back(*++word);
  }
  if (word == words.end()) return split;
  split.command = *word;
  split.rest.assign(word + 1, words.end());
  return split;
}

// Puts options that every subcommand has behind the subcommand, if they stand before it.
Words behind_verb_of(const Words& words) {
  size_t at = 0;
  while (at < words.size()) {
    const std::string& word = words[at];
    if (word == "--master") {
      at += 2;
    } else if (word == "--json" || word.starts_with("--master=")) {
      ++at;
    } else {
      break;
    }
  }
  if (at == 0 || at >= words.size() || words[at].starts_with("-")) return words;
  Words moved = {words[at]};
  const auto verb = words.begin() + static_cast<std::ptrdiff_t>(at);
  moved.insert(moved.end(), words.begin(), verb);
  moved.insert(moved.end(), verb + 1, words.end());
  return moved;
}

int command_line(int argc, char** argv) {
  const Words all(argv + 1, argv + argc);
  if (!all.empty() && (all[0] == "--help" || all[0] == "-h" || all[0] == "help")) {
    print_usage(stdout);
    return after_output(0);
  }
  if (!all.empty() && all[0] == "--version") {
    print_line("proffer " PROFFER_VERSION);
    return after_output(0);
  }
  const auto [options, name, rest] = split_at_command(all);
  if (name.empty()) {
    if (options.empty()) {
      print_usage(stderr);
    } else {
      print_error(Error::invalid_argument(text("no command follows ", quoted(options.back())))
                      .with_hint("proffer --help lists the commands"),
                  false);
    }
    return kExitUsage;
  }
  std::vector<std::string_view> known;
  for (const Command& command : kCommands) {
    if (command.name == name) {
      // Options before the command belong to the command or its subcommand, and so do those before
      // the subcommand.
      Words words = command.has_verbs ? behind_verb_of(rest) : rest;
      const bool behind_verb = command.has_verbs && !words.empty() && !words[0].starts_with("-");
      words.insert(words.begin() + (behind_verb ? 1 : 0), options.begin(), options.end());
      if (command.run != nullptr) return after_output(command.run(words));
      return print_error(become(name, words), false);
    }
    known.push_back(command.name);
  }
  print_error(unknown_command(name, known), false);
  return kExitUsage;
}

}  // namespace

int main(int argc, char** argv) {
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_WARNING;
  google::InitGoogleLogging(argv[0]);
  int code = 0;
  try {
    code = command_line(argc, argv);
  } catch (const std::exception& e) {
    code = print_error(Error::internal(e.what()), false);
  }
  // The kernel frees the rest: a command may still have threads (cli/run.cc).
  std::fflush(nullptr);
  _exit(code);
}
