// Who gets a token for files of an agent on another machine, and the token's content.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/master/cluster.h"

namespace proffer::master::file_access_test {
namespace {

using testing::HasSubstr;

PrincipalPtr user(const std::string& name, uint32_t uid) {
  return std::make_shared<Principal>(Principal{.user = name, .uid = uid});
}
PrincipalPtr agent_by_key(const std::string& name) {
  return std::make_shared<Principal>(Principal{.user = "root",
                                               .uid = 0,
                                               .key = PublicKey(std::string(kPublicKeyBytes, 'k')),
                                               .agent = AgentId(name)});
}

// Agents a1 and a2. a2 serves other machines, and its clock is an hour behind.
class FileAccess : public testing::Test {
 protected:
  FileAccess() {
    s_.registered_agent("a1");
    TestAgent& a2 = s_.agent("a2");
    a2.files = {.address = "10.0.0.2:4711",
                .pin = std::string(kPinBytesMax, 'A'),
                .token_key = Secret(std::string(32, 'e')),
                .clock = s_.now - hours(1)};
    a2.registers();
    s_.settle();
    a2_ = &a2;
  }
  Result<FileGrant> asks(const PrincipalPtr& by, const std::string& agent = "a2",
                         const std::string& for_user = "", const std::string& framework = "F") {
    return s_.master->grant_files(
        {.agent = AgentId(agent), .framework = FrameworkId(framework), .user = for_user}, by.get(),
        s_.now);
  }
  // A task of `by` on a1, the only agent with enough free memory.
  TestScheduler& runs_on_a1(const PrincipalPtr& by) {
    TestScheduler& scheduler = s_.scheduler("job");
    scheduler.by = by;
    scheduler.subscribes();
    scheduler.asks("cpus:1;mem:64MiB", 2);
    s_.settle();
    for (const Offer& offer : std::vector<Offer>(scheduler.offers)) {
      if (offer.agent.str() == "a1") {
        scheduler.accepts({offer}, {TestScheduler::spec("t1", "cpus:1;mem:64MiB")});
      }
    }
    s_.settle();
    return scheduler;
  }

  MasterScenario s_;
  TestAgent* a2_ = nullptr;
};

TEST_F(FileAccess, AUserHasItsOwnRightsForFiveMinutesOfTheAgentsClock) {
  s_.advance(minutes(7));
  const Result<FileGrant> grant = asks(user("bob", 1002));
  ASSERT_TRUE(grant) << grant.error().message();
  EXPECT_EQ(grant->user, "bob");
  EXPECT_FALSE(grant->is_operator);
  EXPECT_EQ(grant->prefix, "/v1/files/F/");
  EXPECT_EQ(grant->files, a2_->files);
  EXPECT_EQ(grant->until, a2_->files.clock + minutes(7) + kFileTokenAge);
}

TEST_F(FileAccess, OnlyAnOperatorIsSomebodyElse) {
  EXPECT_TRUE(asks(user("root", 0))->is_operator);
  const Result<FileGrant> other = asks(user("root", 0), "a2", "bob");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->user, "bob");
  EXPECT_FALSE(other->is_operator);
  const Result<FileGrant> refused = asks(user("bob", 1002), "a2", "ada");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kPermissionDenied);
  EXPECT_THAT(refused.error().message(), HasSubstr("user 'bob' may not read files as user 'ada'"));
  EXPECT_FALSE(asks(nullptr));
}

TEST_F(FileAccess, AnAgentAsksForTheTasksThatItRunsAndForNoOthers) {
  const PrincipalPtr bob = user("bob", 1002);
  TestScheduler& job = runs_on_a1(bob);
  const std::string framework = job.id.str();
  const Result<FileGrant> grant = asks(agent_by_key("a1"), "a2", "bob", framework);
  ASSERT_TRUE(grant) << grant.error().message();
  EXPECT_EQ(grant->user, "bob");
  EXPECT_FALSE(grant->is_operator);

  // Not as another user, for another framework, from another agent, or as the agent itself, which
  // is root.
  EXPECT_FALSE(asks(agent_by_key("a1"), "a2", "ada", framework));
  EXPECT_FALSE(asks(agent_by_key("a1"), "a2", "root", framework));
  EXPECT_FALSE(asks(agent_by_key("a1"), "a2", "", framework));
  EXPECT_FALSE(asks(agent_by_key("a1"), "a2", "bob", "other"));
  EXPECT_FALSE(asks(agent_by_key("a3"), "a2", "bob", framework));
}

TEST_F(FileAccess, SaysWhyThereIsNone) {
  const PrincipalPtr bob = user("bob", 1002);
  EXPECT_THAT(asks(bob, "a9").error().message(), HasSubstr("no agent 'a9'"));
  EXPECT_THAT(asks(bob, "a1").error().message(), HasSubstr("only on its own machine"));
  EXPECT_THAT(asks(bob, "a1").error().hint(), HasSubstr("--https_port=0"));
  EXPECT_FALSE(asks(bob, "a2", "", "../x"));
  a2_->lose();
  EXPECT_EQ(asks(bob).error().code(), ErrorCode::kUnavailable);
}

TEST_F(FileAccess, ANewLifeOfTheAgentHasAnotherKey) {
  a2_->files.token_key = Secret(std::string(32, 'f'));
  a2_->files.address = "10.0.0.2:4712";
  a2_->registers();
  s_.settle();
  EXPECT_EQ(asks(user("bob", 1002))->files, a2_->files);
}

TEST_F(FileAccess, AnAddressThatIsNoneIsRefused) {
  const proto::FileService good = a2_->files;
  const struct {
    std::string address;
    std::string pin;
  } rows[] = {{"/run/x.sock", good.pin},
              {"10.0.0.2", good.pin},
              {"a b:1", good.pin},
              {"10.0.0.2:4711", "short"},
              {"10.0.0.2:4711", std::string(kPinBytesMax, '\n')}};
  for (const auto& [address, pin] : rows) {
    a2_->files.address = address;
    a2_->files.pin = pin;
    a2_->registers();
    s_.settle();
    EXPECT_TRUE(a2_->was_dropped()) << address;
    a2_->take<proto::ErrorMessage>();
  }
}

}  // namespace
}  // namespace proffer::master::file_access_test
