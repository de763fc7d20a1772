#pragma once

// Asks and offers as values: the allocator decides in these terms, and messages carry them
// unchanged.

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/attributes.h"
#include "common/ids.h"
#include "common/resources.h"
#include "common/time.h"

namespace proffer {

// A band counts across roles: tasks of a lower band are the first victims, regardless of the
// shares. A band overrides no limit and no guarantee.
enum class Band : uint8_t { kFree, kBatch, kProduction, kMonitoring };
inline constexpr size_t kBandCount = 4;
std::string_view to_text(Band band);  // "free", "batch", "production", "monitoring"
std::ostream& operator<<(std::ostream& out, Band band);
std::optional<Band> parse_band(std::string_view text);

// At most `count` tasks of the ask, or of its group, on agents with the same value of the
// attribute; "host": on each agent. An agent without the attribute counts as one with the empty
// value.
struct MaxPer {
  std::string attribute = {};
  int64_t count = 1;
  bool operator==(const MaxPer&) const = default;
};

// The preferred places of tasks, and how long they wait for them (delay scheduling: Zaharia et al.,
// EuroSys 2010): one of the hosts, else one of the racks, else, after `wait`, any agent. All tasks
// of the ask share one wait: it runs from the declaration, or from the time when an ask that was
// met wants something again.
struct Preference {
  std::vector<std::string> hosts = {};  // agents by name
  std::vector<std::string> racks = {};  // values of the attribute "rack"
  Duration wait = {};
  bool empty() const { return hosts.empty() && racks.empty(); }
  bool operator==(const Preference&) const = default;
};

// An ask: the framework could use `count` more tasks of one shape. The count is of tasks not yet
// launched. Launching a task that names the ask lowers it; declaring the ask replaces it.
struct Ask {
  AskName name = {};
  ResourceVector shape = {};
  int64_t count = 0;
  std::vector<Constraint> constraints = {};
  int64_t ports = 0;                 // dynamic ports of each task; an agent needs this number free
  int32_t priority = 0;              // within the framework; higher first
  RoleName role = {};                // the framework's or one below it; empty: the framework's own
  std::string spread = {};           // the attribute over whose values the tasks are spread evenly
  std::vector<MaxPer> max_per = {};  // sorted by attribute
  // `spread` and `max_per` count the tasks of all declared asks of the framework with this group.
  // To keep its tasks counted, an ask stays declared with a count of 0. Empty: only the ask's own
  // tasks count.
  std::string group = {};
  Preference prefer = {};
  int64_t gang = 1;  // this many start together or none; `count` is a multiple of it
  Band band = Band::kBatch;
  bool borrow = true;         // false: only within its role's entitlement
  bool revocable_ok = false;  // may also use lent resources, or those only estimated to be free
  Duration expiry = {};       // the ask ends this long after its declaration; zero: never
  // Expected run time of each task. Zero: unknown; kDurationMax: until it is killed.
  Duration duration = {};
  // The time limit of each task; zero: none. It is at least the TaskSpec::max_run_time of tasks
  // that name the ask. Such an ask may backfill: it may use resources that are claimed for others.
  Duration max_run_time = {};
  // Ports with given numbers that each task needs, sorted; they count in `ports`. An agent needs
  // each of them free, so it runs at most one task of the ask at a time.
  std::vector<uint16_t> static_ports = {};

  bool operator==(const Ask&) const = default;
};

// How a framework is offered resources: according to its asks, or as open offers.
enum class OfferMode : uint8_t { kAsks, kOpen };
std::string_view to_text(OfferMode mode);  // "asks", "open"
std::ostream& operator<<(std::ostream& out, OfferMode mode);
std::optional<OfferMode> parse_offer_mode(std::string_view text);

// A part of one agent's resources with one reservation state. Offers consist of slices.
struct Slice {
  Resources resources = {};
  RoleName reserved_for = {};  // empty: unreserved
  bool revocable = false;

  bool operator==(const Slice&) const = default;
};

// Adds the slice to the one with the same reservation state, or as a new one. A slice of zero is
// left out.
void add_slice(std::vector<Slice>& slices, const Slice& slice);
// Subtracts it from the one with the same state, which is removed if nothing is left. CHECKs that
// it is contained.
void remove_slice(std::vector<Slice>& slices, const Slice& slice);
// True if `slices` contain all of `part`, for each state, with its devices. Ports are ignored.
bool contains(const std::vector<Slice>& slices, const std::vector<Slice>& part);
// Takes `shape` out of `from`, with devices chosen as carve() does; or returns none and leaves
// `from` unchanged. Reservations for the most specific role are used first, then those of the roles
// above it, then unreserved resources, then revocable ones. A device, or a part of one, comes from
// one slice. The caller must pass only slices that the role may use. O(slices * devices).
std::optional<std::vector<Slice>> take(const ResourceVector& shape, std::vector<Slice>& from);

// The sum of the slices.
Resources sum_of(const std::vector<Slice>& slices);

// An ask for which an offer was made, and the number of its tasks.
struct AskFill {
  AskName ask = {};
  int64_t count = 0;
  bool operator==(const AskFill&) const = default;
};

// Slices of one agent proposed to one framework under one role. An offer is a lease that ends at
// `expires`.
struct Offer {
  OfferId id = {};
  AgentId agent = {};
  Attributes attributes = {};
  std::vector<Slice> slices = {};
  std::vector<AskFill> fills = {};  // empty for an open offer
  PortSet ports = {};               // the agent's free ports, for information
  Duration lease = {};              // from the time when the master sent it
  RoleName role = {};               // the role that it counts in
  // Not zero: the offers of a framework with this number form a gang. They are accepted all
  // together or not at all.
  uint64_t gang = 0;
  // The address at which the agent serves the files of its tasks: host:port or a socket's path;
  // empty: none. The master sets it for schedulers; allocators leave it empty.
  std::string http_address = {};
  // The host of the ports of its tasks: a name or an address; 127.0.0.1 if they are reached only
  // from the agent's own machine; empty: unknown. Set by the master as above.
  std::string host = {};
  // Not zero: the resources are claimed for another ask; only tasks with at most this time limit
  // may use them.
  Duration max_run_time = {};

  Resources total() const { return sum_of(slices); }
  bool operator==(const Offer&) const = default;
};

// The reason of a decline: the offer had too little of a kind, or a wrong agent. The agent is
// offered again only when it has more of the missing kind, or other attributes.
struct Refusal {
  Duration refuse_for = {};                   // if no reason is given; zero: no filter
  std::vector<ResourceKind> too_little = {};  // too little of these kinds
  bool wrong_agent = false;                   // its attributes: until they change

  bool operator==(const Refusal&) const = default;
};

// The resources that a task takes from its agent, and the values that decide whether it may be
// preempted. The agent keeps them with the task, so that a new master learns them.
struct TaskClaim {
  std::vector<Slice> slices = {};  // without ports; at most one for each reservation state
  RoleName role = {};              // the role that it counts in
  int32_t priority = 0;            // within its framework
  Band band = Band::kBatch;
  uint64_t gang = 0;           // not zero: tasks of its framework with this number form a gang
  Duration max_run_time = {};  // then it is killed; zero: no limit

  bool operator==(const TaskClaim&) const = default;
};

// Why a task must end, or an offer is rescinded.
enum class RevokeReason : uint8_t {
  kReclaimed,  // its role is above its entitlement, and another role wants its own
  kDraining,   // its agent is being drained
  kLent,       // it ran on resources that were set aside for another
  kEstimate,   // it ran on resources that an agent only estimated to be free
};
inline constexpr size_t kRevokeReasonCount = 4;
std::string_view to_text(RevokeReason reason);  // "reclaimed", "draining", "lent", "estimate"
std::ostream& operator<<(std::ostream& out, RevokeReason reason);
std::optional<RevokeReason> parse_revoke_reason(std::string_view text);

}  // namespace proffer
