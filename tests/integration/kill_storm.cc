// The kill storm. Read run() first: start, kill and restart, wait until everything has ended,
// judge.

#include "tests/integration/kill_storm.h"

#include <csignal>

#include <sys/stat.h>
#include <unistd.h>

#include "common/prng.h"
#include "common/text.h"
#include "tests/integration/loaded_cluster.h"
#include "tests/support/zookeeper_server.h"

namespace proffer::test {
namespace {

constexpr const char* kOtherUser = "65534";  // user nobody

class Storm {
 public:
  explicit Storm(const StormOptions& options)
      : options_(options), prng_(options.seed), cluster_(options.dir, options.verbose) {}
  Judgement run();

 private:
  bool start_all();
  void kill_one(const std::string& kind);
  void kill_forked(const std::string& kind);
  Member* leader();
  void pause_leader();

  const StormOptions options_;
  Prng prng_;
  std::unique_ptr<ZooKeeperServer> zookeeper_;  // for several masters
  LoadedCluster cluster_;
};

bool Storm::start_all() {
  const std::string timeout = text("--agent_timeout=", kAgentTimeoutMillis * slowdown(), "ms");
  if (options_.masters > 1) {
    zookeeper_ = std::make_unique<ZooKeeperServer>();
    write_file(cluster_.path("secret"), "the secret of this storm\n");
    ::chmod(cluster_.path("secret").c_str(), 0600);
  }
  for (int i = 1; i <= options_.masters; ++i) {
    Member master{.kind = "master", .name = options_.masters == 1 ? "master" : text("master-", i)};
    master.command = {program("proffer-master"), "--data_dir=" + cluster_.path(master.name),
                      "--socket=" + cluster_.socket(master), "--heartbeat=1s", timeout};
    if (zookeeper_ != nullptr) {
      master.command.push_back("--zk=" + zookeeper_->address() + "/proffer");
      master.command.push_back("--zk_secret_file=" + cluster_.path("secret"));
      master.command.push_back(
          text("--zk_session_timeout=", options_.session_seconds * slowdown(), "s"));
      master.may_end_with = {kDeposed};
    }
    if (!cluster_.await_address(cluster_.add(std::move(master)))) return false;
  }
  for (int i = 1; i <= options_.agents; ++i) {
    const std::string name = text("agent-", i);
    Words command = cluster_.agent_command(name);
    command.push_back("--master=" + cluster_.masters());
    cluster_.add({.kind = "agent", .name = name, .command = std::move(command)});
  }
  for (int i = 1; i <= options_.schedulers; ++i) {
    const std::string name = text("load", i);
    Words command = cluster_.load_command(name, options_.seed * 100 + static_cast<uint64_t>(i));
    command.push_back("--master=" + cluster_.masters());
    if (geteuid() == 0 && i % 2 == 0) {
      const Words as_other = {"/usr/bin/setpriv", text("--reuid=", kOtherUser),
                              text("--regid=", kOtherUser), "--clear-groups"};
      command.insert(command.begin(), as_other.begin(), as_other.end());
    }
    cluster_.add({.kind = "scheduler", .name = name, .command = std::move(command)});
  }
  return cluster_.await_load();
}

void Storm::kill_one(const std::string& kind) {
  if (kind == "executor" || kind == "fork_server") return kill_forked(kind);
  if (kind == "paused leader") return pause_leader();
  std::vector<Member*> there;
  if (kind == "leader") {
    there.push_back(leader());
    if (there.front() == nullptr) return cluster_.fail("no master leads");
  } else {
    // Waits for one of them if all are away.
    eventually([&] {
      cluster_.start_those_due();
      there = cluster_.those_there(kind);
      return !there.empty();
    });
  }
  Member& victim = *there.at(prng_.below(there.size()));
  cluster_.kill(victim, prng_.chance(1, 2)   ? 0
                        : prng_.chance(4, 5) ? prng_.between(20, 1'500)
                                             : prng_.between(kAgentTimeoutMillis + 500,
                                                             kAgentTimeoutMillis + 1'500));
}

// Waits until there is a victim.
void Storm::kill_forked(const std::string& kind) {
  std::vector<pid_t> there;
  eventually([&] {
    cluster_.start_those_due();
    there = cluster_.forked(kind);
    return !there.empty();
  });
  if (there.empty()) return cluster_.fail(text("there is no ", kind, " to kill"));
  cluster_.kill_forked(kind, there.at(prng_.below(there.size())));
}

// Waits until one leads.
Member* Storm::leader() {
  Member* found = nullptr;
  eventually([&] {
    cluster_.start_those_due();
    for (Member* const master : cluster_.those_there("master")) {
      const Exit status =
          test::run({program("proffer"), "status", "--master=" + cluster_.socket(*master)});
      if (status.code == 0) found = master;
    }
    return found != nullptr;
  });
  return found;
}

// The paused leader is deposed before it knows.
void Storm::pause_leader() {
  Member* const old = leader();
  if (old == nullptr) return cluster_.fail("no master leads");
  cluster_.journal().write("kill", text(old->kind, " ", old->name, " ", old->process->pid()));
  old->process->kill(SIGSTOP);
  std::string others;
  for (const Member* const member : cluster_.those_there("master")) {
    if (member != old) others += (others.empty() ? "" : ",") + cluster_.socket(*member);
  }
  const bool another_leads = eventually([&] {
    return test::run({program("proffer"), "status", "--master=" + others}).code == 0;
  });
  old->process->kill(SIGCONT);
  if (!another_leads) return cluster_.fail("no other master leads while the leader is stopped");
  const Exit ended = old->process->wait(Seconds(20));
  if (ended.code != kDeposed) {
    cluster_.fail(text(old->name, " goes on after another leads: exit code ", ended.code,
                       ", signal ", ended.signal));
  }
  cluster_.start(*old);
  cluster_.say("paused " + old->name);
}

Judgement Storm::run() {
  if (!start_all()) return {.violations = {"the cluster did not start"}};
  // Every kind is killed equally often, in a random order.
  std::vector<std::string> bag;
  const int64_t end = now_nanos() + int64_t{options_.minutes} * 60'000'000'000;
  for (int i = 0; options_.minutes > 0 ? now_nanos() < end : i < options_.kills; ++i) {
    if (bag.empty()) bag = options_.kinds;
    const size_t at = prng_.below(bag.size());
    const std::string kind = bag[at];
    bag.erase(bag.begin() + static_cast<std::ptrdiff_t>(at));
    // The time of a kill: after some records; or just when a scheduler launches a task or receives
    // an update, because many messages are in flight then; or at once after the last kill, so that
    // two processes are away or one has just started.
    const uint64_t moment = prng_.below(4);
    if (moment < 2) cluster_.pass_records("journal", prng_.between(1, 200));
    if (moment < 3) {
      const auto scheduler = prng_.between(1, options_.schedulers);
      cluster_.pass_records(text("heard-load", scheduler), 1);
      cluster_.pass_until(now_nanos() + prng_.between(0, 6'000'000));
    }
    cluster_.start_those_due();
    kill_one(kind);
  }
  return cluster_.settle_and_judge();
}

}  // namespace

Judgement run_storm(const StormOptions& options) { return Storm(options).run(); }

}  // namespace proffer::test
