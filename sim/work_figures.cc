#include "sim/work_figures.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "sim/report.h"

namespace proffer::sim {
namespace {

__extension__ using Wide = __int128;

// Sums of amount times nanoseconds.
using Integrals = std::array<Wide, kResourceKindCount>;

void add_to(Integrals& sums, const ResourceVector& amounts, Time from, Time to) {
  if (to <= from) return;
  for (const ResourceKind kind : kResourceKinds) {
    sums[static_cast<size_t>(kind)] += Wide{amounts[kind]} * (to - from).nanos();
  }
}

// Rounded to the nearest.
int64_t dominant_of(const Integrals& use, const Integrals& total) {
  Wide most = 0;
  for (size_t kind = 0; kind < kResourceKindCount; ++kind) {
    if (total[kind] == 0) continue;
    most = std::max(most, (use[kind] * 2'000 + total[kind]) / (total[kind] * 2));
  }
  return static_cast<int64_t>(most);
}

struct OfRole {
  std::vector<Duration> waits = {};
  Wide wait_nanos = 0;
  int64_t waiting = 0;
  int64_t revokes = 0;
  Integrals use = {};
  std::optional<Time> first_wanted = {};
  std::optional<Time> last_ended = {};
};

void add_attempt(OfRole& role, const WorkAttempt& attempt, const ResourceVector& shape,
                 const WorkWindow& window) {
  const Time wanted = std::max(attempt.wanted, window.zero);
  if (wanted > window.until) return;
  const bool is_over = attempt.launched && *attempt.launched <= window.until;
  const Duration wait =
      std::max(is_over ? *attempt.launched - wanted : window.until - wanted, Duration());
  role.waits.push_back(wait);
  role.wait_nanos += wait.nanos();
  role.waiting += is_over ? 0 : 1;
  role.first_wanted = std::min(role.first_wanted.value_or(wanted), wanted);
  if (!is_over) return;
  const Time ended = attempt.ended.value_or(Time::far_future());
  add_to(role.use, shape, std::max(*attempt.launched, window.zero),
         std::min({ended, window.until, window.share_until}));
  if (ended > window.until) return;
  role.last_ended = std::max(role.last_ended.value_or(ended), ended);
}

proto::PolicyTrial::Figures figures_of_role(const OfRole& role, const Integrals& total) {
  proto::PolicyTrial::Figures made{.waits = static_cast<int64_t>(role.waits.size()),
                                   .wait_p50 = percentile(role.waits, 50),
                                   .wait_p90 = percentile(role.waits, 90),
                                   .waiting = role.waiting,
                                   .mean_share = dominant_of(role.use, total),
                                   .revokes = role.revokes};
  constexpr Wide kMost = kDurationMax.nanos();
  made.wait_sum = nanoseconds(static_cast<int64_t>(std::min(role.wait_nanos, kMost)));
  if (!role.waits.empty()) {
    made.wait_mean =
        nanoseconds(static_cast<int64_t>(role.wait_nanos / static_cast<int64_t>(made.waits)));
  }
  if (role.first_wanted && role.last_ended) made.makespan = *role.last_ended - *role.first_wanted;
  return made;
}

// The role and those above it, up to "" for all.
void each_above(RoleName role, const auto& visit) {
  for (; !role.empty(); role = parent_of(role)) visit(role);
  visit(role);
}

}  // namespace

std::map<RoleName, proto::PolicyTrial::Figures> figures_of(const Work& work,
                                                           const WorkWindow& window) {
  std::map<RoleName, OfRole> roles;
  for (const WorkItem& item : work.items) {
    const WorkKind& kind = work.kinds[item.kind];
    each_above(kind.role, [&](const RoleName& role) {
      OfRole& of = roles[role];
      for (const WorkAttempt& attempt : item.attempts) {
        add_attempt(of, attempt, kind.ask.shape, window);
      }
    });
  }
  for (const auto& [at, role] : work.revokes) {
    if (at > window.until) continue;
    each_above(role, [&](const RoleName& above) { ++roles[above].revokes; });
  }
  Integrals total{};
  for (const WorkAgent& agent : work.agents) {
    add_to(total, agent.total.amounts, std::max(agent.joins, window.zero),
           std::min(agent.leaves.value_or(window.share_until), window.share_until));
  }
  std::map<RoleName, proto::PolicyTrial::Figures> made;
  for (const auto& [role, of] : roles) made[role] = figures_of_role(of, total);
  return made;
}

}  // namespace proffer::sim
