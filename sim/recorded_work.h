#pragma once

// The work of a cluster, as its masters saw it: agents and the times when they came and went,
// frameworks and their asks over time, tasks with their waits and run times, and the operations of
// operators. It is read from the steps of the masters' cores, of a replayed recording or of a
// simulated master.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/offers.h"
#include "common/resources.h"
#include "common/roles.h"
#include "common/time.h"
#include "master/core/master.h"
#include "master/recording/step_watcher.h"
#include "proto/messages.h"
#include "proto/records.h"
#include "slave/core/reserved.h"

namespace proffer::sim {

// An agent, from its registration until it was lost.
struct WorkAgent {
  AgentId agent = {};
  Resources total = {};  // without resources that are only estimated to be free
  Attributes attributes = {};
  agent::ReservedByRole reserved = {};
  Time joins = {};
  std::optional<Time> leaves = {};
};

struct WorkFramework {
  FrameworkId id = {};
  std::string name = {};
  RoleName role = {};
  OfferMode mode = OfferMode::kAsks;
  Time joins = {};
};

// The common part of tasks: the ask that they fill, without its count. For a framework that takes
// open offers only the shape is known.
struct WorkKind {
  uint32_t framework = 0;  // its index
  RoleName role = {};      // the role in which they count
  Ask ask = {};
};

// An attempt of a task, from when it was wanted; there is a new one after it was lost or preempted.
struct WorkAttempt {
  Time wanted = {};
  std::optional<Time> launched = {};
  std::optional<Time> ended = {};
  bool was_taken = false;  // it ended because it was revoked, drained or lost
};
struct WorkItem {
  uint32_t kind = 0;                       // its index
  std::vector<WorkAttempt> attempts = {};  // at least one
};

struct Work {
  Time begins = {};                                 // of the first life
  Time ends = {};                                   // the last step of the last life
  std::map<std::string, std::string> options = {};  // the first master's, by names of flags
  RoleTable roles = {};                             // when the first master began
  // From its registry: drained agents, without their secrets, and reservations made by operations.
  std::vector<proto::AgentRecord> drained = {};
  std::vector<proto::ReservationRecord> reservations = {};
  std::vector<WorkAgent> agents = {};
  std::vector<WorkFramework> frameworks = {};
  std::vector<WorkKind> kinds = {};
  std::vector<WorkItem> items = {};
  // Tasks that had to end, or would no longer have been lent resources: time and role.
  std::vector<std::pair<Time, RoleName>> revokes = {};
  // Operations of operators: SetRole, DrainAgent, UndrainAgent and ReserveForRole.
  std::vector<std::pair<Time, master::MasterEvent>> operations = {};
  // Times without a leader, between two lives.
  std::vector<std::pair<Time, Time>> gaps = {};
  int64_t inherited = 0;  // tasks that ran before the first master began
  int64_t withdrawn = 0;  // withdrawn before their launch: these are no items
  int64_t cut = 0;        // still waiting, and no items: beyond kWorkPendingKept of their ask

  // True if nothing waits or runs at its end.
  bool is_over() const;
};
// The most waiting tasks of one ask at the end, since a framework may ask for millions.
inline constexpr size_t kWorkPendingKept = 10'000;

// Reads the work from steps. Lives follow each other; tasks and agents that continue into the next
// life are identified by their names.
class WorkReader final : public master::StepWatcher {
 public:
  void begins(const master::MasterOptions& options,
              const master::MasterSnapshot& snapshot) override;
  void hears(const master::MasterEvent& event, Time now) override;
  void says(const master::MasterOutbox& out) override;
  void ends() override {}

  // O(all): waiting tasks are added to a copy.
  Work work() const;
  // The number of asks that are declared now.
  size_t asks() const { return wanted_.size(); }

 private:
  using TaskName = std::pair<FrameworkId, TaskId>;
  using AskOf = std::pair<uint32_t, AskName>;
  // The master's event in the present step; it is applied when its outcome is known.
  struct Heard {
    std::optional<PeerId> peer = {};
    std::optional<proto::Subscribe> subscribe = {};
    std::optional<std::vector<Ask>> asks = {};
    std::map<TaskId, std::pair<AskName, ResourceVector>> launches = {};
    std::optional<master::MasterEvent> operation = {};  // it may be refused
  };
  // `count` tasks of an ask that are not launched, or one task that is wanted again.
  struct Wanted {
    uint32_t kind = 0;
    Time at = {};
    size_t count = 1;
    std::optional<uint32_t> again = {};  // an item
  };
  struct Pending {
    std::deque<Wanted> rows = {};
    size_t count = 0;              // of all rows
    std::optional<Ask> said = {};  // as its framework declared it to this master, without the count
    std::optional<Time> expires = {};
    bool is_expired = false;  // it wants nothing until it is declared differently
  };
  struct Running {
    uint32_t item = 0;
    uint32_t attempt = 0;
  };

  void hear(PeerId peer, const proto::Message& message);
  void on_agent_registered(const AgentId& agent);
  void on_agent_left(const AgentId& agent);
  void on_subscribed(const FrameworkId& id);
  void on_declared(const master::MasterOutbox& out);
  // The ask is declared; its expiry begins if it differs from before.
  void say(const AskOf& of, Ask ask);
  void forget(std::map<AskOf, Pending>::iterator ask);
  void say_again(const FrameworkId& id);
  void be_said_again(const AskOf& of, Pending& pending);
  void expire();
  void on_launched(const FrameworkId& framework, const TaskId& task);
  void on_adopted(const FrameworkId& framework, const TaskId& task);
  void on_ended(const FrameworkId& framework, const TaskId& task, bool was_taken);
  // Its framework may want it again at once, or wait for the next update.
  void on_unreachable(const FrameworkId& framework, const TaskId& task);
  void on_back(const FrameworkId& framework, const TaskId& task);

  // The framework's index; it is added if it is new.
  uint32_t framework_of(const FrameworkId& id);
  uint32_t kind_of(uint32_t framework, Ask ask);
  // `count` more tasks of the ask: tasks that were preempted before come first.
  void want(const AskOf& of, const Ask& ask, size_t count);
  // The newest `count` of them, or all.
  void withdraw(Pending& pending, size_t count);
  // The item of the oldest of them, with a new attempt; one of `kind` if there is none.
  uint32_t take(Pending& pending, uint32_t kind);

  Work work_;
  Time now_;
  bool has_begun_ = false;
  Heard heard_;
  std::map<AgentId, uint32_t> present_;   // agents, with their indices
  std::map<AgentId, Time> silent_since_;  // of disconnected agents
  // By connection, since another peer may give the name of an agent, and is refused.
  std::map<PeerId, proto::RegisterAgent> registering_;
  std::map<std::pair<PeerId, TaskName>, proto::AgentTask> told_;
  std::map<FrameworkId, uint32_t> frameworks_;           // with their indices
  std::map<FrameworkId, proto::FrameworkRecord> known_;  // from the registry
  std::map<PeerId, FrameworkId> scheduler_peers_;
  std::map<AskOf, Pending> wanted_;  // of each declared ask
  std::set<std::pair<Time, AskOf>> expiries_;
  std::map<uint32_t, std::vector<uint32_t>> kinds_;  // by framework
  std::map<uint32_t, std::deque<uint32_t>> owed_;    // by kind: items that are wanted again
  std::map<TaskName, Running> running_;
  std::map<TaskName, Running> unreachable_;
};

}  // namespace proffer::sim
