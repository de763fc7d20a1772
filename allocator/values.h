#pragma once

// What goes into the allocator and comes out of it, as values.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "common/offers.h"
#include "common/result.h"
#include "common/roles.h"
#include "common/share.h"
#include "common/standing.h"
#include "common/time.h"

namespace proffer {

// Whether what is lent comes back, and to what measure. Off: nothing is lent, headroom is held for
// guarantees. Guarantee: roles below their guarantee get it back. Fair share: roles below what they
// are entitled to.
enum class ReclaimMode : uint8_t { kOff, kGuarantee, kFairShare };

// Which of the agents that an ask fits gets its next task; the formulas are in rules/placement.h
// and docs/concepts/placement.md.
enum class Placement : uint8_t { kBalanced, kBestFit, kSpread, kWorstFit, kDotProduct, kFgd };
std::string_view to_text(Placement placement);  // "balanced", "best_fit", …
// `name`: of the flag or option, for the error, which is kInvalidArgument and lists the policies.
Result<Placement> parse_placement(std::string_view name, std::string_view value);

// Rules that look right and are wrong: each fails a named test. For tests only.
struct NaiveRules {
  bool no_gate = false;        // shares alone decide the order (waiting/gate.h)
  bool no_claims = false;      // a long wait gives no claim to anything
  bool eager_reclaim = false;  // no check of the fit, no minimum runtime, no cap
  // Claims are not backfilled from this time on (waiting/backfill.h). That is not wrong; tests
  // compare.
  std::optional<Time> no_backfill_from = {};
};

// A hundredth of a CPU and 32 MiB, as Mesos has it.
inline constexpr ResourceVector kMinOffer = ResourceVector::of(10, 32'000);

struct AllocatorOptions {
  Duration offer_timeout = kOfferTimeout;  // the lease of each offer
  Duration claim_after = kClaimAfter;      // how long the first ask by share waits for a claim
  ReclaimMode reclaim = ReclaimMode::kGuarantee;
  Placement placement = Placement::kBalanced;
  Duration revoke_grace = kRevokeGrace;        // from the notice to the end
  Duration minimum_runtime = kMinimumRuntime;  // of a victim
  // Victims within any minute: so many, or a tenth of the cluster's tasks if that is more.
  int64_t revokes_per_minute = kRevokesPerMinute;
  // Open offers have at least so much of each kind that the agent has: less is of no use.
  ResourceVector min_offer = kMinOffer;
  RoleTable roles = {};  // must have passed check_roles()
  NaiveRules naive = {};
  // Whether decisions leave behind how each grant came about, for violations() to check. Else that
  // checks less.
  bool is_audited = true;
  // The numbers of gangs begin above this, so that no two lives of a master give one twice.
  uint64_t gangs_before = 0;
};

// What an agent brings: its slices together are its total.
struct AgentResources {
  Attributes attributes = {};
  std::vector<Slice> slices = {};
  PortSet ports = {};  // all of them
};

// A part of an agent for a framework from now until `expires`. Becomes an offer.
struct Grant {
  Offer offer = {};
  FrameworkId framework = {};
  RoleName role = {};
  Time expires = {};
};

// A grant that several have and nobody changes.
class SharedGrant {
 public:
  explicit SharedGrant(Grant grant) : grant_(std::make_shared<Grant>(std::move(grant))) {}

  const Grant& operator*() const { return *grant_; }
  const Grant* operator->() const { return grant_.get(); }
  operator const Grant&() const { return *grant_; }
  // It is gone from here. Copied if another still has it.
  Grant take() && {
    const std::shared_ptr<Grant> grant = std::move(grant_);
    return grant.use_count() == 1 ? std::move(*grant) : *grant;
  }

 private:
  std::shared_ptr<Grant> grant_;
};

enum class RescindReason : uint8_t {
  kExpired,
  kAgentLost,
  kFrameworkLost,
  kAgentChanged,
  kGangBroken,  // another offer of its gang has ended
  kReclaimed,   // an ask that has a right to it wants it
};
std::string_view to_text(RescindReason reason);  // "expired", "agent_lost", …

// An outstanding offer ends without an answer; its resources are free again already.
struct Rescind {
  OfferId offer = {};
  FrameworkId framework = {};
  RescindReason reason = RescindReason::kExpired;
};

// A task that is to end by `deadline`, when its resources go to somebody else.
struct Revoke {
  AgentId agent = {};
  FrameworkId framework = {};
  TaskId task = {};
  RevokeReason reason = RevokeReason::kReclaimed;
  RoleName beneficiary = {};  // the role that waits for it
  Time deadline = {};
};

struct Decision {
  std::vector<SharedGrant> grants;
  std::vector<Rescind> rescinds;
  std::vector<Revoke> revokes;
};

// A task that runs, or is being launched, on an agent.
struct RunningTask {
  TaskId task = {};
  AskName ask = {};  // that it fills; empty: none
  TaskClaim claim = {};
  Time since = {};
  PortSet ports = {};  // that it takes
};

// The first-depth answer to "why is this ask not met".
struct AskStatus {
  AskName ask = {};
  int64_t wanted = 0;                   // not yet launched
  int64_t offered = 0;                  // of these, in outstanding offers
  bool could_ever_fit = true;           // on some agent if it were empty
  std::optional<AgentId> claimed = {};  // the agent that is set aside for it
  // When its claim will be complete if the tasks in its way run as long as they say, those that do
  // not say end now, and what was lent is given back. Nothing: never, or it has no claim.
  std::optional<Time> claim_complete_at = {};
  std::vector<AgentId> set_aside = {};  // all that becomes free of these agents is for it
  struct Kept {
    AgentId on = {};
    ResourceVector amounts = {};
  };
  std::vector<Kept> kept = {};  // on other agents, so much of it is
  bool has_headroom = false;    // room for it is kept below the limits above it
};

struct LeafStatus {
  FrameworkId framework = {};
  RoleName role = {};
  ResourceVector allocated = {};
  ResourceVector offered = {};
  Share dominant_share = {};  // unweighted, of allocated and offered
  Share weighted_share = {};  // of the framework within its role
  bool suppressed = false;
  std::vector<AskStatus> asks = {};  // declared
  // What the answers of a framework that takes open offers imply; its shape is not said.
  std::optional<AskStatus> implied = {};
};

struct RoleStatus {
  RoleName role = {};
  RoleSettings settings = {};
  ResourceVector allocated = {};  // of it and all below it
  ResourceVector offered = {};
  Share dominant_share = {};  // unweighted
  int64_t place_share = 0;    // by which it is compared with its siblings, in millionths
  ResourceVector entitlement = {};
  ResourceVector borrowed = {};  // use above the entitlement
  bool guarantee_met = true;     // or not wanted
};

// How far it is behind its entitlement (cluster/lag.h says in what).
struct LagStatus {
  Duration now = {};
  Duration most = {};  // the greatest until now
  bool operator==(const LagStatus&) const = default;
};

struct FrameworkLag {
  FrameworkId framework = {};
  LagStatus lag = {};                         // the greatest of its leaves
  std::map<RoleName, LagStatus> leaves = {};  // by the role in which each is
  std::map<AskName, LagStatus> asks = {};     // one without a name: what its answers imply
};

// A task that was told to end and has not: it counts as gone where something is taken back.
struct EndingTask {
  AgentId agent = {};
  FrameworkId framework = {};
  TaskId task = {};
  Time deadline = {};
};

struct AgentUse {
  AgentId agent = {};
  ResourceVector total = {};
  ResourceVector allocated = {};
  ResourceVector offered = {};
  Resources free = {};
  bool active = true;
};

// What an ask gets back because tasks of borrowers end, or why it gets nothing.
struct ReclaimOutlook {
  enum class Why : uint8_t {
    kNothingWanted,  // or its framework wants no offers now
    kUnderWay,       // the victims have had their notice; until: the last deadline
    kOff,            // nothing is lent, so nothing comes back
    kRefused,        // it did not use what was taken back for it; until it is declared anew
    kTasksUnknown,   // not before all that run are known again
    kNoRight,        // no unmet guarantee covers it, nor its fair share if that counts
    kNobodyBorrows,  // nobody is above its entitlement that could give it back
    kWouldNotFit,    // it would fit nowhere even if all that may be taken back ended
    kTooEarly,  // it had its fair share, and others' tasks may end by themselves; until: when not
    kTooYoung,  // until: when tasks have run long enough for it to fit
    kCap,       // enough others were told to end; until: when more may be
  };
  Why why = Why::kNothingWanted;
  RoleName promise = {};  // whose guarantee covers the ask; empty: it is its share
  // Of those that have been or would be told to end, one: its role, and its agent.
  RoleName holder = {};
  AgentId agent = {};
  int64_t victims = 0;
  std::optional<Time> until = {};
};

}  // namespace proffer
