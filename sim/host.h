#pragma once

// A simulated machine: its resources, its disk, and its processes. Executors outlive the agent that
// started them, as real processes do. The journal records all tasks that run.

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
  // The place where the agent listens for its executors.
  Place executors() const { return executors_; }
  std::string boot_id() const;

  Site site() const { return site_; }
  Party agent_party() const { return agent_party_; }
  // The agent's disk.
  AgentDisk& disk() { return disk_; }
  // An operator gives the agent an empty directory.
  void begin_anew() {
    disk_ = AgentDisk();
    sandboxes_.clear();
    newest_run_ = 0;
    forked_.clear();
  }

  // The rate of failed starts, per thousand.
  void set_start_failures(uint32_t rate) { start_failures_ = rate; }
  // No start succeeds: there is no process, or it ends before its hello.
  void set_starts_fail(bool fail) { starts_fail_ = fail; }
  void set_scripts(TaskScripts scripts) { scripts_ = std::move(scripts); }
  // Special programs for some executors, which do not follow a script. May return none.
  using Programs = std::function<std::unique_ptr<ExecutorProcess>(
      Host& host, const ProcessStart& start, int32_t pid)>;
  void set_programs(Programs programs) { programs_ = std::move(programs); }

  // --- for the agent; answers come later, to `parent` if it still exists ------------------------
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
  // The agent ended: its children have no parent any more.
  void forget_parent();
  void start(const ProcessStart& start);
  // Adopts an executor that an earlier life of the agent started. `started` follows, and it belongs
  // to the agent again; or `exited` follows.
  void adopt(const proto::ExecutorRecord& executor);
  void kill(const FrameworkId& framework, const ExecutorId& executor, uint64_t run);
  void end_leftover(const proto::ExecutorRecord& executor);
  // Ends all executors that this life of the agent has neither started nor adopted.
  void end_unnamed();
  uint64_t newest_run() const { return newest_run_; }  // the highest run that was ever started here
  // Removes the sandboxes of executors whose ids have these prefixes. A law: no task runs in them.
  void remove_sandboxes(const FrameworkId& framework, const std::vector<std::string>& begins);

  // --- faults ----------------------------------------------------------------------------------
  // A random executor, which may not have begun yet. None if there is none.
  ExecutorProcess* some_executor(Prng& chance);
  void crash_executor(ExecutorProcess& process) { end_process(process, 11); }
  std::vector<ExecutorProcess*> executors_running();
  // A power loss: all processes end without a message. Nothing may be started here before
  // power_on(). Writes of the agent that were not synced may be lost.
  void power_off(Prng& chance);
  void power_on();
  bool is_powered() const { return powered_; }
  // The agent's last writes are lost. No living process may be reported as lost.
  void cut_checkpoint(Prng& chance);
  // The agent has forgotten its tasks, except for these.
  void forgotten_but(const std::vector<proto::CheckpointRecord>& records);

  size_t processes() const { return processes_.size(); }
  // Sandboxes of executors, for any run, that were not removed.
  using Sandboxes = std::set<std::pair<FrameworkId, ExecutorId>>;
  const Sandboxes& sandboxes() const { return sandboxes_; }
  // Removed by its agent, because its framework had released it.
  bool was_removed(const Sandboxes::value_type& sandbox) const {
    return removed_.contains(sandbox);
  }
  // Its agent left the cluster, or was given up. The sandboxes are no longer released, and stay
  // until they are old.
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
  std::set<uint64_t> forked_;  // runs that had their own process
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
  // Children by pid. Each has the life of the agent that watches it, if that life still runs.
  struct Child {
    ExecutorProcess* process = nullptr;
    uint64_t parent_life = 0;
    bool adopted = false;  // its exit code is lost
    // The identity under which its agent adopted it, which may be an earlier run.
    std::optional<ProcessStart> taken_for = {};
    const ProcessStart& known_as() const { return taken_for ? *taken_for : process->started_as(); }
  };
  std::map<int32_t, Child> processes_;
  std::vector<std::unique_ptr<ExecutorProcess>> all_;  // also ended ones
};

}  // namespace proffer::sim
