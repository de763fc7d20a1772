// Operations of operators during faults, and their tasks after the faults. Read drain for the
// former and tidy_up for the latter.

#include <algorithm>

#include "common/text.h"
#include "sim/guarantee_law.h"
#include "sim/simulation.h"

namespace proffer::sim {
namespace {

// Roles of frameworks, and roles below those.
constexpr std::string_view kRoles[] = {"ads", "web", "ads/eu", "web/shop", "other"};
constexpr Duration kTidiesEvery = seconds(2);
// The grace of a drain without faults. The margin after it: kills have their own grace, and
// executors may react slowly.
constexpr Duration kCalmGrace = seconds(10);
constexpr Duration kEmptyWithin = seconds(60);
// The limit for an unmet guarantee that is wanted: longer than any notice, minimum runtime and
// claim together.
constexpr Duration kUnmetMax = seconds(90);

}  // namespace

void Simulation::drain(const Fault& fault, const Host& host, Prng chance) {
  const AgentId id = host.name();
  const auto say = [this, id](Prng& with) {
    const Duration grace = milliseconds(with.between(0, 20'000));
    master().operate(master::DrainAgent{.agent = id, .grace = grace});
  };
  say(chance);
  if (chance.chance(1, 4)) {  // Another operator gives it another time.
    const Duration later = milliseconds(chance.between(1, 5'000));
    world_.after(later, [this, say, chance]() mutable {
      if (!healed_) say(chance);
    });
  }
  world_.after(fault.lasts, [this, id] {
    if (!healed_) master().operate(master::UndrainAgent{.agent = id});
  });
}

// The operator waits until the master misses it, and is wrong: the machine comes back.
void Simulation::declare_gone(const Fault& fault, const Host& host, Prng chance) {
  LinkRule rule{.from = {host.site()}, .to = {}, .blocked = true};
  for (const auto& one : masters_) rule.to.insert(network_.site_of(one->party()));
  LinkRule back = rule;
  std::swap(back.from, back.to);
  const uint64_t rules[] = {network_.add_rule(rule), network_.add_rule(back)};
  const Duration away = milliseconds(chance.between(0, 90'000));
  world_.after(away, [this, id = host.name()] {
    if (healed_) return;
    journal_.declared_gone(id);
    master().operate(master::DeclareGone{.agent = id});
  });
  world_.after(away + fault.lasts, [this, first = rules[0], second = rules[1]] {
    network_.end_rule(first, true);
    network_.end_rule(second, true);
  });
}

// The limit is never so low that a single task would not fit.
void Simulation::change_role(const Fault& fault, Prng chance) {
  const RoleName role{std::string(kRoles[fault.target % std::size(kRoles)])};
  master::SetRole set{.role = role};
  const int64_t share = chance.between(1, 8);
  Quota quota =
      Quota::of(ResourceVector::of(total_[ResourceKind::kCpus] * share / 8 / 1'000 * 1'000,
                                   total_[ResourceKind::kMem] * share / 8));
  switch (chance.below(3)) {
    case 0:
      set.weight = chance.between(1, 40) * 250;
      break;
    case 1:
      set.guarantee = quota;
      break;
    default:
      for (const ResourceKind kind : kResourceKinds) {
        if (!quota[kind]) continue;
        const int64_t least = kind == ResourceKind::kCpus ? 2'000 : 1'024'000;
        quota.set(kind, std::max(*quota[kind], least));
      }
      set.limit = quota;
  }
  roles_changed_.insert(role);
  master().operate(std::move(set));
  world_.after(fault.lasts, [this, role] {
    if (!healed_) master().operate(master::SetRole{.role = role, .unset = true});
  });
}

void Simulation::reserve(const Fault& fault, const Host& host, Prng chance) {
  const AgentId id = host.name();
  const RoleName role{std::string(kRoles[chance.below(std::size(kRoles))])};
  const ResourceVector& total = host.total().amounts;
  const int64_t cpus = chance.between(1, total[ResourceKind::kCpus] / 500) * 500;
  const int64_t mem = chance.between(1, total[ResourceKind::kMem] / 512'000) * 512'000;
  const ResourceVector amounts = ResourceVector::of(cpus, mem);
  master().operate(master::ReserveForRole{.agent = id, .role = role, .amounts = amounts});
  world_.after(fault.lasts, [this, id, role] {
    if (healed_) return;
    master().operate(master::ReserveForRole{.agent = id, .role = role, .unreserve = true});
  });
}

// --- after the faults ----------------------------------------------------------------------------

// Resources in use cannot be removed yet, and missing agents come back.
void Simulation::tidy_up() {
  if (master().is_up()) {
    for (const proto::RoleRow& row : master().core().roles()) {
      // Repeated until it has an effect: a deposed leader may have received it and stored nothing.
      const bool is_changed =
          row.weight != kWeightOne || !row.guarantee.empty() || !row.limit.empty();
      if (!is_changed || !roles_changed_.contains(row.role)) continue;
      master().operate(master::SetRole{.role = row.role, .unset = true});
    }
    for (const proto::AgentRow& row : master().core().agents()) {
      if (row.drained_by && row.agent != drained_at_last_) {
        master().operate(master::UndrainAgent{.agent = row.agent});
      }
      for (const proto::ReservedRow& part : row.reserved) {
        if (!part.dynamic) continue;
        master().operate(
            master::ReserveForRole{.agent = row.agent, .role = part.role, .unreserve = true});
      }
    }
  }
  world_.after(kTidiesEvery, [this] { tidy_up(); });
}

std::vector<Violation> Simulation::untidy() const {
  std::vector<Violation> found;
  if (!master().is_up()) return found;
  for (const proto::AgentRow& row : master().core().agents()) {
    if (row.drained_by) found.push_back({text("agent ", row.agent.str(), " is still drained")});
    for (const proto::ReservedRow& part : row.reserved) {
      found.push_back({text("of agent ", row.agent.str(), " ", to_text(part.amounts),
                            " is still reserved for ", part.role.str())});
    }
  }
  return found;
}

void Simulation::drain_once_more() {
  if (!master().is_up()) return;
  const std::vector<proto::AgentRow> rows = master().core().agents();
  const auto busiest = std::max_element(
      rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.tasks < b.tasks; });
  if (busiest == rows.end() || busiest->state != proto::AgentState::kConnected) return;
  drained_at_last_ = busiest->agent;
  master().operate(master::DrainAgent{.agent = drained_at_last_, .grace = kCalmGrace});
  world_.after(kCalmGrace + kEmptyWithin, [this] { expect_empty(); });
}

void Simulation::expect_empty() {
  const AgentId id = std::exchange(drained_at_last_, AgentId());
  if (!master().is_up()) return;
  const std::vector<proto::AgentRow> rows = master().core().agents();
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const proto::AgentRow& one) { return one.agent == id; });
  if (row == rows.end() || row->state != proto::AgentState::kConnected) return;
  if (row->tasks > 0) {
    world_.violated("operator", {text("agent ", id.str(), " was drained, and ", row->tasks,
                                      " tasks are still there")});
  }
  for (const auto& [task, entry] : journal_.entries()) {
    if (entry.machine != id || entry.ending != Ending::kRuns || entry.forgotten) continue;
    world_.violated("operator", {text("agent ", id.str(), " was drained, and ", to_text(task),
                                      " still runs there")});
  }
}

std::set<AgentId> Simulation::troubled() const {
  std::set<AgentId> troubled;
  for (const proto::AgentRow& row : master().core().agents()) {
    if (!row.trouble.empty()) troubled.insert(row.agent);
  }
  return troubled;
}

void Simulation::watch_guarantees() {
  if (!keeps_guarantees_ || !master().is_up()) return;
  MasterWord word{.roles = master().core().roles()};
  for (const proto::RoleRow& row : word.roles) {
    if (!row.guarantee_met && word.live.agents.empty()) {
      word.frameworks = master().core().frameworks();
      word.tasks = master().core().tasks({}, nullptr);
      word.live = master().core().live_snapshot(world_.now());
      word.troubled = troubled();
    }
    if (row.guarantee_met || !could_be_met(row.role, word)) {
      unmet_.erase(row.role);
      continue;
    }
    const Time since = unmet_.emplace(row.role, world_.now()).first->second;
    if (world_.now() - since <= kUnmetMax) continue;
    world_.violated("operator",
                    {text("the guarantee of role ", row.role.str(), ", ", to_text(row.guarantee),
                          ", is wanted since ", to_text(world_.now() - since),
                          ", could be met, and is not: it has ", to_text(row.allocated))});
    keeps_guarantees_ = false;
  }
}

void Simulation::watch_churn() {
  // The master counts the resources of an agent in trouble as usable.
  if (!churn_law_ || !master().is_up() || !troubled().empty()) return;
  const MasterWord word{.roles = master().core().roles(),
                        .frameworks = master().core().frameworks(),
                        .live = master().core().live_snapshot(world_.now())};
  int64_t notices = 0;
  for (const auto& scheduler : schedulers_) notices += scheduler->workload().notices();
  for (const Violation& wrong : churn_law_->look(word, notices, world_.now())) {
    world_.violated("operator", wrong);
  }
}

}  // namespace proffer::sim
