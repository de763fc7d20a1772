#include "tests/upgrade/rolling_upgrade.h"

#include <algorithm>
#include <csignal>
#include <map>
#include <memory>

#include <sys/stat.h>

#include "common/check.h"
#include "common/text.h"
#include "proto/json/json.h"
#include "tests/integration/loaded_cluster.h"
#include "tests/support/zookeeper_server.h"
#include "tests/upgrade/copied_programs.h"

namespace proffer::upgrade_test {
namespace {

using namespace test;

// Some tasks begin and some end in between.
constexpr int64_t kRecordsBetweenChanges = 300;

class Rolling {
 public:
  explicit Rolling(const UpgradeOptions& options)
      : options_(options), cluster_(options.dir, false) {
    copy_programs(options_.from.bin(), programs_.path());
  }
  Judgement run();

 private:
  // The command of the same member in both versions.
  struct Commands {
    Words before = {};
    Words today = {};
    bool is_today = false;
  };

  bool start_all();
  bool start_master(int number);
  bool keep_port(Member& master);
  Member& add(const std::string& kind, const std::string& name, Words command, bool as_other);
  Words of_today(Words command) const;
  Words of_before(Words command) const;
  void change(const std::string& how);

  const UpgradeOptions options_;
  const TemporaryDirectory programs_;           // programs of both versions
  std::unique_ptr<ZooKeeperServer> zookeeper_;  // for several masters
  std::string port_ = "0";                      // TCP port, if the earlier version needs it
  std::map<std::string, Commands> commands_;    // by member
  LoadedCluster cluster_;
};

// `command` begins with the program's name.
Words Rolling::of_today(Words command) const {
  command.front() = programs_ / ("now/" + command.front());
  return command;
}

// The command with only the flags that the earlier version knows.
Words Rolling::of_before(Words command) const {
  const bool is_scheduler = command.front() == "kill_load";
  command.front() = programs_ / ("before/" + command.front());
  if (!options_.from.by_tcp) return command;
  std::erase_if(command, [](const std::string& word) {
    return word.starts_with("--socket=") || word == "--insecure_tcp" ||
           word.starts_with("--cgroup_parent=");
  });
  for (std::string& word : command) {
    if (word.starts_with("--master=")) word = "--master=127.0.0.1:" + port_;
  }
  if (!is_scheduler) command.push_back("--http_port=0");
  return command;
}

Member& Rolling::add(const std::string& kind, const std::string& name, Words command,
                     bool as_other) {
  Commands both{.before = of_before(command), .today = of_today(std::move(command))};
  if (as_other) {
    both.before = as_other_user(both.before);
    both.today = as_other_user(both.today);
  }
  Member member{.kind = kind, .name = name, .command = both.before};
  if (kind == "master" && options_.masters > 1) member.may_end_with = {kDeposed};
  commands_[name] = std::move(both);
  return cluster_.add(std::move(member));
}

bool Rolling::start_master(int number) {
  const std::string name = options_.masters == 1 ? "master" : text("master-", number);
  Words command = {"proffer-master", "--data_dir=" + cluster_.path(name),
                   "--socket=" + cluster_.path(name + ".sock"), "--heartbeat=1s",
                   text("--agent_timeout=", kAgentTimeoutMillis * slowdown(), "ms")};
  if (zookeeper_ != nullptr) {
    command.push_back("--zk=" + zookeeper_->address() + "/proffer");
    command.push_back("--zk_secret_file=" + cluster_.path("secret"));
    command.push_back(text("--zk_session_timeout=", slowdown(), "s"));
  }
  if (options_.from.by_tcp) {
    command.push_back("--insecure_tcp");
    command.push_back("--port=0");
  }
  Member& master = add("master", name, std::move(command), options_.from.by_tcp);
  return cluster_.await_address(master) && (!options_.from.by_tcp || keep_port(master));
}

// The member keeps its assigned port after a restart.
bool Rolling::keep_port(Member& master) {
  const auto told =
      proto::parse_json_line(trimmed(read_file(cluster_.path(master.name) + "/address.json")));
  if (!told) return false;
  const std::string address = std::get<std::string>(told->at("address"));
  port_ = address.substr(address.rfind(':') + 1);
  Commands& both = commands_.at(master.name);
  for (Words* command : {&both.before, &both.today}) {
    std::replace(command->begin(), command->end(), std::string("--port=0"), "--port=" + port_);
  }
  return true;
}

bool Rolling::start_all() {
  if (options_.masters > 1) {
    zookeeper_ = std::make_unique<ZooKeeperServer>();
    write_file(cluster_.path("secret"), "the secret of this upgrade\n");
    ::chmod(cluster_.path("secret").c_str(), 0600);
  }
  for (int i = 1; i <= options_.masters; ++i) {
    if (!start_master(i)) return false;
  }
  const std::string masters = "--master=" + cluster_.masters();
  for (int i = 1; i <= options_.agents; ++i) {
    const std::string name = text("agent-", i);
    Words command = cluster_.agent_command(name);
    command.front() = "proffer-agent";
    command.push_back(masters);
    add("agent", name, std::move(command), options_.from.by_tcp);
  }
  for (int i = 1; i <= options_.schedulers; ++i) {
    const std::string name = text("load", i);
    Words command = cluster_.load_command(name, static_cast<uint64_t>(i));
    command.front() = "kill_load";
    command.push_back(masters);
    add("scheduler", name, std::move(command), options_.from.by_tcp || i % 2 == 0);
  }
  const Words proffer = of_today({"proffer"});
  cluster_.use_command(options_.from.by_tcp ? as_other_user(proffer) : proffer);
  return cluster_.await_load();
}

// Like an operator: the member ends cleanly, and starts with the programs of the other version.
void Rolling::change(const std::string& how) {
  const bool goes_back = how.starts_with("back ");
  const std::string kind = goes_back ? how.substr(5) : how;
  Member* next = nullptr;
  for (Member* const member : cluster_.those_there(kind)) {
    if (commands_.at(member->name).is_today != goes_back) continue;
    if (next == nullptr || goes_back) next = member;
  }
  if (next == nullptr) {
    return cluster_.fail(text("there is no ", kind, " for the change ", quoted(how)));
  }
  const bool is_scheduler = kind == "scheduler";
  cluster_.journal().write("kill", text(kind, " ", next->name, " ", next->process->pid()));
  // A scheduler that gets SIGTERM ends its framework, unless its author changes that.
  next->process->kill(is_scheduler ? SIGKILL : SIGTERM);
  const Exit ended = next->process->wait();
  const std::string log = cluster_.path(next->name + ".log");
  if (ended.code != 0 && !is_scheduler) {
    cluster_.fail(text(next->name, " did not end as asked: exit code ", ended.code, ", signal ",
                       ended.signal, ":\n", read_file(log)));
  }
  Commands& both = commands_.at(next->name);
  both.is_today = !goes_back;
  next->command = both.is_today ? both.today : both.before;
  cluster_.start(*next);
  if (!is_scheduler && !cluster_.await_address(*next)) {
    cluster_.fail(
        text(next->name, " does not begin after the change ", quoted(how), ":\n", read_file(log)));
  }
}

Judgement Rolling::run() {
  if (!start_all()) return {.violations = {"the cluster did not start"}};
  for (const std::string& how : options_.changes) {
    cluster_.pass_records("journal", kRecordsBetweenChanges);
    change(how);
  }
  cluster_.pass_records("journal", kRecordsBetweenChanges);
  for (const auto& [name, both] : commands_) CHECK(both.is_today) << name << " is of before";
  return cluster_.settle_and_judge();
}

}  // namespace

Judgement run_rolling_upgrade(const UpgradeOptions& options) { return Rolling(options).run(); }

}  // namespace proffer::upgrade_test
