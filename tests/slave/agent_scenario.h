#pragma once

// One agent's core, with a master and executors played by the test, which collects the agent's
// messages. After each step all invariants hold, and both the log of records and the snapshot
// restore the same core.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "proto/channel.h"
#include "slave/core/agent.h"
#include "slave/core/trace.h"

namespace proffer::agent::scenario {

inline const FrameworkId kBatch("batch-1-1");
inline const LeaderEpoch kLeader(7);

inline Resources resources_of(std::string_view text) { return *parse_agent_resources(text); }

inline proto::RunTask command_task(std::string id, std::string_view resources = "cpus:1;mem:64") {
  proto::RunTask run{.framework = kBatch};
  run.spec.id = TaskId(std::move(id));
  run.spec.command = "true";
  run.assignment.resources = *parse_resources(resources);
  run.spec.shape = run.assignment.resources.amounts;
  return run;
}

class AgentScenario {
 public:
  explicit AgentScenario(std::string_view total = "cpus:4;mem:1024;ports:[31000-31009]",
                         AgentSnapshot from = {}) {
    options.name = AgentId("a1");
    options.fresh_secret = Secret("00112233445566778899aabbccddeeff");
    options.total = resources_of(total);
    options.boot_id = "boot-1";
    restart(std::move(from));
  }

  // --- the process -------------------------------------------------------------------------------
  // Starts a new agent from the durable state; no event has been handled yet.
  void restart(AgentSnapshot from) {
    collect_starts();
    log = std::move(from.records);
    core = std::make_unique<agent::Agent>(options, AgentSnapshot{log});
    master = proto::Channel();
    peers.clear();
    actions.clear();
  }
  void crash_and_restart() { restart(AgentSnapshot{log}); }

  void step(const AgentEvent& event) {
    AgentOutbox out;
    core->handle(event, now, out);
    for (const Violation& violation : core->violations()) ADD_FAILURE() << violation.what;
    log.insert(log.end(), out.records.begin(), out.records.end());
    synced |= out.sync;
    for (AgentAction& action : out.actions) actions.push_back(std::move(action));
    for (TraceEvent& event_told : out.trace) trace.push_back(std::move(event_told));
    // Checks long logs only sometimes: a replay takes linear time.
    if (++steps % (log.size() / 64 + 1) != 0) return;
    const AgentSnapshot snapshot = core->snapshot();
    EXPECT_EQ(agent::Agent(options, snapshot).snapshot().records, snapshot.records);
    EXPECT_EQ(agent::Agent(options, AgentSnapshot{log}).snapshot().records, snapshot.records);
  }
  void tick() { step(Tick{}); }
  // Lets time pass, with a tick at each deadline.
  void pass(Duration duration) {
    const Time until = now + duration;
    while (core->next_deadline() && *core->next_deadline() <= until) {
      now = std::max(now, *core->next_deadline());
      tick();
    }
    now = until;
  }

  // The same, with heartbeats of the master.
  void pass_with_master(Duration duration) {
    for (const Time until = now + duration; now < until;) {
      from_master(proto::Heartbeat{});
      pass(std::min(seconds(5), until - now));
    }
  }

  // --- the master ------------------------------------------------------------------------------
  void connect() {
    master = proto::Channel();
    step(MasterConnected{});
  }
  void from_master(proto::Message message) {
    ++tokens;
    step(MasterFrame{master.stamp(leader, std::move(message)),
                     Secret(std::string(24, 'a') + std::to_string(10'000'000 + tokens)),
                     busy_ports});
  }
  void welcome() {
    from_master(proto::AgentRegistered{.agent = options.name,
                                       .session = SessionEpoch(1),
                                       .heartbeat = seconds(5),
                                       .timeout = seconds(30)});
  }
  // Connects and registers.
  void registered() {
    tick();
    connect();
    welcome();
    actions.clear();
  }
  void run(const proto::RunTask& task) { from_master(task); }
  void kill(const std::string& task, std::optional<Duration> grace = {}) {
    from_master(proto::KillTask{kBatch, TaskId(task), grace});
  }
  void acknowledge(const std::string& task, uint64_t sequence) {
    from_master(proto::Acknowledge{.framework = kBatch,
                                   .task = TaskId(task),
                                   .agent = options.name,
                                   .source = proto::UpdateSource::kAgent,
                                   .sequence = sequence});
  }

  // --- executors ---------------------------------------------------------------------------------
  // The newest StartExecutor of this executor.
  StartExecutor started(const std::string& executor) const {
    for (auto at = starts.rbegin(); at != starts.rend(); ++at) {
      if (at->executor.str() == executor) return *at;
    }
    ADD_FAILURE() << "executor " << executor << " was not started";
    return {};
  }
  // Its process starts and says hello.
  PeerId hello(const std::string& executor) {
    collect_starts();
    const StartExecutor start = started(executor);
    step(ExecutorStarted{start.framework, start.executor, start.run, 1000 + int32_t(start.run), 5});
    return hello_again(executor);
  }
  PeerId hello_again(const std::string& executor) {
    return hello_with(executor, {.tells_runs = true});
  }
  // `hello` has its runs; the other members are filled in.
  PeerId hello_with(const std::string& executor, proto::ExecutorHello hello) {
    const StartExecutor start = started(executor);
    const PeerId peer(++peers_made);
    hello.framework = start.framework;
    hello.executor = start.executor;
    hello.token = start.token;
    from_executor(peer, std::move(hello));
    return peer;
  }
  // After a restart: its process is found, and says hello to this agent.
  PeerId comes_back(const std::string& executor) {
    is_found(executor);
    return hello_again(executor);
  }
  void is_found(const std::string& executor) {
    const StartExecutor start = started(executor);
    step(ExecutorStarted{start.framework, start.executor, start.run, 1000 + int32_t(start.run), 5});
  }
  // Its process is not found: its end is unknown.
  void is_gone(const std::string& executor) {
    const StartExecutor start = started(executor);
    step(ExecutorExited{start.framework, start.executor, start.run, {}, {}});
  }
  void from_executor(PeerId peer, proto::Message message) {
    step(ExecutorFrame{peer, peers[peer].stamp(LeaderEpoch(), std::move(message)), user});
  }
  void tell(PeerId peer, const std::string& task, proto::TaskState state, uint64_t sequence) {
    from_executor(
        peer, proto::ExecutorUpdate{{.task = TaskId(task), .state = state, .sequence = sequence}});
  }
  void exits(const std::string& executor, int32_t code = 0) {
    collect_starts();
    const StartExecutor start = started(executor);
    step(ExecutorExited{start.framework, start.executor, start.run, code, {}});
  }
  // Launches a task until it runs.
  PeerId running(const std::string& task) {
    run(command_task(task));
    const PeerId peer = hello(task);
    tell(peer, task, proto::TaskState::kRunning, 1);
    return peer;
  }

  // --- results ---------------------------------------------------------------------------------
  void collect_starts() {
    for (const AgentAction& action : actions) {
      if (const auto* start = std::get_if<StartExecutor>(&action)) starts.push_back(*start);
    }
  }
  template <class T>
  std::vector<T> take() {
    collect_starts();
    std::vector<T> found;
    std::vector<AgentAction> rest;
    for (AgentAction& action : actions) {
      if (auto* one = std::get_if<T>(&action)) {
        found.push_back(std::move(*one));
      } else {
        rest.push_back(std::move(action));
      }
    }
    actions = std::move(rest);
    return found;
  }
  // Messages of one kind to the master; other messages are kept.
  template <class T>
  std::vector<T> told_master() {
    return told<SendToMaster, T>();
  }
  template <class T>
  std::vector<T> told_executors() {
    return told<SendToExecutor, T>();
  }
  // Without updates of tasks that are still starting.
  std::vector<std::string> updates() {
    std::vector<std::string> lines;
    for (const proto::Update& update : told_master<proto::Update>()) {
      if (update.status.state == proto::TaskState::kStaging) continue;
      lines.push_back(line_of(update.status));
    }
    return lines;
  }
  static std::string line_of(const proto::TaskStatus& status) {
    return status.task.str() + " " + std::to_string(status.sequence) + " " +
           std::string(to_text(status.state)) + " " + std::string(to_text(status.reason));
  }
  // The first event of this kind; nullptr if there was none.
  template <Traced T>
  const T* traced() const {
    for (const TraceEvent& one : trace) {
      if (const T* found = one.as<T>()) return found;
    }
    return nullptr;
  }

  AgentOptions options;
  std::string user = "";  // the user of executors' processes
  std::unique_ptr<agent::Agent> core;
  Time now = Time::from_nanos(1'000'000'000);
  LeaderEpoch leader = kLeader;
  std::vector<proto::CheckpointRecord> log;
  bool synced = false;
  std::vector<AgentAction> actions;
  std::vector<TraceEvent> trace;
  std::vector<StartExecutor> starts;
  proto::Channel master;
  std::map<PeerId, proto::Channel> peers;
  uint64_t peers_made = 0;
  uint64_t tokens = 0;
  PortSet busy_ports = {};  // ports on which another process of the machine listens
  size_t steps = 0;

 private:
  template <class Send, class T>
  std::vector<T> told() {
    collect_starts();
    std::vector<T> found;
    std::vector<AgentAction> rest;
    for (AgentAction& action : actions) {
      auto* send = std::get_if<Send>(&action);
      auto* message = send == nullptr ? nullptr : std::get_if<T>(&*send->envelope.message);
      if (message != nullptr) {
        found.push_back(std::move(*message));
      } else {
        rest.push_back(std::move(action));
      }
    }
    actions = std::move(rest);
    return found;
  }
};

}  // namespace proffer::agent::scenario
