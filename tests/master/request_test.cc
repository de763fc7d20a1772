// Requests of users to a framework, which the master relays, and the answers.

#include "tests/master/cluster.h"

namespace proffer::master::request_test {
namespace {

using testing::HasSubstr;

TEST(Request, GoesToTheSchedulerAndItsAnswerBack) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f");
  const uint64_t call = s.request("f", "scale-1", "3 more", seconds(7));
  const auto heard = f.take_one<proto::FrameworkRequest>();
  EXPECT_EQ(heard.id, "scale-1");
  EXPECT_EQ(heard.principal, "ada");
  EXPECT_EQ(heard.data, "3 more");
  EXPECT_EQ(heard.timeout, seconds(7));
  EXPECT_EQ(s.answer_to(call), std::nullopt);
  f.sends(proto::FrameworkResponse{.relay = heard.relay, .data = "done"});
  EXPECT_EQ(s.answer_to(call), "done");
  // The caller has its answer: a second answer and the timeout have no effect.
  f.sends(proto::FrameworkResponse{.relay = heard.relay, .data = "done again"});
  EXPECT_EQ(s.traced("response ignored: nobody waits for it"), 1);
  s.advance(seconds(10));
  EXPECT_EQ(s.answer_to(call), "done");
}

TEST(Request, ARefusalOfTheFrameworkIsPassedOn) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f");
  const uint64_t call = s.request("f", "r");
  f.sends(proto::FrameworkResponse{.relay = f.take_one<proto::FrameworkRequest>().relay,
                                   .error = proto::ErrorMessage{.code = ErrorCode::kNotFound,
                                                                .message = "there is no app 'web'",
                                                                .hint = "apply it first"}});
  EXPECT_EQ(s.answer_to(call), "not_found: there is no app 'web'");
  EXPECT_EQ(s.answers.back().result.error().hint(), "apply it first");
}

TEST(Request, NamesItsFrameworkByIdNameOrUniquePrefix) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("web");
  TestScheduler& g = s.subscribed("web-two");
  for (const std::string& name : {f.id.str(), std::string("web"), std::string("web-1")}) {
    s.request(name, "r");
    EXPECT_EQ(f.take<proto::FrameworkRequest>().size(), 1u) << name;
  }
  s.request("web-t", "r");
  EXPECT_EQ(g.take<proto::FrameworkRequest>().size(), 1u);

  EXPECT_THAT(*s.answer_to(s.request("we", "r")),
              HasSubstr("'we' matches several frameworks: web-1-1, web-two-1-2"));
  EXPECT_THAT(*s.answer_to(s.request("batch", "r")),
              HasSubstr("not_found: there is no framework 'batch'"));
  EXPECT_THAT(s.answers.back().result.error().hint(), HasSubstr("web-1-1, web-two-1-2"));
  EXPECT_THAT(*s.answer_to(s.request("", "r")), HasSubstr("invalid_argument"));
}

TEST(Request, OfSeveralWithOneNameTheConnectedOneIsMeant) {
  MasterScenario s;
  TestScheduler& old = s.subscribed("web");
  TestScheduler& other = s.subscribed("web");
  EXPECT_THAT(*s.answer_to(s.request("web", "r")), HasSubstr("several"));
  old.lose();
  s.request("web", "r");
  EXPECT_EQ(other.take<proto::FrameworkRequest>().size(), 1u);
}

TEST(Request, ThatIsNotAnsweredInTimeIsToldSo) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f");
  const uint64_t call = s.request("f", "r", "", seconds(3));
  s.advance(seconds(2));
  EXPECT_EQ(s.answer_to(call), std::nullopt);
  s.advance(seconds(1));
  EXPECT_EQ(s.answer_to(call), "timeout: the scheduler of framework f-1-1 did not answer in 3s");
  EXPECT_THAT(s.answers.back().result.error().hint(), HasSubstr("same id"));
  f.sends(proto::FrameworkResponse{.relay = f.take_one<proto::FrameworkRequest>().relay,
                                   .data = "late"});
  EXPECT_THAT(*s.answer_to(call), HasSubstr("timeout"));
}

TEST(Request, EndsWithTheSchedulersSession) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f");
  const uint64_t lost = s.request("f", "r");
  const uint64_t relay = f.take_one<proto::FrameworkRequest>().relay;
  f.lose();
  EXPECT_THAT(*s.answer_to(lost), HasSubstr("unavailable: the connection to the scheduler"));
  EXPECT_THAT(*s.answer_to(s.request("f", "r")), HasSubstr("is not connected"));
  EXPECT_THAT(s.answers.back().result.error().hint(), HasSubstr("start the scheduler again"));

  f.subscribes();
  f.sends(proto::FrameworkResponse{.relay = relay, .data = "of the session before"});
  EXPECT_EQ(s.traced("response ignored: nobody waits for it"), 1);
  const uint64_t taken_over = s.request("f", "r");
  f.subscribes();
  EXPECT_THAT(*s.answer_to(taken_over), HasSubstr("was lost before it answered"));
  const uint64_t torn_down = s.request("f", "r");
  f.sends(proto::Teardown{});
  EXPECT_THAT(*s.answer_to(torn_down), HasSubstr("unavailable"));
}

TEST(Request, AResponseOfAnotherFrameworkIsIgnored) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f");
  TestScheduler& g = s.subscribed("g");
  const uint64_t call = s.request("f", "r");
  const uint64_t relay = f.take_one<proto::FrameworkRequest>().relay;
  g.sends(proto::FrameworkResponse{.relay = relay, .data = "forged"});
  EXPECT_EQ(s.answer_to(call), std::nullopt);
  EXPECT_EQ(s.traced("response ignored: nobody waits for it"), 1);
  f.sends(proto::FrameworkResponse{.relay = relay, .data = "true"});
  EXPECT_EQ(s.answer_to(call), "true");
}

TEST(Request, NumbersAreOfOneLifeOfTheMaster) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f");
  s.request("f", "r");
  const uint64_t before = f.take_one<proto::FrameworkRequest>().relay;
  s.restart_master();
  f.subscribes();
  const uint64_t call = s.request("f", "r");
  EXPECT_NE(f.take_one<proto::FrameworkRequest>().relay, before);
  f.sends(proto::FrameworkResponse{.relay = before, .data = "of the life before"});
  EXPECT_EQ(s.answer_to(call), std::nullopt);
}

TEST(Request, ThatCannotBeIsRefused) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f");
  EXPECT_THAT(*s.answer_to(s.request("f", "")), HasSubstr("request id"));
  EXPECT_THAT(*s.answer_to(s.request("f", "a b")), HasSubstr("'a b'"));
  EXPECT_THAT(*s.answer_to(s.request("f", "r", "", Duration())), HasSubstr("from 1ms to 1h"));
  EXPECT_THAT(*s.answer_to(s.request("f", "r", "", hours(2))), HasSubstr("from 1ms to 1h"));
  EXPECT_THAT(*s.answer_to(s.request("f", "r", std::string(kRelayedBytesMax + 1, 'x'))),
              HasSubstr("resource_exhausted"));
  EXPECT_TRUE(f.take<proto::FrameworkRequest>().empty());
}

TEST(Request, OnlySoManyWaitForOneFramework) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f");
  TestScheduler& g = s.subscribed("g");
  for (size_t i = 0; i < kRelaysPerFrameworkMax; ++i) {
    EXPECT_EQ(s.answer_to(s.request("f", text("r", i))), std::nullopt);
  }
  EXPECT_THAT(*s.answer_to(s.request("f", "more")), HasSubstr("resource_exhausted"));
  s.request("g", "r");
  EXPECT_EQ(g.take<proto::FrameworkRequest>().size(), 1u);
  const auto heard = f.take<proto::FrameworkRequest>();
  f.sends(proto::FrameworkResponse{.relay = heard.front().relay});
  EXPECT_EQ(s.answer_to(s.request("f", "more")), std::nullopt);
}

TEST(Explain, SaysInOneSentenceWhyThereIsNoOffer) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f");
  const auto answer = [&] { return s.master->explain("f", nullptr)->answer; };
  EXPECT_EQ(answer(), "no agent is connected");
  s.registered_agent("a1", "cpus:4;mem:8GiB");
  EXPECT_THAT(answer(), HasSubstr("it asks for nothing"));
  f.asks("cpus:1", 2);
  s.settle();
  EXPECT_THAT(answer(), HasSubstr("it has to accept or decline"));
  f.accepts(f.offers, {f.spec("t1", "cpus:1"), f.spec("t2", "cpus:1")});
  s.settle();
  f.asks("cpus:16", 1, "big");
  s.settle();
  EXPECT_EQ(
      answer(),
      "the ask 'big' of cpus:16 fits no agent: it takes 16 cpus, but no agent has more than 4");
  f.asks("cpus:3", 1, "third");
  s.settle();
  EXPECT_EQ(
      answer(),
      "the ask 'third' of cpus:3 is not met: 1 of 1 agent: not enough cpus free: a task takes "
      "3, at most 2 free; used by f-1-1 (cpus:2)");
  f.sends(proto::Suppress{});
  EXPECT_THAT(answer(), HasSubstr("suppressed"));
  f.lose();
  EXPECT_THAT(answer(), HasSubstr("not connected"));
  EXPECT_EQ(s.master->explain("nobody", nullptr).error().code(), ErrorCode::kNotFound);
}

TEST(Explain, ShowsTheOffersOfTheFrameworkAndSinceWhen) {
  MasterScenario s;
  s.registered_agent("a1", "cpus:4;mem:8GiB");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 1);
  s.settle();
  s.advance(seconds(4));
  const proto::Explanation all = *s.master->explain(f.id.str(), nullptr);
  ASSERT_EQ(all.offers.size(), 1u);
  EXPECT_EQ(all.now - all.offers[0].made, seconds(4));
  EXPECT_EQ(all.offers[0].expires - all.offers[0].made, kOfferTimeout);
  EXPECT_EQ(all.fair.place, 0);
}

TEST(Explain, OfARoleSaysWhatHoldsItsAsksBackOrWhichRolesThereAre) {
  MasterScenario s;
  s.registered_agent("a1", "cpus:4;mem:8GiB");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 1);
  s.settle();
  const std::string role = s.master->explain("f", nullptr)->fair.role.str();
  EXPECT_EQ(s.master->explain_role(role)->answer, "all its asks are launched or offered");
  f.asks("cpus:16", 2, "big");
  s.settle();
  const proto::ExplainedRole all = *s.master->explain_role(role);
  EXPECT_EQ(all.answer, "in this role 1 ask is not met: no free resources fit");
  EXPECT_EQ(all.fair.children.at(0).name, "f-1-1");

  const auto unknown = s.master->explain_role(role + "x");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(unknown.error().hint(), text("did you mean '", role, "'?"));
  EXPECT_EQ(s.master->explain_role("").error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(s.master->explain_role("_gone").error().code(), ErrorCode::kNotFound);
}

TEST(Explain, OfATaskSaysHowItStandsAndHowItEnded) {
  MasterScenario s;
  s.registered_agent("a1", "cpus:4;mem:8GiB");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 2);
  s.settle();
  f.accepts(f.offers, {f.spec("t1", "cpus:1"), f.spec("t2", "cpus:1")});
  s.settle();
  const proto::ExplainedTask all = *s.master->explain_task("f/t1", nullptr);
  EXPECT_TRUE(all.is_known);
  EXPECT_EQ(all.row.framework, FrameworkId("f-1-1"));
  EXPECT_EQ(all.row.agent, AgentId("a1"));
  ASSERT_TRUE(all.standing);
  EXPECT_EQ(all.standing->amounts, ResourceVector::of(1'000, 0));
  EXPECT_EQ(s.master->explain_task("f-1-1/t2", nullptr)->row.task, TaskId("t2"));

  // A prefix must match a single task.
  EXPECT_EQ(s.master->explain_task("f/t", nullptr).error().message(),
            "'f-1-1/t' matches several tasks: f-1-1/t1, f-1-1/t2");
  EXPECT_EQ(s.master->explain_task("t1", nullptr).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(s.master->explain_task("nobody/t1", nullptr).error().code(), ErrorCode::kNotFound);
  const auto unknown = s.master->explain_task("f/t11", nullptr);
  ASSERT_FALSE(unknown) << "it asks for nothing, so this is a mistake";
  EXPECT_THAT(unknown.error().hint(), HasSubstr("did you mean 't1'?"));

  // Before its launch, a task belongs to one of the asks.
  f.asks("cpus:16", 2, "big");
  s.settle();
  const proto::ExplainedTask later = *s.master->explain_task("f/later", nullptr);
  EXPECT_FALSE(later.is_known);
  ASSERT_EQ(later.asks.size(), 1u);
  EXPECT_THAT(later.answer, HasSubstr("the master knows no task 'later' of f-1-1"));
  EXPECT_THAT(later.answer, HasSubstr("'big' of cpus:16 fits no agent"));
}

}  // namespace
}  // namespace proffer::master::request_test
