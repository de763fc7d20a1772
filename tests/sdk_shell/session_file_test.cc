// The file that keeps a framework's identity: whole, private, and one scheduler's at a time.

#include "sdk/shell/session_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "net/randomness.h"
#include "tests/support/temporary_directory.h"

namespace proffer::sdk::session_file_test {
namespace {

class SessionFiles : public ::testing::Test {
 protected:
  std::string path() const { return (folder_ / "hello.session").string(); }
  void write(const std::string& bytes) const { std::ofstream(path()) << bytes; }

  const Secret secret_ = Secret("0123456789abcdef0123456789abcdef");
  const test::TemporaryDirectory directory_;
  const std::filesystem::path folder_ = directory_.path();
};

TEST_F(SessionFiles, ANewOneIsEmptyAndKeepsWhatIsSaved) {
  {
    Result<SessionFile> file = SessionFile::open(path());
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_TRUE(file->framework().empty());
    EXPECT_TRUE(file->secret().empty());
    ASSERT_TRUE(file->save({}, secret_));
  }
  {
    Result<SessionFile> file = SessionFile::open(path());
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_TRUE(file->framework().empty());
    EXPECT_EQ(file->secret(), secret_);
    ASSERT_TRUE(file->save(FrameworkId("hello-1-1"), secret_));
  }
  Result<SessionFile> file = SessionFile::open(path());
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->framework(), FrameworkId("hello-1-1"));
  EXPECT_EQ(file->secret(), secret_);
}

TEST_F(SessionFiles, IsReadableByItsOwnerOnly) {
  write("");
  std::filesystem::permissions(path(), std::filesystem::perms(0644));
  Result<SessionFile> file = SessionFile::open(path());
  ASSERT_TRUE(file);
  const auto mode = [this] {
    return std::filesystem::status(path()).permissions() & std::filesystem::perms::mask;
  };
  EXPECT_EQ(mode(), std::filesystem::perms(0600));
  ASSERT_TRUE(file->save(FrameworkId("f"), secret_));
  EXPECT_EQ(mode(), std::filesystem::perms(0600));
}

TEST_F(SessionFiles, BelongsToOneSchedulerAtATimeAlsoAfterItWasReplaced) {
  Result<SessionFile> mine = SessionFile::open(path());
  ASSERT_TRUE(mine);
  for (int saves = 0; saves < 3; ++saves) {
    Result<SessionFile> other = SessionFile::open(path());
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code(), ErrorCode::kFailedPrecondition);
    EXPECT_NE(other.error().message().find(path()), std::string::npos);
    ASSERT_TRUE(mine->save(FrameworkId("f"), secret_));
  }
}

TEST_F(SessionFiles, IsGoneAfterTheFrameworkIsTornDown) {
  Result<SessionFile> file = SessionFile::open(path());
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->save(FrameworkId("f"), secret_));
  file->remove();
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(SessionFiles, SomethingElseIsNotTakenForOne) {
  for (const std::string& bytes :
       {std::string("hello\n"), std::string("proffer session 1\nframework f\nsecret short\n"),
        std::string("proffer session 1\nframework a b\nsecret ") + secret_.str() + "\n",
        std::string(5'000, 'x'), std::string(64, '\0')}) {
    write(bytes);
    Result<SessionFile> file = SessionFile::open(path());
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code(), ErrorCode::kCorruption);
    EXPECT_FALSE(file.error().hint().empty());
  }
}

TEST_F(SessionFiles, ACrashBetweenTwoStepsOfASaveLeavesTheOldOne) {
  Result<SessionFile> file = SessionFile::open(path());
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->save(FrameworkId("f"), secret_));
  std::ofstream(path() + ".new") << "half";
  ASSERT_TRUE(file->save(FrameworkId("g"), secret_));
  EXPECT_EQ(file->framework(), FrameworkId("g"));
}

TEST_F(SessionFiles, AnErrorSaysWhichFileCannotBeOpened) {
  Result<SessionFile> file = SessionFile::open((folder_ / "no" / "such").string());
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), ErrorCode::kUnavailable);
  EXPECT_NE(file.error().message().find("such"), std::string::npos);
}

TEST(Randomness, SecretsAreValidAndDiffer) {
  EXPECT_TRUE(is_valid_secret(random_secret().str()));
  EXPECT_NE(random_secret(), random_secret());
}

}  // namespace
}  // namespace proffer::sdk::session_file_test
