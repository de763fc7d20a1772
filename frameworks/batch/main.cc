// proffer-batch: what people type as `proffer batch …`, and the scheduler that serves it. CLI11
// stays in this file.

#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <glog/logging.h>

#include "common/text.h"
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

// `--env NAME=value` into the table. Errors: kInvalidArgument.
Result<void> read_env(const std::vector<std::string>& given, JobText& job) {
  for (const std::string& one : given) {
    const size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error::invalid_argument(text("--env ", quoted(one), " must be NAME=value"));
    }
    job.env[one.substr(0, equals)] = one.substr(equals + 1);
  }
  return {};
}

// `--parameter NAME=value`. Errors: kInvalidArgument.
Result<void> read_parameters(const std::vector<std::string>& given, Parameters& parameters) {
  for (const std::string& one : given) {
    const size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error::invalid_argument(text("--parameter ", quoted(one), " must be NAME=value"));
    }
    parameters[one.substr(0, equals)] = one.substr(equals + 1);
  }
  return {};
}

// A command's own name, as far as a job can have it.
std::string job_name(std::string_view program) {
  std::string name(program.substr(program.rfind('/') + 1).substr(0, kJobNameBytes));
  for (char& c : name) {
    const bool fits = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                      c == '.' || c == '_';
    if (!fits) c = '-';
  }
  return is_valid_name(name) ? name : "job";
}

// What one verb takes and does.
class Verbs {
 public:
  Verbs()
      : app_(
            "Runs batch jobs on the cluster: a command for each of many arguments or indices, or "
            "MapReduce with any command as mapper and reducer, lines in, key<TAB>value out.",
            "proffer batch") {
    app_.require_subcommand(1);
    CLI::App* run_command = verb("run", "Submit a job and show its progress until it ends",
                                 [this] { return run(job_, options_); });
    add_job(run_command);
    CLI::App* submit_command =
        verb("submit", "Submit a job, print its id, and leave it to the scheduler",
             [this] { return submit(job_, options_); });
    add_job(submit_command);
    add_array("map", "Run a command for each of many arguments");
    add_array("array", "Run a command for each of many indices");
    add_results();
    CLI::App* history_command = verb("history", "The jobs that have ended, the latest first",
                                     [this] { return history(limit_, options_); });
    history_command->add_option("--limit", limit_, "At most so many")->capture_default_str();
    CLI::App* logs_command = verb("logs", "The output of a job's tasks",
                                  [this] { return show_logs(id_, logs_, options_); });
    logs_command->add_option("JOB", id_, "The job's id, as in words-7")->required();
    logs_command->add_option("TASK", logs_.task,
                             "As in map-3, or map-3-2 for its second attempt [the attempt that "
                             "failed last]");
    logs_command->add_flag("-f,--follow", logs_.follow, "Go on until the task has ended");
    logs_command->add_flag("--stdout", logs_.use_stdout,
                           "Standard output instead of standard error");
    CLI::App* report_command =
        verb("report", "What the attempts of a job took, beside what they asked for",
             [this] { return report(id_, html_, options_); });
    report_command->add_option("JOB", id_, "The job's id, as in words-7")->required();
    report_command->add_option("--html", html_,
                               "Write it to this file, with a timeline of the attempts");
    CLI::App* list_command = verb("list", "The jobs of all users, or the stages of a pipeline",
                                  [this] { return list(id_, with_ended_, options_); });
    list_command->add_option("PIPELINE", id_, "Only its stages, as in etl-7");
    list_command->add_flag("--all", with_ended_, "Those that have ended, too");
    of_job("status", "How a job stands", &show_status);
    of_job("watch", "Show the progress of a job until it ends", &watch);
    of_job("wait", "Return when a job has ended, with 0 if it has finished", &wait);
    of_job("cancel", "End a job and take its output away; an array keeps it", &cancel);
    of_job("retry", "Do what is missing of a job that failed or was cancelled", &retry);
    add_cron();
    add_scheduler();
  }

  int go(int argc, char** argv) {
    argc = take_command(argc, argv);
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
      if (e.get_exit_code() == 0) return app_.exit(e);  // --help
      return print_error(
          Error::invalid_argument(e.what()).with_hint(
              lacks_dashes_ ? "the command stands behind --: proffer batch map [OPTIONS] "
                              "-- COMMAND {} ::: ARGUMENTS"
                            : "see: proffer batch --help"),
          options_.json);
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
    // The scheduler, which is a daemon, finds it by itself.
    if (options_.master.empty() && !is_scheduler_) {
      const Result<Masters> masters = sdk::masters_at("");
      if (!masters) return print_error(masters.error(), options_.json);
      options_.master = to_text(*masters);
    }
    return chosen_();
  }

 private:
  CLI::App* verb(const std::string& name, const std::string& what, std::function<int()> action) {
    return verb(app_, name, what, std::move(action));
  }
  CLI::App* verb(CLI::App& parent, const std::string& name, const std::string& what,
                 std::function<int()> action) {
    CLI::App* command = parent.add_subcommand(name, what);
    command->add_option("--master", options_.master,
                        "The master's socket, or HOST:PORT [$PROFFER_MASTER, the one joined, "
                        "or that of this machine]");
    if (name != "scheduler") {
      command->add_option("--framework", options_.framework, "The scheduler's name or id [batch]");
      command->add_flag("--json", options_.json, "Print JSON, one object per line");
    }
    command->callback([this, action = std::move(action)] { chosen_ = action; });
    return command;
  }

  void of_job(const std::string& name, const std::string& what,
              int (*action)(const std::string&, const CommandOptions&)) {
    CLI::App* command = verb(name, what, [this, action] { return action(id_, options_); });
    command->add_option("JOB", id_, "The job's id, as in words-7, or that of a pipeline")
        ->required();
  }

  void add_cron() {
    CLI::App* cron = app_.add_subcommand("cron", "Jobs that are started again and again");
    cron->require_subcommand(1);
    cron->footer(
        "A job or pipeline whose file has a `schedule` becomes one with "
        "`proffer batch submit FILE`; submitted\nagain it replaces that of its name.");
    verb(*cron, "list", "The schedules of all users", [this] { return list_schedules(options_); });
    CLI::App* next = verb(*cron, "next", "The last firings of a schedule, and fire times to come",
                          [this] { return show_fire_times(id_, count_, options_); });
    next->add_option("NAME", id_, "The schedule's name")->required();
    next->add_option("--count", count_, "So many to come")->capture_default_str();
    const std::pair<std::string, std::string> changes[] = {
        {"pause", "Start nothing until it is resumed; fire times until then are passed over"},
        {"resume", "Start jobs again"},
        {"remove", "Forget the schedule; its jobs stay"}};
    for (const auto& [name, what] : changes) {
      CLI::App* command = verb(
          *cron, name, what, [this, name = name] { return change_schedule(id_, name, options_); });
      command->add_option("NAME", id_, "The schedule's name")->required();
    }
  }

  void add_job(CLI::App* command) {
    command->footer(
        "The job file has the same as keys, with _ for -: name, role, band, priority, map, "
        "map_accepts, reduce,\nreduce_accepts, combine, key_fields, partition_fields, separator, "
        "sort, sort_memory, input, input_format, decompress, output,\nreducers, split, "
        "speculation, by_file, allow_empty, fail_if_impossible, resources, time_limit, "
        "prefer_hosts, locality, locality_wait, files, fetch, env; or "
        "of an array: command, "
        "array, arguments, each_line, each_file, at_once, retries,\nretry_on, ok, max_failed, "
        "directory; or run. Of a pipeline it has stages, each with these keys. Flags "
        "say more than the file. Example:\n"
        "  proffer batch run --map 'tr -s \" \" \"\\n\"' --reduce 'uniq -c' --input /etc --output "
        "/tmp/words");
    JobText& flags = job_.flags;
    command->add_option("JOB", job_.job_file, "Job file (YAML), or the file of a pipeline");
    command
        ->add_option("-p,--parameter", parameters_,
                     "NAME=value for ~{NAME} in the job file, which declares it; can be repeated")
        ->allow_extra_args(false);
    command->add_option("--map", flags.map, "Mapper: a shell command line");
    command->add_option("--reduce", flags.reduce, "Reducer: a shell command line");
    command
        ->add_option("--map-accepts", flags.map_accepts,
                     "Exit code of the mapper that is as good as 0, as 1 of grep; can be repeated")
        ->allow_extra_args(false);
    command
        ->add_option("--reduce-accepts", flags.reduce_accepts,
                     "The same of the reducer; can be repeated")
        ->allow_extra_args(false);
    command->add_option("--input", flags.inputs, "File or directory to read; can be repeated")
        ->allow_extra_args(false);
    command->add_option("--output", flags.output, "Directory to make for the result");
    command->add_option("--reducers", flags.reducers, "Number of parts, 0 for mappers only [1]");
    command->add_option("--split", flags.split, "Bytes of input for each map task [8MiB]");
    command->add_option("--input-format", flags.input_format,
                        "Records of the input: lines, nul or fixed:BYTES [lines]");
    command->add_flag_callback(
        "--no-decompress", [&flags] { flags.decompress = "false"; },
        "Mappers read .gz and .zst files as they stand, not unpacked");
    command->add_option("--combine", flags.combine,
                        "Combiner: a shell command line that shortens the sorted lines of a map "
                        "task, and writes lines as the mapper does");
    command->add_option("--sort-memory", flags.sort_memory,
                        "Of each task, for sorting [a quarter of its memory]");
    command->add_option("--key-fields", flags.key_fields, "Fields of a line that are its key [1]");
    command->add_option("--partition-fields", flags.partition_fields,
                        "Of these, the first ones that choose the reducer [all]");
    command->add_option("--separator", flags.separator, "Between fields [tab]");
    command->add_option("--sort", flags.sort,
                        "How keys are sorted, as in '-k1,1 -k2,2nr' [by their bytes]");
    command->add_option("--speculation", flags.speculation,
                        "on or off: a slow task gets a second attempt elsewhere [on]");
    command->add_option(
        "--locality", flags.locality,
        "File with lines of HOST[,HOST] PATH: the agents that have each input near");
    truth(command, "--by-file", flags.by_file,
          "No map task reads of more than one file, which $mapreduce_map_input_file names");
    truth(command, "--allow-empty", flags.allow_empty,
          "Input without a byte is no error: one map task reads nothing");
    add_common(command);
  }

  // Options of jobs of all kinds.
  void add_common(CLI::App* command) {
    JobText& flags = job_.flags;
    add_dependencies(command);
    command->add_option("--name", flags.name, "Name of the job, which its id begins with [job]");
    command->add_option(
        "--role", flags.role,
        "Role that is charged: the scheduler's or one below it [your own below it]");
    command->add_option("--band", flags.band,
                        "free, batch, production or monitoring: lower ones are taken back first "
                        "[batch]");
    command->add_option("--priority", flags.priority,
                        "Among your jobs, from -100 to 100: higher ones first [0]");
    truth(command, "--fail-if-impossible", flags.fail_if_impossible,
          "Fail, instead of waiting, if no agent of the cluster could ever run a task");
    command->add_option("--resources", flags.resources,
                        text("Of each task [", kDefaultResources, "]"));
    command->add_option("--time-limit", flags.time_limit,
                        "Of one attempt of a task or element, as in 90s or 2h; one that exceeds it "
                        "has failed [none]");
    command
        ->add_option("--prefer-hosts", flags.prefer_hosts,
                     "Agent on which the tasks had better run; can be repeated")
        ->allow_extra_args(false);
    command->add_option(
        "--locality-wait", flags.locality_wait,
        text("How long tasks wait for the agents that they prefer [", to_text(kLocalityWait), "]"));
    command->add_option("--files", flags.files, "File to put where the tasks run; can be repeated")
        ->allow_extra_args(false);
    command
        ->add_option("--fetch", flags.fetch,
                     "URI[,sha256=SUM][,name=NAME][,executable][,extract]: a file:///, http:// or "
                     "https:// file that agents put where the tasks run; can be repeated")
        ->allow_extra_args(false);
    command->add_option("--env", env_, "NAME=value for the tasks; can be repeated")
        ->allow_extra_args(false);
  }

  // What the job waits for.
  void add_dependencies(CLI::App* command) {
    JobText& flags = job_.flags;
    const auto jobs = [&](const std::string& name, std::vector<std::string>& place,
                          const std::string& what) {
      command->add_option(name, place, what)->allow_extra_args(false);
    };
    jobs("--after", flags.after, "Begin when this job has finished; can be repeated");
    jobs("--after-failure", flags.after_failure,
         "Begin when this job has failed or was cancelled; can be repeated");
    jobs("--after-any", flags.after_any, "Begin when this job has ended; can be repeated");
    command->add_option("--after-each", flags.after_each,
                        "Of an array: begin each element when that of this array is done");
    command->add_option("--when", flags.when, "all or any: how many of these must be met [all]");
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
    command->parse_complete_callback([this, name] {
      is_array_ = true;
      verb_ = name;
    });
    JobText& flags = job_.flags;
    if (name == "map") {
      command->footer(
          "Behind -- stands the command, and behind ::: its arguments; without ::: they are read "
          "from standard input,\none a line. In the command {} is the argument, {.} the argument "
          "without its extension, {/} without its\ndirectory, {//} its directory, {/.} without "
          "both, {#} its number. A command without any of them gets the\nargument as its last "
          "word. No shell is involved. Example:\n"
          "  proffer batch map -- gzip -9 {} ::: *.log");
      command->add_flag("-0,--null", ends_with_nul_,
                        "Arguments on standard input end with NUL bytes, not newlines");
    } else {
      command->footer(
          "Behind -- stands the command, which finds its index in $PROFFER_ARRAY_INDEX; {} in its "
          "words is the index, too.\nNo shell is involved. Example:\n"
          "  proffer batch array 1-1000%50 -- ./simulate --seed {}");
      command
          ->add_option("INDICES", flags.array,
                       "1-10, 0-20:5 or 1,3,7-9; with %N behind it at most N at a time")
          ->required();
    }
    command->add_flag("--detach", is_detached_,
                      "Print the job's id, and leave the job to the scheduler");
    command->add_option("--output", flags.output,
                        "Directory to make for the results [NAME-xxxxxxxx, where you are]");
    command->add_flag("--as-ended", job_.as_ended,
                      "Print what elements write in the order of their ends, not in theirs");
    command->add_option("--at-once", flags.at_once, "At most so many elements run at a time");
    command->add_option("--retries", flags.retries, "Attempts of an element after its first [0]");
    command->add_option("--retry-on", flags.retry_on,
                        "Exit codes that are tried again, as in 75,111 [all but 126 and 127]; "
                        "with it --retries is 3 unless given");
    command->add_option("--ok", flags.ok, "Exit codes of an element that has done its work [0]");
    command->add_option("--max-failed", flags.max_failed,
                        "Failed elements with which the job succeeds, as in 10 or 5%; more end it "
                        "at once [0, and all elements run]");
    command->add_option("--timeout", flags.timeout, "Another name for --time-limit");
    command->add_option("--directory", flags.directory,
                        "Where the command runs, the same on all agents [where you are]");
    add_common(command);
  }

  void add_results() {
    CLI::App* command = verb("results", "What the elements of an array wrote, in their order",
                             [this] { return show_results(results_, options_); });
    command->add_option("JOB", results_.job, "The job's id, as in gzip-7")->required();
    command->add_option("INDEX", results_.index, "Of this element only");
    command->add_flag("--failed", results_.only_failed,
                      "Only elements with another exit code than 0");
    command->add_flag("--stderr", results_.of_stderr, "Standard error in place of standard output");
    command->add_flag("-f,--follow", results_.follow, "Of an array that runs: until it has ended");
    command->add_flag("--as-ended", results_.as_ended,
                      "Of an array that runs: in the order in which elements end");
    command->add_flag("--table", results_.as_table,
                      "How elements ended: exit code, seconds, and where their output is");
  }

  // The words behind "--" are the command of an array and are not parsed. Returns how many words
  // stand before.
  int take_command(int argc, char** argv) {
    const auto is = [&](int at, std::string_view word) { return argv[at] == word; };
    int at = 1;
    while (at < argc && !is(at, "--")) ++at;
    bool takes_command = false;
    for (int i = 1; i < at; ++i) takes_command |= is(i, "map") || is(i, "array");
    lacks_dashes_ = takes_command && at == argc;
    if (at == argc || !takes_command) return argc;
    words_.assign(argv + at + 1, argv + argc);
    return at;
  }

  // From the words behind "--" to the command and the arguments.
  Result<void> read_command() {
    JobText& flags = job_.flags;
    job_.names_output = true;
    const auto sources = std::find(words_.begin(), words_.end(), ":::");
    flags.command.assign(words_.begin(), verb_ == "map" ? sources : words_.end());
    if (flags.command.empty()) {
      return Error::invalid_argument("there is no command")
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
      return Error::invalid_argument("::: can stand once")
          .with_hint("combine the arguments before, and give them on standard input");
    }
    return {};
  }

  void add_scheduler() {
    CLI::App* command = verb("scheduler", "Run the scheduler that the other verbs ask", [this] {
      scheduler_.master = options_.master;
      if (Result<void> chosen = choose_log_format(log_format_, "proffer-batch"); !chosen) {
        return print_error(std::move(chosen).error().in("--log-format"), false);
      }
      return run_scheduler(scheduler_);
    });
    command->parse_complete_callback([this] { is_scheduler_ = true; });
    command->add_option("--role", scheduler_.role, "Role that it is in [default]");
    command->add_option("--name", scheduler_.name, "Name of the framework [batch]");
    CLI::Option_group* identity = command->add_option_group("identity");
    identity->add_option("--session-file", scheduler_.session_file,
                         "Keeps its identity: started again with it, it finds its jobs");
    identity->add_flag("--standby", scheduler_.stands_by,
                       "Of several schedulers of this name and user, on any machines, one serves; "
                       "the others take over when it is away");
    identity->require_option(1);
    command->add_flag("--serve-users", scheduler_.serves_users,
                      "Run each job as the user that submitted it; for operators only");
    command->add_option("--log-format", log_format_, "Of the log: text or json [text]");
  }

  CLI::App app_;
  CommandOptions options_;
  SubmitOptions job_;
  std::vector<std::string> env_;
  std::vector<std::string> parameters_;
  std::vector<std::string> words_;  // behind "--"
  std::string verb_;                // of an array
  bool is_array_ = false;
  bool lacks_dashes_ = false;
  bool is_detached_ = false;
  bool is_scheduler_ = false;
  bool ends_with_nul_ = false;
  ResultsOptions results_;
  std::string id_;
  bool with_ended_ = false;
  int64_t limit_ = 100;
  LogsOptions logs_;
  std::string html_;   // of a report
  int64_t count_ = 5;  // of fire times
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
