// The event log of several real masters: standbys copy the leader's events, so the next leader has
// them, and followers continue where they were.

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "proto/json/events_json.h"
#include "tests/integration/event_lines.h"
#include "tests/integration/leaders.h"

namespace proffer::masters_events_test {
namespace {

using namespace test;
using testing::HasSubstr;
using testing::Not;

class EventsOfLeaders : public Leaders {
 protected:
  std::string all() const { return text(socket(1), ",", socket(2), ",", socket(3)); }
  Exit proffer(Words words) const {
    words.insert(words.begin(), program("proffer"));
    return run(words, {{"PROFFER_MASTER", all()}});
  }
  std::string events() const { return proffer({"events", "--from=1.1", "--json"}).out; }
  void start_agent() {
    agent_ = std::make_unique<Process>(Words{program("proffer-agent"), "--master=" + all(),
                                             "--name=a1", "--work_dir=" + (home_ / "a1"),
                                             "--resources=cpus:4;mem:512", "--tasks_on_exit=kill"});
  }
  void runs_true() const {
    EXPECT_EQ(proffer({"run", "--cpus=1", "--mem=64", "--", "true"}).code, 0);
  }
  // Waits until this many standbys have all events of this leader.
  void wait_for_followers(int leader, size_t standbys) const {
    std::string metrics;
    EXPECT_TRUE(eventually([&] {
      metrics = get_http(dir(leader) + "-http.sock", "/metrics");
      size_t all_told = 0;
      for (int i = 1; i <= 3; ++i) {
        all_told +=
            count(metrics, text("proffer_standby_events_behind{master=\"", socket(i), "\"} 0\n"));
      }
      return all_told == standbys;
    })) << metrics;
  }

  std::unique_ptr<Process> agent_;
};

TEST_F(EventsOfLeaders, AreThereUnderTheNextLeaderAndWhatIsMissingIsToldOnce) {
  start(1);
  ASSERT_EQ(leader(), 1);
  start(2);
  start(3);
  start_agent();
  const std::string ended = R"("event":"task ended","level":"detail","framework":"run-)";
  Process follower({program("proffer"), "events", "-f", "--last=0", "--json"},
                   {{"PROFFER_MASTER", all()}});
  Process listener({"curl", "-sN", "--unix-socket", dir(1) + "-http.sock", "-H",
                    "Accept: text/event-stream", "http://localhost/v1/events?from=1.1"});
  runs_true();
  ASSERT_TRUE(follower.line_with(ended + "1-")) << follower.out() << follower.err();
  ASSERT_TRUE(listener.line_with("task ended")) << listener.out() << listener.err();
  const std::string before = events();
  wait_for_followers(1, 2);
  EXPECT_THAT(before, Not(HasSubstr("\"event\":\"gap\"")));

  masters_[1]->kill(SIGKILL);
  masters_[1]->wait();
  const int second = leader();
  ASSERT_NE(second, 1);
  EXPECT_THAT(events(), HasSubstr(before)) << "what was told under the first leader";
  runs_true();
  ASSERT_TRUE(follower.line_with(ended + "2-")) << follower.out() << follower.err();
  const std::string heard = listener.wait().out;
  const size_t last_id = heard.rfind("\nid: ");
  ASSERT_NE(last_id, std::string::npos) << heard;
  const std::string id = heard.substr(last_id + 5, heard.find('\n', last_id + 5) - last_id - 5);
  Process again({"curl", "-sN", "--unix-socket", dir(second) + "-http.sock", "-H",
                 "Accept: text/event-stream", "-H", "Last-Event-ID: " + id,
                 "http://localhost/v1/events?from=1.1"});
  ASSERT_TRUE(again.line_with(ended + "2-")) << again.out() << again.err();
  again.kill(SIGTERM);
  const std::string went_on = again.wait().out;
  EXPECT_THAT(went_on, Not(HasSubstr(id + "\n"))) << "it has seen that one";
  EXPECT_EQ(count(went_on, "event: gap\n"), 1u) << went_on;

  // The killed master returns and follows; the leader then ends cleanly, so no events are missing
  // after it.
  start(1);
  wait_for_followers(second, 2);
  // Their becoming standbys is an event too, which the logs lack for a moment.
  EXPECT_TRUE(eventually([&] {
    const std::string out = proffer({"status"}).out;
    return count(out, " stands by") == 2 && count(out, "events behind") == 0;
  }));
  masters_[second]->kill(SIGTERM);
  EXPECT_EQ(masters_[second]->wait().code, 0) << masters_[second]->err();
  const int third = leader();
  ASSERT_NE(third, second);
  runs_true();
  ASSERT_TRUE(follower.line_with(ended + "3-")) << follower.out() << follower.err();
  follower.kill(SIGTERM);
  const std::string told = follower.wait().out;

  EXPECT_EQ(event_out_of_order(told), "");
  EXPECT_EQ(count(told, "\"event\":\"gap\""), 1u) << told;
  EXPECT_EQ(count(told, "\"event\":\"master leads\""), 2u) << told;
  EXPECT_EQ(count(told, "\"event\":\"master leads no longer\""), 1u) << told;
  EXPECT_EQ(count(told, ended), 3u) << told;
  // A later reader gets the same events.
  const std::string later = events();
  EXPECT_EQ(event_out_of_order(later), "");
  EXPECT_THAT(later, HasSubstr(told));
  EXPECT_THAT(later, HasSubstr(before));
  EXPECT_EQ(count(later, "\"event\":\"gap\""), 1u) << later;
}

// Under load: an event that a reader got before the kill is in the next leader's log, or its place
// is in the gap.
TEST_F(EventsOfLeaders, OfABusyLeaderThatIsKilledAreThereOrInTheGap) {
  constexpr int kRuns = 12;
  start(1);
  ASSERT_EQ(leader(), 1);
  start(2);
  start(3);
  start_agent();
  wait_for_followers(1, 2);
  Process follower({program("proffer"), "events", "-f", "--last=0", "--json"},
                   {{"PROFFER_MASTER", all()}});
  std::vector<std::unique_ptr<Process>> runs;
  for (int i = 0; i < kRuns; ++i) {
    runs.push_back(std::make_unique<Process>(
        Words{program("proffer"), "run", "--cpus=0.5", "--mem=32", "--", "true"},
        std::map<std::string, std::string>{{"PROFFER_MASTER", all()}}));
  }
  for (int i = 0; i < kRuns / 2; ++i) {
    ASSERT_TRUE(follower.line_with("\"event\":\"task ended\"")) << follower.err();
  }
  masters_[1]->kill(SIGKILL);
  masters_[1]->wait();
  ASSERT_NE(leader(), 1);
  for (const auto& run : runs) run->wait();
  ASSERT_TRUE(follower.line_with("\"event\":\"master leads\"")) << follower.err();
  follower.kill(SIGTERM);
  const std::string told = follower.wait().out;
  EXPECT_EQ(event_out_of_order(told), "");
  const std::string later = events();
  EXPECT_EQ(event_out_of_order(later), "");
  const size_t gap_at = later.find("\"event\":\"gap\"");
  ASSERT_NE(gap_at, std::string::npos) << later;
  const size_t begin = later.rfind('\n', gap_at) + 1;
  const std::optional<proto::EventPlace> gap = proto::place_of(later.substr(begin));
  ASSERT_TRUE(gap) << later;
  EXPECT_EQ(gap->leader, LeaderEpoch(1));
  size_t lines = 0;
  for (std::string_view rest = told; !rest.empty();) {
    const std::string line(rest.substr(0, rest.find('\n') + 1));
    rest.remove_prefix(line.size());
    if (line.find("\"event\":\"gap\"") != std::string::npos) continue;
    const std::optional<proto::EventPlace> place = proto::place_of(line);
    ASSERT_TRUE(place) << line;
    if (place->leader == gap->leader && *place >= *gap) continue;
    lines += place->leader == gap->leader ? 1 : 0;  // only standbys can have kept it
    EXPECT_THAT(later, HasSubstr(line));
  }
  EXPECT_GT(lines, 10u);
  EXPECT_EQ(count(later, "\"event\":\"gap\""), 1u) << later;
}

}  // namespace
}  // namespace proffer::masters_events_test
