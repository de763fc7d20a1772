// The wait ledger compared with tenants' own clocks: for each framework, the waits for all reasons
// add up to the time between arrivals and starts of its tasks.

#include <numeric>

#include <gtest/gtest.h>

#include "common/prng.h"
#include "common/text.h"
#include "sim/report.h"
#include "sim/scenario_reader.h"
#include "sim/scenario_run.h"
#include "tests/support/long.h"

namespace proffer::sim::ledger_test {
namespace {

// The time between a start on a machine and the master's knowledge of it.
constexpr Duration kToldWithin = milliseconds(5);

// Frameworks of all kinds whose demand exceeds the cluster for a while.
std::string scenario(uint64_t seed, int tasks_each) {
  Prng prng(seed);
  const auto pick = [&](std::initializer_list<const char*> of) {
    return *(of.begin() + static_cast<std::ptrdiff_t>(prng.below(of.size())));
  };
  std::string out = text("seed: ", seed, "\nuntil: 400h\nagents:\n");
  out += "  - {name: small, count: 4, resources: \"cpus:4;mem:8GiB\", attributes: {disk: hdd}}\n";
  out += "  - {name: large, count: 2, resources: \"cpus:16;mem:64GiB\", attributes: {disk: ssd}}\n";
  out += "roles:\n  - {name: r0, limit: \"cpus:8\"}\n  - {name: r1, weight: 3}\n";
  out += "frameworks:\n";
  for (int f = 0; f < 5; ++f) {
    out += text("  - name: f", f, "\n    role: r", f, "\n    tasks:\n");
    for (int g = 0; g < 2; ++g) {
      const int gang = prng.chance(1, 4) ? 2 : 1;
      out += text(
          "      - {name: t", g, ", count: ", tasks_each,
          ", resources: \"cpus:", pick({"1", "2", "0.5"}), ";mem:", pick({"1GiB", "512", "2GiB"}),
          "\", duration: ", pick({"7s", "20s", "61s"}), ", arrives: ", pick({"0s", "10s", "90s"}));
      if (gang > 1) out += ", gang: 2";
      if (prng.chance(1, 4)) out += ", constraints: [\"disk == ssd\"]";
      out += "}\n";
    }
  }
  return out;
}

void check_seed(uint64_t seed, int tasks_each) {
  SCOPED_TRACE(text("seed ", seed));
  const Result<Scenario> read = parse_scenario(scenario(seed, tasks_each));
  ASSERT_TRUE(read) << read.error().message();
  ScenarioRun run(*read);
  const proto::SimulateReport report = run.run();
  EXPECT_TRUE(report.violations.empty());
  for (uint32_t f = 0; f < 5; ++f) {
    const std::vector<Duration>& waits = run.book().waits(f);
    ASSERT_EQ(waits.size(), static_cast<size_t>(2 * tasks_each));
    const Duration whole = std::accumulate(waits.begin(), waits.end(), Duration());
    const Result<proto::Blame> blame = run.master().blame_framework(text("f", f));
    ASSERT_TRUE(blame) << blame.error().message();
    int64_t millis = 0;
    for (const WaitSum& sum : blame->sums) {
      EXPECT_EQ(sum.tasks, 0) << "of f" << f << ": " << to_text(sum.reason);
      millis += sum.millis;
    }
    const int64_t reasons = static_cast<int64_t>(blame->sums.size());
    EXPECT_GE(millis + reasons, whole.millis()) << "f" << f;
    EXPECT_LE(millis, (whole + kToldWithin * static_cast<int64_t>(waits.size())).millis())
        << "f" << f;
  }
}

TEST(SimulatedLedger, AddsUpToWhatTasksWaited) {
  const int seeds = test::is_long() ? 40 : 8;
  for (int seed = 1; seed <= seeds; ++seed) check_seed(static_cast<uint64_t>(seed), 30);
}

TEST(SimulatedLedger, AddsUpForAHundredThousandTasks) {
  if (!test::is_long()) GTEST_SKIP() << "long: ./test --long";
  check_seed(1, 10'000);
}

}  // namespace
}  // namespace proffer::sim::ledger_test
