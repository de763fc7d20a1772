// proffer-agent: reads flags, wires the shell, runs the loop.

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <utility>

#include <gflags/gflags.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"
#include "net/daemon_flags.h"
#include "net/daemon_help.h"
#include "net/daemon_http.h"
#include "net/http_hosts.h"
#include "net/json_log.h"
#include "net/membership.h"
#include "net/users.h"
#include "slave/shell/agent_shell.h"
#include "slave/shell/machine.h"

DEFINE_string(master, "",
              "socket of the master, or host:port; of several masters, a list with commas; default "
              "$PROFFER_MASTER, the one that was joined, or the one of this machine");
DEFINE_string(master_user, "",
              "a user that may run the master, beside root and the user of this agent: the master "
              "says as which user tasks run");
DEFINE_string(http_address, "127.0.0.1", "the loopback address of --http_port");
DEFINE_string(http_names, "",
              "host names, besides those of loopback, by which browsers and tools may ask for it, "
              "such as \"cluster.example\"");
DEFINE_int32(http_port, proffer::kNoHttpPort,
             "serve HTTP (status, metrics, files) on this port too, beside its socket, to those "
             "that have the token of WORK_DIR/http_token; 0: any free one; -1: none");
DEFINE_int32(
    https_port, proffer::kNoHttpPort,
    "serve the files of tasks on this port to other machines, by TLS, to those whom the "
    "master gives a token; 0: any free one, which the master is told; -1: do not. Default: "
    "0 on a machine that joined, else -1");
DEFINE_string(https_host, "",
              "name or address by which other machines reach --https_port; default: the address by "
              "which this machine reaches its master, or its name");
DEFINE_string(operators_group, "",
              "members of this group may read what root may: the files of all tasks");
DEFINE_string(sandbox_age, "168h",
              "how long the sandbox of an executor is kept after its end; shorter if the disk is "
              "short");
DEFINE_int64(
    disk_reserve, 256,
    "if less is free on the disk of the work directory, in MiB, no tasks are taken (at most "
    "a 16th of the disk for this), and sandboxes that nobody uses are removed, the oldest "
    "first");
DEFINE_int64(sandboxes_max, 100'000,
             "most sandboxes of ended executors that are kept; beyond it the oldest are removed, "
             "from a minute after their end; 0: any number");
DEFINE_int64(sandboxes_mib, -1,
             "most that sandboxes of ended executors hold together, in MiB, likewise; 0: any; -1: "
             "half of the disk");
DEFINE_int64(sandbox_files_max, 1'000'000,
             "most files and directories of ended executors, likewise; 0: any number");
DEFINE_int64(output_max, 1024,
             "so much of a task's stdout, and of its stderr, is kept while it runs, in MiB: the "
             "last part; 0: all");
DEFINE_int64(fetch_max, 16'384,
             "so much may be fetched and unpacked for one task before it starts, in MiB");
DEFINE_string(fetch_timeout, "1h", "how long fetching the files of a task may take");
DEFINE_int64(cache_max, 4'096,
             "so much of what was fetched by its sha256 is kept for other tasks, in MiB; less if "
             "the disk is short; 0: nothing");
DEFINE_string(work_dir, "/var/lib/proffer/agent", "checkpoint, sandboxes and address.json");
DEFINE_string(name, "",
              "the agent's name, unique in the cluster; default: the one under which the machine "
              "joined, or the host's name");
DEFINE_string(resources, "",
              "such as \"cpus:2;mem:2048;gpus:2;ports:[31000-32000]\", with GPUs 0 and 1, or "
              "\"gpus:[0,2-3]\"; default: detected");
DEFINE_string(reserved, "",
              "what of it only one role may use, such as \"ads=cpus:1;mem:1GiB,batch=cpus:2\"");
DEFINE_string(attributes, "", "such as \"rack:r1;disk:ssd\"");
DEFINE_string(log_format, "text",
              "of the log on standard error: text, or json, one object per line");
DEFINE_string(heartbeat, "5s",
              "how often a sign of life goes to the master, until it says another");
DEFINE_string(master_timeout, "30s",
              "silence of the master after which a new session is begun, until it says another");
DEFINE_string(executor_timeout, "1m", "how long an executor may take to say hello");
DEFINE_string(executor_reregister_timeout, "10s",
              "how long an executor of an earlier life of this agent may take to come back");
DEFINE_string(
    tasks_on_exit, "keep",
    "what SIGTERM does to tasks: keep (they run until the agent is started again) or kill");
DEFINE_string(limits, "auto",
              "whether the kernel holds tasks to their cpus and memory: auto (where this process "
              "may make cgroups), required (the agent does not start without), none");
DEFINE_string(cgroup_parent, "proffer",
              "cgroup below which the agent makes those of its tasks, in each hierarchy");
DEFINE_bool(cpu_cap, false, "tasks get no more than their cpus also while others are idle");
DEFINE_int32(task_processes_max, 4096,
             "processes and threads that an executor and its tasks may have");

namespace {

using namespace proffer;

Masters masters_from_flags() {
  Result<Masters> masters = find_masters(KeyKind::kAgent, "--master", FLAGS_master);
  if (!masters) exit_with(std::move(masters).error(), 2);
  return *std::move(masters);
}

// That of the flag; else the one under which this machine joined; else the host's.
std::string name_from_flags(const std::optional<ClientKeys>& keys) {
  if (!keys) return FLAGS_name.empty() ? agent::host_name() : FLAGS_name;
  const Result<std::optional<Membership>> joined = read_membership(KeyKind::kAgent);
  if (!joined || !*joined) return FLAGS_name;
  if (FLAGS_name.empty() || FLAGS_name == (*joined)->name) return (*joined)->name;
  exit_with(Error::invalid_argument(text("--name is ", quoted(FLAGS_name),
                                         ", and this machine "
                                         "joined as agent ",
                                         quoted((*joined)->name)))
                .with_hint("leave --name out, or join again with a token for that name"),
            2);
}

std::optional<uint16_t> https_port_from_flags(bool has_joined) {
  if (google::GetCommandLineFlagInfoOrDie("https_port").is_default) {
    return has_joined ? std::optional<uint16_t>(0) : std::nullopt;
  }
  if (FLAGS_https_port == kNoHttpPort) return std::nullopt;
  return flag_port("https_port", FLAGS_https_port);
}

int64_t bytes_from_flag(std::string_view flag, int64_t mib) {
  constexpr int64_t kMibMax = int64_t{1} << 40;
  if (mib >= 0 && mib <= kMibMax) return mib << 20;
  exit_with(
      Error::invalid_argument(text("--", flag, " must be from 0 to ", kMibMax, " MiB, not ", mib)),
      2);
}

int64_t count_from_flag(std::string_view flag, int64_t count) {
  constexpr int64_t kCountMax = 1'000'000'000;
  if (count >= 0 && count <= kCountMax) return count;
  exit_with(
      Error::invalid_argument(text("--", flag, " must be from 0 to ", kCountMax, ", not ", count)),
      2);
}

agent::AgentShellOptions options_from_flags() {
  agent::AgentShellOptions options;
  options.masters = masters_from_flags();
  if (!FLAGS_master_user.empty()) {
    options.master_uid = find_uid(FLAGS_master_user);
    if (!options.master_uid) {
      exit_with(Error::not_found(
                    text("--master_user: this machine has no user ", quoted(FLAGS_master_user))),
                2);
    }
  }
  options.http_port = http_port_from_flags(FLAGS_http_address, FLAGS_http_port);
  Result<std::optional<ClientKeys>> keys = keys_for(KeyKind::kAgent, options.masters);
  if (!keys) exit_with(std::move(keys).error(), 2);
  options.keys = *std::move(keys);
  options.keys_now = [](const ClientKeys& known) { return current_keys(KeyKind::kAgent, known); };
  options.https_port = https_port_from_flags(options.keys.has_value());
  options.https_host = FLAGS_https_host;
  options.http_names = flag_value("http_names", parse_http_names(FLAGS_http_names));
  options.operators_group = flag_group("operators_group", FLAGS_operators_group);
  options.housekeeping.sandbox_age = flag_duration("sandbox_age", FLAGS_sandbox_age);
  options.housekeeping.every = std::clamp(
      Duration::nanos(options.housekeeping.sandbox_age.nanos() / 2), seconds(1), seconds(60));
  options.housekeeping.disk_reserve = bytes_from_flag("disk_reserve", FLAGS_disk_reserve);
  options.housekeeping.count_max = count_from_flag("sandboxes_max", FLAGS_sandboxes_max);
  options.housekeeping.bytes_max = FLAGS_sandboxes_mib == -1
                                       ? agent::HousekeepingOptions::kHalfOfTheDisk
                                       : bytes_from_flag("sandboxes_mib", FLAGS_sandboxes_mib);
  options.housekeeping.files_max = count_from_flag("sandbox_files_max", FLAGS_sandbox_files_max);
  options.housekeeping.output_max = bytes_from_flag("output_max", FLAGS_output_max);
  options.fetch_max = bytes_from_flag("fetch_max", FLAGS_fetch_max);
  options.cache_max = bytes_from_flag("cache_max", FLAGS_cache_max);
  options.core.fetch_timeout = flag_duration("fetch_timeout", FLAGS_fetch_timeout);
  options.work_dir = FLAGS_work_dir;
  if (options.work_dir.empty()) {
    exit_with(Error::invalid_argument("--work_dir must name a directory"), 2);
  }
  const std::string name = name_from_flags(options.keys);
  if (Result<void> valid = check_name("agent name", name); !valid) {
    exit_with(std::move(valid).error().in("--name"), 2);
  }
  options.core.name = AgentId(name);
  if (!FLAGS_resources.empty()) {
    options.resources = flag_value("resources", parse_agent_resources(FLAGS_resources));
    if (options.resources->amounts.is_zero()) {
      exit_with(Error::invalid_argument("--resources must have more than zero of some kind"), 2);
    }
  }
  if (!FLAGS_attributes.empty()) {
    options.core.attributes = flag_value("attributes", parse_attributes(FLAGS_attributes));
  }
  options.core.reserved = flag_value("reserved", agent::parse_reserved(FLAGS_reserved));
  options.core.heartbeat = flag_duration("heartbeat", FLAGS_heartbeat);
  options.core.master_timeout = flag_duration("master_timeout", FLAGS_master_timeout);
  options.core.executor_start_timeout = flag_duration("executor_timeout", FLAGS_executor_timeout);
  options.core.executor_reregister_timeout =
      flag_duration("executor_reregister_timeout", FLAGS_executor_reregister_timeout);
  if (options.core.master_timeout < options.core.heartbeat * 2) {
    exit_with(Error::invalid_argument(
                  text("--master_timeout must be at least twice --heartbeat, not ",
                       quoted(FLAGS_master_timeout), " with ", quoted(FLAGS_heartbeat))),
              2);
  }
  options.limits = flag_value("limits", agent::parse_limits_wanted(FLAGS_limits));
  if (Result<void> valid = check_name("cgroup", FLAGS_cgroup_parent); !valid) {
    exit_with(std::move(valid).error().in("--cgroup_parent"), 2);
  }
  constexpr int kProcessesMin = 16;
  if (FLAGS_task_processes_max < kProcessesMin) {
    exit_with(Error::invalid_argument(text("--task_processes_max must be at least ", kProcessesMin,
                                           ", not ", FLAGS_task_processes_max)),
              2);
  }
  options.groups = {.parent = FLAGS_cgroup_parent,
                    .processes_max = FLAGS_task_processes_max,
                    .is_cpu_capped = FLAGS_cpu_cap};
  if (FLAGS_tasks_on_exit != "keep" && FLAGS_tasks_on_exit != "kill") {
    exit_with(Error::invalid_argument(
                  text("--tasks_on_exit must be keep or kill, not ", quoted(FLAGS_tasks_on_exit))),
              2);
  }
  for (const Address& master : options.masters) {
    if (geteuid() != 0 || !master.socket.empty() || options.keys) continue;
    exit_with(Error::unsupported(text("an agent that is root takes tasks only from the Unix socket "
                                      "of a master, or by keys, not from ",
                                      to_text(master)))
                  .with_hint("over plain TCP nothing says which user is at the other end: use the "
                             "socket, join with a token, or run the agent as another user"),
              2);
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  read_daemon_flags("Runs a cluster's tasks on this machine.", __FILE__, argc, argv);
  FLAGS_logtostderr = true;
  google::InitGoogleLogging(argv[0]);
  if (Result<void> chosen = choose_log_format(FLAGS_log_format, "proffer-agent"); !chosen) {
    exit_with(std::move(chosen).error().in("--log_format"), 2);
  }
  std::signal(SIGPIPE, SIG_IGN);
  umask(022);  // sandboxes are of other users, who pass through what is above them

  agent::AgentShellOptions options = options_from_flags();
  options.descriptors = raise_descriptor_limit();
  Loop loop;
  Result<std::unique_ptr<agent::AgentShell>> shell =
      agent::AgentShell::start(loop, std::move(options));
  if (!shell) exit_with(shell.error(), 1);
  for (const int signal : {SIGINT, SIGTERM}) {
    loop.on_signal(signal, [&] { (*shell)->stop(FLAGS_tasks_on_exit == "kill"); });
  }
  loop.run();
  const Result<void> outcome = (*shell)->outcome();
  shell->reset();  // Takes its socket away; exit() would not.
  if (!outcome) exit_with(outcome.error(), 1);
  LOG(INFO) << "agent ends";
  return 0;
}
