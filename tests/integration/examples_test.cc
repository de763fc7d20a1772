// Each example does what its paragraph in examples/README.md says.

#include <gtest/gtest.h>

#include "tests/integration/processes.h"

namespace proffer::test {
namespace {

TEST(Examples, HelloFrameworkRunsItsTasksAndStops) {
  Cluster cluster({.agents = 2});
  const Exit hello = run({program("examples/hello_framework"), "--master=" + cluster.master()});
  EXPECT_EQ(hello.code, 0) << hello.err;
  EXPECT_NE(hello.out.find("finished"), std::string::npos) << hello.out;
  EXPECT_EQ(cluster.running_tasks("hello"), 0);
}

TEST(Examples, AFrameworkWithoutAMasterSaysWhichValueIsWrong) {
  const Exit wrong = run({program("examples/hello_framework"), "--master=nowhere:port"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("'port'"), std::string::npos) << wrong.err;
}

}  // namespace
}  // namespace proffer::test
