#pragma once

// What would make an ask fit that is not met, as values: the allocator finds them, JSON carries,
// people read.

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

// One change that suffices, all else as it is now.
enum class RemedyKind : uint8_t {
  kTakesLess,          // it takes at most so much of a kind
  kFewerTogether,      // at most so many of its tasks start together
  kWithoutConstraint,  // the ask does not insist on a constraint
  kWithoutMaxPer,      // nor on its tasks being so few together
  kMayBorrow,          // it may be given what its role is not entitled to
  kTasksEnd,           // tasks end, and with them offers if need be, all on one agent
  kOffersEnd,          // offers are declined or expire
  kLimitRaised,        // the limit of a role is higher
  kGuaranteeLowered,   // the guarantee of another role, for which headroom is held, is lower
  kDeclineLifted,      // its framework does not decline an agent any more
  kWaitEnds,           // it waits no longer for where it would rather be
  kUndrained,          // a draining agent is not drained any more
  kConnected,          // an agent is back
  kUnreserved,         // what is reserved on an agent for another role is not any more
  kUnclaimed,          // an agent is not set aside for another ask any more
  kTroubleOver,        // an agent in trouble takes tasks again
  kShorterLimit,       // its tasks have at most this time limit: they backfill a claim
};
inline constexpr size_t kRemedyKindCount = 17;
std::string_view to_text(RemedyKind kind);  // "takes_less", …
std::optional<RemedyKind> parse_remedy_kind(std::string_view text);

// A task, or an offer, that is to end.
struct Ending {
  FrameworkId framework = {};
  RoleName role = {};
  TaskId task = {};    // empty: an offer
  uint64_t offer = 0;  // if it is one, its number
  bool operator==(const Ending&) const = default;
};

struct Remedy {
  RemedyKind kind = RemedyKind::kTakesLess;
  // Takes less: of this kind at most so many milli-units, or without a kind so many ports; with one
  // more it does not fit. Fewer together: so many tasks.
  std::optional<ResourceKind> resource = {};
  int64_t amount = 0;
  Duration time_limit = {};     // shorter limit: the longest that helps, in whole seconds
  std::string constraint = {};  // or the attribute of max_per
  AgentId agent = {};           // where
  RoleName role = {};           // whose limit, guarantee or reservation
  // The limit that is high enough, or the guarantee that is low enough: all of it.
  Quota quota = {};
  std::string trouble = {};        // of the agent: why it takes no tasks, drained or not
  FrameworkId framework = {};      // unclaimed: whose ask has the agent
  std::vector<Ending> ends = {};   // none of them can be left out; at most kRemedyEndsMax
  std::optional<Time> until = {};  // when it comes by itself at the latest, if it does
  // Frameworks with an ask that comes before it and may take what becomes free; at most
  // kRemedyEndsMax. None: the next decision gives the ask something.
  std::vector<std::string> first = {};
  bool operator==(const Remedy&) const = default;
};

// "if mem is at most 3276.8", "after 2 tasks of role 'ads' (f-1: t-1, t-2) end on agent a1";
// without the time, and without those that come first.
std::string to_text(const Remedy& remedy);

// What more has to end together helps nobody to understand.
inline constexpr size_t kRemedyEndsMax = 16;

}  // namespace proffer
