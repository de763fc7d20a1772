// The shipped files of a job in a task's sandbox.

#include <filesystem>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "common/text.h"
#include "frameworks/batch/executor/task.h"
#include "frameworks/batch/planning/plan_files.h"
#include "tests/support/with_directory.h"

namespace proffer::batch::shipped_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr int64_t kThen = 1'000;

class Shipped : public test::WithDirectory {
 protected:
  void SetUp() override {
    fs::create_directories(root_ / "sandbox");
    plan_ = plan_directory((root_ / "out").string(), "p");
    fs::create_directories(plan_ / "files");
  }

  void put_copy(const std::string& content, int64_t modified_s) const {
    std::ofstream(copy(), std::ios::binary) << content;
    const timespec time = {.tv_sec = modified_s, .tv_nsec = 0};
    const timespec times[2] = {time, time};
    ASSERT_EQ(::utimensat(AT_FDCWD, copy().c_str(), times, 0), 0);
  }
  std::string copy() const { return large_file_path(plan_.string(), "model"); }
  Result<void> write() const {
    TaskSetting setting;
    setting.sandbox = (root_ / "sandbox").string();
    return write_files({.output = (root_ / "out").string(), .plan = "p"}, setting);
  }
  std::string contents(const std::string& name) const {
    std::ostringstream all;
    all << std::ifstream(root_ / "sandbox" / name, std::ios::binary).rdbuf();
    return all.str();
  }

  fs::path plan_;
};

TEST_F(Shipped, SmallFilesAreWrittenAndLargeOnesAreLinks) {
  ASSERT_TRUE(write_plan_files(
      plan_.string(), {}, {},
      {.contents = {{"run.sh", "true"}}, .large = {{"model", {.bytes = 7, .modified_s = kThen}}}}));
  put_copy("content", kThen);
  // An earlier attempt left a link in the sandbox.
  fs::create_symlink("/nowhere", root_ / "sandbox/model");
  const Result<void> written = write();
  ASSERT_TRUE(written) << written.error().message();
  EXPECT_EQ(contents("run.sh"), "true");
  EXPECT_EQ(contents("model"), "content");
  EXPECT_EQ(fs::read_symlink(root_ / "sandbox/model"), copy());
}

TEST_F(Shipped, ACopyThatWasChangedOrIsGoneIsNoticed) {
  ASSERT_TRUE(write_plan_files(plan_.string(), {}, {},
                               {.large = {{"model", {.bytes = 7, .modified_s = kThen}}}}));
  put_copy("CONTENT", kThen + 1);
  Result<void> written = write();
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message(), HasSubstr("shipped file 'model'"));
  EXPECT_THAT(written.error().message(), HasSubstr("was changed"));
  put_copy("content and more", kThen);
  EXPECT_THAT(write().error().message(), HasSubstr("it has 16 bytes instead of 7"));
  fs::remove(copy());
  EXPECT_THAT(write().error().message(), HasSubstr(copy() + "' no longer exists"));
  EXPECT_EQ(write().error().code(), ErrorCode::kNotFound);
  fs::create_directory(copy());
  EXPECT_FALSE(write());
}

}  // namespace
}  // namespace proffer::batch::shipped_test
