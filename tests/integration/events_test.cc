// The event log of a real master: followers continue through a kill -9 of the master, and each user
// sees only their own events.

#include <filesystem>
#include <memory>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/text.h"
#include "proto/json/events_json.h"
#include "tests/integration/event_lines.h"
#include "tests/integration/processes.h"

namespace proffer::events_integration_test {
namespace {

using namespace test;
using testing::HasSubstr;
using testing::Not;

class Events : public testing::Test {
 protected:
  void SetUp() override {
    start_master();
    agent_ = std::make_unique<Process>(Words{program("proffer-agent"), "--master=" + socket(),
                                             "--name=a1", "--work_dir=" + (home_ / "agent"),
                                             "--resources=cpus:2;mem:512", "--tasks_on_exit=kill"});
    wait_for_agent();
  }
  void TearDown() override {
    for (const auto& daemon : {agent_.get(), master_.get()}) {
      if (daemon == nullptr) continue;
      daemon->kill(SIGTERM);
      EXPECT_EQ(daemon->wait().code, 0) << daemon->err();
    }
  }
  void start_master() {
    master_ = std::make_unique<Process>(Words{program("proffer-master"),
                                              "--data_dir=" + (home_ / "master"),
                                              "--socket=" + socket(), "--heartbeat=1s"});
    ASSERT_TRUE(eventually([&] { return proffer({"status"}).code == 0; })) << master_->err();
  }
  void wait_for_agent() {
    ASSERT_TRUE(eventually(
        [&] { return proffer({"agents"}).out.find(" connected") != std::string::npos; }));
  }
  std::string socket() const { return home_ / "master.sock"; }
  Exit proffer(Words words) const {
    words.insert(words.begin(), {program("proffer"), "--master=" + socket()});
    return run(words);
  }
  void runs_true() { EXPECT_EQ(proffer({"run", "--cpus=1", "--mem=64", "--", "true"}).code, 0); }

  TemporaryDirectory home_;
  std::unique_ptr<Process> master_;
  std::unique_ptr<Process> agent_;
};

TEST_F(Events, AreFollowedThroughAKillOfTheMaster) {
  Process follower({program("proffer"), "--master=" + socket(), "events", "-f", "--json"});
  runs_true();
  const std::string ended = R"("event":"task ended","level":"detail","framework":"run-)";
  ASSERT_TRUE(follower.line_with(ended + "1-")) << follower.out() << follower.err();
  master_->kill(SIGKILL);
  master_->wait();
  start_master();
  wait_for_agent();
  runs_true();
  ASSERT_TRUE(follower.line_with(ended + "2-")) << follower.out() << follower.err();
  follower.kill(SIGTERM);
  follower.wait();

  // Each event once, in order; the kill is a gap between two leaders.
  const std::string told = follower.out();
  EXPECT_EQ(event_out_of_order(told), "");
  EXPECT_EQ(count(told, "\"event\":\"gap\""), 1u) << told;
  EXPECT_EQ(count(told, "\"event\":\"master leads\""), 2u);
  EXPECT_THAT(told, HasSubstr(R"("ended":"cut_off")"));
  // A later reader gets the same events.
  EXPECT_THAT(proffer({"events", "--from=1.1", "--json"}).out, HasSubstr(told));
}

// The ids of the stream's events, without heartbeats.
std::vector<proto::EventPlace> places_of(const std::string& stream) {
  std::vector<proto::EventPlace> places;
  for (size_t at = stream.find("id: "); at != std::string::npos; at = stream.find("id: ", at + 1)) {
    const size_t end = stream.find('\n', at);
    if (end == std::string::npos || stream.compare(end + 1, 5, "data:") != 0) continue;
    const auto place = proto::parse_event_place(stream.substr(at + 4, end - at - 4));
    EXPECT_TRUE(place) << stream.substr(at, 40);
    if (place) places.push_back(*place);
  }
  return places;
}

TEST_F(Events, OfAStreamGoOnBehindTheLastIdAfterAKillOfTheMaster) {
  const auto listen = [&](const std::string& query, const std::string& last_id) {
    return std::make_unique<Process>(
        Words{"curl", "-sN", "--unix-socket", home_ / "master-http.sock", "-H",
              "Accept: text/event-stream", "-H", "Last-Event-ID: " + last_id,
              "http://localhost/v1/events" + query});
  };
  const std::unique_ptr<Process> first = listen("?from=1.1", "");
  runs_true();
  ASSERT_TRUE(first->line_with("task ended")) << first->out() << first->err();
  master_->kill(SIGKILL);
  master_->wait();
  std::string told = first->wait().out;
  const std::vector<proto::EventPlace> seen = places_of(told);
  ASSERT_FALSE(seen.empty());
  start_master();
  wait_for_agent();
  const std::unique_ptr<Process> second = listen("?from=1.1", to_text(seen.back()));
  runs_true();
  ASSERT_TRUE(second->line_with("task ended")) << second->out() << second->err();
  second->kill(SIGTERM);
  told += second->wait().out;

  // All events of all pages, each once and in order.
  const std::vector<proto::EventPlace> places = places_of(told);
  for (size_t i = 1; i < places.size(); ++i) EXPECT_LT(places[i - 1], places[i]);
  const std::string pages = proffer({"events", "--from=1.1", "--json"}).out;
  size_t events = 0;
  for (std::string_view rest = pages; !rest.empty();) {
    const std::string line(rest.substr(0, rest.find('\n')));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const auto place = proto::place_of(line);
    if (!place || *place > places.back()) continue;
    ++events;
    EXPECT_THAT(told, HasSubstr("data: " + line + "\n\n"));
  }
  EXPECT_EQ(events, places.size());
  EXPECT_EQ(count(told, "event: gap\n"), 1u);
  const Exit wrong = listen("?task=t1", "")->wait();
  EXPECT_THAT(wrong.out, HasSubstr("a task must be FRAMEWORK/TASK, not 't1'"));
}

TEST_F(Events, AreChosenAndShownAsLines) {
  runs_true();
  ASSERT_TRUE(eventually(
      [&] { return count(proffer({"events"}).out, "task ended  framework=run-") == 1; }));
  const Exit of_framework = proffer({"events", "--framework=run"});
  EXPECT_THAT(of_framework.out, HasSubstr("  task launched  framework=run-"));
  EXPECT_THAT(of_framework.out, HasSubstr(" state=finished reason=command_exited "));
  EXPECT_THAT(of_framework.out, Not(HasSubstr("agent registered")));
  EXPECT_THAT(proffer({"events", "--agent=a1"}).out, HasSubstr("agent registered  agent=a1"));
  EXPECT_EQ(proffer({"events", "--agent=a2"}).out, "");
  EXPECT_EQ(count(proffer({"events", "--last=3"}).out, "\n"), 3u);
  const Exit wrong = proffer({"events", "--from=now"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--from: an event's place is LEADER.NUMBER"));
}

TEST_F(Events, OfOneUserAreNotShownToAnother) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  runs_true();
  ASSERT_TRUE(eventually([&] { return count(proffer({"events"}).out, "task ended") == 1; }));
  std::filesystem::permissions(std::filesystem::path(socket()).parent_path(),
                               std::filesystem::perms::others_exec,
                               std::filesystem::perm_options::add);
  const Exit others = run({"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                           program_for_all("proffer"), "--master=" + socket(), "events"});
  EXPECT_EQ(others.code, 0) << others.err;
  EXPECT_THAT(others.out, HasSubstr("agent registered"));
  EXPECT_THAT(others.out, Not(HasSubstr("task ")));
  EXPECT_THAT(others.out, Not(HasSubstr("framework")));
}

}  // namespace
}  // namespace proffer::events_integration_test
