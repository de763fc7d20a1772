#include "hello.h"

#include <sstream>

#include <gtest/gtest.h>
#include <proffer/sdk/testing/matchers.h>
#include <proffer/sdk/testing/sim_cluster.h>
#include <proffer/sdk/version.h>

TEST(Version, OfTheHeadersIsThatOfTheLibrary) {
  std::ostringstream headers;
  headers << PROFFER_VERSION_MAJOR << '.' << PROFFER_VERSION_MINOR << '.' << PROFFER_VERSION_PATCH;
  EXPECT_EQ(proffer::version(), headers.str());
}

TEST(Hello, IsSaidFiveTimes) {
  proffer::sdk::SimCluster cluster({.seed = 7, .agents = 2});
  int left = 5;
  cluster.add({.name = "hello"},
              [&](proffer::sdk::Scheduler& self) { hello::say_hello(self, left); });
  cluster.run_for(proffer::seconds(10));
  EXPECT_EQ(left, 0);
  EXPECT_THAT(cluster, proffer::sdk::no_task_lost());
}
