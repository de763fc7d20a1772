// Secrets of users: their owners, and the launches that carry them.

#include "master/core/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "master/core/agents.h"
#include "tests/master/cluster.h"

namespace proffer::master::secrets_test {
namespace {

using testing::HasSubstr;

PrincipalPtr user(const std::string& name, uint32_t uid) {
  return std::make_shared<Principal>(Principal{.user = name, .uid = uid});
}
const PrincipalPtr& bob() {
  static const auto* const kBob = new PrincipalPtr(user("bob", 1001));
  return *kBob;
}

SetSecret set(const std::string& name, const std::string& sealed, const PrincipalPtr& by = nullptr,
              const std::string& key_id = "k1") {
  return {.by = by, .name = name, .sealed = sealed, .key_id = key_id};
}

std::vector<std::string> names(const MasterScenario& s, const PrincipalPtr& by) {
  std::vector<std::string> all;
  for (const proto::SecretRow& row : s.master->secrets(by.get())) {
    all.push_back(text(row.owner, "/", row.name, row.is_readable ? "" : " unreadable"));
  }
  return all;
}
using Names = std::vector<std::string>;

TEST(Secrets, AUserSeesAndRemovesItsOwnAndAnOperatorAll) {
  MasterScenario s;
  ASSERT_EQ(s.calls(set("db", "x")), "done");
  ASSERT_EQ(s.calls(set("db", "y", bob())), "done");
  EXPECT_EQ(names(s, bob()), (Names{"bob/db"}));
  EXPECT_EQ(names(s, user_with_all_rights()), (Names{"ada/db", "bob/db"}));
  EXPECT_EQ(names(s, nullptr), Names{});
  EXPECT_THAT(s.calls(RemoveSecret{.by = bob(), .name = "db", .owner = "ada"}),
              HasSubstr("may not remove a secret of another user"));
  EXPECT_THAT(s.calls(RemoveSecret{.by = bob(), .name = "nope"}),
              HasSubstr("user 'bob' has no secret 'nope'"));
  EXPECT_EQ(s.calls(RemoveSecret{.name = "db", .owner = "bob"}), "done");
  EXPECT_EQ(s.calls(RemoveSecret{.name = "db"}), "done");
  EXPECT_EQ(names(s, user_with_all_rights()), Names{});
}

TEST(Secrets, ArePutBackByARestart) {
  MasterScenario s;
  ASSERT_EQ(s.calls(set("db", "x")), "done");
  ASSERT_EQ(s.calls(set("db", "x2")), "done");
  s.restart_master();
  // The scenario's options have no key file.
  EXPECT_EQ(names(s, user_with_all_rights()), (Names{"ada/db unreadable"}));
  EXPECT_EQ(s.master->key_of_secrets(), "k1");
}

TEST(Secrets, AnAgentsKeyAndAPlainConnectionSetNone) {
  MasterScenario s;
  const auto agent = std::make_shared<Principal>(
      Principal{.user = "root", .uid = kNoUid, .key = PublicKey("k"), .agent = AgentId("a1")});
  EXPECT_THAT(s.calls(set("db", "x", agent)), HasSubstr("the key of agent 'a1' may not"));
  const auto plain =
      std::make_shared<Principal>(Principal{.user = "ada", .uid = 0, .is_unproven = true});
  EXPECT_THAT(s.calls(set("db", "", plain)), HasSubstr("--insecure_tcp"));
  EXPECT_EQ(names(s, user_with_all_rights()), Names{});
}

TEST(Secrets, AUserHasABoundedNumber) {
  MasterScenario s;
  for (size_t i = 0; i < kSecretsPerUserMax; ++i) {
    ASSERT_EQ(s.calls(set(text("s", i), "x", bob())), "done");
  }
  EXPECT_THAT(s.calls(set("more", "x", bob())), HasSubstr("has 256 secrets, which is the maximum"));
  EXPECT_EQ(s.calls(set("s0", "new", bob())), "done");
  EXPECT_EQ(s.calls(set("db", "x")), "done");
}

// A framework that serves users, with an agent; bob and eve have sent it requests.
class SecretLaunch : public testing::Test {
 protected:
  void begin() {
    agent.registers();
    service.subscribe.serves_users = true;
    service.subscribes();
    s.settle();
    for (const PrincipalPtr& by : {bob(), eve}) {
      s.request("service", by->user, "", seconds(30), by);
      for (const auto& heard : service.take<proto::FrameworkRequest>()) {
        service.sends(proto::FrameworkResponse{.relay = heard.relay, .data = "yes"});
      }
    }
    service.asks("cpus:1;mem:64", 10);
    s.settle();
  }
  // Returns the master's reason for a refusal; empty if the task is launched.
  std::string launches(const std::string& id, const std::string& as,
                       std::vector<proto::SecretUse> secrets, const std::string& executor = "") {
    if (service.offers.empty()) s.advance(seconds(10));
    EXPECT_FALSE(service.offers.empty());
    proto::TaskSpec task = TestScheduler::spec(id, "cpus:1;mem:64");
    task.user = as;
    task.secrets = std::move(secrets);
    task.executor_id = ExecutorId(executor);
    service.accepts({service.offers.front()}, {task});
    s.settle();
    const std::vector<proto::Update> updates = service.take<proto::Update>();
    return updates.empty() ? "" : updates.back().status.message;
  }

  MasterScenario s;
  TestAgent& agent = s.agent("a1");
  TestScheduler& service = s.scheduler("service");
  const PrincipalPtr eve = user("eve", 1002);
};
using Values = std::vector<proto::SecretValue>;

TEST_F(SecretLaunch, CarriesThoseOfTheUserThatTheTaskRunsAs) {
  begin();
  ASSERT_EQ(s.calls(set("db", "bobs", bob())), "done");
  ASSERT_EQ(s.calls(set("other", "not asked for", bob())), "done");
  ASSERT_EQ(s.calls(set("db", "eves", eve)), "done");
  EXPECT_EQ(launches("t1", "bob", {{.name = "db", .variable = "DB"}}), "");
  EXPECT_EQ(agent.take_one<proto::RunTask>().secrets, (Values{{"db", "bobs"}}));
  EXPECT_EQ(launches("t2", "eve", {{.name = "db", .file = "db"}}), "");
  EXPECT_EQ(agent.take_one<proto::RunTask>().secrets, (Values{{"db", "eves"}}));
  EXPECT_THAT(launches("t3", "eve", {{.name = "other", .variable = "X"}}),
              HasSubstr("user 'eve' has no secret 'other'"));
  EXPECT_TRUE(agent.take<proto::RunTask>().empty());

  // A new value affects only later launches.
  ASSERT_EQ(s.calls(set("db", "bobs new", bob())), "done");
  EXPECT_EQ(launches("t4", "bob", {{.name = "db", .variable = "DB"}}), "");
  EXPECT_EQ(agent.take_one<proto::RunTask>().secrets, (Values{{"db", "bobs new"}}));
}

TEST_F(SecretLaunch, IsRefusedIfThisMasterCannotDecrypt) {
  begin();
  ASSERT_EQ(s.calls(set("db", "x", bob(), "key of before")), "done");
  ASSERT_EQ(s.calls(set("own", "x", bob())), "done");
  EXPECT_THAT(launches("t1", "bob", {{.name = "db", .variable = "DB"}}),
              HasSubstr("copy secrets.key from the master where the secret was set"));
  EXPECT_EQ(launches("t2", "bob", {{.name = "own", .variable = "DB"}}), "");
}

TEST_F(SecretLaunch, IsForAnExecutorOfItsOwn) {
  begin();
  ASSERT_EQ(s.calls(set("db", "x", bob())), "done");
  EXPECT_THAT(launches("t1", "bob", {{.name = "db", .variable = "DB"}}, "shared"),
              HasSubstr("an executor of their own"));
}

TEST_F(SecretLaunch, IsRefusedOnAnAgentThatDoesNotKnowThem) {
  agent.takes_secrets = false;
  begin();
  ASSERT_EQ(s.calls(set("db", "x", bob())), "done");
  EXPECT_THAT(launches("t1", "bob", {{.name = "db", .variable = "DB"}}),
              HasSubstr("a version without support for secrets"));
  EXPECT_EQ(launches("t2", "bob", {}), "");
}

TEST(CheckSecrets, NoneTravelsOverAPlainConnection) {
  Agent agent;
  agent.id = AgentId("a1");
  agent.takes_secrets = true;
  const SecretTable records = {{{"bob", "db"}, {.owner = "bob", .name = "db", .key_id = "k1"}}};
  proto::TaskSpec task;
  task.secrets = {{.name = "db", .variable = "DB"}};
  EXPECT_TRUE(check_secrets(task, "bob", agent, {records, "k1"}));
  agent.by = std::make_shared<Principal>(Principal{.user = "ada", .uid = 0, .is_unproven = true});
  EXPECT_THAT(check_secrets(task, "bob", agent, {records, "k1"}).error().message(),
              HasSubstr("--insecure_tcp"));
  task.secrets.clear();
  EXPECT_TRUE(check_secrets(task, "bob", agent, {records, "k1"}));
}

TEST_F(SecretLaunch, SecretsOfATaskHaveABound) {
  begin();
  std::vector<proto::SecretUse> uses;
  for (int i = 0; i < 9; ++i) {
    const std::string name = text("s", i);
    ASSERT_EQ(s.calls(set(name, std::string(kSecretBytesMax, 'x'), bob())), "done");
    uses.push_back({.name = name, .variable = text("V", i)});
  }
  EXPECT_THAT(launches("t1", "bob", uses), HasSubstr("at most 131072 bytes together"));
  uses.resize(8);
  EXPECT_EQ(launches("t2", "bob", uses), "");
}

// The launch was lost in transit: it is repeated with its secrets.
TEST_F(SecretLaunch, IsRepeatedWithItsSecrets) {
  begin();
  ASSERT_EQ(s.calls(set("db", "bobs", bob())), "done");
  EXPECT_EQ(launches("t1", "bob", {{.name = "db", .variable = "DB"}}), "");
  agent.take<proto::RunTask>();
  agent.tasks.clear();
  agent.lose();
  agent.registers();
  s.settle();
  EXPECT_EQ(agent.take_one<proto::RunTask>().secrets, (Values{{"db", "bobs"}}));
}

}  // namespace
}  // namespace proffer::master::secrets_test
