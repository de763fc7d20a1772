// Frameworks answer offers; tasks run and end. Read answer() first.

#include <algorithm>

#include "common/check.h"
#include "common/text.h"
#include "tests/support/replay/replay.h"

namespace proffer::replay {
void Replay::answer(const FrameworkId& id, const std::vector<OfferId>& offers) {
  const Framework& framework = frameworks_.at(id);
  if (!framework.joined) return;
  std::map<AgentId, std::vector<Grant>> by_agent;
  for (const OfferId& offer : offers) {
    const Grant* grant = allocator_->find_offer(offer, id);
    if (grant != nullptr) by_agent[grant->offer.agent].push_back(*grant);  // else it was rescinded
  }
  for (const auto& [agent, grants] : by_agent) {
    for (const Grant& grant : grants) {
      if (allocator_->find_offer(grant.offer.id, id) == nullptr) continue;
      Refusal refusal;
      std::vector<RunningTask> launched;
      if (framework.spec->takes == sim::Takes::kDecline || options_.declining.count(id.str()) > 0) {
        refusal.refuse_for = kDeclineFilter;
      } else {
        launched = launch(id, grant);
        if (grant.offer.fills.empty()) refusal.refuse_for = kDeclineFilter;
      }
      allocator_->settle({grant.offer.id}, std::move(launched), refusal, now_);
    }
  }
  if (framework.spec->takes != sim::Takes::kAsks && pending(id.str()) == 0) {
    allocator_->suppress(id);
  }
}

// The tasks of the fills; for an open offer, all wanted tasks that fit.
std::vector<RunningTask> Replay::launch(const FrameworkId& id, const Grant& grant) {
  Framework& framework = frameworks_.at(id);
  std::vector<RunningTask> launched;
  std::vector<Slice> rest = grant.offer.slices;
  for (size_t g = 0; g < framework.groups.size(); ++g) {
    if (framework.spec->takes != sim::Takes::kAsks) {
      while (start(id, g, grant, rest, launched)) {
      }
      continue;
    }
    for (const AskFill& fill : grant.offer.fills) {
      if (fill.ask.str() != framework.groups[g].spec->name) continue;
      for (int64_t i = 0; i < fill.count; ++i) {
        if (framework.groups[g].wanted.empty()) continue;  // this group wants no more tasks
        if (!start(id, g, grant, rest, launched)) {
          broken(text("offer ", grant.offer.id.value(), " of ", id.str(),
                      " does not hold what it was made for"));
        }
      }
    }
  }
  return launched;
}

bool Replay::start(const FrameworkId& id, size_t g, const Grant& grant, std::vector<Slice>& rest,
                   std::vector<RunningTask>& launched) {
  Group& group = frameworks_.at(id).groups[g];
  const Ask& ask = group.spec->ask;
  if (group.wanted.empty()) return false;
  Running running;
  running.agent = grant.offer.agent;
  running.since = now_;
  PortSet ports_taken;
  if (ask.ports > 0) {
    PortSet free = allocator_->free_ports(grant.offer.agent);
    for (const RunningTask& task : launched) free -= task.ports;
    const auto ports = free.lowest(ask.ports);
    if (!ports) return false;
    std::vector<PortRange> ranges;
    for (const uint16_t port : *ports) ranges.push_back({port, port});
    ports_taken = PortSet(std::move(ranges));
  }
  std::optional<std::vector<Slice>> slices = take(group.spec->resources, rest);
  if (!slices) return false;
  const auto [number, since] = *group.wanted.begin();
  group.wanted.erase(group.wanted.begin());
  --group.declared;
  group.wait_max = std::max(group.wait_max, now_ - since);
  running.task = {.task = TaskId(text(group.spec->name, "-", number)),
                  .ask = AskName(group.spec->name),
                  .claim = {.slices = *std::move(slices),
                            .role = grant.role,
                            .priority = ask.priority,
                            .band = ask.band,
                            .gang = grant.offer.gang},
                  .since = now_,
                  .ports = std::move(ports_taken)};
  launched.push_back(running.task);
  group.running.emplace(number, std::move(running));
  const auto lost = group.lost.find(number);
  const int64_t launch = 1 + (lost == group.lost.end() ? 0 : lost->second);
  if (const std::optional<Duration> lasts =
          group.spec->duration_of(scenario_.seed, id.str(), number, launch)) {
    at(now_ + *lasts,
       [this, id, g, which = number, started = now_] { end_task(id, g, which, started); });
  }
  return true;
}

void Replay::end_task(const FrameworkId& id, size_t g, int64_t number, Time started) {
  Group& group = frameworks_.at(id).groups[g];
  const auto at_number = group.running.find(number);
  // Not if it was lost and runs again: the new start has its own end.
  if (at_number == group.running.end() || at_number->second.since != started) return;
  const Running running = std::move(at_number->second);
  group.running.erase(at_number);
  ++group.finished;
  allocator_->release(running.agent, id, running.task.task);
}

void Replay::lose_task(const FrameworkId& id, size_t g, int64_t number, bool tell_allocator) {
  Group& group = frameworks_.at(id).groups[g];
  const auto at_number = group.running.find(number);
  if (at_number == group.running.end()) return;  // already lost with its gang
  const Running running = std::move(at_number->second);
  group.running.erase(at_number);
  group.wanted.emplace(number, now_);
  ++group.lost[number];
  if (tell_allocator) allocator_->release(running.agent, id, running.task.task);
  if (running.task.claim.gang != 0) {
    std::vector<int64_t> others;
    for (const auto& [other, of_gang] : group.running) {
      if (of_gang.task.claim.gang == running.task.claim.gang) others.push_back(other);
    }
    // Tasks on a removed agent were forgotten with it.
    for (const int64_t other : others) {
      const auto still = group.running.find(other);
      if (still == group.running.end()) continue;
      lose_task(id, g, other, agents_.count(still->second.agent) > 0);
    }
  }
  declare(id);
}

std::optional<Replay::Found> Replay::find_task(const Framework& framework,
                                               const TaskId& task) const {
  for (size_t g = 0; g < framework.groups.size(); ++g) {
    for (const auto& [number, running] : framework.groups[g].running) {
      if (running.task.task == task) return Found{g, number};
    }
  }
  return std::nullopt;
}

// The task runs until its deadline, unless it ends before.
void Replay::revoke(const Revoke& notice) {
  ++revokes_;
  last_revoke_ = now_ - kBeginning;
  if (notice.reason == RevokeReason::kReclaimed) reclaimed_at_.push_back(now_);
  Framework& framework = frameworks_.at(notice.framework);
  const std::optional<Found> found = find_task(framework, notice.task);
  if (!found) return;  // the audit reports this
  Group& group = framework.groups[found->group];
  Running& running = group.running.at(found->number);
  running.revoked = true;
  ++group.revoked;
  at(notice.deadline, [this, id = notice.framework, what = *found, since = running.since] {
    const auto& of_group = frameworks_.at(id).groups[what.group].running;
    const auto still = of_group.find(what.number);
    if (still == of_group.end() || still->second.since != since) return;
    lose_task(id, what.group, what.number, true);
  });
}

}  // namespace proffer::replay
