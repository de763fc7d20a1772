// proffer conformance: a framework's binary against a real cluster, with one fault after the other.
// Read kItems first. Each has a cluster of its own, and a proxy between scheduler and master that
// sees what they say (conformance_witness.h says what is wrong about it) and makes the faults that
// need one; agents, master and scheduler are killed as processes.

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include <unistd.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/conformance_proxy.h"
#include "cli/conformance_witness.h"
#include "cli/local_cluster.h"
#include "cli/master_client.h"
#include "cli/output.h"
#include "cli/programs.h"
#include "common/text.h"
#include "proto/json/json.h"

namespace proffer::cli {
namespace {

namespace fs = std::filesystem;
using To = ConformanceProxy::To;

constexpr Duration kLease = seconds(5);
constexpr Duration kShortLease = seconds(2);
constexpr Duration kAgentTimeout = seconds(4);
constexpr Duration kReregistration = seconds(4);
// A scheduler of which nothing passes for so long is steady.
constexpr Duration kQuiet = seconds(4);
// One that never is steady nor ends is judged as it is then.
constexpr Duration kBusy = seconds(30);
// Until it has a task, or is not going to.
constexpr Duration kWork = seconds(20);
constexpr Duration kEndTimeout = seconds(15);
constexpr Duration kFailoverTestedMax = minutes(1);
constexpr size_t kOutputLines = 3;

struct Options {
  std::vector<std::string> command = {};
  std::string restart_with = {};
  std::string only = {};
  std::string resources = "cpus:4;mem:4096";
  bool json = false;
  bool keep = false;
};

enum class Verdict : uint8_t { kPassed, kFailed, kNotTested };
struct Outcome {
  Verdict verdict = Verdict::kPassed;
  std::string seen = {};
};

void replace_all(std::string& word, std::string_view what, const std::string& with) {
  for (size_t at = 0; (at = word.find(what, at)) != std::string::npos; at += with.size()) {
    word.replace(at, what.size(), with);
  }
}

// One cluster and the scheduler in it.
class Trial {
 public:
  Trial(Loop& loop, Children& children, const Options& options, std::string dir, Duration lease)
      : options_(options),
        dir_(std::move(dir)),
        loop_(loop),
        children_(children),
        witness_(lease),
        cluster_(loop, children,
                 {.dir = dir_,
                  .resources = options.resources,
                  .master_flags = {"--offer_timeout=" + to_text(lease),
                                   "--agent_timeout=" + to_text(kAgentTimeout),
                                   "--reregistration_timeout=" + to_text(kReregistration)}}) {}
  ~Trial() {
    end_scheduler(SIGTERM);
    end_scheduler(SIGKILL);
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // The cluster and the proxy; then the scheduler is to be started.
  Result<void> start() {
    if (Result<void> started = cluster_.start(); !started) return started;
    Result<std::unique_ptr<ConformanceProxy>> proxy = ConformanceProxy::start(
        loop_, cluster_.master(),
        [this](To to, const proto::Message& message) { witness_.see(to, message, loop_.now()); });
    if (!proxy) return proxy.error();
    proxy_ = *std::move(proxy);
    ::setenv("PROFFER_MASTER", proxy_->address().c_str(), 1);
    return {};
  }
  Result<void> start_scheduler(std::vector<std::string> command) {
    for (std::string& word : command) {
      replace_all(word, "{master}", proxy_->address());
      replace_all(word, "{dir}", dir_);
    }
    how_.reset();
    witness_.process_began();
    return children_.start("scheduler", std::move(command), log());
  }
  Result<void> start_scheduler() { return start_scheduler(options_.command); }
  void on_ended(const std::string& name, const std::string& how) {
    if (name != "scheduler") return;
    how_ = how;
    witness_.process_ended(loop_.now());
  }

  // --- what happens ------------------------------------------------------------------------------
  bool has_ended() const { return how_.has_value(); }
  const std::optional<std::string>& how() const { return how_; }
  bool wait(Duration at_most, const std::function<bool()>& ready) {
    return turn_until(loop_, at_most, ready);
  }
  // Holds everything once a frame like this has passed. False: none came, or it ended before.
  bool hold_after(ConformanceProxy::Matches matches) {
    proxy_->hold_after(std::move(matches));
    wait(kWork, [this] { return proxy_->is_holding() || has_ended(); });
    return proxy_->is_holding();
  }
  // Its end, or until nothing more happens. `at_least`: the time that the fault takes.
  void settle(Duration at_least = Duration()) {
    const Time began = loop_.now();
    wait(at_least + kBusy, [&] {
      if (has_ended() || witness_.is_wrong()) return true;
      const Time now = loop_.now();
      return now - began >= at_least && now - witness_.last_active() >= kQuiet;
    });
  }
  // After settle().
  Outcome judge(const std::string& seen) {
    std::vector<std::string> wrong = witness_.complaints(loop_.now());
    if (how_ && how_->starts_with("signal")) wrong.push_back("it died of " + *how_);
    if (std::string lost = lost_tasks(); !lost.empty()) wrong.push_back(std::move(lost));
    if (!wrong.empty()) {
      std::string all;
      for (const std::string& one : wrong) all += text(all.empty() ? "" : "; ", one);
      return {Verdict::kFailed, all};
    }
    return {Verdict::kPassed, text(seen, seen.empty() ? "" : ", ", how_it_stands())};
  }

  void end_scheduler(int signal) {
    if (!children_.is_running("scheduler")) return;
    children_.signal("scheduler", signal);
    wait(kEndTimeout, [this] { return !children_.is_running("scheduler"); });
  }
  std::string last_output() const {
    std::ifstream file(log());
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    std::string last;
    for (size_t i = lines.size() - std::min(lines.size(), kOutputLines); i < lines.size(); ++i) {
      last += text("      | ", lines[i], "\n");
    }
    return last;
  }

  ConformanceProxy& proxy() { return *proxy_; }
  ConformanceWitness& witness() { return witness_; }
  LocalCluster& cluster() { return cluster_; }
  const Options& options() const { return options_; }

 private:
  std::string log() const { return dir_ + "/scheduler.log"; }
  std::string how_it_stands() const {
    std::string now;
    if (how_) {
      now = "ended with " + *how_;
    } else if (loop_.now() - witness_.last_active() >= kQuiet) {
      now = "steady";
    } else {
      now = "still busy";
    }
    return text(now, "; ", witness_.tasks(), " tasks, ", witness_.updates(),
                " updates, all acknowledged");
  }
  // Tasks whose end it was not told, and that the master does not know as living either.
  std::string lost_tasks() const {
    if (has_ended() || witness_.torn_down()) return {};
    const Result<std::vector<proto::TaskRow>> rows =
        call_list<proto::TaskRow>(cluster_.master(), "tasks", {}, proto::parse_tasks);
    if (!rows) return {};
    std::vector<TaskId> lost = witness_.open_tasks();
    std::erase_if(lost, [&](const TaskId& task) {
      return std::any_of(rows->begin(), rows->end(),
                         [&](const proto::TaskRow& row) { return row.task == task; });
    });
    if (lost.empty()) return {};
    return text("was not told how ", lost.size(), " of its tasks ended (", lost.front().str(),
                lost.size() > 1 ? ", …)" : ")");
  }

  const Options& options_;
  std::string dir_;
  Loop& loop_;
  Children& children_;
  ConformanceWitness witness_;
  LocalCluster cluster_;
  std::unique_ptr<ConformanceProxy> proxy_;
  std::optional<std::string> how_;
};

// --- the list ------------------------------------------------------------------------------------

bool is_update(To to, const proto::Message& message) {
  const auto* update = std::get_if<proto::Update>(&message);
  return to == To::kScheduler && update != nullptr && update->status.sequence > 0;
}

bool is_running(To to, const proto::Message& message) {
  const auto* update = std::get_if<proto::Update>(&message);
  return to == To::kScheduler && update != nullptr &&
         update->status.state == proto::TaskState::kRunning;
}

Outcome no_work() { return {Verdict::kNotTested, "it launched nothing that could be interrupted"}; }

Outcome baseline(Trial& trial) {
  // An offer that nobody answers is quiet too, until its lease ends.
  trial.settle(kLease + seconds(1));
  Outcome outcome = trial.judge("");
  if (outcome.verdict == Verdict::kPassed && trial.how() && *trial.how() != "exit code 0") {
    return {Verdict::kFailed, text("it ended with ", *trial.how())};
  }
  return outcome;
}

Outcome agent_lost(Trial& trial) {
  AgentId lost;
  if (!trial.hold_after([&](To to, const proto::Message& message) {
        if (!is_running(to, message)) return false;
        lost = std::get<proto::Update>(message).status.agent;
        return true;
      })) {
    return no_work();
  }
  trial.cluster().kill(lost.str());
  trial.proxy().go_on();
  trial.settle(kAgentTimeout + kReregistration + seconds(4));
  return trial.judge(text(
      lost.str(), " never came back, ",
      trial.witness().told(proto::TaskState::kLost) + trial.witness().told(proto::TaskState::kGone),
      " tasks told as lost or gone"));
}

Outcome offer_rescinded(Trial& trial) {
  trial.proxy().hold_offers_until_rescinded();
  if (!trial.wait(kWork, [&] { return trial.proxy().rescinded() || trial.has_ended(); }) ||
      !trial.proxy().rescinded()) {
    return {Verdict::kNotTested, "it was offered nothing that could be taken back"};
  }
  trial.settle(seconds(2));
  return trial.judge("offers came together with their rescinds");
}

Outcome update_duplicated(Trial& trial) {
  if (!trial.hold_after(is_update)) return no_work();
  trial.proxy().lose_acknowledgements();
  trial.proxy().go_on();
  trial.wait(seconds(3), [&] { return trial.proxy().lost() > 0 || trial.has_ended(); });
  trial.proxy().cut();
  trial.settle(seconds(4));
  const Outcome outcome = trial.judge(text(trial.witness().heard_twice(), " updates came twice"));
  if (outcome.verdict == Verdict::kPassed && trial.witness().heard_twice() == 0) {
    return {Verdict::kNotTested, "it ended before an update came twice"};
  }
  return outcome;
}

Outcome connection_broken(Trial& trial) {
  const bool had_work = trial.hold_after([](To to, const proto::Message& message) {
    return to == To::kMaster && std::holds_alternative<proto::Accept>(message);
  });
  if (trial.has_ended()) return no_work();
  trial.proxy().cut();
  trial.settle(seconds(4));
  return trial.judge(had_work ? "cut behind an accept" : "cut while idle");
}

Outcome master_restarted(Trial& trial) {
  trial.hold_after(is_update);
  if (trial.has_ended()) return no_work();
  const size_t sessions = trial.witness().sessions();
  trial.cluster().kill("master");
  trial.proxy().cut();
  if (Result<void> started = trial.cluster().start_master_again(); !started) {
    return {Verdict::kNotTested, started.error().message()};
  }
  const bool is_back = trial.wait(
      seconds(30), [&] { return trial.witness().sessions() > sessions || trial.has_ended(); });
  if (!is_back) return {Verdict::kFailed, "it did not subscribe again in 30s"};
  trial.settle(kReregistration + seconds(2));
  return trial.judge("kill -9 and a new one on the same registry");
}

Outcome scheduler_killed(Trial& trial) {
  const bool had_work = trial.hold_after(is_update);
  if (trial.has_ended()) return no_work();
  const FrameworkId framework = trial.witness().framework();
  const Duration failover = trial.witness().failover_timeout();
  trial.end_scheduler(SIGKILL);
  trial.proxy().cut();
  if (!trial.options().restart_with.empty()) {
    const size_t sessions = trial.witness().sessions();
    std::vector<std::string> shell = {"/bin/sh", "-c", "exec " + trial.options().restart_with};
    if (Result<void> started = trial.start_scheduler(std::move(shell)); !started) {
      return {Verdict::kFailed, started.error().message()};
    }
    const bool is_back = trial.wait(
        seconds(30), [&] { return trial.witness().sessions() > sessions || trial.has_ended(); });
    if (!is_back || trial.witness().sessions() == sessions) {
      return {Verdict::kFailed, text("started again it did not subscribe",
                                     trial.how() ? ": it ended with " + *trial.how() : "")};
    }
    if (trial.witness().framework() != framework) {
      return {Verdict::kFailed, text("started again it is ", trial.witness().framework().str(),
                                     ", not ", framework.str(), ": it has lost its tasks")};
    }
    trial.settle(seconds(4));
    return trial.judge(text("came back as ", framework.str()));
  }
  if (failover > kFailoverTestedMax || framework.empty()) {
    return {Verdict::kNotTested, text("its tasks outlive it for ", to_text(failover),
                                      "; --restart-with \"CMD\" says how it is started again")};
  }
  const bool is_gone = trial.wait(failover + seconds(15), [&] {
    const Result<std::vector<proto::TaskRow>> rows =
        call_list<proto::TaskRow>(trial.cluster().master(), "tasks", {}, proto::parse_tasks);
    return rows && rows->empty();
  });
  if (!is_gone) return {Verdict::kFailed, "its tasks did not end after its failover timeout"};
  return {Verdict::kPassed, text(had_work ? "its tasks" : "it",
                                 " ended after its failover timeout, ", to_text(failover))};
}

struct Item {
  std::string_view name;
  std::string_view what;
  Outcome (*run)(Trial&);
  Duration lease = kLease;
};

constexpr Item kItems[] = {
    {"baseline", "runs to its end or becomes steady, without a fault", baseline},
    {"agent_lost", "the agent of its first running task dies and never comes back", agent_lost},
    {"offer_rescinded", "an offer is taken back before the answer arrives", offer_rescinded,
     kShortLease},
    {"update_duplicated", "an update comes again, since its acknowledgement was lost",
     update_duplicated},
    {"connection_broken", "the connection breaks behind its first accept", connection_broken},
    {"master_restarted", "the master is killed amid its work and started again", master_restarted},
    {"scheduler_killed", "it is killed itself", scheduler_killed},
};

// --- the command ---------------------------------------------------------------------------------

class Conformance {
 public:
  Conformance(Options options, std::string dir)
      : options_(std::move(options)),
        dir_(std::move(dir)),
        children_(loop_, [this](const std::string& name, const std::string& how) {
          if (trial_ != nullptr) trial_->on_ended(name, how);
        }) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      loop_.on_signal(signal, [this, signal] {
        Children::end_all_descendants();
        if (!options_.keep) remove_files();
        ::_exit(128 + signal);
      });
    }
  }

  int run() {
    int passed = 0;
    int failed = 0;
    int not_tested = 0;
    for (const Item& item : kItems) {
      if (!options_.only.empty() && options_.only != item.name) continue;
      Result<Outcome> outcome = run(item);
      if (!outcome) return print_error(outcome.error(), options_.json);
      (outcome->verdict == Verdict::kPassed   ? passed
       : outcome->verdict == Verdict::kFailed ? failed
                                              : not_tested)++;
    }
    if (!options_.json) {
      print_line(text(passed, " passed, ", failed, " failed, ", not_tested, " not tested"));
      print_line(
          "never tested here: more than one framework, messages to executors, the store, requests; "
          "SimCluster (sdk/testing) tests those of them that need no second process");
      if (options_.keep) print_line("files in " + dir_);
    }
    if (!options_.keep) remove_files();
    return failed > 0 ? kExitRefused : 0;
  }

 private:
  Result<Outcome> run(const Item& item) {
    const std::string dir = text(dir_, "/", item.name);
    std::error_code error;
    fs::create_directories(dir, error);
    Trial trial(loop_, children_, options_, dir, item.lease);
    if (Result<void> started = trial.start(); !started) return started.error();
    trial_ = &trial;
    Outcome outcome;
    if (Result<void> started = trial.start_scheduler(); !started) {
      trial_ = nullptr;
      return started.error();
    }
    outcome = item.run(trial);
    print(item, outcome, trial);
    trial.end_scheduler(SIGTERM);
    trial.end_scheduler(SIGKILL);
    trial_ = nullptr;
    return outcome;
  }

  void print(const Item& item, const Outcome& outcome, const Trial& trial) const {
    const std::string_view verdict = outcome.verdict == Verdict::kPassed   ? "passed"
                                     : outcome.verdict == Verdict::kFailed ? "FAILED"
                                                                           : "not tested";
    if (options_.json) {
      print_line(proto::json_line({{"item", std::string(item.name)},
                                   {"result", std::string(verdict)},
                                   {"what", std::string(item.what)},
                                   {"seen", outcome.seen}}));
      return;
    }
    std::string name(item.name);
    name.resize(18, ' ');
    std::string result(verdict);
    result.resize(11, ' ');
    print_line(text(name, result, outcome.seen));
    if (outcome.verdict != Verdict::kFailed) return;
    print_line(text("      (", item.what, "; its last output:)"));
    std::fputs(trial.last_output().c_str(), stdout);
    std::fflush(stdout);
  }

  void remove_files() const {
    std::error_code ignored;
    fs::remove_all(dir_, ignored);
  }

  Options options_;
  std::string dir_;
  Loop loop_;
  Children children_;
  Trial* trial_ = nullptr;
};

// The program as a path: our children are not looked for in $PATH.
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

}  // namespace

int run_conformance(const Words& words) {
  Options options;
  Arguments arguments("proffer conformance [options] -- CMD…",
                      "run a framework's scheduler against real clusters, with a list of faults; "
                      "in CMD, {master} is the "
                      "master, as in $PROFFER_MASTER, and {dir} a directory of each cluster");
  arguments.option("--restart-with", &options.restart_with,
                   "the command that starts a scheduler that was killed again, as the same "
                   "framework");
  arguments.option("--only", &options.only, "one item of the list");
  arguments.option("--resources", &options.resources, "of each of the two agents");
  arguments.flag("--keep", &options.keep, "keep logs and sandboxes");
  arguments.flag("--json", &options.json, "one JSON object per item");
  arguments.command_line(&options.command, "the scheduler and its arguments");
  if (const auto status = arguments.parse(words)) return *status;
  const auto usage = [&](Error error) { return usage_error(error, options.json); };
  if (options.command.empty()) {
    return usage(Error::invalid_argument("a command is needed: which scheduler to run")
                     .with_hint("as in: proffer conformance -- ./my_scheduler"));
  }
  const std::optional<std::string> program = find_in_path(options.command[0]);
  if (!program) {
    return usage(Error::not_found(text("there is no program ", quoted(options.command[0]))));
  }
  options.command[0] = *program;
  std::vector<std::string_view> names;
  for (const Item& item : kItems) names.push_back(item.name);
  if (!options.only.empty() && std::find(names.begin(), names.end(), options.only) == names.end()) {
    std::string list;
    for (const std::string_view name : names) list += text(list.empty() ? "" : ", ", name);
    return usage(Error::invalid_argument(text("--only: there is no item ", quoted(options.only)))
                     .with_hint("there are " + list));
  }
  if (const Result<Resources> parsed = parse_agent_resources(options.resources); !parsed) {
    return usage(Error(parsed.error()).in("--resources"));
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
