#pragma once

// Common code of the long upgrade tests: they run for each earlier version that is built.

#include <iostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/long.h"
#include "tests/upgrade/cluster.h"
#include "tests/upgrade/rolling_upgrade.h"

namespace proffer::upgrade_test {

class LongUpgrade : public testing::TestWithParam<Version> {
 protected:
  void SetUp() override {
    if (!test::is_long()) GTEST_SKIP() << "not run: PROFFER_LONG is not set";
    if (!version().is_built()) GTEST_SKIP() << "not run: tools/previous has not built it";
  }
  const Version& version() const { return GetParam(); }
  // Changes the members of a cluster under load in this order, and checks the judgement.
  void expect_nothing_is_lost(const std::vector<std::string>& changes, int masters = 1) const {
    const test::TemporaryDirectory dir;
    const test::Judgement judgement = run_rolling_upgrade(
        {.from = version(), .masters = masters, .changes = changes, .dir = dir.path()});
    for (const std::string& violation : judgement.violations) ADD_FAILURE() << violation;
    // Most tasks are short: far more tasks run than changes are made.
    EXPECT_GT(judgement.started, 100u) << judgement.summary();
    std::cout << judgement.summary() << std::endl;
  }
};

}  // namespace proffer::upgrade_test
