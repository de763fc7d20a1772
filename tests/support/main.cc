// The main of every test binary: glog to standard error, then GoogleTest. A case that hangs ends
// its binary and is named, long before the time of the whole binary is up.

#include <cstdlib>
#include <string>

#include <glog/logging.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace {

// Many times what the longest case of ./test takes, on a slow machine, under sanitizers.
constexpr unsigned kSecondsOfACase = 400;

std::string told;  // what the handler writes; made before the alarm is set

void ends_the_binary(int) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, told.data(), told.size());
  abort();
}

class EndsCasesThatHang : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& test) override {
    told = std::string("\nHANGS: ") + test.test_suite_name() + "." + test.name() +
           " has not ended after " + std::to_string(kSecondsOfACase) + " s\n";
    alarm(kSecondsOfACase);
  }
  void OnTestEnd(const testing::TestInfo&) override { alarm(0); }
};

}  // namespace

int main(int argc, char** argv) {
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_ERROR;
  google::InitGoogleLogging(argv[0]);
  testing::InitGoogleTest(&argc, argv);
  if (getenv("PROFFER_LONG") == nullptr) {  // long forms take as long as they take
    signal(SIGALRM, ends_the_binary);
    testing::UnitTest::GetInstance()->listeners().Append(new EndsCasesThatHang);
  }
  return RUN_ALL_TESTS();
}
