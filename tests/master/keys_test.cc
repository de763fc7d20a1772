// Keys from other machines: tokens that work once, keys that work until they are revoked, and the
// rights of their holders.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/master/cluster.h"

namespace proffer::master::keys_test {
namespace {

using testing::HasSubstr;

PublicKey key(char letter) { return PublicKey(std::string(kPublicKeyBytes, letter)); }

// A principal as the shell creates it for a connection with this key.
PrincipalPtr holder(const MasterScenario& s, const PublicKey& of) {
  const KnownKey* known = s.master->find_key(of, s.now);
  if (known == nullptr) return nullptr;
  Principal principal{.user = known->name, .uid = kNoUid, .key = of};
  principal.may_only_join = known->is_token();
  if (!known->is_token() && known->kind == KeyKind::kAgent) {
    principal.agent = AgentId(known->name);
    principal.user = known->runs_as;
  }
  return std::make_shared<Principal>(std::move(principal));
}

std::string token(MasterScenario& s, const PublicKey& of, KeyKind kind, const std::string& name,
                  Duration valid_for = minutes(10)) {
  return s.calls(MakeJoinToken{.key = of, .kind = kind, .name = name, .valid_for = valid_for});
}

void joined(MasterScenario& s, const PublicKey& of, KeyKind kind, const std::string& name) {
  const PublicKey once = key('t');
  ASSERT_EQ(token(s, once, kind, name), "done");
  ASSERT_EQ(s.calls(JoinCluster{.by = holder(s, once), .key = of, .runs_as = "root"}), "done");
}

TEST(Keys, ATokenIsGoodForOneKey) {
  MasterScenario s;
  ASSERT_EQ(token(s, key('t'), KeyKind::kAgent, "a1"), "done");
  const PrincipalPtr thief = holder(s, key('t'));
  ASSERT_NE(thief, nullptr);
  ASSERT_EQ(s.calls(JoinCluster{.by = thief, .key = key('k'), .runs_as = "root"}), "done");

  EXPECT_EQ(s.master->find_key(key('t'), s.now), nullptr);
  const KnownKey* known = s.master->find_key(key('k'), s.now);
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(known->name, "a1");
  EXPECT_EQ(known->kind, KeyKind::kAgent);
  EXPECT_EQ(known->by, "ada");
  EXPECT_FALSE(known->is_token());
  // The used token is refused, also on a connection that is still open.
  EXPECT_THAT(s.calls(JoinCluster{.by = thief, .key = key('m')}), HasSubstr("was already used"));
  EXPECT_EQ(s.master->find_key(key('m'), s.now), nullptr);
}

TEST(Keys, ATokenIsOfNoUseWhenItsTimeIsOver) {
  MasterScenario s;
  ASSERT_EQ(token(s, key('t'), KeyKind::kUser, "ada", seconds(10)), "done");
  const PrincipalPtr late = holder(s, key('t'));
  s.advance(seconds(10));
  EXPECT_NE(s.master->find_key(key('t'), s.now), nullptr);
  s.advance(seconds(1));
  EXPECT_EQ(s.master->find_key(key('t'), s.now), nullptr);
  EXPECT_THAT(s.calls(JoinCluster{.by = late, .key = key('k')}), HasSubstr("has expired"));
  EXPECT_EQ(s.master->find_key(key('k'), s.now), nullptr);
  // Expired tokens do not fill the table.
  ASSERT_EQ(token(s, key('u'), KeyKind::kUser, "ada"), "done");
  EXPECT_EQ(s.master->keys(user_with_all_rights().get()).size(), 1u);
}

TEST(Keys, OnlyOperatorsMakeTokensAndRevoke) {
  MasterScenario s;
  joined(s, key('k'), KeyKind::kUser, "bob");
  const PrincipalPtr bob = holder(s, key('k'));
  EXPECT_THAT(s.calls(MakeJoinToken{.by = bob,
                                    .key = key('t'),
                                    .kind = KeyKind::kUser,
                                    .name = "root",
                                    .valid_for = minutes(1)}),
              HasSubstr("user 'bob' may not manage keys"));
  EXPECT_THAT(s.calls(RevokeKey{.by = bob, .key = "k"}), HasSubstr("may not manage keys"));
  // Every caller needs a token to join, whoever it is.
  EXPECT_THAT(s.calls(JoinCluster{.by = bob, .key = key('m')}), HasSubstr("may not join"));
  EXPECT_THAT(s.calls(JoinCluster{.key = key('m')}), HasSubstr("may not join"));
  EXPECT_EQ(s.master->keys(user_with_all_rights().get()).size(), 1u);
}

TEST(Keys, WhatATokenSaysIsChecked) {
  MasterScenario s;
  EXPECT_THAT(token(s, PublicKey("short"), KeyKind::kUser, "ada"), HasSubstr("40 characters"));
  EXPECT_THAT(token(s, key('t'), KeyKind::kAgent, "a b"), HasSubstr("name of the agent"));
  EXPECT_THAT(token(s, key('t'), KeyKind::kUser, "ada", hours(24 * 8)), HasSubstr("valid for"));
  EXPECT_THAT(token(s, key('t'), KeyKind::kUser, "ada", Duration()), HasSubstr("valid for"));
  ASSERT_EQ(token(s, key('t'), KeyKind::kUser, "ada"), "done");
  EXPECT_THAT(token(s, key('t'), KeyKind::kUser, "bob"), HasSubstr("already registered"));
  EXPECT_THAT(s.calls(JoinCluster{.by = holder(s, key('t')), .key = key('t')}),
              HasSubstr("already registered"));
  EXPECT_THAT(s.calls(JoinCluster{.by = holder(s, key('t')), .key = PublicKey("x")}),
              HasSubstr("40 characters"));
  EXPECT_EQ(s.master->keys(user_with_all_rights().get()).size(), 1u)
      << "a wrong call does not use the token up";
}

TEST(Keys, AnAgentsKeyMayBeThatAgentAndNothingElse) {
  MasterScenario s;
  joined(s, key('k'), KeyKind::kAgent, "a1");
  const PrincipalPtr agent = holder(s, key('k'));

  TestAgent& other = s.agent("a2");
  other.by = agent;
  other.registers();
  EXPECT_FALSE(other.is_connected()) << "a stolen name";
  TestScheduler& framework = s.scheduler("web");
  framework.by = agent;
  framework.subscribes();
  EXPECT_FALSE(framework.is_connected());
  EXPECT_THAT(s.calls(DrainAgent{.by = agent, .agent = AgentId("a1")}),
              HasSubstr("the key of agent 'a1' may not drain an agent"));

  TestAgent& own = s.agent("a1");
  own.by = agent;
  own.registers();
  EXPECT_TRUE(own.is_connected());
}

// The agent runs as root on its machine, but is not a user of a framework that serves users.
TEST(Keys, AnAgentsKeyAsksNoFrameworkForTasksOfItsUser) {
  MasterScenario s;
  s.registered_agent("a1");
  TestScheduler& service = s.scheduler("service");
  service.subscribe.serves_users = true;
  service.subscribes();
  joined(s, key('k'), KeyKind::kAgent, "a2");
  const uint64_t call = s.request("service", "r1", "", seconds(30), holder(s, key('k')));
  EXPECT_THAT(s.answer_to(call).value_or("none"),
              HasSubstr("the key of agent 'a2' may not send a request"));
  EXPECT_TRUE(service.take<proto::FrameworkRequest>().empty());
}

TEST(Keys, ATokenMayOnlyJoin) {
  MasterScenario s;
  ASSERT_EQ(token(s, key('t'), KeyKind::kAgent, "a1"), "done");
  const PrincipalPtr thief = holder(s, key('t'));
  TestAgent& agent = s.agent("a1");
  agent.by = thief;
  agent.registers();
  EXPECT_FALSE(agent.is_connected());
  TestScheduler& framework = s.scheduler("web");
  framework.by = thief;
  framework.subscribes();
  EXPECT_FALSE(framework.is_connected());
  const Result<void> called =
      check_method({}, thief.get(), {.name = "status", .callers = {Caller::kOperator}});
  ASSERT_FALSE(called);
  EXPECT_EQ(called.error().message(), "a join token may not call 'status'");
  EXPECT_TRUE(check_method({}, thief.get(), {.name = "join", .callers = {Caller::kJoinToken}}));
}

// Only operators see the keys of others and unused tokens.
TEST(Keys, AUserSeesItsOwnKeysAndOperatorsSeeAll) {
  MasterScenario s;
  joined(s, key('a'), KeyKind::kUser, "bob");
  joined(s, key('b'), KeyKind::kUser, "eve");
  joined(s, key('c'), KeyKind::kAgent, "bob");
  ASSERT_EQ(token(s, key('d'), KeyKind::kUser, "bob"), "done");
  const auto seen_by = [&](const Principal& by) {
    std::string letters;
    for (const KnownKey& known : s.master->keys(&by)) letters += known.key.str().front();
    return letters;
  };
  EXPECT_EQ(seen_by({.user = "root", .uid = 0}), "abcd");
  EXPECT_EQ(seen_by({.user = "bob", .uid = 1002}), "ad");
  EXPECT_EQ(seen_by({.user = "bob", .uid = kNoUid, .key = key('a')}), "ad");
  EXPECT_EQ(seen_by({.user = "", .uid = 1003}), "");
  EXPECT_EQ(seen_by(*holder(s, key('c'))), "") << "the key of an agent, as root of its machine";
  EXPECT_EQ(seen_by(*holder(s, key('d'))), "") << "a token";
  EXPECT_TRUE(s.master->keys(nullptr).empty());
}

// Revoking a key ends its sessions, with the reason; sessions of other keys continue.
TEST(Keys, RevokingEndsSessionsAtOnce) {
  MasterScenario s;
  joined(s, key('k'), KeyKind::kAgent, "a1");
  joined(s, key('m'), KeyKind::kAgent, "a2");
  TestAgent& a1 = s.agent("a1");
  a1.by = holder(s, key('k'));
  a1.registers();
  TestAgent& a2 = s.agent("a2");
  a2.by = holder(s, key('m'));
  a2.registers();
  ASSERT_TRUE(a1.is_connected());

  EXPECT_EQ(s.calls(RevokeKey{.key = "kkk"}), "done");
  EXPECT_FALSE(a1.is_connected());
  EXPECT_TRUE(a2.is_connected());
  const auto* error = std::get_if<proto::ErrorMessage>(&a1.inbox.back());
  ASSERT_NE(error, nullptr);
  EXPECT_THAT(error->message, HasSubstr("was revoked by user 'ada'"));
  EXPECT_EQ(s.master->find_key(key('k'), s.now), nullptr);
  EXPECT_THAT(s.calls(RevokeKey{.key = "kkk"}), HasSubstr("no key begins with 'kkk'"));
}

TEST(Keys, AllOfANameAreRevokedTogetherAlsoItsTokens) {
  MasterScenario s;
  joined(s, key('k'), KeyKind::kUser, "bob");
  joined(s, key('m'), KeyKind::kUser, "bob");
  joined(s, key('n'), KeyKind::kAgent, "bob");
  ASSERT_EQ(token(s, key('o'), KeyKind::kUser, "bob"), "done");
  EXPECT_EQ(s.calls(RevokeKey{.kind = KeyKind::kUser, .name = "bob"}), "done");
  ASSERT_EQ(s.master->keys(user_with_all_rights().get()).size(), 1u);
  EXPECT_EQ(s.master->keys(user_with_all_rights().get()).front().key, key('n'));
  EXPECT_THAT(s.calls(RevokeKey{.kind = KeyKind::kUser, .name = "bob"}),
              HasSubstr("user 'bob' has no keys"));
}

// After a reinstallation, the machine's old key no longer works.
TEST(Keys, AnAgentThatJoinsAgainLosesItsOlderKey) {
  MasterScenario s;
  joined(s, key('k'), KeyKind::kAgent, "a1");
  TestAgent& old = s.agent("a1");
  old.by = holder(s, key('k'));
  old.registers();
  joined(s, key('m'), KeyKind::kAgent, "a1");
  EXPECT_FALSE(old.is_connected());
  EXPECT_EQ(s.master->find_key(key('k'), s.now), nullptr);
  EXPECT_NE(s.master->find_key(key('m'), s.now), nullptr);
}

// --- successors ----------------------------------------------------------------------------------

bool is_known(const MasterScenario& s, const PublicKey& of) {
  return s.master->find_key(of, s.now) != nullptr;
}

TEST(Rotation, BothKeysAreGoodUntilTheSuccessorIsFirstUsed) {
  MasterScenario s;
  joined(s, key('k'), KeyKind::kAgent, "a1");
  TestAgent& agent = s.agent("a1");
  agent.by = holder(s, key('k'));
  agent.registers();
  ASSERT_EQ(s.calls(RotateKey{.by = holder(s, key('k')), .key = key('m')}), "done");

  const KnownKey successor = *s.master->find_key(key('m'), s.now);
  EXPECT_EQ(successor.name, "a1");
  EXPECT_EQ(successor.kind, KeyKind::kAgent);
  EXPECT_EQ(successor.runs_as, "root");
  EXPECT_EQ(successor.replaces, key('k'));
  s.step(KeyUsed{key('k')});
  EXPECT_TRUE(is_known(s, key('k')));
  EXPECT_TRUE(agent.is_connected());

  s.restart_master();
  agent.registers();
  s.step(KeyUsed{key('m')});
  EXPECT_FALSE(is_known(s, key('k')));
  EXPECT_EQ(s.master->find_key(key('m'), s.now)->replaces, PublicKey());
  EXPECT_FALSE(agent.is_connected());
  const auto* error = std::get_if<proto::ErrorMessage>(&agent.inbox.back());
  ASSERT_NE(error, nullptr);
  EXPECT_TRUE(error->retry) << "it comes again, with its new key";
  EXPECT_THAT(error->message, HasSubstr("replaced by its successor"));
  agent.by = holder(s, key('m'));
  agent.registers();
  EXPECT_TRUE(agent.is_connected());
  s.step(KeyUsed{key('m')});
  EXPECT_TRUE(agent.is_connected());
}

// The answer may have been lost, or the holder was killed before it stored the key.
TEST(Rotation, IsAskedAgainWithTheSameKeyOrAnother) {
  MasterScenario s;
  joined(s, key('k'), KeyKind::kUser, "bob");
  const PrincipalPtr bob = holder(s, key('k'));
  ASSERT_EQ(s.calls(RotateKey{.by = bob, .key = key('m')}), "done");
  EXPECT_EQ(s.calls(RotateKey{.by = bob, .key = key('m')}), "done");
  EXPECT_EQ(s.calls(RotateKey{.by = bob, .key = key('n')}), "done");
  EXPECT_EQ(s.master->keys(user_with_all_rights().get()).size(), 2u) << "one successor at a time";
  EXPECT_FALSE(is_known(s, key('m')));
  s.step(KeyUsed{key('n')});
  EXPECT_EQ(s.master->keys(user_with_all_rights().get()).size(), 1u);
  // The next rotation needs the current key.
  EXPECT_THAT(s.calls(RotateKey{.by = bob, .key = key('o')}), HasSubstr("was revoked"));
  EXPECT_EQ(s.calls(RotateKey{.by = holder(s, key('n')), .key = key('o')}), "done");
}

TEST(Rotation, IsForHoldersOfKeysOfTheirOwn) {
  MasterScenario s;
  joined(s, key('k'), KeyKind::kUser, "bob");
  joined(s, key('l'), KeyKind::kUser, "eve");
  const PrincipalPtr bob = holder(s, key('k'));
  ASSERT_EQ(token(s, key('t'), KeyKind::kUser, "ada"), "done");
  EXPECT_THAT(s.calls(RotateKey{.key = key('m')}), HasSubstr("used no key"));
  EXPECT_THAT(s.calls(RotateKey{.by = holder(s, key('t')), .key = key('m')}),
              HasSubstr("a join token may not rotate its key"));
  for (const char taken : {'k', 'l', 't'}) {
    EXPECT_THAT(s.calls(RotateKey{.by = bob, .key = key(taken)}), HasSubstr("already registered"));
  }
  EXPECT_THAT(s.calls(RotateKey{.by = bob, .key = PublicKey("short")}), HasSubstr("40 characters"));
  ASSERT_EQ(s.calls(RotateKey{.by = bob, .key = key('m')}), "done");
  EXPECT_THAT(s.calls(RotateKey{.by = holder(s, key('l')), .key = key('m')}),
              HasSubstr("already registered"))
      << "another's successor";
}

// A thief that has registered a successor loses it too.
TEST(Rotation, RevokingAKeyRevokesItsSuccessorToo) {
  MasterScenario s;
  joined(s, key('k'), KeyKind::kUser, "bob");
  ASSERT_EQ(s.calls(RotateKey{.by = holder(s, key('k')), .key = key('m')}), "done");
  EXPECT_EQ(s.calls(RevokeKey{.key = "kkk"}), "done");
  EXPECT_TRUE(s.master->keys(user_with_all_rights().get()).empty());
  s.step(KeyUsed{key('m')});
  EXPECT_TRUE(s.master->keys(user_with_all_rights().get()).empty());
}

TEST(Rotation, ASuccessorIsRevokedAlone) {
  MasterScenario s;
  joined(s, key('k'), KeyKind::kUser, "bob");
  ASSERT_EQ(s.calls(RotateKey{.by = holder(s, key('k')), .key = key('m')}), "done");
  EXPECT_EQ(s.calls(RevokeKey{.key = "mmm"}), "done");
  EXPECT_TRUE(is_known(s, key('k')));
}

// A user has the same rights with a key as on a local connection. A name alone never makes an
// operator.
TEST(Keys, AUsersKeyGivesTheRightsOfThatUser) {
  MasterScenario s;
  s.registered_agent("a1");
  joined(s, key('k'), KeyKind::kUser, "bob");
  TestScheduler& framework = s.scheduler("web");
  framework.by = holder(s, key('k'));
  framework.subscribes();
  ASSERT_TRUE(framework.is_connected());
  EXPECT_EQ(s.master->frameworks().at(0).user, "bob");
  const auto local = std::make_shared<Principal>(Principal{.user = "bob", .uid = 1'002});
  EXPECT_EQ(s.calls(TearDownFramework{.by = local, .framework = "web"}), "done");
}

TEST(Keys, KeysAndTokensOutliveTheMaster) {
  MasterScenario s;
  joined(s, key('k'), KeyKind::kAgent, "a1");
  ASSERT_EQ(token(s, key('o'), KeyKind::kUser, "bob"), "done");
  const std::vector<KnownKey> before = s.master->keys(user_with_all_rights().get());
  s.restart_master();
  EXPECT_EQ(s.master->keys(user_with_all_rights().get()), before);
  EXPECT_EQ(s.calls(JoinCluster{.by = holder(s, key('o')), .key = key('m')}), "done");
}

}  // namespace
}  // namespace proffer::master::keys_test
