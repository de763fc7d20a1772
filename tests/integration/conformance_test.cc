// `proffer conformance` passes good frameworks, and reports what is wrong with broken ones. The
// broken twins are one program with one mistake each (conformance/broken_framework.cc). Without a
// mistake it passes, so a twin fails because of its mistake.

#include <algorithm>
#include <cstdlib>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "tests/integration/processes.h"
#include "tests/support/long.h"

namespace proffer::test::conformance_test {
namespace {

using testing::HasSubstr;

// The path of tests/<name> in the build.
std::string test_program(const std::string& name) { return program("../tests/" + name); }
std::string example(const std::string& name) { return program("examples/" + name); }

// The line of one item in the output of --json.
std::string line_of(const Exit& exit, const std::string& item) {
  const size_t at = exit.out.find("{\"item\":\"" + item + "\"");
  return at == std::string::npos ? "" : exit.out.substr(at, exit.out.find('\n', at) - at);
}
std::string result(const std::string& verdict) { return "\"result\":\"" + verdict + "\""; }

const Words kItems = {"baseline",          "agent_lost",        "agent_drained",
                      "revoked",           "executor_killed",   "offer_rescinded",
                      "update_duplicated", "connection_broken", "network_slow",
                      "master_restarted",  "scheduler_killed",  "both_killed"};

Words conformance(Words options, const Words& scheduler) {
  Words words = {program("proffer"), "conformance", "--json"};
  words.insert(words.end(), options.begin(), options.end());
  words.push_back("--");
  words.insert(words.end(), scheduler.begin(), scheduler.end());
  return words;
}

// --- good frameworks -----------------------------------------------------------------------------

struct Good {
  std::string name;
  Words scheduler;
  Words options;
  Words tested;  // items that must have been tested
};

void expect_passed(const Good& good) {
  SCOPED_TRACE(good.name);
  const Exit all = run(conformance(good.options, good.scheduler), {}, {}, Seconds(240));
  EXPECT_EQ(all.code, 0) << all.out << all.err;
  for (const std::string& item : good.tested) {
    EXPECT_THAT(line_of(all, item), HasSubstr(result("passed")));
  }
}

const std::string kSession = "--session_file={dir}/session";

TEST(Conformance, PassesTheFrameworkWithoutAFaultInEachItem) {
  const std::string twin = test_program("broken_framework");
  const std::string session = "--session={dir}/session";
  expect_passed({"without a fault",
                 {twin, "nothing", session},
                 {"--restart-with", twin + " nothing " + session},
                 kItems});
}

TEST(Conformance, PassesAFrameworkThatOnlyRunsWhatIsShort) {
  expect_passed(
      {"hello",
       {example("hello_framework")},
       {},
       {"baseline", "offer_rescinded", "update_duplicated", "connection_broken", "network_slow"}});
}

// --- broken frameworks ---------------------------------------------------------------------------

struct Twin {
  std::string fault;
  std::string item;
  std::string seen;
  bool comes_back = false;  // with --restart-with
};

const std::vector<Twin> kTwins = {
    {"launches_nothing", "baseline", "it launched nothing, although"},
    {"does_not_subscribe_again", "master_restarted", "it did not subscribe again within"},
    {"loses_its_tasks", "both_killed", "it launched tasks again that were already running", true},
    {"does_not_launch_again", "offer_rescinded", "it launched nothing on later offers"},
    {"does_not_replace", "agent_lost", "never came back; then"},
    {"acknowledges_nothing", "baseline", "never acknowledged"},
    {"answers_no_offer", "baseline", "for its whole lease"},
    {"launches_too_many", "baseline", "more tasks of the ask 'work' than the ask wanted"},
    {"launches_too_large", "baseline", "was refused"},
    {"names_another_ask", "baseline", "of the ask 'play', which it never declared"},
    {"names_another_offer", "baseline", "which it did not receive in this session"},
    {"uses_ids_again", "baseline", "twice: it had received no final update of the first one"},
    {"tasks_fail", "baseline", "tasks failed (work-"},
    {"exits_with_3", "baseline", "it ended with exit code 3"},
    {"does_not_replace", "agent_drained", "was drained; then"},
    {"does_not_replace", "revoked", "another role reclaimed its guarantee; then"},
    {"does_not_replace", "executor_killed", "an executor was killed; then"},
    {"acknowledges_once", "update_duplicated", "that arrived again"},
    {"does_not_ask_again", "connection_broken", "did not declare its asks again"},
    {"accepts_again", "network_slow", "which it had already answered"},
    {"loses_its_session", "scheduler_killed", "it has lost its tasks", true},
};

// Several twins at a time, slow ones first: they mostly wait.
TEST(Conformance, FailsEachBrokenTwinForItsOwnReason) {
  constexpr size_t kAtOnce = 11;
  for (size_t begin = 0; begin < kTwins.size(); begin += kAtOnce) {
    std::vector<std::unique_ptr<Process>> trials;
    const size_t end = std::min(begin + kAtOnce, kTwins.size());
    for (size_t i = begin; i < end; ++i) {
      const Twin& twin = kTwins[i];
      Words scheduler = {test_program("broken_framework"), twin.fault};
      Words options = {"--only", twin.item};
      if (twin.comes_back) {
        scheduler.emplace_back("--session={dir}/session");
        options.insert(options.end(), {"--restart-with",
                                       text(scheduler[0], " ", scheduler[1], " ", scheduler[2])});
      }
      trials.push_back(std::make_unique<Process>(conformance(options, scheduler)));
    }
    for (size_t i = begin; i < end; ++i) {
      const Twin& twin = kTwins[i];
      SCOPED_TRACE(text(twin.fault, " in ", twin.item));
      const Exit exit = trials[i - begin]->wait(Seconds(120));
      EXPECT_EQ(exit.code, 1) << exit.out << exit.err;
      EXPECT_THAT(line_of(exit, twin.item), HasSubstr(result("FAILED"))) << exit.out;
      EXPECT_THAT(line_of(exit, twin.item), HasSubstr(twin.seen)) << exit.out;
    }
  }
}

TEST(Conformance, EachItemHasABrokenTwin) {
  for (const std::string& item : kItems) {
    EXPECT_TRUE(std::any_of(kTwins.begin(), kTwins.end(), [&](const Twin& twin) {
      return twin.item == item;
    })) << item;
  }
  const Exit wrong =
      run({program("proffer"), "conformance", "--only", "no_such", "--", "/bin/true"});
  EXPECT_EQ(wrong.code, 2);
  std::string list;
  for (const std::string& item : kItems) list += (list.empty() ? "" : ", ") + item;
  EXPECT_THAT(wrong.err, HasSubstr("the items are " + list));
}

// --- options -------------------------------------------------------------------------------------

TEST(Conformance, SaysWhichProgramThereIsNot) {
  const Exit none = run({program("proffer"), "conformance", "--", "no_such_scheduler"});
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("'no_such_scheduler'"), std::string::npos) << none.err;
}

TEST(Conformance, AllowsWhatItIsToldIsRight) {
  const std::string twin = test_program("broken_framework");
  Process idle(conformance({"--only", "baseline", "--may-stay-idle"}, {twin, "launches_nothing"}));
  Process failing(conformance({"--only", "baseline", "--tasks-may-fail"}, {twin, "tasks_fail"}));
  const Exit first = idle.wait(Seconds(120));
  EXPECT_THAT(line_of(first, "baseline"), HasSubstr(result("passed"))) << first.out << first.err;
  const Exit second = failing.wait(Seconds(120));
  EXPECT_THAT(line_of(second, "baseline"), HasSubstr(result("passed"))) << second.out << second.err;
}

// --- shipped frameworks --------------------------------------------------------------------------

TEST(Conformance, PassesAllShippedFrameworks) {
  if (!test::is_long()) GTEST_SKIP() << "only in the long form of the tests";
  const TemporaryDirectory home;
  std::string commands;
  for (int i = 0; i < 6; ++i) commands += "sleep 3\n";
  write_file(home / "commands", commands);
  write_file(home / "app.yaml",
             "name: web\ninstances: 2\ncommand: exec sleep 1000\n"
             "resources: cpus:0.1;mem:32\n");
  write_file(home / "input", "one two\nthree\n");
  const std::string failover = example("failover_framework");
  const std::string once = example("exactly_once_framework") + " --commands=" + (home / "commands");
  const std::string service =
      program("proffer-service") + " scheduler --session-file={dir}/session";
  const std::string batch = program("proffer-batch") + " scheduler --session-file={dir}/session";
  const std::vector<Good> all = {
      {"picky", {example("picky_framework")}, {}, {"baseline"}},
      {"raw_offers", {example("raw_offers_framework")}, {}, {"baseline"}},
      {"failover", {failover, kSession}, {"--restart-with", failover + " " + kSession}, kItems},
      {"exactly_once",
       {"/bin/sh", "-c", "exec " + once + " " + kSession},
       {"--restart-with", once + " " + kSession},
       {"baseline"}},
      {"custom_executor", {example("custom_executor_framework")}, {}, {"baseline"}},
      {"load_generator",
       {example("load_generator"), "--count=30", "--seconds=5"},
       {},
       {"baseline"}},
      {"service",
       {"/bin/sh", "-c", "exec " + service},
       {"--restart-with", service, "--work",
        program("proffer") + " service apply " + (home / "app.yaml")},
       {"baseline"}},
      {"service run", {program("proffer"), "service", "run", home / "app.yaml"}, {}, {"baseline"}},
      {"batch",
       {"/bin/sh", "-c", "exec " + batch},
       {"--restart-with", batch, "--work",
        program("proffer") + " batch submit --map 'sleep 3; cat' --reduce cat --input " +
            (home / "input") + " --output {dir}/output"},
       {"baseline"}},
  };
  for (const Good& good : all) expect_passed(good);
}

}  // namespace
}  // namespace proffer::test::conformance_test
