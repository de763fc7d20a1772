// proffer-simulate: reads a scenario, runs it and prints the result.

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <sys/resource.h>
#include <unistd.h>

#include "common/check.h"
#include "common/printable.h"
#include "common/text.h"
#include "common/usage_problem.h"
#include "proto/json/forecast_json.h"
#include "proto/json/json.h"
#include "proto/json/simulate_json.h"
#include "sim/compact.h"
#include "sim/forecast.h"
#include "sim/report.h"
#include "sim/scenario_reader.h"
#include "sim/scenario_run.h"
#include "sim/trace_reader.h"

namespace proffer::sim {
namespace {

constexpr std::string_view kUsage =
    "usage: proffer simulate [FILE] [--csv FILE] [--openb-nodes FILE] [--openb-pods FILE]\n"
    "                        [--seed N] [--until TIME] [--json] [--trace FILE] [--compact]\n"
    "Run the cluster and the work that FILE describes (YAML or JSON; - reads standard input)\n"
    "through the production cores under virtual time, and report what happened.\n"
    "  --csv FILE    add work: arrive_s,framework,role,cpus,mem_mib,duration_s,count\n"
    "  --openb-nodes FILE, --openb-pods FILE\n"
    "                add the machines and the work of the trace openb (nodes.csv and pods.csv)\n"
    "  --seed N      seed, instead of the file's; equal files and seeds give equal trace_hash\n"
    "  --until TIME  end of the simulation, as in 90s or 2h (default: the file's until;\n"
    "                without one, when no task is pending or running, or after 24h of virtual "
    "time)\n"
    "  --json        print one JSON object instead of tables\n"
    "  --trace FILE  write every event to FILE; - is standard error\n"
    "  --compact     remove agents as long as the work still fits, and report the fewest\n"
    "  --forecast    for the master itself: FILE is a request for the forecasts that proffer "
    "tasks\n"
    "                --pending shows; only with --seed\n"
    "Exit code: 0 success, 1 an invariant was violated, 2 wrong usage or a wrong file.\n"
    "Examples:\n"
    "  proffer simulate cluster.yaml --until 2h\n"
    "  proffer snapshot > live.yaml; proffer simulate live.yaml --compact\n"
    "docs/concepts/simulate.md describes the file and the report.\n";

// A table that adds to the scenario.
struct Import {
  std::string_view option;
  Result<void> (*add)(std::string_view table, Scenario& scenario);
};
constexpr Import kImports[] = {
    {"--openb-nodes", add_openb_nodes}, {"--openb-pods", add_openb_pods}, {"--csv", add_csv_tasks}};

struct Arguments {
  std::string file = {};
  std::array<std::string, std::size(kImports)> imports = {};  // files; empty: none

  bool imports_any() const {
    return std::any_of(imports.begin(), imports.end(),
                       [](const auto& one) { return !one.empty(); });
  }
  std::optional<uint64_t> seed = {};
  std::optional<Duration> until = {};
  std::string trace = {};
  bool json = false;
  bool compact = false;
  bool forecast = false;
  bool help = false;
};

Result<Arguments> parse(int argc, char** argv) {
  Arguments arguments;
  const auto usage = [](std::string what) {
    return Error::invalid_argument(std::move(what)).with_hint("see proffer simulate --help");
  };
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if (word == "--json") {
      arguments.json = true;
      continue;
    }
    if (word == "--help" || word == "-h") {
      arguments.help = true;
      continue;
    }
    if (word == "--forecast") {
      arguments.forecast = true;
      continue;
    }
    if (word == "--compact") {
      arguments.compact = true;
      continue;
    }
    if (word.size() < 2 || !word.starts_with("-")) {
      if (!arguments.file.empty()) {
        return usage(
            text("give one FILE only, not ", quoted(arguments.file), " and ", quoted(word)));
      }
      arguments.file = word;
      continue;
    }
    const size_t equals = word.find('=');
    std::optional<std::string_view> value;
    if (equals != std::string_view::npos) {
      value = word.substr(equals + 1);
      word = word.substr(0, equals);
    }
    const auto import = std::find_if(std::begin(kImports), std::end(kImports),
                                     [&](const Import& one) { return one.option == word; });
    if (import == std::end(kImports) && word != "--seed" && word != "--until" &&
        word != "--trace") {
      return unexpected_words({argv + i, argv + argc},
                              {"proffer simulate",
                               {"--seed", "--until", "--json", "--trace", "--compact", "--forecast",
                                "--help", "--csv", "--openb-nodes", "--openb-pods"}});
    }
    if (!value && i + 1 < argc) value = argv[++i];
    if (!value) return usage(text(word, " needs a value"));
    if (import != std::end(kImports)) {
      std::string& of = arguments.imports[static_cast<size_t>(import - std::begin(kImports))];
      if (value->empty()) return usage(text(word, " needs a file"));
      if (!of.empty()) return usage(text(word, " is given twice"));
      of = *value;
    } else if (word == "--seed") {
      const Result<int64_t> seed =
          parse_whole("--seed", *value, 0, std::numeric_limits<int64_t>::max());
      if (!seed) return seed.error();
      arguments.seed = static_cast<uint64_t>(*seed);
    } else if (word == "--until") {
      const Result<Duration> until = parse_duration(*value);
      if (!until) return Error(until.error()).in("--until");
      if (*until > kScenarioUntilMax) {
        return usage(
            text("--until must be at most ", to_text(kScenarioUntilMax), ", not ", quoted(*value)));
      }
      arguments.until = *until;
    } else {
      arguments.trace = *value;
    }
  }
  if (arguments.compact && !arguments.trace.empty()) {
    return usage("--compact and --trace exclude each other: --compact replays the work many times");
  }
  if (arguments.forecast && (arguments.compact || arguments.until || !arguments.trace.empty() ||
                             arguments.imports_any())) {
    return usage("--forecast takes only FILE and --seed");
  }
  if (arguments.file.empty() && !arguments.imports_any() && !arguments.help) {
    return usage("FILE is missing");
  }
  return arguments;
}

// Reads at most `bytes_max` and one byte more, which is refused; the file may be /dev/zero.
Result<std::string> read(const std::string& file, size_t bytes_max) {
  constexpr size_t kPiece = size_t{1} << 20;
  std::ifstream opened;
  errno = 0;
  if (file != "-") opened.open(file, std::ios::binary);
  std::istream& stream = file == "-" ? std::cin : opened;
  std::string bytes;
  // a directory can be opened, but not read
  do {
    const size_t before = bytes.size();
    bytes.resize(std::min(before + kPiece, bytes_max + 1));
    stream.read(bytes.data() + before, static_cast<std::streamsize>(bytes.size() - before));
    if (stream.bad() || (stream.fail() && !stream.eof())) {
      return Error::not_found(text("cannot read ", quoted(file), ": ", std::strerror(errno)));
    }
    bytes.resize(before + static_cast<size_t>(stream.gcount()));
  } while (stream && bytes.size() <= bytes_max);
  return bytes;
}

int fail(const Error& error, bool json) {
  if (json) {
    std::cerr << printable_json(proto::error_json(error)) << '\n';
  } else {
    std::cerr << "error: " << printable_line(error.message()) << '\n';
    if (!error.hint().empty()) {
      std::cerr << "  hint: " << printable_line(error.hint()) << '\n';
    }
  }
  return 2;
}

Result<void> import_into(Scenario& scenario, const Arguments& arguments) {
  for (size_t i = 0; i < std::size(kImports); ++i) {
    const std::string& file = arguments.imports[i];
    if (file.empty()) continue;
    const Result<std::string> table = read(file, kTraceBytesMax);
    if (!table) return table.error();
    if (table->size() > kTraceBytesMax) {
      return Error::invalid_argument(text("a table has at most ", kTraceBytesMax, " bytes"))
          .in(file);
    }
    if (Result<void> ok = kImports[i].add(*table, scenario); !ok) {
      return std::move(ok).error().in(file);
    }
  }
  if (scenario.agents.empty()) {
    return Error::invalid_argument("the scenario has no agents")
        .with_hint(
            "describe them in FILE, for example: agents: [{name: a, count: 10, resources: "
            "\"cpus:16;mem:64GiB\"}], or add --openb-nodes");
  }
  return check_scenario(scenario);
}

Result<Scenario> scenario_of(const Arguments& arguments) {
  Result<Scenario> scenario = Scenario();
  if (!arguments.file.empty()) {
    const Result<std::string> text = read(arguments.file, kScenarioBytesMax);
    if (!text) return text.error();
    scenario = arguments.imports_any() ? parse_scenario_part(*text) : parse_scenario(*text);
    if (!scenario) return std::move(scenario).error().in(arguments.file);
  }
  if (arguments.imports_any()) {
    if (Result<void> ok = import_into(*scenario, arguments); !ok) return std::move(ok).error();
  }
  if (arguments.seed) scenario->seed = *arguments.seed;
  if (arguments.until) {
    scenario->until = arguments.until;
    std::erase_if(scenario->report_at, [&](Duration at) { return at > *arguments.until; });
  }
  return scenario;
}

// A master starts this program beside itself, so its share of the machine is limited.
constexpr rlim_t kForecastCpuSeconds = 40;
constexpr rlim_t kForecastMemoryBytes = rlim_t{2} << 30;
constexpr size_t kForecastBytesMax = size_t{64} << 20;
constexpr int kForecastNice = 10;
// After this CPU time no further run begins.
constexpr std::clock_t kForecastRunsSeconds = 15;

int run_forecast(const Arguments& arguments) {
  const rlimit cpu = {kForecastCpuSeconds, kForecastCpuSeconds};
  const rlimit memory = {kForecastMemoryBytes, kForecastMemoryBytes};
  ::setrlimit(RLIMIT_CPU, &cpu);
  ::setrlimit(RLIMIT_AS, &memory);
  ::setpriority(PRIO_PROCESS, 0, kForecastNice);
  const auto fail_json = [](const Error& error) { return fail(error, true); };
  const Result<std::string> lines = read(arguments.file, kForecastBytesMax);
  if (!lines) return fail_json(lines.error());
  if (lines->size() > kForecastBytesMax) {
    return fail_json(Error::resource_exhausted(
        text("a forecast request may have at most ", kForecastBytesMax, " bytes")));
  }
  const Result<proto::ForecastRequest> request = proto::parse_forecast_request(*lines);
  if (!request) return fail_json(Error(request.error()).in(arguments.file));
  ForecastOptions options;
  if (arguments.seed) options.seed = *arguments.seed;
  options.may_go_on = [] { return std::clock() < kForecastRunsSeconds * CLOCKS_PER_SEC; };
  const Result<proto::Forecast> made = forecast(*request, options);
  if (!made) return fail_json(made.error());
  std::cout << printable_json(proto::forecast_json(*made)) << '\n' << std::flush;
  return std::cout.good() ? 0 : 1;
}

int run(int argc, char** argv) {
  const Result<Arguments> arguments = parse(argc, argv);
  if (!arguments) {
    bool json = false;
    for (int i = 1; i < argc; ++i) json = json || std::string_view(argv[i]) == "--json";
    return fail(arguments.error(), json);
  }
  if (arguments->help) {
    std::cout << kUsage;
    return 0;
  }
  FLAGS_logtostderr = true;
  google::InitGoogleLogging(argv[0]);
  if (arguments->forecast) return run_forecast(*arguments);
  const Result<Scenario> scenario = scenario_of(*arguments);
  if (!scenario) return fail(scenario.error(), arguments->json);
  std::ofstream file;
  std::ostream* trace = nullptr;
  if (arguments->trace == "-") {
    trace = &std::cerr;
  } else if (!arguments->trace.empty()) {
    file.open(arguments->trace);
    if (!file)
      return fail(Error::not_found(text("cannot write ", quoted(arguments->trace))),
                  arguments->json);
    trace = &file;
  }
  const proto::SimulateReport report =
      arguments->compact ? compact(*scenario) : ScenarioRun(*scenario, trace).run();
  if (arguments->json) {
    std::cout << printable_json(proto::simulate_report_json(report)) << '\n';
  } else {
    std::cout << printable_lines(report_tables(report));
  }
  std::cout.flush();
  if (!report.violations.empty()) {
    const std::string many = std::to_string(report.violations.size());
    std::cerr << printable_line("error: " + many + " invariants were violated") << "\n";
    return 1;
  }
  if (std::cout.good()) return 0;
  std::cerr << "error: cannot write the report\n";
  return 1;
}

// glibc keeps seven freed blocks of each size for reuse, and searches longer for others; a large
// scenario frees thousands between two uses. The number is read when a program begins, so this
// program executes itself again. It saves a tenth of the CPU; with another allocator nothing
// changes.
void keep_freed_memory_at_hand(char** argv) {
  constexpr const char* kTunables = "GLIBC_TUNABLES";
  if (std::getenv(kTunables) != nullptr) return;
  ::setenv(kTunables, "glibc.malloc.tcache_count=2000", 1);
  ::execv("/proc/self/exe", argv);
}

}  // namespace
}  // namespace proffer::sim

int main(int argc, char** argv) {
  proffer::sim::keep_freed_memory_at_hand(argv);
  return proffer::sim::run(argc, argv);
}
