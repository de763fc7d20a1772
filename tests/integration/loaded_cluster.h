#pragma once

// A cluster of real processes under load, for tests that make it fail: kill storms (kill_storm.h)
// and chaos (tests/chaos/chaos.h). Its members are the masters, the agents and the schedulers
// (kill/kill_load.cc); each is started again when it is due. Nothing that Proffer says is used:
// what to kill is known from having started it, executors are found as parents of tasks and
// children of agents, and the stem that an agent forks them from as its child without an
// executor's id.

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

// What each agent has. Other tests run beside this one, and their tasks listen on ports that
// `proffer dev` offers: these are not among them.
inline constexpr AgentHas kAgentHas{
    .cpus_milli = 3'000, .mem = 1'024, .first_port = 32'300, .last_port = 32'302};
// Silence after which an agent is unreachable, as with `proffer dev`.
inline constexpr int kAgentTimeoutMillis = 5'000;
// The exit code of a master that leads no longer.
inline constexpr int kDeposed = 4;

struct Member {
  std::string kind = {};  // "master", "agent" or "scheduler"
  std::string name = {};
  Words command = {};
  std::map<std::string, std::string> environment = {};
  // Exit codes with which it may end by itself; then it is started again, as a unit does it.
  std::set<int> may_end_with = {};
  int64_t disk_is_short_until = 0;  // until then also with 1
  std::unique_ptr<Process> process = {};
  int64_t back_at = 0;         // while it is away
  bool is_left_alone = false;  // a fault sees to it that its process is started again
};

// Short beside the time that a message takes.
void pause_briefly();

class LoadedCluster {
 public:
  // `dir` must exist; it keeps logs and records. With `verbose` each fault is told on standard
  // error.
  LoadedCluster(std::string dir, bool verbose);
  // Ends every process that names the directory and was not there before.
  ~LoadedCluster();
  LoadedCluster(const LoadedCluster&) = delete;
  LoadedCluster& operator=(const LoadedCluster&) = delete;

  // --- start -----------------------------------------------------------------------------------
  // Starts it. The reference stays valid.
  Member& add(Member member);
  void start(Member& member);
  // Whether its address.json is of this process; await_address() waits for that.
  bool has_address(const Member& member) const;
  bool await_address(const Member& member) const;
  // The usual commands; whoever starts them adds where the masters are.
  Words agent_command(const std::string& name) const;
  Words load_command(const std::string& name, uint64_t seed) const;
  // How the cluster's user runs `proffer`: today's program and, in front, what makes it his. As
  // this process, if nothing is said.
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
  // Until so many records more are in a file, or for as long as a whole cluster may be away.
  void pass_records(const std::string& file, int64_t count);
  void start_those_due();
  // With -9; it is started again after so long.
  void kill(Member& victim, int64_t away_millis);
  // Executors, or the stems that agents fork them from.
  std::vector<pid_t> forked(const std::string& kind) const;
  void kill_forked(const std::string& kind, pid_t victim);
  RecordFile& journal() { return journal_; }
  // Something that the records do not show is wrong.
  void fail(std::string what) { failures_.push_back(std::move(what)); }
  void say(const std::string& line) const;

  // --- the end ---------------------------------------------------------------------------------
  // All are back, nothing new is launched, and each scheduler leaves when its launches have ended.
  // Then nothing may be left of them, the leader and the agents agree, the whole cluster can be
  // used again, it ends as an operator ends it, and leaves no cgroup, socket or mount, but for
  // those of `disks`. What is not so, and what the oracle says of the records, is in the judgement.
  Judgement settle_and_judge(const std::set<std::string>& disks = {});
  // The same without the oracle, for schedulers that end when they are told to (SIGTERM): what is
  // wrong.
  std::vector<std::string> settle_and_look();
  // Waits until all members are there.
  void await_all();
  // `proffer …`, at these masters.
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
  const std::vector<pid_t> strangers_ = processes_of(dir_);  // who name it in an argument
  RecordFile journal_;
  std::deque<Member> members_;
  const std::string cgroup_parent_;
  Words proffer_ = {program("proffer")};
  std::vector<std::string> failures_;
};

}  // namespace proffer::test
