#pragma once

// The cluster of chaos and its faults. A fault is a member function that begins the fault and
// returns how it heals. start.cc builds the cluster; faults.cc kills and stops processes, cuts
// links and fills disks; doubles.cc starts duplicates of unique processes; damage.cc damages files.
// chaos.cc lists all faults and runs them.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/prng.h"
#include "tests/chaos/chaos.h"
#include "tests/chaos/network.h"
#include "tests/chaos/operators.h"
#include "tests/integration/loaded_cluster.h"
#include "tests/machines/machines.h"
#include "tests/support/relay.h"
#include "tests/support/zookeeper_server.h"

namespace proffer::test {

inline constexpr int kChaosAgents = 3;
inline constexpr int64_t kMillisecond = 1'000'000;

// An active fault.
struct Fault {
  std::string what = {};
  // Parts of members that no other fault may touch now: "agent-1 process", "master-2 link".
  std::vector<std::string> touched = {};
  int64_t heals_at = 0;
  std::function<void()> heal = {};
  // Polled; true if the fault has ended early.
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
    Begin begin;  // empty if no member is a possible victim now
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
  void inject();
  void heal_those_due();
  bool is_touched(const std::string& what) const;
  // A member of this kind whose `part` no other fault touches.
  Member* choose(const std::string& kind, const std::string& part);
  Member* leader(const std::string& part);
  pid_t choose_forked(const std::string& kind);
  int64_t in(int64_t least_millis, int64_t most_millis);
  int64_t for_a_while();

  std::optional<Fault> kill(Member* victim);
  std::optional<Fault> stop(Member* victim, int64_t until);
  // Until it heals, packets to and from the member are dropped or delayed.
  std::optional<Fault> disturb_link(Member* victim, const char* what, Way to, Way from);
  void set_link(const Member& member, Way to, Way from);
  std::optional<Fault> fill_disk(Member* victim);

  std::optional<Fault> kill_leader() { return kill(leader("process")); }
  std::optional<Fault> kill_master() { return kill(choose("master", "process")); }
  std::optional<Fault> kill_agent() { return kill(choose("agent", "process")); }
  std::optional<Fault> kill_scheduler() { return kill(choose("scheduler", "process")); }
  std::optional<Fault> kill_executor();
  std::optional<Fault> kill_fork_server();
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
  std::optional<Fault> cut_checkpoint_of_agent();
  std::optional<Fault> empty_file(Member* victim, const std::string& path, bool must_refuse);
  std::optional<Fault> empty_session();
  std::optional<Fault> empty_file_of(const char* kind);
  std::optional<Fault> empty_file_of_agent() { return empty_file_of("agent"); }
  std::optional<Fault> empty_file_of_master() { return empty_file_of("master"); }

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
  int64_t last_fault_at_ = 0;    // time at which a fault last began or healed
  bool is_calm_wanted_ = false;  // a fault that cannot run beside others is waiting
  int copies_ = 0;
  int begun_ = 0;  // number of faults so far
};

}  // namespace proffer::test
