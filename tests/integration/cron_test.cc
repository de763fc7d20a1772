// Schedules on a real cluster. With $PROFFER_LONG it waits for fire times, and kills the scheduler
// at one.

#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "proto/json/batch_schedule_json.h"
#include "tests/integration/word_count.h"
#include "tests/support/long.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class Schedules : public WordCount {
 protected:
  void SetUp() override {
    fs::create_directories(home_ / "in");
    write_file(home_ / "in/text", "b a\na c\n");
    write_file(home_ / "job.yaml",
               "name: copy\n"
               "schedule: {cron: \"* * * * *\", zone: Europe/Berlin}\n"
               "map: cat; echo $PROFFER_FIRE_TIME\n"
               "reducers: 0\n"
               "input: in\n"
               "output: out\n");
  }
  Exit submit(const Cluster& cluster, const std::string& schedule) const {
    write_file(home_ / "other.yaml",
               text("name: other\nschedule: ", schedule, "\nrun: 'true'\noutput: other\n"));
    return cluster.proffer({"batch", "submit", home_ / "other.yaml"});
  }
  static proto::BatchSchedule only(const Cluster& cluster) {
    const Exit shown = cluster.proffer({"batch", "cron", "list", "--json"});
    const auto page = proto::parse_batch_schedule_page(shown.out);
    EXPECT_TRUE(page) << shown.out << shown.err;
    return page && !page->schedules.empty() ? page->schedules.front() : proto::BatchSchedule();
  }
};

TEST_F(Schedules, AreSubmittedSeenPausedAndRemoved) {
  Cluster cluster({.batch = true});
  const Exit submitted = cluster.proffer({"batch", "submit", home_ / "job.yaml"});
  EXPECT_EQ(submitted.code, 0) << submitted.err;
  EXPECT_EQ(submitted.out, "copy\n");
  EXPECT_TRUE(fs::is_directory(home_ / "out"));
  EXPECT_EQ(only(cluster).zone, "Europe/Berlin");
  EXPECT_THAT(cluster.proffer({"batch", "cron", "next", "copy"}).out,
              HasSubstr(" Europe/Berlin  to come\n"));

  EXPECT_EQ(cluster.proffer({"batch", "cron", "pause", "copy"}).code, 0);
  EXPECT_THAT(cluster.proffer({"batch", "cron", "list"}).out, HasSubstr("paused"));
  const Exit resumed = cluster.proffer({"batch", "cron", "resume", "copy"});
  EXPECT_THAT(resumed.out, HasSubstr("copy next fires at 20"));
  const Exit unknown = cluster.proffer({"batch", "cron", "pause", "copi"});
  EXPECT_EQ(unknown.code, 1);
  const Exit no_verb = cluster.proffer({"batch", "cron", "create", "--help"});
  EXPECT_EQ(no_verb.code, 2) << no_verb.out;
  EXPECT_THAT(no_verb.err, HasSubstr("unknown subcommand 'create'"));
  EXPECT_THAT(cluster.proffer({"batch", "cron", "pause"}).err,
              HasSubstr("see: proffer batch cron pause --help"));
  EXPECT_EQ(cluster.proffer({"batch", "cron", "next", "copi"}).code, 1);
  EXPECT_EQ(cluster.proffer({"batch", "cron", "remove", "copy"}).code, 0);
  EXPECT_THAT(cluster.proffer({"batch", "cron", "list"}).out, Not(HasSubstr("copy")));
}

TEST_F(Schedules, BadOnesAreRefusedAndLeaveNothing) {
  Cluster cluster({.batch = true});
  const struct {
    std::string schedule;
    std::string says;
  } rows[] = {
      {"{cron: 61 * * * *}", "minute '61'"},
      {"{cron: 0 0 30 2 *}", "never matches"},
      {"{zone: UTC}", "no cron expression"},
      {"{cron: \"@daily\", zone: Europe/Nowhere}", "unknown time zone 'Europe/Nowhere'"},
      {"{cron: \"@daily\", overlap: sometimes}", "line 2"},
      {"{cron: \"@daily\", catch_up: all}", "overlap: skip"},
      {"{cron: \"@daily\", at: noon}", "at"},
  };
  for (const auto& row : rows) {
    const Exit refused = submit(cluster, row.schedule);
    EXPECT_EQ(refused.code, 2) << row.schedule;
    EXPECT_THAT(refused.err, HasSubstr(row.says)) << row.schedule;
    EXPECT_FALSE(fs::exists(home_ / "other")) << row.schedule;
  }
}

TEST_F(Schedules, AreSubmittedAndNotRun) {
  Cluster cluster({.batch = true});
  const Exit refused = cluster.proffer({"batch", "run", home_ / "job.yaml"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("proffer batch submit FILE"));
  EXPECT_EQ(only(cluster).name, "");
  EXPECT_FALSE(fs::exists(home_ / "out"));
}

TEST_F(Schedules, FireOnceThoughTheSchedulerIsKilledAtTheFireTime) {
  if (!test::is_long()) GTEST_SKIP() << "not run: it waits for minutes; ./test --long";
  Cluster cluster({.batch = true});
  const Exit submitted = cluster.proffer({"batch", "submit", home_ / "job.yaml"});
  ASSERT_EQ(submitted.code, 0) << submitted.err;
  const auto fired = [&](size_t count) {
    return eventually([&] { return only(cluster).log.size() >= count; }, Seconds(150));
  };
  for (size_t round = 1; round <= 3; ++round) {
    ASSERT_TRUE(fired(round));
    ::kill(scheduler_of(cluster), SIGKILL);  // proffer dev restarts it
    ASSERT_TRUE(eventually([&] {
      return cluster.proffer({"batch", "cron", "list", "--json"}).code == 0;
    }));
  }
  for (const proto::BatchFiring& firing : only(cluster).log) {
    EXPECT_EQ(firing.result, "started");
    EXPECT_EQ(cluster.proffer({"batch", "wait", firing.job}).code, 0) << firing.job;
  }
  size_t outputs = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(home_ / "out")) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(".schedule-")) continue;
    EXPECT_TRUE(fs::exists(entry.path() / "_SUCCESS")) << name;
    EXPECT_THAT(read_file(entry.path() / "part-00000"), HasSubstr("b a\na c\n20"));
    ++outputs;
  }
  EXPECT_GE(outputs, 3u);
}

}  // namespace
}  // namespace proffer::test
