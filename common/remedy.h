#pragma once

// Changes that would make an unmet ask fit, as values: the allocator finds them, JSON carries them,
// people read them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "common/resources.h"
#include "common/roles.h"
#include "common/time.h"

namespace proffer {

// A single change that suffices if all else stays as it is.
enum class RemedyKind : uint8_t {
  kTakesLess,          // the ask takes at most this amount of a kind
  kFewerTogether,      // at most this number of its tasks start together
  kWithoutConstraint,  // the ask drops a constraint
  kWithoutMaxPer,      // the ask drops a max_per
  kMayBorrow,          // the ask may borrow beyond its role's entitlement
  kTasksEnd,           // tasks end, and if necessary offers too, all on one agent
  kOffersEnd,          // offers are declined or expire
  kLimitRaised,        // the limit of a role is higher
  kGuaranteeLowered,   // the guarantee of another role, for which headroom is held, is lower
  kDeclineLifted,      // its framework no longer declines an agent
  kWaitEnds,           // its locality wait ends
  kUndrained,          // a draining agent is undrained
  kConnected,          // an agent reconnects
  kUnreserved,         // a reservation for another role on an agent is removed
  kUnclaimed,          // an agent is no longer set aside for another ask
  kTroubleOver,        // an agent in trouble takes tasks again
  kShorterLimit,       // its tasks have at most this time limit, so they backfill a claim
};
inline constexpr size_t kRemedyKindCount = 17;
std::string_view to_text(RemedyKind kind);  // "takes_less", …
std::optional<RemedyKind> parse_remedy_kind(std::string_view text);

// A task or an offer that must end.
struct Ending {
  FrameworkId framework = {};
  RoleName role = {};
  TaskId task = {};    // empty: it is an offer
  uint64_t offer = 0;  // number of the offer, if it is one
  bool operator==(const Ending&) const = default;
};

struct Remedy {
  RemedyKind kind = RemedyKind::kTakesLess;
  // takes_less: at most this amount of the kind in milli-units, or without a kind this number of
  // ports; one more does not fit. fewer_together: number of tasks.
  std::optional<ResourceKind> resource = {};
  int64_t amount = 0;
  Duration time_limit = {};     // shorter_limit: the longest limit that helps, in whole seconds
  std::string constraint = {};  // the constraint, or the attribute of max_per
  AgentId agent = {};           // the agent on which it would fit
  RoleName role = {};           // the role of the limit, guarantee or reservation
  // The limit that is high enough, or the guarantee that is low enough: the whole quota.
  Quota quota = {};
  std::string trouble = {};        // of the agent: why it takes no tasks, drained or not
  FrameworkId framework = {};      // unclaimed: the framework whose ask has the agent
  std::vector<Ending> ends = {};   // all of them are necessary; at most kRemedyEndsMax
  std::optional<Time> until = {};  // the latest time at which it happens by itself, if it does
  // Frameworks whose ask comes before this one and may take the resources that become free; at most
  // kRemedyEndsMax. Empty: the ask gets resources in the next decision.
  std::vector<std::string> first = {};
  bool operator==(const Remedy&) const = default;
};

// "if mem is at most 3276.8", "after 2 tasks of role 'ads' (f-1: t-1, t-2) end on agent a1";
// without the time and without the frameworks in `first`.
std::string to_text(const Remedy& remedy);

// A longer list of endings would not help people.
inline constexpr size_t kRemedyEndsMax = 16;

}  // namespace proffer
