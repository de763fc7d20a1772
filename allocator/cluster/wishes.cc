#include "allocator/cluster/wishes.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "common/check.h"

namespace proffer::fair {

TaskCounts::TaskCounts(const Ask& ask) {
  for (const MaxPer& most : ask.max_per) counts_[most.attribute];
  if (!ask.spread.empty()) counts_[ask.spread];
}

void TaskCounts::add(const Agent& agent, int64_t count) {
  for (auto& [attribute, by_value] : counts_) {
    const auto at = by_value.try_emplace(value_of(agent, attribute), 0).first;
    at->second += count;
    CHECK_GE(at->second, 0) << attribute << " of agent " << agent.id.str();
    if (at->second == 0) by_value.erase(at);
  }
}

int64_t TaskCounts::of(const std::string& attribute, const AgentState& agent) const {
  const auto& by_value = counts_.at(attribute);
  const auto at = by_value.find(value_of(agent, attribute));
  return at == by_value.end() ? 0 : at->second;
}

int64_t TaskCounts::room(const Ask& ask, const AgentState& agent, int64_t count_max) const {
  int64_t room = count_max;
  for (const MaxPer& most : ask.max_per) {
    room = std::min(room, std::max<int64_t>(most.count - of(most.attribute, agent), 0));
  }
  return room;
}

const MaxPer* TaskCounts::full(const Ask& ask, const AgentState& agent) const {
  for (const MaxPer& most : ask.max_per) {
    if (of(most.attribute, agent) >= most.count) return &most;
  }
  return nullptr;
}

bool TaskCounts::is_beyond(const Ask& ask, const AgentState& agent) const {
  return std::any_of(ask.max_per.begin(), ask.max_per.end(),
                     [&](const MaxPer& most) { return of(most.attribute, agent) > most.count; });
}

int64_t TaskCounts::crowd(const Ask& ask, const AgentState& agent) const {
  return ask.spread.empty() ? 0 : of(ask.spread, agent);
}

namespace {

// A maximum bipartite matching by augmenting paths: each task is an edge between values of two
// attributes, and each value has room for a number of tasks.
class BipartiteMatching {
 public:
  BipartiteMatching(const Ask& ask, const TaskCounts& counts, const MaxPer& first,
                    const MaxPer& second, std::vector<Seat>& places)
      : places_(places), left_(values_of(first, counts)), right_(values_of(second, counts)) {
    for (const Seat& place : places) {
      int64_t most = place.room;
      for (const MaxPer& bound : ask.max_per) {
        if (bound.attribute != "host") continue;
        most = std::min(most, bound.count - counts.of("host", *place.agent));
      }
      most_.push_back(most);
    }
  }

  // Adds one task and moves others if necessary. False if there is no augmenting path: it goes from
  // the first attribute to the second along places with room, and back along places with tasks.
  // O(places * values).
  bool add_one() {
    std::map<size_t, size_t> to_right;  // the place by which each value was reached
    std::map<size_t, size_t> to_left;
    std::vector<size_t> reached;
    for (size_t value = 0; value < left_.room.size(); ++value) {
      if (left_.room[value] > 0) reached.push_back(value);
    }
    const std::set<size_t> starts(reached.begin(), reached.end());
    for (size_t next = 0; next < reached.size(); ++next) {
      for (size_t i = 0; i < places_.size(); ++i) {
        const size_t value = right_.of[i];
        if (left_.of[i] != reached[next] || places_[i].count >= most_[i]) continue;
        if (!to_right.emplace(value, i).second) continue;
        if (right_.room[value] > 0) {
          take(value, to_right, to_left);
          return true;
        }
        for (size_t back = 0; back < places_.size(); ++back) {
          const size_t other = left_.of[back];
          if (right_.of[back] != value || places_[back].count == 0) continue;
          if (starts.count(other) > 0 || !to_left.emplace(other, back).second) continue;
          reached.push_back(other);
        }
      }
    }
    return false;
  }

 private:
  struct Values {
    std::vector<size_t> of = {};     // the value of each place
    std::vector<int64_t> room = {};  // room of each value
  };

  Values values_of(const MaxPer& bound, const TaskCounts& counts) const {
    Values values;
    std::map<std::string, size_t> known;
    for (const Seat& place : places_) {
      const auto [at, is_new] =
          known.try_emplace(value_of(*place.agent, bound.attribute), known.size());
      if (is_new) values.room.push_back(bound.count - counts.of(bound.attribute, *place.agent));
      values.of.push_back(at->second);
      values.room[at->second] -= place.count;
    }
    return values;
  }

  void take(size_t value, const std::map<size_t, size_t>& to_right,
            const std::map<size_t, size_t>& to_left) {
    --right_.room[value];
    while (true) {
      const size_t more = to_right.at(value);
      ++places_[more].count;
      const auto less = to_left.find(left_.of[more]);
      if (less == to_left.end()) {
        --left_.room[left_.of[more]];
        return;
      }
      --places_[less->second].count;
      value = right_.of[less->second];
    }
  }

  std::vector<Seat>& places_;
  Values left_;
  Values right_;
  std::vector<int64_t> most_ = {};
};

}  // namespace

int64_t fill_places(const Ask& ask, const TaskCounts& counts, int64_t wanted,
                    std::vector<Seat>& places) {
  TaskCounts then = counts;
  int64_t sum = 0;
  for (Seat& place : places) {
    place.count = then.room(ask, *place.agent, std::min(place.room, wanted - sum));
    then.add(*place.agent, place.count);
    sum += place.count;
  }
  std::vector<const MaxPer*> apart;
  for (const MaxPer& most : ask.max_per) {
    if (most.attribute != "host") apart.push_back(&most);
  }
  if (sum == wanted || apart.size() != 2) return sum;
  BipartiteMatching matching(ask, counts, *apart[0], *apart[1], places);
  while (sum < wanted && matching.add_one()) ++sum;
  return sum;
}

Nearness nearness(const Preference& preference, const AgentState& agent) {
  const auto is_one_of = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (is_one_of(preference.hosts, agent.id.str())) return Nearness::kHost;
  if (preference.racks.empty()) return Nearness::kAnywhere;
  const auto rack = agent.attributes.find("rack");
  return rack != agent.attributes.end() && is_one_of(preference.racks, rack->second)
             ? Nearness::kRack
             : Nearness::kAnywhere;
}

}  // namespace proffer::fair
