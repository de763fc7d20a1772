// The metrics of roles: write_roles() selects the roles that are named; a function per family
// follows.

#include "master/shell/role_metrics.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace proffer::master {
namespace {

struct RoleSeries {
  std::vector<const proto::RoleRow*> named;
  // All other roles. A role includes the roles below it, so only the topmost of the others are
  // added up.
  std::vector<const proto::RoleRow*> others;

  explicit RoleSeries(const std::vector<proto::RoleRow>& rows) {
    std::vector<const proto::RoleRow*> sorted;
    sorted.reserve(rows.size());
    for (const proto::RoleRow& row : rows) sorted.push_back(&row);
    std::stable_partition(sorted.begin(), sorted.end(), [](const proto::RoleRow* row) {
      return !row->guarantee.empty() || !row->limit.empty();
    });
    const auto end = sorted.begin() + static_cast<ptrdiff_t>(std::min(rows.size(), kRoleSeriesMax));
    named.assign(sorted.begin(), end);
    others.assign(end, sorted.end());
  }

  template <class Of>
  int64_t sum(Of of) const {
    int64_t sum = 0;
    for (const proto::RoleRow* row : others) sum += of(*row);
    return sum;
  }
  ResourceVector sum_of_tops(ResourceVector proto::RoleRow::*amounts) const {
    std::set<RoleName> names;
    for (const proto::RoleRow* row : others) names.insert(row->role);
    ResourceVector sum;
    for (const proto::RoleRow* row : others) {
      if (!names.contains(parent_of(row->role))) sum += row->*amounts;
    }
    return sum;
  }
};

constexpr const char* kOther = "other";

void write_amounts(const RoleSeries& roles, std::string_view name, std::string_view help,
                   ResourceVector proto::RoleRow::*amounts, MetricsText& text) {
  text.family(MetricType::kGauge, name, help);
  for (const proto::RoleRow* row : roles.named) {
    text.sample_amounts(row->*amounts, {{"role", row->role.str()}});
  }
  if (!roles.others.empty()) text.sample_amounts(roles.sum_of_tops(amounts), {{"role", kOther}});
}

// Only for roles and kinds that have one: a sum of guarantees over other roles has no meaning.
void write_quota(const RoleSeries& roles, std::string_view name, std::string_view help,
                 Quota proto::RoleRow::*quota, MetricsText& text) {
  text.family(MetricType::kGauge, name, help);
  for (const proto::RoleRow* row : roles.named) {
    for (const ResourceKind kind : kResourceKinds) {
      if (const auto milli = (row->*quota)[kind]) {
        text.sample_amount(kind, *milli, {{"role", row->role.str()}});
      }
    }
  }
}

// The waits of a role are not part of those of the roles above it, so the others are simply added
// up.
void write_waits(const RoleSeries& roles, const std::vector<RoleWaitSums>& waits,
                 MetricsText& text) {
  std::set<RoleName> named;
  for (const proto::RoleRow* row : roles.named) named.insert(row->role);
  std::map<std::pair<std::string, WaitReason>, WaitSum> series;
  for (const RoleWaitSums& row : waits) {
    const std::string role = named.contains(row.role) ? row.role.str() : kOther;
    for (const WaitSum& sum : row.sums) {
      WaitSum& all = series[{role, sum.reason}];
      all.tasks += sum.tasks;
      all.millis += sum.millis;
    }
  }
  const auto labels = [](const std::pair<std::string, WaitReason>& of) {
    return MetricsText::Labels{{"role", of.first}, {"reason", std::string(to_text(of.second))}};
  };
  text.family(MetricType::kGauge, "proffer_role_waiting_tasks",
              "Tasks that wait to run, by the reason of waiting.");
  for (const auto& [of, sum] : series) text.sample(sum.tasks, labels(of));
  text.family(MetricType::kCounter, "proffer_role_waited_seconds_total",
              "Total time that tasks waited, by the reason of waiting.");
  for (const auto& [of, sum] : series) text.sample_seconds(milliseconds(sum.millis), labels(of));
}

}  // namespace

void write_roles(const std::vector<proto::RoleRow>& rows, const std::vector<RoleWaitSums>& waits,
                 MetricsText& text) {
  const RoleSeries roles(rows);
  write_amounts(roles, "proffer_role_resources_allocated",
                "Resources used by tasks of the role and the roles below it.",
                &proto::RoleRow::allocated, text);
  write_amounts(roles, "proffer_role_resources_offered", "Resources in outstanding offers to it.",
                &proto::RoleRow::offered, text);
  write_amounts(roles, "proffer_role_resources_entitlement", "Entitlement of the role.",
                &proto::RoleRow::entitlement, text);
  write_amounts(roles, "proffer_role_resources_borrowed", "Its use above its entitlement.",
                &proto::RoleRow::borrowed, text);
  write_quota(roles, "proffer_role_resources_guarantee", "Guarantee of the role.",
              &proto::RoleRow::guarantee, text);
  write_quota(roles, "proffer_role_resources_limit", "Limit of the role.", &proto::RoleRow::limit,
              text);
  text.family(MetricType::kGauge, "proffer_role_dominant_share_ratio",
              "Dominant share: the largest fraction of a resource kind that it uses, from 0 to 1.");
  constexpr int64_t kMillionthsPerMilli = 1'000;
  for (const proto::RoleRow* row : roles.named) {
    text.sample_milli(row->dominant_share_millionths / kMillionthsPerMilli,
                      {{"role", row->role.str()}});
  }
  text.family(MetricType::kGauge, "proffer_role_lag_seconds",
              "How far the framework of the role, or below it, that is furthest behind its "
              "entitlement is behind it, in seconds of that entitlement.");
  for (const proto::RoleRow* row : roles.named) {
    text.sample_seconds(row->lag, {{"role", row->role.str()}});
  }
  if (!roles.others.empty()) {
    const auto furthest = std::max_element(
        roles.others.begin(), roles.others.end(),
        [](const proto::RoleRow* a, const proto::RoleRow* b) { return a->lag < b->lag; });
    text.sample_seconds((*furthest)->lag, {{"role", kOther}});
  }
  text.family(
      MetricType::kGauge, "proffer_role_below_guarantee",
      "1: the role wants more and has less than its guarantee; for other: number of such roles.");
  for (const proto::RoleRow* row : roles.named) {
    text.sample(row->guarantee_met ? 0 : 1, {{"role", row->role.str()}});
  }
  if (!roles.others.empty()) {
    text.sample(roles.sum([](const proto::RoleRow& row) { return row.guarantee_met ? 0 : 1; }),
                {{"role", kOther}});
  }
  text.family(MetricType::kGauge, "proffer_role_frameworks", "Frameworks directly in the role.");
  for (const proto::RoleRow* row : roles.named) {
    text.sample(row->frameworks, {{"role", row->role.str()}});
  }
  if (!roles.others.empty()) {
    text.sample(roles.sum([](const proto::RoleRow& row) { return row.frameworks; }),
                {{"role", kOther}});
  }
  write_waits(roles, waits, text);
}

}  // namespace proffer::master
