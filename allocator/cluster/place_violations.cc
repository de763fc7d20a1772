// The laws of places: devices and reservations count once, gangs are whole, tasks are within
// max_per.

#include <algorithm>

#include "allocator/cluster/cluster.h"
#include "common/text.h"

namespace proffer::fair {

// Free + offered + allocated = total, for each reservation state and device.
void Cluster::check_parts(std::vector<Violation>& found) const {
  for (const auto& [id, a] : agents) {
    const auto wrong = [&, name = id.str()](const std::string& what) {
      found.push_back({text("agent ", name, ": ", what)});
    };
    Books sums;
    for (const auto& [ref, task] : a->tasks) sums.allocate(task.booked());
    for (const OfferId& offer : offers_of(*a)) sums.offer(*outstanding.find(offer));
    if (!(sums.allocated == a->allocated) || !(sums.offered == a->offered)) {
      wrong("its unreserved resources are not the sum over its tasks and offers");
    }
    for (const Part& part : a->parts) {
      const Part& sum = sums.part(part.reserved_for, part.revocable);
      if (!(sum.allocated == part.allocated) || !(sum.offered == part.offered)) {
        wrong("its reserved or estimated resources are not the sum over its tasks and offers");
      }
    }
    for (const Part& sum : sums.parts) {
      const bool known = std::any_of(a->parts.begin(), a->parts.end(), [&](const Part& p) {
        return p.reserved_for == sum.reserved_for && p.revocable == sum.revocable;
      });
      const bool is_zero = sum.allocated.is_zero() && sum.offered.is_zero();
      if (!known && !is_zero) wrong("a used reservation is not recorded");
    }
    PortSet free_ports = a->ports;
    for (const auto& [ref, task] : a->tasks) free_ports -= *task.ports;
    if (!(free_ports == a->free_ports) || a->free_port_count != a->free_ports.size()) {
      wrong("its free ports are not the ports without a task");
    }
    if (a->is_offered_beyond_total()) wrong("more is offered in a reservation state than it has");
    if ((a->estimate() != nullptr) != (estimating.count(a.get()) > 0)) {
      wrong("its estimate is not recorded");
    }
    // Per device, the reserved, unreserved and free parts add up.
    std::map<int32_t, int64_t> left;
    const auto add = [&](const Resources& all, const Held& allocated, const Held& offered,
                         const Resources& free) {
      int64_t sum = 0;
      for (const GpuDevice& device : free.gpus) sum += device.milli;
      if (sum != free.amounts[ResourceKind::kGpus]) {
        wrong("free gpus are not the sum over devices");
      }
      for (const GpuDevice& device : all.gpus) left[device.index] += device.milli;
      for (const auto& [index, milli] : allocated.devices()) left[index] -= milli;
      for (const auto& [index, milli] : offered.devices()) left[index] -= milli;
    };
    add(a->total, a->allocated, a->offered, a->free_and_kept());
    for (const Part& part : a->parts) {
      if (part.revocable) continue;
      add(part.total, part.allocated, part.offered, part.free);
    }
    for (const GpuDevice& device : a->counted_free().gpus) {
      if (device.milli > left[device.index]) {
        wrong(text("gpu device ", device.index, " is both free and in use"));
      }
    }
  }
}

// Each offered gang is offered whole.
void Cluster::check_gangs(std::vector<Violation>& found) const {
  std::map<uint64_t, std::pair<const Leaf*, std::map<AskName, int64_t>>> gangs;
  for (const auto& [id, offer] : outstanding.all()) {
    const uint64_t gang = offer.grant->offer.gang;
    if (gang == 0) continue;
    const auto wrong = [&, &framework = offer.leaf->framework](const std::string& what) {
      found.push_back({text("gang ", gang, " of ", framework.str(), ": ", what)});
    };
    auto& [l, fills] = gangs[gang];
    if (l != nullptr && l != offer.leaf) wrong("it is offered to several frameworks");
    l = offer.leaf;
    for (const AskFill& fill : offer.grant->offer.fills) fills[fill.ask] += fill.count;
    if (outstanding.of_gang(gang).count(id) == 0) wrong("an offer of it is not recorded");
  }
  for (const auto& [gang, offered] : gangs) {
    const auto& [l, fills] = offered;
    for (const auto& [name, count] : fills) {
      const auto ask = l->owner->asks.find(name);
      // Between the answers for its agents a part of the gang is launched; to the caller this is
      // one step. An older gang may precede a change of the ask.
      if (ask == l->owner->asks.end() || dirty) continue;
      if (outstanding.of_gang(gang).begin()->value() <= offers_before) continue;
      if (count == ask->second->ask.gang && fills.size() == 1) continue;
      found.push_back(
          {text("gang ", gang, " of ", l->framework.str(), " is offered only in part")});
    }
  }
}

namespace {

// In a group, an ask with a higher limit may have placed its tasks there after this ask's.
bool is_beyond_all(const Framework& f, const AskEntry& ask, const AgentState& agent) {
  if (ask.ask.group.empty()) return ask.counts.is_beyond(ask.ask, agent);
  return std::all_of(f.asks.begin(), f.asks.end(), [&](const auto& other) {
    if (other.second->ask.group != ask.ask.group) return true;
    return other.second->counts.counts_any() &&
           other.second->counts.is_beyond(other.second->ask, agent);
  });
}

}  // namespace

// Checks the counts for max_per and spread, and that no offer exceeds max_per.
void Cluster::check_places(std::vector<Violation>& found) const {
  for (const auto& [id, f] : frameworks) {
    for (const auto& [name, ask] : f->asks) {
      const auto wrong = [&, ask_name = name.str(), framework = id.str()](const std::string& what) {
        found.push_back({text("ask ", ask_name, " of ", framework, ": ", what)});
      };
      if (ask->alarm ? alarms_.count({*ask->alarm, ask.get()}) == 0 : false) {
        wrong("its alarm is not recorded");
      }
      if (!ask->counts.counts_any()) continue;
      AskEntry from_ground;
      from_ground.leaf = ask->leaf;
      from_ground.ask = ask->ask;
      count_all_tasks(from_ground);
      if (!(from_ground.counts == ask->counts))
        wrong("its count of the places of its tasks is wrong");
      if (dirty) continue;
      for (const OfferId& offer_id : offers_of(*ask->leaf)) {
        const OutstandingOffer& offer = *outstanding.find(offer_id);
        // Older offers may precede a lower limit.
        if (offer_id.value() <= offers_before) continue;
        const bool fills =
            std::any_of(offer.grant->offer.fills.begin(), offer.grant->offer.fills.end(),
                        [&, ask_name = name](const AskFill& fill) { return fill.ask == ask_name; });
        if (fills && is_beyond_all(*f, *ask, *offer.agent)) {
          wrong(
              text("more tasks than max_per are on, or offered on, agent ", offer.agent->id.str()));
        }
      }
    }
  }
}

}  // namespace proffer::fair
