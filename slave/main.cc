// proffer-agent: reads flags, sets up the shell and runs the loop.

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

DEFINE_string(
    master, "",
    "masters: socket or host:port,...; default: $PROFFER_MASTER, the joined or the local one");
DEFINE_string(
    master_user, "",
    "user trusted to run the master (it sets the users of tasks), besides root and the agent's");
DEFINE_string(http_address, "127.0.0.1", "loopback address that --http_port is bound to");
DEFINE_string(
    http_names, "",
    "host names that HTTP requests may use, besides those of loopback, as in cluster.example");
DEFINE_int32(
    http_port, proffer::kNoHttpPort,
    "HTTP port besides the agent's socket; token: WORK_DIR/http_token; 0: any free; -1: none");
DEFINE_int32(
    https_port, proffer::kNoHttpPort,
    "TLS port where joined users read task files; 0: any free; -1: none (if joined, default 0)");
DEFINE_string(https_host, "",
              "address or name of --https_port; default: this machine's address toward the master");
DEFINE_string(operators_group, "",
              "group of the operators: its members may read the files of all tasks, as root may");
DEFINE_string(
    sandbox_age, "168h",
    "how long sandboxes of ended executors are kept; less if released or the disk is short");
DEFINE_int64(
    disk_reserve, 256,
    "free MiB below which old sandboxes are deleted and no tasks accepted (max 1/16 of disk)");
DEFINE_int64(
    sandboxes_max, 100'000,
    "maximum kept sandboxes of ended executors; the oldest go first, after 1m; 0: no maximum");
DEFINE_int64(
    sandboxes_mib, -1,
    "maximum size of sandboxes of ended executors, in MiB; 0: no maximum; -1: half of the disk");
DEFINE_int64(sandbox_files_max, 1'000'000,
             "maximum files and directories in sandboxes of ended executors; 0: no maximum");
DEFINE_int64(output_max, 1024,
             "a task's stdout, and its stderr, keep only their last this many MiB; 0: keep all");
DEFINE_int64(fetch_max, 16'384,
             "maximum size of the files that are fetched and unpacked for one task, in MiB");
DEFINE_string(fetch_timeout, "1h", "timeout to fetch the files of a task");
DEFINE_int64(
    cache_max, 4'096,
    "maximum cache of fetched files with a sha256, in MiB; less if the disk is short; 0: none");
DEFINE_string(work_dir, "/var/lib/proffer/agent",
              "directory of the checkpoint, sandboxes and address.json");
DEFINE_string(
    name, "",
    "the agent's name, unique in the cluster; default: the name of its key, or the host's name");
DEFINE_string(
    resources, "",
    "as in cpus:2;mem:2048;gpus:2;ports:[31000-32000], or gpus:[0,2-3]; default: detected");
DEFINE_string(
    system_reserved, "",
    "kept from all tasks, as in cpus:0.5;mem:2GiB; default: a tenth of mem, at most 1GiB");
DEFINE_string(reserved, "",
              "resources reserved for one role each, as in ads=cpus:1;mem:1GiB,batch=cpus:2");
DEFINE_string(attributes, "",
              "attributes that constraints of asks can name, as in rack:r1;disk:ssd");
DEFINE_string(log_format, "text",
              "format of the log on standard error: text, or json (one object per line)");
DEFINE_string(heartbeat, "5s",
              "heartbeat interval toward the master, until the master sets another one");
DEFINE_string(
    master_timeout, "30s",
    "silence of the master after which a new session begins; the master may set another time");
DEFINE_string(executor_timeout, "1m", "timeout for the first message of a new executor");
DEFINE_string(executor_reregister_timeout, "10s",
              "timeout for executors to come back after the agent restarted");
DEFINE_string(
    tasks_on_exit, "keep",
    "what SIGTERM does to tasks: keep (they run until the agent is started again) or kill");
DEFINE_string(
    limits, "auto",
    "cgroup limits, as root: auto (if cgroups are permitted), required (else it ends) or none");
DEFINE_string(cgroup_parent, "proffer", "parent cgroup of the cgroups of tasks, in each hierarchy");
DEFINE_bool(cpu_cap, false, "tasks never use more than their cpus, even if CPUs are idle");
DEFINE_int32(task_processes_max, 0,
             "maximum processes and threads of an executor; 0: 512, and 1024 per CPU of its tasks");

namespace {

using namespace proffer;

DaemonHelp help() {
  return {
      .what =
          "Runs tasks of a cluster on this machine. For example: proffer agent "
          "--work_dir=/var/lib/proffer/agent --attributes=rack:r1. If the master is on "
          "another machine, run proffer join first. Operators use proffer "
          "agent gone and proffer agent lift-brake, which have their own --help, for agents "
          "that do not come back.",
      .source = __FILE__,
      .sections =
          {{"Essentials",
            {"master", "work_dir", "name", "resources", "system_reserved", "reserved",
             "attributes"}},
           {"Network", {"http_port", "http_address", "http_names", "https_port", "https_host"}},
           {"Users", {"master_user", "operators_group"}},
           {"Tasks", {"limits", "cpu_cap", "task_processes_max", "cgroup_parent", "tasks_on_exit"}},
           {"Sandboxes and disk",
            {"disk_reserve", "output_max", "sandbox_age", "sandboxes_max", "sandboxes_mib",
             "sandbox_files_max"}},
           {"Fetched files", {"fetch_max", "fetch_timeout", "cache_max"}},
           {"Timeouts",
            {"heartbeat", "master_timeout", "executor_timeout", "executor_reregister_timeout"}},
           {"Logging", {"log_format"}}},
      .end =
          "Without --resources, the agent offers the CPUs and the memory that it may use and 90 % "
          "of the free disk, less --system_reserved, the machine's GPUs and the ports "
          "31000-32000. As root it keeps the memory of all tasks together within the machine's "
          "less --system_reserved. SIGTERM and Ctrl-C end the agent; --tasks_on_exit says whether "
          "its tasks keep running. Exit codes: 0 ended by a signal, 1 cannot start or go on, 2 "
          "wrong usage."};
}

Masters masters_from_flags() {
  Result<Masters> masters = find_masters(KeyKind::kAgent, "--master", FLAGS_master);
  if (!masters) exit_with(std::move(masters).error(), 2);
  return *std::move(masters);
}

// From the flag, or else the name under which this machine joined, or else the host name.
std::string name_from_flags(const std::optional<ClientKeys>& keys) {
  if (!keys) return FLAGS_name.empty() ? agent::host_name() : FLAGS_name;
  const Result<std::optional<Membership>> joined = read_membership(KeyKind::kAgent);
  if (!joined || !*joined) return FLAGS_name;
  if (FLAGS_name.empty() || FLAGS_name == (*joined)->name) return (*joined)->name;
  exit_with(Error::invalid_argument(text("--name is ", quoted(FLAGS_name),
                                         ", and this machine "
                                         "joined as agent ",
                                         quoted((*joined)->name)))
                .with_hint("omit --name, or join again with a token for that name"),
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
  if (!FLAGS_system_reserved.empty()) {
    const Resources kept =
        flag_value("system_reserved", parse_agent_resources(FLAGS_system_reserved));
    if (kept.amounts[ResourceKind::kGpus] != 0 || !kept.ports.empty()) {
      exit_with(Error::invalid_argument(text("--system_reserved takes cpus, mem and disk, not ",
                                             quoted(FLAGS_system_reserved))),
                2);
    }
    const ResourceVector machine = agent::detect_resources(options.work_dir, {}).amounts;
    for (const ResourceKind kind : {ResourceKind::kCpus, ResourceKind::kMem}) {
      if (kept.amounts[kind] < machine[kind]) continue;
      exit_with(Error::invalid_argument(text("--system_reserved must leave some ", to_text(kind),
                                             " of this machine's ", print_milli(machine[kind]),
                                             ", not ", quoted(FLAGS_system_reserved))),
                2);
    }
    options.system_reserved = kept.amounts;
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
  if (FLAGS_task_processes_max != 0 && FLAGS_task_processes_max < kProcessesMin) {
    exit_with(Error::invalid_argument(text("--task_processes_max must be 0, or at least ",
                                           kProcessesMin, ", not ", FLAGS_task_processes_max)),
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
    exit_with(Error::unsupported(text("an agent that runs as root takes tasks only from a master's "
                                      "Unix socket or by keys, not from ",
                                      to_text(master)))
                  .with_hint("plain TCP does not identify the user of the master: use the socket, "
                             "join with a token, or run the agent as another user"),
              2);
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  read_daemon_flags(help(), argc, argv);
  FLAGS_logtostderr = true;
  google::InitGoogleLogging(argv[0]);
  if (Result<void> chosen = choose_log_format(FLAGS_log_format, "proffer-agent"); !chosen) {
    exit_with(std::move(chosen).error().in("--log_format"), 2);
  }
  std::signal(SIGPIPE, SIG_IGN);
  umask(022);  // users of sandboxes pass through the parent directories

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
  shell->reset();  // Removes its socket; exit() would not.
  if (!outcome) exit_with(outcome.error(), 1);
  LOG(INFO) << "agent ends";
  return 0;
}
