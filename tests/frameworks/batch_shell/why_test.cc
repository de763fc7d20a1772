#include "frameworks/batch/shell/why.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proffer::batch::why_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

AskExplanation ask(std::string_view name, int64_t wanted, int64_t offered) {
  AskExplanation one;
  one.ask = AskName(std::string(name));
  one.shape = ResourceVector::of(1'000, 256'000);
  one.wanted = wanted;
  one.offered = offered;
  return one;
}

TEST(Why, IsSaidOfTheAsksOfTheJobThatAreNotMet) {
  proto::Explanation all;
  all.fair.agents = 3;
  all.fair.place = 2;
  all.fair.with_demand = 4;
  all.fair.asks = {ask("words-7.map", 12, 2), ask("words-7.reduce", 1, 1),
                   ask("words-70.map", 5, 0)};
  all.fair.asks[0].usable = 1;
  all.fair.asks[0].hindered = {{.why = Hindrance::kUsed,
                                .kind = ResourceKind::kCpus,
                                .agents = 2,
                                .wanted = 1'000,
                                .most = 0}};
  EXPECT_THAT(why_lines("words-7", all),
              ElementsAre("map: 10 tasks wait for cpus:1;mem:256 each",
                          "  1 of 3 agents could be offered; this framework is number 2 of 4 by "
                          "share",
                          StartsWith("  2 of 3 agents: ")));
  EXPECT_THAT(why_lines("other-1", all), IsEmpty());
}

// The time limit of an array's task exceeds that of its elements by 32 s, since it runs several.
TEST(Why, SaysWhichTimeLimitWouldLetItRunNow) {
  const auto said = [](const std::string& kind, Duration limit) {
    proto::Explanation all;
    all.fair.asks = {ask("words-7." + kind, 1, 0)};
    all.fair.asks[0].remedies = {{.kind = RemedyKind::kMayBorrow},
                                 {.kind = RemedyKind::kShorterLimit,
                                  .time_limit = limit,
                                  .agent = AgentId("a1"),
                                  .framework = FrameworkId("ada-1")}};
    const std::vector<std::string> lines = why_lines("words-7", all);
    return lines.size() == 2 ? lines[1] : "";
  };
  const std::string at_most = "  with a time_limit of at most ";
  EXPECT_EQ(said("map", seconds(50)),
            at_most + "50s it could run now, before the claim of ada-1 is complete");
  EXPECT_EQ(said("range", seconds(50)),
            at_most + "18s it could run now, before the claim of ada-1 is complete");
  EXPECT_EQ(said("range", seconds(32)), "");
  EXPECT_EQ(said("end", seconds(50)), "");
}

}  // namespace
}  // namespace proffer::batch::why_test
