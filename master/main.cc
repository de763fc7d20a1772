// proffer-master: reads flags, sets up the shell and runs the loop.

#include <csignal>
#include <cstdlib>

#include <gflags/gflags.h>
#include <unistd.h>

#include "common/check.h"
#include "common/load_limits.h"
#include "common/roles.h"
#include "common/text.h"
#include "master/shell/master_shell.h"
#include "net/daemon_flags.h"
#include "net/daemon_help.h"
#include "net/daemon_http.h"
#include "net/descriptors.h"
#include "net/http_hosts.h"
#include "net/json_log.h"
#include "net/users.h"

DEFINE_string(socket, "/run/proffer/master.sock",
              "Unix socket for agents, schedulers and the CLI; the kernel identifies local peers");
DEFINE_bool(
    insecure_tcp, false,
    "development only: loopback TCP without keys; each peer has the rights of the master's user");
DEFINE_string(
    bind, "",
    "bind address for other machines; default: all addresses, 127.0.0.1 with --insecure_tcp");
DEFINE_int32(
    port, 5050,
    "TCP port for joined agents and users; opened only with --port, --bind or --advertise");
DEFINE_string(
    advertise, "",
    "HOST[:PORT],... for join tokens; default: own addresses; with --zk: all masters, own first");
DEFINE_string(
    key_file, "",
    "file with the master's key, made by `proffer keys init`; default: DATA_DIR/master.key");
DEFINE_string(http_address, "127.0.0.1", "loopback address that --http_port is bound to");
DEFINE_string(
    http_names, "",
    "host names that HTTP requests may use, besides those of loopback, as in cluster.example");
DEFINE_int32(
    http_port, proffer::kNoHttpPort,
    "HTTP port besides SOCKET-http.sock; token: DATA_DIR/http_token; 0: any free one; -1: none");
DEFINE_string(
    operators_group, "",
    "operators besides root and the master's user: this group may drain, set roles, kill tasks");
DEFINE_string(agent_users, "",
              "users that may register agents, besides root and the master's own user: NAME,...");
DEFINE_string(data_dir, "/var/lib/proffer/master", "directory of the registry and address.json");
DEFINE_string(
    zk, "",
    "registry of several masters: ZooKeeper's loopback HOST:PORT,.../PATH; default: --data_dir");
DEFINE_string(zk_secret_file, "",
              "file (mode 0600) whose first line is the ZooKeeper password that all masters share");
DEFINE_string(zk_session_timeout, "4s",
              "ZooKeeper session timeout: a silent leader is replaced after this time");
DEFINE_bool(
    accept_older_registry, false,
    "accept a damaged or restored registry that lacks its latest commits; their content is lost");
DEFINE_int64(
    history_mib, 256,
    "maximum size of the history of tasks and roles, in MiB; the oldest go first; 0: no history");
DEFINE_string(history_age, "720h", "maximum age of entries of the history and the event log");
DEFINE_int64(events_mib, 64,
             "maximum size of the event log, in MiB; the oldest events go first; 0: no event log");
DEFINE_string(
    record, "",
    "directory to record the master's input in, for proffer replay; keep it private; empty: off");
DEFINE_int64(record_mib, 1'024,
             "maximum size of all recordings, in MiB; the oldest lives go first");
DEFINE_string(log_format, "text",
              "format of the log on standard error: text, or json (one object per line)");
DEFINE_string(weights, "", "weights of roles: ROLE=WEIGHT,...; the weight of other roles is 1");
DEFINE_string(offer_timeout, "30s",
              "lease of an offer: it expires if it is not answered within this time");
DEFINE_string(heartbeat, "5s", "heartbeat interval, in both directions, for each peer");
DEFINE_string(agent_timeout, "30s",
              "silence after which an agent is unreachable, and a scheduler disconnected");
DEFINE_string(reregistration_timeout, "10m",
              "an agent that is unreachable for this long is removed; its tasks end as gone");
DEFINE_string(
    task_start_timeout, "10m",
    "a launched task is lost if its connected agent does not report it in this time; min. 2m");
DEFINE_int64(
    agent_loss_percent, 10,
    "brake: at most this % of agents, or 5 agents, become unreachable per period; 100: no brake");
DEFINE_string(
    agent_loss_period, "10m",
    "period of --agent_loss_percent; further silent agents stay disconnected (held back)");
DEFINE_string(
    reclaim, "guarantee",
    "guarantee: roles below it preempt; fair_share: below their entitlement; off: no lending");
DEFINE_string(placement, "balanced",
              "how an agent is chosen: balanced, best_fit, spread, worst_fit, dot_product or fgd");
DEFINE_string(revoke_grace, "10s",
              "grace between a revoke notice and the kill; also the default of drains");
DEFINE_string(minimum_runtime, "30s", "a task is not preempted before it has run this long");
DEFINE_int64(revokes_per_minute, 10,
             "maximum tasks preempted per minute, or a tenth of all tasks if that is more");
DEFINE_string(claim_after, "30s",
              "an ask that waits this long gets a claim: agents are kept for it until it fits");
DEFINE_string(min_offer, "cpus:0.01;mem:32",
              "minimum of an offer to a framework without asks, of each kind that the agent has");

namespace {

using namespace proffer;

DaemonHelp help() {
  return {.what =
              "Shares a cluster between frameworks. For example: proffer-master "
              "--data_dir=/var/lib/proffer/master --operators_group=ops",
          .source = __FILE__,
          .sections = {{"Essentials", {"data_dir", "socket", "port", "operators_group"}},
                       {"Network",
                        {"bind", "advertise", "insecure_tcp", "http_port", "http_address",
                         "http_names"}},
                       {"Keys and users", {"key_file", "agent_users"}},
                       {"Several masters", {"zk", "zk_secret_file", "zk_session_timeout"}},
                       {"Fairness and preemption",
                        {"weights", "reclaim", "claim_after", "revoke_grace", "minimum_runtime",
                         "revokes_per_minute"}},
                       {"Placement and offers", {"placement", "offer_timeout", "min_offer"}},
                       {"Silent agents and late tasks",
                        {"heartbeat", "agent_timeout", "agent_loss_percent", "agent_loss_period",
                         "reregistration_timeout", "task_start_timeout"}},
                       {"Registry, history and recordings",
                        {"accept_older_registry", "history_mib", "history_age", "events_mib",
                         "record", "record_mib"}},
                       {"Logging", {"log_format"}}},
          .end =
              "The HTTP port serves the API, the page and /metrics (Prometheus: with the token in "
              "DATA_DIR/metrics_token, which stays over restarts). SIGTERM and Ctrl-C end the "
              "master; tasks keep running. Exit codes: 0 ended by a signal, 1 cannot start "
              "or go on, 2 wrong usage, 4 no longer the leader (started again, it is a standby)."};
}

constexpr int64_t kHistoryMibMax = 1 << 20;
// Exit code of a leader that lost the lead. After a restart it is a standby.
constexpr int kDeposed = 4;

ReclaimMode reclaim_from_flag() {
  if (FLAGS_reclaim == "off") return ReclaimMode::kOff;
  if (FLAGS_reclaim == "guarantee") return ReclaimMode::kGuarantee;
  if (FLAGS_reclaim == "fair_share") return ReclaimMode::kFairShare;
  exit_with(Error::invalid_argument(text("--reclaim must be off, guarantee or fair_share, not ",
                                         quoted(FLAGS_reclaim))),
            2);
}

master::PolicyOptions policy_from_flags() {
  master::PolicyOptions policy{.master_uid = geteuid()};
  policy.operators_group = flag_group("operators_group", FLAGS_operators_group);
  if (FLAGS_agent_users.empty()) return policy;
  for (const std::string_view name : split(FLAGS_agent_users, ',')) {
    const std::optional<uint32_t> uid = find_uid(std::string(name));
    if (!uid) {
      exit_with(Error::invalid_argument(text("--agent_users: there is no user ", quoted(name))), 2);
    }
    policy.agent_uids.insert(*uid);
  }
  return policy;
}

std::optional<ZooKeeperOptions> zookeeper_from_flags() {
  if (FLAGS_zk.empty()) {
    if (FLAGS_zk_secret_file.empty()) return std::nullopt;
    exit_with(Error::invalid_argument("--zk_secret_file requires --zk"), 2);
  }
  ZooKeeperOptions options = flag_value("zk", parse_zookeeper("--zk", FLAGS_zk));
  if (FLAGS_zk_secret_file.empty()) {
    exit_with(
        Error::invalid_argument("--zk needs --zk_secret_file: without a secret, every user of "
                                "this machine could write the registry")
            .with_hint("create it: (umask 077; head -c 24 /dev/urandom | base64 > FILE); every "
                       "master needs the same file"),
        2);
  }
  options.secret = flag_value("zk_secret_file", read_zookeeper_secret(FLAGS_zk_secret_file));
  if (FLAGS_accept_older_registry) {
    exit_with(
        Error::invalid_argument(
            "--accept_older_registry is for a registry in --data_dir; with --zk there is none"),
        2);
  }
  options.session_timeout = flag_duration("zk_session_timeout", FLAGS_zk_session_timeout);
  if (options.session_timeout < kZooKeeperSessionMin ||
      options.session_timeout > kZooKeeperSessionMax) {
    exit_with(Error::invalid_argument(
                  text("--zk_session_timeout must be from ", to_text(kZooKeeperSessionMin), " to ",
                       to_text(kZooKeeperSessionMax), ", not ", quoted(FLAGS_zk_session_timeout))),
              2);
  }
  return options;
}

// Without keys the address must be loopback; no flag changes this.
void tcp_from_flags(master::MasterShellOptions& options) {
  const bool is_asked = !gflags::GetCommandLineFlagInfoOrDie("port").is_default ||
                        !FLAGS_bind.empty() || !FLAGS_advertise.empty();
  const uint16_t port = flag_port("port", FLAGS_port);
  if (FLAGS_insecure_tcp) {
    const std::string host = FLAGS_bind.empty() ? "127.0.0.1" : FLAGS_bind;
    if (!is_loopback(host)) {
      exit_with(
          Error::unsupported(
              text("--insecure_tcp serves only on this machine, not on ", quoted(host)))
              .with_hint(
                  "serve other machines with keys: run proffer keys init, and omit --insecure_tcp"),
          2);
    }
    options.tcp = {host, port};
    return;
  }
  if (!is_asked) return;
  const std::string path =
      FLAGS_key_file.empty() ? text(options.data_dir, "/", kMasterKeyFile) : FLAGS_key_file;
  Result<KeyPair> keys = read_key_file(path);
  if (!keys && keys.error().code() == ErrorCode::kNotFound) {
    exit_with(
        Error::failed_precondition(
            text("serving other machines requires a key, and there is no key in ", quoted(path)))
            .with_hint("make one with proffer keys init; or omit --port, --bind and --advertise: "
                       "this machine uses --socket"),
        2);
  }
  if (!keys) exit_with(std::move(keys).error(), 1);
  options.keys = *std::move(keys);
  options.tcp = {FLAGS_bind.empty() ? "0.0.0.0" : FLAGS_bind, port};
  if (FLAGS_advertise.empty() && !FLAGS_zk.empty()) {
    exit_with(
        Error::invalid_argument("with --zk, masters that serve other machines need --advertise")
            .with_hint(
                "use --advertise=HOST,HOST,HOST with the address of each master, this one first"),
        2);
  }
  if (FLAGS_advertise.empty()) return;
  for (const std::string_view one : split(FLAGS_advertise, ',')) {
    constexpr uint16_t kAsBound = 5050;
    Address address = flag_value("advertise", parse_address("address", one, kAsBound));
    // The text shows whether a port was named: without one, the port is that of --port.
    const bool has_port = one.ends_with(text(":", address.port));
    if (!has_port) address.port = 0;
    options.advertised.push_back(std::move(address));
  }
}

master::MasterShellOptions options_from_flags() {
  master::MasterShellOptions options;
  options.socket = FLAGS_socket;
  if (!options.socket.empty()) {
    // A name without a slash is a file here, not a host.
    const std::string path =
        FLAGS_socket.find('/') == std::string::npos ? text("./", FLAGS_socket) : FLAGS_socket;
    options.socket = flag_value("socket", parse_socket_or_address("path", path)).socket;
  }
  options.data_dir = FLAGS_data_dir;
  if (options.data_dir.empty()) {
    exit_with(Error::invalid_argument("--data_dir must name a directory"), 2);
  }
  tcp_from_flags(options);
  if (options.socket.empty() && !options.tcp) {
    exit_with(Error::invalid_argument("--socket must name a Unix socket, not ''")
                  .with_hint("or serve only TCP with --port and keys, or --insecure_tcp"),
              2);
  }
  options.http_port = http_port_from_flags(FLAGS_http_address, FLAGS_http_port);
  options.http_names = flag_value("http_names", parse_http_names(FLAGS_http_names));
  options.core.policy = policy_from_flags();
  options.zookeeper = zookeeper_from_flags();
  options.accepts_older_registry = FLAGS_accept_older_registry;
  if (FLAGS_history_mib < 0 || FLAGS_history_mib > kHistoryMibMax) {
    exit_with(Error::invalid_argument(text("--history_mib must be from 0 to ", kHistoryMibMax,
                                           ", not ", FLAGS_history_mib)),
              2);
  }
  options.history_bytes = static_cast<uint64_t>(FLAGS_history_mib) << 20;
  if (FLAGS_events_mib < 0 || FLAGS_events_mib > kHistoryMibMax) {
    exit_with(Error::invalid_argument(text("--events_mib must be from 0 to ", kHistoryMibMax,
                                           ", not ", FLAGS_events_mib)),
              2);
  }
  options.events_bytes = static_cast<uint64_t>(FLAGS_events_mib) << 20;
  options.record = FLAGS_record;
  constexpr int64_t kRecordMibMax = 65'536;
  if (FLAGS_record_mib < 1 || FLAGS_record_mib > kRecordMibMax) {
    exit_with(Error::invalid_argument(text("--record_mib must be from 1 to ", kRecordMibMax,
                                           ", not ", FLAGS_record_mib)),
              2);
  }
  options.record_bytes = static_cast<uint64_t>(FLAGS_record_mib) << 20;
  options.version = gflags::VersionString();
  options.history_age = flag_duration("history_age", FLAGS_history_age);
  if (options.history_age < minutes(1)) {
    exit_with(Error::invalid_argument(
                  text("--history_age must be at least 1m, not ", quoted(FLAGS_history_age))),
              2);
  }
  options.core.allocator.roles = table_of(flag_value("weights", parse_role_weights(FLAGS_weights)));
  options.core.allocator.is_audited = false;  // This program does not call violations().
  options.core.allocator.offer_timeout = flag_duration("offer_timeout", FLAGS_offer_timeout);
  options.core.allocator.claim_after = flag_duration("claim_after", FLAGS_claim_after);
  options.core.allocator.reclaim = reclaim_from_flag();
  const Result<Placement> placement = parse_placement("--placement", FLAGS_placement);
  if (!placement) exit_with(placement.error(), 2);
  options.core.allocator.placement = *placement;
  options.core.allocator.revoke_grace = flag_duration("revoke_grace", FLAGS_revoke_grace);
  options.core.allocator.minimum_runtime = flag_duration("minimum_runtime", FLAGS_minimum_runtime);
  if (FLAGS_revokes_per_minute < 0) {
    exit_with(Error::invalid_argument(
                  text("--revokes_per_minute must be at least 0, not ", FLAGS_revokes_per_minute)),
              2);
  }
  options.core.allocator.revokes_per_minute = FLAGS_revokes_per_minute;
  options.core.allocator.min_offer = flag_value("min_offer", parse_shape(FLAGS_min_offer));
  options.core.heartbeat = flag_duration("heartbeat", FLAGS_heartbeat);
  options.core.agent_timeout = flag_duration("agent_timeout", FLAGS_agent_timeout);
  options.core.reregistration_timeout =
      flag_duration("reregistration_timeout", FLAGS_reregistration_timeout);
  options.core.task_start_timeout = flag_duration("task_start_timeout", FLAGS_task_start_timeout);
  // Agents report every kStartingReport that a task is still being started.
  if (options.core.task_start_timeout < kStartingReport * 2) {
    exit_with(Error::invalid_argument(text("--task_start_timeout must be at least ",
                                           to_text(kStartingReport * 2), ", not ",
                                           quoted(FLAGS_task_start_timeout))),
              2);
  }
  if (FLAGS_agent_loss_percent < 1 || FLAGS_agent_loss_percent > 100) {
    exit_with(Error::invalid_argument(text("--agent_loss_percent must be from 1 to 100, not ",
                                           FLAGS_agent_loss_percent)),
              2);
  }
  options.core.brake.percent = FLAGS_agent_loss_percent;
  options.core.brake.period = flag_duration("agent_loss_period", FLAGS_agent_loss_period);
  if (options.core.brake.period < seconds(1)) {
    exit_with(Error::invalid_argument(text("--agent_loss_period must be at least 1s, not ",
                                           quoted(FLAGS_agent_loss_period))),
              2);
  }
  if (options.core.agent_timeout < options.core.heartbeat * 2) {
    exit_with(Error::invalid_argument(
                  text("--agent_timeout must be at least twice --heartbeat, not ",
                       quoted(FLAGS_agent_timeout), " with ", quoted(FLAGS_heartbeat))),
              2);
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  read_daemon_flags(help(), argc, argv);
  FLAGS_logtostderr = true;
  // Without it the C library reads the time zone file for each log line.
  setenv("TZ", ":/etc/localtime", 0);
  google::InitGoogleLogging(argv[0]);
  if (Result<void> chosen = choose_log_format(FLAGS_log_format, "proffer-master"); !chosen) {
    exit_with(std::move(chosen).error().in("--log_format"), 2);
  }

  raise_descriptor_limit();  // Each agent and scheduler has a connection.
  Loop loop;
  Result<std::unique_ptr<master::MasterShell>> shell =
      master::MasterShell::start(loop, options_from_flags());
  if (!shell) exit_with(shell.error(), 1);
  for (const int signal : {SIGINT, SIGTERM}) {
    loop.on_signal(signal, [&] { (*shell)->end(); });
  }
  loop.run();
  if (const Result<void>& outcome = (*shell)->outcome(); !outcome) {
    const Error why = outcome.error();
    const bool was_deposed = (*shell)->was_deposed();
    shell->reset();  // Another master may lead at once.
    exit_with(why, was_deposed ? kDeposed : 1);
  }
  LOG(INFO) << "master ends";
  return 0;
}
