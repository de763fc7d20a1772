// Daemons write their addresses to address.json. start() waits for these files, and until the
// master knows all agents.

#include "cli/local_cluster.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "cli/master_client.h"
#include "cli/programs.h"
#include "common/text.h"
#include "proto/json/json.h"

namespace proffer::cli {
namespace {

namespace fs = std::filesystem;

constexpr Duration kStartTimeout = seconds(30);
constexpr Duration kEndTimeout = seconds(10);
constexpr Duration kPoll = milliseconds(10);
constexpr int64_t kFirstPort = 31'000;
constexpr int64_t kPortsEach = 100;

// One member of a daemon's address.json.
std::optional<std::string> address_of(const std::string& dir, const std::string& name) {
  std::ifstream file(dir + "/address.json");
  if (!file) return std::nullopt;
  std::stringstream content;
  content << file.rdbuf();
  const auto parsed = proto::parse_json_line(trimmed(content.str()));
  if (!parsed) return std::nullopt;
  const auto at = parsed->find(name);
  if (at == parsed->end()) return std::nullopt;
  const auto* value = std::get_if<std::string>(&at->second);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

}  // namespace

bool turn_until(Loop& loop, Duration at_most, const std::function<bool()>& ready) {
  const Time deadline = loop.now() + at_most;
  Timer timer(loop, [&loop] { loop.stop(); });
  while (!ready()) {
    if (loop.now() >= deadline) return false;
    timer.arm(loop.now() + kPoll);
    loop.run();
  }
  return true;
}

LocalCluster::LocalCluster(Loop& loop, Children& children, Options options)
    : loop_(loop), children_(children), options_(std::move(options)) {}

LocalCluster::~LocalCluster() {
  std::error_code ignored;
  for (const std::string& name : agents_) {
    for (const char* const one : {"socket", "http"}) {
      if (const auto socket = address_of(dir_of(name), one)) fs::remove(*socket, ignored);
    }
  }
  for (const std::string& name : agents_) children_.signal(name, SIGKILL);
  children_.signal("master", SIGKILL);
  turn_until(loop_, kEndTimeout, [this] { return children_.running() == 0; });
  Children::end_all_descendants();
}

bool LocalCluster::owns(const std::string& name) const {
  return name == "master" || std::find(agents_.begin(), agents_.end(), name) != agents_.end();
}

Result<void> LocalCluster::start_master() {
  const Result<std::string> program = find_program("master");
  if (!program) return program.error();
  std::vector<std::string> command = {*program, "--data_dir=" + dir_of("master"),
                                      "--socket=" + dir_of("master.sock"), "--heartbeat=1s"};
  for (const std::string& flag : options_.master_flags) command.push_back(flag);
  std::error_code ignored;
  fs::remove(dir_of("master") + "/address.json", ignored);
  if (Result<void> started = children_.start("master", std::move(command), dir_of("master.log"));
      !started) {
    return started;
  }
  std::optional<std::string> address;
  if (!turn_until(loop_, kStartTimeout,
                  [&] {
                    address = address_of(dir_of("master"), "address");
                    return address.has_value() || !children_.is_running("master");
                  }) ||
      !address) {
    return Error::timeout(text("the master did not start; see ", dir_of("master.log")))
        .with_hint("keep its log with --keep");
  }
  Result<Address> parsed = parse_socket_or_address("the address of the master", *address);
  if (!parsed) return parsed.error();
  master_ = *std::move(parsed);
  return {};
}

Result<void> LocalCluster::start_agent(const std::string& name, int64_t first_port) {
  const Result<std::string> program = find_program("agent");
  if (!program) return program.error();
  agents_.push_back(name);
  return children_.start(
      name,
      {*program, "--master=" + to_text(master_), "--name=" + name, "--work_dir=" + dir_of(name),
       text("--resources=", options_.resources, ";ports:[", first_port, "-",
            first_port + kPortsEach - 1, "]"),
       "--tasks_on_exit=kill", "--heartbeat=1s"},
      dir_of(name + ".log"));
}

Result<void> LocalCluster::start() {
  if (Result<void> started = start_master(); !started) return started;
  for (int i = 1; i <= options_.agents; ++i) {
    Result<void> started = start_agent(text("agent-", i), kFirstPort + i * kPortsEach);
    if (!started) return started;
  }
  const bool is_whole = turn_until(loop_, kStartTimeout, [this] {
    const Result<CallResult> answer = call({master_}, "status", "");
    if (!answer) return false;
    const Result<proto::MasterStatus> status = proto::parse_status(answer->json);
    return status && status->agents_connected == options_.agents;
  });
  if (is_whole) return {};
  return Error::timeout(text("the agents did not register; see ", options_.dir))
      .with_hint("keep their logs with --keep");
}

bool LocalCluster::kill(const std::string& name) {
  children_.signal(name, SIGKILL);
  return turn_until(loop_, kEndTimeout, [&] { return !children_.is_running(name); });
}

Result<void> LocalCluster::start_master_again() { return start_master(); }

void LocalCluster::pause_agents() const {
  for (const std::string& name : agents_) children_.signal(name, SIGSTOP);
}

void LocalCluster::resume_agents() const {
  for (const std::string& name : agents_) children_.signal(name, SIGCONT);
}

}  // namespace proffer::cli
