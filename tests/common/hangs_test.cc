// A test binary that hangs is killed, and the test case is named (tests/support/main.cc). This test
// runs itself again with a case that hangs.

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/time.h>
#include <unistd.h>

namespace proffer::hangs_test {
namespace {

using testing::HasSubstr;

bool hangs_in(const std::string& place) {
  const char* const asked = std::getenv("PROFFER_HANGS_IN");
  return asked != nullptr && place == asked;
}

void hang_if_asked_in(const std::string& place) {
  while (hangs_in(place)) pause();
}

class HangsIfAsked : public testing::Test {
 protected:
  static void SetUpTestSuite() { hang_if_asked_in("the beginning of a suite"); }
  static void TearDownTestSuite() { hang_if_asked_in("the end of a suite"); }
};

TEST_F(HangsIfAsked, InACase) { hang_if_asked_in("a case"); }

TEST_F(HangsIfAsked, InACaseThatUsesTheAlarm) {
  if (!hangs_in("a case that uses the alarm")) return;
  alarm(1'000);
  const itimerval never = {};
  setitimer(ITIMER_REAL, &never, nullptr);
  hang_if_asked_in("a case that uses the alarm");
}

// Returns its output.
std::string ended(const std::string& place) {
  std::array<char, 4'096> self{};
  if (readlink("/proc/self/exe", self.data(), self.size() - 1) < 0) return "no path";
  const std::string command = "env -i PROFFER_SECONDS_OF_A_CASE=1 PROFFER_HANGS_IN='" + place +
                              "' '" + self.data() + "' --gtest_filter='HangsIfAsked.*' 2>&1";
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "no pipe";
  std::string told;
  for (int byte = fgetc(pipe); byte != EOF; byte = fgetc(pipe)) told += static_cast<char>(byte);
  return told + (pclose(pipe) == 0 ? "and it passed" : "");
}

TEST(WhatHangs, IsEndedAndNamed) {
  EXPECT_THAT(ended("a case"), HasSubstr("HANGS: HangsIfAsked.InACase has not ended"));
  EXPECT_THAT(ended("a case that uses the alarm"),
              HasSubstr("HANGS: HangsIfAsked.InACaseThatUsesTheAlarm has not ended"));
  EXPECT_THAT(ended("the beginning of a suite"),
              HasSubstr("HANGS: the beginning of HangsIfAsked has not ended"));
  EXPECT_THAT(ended("the end of a suite"), HasSubstr("HANGS: the time after HangsIfAsked."));
  EXPECT_THAT(ended("nothing"), HasSubstr("and it passed"));
}

}  // namespace
}  // namespace proffer::hangs_test
