#include "sim/faults.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "common/text.h"

namespace proffer::sim {

std::string_view to_text(FaultKind kind) {
  switch (kind) {
    case FaultKind::kAgentCrash:
      return "agent_crash";
    case FaultKind::kAgentCrashInStep:
      return "agent_crash_in_step";
    case FaultKind::kAgentCrashForGood:
      return "agent_crash_for_good";
    case FaultKind::kAgentStop:
      return "agent_stop";
    case FaultKind::kAgentStopKilling:
      return "agent_stop_killing";
    case FaultKind::kMachineReboot:
      return "machine_reboot";
    case FaultKind::kMachineForGood:
      return "machine_for_good";
    case FaultKind::kExecutorCrash:
      return "executor_crash";
    case FaultKind::kMasterCrash:
      return "master_crash";
    case FaultKind::kSchedulerCrash:
      return "scheduler_crash";
  }
  return "?";
}

// A swarm (Groce et al., ISSTA 2012): most kinds of faults are absent from most runs, so that those
// that are there are not drowned by the others.
FaultPlan draw_faults(Prng chance, size_t agents, size_t schedulers) {
  FaultPlan plan;
  plan.healed_at = Time() + seconds(chance.between(40, 240));
  constexpr std::array<uint32_t, 4> kRates = {200, 1'000, 5'000, 20'000};  // per million
  const auto rate = [&]() -> uint32_t {
    return chance.chance(1, 2) ? 0 : kRates[chance.below(kRates.size())];
  };
  plan.network.slow = rate();
  plan.network.lost = rate();
  plan.network.repeated = rate();
  plan.network.overtaken = rate();
  plan.network.broken = rate() / 4;
  plan.network.delay_max = microseconds(chance.chance(1, 2) ? 2'000 : chance.between(100, 200'000));
  plan.start_failures = chance.chance(1, 3) ? static_cast<uint32_t>(chance.between(1, 50)) : 0;

  size_t for_good = 0;
  for (size_t k = 0; k < kFaultKindCount; ++k) {
    const auto kind = static_cast<FaultKind>(k);
    if (!chance.chance(1, 3)) continue;
    const bool once = kind == FaultKind::kAgentCrashForGood || kind == FaultKind::kMachineForGood;
    const int64_t times = once ? 1 : chance.between(1, 6);
    for (int64_t i = 0; i < times; ++i) {
      if (once && ++for_good >= agents) break;
      Fault fault{.kind = kind};
      fault.at = Time() + nanoseconds(chance.between(seconds(1).nanos(),
                                                     (plan.healed_at - seconds(1)).nanos()));
      fault.target = chance.below(kind == FaultKind::kSchedulerCrash ? schedulers : agents);
      // Most are back soon; some only after others have taken them for lost.
      fault.down = milliseconds(chance.chance(2, 3) ? chance.between(1, 3'000)
                                                    : chance.between(3'000, 120'000));
      plan.faults.push_back(fault);
    }
  }
  std::stable_sort(plan.faults.begin(), plan.faults.end(),
                   [](const Fault& a, const Fault& b) { return a.at < b.at; });
  return plan;
}

std::vector<std::string> FaultPlan::describe() const {
  std::vector<std::string> lines;
  lines.push_back(fmt::format(
      "network: delay {}..{} per million: slow {} lost {} repeated {} overtaken {} broken {}",
      proffer::to_text(network.delay_min), proffer::to_text(network.delay_max), network.slow,
      network.lost, network.repeated, network.overtaken, network.broken));
  lines.push_back(fmt::format("executors: {} of 1000 cannot be started", start_failures));
  for (const Fault& fault : faults) {
    lines.push_back(fmt::format("{:.3f}s {} of {} for {}", fault.at.seconds(), to_text(fault.kind),
                                fault.target, proffer::to_text(fault.down)));
  }
  lines.push_back(fmt::format("{:.3f}s healed", healed_at.seconds()));
  return lines;
}

}  // namespace proffer::sim
