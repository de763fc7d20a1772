// The end of a task's standard error, from a sandbox that its user can change.

#include "slave/shell/stderr_tail.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/temporary_directory.h"

namespace proffer::agent {
namespace stderr_tail_test {
namespace {

namespace fs = std::filesystem;

class StderrTail : public testing::Test {
 protected:
  StderrTail() { fs::create_directory(home_ / "sandbox"); }
  static void write(const fs::path& path, const std::string& content) {
    std::ofstream(path) << content;
  }
  std::string tail(size_t bytes_max = 100) const {
    return stderr_tail((home_ / "sandbox").string(), bytes_max);
  }
  fs::path place() const { return home_ / "sandbox" / "stderr"; }

  const test::TemporaryDirectory directory_;
  const fs::path home_ = directory_.path();
};

}  // namespace

TEST_F(StderrTail, IsTheEndOfTheFile) {
  EXPECT_EQ(tail(), "");
  write(place(), "oh no");
  EXPECT_EQ(tail(), "oh no");
  EXPECT_EQ(tail(2), "no");
}

TEST_F(StderrTail, IsOfNoOtherFileThatTheUserPutsThere) {
  write(home_ / "secret", "secret");
  fs::create_symlink(home_ / "secret", place());
  EXPECT_EQ(tail(), "");
  fs::remove(place());
  fs::create_hard_link(home_ / "secret", place());
  EXPECT_EQ(tail(), "");
  fs::remove(place());
  ASSERT_EQ(::mkfifo(place().c_str(), 0600), 0);
  EXPECT_EQ(tail(), "");
  fs::remove(place());
  fs::create_directory(place());
  EXPECT_EQ(tail(), "");
}

TEST_F(StderrTail, IsNothingIfTheSandboxIsALink) {
  write(place(), "oh no");
  fs::create_directory_symlink(home_ / "sandbox", home_ / "link");
  EXPECT_EQ(stderr_tail((home_ / "link").string(), 100), "");
}

}  // namespace stderr_tail_test
}  // namespace proffer::agent
