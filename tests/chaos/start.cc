// The machines, their network and disks, the masters, agents and schedulers. Begin with
// start_all().

#include <filesystem>

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"
#include "tests/chaos/faults.h"
#include "tests/support/zookeeper_proxy.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;

constexpr int kMasters = 3;
constexpr int kSchedulers = 2;
// Numbers of machines in the network; a master's machine has the master's number.
constexpr int kFirstAgent = 10;
constexpr int kFirstScheduler = 20;
constexpr int kSpare = 30;

struct User {
  const char* name;
  unsigned uid;
};
constexpr User kUsers[kSchedulers] = {{"daemon", 1}, {"nobody", 65'534}};

}  // namespace

void Chaos::make_machine(const std::string& name, int number) {
  machines_[name] = std::make_unique<Machine>(name, cluster_.path("machines"));
  numbers_[name] = number;
  network_.join(machine(name), number);
}

// A disk of the cluster, which can be full.
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
  // The mounts end with this process, also if it crashes.
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
  for (int i = 1; i <= kChaosAgents; ++i) {
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
  for (int i = 1; i <= kChaosAgents; ++i) {
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

}  // namespace proffer::test
