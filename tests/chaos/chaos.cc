// run() is the whole story: start, let faults befall the cluster, heal them, let everything come to
// its end, judge. The faults are the functions of kFaults.

#include "tests/chaos/chaos.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"
#include "common/prng.h"
#include "common/text.h"
#include "proto/json/json.h"
#include "tests/chaos/network.h"
#include "tests/chaos/operators.h"
#include "tests/chaos/registry_oracle.h"
#include "tests/integration/loaded_cluster.h"
#include "tests/machines/machines.h"
#include "tests/support/relay.h"
#include "tests/support/zookeeper_proxy.h"
#include "tests/support/zookeeper_server.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;

constexpr int kMasters = 3;
constexpr int kAgents = 3;
constexpr int kSchedulers = 2;
// Numbers of machines in the network: a master has its own number.
constexpr int kFirstAgent = 10;
constexpr int kFirstScheduler = 20;
constexpr int kSpare = 30;
// So many go on at the same time.
constexpr size_t kFaultsMax = 3;
// A process that has met a full disk has ended by then.
constexpr int64_t kEndsWithin = 3'000'000'000;
// By then after the last fault nobody's lead is about to end.
constexpr int64_t kCalmNanos = 4'000'000'000;
constexpr int kReplaced = 7;  // exit code of a scheduler that a newer life has replaced
constexpr int64_t kMillisecond = 1'000'000;

struct User {
  const char* name;
  unsigned uid;
};
constexpr User kUsers[kSchedulers] = {{"daemon", 1}, {"nobody", 65'534}};

// Something that lasts.
struct Fault {
  std::string what = {};
  // What of whom it has to itself meanwhile: "agent-1 process", "master-2 link".
  std::vector<std::string> touched = {};
  int64_t heals_at = 0;
  std::function<void()> heal = {};
  // Called often; true: it is over before its time.
  std::function<bool()> look = {};
};

class Chaos {
 public:
  explicit Chaos(const ChaosOptions& options)
      : options_(options), prng_(options.seed), cluster_(options.dir, options.verbose) {}
  ~Chaos();
  ChaosJudgement run();

  using Begin = std::optional<Fault> (Chaos::*)();
  struct Kind {
    const char* name;
    Begin begin;  // nothing: there is nobody whom it could befall now
  };
  static const std::vector<Kind>& kinds();

 private:
  // --- start -----------------------------------------------------------------------------------
  bool start_all();
  void make_machine(const std::string& name, int number);
  void mount_disk(const std::string& name, int mib);
  void start_master(int i);
  bool join(const std::string& machine, unsigned uid, const Words& whom);
  int number_of(const std::string& name) const { return numbers_.at(name); }
  Machine& machine(const std::string& name) { return *machines_.at(name); }

  // --- faults ----------------------------------------------------------------------------------
  void befall();
  void heal_those_due();
  bool is_touched(const std::string& what) const;
  // One of this kind whose process, or link, no fault has to itself.
  Member* choose(const std::string& kind, const std::string& part);
  Member* leader(const std::string& part);
  pid_t choose_forked(const std::string& kind);
  int64_t in(int64_t least_millis, int64_t most_millis);
  int64_t for_a_while();

  std::optional<Fault> kill(Member* victim);
  std::optional<Fault> stop(Member* victim, int64_t until);
  // Until then what goes to the member, or comes from it, is swallowed or slow.
  std::optional<Fault> disturb_link(Member* victim, const char* what, Way to, Way from);
  void set_link(const Member& member, Way to, Way from);
  std::optional<Fault> fill_disk(Member* victim);

  std::optional<Fault> kill_leader() { return kill(leader("process")); }
  std::optional<Fault> kill_master() { return kill(choose("master", "process")); }
  std::optional<Fault> kill_agent() { return kill(choose("agent", "process")); }
  std::optional<Fault> kill_scheduler() { return kill(choose("scheduler", "process")); }
  std::optional<Fault> kill_executor();
  std::optional<Fault> kill_stem();
  std::optional<Fault> kill_zookeeper();
  std::optional<Fault> stop_leader() { return stop(leader("process"), in(500, 5'000)); }
  std::optional<Fault> stop_master() { return stop(choose("master", "process"), in(200, 4'000)); }
  std::optional<Fault> stop_agent() { return stop(choose("agent", "process"), for_a_while()); }
  std::optional<Fault> stop_scheduler() {
    return stop(choose("scheduler", "process"), for_a_while());
  }
  std::optional<Fault> stop_executor();
  std::optional<Fault> stop_zookeeper();
  Member* choose_any_link();
  std::optional<Fault> unplug() {
    return disturb_link(choose_any_link(), "unplugged", {.swallows = true}, {.swallows = true});
  }
  std::optional<Fault> deafen() {
    return disturb_link(choose_any_link(), "deaf", {.swallows = true}, {});
  }
  std::optional<Fault> mute() {
    return disturb_link(choose_any_link(), "mute", {}, {.swallows = true});
  }
  std::optional<Fault> slow_down();
  std::optional<Fault> flap();
  std::optional<Fault> part_from_leader();
  std::optional<Fault> cut_zookeeper();
  std::optional<Fault> fill_disk_of_agent() { return fill_disk(choose("agent", "process")); }
  std::optional<Fault> fill_disk_of_master() { return fill_disk(choose("master", "process")); }
  std::optional<Fault> start_twin();
  std::optional<Fault> copy_agent();

  bool all_agents_are_connected();

  const ChaosOptions options_;
  Prng prng_;
  std::unique_ptr<ZooKeeperServer> zookeeper_;
  std::map<std::string, std::unique_ptr<Machine>> machines_;
  std::map<std::string, int> numbers_;
  Network network_;
  std::vector<std::unique_ptr<Relay>> relays_;  // by master
  std::set<std::string> disks_;
  LoadedCluster cluster_;
  std::unique_ptr<Operators> operators_;
  std::vector<Fault> faults_;
  std::vector<Kind> bag_;
  int64_t next_fault_at_ = 0;
  int64_t last_fault_at_ = 0;    // when one began or healed
  bool is_calm_wanted_ = false;  // by a fault that cannot be beside others
  int copies_ = 0;
};

const std::vector<Chaos::Kind>& Chaos::kinds() {
  static const std::vector<Kind> all = {
      {"kill_leader", &Chaos::kill_leader},
      {"kill_master", &Chaos::kill_master},
      {"kill_agent", &Chaos::kill_agent},
      {"kill_scheduler", &Chaos::kill_scheduler},
      {"kill_executor", &Chaos::kill_executor},
      {"kill_stem", &Chaos::kill_stem},
      {"kill_zookeeper", &Chaos::kill_zookeeper},
      {"stop_leader", &Chaos::stop_leader},
      {"stop_master", &Chaos::stop_master},
      {"stop_agent", &Chaos::stop_agent},
      {"stop_scheduler", &Chaos::stop_scheduler},
      {"stop_executor", &Chaos::stop_executor},
      {"stop_zookeeper", &Chaos::stop_zookeeper},
      {"unplug", &Chaos::unplug},
      {"deaf", &Chaos::deafen},
      {"mute", &Chaos::mute},
      {"slow", &Chaos::slow_down},
      {"flap", &Chaos::flap},
      {"apart", &Chaos::part_from_leader},
      {"cut_zookeeper", &Chaos::cut_zookeeper},
      {"full_agent", &Chaos::fill_disk_of_agent},
      {"full_master", &Chaos::fill_disk_of_master},
      {"twin", &Chaos::start_twin},
      {"copy", &Chaos::copy_agent},
  };
  return all;
}

// --- start -------------------------------------------------------------------------------------

void Chaos::make_machine(const std::string& name, int number) {
  machines_[name] = std::make_unique<Machine>(name, cluster_.path("machines"));
  numbers_[name] = number;
  network_.join(machine(name), number);
}

// The cluster's own, which can be full.
void Chaos::mount_disk(const std::string& name, int mib) {
  const std::string path = cluster_.path(name);
  fs::create_directory(path);
  PCHECK(::mount("tmpfs", path.c_str(), "tmpfs", 0, text("mode=0711,size=", mib, "m").c_str()) ==
         0);
  disks_.insert(path);
}

void Chaos::start_master(int i) {
  Member master{.kind = "master", .name = text("master-", i), .may_end_with = {kDeposed}};
  std::string everybody = Network::address(i);
  for (int k = 1; k < kMasters; ++k) {
    everybody += "," + Network::address((i - 1 + k) % kMasters + 1);
  }
  master.environment = machine(master.name).environment();
  master.command =
      machine(master.name)
          .command({program("proffer-master"), "--data_dir=" + cluster_.path(master.name),
                    "--socket=" + cluster_.socket(master), "--port=5050",
                    "--advertise=" + everybody,
                    text("--zk=", relays_[static_cast<size_t>(i) - 1]->address(), "/proffer"),
                    "--zk_secret_file=" + cluster_.path("secret"),
                    text("--zk_session_timeout=", 2 * slowdown(), "s"), "--heartbeat=1s",
                    text("--agent_timeout=", kAgentTimeoutMillis * slowdown(), "ms")});
  cluster_.add(std::move(master));
}

bool Chaos::join(const std::string& name, unsigned uid, const Words& whom) {
  Words words = {program("proffer"), "join-token", "--master=" + cluster_.masters()};
  words.insert(words.end(), whom.begin(), whom.end());
  const Exit made = test::run(words);
  const std::string token = cluster_.path("token-" + name);
  write_file(token, made.out);
  fs::permissions(token, fs::perms::owner_read | fs::perms::others_read);
  const std::string config = machine(name) / "config";
  fs::create_directories(config);
  CHECK_EQ(::chown(config.c_str(), uid, uid), 0);
  const Exit joined =
      machine(name).runs_as(uid, {cluster_.path("proffer"), "join", "--join-file", token});
  if (joined.code != 0) cluster_.fail(text(name, " does not join: ", made.err, joined.err));
  return joined.code == 0;
}

bool Chaos::start_all() {
  // Whatever becomes of this process, its mounts go with it.
  PCHECK(::unshare(CLONE_NEWNS) == 0);
  PCHECK(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0);
  zookeeper_ = std::make_unique<ZooKeeperServer>();
  write_file(cluster_.path("secret"), "the secret of this chaos\n");
  ::chmod(cluster_.path("secret").c_str(), 0600);
  fs::copy_file(program("proffer"), cluster_.path("proffer"));
  for (int i = 1; i <= kMasters; ++i) {
    const std::string name = text("master-", i);
    make_machine(name, i);
    Fd listener;
    machine(name).within([&] { listener = listening_on_loopback(); });
    relays_.push_back(std::make_unique<Relay>(zookeeper_->address(), std::move(listener)));
    mount_disk(name, 16);
  }
  for (int i = 1; i <= kAgents; ++i) {
    make_machine(text("agent-", i), kFirstAgent + i);
    mount_disk(text("agent-", i), 64);
  }
  for (int i = 1; i <= kSchedulers; ++i) make_machine(text("load", i), kFirstScheduler + i);
  make_machine("spare", kSpare);
  network_.start();

  const std::string key = cluster_.path("master-1/master.key");
  const Exit keys =
      test::run({program("proffer"), "keys", "init", "--data-dir=" + cluster_.path("master-1")});
  CHECK_EQ(keys.code, 0) << keys.err;
  for (int i = 1; i <= kMasters; ++i) {
    if (i != 1) fs::copy_file(key, cluster_.path(text("master-", i, "/master.key")));
    start_master(i);
  }
  for (const Member& member : cluster_.members()) {
    if (!cluster_.await_address(member)) return false;
  }
  std::vector<std::string> sockets;
  for (const Member& member : cluster_.members()) sockets.push_back(cluster_.socket(member));
  for (int i = 1; i <= kAgents; ++i) {
    const std::string name = text("agent-", i);
    if (!join(name, 0, {"--agent", name})) return false;
    Words command = cluster_.agent_command(name);
    command.push_back("--master_timeout=5s");
    cluster_.add({.kind = "agent",
                  .name = name,
                  .command = machine(name).command(command),
                  .environment = machine(name).environment()});
  }
  for (int i = 1; i <= kSchedulers; ++i) {
    const std::string name = text("load", i);
    const User& user = kUsers[i - 1];
    if (!join(name, user.uid, {"--user", user.name})) return false;
    Words command = {"setpriv", text("--reuid=", user.uid), text("--regid=", user.uid),
                     "--clear-groups"};
    for (const std::string& word :
         cluster_.load_command(name, options_.seed * 100 + static_cast<uint64_t>(i))) {
      command.push_back(word);
    }
    cluster_.add({.kind = "scheduler",
                  .name = name,
                  .command = machine(name).command(command),
                  .environment = machine(name).environment()});
  }
  operators_ = std::make_unique<Operators>(sockets, cluster_.path("operators"));
  return cluster_.await_load();
}

// --- faults ------------------------------------------------------------------------------------

bool Chaos::is_touched(const std::string& what) const {
  return std::any_of(faults_.begin(), faults_.end(), [&](const Fault& fault) {
    return std::find(fault.touched.begin(), fault.touched.end(), what) != fault.touched.end();
  });
}

Member* Chaos::choose(const std::string& kind, const std::string& part) {
  std::vector<Member*> there = cluster_.those_there(kind);
  std::erase_if(there, [&](const Member* member) {
    return is_touched(member->name + " " + part) || !is_alive(member->process->pid());
  });
  return there.empty() ? nullptr : there.at(prng_.below(there.size()));
}

Member* Chaos::leader(const std::string& part) {
  const int leading = operators_->leading();
  if (leading == 0) return nullptr;
  Member& found = cluster_.member(text("master-", leading));
  const bool is_there = found.back_at == 0 && is_alive(found.process->pid());
  return is_there && !is_touched(found.name + " " + part) ? &found : nullptr;
}

Member* Chaos::choose_any_link() {
  const char* const all[] = {"agent", "agent", "scheduler", "master"};
  return choose(all[prng_.below(std::size(all))], "link");
}

// 0: there is none now.
pid_t Chaos::choose_forked(const std::string& kind) {
  const std::vector<pid_t> there = cluster_.forked(kind);
  return there.empty() ? 0 : there.at(prng_.below(there.size()));
}

int64_t Chaos::in(int64_t least_millis, int64_t most_millis) {
  return now_nanos() + prng_.between(least_millis, most_millis) * kMillisecond;
}

// Mostly so short that nobody is given up, now and then longer.
int64_t Chaos::for_a_while() {
  const uint64_t length = prng_.below(10);
  return length < 6   ? in(200, 1'500)
         : length < 8 ? in(2'000, 4'000)
                      : in(kAgentTimeoutMillis + 500, kAgentTimeoutMillis + 3'000);
}

std::optional<Fault> Chaos::kill(Member* victim) {
  if (victim == nullptr) return std::nullopt;
  const bool at_once = prng_.chance(1, 2);
  cluster_.kill(*victim, at_once              ? 0
                         : prng_.chance(4, 5) ? prng_.between(20, 1'500)
                                              : prng_.between(kAgentTimeoutMillis + 500,
                                                              kAgentTimeoutMillis + 1'500));
  return Fault{.what = "killed"};
}

std::optional<Fault> Chaos::kill_executor() {
  const pid_t pid = choose_forked("executor");
  if (pid == 0) return std::nullopt;
  cluster_.kill_forked("executor", pid);
  return Fault{.what = "killed"};
}

std::optional<Fault> Chaos::kill_stem() {
  const pid_t pid = choose_forked("stem");
  if (pid == 0) return std::nullopt;
  cluster_.kill_forked("stem", pid);
  return Fault{.what = "killed"};
}

// The next leader and all others need it.
std::optional<Fault> Chaos::kill_zookeeper() {
  if (is_touched("zookeeper")) return std::nullopt;
  cluster_.journal().write("fault", "master - zookeeper_killed");
  cluster_.say("killed zookeeper");
  zookeeper_->kill();
  return Fault{.what = "zookeeper_killed",
               .touched = {"zookeeper"},
               .heals_at = in(100, 3'000),
               .heal = [this] {
                 zookeeper_->start();
                 cluster_.journal().write("healed", "master - zookeeper_killed");
               }};
}

std::optional<Fault> Chaos::stop_zookeeper() {
  if (is_touched("zookeeper")) return std::nullopt;
  cluster_.journal().write("fault", "master - zookeeper_stopped");
  cluster_.say("stopped zookeeper");
  const pid_t pid = zookeeper_->pid();
  ::kill(pid, SIGSTOP);
  return Fault{.what = "zookeeper_stopped",
               .touched = {"zookeeper"},
               .heals_at = in(200, 4'000),
               .heal = [this, pid] {
                 ::kill(pid, SIGCONT);
                 cluster_.journal().write("healed", "master - zookeeper_stopped");
               }};
}

std::optional<Fault> Chaos::stop(Member* victim, int64_t until) {
  if (victim == nullptr) return std::nullopt;
  const std::string who = text(victim->kind, " ", victim->name, " stopped");
  const pid_t pid = victim->process->pid();
  cluster_.journal().write("fault", who);
  cluster_.say(
      text("stopped ", victim->name, " for ", (until - now_nanos()) / kMillisecond, " ms"));
  ::kill(pid, SIGSTOP);
  return Fault{.what = "stopped",
               .touched = {victim->name + " process"},
               .heals_at = until,
               .heal = [this, pid, who] {
                 ::kill(pid, SIGCONT);
                 cluster_.journal().write("healed", who);
               }};
}

// For less than an agent waits for one that comes back.
std::optional<Fault> Chaos::stop_executor() {
  const pid_t pid = choose_forked("executor");
  if (pid == 0) return std::nullopt;
  cluster_.journal().write("fault", "executor - stopped");
  cluster_.say(text("stopped executor ", pid));
  ::kill(pid, SIGSTOP);
  return Fault{
      .what = "stopped", .touched = {"executor"}, .heals_at = in(200, 3'000), .heal = [this, pid] {
        ::kill(pid, SIGCONT);
        cluster_.journal().write("healed", "executor - stopped");
      }};
}

// A master's way to ZooKeeper is part of its link.
void Chaos::set_link(const Member& member, Way to, Way from) {
  const int number = number_of(member.name);
  network_.set(0, number, to);
  network_.set(number, 0, from);
  if (member.kind != "master") return;
  Relay& relay = *relays_[static_cast<size_t>(number) - 1];
  relay.hold(from.swallows, to.swallows);
  relay.delay(std::max(to.delay_millis, from.delay_millis));
}

std::optional<Fault> Chaos::disturb_link(Member* victim, const char* what, Way to, Way from) {
  if (victim == nullptr) return std::nullopt;
  const std::string who = text(victim->kind, " ", victim->name, " ", what);
  const int64_t until = for_a_while();
  cluster_.journal().write("fault", who);
  cluster_.say(
      text(victim->name, " is ", what, " for ", (until - now_nanos()) / kMillisecond, " ms"));
  set_link(*victim, to, from);
  return Fault{.what = what,
               .touched = {victim->name + " link"},
               .heals_at = until,
               .heal = [this, victim, who] {
                 set_link(*victim, {}, {});
                 cluster_.journal().write("healed", who);
               }};
}

std::optional<Fault> Chaos::slow_down() {
  // There and back together up to half a second.
  const int millis = static_cast<int>(prng_.between(50, 250));
  return disturb_link(choose_any_link(), "slow", {.delay_millis = millis},
                      {.delay_millis = millis});
}

std::optional<Fault> Chaos::flap() {
  Member* const victim = choose_any_link();
  std::optional<Fault> fault =
      disturb_link(victim, "flapping", {.swallows = true}, {.swallows = true});
  if (!fault) return fault;
  const int64_t period = prng_.between(100, 700) * kMillisecond;
  const int64_t begin = now_nanos();
  fault->look = [this, victim, period, begin, is_down = true]() mutable {
    const bool shall_be_down = (now_nanos() - begin) / period % 2 == 0;
    if (shall_be_down != is_down) {
      set_link(*victim, {.swallows = shall_be_down}, {.swallows = shall_be_down});
      is_down = shall_be_down;
    }
    return false;
  };
  return fault;
}

// Both reach everybody else.
std::optional<Fault> Chaos::part_from_leader() {
  Member* const agent = choose("agent", "link");
  Member* const master = leader("link");
  if (agent == nullptr || master == nullptr) return std::nullopt;
  const int a = number_of(agent->name);
  const int m = number_of(master->name);
  const std::string who = text("agent ", agent->name, " apart");
  const int64_t until = for_a_while();
  cluster_.journal().write("fault", who);
  cluster_.say(text(agent->name, " is apart from ", master->name, " for ",
                    (until - now_nanos()) / kMillisecond, " ms"));
  network_.set(a, m, {.swallows = true});
  network_.set(m, a, {.swallows = true});
  return Fault{.what = "apart",
               .touched = {agent->name + " link", master->name + " link"},
               .heals_at = until,
               .heal = [this, a, m, who] {
                 network_.set(a, m, {});
                 network_.set(m, a, {});
                 cluster_.journal().write("healed", who);
               }};
}

// Its session goes on with a new connection.
std::optional<Fault> Chaos::cut_zookeeper() {
  Member* const master = choose("master", "link");
  if (master == nullptr) return std::nullopt;
  const std::string who = text("master ", master->name, " zookeeper_cut");
  cluster_.journal().write("fault", who);
  cluster_.say("cut the connections of " + master->name + " with zookeeper");
  relays_[static_cast<size_t>(number_of(master->name)) - 1]->cut();
  cluster_.journal().write("healed", who);
  return Fault{.what = "zookeeper_cut"};
}

// An agent that cannot write its checkpoint ends, and is started again and again.
std::optional<Fault> Chaos::fill_disk(Member* victim) {
  if (victim == nullptr) return std::nullopt;
  const std::string who = text(victim->kind, " ", victim->name, " full");
  const std::string filler = cluster_.path(victim->name) + "/filler";
  victim->disk_is_short_until = std::numeric_limits<int64_t>::max();
  cluster_.journal().write("fault", who);
  cluster_.say("filled the disk of " + victim->name);
  test::run({"/bin/sh", "-c", "cat /dev/zero > " + filler + " 2>/dev/null"});
  return Fault{.what = "full",
               .touched = {victim->name + " process"},
               .heals_at = in(300, 4'000),
               .heal = [this, victim, who, filler] {
                 fs::remove(filler);
                 // It may be ending because of it.
                 victim->disk_is_short_until = now_nanos() + kEndsWithin;
                 cluster_.journal().write("healed", who);
               }};
}

// A second scheduler of the same framework, from a copy of its session file. One of the two is told
// that a newer session has begun, and ends; mostly the one that was there.
std::optional<Fault> Chaos::start_twin() {
  Member* const old = choose("scheduler", "process");
  if (old == nullptr) return std::nullopt;
  const std::string session = cluster_.path(old->name + ".session");
  // The twin before may be the one that goes on, with its file.
  const std::string copy = text(session, "-", ++copies_);
  // It has no session yet.
  if (!fs::exists(session)) return std::nullopt;
  const std::string who = text("scheduler ", old->name, " twin");
  cluster_.journal().write("fault", who);
  cluster_.say("started a twin of " + old->name);
  fs::copy_file(session, copy);
  struct stat owner = {};
  PCHECK(::stat(session.c_str(), &owner) == 0);
  PCHECK(::chown(copy.c_str(), owner.st_uid, owner.st_gid) == 0);
  ::chmod(copy.c_str(), 0600);
  Member second{.kind = old->kind,
                .name = old->name,
                .command = old->command,
                .environment = old->environment};
  for (std::string& word : second.command) {
    if (word.starts_with("--session_file=")) word = "--session_file=" + copy;
  }
  cluster_.start(second);
  const auto twin = std::make_shared<Member>(std::move(second));
  old->is_left_alone = true;
  const auto is_over = [this, old, twin] {
    const bool old_ended = !is_alive(old->process->pid());
    if (!old_ended && is_alive(twin->process->pid())) return false;
    const Exit ended = (old_ended ? old : twin.get())->process->wait();
    if (ended.code != kReplaced) {
      cluster_.fail(text("of two schedulers with one framework, one ended with exit code ",
                         ended.code, ", signal ", ended.signal, ":\n",
                         read_file(cluster_.path(old->name + ".log"))));
    }
    if (old_ended) old->process = std::move(twin->process);
    old->is_left_alone = false;
    return true;
  };
  constexpr int kOtherFaultsMillis = 60'000;
  return Fault{.what = "twin",
               .touched = {old->name + " process"},
               .heals_at = in(kOtherFaultsMillis, kOtherFaultsMillis),
               .heal =
                   [this, old, is_over, who] {
                     if (old->is_left_alone && !eventually(is_over)) {
                       cluster_.fail("two schedulers go on with one framework, " + old->name);
                     }
                     cluster_.journal().write("healed", who);
                   },
               .look = is_over};
}

bool Chaos::all_agents_are_connected() {
  const Exit listed =
      test::run({program("proffer"), "agents", "--json", "--master=" + cluster_.masters()});
  const auto rows = proto::parse_agents(listed.out);
  return listed.code == 0 && rows && rows->size() == kAgents &&
         std::all_of(rows->begin(), rows->end(), [](const proto::AgentRow& row) {
           return row.state == proto::AgentState::kConnected;
         });
}

// An agent on another machine with a copy of a work directory and of the keys. It is refused and
// told why, as long as the first one is there and its master leads (docs/adr/0062): so nothing else
// may be wrong meanwhile, nor have been shortly before.
std::optional<Fault> Chaos::copy_agent() {
  Member* const first = choose("agent", "process");
  if (!faults_.empty() || now_nanos() < last_fault_at_ + kCalmNanos) {
    is_calm_wanted_ = true;
    return std::nullopt;
  }
  if (first == nullptr || !all_agents_are_connected()) return std::nullopt;
  const std::string copy = cluster_.path(text("copy-", ++copies_));
  cluster_.journal().write("fault", text("agent ", first->name, "-copy copied"));
  cluster_.say("started a copy of " + first->name);
  fs::create_directory(copy);
  for (const char* file : {"/checkpoint.log", "/identity"}) {
    fs::copy_file(cluster_.path(first->name) + file, copy + file);
  }
  const std::string config = machine("spare") / "config";
  fs::remove_all(config);
  fs::copy(machine(first->name) / "config", config, fs::copy_options::recursive);
  // The machines have one kernel, and so one boot; this one gets another.
  const std::string boot = cluster_.path(text("boot-", copies_));
  write_file(boot, text("11111111-2222-3333-4444-", 100'000'000'000 + copies_, "\n"));
  Words command = {
      "unshare", "--mount",
      "--",      "sh",
      "-c",      text("mount --bind ", boot, " /proc/sys/kernel/random/boot_id && exec \"$@\""),
      "sh"};
  for (std::string word : cluster_.agent_command(first->name)) {
    if (word.starts_with("--work_dir=")) word = "--work_dir=" + copy;
    // Another machine has cgroups of its own.
    if (word.starts_with("--cgroup_parent=")) word += "-copy";
    command.push_back(word);
  }
  const std::unique_ptr<Process> second = machine("spare").starts(command);
  if (!second->complains("is connected from another machine", Seconds(20))) {
    cluster_.fail("a copy of " + first->name + " was not refused:\n" + second->err());
  }
  second->kill(SIGTERM);
  second->wait();
  fs::remove_all(copy);
  cluster_.journal().write("healed", text("agent ", first->name, "-copy copied"));
  return Fault{.what = "copied"};
}

void Chaos::befall() {
  if (bag_.empty()) {
    bag_ = kinds();
    std::erase_if(bag_, [&](const Kind& kind) {
      const std::vector<std::string>& wanted = options_.faults;
      return !wanted.empty() && std::find(wanted.begin(), wanted.end(), kind.name) == wanted.end();
    });
  }
  // A copy needs calm: nothing else begins until it has been.
  const auto copy = std::find_if(bag_.begin(), bag_.end(),
                                 [](const Kind& kind) { return kind.begin == &Chaos::copy_agent; });
  const size_t at =
      is_calm_wanted_ ? static_cast<size_t>(copy - bag_.begin()) : prng_.below(bag_.size());
  std::optional<Fault> fault = (this->*bag_[at].begin)();
  next_fault_at_ = in(20, 1'200);
  if (!fault) return;
  is_calm_wanted_ = false;
  last_fault_at_ = now_nanos();
  bag_.erase(bag_.begin() + static_cast<std::ptrdiff_t>(at));
  if (fault->heal) faults_.push_back(std::move(*fault));
}

void Chaos::heal_those_due() {
  for (size_t i = 0; i < faults_.size();) {
    Fault& fault = faults_[i];
    const bool is_over = (fault.look && fault.look()) || fault.heals_at <= now_nanos();
    if (!is_over) {
      ++i;
      continue;
    }
    fault.heal();
    last_fault_at_ = now_nanos();
    faults_.erase(faults_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

Chaos::~Chaos() {
  operators_.reset();
  for (const std::string& disk : disks_) ::umount2(disk.c_str(), MNT_DETACH);
}

ChaosJudgement Chaos::run() {
  if (!start_all()) return {.tasks = {.violations = {"the cluster did not start"}}};
  const int64_t end = now_nanos() + int64_t{options_.seconds} * 1'000'000'000;
  while (now_nanos() < end) {
    cluster_.start_those_due();
    heal_those_due();
    if (faults_.size() < kFaultsMax && now_nanos() >= next_fault_at_) befall();
    ::poll(nullptr, 0, 5);
  }
  // A twin needs all others to be over.
  std::stable_partition(faults_.begin(), faults_.end(),
                        [](const Fault& fault) { return fault.what != "twin"; });
  for (const Fault& fault : faults_) fault.heal();
  faults_.clear();
  cluster_.say("all faults have healed");
  const bool all_are_back = eventually([&] {
    cluster_.start_those_due();
    return all_agents_are_connected();
  });
  if (!all_are_back) cluster_.fail("not all agents are connected again");
  // Each operator looks once more at what it was acknowledged.
  constexpr int kLastLookMillis = 1'000;
  cluster_.pass_until(in(kLastLookMillis, kLastLookMillis));
  operators_.reset();
  ChaosJudgement judgement{.tasks = cluster_.settle_and_judge(disks_)};
  const RegistryJudgement registry = judge_registry(read_file(cluster_.path("operators")));
  judgement.registry = registry.summary();
  for (const std::string& violation : registry.violations) {
    judgement.tasks.violations.push_back(violation);
  }
  return judgement;
}

}  // namespace

std::vector<std::string> names_of_faults() {
  std::vector<std::string> names;
  for (const Chaos::Kind& kind : Chaos::kinds()) names.emplace_back(kind.name);
  return names;
}

std::string chaos_is_impossible() {
  if (geteuid() != 0) return "only root can make network namespaces";
  if (run({"unshare", "--net", "--mount", "ip", "link"}).code != 0) {
    return "no network namespaces can be made here";
  }
  return Network::is_possible() ? "" : "there are no TUN devices here";
}

ChaosJudgement run_chaos(const ChaosOptions& options) { return Chaos(options).run(); }

}  // namespace proffer::test
