#pragma once

// The core of the executor driver. It keeps the session with the agent, resends updates until they
// are acknowledged, and ends the executor when the agent stays away. Pure.

#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "common/trace.h"
#include "proto/messages.h"

namespace proffer::sdk {

struct ExecutorDriverOptions {
  FrameworkId framework = {};
  ExecutorId executor = {};
  Secret token = {};
  uint64_t run = 0;  // the run for which the process was started; 0: the agent did not give one
  Duration heartbeat = kHeartbeatInterval;
  Duration agent_timeout = kAgentTimeout;
  Duration wait_for_agent = kExecutorWaitsForAgent;
};

struct AgentConnected {};
struct AgentDisconnected {};
struct AgentFrame {
  proto::Envelope envelope = {};
};
// A task update of the executor (state, reason, message, data, exit_code, signal, healthy, ready).
// If more than kUpdatesPerTaskMax updates of a task wait for the agent, only the newest is kept.
struct TellUpdate {
  proto::TaskStatus status = {};
  // See ExecutorUpdate.
  bool takes_another = false;
};
struct TellMessage {
  std::string data = {};
};
// The executor has nothing more to do. Finished follows when all its updates are acknowledged.
struct FinishWhenAcknowledged {};
struct ExecutorTick {};

using ExecutorDriverEvent = std::variant<AgentConnected, AgentDisconnected, AgentFrame, TellUpdate,
                                         TellMessage, FinishWhenAcknowledged, ExecutorTick>;

struct SendToAgent {
  proto::Envelope envelope = {};
};
struct ResetAgent {};
struct StartTask {
  proto::RunTask run = {};
};
struct EndTask {
  TaskId task = {};
  std::optional<Duration> grace = {};
};
struct HearMessage {
  std::string data = {};
};
// End all tasks, each with its grace, then finish. `agent_away`: the agent stayed away too long.
struct EndAll {
  bool agent_away = false;
};
// The process may exit.
struct Finished {
  bool has_told_all = true;  // An agent has acknowledged each update.
};

using ExecutorDriverAction =
    std::variant<SendToAgent, ResetAgent, StartTask, EndTask, HearMessage, EndAll, Finished>;

struct ExecutorDriverOutbox {
  std::vector<ExecutorDriverAction> actions = {};
  void clear() { actions.clear(); }
};

class ExecutorDriver {
 public:
  explicit ExecutorDriver(ExecutorDriverOptions options);
  ~ExecutorDriver();
  ExecutorDriver(const ExecutorDriver&) = delete;
  ExecutorDriver& operator=(const ExecutorDriver&) = delete;

  void handle(const ExecutorDriverEvent& event, Time now, ExecutorDriverOutbox& out);
  std::optional<Time> next_deadline() const;
  // The agent has acknowledged all updates, so they are on its disk.
  bool is_all_acknowledged() const;
  std::vector<Violation> violations() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace proffer::sdk
