// A framework that serves users: its tasks run as the users that sent it requests.

#include "tests/master/cluster.h"

namespace proffer::master::serves_users_test {
namespace {

using testing::HasSubstr;

PrincipalPtr user(const std::string& name, uint32_t uid) {
  return std::make_shared<Principal>(Principal{.user = name, .uid = uid});
}

class ServesUsers : public testing::Test {
 protected:
  ServesUsers() {
    service.subscribe.serves_users = true;
    service.subscribes();
    s.settle();
    service.asks("cpus:1;mem:64", 4);
    s.settle();
  }
  // "yes" if the request is relayed, else the reason.
  std::string asks(const PrincipalPtr& by, const std::string& role = "") {
    const uint64_t call =
        s.request("service", text("r", ++requests_), "", seconds(30), by, RoleName(role));
    for (const auto& heard : service.take<proto::FrameworkRequest>()) {
      heard_ = heard;
      service.sends(proto::FrameworkResponse{.relay = heard.relay, .data = "yes"});
    }
    return s.answer_to(call).value_or("none yet");
  }
  void launches(const std::string& id, const std::string& as) {
    ASSERT_FALSE(service.offers.empty());
    proto::TaskSpec task = TestScheduler::spec(id, "cpus:1;mem:64");
    task.user = as;
    service.accepts({service.offers.front()}, {task});
    s.settle();
  }
  std::string user_of(const std::string& task) {
    const auto row = s.task(service.id, task);
    return row ? row->user : "no such task";
  }

  MasterScenario s;
  TestAgent& a1 = s.registered_agent("a1");
  TestScheduler& service = s.scheduler("service");
  const PrincipalPtr bob = user("bob", 1002);
  const PrincipalPtr eve = user("eve", 1003);
  proto::FrameworkRequest heard_ = {};
  int requests_ = 0;
};

TEST_F(ServesUsers, ItsTasksRunAsThoseThatAskedAndAsNobodyElse) {
  EXPECT_EQ(asks(bob), "yes");
  EXPECT_EQ(heard_.principal, "bob");
  EXPECT_FALSE(heard_.is_operator);
  launches("t1", "bob");
  EXPECT_EQ(a1.take_one<proto::RunTask>().assignment.user, "bob");
  EXPECT_EQ(user_of("t1"), "bob");
  launches("t2", "");
  EXPECT_EQ(a1.take_one<proto::RunTask>().assignment.user, "ada");

  launches("t3", "eve");
  EXPECT_TRUE(a1.take<proto::RunTask>().empty());
  const auto row = s.task(service.id, "t3");
  ASSERT_TRUE(row);
  EXPECT_EQ(row->reason, proto::TaskReason::kTaskInvalid);
  EXPECT_THAT(row->message, HasSubstr("may not run tasks as 'eve'"));
}

TEST_F(ServesUsers, ARequestNamesARoleThatItsUserMayUse) {
  const std::string own = service.subscribe.role.str();
  s.calls(SetRole{.role = RoleName(own + "/eng"), .users = std::vector<std::string>{"bob"}});
  EXPECT_EQ(asks(bob, own + "/eng"), "yes");
  EXPECT_EQ(heard_.role, RoleName(own + "/eng"));
  EXPECT_THAT(asks(eve, own + "/eng"), HasSubstr("may not use role"));
  EXPECT_THAT(asks(bob, "elsewhere"), HasSubstr("cannot charge"));
  EXPECT_EQ(asks(eve), "yes");
  EXPECT_EQ(heard_.role, RoleName());
}

TEST_F(ServesUsers, AnOperatorIsToldAsOne) {
  EXPECT_EQ(asks(nullptr), "yes");
  EXPECT_TRUE(heard_.is_operator);
}

TEST_F(ServesUsers, AfterARestartOfTheMasterToo) {
  EXPECT_EQ(asks(bob), "yes");
  launches("t1", "bob");
  s.restart_master();
  a1.registers();
  service.subscribes();
  s.settle();
  EXPECT_EQ(user_of("t1"), "bob");
  a1.take<proto::RunTask>();
  service.asks("cpus:1;mem:64", 4);
  s.settle();
  launches("t2", "bob");
  EXPECT_EQ(a1.take_one<proto::RunTask>().assignment.user, "bob");
}

TEST_F(ServesUsers, ATaskIsItsUsersToKillAndToSee) {
  asks(bob);
  launches("t1", "bob");
  launches("t2", "");
  const proto::TaskQuery all{.ended = true};
  for (const proto::TaskRow& row : s.master->tasks(all, bob.get())) {
    EXPECT_EQ(row.command.empty(), row.task != TaskId("t1"));
  }
  EXPECT_THAT(s.calls(OperatorKill{.by = eve, .task = "t1"}), HasSubstr("may not kill"));
  EXPECT_THAT(s.calls(OperatorKill{.by = bob, .task = "t2"}), HasSubstr("may not kill"));
  EXPECT_THAT(s.calls(OperatorKill{.by = bob, .framework = service.id.str()}),
              HasSubstr("may not kill"));
  EXPECT_EQ(s.calls(OperatorKill{.by = bob, .task = "t1"}), "done");
}

TEST_F(ServesUsers, OnlyOperatorsBeginOne) {
  TestScheduler& forged = s.scheduler("forged");
  forged.by = eve;
  forged.subscribe.serves_users = true;
  forged.subscribes();
  s.settle();
  EXPECT_TRUE(forged.was_dropped());
  // A framework that resumes its session cannot become one that serves users either.
  TestScheduler& own = s.scheduler("own");
  own.by = eve;
  own.subscribes();
  s.settle();
  ASSERT_TRUE(own.is_connected());
  own.subscribe.serves_users = true;
  own.subscribes();
  s.settle();
  EXPECT_TRUE(own.was_dropped());
}

TEST_F(ServesUsers, AnotherFrameworkOfItsNameHidesItFromNobody) {
  TestScheduler& forged = s.scheduler("service");
  forged.by = eve;
  forged.subscribes();
  s.settle();
  ASSERT_TRUE(forged.is_connected());
  EXPECT_EQ(asks(bob), "yes");
  EXPECT_TRUE(forged.take<proto::FrameworkRequest>().empty());
}

TEST_F(ServesUsers, ThoseThatMayUseItsRole) {
  EXPECT_EQ(s.calls(SetRole{.role = RoleName("default"), .users = {{"bob"}}}), "done");
  EXPECT_EQ(asks(bob), "yes");
  EXPECT_THAT(asks(eve), HasSubstr("user 'eve' may not use role 'default'"));
}

// A framework that no longer serves users may run tasks only as its own user.
TEST_F(ServesUsers, OnlyWhileItSaysSo) {
  asks(bob);
  service.subscribe.serves_users = false;
  service.subscribes();
  s.settle();
  service.asks("cpus:1;mem:64", 4);
  s.settle();
  launches("t1", "bob");
  EXPECT_TRUE(a1.take<proto::RunTask>().empty());
  EXPECT_THAT(asks(bob), HasSubstr("may not send a request to a framework of another user"));
}

TEST(AFramework, ThatServesNobodyRunsTasksAsItsOwnUserOnly) {
  MasterScenario s;
  TestAgent& a1 = s.registered_agent("a1");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1;mem:64", 2);
  s.settle();
  ASSERT_EQ(f.offers.size(), 1u);
  proto::TaskSpec own = TestScheduler::spec("own", "cpus:1;mem:64");
  own.user = "ada";
  proto::TaskSpec other = TestScheduler::spec("other", "cpus:1;mem:64");
  other.user = "bob";
  f.accepts({f.offers.front()}, {own, other});
  s.settle();
  EXPECT_EQ(a1.take_one<proto::RunTask>().spec.id, TaskId("own"));
}

}  // namespace
}  // namespace proffer::master::serves_users_test
