// What `proffer explain framework NAME` prints.

#include "cli/explain.h"

#include <gtest/gtest.h>

namespace proffer::cli::explain_test {
namespace {

std::string said(const proto::Explanation& all) {
  std::string out = "\n";
  for (const std::string& line : explain_lines(all)) out += line + "\n";
  return out;
}

proto::Explanation picture() {
  proto::Explanation all{.answer = "the ask 'web' is not met", .now = Time() + seconds(100)};
  all.fair.framework = FrameworkId("web-1-2");
  all.fair.role = RoleName("service");
  all.fair.allocated = ResourceVector::of(1'000, 512'000);
  all.fair.share_millionths = 125'000;
  all.fair.place = 2;
  all.fair.with_demand = 3;
  all.fair.before = {{FrameworkId("batch-1-1"), 31'000}};
  all.fair.agents = 3;
  all.fair.agents_active = 2;
  return all;
}

TEST(ExplainLines, SayWhatKeepsEachAskFromEachAgent) {
  proto::Explanation all = picture();
  all.fair.declined = 1;
  all.offers = {{.offer = OfferId(17),
                 .agent = AgentId("a1"),
                 .resources = {.amounts = ResourceVector::of(500, 0)},
                 .made = Time() + seconds(82),
                 .expires = Time() + seconds(112)}};
  AskExplanation ask{.ask = AskName("web"),
                     .shape = ResourceVector::of(4'000, 512'000),
                     .ports = 1,
                     .wanted = 3,
                     .offered = 1};
  ask.hindered = {{.why = Hindrance::kUsed,
                   .kind = ResourceKind::kCpus,
                   .agents = 2,
                   .example = AgentId("a1"),
                   .wanted = 4'000,
                   .most = 1'500,
                   .holders = {{FrameworkId("batch-1-1"), ResourceVector::of(2'500, 0), 2}}},
                  {.why = Hindrance::kDeclinedForTime,
                   .agents = 1,
                   .example = AgentId("a3"),
                   .until = Time() + seconds(104)}};
  ask.remedies = {
      {.kind = RemedyKind::kTakesLess, .resource = ResourceKind::kCpus, .amount = 1'500},
      {.kind = RemedyKind::kTasksEnd,
       .agent = AgentId("a1"),
       .ends = {{FrameworkId("batch-1-1"), RoleName("batch"), TaskId("map-1")},
                {FrameworkId("batch-1-1"), RoleName("batch"), TaskId("map-7")}}},
      {.kind = RemedyKind::kDeclineLifted, .agent = AgentId("a3"), .until = Time() + seconds(104)}};
  AskExplanation big{.ask = AskName("big"),
                     .shape = ResourceVector::of(16'000, 0),
                     .wanted = 1,
                     .could_ever_fit = false};
  big.hindered = {{.why = Hindrance::kTotal,
                   .kind = ResourceKind::kCpus,
                   .agents = 3,
                   .example = AgentId("a1"),
                   .wanted = 16'000,
                   .most = 4'000}};
  big.changes = {
      {.why = Hindrance::kTotal, .kind = ResourceKind::kCpus, .wanted = 16'000, .most = 4'000}};
  all.fair.asks = {ask, big};
  all.fair.asks_unmet = 4;
  EXPECT_EQ(said(all), R"(
answer      the ask 'web' is not met
framework   web-1-2, role service of weight 1, connected, takes asks
share       12.5% of the cluster, by cpus: cpus:1;mem:512 allocated, nothing offered
place       2 of 3 with demand; less has batch-1-1 (3.1%)
offers      17: cpus:0.5 of a1, for another 12s
declined    1 of 3 agents for now
ask         'web' wants 3 of cpus:4;mem:512 and 1 port; 1 offered
            2 of 3 agents: too little cpus free: a task takes 4, at most 1.5 free)"
                       R"(; used by batch-1-1 (cpus:2.5) [a1]
            1 of 3 agents: declined by the framework itself, for a while)"
                       R"(, the first for another 4s [a3]
would fit   if cpus ≤ 1.5
            after 2 tasks of role 'batch' (batch-1-1: map-1, map-7) end on agent a1
            when the framework declines agent a3 no more, within 4s
ask         'big' wants 1 of cpus:16; 0 offered
            fits no agent: it takes 16 cpus, but the most that an agent has is 4
            3 of 3 agents: too little cpus in all: a task takes 16, at most 4 there [a1]
            and 2 more that are not met
)");
}

TEST(ExplainLines, OfAnOpenOfferFrameworkAreAboutAgents) {
  proto::Explanation all = picture();
  all.answer = "it has suppressed offers";
  all.fair.mode = OfferMode::kOpen;
  all.fair.suppressed = true;
  all.fair.place = 0;
  all.fair.with_demand = 1;
  all.fair.before = {};
  all.fair.usable = 1;
  all.fair.hindered = {{.why = Hindrance::kNotConnected, .agents = 1, .example = AgentId("a2")},
                       {.why = Hindrance::kOffered,
                        .agents = 1,
                        .holders = {{FrameworkId("f"), ResourceVector::of(4'000, 0), 1}}}};
  EXPECT_EQ(said(all), R"(
answer      it has suppressed offers
framework   web-1-2, role service of weight 1, connected, takes open offers, suppressed
share       12.5% of the cluster, by cpus: cpus:1;mem:512 allocated, nothing offered
place       it wants nothing now; 1 other does
offers      none outstanding
            1 of 3 agents: could be offered
            1 of 3 agents: not connected [a2]
            1 of 3 agents: held by outstanding offers to f (cpus:4)
)");
}

}  // namespace
}  // namespace proffer::cli::explain_test
