// The key file of secrets, and its encryption.

#include "master/shell/secret_key.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "common/text.h"
#include "tests/support/temporary_directory.h"

namespace proffer::master {
namespace {

using testing::HasSubstr;
using testing::Not;

class SecretKeyFile : public testing::Test {
 protected:
  const test::TemporaryDirectory directory_;
  const std::string home_ = directory_.path();
  const std::string path_ = directory_ / "secrets.key";
};

TEST_F(SecretKeyFile, IsMadeOnceAndOnlyItsOwnerReadsIt) {
  Result<std::optional<SecretKey>> none = SecretKey::read(path_);
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->has_value());

  Result<SecretKey> made = SecretKey::make(path_);
  ASSERT_TRUE(made) << made.error().message();
  struct stat found = {};
  ASSERT_EQ(stat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  EXPECT_EQ(SecretKey::make(path_).error().code(), ErrorCode::kAlreadyExists);

  Result<std::optional<SecretKey>> read = SecretKey::read(path_);
  ASSERT_TRUE(read && *read);
  EXPECT_EQ((*read)->id(), made->id());
  const Result<std::string> opened = (*read)->open("ada", "db", made->seal("ada", "db", "hunter2"));
  ASSERT_TRUE(opened) << opened.error().message();
  EXPECT_EQ(*opened, "hunter2");
  for (const auto& entry : std::filesystem::directory_iterator(home_)) {
    EXPECT_EQ(entry.path().filename(), "secrets.key");
  }
}

TEST_F(SecretKeyFile, ThatOthersMayReadOrThatIsNoneIsRefused) {
  ASSERT_TRUE(SecretKey::make(path_));
  ASSERT_EQ(chmod(path_.c_str(), 0640), 0);
  Result<std::optional<SecretKey>> open = SecretKey::read(path_);
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().code(), ErrorCode::kPermissionDenied);
  EXPECT_THAT(open.error().hint(), HasSubstr("chmod 600"));

  std::ofstream(path_) << "proffer secrets key 1 00ff\n";
  ASSERT_EQ(chmod(path_.c_str(), 0600), 0);
  Result<std::optional<SecretKey>> half = SecretKey::read(path_);
  ASSERT_FALSE(half);
  EXPECT_EQ(half.error().code(), ErrorCode::kCorruption);
  EXPECT_THAT(half.error().message(), Not(HasSubstr("00ff")));
}

TEST_F(SecretKeyFile, WhatItEncryptsIsOfOneOwnerAndNameAndIsNotChanged) {
  const Result<SecretKey> made = SecretKey::make(path_);
  ASSERT_TRUE(made);
  const SecretKey& key = *made;
  const std::string sealed = key.seal("ada", "db", "hunter2");
  EXPECT_THAT(sealed, Not(HasSubstr("hunter2")));
  EXPECT_NE(sealed, key.seal("ada", "db", "hunter2"));
  EXPECT_FALSE(key.open("bob", "db", sealed));
  EXPECT_FALSE(key.open("ada", "db2", sealed));
  EXPECT_FALSE(key.open("ad", "adb", sealed));
  EXPECT_FALSE(key.open("ada", "db", ""));
  for (size_t i = 0; i < sealed.size(); ++i) {
    std::string damaged = sealed;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_FALSE(key.open("ada", "db", damaged)) << i;
  }
  const Result<SecretKey> other = SecretKey::make(path_ + "2");
  ASSERT_TRUE(other);
  EXPECT_NE(other->id(), key.id());
  EXPECT_FALSE(other->open("ada", "db", sealed));
}

// The agent does not get values that cannot be decrypted, and refuses the launch.
TEST_F(SecretKeyFile, ALaunchGetsTheValuesThatCanBeDecrypted) {
  const Result<SecretKey> made = SecretKey::make(path_);
  ASSERT_TRUE(made);
  proto::RunTask run;
  run.assignment.user = "ada";
  run.secrets = {{"db", made->seal("ada", "db", "hunter2")}, {"bad", "garbage"}};
  proto::RunTask without_key = run;
  EXPECT_EQ(open_secrets(*made, run).size(), 1u);
  EXPECT_EQ(run.secrets, (std::vector<proto::SecretValue>{{"db", "hunter2"}}));
  EXPECT_EQ(open_secrets(std::nullopt, without_key).size(), 2u);
  EXPECT_TRUE(without_key.secrets.empty());
}

}  // namespace
}  // namespace proffer::master
