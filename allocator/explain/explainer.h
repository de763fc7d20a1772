#pragma once

// Explains why a framework, role or ask gets no more, and the standing of a task, as the next
// decision would see them. Reads the allocator's state and changes nothing.
//
//   explain.cc          why a framework has no offer
//   impossible.cc       which part of an ask no agent could ever meet
//   explain_role.cc     why a role gets no more
//   explain_task.cc     the standing of a task, and the asks for which it would be preempted
//   reclaim_outlook.cc  why nothing is reclaimed for an ask

#include <optional>
#include <vector>

#include "allocator/waiting/waiting.h"
#include "common/explanation.h"
#include "common/standing.h"

namespace proffer::fair {

struct Denial;

class Explainer {
 public:
  Explainer(const Cluster& cluster, const Waiting& waiting, Time now)
      : cluster_(cluster), waiting_(waiting), now_(now) {}

  // As in allocator.h.
  FrameworkExplanation explain(const FrameworkId& id) const;
  std::optional<RoleExplanation> explain_role(const RoleName& name) const;
  std::optional<TaskStanding> explain_task(const AgentId& on, const FrameworkId& framework,
                                           const TaskId& id) const;
  ReclaimOutlook reclaim_outlook(const FrameworkId& framework, const AskName& name) const;

 private:
  void explain_place(const Framework& framework, const ResourceVector& total,
                     FrameworkExplanation& found) const;
  void name_rivals(const AskEntry* entry, std::vector<HinderedAgents>& hindered) const;
  AskExplanation explain_ask(const AskEntry& entry) const;
  Holder owed(const AskEntry& ask, ResourceKind kind) const;
  std::vector<Holder> owed_before(const AskEntry& entry) const;
  Denial denial_to(const Leaf& leaf, const AskEntry* entry, const Agent& agent) const;
  HinderedAgents hindrance(const Leaf& leaf, const AskEntry* entry, const Agent& agent) const;

  void explain_children(const Role& role, RoleExplanation& found) const;
  void explain_held(const Role& role, RoleExplanation& found) const;
  HeldAsks held_by(const AskEntry& ask, int& outlooks) const;
  void note_coming(const AskEntry& ask, RoleExplanation& found) const;
  void explain_borrowers(const Role& role, RoleExplanation& found) const;
  void explain_over(const Task& task, TaskStanding& found) const;
  void explain_victim(const TaskRef& ref, TaskStanding& found) const;

  const Cluster& cluster_;
  const Waiting& waiting_;
  const Time now_;
};

}  // namespace proffer::fair
