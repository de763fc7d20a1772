// Offers and asks: validity of offers, refusals by the driver itself, and correct ask counts across
// connections.

#include <gmock/gmock.h>

#include "common/text.h"
#include "sdk/core/sendable.h"
#include "tests/sdk/driver_world.h"

namespace proffer::sdk::offers_test {
namespace {

using proto::TaskReason;
using proto::TaskState;
using Story = std::vector<std::string>;

// The author's updates if no part of an accept is sent.
void expect_all_refused(DriverWorld& w, std::vector<std::string> tasks) {
  EXPECT_TRUE(w.sent<proto::Accept>().empty());
  const auto told = w.told<proto::TaskStatus>();
  ASSERT_EQ(told.size(), tasks.size());
  for (size_t i = 0; i < tasks.size(); ++i) {
    EXPECT_EQ(told[i].task, TaskId(tasks[i]));
    EXPECT_EQ(told[i].state, TaskState::kRefused);
    EXPECT_EQ(told[i].reason, TaskReason::kOfferNotValid);
    EXPECT_EQ(told[i].source, proto::UpdateSource::kMaster);
    EXPECT_EQ(told[i].sequence, 0u);
    EXPECT_FALSE(told[i].message.empty());
  }
  EXPECT_TRUE(w.driver.live_tasks().empty());
}

TEST(Offers, AreAcceptedOnce) {
  DriverWorld w;
  w.subscribe();
  w.hear_offers({1});
  w.want(accept_of({1}, {task_of("t1")}));
  const auto accepts = w.sent<proto::Accept>();
  ASSERT_EQ(accepts.size(), 1u);
  EXPECT_EQ(accepts[0], accept_of({1}, {task_of("t1")}));
  EXPECT_EQ(w.driver.live_tasks(), std::vector<TaskId>{TaskId("t1")});

  w.want(accept_of({1}, {task_of("t2")}));
  EXPECT_TRUE(w.sent<proto::Accept>().empty());
  EXPECT_EQ(w.states_told(), Story{"t2 refused"});
}

TEST(Offers, ARescindedOneRefusesEveryTaskOfItsAccept) {
  DriverWorld w;
  w.subscribe();
  w.hear_offers({1});
  w.hear(proto::Rescind{.offers = {OfferId(1), OfferId(77)}});
  EXPECT_EQ(w.told<proto::Rescind>(), (std::vector<proto::Rescind>{{{OfferId(1)}}}));
  w.want(accept_of({1}, {task_of("t1"), task_of("t2")}));
  expect_all_refused(w, {"t1", "t2"});
}

TEST(Offers, ARescindOfWhatWasAnsweredIsNoNews) {
  DriverWorld w;
  w.subscribe();
  w.hear_offers({1});
  w.want(proto::Decline{.offers = {OfferId(1)}});
  w.hear(proto::Rescind{.offers = {OfferId(1)}});
  EXPECT_TRUE(w.told<proto::Rescind>().empty());
}

TEST(Offers, EndWithTheirLease) {
  DriverWorld w;
  w.subscribe();
  w.hear_offers({1, 2});
  w.advance(seconds(29));
  w.hear(proto::Heartbeat{});
  w.want(accept_of({1}, {task_of("t1")}));
  EXPECT_EQ(w.sent<proto::Accept>().size(), 1u);
  w.hear_update(status_of("t1", TaskState::kFinished, 1));
  w.forget();
  w.advance(seconds(1));
  w.want(accept_of({2}, {task_of("t2")}));
  expect_all_refused(w, {"t2"});
}

TEST(Offers, EndWithTheConnection) {
  DriverWorld w;
  w.subscribe();
  w.hear_offers({1});
  w.disconnect();
  w.want(accept_of({1}, {task_of("t1")}));
  expect_all_refused(w, {"t1"});
  w.subscribe(true);
  w.want(accept_of({1}, {task_of("t2")}));
  expect_all_refused(w, {"t2"});
}

TEST(Offers, WhatIsStillValidBesideAVoidOneIsGivenBack) {
  DriverWorld w;
  w.subscribe();
  w.hear_offers({1, 2});
  w.hear(proto::Rescind{.offers = {OfferId(2)}});
  proto::Accept accept = accept_of({1, 2}, {task_of("t1")});
  accept.refusal.refuse_for = seconds(7);
  w.want(accept);
  EXPECT_EQ(w.sent<proto::Decline>(), (std::vector<proto::Decline>{{{OfferId(1)}, {}}}));
  expect_all_refused(w, {"t1"});
}

TEST(Offers, AreDeclinedWithAReasonAndOnlyWhileValid) {
  DriverWorld w;
  w.subscribe();
  w.hear_offers({1, 2});
  w.want(proto::Decline{
      .offers = {OfferId(2), OfferId(9)},
      .refusal = {.too_little = {ResourceKind::kMem, ResourceKind::kCpus, ResourceKind::kMem}}});
  EXPECT_EQ(w.sent<proto::Decline>(),
            (std::vector<proto::Decline>{
                {{OfferId(2)}, {.too_little = {ResourceKind::kCpus, ResourceKind::kMem}}}}));
  w.want(proto::Decline{.offers = {OfferId(2)}});
  EXPECT_TRUE(w.sent<proto::Decline>().empty());
}

TEST(Launch, ATaskThatBreaksABoundIsRefusedAloneAndTheOthersAreLaunched) {
  proto::TaskSpec no_id = task_of("");
  proto::TaskSpec nothing = task_of("nothing");
  nothing.shape = {};
  proto::TaskSpec negative = task_of("negative");
  negative.shape[ResourceKind::kCpus] = -1;
  proto::TaskSpec long_command = task_of("long-command");
  long_command.command = std::string(kCommandBytesMax + 1, 'x');
  proto::TaskSpec nul = task_of("nul");
  nul.command = std::string("a\0b", 3);
  proto::TaskSpec variable = task_of("variable");
  variable.environment["A=B"] = "C";
  proto::TaskSpec port = task_of("port");
  port.port_names = {"http port"};
  proto::TaskSpec data = task_of("data");
  data.data = std::string(kPayloadBytesMax + 1, 'x');
  proto::TaskSpec executor = task_of("executor");
  executor.executor = "";
  proto::TaskSpec grace = task_of("grace");
  grace.kill_grace = seconds(-1);
  proto::TaskSpec health = task_of("health");
  health.health = proto::HealthCheck{.port = "http"};  // the task does not have this port
  for (const proto::TaskSpec& wrong : {no_id, nothing, negative, long_command, nul, variable, port,
                                       data, executor, grace, health}) {
    SCOPED_TRACE(wrong.id.str());
    DriverWorld w;
    w.subscribe();
    w.hear_offers({1});
    w.want(accept_of({1}, {wrong, task_of("right")}));
    const auto told = w.told<proto::TaskStatus>();
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].task, wrong.id);
    EXPECT_EQ(told[0].reason, TaskReason::kTaskInvalid);
    EXPECT_FALSE(told[0].message.empty());
    EXPECT_EQ(w.sent<proto::Accept>(),
              std::vector<proto::Accept>{accept_of({1}, {task_of("right")})});
  }
}

TEST(Launch, AnIdInUseOrUsedIsRefusedAndTheFirstTaskIsUntouched) {
  DriverWorld w;
  w.subscribe();
  w.launch("t1", 1);
  w.launch("t2", 2);
  w.hear_update(status_of("t2", TaskState::kFinished, 2));
  w.hear_offers({3});
  w.forget();
  w.want(accept_of({3}, {task_of("t1"), task_of("t2"), task_of("t3"), task_of("t3")}));
  const auto told = w.told<proto::TaskStatus>();
  ASSERT_EQ(told.size(), 3u);
  for (const proto::TaskStatus& status : told) {
    EXPECT_EQ(status.reason, TaskReason::kDuplicateTaskId);
  }
  EXPECT_EQ(w.sent<proto::Accept>(), std::vector<proto::Accept>{accept_of({3}, {task_of("t3")})});
  EXPECT_EQ(w.driver.live_tasks(), (std::vector<TaskId>{TaskId("t1"), TaskId("t3")}));
  w.hear_update(status_of("t1", TaskState::kFinished, 2));
  EXPECT_EQ(w.states_told(), Story{"t1 finished"});
}

TEST(Launch, ARefusedIdMayBeTriedAgain) {
  DriverWorld w;
  w.subscribe();
  w.want(accept_of({9}, {task_of("t1")}));
  EXPECT_EQ(w.states_told(), Story{"t1 refused"});
  w.hear_offers({1});
  w.want(accept_of({1}, {task_of("t1")}));
  EXPECT_EQ(w.sent<proto::Accept>().size(), 1u);
  w.hear_update(status_of("t1", TaskState::kRefused, 4, proto::UpdateSource::kMaster));
  w.launch("t1", 2);
  EXPECT_EQ(w.states_told(), (Story{"t1 refused", "t1 running"}));
}

TEST(Launch, WhatDoesNotFitInOneFrameIsRefused) {
  DriverWorld w;
  w.subscribe();
  w.hear_offers({1});
  std::vector<proto::TaskSpec> tasks;
  for (int i = 0; i < 40; ++i) {
    tasks.push_back(task_of("t" + std::to_string(i)));
    tasks.back().command = std::string(50'000, 'x');
  }
  w.want(accept_of({1}, tasks));
  const auto accepts = w.sent<proto::Accept>();
  ASSERT_EQ(accepts.size(), 1u);
  const auto& sent = std::get<proto::Launch>(accepts[0].operations.at(0)).tasks;
  EXPECT_EQ(sent.size(), kSendableBytesMax / 50'300);
  EXPECT_EQ(w.told<proto::TaskStatus>().size(), tasks.size() - sent.size());
}

TEST(Launch, ManyTasksOfOneAgentGoInSeveralOperationsOfTheSameAccept) {
  DriverWorld w;
  w.subscribe();
  w.hear_offers({1});
  std::vector<proto::TaskSpec> tasks;
  for (size_t i = 0; i < kTasksPerMessageMax + 1; ++i) {
    tasks.push_back(task_of("t" + std::to_string(i)));
  }
  w.want(accept_of({1}, tasks));
  const auto accepts = w.sent<proto::Accept>();
  ASSERT_EQ(accepts.size(), 1u);
  ASSERT_EQ(accepts[0].operations.size(), 2u);
  EXPECT_EQ(std::get<proto::Launch>(accepts[0].operations[0]).tasks.size(), kTasksPerMessageMax);
  EXPECT_EQ(std::get<proto::Launch>(accepts[0].operations[1]).tasks.size(), 1u);
  EXPECT_TRUE(w.told<proto::TaskStatus>().empty());
}

TEST(Asks, AreDeclaredAtOnceAndWithRisingGenerations) {
  DriverWorld w;
  w.want(proto::DeclareAsks{.asks = {ask_of("web", 3)}});
  EXPECT_TRUE(w.sent<proto::DeclareAsks>().empty());
  w.subscribe();
  w.want(proto::DeclareAsks{.asks = {ask_of("web", 4)}});
  w.want(proto::DeclareAsks{});
  EXPECT_EQ(
      w.sent<proto::DeclareAsks>(),
      (std::vector<proto::DeclareAsks>{{1, {ask_of("web", 3)}}, {2, {ask_of("web", 4)}}, {3, {}}}));
  w.reconnect();
  EXPECT_TRUE(w.sent<proto::DeclareAsks>().empty());  // there are no asks to declare
}

TEST(Asks, AreDeclaredAgainLessWhatWasLaunchedSince) {
  DriverWorld w;
  w.want(proto::DeclareAsks{.asks = {ask_of("web", 3), ask_of("db", 1)}});
  w.subscribe();
  w.hear_offers({1});
  w.want(accept_of({1}, {task_of("w1", "web"), task_of("w2", "web"), task_of("x")}));
  w.forget();
  w.reconnect();
  EXPECT_EQ(w.sent<proto::DeclareAsks>(),
            (std::vector<proto::DeclareAsks>{{2, {ask_of("web", 1), ask_of("db", 1)}}}));
  EXPECT_EQ(w.driver.asks(), (std::vector<Ask>{ask_of("web", 1), ask_of("db", 1)}));
}

TEST(Asks, AnAuthorsDeclarationReplacesTheCount) {
  DriverWorld w;
  w.want(proto::DeclareAsks{.asks = {ask_of("web", 3)}});
  w.subscribe();
  w.hear_offers({1});
  w.want(accept_of({1}, {task_of("w1", "web")}));
  w.want(proto::DeclareAsks{.asks = {ask_of("web", 3)}});
  w.forget();
  w.reconnect();
  EXPECT_EQ(w.sent<proto::DeclareAsks>().at(0).asks, std::vector<Ask>{ask_of("web", 3)});
}

TEST(Asks, ALaunchThatIsRefusedInTheMastersPlaceDoesNotCount) {
  DriverWorld w;
  w.want(proto::DeclareAsks{.asks = {ask_of("web", 3)}});
  w.subscribe();
  w.want(accept_of({1}, {task_of("w1", "web")}));
  EXPECT_EQ(w.driver.asks(), std::vector<Ask>{ask_of("web", 3)});
}

TEST(Asks, ALaunchThatTheMasterRefusesCountsAgain) {
  DriverWorld w;
  w.want(proto::DeclareAsks{.asks = {ask_of("web", 3)}});
  w.subscribe();
  w.hear_offers({1});
  w.want(accept_of({1}, {task_of("w1", "web")}));
  EXPECT_EQ(w.driver.asks(), std::vector<Ask>{ask_of("web", 2)});
  w.forget();
  w.hear_update(status_of("w1", TaskState::kRefused, 5, proto::UpdateSource::kMaster));
  EXPECT_EQ(w.driver.asks(), std::vector<Ask>{ask_of("web", 3)});
  EXPECT_TRUE(w.sent<proto::DeclareAsks>().empty());  // the master has the same count
}

TEST(Asks, ARefusalOfAnEarlierConnectionIsDeclaredAgain) {
  DriverWorld w;
  w.want(proto::DeclareAsks{.asks = {ask_of("web", 3)}});
  w.subscribe();
  w.hear_offers({1});
  w.want(accept_of({1}, {task_of("w1", "web")}));
  w.reconnect();
  w.forget();
  w.hear_update(status_of("w1", TaskState::kRefused, 5, proto::UpdateSource::kMaster));
  EXPECT_EQ(w.story(), (Story{"task w1 refused", ">acknowledge", ">declare_asks"}));
  EXPECT_EQ(w.sent<proto::DeclareAsks>().at(0).asks, std::vector<Ask>{ask_of("web", 3)});
}

TEST(Asks, ARefusalFromBeforeTheAuthorsLastDeclarationDoesNotCount) {
  DriverWorld w;
  w.want(proto::DeclareAsks{.asks = {ask_of("web", 3)}});
  w.subscribe();
  w.hear_offers({1});
  w.want(accept_of({1}, {task_of("w1", "web")}));
  w.want(proto::DeclareAsks{.asks = {ask_of("web", 7)}});
  w.hear_update(status_of("w1", TaskState::kRefused, 5, proto::UpdateSource::kMaster));
  EXPECT_EQ(w.driver.asks(), std::vector<Ask>{ask_of("web", 7)});
}

TEST(Asks, OneThatCannotBeDeclaredIsReportedAndTheOthersAreDeclared) {
  DriverWorld w;
  w.subscribe();
  w.forget();
  Ask nothing = ask_of("nothing", 1);
  nothing.shape = {};
  Ask constraint = ask_of("constraint", 1);
  constraint.constraints = {{.attribute = "rack", .op = Constraint::Operator::kEquals}};
  Ask role = ask_of("role", 1);
  role.role = RoleName("default-not");
  w.want(proto::DeclareAsks{.asks = {ask_of("web", 1), ask_of("bad name", 1), nothing,
                                     ask_of("less", -1), ask_of("web", 2), constraint, role}});
  EXPECT_EQ(w.sent<proto::DeclareAsks>().at(0).asks, std::vector<Ask>{ask_of("web", 1)});
  const auto reports = w.told<proto::AskReport>();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].generation, 1u);
  ASSERT_EQ(reports[0].rows.size(), 6u);
  for (const proto::AskReport::Row& row : reports[0].rows) {
    EXPECT_FALSE(row.could_ever_fit);
    EXPECT_FALSE(row.why.empty());
  }
}

TEST(Asks, MoreThanAFrameworkMayDeclareAreReported) {
  DriverWorld w;
  w.subscribe();
  w.forget();
  proto::DeclareAsks declare;
  for (size_t i = 0; i <= kAsksMax; ++i) declare.asks.push_back(ask_of("a" + std::to_string(i), 1));
  w.want(declare);
  EXPECT_EQ(w.sent<proto::DeclareAsks>().at(0).asks.size(), kAsksMax);
  EXPECT_EQ(w.told<proto::AskReport>().at(0).rows.size(), 1u);
}

TEST(Launch, ATaskWithAWrongLabelIsRefusedAndItsLabelsComeBack) {
  DriverWorld w;
  w.subscribe();
  struct Row {
    proto::Labels labels;
    std::string why;
  };
  proto::Labels many;
  for (size_t i = 0; i <= kLabelsMax; ++i) many[text("l", i)] = "x";
  proto::Labels large;
  for (size_t i = 0; i < 20; ++i) large[text("l", i)] = std::string(kLabelValueBytesMax, 'x');
  const std::vector<Row> rows = {
      {{{"a b", "1"}}, "not 'a b'"},
      {{{std::string(64, 'n'), "1"}}, "is 1 to 63 letters"},
      {{{"a", std::string(257, 'x')}}, "label 'a' has at most 256 bytes, not 257"},
      {{{"a", "two\nlines"}}, "without control characters, not 'two\\nlines'"},
      {{{"a", "\xff"}}, "must be UTF-8"},
      {many, "at most 32 labels, not 33"},
      {large, "at most 4096 bytes together"},
  };
  uint64_t offer = 0;
  for (const Row& row : rows) {
    w.hear_offers({++offer});
    proto::TaskSpec wrong = task_of(text("wrong-", offer));
    wrong.labels = row.labels;
    proto::TaskSpec right = task_of(text("right-", offer));
    right.labels = {{"a", std::string(kLabelValueBytesMax, 'x')}, {"b", "ü"}, {"c", ""}};
    w.want(accept_of({offer}, {wrong, right}));
    const std::vector<proto::TaskStatus> told = w.told<proto::TaskStatus>();
    ASSERT_EQ(told.size(), 1u) << row.why;
    EXPECT_EQ(told[0].state, TaskState::kRefused);
    EXPECT_EQ(told[0].reason, proto::TaskReason::kTaskInvalid);
    EXPECT_THAT(told[0].message, testing::HasSubstr(row.why));
    EXPECT_EQ(told[0].labels, row.labels);
  }
}

}  // namespace
}  // namespace proffer::sdk::offers_test
