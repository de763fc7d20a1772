#pragma once

// The agents as the allocator sees them.

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

// Which task: ids are unique within their frameworks.
struct TaskRef {
  FrameworkId framework = {};
  TaskId task = {};
  auto operator<=>(const TaskRef&) const = default;
};
// To look one up without copies of the ids.
struct TaskKey {
  const FrameworkId& framework;
  const TaskId& task;
};
// The key of a task in its agent's table; the framework's id is the one that its leaf keeps.
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
// Slices as the books of an agent count them: what was lent of its own is its own.
struct Booked {
  Resources resources = {};        // unreserved and reserved: what counts in shares; without ports
  std::vector<Slice> others = {};  // of these the reserved ones, and what is only estimated
  // The slices were lent: unreserved, but to be given back to the claim that they were set aside
  // for, at once or, if it backfills the claim, by the time limit of its tasks.
  bool lent = false;
  Resources unreserved() const;
  ResourceVector estimated() const;
  bool operator==(const Booked&) const = default;
};

// What the tasks of one ask have in common, which they share: there may be hundreds of thousands.
struct TaskTerms {
  Booked booked = {};
  AskName ask = {};
  TaskClaim claim = {};
  // How long its ask said that it is expected to run when it began; zero: it did not say.
  Duration expected = {};
  bool operator==(const TaskTerms&) const = default;
};
struct TaskTermsHash {
  size_t operator()(const TaskTerms& terms) const;
};

// A task that is allocated.
struct Task {
  struct Times {
    std::optional<Time> ends_by = {};  // it has had a revoke notice
    // It backfills a claim, and by its time limit it will have ended by then. Until then it is not
    // taken back for the claim.
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

// The tasks of an agent, in order of their frameworks' ids and their own.
class HeldTasks : public std::map<HeldTask, Task, TaskRefOrder> {
 public:
  // It must be here.
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

// From its launch until a task with this time limit has surely ended: its start, which its time
// limit does not count, and its end, for which it has a grace.
inline constexpr Duration kStartAllowance = seconds(10);
constexpr Duration surely_takes(Duration max_run_time) { return max_run_time + kStartAllowance; }

// One reservation state of an agent beyond the unreserved: reserved for a role, or estimated.
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
  // Up to so much of what is neither is kept for a claim, with what is lent; only where nothing is
  // reserved.
  ResourceVector keep = {};
  ResourceVector lent = {};      // of the claim, to others; where nothing is reserved
  Resources kept = {};           // of what is to be kept, what there is
  Resources free = {};           // the rest, per kind and device
  std::vector<Part> parts = {};  // reserved ones by role, then the estimated one; most have none

  void compute_free();
  // The free slices that the role may use: reserved for it and the roles above it, and unreserved.
  std::vector<Slice> usable(const RoleName& role) const;
  // The same if nothing were allocated or offered.
  std::vector<Slice> usable_total(const RoleName& role) const;
  // With what is kept, for the ask for which that is.
  Resources free_and_kept() const;
  // Of all that is unreserved or reserved for anybody.
  ResourceVector counted_total() const;
  ResourceVector counted_allocated() const;
  ResourceVector counted_offered() const;
  Resources counted_free() const;
  int64_t counted_free_of(ResourceKind kind) const;
  int64_t counted_total_of(ResourceKind kind) const;
  // The estimated part, or nullptr.
  const Part* estimate() const;
  Part* estimate();
  Part& part(const RoleName& reserved_for, bool revocable);  // a new one if there is none
  void forget_empty_parts();
  // Whether more is offered of a state, or of all together, than there is besides what is
  // allocated.
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

// Why something of an agent is set aside.
enum class Purpose : uint8_t {
  kNone,
  kNotice,  // tasks were told to end for the ask (waiting/reclaims.h)
  kOwed,    // the ask is owed it (waiting/gate.h)
  kClaim,   // the ask has waited for long (waiting/claims.h)
};

// The outstanding offers of an agent, or of a leaf, the oldest first; kept by OutstandingOffers,
// where they are walked too.
struct OfferList {
  OutstandingOffer* first = nullptr;
  OutstandingOffer* last = nullptr;
  bool empty() const { return first == nullptr; }
};

// What the rules look at to say whether an ask fits an agent. A copy may be changed, to see what
// would be if the agent were otherwise (explain/).
struct AgentState : Books {
  AgentId id = {};
  size_t slot = 0;  // a small number of its own, by which others keep what they know of it
  Attributes attributes = {};
  uint64_t attributes_version = 0;  // never used twice, whatever agent; for caches
  bool active = true;
  bool draining = false;

  PortSet ports = {};
  PortSet free_ports = {};      // those that no task takes
  int64_t free_port_count = 0;  // of these
  int64_t ports_offered = 0;    // wanted by the fills of outstanding offers

  // An ask for which something is set aside here, and why. What is kept is for it alone; if nothing
  // is kept, all that becomes free is.
  AskEntry* claimant = nullptr;
  Purpose purpose = Purpose::kNone;

  bool by_notice() const { return purpose == Purpose::kNotice; }
  // Whether others may be given nothing here.
  bool is_set_aside() const { return claimant != nullptr && keep.is_zero(); }
  int64_t ports_left() const { return free_port_count - ports_offered; }
  // Whether it may be offered at all.
  bool serves() const { return active && !draining; }
};

struct Agent : AgentState {
  uint64_t rank = 0;  // ranks are in the order of ids, which are slower to compare
  struct Use {
    const Framework* framework = nullptr;
    ResourceVector amounts = {};
  };
  std::vector<Use> allocated_to = {};  // in no order; none is zero
  HeldTasks tasks = {};
  OfferList offers = {};        // outstanding
  ResourceVector noticed = {};  // of tasks that have had a notice
  uint64_t growths = 0;         // how often something became free here
  bool is_grown = false;        // Cluster::grown has it

  // The claim that is held here, if there is one; kept by waiting/.
  struct Hold {
    Time since = {};
    Time progress_at = {};     // when the most that was kept for it last became more
    ResourceVector most = {};  // that was kept, or lent, at once
    // It waits for tasks of unknown end.
    bool is_speculative = false;
  };
  Hold hold = {};
  // No claim is held here before this.
  Time rests_until = {};

  // Kept by FreeAgents.
  bool listed = false;
  int64_t weighted_free = 0;
  int64_t key = 0;          // by which it is ordered there
  int64_t key_counted = 0;  // the same with what is reserved
  size_t lacking = 0;       // see kinds_lacking(); all if something is reserved
  // Roles for which something free is reserved here, and what.
  std::vector<std::pair<RoleName, ResourceVector>> reserved_listed = {};
  // The number of its family (families.h), and the total for which it was found.
  size_t family = 0;
  ResourceVector family_of = {};
  size_t index_at = 0;    // in which of the indices it is listed
  uint64_t grown_at = 0;  // stamp of the last time something became free, or could be used anew
  // Of those that are listed, the ones with the stamps before and after its own.
  Agent* stamped_before = nullptr;
  Agent* stamped_after = nullptr;
  static constexpr size_t kNotFresh = ~size_t{0};
  size_t fresh_place = kNotFresh;  // among those that are fresh

  // Remembered by rules/fragmentation.h, while the free amounts and the typical shapes stay the
  // same.
  struct Fragments {
    uint64_t version = 0;  // of the workload; zero: not known
    int64_t now = 0;
    std::vector<int64_t> growth = {};  // by a task of each typical shape
  };
  mutable Fragments fragments = {};

  void count_free_ports();
  // The framework's tasks hold so much more, or less.
  void note_allocated(const Framework& framework, const ResourceVector& more);
  bool has_gpus() const { return total.amounts[ResourceKind::kGpus] > 0; }
};

struct AgentById {
  using is_transparent = void;
  bool operator()(const Agent* a, const Agent* b) const { return a->id < b->id; }
};
using AgentSet = std::set<Agent*, AgentById>;

// How many tasks of the shape fit into what the role may use there, at most count_max.
int64_t count_that_fits(const ResourceVector& shape, const Books& books, const RoleName& role,
                        int64_t count_max);
bool fits(const ResourceVector& shape, const Books& books, const RoleName& role);

// The agent's value of an attribute: "host" is its name; empty if it has none.
const std::string& value_of(const AgentState& agent, const std::string& attribute);

}  // namespace proffer::fair
