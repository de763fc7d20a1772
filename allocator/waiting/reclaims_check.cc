// Invariants of reclaims: the records of agents that are set aside, and the cause of each notice.

#include <map>
#include <set>

#include "allocator/rules/denial.h"
#include "allocator/rules/fit.h"
#include "allocator/waiting/reclaims.h"
#include "common/text.h"

namespace proffer::fair {

void Reclaims::check(std::vector<Violation>& found) const {
  if (!cluster_.dirty) found.insert(found.end(), wrong_victims_.begin(), wrong_victims_.end());
  check_set_aside(found);
  check_sums(found);
}

// An agent with victims is kept for the first of the asks that wait for it. If that ask fits, it
// has been served.
void Reclaims::check_set_aside(std::vector<Violation>& found) const {
  for (const auto& [id, a] : cluster_.agents) {
    const auto wrong = [&, name = id.str()](const std::string& what) {
      found.push_back({text("agent ", name, what)});
    };
    const std::vector<Reclaim>& reclaims = on(*a);
    if (a->by_notice() == reclaims.empty()) wrong(" is not recorded as reserved by notices");
    for (const Reclaim& reclaim : reclaims) {
      const AskEntry& ask = *reclaim.ask;
      if (agents_of(ask).count(a.get()) == 0 || !a->serves() || !ask.leaf->wants_offers()) {
        wrong(" is reserved by notices without a beneficiary");
      }
    }
    if (reclaims.empty()) continue;
    const AskEntry& first = *reclaims.front().ask;
    if (a->claimant != &first) wrong(" is reserved for another beneficiary");
    if (!cluster_.dirty && denial(cluster_, first).is_none() &&
        fits_now(cluster_, first, *a, cluster_.decided_at)) {
      wrong(text(": its beneficiary, framework ", first.leaf->framework.str(),
                 ", fits and was not served"));
    }
  }
}

// Counts again the amounts for which nodes wait, and the tasks for which asks wait.
void Reclaims::check_sums(std::vector<Violation>& found) const {
  std::map<const Node*, ResourceVector> sums;
  std::map<const AskEntry*, int64_t> tasks;
  for (const auto& [a, reclaims] : reclaims_) {
    for (const Reclaim& reclaim : reclaims) {
      const AskEntry& ask = *reclaim.ask;
      tasks[&ask] += reclaim.tasks;
      if (reclaim.tasks == 0) continue;
      for (const Node* node = ask.leaf; node != nullptr; node = node->parent) {
        sums[node] += ask.ask.shape * reclaim.tasks;
      }
    }
  }
  if (sums.size() != awaited_.size()) found.push_back({"a node waits for nothing"});
  for (const auto& [node, amounts] : sums) {
    if (amounts == awaited(*node)) continue;
    found.push_back({text(*node->label, " counts wrong what it waits for")});
  }
  for (const auto& [id, l] : cluster_.leaves) {
    for (const AskEntry* ask : l->order) {
      if (coming(*ask) == tasks[ask]) continue;
      found.push_back({text("ask ", ask->ask.name.str(), " counts wrong what it waits for")});
    }
  }
}

// Whether the task may get a notice for the claimant: it has run for the minimum runtime, the
// outermost node of its path that is not above the claimant is above its entitlement of a kind that
// the task holds, and no guarantee covers the task.
void Reclaims::check_victim(const Agent& a, const TaskRef& ref, const AskEntry& claimant,
                            Time now) {
  const Task& task = a.tasks.at(ref);
  const auto wrong = [&](const std::string& why) {
    wrong_victims_.push_back(
        {text("task ", ref.framework.str(), "/", ref.task.str(), " has a notice to end: ", why)});
  };
  if (task.ends_by()) wrong("it already had its notice");
  if (cluster_.options.naive.eager_reclaim) return;
  if (now - task.since < cluster_.options.minimum_runtime) wrong("it is too young");
  std::set<const Node*> common;
  for (const Node* n = claimant.leaf; n != nullptr; n = n->parent) common.insert(n);
  // Other tasks of its gang have a notice since this decision, and no longer count in the same
  // roles.
  ResourceVector told;
  if (task.claim().gang != 0) {
    for (const auto& [on, member] : cluster_.gang_of(ref.framework, task.claim().gang)) {
      const Task& other = on->tasks.at(member);
      if (other.ends_by() && &other != &task) told += other.amounts();
    }
  }
  for (const Node* n = task.leaf; common.count(n) == 0; n = n->parent) {
    bool is_borrower = false;
    bool is_covered = true;
    bool names_any = false;
    for (const ResourceKind kind : kResourceKinds) {
      if (task.amounts()[kind] == 0) continue;
      const int64_t use = n->kept()[kind] + told[kind];
      is_borrower = is_borrower || use > n->entitlement[kind];
      if (n->is_leaf) continue;
      const auto promise = static_cast<const Role*>(n)->settings.guarantee[kind];
      if (!promise) continue;
      names_any = true;
      is_covered = is_covered && use <= *promise;
    }
    if (common.count(n->parent) > 0 && !is_borrower)
      wrong(text(*n->label, " is not above its entitlement"));
    if (names_any && is_covered) wrong(text(*n->label, " is within its guarantee"));
  }
}

}  // namespace proffer::fair
