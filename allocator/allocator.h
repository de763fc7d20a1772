#pragma once

// The fair-share library: which framework is offered which resources. It knows nothing of messages,
// clocks or I/O.
//
// Inputs are events: an agent, a framework or its asks changed, an offer was answered, a task
// ended. They only mark what is dirty. decide() then gives grants and rescinds (DESIGN §8). The
// same events in the same order give the same output.
//
// Roles form a tree; a leaf of it is a framework in a role. Ports are counted, never carved: those
// in the Resources that are passed here are ignored.
//
// An id that is unknown here where one is expected is a bug of the caller, and CHECKed.
//
// Behind it, each above those after it (tools/layers.txt):
//   explain/   why something is not running, and what would make it run
//   round/     one decision: round.h has its phases
//   waiting/   what is set aside for asks: claims, headroom, reclaims, and lending it meanwhile
//   rules/     what fits, what is denied, what roles are entitled to; no state of their own
//   cluster/   agents, roles, frameworks, offers, tasks: events in, books kept

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "allocator/values.h"
#include "common/explanation.h"
#include "common/wait_reason.h"

namespace proffer {

namespace fair {
class Cluster;
class Waiting;
struct DecisionRecord;
}  // namespace fair

class Allocator {
 public:
  explicit Allocator(AllocatorOptions options);
  ~Allocator();
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  // --- agents ----------------------------------------------------------------------------------
  // Adds an agent with nothing allocated, or replaces what an agent brings; then what is allocated
  // stays, in the reservation state in which it was given, and its outstanding offers are
  // rescinded: those that no longer fit if only reservations or estimates have changed, else all. A
  // total below what is allocated is allowed: free is then negative in no kind but zero, until
  // enough has ended; what one state has given beyond its total is not free in the others. Tasks on
  // an estimate that has shrunk below them are revoked. All ports of a new agent are free; of one
  // replaced, those that tasks take stay so. O(log n + slices + tasks there).
  void set_agent(const AgentId& agent, AgentResources resources);
  // Its free resources are offered only while active; becoming inactive rescinds its offers. A new
  // agent is active. Inactive agents count in the cluster's total: what they run counts in shares.
  void set_agent_active(const AgentId& agent, bool active);
  // A draining agent stays active and is not offered any more; its outstanding offers are
  // rescinded.
  void set_agent_draining(const AgentId& agent, bool draining);
  // Also forgets what is allocated there.
  void remove_agent(const AgentId& agent);
  // Those of its ports that no task takes.
  const PortSet& free_ports(const AgentId& agent) const;

  // --- frameworks ------------------------------------------------------------------------------
  void add_framework(const FrameworkId& framework, const RoleName& role, OfferMode mode);
  // A framework that is not active gets no offers and its outstanding ones are rescinded. A new one
  // is active.
  void set_framework_active(const FrameworkId& framework, bool active);
  // Its offers are gone, without rescinds; what is allocated to it is
  // forgotten here if it has not been released.
  void remove_framework(const FrameworkId& framework);
  // The full set, replacing the one before. Asks must have passed check_ask(). An unchanged ask
  // (all but its count) keeps its place in waiting and its claim. Of two with one name
  // the later counts. New and changed asks lift the filters that were set for a reason: it was a
  // reason of other asks. Asks of one priority take turns.
  void declare_asks(const FrameworkId& framework, std::vector<Ask> asks, Time now);
  // No offers until revive, which also clears filters.
  void suppress(const FrameworkId& framework);
  void revive(const FrameworkId& framework);
  // While paused, the framework, or this ask of it, is given nothing and stands in nobody's way, as
  // if it wanted nothing. Its offers stay. Nothing happens if the ask is not declared; one that is
  // declared anew is not paused.
  void pause(const FrameworkId& framework, bool paused);
  void pause(const FrameworkId& framework, const AskName& ask, bool paused);
  // Later offers to it have a lease of at most this. Nothing: of offer_timeout.
  void limit_lease(const FrameworkId& framework, std::optional<Duration> most);
  // The defaults for a role that is to be as if it were not listed. The table as a whole must pass
  // check_roles() (CHECKed). A limit below the role's use takes nothing back: it gets nothing until
  // it is below.
  void set_role(const RoleName& role, const RoleSettings& settings);
  const RoleTable& role_table() const;
  // While false, after a failover, somebody may still come back with tasks that run: roles with a
  // limit, at any level, are offered nothing. A new allocator knows all.
  void set_knows_all_tasks(bool knows);

  // --- the life of an offer and of what is allocated -------------------------------------------
  // The offer, if it is outstanding and was made to this framework. O(log n).
  const Grant* find_offer(const OfferId& offer, const FrameworkId& framework) const;
  // The offers, all of one agent and one framework, are answered and leave. Of them the tasks'
  // slices are allocated from now on (must be contained in them together: CHECKed); a task that
  // names an ask lowers its count. The rest is free, and refused as said for this framework. An
  // accept that uses all has an empty refusal.
  void settle(const std::vector<OfferId>& offers, std::vector<RunningTask> tasks,
              const Refusal& refusal, Time now);
  // The task has ended and what it held is free again. CHECKs that it is here.
  void release(const AgentId& agent, const FrameworkId& framework, const TaskId& task);
  // What an agent that came back says is running: allocated without an offer, even above the total
  // and above limits. Rescinds the agent's offers if it is not free. Its role must be within the
  // framework's.
  void adopt(const AgentId& agent, const FrameworkId& framework, RunningTask task);
  // All outstanding offers, by id. Valid until the next call that changes anything.
  std::vector<const Grant*> offers() const;
  // The outstanding offers of a gang, by id: none once it is answered or broken. They are to be
  // accepted together, with as many tasks as they fill: settle() of one of them with fewer rescinds
  // the others. Its tasks carry the gang's number in their claims.
  std::vector<const Grant*> gang_offers(uint64_t gang) const;

  // --- decisions -------------------------------------------------------------------------------
  // When decide() wants to be called: at once (<= now) if something is dirty, else when the next
  // lease, filter or claim is due, else never.
  std::optional<Time> next_decision(Time now) const;
  // One run over what is dirty. Afterwards no unfiltered ask outside claims fits a free slice
  // that it may use. A lease that expires filters its agent for kDeclineFilter, so that a dead
  // scheduler lets others have it. Costs what has changed: O(log n) per task given and offer ended,
  // and one look at each hungry leaf while something that grew may still fit some ask.
  Decision decide(Time now);

  // --- pictures and laws -----------------------------------------------------------------------
  ResourceVector total() const;  // of the cluster
  std::vector<RoleStatus> roles() const;
  std::vector<LeafStatus> leaves() const;
  // How far frameworks and their asks are behind their entitlements; O(asks). It says what the last
  // decision saw, until `now`: events since then change nothing before the next one.
  std::vector<FrameworkLag> framework_lags(Time now) const;
  // The lag of a role is the greatest of the leaves in it and below it; O(leaves * depth). `most`
  // counts leaves that have left, too, as long as the role exists.
  std::map<RoleName, LagStatus> role_lags(Time now) const;
  // The asks of this framework, as in its leaves. None if it is not here. O(its asks), and for each
  // that no agent could ever fit O(agents).
  std::vector<AskStatus> asks(const FrameworkId& framework) const;
  // How many further tasks the ask wants, offered or not; 0 if it is not declared. O(log asks).
  int64_t wanted(const FrameworkId& framework, const AskName& ask) const;
  // Those of them that are not offered, in whole gangs, also while it is paused; 0 once it has
  // expired. O(log asks).
  int64_t lacking(const FrameworkId& framework, const AskName& ask) const;
  // Tasks of it in outstanding offers; 0 if it is not declared. O(log asks).
  int64_t offered(const FrameworkId& framework, const AskName& ask) const;
  // Why a declared ask that lacks tasks has no offer, in one word (WaitReason::kSuppressed or
  // later). O(1) in the number of agents, as allocator/explain/wait_reason.h says.
  WaitReason wait_reason(const FrameworkId& framework, const AskName& ask, Time now) const;
  // While it stays the same, so does what could_ever_fit of asks that are not declared anew.
  uint64_t fit_version() const;
  std::vector<AgentUse> agents() const;
  // All tasks that a Revoke was given for, by agent. O(tasks).
  std::vector<EndingTask> ending() const;
  // Why this framework has no offer, or no more of them, and what would make each of its asks fit
  // (remedies.cc says what that costs). Else O(agents * kAsksExplainedMax + leaves).
  FrameworkExplanation explain(const FrameworkId& framework, Time now) const;
  // Why this role has no more; nothing if it is not there: nobody is in it or below it, and nothing
  // is set of it. O(roles + asks below it + what reclaim_outlook() takes, for at most 16 of them).
  std::optional<RoleExplanation> explain_role(const RoleName& role, Time now) const;
  // How a task stands that is allocated on the agent; nothing if it is not. Plans what would have
  // to end for at most 16 asks: O(agents + tasks of borrowers) for each.
  std::optional<TaskStanding> explain_task(const AgentId& agent, const FrameworkId& framework,
                                           const TaskId& task, Time now) const;
  // What would have to end for an unmet ask to fit, and why it has not been told to. The framework
  // must be there. O(agents + tasks of borrowers).
  ReclaimOutlook reclaim_outlook(const FrameworkId& framework, const AskName& ask, Time now) const;
  // Broken invariants of DESIGN §10 (1, 2, 5). For tests: O(everything).
  std::vector<Violation> violations() const;

 private:
  std::unique_ptr<fair::Cluster> cluster_;
  std::unique_ptr<fair::Waiting> waiting_;
  std::unique_ptr<fair::DecisionRecord> last_;  // decision; for violations()
};

// Whether an ask from a peer may be declared: name, shape, count 0..kAskCountMax and a multiple of
// its gang, ports, role of the framework or empty, constraints that compile, bounds of
// common/limits.h, durations 0..kDurationMax. Errors: kInvalidArgument says which ask and value.
Result<void> check_ask(const Ask& ask);

}  // namespace proffer
