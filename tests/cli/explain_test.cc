// The output of `proffer explain framework NAME`.

#include "cli/explain.h"

#include <gtest/gtest.h>

namespace proffer::cli::explain_test {
namespace {

template <class Explained>
std::string said(const Explained& all) {
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
  ask.first = {{.framework = FrameworkId("ads-1-3"),
                .amounts = ResourceVector::of(19'000, 0),
                .role = RoleName("eng"),
                .entitled = ResourceVector::of(33'000, 0)}};
  ask.remedies = {
      {.kind = RemedyKind::kTakesLess, .resource = ResourceKind::kCpus, .amount = 1'500},
      {.kind = RemedyKind::kTasksEnd,
       .agent = AgentId("a1"),
       .ends = {{FrameworkId("batch-1-1"), RoleName("batch"), TaskId("map-1")},
                {FrameworkId("batch-1-1"), RoleName("batch"), TaskId("map-7")}},
       .first = {"ads-1-3", "batch-1-1"}},
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
framework   web-1-2, role service of weight 1, connected, gets offers for asks
share       12.5% of the cluster, by cpus: cpus:1;mem:512 allocated, nothing offered
place       2 of 3 by share, of those that want resources; lower shares: batch-1-1 (3.1%)
offers      17: cpus:0.5 of a1, for another 12s
declined    1 of 3 agents for now
ask         'web' wants 3 of cpus:4;mem:512 and 1 port; 1 offered
            2 of 3 agents: not enough cpus free: a task takes 4, at most 1.5 free)"
                       R"(; used by batch-1-1 (cpus:2.5) [a1]
            1 of 3 agents: declined by the framework itself, for a while)"
                       R"(, the first one ends in 4s [a3]
first       eng/ads-1-3, which is entitled to 33 cpus and has 19
would fit   if cpus ≤ 1.5
            after 2 tasks of role 'batch' (batch-1-1: map-1, map-7) end on agent a1, )"
                       R"(unless taken first by ads-1-3, batch-1-1
            when the framework's decline of agent a3 ends, within 4s
ask         'big' wants 1 of cpus:16; 0 offered
            fits no agent: it takes 16 cpus, but no agent has more than 4
            3 of 3 agents: not enough cpus in total: a task takes 16, at most 4 on one agent [a1]
            and 2 more unmet
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
framework   web-1-2, role service of weight 1, connected, gets open offers, suppressed
share       12.5% of the cluster, by cpus: cpus:1;mem:512 allocated, nothing offered
place       it wants nothing now; 1 other wants resources
offers      none outstanding
            1 of 3 agents: could be offered
            1 of 3 agents: not connected [a2]
            1 of 3 agents: held by outstanding offers to f (cpus:4)
)");
}

TEST(ExplainLines, OfAFrameworkThatWaitsSayWhyAndUntilWhen) {
  proto::Explanation all = picture();
  all.answer = "its ask 'web' launched nothing";
  all.fair.place = 0;
  all.fair.with_demand = 2;
  all.fair.before = {};
  all.waits = {{.ask = AskName("web"), .failures = 5, .until = Time() + seconds(103)}};
  EXPECT_EQ(said(all), R"(
answer      its ask 'web' launched nothing
framework   web-1-2, role service of weight 1, connected, gets offers for asks
share       12.5% of the cluster, by cpus: cpus:1;mem:512 allocated, nothing offered
place       no offers for another 3s, since 5 accepts in a row launched nothing; )"
                       R"(2 others want resources
offers      none outstanding
waits       ask 'web': no offers for another 3s, since 5 accepts in a row launched nothing
)");
}

TEST(ExplainLines, OfARoleSayWhatItHasAndWhatItWaitsFor) {
  proto::ExplainedRole all{.answer = "others have borrowed it", .now = Time() + seconds(100)};
  const NodeStanding ops{.name = "ops",
                         .use = ResourceVector::of(6'000, 0),
                         .entitlement = ResourceVector::of(4'000, 0),
                         .borrowed = ResourceVector::of(2'000, 0),
                         .place_share_millionths = 750'000};
  all.fair = {
      .role = RoleName("eng"),
      .settings = {.weight = 2'000, .guarantee = parse_quota("cpus:4").value()},
      .total = ResourceVector::of(8'000, 0),
      .allocated = ResourceVector::of(2'000, 0),
      .entitlement = ResourceVector::of(4'000, 0),
      .share_millionths = 250'000,
      .place_share_millionths = 125'000,
      .lag = seconds(90),
      .lag_most = seconds(200),
      .place = 1,
      .with_demand = 2,
      .guarantee_met = false,
      .headroom = ResourceVector::of(2'000, 0),
      .limits = {{RoleName("eng"), parse_quota("cpus:6").value(), ResourceVector::of(2'000, 0)}},
      .asks_unmet = 3,
      .borrowers = {ops},
      .coming = {{FrameworkId("batch-1-1"), TaskId("map-3"), AgentId("a1"), RoleName("ops"),
                  Time() + seconds(109)}},
      .children_all = 2};
  all.fair.held = {{.why = RoleHindrance::kLent,
                    .asks = 2,
                    .tasks = 4,
                    .lag = seconds(45),
                    .framework = FrameworkId("web-1-2"),
                    .ask = AskName("web"),
                    .back = "the possible victims are younger than the minimum runtime",
                    .until = Time() + seconds(112)},
                   {.why = RoleHindrance::kLimit,
                    .role = RoleName("eng"),
                    .kind = ResourceKind::kCpus,
                    .asks = 1,
                    .tasks = 1,
                    .framework = FrameworkId("web-1-2"),
                    .ask = AskName("big"),
                    .wanted = 5'000,
                    .left = 4'000}};
  all.fair.children = {{.name = "eng/web",
                        .wants = true,
                        .use = ResourceVector::of(2'000, 0),
                        .entitlement = ResourceVector::of(4'000, 0),
                        .place_share_millionths = 250'000,
                        .lag = seconds(90)}};
  EXPECT_EQ(said(all), R"(
answer      others have borrowed it
role        eng, weight 2, guarantee cpus:4 (not reached), limit none
share       25.0% of the cluster, by cpus: cpus:2 allocated, nothing offered
entitled    to cpus:4; borrowed nothing
lag         90s behind its entitlement; at most 3m until now
place       1 of 2 siblings that want resources; weighted share 12.5%
limits      eng: cpus:2 of cpus:6
headroom    cpus:2 guaranteed and not used, lent to others for now
held back   2 asks for 4 tasks: others have borrowed the entitlement of the role; it cannot )"
                       R"(be reclaimed now: the possible victims are younger than the )"
                       R"(minimum runtime, within 12s; lag 45s [web-1-2 'web']
            1 ask for 1 task: the limit of role 'eng': it takes 5 cpus, 4 are left [web-1-2 'big']
borrowers   ops 75.0%: cpus:6 used, entitled to cpus:4, borrowed cpus:2
coming      batch-1-1/map-3 of role ops ends on a1 within 9s
in it       eng/web 25.0%: cpus:2 used, entitled to cpus:4, wants more, lag 90s
            and 1 more
)");
}

TEST(ExplainLines, OfATaskSayWhatProtectsItAndWhatMayEndIt) {
  proto::ExplainedTask all{.answer = "it runs on borrowed resources", .now = Time() + seconds(100)};
  all.row.framework = FrameworkId("batch-1-1");
  all.row.task = TaskId("map-3");
  all.row.agent = AgentId("a1");
  all.row.state = proto::TaskState::kRunning;
  all.row.launched_at = Time() + seconds(80);
  all.row.changed_at = Time() + seconds(85);
  all.standing = TaskStanding{
      .role = RoleName("ops"),
      .amounts = ResourceVector::of(1'000, 512'000),
      .priority = 2,
      .gang = 7,
      .is_lent = true,
      .protected_until = Time() + seconds(110),
      .over = {{"batch-1-1", ResourceVector::of(500, 0)}, {"ops", ResourceVector::of(1'000, 0)}},
      .guaranteed_by = RoleName("ops"),
      .victim_for = {
          {FrameworkId("web-1-2"), AskName("web"), RoleName("eng"), Time() + seconds(110)}}};
  all.notice =
      proto::ExplainedNotice{RevokeReason::kReclaimed, RoleName("eng"), Time() + seconds(105)};
  all.drained_by = Time() + seconds(300);
  EXPECT_EQ(said(all), R"(
answer      it runs on borrowed resources
task        batch-1-1/map-3 on agent a1, running for 15s, launched 20s ago
takes       cpus:1;mem:512 in role ops, band batch, priority 2, in gang 7, lent from what is kept )"
                       R"(for others
borrowed    batch-1-1 has cpus:0.5 more than it is entitled to
            ops has cpus:1 more than it is entitled to
protected   by the guarantee of role ops
protected   by the minimum runtime for another 10s
victim      would be preempted for the ask 'web' of web-1-2 in role eng, in 10s
notice      must end within 5s: reclaimed for role eng
draining    agent a1
)");

  proto::ExplainedTask unknown{.answer = "not known", .is_known = false, .agents = 3};
  unknown.row.framework = FrameworkId("f");
  unknown.row.task = TaskId("t");
  unknown.asks = {{.ask = AskName("big"), .shape = ResourceVector::of(1'000, 0), .wanted = 2}};
  EXPECT_EQ(said(unknown), R"(
answer      not known
task        f/t, not known
ask         'big' wants 2 of cpus:1; 0 offered
)");
}

}  // namespace
}  // namespace proffer::cli::explain_test
