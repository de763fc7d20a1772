#pragma once

// The inputs and outputs of the allocator, as values.

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

// Whether lent resources are reclaimed. Off: nothing is lent, and headroom is held for guarantees.
// Guarantee: for roles below their guarantee. Fair share: for roles below their entitlement.
enum class ReclaimMode : uint8_t { kOff, kGuarantee, kFairShare };

// The placement policy: it selects one of the agents that an ask fits. The formulas are in
// rules/placement.h and docs/concepts/placement.md.
enum class Placement : uint8_t { kBalanced, kBestFit, kSpread, kWorstFit, kDotProduct, kFgd };
std::string_view to_text(Placement placement);  // "balanced", "best_fit", …
// `name`: the flag or option for the error, which is kInvalidArgument and lists the policies.
Result<Placement> parse_placement(std::string_view name, std::string_view value);

// Plausible but wrong rules, for tests only: each fails a named test.
struct NaiveRules {
  bool no_gate = false;        // only shares decide the order (waiting/gate.h)
  bool no_claims = false;      // a long wait gives no claim
  bool eager_reclaim = false;  // no check of the fit, no minimum runtime, no cap
  bool no_rescinds = false;    // unanswered offers stay until their lease ends
  // Claims are not backfilled from this time on (waiting/backfill.h). This rule is not wrong; tests
  // compare with it.
  std::optional<Time> no_backfill_from = {};
};

// 0.01 CPU and 32 MiB, the default of Mesos.
inline constexpr ResourceVector kMinOffer = ResourceVector::of(10, 32'000);

struct AllocatorOptions {
  Duration offer_timeout = kOfferTimeout;  // the lease of each offer
  Duration claim_after = kClaimAfter;      // wait of the first ask by share before it gets a claim
  ReclaimMode reclaim = ReclaimMode::kGuarantee;
  Placement placement = Placement::kBalanced;
  Duration revoke_grace = kRevokeGrace;        // from the notice to the forced end
  Duration minimum_runtime = kMinimumRuntime;  // a younger task is no victim
  // The maximum number of victims in any minute; a tenth of the cluster's tasks if that is more.
  int64_t revokes_per_minute = kRevokesPerMinute;
  // An open offer has at least this much of each kind that the agent has: less is of no use.
  ResourceVector min_offer = kMinOffer;
  RoleTable roles = {};  // must have passed check_roles()
  NaiveRules naive = {};
  // Whether decisions record the reason of each grant, for violations(). Without it violations()
  // checks less.
  bool is_audited = true;
  // Gang numbers begin above this, so that two runs of a master never give the same number.
  uint64_t gangs_before = 0;
};

// The resources of an agent: its slices together are its total.
struct AgentResources {
  Attributes attributes = {};
  std::vector<Slice> slices = {};
  PortSet ports = {};  // all ports
};

// A part of an agent, granted to a framework until `expires`. Becomes an offer.
struct Grant {
  Offer offer = {};
  FrameworkId framework = {};
  RoleName role = {};
  Time expires = {};
};

// A shared immutable grant.
class SharedGrant {
 public:
  explicit SharedGrant(Grant grant) : grant_(std::make_shared<Grant>(std::move(grant))) {}

  const Grant& operator*() const { return *grant_; }
  const Grant* operator->() const { return grant_.get(); }
  operator const Grant&() const { return *grant_; }
  // Moves the grant out; copies it if there is another owner.
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
  kReclaimed,   // an ask with a right to it needs it
  kUnanswered,  // a framework below its share waits for it (waiting/unanswered.h)
};
std::string_view to_text(RescindReason reason);  // "expired", "agent_lost", …

// An outstanding offer ends without an answer; its resources are already free.
struct Rescind {
  OfferId offer = {};
  FrameworkId framework = {};
  RescindReason reason = RescindReason::kExpired;
};

// A task that must end by `deadline`; its resources then go to others.
struct Revoke {
  AgentId agent = {};
  FrameworkId framework = {};
  TaskId task = {};
  RevokeReason reason = RevokeReason::kReclaimed;
  RoleName beneficiary = {};  // the role that waits for the resources
  Time deadline = {};
};

struct Decision {
  std::vector<SharedGrant> grants;
  std::vector<Rescind> rescinds;
  std::vector<Revoke> revokes;
};

// A running or starting task on an agent.
struct RunningTask {
  TaskId task = {};
  AskName ask = {};  // the ask that the task fills; empty: none
  TaskClaim claim = {};
  Time since = {};
  PortSet ports = {};  // ports of the task
};

// A short answer to the question why the ask is not met.
struct AskStatus {
  AskName ask = {};
  int64_t wanted = 0;                   // tasks not yet launched
  int64_t offered = 0;                  // the tasks of these in outstanding offers
  bool could_ever_fit = true;           // on some agent, if the agent were empty
  std::optional<AgentId> claimed = {};  // the agent that is set aside for it
  // The completion time of its claim if the tasks in its way run as long as declared, tasks without
  // a declaration end now, and lent resources come back. Empty: never, or it has no claim.
  std::optional<Time> claim_complete_at = {};
  // all resources that become free on these agents are for the ask
  std::vector<AgentId> set_aside = {};
  struct Kept {
    AgentId on = {};
    ResourceVector amounts = {};
  };
  std::vector<Kept> kept = {};  // amounts kept for it on other agents
  bool has_headroom = false;    // headroom is kept for it below the limits above it
};

struct LeafStatus {
  FrameworkId framework = {};
  RoleName role = {};
  ResourceVector allocated = {};
  ResourceVector offered = {};
  Share dominant_share = {};  // unweighted, of allocated plus offered
  Share weighted_share = {};  // of the framework within its role
  bool suppressed = false;
  std::vector<AskStatus> asks = {};  // declared
  // The ask that answers imply, if the framework takes open offers, without its shape.
  std::optional<AskStatus> implied = {};
};

struct RoleStatus {
  RoleName role = {};
  RoleSettings settings = {};
  ResourceVector allocated = {};  // of the role and all below it
  ResourceVector offered = {};
  Share dominant_share = {};  // unweighted
  int64_t place_share = 0;    // the share that orders siblings, in millionths
  ResourceVector entitlement = {};
  ResourceVector borrowed = {};  // use above the entitlement
  bool guarantee_met = true;     // or no ask wants the rest of it
};

// The lag: how far a leaf or an ask is behind its entitlement (unit: cluster/lag.h).
struct LagStatus {
  Duration now = {};
  Duration most = {};  // the maximum until now
  bool operator==(const LagStatus&) const = default;
};

struct FrameworkLag {
  FrameworkId framework = {};
  LagStatus lag = {};                         // the maximum over its leaves
  std::map<RoleName, LagStatus> leaves = {};  // by role
  std::map<AskName, LagStatus> asks = {};     // without a name: the implied ask
};

// A revoked task that has not ended yet: it counts as ended where reclaims are planned.
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
  // The part of the free amounts that only the role may have, and tasks that are expected to end
  // within `lasts`, since the role's guarantee has taken it back repeatedly (waiting/withheld.h).
  struct Withheld {
    RoleName role = {};
    ResourceVector amounts = {};
    Duration lasts = {};
  };
  std::vector<Withheld> withheld = {};
};

// The progress of a reclaim for an ask, or the reason why nothing is reclaimed for it.
struct ReclaimOutlook {
  enum class Why : uint8_t {
    kNothingWanted,  // or its framework wants no offers now
    // The victims have a notice, and `until` is the last deadline. Without victims, tasks on the
    // agents of the reclaim will end by themselves, and `until` is the latest time of that.
    kUnderWay,
    kOff,            // nothing is lent, so nothing is reclaimed
    kRefused,        // it did not use reclaimed resources; until it is declared anew
    kTasksUnknown,   // not before all running tasks are known again
    kNoRight,        // no unmet guarantee covers it, nor its fair share if that counts
    kNobodyBorrows,  // no role that could give resources back is above its entitlement
    kWouldNotFit,    // it would fit nowhere even after the end of all possible victims
    // it had its fair share, and tasks of others may end by themselves; until: the end of this wait
    kTooEarly,
    kTooYoung,  // until: enough tasks for it have run for the minimum runtime
    kCap,       // the cap on victims is reached; until: the cap allows more
  };
  Why why = Why::kNothingWanted;
  RoleName promise = {};  // the role whose guarantee covers the ask; empty: its fair share
  // One of the present or planned victims: its role, and its agent.
  RoleName holder = {};
  AgentId agent = {};
  int64_t victims = 0;
  std::optional<Time> until = {};
};

}  // namespace proffer
