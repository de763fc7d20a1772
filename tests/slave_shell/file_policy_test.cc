// Who may read the files of sandboxes.

#include "slave/shell/file_policy.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/files.h"
#include "tests/net/support.h"

namespace proffer::agent::file_policy_test {
namespace {

Principal principal(uint32_t uid, std::vector<uint32_t> groups = {}) {
  return {.user = text("user", uid), .uid = uid, .groups = std::move(groups)};
}

TEST(FilePolicy, TheUserOfTheSandboxAndOperatorsMayRead) {
  const FilePolicy policy{.agent_uid = 900, .operators_group = 50};
  const struct {
    Principal by;
    bool may;
  } rows[] = {
      {principal(1'001), true},            // the owner
      {principal(0), true},                // root
      {principal(900), true},              // the agent's user
      {principal(1'002, {50}), true},      // a member of the operators' group
      {principal(1'002, {1'001}), false},  // a member of a group with the user's number
      {principal(1'002), false},
      {principal(65'534), false},
  };
  for (const auto& [by, may] : rows) {
    const Result<void> checked =
        permit(policy, &by, 1'001, "read files of a task of another user", "f/t");
    EXPECT_EQ(checked.has_value(), may) << by.user;
    if (may) continue;
    EXPECT_EQ(checked.error().code(), ErrorCode::kPermissionDenied);
    EXPECT_NE(checked.error().message().find(by.user), std::string::npos);
    EXPECT_NE(checked.error().hint().find("1001"), std::string::npos) << checked.error().hint();
  }
  EXPECT_FALSE(permit(policy, nullptr, 1'001, "x", "f/t"));
  const Principal member = principal(1'002, {50});
  EXPECT_FALSE(permit({.agent_uid = 900}, &member, 1'001, "x", "f/t"));
}

TEST(FilePolicy, FilesAreServedWithTheRightsOfTheSandboxsUser) {
  const net_test::TempDir dir;
  const auto by = std::make_shared<Principal>(principal(geteuid()));
  const auto served_by = [&](const FilePolicy& policy) {
    return serve_to(policy, by, {.root = *open_root(dir.path())}, "f/t");
  };
  EXPECT_FALSE(served_by({.agent_uid = geteuid()})->user);  // files of the agent's own user
  const Result<ServedPath> other = served_by({.agent_uid = geteuid() + 1});
  ASSERT_TRUE(other);
  ASSERT_TRUE(other->user);
  EXPECT_EQ(other->user->uid, geteuid());
  EXPECT_EQ(other->user->gid, getegid());
}

}  // namespace
}  // namespace proffer::agent::file_policy_test
