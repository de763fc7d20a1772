// A short run of chaos; `build/tests/chaos --minutes 30` is a long one.

#include "tests/chaos/chaos.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/processes.h"

namespace proffer::test {
namespace {

using testing::HasSubstr;

// Runs as a separate process, so that its mounts do not affect other tests.
TEST(Chaos, LosesNothingAndDoublesNothing) {
  if (const std::string why = chaos_is_impossible(); !why.empty()) GTEST_SKIP() << why;
  const char* given = std::getenv("PROFFER_CHAOS_SEED");
  const Exit ended =
      run({program_of_tests("chaos"), "--seconds", "8", "--seed", given == nullptr ? "1" : given},
          {}, {}, Seconds(240));
  EXPECT_EQ(ended.code, 0) << ended.err << ended.out;
  EXPECT_THAT(ended.out, HasSubstr("violations 0;"));
  std::cout << ended.out;
}

}  // namespace
}  // namespace proffer::test
