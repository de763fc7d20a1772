#pragma once

// The allocator's view of the agents.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "allocator/cluster/held.h"
#include "common/attributes.h"
#include "common/check.h"
#include "common/ids.h"
#include "common/offers.h"
#include "common/rare.h"
#include "common/roles.h"
#include "common/shared.h"
#include "common/time.h"

namespace proffer::fair {

struct AskEntry;
struct Framework;
struct Leaf;
struct OutstandingOffer;

// Identifies a task: task ids are unique within their frameworks.
struct TaskRef {
  FrameworkId framework = {};
  TaskId task = {};
  auto operator<=>(const TaskRef&) const = default;
};
// Looks up a task without copies of its ids.
struct TaskKey {
  const FrameworkId& framework;
  const TaskId& task;
};
// The key of a task in its agent's table; the framework's id is stored in its leaf.
struct HeldTask {
  const FrameworkId& framework;
  TaskId task = {};
  operator TaskRef() const { return {framework, task}; }
};
struct TaskRefOrder {
  using is_transparent = void;
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    const int order = a.framework.str().compare(b.framework.str());
    return order != 0 ? order < 0 : a.task < b.task;
  }
};
// Slices in the terms of an agent's books: a lent slice counts as unreserved.
struct Booked {
  // unreserved and reserved: the amounts that count in shares; without ports
  Resources resources = {};
  std::vector<Slice> others = {};  // the reserved ones of these, and the estimated ones
  // The slices are lent: unreserved, but due back to the claim for which they are set aside: at
  // once, or, if the task backfills the claim, by its time limit.
  bool lent = false;
  Resources unreserved() const;
  ResourceVector estimated() const;
  bool operator==(const Booked&) const = default;
};

// The data that tasks of one ask share, since there may be hundreds of thousands of tasks.
struct TaskTerms {
  Booked booked = {};
  AskName ask = {};
  TaskClaim claim = {};
  // The run time that its ask declared when the task began; zero: none.
  Duration expected = {};
  bool operator==(const TaskTerms&) const = default;
};
struct TaskTermsHash {
  size_t operator()(const TaskTerms& terms) const;
};

// An allocated task.
struct Task {
  struct Times {
    std::optional<Time> ends_by = {};  // it has a revoke notice with this deadline
    // The task backfills a claim, and its time limit ends it by then. Until then it is not
    // preempted for the claim.
    std::optional<Time> lent_until = {};
    bool operator==(const Times&) const = default;
  };

  Shared<TaskTerms> terms = {};
  Leaf* leaf = nullptr;
  Time since = {};
  Rare<PortSet> ports = {};
  Rare<Times> times = {};

  const std::optional<Time>& ends_by() const { return times->ends_by; }
  const std::optional<Time>& lent_until() const { return times->lent_until; }
  bool is_kept_until(Time now) const { return lent_until() && *lent_until() > now; }
  const Booked& booked() const { return terms->booked; }
  const ResourceVector& amounts() const { return terms->booked.resources.amounts; }
  bool is_lent() const { return terms->booked.lent; }
  ResourceVector estimated() const { return terms->booked.estimated(); }
  const AskName& ask() const { return terms->ask; }
  const TaskClaim& claim() const { return terms->claim; }
  Duration expected() const { return terms->expected; }
};
static_assert(sizeof(Task) <= 40);

// The tasks of an agent, ordered by framework id, then task id.
class HeldTasks : public std::map<HeldTask, Task, TaskRefOrder> {
 public:
  // CHECKs that the task is here.
  Task& at(const TaskRef& ref) {
    const auto found = find(ref);
    CHECK(found != end()) << ref.framework.str() << "/" << ref.task.str();
    return found->second;
  }
  const Task& at(const TaskRef& ref) const {
    const auto found = find(ref);
    CHECK(found != end()) << ref.framework.str() << "/" << ref.task.str();
    return found->second;
  }
};

// The time from launch until a task with this time limit has surely ended. It includes the start,
// which the time limit does not count, and the grace at the end.
inline constexpr Duration kStartAllowance = seconds(10);
constexpr Duration surely_takes(Duration max_run_time) { return max_run_time + kStartAllowance; }

// One reservation state of an agent other than unreserved: reserved for a role, or estimated.
struct Part {
  RoleName reserved_for = {};
  bool revocable = false;  // estimated; counts in no total and no share
  Resources total = {};
  Held allocated = {};
  Held offered = {};
  Resources free = {};
};

// The resources of an agent and their users, by reservation state. Reservations may change while
// tasks run: a task keeps its resources in the state in which it got them, and if a state has given
// more than its total, the excess is not free in the others.
struct Books {
  Resources total = {};  // unreserved
  Held allocated = {};
  Held offered = {};
  // At most this much of the amounts that are neither allocated nor offered, including the lent
  // part, is kept for a claim; only on agents without reservations.
  ResourceVector keep = {};
  ResourceVector lent = {};      // the part of the claim lent to others; only without reservations
  Resources kept = {};           // the existing part of `keep`
  Resources free = {};           // the rest, by kind and device
  std::vector<Part> parts = {};  // reserved ones by role, then the estimated one; most have none

  void compute_free();
  // The free slices that the role may use: unreserved, or reserved for the role or a role above it.
  std::vector<Slice> usable(const RoleName& role) const;
  // The same as if nothing were allocated or offered.
  std::vector<Slice> usable_total(const RoleName& role) const;
  // Free and kept resources together, for the ask with the claim.
  Resources free_and_kept() const;
  // Sums over the unreserved and the reserved parts, without the estimated part.
  ResourceVector counted_total() const;
  ResourceVector counted_allocated() const;
  ResourceVector counted_offered() const;
  Resources counted_free() const;
  int64_t counted_free_of(ResourceKind kind) const;
  int64_t counted_total_of(ResourceKind kind) const;
  // The estimated part, or nullptr.
  const Part* estimate() const;
  Part* estimate();
  Part& part(const RoleName& reserved_for, bool revocable);  // creates it if it does not exist
  void forget_empty_parts();
  // Whether the offers of one state, or of all together, exceed its unallocated resources.
  bool is_offered_beyond_total() const;

  // `slices` in the terms of these books.
  Booked book(const std::vector<Slice>& slices) const;
  void allocate(const Booked& booked);
  void end_allocated(const Booked& booked);
  void offer(const Booked& booked);
  void end_offered(const Booked& booked);

 private:
  void change(const Booked& booked, Held Books::*unreserved, Held Part::*other, bool add);
};

// Why resources of an agent are set aside.
enum class Purpose : uint8_t {
  kNone,
  kNotice,  // tasks have a revoke notice for the ask (waiting/reclaims.h)
  kOwed,    // the ask is owed a task (waiting/gate.h)
  kClaim,   // the ask has waited long (waiting/claims.h)
};

// A list of the outstanding offers of an agent or of a leaf, oldest first. OutstandingOffers
// maintains and walks it.
struct OfferList {
  OutstandingOffer* first = nullptr;
  OutstandingOffer* last = nullptr;
  bool empty() const { return first == nullptr; }
};

// The part of an agent that decides whether an ask fits. explain/ changes copies of it to examine
// hypothetical states.
struct AgentState : Books {
  AgentId id = {};
  size_t slot = 0;  // a small unique number, an index into tables of others
  Attributes attributes = {};
  uint64_t attributes_version = 0;  // unique over all agents and times; for caches
  bool active = true;
  bool draining = false;

  PortSet ports = {};
  PortSet free_ports = {};      // ports that no task takes
  int64_t free_port_count = 0;  // of these
  int64_t ports_offered = 0;    // ports that the fills of outstanding offers need

  // The ask for which resources are set aside here, and the reason. If `keep` is zero, all
  // resources that become free here are for the ask; else only the kept ones.
  AskEntry* claimant = nullptr;
  Purpose purpose = Purpose::kNone;

  // Free amounts that long tasks may not borrow, since the guarantee of the role has taken them
  // back repeatedly; maintained by waiting/withheld.h.
  struct Withheld {
    RoleName role = {};
    ResourceVector amounts = {};
    Duration lasts = {};  // tasks that are expected to run for longer are long
    bool operator==(const Withheld&) const = default;
  };
  std::vector<Withheld> withheld = {};  // at most one of each role

  bool by_notice() const { return purpose == Purpose::kNotice; }
  // Whether other asks get nothing here.
  bool is_set_aside() const { return claimant != nullptr && keep.is_zero(); }
  int64_t ports_left() const { return free_port_count - ports_offered; }
  // Whether the agent may be offered.
  bool serves() const { return active && !draining; }
};

struct Agent : AgentState {
  uint64_t rank = 0;  // ordered as the ids, and faster to compare
  struct Use {
    const Framework* framework = nullptr;
    ResourceVector amounts = {};
  };
  std::vector<Use> allocated_to = {};  // in no order; none is zero
  HeldTasks tasks = {};
  OfferList offers = {};        // outstanding
  ResourceVector noticed = {};  // the amounts of tasks with a revoke notice
  uint64_t growths = 0;         // the number of times that resources became free here
  bool is_grown = false;        // it is in Cluster::grown

  // The hold of a claim on this agent, if any; maintained by waiting/.
  struct Hold {
    Time since = {};
    Time progress_at = {};     // the time of the last increase of `most`
    ResourceVector most = {};  // the maximum that was kept or lent at one time
    // The hold waits for tasks of unknown end.
    bool is_speculative = false;
  };
  Hold hold = {};
  // No hold begins here before this time.
  Time rests_until = {};

  // Maintained by FreeAgents.
  bool listed = false;
  int64_t weighted_free = 0;
  int64_t key = 0;          // its order in FreeAgents
  int64_t key_counted = 0;  // the same, including reserved resources
  size_t lacking = 0;       // see kinds_lacking(); all kinds if a resource is reserved
  // The free amounts that are reserved, by role.
  std::vector<std::pair<RoleName, ResourceVector>> reserved_listed = {};
  // The number of its family (families.h), and the total for which it was found.
  size_t family = 0;
  ResourceVector family_of = {};
  size_t index_at = 0;    // the number of its index in FreeAgents
  uint64_t grown_at = 0;  // stamp of the last change that made more available
  // The listed agents with the next lower and the next higher stamp.
  Agent* stamped_before = nullptr;
  Agent* stamped_after = nullptr;
  static constexpr size_t kNotFresh = ~size_t{0};
  size_t fresh_place = kNotFresh;  // index in FreeAgents::fresh()

  // The cache of rules/fragmentation.h; valid while the free amounts and the typical shapes stay
  // the same.
  struct Fragments {
    uint64_t version = 0;  // of the workload; zero: not computed
    int64_t now = 0;
    std::vector<int64_t> growth = {};  // growth by a task of each typical shape
  };
  mutable Fragments fragments = {};

  void count_free_ports();
  // Adds `more`, which may be negative, to the amounts of the framework's tasks.
  void note_allocated(const Framework& framework, const ResourceVector& more);
  bool has_gpus() const { return total.amounts[ResourceKind::kGpus] > 0; }
};

struct AgentById {
  using is_transparent = void;
  bool operator()(const Agent* a, const Agent* b) const { return a->id < b->id; }
};
using AgentSet = std::set<Agent*, AgentById>;

// The number of tasks of the shape that fit into the slices that the role may use, at most
// count_max.
int64_t count_that_fits(const ResourceVector& shape, const Books& books, const RoleName& role,
                        int64_t count_max);
bool fits(const ResourceVector& shape, const Books& books, const RoleName& role);

// The agent's value of an attribute; "host" is the agent's name. Empty if it has none.
const std::string& value_of(const AgentState& agent, const std::string& attribute);

}  // namespace proffer::fair
