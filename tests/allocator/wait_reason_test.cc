// The reasons why an ask waits: an example for each, in the order of WaitReason.

#include "tests/allocator/scenario.h"

namespace proffer::wait_reason_test {
namespace {

std::string reason(AllocatorScenario& s, const std::string& framework,
                   const std::string& ask = "task") {
  EXPECT_GT(s.allocator().lacking(FrameworkId(framework), AskName(ask)), 0);
  return std::string(
      to_text(s.allocator().wait_reason(FrameworkId(framework), AskName(ask), s.now())));
}

TEST(WaitReason, IsItsSchedulersOwnIfThatSuppressedOffers) {
  AllocatorScenario s;
  s.framework("f").asks("cpus:1");
  s.framework("f").suppresses();
  EXPECT_EQ(reason(s, "f"), "suppressed");
}

TEST(WaitReason, IsBackOffWhileItIsPaused) {
  AllocatorScenario s;
  s.framework("f").asks("cpus:1");
  s.framework("f").pauses_ask("task");
  EXPECT_EQ(reason(s, "f"), "back_off");
  s.framework("f").pauses_ask("task", false);
  s.framework("f").pauses();
  EXPECT_EQ(reason(s, "f"), "back_off");
}

TEST(WaitReason, AnAskThatNoAgentCouldMeetIsImpossible) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB", "disk:hdd");
  s.framework("f").asks("cpus:8");
  s.decide();
  EXPECT_EQ(reason(s, "f"), "impossible");
  s.framework("g").asks("cpus:1", 1, "task", "disk == ssd");
  s.decide();
  EXPECT_EQ(reason(s, "g"), "impossible");
}

TEST(WaitReason, AnAgentIsMissingIfTheOnesThatFitAreAwayOrDrained) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:4GiB");
  s.agent("a2", "cpus:1;mem:4GiB");
  s.allocator().set_agent_active(AgentId("a1"), false);
  s.framework("f").asks("cpus:4");
  s.decide();
  EXPECT_EQ(reason(s, "f"), "agent_missing");
  s.allocator().set_agent_active(AgentId("a1"), true);
  s.allocator().set_agent_draining(AgentId("a1"), true);
  s.decide();
  EXPECT_EQ(reason(s, "f"), "agent_missing");
}

TEST(WaitReason, ALimitIsToldBeforeWhatIsFree) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:8GiB");
  s.limit("f", "cpus:2");
  s.framework("f").asks("cpus:1");
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("f").tasks(), 2);
  EXPECT_EQ(reason(s, "f"), "limit");
  s.allocator().set_knows_all_tasks(false);
  s.decide();
  EXPECT_EQ(reason(s, "f"), "recovering");
}

TEST(WaitReason, ATaskBeyondALimitIsNeverAllowed) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:8GiB");
  s.limit("f", "cpus:2");
  s.framework("f").asks("cpus:4");
  s.decide();
  EXPECT_EQ(reason(s, "f"), "limit");
}

TEST(WaitReason, WithoutReclaimGuaranteesOfOthersAreHeld) {
  AllocatorScenario s({.reclaim = ReclaimMode::kOff});
  s.agent("a1", "cpus:4;mem:8GiB");
  s.guarantee("other", "cpus:4");
  s.framework("other").asks("cpus:1", 1, "task", "host == nowhere");
  s.framework("f").asks("cpus:1");
  s.decide();
  EXPECT_EQ(reason(s, "f"), "guarantees");
}

TEST(WaitReason, AnAskThatMayNotBorrowWaitsForItsEntitlement) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:8GiB");
  s.framework("f").asks(
      {.name = AskName("task"), .shape = *parse_shape("cpus:1"), .count = 8, .borrow = false});
  s.framework("other").asks("cpus:1", 8);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("f").tasks(), 2);
  EXPECT_EQ(reason(s, "f"), "entitlement");
}

TEST(WaitReason, WhatItsFrameworkDeclinedIsItsOwnChoice) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:8GiB");
  s.framework("f").asks("cpus:1", 1);
  s.decide();
  s.framework("f").declines("a1", seconds(60));
  s.decide();
  EXPECT_EQ(reason(s, "f"), "declined");
}

TEST(WaitReason, WhereThereIsRoomTheAskItselfMayBeParticular) {
  struct Row {
    std::string reason;
    Ask ask;
    int64_t runs = 0;
  };
  const auto ask = [](auto change) {
    Ask one{.name = AskName("task"), .shape = *parse_shape("cpus:1"), .count = 4};
    change(one);
    return one;
  };
  const Row rows[] = {
      {"locality", ask([](Ask& a) { a.prefer = {.hosts = {"elsewhere"}, .wait = minutes(5)}; })},
      {"spread", ask([](Ask& a) {
         a.max_per = {{"host", 1}};
       }),
       1},
      {"gang", ask([](Ask& a) {
         a.max_per = {};
         a.shape = *parse_shape("cpus:1;mem:3GiB");
         a.gang = 4;
       })},
  };
  for (const Row& row : rows) {
    AllocatorScenario s;
    s.agent("a1", "cpus:8;mem:12GiB");
    s.framework("other").asks("mem:1GiB", 1);
    s.run_until_nothing_fits();
    s.framework("f").asks(row.ask);
    s.run_until_nothing_fits();
    EXPECT_EQ(s.framework("f").tasks(), row.runs) << row.reason;
    EXPECT_EQ(reason(s, "f"), row.reason);
  }
}

TEST(WaitReason, ThePortsThatItNeedsMayBeInUse) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:8GiB;ports:[100-101]");
  s.framework("other").asks("cpus:1", 1, "task", "", 2);
  s.decide();
  s.framework("f").asks("cpus:1", 1, "task", "", 1);
  s.decide();
  EXPECT_EQ(reason(s, "f"), "ports");
}

TEST(WaitReason, WhatOthersAreOfferedMayBeFreeSoon) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:8GiB");
  s.framework("other").asks("cpus:4", 1);
  s.decide();
  s.framework("f").asks("cpus:2", 1);
  s.decide();
  EXPECT_EQ(reason(s, "f"), "offers");
}

// Offers to its own scheduler do not count as offers to others.
TEST(WaitReason, ItsOwnOffersAreNotThoseOfOthers) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:8GiB");
  s.framework("f").asks("cpus:1", 10);
  s.decide();
  ASSERT_FALSE(s.framework("f").offers().empty());
  EXPECT_EQ(reason(s, "f"), "share");
}

TEST(WaitReason, EnoughInAllIsNoRoomIfItIsInPieces) {
  AllocatorScenario s;
  for (const char* name : {"a1", "a2"}) {
    s.agent(name, "cpus:4;mem:8GiB");
    s.framework("other").asks("cpus:3", 1, name, text("host == ", name));
  }
  s.run_until_nothing_fits();
  s.framework("f").asks("cpus:2", 1);
  s.decide();
  EXPECT_EQ(reason(s, "f"), "fragmentation");
}

TEST(WaitReason, AFullClusterIsToldApartByWhatItsAskIsEntitledTo) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:8GiB");
  s.framework("other").asks("cpus:1", 8);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("other").tasks(), 4);
  EXPECT_EQ(reason(s, "other"), "share") << "it has all that there is";
  s.framework("f").asks("cpus:1", 8);
  s.decide();
  EXPECT_EQ(reason(s, "f"), "borrowed") << "two of the four are its own";
  s.framework("other").ends(2);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("f").tasks(), 2);
  EXPECT_EQ(reason(s, "f"), "share");
}

TEST(WaitReason, WhatIsKeptForAnAskThatIsOwedATaskIsNotFree) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:8GiB");
  s.framework("small").asks("cpus:1", 16);
  s.run_until_nothing_fits();
  s.framework("large").asks("cpus:4", 1);
  s.decide();
  s.framework("small").ends(1);
  s.decide();
  ASSERT_EQ(s.framework("small").tasks(), 7) << "what ends is kept for the large one";
  EXPECT_EQ(reason(s, "large"), "borrowed");
  EXPECT_EQ(reason(s, "small"), "owed");
}

}  // namespace
}  // namespace proffer::wait_reason_test
