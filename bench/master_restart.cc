// A master is killed with agents connected and tasks running, and restarts: the time until it
// serves again, the cost for its loop thread, and its memory for each agent and task. The master is
// the real process with SQLite; agents and schedulers are the production cores on real connections,
// in a few processes of this program.
//
//   build/bin/master_restart --agents 10000 --tasks 100000

#include <fstream>
#include <sstream>

#include <gflags/gflags.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/cluster/processes.h"
#include "bench/cluster/shared.h"
#include "bench/results.h"
#include "common/check.h"
#include "common/text.h"
#include "net/descriptors.h"

DEFINE_int32(agents, 1'000, "number of simulated agents");
DEFINE_int64(tasks, 10'000, "number of running tasks");
DEFINE_int32(frameworks, 10, "number of simulated frameworks that share them");
DEFINE_int32(agent_processes, 4, "number of processes that share the agents");
DEFINE_int64(down_millis, 100, "time from the kill to the next start");
DEFINE_int32(restarts, 5, "number of restarts");
DEFINE_string(results, "bench/RESULTS.md", "file whose section is replaced; empty: none");

namespace {

using namespace proffer;
using namespace proffer::bench;

// CPU of the first thread, which runs the loop, in microseconds.
int64_t loop_thread_cpu(pid_t pid) {
  std::ifstream in(text("/proc/", pid, "/task/", pid, "/schedstat"));
  int64_t nanos = 0;
  CHECK(in >> nanos);
  return nanos / 1'000;
}

// Resident memory of a bare Router for each connected peer, in bytes.
int64_t bytes_per_bare_peer(int peers) {
  SharedMapping shared;
  const pid_t server = fork_body([&] { run_echo_server(*shared); });
  wait_until("the echo", 30, [&] { return shared->echo_port != 0; });
  const int64_t before = memory_kib(server, "VmRSS");
  const Echo echo{.peers = peers / FLAGS_agent_processes,
                  .frame_bytes = 8,
                  .port = static_cast<uint16_t>(shared->echo_port)};
  std::vector<pid_t> clients;
  for (int i = 0; i < FLAGS_agent_processes; ++i) {
    clients.push_back(fork_body([&] { run_echo_clients(echo, *shared); }));
  }
  const int connected = echo.peers * FLAGS_agent_processes;
  wait_until("the peers", 120, [&] { return shared->echo_connected == connected; });
  const int64_t after = memory_kib(server, "VmRSS");
  shared->stop = true;
  wait_for_end(clients);
  wait_for_end({server});
  return (after - before) * 1'024 / connected;
}

// Until the master has handled all requests and answers: when the tasks run, acknowledgements of
// the last ones are still on their way.
void wait_until_calm(pid_t master) {
  constexpr int64_t kLook = 500'000;  // microseconds
  int64_t cpu = cpu_micros(master);
  int64_t since = monotonic_nanos() / 1'000;
  wait_until("the master to be calm", 120, [&] {
    const int64_t now = monotonic_nanos() / 1'000;
    if (now - since < kLook) return false;
    const int64_t used = cpu_micros(master) - cpu;
    const bool is_calm = used < (now - since) / 5;
    cpu += used;
    since = now;
    return is_calm;
  });
}

struct Restart {
  int64_t ready = 0;    // microseconds from the start to each event
  int64_t offered = 0;  // the waiting task
  int64_t running = 0;
  int64_t all_back = 0;
  int64_t loop_cpu = 0;  // microseconds, until all were back
  int64_t cpu = 0;       // of all threads
  int64_t rss = 0;       // KiB, at that time
};

std::string row(const std::vector<Restart>& all, const std::string& name,
                int64_t Restart::*member) {
  std::vector<int64_t> values;
  for (const Restart& one : all) values.push_back(one.*member);
  return text("| ", name, " | ", millis(percentile(values, 50)), " | ",
              millis(percentile(values, 0)), " to ", millis(percentile(values, 100)), " |\n");
}

}  // namespace

int main(int argc, char** argv) {
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_WARNING;
  gflags::SetUsageMessage("a master that is killed and begins anew, with agents and tasks");
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  google::InitGoogleLogging(argv[0]);
  CHECK(FLAGS_agents > 0 && FLAGS_agents <= static_cast<int>(kAgentsMax)) << "--agents";
  CHECK(FLAGS_frameworks > 0 && FLAGS_frameworks <= static_cast<int>(kSimFrameworksMax))
      << "--frameworks";
  CHECK(FLAGS_tasks >= FLAGS_frameworks && FLAGS_tasks <= kTasksMax) << "--tasks";
  CHECK_GT(FLAGS_restarts, 0) << "--restarts";
  raise_descriptor_limit();

  const int64_t bare_peer = bytes_per_bare_peer(FLAGS_agents);

  Phase phase{.agents = FLAGS_agents,
              .agent_processes = std::min(FLAGS_agent_processes, FLAGS_agents),
              .frameworks = FLAGS_frameworks,
              .slots = FLAGS_tasks / FLAGS_agents + 2,
              .tasks = FLAGS_tasks - FLAGS_tasks % FLAGS_frameworks,
              .task_nanos = 1'000'000 * kSecond};
  MasterProcess master({});
  phase.master_port = master.port();
  const int64_t empty = memory_kib(master.pid(), "VmRSS");

  SharedMapping shared;
  std::vector<pid_t> agents;
  for (int i = 0; i < phase.agent_processes; ++i) {
    agents.push_back(fork_body([&] { run_agents(phase, i, *shared); }));
  }
  int64_t registrations = phase.agents;
  wait_until("the agents", 300, [&] {
    check_running(agents);
    return shared->registrations == registrations;
  });
  wait_until_calm(master.pid());
  const int64_t with_agents = memory_kib(master.pid(), "VmRSS");

  std::vector<pid_t> frameworks{fork_body([&] { run_frameworks(phase, 0, *shared); })};
  wait_until("the frameworks", 60, [&] {
    check_running(frameworks);
    return shared->frameworks_subscribed == phase.frameworks;
  });
  shared->go = true;
  wait_until("the tasks", 300, [&] {
    check_running(frameworks);
    return shared->running >= phase.tasks;
  });
  wait_until_calm(master.pid());
  const int64_t with_tasks = memory_kib(master.pid(), "VmRSS");

  std::vector<Restart> restarts;
  for (int i = 0; i < FLAGS_restarts; ++i) {
    shared->probe_go = false;
    shared->probe_offered_at = 0;
    shared->probe_running_at = 0;
    Phase probing = phase;
    probing.frameworks += i;  // a separate role
    const int64_t registrations_of_probes = shared->registrations;
    shared->frameworks_subscribed = 0;
    const pid_t probe = fork_body([&] { run_probe(probing, *shared); });
    wait_until("the probe", 60, [&] { return shared->frameworks_subscribed == 1; });
    frameworks.push_back(probe);

    master.kill();
    shared->probe_go = true;
    for (int64_t waited = 0; waited < FLAGS_down_millis; waited += 2) nap();
    const int64_t begin = monotonic_nanos();
    master.start_again();
    const auto since = [&](int64_t at) { return (at - begin) / 1'000; };
    Restart restart;
    registrations = registrations_of_probes + phase.agents;
    wait_until("the agents to come back", 300, [&] {
      check_running(agents);
      check_running(frameworks);
      return shared->registrations >= registrations;
    });
    restart.all_back = since(monotonic_nanos());
    wait_until("the task that waits", 300, [&] { return shared->probe_running_at != 0; });
    restart.offered = since(shared->probe_offered_at);
    restart.running = since(shared->probe_running_at);
    restart.loop_cpu = loop_thread_cpu(master.pid());
    restart.cpu = cpu_micros(master.pid());
    wait_until_calm(master.pid());
    restart.rss = memory_kib(master.pid(), "VmRSS");
    restarts.push_back(restart);
  }
  shared->stop = true;
  wait_for_end(agents);
  shared->frameworks_stop = true;
  wait_for_end(frameworks);

  const std::string body = text(
      FLAGS_agents, " simulated agents in ", phase.agent_processes, " processes, ", phase.tasks,
      " running tasks of ", FLAGS_frameworks,
      " frameworks, over tcp on loopback. The master (SQLite) is killed (SIGKILL) and started "
      "again ",
      FLAGS_down_millis, " ms later, ", FLAGS_restarts,
      " times; meanwhile a scheduler asks for one more task. Milliseconds from the restart.\n\n"
      "| | p50 | least to most |\n|---|---|---|\n",
      row(restarts, "the task that waits is offered a place", &Restart::offered),
      row(restarts, "it runs", &Restart::running),
      row(restarts, "all agents are back", &Restart::all_back),
      row(restarts, "CPU of the loop's thread until then", &Restart::loop_cpu),
      row(restarts, "CPU of all threads until then", &Restart::cpu),
      "\nResident memory: ", (with_agents - empty) * 1'024 / phase.agents,
      " bytes for each agent (", bare_peer, " of them for the connection in a bare Router) and ",
      (with_tasks - with_agents) * 1'024 / phase.tasks, " for each running task; ",
      with_tasks / 1'024, " MiB in all before the first kill, ", restarts.back().rss / 1'024,
      " after the last.\n");
  if (FLAGS_results.empty()) {
    std::fputs(body.c_str(), stdout);
  } else {
    write_section(FLAGS_results, text("master_restart_", FLAGS_agents),
                  text("build/bin/master_restart --agents ", FLAGS_agents, " --tasks ", FLAGS_tasks,
                       " --down_millis ", FLAGS_down_millis),
                  body);
  }
  return 0;
}
