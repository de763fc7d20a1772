#pragma once

// A cluster of real processes under load, for tests that inject faults: kill storms (kill_storm.h)
// and chaos (tests/chaos/chaos.h). Its members are the masters, the agents and the schedulers
// (kill/kill_load.cc); each is restarted when it is due. Victims are found without Proffer's own
// reports: members because the test started them, executors as parents of tasks and children of
// agents, and an agent's fork server as its child without an executor's id.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "proto/status.h"
#include "tests/integration/kill/record.h"
#include "tests/integration/kill_oracle.h"
#include "tests/integration/processes.h"

namespace proffer::test {

// Resources of each agent. Other tests run beside this one, and their tasks use ports of `proffer
// dev`: these ports are not among them.
inline constexpr AgentHas kAgentHas{
    .cpus_milli = 3'000, .mem = 1'024, .first_port = 32'300, .last_port = 32'302};
// Silence after which an agent is unreachable, as with `proffer dev`.
inline constexpr int kAgentTimeoutMillis = 5'000;
// The exit code of a deposed master.
inline constexpr int kDeposed = 4;

struct Member {
  std::string kind = {};  // "master", "agent" or "scheduler"
  std::string name = {};
  Words command = {};
  std::map<std::string, std::string> environment = {};
  // Exit codes with which it may end by itself; then it is restarted, as a systemd unit would.
  std::set<int> may_end_with = {};
  int64_t disk_is_short_until = 0;  // until then, also with 1
  std::unique_ptr<Process> process = {};
  int64_t back_at = 0;         // time of its restart, while it is away
  bool is_left_alone = false;  // a fault restarts its process
};

// Short in comparison with the latency of a message.
void pause_briefly();

class LoadedCluster {
 public:
  // `dir` must exist; it keeps logs and records. With `verbose`, each fault is printed to standard
  // error.
  LoadedCluster(std::string dir, bool verbose);
  // Kills each process that names the directory and was not there before.
  ~LoadedCluster();
  LoadedCluster(const LoadedCluster&) = delete;
  LoadedCluster& operator=(const LoadedCluster&) = delete;

  // --- start -----------------------------------------------------------------------------------
  // Starts it. The reference stays valid.
  Member& add(Member member);
  void start(Member& member);
  // Whether its address.json is from this process; await_address() waits for that.
  bool has_address(const Member& member) const;
  bool await_address(const Member& member) const;
  // The default commands; the caller adds the masters' addresses.
  Words agent_command(const std::string& name) const;
  Words load_command(const std::string& name, uint64_t seed) const;
  // How the cluster's user runs `proffer`: the current program, after the words that change the
  // user. By default it runs as this process.
  void use_command(Words proffer) { proffer_ = std::move(proffer); }
  // Waits until tasks run.
  bool await_load() const;

  std::deque<Member>& members() { return members_; }
  std::vector<Member*> those_there(const std::string& kind);
  Member& member(const std::string& name);
  // The sockets of all masters, as a list.
  std::string masters() const;
  std::string socket(const Member& master) const { return path(master.name + ".sock"); }
  std::string path(const std::string& name) const { return dir_ + "/" + name; }
  const std::string& dir() const { return dir_; }

  // --- failures --------------------------------------------------------------------------------
  void pass_until(int64_t moment);
  // Waits until the file has this many more records, or as long as a whole cluster may be away.
  void pass_records(const std::string& file, int64_t count);
  void start_those_due();
  // Kills it with SIGKILL; it is restarted after `away_millis`.
  void kill(Member& victim, int64_t away_millis);
  // Executors, or the fork servers from which agents fork them.
  std::vector<pid_t> forked(const std::string& kind) const;
  void kill_forked(const std::string& kind, pid_t victim);
  RecordFile& journal() { return journal_; }
  // Reports a fault that the records do not show.
  void fail(std::string what) { failures_.push_back(std::move(what)); }
  void say(const std::string& line) const;

  // --- the end ---------------------------------------------------------------------------------
  // Restarts all members, stops new launches, and waits until each scheduler leaves because its
  // launches have ended. Then nothing may remain of them, the leader and the agents agree, and the
  // whole cluster is usable again. Ends it like an operator; no cgroup, socket or mount remains,
  // except those of `disks`. The judgement has violations of this, and those of the oracle.
  Judgement settle_and_judge(const std::set<std::string>& disks = {});
  // The same without the oracle, for schedulers that end on SIGTERM. Returns the violations.
  std::vector<std::string> settle_and_look();
  // Waits until all members are up.
  void await_all();
  // Runs `proffer …` with these masters.
  Exit run_command(const Words& words, Seconds deadline = kDeadline) const;

 private:
  void settle();
  void look_for_leftovers();
  std::optional<proto::AgentStatus> status_of(const Member& agent) const;
  void look_whether_all_agree();
  void use_everything();
  void end_everything();
  void look_for_traces(const std::set<std::string>& disks);
  Testimony testimony() const;
  bool is_stranger(pid_t pid) const;
  int64_t bytes_of(const std::string& file) const;

  const std::string dir_;
  const bool verbose_;
  // processes that name it in an argument
  const std::vector<pid_t> strangers_ = processes_of(dir_);
  RecordFile journal_;
  std::deque<Member> members_;
  const std::string cgroup_parent_;
  Words proffer_ = {program("proffer")};
  std::vector<std::string> failures_;
};

}  // namespace proffer::test
