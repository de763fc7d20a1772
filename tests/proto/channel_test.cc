#include "proto/channel.h"

#include <gtest/gtest.h>

namespace proffer::proto::channel_test {
namespace {

using Verdict = Channel::Verdict;

TEST(Channel, NumbersFramesFromOneAndDeliversThemInOrder) {
  Channel here;
  Channel there;
  for (uint64_t i = 1; i <= 3; ++i) {
    const Envelope sent = here.stamp(LeaderEpoch(4), Heartbeat{});
    EXPECT_EQ(sent.sequence, i);
    EXPECT_EQ(sent.leader, LeaderEpoch(4));
    EXPECT_EQ(there.admit(sent), Verdict::kDeliver);
  }
}

TEST(Channel, DropsRepeatedFramesAndGoesOn) {
  Channel here;
  Channel there;
  const Envelope first = here.stamp({}, Heartbeat{});
  const Envelope second = here.stamp({}, Heartbeat{});
  EXPECT_EQ(there.admit(first), Verdict::kDeliver);
  EXPECT_EQ(there.admit(first), Verdict::kDuplicate);
  EXPECT_EQ(there.admit(second), Verdict::kDeliver);
  EXPECT_EQ(there.admit(first), Verdict::kDuplicate);
  EXPECT_EQ(there.admit(Envelope{.sequence = 0}), Verdict::kDuplicate);
}

TEST(Channel, IsBrokenByAGapAndStaysSoUntilTheMissingFrameComes) {
  Channel here;
  Channel there;
  const Envelope lost = here.stamp({}, Heartbeat{});
  const Envelope next = here.stamp({}, Heartbeat{});
  EXPECT_EQ(there.admit(next), Verdict::kBroken);
  EXPECT_EQ(there.admit(next), Verdict::kBroken);
  EXPECT_EQ(there.admit(lost), Verdict::kDeliver);
}

// --- versions: the lower one of the two ends ----------------------------------------------------

Envelope of_version(uint32_t version, uint64_t sequence, Message message) {
  return {.version = version, .sequence = sequence, .message = std::move(message)};
}

TEST(Channel, AnswersAPeerOfTheVersionBeforeInItsVersion) {
  Channel here;
  EXPECT_EQ(here.version(), kProtocolVersion);
  EXPECT_EQ(here.admit(of_version(kProtocolVersionMin, 1, Heartbeat{})), Verdict::kDeliver);
  EXPECT_EQ(here.stamp({}, Heartbeat{}).version, kProtocolVersionMin);
  EXPECT_EQ(Channel().stamp({}, Heartbeat{}).version, kProtocolVersion);
}

TEST(Channel, TellsAPeerOfTheVersionBeforeOnlyWhatItKnows) {
  Channel old(1);
  for (const auto& [reason, known] :
       {std::pair(TaskReason::kRevoked, TaskReason::kKilledByOperator),
        std::pair(TaskReason::kDrained, TaskReason::kKilledByOperator),
        std::pair(TaskReason::kGangIncomplete, TaskReason::kOfferNotValid),
        std::pair(TaskReason::kOutOfMemory, TaskReason::kCommandSignalled),
        std::pair(TaskReason::kFetchFailed, TaskReason::kLaunchFailed),
        std::pair(TaskReason::kRanTooLong, TaskReason::kKilledByScheduler),
        std::pair(TaskReason::kOutOfDisk, TaskReason::kCommandSignalled),
        std::pair(TaskReason::kNotAsked, TaskReason::kTaskInvalid),
        std::pair(TaskReason::kAgentFull, TaskReason::kAgentFull)}) {
    const TaskStatus status{.task = TaskId("t"), .reason = reason, .message = "why"};
    const TaskStatus said{.task = TaskId("t"), .reason = known, .message = "why"};
    EXPECT_EQ(old.stamp({}, Update{.status = status}).message, Message(Update{.status = said}));
    EXPECT_EQ(old.stamp({}, ExecutorUpdate{.status = status}).message,
              Message(ExecutorUpdate{.status = said}));
    EXPECT_EQ(old.stamp({}, RegisterTasks{.tasks = {{.unacknowledged = {status}}}}).message,
              Message(RegisterTasks{.tasks = {{.unacknowledged = {said}}}}));
    EXPECT_EQ(Channel().stamp({}, Update{.status = status}).message,
              Message(Update{.status = status}));
  }
  const Accept accept{.offers = {OfferId(1)},
                      .operations = {Reserve{.agent = AgentId("a"), .role = RoleName("r")},
                                     Launch{.agent = AgentId("a"), .tasks = {{}}},
                                     Unreserve{.agent = AgentId("a"), .role = RoleName("r")}}};
  const Accept said{.offers = {OfferId(1)}, .operations = {accept.operations[1]}};
  EXPECT_EQ(old.stamp({}, accept).message, Message(said));
  EXPECT_EQ(Channel().stamp({}, accept).message, Message(accept));
}

TEST(Channel, ComesAgainInTheVersionOfARefusalAndLaterTriesItsOwn) {
  Channel here;
  here.stamp({}, Heartbeat{});
  here.admit(of_version(1, 1, ErrorMessage{.code = ErrorCode::kUnsupported, .ends_session = true}));
  Channel again = here.next();
  EXPECT_EQ(again.stamp({}, Heartbeat{}), of_version(1, 1, Heartbeat{}));
  again.admit(of_version(1, 1, Heartbeat{}));
  EXPECT_EQ(again.next().version(), kProtocolVersion);
}

TEST(Channel, OtherErrorsAndLostConnectionsChangeNoVersion) {
  Channel here;
  here.stamp({}, Heartbeat{});
  EXPECT_EQ(here.next().version(), kProtocolVersion);
  here.admit(of_version(kProtocolVersion, 1, ErrorMessage{.code = ErrorCode::kUnsupported}));
  EXPECT_EQ(here.next().version(), kProtocolVersion);
}

TEST(Channel, APeerThatSaysNothingIsSpokenToInBothVersionsByTurns) {
  Channel here;
  EXPECT_EQ(here.next_to_silent().version(), kProtocolVersion);  // Nothing was said to it either.
  here.stamp({}, Heartbeat{});
  Channel second = here.next_to_silent();
  EXPECT_EQ(second.version(), kProtocolVersionMin);
  second.stamp({}, Heartbeat{});
  EXPECT_EQ(second.next_to_silent().version(), kProtocolVersion);
  here.admit(of_version(kProtocolVersion, 1, Heartbeat{}));
  EXPECT_EQ(here.next_to_silent().version(), kProtocolVersion);
}

}  // namespace
}  // namespace proffer::proto::channel_test
