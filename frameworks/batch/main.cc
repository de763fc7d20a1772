// proffer-batch: the commands `proffer batch …`, and the scheduler that serves them. Only this file
// uses CLI11.

#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <glog/logging.h>

#include "common/cli11_problem.h"
#include "common/text.h"
#include "common/usage_problem.h"
#include "frameworks/batch/core/job.h"
#include "frameworks/batch/shell/commands.h"
#include "frameworks/batch/shell/scheduler.h"
#include "frameworks/batch/shell/submit.h"
#include "net/json_log.h"
#include "net/membership.h"
#include "net/terminal.h"
#include "sdk/shell/master_call.h"

namespace proffer::batch {
namespace {

constexpr size_t kJobNameBytes = 40;
constexpr size_t kHelpColumns = 100;

// Paragraphs behind the options of a help text.
constexpr std::string_view kCtrlC =
    "Ctrl-C on a terminal asks whether to detach (the job keeps running) or to cancel the job; a "
    "second Ctrl-C cancels it. Without a terminal, SIGINT and SIGTERM cancel it. A closed terminal "
    "(SIGHUP) detaches.";
constexpr std::string_view kExitCodes =
    "Exit codes: 0 success, 1 failed or refused, 2 wrong usage, 3 the master or the scheduler "
    "cannot be reached.";
constexpr std::string_view kJobExitCodes =
    "Exit codes: 0 the job has succeeded, 1 it has failed or was cancelled, or was refused, 2 "
    "wrong "
    "usage, 3 the master or the scheduler cannot be reached, 128 + N after signal N (130 after "
    "Ctrl-C).";
constexpr std::string_view kSchedules =
    "To create a schedule, submit a job or pipeline whose file has a `schedule`. Its times are in "
    "UTC unless the schedule has a `zone`. Submitting it again replaces the schedule of the same "
    "name.";
constexpr std::string_view kFetch =
    "--fetch URI[,sha256=SUM][,name=NAME][,executable][,extract]: the agent fetches the file; "
    "the options check its SHA-256 sum, rename it, make it executable or unpack it.";
constexpr std::string_view kAttemptsOfTasks =
    "A map or reduce task has at most four attempts, on other agents if possible; then the job "
    "fails. An attempt that is lost with its agent, or preempted, is not counted.";
constexpr std::string_view kElements =
    "If the job fails or is cancelled, proffer batch retry can run the missing elements within 24 "
    "hours. The output directory, on the file system of this machine and of all agents, is "
    "new and gets a few files for all elements; proffer batch results reads them. An element "
    "that ends with a code of --ok is done, any other end is a failure; the job succeeds with "
    "at most --max-failed failures, and ends at once with more. Without --max-failed, all elements "
    "run, and the job fails if one of them fails. An attempt that is lost with its agent, or "
    "preempted, is no failure and runs again. --files and --fetch put files into "
    "$PROFFER_SANDBOX, not into --directory. The environment, umask and soft limits of a command "
    "are those of this shell, with $PROFFER_… and --env, unless --export says otherwise; its "
    "standard input is empty.";

std::string footer_of(std::initializer_list<std::string_view> paragraphs,
                      std::string_view examples) {
  std::string out;
  for (const std::string_view one : paragraphs) {
    out += text(out.empty() ? "" : "\n\n", wrapped(one, kHelpColumns));
  }
  return text(out, examples.empty() ? "" : "\n\n", examples);
}

// Parses `--env NAME=value` into the table. Errors: kInvalidArgument.
Result<void> read_env(const std::vector<std::string>& given, JobText& job) {
  for (const std::string& one : given) {
    const size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error::invalid_argument(text("--env ", quoted(one), " must be NAME=VALUE"))
          .with_hint(
              equals == std::string::npos && !one.empty()
                  ? text("to hand on a variable of this shell: --env ", one, "=\"$", one, "\"")
                  : "as in --env LANG=C");
    }
    job.env[one.substr(0, equals)] = one.substr(equals + 1);
  }
  return {};
}

// Parses `--parameter NAME=value`. Errors: kInvalidArgument.
Result<void> read_parameters(const std::vector<std::string>& given, Parameters& parameters) {
  for (const std::string& one : given) {
    const size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error::invalid_argument(text("--parameter ", quoted(one), " must be NAME=VALUE"))
          .with_hint("NAME is one of the file's `parameters`, as in -p day=2026-11-27");
    }
    parameters[one.substr(0, equals)] = one.substr(equals + 1);
  }
  return {};
}

// The name of the program, in a form that is valid for a job.
std::string job_name(std::string_view program) {
  program = program.substr(0, program.find_first_of(" \t\n"));
  std::string name(program.substr(program.rfind('/') + 1).substr(0, kJobNameBytes));
  for (char& c : name) {
    const bool fits = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                      c == '.' || c == '_';
    if (!fits) c = '-';
  }
  return is_valid_name(name) ? name : "job";
}

// The options and the action of one subcommand.
class Verbs {
 public:
  Verbs()
      : app_(
            "Run batch jobs on the cluster: a command for each of many arguments or indices, or "
            "MapReduce with any command as mapper and reducer, lines in, key<TAB>value out.",
            "proffer batch") {
    app_.require_subcommand(1);
    app_.footer(
        footer_of({"proffer batch SUBCOMMAND --help shows the options of a subcommand. To "
                   "run one command in the background: proffer batch array 1 --detach -- "
                   "CMD. A job ends as finished (success), failed, cancelled or skipped (what "
                   "it waits for cannot happen any more).",
                   kExitCodes},
                  ""));
    CLI::App* run_command =
        verb("run", "submit a MapReduce job or a job file, and show its progress until it ends",
             [this] { return run(job_, options_); });
    add_job(run_command, {kAttemptsOfTasks, kFetch, kCtrlC, kJobExitCodes});
    CLI::App* submit_command =
        verb("submit", "submit a MapReduce job or a job file, print its id, and return",
             [this] { return submit(job_, options_); });
    add_job(submit_command, {kAttemptsOfTasks, kFetch, kExitCodes});
    add_array("map", "run a command for each of many arguments");
    add_array("array", "run a command for each of many indices");
    add_results();
    CLI::App* history_command = verb("history", "list ended jobs, the latest first",
                                     [this] { return history(limit_, options_); });
    history_command->add_option("--limit", limit_, "show at most this many jobs")
        ->capture_default_str();
    history_command->footer(
        footer_of({kExitCodes}, "Example:\n  proffer batch history --limit 20"));
    CLI::App* logs_command =
        verb("logs", "print standard error of a job's task; --stdout: standard output",
             [this] { return show_logs(id_, logs_, options_); });
    logs_command->footer(
        footer_of({kExitCodes}, "Example:\n  proffer batch logs words-7 map-3 -f"));
    logs_command->add_option("JOB", id_, "job id, as in words-7")->required();
    logs_command->add_option(
        "TASK", logs_.task,
        "task, as in map-3, or attempt, as in map-3-2 (default: the attempt that failed last)");
    logs_command->add_flag("-f,--follow", logs_.follow, "follow the output until the task ends");
    logs_command->add_flag("--stdout", logs_.use_stdout,
                           "print standard output instead of standard error");
    CLI::App* report_command =
        verb("report", "compare the use of a job's attempts with their resources",
             [this] { return report(id_, html_, options_); });
    report_command->add_option("JOB", id_, "job id, as in words-7")->required();
    report_command->add_option(
        "--html", html_, "write the report to this HTML file, with a timeline of the attempts");
    report_command->footer(
        footer_of({kExitCodes}, "Example:\n  proffer batch report words-7 --html report.html"));
    CLI::App* list_command = verb("list", "list the jobs of all users, or the stages of a pipeline",
                                  [this] { return list(id_, with_ended_, options_); });
    list_command->add_option("PIPELINE", id_, "show only the stages of this pipeline, as in etl-7");
    list_command->add_flag("--all", with_ended_, "also show ended jobs");
    list_command->footer(footer_of({kExitCodes}, "Example:\n  proffer batch list --all"));
    of_job("status", "show the state of a job, and why its tasks wait", &show_status, kExitCodes);
    of_job("watch", "show the progress of a job until it ends; Ctrl-C leaves it running", &watch,
           kJobExitCodes);
    of_job("wait", "wait until a job ends; Ctrl-C leaves it running", &wait, kJobExitCodes);
    of_job("cancel",
           "cancel a whole job; an array keeps its output, a MapReduce job only for a retry",
           &cancel, kExitCodes);
    of_job("retry",
           "run the missing parts of a job, up to 24 hours after it failed or was cancelled",
           &retry, kExitCodes);
    add_cron();
    add_scheduler();
  }

  int go(int argc, char** argv) {
    argc = take_command(argc, argv);
    if (const Result<void> known = check_verbs(argc, argv); !known) {
      const bool json = std::find(argv, argv + argc, std::string_view("--json")) != argv + argc;
      return print_error(known.error(), json);
    }
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
      if (e.get_exit_code() == 0) return app_.exit(e);  // --help
      return print_error(cli11_problem(app_, "proffer batch", e.what()), options_.json);
    }
    if (Result<void> ok = read_env(env_, job_.flags); !ok) {
      return print_error(ok.error(), options_.json);
    }
    if (Result<void> ok = read_parameters(parameters_, job_.parameters); !ok) {
      return print_error(ok.error(), options_.json);
    }
    if (is_array_) {
      if (Result<void> ok = read_command(); !ok) return print_error(ok.error(), options_.json);
    }
    // The scheduler is a daemon and finds the master by itself.
    if (options_.master.empty() && !is_scheduler_) {
      const Result<Masters> masters = sdk::masters_at("");
      if (!masters) return print_error(masters.error(), options_.json);
      options_.master = to_text(*masters);
    }
    return chosen_();
  }

 private:
  // Refuses an unknown subcommand, which --help would hide. Errors: kInvalidArgument.
  Result<void> check_verbs(int argc, char** argv) const {
    const CLI::App* at = &app_;
    std::string name = "proffer batch";
    for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
      const std::vector<const CLI::App*> verbs =
          at->get_subcommands([](const CLI::App* one) { return !one->get_name().empty(); });
      if (verbs.empty()) break;
      std::vector<std::string_view> known;
      const CLI::App* found = nullptr;
      for (const CLI::App* one : verbs) {
        if (one->get_name() == argv[i]) found = one;
        known.push_back(one->get_name());
      }
      if (found == nullptr) return unknown_verb(argv[i], name, known);
      at = found;
      name += " " + at->get_name();
    }
    return {};
  }

  CLI::App* verb(const std::string& name, const std::string& what, std::function<int()> action) {
    return verb(app_, name, what, std::move(action));
  }
  CLI::App* verb(CLI::App& parent, const std::string& name, const std::string& what,
                 std::function<int()> action) {
    CLI::App* command = parent.add_subcommand(name, what);
    command->add_option("--master", options_.master,
                        "master's socket or HOST:PORT (default: see proffer --help)");
    if (name != "scheduler") {
      command->add_option("--framework", options_.framework,
                          "framework name or id (default batch)");
      command->add_flag("--json", options_.json, "print one JSON object per line");
    }
    command->callback([this, action = std::move(action)] { chosen_ = action; });
    return command;
  }

  void of_job(const std::string& name, const std::string& what,
              int (*action)(const std::string&, const CommandOptions&),
              std::string_view exit_codes) {
    CLI::App* command = verb(name, what, [this, action] { return action(id_, options_); });
    command->add_option("JOB", id_, "job or pipeline id, as in words-7")->required();
    command->footer(footer_of({exit_codes}, text("Example:\n  proffer batch ", name, " words-7")));
  }

  void add_cron() {
    CLI::App* cron = app_.add_subcommand("cron", "manage schedules, which start jobs at set times");
    cron->require_subcommand(1);
    cron->footer(footer_of({kSchedules, kExitCodes},
                           "Examples:\n  proffer batch submit nightly.yaml\n"
                           "  proffer batch cron list\n"
                           "  proffer batch cron next nightly --count 10\n"
                           "  proffer batch cron pause nightly"));
    verb(*cron, "list", "list the schedules of all users",
         [this] { return list_schedules(options_); })
        ->footer(
            footer_of({kSchedules, kExitCodes},
                      "Examples:\n  proffer batch cron list\n  proffer batch cron list --json"));
    CLI::App* next = verb(*cron, "next", "show the last and the next fire times of a schedule",
                          [this] { return show_fire_times(id_, count_, options_); });
    next->add_option("NAME", id_, "schedule name")->required();
    next->add_option("--count", count_, "number of next fire times")->capture_default_str();
    next->footer(footer_of({kExitCodes},
                           "Examples:\n  proffer batch cron next nightly\n"
                           "  proffer batch cron next nightly --count 10"));
    const std::pair<std::string, std::string> changes[] = {
        {"pause", "pause a schedule; fire times until it is resumed are skipped"},
        {"resume", "resume a paused schedule"},
        {"remove", "remove a schedule; its jobs stay"}};
    for (const auto& [name, what] : changes) {
      CLI::App* command = verb(
          *cron, name, what, [this, name = name] { return change_schedule(id_, name, options_); });
      command->add_option("NAME", id_, "schedule name")->required();
      command->footer(
          footer_of({kExitCodes}, text("Example:\n  proffer batch cron ", name, " nightly")));
    }
  }

  void add_job(CLI::App* command, std::initializer_list<std::string_view> paragraphs) {
    command->footer(footer_of(
        paragraphs,
        "A job file has these options as keys, with _ for -: name, role, band, priority, after,\n"
        "after_failure, after_any, after_each, when, map, map_accepts, reduce, reduce_accepts,\n"
        "combine, key_fields, partition_fields, separator, sort, sort_memory, input, "
        "input_format,\n"
        "decompress, output, reducers, split, speculation, by_file, allow_empty,\n"
        "fail_if_impossible, resources, time_limit, prefer_hosts, locality, locality_wait, files,\n"
        "fetch, env, private_tmp. It may also have parameters (their names and defaults) and a "
        "schedule (a\n"
        "cron expression, as in '30 3 * * *'). The file of an array has: command, array, gang,\n"
        "arguments, each_line, each_file, at_once, retries, retry_on, requeue_on, ok, max_failed,\n"
        "timeout, signal, directory; or run. The file of a pipeline has stages, each with these\n"
        "keys except name, role, parameters and schedule. Options override the file.\n\n"
        "Example of a pipeline file:\n"
        "  name: etl\n"
        "  stages:\n"
        "    words:\n"
        "      map: tr -s ' ' '\\n'\n"
        "      reduce: uniq -c\n"
        "      input: /etc/hosts\n"
        "      output: /tmp/words\n"
        "    most:\n"
        "      after: words\n"
        "      run: sort -rn ~{words.output}/part-* | head -n 3\n"
        "      output: /tmp/most\n\nExamples:\n"
        "  proffer batch run --map 'tr -s \" \" \"\\n\"' --reduce 'uniq -c' --input /etc --output "
        "/tmp/words\n"
        "  proffer batch submit job.yaml --parameter day=2026-11-27"));
    JobText& flags = job_.flags;
    command->add_option("JOB", job_.job_file, "job file or pipeline file (YAML)");
    command
        ->add_option("-p,--parameter", parameters_,
                     "NAME=VALUE: value of a parameter that the job file declares; can be repeated")
        ->allow_extra_args(false);
    command->option_defaults()->group("Task");
    command->add_option("--map", flags.map, "mapper: a shell command line");
    command->add_option("--reduce", flags.reduce, "reducer: a shell command line");
    command
        ->add_option(
            "--map-accepts", flags.map_accepts,
            "exit code of the mapper that counts as success, as 1 of grep; can be repeated")
        ->allow_extra_args(false);
    command
        ->add_option("--reduce-accepts", flags.reduce_accepts,
                     "exit code of the reducer that counts as success; can be repeated")
        ->allow_extra_args(false);
    command->option_defaults()->group("Input and output");
    command->add_option("--input", flags.inputs, "file or directory to read; can be repeated")
        ->allow_extra_args(false);
    command->add_option("--output", flags.output,
                        "directory to create for the result; must not exist");
    command->add_option("--reducers", flags.reducers,
                        "number of reducers and output parts, 0 for mappers only (default 1)");
    command->add_option("--split", flags.split, "bytes of input for each map task (default 8MiB)");
    command->add_option("--input-format", flags.input_format,
                        "record format of the input: lines, nul or fixed:BYTES (default lines)");
    command->add_flag_callback(
        "--no-decompress", [&flags] { flags.decompress = "false"; },
        "do not unpack .gz and .zst input files");
    command->option_defaults()->group("Task");
    command->add_option(
        "--combine", flags.combine,
        "combiner: a shell command line that reduces the sorted output of one map task");
    command->option_defaults()->group("Sorting");
    command->add_option("--sort-memory", flags.sort_memory,
                        "memory for sorting in each task (default: a quarter of its memory)");
    command->add_option("--key-fields", flags.key_fields,
                        "number of leading fields that are the key (default 1)");
    command->add_option("--partition-fields", flags.partition_fields,
                        "number of leading key fields that choose the reducer (default: all)");
    command->add_option("--separator", flags.separator, "field separator (default: tab)");
    command->add_option("--sort", flags.sort,
                        "sort order of keys, as in '-k1,1 -k2,2nr' (default: by bytes)");
    command->option_defaults()->group("Placement");
    command->add_option(
        "--speculation", flags.speculation,
        "on or off: start a second attempt of a slow task on another agent (default on)");
    command->add_option("--locality", flags.locality,
                        "file with lines HOST[,HOST] PATH: the agents near each input");
    command->option_defaults()->group("Input and output");
    truth(command, "--by-file", flags.by_file,
          "give each map task one file only; $mapreduce_map_input_file names it");
    truth(command, "--allow-empty", flags.allow_empty, "accept empty input");
    add_common(command);
  }

  // Options of jobs of all kinds.
  void add_common(CLI::App* command) {
    JobText& flags = job_.flags;
    command->option_defaults()->group("Dependencies");
    add_dependencies(command);
    command->option_defaults()->group("Job");
    command->add_option("--name", flags.name,
                        "job name, first part of its id (default job; of an array its program)");
    command->add_option(
        "--role", flags.role,
        "role of the job: the scheduler's or one below it (default: SCHEDULER'S ROLE/YOUR NAME)");
    command->add_option(
        "--band", flags.band,
        "band: free (preempted first), batch, production or monitoring (default batch)");
    command->add_option("--priority", flags.priority,
                        "priority among your jobs, -100 to 100; higher ones run first (default 0)");
    truth(command, "--fail-if-impossible", flags.fail_if_impossible,
          "fail instead of waiting if no agent could ever run a task");
    command->option_defaults()->group("Resources");
    command->add_option("--resources", flags.resources,
                        text("resources of each task, in quotes; kinds not named are 0 (default '",
                             kDefaultResources, "')"));
    command->add_option(
        "--time-limit", flags.time_limit,
        "time limit of one attempt of a task or element, as in 90s or 2h (default none)");
    command->option_defaults()->group("Placement");
    command
        ->add_option("--prefer-hosts", flags.prefer_hosts,
                     "name of a preferred agent; can be repeated")
        ->allow_extra_args(false);
    command->add_option(
        "--locality-wait", flags.locality_wait,
        text("time to wait for preferred agents (default ", to_text(kLocalityWait), ")"));
    command->option_defaults()->group("Task");
    command
        ->add_option("--files", flags.files,
                     "file to copy to the sandbox of each task, executable; can be repeated")
        ->allow_extra_args(false);
    command
        ->add_option(
            "--fetch", flags.fetch,
            "file for the sandbox: an http(s) URI, or file:// of the agent; can be repeated")
        ->allow_extra_args(false);
    command->add_option("--env", env_, "environment variable, NAME=VALUE; can be repeated")
        ->allow_extra_args(false);
  }

  // The conditions of the job.
  void add_dependencies(CLI::App* command) {
    JobText& flags = job_.flags;
    const auto jobs = [&](const std::string& name, std::vector<std::string>& place,
                          const std::string& what) {
      command->add_option(name, place, what)->allow_extra_args(false);
    };
    jobs("--after", flags.after,
         "start after this job has succeeded, else be skipped; can be repeated");
    jobs("--after-failure", flags.after_failure,
         "start after this job has failed or was cancelled; can be repeated");
    jobs("--after-any", flags.after_any,
         "start after this job has ended in any way; can be repeated");
    command->add_option("--after-each", flags.after_each,
                        "for an array: start each element after the same element of this other "
                        "array has succeeded");
    command->add_option("--when", flags.when,
                        "whether all or any of these dependencies must be met (default all)");
  }

  static void truth(CLI::App* command, const std::string& name, std::optional<std::string>& place,
                    const std::string& what) {
    command->add_flag_callback(
        name, [&place] { place = "true"; }, what);
  }

  void add_array(const std::string& name, const std::string& what) {
    CLI::App* command = verb(name, what, [this] {
      return is_detached_ ? submit(job_, options_) : run_array(job_, options_);
    });
    command->prefix_command();
    command->parse_complete_callback([this, name] {
      is_array_ = true;
      verb_ = name;
      job_.flags.exports = exports_;
    });
    JobText& flags = job_.flags;
    if (name == "map") {
      command->footer(footer_of(
          {kElements, kFetch, kCtrlC, kJobExitCodes},
          "The command follows --, and its arguments follow :::. Without ::: the arguments are "
          "read from standard\ninput, one per line. In the command, {} is the argument, {.} the "
          "argument without its extension, {/}\nwithout its directory, {//} its directory, {/.} "
          "without both, {#} its number. A command without any of\nthem gets the argument as its "
          "last word. One word is a shell command line, in which arguments are quoted;\nseveral "
          "are a program and its arguments.\n\nExamples:\n  proffer batch map -- gzip -9 {} ::: "
          "*.log\n  proffer batch map 'sort {} | head -n 1' ::: *.txt\n"
          "  ls *.wav | proffer batch map --at-once 20 --retries 2 -- flac {}"));
      command->add_flag("-0,--null", ends_with_nul_,
                        "arguments on standard input end with NUL bytes instead of newlines");
    } else {
      command->footer(footer_of(
          {kElements, kFetch, kCtrlC, kJobExitCodes},
          "The command follows --. {} in it is the index, which is also in $PROFFER_ARRAY_INDEX. "
          "One word is a\nshell command line; several are a program and its arguments.\n\n"
          "Examples:\n  proffer batch array 1-1000%50 -- ./simulate --seed {}\n"
          "  proffer batch array 1-9 'seq {} | sort -rn >down-{}'\n  proffer batch array 1 "
          "--detach --resources 'cpus:4;mem:8GiB' -- ./train"));
      command
          ->add_option("INDICES", flags.array,
                       "1-10, 0-20:5 or 1,3,7-9; add %N to run at most N at a time")
          ->required();
    }
    command->option_defaults()->group("Output");
    command->add_flag("--detach", is_detached_,
                      "print the job's id and return; the scheduler runs the job");
    command->add_option(
        "--output", flags.output,
        "directory to create for the results (default: ./NAME-RANDOM); must not exist");
    command->add_flag("--as-ended", job_.as_ended,
                      "print the output of elements in the order in which they end");
    command->option_defaults()->group("Elements");
    command->add_option("--signal", flags.signal,
                        "signal before the time limit of an element, as in USR1@60s");
    command->add_option(
        "--at-once", flags.at_once,
        name == "map"
            ? "maximum number of elements at a time (default: as many as fit)"
            : "maximum number of elements at a time, also as %N (default: as many as fit)");
    command->add_option("--retries", flags.retries,
                        "retries of a failed element (default 0, or 3 with --retry-on)");
    command->add_option(
        "--retry-on", flags.retry_on,
        "exit codes that are retried, as in 75,111 (default: all but 126 and 127, if --retries)");
    command->add_option("--requeue-on", flags.requeue_on,
                        "exit codes after which an element runs again without a failed attempt");
    command->add_option("--ok", flags.ok,
                        "all exit codes of an element that are success, as in 0,1 (default 0)");
    command->add_option(
        "--max-failed", flags.max_failed,
        "most failed elements, as in 10 or 5%; more end the job (default: all elements run)");
    command->add_option("--timeout", flags.timeout, "another name for --time-limit");
    command->option_defaults()->group("Task");
    command->add_option(
        "--directory", flags.directory,
        "working directory, the same path on all agents (default: the current directory)");
    command
        ->add_option("--export", exports_,
                     "environment: NONE, or a list of ALL (of this shell), NAME and NAME=VALUE")
        ->capture_default_str();
    command->add_flag("--sandbox-home", flags.has_sandbox_home,
                      "HOME is the sandbox (default: the home directory of the user)");
    command->add_flag("--login", flags.login,
                      "run the command in a login shell (profile files, modules)");
    truth(command, "--private-tmp", flags.private_tmp, "a /tmp of its own for each task");
    add_common(command);
  }

  void add_results() {
    CLI::App* command = verb("results", "print the output of an array's elements, in their order",
                             [this] { return show_results(results_, options_); });
    command->add_option("JOB", results_.job, "job id, as in gzip-7")->required();
    command->footer(
        footer_of({kExitCodes},
                  "Examples:\n  proffer batch results gzip-7 -f\n  proffer batch results gzip-7 "
                  "--failed --table"));
    command->add_option("INDEX", results_.index, "only the element with this index");
    command->add_flag("--failed", results_.only_failed,
                      "only elements with an exit code other than 0");
    command->add_flag("--stderr", results_.of_stderr,
                      "print standard error instead of standard output");
    command->add_flag(
        "-f,--follow", results_.follow,
        "print the output of each element when the element ends, until the array ends");
    command->add_flag("--as-ended", results_.as_ended,
                      "of a running array: print elements in the order in which they end");
    command->add_flag(
        "--table", results_.as_table,
        "print a table instead: exit code, seconds and place of the output per element");
  }

  // The words from the first "--" on belong to the command of an array and are not parsed. Returns
  // the number of words before them.
  int take_command(int argc, char** argv) {
    const auto is = [&](int at, std::string_view word) { return argv[at] == word; };
    int at = 1;
    while (at < argc && !is(at, "--")) ++at;
    bool takes_command = false;
    for (int i = 1; i < at; ++i) takes_command |= is(i, "map") || is(i, "array");
    if (at == argc || !takes_command) return argc;
    words_.assign(argv + at, argv + argc);
    return at;
  }

  // The command begins after "--", or with the first word that is no option.
  Result<void> find_command() {
    const CLI::App& command = *app_.get_subcommands().front();
    std::vector<std::string> before = command.remaining();
    if (!before.empty() && before.front().starts_with("-")) {
      return unexpected_words(before, {"proffer batch " + verb_, option_names(command)});
    }
    // Behind the first word of a command, "--" is one of its arguments.
    if (before.empty() && !words_.empty()) words_.erase(words_.begin());
    words_.insert(words_.begin(), before.begin(), before.end());
    return {};
  }

  // Divides the words of the command into the command and the arguments.
  Result<void> read_command() {
    JobText& flags = job_.flags;
    job_.names_output = true;
    if (Result<void> ok = find_command(); !ok) return ok;
    const auto sources = std::find(words_.begin(), words_.end(), ":::");
    flags.command.assign(words_.begin(), verb_ == "map" ? sources : words_.end());
    if (flags.command.empty()) {
      return Error::invalid_argument("the command is missing")
          .with_hint(verb_ == "map" ? "proffer batch map [OPTIONS] -- COMMAND {} ::: ARGUMENTS"
                                    : "proffer batch array 1-10 [OPTIONS] -- COMMAND");
    }
    if (!flags.name) flags.name = job_name(flags.command.front());
    if (verb_ != "map") return {};
    if (sources == words_.end()) {
      Result<std::vector<std::string>> read = read_arguments(stdin, ends_with_nul_ ? '\0' : '\n');
      if (!read) return std::move(read).error();
      flags.arguments = *std::move(read);
      return {};
    }
    flags.arguments.emplace(sources + 1, words_.end());
    if (std::find(flags.arguments->begin(), flags.arguments->end(), ":::") !=
        flags.arguments->end()) {
      return Error::invalid_argument("::: may be given only once")
          .with_hint("combine the arguments first, and give them on standard input");
    }
    return {};
  }

  void add_scheduler() {
    CLI::App* command =
        verb("scheduler", "run the batch scheduler, which serves the other subcommands", [this] {
          scheduler_.master = options_.master;
          if (Result<void> chosen = choose_log_format(log_format_, "proffer-batch"); !chosen) {
            return print_error(std::move(chosen).error().in("--log-format"), false);
          }
          return run_scheduler(scheduler_);
        });
    command->parse_complete_callback([this] { is_scheduler_ = true; });
    command->option_defaults()->group("Framework");
    command->add_option("--role", scheduler_.role,
                        "role of the framework (default: the role 'default')");
    command->add_option("--name", scheduler_.name, "framework name (default batch)");
    command->option_defaults()->group("Options");
    CLI::Option_group* identity = command->add_option_group("Identity (one of these)");
    identity->add_option(
        "--session-file", scheduler_.session_file,
        "file for the framework's identity; restart with the same file to keep the jobs");
    identity->add_flag(
        "--standby", scheduler_.stands_by,
        "run as leader or standby: of several schedulers of this name and user, one serves");
    identity->require_option(1);
    command->option_defaults()->group("Users");
    command->add_flag("--serve-users", scheduler_.serves_users,
                      "run each job as the user that submitted it; for operators only");
    command->footer(footer_of(
        {"SIGTERM and Ctrl-C end the scheduler; its tasks keep running, and its jobs continue when "
         "it "
         "is started again. Exit codes: 0 ended by a signal, 1 cannot start or go on, 2 wrong "
         "usage."},
        "Examples:\n  proffer batch scheduler --session-file /var/lib/proffer/batch/session\n"
        "  sudo proffer batch scheduler --standby --serve-users"));
    command->option_defaults()->group("Logging");
    command->add_option("--log-format", log_format_, "log format, text or json (default text)");
  }

  CLI::App app_;
  CommandOptions options_;
  SubmitOptions job_;
  std::vector<std::string> env_;
  std::vector<std::string> parameters_;
  std::vector<std::string> words_;  // of a command and its arguments, from "--" on
  std::string verb_;                // of an array
  std::string exports_ = "ALL";
  bool is_array_ = false;
  bool is_detached_ = false;
  bool is_scheduler_ = false;
  bool ends_with_nul_ = false;
  ResultsOptions results_;
  std::string id_;
  bool with_ended_ = false;
  int64_t limit_ = 100;
  LogsOptions logs_;
  std::string html_;   // of a report
  int64_t count_ = 5;  // number of fire times
  SchedulerOptions scheduler_;
  std::string log_format_ = "text";
  std::function<int()> chosen_;
};

}  // namespace
}  // namespace proffer::batch

int main(int argc, char** argv) {
  FLAGS_logtostderr = true;
  google::InitGoogleLogging(argv[0]);
  try {
    return proffer::batch::Verbs().go(argc, argv);
  } catch (const std::exception& e) {
    proffer::print_error_text(proffer::Error::internal(e.what()));
    return 1;
  }
}
