#include "allocator/wishes.h"

#include <algorithm>

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

int64_t TaskCounts::of(const std::string& attribute, const Agent& agent) const {
  const auto& by_value = counts_.at(attribute);
  const auto at = by_value.find(value_of(agent, attribute));
  return at == by_value.end() ? 0 : at->second;
}

int64_t TaskCounts::room(const Ask& ask, const Agent& agent, int64_t count_max) const {
  int64_t room = count_max;
  for (const MaxPer& most : ask.max_per) {
    room = std::min(room, std::max<int64_t>(most.count - of(most.attribute, agent), 0));
  }
  return room;
}

const MaxPer* TaskCounts::full(const Ask& ask, const Agent& agent) const {
  for (const MaxPer& most : ask.max_per) {
    if (of(most.attribute, agent) >= most.count) return &most;
  }
  return nullptr;
}

bool TaskCounts::is_beyond(const Ask& ask, const Agent& agent) const {
  return std::any_of(ask.max_per.begin(), ask.max_per.end(),
                     [&](const MaxPer& most) { return of(most.attribute, agent) > most.count; });
}

int64_t TaskCounts::crowd(const Ask& ask, const Agent& agent) const {
  return ask.spread.empty() ? 0 : of(ask.spread, agent);
}

Nearness nearness(const Preference& preference, const Agent& agent) {
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
