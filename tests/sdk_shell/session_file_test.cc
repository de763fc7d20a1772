// The file with a framework's identity: complete, private, and used by one scheduler at a time.

#include "sdk/shell/session_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "common/text.h"
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

TEST_F(SessionFiles, ANewOneHasASecretAtOnceAndKeepsWhatIsSaved) {
  Secret made;
  {
    Result<SessionFile> file = SessionFile::open(path());
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_TRUE(file->is_new());
    EXPECT_TRUE(file->framework().empty());
    made = file->secret();
    EXPECT_TRUE(is_valid_secret(made.str()));
  }
  {
    Result<SessionFile> file = SessionFile::open(path());
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_FALSE(file->is_new());
    EXPECT_TRUE(file->framework().empty());
    EXPECT_EQ(file->secret(), made);
    ASSERT_TRUE(file->save(FrameworkId("hello-1-1"), secret_));
  }
  Result<SessionFile> file = SessionFile::open(path());
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->framework(), FrameworkId("hello-1-1"));
  EXPECT_EQ(file->secret(), secret_);
}

TEST_F(SessionFiles, IsReadableByItsOwnerOnly) {
  ASSERT_TRUE(SessionFile::open(path()));
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
        std::string(5'000, 'x'), std::string(64, '\0'), std::string()}) {
    write(bytes);
    Result<SessionFile> file = SessionFile::open(path());
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code(), ErrorCode::kCorruption);
    EXPECT_FALSE(file.error().hint().empty());
  }
}

// A power failure may leave a file of 0 bytes if the file was not flushed before. If it counted as
// missing, a new framework would start all apps a second time.
TEST_F(SessionFiles, AnEmptyOneIsRefusedWithItsNameAndWhatToDo) {
  write("");
  Result<SessionFile> file = SessionFile::open(path());
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), ErrorCode::kCorruption);
  EXPECT_EQ(file.error().message(), text("the session file ", quoted(path()), " is empty"));
  EXPECT_NE(file.error().hint().find("restore it from a copy. Or remove it"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(path()));
}

TEST_F(SessionFiles, EachFlippedBitAndEachCutIsRefusedOrChangesNothing) {
  {
    Result<SessionFile> file = SessionFile::open(path());
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->save(FrameworkId("web-1-1"), secret_));
  }
  std::ifstream in(path());
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  const auto expect_nothing_else = [&](const std::string& bytes, const std::string& what) {
    write(bytes);
    Result<SessionFile> file = SessionFile::open(path());
    if (file) {
      EXPECT_EQ(file->framework(), FrameworkId("web-1-1")) << what;
      EXPECT_EQ(file->secret(), secret_) << what;
    } else {
      EXPECT_EQ(file.error().code(), ErrorCode::kCorruption) << what;
    }
  };
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    expect_nothing_else(bytes, text("bit ", bit));
  }
  for (size_t size = 0; size < whole.size(); ++size) {
    expect_nothing_else(whole.substr(0, size), text("cut at ", size));
  }
}

TEST_F(SessionFiles, OneOfAVersionBeforeIsRead) {
  write(text("proffer session 1\nframework f\nsecret ", secret_.str(), "\n"));
  Result<SessionFile> file = SessionFile::open(path());
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->framework(), FrameworkId("f"));
}

// A kill during the first write leaves a partial temporary file, and no session file.
TEST_F(SessionFiles, WhatAKillLeftBesideItsPlaceIsNoSession) {
  std::ofstream(path() + ".new") << "proffer sess";
  Result<SessionFile> file = SessionFile::open(path());
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_TRUE(file->is_new());
  EXPECT_FALSE(std::filesystem::exists(path() + ".new"));
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
