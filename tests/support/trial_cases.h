#pragma once

// Workloads with a known result: each is simulated and recorded, another policy is tried with the
// recording alone, and then the workload is simulated with that policy.

#include <map>
#include <string>
#include <vector>

#include "common/check.h"
#include "common/text.h"
#include "master/recording/life_replay.h"
#include "sim/life_recorder.h"
#include "sim/policy_trial.h"
#include "sim/scenario_reader.h"
#include "sim/scenario_run.h"
#include "sim/work_figures.h"

namespace proffer::sim {

struct TrialCase {
  std::string name = {};
  std::string change = {};
  std::string yaml = {};
  std::optional<Duration> master_ends = {};  // and another one leads five seconds later
  std::vector<std::pair<Duration, master::MasterEvent>> operations = {};
  uint64_t seed = 1;
};

inline std::vector<TrialCase> trial_cases() {
  const std::string cluster = R"(
agents: [{name: a, count: 10, resources: "cpus:8;mem:32GiB"}]
)";
  return {
      {.name = "all at once", .change = "role x weight=3", .yaml = cluster + R"(
frameworks:
  - {name: f, role: x,
     tasks: [{name: t, count: 800, resources: "cpus:1;mem:2GiB",
              duration: {mean: 40s, spread: 0.8}}]}
  - {name: g, role: y,
     tasks: [{name: t, count: 800, resources: "cpus:1;mem:2GiB",
              duration: {mean: 40s, spread: 0.8}}]}
)"},
      {.name = "arrivals beyond what fits, three shapes",
       .change = "role y weight=0.25",
       .yaml = cluster + R"(
roles: [{name: x, weight: 2}]
frameworks:
  - {name: f, role: x,
     tasks: [{name: t, count: 900, resources: "cpus:1;mem:1GiB",
              duration: {mean: 30s, spread: 0.5}, arrives: every 500ms}]}
  - {name: g, role: y,
     tasks: [{name: t, count: 600, resources: "cpus:1;mem:8GiB",
              duration: {mean: 50s, spread: 0.5}, arrives: every 700ms}]}
  - {name: h, role: z,
     tasks: [{name: t, count: 200, resources: "cpus:4;mem:4GiB",
              duration: {mean: 60s, spread: 0.5}, arrives: every 2s}]}
)"},
      {.name = "a tree of roles, with a limit",
       .change = "role eng weight=4 limit=cpus:50",
       .yaml = cluster + R"(
roles: [{name: eng/ads, weight: 2}]
frameworks:
  - {name: f, role: eng/ads,
     tasks: [{name: t, count: 500, resources: "cpus:1;mem:1GiB",
              duration: {mean: 30s, spread: 0.5}}]}
  - {name: g, role: eng/web,
     tasks: [{name: t, count: 400, resources: "cpus:2;mem:1GiB",
              duration: {mean: 30s, spread: 0.5}, arrives: every 200ms}]}
  - {name: h, role: ops,
     tasks: [{name: t, count: 700, resources: "cpus:1;mem:2GiB",
              duration: {mean: 45s, spread: 0.5}}]}
)"},
      {.name = "an agent that leaves, a framework that comes late, a master that ends",
       .change = "role y weight=5",
       .yaml = R"(
agents:
  - {name: a, count: 9, resources: "cpus:8;mem:32GiB"}
  - {name: b, resources: "cpus:8;mem:32GiB", leaves: 200s}
frameworks:
  - {name: f, role: x,
     tasks: [{name: t, count: 700, resources: "cpus:1;mem:2GiB",
              duration: {mean: 50s, spread: 0.8}}]}
  - {name: g, role: y, joins: 60s,
     tasks: [{name: t, count: 500, resources: "cpus:1;mem:2GiB",
              duration: {mean: 40s, spread: 0.8}}]}
)",
       .master_ends = seconds(120)},
      {.name = "a guarantee that is taken back", .change = "role y guarantee=cpus:68", .yaml = R"(
options: {reclaim: guarantee, minimum_runtime: 1s, revoke_grace: 5s}
agents: [{name: a, count: 10, resources: "cpus:8;mem:32GiB"}]
frameworks:
  - {name: f, role: x,
     tasks: [{name: t, count: 300, resources: "cpus:1;mem:2GiB",
              duration: {mean: 120s, spread: 0.5}}]}
  - {name: g, role: y, joins: 60s,
     tasks: [{name: t, count: 300, resources: "cpus:1;mem:2GiB",
              duration: {mean: 60s, spread: 0.5}}]}
)"},
  };
}

// The run of a scenario, parsed and, with `recorder`, recorded.
struct TrialRun {
  Work work = {};
  Time zero = {};
  std::vector<Duration> book_waits = {};  // the true waits from the scenario's record
};

inline TrialRun run_case(const Scenario& scenario, const TrialCase& trial,
                         master::StepWatcher* recorder) {
  TrialRun made;
  WorkReader reader;
  ScenarioRun run(scenario, nullptr, {}, {.watcher = recorder != nullptr ? recorder : &reader});
  if (trial.master_ends) {
    const Time ends = run.zero() + *trial.master_ends;
    run.world().at(ends, [&run] { run.master_node().crash(); });
    run.world().at(ends + seconds(5), [&run] { run.master_node().start(); });
  }
  for (const auto& operation : trial.operations) {
    run.world().at(run.zero() + operation.first,
                   [&run, event = &operation.second] { operate_as(run.master_node(), *event); });
  }
  const proto::SimulateReport report = run.run();
  CHECK(report.violations.empty()) << report.violations[0];
  made.work = reader.work();
  made.zero = run.zero();
  for (uint32_t f = 0; f < scenario.frameworks.size(); ++f) {
    const std::vector<Duration>& waits = run.book().waits(f);
    made.book_waits.insert(made.book_waits.end(), waits.begin(), waits.end());
  }
  return made;
}

inline Scenario scenario_of(const TrialCase& trial) {
  Result<Scenario> scenario = parse_scenario(trial.yaml);
  CHECK(scenario.has_value()) << scenario.error().message() << trial.yaml;
  scenario->seed = trial.seed;
  return *std::move(scenario);
}

// The recorded work, from the recording alone.
inline Work recorded_work(const TrialCase& trial) {
  std::map<LeaderEpoch, std::vector<std::string>> lives;
  LifeRecorder recorder([&lives](LeaderEpoch leader, std::vector<std::string> records) {
    std::move(records.begin(), records.end(), std::back_inserter(lives[leader]));
  });
  run_case(scenario_of(trial), trial, &recorder);
  recorder.ends();
  WorkReader reader;
  for (const auto& [leader, records] : lives) {
    master::LifeReplay life({}, &reader);
    const Result<void> told = life.take_all(records);
    CHECK(told.has_value()) << told.error().message();
    CHECK(life.is_same()) << trial.name;
  }
  return reader.work();
}

struct TrialOutcome {
  struct Role {
    Duration before = {};    // mean wait without the change
    Duration truth = {};     // mean wait with the change, in a simulation of the workload
    Duration forecast = {};  // mean wait with the change, from the recording
  };
  std::map<RoleName, Role> roles = {};  // roles with tasks of their own
  proto::PolicyTrial trial = {};
};

inline TrialOutcome try_case(const TrialCase& trial) {
  TrialOutcome made;
  const Work work = recorded_work(trial);
  const Result<RoleChange> change = parse_role_change(trial.change);
  CHECK(change.has_value()) << change.error().message();
  const Result<proto::PolicyTrial> tried = try_policy(work, {*change});
  CHECK(tried.has_value()) << tried.error().message();
  made.trial = *tried;

  Scenario scenario = scenario_of(trial);
  RoleSettings& role = scenario.roles[change->role];
  role.weight = change->weight.value_or(role.weight);
  role.guarantee = change->guarantee.value_or(role.guarantee);
  role.limit = change->limit.value_or(role.limit);
  const TrialRun truth = run_case(scenario, trial, nullptr);
  const auto figures = figures_of(
      truth.work, {.zero = truth.zero, .share_until = truth.work.ends, .until = truth.work.ends});
  for (const ScenarioFramework& framework : scenario.frameworks) {
    const proto::PolicyTrial::Role& forecast = tried->roles.at(framework.role.str());
    made.roles[framework.role] = {.before = forecast.recorded.wait_mean,
                                  .truth = figures.at(framework.role).wait_mean,
                                  .forecast = forecast.changed.wait_mean};
  }
  return made;
}

// The forecast's error in thousandths of the truth.
inline int64_t off_thousandths(const TrialOutcome::Role& role) {
  const int64_t off = (role.forecast - role.truth).nanos();
  return (off < 0 ? -off : off) * 1'000 / std::max<int64_t>(role.truth.nanos(), 1);
}

}  // namespace proffer::sim
