// What must hold of what is taken back: the books of notices and of what is set aside, and that
// nobody is told to end without cause.

#include <map>
#include <set>

#include "allocator/state.h"
#include "common/text.h"

namespace proffer {

void Allocator::State::check_reclaims(std::vector<Violation>& found) const {
  const auto wrong = [&](const std::string& what) { found.push_back({what}); };
  found.insert(found.end(), wrong_victims_.begin(), wrong_victims_.end());
  std::map<const fair::Node*, ResourceVector> noticed;
  std::map<const fair::Node*, ResourceVector> awaited;
  std::map<const AskEntry*, int64_t> reclaiming;
  size_t of_gangs = 0;
  for (const auto& [id, a] : agents_) {
    ResourceVector here;
    for (const auto& [ref, task] : a->tasks) {
      if (task.claim.gang != 0) {
        ++of_gangs;
        const auto gang = gang_tasks_.find({ref.framework, task.claim.gang});
        if (gang == gang_tasks_.end() || gang->second.count({id, ref.task}) == 0) {
          wrong(text("task ", ref.task.str(), " is not known with its gang"));
        }
      }
      if (!task.ends_by) continue;
      here += task.resources.amounts;
      for (const fair::Node* node = task.leaf; node != nullptr; node = node->parent) {
        noticed[node] += task.resources.amounts;
      }
    }
    if (!(here == a->noticed)) wrong(text("agent ", id.str(), " miscounts what has had notice"));
    if (a->reclaims.empty() == (reclaimed_.count(a.get()) > 0)) {
      wrong(text("agent ", id.str(), " is not known as set aside by notices"));
    }
    for (const fair::Reclaim& reclaim : a->reclaims) {
      const AskEntry& ask = *reclaim.ask;
      reclaiming[&ask] += reclaim.tasks;
      for (const fair::Node* node = ask.leaf; node != nullptr; node = node->parent) {
        awaited[node] += ask.ask.shape * reclaim.tasks;
      }
      if (ask.reclaims.count(a.get()) == 0 || !a->serves() || !ask.leaf->wants_offers()) {
        wrong(text("agent ", id.str(), " is set aside by notices for nobody's good"));
      }
    }
    if (a->reclaims.empty()) continue;
    const AskEntry& first = *a->reclaims.front().ask;
    if (a->claim != &first) wrong(text("agent ", id.str(), " is set aside for somebody else"));
    if (!dirty_ && barred(first).is_none() &&
        (first.ask.gang > 1 ? !plan_gang(first, decided_at_).empty()
                            : is_usable(first, *a, decided_at_))) {
      wrong(text("agent ", id.str(), ": who was given back fits and was not served"));
    }
  }
  size_t in_gangs = 0;
  for (const auto& [gang, tasks] : gang_tasks_) in_gangs += tasks.size();
  if (in_gangs != of_gangs) wrong("tasks of gangs are known that do not run");
  const auto check_node = [&](const fair::Node& node) {
    if (!(noticed[&node] == node.noticed)) wrong(text(*node.label, " miscounts its notices"));
    if (!(awaited[&node] == node.awaited)) wrong(text(*node.label, " miscounts what it waits for"));
  };
  check_node(tree_.root());
  for (const auto& [name, role] : tree_.roles()) check_node(*role);
  for (const auto& [id, l] : leaves_) {
    check_node(*l);
    for (const AskEntry* ask : l->order) {
      if (ask->reclaiming != reclaiming[ask]) {
        wrong(text("ask ", ask->ask.name.str(), " miscounts what it waits for"));
      }
    }
  }
}

// Whether a task may be told to end for the claimant, by the books alone: it has run long enough,
// its role where the two paths part is above its entitlement of what it holds, and no guarantee
// covers it.
void Allocator::State::check_victim(const Agent& a, const fair::TaskRef& ref,
                                    const AskEntry& claimant, Time now) {
  const fair::Task& task = a.tasks.at(ref);
  const auto wrong = [&](const std::string& why) {
    wrong_victims_.push_back(
        {text("task ", ref.framework.str(), "/", ref.task.str(), " is told to end: ", why)});
  };
  if (task.ends_by) wrong("it has had its notice");
  if (options_.naive.eager_reclaim) return;
  if (now - task.since < options_.minimum_runtime) wrong("it is too young");
  std::set<const fair::Node*> common;
  for (const fair::Node* n = claimant.leaf; n != nullptr; n = n->parent) common.insert(n);
  // Those of its gang that were told just now have left the same roles.
  ResourceVector told;
  if (task.claim.gang != 0) {
    for (const auto& [on, member] : gang_of(ref.framework, task.claim.gang)) {
      const fair::Task& other = on->tasks.at(member);
      if (other.ends_by && &other != &task) told += other.resources.amounts;
    }
  }
  for (const fair::Node* n = task.leaf; common.count(n) == 0; n = n->parent) {
    bool is_borrower = false;
    bool is_covered = true;
    bool names_any = false;
    for (const ResourceKind kind : kResourceKinds) {
      if (task.resources.amounts[kind] == 0) continue;
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

}  // namespace proffer
