#pragma once

// The scheduler driver's core: sessions, retry, asks, acknowledgement and reconciliation, so that a
// framework's author has none of it to do. Pure.

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/trace.h"
#include "sdk/notifications.h"

namespace proffer::sdk {

struct DriverOptions {
  std::string name = {};
  RoleName role = RoleName("default");
  OfferMode mode = OfferMode::kAsks;
  std::string user = {};
  Secret secret = {};          // from the system's randomness, or of the framework's first life
  FrameworkId framework = {};  // of the first life; empty: a new framework
  Duration failover_timeout = kFailoverTimeout;
  Duration heartbeat = kHeartbeatInterval;
  Duration master_timeout = kAgentTimeout;
  size_t ended_kept = kEndedTasksKept;  // tasks that have ended, whose ends are not told again
  // Where the author keeps the identity; only for the hint of a refusal.
  std::string session_file = {};
  bool serves_users = false;
  bool remembers_tasks = false;
  bool stands_by = false;
  // The end of a task is acknowledged by AcknowledgeEnd only.
  bool acknowledges_ends = false;
};

// --- events ------------------------------------------------------------------------------------

struct MasterConnected {};  // a fresh connection
struct MasterDisconnected {
  std::string reason = {};
};
struct MasterFrame {
  proto::Envelope envelope = {};
};
// The author wants this. Before the first session, commands that need one are kept (asks) or
// refused.
struct CommandGiven {
  Command command = {};
};
struct Tick {};

using DriverEvent =
    std::variant<MasterConnected, MasterDisconnected, MasterFrame, CommandGiven, Tick>;

// --- what a step says --------------------------------------------------------------------------

struct SendToMaster {
  proto::Envelope envelope = {};
};
struct ResetMaster {};  // end this connection and make a fresh one, with back-off
struct Notify {
  Notification notification = {};
};
// The framework got its id: the author's session file is written (id and secret).
struct SaveIdentity {
  FrameworkId framework = {};
  Secret secret = {};
};
// Teardown was answered (or nobody answered for ten seconds), or Refused: nothing further comes.
struct Done {
  bool is_given_up = false;  // nobody answered: the framework stays for its failover timeout
};

using DriverAction = std::variant<SendToMaster, ResetMaster, Notify, SaveIdentity, Done>;

struct DriverOutbox {
  std::vector<DriverAction> actions = {};  // in this order
  std::vector<TraceEvent> trace = {};
  void clear() {
    actions.clear();
    trace.clear();
  }
};

class Driver {
 public:
  explicit Driver(DriverOptions options);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  void handle(const DriverEvent& event, Time now, DriverOutbox& out);
  std::optional<Time> next_deadline() const;
  const FrameworkId& framework() const;
  bool subscribed() const;
  // What was declared last, less what was launched since; what an ask "beside the others" adds to.
  const std::vector<Ask>& asks() const;
  // Tasks that were launched and have had no terminal update.
  std::vector<TaskId> live_tasks() const;
  // In a session, and AllTasksKnown was told in it.
  bool all_tasks_known() const;
  std::vector<Violation> violations() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace proffer::sdk
