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

TEST(Channel, AnswersAPeerOfAnEarlierVersionInItsVersion) {
  for (uint32_t version = kProtocolVersionMin; version < kProtocolVersion; ++version) {
    Channel here;
    EXPECT_EQ(here.version(), kProtocolVersion);
    EXPECT_EQ(here.admit(of_version(version, 1, Heartbeat{})), Verdict::kDeliver);
    EXPECT_EQ(here.stamp({}, Heartbeat{}).version, version);
  }
  EXPECT_EQ(Channel().stamp({}, Heartbeat{}).version, kProtocolVersion);
}

// An unknown reason would make the peer refuse the frame, and end each later session too.
TEST(Channel, TellsAPeerOfAnEarlierVersionOnlyReasonsThatItKnows) {
  using enum TaskReason;
  struct Row {
    TaskReason reason, in_version_2, in_version_1;
  };
  for (const Row& row :
       {Row{kRevoked, kRevoked, kKilledByOperator}, Row{kDrained, kDrained, kKilledByOperator},
        Row{kGangIncomplete, kGangIncomplete, kOfferNotValid},
        Row{kOutOfMemory, kCommandSignalled, kCommandSignalled},
        Row{kFetchFailed, kLaunchFailed, kLaunchFailed},
        Row{kRanTooLong, kKilledByScheduler, kKilledByScheduler},
        Row{kOutOfDisk, kCommandSignalled, kCommandSignalled},
        Row{kNotAsked, kTaskInvalid, kTaskInvalid}, Row{kNotStarted, kTaskUnknown, kTaskUnknown},
        Row{kAgentFull, kAgentFull, kAgentFull}}) {
    for (const auto& [version, known] :
         {std::pair(3u, row.reason), {2u, row.in_version_2}, {1u, row.in_version_1}}) {
      Channel channel(version);
      const TaskStatus status{.task = TaskId("t"), .reason = row.reason, .message = "why"};
      const TaskStatus said{.task = TaskId("t"), .reason = known, .message = "why"};
      EXPECT_EQ(channel.stamp({}, Update{.status = status}).message,
                Message(Update{.status = said}));
      EXPECT_EQ(channel.stamp({}, ExecutorUpdate{.status = status}).message,
                Message(ExecutorUpdate{.status = said}));
      EXPECT_EQ(channel.stamp({}, RegisterTasks{.tasks = {{.unacknowledged = {status}}}}).message,
                Message(RegisterTasks{.tasks = {{.unacknowledged = {said}}}}));
    }
  }
}

// No reason may be added to an earlier version: its programs already exist.
TEST(Channel, EveryReasonHasAWordInEachVersion) {
  constexpr TaskReason kLastOfVersion[] = {
      {}, TaskReason::kAgentFull, TaskReason::kGangIncomplete, TaskReason::kNotStarted};
  static_assert(std::size(kLastOfVersion) == kProtocolVersion + 1);
  for (uint32_t version = kProtocolVersionMin; version <= kProtocolVersion; ++version) {
    for (size_t i = 0; i < kTaskReasonCount; ++i) {
      const auto reason = static_cast<TaskReason>(i);
      EXPECT_LE(reason_for(reason, version), kLastOfVersion[version]) << to_text(reason);
    }
  }
}

TEST(Channel, TellsAPeerOfAnEarlierVersionOnlyErrorsThatItKnows) {
  const ErrorMessage refusal{.code = ErrorCode::kPermissionDenied, .message = "why"};
  const ErrorMessage said{.code = ErrorCode::kFailedPrecondition, .message = "why"};
  for (const uint32_t version : {1u, 2u}) {
    EXPECT_EQ(Channel(version).stamp({}, refusal).message, Message(said));
    EXPECT_EQ(Channel(version).stamp({}, StoreResult{.error = refusal}).message,
              Message(StoreResult{.error = said}));
    EXPECT_EQ(Channel(version).stamp({}, FrameworkResponse{.error = refusal}).message,
              Message(FrameworkResponse{.error = said}));
  }
  EXPECT_EQ(Channel(3).stamp({}, refusal).message, Message(refusal));
}

TEST(Channel, AMasterOfVersion1IsNotAskedToReserve) {
  const Accept accept{.offers = {OfferId(1)},
                      .operations = {Reserve{.agent = AgentId("a"), .role = RoleName("r")},
                                     Launch{.agent = AgentId("a"), .tasks = {{}}},
                                     Unreserve{.agent = AgentId("a"), .role = RoleName("r")}}};
  const Accept said{.offers = {OfferId(1)}, .operations = {accept.operations[1]}};
  EXPECT_EQ(Channel(1).stamp({}, accept).message, Message(said));
  EXPECT_EQ(Channel(2).stamp({}, accept).message, Message(accept));
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

TEST(Channel, APeerThatSaysNothingIsSpokenToInEachVersionByTurns) {
  Channel here;
  EXPECT_EQ(here.next_to_silent().version(), kProtocolVersion);  // nor was a frame sent to it
  Channel next = here;
  for (uint32_t version = kProtocolVersion; version >= kProtocolVersionMin; --version) {
    EXPECT_EQ(next.version(), version);
    next.stamp({}, Heartbeat{});
    next = next.next_to_silent();
  }
  EXPECT_EQ(next.version(), kProtocolVersion);
  here.stamp({}, Heartbeat{});
  here.admit(of_version(kProtocolVersion, 1, Heartbeat{}));
  EXPECT_EQ(here.next_to_silent().version(), kProtocolVersion);
}

}  // namespace
}  // namespace proffer::proto::channel_test
