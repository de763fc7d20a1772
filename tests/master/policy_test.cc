// The table of permissions, and that the master's core checks it.

#include "master/core/policy.h"

#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/master/cluster.h"

namespace proffer::master::policy_test {
namespace {

using testing::HasSubstr;

PrincipalPtr user(const std::string& name, uint32_t uid, std::vector<uint32_t> groups = {}) {
  return std::make_shared<Principal>(
      Principal{.user = name, .uid = uid, .groups = std::move(groups)});
}

TEST(Policy, IsOneTable) {
  const PolicyOptions options{.master_uid = 900, .operators_group = 50, .agent_uids = {901}};
  const PrincipalPtr root = user("root", 0);
  const PrincipalPtr master = user("proffer", 900);
  const PrincipalPtr operator_ = user("olga", 1000, {1000, 50});
  const PrincipalPtr agent = user("agent", 901);
  const PrincipalPtr owner = user("ada", 1001, {1001});
  const PrincipalPtr other = user("bob", 1002, {1002});
  const struct {
    Action action;
    std::vector<PrincipalPtr> may_not;
  } rows[] = {
      {Action::kSubscribe, {nullptr}},
      {Action::kResume, {agent, other, nullptr}},
      {Action::kCallFramework, {agent, other, nullptr}},
      {Action::kKillTask, {agent, other, nullptr}},
      {Action::kTearDown, {agent, other, nullptr}},
      {Action::kRegisterAgent, {owner, other, nullptr}},
      {Action::kDrainAgent, {agent, owner, other, nullptr}},
      {Action::kSetRole, {agent, owner, other, nullptr}},
      {Action::kReserve, {agent, owner, other, nullptr}},
      {Action::kSeeTask, {agent, other, nullptr}},
      {Action::kServeUsers, {agent, owner, other, nullptr}},
      {Action::kManageKeys, {agent, owner, other, nullptr}},
      {Action::kJoin, {root, master, operator_, agent, owner, other, nullptr}},
      {Action::kDeclareGone, {agent, owner, other, nullptr}},
      {Action::kLiftBrake, {agent, owner, other, nullptr}},
      {Action::kStandBy, {operator_, agent, owner, other, nullptr}},
      {Action::kRotateKey, {nullptr}},
      {Action::kSetSecret, {nullptr}},
      {Action::kRemoveSecret, {agent, other, nullptr}},
  };
  ASSERT_EQ(std::size(rows), kActionCount);
  for (const auto& [action, may_not] : rows) {
    for (const PrincipalPtr& by : {root, master, operator_, agent, owner, other, PrincipalPtr()}) {
      const Result<void> may = check_permission(options, by.get(), action, "ada");
      const bool expected = std::find(may_not.begin(), may_not.end(), by) == may_not.end();
      EXPECT_EQ(may.has_value(), expected)
          << to_text(action) << " by " << (by == nullptr ? "nobody" : by->user);
      EXPECT_TRUE(may || may.error().code() == ErrorCode::kPermissionDenied);
    }
  }
}

PrincipalPtr by_key(Principal principal) {
  principal.key = PublicKey(std::string(kPublicKeyBytes, 'k'));
  return std::make_shared<Principal>(std::move(principal));
}

TEST(Callers, APrincipalIsOfOneKind) {
  const PolicyOptions options{.master_uid = 900, .operators_group = 50, .agent_uids = {901}};
  const struct {
    PrincipalPtr by;
    Caller caller;
  } rows[] = {
      {user("root", 0), Caller::kOperator},
      {user("proffer", 900), Caller::kOperator},
      {user("olga", 1000, {1000, 50}), Caller::kOperator},
      {by_key({.user = "olga", .uid = 1000, .groups = {50}}), Caller::kOperator},
      {user("agent", 901), Caller::kUser},
      {user("ada", 1001), Caller::kUser},
      {user("", 1003), Caller::kUser},
      {by_key({.user = "ada", .uid = 1001}), Caller::kJoinedUser},
      {by_key({.user = "zelda", .uid = kNoUid}), Caller::kJoinedUser},
      {by_key({.user = "root", .uid = 0, .groups = {50}, .agent = AgentId("a1")}),
       Caller::kAgentKey},
      {by_key({.user = "root", .uid = 0, .may_only_join = true}), Caller::kJoinToken},
      {by_key({.user = "a1", .uid = 0, .agent = AgentId("a1"), .may_only_join = true}),
       Caller::kJoinToken},
      {by_key({.user = "master", .uid = 0, .is_master = true}), Caller::kMasterKey},
      {nullptr, Caller::kUnknown},
  };
  std::set<Caller> seen;
  for (const auto& [by, caller] : rows) {
    EXPECT_EQ(caller_of(options, by.get()), caller) << audit_name(by.get());
    seen.insert(caller);
  }
  EXPECT_EQ(seen.size(), kCallerCount) << "a kind without a row";
}

// The refusal names each kind of caller, and the methods that it may use instead.
TEST(Callers, AMethodIsForTheKindsThatItNamesAndForNoOther) {
  const PolicyOptions options{.master_uid = 900};
  const std::map<Caller, PrincipalPtr> one_of = {
      {Caller::kOperator, user("root", 0)},
      {Caller::kUser, user("ada", 1001)},
      {Caller::kJoinedUser, by_key({.user = "ada", .uid = 1001})},
      {Caller::kAgentKey, by_key({.user = "root", .agent = AgentId("a1")})},
      {Caller::kJoinToken, by_key({.may_only_join = true})},
      {Caller::kMasterKey, by_key({.is_master = true})},
      {Caller::kUnknown, nullptr},
  };
  for (const Caller named : kCallers) {
    for (const auto& [caller, by] : one_of) {
      const Result<void> may =
          check_method(options, by.get(), {.name = "look", .callers = {named}});
      EXPECT_EQ(may.has_value(), caller == named) << to_text(caller) << " of " << to_text(named);
      if (may) continue;
      EXPECT_EQ(may.error().code(), ErrorCode::kPermissionDenied);
      EXPECT_THAT(may.error().message(), HasSubstr("may not call 'look'"));
      EXPECT_NE(may.error().hint(), "");
    }
  }
  const Result<void> drain = check_method(
      options, one_of.at(Caller::kUser).get(),
      {.name = "drain", .callers = {Caller::kOperator}, .action = Action::kDrainAgent});
  ASSERT_FALSE(drain);
  EXPECT_EQ(drain.error().message(), "user 'ada' may not drain an agent");
}

// This holds even if the agent runs as root on its machine, or if the token is for root.
TEST(Policy, KeysOfAgentsTokensAndMastersAreForTheirOwnThingsOnly) {
  const PolicyOptions options{.master_uid = 900, .operators_group = 50, .agent_uids = {0}};
  Principal agent{.user = "root", .uid = 0, .groups = {50}, .agent = AgentId("a1")};
  Principal token{.user = "root", .uid = 0, .groups = {50}};
  token.may_only_join = true;
  Principal master{.user = "root", .uid = 0, .groups = {50}};
  master.is_master = true;
  EXPECT_FALSE(is_operator(options, master));
  EXPECT_FALSE(is_operator(options, agent));
  EXPECT_FALSE(is_operator(options, token));
  for (size_t at = 0; at < kActionCount; ++at) {
    const auto action = static_cast<Action>(at);
    for (const char* of : {"root", "a1", "a2", ""}) {
      EXPECT_EQ(check_permission(options, &agent, action, of).has_value(),
                (action == Action::kRegisterAgent && of == std::string("a1")) ||
                    action == Action::kRotateKey)
          << to_text(action) << " of " << of;
      EXPECT_EQ(check_permission(options, &token, action, of).has_value(), action == Action::kJoin)
          << to_text(action) << " of " << of;
      EXPECT_EQ(check_permission(options, &master, action, of).has_value(),
                action == Action::kStandBy)
          << to_text(action) << " of " << of;
    }
  }
}

TEST(Policy, FramesOfThoseThatRunTheMasterAndOfTheUnprovenAreNotShed) {
  const PolicyOptions options{.master_uid = 900};
  EXPECT_FALSE(may_be_shed(options, user("root", 0).get()));
  EXPECT_FALSE(may_be_shed(options, user("proffer", 900).get()));
  EXPECT_TRUE(may_be_shed(options, user("ann", 1001).get()));
  EXPECT_TRUE(may_be_shed(options, nullptr));
  Principal unproven = *user("ann", 1001);
  unproven.is_unproven = true;
  EXPECT_FALSE(may_be_shed(options, &unproven));
  Principal beyond_the_host = *user("root", 0);
  beyond_the_host.key = PublicKey(std::string(40, 'k'));
  EXPECT_TRUE(may_be_shed(options, &beyond_the_host));
}

// As for tasks of a framework that the master no longer knows.
TEST(Policy, WhatHasNoKnownOwnerIsTheOperators) {
  const PolicyOptions options{.master_uid = 900};
  for (const Action action : {Action::kResume, Action::kCallFramework, Action::kKillTask,
                              Action::kTearDown, Action::kSeeTask}) {
    EXPECT_FALSE(check_permission(options, user("bob", 1002).get(), action, "")) << to_text(action);
    EXPECT_FALSE(check_permission(options, user("", 1003).get(), action, "")) << to_text(action);
    EXPECT_TRUE(check_permission(options, user("proffer", 900).get(), action, ""));
  }
}

// Names and amounts are public; commands, and the message at a task's end, are not.
TEST(Policy, OthersSeeATaskWithoutItsCommandAndMessage) {
  MasterScenario s;
  s.registered_agent("a1");
  TestScheduler& f = s.subscribed("web");
  f.asks("cpus:1;mem:64", 2);
  s.settle();
  proto::TaskSpec runs = TestScheduler::spec("runs", "cpus:1;mem:64");
  runs.command = "curl -u ada:secret";
  proto::TaskSpec refused = TestScheduler::spec("refused", "cpus:99;mem:64");
  refused.command = "curl -u ada:secret";
  f.accepts({f.offers.front()}, {runs, refused});
  s.settle();

  const proto::TaskQuery all{.ended = true};
  const PrincipalPtr ada = user("ada", 1001);
  const PrincipalPtr root = user("root", 0);
  for (const PrincipalPtr& by : {ada, root}) {
    const std::vector<proto::TaskRow> rows = s.master->tasks(all, by.get());
    ASSERT_EQ(rows.size(), 2u);
    for (const proto::TaskRow& row : rows) EXPECT_EQ(row.command, "curl -u ada:secret");
    EXPECT_NE(rows.at(0).message, "");
    EXPECT_THAT(s.master->explain_task("web/refused", by.get())->answer,
                HasSubstr(rows.at(0).message));
    EXPECT_EQ(s.master->explain("web", by.get())->refusals.message, rows.at(0).message);
  }
  const PrincipalPtr bob = user("bob", 1002);
  for (const PrincipalPtr& by : {bob, PrincipalPtr()}) {
    const std::vector<proto::TaskRow> rows = s.master->tasks(all, by.get());
    ASSERT_EQ(rows.size(), 2u);
    for (const proto::TaskRow& row : rows) {
      EXPECT_EQ(row.command, "");
      EXPECT_EQ(row.message, "");
      EXPECT_EQ(row.user, "ada");
      const auto explained = s.master->explain_task(text("web/", row.task.str()), by.get());
      ASSERT_TRUE(explained);
      EXPECT_EQ(explained->row.command, "");
      EXPECT_EQ(explained->row.message, "");
    }
    const auto of_framework = s.master->explain("web", by.get());
    EXPECT_EQ(of_framework->refusals.count, 1);
    EXPECT_EQ(of_framework->refusals.message, "");
    EXPECT_EQ(rows.at(1).resources.amounts, ResourceVector::of(1'000, 64'000));
  }
}

TEST(Policy, OthersDoNothingToAFrameworkOrTheCluster) {
  MasterScenario s;
  s.registered_agent("a1");
  TestScheduler& f = s.subscribed("web");
  f.asks("cpus:1;mem:64", 1);
  s.settle();
  ASSERT_EQ(s.master->frameworks().at(0).user, "ada");
  ASSERT_EQ(f.offers.size(), 1u);
  f.accepts({f.offers.front()}, {TestScheduler::spec("t1", "cpus:1;mem:64")});
  s.settle();

  const PrincipalPtr bob = user("bob", 1002);
  EXPECT_THAT(s.calls(OperatorKill{.by = bob, .task = "t1"}),
              HasSubstr("user 'bob' may not kill a task of another user"));
  EXPECT_THAT(s.calls(TearDownFramework{.by = bob, .framework = "web"}),
              HasSubstr("user 'bob' may not tear down a framework of another user"));
  EXPECT_THAT(s.calls(DrainAgent{.by = bob, .agent = AgentId("a1")}),
              HasSubstr("may not drain an agent"));
  EXPECT_THAT(s.calls(UndrainAgent{.by = bob, .agent = AgentId("a1")}),
              HasSubstr("may not drain an agent"));
  EXPECT_THAT(s.calls(SetRole{.by = bob, .role = RoleName("eng"), .weight = 2000}),
              HasSubstr("may not change a role"));
  EXPECT_THAT(s.calls(ReserveForRole{.by = bob, .agent = AgentId("a1"), .role = RoleName("eng")}),
              HasSubstr("may not reserve resources"));
  EXPECT_THAT(
      s.calls(FrameworkCall{.framework = "web", .id = "r1", .by = bob, .timeout = seconds(1)}),
      HasSubstr("may not send a request to a framework of another user"));
  EXPECT_EQ(s.traced("audit: refused"), 7);

  TestAgent& forged = s.agent("a2", "cpus:4;mem:4096");
  forged.by = bob;
  forged.registers();
  s.settle();
  EXPECT_TRUE(forged.was_dropped());
  EXPECT_EQ(s.master->agents().size(), 1u);
  EXPECT_EQ(s.traced("audit: refused"), 8);

  TestScheduler& foreign = s.scheduler("mine");
  foreign.by = nullptr;
  foreign.subscribes();
  s.settle();
  EXPECT_TRUE(foreign.was_dropped());
  EXPECT_EQ(s.master->frameworks().size(), 1u);
  EXPECT_EQ(s.traced("audit: refused"), 9);

  EXPECT_EQ(s.calls(OperatorKill{.task = "t1"}), "done");
}

TEST(Policy, TasksRunAsTheUserOfTheirFramework) {
  MasterScenario s;
  TestAgent& a1 = s.registered_agent("a1");
  TestScheduler& f = s.scheduler("mine");
  f.by = user("bob", 1002);
  f.subscribes();
  f.asks("cpus:1;mem:64", 1);
  s.settle();
  ASSERT_EQ(f.offers.size(), 1u);
  f.accepts({f.offers.front()}, {TestScheduler::spec("t1", "cpus:1;mem:64")});
  s.settle();
  EXPECT_EQ(a1.take_one<proto::RunTask>().assignment.user, "bob");
}

// The agent would refuse its tasks one by one.
TEST(Policy, NobodyElseBeginsAFrameworkWhereAnAgentIsNotRoot) {
  MasterOptions options;
  options.policy.agent_uids = {900};
  MasterScenario s(options);
  TestAgent& own = s.agent("a1", "cpus:4;mem:4096");
  own.by = user("olga", 900);
  own.registers();
  s.settle();
  for (const auto& [name, uid, may] : {std::tuple("bob", 1002, false), std::tuple("root", 0, false),
                                       std::tuple("olga", 900, true)}) {
    TestScheduler& f = s.scheduler(name);
    f.by = user(name, static_cast<uint32_t>(uid));
    f.subscribes();
    s.settle();
    EXPECT_EQ(f.is_connected(), may) << name;
  }
}

// A TCP peer gets the rights of the master's user; an agent that runs as root would make it root.
TEST(Policy, NoFrameworkBeginsOverTcpBesideAnAgentThatIsRoot) {
  for (const bool agent_is_unproven : {true, false}) {
    MasterScenario s;
    const PrincipalPtr proven = user("root", 0);
    Principal tcp = *proven;
    tcp.is_unproven = true;
    TestAgent& a1 = s.agent("a1", "cpus:4;mem:4096");
    a1.by = agent_is_unproven ? std::make_shared<Principal>(tcp) : proven;
    a1.registers();
    s.settle();
    TestScheduler& f = s.scheduler("f");
    f.by = std::make_shared<Principal>(tcp);
    f.subscribes();
    s.settle();
    EXPECT_EQ(f.is_connected(), agent_is_unproven);
  }
}

// Both may use roles below `eng`, only ada those below `eng/ads`; operators may use all.
TEST(Policy, ARoleWithUsersIsForTheseUsers) {
  MasterScenario s;
  EXPECT_EQ(s.calls(SetRole{.role = RoleName("eng"), .users = {{"ada", "bob"}}}), "done");
  EXPECT_EQ(s.calls(SetRole{.role = RoleName("eng/ads"), .users = {{"ada"}}}), "done");
  s.restart_master();
  EXPECT_EQ(s.role_row("eng").users, (std::vector<std::string>{"ada", "bob"}));
  s.registered_agent("a1");
  const struct {
    std::string user;
    std::string role;
    bool may;
  } rows[] = {{"ada", "eng", true},        {"bob", "eng", true},     {"eve", "eng", false},
              {"bob", "eng/ads", false},   {"ada", "eng/ads", true}, {"ada", "eng/ads/x", true},
              {"bob", "eng/ads/x", false}, {"bob", "eng/x", true},   {"eve", "eng/x", false},
              {"eve", "engine", true},     {"root", "eng/ads", true}};
  for (const auto& [name, role, may] : rows) {
    TestScheduler& f = s.scheduler(text(name, "-", split(role, '/').size()));
    f.subscribe.role = RoleName(role);
    f.by = user(name, name == "root" ? 0 : 1002);
    f.subscribes();
    s.settle();
    EXPECT_EQ(f.is_connected(), may) << name << " in " << role;
  }
  EXPECT_EQ(s.traced("audit: refused"), 4);

  // An ask in a role below the framework's own role is checked too.
  TestScheduler& f = s.scheduler("wide");
  f.subscribe.role = RoleName("eng");
  f.by = user("bob", 1002);
  f.subscribes();
  s.settle();
  Ask ask{.name = AskName("t"), .shape = *parse_shape("cpus:1;mem:64"), .count = 1};
  ask.role = RoleName("eng/ads");
  f.sends(proto::DeclareAsks{.generation = 1, .asks = {ask}});
  s.settle();
  EXPECT_TRUE(f.offers.empty());
  const proto::AskReport report = f.take_one<proto::AskReport>();
  ASSERT_EQ(report.rows.size(), 1u);
  EXPECT_FALSE(report.rows[0].could_ever_fit);
  EXPECT_THAT(report.rows[0].why, HasSubstr("may not use role 'eng/ads'"));

  // An empty list permits all users again. Other settings keep the list.
  EXPECT_EQ(s.calls(SetRole{.role = RoleName("eng"), .weight = 2'000}), "done");
  EXPECT_EQ(s.role_row("eng").users.size(), 2u);
  EXPECT_EQ(s.calls(SetRole{.role = RoleName("eng/ads"), .users = {{}}}), "done");
  EXPECT_TRUE(s.role_row("eng/ads").users.empty());
  EXPECT_THAT(s.calls(SetRole{.role = RoleName("eng"), .users = {{"a", ""}}}),
              HasSubstr("is a name of 1 to"));
}

// An operator may take over another user's framework; its tasks keep their user.
TEST(Policy, AFrameworkKeepsItsUser) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("web");
  f.by = user("root", 0);
  f.subscribes();
  s.settle();
  EXPECT_TRUE(f.is_connected());
  EXPECT_EQ(s.master->frameworks().at(0).user, "ada");
}

// A stolen id and secret do not help another user.
TEST(Policy, AFrameworkGoesOnOnlyForItsUser) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("web");
  const PrincipalPtr owner = f.by;
  f.by = user("bob", 1002);
  f.subscribes();
  s.settle();
  EXPECT_TRUE(f.was_dropped());
  f.by = owner;
  f.subscribes();
  s.settle();
  EXPECT_TRUE(f.is_connected());
}

}  // namespace
}  // namespace proffer::master::policy_test
