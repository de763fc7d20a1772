#pragma once

// A simulated machine: its resources, its disk, and its processes. Executors outlive the agent that
// started them, as real processes do. All that runs is written into the journal.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/resources.h"
#include "proto/records.h"
#include "sim/agent_disk.h"
#include "sim/executor_process.h"
#include "sim/journal.h"
#include "sim/network.h"
#include "sim/scripted_executor.h"
#include "sim/world.h"

namespace proffer::sim {

class Host {
 public:
  Host(World& world, Network& network, Journal& journal, AgentId name, Resources total);
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  const AgentId& name() const { return name_; }
  const Resources& total() const { return total_; }
  // Where the agent listens for its executors.
  Place executors() const { return executors_; }
  std::string boot_id() const;

  Site site() const { return site_; }
  Party agent_party() const { return agent_party_; }
  // What the agent wrote.
  AgentDisk& disk() { return disk_; }
  // An operator gives the agent an empty directory.
  void begin_anew() {
    disk_ = AgentDisk();
    sandboxes_.clear();
    newest_run_ = 0;
    forked_.clear();
  }

  // How often a start fails, per thousand.
  void set_start_failures(uint32_t rate) { start_failures_ = rate; }
  // No start comes to a hello: there is no process, or it ends at once.
  void set_starts_fail(bool fail) { starts_fail_ = fail; }
  void set_scripts(TaskScripts scripts) { scripts_ = std::move(scripts); }
  // Programs of their own for some executors, which play no script. May return none.
  using Programs = std::function<std::unique_ptr<ExecutorProcess>(
      Host& host, const ProcessStart& start, int32_t pid)>;
  void set_programs(Programs programs) { programs_ = std::move(programs); }

  // --- for the agent; answers come later, to `parent` if it is still there ---------------------
  struct Parent {
    std::function<void(const ProcessStart&, int32_t pid, uint64_t start_ticks)> started = {};
    std::function<void(const ProcessStart&)> spare_refused = {};
    std::function<void(const ProcessStart&, const Error&)> start_failed = {};
    std::function<void(const ProcessStart&, std::optional<int32_t> exit_code,
                       std::optional<int32_t> signal, bool had_process)>
        exited = {};
    std::function<void(const proto::ExecutorRecord&)> leftover_ended = {};
  };
  void set_parent(Parent parent) { parent_ = std::move(parent); }
  // The agent ended: nobody waits for its children any more.
  void forget_parent();
  void start(const ProcessStart& start);
  // One that an earlier life of the agent started: `started` follows and it is the agent's again,
  // or `exited`.
  void adopt(const proto::ExecutorRecord& executor);
  void kill(const FrameworkId& framework, const ExecutorId& executor, uint64_t run);
  void end_leftover(const proto::ExecutorRecord& executor);
  // All that this life of the agent has neither started nor adopted.
  void end_unnamed();
  uint64_t newest_run() const { return newest_run_; }  // that was ever started here
  // Those of executors whose ids begin so. A law: no task runs in them.
  void remove_sandboxes(const FrameworkId& framework, const std::vector<std::string>& begins);

  // --- what befalls it -------------------------------------------------------------------------
  // One of its executors, chosen by chance; it may not have begun yet. None if there is none.
  ExecutorProcess* some_executor(Prng& chance);
  void crash_executor(ExecutorProcess& process) { end_process(process, 11); }
  std::vector<ExecutorProcess*> executors_running();
  // All processes end, and nobody is told: the power went. Before power_on() nothing may be started
  // here. What its agent wrote and did not sync may be lost.
  void power_off(Prng& chance);
  void power_on();
  bool is_powered() const { return powered_; }
  // What the agent wrote last is lost. No process may be told as lost while it lives.
  void cut_checkpoint(Prng& chance);
  // The agent has forgotten what it runs, except for these.
  void forgotten_but(const std::vector<proto::CheckpointRecord>& records);

  size_t processes() const { return processes_.size(); }
  // Of executors, whatever their run, that were not removed.
  using Sandboxes = std::set<std::pair<FrameworkId, ExecutorId>>;
  const Sandboxes& sandboxes() const { return sandboxes_; }
  // By its agent, because its framework had released it.
  bool was_removed(const Sandboxes::value_type& sandbox) const {
    return removed_.contains(sandbox);
  }
  // Its agent left the cluster, or was given up: nobody says any more which of these are needed,
  // and they stay until they are old.
  void given_up() { given_up_ = sandboxes_; }
  bool was_given_up(const Sandboxes::value_type& sandbox) const {
    return given_up_.contains(sandbox);
  }

  // --- for its processes -----------------------------------------------------------------------
  Journal& journal() { return journal_; }
  Prng& chance() { return chance_; }
  TaskScript script_of(const proto::RunTask& run);
  void exited(ExecutorProcess& process, std::optional<int32_t> exit_code,
              std::optional<int32_t> signal);

 private:
  std::unique_ptr<ExecutorProcess> make_process(const ProcessStart& start, int32_t pid);
  void end_process(ExecutorProcess& process, int32_t signal);
  void start_in_vain(const ProcessStart& start);
  void go_on(const ProcessStart& start, Duration soon);

  World& world_;
  Network& network_;
  Journal& journal_;
  AgentId name_;
  Resources total_;
  Site site_;
  Party agent_party_;
  Place executors_;
  Prng chance_;
  Parent parent_;
  uint64_t parent_life_ = 0;
  uint64_t boots_ = 1;
  uint64_t newest_run_ = 0;
  std::set<uint64_t> forked_;  // runs that had a process of their own
  bool powered_ = true;
  int32_t pids_ = 1'000;
  uint32_t start_failures_ = 0;
  bool starts_fail_ = false;
  TaskScripts scripts_;
  Programs programs_;
  AgentDisk disk_;
  Sandboxes sandboxes_;
  Sandboxes removed_;
  Sandboxes given_up_;
  // By pid. With the life of the agent that watches it, if that still lives.
  struct Child {
    ExecutorProcess* process = nullptr;
    uint64_t parent_life = 0;
    bool adopted = false;  // nobody sees with which code it exits
    // As what its agent took it back, which may be an earlier run.
    std::optional<ProcessStart> taken_for = {};
    const ProcessStart& known_as() const { return taken_for ? *taken_for : process->started_as(); }
  };
  std::map<int32_t, Child> processes_;
  std::vector<std::unique_ptr<ExecutorProcess>> all_;  // also those that ended
};

}  // namespace proffer::sim
