#include "proto/json/simulate_json.h"

#include <fmt/format.h>

#include "proto/json/json_text.h"

namespace proffer::proto {
namespace {

// Prints the kinds that the cluster has.
Json print(const ResourceVector& amounts, const ResourceVector& total) {
  Json out = Json::object();
  for (const ResourceKind kind : kResourceKinds) {
    if (total[kind] > 0 || amounts[kind] > 0) {
      out[std::string(to_text(kind))] = print_number(amounts[kind]);
    }
  }
  return out;
}

Json print(const std::array<int64_t, kResourceKindCount>& thousandths,
           const ResourceVector& total) {
  Json out = Json::object();
  for (const ResourceKind kind : kResourceKinds) {
    if (total[kind] > 0) {
      out[std::string(to_text(kind))] = print_number(thousandths[static_cast<size_t>(kind)]);
    }
  }
  return out;
}

Json print(const SimulateReport::Cluster& cluster) {
  Json out = {{"total", print(cluster.total, cluster.total)},
              {"allocated", print(cluster.allocated, cluster.total)},
              {"utilisation", print(cluster.utilisation, cluster.total)},
              {"mean_utilisation", print(cluster.mean_utilisation, cluster.total)}};
  out["makespan_s"] = print_seconds(cluster.makespan);
  out["offers"] = cluster.offers;
  out["declined"] = cluster.declined;
  out["preempted"] = cluster.preempted;
  return out;
}

Json print(const SimulateReport::Framework& framework, const ResourceVector& total) {
  return {{"role", framework.role.str()},
          {"pending", framework.pending},
          {"running", framework.running},
          {"finished", framework.finished},
          {"failed", framework.failed},
          {"lost", framework.lost},
          {"preempted", framework.preempted},
          {"allocated", print(framework.allocated, total)},
          {"dominant_share", print_number(framework.dominant_share)},
          {"lag_s", print_seconds(framework.lag)},
          {"lag_max_s", print_seconds(framework.lag_most)},
          {"wait_s",
           {{"p50", print_seconds(framework.wait_p50)},
            {"p99", print_seconds(framework.wait_p99)},
            {"max", print_seconds(framework.wait_max)}}}};
}

void add(const SimulateReport::Picture& picture, Json& out) {
  const ResourceVector& total = picture.cluster.total;
  out["cluster"] = print(picture.cluster);
  Json roles = Json::object();
  for (const auto& [name, role] : picture.roles) {
    roles[name] = {{"weight", print_number(role.weight)},
                   {"dominant_share", print_number(role.dominant_share)},
                   {"allocated", print(role.allocated, total)},
                   {"guarantee_met", role.guarantee_met},
                   {"lag_s", print_seconds(role.lag)},
                   {"lag_max_s", print_seconds(role.lag_most)}};
  }
  out["roles"] = std::move(roles);
  Json frameworks = Json::object();
  for (const auto& [name, framework] : picture.frameworks) {
    frameworks[name] = print(framework, total);
  }
  out["frameworks"] = std::move(frameworks);
  Json agents = Json::object();
  for (const auto& [name, agent] : picture.agents) {
    agents[name] = {{"state", agent.state},
                    {"allocated", print(agent.allocated, total)},
                    {"tasks", agent.tasks}};
  }
  out["agents"] = std::move(agents);
  Json revoked = Json::array();
  for (const SimulateReport::Revoked& row : picture.revoked) {
    Json one = {{"framework", row.framework},
                {"role", row.role.str()},
                {"reason", to_text(row.reason)},
                {"told", row.told},
                {"ended", row.ended}};
    if (!row.beneficiary.empty()) one["for"] = row.beneficiary.str();
    revoked.push_back(std::move(one));
  }
  out["revoked"] = std::move(revoked);
  Json waiting = Json::array();
  for (const SimulateReport::Waiting& row : picture.waiting) {
    waiting.push_back({{"framework", row.framework}, {"tasks", row.tasks}, {"why", row.why}});
  }
  out["waiting"] = std::move(waiting);
}

}  // namespace

std::string simulate_report_json(const SimulateReport& report) {
  Json out = {{"seed", report.seed},
              {"ended_at_s", print_seconds(report.end.at)},
              {"trace_hash", fmt::format("{:016x}", report.trace_hash)},
              {"violations", report.violations}};
  add(report.end, out);
  Json snapshots = Json::array();
  for (const SimulateReport::Picture& picture : report.snapshots) {
    Json snapshot = {{"at_s", print_seconds(picture.at)}};
    add(picture, snapshot);
    snapshots.push_back(std::move(snapshot));
  }
  out["snapshots"] = std::move(snapshots);
  if (report.compact) {
    const SimulateReport::Compact& compact = *report.compact;
    out["compact"] = {{"agents", compact.agents},
                      {"of", compact.of},
                      {"ratio", print_number(compact.agents * 1'000 / compact.of)},
                      {"at_least", compact.at_least},
                      {"replays", compact.replays}};
  }
  return to_json_text(out);
}

}  // namespace proffer::proto
