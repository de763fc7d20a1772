// `proffer snapshot` of a real cluster, and its simulation with `proffer simulate`.

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/processes.h"

namespace proffer::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class Snapshot : public testing::Test {
 protected:
  // Simulates the file with more words appended.
  Exit simulate(const std::string& yaml, const Words& more = {}) const {
    const std::string file = home_ / "live.yaml";
    std::ofstream(file) << yaml;
    Words words = {program("proffer"), "simulate", file};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }

  const TemporaryDirectory home_;
  const Cluster cluster_{{.agents = 2, .resources = "cpus:2;mem:1024"}};
};

TEST_F(Snapshot, OfWhatRunsAndWaitsSaysWhoWouldGoForAGuarantee) {
  ASSERT_EQ(cluster_.proffer({"role", "set", "production", "--guarantee", "cpus:2"}).code, 0);
  const auto low =
      cluster_.start({"run", "--count", "6", "--cpus", "1", "--mem", "64", "--name", "low",
                      "--role", "research", "--grace", "1s", "--", "exec sleep 1000"});
  ASSERT_TRUE(eventually([&] { return cluster_.running_tasks("low") == 4; }));
  const Exit taken = cluster_.proffer({"snapshot"});
  ASSERT_EQ(taken.code, 0) << taken.err;
  EXPECT_THAT(taken.out, HasSubstr("# A live cluster"));
  EXPECT_THAT(taken.out, HasSubstr("{name: production, guarantee: \"cpus:2\"}"));
  EXPECT_THAT(taken.out, HasSubstr("- name: low\n    role: research\n"));
  EXPECT_THAT(taken.out, HasSubstr("count: 6, resources: \"cpus:1;mem:64\", duration: forever, "
                                   "running: [{agent: agent-1, count: 2"));

  const Exit as_it_is = simulate(taken.out);
  EXPECT_EQ(as_it_is.code, 0) << as_it_is.err << taken.out;
  EXPECT_THAT(as_it_is.out, HasSubstr("fits         no: 2 tasks wait\nwaits        2 low/"));
  EXPECT_THAT(as_it_is.out, HasSubstr("revoked      none\n"));

  const Exit changed = simulate(taken.out +
                                "  - name: web\n    role: production\n    tasks:\n"
                                "      - {name: w, count: 2, resources: \"cpus:1;mem:64\", "
                                "duration: forever}\n");
  EXPECT_EQ(changed.code, 0) << changed.err;
  EXPECT_THAT(changed.out, HasSubstr("fits         no: 4 tasks wait\nwaits        4 low/"));
  EXPECT_THAT(changed.out, HasSubstr("revoked      2 tasks of low (role research) for role "
                                     "production: reclaimed\n"));

  const Exit json = simulate(taken.out, {"--until", "0s", "--json"});
  EXPECT_THAT(json.out, HasSubstr("\"low\":{\"role\":\"research\",\"pending\":2,\"running\":4"));
  EXPECT_EQ(cluster_.running_tasks("low"), 4);  // the live cluster is unchanged
}

TEST_F(Snapshot, WhatCannotBeTakenIsToldAndNothingIsWritten) {
  const Exit wrong = cluster_.proffer({"snapshot", "--until", "never"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_EQ(wrong.out, "");
  EXPECT_THAT(wrong.err, HasSubstr("--until"));
  EXPECT_EQ(cluster_.proffer({"snapshot", "--until", "0s"}).code, 2);
  EXPECT_EQ(cluster_.proffer({"snapshot", "--master", "127.0.0.1:many"}).code, 2);
  const Exit away = run({program("proffer"), "snapshot", "--master", "127.0.0.1:1", "--json"});
  EXPECT_EQ(away.code, 3);
  EXPECT_EQ(away.out, "");
  EXPECT_THAT(away.err, HasSubstr("{\"error\":"));
  const Exit longer = cluster_.proffer({"snapshot", "--until", "1h"});
  EXPECT_THAT(longer.out, HasSubstr("\nuntil: 1h\n"));
  EXPECT_THAT(longer.out, Not(HasSubstr("frameworks:")));
}

}  // namespace
}  // namespace proffer::test
