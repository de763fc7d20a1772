// Explanations, and requests to frameworks, as JSON and back.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/json/json.h"

namespace proffer::proto::explain_json_test {
namespace {

using testing::HasSubstr;

Explanation full() {
  Explanation all{.answer = "because",
                  .name = "web",
                  .user = "ada",
                  .failover_timeout = seconds(30),
                  .now = Time() + seconds(100)};
  all.fair.framework = FrameworkId("web-1-1");
  all.fair.role = RoleName("service");
  all.fair.mode = OfferMode::kOpen;
  all.fair.active = false;
  all.fair.suppressed = true;
  all.fair.total = ResourceVector::of(8'000, 1'024'000);
  all.fair.allocated = ResourceVector::of(1'500, 512'000);
  all.fair.offered = ResourceVector::of(500, 0);
  all.fair.dominant_kind = ResourceKind::kMem;
  all.fair.share_millionths = 500'000;
  all.fair.weight = 2'500;
  all.fair.role_share_millionths = 200'000;
  all.fair.place = 2;
  all.fair.with_demand = 3;
  all.fair.before = {{FrameworkId("batch-1-2"), 31'000}};
  all.fair.agents = 7;
  all.fair.agents_active = 6;
  all.fair.declined = 1;
  all.fair.asks_unmet = 1;
  all.fair.usable = 4;
  all.fair.hindered = {{.why = Hindrance::kNotConnected, .agents = 2, .example = AgentId("a1")}};
  AskExplanation ask{.ask = AskName("big"),
                     .shape = ResourceVector::of(16'000, 0),
                     .ports = 2,
                     .constrained = true,
                     .wanted = 3,
                     .offered = 1,
                     .usable = 1,
                     .could_ever_fit = false,
                     .claimed = AgentId("a2"),
                     .claim_complete_at = Time() + seconds(90)};
  ask.hindered = {
      {.why = Hindrance::kUsed,
       .kind = ResourceKind::kCpus,
       .agents = 2,
       .wanted = 16'000,
       .most = 1'500,
       .holders = {{FrameworkId("f"), ResourceVector::of(4'000, 0), 2}}},
      {.why = Hindrance::kDeclinedForTime, .agents = 1, .until = Time() + milliseconds(101'500)},
      {.why = Hindrance::kConstraint, .constraint = "disk == ssd", .values = {"hdd", "nvme"}}};
  ask.first = {{.framework = FrameworkId("g"),
                .amounts = ResourceVector::of(19'000, 0),
                .role = RoleName("eng"),
                .entitled = ResourceVector::of(33'000, 0)}};
  ask.changes = {{.why = Hindrance::kPortsTotal, .wanted = 3, .most = 2},
                 {.why = Hindrance::kConstraint, .constraint = "disk == ssd"}};
  Quota quota;
  quota.set(ResourceKind::kCpus, 4'500);
  ask.remedies = {
      {.kind = RemedyKind::kTakesLess, .resource = ResourceKind::kMem, .amount = 3'276'800},
      {.kind = RemedyKind::kTakesLess, .amount = 2},
      {.kind = RemedyKind::kShorterLimit, .time_limit = seconds(50), .agent = AgentId("a1")},
      {.kind = RemedyKind::kFewerTogether, .amount = 3},
      {.kind = RemedyKind::kWithoutConstraint, .constraint = "disk == ssd"},
      {.kind = RemedyKind::kTasksEnd,
       .agent = AgentId("a1"),
       .ends = {{FrameworkId("f"), RoleName("eng"), TaskId("t-1")},
                {FrameworkId("g"), RoleName("ops"), TaskId(), 17}},
       .until = Time() + seconds(130),
       .first = {"h", "i"}},
      {.kind = RemedyKind::kLimitRaised, .role = RoleName("eng"), .quota = quota},
      {.kind = RemedyKind::kUnclaimed, .agent = AgentId("a2"), .framework = FrameworkId("g")}};
  all.fair.asks = {ask};
  all.offers = {{.offer = OfferId(7),
                 .framework = FrameworkId("web-1-1"),
                 .agent = AgentId("a1"),
                 .resources = {.amounts = ResourceVector::of(500, 0)},
                 .made = Time() + seconds(90),
                 .expires = Time() + seconds(120)}};
  return all;
}

TEST(ExplainJson, ReadsBackAsItWas) {
  const std::string json = explanation_json(full());
  const Result<Explanation> back = parse_explanation(json);
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(*back, full());
  EXPECT_THAT(json, HasSubstr(R"("why":"used","kind":"cpus","agents":2,"wanted":16,"most":1.5)"));
  EXPECT_THAT(json, HasSubstr(R"("why":"ports_total","agents":0,"wanted":3,"most":2)"));
  EXPECT_EQ(*parse_explanation(explanation_json({})), Explanation{});
}

TEST(ExplainJson, EachReasonHasAWordThatReadsBack) {
  for (size_t i = 0; i < kHindranceCount; ++i) {
    const auto why = static_cast<Hindrance>(i);
    EXPECT_EQ(parse_hindrance(to_text(why)), why);
  }
  EXPECT_EQ(parse_hindrance("bad_luck"), std::nullopt);
  const auto wrong = parse_explanation(R"({"asks":[{"hindered":[{"why":"bad_luck"}]}]})");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message(), HasSubstr("asks[0].hindered[0].why"));
}

TEST(ExplainJson, EachRemedyHasAWordThatReadsBackAndIsSaidToPeople) {
  for (size_t i = 0; i < kRemedyKindCount; ++i) {
    const auto kind = static_cast<RemedyKind>(i);
    EXPECT_EQ(parse_remedy_kind(to_text(kind)), kind);
    EXPECT_NE(proffer::to_text(Remedy{.kind = kind, .resource = ResourceKind::kCpus}), "");
  }
  EXPECT_EQ(parse_remedy_kind("luck"), std::nullopt);
  EXPECT_FALSE(parse_explanation(R"({"asks":[{"remedies":[{"remedy":"luck"}]}]})"));
}

TEST(ExplainJson, OfARoleReadsBackAsItWas) {
  const NodeStanding node{.name = "ops",
                          .wants = true,
                          .use = ResourceVector::of(4'000, 0),
                          .entitlement = ResourceVector::of(2'000, 0),
                          .borrowed = ResourceVector::of(2'000, 0),
                          .place_share_millionths = 500'000,
                          .lag = seconds(30)};
  ExplainedRole all{.answer = "because", .now = Time() + seconds(100)};
  all.fair = {
      .role = RoleName("eng"),
      .settings = {.weight = 2'000, .guarantee = parse_quota("cpus:2").value()},
      .total = ResourceVector::of(8'000, 0),
      .allocated = ResourceVector::of(1'000, 0),
      .offered = ResourceVector::of(0, 1'000),
      .entitlement = ResourceVector::of(2'000, 500),
      .borrowed = ResourceVector::of(0, 500),
      .dominant_kind = ResourceKind::kMem,
      .share_millionths = 5,
      .place_share_millionths = 6,
      .lag = seconds(40),
      .lag_most = seconds(50),
      .place = 2,
      .with_demand = 3,
      .before = {node},
      .guarantee_met = false,
      .headroom = ResourceVector::of(1'000, 0),
      .headroom_is_held = true,
      .limits = {{RoleName("eng"), parse_quota("cpus:4").value(), ResourceVector::of(1, 2)}},
      .asks_unmet = 4,
      .borrowers = {node},
      .coming = {{FrameworkId("f"), TaskId("t"), AgentId("a1"), RoleName("ops"),
                  Time() + seconds(110)}},
      .children = {node},
      .children_all = 9};
  all.fair.held = {{.why = RoleHindrance::kLimit,
                    .role = RoleName("eng"),
                    .kind = ResourceKind::kCpus,
                    .asks = 2,
                    .tasks = 5,
                    .lag = milliseconds(2'250),
                    .framework = FrameworkId("f"),
                    .ask = AskName("web"),
                    .wanted = 1'500,
                    .left = 500,
                    .rivals = {{FrameworkId("g"), ResourceVector::of(2'000, 0)}}},
                   {.why = RoleHindrance::kLent, .back = "not now", .until = Time() + seconds(7)}};
  const Result<ExplainedRole> back = parse_explained_role(explained_role_json(all));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(*back, all);
  EXPECT_FALSE(parse_explained_role("{}"));
  for (size_t i = 0; i < kRoleHindranceCount; ++i) {
    const auto why = static_cast<RoleHindrance>(i);
    EXPECT_EQ(parse_role_hindrance(to_text(why)), why);
    EXPECT_NE(to_text(HeldAsks{.why = why}), "");
  }
}

TEST(ExplainJson, OfATaskReadsBackAsItWas) {
  ExplainedTask all{.answer = "because", .now = Time() + seconds(100)};
  all.row.framework = FrameworkId("f");
  all.row.task = TaskId("t");
  all.row.agent = AgentId("a1");
  all.standing = TaskStanding{
      .role = RoleName("eng"),
      .amounts = ResourceVector::of(1'000, 5),
      .band = Band::kFree,
      .priority = -3,
      .gang = 7,
      .since = Time() + seconds(50),
      .is_lent = true,
      .is_estimated = true,
      .protected_until = Time() + seconds(120),
      .ends_by = Time() + seconds(130),
      .over = {{"eng", ResourceVector::of(1, 0)}},
      .guaranteed_by = RoleName("eng"),
      .victim_for = {{FrameworkId("g"), AskName("big"), RoleName("ops"), Time() + seconds(120)}}};
  all.notice = ExplainedNotice{RevokeReason::kLent, RoleName("ops"), Time() + seconds(130)};
  all.drained_by = Time() + seconds(200);
  all.agents = 4;
  const Result<ExplainedTask> back = parse_explained_task(explained_task_json(all));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(*back, all);

  ExplainedTask unknown{.is_known = false};
  unknown.row.framework = FrameworkId("f");
  unknown.asks = full().fair.asks;
  EXPECT_EQ(*parse_explained_task(explained_task_json(unknown)), unknown);
}

TEST(ExplainJson, ACallNamesOneThing) {
  for (const ExplainCall& call : {ExplainCall{.framework = "web"}, ExplainCall{.role = "eng/ads"},
                                  ExplainCall{.task = "f/t"}}) {
    EXPECT_EQ(*parse_explain_call(explain_call_json(call)), call);
  }
  EXPECT_FALSE(parse_explain_call(""));
  EXPECT_FALSE(parse_explain_call(R"({"framework":"web","task":"t"})"));
  EXPECT_FALSE(parse_explain_call(R"({"agent":"a"})"));
}

TEST(RequestJson, ReadsBackAsItWas) {
  const RequestCall call{.framework = "web",
                         .id = "scale-7",
                         .timeout = milliseconds(1'500),
                         .data = "line one\nline \"two\" ü"};
  EXPECT_EQ(*parse_request_call(request_call_json(call)), call);
  EXPECT_EQ(parse_request_call(R"({"framework":"web","id":"r"})")->timeout, seconds(30));
  EXPECT_FALSE(parse_request_call(R"({"framework":"web"})"));
  EXPECT_FALSE(parse_request_call(R"({"id":"r"})"));
  EXPECT_FALSE(parse_request_call(R"({"framework":"web","id":"r","shout":"x"})"));
}

TEST(RequestJson, AnAnswerIsTextOrIsRefused) {
  EXPECT_EQ(*request_reply_json("a\tb"), R"({"data":"a\tb"})");
  EXPECT_EQ(*parse_request_reply(*request_reply_json("a\tbü")), "a\tbü");
  EXPECT_EQ(*parse_request_reply("{}"), "");
  EXPECT_EQ(request_reply_json("\xff\xfe").error().code(), ErrorCode::kUnsupported);
  // Each control character takes six bytes.
  EXPECT_EQ(request_reply_json(std::string(kRelayedBytesMax, '\x01')).error().code(),
            ErrorCode::kResourceExhausted);
  EXPECT_TRUE(request_reply_json(std::string(kRelayedBytesMax, 'x')));
}

}  // namespace
}  // namespace proffer::proto::explain_json_test
