#pragma once

// The tenants: frameworks that have subscribed, and those that may come back.

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

// A task that is to end once an agent tells of it.
struct KillWish {
  std::optional<Duration> grace = {};  // else the task's own
};
// A task that its scheduler asked for, or wants ended, while nobody knows it.
struct AskedFor {
  std::optional<KillWish> kill = {};
  AgentId agent = {};  // on which its scheduler knows it to be
};

// In this life of the master.
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

// Offers whose lease ended without an answer, in this life of the master.
struct UnansweredOffers {
  int64_t count = 0;
  int64_t since_answer = 0;  // the last accept or decline
  int64_t times = 0;         // some ended together, likewise
};

// One of its asks, in the ledger of waiting.
struct LedgerEntry {
  RoleName role = {};  // that its tasks count in
  AskWait wait;
};

struct Framework {
  proto::FrameworkRecord record = {};  // in the registry only if it may come back
  // Torn down: no peer, no offers; here until the last of its tasks has ended on its agent.
  bool gone = false;
  PeerId peer = {};  // zero: not connected
  SessionEpoch session = {};

  uint64_t generation = 0;           // of its asks
  std::map<AskName, Ask> asks = {};  // declared in this session
  // What the last AskReport of this session said: whether the ask could ever fit, as it remarks.
  std::map<AskName, bool> reported = {};
  std::map<AskName, std::string> rejected_asks = {};  // of the last declaration, and why

  BackOff back_off = {};
  ShortDeclines short_declines = {};
  RefusedLaunches refused_launches = {};
  UnansweredOffers unanswered = {};
  OfferWaits offer_waits = {};
  std::map<AskName, LedgerEntry> ledger = {};  // of asks that want tasks; none is empty
  WaitTotals wait_totals = {};                 // of all of its tasks, in this life of the master
  bool suppressed = false;

  // Refused launches whose update is not acknowledged, by task and sequence: such a task is in no
  // table.
  std::map<std::pair<TaskId, uint64_t>, proto::TaskStatus> refusals = {};
  // Launches that agents refused, told to this master when they registered: it began after that, so
  // that it cannot know whether the id was launched again elsewhere. Only while the framework does
  // not remember its tasks; its store knows more.
  std::map<TaskId, proto::TaskStatus> old_refusals = {};
  // Tasks asked after or to be killed that nobody knows, while agents that may know them are
  // awaited.
  std::map<TaskId, AskedFor> waiting = {};
  // In this session it asked for its tasks while agents were awaited: for all of them, or at all.
  // It is told of those that the agents bring, and when the last agent is back or removed.
  bool awaits_all = false;
  bool awaits_agents = false;

  // Agents that may run an executor which its tasks share: it outlives them.
  std::set<AgentId> executor_agents = {};

  int64_t tasks = 0;   // in the table of tasks
  int64_t held = 0;    // tasks and strays whose resources are allocated and charged to it
  int64_t hidden = 0;  // of its tasks in the table
  Time subscribed_at = {};
  Time away_since = {};  // while it is not connected; at the earliest the start of this master

  const FrameworkId& id() const { return record.framework; }
  bool connected() const { return static_cast<bool>(peer); }
  bool remembers_tasks() const { return durable() && record.remembers_tasks; }
  // All that runs of it was launched with a ticket, or is known by its scheduler.
  bool has_tickets() const { return !record.ticket_key.empty(); }
  bool durable() const { return !gone && record.failover_timeout > Duration(); }
  // Its own user, and if it serves users, also those that sent it requests. Empty: its own.
  bool may_run_as(const std::string& user) const {
    return user.empty() || user == record.user ||
           (record.serves_users && record.users.contains(user));
  }
  const std::string& user_of(const proto::TaskSpec& task) const {
    return task.user.empty() ? record.user : task.user;
  }
};

// Frameworks of one user whose schedulers are away: a client that subscribes again and again as a
// new one, with a long failover timeout, would fill the table for all users. Further ones are
// refused until some have come back or ended.
inline constexpr size_t kAwayFrameworksPerUserMax = 1'000;

// The role under which the tasks of frameworks that this master never knew count until they have
// ended.
inline const RoleName kGoneRole("_gone");
// That is charged with what agents run in nobody's name. No framework of a master has such an id.
inline const FrameworkId kNobodysFramework("_nobody");

class Frameworks {
 public:
  Framework* find(const FrameworkId& framework);
  const Framework* find(const FrameworkId& framework) const;
  // By the secret with which it subscribed; never one that is gone.
  Framework* find(const Secret& secret);
  // That may come back, of this name and user. O(frameworks).
  std::vector<Framework*> durable_of(const std::string& name, const std::string& user);
  // The one that a person means: by its id, its name or a unique prefix of its id; of several with
  // one name, the only one that serves users, else the only one that is connected. Never one that
  // is gone. Errors: kNotFound, with those that exist; kInvalidArgument, with the candidates.
  // O(frameworks).
  Result<const Framework*> named(std::string_view word) const;
  // The one of this whole id, or the only one of this name; never one that is gone. Errors:
  // kNotFound, with those that exist; kInvalidArgument, with the ids of those of the name.
  // O(frameworks).
  Result<Framework*> exactly(std::string_view word);
  // Takes an id and secret that are not in use. Its scheduler is away.
  Framework& add(proto::FrameworkRecord record);
  // Its secret no longer finds it.
  void mark_gone(Framework& framework);
  void erase(const FrameworkId& framework);
  void connect(Framework& framework, PeerId peer);
  void disconnect(Framework& framework);
  // A secret that is not in use, or its own.
  void set_record(Framework& framework, proto::FrameworkRecord record);

  // Of this user, not gone, without a scheduler.
  size_t away_of(const std::string& user) const;
  // That are not gone.
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
