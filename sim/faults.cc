// The names of faults, and the drawing of a plan. Read draw_faults: each kind has its own random
// source.

#include "sim/faults.h"

#include <algorithm>

#include <fmt/format.h>

#include "common/check.h"
#include "common/text.h"

namespace proffer::sim {
namespace {

const FaultKindRow& row_of(FaultKind kind) {
  const auto at = std::find_if(kFaultKinds.begin(), kFaultKinds.end(),
                               [kind](const FaultKindRow& row) { return row.kind == kind; });
  CHECK(at != kFaultKinds.end());
  return *at;
}

void draw_rate(FaultKind kind, Prng chance, FaultPlan& plan) {
  constexpr uint32_t kRates[] = {200, 1'000, 5'000, 20'000};  // per million
  const uint32_t rate = kRates[chance.below(std::size(kRates))];
  switch (kind) {
    case FaultKind::kSlow:
      plan.network.slow = rate;
      break;
    case FaultKind::kLost:
      plan.network.lost = rate;
      break;
    case FaultKind::kRepeated:
      plan.network.repeated = rate;
      break;
    case FaultKind::kOvertaken:
      plan.network.overtaken = rate;
      break;
    case FaultKind::kBroken:
      plan.network.broken = rate / 4;
      break;
    case FaultKind::kHalfOpen:
      plan.network.half_open = rate / 4;
      break;
    default:
      CHECK(kind == FaultKind::kStartFailure);
      plan.start_failures = static_cast<uint32_t>(chance.between(1, 50));
  }
}

FaultKinds all_kinds() {
  FaultKinds kinds;
  for (const FaultKindRow& row : kFaultKinds) {
    if (!row.is_by_name_only) kinds.insert(row.kind);
  }
  return kinds;
}

bool is_of_several_masters(FaultKind kind) {
  return kind >= FaultKind::kLeaderPaused && kind <= FaultKind::kEnsembleSlow;
}

// Most faults end soon; some last until others have reacted.
Duration draw_duration(FaultKind kind, Prng& chance) {
  const bool is_short = chance.chance(2, 3);
  if (kind == FaultKind::kClog) return milliseconds(chance.between(10, is_short ? 2'000 : 20'000));
  return milliseconds(is_short ? chance.between(1, 3'000) : chance.between(3'000, 120'000));
}

}  // namespace

std::string_view to_text(FaultKind kind) { return row_of(kind).name; }

Result<FaultKinds> parse_fault_kinds(std::string_view list) {
  FaultKinds kinds;
  if (list == "none") return kinds;
  if (list == "all") return all_kinds();
  for (const std::string_view name : split(list, ',')) {
    const auto at = std::find_if(kFaultKinds.begin(), kFaultKinds.end(),
                                 [name](const FaultKindRow& row) { return row.name == name; });
    if (at == kFaultKinds.end()) {
      return Error::invalid_argument(text("there is no kind of fault ", quoted(name)))
          .with_hint("give all, none, or names from --help, separated by commas");
    }
    kinds.insert(at->kind);
  }
  return kinds;
}

std::string to_text(const FaultKinds& kinds) {
  if (kinds.empty()) return "none";
  if (kinds == all_kinds()) return "all";
  std::string list;
  for (const FaultKind kind : kinds) list += text(list.empty() ? "" : ",", to_text(kind));
  return list;
}

FaultKinds draw_fault_kinds(const World& world, bool several_masters) {
  Prng chance = world.chance("swarm");
  constexpr uint64_t kOneIn[] = {3, 6, 12, 36};
  const uint64_t one_in = kOneIn[chance.below(std::size(kOneIn))];
  FaultKinds kinds;
  for (const FaultKindRow& row : kFaultKinds) {
    if (row.is_by_name_only) continue;
    const bool drawn = chance.chance(1, one_in);
    if (drawn && (several_masters || !is_of_several_masters(row.kind))) kinds.insert(row.kind);
  }
  return kinds;
}

Result<std::set<uint64_t>> parse_numbers(std::string_view list) {
  std::set<uint64_t> numbers;
  for (const std::string_view part : split(list, ',')) {
    const size_t dash = part.find('-');
    const Result<int64_t> first = parse_whole("a fault", part.substr(0, dash), 1, 10'000);
    if (!first) return first.error();
    const Result<int64_t> last =
        dash == std::string_view::npos
            ? first
            : parse_whole("a fault", part.substr(dash + 1), *first, 10'000);
    if (!last) return last.error();
    for (int64_t number = *first; number <= *last; ++number) {
      numbers.insert(static_cast<uint64_t>(number));
    }
  }
  return numbers;
}

std::string to_text(const std::set<uint64_t>& numbers) {
  std::string list;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const uint64_t first = *at;
    uint64_t last = first;
    while (++at != numbers.end() && *at == last + 1) last = *at;
    if (!list.empty()) list += ',';
    list += std::to_string(first);
    if (last > first) list += text('-', last);
  }
  return list;
}

FaultPlan draw_faults(const World& world, const FaultKinds& kinds,
                      const std::set<uint64_t>& skipped) {
  FaultPlan plan{.kinds = kinds};
  Prng when = world.chance("healed");
  plan.healed_at = Time() + seconds(kinds.empty() ? 1 : when.between(40, 240));
  Prng delays = world.chance("delays");
  if (!kinds.empty() && delays.chance(1, 2)) {
    plan.network.delay_max = microseconds(delays.between(100, 200'000));
  }
  for (const FaultKind kind : kinds) {
    Prng chance = world.chance(text("fault ", to_text(kind)));
    const FaultAmount amount = row_of(kind).amount;
    if (amount == FaultAmount::kRate) {
      draw_rate(kind, chance, plan);
      continue;
    }
    if (kind == FaultKind::kSmallQueues) {
      plan.network.outgoing_max = static_cast<size_t>(chance.between(1, 200));
      continue;
    }
    const int64_t times = amount == FaultAmount::kOnce  ? 1
                          : amount == FaultAmount::kFew ? chance.between(1, 3)
                                                        : chance.between(1, 6);
    for (int64_t i = 0; i < times; ++i) {
      Fault fault{.kind = kind};
      fault.at = Time() + nanoseconds(chance.between(seconds(1).nanos(),
                                                     (plan.healed_at - seconds(1)).nanos()));
      fault.target = chance.next();
      fault.lasts = draw_duration(kind, chance);
      fault.seed = chance.next();
      plan.faults.push_back(fault);
    }
  }
  std::stable_sort(plan.faults.begin(), plan.faults.end(),
                   [](const Fault& a, const Fault& b) { return a.at < b.at; });
  for (size_t i = 0; i < plan.faults.size(); ++i) plan.faults[i].number = i + 1;
  const auto is_skipped = [&](const Fault& fault) { return skipped.count(fault.number) > 0; };
  plan.faults.erase(std::remove_if(plan.faults.begin(), plan.faults.end(), is_skipped),
                    plan.faults.end());
  return plan;
}

std::vector<std::string> FaultPlan::describe() const {
  std::vector<std::string> lines;
  lines.push_back(text("kinds: ", to_text(kinds)));
  lines.push_back(fmt::format(
      "network: delay {}..{} per million: slow {} lost {} repeated {} overtaken {} broken {} "
      "half_open {}; {} frames may wait",
      proffer::to_text(network.delay_min), proffer::to_text(network.delay_max), network.slow,
      network.lost, network.repeated, network.overtaken, network.broken, network.half_open,
      network.outgoing_max));
  lines.push_back(fmt::format("executors: {} of 1000 cannot be started", start_failures));
  for (const Fault& fault : faults) {
    lines.push_back(fmt::format("{}: {:.3f}s {} for {}", fault.number, fault.at.seconds(),
                                to_text(fault.kind), proffer::to_text(fault.lasts)));
  }
  lines.push_back(fmt::format("{:.3f}s healed", healed_at.seconds()));
  return lines;
}

}  // namespace proffer::sim
