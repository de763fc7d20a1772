// A master under load: the real process and real sockets, with agents and frameworks simulated in a
// few processes of this program. Three phases, each on its own master, and an echo:
//
//   flood   everything is asked for at once, tasks end at once: launches per second
//   full    the cluster is full and all want more, tasks end at half that pace: free → offered
//   asks    the cluster has room, tasks are asked for at that pace: ask → offer, launch → running
//   echo    the sockets of `full` without a master: the lower bound of its latencies
//   history only if it is named: floods in turn with the master's history and without it
//   curve   only if it is named: floods in turn by CURVE and plain
//
//   build/bin/cluster_bench --agents 100 --frameworks 10 --tasks 200000 --seconds 10

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <memory>
#include <vector>

#include <gflags/gflags.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/cluster/processes.h"
#include "bench/cluster/shared.h"
#include "bench/cpu_time.h"
#include "bench/results.h"
#include "common/check.h"
#include "common/text.h"
#include "tests/integration/processes.h"

DEFINE_int32(agents, 100, "number of simulated agents");
DEFINE_int32(frameworks, 10, "number of simulated frameworks");
DEFINE_int64(tasks, 200'000, "tasks of the flood, over all frameworks");
DEFINE_int64(seconds, 10, "duration of each paced phase");
DEFINE_int64(rate, 5'000, "tasks per second of the paced phases; lower if the flood was too slow");
DEFINE_int64(slots, 16, "tasks per agent");
DEFINE_int32(agent_processes, 1, "number of processes that share the agents");
DEFINE_int32(framework_processes, 1, "number of processes that share the frameworks");
DEFINE_string(results, "bench/RESULTS.md", "file whose section is replaced; empty: none");
DEFINE_string(phases, "flood,full,asks,echo",
              "phases to run; echo needs full; history, event_log, standbys and curve run alone");
DEFINE_int32(pairs, 7,
             "number of pairs of floods with and without history, events, standbys or CURVE");
DEFINE_string(profile, "", "file for perf's samples of a master; see bench/profile");
DEFINE_string(profiled, "flood", "phase to profile");

namespace {

using namespace proffer;
using namespace proffer::bench;

constexpr int kRounds = 3;  // of `full` and `echo`

std::string load_now() {
  std::ifstream in("/proc/loadavg");
  std::string one;
  in >> one;
  return one;
}

using Nanos = std::vector<int64_t>;
void append(Nanos& to, const Nanos& more) { to.insert(to.end(), more.begin(), more.end()); }

struct Outcome {
  int64_t nanos = 0;  // from the first ask to the last end
  int64_t tasks = 0;
  int64_t master_cpu = 0;  // microseconds
  int64_t agents_cpu = 0;
  int64_t frameworks_cpu = 0;
  int64_t standbys_cpu = 0;
  uint64_t events_followed = 0;  // by all standbys, until the last task ended
  int64_t master_rss = 0;        // KiB
  int64_t master_rss_most = 0;
  Nanos ask_to_offer = {};
  Nanos launch_to_running = {};
  Nanos free_to_offer = {};
  Nanos inside_p50 = {};  // free → offered in the master's own measurement, one for each round
  Nanos inside_p99 = {};
  uint64_t agent_frames = 0;
  uint64_t agent_bytes = 0;
  uint64_t framework_frames = 0;
  uint64_t framework_bytes = 0;
  std::string load = {};

  int64_t per_second(int64_t count) const { return count * kSecond / std::max<int64_t>(nanos, 1); }
  // Two rounds of one phase as one.
  void add(const Outcome& other) {
    nanos += other.nanos;
    tasks += other.tasks;
    master_cpu += other.master_cpu;
    agents_cpu += other.agents_cpu;
    frameworks_cpu += other.frameworks_cpu;
    master_rss = std::max(master_rss, other.master_rss);
    master_rss_most = std::max(master_rss_most, other.master_rss_most);
    append(ask_to_offer, other.ask_to_offer);
    append(launch_to_running, other.launch_to_running);
    append(free_to_offer, other.free_to_offer);
    append(inside_p50, other.inside_p50);
    append(inside_p99, other.inside_p99);
    agent_frames += other.agent_frames;
    agent_bytes += other.agent_bytes;
    framework_frames += other.framework_frames;
    framework_bytes += other.framework_bytes;
    load += (load.empty() ? "" : ", ") + other.load;
  }
};

Outcome run_phase(const std::string& name, Phase phase, const test::Words& flags = {}) {
  std::fprintf(stderr, "cluster_bench: %s …\n", name.c_str());
  SharedMapping shared;
  MasterProcess master(flags, phase.keys);
  phase.master_port = master.port();
  phase.tasks -= phase.tasks % phase.frameworks;
  std::vector<pid_t> agents;
  for (int i = 0; i < phase.agent_processes; ++i) {
    agents.push_back(fork_body([&] { run_agents(phase, i, *shared); }));
  }
  std::vector<pid_t> frameworks;
  for (int i = 0; i < phase.framework_processes; ++i) {
    frameworks.push_back(fork_body([&] { run_frameworks(phase, i, *shared); }));
  }
  std::vector<pid_t> standbys;
  for (int i = 0; i < phase.standbys; ++i) {
    standbys.push_back(fork_body([&] { run_standby(phase, i, *shared); }));
  }
  wait_until("agents and frameworks", 60, [&] {
    check_running(agents);
    check_running(frameworks);
    return shared->agents_registered == phase.agents &&
           shared->frameworks_subscribed == phase.frameworks;
  });
  std::unique_ptr<test::Process> perf;
  if (!FLAGS_profile.empty() && name == FLAGS_profiled) {
    perf = std::make_unique<test::Process>(
        test::Words{"perf", "record", "-F", "499", "--call-graph", "dwarf,4096", "-o",
                    FLAGS_profile, "-p", std::to_string(master.pid())});
    for (int i = 0; i < 500; ++i) nap();  // until it has attached itself
  }

  Outcome outcome;
  outcome.load = load_now();
  const int64_t master_before = cpu_micros(master.pid());
  const int64_t agents_before = cpu_micros(agents);
  const int64_t frameworks_before = cpu_micros(frameworks);
  const int64_t standbys_before = cpu_micros(standbys);
  shared->go = true;
  wait_until("the tasks", 600, [&] {
    check_running(agents);
    check_running(frameworks);
    return shared->frameworks_done == phase.frameworks;
  });
  outcome.agents_cpu = cpu_micros(agents) - agents_before;
  outcome.frameworks_cpu = cpu_micros(frameworks) - frameworks_before;
  outcome.master_cpu = cpu_micros(master.pid()) - master_before;
  outcome.standbys_cpu = cpu_micros(standbys) - standbys_before;
  outcome.events_followed = shared->events_followed;
  outcome.inside_p50 = {master.decision_nanos("0.5")};
  outcome.inside_p99 = {master.decision_nanos("0.99")};
  outcome.master_rss = memory_kib(master.pid(), "VmRSS");
  outcome.master_rss_most = memory_kib(master.pid(), "VmHWM");
  if (perf != nullptr) {
    perf->kill(SIGINT);
    perf->wait();
  }
  // agents end when all their updates are acknowledged, so the frameworks stay until then
  shared->stop = true;
  wait_for_end(agents);
  shared->frameworks_stop = true;
  wait_for_end(frameworks);
  wait_for_end(standbys);
  CHECK_EQ(shared->updates_unacknowledged, 0);
  CHECK_EQ(shared->not_finished, 0);
  CHECK_EQ(shared->finished, phase.tasks);
  CHECK_EQ(shared->disconnects, 0);

  outcome.nanos = shared->last_end_at - shared->first_ask_at;
  outcome.tasks = phase.tasks;
  outcome.ask_to_offer = shared->ask_to_offer.values();
  outcome.launch_to_running = shared->launch_to_running.values();
  outcome.free_to_offer = shared->free_to_offer.values();
  outcome.agent_frames = shared->agents.frames;
  outcome.agent_bytes = shared->agents.bytes;
  outcome.framework_frames = shared->frameworks.frames;
  outcome.framework_bytes = shared->frameworks.bytes;
  return outcome;
}

struct EchoOutcome {
  Nanos round_trip = {};
  uint64_t frames = 0;
  int64_t server_cpu = 0;
  int64_t nanos = 0;

  void add(const EchoOutcome& other) {
    append(round_trip, other.round_trip);
    frames += other.frames;
    server_cpu += other.server_cpu;
    nanos += other.nanos;
  }
};

EchoOutcome run_echo(const Outcome& full, int64_t seconds) {
  std::fprintf(stderr, "cluster_bench: echo …\n");
  SharedMapping shared;
  const pid_t server = fork_body([&] { run_echo_server(*shared); });
  wait_until("the echo", 30, [&] {
    check_running({server});
    return shared->echo_port != 0;
  });
  const auto clients = [&](int peers, uint64_t frames, uint64_t bytes) {
    const Echo echo{.peers = peers,
                    .frame_bytes = static_cast<int64_t>(bytes / std::max<uint64_t>(frames, 1)),
                    .frames_per_second = full.per_second(static_cast<int64_t>(frames)),
                    .port = static_cast<uint16_t>(shared->echo_port)};
    return fork_body([&shared, echo] { run_echo_clients(echo, *shared); });
  };
  const std::vector<pid_t> pids = {
      clients(FLAGS_agents, full.agent_frames, full.agent_bytes),
      clients(FLAGS_frameworks, full.framework_frames, full.framework_bytes)};
  EchoOutcome outcome;
  const int64_t began = monotonic_nanos();
  const int64_t before = cpu_micros(server);
  wait_until("the echo's time", seconds + 60,
             [&] { return monotonic_nanos() - began > seconds * kSecond; });
  outcome.nanos = monotonic_nanos() - began;
  outcome.server_cpu = cpu_micros(server) - before;
  shared->stop = true;
  wait_for_end(pids);
  wait_for_end({server});
  outcome.round_trip = shared->round_trip.values();
  outcome.frames = shared->echoed;
  return outcome;
}

// --- output --------------------------------------------------------------------------------

// One decimal.
std::string tenths(int64_t numerator, int64_t denominator) {
  const int64_t value = numerator * 10 / std::max<int64_t>(denominator, 1);
  return text(value / 10, ".", value % 10);
}
std::string latency(const Nanos& nanos) {
  if (nanos.empty()) return "– | –";
  return text(millis(percentile(nanos, 50) / 1'000), " | ", millis(percentile(nanos, 99) / 1'000));
}
std::string row(const std::string& name, const Outcome& outcome) {
  const auto per_task = [&](int64_t micros) { return tenths(micros, outcome.tasks); };
  return text("| ", name, " | ", outcome.tasks, " | ", outcome.per_second(outcome.tasks), " | ",
              per_task(outcome.master_cpu), " | ", per_task(outcome.agents_cpu), " | ",
              per_task(outcome.frameworks_cpu), " | ", tenths(outcome.master_rss, 1'024), " (",
              tenths(outcome.master_rss_most, 1'024), ") | ", latency(outcome.ask_to_offer), " | ",
              latency(outcome.launch_to_running), " | ", latency(outcome.free_to_offer), " | ",
              outcome.load, " |\n");
}

std::string listed(const Nanos& nanos) {
  std::string all;
  for (const int64_t one : nanos) all += (all.empty() ? "" : ", ") + millis(one / 1'000);
  return all;
}

bool wanted(std::string_view phase) {
  for (const std::string_view one : split(FLAGS_phases, ',')) {
    if (one == phase) return true;
  }
  return false;
}

// A part of the master with or without which a flood runs.
struct Variant {
  std::string section;  // in bench/RESULTS.md, and the name of its phase
  std::string with;     // "with history"
  std::string without;  // "without"
  std::function<Outcome(bool is_with)> run_flood;
  std::function<std::string()> more = {};  // text after all pairs
};

// The cost for launches: the order alternates between pairs, so that other work of the machine
// affects both equally.
std::string compare(const Variant& variant) {
  Nanos rates[2];
  Nanos cpus[2];      // of the master, in nanoseconds per task
  Nanos rate_ratios;  // with divided by without, in thousandths
  Nanos cpu_ratios;
  for (int pair = 0; pair < FLAGS_pairs; ++pair) {
    int64_t rate[2] = {};
    int64_t cpu[2] = {};
    for (int turn = 0; turn < 2; ++turn) {
      const int with = (pair + turn) % 2;
      const Outcome outcome = variant.run_flood(with == 1);
      rate[with] = outcome.per_second(outcome.tasks);
      cpu[with] = outcome.master_cpu * 1'000 / outcome.tasks;
      rates[with].push_back(rate[with]);
      cpus[with].push_back(cpu[with]);
    }
    rate_ratios.push_back(rate[1] * 1'000 / std::max<int64_t>(rate[0], 1));
    cpu_ratios.push_back(cpu[1] * 1'000 / std::max<int64_t>(cpu[0], 1));
    std::fprintf(stderr, "cluster_bench: pair %d: %" PRId64 " and %" PRId64 " launches/s\n",
                 pair + 1, rate[1], rate[0]);
  }
  const auto thousandths = [](const Nanos& values) {
    return text(percentile(values, 50), " (", percentile(values, 0), " to ",
                percentile(values, 100), ")");
  };
  const auto row_of = [&](const std::string& name, int with) {
    return text("| ", name, " | ", percentile(rates[with], 50), " | ",
                tenths(percentile(cpus[with], 50), 1'000), " |\n");
  };
  return text(FLAGS_pairs, " alternating pairs of floods of ", FLAGS_tasks, " tasks, ",
              variant.with, " and ", variant.without, "; medians.\n\n",
              "| | launches/s | master CPU µs/task |\n|---|---|---|\n", row_of(variant.with, 1),
              row_of(variant.without, 0), "| ratio, thousandths, of each pair | ",
              thousandths(rate_ratios), " | ", thousandths(cpu_ratios), " |\n",
              variant.more ? variant.more() : std::string());
}

void compare_and_write(const Variant& variant) {
  const std::string compared = compare(variant);
  const std::string command =
      text("build/bin/cluster_bench --phases ", variant.section, " --agents ", FLAGS_agents,
           " --frameworks ", FLAGS_frameworks, " --tasks ", FLAGS_tasks, " --pairs ", FLAGS_pairs);
  if (FLAGS_results.empty()) {
    std::fputs(compared.c_str(), stdout);
  } else {
    write_section(FLAGS_results, variant.section, command, compared);
  }
}

}  // namespace

int main(int argc, char** argv) {
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_WARNING;
  gflags::SetUsageMessage("a master under load, with simulated agents and frameworks");
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  google::InitGoogleLogging(argv[0]);
  CHECK(FLAGS_agents > 0 && FLAGS_agents <= static_cast<int>(kAgentsMax)) << "--agents";
  CHECK(FLAGS_frameworks > 0 && FLAGS_frameworks <= static_cast<int>(kSimFrameworksMax))
      << "--frameworks";
  CHECK(FLAGS_tasks >= FLAGS_frameworks && FLAGS_tasks <= kTasksMax) << "--tasks";
  CHECK(FLAGS_slots > 0 && FLAGS_slots <= 256) << "--slots";

  CHECK_GT(FLAGS_pairs, 0) << "--pairs";

  Phase phase{.agents = FLAGS_agents,
              .agent_processes = std::min(FLAGS_agent_processes, FLAGS_agents),
              .frameworks = FLAGS_frameworks,
              .framework_processes = std::min(FLAGS_framework_processes, FLAGS_frameworks),
              .slots = FLAGS_slots,
              .tasks = FLAGS_tasks};
  const auto flood_of = [&phase](const std::string& name, const test::Words& flags) {
    return run_phase(text("flood ", name), phase, flags);
  };
  const Variant history{"history", "with history", "without", [&](bool is_with) {
                          return flood_of(is_with ? "with history" : "without",
                                          {text("--history_mib=", is_with ? 256 : 0)});
                        }};
  const Variant events{"event_log", "with events", "without", [&](bool is_with) {
                         return flood_of(is_with ? "with events" : "without",
                                         {text("--events_mib=", is_with ? 64 : 0)});
                       }};
  Nanos standby_cpus;  // nanoseconds per event
  const Variant standbys{
      "standbys", "two standbys", "none",
      [&](bool is_with) {
        phase.standbys = is_with ? 2 : 0;
        const Outcome outcome = flood_of(is_with ? "two standbys" : "none", {});
        if (is_with) {
          standby_cpus.push_back(
              outcome.standbys_cpu * 1'000 /
              std::max<int64_t>(static_cast<int64_t>(outcome.events_followed), 1));
        }
        return outcome;
      },
      [&] {
        return text("\nA standby takes ", tenths(percentile(standby_cpus, 50), 1'000),
                    " µs of CPU for an event, most of it to read the page.\n");
      }};
  const Variant curve{"curve", "by CURVE", "plain", [&](bool is_with) {
                        phase.keys.reset();
                        if (is_with) phase.keys = make_cluster_keys(phase.agents, phase.frameworks);
                        return flood_of(is_with ? "by CURVE" : "plain", {});
                      }};
  bool is_compared = false;
  for (const Variant& variant : {history, events, standbys, curve}) {
    if (!wanted(variant.section)) continue;
    compare_and_write(variant);
    is_compared = true;
  }
  if (is_compared) return 0;
  std::string body = text(
      FLAGS_agents, " simulated agents of ", FLAGS_slots, " slots in ", phase.agent_processes,
      " process(es), ", FLAGS_frameworks, " frameworks in ", phase.framework_processes,
      "; the master is a separate process, over TCP on loopback. Every update was acknowledged and "
      "every task finished. CPU in microseconds per task, maximum resident memory in MiB, "
      "latencies in milliseconds as p50 and p99, measured at the frameworks. free → offer: from "
      "the time when the agent sends the end of a task until the framework reads the offer, so it "
      "includes both paths through the sockets. The first second of the paced phases is not "
      "counted.\n\n"
      "| phase | tasks | launches/s | master CPU | agents CPU | frameworks CPU | master RSS | "
      "ask → offer p50 | p99 | launch → running p50 | p99 | free → offer p50 | p99 | load |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  int64_t rate = FLAGS_rate;
  if (wanted("flood")) {
    const Outcome flood = run_phase("flood", phase);
    body += row("flood", flood);
    rate = std::min(rate, flood.per_second(flood.tasks) / 2);
  }
  rate = std::max<int64_t>(rate, 1);
  phase.tasks = std::max<int64_t>(rate * FLAGS_seconds, FLAGS_frameworks);
  if (wanted("asks")) {
    Phase asks = phase;
    asks.asks_per_second = rate;
    body += row("asks", run_phase("asks", asks));
  }
  if (wanted("full")) {
    // It alternates with its lower bound, so that both run under the same conditions.
    Phase full = phase;
    full.task_nanos = FLAGS_agents * FLAGS_slots * kSecond / rate;
    full.tasks = std::max<int64_t>(full.tasks / kRounds, FLAGS_frameworks);
    Outcome all;
    EchoOutcome echoes;
    for (int i = 0; i < kRounds; ++i) {
      const Outcome outcome = run_phase("full", full);
      all.add(outcome);
      if (wanted("echo")) {
        echoes.add(run_echo(outcome, std::max<int64_t>(FLAGS_seconds / kRounds, 2)));
      }
    }
    body += row("full", all);
    if (wanted("echo")) {
      const int64_t frames = static_cast<int64_t>(echoes.frames);
      const int64_t floor = percentile(echoes.round_trip, 99);
      body +=
          text("\nThe floor of `full`, ", kRounds,
               " rounds in turn with it: ", frames * kSecond / std::max<int64_t>(echoes.nanos, 1),
               " frames/s of the same sizes echoed over the same Router and Dealers: round trip "
               "p50 ",
               millis(percentile(echoes.round_trip, 50) / 1'000), " ms, p99 ",
               millis(floor / 1'000), " ms, ", tenths(echoes.server_cpu, frames),
               " µs CPU of the echo per frame. Inside the master (its /metrics: from reading the "
               "frame with a task's end to handing the offer to the transport) free → offered had "
               "a p50 of ",
               millis(percentile(all.inside_p50, 50) / 1'000), " ms and a p99 of ",
               listed(all.inside_p99), " ms in the rounds: at most ",
               tenths(percentile(all.inside_p99, 100), floor),
               " times the echo's p99. As the frameworks see it, both ways through the sockets, "
               "it is ",
               tenths(percentile(all.free_to_offer, 99), floor), " times.\n");
    }
  }
  const std::string command =
      text("build/bin/cluster_bench --agents ", FLAGS_agents, " --frameworks ", FLAGS_frameworks,
           " --tasks ", FLAGS_tasks, " --seconds ", FLAGS_seconds);
  if (FLAGS_results.empty()) {
    std::fputs(body.c_str(), stdout);
  } else {
    write_section(FLAGS_results, "cluster_bench", command, body);
  }
  return 0;
}
