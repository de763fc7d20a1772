// proffer-sim: runs simulated clusters, one for each seed, and prints how to reproduce a failure.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"
#include "common/usage_problem.h"
#include "sim/shrink.h"
#include "sim/simulation.h"
#include "store/checkpoint_log.h"

namespace proffer::sim {
namespace {

constexpr std::string_view kUsage =
    "usage: proffer sim [--seed N] [--seeds K] [--workload W] [--faults LIST] [--agents A]\n"
    "                   [--tasks T] [--skip-faults LIST] [--shrink] [--until-failure]\n"
    "                   [--liars] [--trace] [--record DIR] [--json]\n"
    "Run K simulated clusters (default 1) with the seeds N, N+1, ... (default 1).\n"
    "Equal seed and options give the equal run; a failing run prints its command.\n"
    "  --workload     many_small, open_offers, kills, mixed, batch, steady or tenants (default:\n"
    "                 the seed chooses); by name only: service, churn, once and masters (with\n"
    "                 three masters)\n"
    "  --faults       all, none, or some of those below, as in lost,clog,agent_crash (default:\n"
    "                 the seed chooses)\n"
    "  --liars        add an agent and a scheduler that lie\n"
    "  --agents       number of agents, 1 to 1000 (default: the seed chooses)\n"
    "  --tasks        maximum number of tasks of each framework\n"
    "  --skip-faults  numbers of faults to skip, as in 3,7-12; a failing run prints the numbers\n"
    "  --shrink       shrink a failing run, and print the command of the smallest one\n"
    "  --until-failure  stop after the first failing run\n"
    "  --trace        print every event\n"
    "  --record       write each life of a master to DIR, for proffer replay; with one seed\n"
    "  --json         print one JSON object per seed\n"
    "Exit code: 0 all runs passed, 1 a run violated a law, 2 wrong usage or a write error.\n"
    "Examples:\n"
    "  proffer sim --seeds 100 --until-failure\n"
    "  proffer sim --seed 7 --workload batch --faults clog,agent_crash --trace\n"
    "Faults:\n";

constexpr size_t kShrinkRunsMax = 1'000;

std::string usage() {
  std::string all(kUsage);
  for (const FaultKindRow& row : kFaultKinds)
    all += fmt::format("  {:<24} {}\n", row.name, row.what);
  return all;
}

// The recordings of one run: a file for each life, named as those of real masters.
class RecordingFiles {
 public:
  explicit RecordingFiles(std::string directory) : directory_(std::move(directory)) {}

  // Errors: the directory has recordings, or cannot be made.
  Result<void> make() const {
    std::error_code error;
    std::filesystem::create_directories(directory_, error);
    if (error) {
      return Error::unavailable(
          text("cannot make the directory ", quoted(directory_), ": ", error.message()));
    }
    for (const auto& entry : std::filesystem::directory_iterator(directory_, error)) {
      if (entry.path().extension() != kSuffix) continue;
      return Error::already_exists(text("recordings are already in ", quoted(directory_)))
          .with_hint("give --record a new directory, or one without recordings");
    }
    return {};
  }
  void add(LeaderEpoch leader, const std::vector<std::string>& records) {
    if (failed_) return;
    std::unique_ptr<CheckpointLog>& log = logs_[leader];
    if (log == nullptr) {
      Result<CheckpointLog::Opened> opened =
          CheckpointLog::open(fmt::format("{}/{:012}{}", directory_, leader.value(), kSuffix));
      if (!opened) {
        failed_ = opened.error();
        return;
      }
      log = std::move(opened->log);
    }
    if (const Result<void> written = log->append(records); !written) failed_ = written.error();
  }
  // Why the recordings are incomplete; none: they are complete.
  const std::optional<Error>& failed() const { return failed_; }

 private:
  static constexpr std::string_view kSuffix = ".rec";
  std::string directory_;
  std::map<LeaderEpoch, std::unique_ptr<CheckpointLog>> logs_;
  std::optional<Error> failed_;
};

struct Arguments {
  SimOptions options = {};
  std::string record = {};
  uint64_t seeds = 1;
  bool json = false;
  bool shrink = false;
  bool until_failure = false;
};

Result<std::string> checked_workload(std::string_view name) {
  if (std::find(std::begin(kWorkloads), std::end(kWorkloads), name) != std::end(kWorkloads)) {
    return std::string(name);
  }
  for (const std::string_view further : kFurtherWorkloads) {
    if (name == further) return std::string(name);
  }
  return Error::invalid_argument(
      text("--workload must be many_small, open_offers, kills, mixed, batch, steady, tenants, "
           "service, churn, once or masters, not ",
           quoted(name)));
}

Result<Arguments> parse(int argc, char** argv) {
  Arguments arguments;
  SimOptions& options = arguments.options;
  for (int at = 1; at < argc; ++at) {
    const std::string_view word = argv[at];
    if (word == "--trace") {
      options.trace = &std::cout;
      continue;
    }
    if (word == "--json" || word == "--shrink") {
      (word == "--json" ? arguments.json : arguments.shrink) = true;
      continue;
    }
    if (word == "--liars") {
      options.liars = true;
      continue;
    }
    if (word == "--until-failure") {
      arguments.until_failure = true;
      continue;
    }
    if (word == "--no-faults") {
      options.faults = FaultKinds();
      continue;
    }
    constexpr std::string_view kWithValue[] = {"--seed",        "--seeds",    "--agents",
                                               "--tasks",       "--workload", "--faults",
                                               "--skip-faults", "--record"};
    if (std::find(std::begin(kWithValue), std::end(kWithValue), word) == std::end(kWithValue)) {
      std::vector<std::string> known = {"--trace",         "--json",      "--shrink", "--liars",
                                        "--until-failure", "--no-faults", "--help"};
      known.insert(known.end(), std::begin(kWithValue), std::end(kWithValue));
      return unexpected_words({argv + at, argv + argc}, {"proffer sim", known});
    }
    if (at + 1 >= argc) return Error::invalid_argument(text(word, " needs a value"));
    const std::string_view value = argv[++at];
    // The error of a wrong value is reported once, here.
    const auto take = [](auto&& parsed, auto& to) -> Result<void> {
      if (!parsed) return parsed.error();
      to = static_cast<std::decay_t<decltype(to)>>(*std::move(parsed));
      return {};
    };
    Result<void> taken;
    if (word == "--seed") {
      taken = take(parse_whole(word, value, 0, std::numeric_limits<int64_t>::max()), options.seed);
    } else if (word == "--seeds") {
      taken = take(parse_whole(word, value, 1, 1'000'000'000), arguments.seeds);
    } else if (word == "--agents") {
      taken = take(parse_whole(word, value, 1, 1'000), options.agents);
    } else if (word == "--tasks") {
      taken = take(parse_whole(word, value, 1, 1'000'000), options.tasks_max);
    } else if (word == "--workload") {
      taken = take(checked_workload(value), options.workload);
    } else if (word == "--record") {
      arguments.record = value;
    } else if (word == "--faults") {
      taken = take(parse_fault_kinds(value), options.faults);
    } else {
      taken = take(parse_numbers(value), options.skip_faults);
    }
    if (!taken) return taken.error();
  }
  if (!arguments.record.empty() && (arguments.seeds > 1 || arguments.shrink)) {
    return Error::invalid_argument(
               "--record records one run, but --seeds and --shrink make several")
        .with_hint("give --seed only");
  }
  return arguments;
}

std::string json_text(std::string_view raw) {
  std::string out = "\"";
  for (const char c : raw) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

void print_json(const SimOptions& options, const SimReport& report) {
  std::string violations;
  for (const Violation& violation : report.violations) {
    violations += (violations.empty() ? "" : ", ") + json_text(violation.what);
  }
  std::cout << fmt::format(
      "{{\"seed\": {}, \"ok\": {}, \"hash\": \"{:016x}\", \"workload\": {}, \"agents\": {}, "
      "\"virtual_s\": {:.3f}, \"steps\": {}, \"frames\": {}, \"tasks\": {}, \"violations\": [{}], "
      "\"replay\": {}}}\n",
      options.seed, report.ok(), report.hash, json_text(report.options.workload),
      report.options.agents, report.ended_at.seconds(), report.steps, report.frames, report.tasks,
      violations, json_text(replay_command(report.options)));
}

void print(const SimOptions& options, const SimReport& report) {
  std::cout << fmt::format(
      "seed={} hash={:016x} workload={} agents={} virtual={:.3f}s steps={} "
      "frames={} tasks={} {}\n",
      options.seed, report.hash, report.options.workload, report.options.agents,
      report.ended_at.seconds(), report.steps, report.frames, report.tasks,
      report.ok() ? "ok" : "FAILED");
  if (report.ok()) return;
  std::cout << "faults:\n";
  for (const std::string& fault : report.faults) std::cout << "  " << fault << '\n';
  std::cout << "last events:\n";
  for (const std::string& event : report.last_events) std::cout << "  " << event << '\n';
  std::cout << "violations:\n";
  for (const Violation& violation : report.violations) std::cout << "  " << violation.what << '\n';
  std::cout << "reproduce it: " << replay_command(report.options) << " --trace\n"
            << "shrink it: " << replay_command(options) << " --shrink\n";
}

// For a CHECK of a core that fails: the run in progress, which only this function needs globally.
const SimOptions* running = nullptr;
__attribute__((noreturn)) void tell_and_abort() {  // as glog and clang require
  if (running != nullptr) {
    std::cout << "a CHECK failed; reproduce it: " << replay_command(*running) << " --trace\n"
              << "shrink it: " << replay_command(*running) << " --shrink" << std::endl;
  }
  std::abort();
}

// In a separate process, since a CHECK ends it.
bool fails(const SimOptions& options) {
  std::cout.flush();
  const pid_t child = fork();
  if (child == 0) {
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, 1);
    dup2(null, 2);
    _exit(simulate(options).ok() ? 0 : 1);
  }
  CHECK(child > 0) << "cannot fork";
  int status = 0;
  waitpid(child, &status, 0);
  return status != 0;
}

void shrink_and_tell(const SimOptions& options) {
  if (!fails(options)) {
    std::cout << "it does not fail: " << replay_command(options) << '\n';
    return;
  }
  size_t runs = 0;
  const SimOptions smallest = shrink(
      drawn(options),
      [&runs](const SimOptions& candidate) {
        ++runs;
        return fails(candidate);
      },
      kShrinkRunsMax);
  const size_t faults = fault_numbers(smallest).size();
  std::cout << fmt::format(
      "after {} runs, the smallest that fails has {} agents and {} faults:\n{} --trace\n", runs,
      smallest.agents, faults, replay_command(smallest));
}

int fail(const Error& error) {
  std::cerr << "error: " << error.message() << '\n';
  if (!error.hint().empty()) std::cerr << "  hint: " << error.hint() << '\n';
  return 2;
}

int run(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--help") {
      std::cout << usage();
      return 0;
    }
  }
  Result<Arguments> arguments = parse(argc, argv);
  if (!arguments) {
    std::cerr << "error: " << arguments.error().message() << "\nsee proffer-sim --help\n";
    return 2;
  }
  RecordingFiles recordings(arguments->record);
  if (!arguments->record.empty()) {
    if (const Result<void> made = recordings.make(); !made) return fail(made.error());
    arguments->options.record = [&recordings](LeaderEpoch leader,
                                              const std::vector<std::string>& records) {
      recordings.add(leader, records);
    };
  }
  FLAGS_logtostderr = true;
  google::InitGoogleLogging(argv[0]);
  google::InstallFailureFunction(&tell_and_abort);

  uint64_t ran = 0;
  uint64_t failed = 0;
  double virtual_s = 0;
  const auto start = std::chrono::steady_clock::now();
  for (; ran < arguments->seeds && !(arguments->until_failure && failed > 0); ++ran) {
    SimOptions options = arguments->options;
    options.seed += ran;
    if (arguments->shrink) {
      shrink_and_tell(options);
      continue;
    }
    running = &options;
    const SimReport report = simulate(options);
    running = nullptr;
    virtual_s += report.ended_at.seconds();
    failed += report.ok() ? 0 : 1;
    if (arguments->json) {
      print_json(options, report);
    } else {
      print(options, report);
    }
  }
  const double real_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!arguments->json && !arguments->shrink) {
    std::cerr << fmt::format(
        "{} of {} seeds ok in {:.1f} s: {:.1f} seeds/s, {:.0f} times faster "
        "than real time\n",
        ran - failed, ran, real_s, static_cast<double>(ran) / real_s, virtual_s / real_s);
  }
  if (recordings.failed()) return fail(Error(*recordings.failed()).in("--record"));
  if (!std::cout.flush()) {
    std::cerr << "error: standard output cannot be written: make room, or send it elsewhere\n";
    return 2;
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace proffer::sim

int main(int argc, char** argv) { return proffer::sim::run(argc, argv); }
