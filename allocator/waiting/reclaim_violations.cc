// What must hold of what is taken back: the books of notices and of what is set aside, and that
// nobody is told to end without cause.

#include <map>
#include <set>

#include "allocator/state.h"
#include "common/text.h"

namespace proffer {

// What nodes and asks keep count of, counted again.
struct Allocator::State::ReclaimSums {
  std::map<const fair::Node*, ResourceVector> noticed = {};
  std::map<const fair::Node*, ResourceVector> awaited = {};
  std::map<const AskEntry*, int64_t> reclaiming = {};
};

void Allocator::State::check_reclaims(std::vector<Violation>& found) const {
  found.insert(found.end(), wrong_victims_.begin(), wrong_victims_.end());
  check_gang_tasks(found);
  ReclaimSums sums;
  for (const auto& [id, a] : agents_) {
    sum_reclaims(*a, sums);
    check_notices(*a, found);
    check_set_aside(*a, found);
  }
  check_sums(sums, found);
}

// The tasks of each gang are known together.
void Allocator::State::check_gang_tasks(std::vector<Violation>& found) const {
  size_t running = 0;
  for (const auto& [id, a] : agents_) {
    for (const auto& [ref, task] : a->tasks) {
      if (task.claim.gang == 0) continue;
      ++running;
      const auto gang = gang_tasks_.find({ref.framework, task.claim.gang});
      if (gang != gang_tasks_.end() && gang->second.count({id, ref.task}) > 0) continue;
      found.push_back({text("task ", ref.task.str(), " is not known with its gang")});
    }
  }
  size_t known = 0;
  for (const auto& [gang, tasks] : gang_tasks_) known += tasks.size();
  if (known != running) found.push_back({"tasks of gangs are known that do not run"});
}

void Allocator::State::sum_reclaims(const Agent& a, ReclaimSums& sums) const {
  for (const auto& [ref, task] : a.tasks) {
    if (!task.ends_by) continue;
    for (const fair::Node* node = task.leaf; node != nullptr; node = node->parent) {
      sums.noticed[node] += task.resources.amounts;
    }
  }
  for (const fair::Reclaim& reclaim : a.reclaims) {
    const AskEntry& ask = *reclaim.ask;
    sums.reclaiming[&ask] += reclaim.tasks;
    for (const fair::Node* node = ask.leaf; node != nullptr; node = node->parent) {
      sums.awaited[node] += ask.ask.shape * reclaim.tasks;
    }
  }
}

void Allocator::State::check_notices(const Agent& a, std::vector<Violation>& found) const {
  ResourceVector noticed;
  for (const auto& [ref, task] : a.tasks) {
    if (task.ends_by) noticed += task.resources.amounts;
  }
  if (noticed == a.noticed) return;
  found.push_back({text("agent ", a.id.str(), " miscounts what has had notice")});
}

// What is set aside because tasks were told to end is for the first of those who wait for it, who
// has been served if it fits.
void Allocator::State::check_set_aside(const Agent& a, std::vector<Violation>& found) const {
  const auto wrong = [&](const std::string& what) {
    found.push_back({text("agent ", a.id.str(), what)});
  };
  if (a.reclaims.empty() == (reclaimed_.count(agents_.at(a.id).get()) > 0)) {
    wrong(" is not known as set aside by notices");
  }
  for (const fair::Reclaim& reclaim : a.reclaims) {
    const AskEntry& ask = *reclaim.ask;
    if (ask.reclaims.count(agents_.at(a.id).get()) == 0 || !a.serves() ||
        !ask.leaf->wants_offers()) {
      wrong(" is set aside by notices for nobody's good");
    }
  }
  if (a.reclaims.empty()) return;
  const AskEntry& first = *a.reclaims.front().ask;
  if (a.claim != &first) wrong(" is set aside for somebody else");
  if (dirty_ || !barred(first).is_none()) return;
  const bool fits = first.ask.gang > 1 ? !plan_gang(first, decided_at_).empty()
                                       : is_usable(first, a, decided_at_);
  if (fits) wrong(": who was given back fits and was not served");
}

void Allocator::State::check_sums(const ReclaimSums& sums, std::vector<Violation>& found) const {
  const auto of = [](const auto& sum, const auto* key) {
    const auto at = sum.find(key);
    return at == sum.end() ? decltype(at->second)() : at->second;
  };
  const auto check_node = [&](const fair::Node& node) {
    if (!(of(sums.noticed, &node) == node.noticed)) {
      found.push_back({text(*node.label, " miscounts its notices")});
    }
    if (!(of(sums.awaited, &node) == node.awaited)) {
      found.push_back({text(*node.label, " miscounts what it waits for")});
    }
  };
  check_node(tree_.root());
  for (const auto& [name, role] : tree_.roles()) check_node(*role);
  for (const auto& [id, l] : leaves_) {
    check_node(*l);
    for (const AskEntry* ask : l->order) {
      if (ask->reclaiming == of(sums.reclaiming, ask)) continue;
      found.push_back({text("ask ", ask->ask.name.str(), " miscounts what it waits for")});
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
