#pragma once

// The frameworks that have subscribed, and those that may come back.

#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "common/offers.h"
#include "master/core/back_off.h"
#include "master/core/framework_figures.h"
#include "master/core/short_declines.h"
#include "master/core/tasks.h"
#include "master/core/waits.h"
#include "proto/records.h"

namespace proffer::master {

// A task that must end as soon as an agent reports it.
struct KillWish {
  std::optional<Duration> grace = {};  // without a value: the task's own
};
// An unknown task that its scheduler asked for, or wants to kill.
struct AskedFor {
  std::optional<KillWish> kill = {};
  AgentId agent = {};  // the agent where its scheduler expects it
};

// Launches that were refused in this life of the master.
struct RefusedLaunches {
  int64_t count = 0;
  std::map<proto::TaskReason, int64_t> by_reason = {};
  struct Last {
    TaskId task = {};
    AskName ask = {};
    proto::TaskReason reason = proto::TaskReason::kNone;
    std::string message = {};
    Time at = {};
  };
  std::optional<Last> last = {};
};

// Tasks that failed one after another since the last that finished, in this life of the master.
struct FailedTasks {
  int64_t in_a_row = 0;
  // These are of the last one.
  TaskId task = {};
  proto::TaskReason reason = proto::TaskReason::kNone;
  std::string message = {};
  Time at = {};

  void note(const proto::TaskStatus& status, Time now) {
    if (status.state == proto::TaskState::kFinished) *this = {};
    if (status.state != proto::TaskState::kFailed) return;
    *this = {in_a_row + 1, status.task, status.reason, status.message, now};
  }
};

// Offers that ended without an answer, in this life of the master: at the end of their lease,
// except where noted.
struct UnansweredOffers {
  int64_t count = 0;
  int64_t since_answer = 0;  // since the last accept or decline
  int64_t times = 0;         // since then, the times at which leases ended
  // Offers that were rescinded before that, since others waited; and the time of the last one.
  int64_t rescinded = 0;
  Time rescinded_at = {};
};

// An ask of the framework in the ledger of waiting.
struct LedgerEntry {
  RoleName role = {};  // the role in which its tasks count
  AskWait wait;
};

struct Framework {
  proto::FrameworkRecord record = {};  // in the registry only if it may come back
  // Torn down: it has no peer and no offers, and is kept until the last of its tasks has ended.
  bool gone = false;
  PeerId peer = {};  // zero: not connected
  SessionEpoch session = {};

  uint64_t generation = 0;           // of its asks
  std::map<AskName, Ask> asks = {};  // declared in this session
  // The content of the last AskReport in this session: whether each ask could ever fit.
  std::map<AskName, bool> reported = {};
  std::map<AskName, std::string> rejected_asks = {};  // in the last declaration, with the reason

  BackOff back_off = {};
  ShortDeclines short_declines = {};
  RefusedLaunches refused_launches = {};
  UnansweredOffers unanswered = {};
  FailedTasks failed = {};
  OfferWaits offer_waits = {};
  std::map<AskName, LedgerEntry> ledger = {};  // for asks that want tasks; none is empty
  WaitTotals wait_totals = {};                 // of all of its tasks, in this life of the master
  bool suppressed = false;

  // Refused launches with unacknowledged updates, by task and sequence. Such a task is in no table.
  std::map<std::pair<TaskId, uint64_t>, proto::TaskStatus> refusals = {};
  // Refused launches that agents reported when they registered. This master began later, so it
  // cannot know whether the id was launched again elsewhere. Only while the framework does not
  // remember its tasks, because its store knows more.
  std::map<TaskId, proto::TaskStatus> old_refusals = {};
  // Unknown tasks that the scheduler asked for or wants to kill, while agents that may have them
  // are awaited.
  std::map<TaskId, AskedFor> waiting = {};
  // In this session the scheduler asked for tasks while agents were awaited: for all tasks, or for
  // some. It gets the tasks that these agents report, and a notice when the last agent is back or
  // removed.
  bool awaits_all = false;
  bool awaits_agents = false;

  // Agents with an executor that may be shared by its tasks and outlives them.
  std::set<AgentId> executor_agents = {};

  int64_t tasks = 0;   // in the table of tasks
  int64_t held = 0;    // tasks and strays whose resources are allocated and charged to it
  int64_t hidden = 0;  // of its tasks in the table
  Time subscribed_at = {};
  Duration ends_after = {};  // while it is disconnected: the time that it has to come back
  Time away_since = {};      // while it is disconnected; not before the start of this master

  const FrameworkId& id() const { return record.framework; }
  bool connected() const { return static_cast<bool>(peer); }
  bool remembers_tasks() const { return durable() && record.remembers_tasks; }
  // All of its running tasks were launched with tickets, or are known to its scheduler.
  bool has_tickets() const { return !record.ticket_key.empty(); }
  bool durable() const { return !gone && record.failover_timeout > Duration(); }
  // The framework's own user; if it serves users, also users that sent it requests. Empty: its own.
  bool may_run_as(const std::string& user) const {
    return user.empty() || user == record.user ||
           (record.serves_users && record.users.contains(user));
  }
  const std::string& user_of(const proto::TaskSpec& task) const {
    return task.user.empty() ? record.user : task.user;
  }
};

// Disconnected frameworks of one user. A client that repeatedly subscribes as a new framework with
// a long failover timeout would fill the table for all users, so further ones are refused until
// some have come back or ended.
inline constexpr size_t kAwayFrameworksPerUserMax = 1'000;

// The role in which tasks of frameworks unknown to this master count until they end.
inline const RoleName kGoneRole("_gone");
// The framework that is charged with running tasks of no known framework. No framework has this id.
inline const FrameworkId kNobodysFramework("_nobody");

class Frameworks {
 public:
  Framework* find(const FrameworkId& framework);
  const Framework* find(const FrameworkId& framework) const;
  // Finds a framework by the secret with which it subscribed, unless it is gone.
  Framework* find(const Secret& secret);
  // Frameworks of this name and user that may come back. O(frameworks).
  std::vector<Framework*> durable_of(const std::string& name, const std::string& user);
  // Finds a framework that a user names: by its id, its name or a unique prefix of its id. If
  // several have the name, it is the only one that serves users, or else the only connected one.
  // Never one that is gone. Errors: kNotFound, with the existing ones; kInvalidArgument, with the
  // candidates. O(frameworks).
  Result<const Framework*> named(std::string_view word) const;
  // Finds a framework by its whole id, or by its name if it is unique; never one that is gone.
  // Errors: kNotFound, with the existing ones; kInvalidArgument, with the ids of the frameworks
  // with that name. O(frameworks).
  Result<Framework*> exactly(std::string_view word);
  // The id and the secret must not be in use. Its scheduler is disconnected.
  Framework& add(proto::FrameworkRecord record);
  // Afterwards its secret does not find it.
  void mark_gone(Framework& framework);
  void erase(const FrameworkId& framework);
  void connect(Framework& framework, PeerId peer);
  void disconnect(Framework& framework);
  // The secret must not be in use by another framework.
  void set_record(Framework& framework, proto::FrameworkRecord record);

  // The number of this user's frameworks that are not gone and have no scheduler.
  size_t away_of(const std::string& user) const;
  // The number of frameworks that are not gone.
  size_t size() const { return by_secret_.size(); }
  const std::map<FrameworkId, Framework>& all() const { return frameworks_.map(); }
  IndexedMap<FrameworkId, Framework>& all() { return frameworks_; }

 private:
  static bool is_away(const Framework& framework);
  void count(const Framework& framework, int change);

  IndexedMap<FrameworkId, Framework> frameworks_;
  std::map<Secret, FrameworkId> by_secret_;
  std::map<std::string, size_t> away_;  // by user; none is zero
};

}  // namespace proffer::master
