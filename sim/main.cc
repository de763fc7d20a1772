// proffer-sim: runs simulated clusters, one for each seed, and says how to see a failure again.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "common/check.h"
#include "common/text.h"
#include "sim/simulation.h"

namespace proffer::sim {
namespace {

constexpr std::string_view kUsage =
    "usage: proffer-sim [--seed N] [--seeds K] [--workload W] [--agents A] [--no-faults] "
    "[--trace]\n"
    "                   [--json]\n"
    "Runs K simulated clusters (1 by default) with the seeds N, N+1, ... (1 by default).\n"
    "  --workload   many_small, open_offers, kills, mixed or batch; else the seed chooses\n"
    "  --agents     how many machines, 1 to 1000; else the seed chooses\n"
    "  --no-faults  nothing goes wrong\n"
    "  --trace      prints every event\n"
    "  --json       prints one object for each seed\n"
    "Exit code: 0 all ran well, 1 a law was broken, 2 wrong usage.\n";

struct Arguments {
  SimOptions options = {};
  uint64_t seeds = 1;
  bool json = false;
};

Result<Arguments> parse(int argc, char** argv) {
  Arguments arguments;
  int at = 1;
  const auto value = [&](std::string_view name) -> Result<std::string_view> {
    if (at + 1 >= argc) return Error::invalid_argument(text(name, " needs a value"));
    return std::string_view(argv[++at]);
  };
  const auto number = [&](std::string_view name, int64_t min, int64_t max) -> Result<uint64_t> {
    const Result<std::string_view> given = value(name);
    if (!given) return given.error();
    const Result<int64_t> parsed = parse_whole(name, *given, min, max);
    if (!parsed) return parsed.error();
    return static_cast<uint64_t>(*parsed);
  };
  for (; at < argc; ++at) {
    const std::string_view word = argv[at];
    Result<uint64_t> given = uint64_t{0};
    if (word == "--seed") {
      given = number(word, 0, std::numeric_limits<int64_t>::max());
      if (given) arguments.options.seed = *given;
    } else if (word == "--seeds") {
      given = number(word, 1, 1'000'000'000);
      if (given) arguments.seeds = *given;
    } else if (word == "--agents") {
      given = number(word, 1, 1'000);
      if (given) arguments.options.agents = static_cast<size_t>(*given);
    } else if (word == "--workload") {
      const Result<std::string_view> name = value(word);
      if (!name) return name.error();
      const bool known =
          std::find(std::begin(kWorkloads), std::end(kWorkloads), *name) != std::end(kWorkloads);
      if (!known) {
        return Error::invalid_argument(
            text("--workload must be many_small, open_offers, kills, mixed or batch, not ",
                 quoted(*name)));
      }
      arguments.options.workload = std::string(*name);
    } else if (word == "--no-faults") {
      arguments.options.faults = false;
    } else if (word == "--trace") {
      arguments.options.trace = &std::cout;
    } else if (word == "--json") {
      arguments.json = true;
    } else {
      return Error::invalid_argument(text("unknown argument ", quoted(word)))
          .with_hint("see proffer-sim --help");
    }
    if (!given) return given.error();
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
      options.seed, report.ok(), report.hash, json_text(report.workload), report.agents,
      report.ended_at.seconds(), report.steps, report.frames, report.tasks, violations,
      json_text(replay_command(options)));
}

void print(const SimOptions& options, const SimReport& report) {
  std::cout << fmt::format(
      "seed={} hash={:016x} workload={} agents={} virtual={:.3f}s steps={} "
      "frames={} tasks={} {}\n",
      options.seed, report.hash, report.workload, report.agents, report.ended_at.seconds(),
      report.steps, report.frames, report.tasks, report.ok() ? "ok" : "FAILED");
  if (report.ok()) return;
  std::cout << "faults:\n";
  for (const std::string& fault : report.faults) std::cout << "  " << fault << '\n';
  std::cout << "last events:\n";
  for (const std::string& event : report.last_events) std::cout << "  " << event << '\n';
  std::cout << "violations:\n";
  for (const Violation& violation : report.violations) std::cout << "  " << violation.what << '\n';
  std::cout << "see it again: " << replay_command(options) << '\n';
}

// For a CHECK of a core that fails: the run in progress, which only this function needs globally.
const SimOptions* running = nullptr;
[[noreturn]] void tell_and_abort() {
  if (running != nullptr) {
    std::cout << "a CHECK failed; see it again: " << replay_command(*running) << std::endl;
  }
  std::abort();
}

int run(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--help") {
      std::cout << kUsage;
      return 0;
    }
  }
  Result<Arguments> arguments = parse(argc, argv);
  if (!arguments) {
    std::cerr << "error: " << arguments.error().message() << '\n' << kUsage;
    return 2;
  }
  FLAGS_logtostderr = true;
  google::InitGoogleLogging(argv[0]);
  google::InstallFailureFunction(&tell_and_abort);

  uint64_t failed = 0;
  double virtual_s = 0;
  const auto start = std::chrono::steady_clock::now();
  for (uint64_t i = 0; i < arguments->seeds; ++i) {
    SimOptions options = arguments->options;
    options.seed += i;
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
  if (!arguments->json) {
    std::cerr << fmt::format(
        "{} of {} seeds ok in {:.1f} s: {:.1f} seeds/s, {:.0f} times faster "
        "than real time\n",
        arguments->seeds - failed, arguments->seeds, real_s,
        static_cast<double>(arguments->seeds) / real_s, virtual_s / real_s);
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace proffer::sim

int main(int argc, char** argv) { return proffer::sim::run(argc, argv); }
