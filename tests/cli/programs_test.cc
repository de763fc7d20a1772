// The output of a program beside this one, which gets a file in memory and has a timeout.

#include "cli/programs.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/text.h"
#include "tests/support/temporary_directory.h"

namespace proffer::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class OutputOf : public testing::Test {
 protected:
  OutputOf() { setenv("PROFFER_BIN_DIR", home_.c_str(), 1); }
  ~OutputOf() override { unsetenv("PROFFER_BIN_DIR"); }

  void program(const std::string& script) {
    std::ofstream(home_ + "/proffer-x") << "#!/bin/sh\n" << script << "\n";
    fs::permissions(home_ + "/proffer-x", fs::perms::owner_all);
  }
  const test::TemporaryDirectory directory_;
  const std::string home_ = directory_.path();
};

TEST_F(OutputOf, AProgramReadsWhatItIsGiven) {
  program("cat \"$1\"; echo \"$2\"");
  const std::string large(1'000'000, 'x');
  const Result<std::string> got =
      output_of("x", {std::string(kGivenFile), "and a word"}, large, seconds(60));
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(*got, large + "and a word\n");
}

TEST_F(OutputOf, AProgramThatFailsOrIsNotThereIsAnError) {
  EXPECT_EQ(output_of("x", {}, "", seconds(60)).error().code(), ErrorCode::kNotFound);
  program("echo half; exit 3");
  EXPECT_EQ(output_of("x", {}, "", seconds(60)).error().code(), ErrorCode::kInternal);
}

TEST_F(OutputOf, AProgramThatDoesNotEndIsKilledAtTheLimit) {
  program(text("echo $$ > ", home_, "/pid.new; mv ", home_, "/pid.new ", home_, "/pid; ",
               "exec tail -f /dev/null"));
  // On a slow machine the program may not start within the timeout, so repeat until it has.
  Result<std::string> got = std::string();
  do {
    got = output_of("x", {}, "", milliseconds(200));
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code(), ErrorCode::kTimeout);
    EXPECT_THAT(got.error().message(), HasSubstr("did not finish within 200ms"));
  } while (!fs::exists(home_ + "/pid"));
  std::ifstream file(home_ + "/pid");
  pid_t pid = 0;
  file >> pid;
  ASSERT_GT(pid, 0);
  EXPECT_NE(kill(pid, 0), 0);
}

// The program ends even if its parent gets SIGKILL.
TEST_F(OutputOf, AProgramEndsWithTheOneThatStartedIt) {
  program(text("echo $$ > ", home_, "/pid.new; mv ", home_, "/pid.new ", home_, "/pid; ",
               "exec tail -f /dev/null"));
  const pid_t child = fork();
  if (child == 0) {
    (void)output_of("x", {}, "", hours(1));
    _exit(0);
  }
  const auto eventually = [](auto condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition() && std::chrono::steady_clock::now() < deadline) sched_yield();
    return condition();
  };
  ASSERT_TRUE(eventually([&] { return fs::exists(home_ + "/pid"); }));
  std::ifstream file(home_ + "/pid");
  pid_t pid = 0;
  file >> pid;
  ASSERT_GT(pid, 0);
  kill(child, SIGKILL);
  EXPECT_TRUE(
      eventually([&] { return !fs::exists(text("/proc/", pid, "/exe")) || kill(pid, 0) != 0; }));
}

}  // namespace
}  // namespace proffer::cli
