// proffer conformance: runs a framework's program against real clusters, with one fault after
// another. Read kItems in conformance_items.cc first. Each item runs in a process of its own.
// Several run at a time, since they mostly wait. This file starts these processes and reports their
// outcomes.

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/conformance_items.h"
#include "cli/output.h"
#include "cli/programs.h"
#include "common/text.h"

namespace proffer::cli {
namespace {

namespace fs = std::filesystem;

// Small enough that the schedulers get sufficient CPU time on two processors.
constexpr size_t kTrialsAtOnce = 6;

// The prefix of an error. A trial's process writes one line: an outcome, or "error: …".
constexpr std::string_view kError = "error: ";

class Conformance {
 public:
  Conformance(ConformanceOptions options, std::string dir)
      : options_(std::move(options)), dir_(std::move(dir)) {
    for (const ConformanceItem& item : conformance_items()) {
      if (options_.only.empty() || options_.only == item.name) items_.push_back(&item);
    }
    outcomes_.resize(items_.size());
    ::sigemptyset(&signals_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&signals_, signal);
    ::sigprocmask(SIG_BLOCK, &signals_, &before_);
    signal_fd_ = ::signalfd(-1, &signals_, SFD_CLOEXEC);
  }
  ~Conformance() {
    end_trials();
    ::close(signal_fd_);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
    std::error_code ignored;
    if (!options_.keep) fs::remove_all(dir_, ignored);
  }
  Conformance(const Conformance&) = delete;
  Conformance& operator=(const Conformance&) = delete;

  int run() {
    size_t begun = 0;
    size_t reported = 0;
    Tally tally;
    while (reported < items_.size()) {
      while (begun < items_.size() && running_.size() < kTrialsAtOnce) {
        if (Result<void> started = begin(begun++); !started) {
          return print_error(started.error(), options_.json);
        }
      }
      if (const int signal = await(); signal != 0) return 128 + signal;
      if (error_) return print_error(*error_, options_.json);
      // Reports the outcomes in the order of the list.
      for (; reported < items_.size() && outcomes_[reported]; ++reported) {
        print(*items_[reported], *outcomes_[reported]);
        tally.count(outcomes_[reported]->verdict);
      }
    }
    if (!options_.json) {
      print_line(tally.to_text());
      print_line(
          "never tested here: messages to executors, the store; test these with SimCluster "
          "(sdk/testing)");
      if (options_.keep) print_line("files in " + dir_);
    }
    return tally.failed > 0 ? kExitRefused : 0;
  }

 private:
  struct Running {
    size_t item = 0;
    pid_t pid = 0;
    std::string said = {};
  };

  Result<void> begin(size_t index) {
    std::array<int, 2> ends = {};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      return Error::unavailable(text("cannot make a pipe: ", std::strerror(errno)));
    }
    const pid_t parent = getpid();
    const pid_t pid = ::fork();
    if (pid < 0) {
      const int why = errno;
      for (const int end : ends) ::close(end);
      return Error::unavailable(text("cannot start a process: ", std::strerror(why)));
    }
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
      ::sigprocmask(SIG_SETMASK, &before_, nullptr);
      if (getppid() != parent) ::_exit(1);
      const std::string line = try_item(*items_[index]) + "\n";
      const bool is_said =
          ::write(ends[1], line.data(), line.size()) == static_cast<ssize_t>(line.size());
      ::_exit(is_said ? 0 : 1);
    }
    ::close(ends[1]);
    running_[ends[0]] = {.item = index, .pid = pid};
    return {};
  }

  // Runs in the trial's process.
  std::string try_item(const ConformanceItem& item) const {
    const std::string dir = text(dir_, "/", item.name);
    std::error_code ignored;
    fs::create_directories(dir, ignored);
    Trial trial(options_, dir, item.times);
    if (Result<void> started = trial.start(); !started) {
      return text(kError, item.name, ": ", started.error().message());
    }
    const Time began = trial.now();
    Outcome outcome = item.run(trial);
    outcome.took = trial.now() - began;
    return outcome_json(item.name, item.what, outcome);
  }

  // Waits until a trial has written something or ended. Returns the signal that ends the run, or 0.
  int await() {
    std::vector<pollfd> waits = {{.fd = signal_fd_, .events = POLLIN, .revents = 0}};
    for (const auto& [fd, trial] : running_) {
      waits.push_back({.fd = fd, .events = POLLIN, .revents = 0});
    }
    if (::poll(waits.data(), waits.size(), -1) < 0) return 0;
    if (waits[0].revents != 0) {
      signalfd_siginfo signal = {};
      if (::read(signal_fd_, &signal, sizeof signal) == sizeof signal) {
        return static_cast<int>(signal.ssi_signo);
      }
    }
    for (size_t i = 1; i < waits.size(); ++i) {
      if (waits[i].revents != 0) hear(waits[i].fd);
    }
    return 0;
  }

  void hear(int fd) {
    Running& trial = running_.at(fd);
    std::array<char, 4096> buffer;
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got > 0) return void(trial.said.append(buffer.data(), static_cast<size_t>(got)));
    if (got < 0 && errno == EINTR) return;
    ::close(fd);
    ::waitpid(trial.pid, nullptr, 0);
    const std::string_view line = trimmed(trial.said);
    Result<Outcome> outcome = parse_outcome(line);
    if (outcome) {
      outcomes_[trial.item] = *std::move(outcome);
    } else if (line.starts_with(kError)) {
      error_ = Error::unavailable(std::string(line.substr(kError.size())))
                   .with_hint("keep its logs with --keep");
    } else {
      error_ =
          Error::internal(text("the trial ", items_[trial.item]->name, " ended without a verdict"))
              .with_hint("keep its logs with --keep");
    }
    running_.erase(fd);
  }

  void end_trials() {
    for (const auto& [fd, trial] : running_) ::kill(trial.pid, SIGTERM);
    for (const auto& [fd, trial] : running_) {
      ::waitpid(trial.pid, nullptr, 0);
      ::close(fd);
    }
    running_.clear();
  }

  void print(const ConformanceItem& item, const Outcome& outcome) const {
    if (options_.json) return print_json(outcome_json(item.name, item.what, outcome));
    for (const std::string& line : outcome_lines(item.name, item.what, outcome)) print_line(line);
  }

  ConformanceOptions options_;
  std::string dir_;
  std::vector<const ConformanceItem*> items_;
  std::vector<std::optional<Outcome>> outcomes_;
  std::map<int, Running> running_;  // by the read end of its pipe
  std::optional<Error> error_;
  sigset_t signals_ = {};
  sigset_t before_ = {};
  int signal_fd_ = -1;
};

// Resolves the program to a path, because the trials do not search $PATH.
std::optional<std::string> find_in_path(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    std::error_code error;
    return ::access(name.c_str(), X_OK) == 0 ? std::optional(fs::absolute(name, error).string())
                                             : std::nullopt;
  }
  const char* path = std::getenv("PATH");
  for (const std::string_view folder : split(path == nullptr ? "" : path, ':')) {
    const std::string file = text(folder, "/", name);
    if (!folder.empty() && ::access(file.c_str(), X_OK) == 0) return file;
  }
  return std::nullopt;
}

// Checks the options and completes them. An error names the wrong option.
Result<void> check(ConformanceOptions& options) {
  if (options.command.empty()) {
    return Error::invalid_argument("the command of the scheduler is missing")
        .with_hint("for example: proffer conformance -- ./my_scheduler");
  }
  const std::optional<std::string> program = find_in_path(options.command[0]);
  if (!program)
    return Error::not_found(text("cannot find the program ", quoted(options.command[0])));
  options.command[0] = *program;
  std::string list;
  bool is_item = options.only.empty();
  for (const ConformanceItem& item : conformance_items()) {
    list += text(list.empty() ? "" : ", ", item.name);
    is_item |= options.only == item.name;
  }
  if (!is_item) {
    return Error::invalid_argument(text("--only: unknown item ", quoted(options.only)))
        .with_hint("the items are " + list);
  }
  if (const Result<Resources> parsed = parse_agent_resources(options.resources); !parsed) {
    return Error(parsed.error()).in("--resources");
  }
  return {};
}

}  // namespace

int run_conformance(const Words& words) {
  ConformanceOptions options;
  Arguments arguments(
      "proffer conformance [options] -- CMD…",
      "test a framework's scheduler on real clusters, with a list of faults. In CMD, {master} is "
      "the master's address (also in $PROFFER_MASTER) and {dir} is a directory of the cluster.");
  arguments.option("--restart-with", &options.restart_with,
                   "command that starts a killed scheduler again, as the same framework");
  arguments.option("--work", &options.work,
                   "command that gives the scheduler work; runs once in the cluster of each item, "
                   "after the scheduler has subscribed");
  arguments.flag("--may-stay-idle", &options.may_stay_idle,
                 "pass if the scheduler subscribes but launches no task");
  arguments.flag("--tasks-may-fail", &options.tasks_may_fail,
                 "pass if its tasks fail and are not replaced");
  arguments.option("--only", &options.only, "run only this item of the list");
  arguments.option("--resources", &options.resources,
                   text("resources of each of the two agents (default ", options.resources, ")"));
  arguments.flag("--keep", &options.keep, "keep logs and sandboxes");
  arguments.flag("--json", &options.json, "print one JSON object per item");
  arguments.command_line(&options.command, "the scheduler and its arguments");
  arguments.note(
      "Each item of the list, such as agent_lost, starts a new local cluster and the scheduler. It "
      "passes, fails with the reason, or is not tested, if it is impossible with this scheduler. A "
      "wrong --only lists the items.");
  arguments.exit_codes(
      "0 no item failed, 1 an item failed, 2 wrong usage, 3 an item cannot be started, 128 + N "
      "after signal N");
  arguments.examples({"proffer conformance -- ./my_scheduler {master}",
                      "proffer conformance --only agent_lost --keep -- ./my_scheduler {master}"});
  if (const auto status = arguments.parse(words)) return *status;
  if (Result<void> checked = check(options); !checked) {
    return usage_error(checked.error(), options.json);
  }
  const Result<std::string> temporary = temporary_directory();
  if (!temporary) return print_error(temporary.error(), options.json);
  std::string dir = *temporary + "/proffer-conformance-XXXXXX";
  if (::mkdtemp(dir.data()) == nullptr) {
    return print_error(Error::unavailable(text("cannot make the directory ", quoted(dir))),
                       options.json);
  }
  return Conformance(std::move(options), dir).run();
}

}  // namespace proffer::cli
