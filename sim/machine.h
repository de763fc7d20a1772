#pragma once

// A machine of a scenario: the production agent's core and, in place of executors, a list of
// running tasks and their ends. AgentNode and Host simulate faults of processes and disks; this
// class has none, and a task costs only a few steps of the agent.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/indexed_map.h"
#include "proto/channel.h"
#include "sim/network.h"
#include "sim/task_book.h"
#include "sim/world.h"
#include "slave/core/agent.h"

namespace proffer::sim {

// The executor of tasks in scenarios, and its id.
inline constexpr std::string_view kSimulatedProgram = "simulated";

// A task that runs when the scenario begins.
struct MachineTask {
  TaskRef ref = {};
  FrameworkId framework = {};
  RoleName role = {};
  Duration since = {};  // how long it has already run
};

class Machine final : public Node, public Caller {
 public:
  Machine(World& world, Network& network, Place master, TaskBook& book, const ScenarioAgent& agent,
          AgentId name);

  // Call it before the first start(): its checkpoint has these tasks. They must fit.
  void runs(const std::vector<MachineTask>& tasks);
  const Secret& secret() const { return secret_; }

  // Connects to the master and registers. Has no effect if it is up already.
  void start();
  // The machine goes down, with all its tasks.
  void crash();

  // The running tasks, in order.
  std::vector<TaskRef> running() const;
  const Resources& total() const { return options_.total; }

  std::optional<Time> next_deadline() const override { return core_->next_deadline(); }
  void tick() override { step(agent::Tick{}); }
  std::vector<Violation> violations() const override { return core_->violations(); }
  void on_line_connected() override { step(agent::MasterConnected{}); }
  void on_line_frame(proto::Envelope envelope) override {
    step(agent::MasterFrame{std::move(envelope), {}});
  }
  void on_line_disconnected(const std::string&) override { step(agent::MasterDisconnected{}); }

 private:
  // All tasks of one framework run in one executor, which stays until the framework ends.
  struct Executor {
    FrameworkId framework = {};
    ExecutorId executor = {};
    uint64_t run = 0;
    proto::Channel channel = {};
    std::map<TaskId, uint64_t> tasks = {};  // their slots
  };
  struct Slot {
    TaskRef ref = {};
    TaskId task = {};
    PeerId executor = {};
    Resources resources = {};
    uint64_t updates = 0;
  };

  void step(agent::AgentEvent event);
  void take_step(const agent::AgentEvent& event);
  void carry_out(agent::AgentAction& action);
  void begin_executor(Executor executor, const Secret& token, int32_t pid);
  void hear(PeerId peer, const proto::Message& message);
  void run(PeerId peer, const proto::RunTask& run);
  void occupy(Slot slot);
  void end(uint64_t slot, proto::TaskState state);
  void tell(Slot& slot, proto::TaskState state);
  void say(PeerId peer, proto::BoxedMessage message);
  void exit(PeerId peer);

  Network& network_;
  Place master_;
  TaskBook& book_;
  Party party_;
  agent::AgentOptions options_;
  Prng chance_;
  Secret secret_;
  uint64_t boots_ = 1;
  Line line_ = {};
  std::unique_ptr<agent::Agent> core_;
  agent::AgentOutbox out_;
  std::vector<proto::CheckpointRecord> checkpoint_;  // the state that survives a reboot
  struct Inherited {
    MachineTask task = {};
    Resources resources = {};
  };
  std::vector<Inherited> inherited_;       // until their executors are found
  std::deque<agent::AgentEvent> waiting_;  // events of this instant, after the present one
  bool stepping_ = false;
  IndexedMap<PeerId, Executor> executors_;
  std::map<uint64_t, Slot> slots_;
  Resources used_;
  uint64_t peers_ = 0;
  uint64_t slots_given_ = 0;
  int32_t pids_ = 1'000;
};

}  // namespace proffer::sim
