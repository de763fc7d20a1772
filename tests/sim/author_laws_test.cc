// Promises to a scheduler's author: each violation is found.

#include "sim/author_laws.h"

#include <gtest/gtest.h>

namespace proffer::sim::author_laws_test {
namespace {

// A task that was launched in this session.
AuthorLaws laws_with_task() {
  AuthorLaws laws(hours(2));
  proto::Accept accept{.offers = {OfferId(1)}};
  accept.operations.emplace_back(
      proto::Launch{.agent = AgentId("a1"), .tasks = {{.id = TaskId("t1")}}});
  EXPECT_TRUE(laws.on_command(sdk::Command(accept), Time()).empty());
  return laws;
}

proto::TaskStatus killed(proto::TaskReason reason) {
  return {.task = TaskId("t1"), .state = proto::TaskState::kKilled, .reason = reason};
}

TEST(AuthorLaws, FindATaskThatIsTakenWithoutNotice) {
  for (const auto reason : {proto::TaskReason::kRevoked, proto::TaskReason::kDrained}) {
    AuthorLaws laws = laws_with_task();
    EXPECT_EQ(laws.heard(killed(reason)).size(), 1u) << proto::to_text(reason);
  }
  AuthorLaws laws = laws_with_task();
  EXPECT_TRUE(laws.heard(killed(proto::TaskReason::kKilledByScheduler)).empty());
}

TEST(AuthorLaws, ANoticeInTimeIsEnough) {
  AuthorLaws laws = laws_with_task();
  EXPECT_TRUE(laws.heard(proto::RevokeNotice{.tasks = {TaskId("t1")}}).empty());
  EXPECT_TRUE(laws.heard(killed(proto::TaskReason::kRevoked)).empty());
}

// The scheduler was disconnected, so the notice may have reached no one.
TEST(AuthorLaws, WhoWasAwayMayHaveMissedIt) {
  AuthorLaws laws = laws_with_task();
  EXPECT_TRUE(laws.heard(sdk::Disconnected{}).empty());
  EXPECT_TRUE(laws.heard(killed(proto::TaskReason::kRevoked)).empty());
}

}  // namespace
}  // namespace proffer::sim::author_laws_test
