// proffer run: a framework with one ask. It streams its tasks' output from their agents, and ends
// with their exit code.

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <unistd.h>

#include "cli/arguments.h"
#include "cli/attached_terminal.h"
#include "cli/commands.h"
#include "cli/local_terminal.h"
#include "cli/master_client.h"
#include "cli/output.h"
#include "cli/output_streams.h"
#include "cli/run_output.h"
#include "cli/script_problem.h"
#include "cli/stdin_sender.h"
#include "common/constraint_matcher.h"
#include "common/roles.h"
#include "common/text.h"
#include "net/exported_environment.h"
#include "proto/fetched_files.h"
#include "proto/limit_warning.h"
#include "proto/private_tmp.h"
#include "sdk/scheduler.h"

namespace proffer::cli {
namespace {

constexpr Duration kConnectTimeout = seconds(10);
constexpr int64_t kCountMax = 10'000;
constexpr Duration kPreferWait = seconds(10);
constexpr std::string_view kAsk = "run";

struct RunOptions {
  std::string name = "run";
  RoleName role = RoleName("default");
  Masters master = {};
  Ask ask = {};
  proto::Environment environment = {};
  std::string command = {};
  std::string program = {};  // its first word
  std::vector<proto::FetchedFile> fetch = {};
  Duration kill_grace = kKillGrace;
  int32_t kill_signal = proto::kKillSignal;
  Duration max_run_time = {};
  bool no_input = false;   // the task's standard input is empty
  bool is_strict = false;  // a process that was out of memory fails its task
  bool json = false;
  bool has_terminal = false;  // the task has this one
};

std::string user_name() {
  const char* user = std::getenv("USER");
  return user != nullptr && *user != '\0' ? user : text("uid-", static_cast<int64_t>(getuid()));
}

// 0 for success, a command's own exit code, or 128 plus the signal number as in a shell.
int exit_code_of(const proto::TaskStatus& status, bool is_strict) {
  if (status.state == proto::TaskState::kFinished) {
    const bool lost_any = status.usage && status.usage->out_of_memory.value_or(0) > 0;
    return is_strict && lost_any ? kExitRefused : 0;
  }
  if (status.exit_code && *status.exit_code != 0) return *status.exit_code & 0xFF;
  if (status.signal) return 128 + *status.signal;
  return kExitRefused;
}

// Each task carries its environment, and one accept is one message. Below the size of a gang, none
// can be launched.
size_t tasks_in_one_message(const RunOptions& options) {
  constexpr size_t kOverheadBytes = 2'048;
  size_t bytes = kOverheadBytes + options.command.size();
  for (const auto& [name, value] : options.environment) bytes += name.size() + value.size() + 48;
  for (const proto::FetchedFile& file : options.fetch) bytes += file.uri.size() + 256;
  const size_t most = std::max<size_t>(kFrameBytesMax * 3 / 4 / bytes, 1);
  const auto gang = static_cast<size_t>(options.ask.gang);
  return most < gang ? most : most - most % gang;
}

class Run {
 public:
  explicit Run(RunOptions options)
      : options_(std::move(options)),
        tasks_per_accept_(tasks_in_one_message(options_)),
        sends_input_(options_.has_terminal ||
                     (options_.ask.count == 1 && !options_.no_input && has_standard_input())),
        scheduler_({.name = options_.name,
                    .role = options_.role,
                    .master = to_text(options_.master),
                    .user = user_name(),
                    .failover_timeout = kAttachedFailoverTimeout}),
        terminal_(options_.has_terminal ? std::make_unique<AttachedTerminal>(
                                              scheduler_, [this] { leave(128 + SIGHUP); })
                                        : nullptr),
        output_(options_.json, options_.ask.count == 1,
                [this](const std::function<void()>& print_lines) { print(print_lines); }),
        streams_(
            options_.master,
            [this](const TaskId& task, OutputStreams::Stream stream, std::string_view bytes) {
              show(task, stream, bytes);
            },
            [this](const FrameworkId& framework, const TaskId& task, const std::string& why) {
              output_.lost(framework, task, why);
            },
            [this](const TaskId& task, OutputStreams::Stream stream, uint64_t bytes) {
              output_.missing(task, stream, bytes);
              if (terminal_ != nullptr) terminal_->shown(bytes);
            },
            [this](const TaskId& task) { output_.closed(task); }) {}

  int go();

 private:
  void on_offer(const Offer& offer);
  void on_update(const proto::TaskStatus& status);
  void on_ask_report(const proto::AskReport& report);
  void declare();
  void interrupt(int signal);
  void end_if_all_ended();
  int exit_code();
  static int64_t number_of(const TaskId& task);
  void on_message(const proto::FrameworkMessage& message);
  void show(const TaskId& task, OutputStreams::Stream stream, std::string_view bytes);
  void print(const std::function<void()>& print_lines);
  void finish(const Error& error);
  void note_script(const proto::TaskStatus& status);
  void take_input_back();
  void leave(int exit_code);
  void detach(int exit_code);

  const RunOptions options_;
  const size_t tasks_per_accept_;
  const bool sends_input_;
  std::unique_ptr<StdinSender> input_;
  sdk::Scheduler scheduler_;
  std::unique_ptr<AttachedTerminal> terminal_;  // null without -t
  RunOutput output_;
  OutputStreams streams_;
  int64_t launched_ = 0;
  int64_t wanted_ = 0;  // tasks not yet launched
  std::set<TaskId> live_;
  struct Place {
    AgentId agent = {};
    std::string http_address = {};
  };
  std::map<TaskId, Place> places_;  // places of tasks that do not run yet
  std::set<TaskId> followed_;
  std::map<int64_t, proto::TaskStatus> failed_;  // by the number in the task's name
  int interrupted_by_ = 0;                       // the signal
  bool was_cut_ = false;                         // it came before all tasks were launched
  bool connected_ = false;
  bool is_away_ = false;  // the master
  bool ending_ = false;
  bool has_noted_ = false;  // what is wrong with the script
};

int Run::go() {
  wanted_ = options_.ask.count;
  scheduler_.on_subscribed([this](const proto::Subscribed&) {
    connected_ = true;
    is_away_ = false;
    output_.subscribed(scheduler_.framework());
  });
  scheduler_.on_disconnected([this](const std::string&) { is_away_ = true; });
  scheduler_.on_offer([this](const Offer& offer) { on_offer(offer); });
  scheduler_.on_update([this](const proto::TaskStatus& status) { on_update(status); });
  scheduler_.on_ask_report([this](const proto::AskReport& report) { on_ask_report(report); });
  scheduler_.on_refused([this](const Error& error) { finish(error); });
  if (sends_input_) {
    scheduler_.on_message([this](const auto& message) { on_message(message); });
  }
  for (const int signal : {SIGINT, SIGTERM}) {
    scheduler_.on_signal(signal, [this, signal] { interrupt(signal); });
  }
  // Closing the terminal ends the tasks; nothing can be shown any more.
  scheduler_.on_signal(SIGHUP, [this] { leave(128 + SIGHUP); });
  scheduler_.after(kConnectTimeout, [this] {
    if (connected_) return;
    finish(Error::unavailable(text("cannot reach a master at ", to_text(options_.master), " in ",
                                   to_text(kConnectTimeout)))
               .with_hint(
                   "start a local cluster with `proffer dev`, join one with `proffer join`, or "
                   "give the "
                   "master's address with --master=SOCKET, --master=HOST:PORT or $PROFFER_MASTER"));
  });
  declare();
  const int code = scheduler_.run();
  if (terminal_ != nullptr) terminal_->restore();
  return code;
}

// The executor of a task says where it is, takes input, and shows a terminal.
void Run::on_message(const proto::FrameworkMessage& message) {
  if (terminal_ != nullptr) {
    if (auto part = proto::decode_terminal_part(message.data)) {
      return streams_.offer(part->task, part->offset, std::move(part->bytes));
    }
    if (const auto view = proto::decode_terminal_view(message.data)) {
      return terminal_->on_view(*view);
    }
  }
  const Result<proto::StdinRoom> room = proto::decode_stdin_room(message.data);
  if (!room || !live_.contains(room->task)) return;
  if (terminal_ != nullptr) terminal_->on_room(message, *room);
  if (input_ == nullptr) {
    StdinSender::Filter filter;
    if (terminal_ != nullptr) {
      filter = [this](std::string_view typed) { return terminal_->keys(typed); };
    }
    input_ = std::make_unique<StdinSender>(scheduler_, room->task, std::move(filter));
  }
  input_->on_room(message, *room);
}

// On the streams' thread.
void Run::show(const TaskId& task, OutputStreams::Stream stream, std::string_view bytes) {
  output_.write(task, stream, bytes);
  if (terminal_ != nullptr && stream == OutputStreams::Stream::kStdout) {
    terminal_->shown(bytes.size());
  }
}

// Any thread.
void Run::print(const std::function<void()>& print_lines) {
  if (terminal_ == nullptr) return print_lines();
  terminal_->print(print_lines);
}

// What is typed is for this process or its shell: Ctrl-C ends the wait for the rest of the output.
void Run::take_input_back() {
  if (input_ != nullptr) input_->stop();
  if (terminal_ != nullptr) terminal_->take_keys_back();
}

void Run::leave(int exit_code) {
  if (terminal_ != nullptr) terminal_->restore();
  scheduler_.stop(exit_code);
}

// Does not wait for the master, which tears the framework down when it is back.
void Run::detach(int exit_code) {
  if (terminal_ != nullptr) terminal_->restore();
  scheduler_.detach(exit_code);
}

void Run::declare() {
  Ask ask = options_.ask;
  ask.max_run_time = options_.max_run_time;
  ask.count = wanted_;
  scheduler_.ask(std::move(ask));
}

void Run::on_offer(const Offer& offer) {
  std::vector<proto::TaskSpec> tasks;
  for (const AskFill& fill : offer.fills) {
    for (int64_t i = 0; i < fill.count && wanted_ > 0; ++i, --wanted_) {
      if (tasks.size() == tasks_per_accept_) break;
      proto::TaskSpec task;
      task.id = TaskId(text(options_.name, "-", ++launched_));
      task.ask = fill.ask;
      task.shape = options_.ask.shape;
      task.command = options_.command;
      task.environment = options_.environment;
      if (sends_input_) {
        task.environment[std::string(proto::kStdinVariable)] =
            terminal_ != nullptr ? proto::terminal_request(local_terminal_size())
                                 : std::string(proto::kStdinStreamed);
      }
      task.kill_grace = options_.kill_grace;
      task.kill_signal = options_.kill_signal;
      task.max_run_time = options_.max_run_time;
      task.fetch = options_.fetch;
      live_.insert(task.id);
      places_[task.id] = {offer.agent, offer.http_address};
      tasks.push_back(std::move(task));
    }
  }
  if (tasks.empty()) return scheduler_.decline(offer);
  scheduler_.accept(offer, std::move(tasks));
}

void Run::on_update(const proto::TaskStatus& status) {
  if (status.state == proto::TaskState::kRunning && followed_.insert(status.task).second) {
    output_.running(status);
    const auto found = places_.extract(status.task);
    const Place place = found ? found.mapped() : Place();
    streams_.follow(scheduler_.framework(), status.task, place.agent, place.http_address);
  }
  if (!proto::is_terminal(status.state) || live_.erase(status.task) == 0) {
    if (status.state == proto::TaskState::kUnreachable) {
      print([&] {
        print_warning_text(text("agent ", status.agent.str(), " of task ", status.task.str(),
                                " is unreachable; waiting for the agent",
                                terminal_ != nullptr ? "; Return and ~. end the wait" : ""));
      });
    }
    return;
  }
  streams_.ended(status.task);
  if (status.state == proto::TaskState::kRefused && interrupted_by_ == 0 &&
      (status.reason == proto::TaskReason::kOfferNotValid ||
       status.reason == proto::TaskReason::kAgentNotAvailable ||
       status.reason == proto::TaskReason::kGangIncomplete)) {
    ++wanted_;  // The offer had ended before the answer arrived: no task has run.
    if (wanted_ % options_.ask.gang == 0) declare();
    return;
  }
  take_input_back();
  output_.ended(status);
  if (exit_code_of(status, options_.is_strict) != 0) failed_[number_of(status.task)] = status;
  // A command that ends by itself explains its end by its output or exit code.
  const bool says_why = status.state == proto::TaskState::kFinished ||
                        status.reason == proto::TaskReason::kCommandExited;
  if (!says_why && !options_.json && interrupted_by_ == 0) {
    print([&] {
      print_error_text(Error::internal(text("task ", status.task.str(), ": ", to_text(status.state),
                                            ": ", to_text(status.reason),
                                            status.message.empty() ? "" : ": ", status.message)));
    });
  }
  if (status.state == proto::TaskState::kFinished && !status.message.empty() && !options_.json) {
    print([&] { print_warning_text(text("task ", status.task.str(), ": ", status.message)); });
  }
  if (!options_.json) note_script(status);
  end_if_all_ended();
}

// The shell says only that a script was not found if its interpreter is missing.
void Run::note_script(const proto::TaskStatus& status) {
  constexpr int32_t kCannotRun = 126;
  constexpr int32_t kNotFound = 127;
  if (status.exit_code != kCannotRun && status.exit_code != kNotFound) return;
  if (std::exchange(has_noted_, true)) return;
  const std::string problem = script_problem(options_.program);
  if (!problem.empty()) print([&] { print_note_text(problem); });
}

void Run::on_ask_report(const proto::AskReport& report) {
  for (const proto::AskReport::Row& row : report.rows) {
    if (row.could_ever_fit) continue;
    print([&] { print_line(text("waiting: the task can never run: ", row.why), stderr); });
  }
}

void Run::end_if_all_ended() {
  if (!live_.empty() || wanted_ > 0 || ending_) return;
  ending_ = true;
  scheduler_.run_aside([this] { streams_.wait(); },
                       [this] {
                         output_.finish();
                         leave(exit_code());
                       });
}

// The first time it ends the tasks with their grace and shows their last words.
void Run::interrupt(int signal) {
  if (interrupted_by_ != 0 && is_away_) return detach(128 + signal);
  if (interrupted_by_ != 0 || live_.empty()) return leave(128 + signal);
  interrupted_by_ = signal;
  if (terminal_ != nullptr) take_input_back();
  if (!options_.json) {
    print([&] {
      print_note_text(text("ending ", live_.size(), live_.size() == 1 ? " task" : " tasks",
                           "; again: without waiting for the end"));
    });
  }
  was_cut_ = wanted_ > 0;
  wanted_ = 0;
  declare();
  for (const TaskId& task : live_) scheduler_.kill(task);
}

// That of the first task in order that failed.
int Run::exit_code() {
  if (failed_.empty() && was_cut_) return 128 + interrupted_by_;
  if (failed_.empty()) return output_.is_incomplete() ? kExitRefused : 0;
  const proto::TaskStatus& first = failed_.begin()->second;
  if (interrupted_by_ != 0) return first.exit_code.value_or(128 + interrupted_by_);
  const int code = exit_code_of(first, options_.is_strict);
  if (options_.ask.count > 1 && !options_.json) {
    print_error_text(Error::internal(text(failed_.size(), " of ", options_.ask.count,
                                          " tasks failed; exit code ", code, " is that of task ",
                                          first.task.str())));
  }
  return code;
}

int64_t Run::number_of(const TaskId& task) {
  const std::string& name = task.str();
  const Result<int64_t> number =
      parse_whole("the number", name.substr(name.rfind('-') + 1), 0, kAmountMax);
  return number ? *number : 0;
}

void Run::finish(const Error& error) {
  if (terminal_ != nullptr) terminal_->restore();
  leave(print_error(error, options_.json));
}

// Parses an option's amount into the ask; an error names the option.
Result<void> set_amount(ResourceVector* shape, ResourceKind kind, const std::string& value) {
  if (value.empty()) return {};
  Result<Resources> parsed = parse_resources(text(to_text(kind), ":", value));
  if (!parsed) {
    // The parser's message begins with the kind, which is also the option's name.
    return Error(parsed.error().code(), text("--", parsed.error().message()))
        .with_hint(parsed.error().hint());
  }
  (*shape)[kind] = parsed->amounts[kind];
  return {};
}

Result<void> set_placement(Ask* ask, const std::vector<std::string>& max_per,
                           const std::string& prefer_wait, const std::string& band) {
  for (const std::string& entry : max_per) {
    const size_t equals = entry.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return Error::invalid_argument(
          text("--max-per must be ATTRIBUTE=COUNT, as in --max-per host=2, not ", quoted(entry)));
    }
    const Result<int64_t> count =
        parse_whole("--max-per", entry.substr(equals + 1), 1, kAskCountMax);
    if (!count) return count.error();
    ask->max_per.push_back({.attribute = entry.substr(0, equals), .count = *count});
  }
  ask->prefer.wait = ask->prefer.empty() ? Duration() : kPreferWait;
  if (!prefer_wait.empty()) {
    Result<Duration> wait = parse_duration(prefer_wait);
    if (!wait) return std::move(wait).error().in("--prefer-wait");
    ask->prefer.wait = *wait;
  }
  if (!band.empty()) {
    const std::optional<Band> parsed = parse_band(band);
    if (!parsed) {
      return Error::invalid_argument(
          text("--band must be free, batch, production or monitoring, not ", quoted(band)));
    }
    ask->band = *parsed;
  }
  if (ask->gang < 1 || ask->gang > kGangMax || ask->count % ask->gang != 0) {
    return Error::invalid_argument(text("--gang must be from 1 to ", kGangMax,
                                        " and divide --count, ", ask->count, ", not ", ask->gang));
  }
  return {};
}

Result<void> set_environment(proto::Environment* environment,
                             const std::vector<std::string>& entries) {
  for (const std::string& entry : entries) {
    const size_t equals = entry.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return Error::invalid_argument(
                 text("--env must be NAME=VALUE, as in --env LEVEL=3, not ", quoted(entry)))
          .with_hint(entry.find('=') != std::string::npos
                         ? std::string()
                         : text("to hand on a variable of this shell: --env ", entry, "=\"$", entry,
                                "\""));
    }
    (*environment)[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  return {};
}

Result<void> set_files(std::vector<proto::FetchedFile>* files,
                       const std::vector<std::string>& entries) {
  for (const std::string& entry : entries) {
    Result<proto::FetchedFile> file = proto::parse_fetched_file(entry);
    if (!file) return std::move(file).error().in("--fetch");
    files->push_back(*std::move(file));
  }
  if (Result<void> valid = proto::check_fetched_files(*files); !valid) {
    return std::move(valid).error().in("--fetch");
  }
  return {};
}

// A terminal is that of one task and one user.
Result<void> check_terminal(const RunOptions& options) {
  if (!options.has_terminal) return {};
  const std::string_view with = options.ask.count > 1 ? "--count"
                                : options.json        ? "--json"
                                : options.no_input    ? "--no-input"
                                                      : "";
  if (!with.empty()) {
    return Error::invalid_argument(text("-t and ", with, " exclude each other"))
        .with_hint("-t gives one task the terminal of run; leave one of the two out");
  }
  if (is_at_terminal()) return {};
  return Error::invalid_argument("-t needs a terminal as standard input and standard output")
      .with_hint("leave -t out to use pipes or files; over ssh, give -t to ssh, too");
}

}  // namespace

int run_run(const Words& words) {
  std::string master_flag;
  std::string cpus = "1";
  std::string mem = "128";
  std::string disk;
  std::string gpus;
  std::string name = "run";
  std::string role = "default";
  std::string grace;
  std::string kill_signal;
  std::string max_run_time;
  std::string signal;
  int64_t count = 1;
  std::vector<std::string> environment;
  std::vector<std::string> files;
  std::vector<std::string> constraints;
  std::vector<std::string> max_per;
  std::string prefer_wait;
  std::string band;
  bool no_borrow = false;
  ExportChoice exported;
  bool is_login = false;
  bool has_private_tmp = false;
  Words command;
  RunOptions options;
  Arguments arguments(
      "proffer run [options] -- CMD…",
      "run a command on the cluster in the foreground: stream its output, return its "
      "exit code. For a job in the background: proffer batch array 1 --detach.");
  arguments.master(&master_flag);
  arguments.group("Resources");
  arguments.option("--cpus", &cpus, "CPUs of each task, 0 or more, as in 0.5 (default 1)");
  arguments.option("--mem", &mem, "memory of each task, in MiB or as in 4GiB (default 128)");
  arguments.flag("--strict-memory", &options.is_strict,
                 "fail if any process of the task was killed for lack of memory");
  arguments.option("--disk", &disk, "disk of each task, in MiB or as in 4GiB (default none)");
  arguments.option("--gpus", &gpus,
                   "GPUs of each task: a fraction of one, or a whole number (default none)");
  arguments.group("Task");
  arguments.option("--count", &count, "number of tasks (default 1)");
  arguments.option("--env", &environment, "environment variable, NAME=VALUE; can be repeated");
  arguments.option("--export", &exported.variables,
                   "environment: NONE, or a list of ALL, NAME and NAME=VALUE (default ALL)");
  arguments.flag("--sandbox-home", &exported.has_sandbox_home,
                 "HOME is the sandbox (default: the home directory of the user)");
  arguments.flag("--no-input", &options.no_input,
                 "do not read standard input: that of the command is empty");
  arguments.flag("-t,--terminal", &options.has_terminal,
                 "give the task a terminal, as for a shell: proffer run -t -- bash");
  arguments.flag("--login", &is_login, "run the command in a login shell (profile files, modules)");
  arguments.flag("--private-tmp", &has_private_tmp, "a /tmp of its own for each task");
  arguments.option(
      "--fetch", &files,
      "file for the sandbox: an http(s) URI, or file:// of the agent; can be repeated");
  arguments.group("Placement");
  arguments.option("--constraint", &constraints,
                   "condition on agents, as in 'rack == r1'; can be repeated: all must hold");
  arguments.option(
      "--gang", &options.ask.gang,
      "launch tasks only in groups of this size, all at once; divides --count (default 1)");
  arguments.option(
      "--spread", &options.ask.spread,
      "spread the tasks evenly over an attribute, as in rack, or over host (the agents)");
  arguments.option(
      "--max-per", &max_per,
      "ATTRIBUTE=COUNT: at most COUNT tasks per value of the attribute; can be repeated");
  arguments.option("--prefer", &options.ask.prefer.hosts,
                   "name of a preferred agent; can be repeated");
  arguments.option("--prefer-rack", &options.ask.prefer.racks,
                   "preferred value of the attribute rack; can be repeated");
  arguments.option("--prefer-wait", &prefer_wait,
                   "time to wait for preferred agents and racks (default 10s)");
  arguments.option("--band", &band,
                   "band: free (preempted first), batch, production or monitoring (default batch)");
  arguments.flag("--no-borrow", &no_borrow,
                 "never exceed the role's entitlement (default: borrow what others leave unused)");
  arguments.flag(
      "--revocable", &options.ask.revocable_ok,
      "also use resources kept for claims of others; preempted first if a claim needs them");
  arguments.group("Framework");
  arguments.option("--name", &name, "framework name (default run); names may repeat, ids do not");
  arguments.option("--role", &role, "role of the framework (default: the role 'default')");
  arguments.group("Task");
  arguments.option("--grace", &grace, "time between the polite signal and SIGKILL (default 5s)");
  arguments.option("--kill-signal", &kill_signal,
                   "polite signal, as in SIGINT (default SIGTERM; with -t SIGHUP)");
  arguments.option("--max-run-time", &max_run_time,
                   "kill a task that runs longer than this (default no limit)");
  arguments.option("--signal", &signal,
                   "signal before --max-run-time, as in USR1@60s, for the task to save its work");
  arguments.group("Output");
  arguments.flag("--json", &options.json, "print one JSON object per line");
  arguments.command_line(
      &command, "one word is a shell command line; several are a program and its arguments");
  arguments.note(
      "Constraints: NAME == VALUE, NAME != VALUE, NAME in [A, B], NAME not in [A, B], NAME =~ "
      "REGEX (of the whole value), NAME exists. Attributes are set by operators (proffer agents "
      "lists them), but for host, which is the agent's name.");
  arguments.note(
      "The command runs in a new sandbox directory, which holds only its output and the files of "
      "--fetch, as the user that runs proffer, with that user's rights to other files of the "
      "agent's machine. Its environment, umask and soft limits are those of this shell, with "
      "$PROFFER_… and --env, unless --export says otherwise. A single task reads the standard "
      "input of run, as with ssh; with --count it is empty. Any role and band may be named, "
      "without a setting before; operators may restrict the users of a role.");
  arguments.note(
      "--fetch URI[,sha256=SUM][,name=NAME][,executable][,extract]: the agent fetches the file; "
      "the options check its SHA-256 sum, rename it, make it executable or unpack it.");
  arguments.note(
      "If no agent has room for a task, it waits; proffer explain framework NAME says why. A task "
      "that exceeds its memory or disk fails if its agent enforces limits (proffer agents).");
  arguments.note(
      "With --count, each line of output begins with the name of its task. Ctrl-C, SIGTERM or a "
      "closed terminal ends the tasks as --grace says; run shows their last output and returns "
      "their exit code. A second Ctrl-C does not wait for them.");
  arguments.note(
      "With -t, keys go to the task once it runs, Ctrl-C among them, and its terminal has the size "
      "of this one. The task ends with run; to end it by a key, type Return ~. as in ssh.");
  arguments.exit_codes(
      "that of the command (of several tasks that of the first one, in order, that failed); "
      "128 + N if signal N ended the command, or run itself (130 after Ctrl-C); 1 a task did not "
      "run to its end, or output is missing, with a message; 2 wrong usage; 3 no master for 10s. "
      "The events of --json have each task's code");
  arguments.examples({"proffer run --cpus 2 --mem 4GiB -- make test",
                      "proffer run --count 8 --fetch https://host/tool.tgz,extract -- tool/run"});
  if (const auto status = arguments.parse(words)) return *status;

  const auto usage = [&](Error error) { return usage_error(error, options.json); };
  if (command.empty()) {
    return usage(Error::invalid_argument("the command is missing")
                     .with_hint("for example: proffer run -- echo hello"));
  }
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage(master.error());
  options.master = *master;
  if (Result<void> named = check_name("--name", name); !named) return usage(named.error());
  options.name = name;
  const Result<RoleName> parsed_role = parse_role(role);
  if (!parsed_role) return usage(parsed_role.error());
  options.role = *parsed_role;
  if (count < 1 || count > kCountMax) {
    return usage(
        Error::invalid_argument(text("--count must be from 1 to ", kCountMax, ", not ", count)));
  }
  options.ask.name = AskName(std::string(kAsk));
  options.ask.count = count;
  const std::pair<ResourceKind, const std::string*> amounts[] = {{ResourceKind::kCpus, &cpus},
                                                                 {ResourceKind::kMem, &mem},
                                                                 {ResourceKind::kDisk, &disk},
                                                                 {ResourceKind::kGpus, &gpus}};
  for (const auto& [kind, value] : amounts) {
    if (Result<void> set = set_amount(&options.ask.shape, kind, *value); !set) {
      return usage(set.error());
    }
  }
  if (Result<void> checked = check_shape(options.ask.shape); !checked) {
    return usage(checked.error());
  }
  for (const std::string& constraint : constraints) {
    Result<Constraint> parsed = parse_constraint(constraint);
    if (!parsed) return usage(parsed.error());
    options.ask.constraints.push_back(*std::move(parsed));
  }
  if (const auto compiled = ConstraintMatcher::compile(options.ask.constraints); !compiled) {
    return usage(compiled.error());
  }
  if (Result<void> set = set_files(&options.fetch, files); !set) return usage(set.error());
  if (Result<void> set = set_placement(&options.ask, max_per, prefer_wait, band); !set) {
    return usage(set.error());
  }
  if (Result<void> possible = check_terminal(options); !possible) return usage(possible.error());
  options.ask.borrow = !no_borrow;
  Result<proto::Environment> here = exported_environment(exported);
  if (!here) return usage(here.error());
  options.environment = *std::move(here);
  if (Result<void> set = set_environment(&options.environment, environment); !set) {
    return usage(set.error());
  }
  for (const auto& [flag, value, target] :
       {std::tuple("--grace", &grace, &options.kill_grace),
        std::tuple("--max-run-time", &max_run_time, &options.max_run_time)}) {
    if (value->empty()) continue;
    Result<Duration> parsed = parse_duration(*value);
    if (!parsed) return usage(std::move(parsed).error().in(flag));
    *target = *parsed;
  }
  // Interactive shells ignore SIGTERM, and a terminal that is closed hangs up.
  if (options.has_terminal) options.kill_signal = SIGHUP;
  if (!kill_signal.empty()) {
    Result<int32_t> parsed = proto::parse_kill_signal(kill_signal);
    if (!parsed) return usage(std::move(parsed).error().in("--kill-signal"));
    options.kill_signal = *parsed;
  }
  if (!signal.empty()) {
    const Result<proto::LimitWarning> warning = proto::parse_limit_warning(signal);
    if (!warning) return usage(Error(warning.error()).in("--signal"));
    Result<void> ok = proto::check_limit_warning(*warning, options.max_run_time, "--max-run-time");
    if (!ok) return usage(std::move(ok).error().in("--signal"));
    options.environment[std::string(proto::kWarningVariable)] = proto::to_text(*warning);
  }
  if (has_private_tmp) {
    options.environment[std::string(proto::kPrivateTmpVariable)] = proto::kPrivateTmp;
  }
  options.command = shell_command(command);
  options.program = command.front();
  if (!options.json) print_variable_notes(options.command, environment);
  if (is_login) options.command = shell_command({login_shell(), "-lc", options.command});
  if (options.has_terminal) {
    options.command.insert(0, proto::kTerminalCommand);
    const char* kind = std::getenv("TERM");
    if (kind != nullptr) options.environment.emplace("TERM", kind);
  }
  if (const size_t most = tasks_in_one_message(options);
      most < static_cast<size_t>(options.ask.gang)) {
    return usage(Error::invalid_argument(text("--gang ", options.ask.gang,
                                              ": with this environment at most ", most,
                                              " tasks can be launched at once"))
                     .with_hint("name the variables that the command needs, as in "
                                "--export=PATH,LANG, or --export=NONE"));
  }
  // Never destroyed: the process ends now, and closing its connections and threads one by one would
  // take a third of a short command's time.
  static Run& run = *new Run(std::move(options));
  return run.go();
}

}  // namespace proffer::cli
