#pragma once

// The core of the scheduler driver. It handles sessions, retries, asks, acknowledgement and
// reconciliation, so that the author of a framework need not. Pure.

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
  Secret secret = {};          // random, or the secret of the framework's first life
  FrameworkId framework = {};  // the id from the first life; empty: a new framework
  Duration failover_timeout = kFailoverTimeout;
  Duration heartbeat = kHeartbeatInterval;
  Duration master_timeout = kAgentTimeout;
  size_t ended_kept = kEndedTasksKept;  // ended tasks that are remembered, to report each end once
  // The path of the author's session file. Used only in the hint of a refusal.
  std::string session_file = {};
  bool serves_users = false;
  bool remembers_tasks = false;
  bool stands_by = false;
  // The end of a task is acknowledged only by AcknowledgeEnd.
  bool acknowledges_ends = false;
};

// --- events ------------------------------------------------------------------------------------

struct MasterConnected {};  // a new connection was made
struct MasterDisconnected {
  std::string reason = {};
};
struct MasterFrame {
  proto::Envelope envelope = {};
};
// A command of the author. Before the first session, asks are kept, and other commands that need a
// session are refused.
struct CommandGiven {
  Command command = {};
};
struct Tick {};

using DriverEvent =
    std::variant<MasterConnected, MasterDisconnected, MasterFrame, CommandGiven, Tick>;

// --- actions -----------------------------------------------------------------------------------

struct SendToMaster {
  proto::Envelope envelope = {};
};
struct ResetMaster {};  // close this connection and make a new one, with back-off
struct Notify {
  Notification notification = {};
};
// The framework received its id: write the id and the secret to the session file.
struct SaveIdentity {
  FrameworkId framework = {};
  Secret secret = {};
};
// The driver is finished: the teardown was answered, or had no answer within ten seconds, or the
// framework was refused.
struct Done {
  bool is_given_up = false;  // no answer came: the framework stays until its failover timeout
};

using DriverAction = std::variant<SendToMaster, ResetMaster, Notify, SaveIdentity, Done>;

struct DriverOutbox {
  std::vector<DriverAction> actions = {};  // carried out in this order
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
  // The asks that were declared last, less the tasks launched since. An ask "beside the others" is
  // added to these.
  const std::vector<Ask>& asks() const;
  // Tasks that were launched and have had no terminal update.
  std::vector<TaskId> live_tasks() const;
  // There is a session, and AllTasksKnown was reported in it.
  bool all_tasks_known() const;
  std::vector<Violation> violations() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace proffer::sdk
