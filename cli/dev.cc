// proffer dev: a master, agents and the schedulers of service and batch on this machine, as
// separate processes. Read Dev::go first. It restarts only schedulers, reports the end of every
// process, and leaves no process behind at its end.

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <thread>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/children.h"
#include "cli/commands.h"
#include "cli/master_client.h"
#include "cli/output.h"
#include "cli/programs.h"
#include "common/resources.h"
#include "common/roles.h"
#include "common/text.h"
#include "net/fd.h"
#include "net/loop.h"
#include "net/trace_log.h"
#include "proto/json/json.h"

namespace proffer::cli {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kAgentsMax = 200;
constexpr Duration kStartTimeout = seconds(30);
constexpr Duration kPoll = milliseconds(10);
constexpr Duration kStopTimeout = seconds(10);  // kill grace of tasks and a margin
constexpr int64_t kNoPort = -1;                 // no TCP
constexpr int64_t kFirstPort = 31'000;
constexpr int64_t kLastPort = 31'999;

struct DevOptions {
  std::string dir = {};
  int64_t agents = 1;
  std::string resources = {};
  std::string attributes = {};
  std::string weights = {};
  std::string offer_timeout = {};
  std::string claim_after = {};
  int64_t port = kNoPort;
  int64_t http_port = kNoPort;
  bool keep = false;
  bool no_service = false;
  bool no_batch = false;
  bool json = false;
};

using Addresses = std::map<std::string, proto::JsonValue>;

// The ports of all agents together: from --resources, or the default ones.
PortSet ports_of(const DevOptions& options) {
  const Result<Resources> given = parse_agent_resources(options.resources);
  return given && !given->ports.empty() ? given->ports : PortSet({{kFirstPort, kLastPort}});
}

// Part `number` of `agents` parts: agents on one machine must not hand out the same ports.
PortSet part_of_ports(const PortSet& all, int64_t number, int64_t agents) {
  const std::vector<uint16_t> ports = *all.lowest(all.size());
  std::vector<PortRange> part;
  const auto size = static_cast<int64_t>(ports.size());
  for (int64_t i = size * (number - 1) / agents; i < size * number / agents; ++i) {
    const uint16_t port = ports[static_cast<size_t>(i)];
    part.push_back({port, port});
  }
  return PortSet(std::move(part));
}

// Expects a valid text. Returns it without its ports.
std::string without_ports(std::string_view resources) {
  std::string rest;
  while (!resources.empty()) {
    const size_t end = std::min(resources.find(';'), resources.size());
    const std::string_view item = resources.substr(0, end);
    if (item.find("ports") == std::string_view::npos) rest += text(rest.empty() ? "" : ";", item);
    resources.remove_prefix(std::min(end + 1, resources.size()));
  }
  return rest;
}

// The addresses that a daemon writes when it serves; empty until then.
std::optional<Addresses> read_addresses(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::stringstream content;
  content << file.rdbuf();
  Result<Addresses> parsed = proto::parse_json_line(trimmed(content.str()));
  if (!parsed) return std::nullopt;
  return *std::move(parsed);
}

std::string text_of(const Addresses& addresses, const std::string& name) {
  const auto at = addresses.find(name);
  if (at == addresses.end()) return {};
  const auto* value = std::get_if<std::string>(&at->second);
  return value == nullptr ? std::string() : *value;
}

// An agent's default resources: an even part of the machine, at least one CPU.
std::string even_part(int64_t agents) {
  const int64_t cpus = std::max<int64_t>(1, ::sysconf(_SC_NPROCESSORS_ONLN) / agents);
  const int64_t mebibytes = ::sysconf(_SC_PHYS_PAGES) / 1024 * (::sysconf(_SC_PAGESIZE) / 1024);
  const int64_t mem = std::max<int64_t>(256, mebibytes * 8 / 10 / agents);
  std::error_code error;
  const fs::space_info space = fs::space(fs::temp_directory_path(), error);
  const int64_t disk =
      error ? 1024 : static_cast<int64_t>(space.available / 1024 / 1024) * 8 / 10 / agents;
  return text("cpus:", cpus, ";mem:", mem, ";disk:", std::max<int64_t>(disk, 1));
}

// Back-off between restarts of a scheduler: it starts with the first delay and doubles up to the
// last. It starts again at the first delay if the scheduler ran longer than the last delay.
constexpr Duration kRestartFirst = milliseconds(500);
constexpr Duration kRestartLast = seconds(30);

class Dev {
 public:
  explicit Dev(DevOptions options)
      : options_(std::move(options)),
        children_(loop_, [this](const std::string& name, const std::string& how) {
          on_ended(name, how);
        }) {}
  int go();

 private:
  Result<void> start_master();
  Result<void> start_agent(int64_t number);
  Result<void> start_scheduler(const std::string& name);
  Result<void> launch_scheduler(const std::string& name);
  Result<void> wait_for(const std::string& name, const std::string& dir, Addresses* addresses);
  Result<void> wait_for_agents();
  Result<void> start_all();
  // Runs the loop until `ready`, a signal or the timeout.
  Result<void> turn_until(const std::string& what, const std::function<bool()>& ready);
  void say_where();
  void on_ended(const std::string& name, const std::string& how);
  void stop_all();
  void say(const std::string& line) {
    if (!options_.json) print_line(line);
  }
  std::string dir_of(const std::string& name) const { return options_.dir + "/" + name; }

  DevOptions options_;
  Loop loop_;
  Children children_;
  std::vector<std::string> agents_;
  struct Scheduler {
    Time started_at = {};
    Duration pause = kRestartFirst;  // delay before its next restart
    std::unique_ptr<Timer> restart = {};
  };
  std::map<std::string, Scheduler> schedulers_;
  bool is_ready_ = false;
  std::vector<std::string> sockets_;
  Addresses master_;
  bool asked_to_end_ = false;
  bool stopping_ = false;
};

int Dev::go() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    loop_.on_signal(signal, [this] {
      asked_to_end_ = true;
      loop_.stop();
    });
  }
  int status = 0;
  if (const Result<void> started = start_all(); !started) {
    if (!asked_to_end_) status = print_error(started.error(), options_.json);
  } else {
    is_ready_ = true;
    say_where();
    while (!asked_to_end_ && children_.running() > 0) loop_.run();
    if (!asked_to_end_) {
      status = print_error(Error::internal("all processes of the cluster have ended"), false);
    }
  }
  stop_all();
  return status;
}

Result<void> Dev::start_all() {
  if (Result<void> started = start_master(); !started) return started;
  for (int64_t i = 1; i <= options_.agents; ++i) {
    if (Result<void> started = start_agent(i); !started) return started;
  }
  if (Result<void> ready = wait_for_agents(); !ready) return ready;
  if (!options_.no_service) {
    if (Result<void> started = start_scheduler("service"); !started) return started;
  }
  if (!options_.no_batch) {
    if (Result<void> started = start_scheduler("batch"); !started) return started;
  }
  // When this file exists, the whole cluster is up.
  return write_file_atomically(options_.dir + "/address.json",
                               proto::json_line({{"address", text_of(master_, "address")},
                                                 {"http", text_of(master_, "http")},
                                                 {"http_port", text_of(master_, "http_port")},
                                                 {"http_port", text_of(master_, "http_port")},
                                                 {"pid", static_cast<int64_t>(getpid())}}) +
                                   "\n");
}

Result<void> Dev::start_master() {
  const Result<std::string> program = find_program("master");
  if (!program) return program.error();
  std::vector<std::string> command = {*program,
                                      "--data_dir=" + dir_of("master"),
                                      "--socket=" + dir_of("master.sock"),
                                      text("--http_port=", options_.http_port),
                                      "--heartbeat=1s",
                                      "--agent_timeout=5s",
                                      "--weights=" + options_.weights};
  if (options_.port != kNoPort) {
    command.push_back("--insecure_tcp");
    command.push_back(text("--port=", options_.port));
  }
  if (!options_.offer_timeout.empty()) {
    command.push_back("--offer_timeout=" + options_.offer_timeout);
  }
  if (!options_.claim_after.empty()) command.push_back("--claim_after=" + options_.claim_after);
  if (Result<void> started = children_.start("master", std::move(command), dir_of("master.log"));
      !started) {
    return started;
  }
  return wait_for("master", dir_of("master"), &master_);
}

Result<void> Dev::start_agent(int64_t number) {
  const Result<std::string> program = find_program("agent");
  if (!program) return program.error();
  const std::string name = text("agent-", number);
  std::string resources =
      options_.resources.empty() ? even_part(options_.agents) : without_ports(options_.resources);
  resources += text(";ports:", to_text(part_of_ports(ports_of(options_), number, options_.agents)));
  std::vector<std::string> command = {*program,
                                      "--master=" + text_of(master_, "address"),
                                      "--name=" + name,
                                      "--work_dir=" + dir_of(name),
                                      "--resources=" + resources,
                                      "--attributes=" + options_.attributes,
                                      "--tasks_on_exit=kill",
                                      "--heartbeat=1s"};
  agents_.push_back(name);
  return children_.start(name, std::move(command), dir_of(name + ".log"));
}

Result<void> Dev::launch_scheduler(const std::string& name) {
  const Result<std::string> program = find_program(name);
  if (!program) return program.error();
  schedulers_[name].started_at = loop_.now();
  return children_.start(name,
                         {*program, "scheduler", "--master", text_of(master_, "address"),
                          "--session-file", dir_of(name + ".session"), "--serve-users"},
                         dir_of(name + ".log"));
}

// Starts the scheduler that answers `proffer service` or `proffer batch`, and waits until the
// master knows it.
Result<void> Dev::start_scheduler(const std::string& name) {
  const std::string log = dir_of(name + ".log");
  if (Result<void> started = launch_scheduler(name); !started) return started;
  const Result<Masters> address = master_address(text_of(master_, "address"));
  if (!address) return address.error();
  bool ended = false;
  const Result<void> turned = turn_until(text("the ", name, " scheduler"), [&] {
    ended = !children_.is_running(name);
    if (ended) return true;
    const Result<CallResult> answer = call(*address, "frameworks", "");
    if (!answer) return false;
    const auto frameworks = proto::parse_frameworks(answer->json);
    if (!frameworks) return false;
    for (const proto::FrameworkRow& row : *frameworks) {
      if (row.name == name && row.state == proto::FrameworkState::kConnected) return true;
    }
    return false;
  });
  if (!turned || !ended) return turned;
  return Error::failed_precondition(text("the ", name, " scheduler did not start; see ", log))
      .with_hint(text("add --keep to keep its log, or --no-", name, " to start without it"));
}

Result<void> Dev::turn_until(const std::string& what, const std::function<bool()>& ready) {
  const Time deadline = loop_.now() + kStartTimeout;
  Timer timer(loop_, [this] { loop_.stop(); });
  while (!ready()) {
    if (asked_to_end_) return Error::failed_precondition("interrupted");
    if (loop_.now() >= deadline) {
      return Error::timeout(text(what, " did not start in ", to_text(kStartTimeout)))
          .with_hint(text("see its log in ", options_.dir, ", kept with --keep"));
    }
    timer.arm(loop_.now() + kPoll);
    loop_.run();
  }
  return {};
}

Result<void> Dev::wait_for(const std::string& name, const std::string& dir, Addresses* addresses) {
  bool ended = false;
  const Result<void> turned = turn_until(name, [&] {
    if (std::optional<Addresses> read = read_addresses(dir + "/address.json")) {
      *addresses = *std::move(read);
      return true;
    }
    ended = !children_.is_running(name);
    return ended;
  });
  if (!turned) return turned;
  if (!ended) return {};
  std::ifstream file(dir_of(name + ".log"));
  std::string last;
  std::string line;
  std::string hint;
  while (std::getline(file, line)) {
    if (line.starts_with("error: ")) last = line.substr(7);
    if (line.starts_with("  hint: ")) hint = line.substr(8);
  }
  return Error::failed_precondition(
             text(name, " did not start: ", last.empty() ? "see its log" : last))
      .with_hint(hint);
}

Result<void> Dev::wait_for_agents() {
  for (const std::string& name : agents_) {
    Addresses addresses;
    if (Result<void> ready = wait_for(name, dir_of(name), &addresses); !ready) return ready;
    for (const char* const one : {"socket", "http"}) sockets_.push_back(text_of(addresses, one));
  }
  const Result<Masters> master = master_address(text_of(master_, "address"));
  if (!master) return master.error();
  return turn_until("the cluster", [&] {
    const Result<CallResult> answer = call(*master, "status", "");
    if (!answer) return false;
    const Result<proto::MasterStatus> status = proto::parse_status(answer->json);
    return status && status->agents_connected == options_.agents;
  });
}

// Quotes the word for a shell.
std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-:,";
  if (word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') out += "'\\'";
    out += c;
  }
  return out + "'";
}

void Dev::say_where() {
  const std::string master = text_of(master_, "address");
  if (options_.json) {
    print_json(proto::json_line({{"event", std::string("ready")},
                                 {"master", master},
                                 {"http", text_of(master_, "http")},
                                 {"agents", agents_},
                                 {"dir", options_.dir}}));
    return;
  }
  print_line(text("master   ", master));
  for (const std::string& name : agents_) {
    const std::optional<Addresses> addresses = read_addresses(dir_of(name) + "/address.json");
    print_line(text(name, "  HTTP at ", addresses ? text_of(*addresses, "http") : "?"));
  }
  for (const auto& [name, scheduler] : schedulers_) {
    print_line(
        text(name, name == "batch" ? "    " : "  ", "the scheduler of `proffer ", name, "`"));
  }
  print_line(text("files    ", options_.dir, options_.keep ? "" : " (removed at the end)"));
  print_line("");
  // Schedulers and agents find this cluster only by the variable. Commands find it without the
  // variable, unless this user has joined another cluster or this one has its own directory.
  print_line(text("try      export PROFFER_MASTER=", shell_word(master)));
  print_line("         proffer run -- echo hello");
  print_line("         proffer status");
  print_line(text("         curl --unix-socket ", text_of(master_, "http"),
                  " http://localhost/v1/status"));
  if (const std::string port = text_of(master_, "http_port"); !port.empty()) {
    // The token is not an argument of curl: other users could read it there.
    print_line(text("         printf 'Authorization: Bearer %s' \"$(cat ", dir_of("master"),
                    "/http_token)\" | curl -H @- http://", port, "/v1/status"));
  }
  print_line("ready; Ctrl-C ends everything");
}

// A scheduler is restarted and finds its tasks as they were; masters and agents are not restarted.
void Dev::on_ended(const std::string& name, const std::string& how) {
  if (stopping_) return;
  const auto scheduler = schedulers_.find(name);
  const bool starts_again = is_ready_ && scheduler != schedulers_.end();
  Duration pause;
  if (starts_again) {
    Scheduler& one = scheduler->second;
    const bool was_well = loop_.now() - one.started_at > kRestartLast;
    pause = was_well ? kRestartFirst : one.pause;
    one.pause = std::min(pause * 2, kRestartLast);
    one.restart = std::make_unique<Timer>(loop_, [this, name] {
      const Result<void> started = launch_scheduler(name);
      if (!started) say(text(name, " cannot be started again: ", started.error().message()));
    });
    one.restart->arm(loop_.now() + pause);
  }
  if (options_.json) {
    std::vector<std::pair<std::string_view, proto::JsonValue>> members = {
        {"event", std::string("ended")}, {"process", name}, {"how", how}};
    if (starts_again) members.emplace_back("again_in_s", proto::MilliNumber{pause.millis()});
    print_json(proto::json_line(members));
  }
  say(text(
      name, " ended: ", how,
      starts_again ? text("; its tasks run on, and it is restarted in ", to_text(pause)) : ""));
  loop_.stop();
}

// Agents end their tasks first, then the master ends; processes that remain are killed.
void Dev::stop_all() {
  stopping_ = true;
  asked_to_end_ = false;  // A second Ctrl-C ends the wait early.
  say("ending the cluster");
  const auto turn_for = [&](Duration limit, const std::function<bool()>& done) {
    const Time deadline = loop_.now() + limit;
    Timer timer(loop_, [this] { loop_.stop(); });
    while (!done() && !asked_to_end_ && loop_.now() < deadline) {
      timer.arm(loop_.now() + kPoll);
      loop_.run();
    }
  };
  for (auto& [name, scheduler] : schedulers_) {
    scheduler.restart.reset();
    children_.signal(name, SIGTERM);
  }
  for (const std::string& name : agents_) children_.signal(name, SIGTERM);
  turn_for(kStopTimeout,
           [&] { return children_.running() == (children_.is_running("master") ? 1u : 0u); });
  children_.signal("master", SIGTERM);
  turn_for(seconds(2), [&] { return children_.running() == 0; });
  Children::end_all_descendants();
  std::error_code ignored;
  for (const std::string& socket : sockets_) {
    if (!socket.empty()) fs::remove(socket, ignored);
  }
  if (options_.keep) {
    fs::remove(options_.dir + "/address.json", ignored);
    say(text("its files are kept in ", options_.dir));
  } else {
    fs::remove_all(options_.dir, ignored);
  }
}

Error already_runs(const std::string& dir) {
  std::string process;
  if (const std::optional<Addresses> running = read_addresses(dir + "/address.json")) {
    const auto at = running->find("pid");
    const auto* pid = at == running->end() ? nullptr : std::get_if<int64_t>(&at->second);
    if (pid != nullptr) process = text(" (process ", *pid, ")");
  }
  return Error::failed_precondition(text("a cluster already runs in ", quoted(dir), process))
      .with_hint("use it, end it, or choose another directory with --dir");
}

// Makes the directory, and locks it as long as the result lives, so that another `proffer dev` does
// not use it even while this cluster starts. Errors: kFailedPrecondition (a cluster runs there, or
// it is another user's), kInvalidArgument.
Result<Fd> lock_dir(const std::string& dir, bool is_default) {
  std::error_code error;
  fs::create_directories(dir, error);
  // In a directory for all users, the name of the default may be another user's link.
  const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (is_default ? O_NOFOLLOW : 0);
  Fd locked(::open(dir.c_str(), flags));
  struct stat seen = {};
  if (locked.get() < 0 || ::fstat(locked.get(), &seen) != 0) {
    return Error::invalid_argument(text("cannot use directory ", quoted(dir), ": ",
                                        error ? error.message() : ::strerrordesc_np(errno)))
        .with_hint("choose a new or empty directory with --dir");
  }
  if (seen.st_uid != ::geteuid()) {
    return Error::failed_precondition(text("directory ", quoted(dir), " belongs to another user"))
        .with_hint("choose a new or empty directory with --dir");
  }
  if (::flock(locked.get(), LOCK_EX | LOCK_NB) != 0) return already_runs(dir);
  // A cluster that ended meanwhile may have removed it.
  struct stat there = {};
  if (::stat(dir.c_str(), &there) != 0 || there.st_ino != seen.st_ino) return already_runs(dir);
  return locked;
}

// Accepts an empty or new directory, or one of an earlier dev cluster, and locks it. The default
// directory is emptied.
Result<Fd> prepare_dir(const DevOptions& options, bool is_default) {
  Result<Fd> locked = lock_dir(options.dir, is_default);
  if (!locked) return locked;
  std::error_code error;
  if (is_default) {
    for (const auto& entry : fs::directory_iterator(options.dir, error)) {
      fs::remove_all(entry.path(), error);
    }
  }
  if (!fs::is_empty(options.dir, error) && !fs::exists(options.dir + "/master", error)) {
    return Error::already_exists(text("directory ", quoted(options.dir), " contains other files"))
        .with_hint("choose a new or empty directory with --dir");
  }
  fs::permissions(options.dir, fs::perms::owner_all, error);
  fs::remove(options.dir + "/address.json", error);
  return locked;
}

Result<void> check(const DevOptions& options) {
  if (options.agents < 1 || options.agents > kAgentsMax) {
    return Error::invalid_argument(
        text("--agents must be from 1 to ", kAgentsMax, ", not ", options.agents));
  }
  for (const auto& [name, port] : {std::pair<std::string_view, int64_t>("--port", options.port),
                                   {"--http-port", options.http_port}}) {
    if ((port < 0 || port > 65535) && port != kNoPort) {
      return Error::invalid_argument(
          text(name, " must be from 0 (any free port) to 65535, not ", port));
    }
  }
  if (!options.resources.empty()) {
    const Result<Resources> parsed = parse_agent_resources(options.resources);
    if (!parsed) return Error(parsed.error()).in("--resources");
    if (!parsed->ports.empty() && parsed->ports.size() < options.agents) {
      return Error::invalid_argument(text("--resources must have a port for each of ",
                                          options.agents, " agents, not ", parsed->ports.size()));
    }
  }
  if (const Result<Attributes> parsed = parse_attributes(options.attributes); !parsed) {
    return Error(parsed.error()).in("--attributes");
  }
  if (const Result<RoleWeights> parsed = parse_role_weights(options.weights); !parsed) {
    return Error(parsed.error()).in("--weights");
  }
  for (const auto& [name, value] : {std::pair("--offer-timeout", &options.offer_timeout),
                                    std::pair("--claim-after", &options.claim_after)}) {
    if (value->empty()) continue;
    if (const Result<Duration> parsed = parse_duration(*value); !parsed) {
      return Error(parsed.error()).in(name);
    }
  }
  return {};
}

}  // namespace

int run_dev(const Words& words) {
  DevOptions options;
  Arguments arguments(
      "proffer dev [--agents N] [options]",
      "start a local cluster: a master and agents as processes on this machine. "
      "Other commands of the same user find it, unless --dir is given. Your own "
      "schedulers and agents need the line `export PROFFER_MASTER=…` that it prints. "
      "The agents divide the ports in --resources among them. Ctrl-C ends the "
      "cluster and its tasks, and removes its files unless --keep is given.");
  arguments.option("--agents", &options.agents, "number of agents (default 1)");
  arguments.option(
      "--resources", &options.resources,
      "resources of each agent, as in 'cpus:2;mem:2048' (default: an even part of this machine)");
  arguments.option("--attributes", &options.attributes,
                   "attributes of each agent, as in 'rack:r1;disk:ssd'");
  arguments.option("--weights", &options.weights, "weights of roles, as in ads=2,batch=0.5");
  arguments.option(
      "--port", &options.port,
      "serve TCP without authentication on this port; 0: any free port (default: no TCP)");
  arguments.option(
      "--http-port", &options.http_port,
      "serve HTTP on this port, with a token; 0: any free port (default: no HTTP port)");
  arguments.option("--offer-timeout", &options.offer_timeout, "lease of offers (default 30s)");
  arguments.option("--claim-after", &options.claim_after,
                   "time after which a waiting ask gets a claim (default 30s)");
  arguments.option(
      "--dir", &options.dir,
      "directory for its files (default: proffer-dev-<uid> in the temporary directory)");
  arguments.flag("--keep", &options.keep, "keep the files at the end");
  arguments.flag("--no-service", &options.no_service,
                 "do not start the scheduler of `proffer service`");
  arguments.flag("--no-batch", &options.no_batch, "do not start the scheduler of `proffer batch`");
  arguments.flag("--json", &options.json, "print one JSON object per line");
  arguments.examples({"proffer dev --agents 3 --resources 'cpus:2;mem:2048'",
                      "proffer dev --weights ads=2,batch=0.5 --keep"});
  if (const auto status = arguments.parse(words)) return *status;
  const bool is_default = options.dir.empty();
  if (is_default) {
    const Result<std::string> dir = dev_directory();
    if (!dir) return print_error(dir.error(), options.json);
    options.dir = *dir;
  }
  std::error_code error;
  options.dir = fs::absolute(options.dir, error).lexically_normal().string();
  if (const Result<void> checked = check(options); !checked)
    return usage_error(checked.error(), options.json);
  const Result<Fd> locked = prepare_dir(options, is_default);
  if (!locked) return print_error(locked.error(), options.json);
  Dev dev(std::move(options));
  return dev.go();
}

}  // namespace proffer::cli
