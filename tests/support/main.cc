// The main of every test binary: glog to standard error, then GoogleTest. If a test case, or the
// set-up or end of a suite, hangs, the binary is killed and the case is named, long before the
// timeout of the whole binary.

#include <csignal>
#include <cstdlib>
#include <ctime>
#include <string>

#include <glog/logging.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/long.h"

namespace {

// Many times the duration of the longest case of ./test on a slow machine with sanitizers.
constexpr long kSecondsOfACase = 400;

std::string told;  // for the signal handler; set before the timer

void ends_the_binary(int) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, told.data(), told.size());
  abort();
}

// Uses its own timer: a test may use that of alarm() and setitimer().
class EndsWhatHangs : public testing::EmptyTestEventListener {
 public:
  explicit EndsWhatHangs(long seconds) : seconds_(seconds) {
    // No other code uses this signal, and tests catch the common ones.
    const int number = SIGRTMAX - 1;
    std::signal(number, ends_the_binary);
    sigevent event = {};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = number;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer_) != 0) abort();
  }

 private:
  void OnTestProgramStart(const testing::UnitTest&) override { give_time("the beginning of all"); }
  void OnTestSuiteStart(const testing::TestSuite& suite) override {
    give_time(std::string("the beginning of ") + suite.name());
  }
  void OnTestStart(const testing::TestInfo& test) override { give_time(name_of(test)); }
  void OnTestEnd(const testing::TestInfo& test) override {
    give_time("the time after " + name_of(test));
  }
  void OnTestSuiteEnd(const testing::TestSuite& suite) override {
    give_time(std::string("the time after ") + suite.name());
  }
  void OnTestProgramEnd(const testing::UnitTest&) override { set(0); }

  static std::string name_of(const testing::TestInfo& test) {
    return std::string(test.test_suite_name()) + "." + test.name();
  }

  void give_time(const std::string& name) {
    set(0);
    told = "\nHANGS: " + name + " has not ended after " + std::to_string(seconds_) + " s\n";
    set(seconds_);
  }
  void set(long seconds) {
    itimerspec once = {};
    once.it_value.tv_sec = seconds;
    if (timer_settime(timer_, 0, &once, nullptr) != 0) abort();
  }

  long seconds_;
  timer_t timer_ = {};
};

}  // namespace

int main(int argc, char** argv) {
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_ERROR;
  google::InitGoogleLogging(argv[0]);
  testing::InitGoogleTest(&argc, argv);
  if (!proffer::test::is_long()) {  // long tests have no limit
    // The test of this code uses a shorter time.
    const char* const given = getenv("PROFFER_SECONDS_OF_A_CASE");
    const long seconds = given == nullptr ? 0 : std::atol(given);
    testing::UnitTest::GetInstance()->listeners().Append(
        new EndsWhatHangs(seconds > 0 ? seconds : kSecondsOfACase));
  }
  return RUN_ALL_TESTS();
}
