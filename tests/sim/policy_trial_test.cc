// Trials of another policy on recordings of workloads with a known result.

#include "sim/policy_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/seeds.h"
#include "tests/support/trial_cases.h"

namespace proffer::sim::policy_trial_test {
namespace {

using testing::HasSubstr;

// The error is at most a tenth for roles with significant waits.
TEST(PolicyTrial, AForecastIsWithinATenthOfARerun) {
  std::vector<TrialCase> cases = trial_cases();
  if (kIsSanitized) cases.resize(1);
  for (const TrialCase& one : cases) {
    SCOPED_TRACE(one.name);
    const TrialOutcome outcome = try_case(one);
    bool has_changed = false;
    for (const auto& [role, waits] : outcome.roles) {
      SCOPED_TRACE(role.str());
      EXPECT_GT(waits.truth, seconds(1));
      EXPECT_LE(off_thousandths(waits), 100)
          << "forecast " << waits.forecast << ", truth " << waits.truth;
      const Duration moved = std::max(waits.truth - waits.before, waits.before - waits.truth);
      has_changed = has_changed || moved * 5 > waits.before;
    }
    EXPECT_TRUE(has_changed) << "a change that changes nothing is forecast by doing nothing";
    // Without a change, the simulation agrees with the recording.
    const proto::PolicyTrial::Role& all = outcome.trial.all;
    const int64_t off = (all.again.wait_mean - all.recorded.wait_mean).nanos();
    EXPECT_LE(std::abs(off) * 20, all.recorded.wait_mean.nanos())
        << all.again.wait_mean << " was " << all.recorded.wait_mean;
    EXPECT_EQ(all.as_it_was.waiting, 0);
    EXPECT_EQ(all.changed.waiting, 0);
  }
}

// The figures come from the master's steps; the scenario's own record has the true values.
TEST(PolicyTrial, WaitsAreThoseOfTheBook) {
  for (size_t i = 0; i < 3; ++i) {
    const TrialCase one = trial_cases()[i];
    SCOPED_TRACE(one.name);
    const TrialRun run = run_case(scenario_of(one), one, nullptr);
    const auto figures = figures_of(
        run.work, {.zero = run.zero, .share_until = run.work.ends, .until = run.work.ends});
    Duration sum;
    for (const Duration wait : run.book_waits) sum = sum + wait;
    const proto::PolicyTrial::Figures& all = figures.at(RoleName());
    EXPECT_EQ(all.waits, static_cast<int64_t>(run.book_waits.size()));
    // One or two frames are between the launch and RUNNING.
    const int64_t off = (sum - all.wait_sum).nanos() / all.waits;
    EXPECT_LE(std::abs(off), milliseconds(5).nanos());
    if (kIsSanitized) break;
  }
}

// One agent with one CPU: all values can be computed by hand.
TEST(PolicyTrial, TheFiguresOfASmallClusterAreExact) {
  const TrialCase small{.name = "small", .yaml = R"(
agents: [{name: a, resources: "cpus:1"}]
frameworks:
  - {name: f, role: eng/ads, tasks: [{name: t, count: 2, resources: "cpus:1", duration: 10s}]}
  - {name: g, role: ops, joins: 5s, tasks: [{name: t, resources: "cpus:0.5", duration: 20s}]}
)"};
  const Work work = recorded_work(small);
  ASSERT_EQ(work.agents.size(), 1u);
  EXPECT_EQ(work.agents[0].agent.str(), "a");
  ASSERT_EQ(work.frameworks.size(), 2u);
  ASSERT_EQ(work.items.size(), 3u);
  const Time zero = work.begins;
  const auto figures =
      figures_of(work, {.zero = zero, .share_until = work.ends, .until = work.ends});
  EXPECT_EQ(figures.at(RoleName("eng")).waits, 2);
  EXPECT_EQ(figures.at(RoleName("eng/ads")).waits, 2);
  EXPECT_EQ(figures.at(RoleName("ops")).waits, 1);
  EXPECT_EQ(figures.at(RoleName()).waits, 3);
  const auto is_about = [](Duration value, Duration wanted) {
    return value > wanted - milliseconds(50) && value < wanted + milliseconds(50);
  };
  // The first task at once; then `ops`, which has the smaller share, five seconds after its
  // arrival; then the second.
  EXPECT_TRUE(is_about(figures.at(RoleName("ops")).wait_mean, seconds(5)))
      << figures.at(RoleName("ops")).wait_mean;
  EXPECT_TRUE(is_about(figures.at(RoleName("eng")).wait_sum, seconds(30)))
      << figures.at(RoleName("eng")).wait_sum;
  EXPECT_EQ(figures.at(RoleName()).waiting, 0);
  // After half of the time, no task of `ops` has run: it waits, and so does the second task.
  const auto early =
      figures_of(work, {.zero = zero, .share_until = work.ends, .until = zero + seconds(9)});
  EXPECT_EQ(early.at(RoleName()).waiting, 2);
}

TEST(PolicyTrial, ChangesAreRead) {
  const Result<RoleChange> change =
      parse_role_change("role eng/ads weight=2.5  guarantee=cpus:4 limit=cpus:8;mem:1GiB");
  ASSERT_TRUE(change.has_value()) << change.error().message();
  EXPECT_EQ(*change, (RoleChange{.role = RoleName("eng/ads"),
                                 .weight = 2'500,
                                 .guarantee = parse_quota("cpus:4").value(),
                                 .limit = parse_quota("cpus:8;mem:1GiB").value()}));
  // An empty amount means no guarantee and no limit.
  EXPECT_EQ(parse_role_change("role eng limit=").value().limit, Quota());
  for (const auto& [wrong, why] : std::vector<std::pair<std::string, std::string>>{
           {"", "it must be `role NAME`"},
           {"role eng", "it must be `role NAME`"},
           {"rule eng weight=2", "it must be `role NAME`"},
           {"role eng weight=0", "between 0.001 and 1000"},
           {"role eng weight=many", "'many'"},
           {"role eng colour=red", "no 'colour'"},
           {"role eng limit=cpus", "cpus"},
           {"role /eng weight=2", "/eng"}}) {
    const Result<RoleChange> parsed = parse_role_change(wrong);
    ASSERT_FALSE(parsed.has_value()) << wrong;
    EXPECT_EQ(parsed.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(parsed.error().message(), HasSubstr(why));
    EXPECT_THAT(parsed.error().hint(), HasSubstr("--with 'role eng weight=3"));
  }
}

TEST(PolicyTrial, WhatCannotBeTriedIsTold) {
  const Work work = recorded_work({.name = "small", .yaml = R"(
agents: [{name: a, resources: "cpus:1"}]
roles: [{name: eng, guarantee: "cpus:1"}]
frameworks:
  - {name: f, role: eng/ads, tasks: [{name: t, resources: "cpus:1", duration: 10s}]}
)"});
  const auto refused = [&](const std::string& change) {
    const Result<proto::PolicyTrial> tried = try_policy(work, {parse_role_change(change).value()});
    EXPECT_FALSE(tried.has_value()) << change;
    return tried ? Error::internal("") : tried.error();
  };
  const Error unknown = refused("role eng/add weight=2");
  EXPECT_EQ(unknown.code(), ErrorCode::kNotFound);
  EXPECT_THAT(unknown.message(), HasSubstr("the recording has no task in role 'eng/add'"));
  EXPECT_THAT(unknown.hint(), HasSubstr("'eng/ads'"));
  // A change that no cluster would accept.
  EXPECT_THAT(refused("role eng limit=cpus:0.5").message(), HasSubstr("eng"));
  Work empty = work;
  empty.items.clear();
  EXPECT_EQ(try_policy(empty, {}).error().code(), ErrorCode::kFailedPrecondition);
  empty.agents.clear();
  EXPECT_EQ(try_policy(empty, {}).error().code(), ErrorCode::kFailedPrecondition);
}

// A framework with more demand than is ever launched, and one whose demand falls later.
TEST(PolicyTrial, WhatIsWantedAndNeverLaunchedIsBounded) {
  const Work work = recorded_work({.name = "insatiable", .yaml = R"(
until: 60s
agents: [{name: a, count: 2, resources: "cpus:4"}]
frameworks:
  - {name: f, role: x, tasks: [{name: t, count: 200000, resources: "cpus:1", duration: 10s}]}
  - {name: g, role: y, leaves: 20s,
     tasks: [{name: t, count: 90, resources: "cpus:1", duration: 10s}]}
)"});
  EXPECT_FALSE(work.is_over());
  EXPECT_LT(work.items.size(), kWorkPendingKept + 100);
  EXPECT_GT(work.cut, 180'000);
  EXPECT_GT(work.withdrawn, 70);
  const Result<proto::PolicyTrial> tried =
      try_policy(work, {parse_role_change("role x weight=3").value()});
  ASSERT_TRUE(tried.has_value()) << tried.error().message();
  EXPECT_GT(tried->roles.at("x").changed.waiting, 9'000);
  EXPECT_EQ(tried->notes.size(), 4u) << testing::PrintToString(tried->notes);
}

// An operator's change within the recording is kept, except for the tried setting.
TEST(PolicyTrial, WhatOperatorsSetHappensAgain) {
  Work work = recorded_work({.name = "small", .yaml = R"(
agents: [{name: a, count: 2, resources: "cpus:4"}]
frameworks:
  - {name: f, role: x, tasks: [{name: t, count: 90, resources: "cpus:1", duration: 10s}]}
  - {name: g, role: y, tasks: [{name: t, count: 90, resources: "cpus:1", duration: 10s}]}
)"});
  const proto::PolicyTrial before = try_policy(work, {}).value();
  master::SetRole set{.role = RoleName("x")};
  set.weight = 7'000;
  work.operations.emplace_back(work.begins + seconds(20), set);
  const proto::PolicyTrial after = try_policy(work, {}).value();
  EXPECT_LT(after.roles.at("x").as_it_was.wait_mean, before.roles.at("x").as_it_was.wait_mean);
  const proto::PolicyTrial undone =
      try_policy(work, {parse_role_change("role x weight=1").value()}).value();
  EXPECT_EQ(undone.roles.at("x").changed, before.roles.at("x").as_it_was);
}

}  // namespace
}  // namespace proffer::sim::policy_trial_test
