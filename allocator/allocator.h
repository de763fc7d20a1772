#pragma once

// The fair-share library: it decides which framework is offered which resources. It does no I/O,
// reads no clock and uses no messages.
//
// Inputs are events: an agent, a framework or its asks changed, an offer was answered, a task
// ended. Events only mark state as dirty; decide() then returns grants and rescinds (DESIGN §8).
// The same events in the same order give the same output.
//
// Roles form a tree; a leaf is a framework in a role. The allocator counts ports and does not
// choose them: it ignores the ports in the Resources that it is given.
//
// An unknown id where a known one is required is a bug of the caller and fails a CHECK.
//
// The layers; each may use only those after it (tools/layers.txt):
//   explain/   why a task is not running, and which change would start it
//   round/     one decision: round.h has its phases
//   waiting/   resources set aside for asks (claims, headroom, reclaims), and their lending
//   rules/     fit, denials and entitlements; no state of their own
//   cluster/   agents, roles, frameworks, offers, tasks: applies events, keeps the books

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
  // Adds an agent with nothing allocated, or replaces the resources of a known one. Then allocated
  // resources stay in the reservation state in which they were given. Its outstanding offers are
  // rescinded: if only reservations or estimates have changed, those that no longer fit, else all.
  // The total may be below the allocated amount: then nothing of that kind is free until enough
  // tasks have ended. If one state has given more than its total, the excess is not free in the
  // other states. If an estimate shrinks below its use, tasks on it are revoked. All ports of a new
  // agent are free; on a replaced agent, ports of tasks stay taken. O(log n + slices + tasks
  // there).
  void set_agent(const AgentId& agent, AgentResources resources);
  // An agent is offered only while it is active; becoming inactive rescinds its offers. A new agent
  // is active. Inactive agents count in the cluster's total, as their tasks count in shares.
  void set_agent_active(const AgentId& agent, bool active);
  // A draining agent stays active but is not offered; its outstanding offers are rescinded.
  void set_agent_draining(const AgentId& agent, bool draining);
  // Also forgets the resources allocated there.
  void remove_agent(const AgentId& agent);
  // The agent's ports that no task takes.
  const PortSet& free_ports(const AgentId& agent) const;

  // --- frameworks ------------------------------------------------------------------------------
  void add_framework(const FrameworkId& framework, const RoleName& role, OfferMode mode);
  // An inactive framework gets no offers, and its outstanding offers are rescinded. A new framework
  // is active.
  void set_framework_active(const FrameworkId& framework, bool active);
  // Its offers end without rescinds. Its allocated resources are forgotten if they have not been
  // released.
  void remove_framework(const FrameworkId& framework);
  // Replaces the complete set of asks, which must have passed check_ask(). An ask that is unchanged
  // but for its count keeps its waiting time and its claim. If two asks have the same name, the
  // later one counts. A new or changed ask lifts the filters that have a reason, since the reason
  // concerned other asks. Asks of one priority take turns.
  void declare_asks(const FrameworkId& framework, std::vector<Ask> asks, Time now);
  // The framework gets no offers until revive, which also clears its filters.
  void suppress(const FrameworkId& framework);
  void revive(const FrameworkId& framework);
  // While paused, the framework, or this ask, gets nothing and blocks no other, as if it wanted
  // nothing. Its offers stay. Pausing an undeclared ask has no effect; a new declaration of the ask
  // ends its pause.
  void pause(const FrameworkId& framework, bool paused);
  void pause(const FrameworkId& framework, const AskName& ask, bool paused);
  // Answers to offers may be on the way and not read yet: until then no offer is rescinded because
  // it stays unanswered.
  void spare_unanswered(Time until);
  // The framework launched tasks on an offer that is not outstanding: if it was rescinded since it
  // stayed unanswered, later offers may stay unanswered for longer. O(1).
  void note_late_use(const FrameworkId& framework, const OfferId& offer, Time now);
  // Limits the lease of later offers to the framework; empty: the lease is offer_timeout.
  void limit_lease(const FrameworkId& framework, std::optional<Duration> most);
  // Default settings remove the role from the table. The table as a whole must pass check_roles()
  // (CHECKed). A limit below the role's use preempts nothing: the role gets nothing until its use
  // is below the limit.
  void set_role(const RoleName& role, const RoleSettings& settings);
  const RoleTable& role_table() const;
  // False after a failover, while agents with running tasks may still reregister: then roles with a
  // limit, at any level, are offered nothing. A new allocator begins with true.
  void set_knows_all_tasks(bool knows);

  // --- offers and allocated tasks --------------------------------------------------------------
  // The offer, if it is outstanding and was made to this framework; else nullptr. O(log n).
  const Grant* find_offer(const OfferId& offer, const FrameworkId& framework) const;
  // Answers the offers, which are all of one agent and one framework, and ends them. The slices of
  // `tasks` become allocated; the offers must contain them (CHECKed). A task that names an ask
  // lowers its count. The rest becomes free and is filtered for this framework as `refusal` says.
  // An accept that uses everything has an empty refusal.
  void settle(const std::vector<OfferId>& offers, std::vector<RunningTask> tasks,
              const Refusal& refusal, Time now);
  // The task has ended; its resources become free. CHECKs that the task is known.
  void release(const AgentId& agent, const FrameworkId& framework, const TaskId& task);
  // A reregistered agent reports a running task: it is allocated without an offer, even above the
  // total and above limits. If its resources are not free, the agent's offers are rescinded. The
  // task's role must be the framework's or below it.
  void adopt(const AgentId& agent, const FrameworkId& framework, RunningTask task);
  // All outstanding offers, by id. Valid until the next call that changes state.
  std::vector<const Grant*> offers() const;
  // The outstanding offers of a gang, by id; none once the gang is answered or broken. The
  // framework accepts them together, with as many tasks as they fill: a settle() of one of them
  // with fewer tasks rescinds the others. The claims of the tasks carry the gang's number.
  std::vector<const Grant*> gang_offers(uint64_t gang) const;

  // --- decisions -------------------------------------------------------------------------------
  // When decide() must be called next: at once (<= now) if state is dirty, else when the next
  // lease, filter or claim is due. Empty: never.
  std::optional<Time> next_decision(Time now) const;
  // One run over dirty state. Afterwards no unfiltered ask outside claims fits a free slice that it
  // may use. When a lease expires, its agent is filtered for kDeclineFilter, so that others get the
  // resources of a dead scheduler. The cost depends on the changes: O(log n) per task given and
  // offer ended, and one look at each hungry leaf while a grown agent may still fit some ask.
  Decision decide(Time now);

  // --- status, explanations and laws -----------------------------------------------------------
  ResourceVector total() const;  // of the cluster
  std::vector<RoleStatus> roles() const;
  std::vector<LeafStatus> leaves() const;
  // The lags of frameworks and their asks; O(asks). They follow from the state at the last
  // decision, extended to `now`: events since then have no effect before the next decision.
  std::vector<FrameworkLag> framework_lags(Time now) const;
  // The lag of a role is the greatest of the leaves in it and below it; O(leaves * depth). `most`
  // includes ended leaves, as long as the role exists.
  std::map<RoleName, LagStatus> role_lags(Time now) const;
  // The asks of this framework, as in its leaves; empty if it is unknown. O(its asks), and
  // O(agents) for each ask that no agent could ever fit.
  std::vector<AskStatus> asks(const FrameworkId& framework) const;
  // The number of further tasks that the ask wants, offered or not; 0 if it is not declared. O(log
  // asks).
  int64_t wanted(const FrameworkId& framework, const AskName& ask) const;
  // The wanted tasks that are not offered, in whole gangs, also while the ask is paused; 0 once it
  // has expired. O(log asks).
  int64_t lacking(const FrameworkId& framework, const AskName& ask) const;
  // Tasks of the ask in outstanding offers; 0 if it is not declared. O(log asks).
  int64_t offered(const FrameworkId& framework, const AskName& ask) const;
  // The reason why a declared ask that lacks tasks has no offer (WaitReason::kSuppressed or later).
  // O(1) in the number of agents; allocator/explain/wait_reason.h has the exact cost.
  WaitReason wait_reason(const FrameworkId& framework, const AskName& ask, Time now) const;
  // While this number stays the same, could_ever_fit of unchanged asks stays the same.
  uint64_t fit_version() const;
  std::vector<AgentUse> agents() const;
  // All tasks with a Revoke, by agent. O(tasks).
  std::vector<EndingTask> ending() const;
  // Explains why this framework has no offer, or no more of them, and which change would make each
  // of its asks fit. O(agents * kAsksExplainedMax + leaves), and the cost of the remedies
  // (remedies.cc).
  FrameworkExplanation explain(const FrameworkId& framework, Time now) const;
  // Explains why this role gets no more. Empty if the role does not exist: it has no framework, no
  // role below it and no settings. O(roles + asks below it), and reclaim_outlook() for at most 16
  // of the asks.
  std::optional<RoleExplanation> explain_role(const RoleName& role, Time now) const;
  // The standing of a task; empty if it is not allocated on the agent. Plans a reclaim for at most
  // 16 asks: O(agents + tasks of borrowers) for each.
  std::optional<TaskStanding> explain_task(const AgentId& agent, const FrameworkId& framework,
                                           const TaskId& task, Time now) const;
  // The victims that a reclaim for an unmet ask would need, and why they have no notice yet. The
  // framework must exist. O(agents + tasks of borrowers).
  ReclaimOutlook reclaim_outlook(const FrameworkId& framework, const AskName& ask, Time now) const;
  // Broken invariants of DESIGN §10 (1, 2, 5). For tests: O(everything).
  std::vector<Violation> violations() const;

 private:
  std::unique_ptr<fair::Cluster> cluster_;
  std::unique_ptr<fair::Waiting> waiting_;
  std::unique_ptr<fair::DecisionRecord> last_;  // the last decision; for violations()
};

// Checks an ask from a peer before it may be declared: name, shape, count (0..kAskCountMax, a
// multiple of its gang), ports, role (empty, or the framework's or below it), constraints that
// compile, bounds of common/limits.h, durations 0..kDurationMax. Errors: kInvalidArgument names the
// ask and the value.
Result<void> check_ask(const Ask& ask);

}  // namespace proffer
