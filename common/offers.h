#pragma once

// What frameworks want and what they are offered, as values: the allocator decides in these terms
// and messages carry them unchanged.

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

// Across roles: tasks of a lower band are the first victims, whatever the shares. A band overrides
// no limit and no guarantee.
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

// Where tasks would like to run, and how long they wait for it (delay scheduling: Zaharia et al.,
// EuroSys 2010): one of the hosts, else one of the racks, else, after `wait`, anywhere. The wait is
// one for all tasks of the ask: it runs from the declaration, or from when an ask that was met
// wants something again.
struct Preference {
  std::vector<std::string> hosts = {};  // agents by name
  std::vector<std::string> racks = {};  // values of the attribute "rack"
  Duration wait = {};
  bool empty() const { return hosts.empty() && racks.empty(); }
  bool operator==(const Preference&) const = default;
};

// What a framework declares it could use: `count` further tasks of one shape. The count is of tasks
// not yet launched; launching a task that names the ask lowers it, declaring replaces it.
struct Ask {
  AskName name = {};
  ResourceVector shape = {};
  int64_t count = 0;
  std::vector<Constraint> constraints = {};
  int64_t ports = 0;        // dynamic ports that each task will want; an agent needs so many free
  int32_t priority = 0;     // within the framework; higher first
  RoleName role = {};       // the framework's or one below it; empty: the framework's own
  std::string spread = {};  // as even as possible over the values of this attribute
  std::vector<MaxPer> max_per = {};  // sorted by attribute
  // `spread` and `max_per` count the tasks of all declared asks of the framework with this group;
  // an ask whose tasks are to count stays declared, with a count of 0. Empty: its own tasks only.
  std::string group = {};
  Preference prefer = {};
  int64_t gang = 1;  // so many at a time or none; `count` is a multiple of it
  Band band = Band::kBatch;
  bool borrow = true;         // false: only from within its role's entitlement
  bool revocable_ok = false;  // also from what is set aside or only estimated to be free
  Duration expiry = {};       // wanted no longer than this from its declaration; zero: for ever
  // How long each task is expected to run. Zero: unknown; kDurationMax: until somebody ends it.
  Duration duration = {};
  // The longest that each task runs; zero: no bound. It is the TaskSpec::max_run_time of tasks that
  // name the ask, or more than that. Such an ask may use what is claimed for others meanwhile.
  Duration max_run_time = {};
  // Ports by number that each task will want, sorted; among `ports`. An agent needs each of them
  // free, so it runs at most one task of the ask at a time.
  std::vector<uint16_t> static_ports = {};

  bool operator==(const Ask&) const = default;
};

// How a framework takes resources: to the measure of its asks, or as classic open offers.
enum class OfferMode : uint8_t { kAsks, kOpen };
std::string_view to_text(OfferMode mode);  // "asks", "open"
std::ostream& operator<<(std::ostream& out, OfferMode mode);
std::optional<OfferMode> parse_offer_mode(std::string_view text);

// A part of one agent's resources with one reservation state; what offers are made of.
struct Slice {
  Resources resources = {};
  RoleName reserved_for = {};  // empty: unreserved
  bool revocable = false;

  bool operator==(const Slice&) const = default;
};

// Adds the slice to the one of the same reservation state, or as a new one. A zero one is left out.
void add_slice(std::vector<Slice>& slices, const Slice& slice);
// Takes it away from the one of the same state, which disappears if nothing is left. CHECKs that it
// is in there.
void remove_slice(std::vector<Slice>& slices, const Slice& slice);
// Whether all of `part` is in here, state by state, with its devices. Ports are not looked at.
bool contains(const std::vector<Slice>& slices, const std::vector<Slice>& part);
// `shape` out of `from`, with devices chosen as carve() does, or nothing, and then `from` is
// unchanged. What is reserved for the most specific role goes first, then that of the roles above
// it, then what is unreserved, then what is revocable. A part of a device comes from one slice, a
// whole one too. Whose slices these are is for the caller to see to: all of them are used.
// O(slices * devices).
std::optional<std::vector<Slice>> take(const ResourceVector& shape, std::vector<Slice>& from);

// All of them together.
Resources sum_of(const std::vector<Slice>& slices);

// An ask that an offer was made for, and for how many tasks.
struct AskFill {
  AskName ask = {};
  int64_t count = 0;
  bool operator==(const AskFill&) const = default;
};

// Slices of one agent proposed to one framework under one role. A lease: it ends at `expires`.
struct Offer {
  OfferId id = {};
  AgentId agent = {};
  Attributes attributes = {};
  std::vector<Slice> slices = {};
  std::vector<AskFill> fills = {};  // empty for an open offer
  PortSet ports = {};               // the agent's free ports, for information: taken at launch
  Duration lease = {};              // from when the master sent it
  RoleName role = {};               // that it counts in
  // Not zero: one of the offers of a gang, which are accepted together, all of them, or not at all.
  uint64_t gang = 0;
  // Where the agent serves the files of its tasks: host:port or a socket's path; empty: nowhere.
  // The master's word to schedulers; allocators leave it empty.
  std::string http_address = {};
  // Where the ports of its tasks are reached: a name or an address, 127.0.0.1 if only from the
  // agent's own machine; empty: the master does not know. Likewise the master's word.
  std::string host = {};
  // Not zero: it is claimed for another ask, and is for tasks that run no longer than this.
  Duration max_run_time = {};

  Resources total() const { return sum_of(slices); }
  bool operator==(const Offer&) const = default;
};

// Why a framework declines: the offer had too little of a kind, or a wrong agent. An agent declined
// for a reason comes again only when it has more of what was missing.
struct Refusal {
  Duration refuse_for = {};                   // without a reason; zero: no filter
  std::vector<ResourceKind> too_little = {};  // of these kinds
  bool wrong_agent = false;                   // its attributes: until it registers with others

  bool operator==(const Refusal&) const = default;
};

// What a task takes from the agent that it runs on, and what decides whether it may be taken back.
// The agent keeps it with the task, so that a new master knows it again.
struct TaskClaim {
  std::vector<Slice> slices = {};  // without ports; at most one of each reservation state
  RoleName role = {};              // that it counts in
  int32_t priority = 0;            // within its framework
  Band band = Band::kBatch;
  uint64_t gang = 0;           // not zero: with those of its framework that have the same number
  Duration max_run_time = {};  // it is ended then; zero: no bound

  bool operator==(const TaskClaim&) const = default;
};

// Why something that runs is to end, or something offered is taken back.
enum class RevokeReason : uint8_t {
  kReclaimed,  // its role is above what it is entitled to, and another wants what it is entitled to
  kDraining,   // its agent is being emptied
  kLent,       // it ran on what was set aside for another
  kEstimate,   // it ran on what an agent only estimated to be free
};
inline constexpr size_t kRevokeReasonCount = 4;
std::string_view to_text(RevokeReason reason);  // "reclaimed", "draining", "lent", "estimate"
std::ostream& operator<<(std::ostream& out, RevokeReason reason);
std::optional<RevokeReason> parse_revoke_reason(std::string_view text);

}  // namespace proffer
