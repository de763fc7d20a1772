// `proffer blame` on a real cluster: the reasons for waits, compared with times in the event log
// and of the command that submitted the tasks.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/text.h"
#include "proto/json/blame_json.h"
#include "proto/json/history_json.h"
#include "tests/integration/processes.h"
#include "tests/support/long.h"

namespace proffer::test {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

int64_t now_nanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

proto::Blame blame(const Cluster& cluster, Words words) {
  words.insert(words.begin(), "blame");
  words.emplace_back("--json");
  const Exit exit = cluster.proffer(words);
  EXPECT_EQ(exit.code, 0) << exit.err;
  const Result<proto::Blame> found = proto::parse_blame(exit.out);
  EXPECT_TRUE(found) << exit.out;
  return found ? *found : proto::Blame();
}

// Seconds of events by task, with milliseconds: "task launched" and "task updated state=running".
std::map<std::string, double> events(const Cluster& cluster, const std::string& what,
                                     const std::string& state) {
  std::map<std::string, double> times;
  const Exit exit = cluster.proffer({"events", "--json", "--from", "0.0"});
  EXPECT_EQ(exit.code, 0) << exit.err;
  for (const std::string_view line : split(exit.out, '\n')) {
    const Json event = Json::parse(line, nullptr, false);
    if (!event.is_object() || event.value("event", "") != what) continue;
    if (!state.empty() && event.value("state", "") != state) continue;
    times.emplace(event.value("task", ""), event.value("time_s", 0.0));
  }
  return times;
}

TEST(Waiting, OfRealTasksAddsUpFromTheirSubmissionToTheirStart) {
  const int count = test::is_long() ? 1'000 : 100;
  Cluster cluster({.agents = 1, .resources = "cpus:4;mem:4096", .batch = true});
  const TemporaryDirectory home;
  const int64_t submitted = now_nanos();
  std::filesystem::create_directories(home / "in");
  for (int i = 0; i < count; ++i) write_file(home / text("in/", i), "a line\n");
  const Exit done = cluster.proffer(
      {"batch", "run", "--name", "many", "--map", "cat", "--reduce", "cat", "--input", home / "in",
       "--output", home / "out", "--by-file", "--reducers", "1", "--resources", "cpus:1;mem:64"},
      Seconds(300));
  ASSERT_EQ(done.code, 0) << done.err;
  const int64_t ended = now_nanos();

  proto::HistoryPage history;
  ASSERT_TRUE(eventually([&] {
    const Exit exit = cluster.proffer({"history", "--json", "--limit", "100000"});
    history = proto::parse_history_page(exit.out).value();
    return history.tasks.size() >= static_cast<size_t>(count);
  }));
  // The event log is written asynchronously, independently of the history.
  std::map<std::string, double> launched;
  std::map<std::string, double> running;
  ASSERT_TRUE(eventually([&] {
    launched = events(cluster, "task launched", "");
    running = events(cluster, "task updated", "running");
    return std::all_of(history.tasks.begin(), history.tasks.end(), [&](const auto& task) {
      const std::string id = task.status.task.str();
      return launched.contains(id) && running.contains(id);
    });
  }));
  int checked = 0;
  for (const proto::EndedTask& task : history.tasks) {
    const std::string id = task.status.task.str();
    SCOPED_TRACE(id);
    ASSERT_FALSE(task.waited.empty());
    Duration start;
    for (const WaitSpan& span : task.waited) {
      if (span.reason == WaitReason::kStart) start = span.spent;
    }
    const Duration before = Duration::nanos(whole_of(task.waited).nanos() - start.nanos());
    const int64_t asked = (task.launched_at - before).nanos();
    EXPECT_GE(asked, submitted);
    EXPECT_LE(asked, ended);
    EXPECT_NEAR(task.launched_at.seconds(), launched.at(id), 0.002);
    EXPECT_NEAR(start.seconds(), running.at(id) - launched.at(id), 0.002);
    ++checked;
  }
  EXPECT_GE(checked, count);

  const std::string name = history.tasks.front().framework.str();
  const proto::Blame of_framework = blame(cluster, {"framework", name});
  int64_t millis = 0;
  for (const WaitSum& sum : of_framework.sums) millis += sum.millis;
  Duration whole;
  for (const proto::EndedTask& task : history.tasks) whole = whole + whole_of(task.waited);
  EXPECT_GE(millis + static_cast<int64_t>(of_framework.sums.size()), whole.millis());
  const proto::Blame one =
      blame(cluster, {"task", name + "/" + history.tasks.front().status.task.str()});
  EXPECT_EQ(one.waited, history.tasks.front().waited);
}

TEST(Waiting, IsToldOfWhatWaitsNow) {
  Cluster cluster({.agents = 1, .resources = "cpus:2;mem:1024"});
  const auto waits = cluster.start({"run", "--cpus=3", "--mem=64", "--name=large", "--", "true"});
  ASSERT_TRUE(eventually([&] {
    const Exit exit = cluster.proffer({"blame", "framework", "large"});
    return exit.out.find("impossible") != std::string::npos;
  }));
  const Exit said = cluster.proffer({"blame", "framework", "large"});
  EXPECT_THAT(said.out, HasSubstr("1 task waits now"));
  EXPECT_THAT(said.out, HasSubstr("no agent could run it"));
  const Exit role = cluster.proffer({"blame", "role", "default"});
  EXPECT_EQ(role.code, 0) << role.err;
  EXPECT_THAT(role.out, HasSubstr("impossible"));
  const Exit wrong = cluster.proffer({"blame", "job", "large"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("KIND must be framework, role or task, not 'job'"));
  const Exit unknown = cluster.proffer({"blame", "task", "large/none"});
  EXPECT_THAT(unknown.out + unknown.err, HasSubstr("knows no task 'none'"));
  const Exit since = cluster.proffer({"blame", "task", "large/t", "--since", "2h"});
  EXPECT_EQ(since.code, 2);
  waits->kill(SIGINT);
  waits->wait();
}

}  // namespace
}  // namespace proffer::test
