// Other services of the master for frameworks: it keeps their stores, relays requests to them, and
// explains why they have no offer. Real processes; the framework is store_scheduler.

#include <algorithm>
#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/master_client.h"
#include "common/text.h"
#include "proto/json/json.h"
#include "tests/integration/processes.h"

namespace proffer::test::platform_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string store_scheduler() {
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  return (self.parent_path() / "store_scheduler").string();
}

class Platform : public testing::Test {
 protected:
  std::unique_ptr<Process> start_scheduler() {
    auto scheduler =
        std::make_unique<Process>(Words{store_scheduler(), "--master=" + cluster_.master(),
                                        "--session_file=" + (home_ / "session")});
    EXPECT_TRUE(scheduler->line_with("subscribed store-1-1").has_value()) << scheduler->err();
    return scheduler;
  }
  // Sends words to the framework with a new id, or with this one. Returns its answer, or "code:
  // message".
  std::string ask(const std::string& words, std::string id = "", Duration timeout = seconds(20),
                  const std::string& framework = "store") {
    if (id.empty()) id = text("r", ++requests_);
    const Result<cli::CallResult> answer = cli::call(
        *parse_masters("master", cluster_.master(), 0), "request",
        proto::request_call_json(
            {.framework = framework, .id = id, .timeout = timeout * slowdown(), .data = words}),
        seconds(30) * slowdown());
    if (!answer) {
      return text(to_text(answer.error().code()), ": ", answer.error().message());
    }
    return *proto::parse_request_reply(answer->json);
  }

  Cluster cluster_;
  TemporaryDirectory home_;
  int requests_ = 0;
};

TEST_F(Platform, AStoreOutlivesTheMasterAndTheScheduler) {
  auto scheduler = start_scheduler();
  const std::string first = ask("put app/web v1");
  EXPECT_EQ(ask("get app/web"), "v1 " + first);
  const std::string other = ask("put app/db v1 0");
  EXPECT_GT(std::stoull(other), std::stoull(first));
  EXPECT_THAT(ask("put app/db v2 0"), HasSubstr("failed_precondition: the entry 'app/db'"));
  ask("erase app/db");

  const auto master = cluster_.restart_master();
  ASSERT_TRUE(scheduler->line_with("subscribed store-1-1").has_value());
  EXPECT_EQ(ask("get app/web"), "v1 " + first);
  EXPECT_EQ(ask("list app/"), "0 app/web=" + first);
  // No version is used twice, although the entry with the last one was erased.
  const std::string second = ask("put app/web v2 " + first);
  EXPECT_GT(std::stoull(second), std::stoull(other));

  scheduler->kill(SIGKILL);
  scheduler->wait();
  EXPECT_TRUE(
      eventually([&] { return ask("get app/web").find("is not connected") != std::string::npos; }));
  scheduler = start_scheduler();
  EXPECT_EQ(ask("get app/web"), "v2 " + second);
  scheduler->kill(SIGTERM);
  EXPECT_EQ(scheduler->wait().code, 143);
  EXPECT_THAT(ask("get app/web"), HasSubstr("not_found: there is no framework 'store'"));
}

TEST_F(Platform, ARequestIsAnsweredOnceHoweverOftenItIsMade) {
  const auto scheduler = start_scheduler();
  EXPECT_EQ(ask("count", "the-first"), "1");
  EXPECT_EQ(ask("count", "the-first"), "1");
  EXPECT_EQ(ask("count", "the-second"), "2");
  // Also for a caller after a restart of the master.
  const auto master = cluster_.restart_master();
  ASSERT_TRUE(scheduler->line_with("subscribed store-1-1").has_value());
  EXPECT_EQ(ask("count", "the-first"), "1");
  EXPECT_EQ(ask("count"), "3");
}

TEST_F(Platform, WhoGetsNoAnswerIsToldWhy) {
  const auto scheduler = start_scheduler();
  EXPECT_THAT(ask("wait", "", seconds(1)),
              StartsWith("timeout: the scheduler of framework store-1-1 did not answer in "));
  EXPECT_THAT(ask("bytes"), HasSubstr("unsupported: the framework's answer is not UTF-8"));
  EXPECT_EQ(ask("dance"), "invalid_argument: what is dance?");
  EXPECT_THAT(ask("count", "", seconds(1), "nobody"), HasSubstr("there is no framework 'nobody'"));
  // A framework without requests refuses them with a clear error.
  const auto run = cluster_.start({"run", "--name", "plain", "--", "sleep 1000"});
  ASSERT_TRUE(eventually([&] { return cluster_.running_tasks("plain") == 1; }));
  EXPECT_THAT(ask("count", "", seconds(20), "plain"), HasSubstr("unsupported: framework plain-"));
  run->kill(SIGINT);
  run->wait();
}

TEST_F(Platform, OffersAndExplainShowWhatAFrameworkHasAndWhyItHasNoMore) {
  const auto scheduler = start_scheduler();
  const auto explain = [&] { return cluster_.proffer({"explain", "framework", "store"}).out; };
  EXPECT_THAT(explain(), HasSubstr("it asks for nothing"));

  ask("ask 3");
  ASSERT_TRUE(eventually(
      [&] { return cluster_.proffer({"offers"}).out.find("store-1-1") != std::string::npos; }));
  const std::string offers = cluster_.proffer({"offers"}).out;
  EXPECT_THAT(offers, StartsWith("OFFER"));
  EXPECT_THAT(offers, HasSubstr("agent-1"));
  EXPECT_THAT(offers, HasSubstr("cpus:3"));
  const auto rows = proto::parse_offers(cluster_.proffer({"offers", "--json"}).out);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ(rows->front().expires - rows->front().made, kOfferTimeout);
  EXPECT_EQ(cluster_.proffer({"offers", "nobody"}).out.find("store"), std::string::npos);
  EXPECT_THAT(explain(), HasSubstr("all its asks are in outstanding offers"));

  // Another framework waits for the resources that it holds.
  const auto waiting = cluster_.start({"run", "--name", "late", "--cpus", "2", "--", "true"});
  std::string late;
  ASSERT_TRUE(eventually([&] {
    late = cluster_.proffer({"explain", "framework", "late"}).out;
    return late.find("held by outstanding offers") != std::string::npos;
  })) << late;
  EXPECT_THAT(late, HasSubstr("held by outstanding offers to store-1-1 (cpus:3)"));
  waiting->kill(SIGINT);
  waiting->wait();

  ask("ask 16");
  ASSERT_TRUE(eventually([&] { return explain().find("16 cpus") != std::string::npos; }));
  EXPECT_THAT(
      explain(),
      HasSubstr("'one' of cpus:16 fits no agent: it takes 16 cpus, but no agent has more than 4"));
  const auto parsed =
      proto::parse_explanation(cluster_.proffer({"explain", "framework", "store", "--json"}).out);
  ASSERT_TRUE(parsed);
  EXPECT_FALSE(parsed->fair.asks.at(0).could_ever_fit);
  // The same over HTTP.
  const Exit web = run({"curl", "-s", "--unix-socket", cluster_.http(),
                        "http://localhost/v1/explain?framework=store"});
  EXPECT_EQ(proto::parse_explanation(web.out)->answer, parsed->answer);

  ask("suppress");
  EXPECT_THAT(explain(), HasSubstr("suppressed offers"));
  const Exit nobody = cluster_.proffer({"explain", "framework", "nobody"});
  EXPECT_EQ(nobody.code, 1);
  EXPECT_THAT(nobody.err, HasSubstr("store-1-1"));
  EXPECT_EQ(cluster_.proffer({"explain", "agent", "a"}).code, 2);
}

TEST_F(Platform, ExplainOfRolesAndTasksSaysWhatWouldHaveToEnd) {
  // Half of the machine is guaranteed to eng, and others use all of it.
  ASSERT_EQ(cluster_.proffer({"role", "set", "eng", "--guarantee", "cpus:2"}).code, 0);
  const auto batch = cluster_.start(
      {"run", "--name", "batch", "--role", "ops", "--cpus", "4", "--", "sleep 1000"});
  ASSERT_TRUE(eventually([&] { return cluster_.running_tasks("batch") == 1; }));
  const auto web =
      cluster_.start({"run", "--name", "web", "--role", "eng", "--cpus", "1", "--", "true"});
  std::string told;
  ASSERT_TRUE(eventually([&] {
    told = cluster_.proffer({"explain", "framework", "web"}).out;
    return told.find("would fit") != std::string::npos;
  })) << told;
  EXPECT_THAT(told, HasSubstr("after 1 task of role 'ops' (batch-1-1: "));

  const std::string eng = cluster_.proffer({"explain", "role", "eng"}).out;
  EXPECT_THAT(eng, HasSubstr("others have borrowed the entitlement of the role"));
  EXPECT_THAT(eng, HasSubstr("borrowers   ops"));
  const auto role =
      proto::parse_explained_role(cluster_.proffer({"explain", "role", "eng", "--json"}).out);
  ASSERT_TRUE(role);
  EXPECT_FALSE(role->fair.guarantee_met);

  const std::string task = cluster_.proffer({"explain", "task", "batch/"}).err;
  EXPECT_THAT(task, HasSubstr("a task must be FRAMEWORK/TASK"));
  const auto rows = proto::parse_tasks(cluster_.proffer({"tasks", "--json"}).out);
  ASSERT_TRUE(rows);
  const auto running = std::find_if(rows->begin(), rows->end(), [](const proto::TaskRow& row) {
    return row.framework == FrameworkId("batch-1-1");
  });
  ASSERT_TRUE(running != rows->end());
  const std::string victim =
      cluster_.proffer({"explain", "task", "batch/" + running->task.str()}).out;
  EXPECT_THAT(victim, HasSubstr("for the ask "));
  EXPECT_THAT(victim, HasSubstr(" of web-1-2 in role eng"));
  const Exit over_http =
      run({"curl", "-s", "--unix-socket", cluster_.http(), "http://localhost/v1/explain?role=ops"});
  EXPECT_EQ(proto::parse_explained_role(over_http.out)->fair.role, RoleName("ops"));

  const Exit nowhere = cluster_.proffer({"explain", "role", "engg"});
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("did you mean 'eng'?"));
  web->kill(SIGINT);
  web->wait();
  batch->kill(SIGINT);
  batch->wait();
}

}  // namespace
}  // namespace proffer::test::platform_test
