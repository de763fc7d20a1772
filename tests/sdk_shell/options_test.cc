// The common flags of schedulers. A wrong flag ends the program with 2, and the message says what
// is allowed.

#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>

#include "sdk/scheduler.h"

namespace proffer::sdk::options_test {
namespace {

SchedulerOptions options(std::vector<std::string> arguments,
                         const std::vector<std::string_view>& own_flags = {}) {
  arguments.insert(arguments.begin(), "program");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  return options_from(static_cast<int>(argv.size()), argv.data(), "hello", own_flags);
}

class Options : public ::testing::Test {
 protected:
  void SetUp() override { unsetenv("PROFFER_MASTER"); }
  void TearDown() override { unsetenv("PROFFER_MASTER"); }
};
using OptionsDeathTest = Options;

TEST_F(Options, HaveDefaults) {
  const SchedulerOptions o = options({});
  EXPECT_EQ(o.name, "hello");
  EXPECT_EQ(o.role, RoleName("default"));
  EXPECT_TRUE(o.master.empty());
  EXPECT_TRUE(o.session_file.empty());
  EXPECT_FALSE(o.user.empty());
}

TEST_F(Options, AreTakenFromFlagsAndOtherArgumentsAreLeftAlone) {
  const SchedulerOptions o =
      options({"--master=[::1]:7", "--role", "ads/batch", "other", "--name=x", "--names=no", "-v",
               "--session_file=s", "--names", "--", "--name=late", "--whatever"},
              {"names"});
  EXPECT_EQ(o.master, "[::1]:7");
  EXPECT_EQ(o.role, RoleName("ads/batch"));
  EXPECT_EQ(o.name, "x");
  EXPECT_EQ(o.session_file, "s");
}

TEST_F(Options, TheFlagWinsOverTheEnvironment) {
  setenv("PROFFER_MASTER", "master.example", 1);
  EXPECT_EQ(options({}).master, "master.example:5050");
  EXPECT_EQ(options({"--master=127.0.0.1:9"}).master, "127.0.0.1:9");
  setenv("PROFFER_MASTER", "", 1);
  EXPECT_EQ(options({}).master, "") << "as if it were not set, as for commands";
}

TEST_F(OptionsDeathTest, WrongOnesEndTheProgramWithTwo) {
  const auto ends = ::testing::ExitedWithCode(2);
  EXPECT_EXIT(options({"--master=a:b"}), ends, "error: .*--master.*\n  hint: ");
  EXPECT_EXIT(options({"--master"}), ends, "error: --master needs a value");
  EXPECT_EXIT(options({"--role=a//b"}), ends, "error: .*--role");
  EXPECT_EXIT(options({"--role=*"}), ends, "error: --role.*'\\*'\n  hint: .*default");
  EXPECT_EXIT(options({"--master=zk://h:2181/x"}), ends,
              "error: --master must be SOCKET or HOST:PORT.*'zk://h:2181/x'\n  hint: .*host1:5050");
  EXPECT_EXIT(options({"--name=no blanks"}), ends, "error: --name must be .*'no blanks'");
  EXPECT_EXIT(options({"--session_file="}), ends, "error: --session_file");
  setenv("PROFFER_MASTER", "host:99999", 1);
  EXPECT_EXIT(options({}), ends, "error: .*PROFFER_MASTER");
}

TEST_F(OptionsDeathTest, AFlagThatNobodyKnowsEndsTheProgramWithTwo) {
  const auto ends = ::testing::ExitedWithCode(2);
  EXPECT_EXIT(options({"--sesion_file=x"}), ends,
              "error: there is no flag '--sesion_file'\n  hint: did you mean --session_file\\? The "
              "flags are --master, --role, --name, --session_file\n");
  EXPECT_EXIT(options({"--count=7"}, {"counts", "shape"}), ends,
              "no flag '--count'\n  hint: did you mean --counts\\? .*--session_file, --counts, "
              "--shape\n");
  EXPECT_EXIT(options({"--zzzzzzzz"}), ends,
              "no flag '--zzzzzzzz'\n  hint: the flags are --master");
  EXPECT_EXIT(options({"--=x"}), ends, "no flag '--'");
  // The word after one of our flags is its value.
  EXPECT_EQ(options({"--name", "--nonsense"}).name, "--nonsense");
}

TEST_F(OptionsDeathTest, AWrongAskEndsTheProgramWithTwo) {
  const auto ends = ::testing::ExitedWithCode(2);
  const auto ask = [](std::string_view name, std::string_view resources, int64_t count) {
    Scheduler scheduler(options({}));
    scheduler.ask(name, resources, count);
  };
  EXPECT_EXIT(ask("web", "cpu:1", 1), ends,
              "error: resources of ask 'web'.*\n  hint: .*for example");
  EXPECT_EXIT(ask("web", "cpu:1", 1), ends,
              "unknown resource kind 'cpu'.*\n  hint: did you mean 'cpus'");
  EXPECT_EXIT(
      ask("web", "cpus:0.1,mem:32", 1), ends,
      "KIND:AMOUNT separated by ';', not 'cpus:0.1,mem:32'\n  hint: write 'cpus:0.1;mem:32'");
  EXPECT_EXIT(ask("web", "cpus:0", 1), ends, "error: ");
  EXPECT_EXIT(ask("web", "cpus:1", -1), ends, "error: ask 'web': a count must be");
  EXPECT_EXIT(ask("my web", "cpus:1", 1), ends, "error: ");
}

TEST_F(OptionsDeathTest, ASchedulerWithAWrongNameOrMasterEndsTheProgram) {
  const auto ends = ::testing::ExitedWithCode(2);
  const auto make = [](SchedulerOptions o) { const Scheduler scheduler(std::move(o)); };
  EXPECT_EXIT(make({}), ends, "error: a scheduler's name");
  EXPECT_EXIT(make({.name = "x", .master = "nowhere:x"}), ends, "error: .*the master's address");
  EXPECT_EXIT(make({.name = "x", .role = RoleName("//")}), ends, "error: ");
}

// Also for an author that fills SchedulerOptions without options_from().
TEST_F(OptionsDeathTest, TheEnvironmentCountsWhereverASchedulerIsMade) {
  setenv("PROFFER_MASTER", "nowhere:x", 1);
  const auto ends = ::testing::ExitedWithCode(2);
  EXPECT_EXIT({ const Scheduler made(SchedulerOptions{.name = "x"}); }, ends,
              "error: .*PROFFER_MASTER.*'x'");
  const Scheduler named(SchedulerOptions{.name = "x", .master = "127.0.0.1:1"});
}

TEST_F(Options, AStopBeforeTheFirstConnectionEndsRunAtOnce) {
  Scheduler scheduler(options({"--master=127.0.0.1:1"}));
  scheduler.ask("web", "cpus:1", 1);
  scheduler.stop(7);
  EXPECT_EQ(scheduler.run(), 7);
}

TEST_F(Options, TasksOfNoSessionAreRefusedFromWithinTheLoop) {
  Scheduler scheduler(options({"--master=127.0.0.1:1"}));
  bool is_in_call = true;
  scheduler.on_update([&](const proto::TaskStatus& status) {
    EXPECT_FALSE(is_in_call) << "a call must not call back";
    EXPECT_EQ(status.state, proto::TaskState::kRefused);
    scheduler.detach(3);
  });
  const std::vector<TaskId> tasks = scheduler.launch(
      Offer{.id = OfferId(1),
            .agent = AgentId("a1"),
            .slices = {{.resources = {.amounts = ResourceVector::of(1'000, 1'000)}}}},
      "true");
  EXPECT_EQ(tasks.size(), 1u);
  is_in_call = false;
  EXPECT_EQ(scheduler.run(), 3);
}

}  // namespace
}  // namespace proffer::sdk::options_test
