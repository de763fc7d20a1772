// The laws of the books, recomputed from scratch. Begin with check(). O(everything): for tests and
// the simulator.

#include <algorithm>
#include <map>
#include <unordered_map>

#include "allocator/cluster/cluster.h"
#include "common/text.h"

namespace proffer::fair {

void Cluster::check(std::vector<Violation>& found) const {
  check_agents(found);
  check_leaves(found);
  check_notices(found);
  check_gang_tasks(found);
  check_set_aside(found);
  check_parts(found);
  check_gangs(found);
  check_places(found);
  check_tree(found);
}

// Free + offered + allocated = total, per kind and device; each offer is in all of its lists.
void Cluster::check_agents(std::vector<Violation>& found) const {
  ClusterTotal sum;
  for (const auto& [id, a] : agents) sum.add(a->counted_total());
  if (sum.amounts() != total_now()) {
    found.push_back(
        {text("the total is ", to_text(total_now()), " and not ", to_text(sum.amounts()))});
  }
  for (const auto& [id, a] : agents) {
    const auto wrong = [&, name = id.str()](const std::string& what) {
      found.push_back({text("agent ", name, ": ", what)});
    };
    if (a->draining != (draining.count(a.get()) > 0)) {
      wrong("its drain is not recorded");
    }
    Held allocated;
    std::map<const Framework*, ResourceVector> by_framework;  // looked up only
    for (const auto& [ref, task] : a->tasks) {
      allocated.add(task.booked().resources);
      by_framework[task.leaf->owner] += task.amounts();
    }
    std::erase_if(by_framework, [](const auto& use) { return use.second.is_zero(); });
    const bool is_noted =
        std::all_of(a->allocated_to.begin(), a->allocated_to.end(), [&](const Agent::Use& use) {
          const auto there = by_framework.find(use.framework);
          return there != by_framework.end() && there->second == use.amounts;
        });
    if (!is_noted || by_framework.size() != a->allocated_to.size()) {
      wrong("the resources of frameworks are not the sum over their tasks");
    }
    Held offered;
    int64_t ports = 0;
    for (const OfferId& offer_id : offers_of(*a)) {
      const OutstandingOffer* offer = outstanding.find(offer_id);
      if (offer == nullptr || offer->agent != a.get()) {
        wrong("a recorded offer is not outstanding here");
        continue;
      }
      offered.add(offer->resources);
      ports += offer->ports;
    }
    Held all_allocated = a->allocated;
    Held all_offered = a->offered;
    for (const Part& part : a->parts) {
      if (part.revocable) continue;
      all_allocated.add(part.allocated);
      all_offered.add(part.offered);
    }
    if (!(allocated == all_allocated)) wrong("allocated is not the sum over tasks");
    if (!(offered == all_offered)) wrong("offered is not the sum over offers");
    if (ports != a->ports_offered) wrong("offered ports are not the sum over offers");
    if (!offered.is_zero() && !a->serves()) wrong("offered while inactive");
    const ResourceVector used = allocated.amounts() + offered.amounts();
    for (const ResourceKind kind : kResourceKinds) {
      const int64_t all = a->counted_total()[kind];
      const int64_t free = a->counted_free_of(kind) + a->kept.amounts[kind];
      if (free < 0) wrong(text("negative free amount of ", to_text(kind)));
      if (offered.amounts()[kind] > 0 && used[kind] > all) {
        wrong(text("more is offered than it has of ", to_text(kind)));
      }
      if (kind != ResourceKind::kGpus && free != std::max<int64_t>(all - used[kind], 0)) {
        wrong(text("free + offered + allocated is not total of ", to_text(kind)));
      }
    }
    const bool should_list =
        a->serves() && !a->is_set_aside() && !a->counted_free().amounts.is_zero();
    if (should_list != a->listed) wrong("its place in the index of free agents is wrong");
  }
}

void Cluster::check_leaves(std::vector<Violation>& found) const {
  struct Sums {
    ResourceVector allocated = {};
    int64_t tasks = 0;
    ResourceVector offered = {};
  };
  std::unordered_map<const Leaf*, Sums> sums;  // looked up only, never walked
  for (const auto& [agent_id, a] : agents) {
    for (const auto& [ref, task] : a->tasks) {
      Sums& of_leaf = sums[task.leaf];
      of_leaf.allocated += task.amounts();
      ++of_leaf.tasks;
    }
  }
  std::map<std::pair<FrameworkId, AskName>, int64_t> fills;
  for (const auto& [offer_id, offer] : outstanding.all()) {
    const Leaf& l = *offer.leaf;
    sums[&l].offered += offer.resources.amounts;
    for (const AskFill& fill : offer.grant->offer.fills) {
      fills[{l.framework, fill.ask}] += fill.count;
    }
    const auto wrong = [&, &offer_id = offer_id](const std::string& what) {
      found.push_back({text("offer ", offer_id.value(), " of framework ", l.framework.str(), " in ",
                            l.role->name.str(), ": ", what)});
    };
    if (!l.owner->active) wrong("offered while inactive");
    if (l.mode == OfferMode::kOpen && l.open_on.count(offer.agent) == 0) {
      wrong("an open offer is not recorded");
    }
    if (!OutstandingOffers::is_at_leaf(offer)) wrong("it is not recorded at its leaf");
    if (!OutstandingOffers::is_at_agent(offer)) wrong("it is not recorded at its agent");
    if (offer.grant->role != l.role->name) wrong("offered in another role");
  }
  for (const auto& [id, l] : leaves) {
    const auto wrong =
        [&, name = text(id.framework.str(), " in ", id.role.str())](const std::string& what) {
          found.push_back({text("framework ", name, ": ", what)});
        };
    const auto known = sums.find(l.get());
    const auto& [allocated, tasks, offered] = known == sums.end() ? Sums() : known->second;
    if (!(allocated == l->allocated)) wrong("allocated is not the sum over tasks");
    if (!(offered == l->offered)) wrong("offered is not the sum over offers");
    if (tasks != l->tasks) wrong("its count of tasks is wrong");
    if (demanding.contains(*l) != l->wants_offers() || l->wants != l->wants_offers()) {
      wrong("its wanted resources and its asks disagree");
    }
    if (owed_leaves.contains(*l) != (l->wants && may_be_owed(*l))) {
      wrong("its owed resources and its asks disagree");
    }
    if (!dirty && !l->is_needed()) wrong("it is not needed");
  }
  for (const auto& [id, f] : frameworks) {
    for (const auto& [name, ask] : f->asks) {
      const auto offered = fills.find({id, name});
      if (ask->offered != (offered == fills.end() ? 0 : offered->second)) {
        found.push_back(
            {text("framework ", id.str(), ": ask ", name.str(), " counts its offers wrong")});
      }
    }
  }
}

// Recounts the tasks with notice, at agents and in the tree.
void Cluster::check_notices(std::vector<Violation>& found) const {
  std::unordered_map<const Node*, ResourceVector> sums;  // looked up only, never walked
  for (const auto& [id, a] : agents) {
    ResourceVector noticed;
    for (const auto& [ref, task] : a->tasks) {
      if (!task.ends_by()) continue;
      noticed += task.amounts();
      for (const Node* node = task.leaf; node != nullptr; node = node->parent) {
        sums[node] += task.amounts();
      }
    }
    if (noticed == a->noticed) continue;
    found.push_back({text("agent ", id.str(), " counts tasks with a notice wrong")});
  }
  const auto check_node = [&](const Node& node) {
    if (sums[&node] == node.noticed) return;
    found.push_back({text(*node.label, " counts its notices wrong")});
  };
  check_node(tree.root());
  for (const auto& [name, role] : tree.roles()) check_node(*role);
  for (const auto& [id, l] : leaves) check_node(*l);
}

// The table of gang tasks matches the tasks.
void Cluster::check_gang_tasks(std::vector<Violation>& found) const {
  size_t running = 0;
  for (const auto& [id, a] : agents) {
    for (const auto& [ref, task] : a->tasks) {
      if (task.claim().gang == 0) continue;
      ++running;
      const auto gang = gang_tasks_.find({ref.framework, task.claim().gang});
      if (gang != gang_tasks_.end() && gang->second.count({id, ref.task}) > 0) continue;
      found.push_back({text("task ", ref.task.str(), " is not known with its gang")});
    }
  }
  size_t known = 0;
  for (const auto& [gang, tasks] : gang_tasks_) known += tasks.size();
  if (known != running) found.push_back({"known tasks of gangs do not run"});
}

// Each set-aside agent has a claimant that has the agent in its list, and the reverse.
void Cluster::check_set_aside(std::vector<Violation>& found) const {
  size_t count = 0;
  for (const auto& [id, a] : agents) {
    if (a->claimant == nullptr) continue;
    ++count;
    const AskEntry& ask = *a->claimant;
    if (std::find(ask.set_aside.begin(), ask.set_aside.end(), a.get()) == ask.set_aside.end()) {
      found.push_back({text("agent ", id.str(), ": its claim is recorded on one side only")});
    }
    if (!a->serves() || ask.unmet() == 0 || !ask.leaf->wants_offers()) {
      found.push_back({text("agent ", id.str(), ": it is claimed without a claimant")});
    }
  }
  for (const auto& [id, f] : frameworks) {
    for (const auto& [name, ask] : f->asks) count -= ask->set_aside.size();
  }
  if (count != 0) found.push_back({"claims of agents are recorded on one side only"});
}

void Cluster::check_tree(std::vector<Violation>& found) const {
  for (const std::string& what : tree.broken()) found.push_back({what});
  for (const auto& [name, settings] : role_table) {
    const Role* role = tree.find(name);
    if (!(settings == (role == nullptr ? RoleSettings() : role->settings))) {
      found.push_back({text("role ", name.str(), " is not as it was set")});
    }
  }
}

}  // namespace proffer::fair
