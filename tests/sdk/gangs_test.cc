// Gangs: offered together, answered together, refused together.

#include <functional>

#include "tests/sdk/driver_world.h"

namespace proffer::sdk::gangs_test {
namespace {

using proto::TaskReason;
using proto::TaskState;

Offer gang_offer(uint64_t id, const std::string& agent, int64_t count = 1) {
  Offer offer = offer_of(id, agent);
  offer.gang = 5;
  offer.fills = {{.ask = AskName("g"), .count = count}};
  return offer;
}

// A subscribed driver that asks for gangs of three.
struct GangWorld : DriverWorld {
  GangWorld() {
    subscribe();
    Ask ask = ask_of("g", 6);
    ask.gang = 3;
    want(proto::DeclareAsks{.asks = {ask}});
    forget();
  }
  void hear_gang() {
    hear(proto::Offers{{gang_offer(1, "a1"), gang_offer(2, "a2", 2)}});
    EXPECT_EQ(told<proto::Offers>().size(), 1u);
  }
};

TEST(GangAnswers, AGangIsToldWhenItIsComplete) {
  GangWorld w;
  w.hear(proto::Offers{{gang_offer(1, "a1"), offer_of(9)}});
  auto told = w.told<proto::Offers>();
  ASSERT_EQ(told.size(), 1u);
  ASSERT_EQ(told[0].offers.size(), 1u);
  EXPECT_EQ(told[0].offers[0].id, OfferId(9));
  w.hear(proto::Offers{{gang_offer(2, "a2", 2)}});
  told = w.told<proto::Offers>();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].offers.size(), 2u);
}

TEST(GangAnswers, AcceptsOneByOneAreSentAsOne) {
  GangWorld w;
  w.hear_gang();
  w.want(accept_of({1}, {task_of("t1", "g")}));
  EXPECT_TRUE(w.sent<proto::Accept>().empty());
  w.want(accept_of({2}, {task_of("t2", "g"), task_of("t3", "g")}, "a2"));
  const auto accepts = w.sent<proto::Accept>();
  ASSERT_EQ(accepts.size(), 1u);
  EXPECT_EQ(accepts[0].offers, (std::vector{OfferId(1), OfferId(2)}));
  EXPECT_EQ(accepts[0].operations.size(), 2u);
  EXPECT_EQ(w.driver.asks()[0].count, 3);
  EXPECT_TRUE(w.told<proto::TaskStatus>().empty());
}

TEST(GangAnswers, AnAcceptOfAllIsSentAtOnce) {
  GangWorld w;
  w.hear_gang();
  proto::Accept all = accept_of({1, 2}, {task_of("t1", "g")});
  all.operations.push_back(
      proto::Launch{.agent = AgentId("a2"), .tasks = {task_of("t2", "g"), task_of("t3", "g")}});
  w.want(all);
  EXPECT_EQ(w.sent<proto::Accept>().size(), 1u);
}

TEST(GangAnswers, ADeclineOfOneOfferRefusesTheGang) {
  GangWorld w;
  w.hear_gang();
  w.want(accept_of({1}, {task_of("t1", "g")}));
  w.want(proto::Decline{.offers = {OfferId(2)}, .refusal = {}});
  EXPECT_TRUE(w.sent<proto::Accept>().empty());
  std::vector<OfferId> declined;
  for (const auto& decline : w.sent<proto::Decline>()) {
    declined.insert(declined.end(), decline.offers.begin(), decline.offers.end());
  }
  EXPECT_EQ(declined, (std::vector{OfferId(2), OfferId(1)}));
  const auto told = w.told<proto::TaskStatus>();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].state, TaskState::kRefused);
  EXPECT_EQ(told[0].reason, TaskReason::kGangIncomplete);
  EXPECT_EQ(w.driver.asks()[0].count, 6);
}

TEST(GangAnswers, ARescindOfOneOfferRefusesTheGangAndTakesBackTheRest) {
  GangWorld w;
  w.hear_gang();
  w.want(accept_of({1}, {task_of("t1", "g")}));
  w.hear(proto::Rescind{.offers = {OfferId(1)}});
  EXPECT_EQ(w.told<proto::TaskStatus>().at(0).reason, TaskReason::kGangIncomplete);
  const auto rescinded = w.told<proto::Rescind>();
  ASSERT_EQ(rescinded.size(), 1u);
  EXPECT_EQ(rescinded[0].offers, std::vector{OfferId(2)});
}

TEST(GangAnswers, ALostSessionOrALeaseThatEndsRefusesTheGang) {
  for (const bool lost : {true, false}) {
    GangWorld w;
    w.hear_gang();
    w.want(accept_of({1}, {task_of("t1", "g")}));
    if (lost) {
      w.disconnect();
    } else {
      w.now = w.now + seconds(30);
      w.hear(proto::Heartbeat{});
    }
    const auto told = w.told<proto::TaskStatus>();
    ASSERT_EQ(told.size(), 1u) << lost;
    EXPECT_EQ(told[0].reason, TaskReason::kGangIncomplete);
    EXPECT_TRUE(w.sent<proto::Accept>().empty());
  }
}

TEST(GangAnswers, AGangThatTheMasterRefusesIsWantedAgainAsAWhole) {
  GangWorld w;
  w.hear_gang();
  w.want(accept_of({1}, {task_of("t1", "g")}));
  w.want(accept_of({2}, {task_of("t2", "g"), task_of("t3", "g")}, "a2"));
  EXPECT_EQ(w.driver.asks()[0].count, 3);
  uint64_t sequence = 0;
  for (const char* task : {"t1", "t2", "t3"}) {
    proto::TaskStatus refused =
        status_of(task, TaskState::kRefused, ++sequence, proto::UpdateSource::kMaster);
    refused.reason = TaskReason::kGangIncomplete;
    w.hear_update(refused);
    EXPECT_EQ(w.driver.asks()[0].count, sequence < 3 ? 3 : 6);
  }
}

// --- revoke notices ------------------------------------------------------------------------------

TEST(Revoke, TellsTheAuthorOfTasksThatHaveNotEnded) {
  DriverWorld w;
  w.subscribe();
  w.launch("t1", 1);
  w.launch("t2", 2);
  w.hear_update(status_of("t1", TaskState::kFinished, 2));
  const proto::RevokeNotice notice{.tasks = {TaskId("t1"), TaskId("t2")},
                                   .agent = AgentId("a1"),
                                   .reason = RevokeReason::kReclaimed,
                                   .beneficiary = RoleName("eng"),
                                   .grace = seconds(10)};
  w.hear(notice);
  const auto told = w.told<proto::RevokeNotice>();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].tasks, std::vector{TaskId("t2")});
  EXPECT_EQ(told[0].beneficiary, RoleName("eng"));
}

TEST(Revoke, TellsTheAuthorOfTasksThatNeedNotEndAnyMore) {
  DriverWorld w;
  w.subscribe();
  w.launch("t1", 1);
  w.launch("t2", 2);
  w.hear_update(status_of("t1", TaskState::kFinished, 2));
  w.hear(proto::RevokeWithdrawn{.tasks = {TaskId("t1"), TaskId("t2")}, .agent = AgentId("a1")});
  w.hear(proto::RevokeWithdrawn{.tasks = {TaskId("t1")}, .agent = AgentId("a1")});
  const auto told = w.told<proto::RevokeWithdrawn>();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].tasks, std::vector{TaskId("t2")});
  EXPECT_EQ(told[0].agent, AgentId("a1"));
}

TEST(Reserve, IsSentWithTheLaunchesAndARefusalIsTold) {
  DriverWorld w;
  w.subscribe();
  w.hear_offers({1});
  proto::Accept accept = accept_of({1}, {task_of("t1")});
  accept.operations.insert(
      accept.operations.begin(),
      proto::Reserve{AgentId("a1"), RoleName("default"), ResourceVector::of(1'000, 0)});
  accept.operations.push_back(proto::Unreserve{AgentId("a1"), RoleName("a//b"), {}});
  w.want(accept);
  const auto sent = w.sent<proto::Accept>();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].operations.size(), 2u);
  EXPECT_EQ(w.told<Complaint>().size(), 1u);
  w.hear(proto::ErrorMessage{.code = ErrorCode::kFailedPrecondition, .message = "too little"});
  const auto complaints = w.told<Complaint>();
  ASSERT_EQ(complaints.size(), 1u);
  EXPECT_EQ(complaints[0].error.message(), "too little");
}

TEST(Asks, ThatCannotBeSentAreReportedWithTheReason) {
  const auto why = [](const std::function<void(Ask&)>& spoil) {
    DriverWorld w;
    w.subscribe();
    Ask ask = ask_of("x", 4);
    spoil(ask);
    w.want(proto::DeclareAsks{.asks = {ask}});
    const auto reports = w.told<proto::AskReport>();
    return reports.empty() ? std::string("declared") : reports[0].rows.at(0).why;
  };
  EXPECT_EQ(why([](Ask& a) { a.gang = 2; }), "declared");
  EXPECT_EQ(why([](Ask& a) {
              a.max_per = {{.attribute = "rack"}, {.attribute = "host"}};
            }),
            "declared");
  EXPECT_NE(why([](Ask& a) { a.gang = 3; }).find("a multiple of the gang"), std::string::npos);
  EXPECT_NE(why([](Ask& a) { a.spread = "a b"; }).find("spread"), std::string::npos);
  EXPECT_NE(why([](Ask& a) { a.max_per = {{.attribute = "host", .count = 0}}; }).find("max_per"),
            std::string::npos);
  EXPECT_NE(why([](Ask& a) { a.prefer.wait = Duration::nanos(-1); }).find("wait"),
            std::string::npos);
}

}  // namespace
}  // namespace proffer::sdk::gangs_test
