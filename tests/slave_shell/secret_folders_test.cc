// In-memory directories for secrets of tasks.

#include "slave/shell/secret_folders.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "common/text.h"
#include "tests/support/temporary_directory.h"

namespace proffer::agent {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Folders : public testing::Test {
 protected:
  const test::TemporaryDirectory directory_{"/dev/shm"};
  const std::string shm_ = directory_.path();
};

TEST_F(Folders, AreOnlyForTheirUserAndGoWithTheirRun) {
  const SecretFolders folders(shm_, "/var/lib/a1");
  const Result<std::string> made = folders.make(7, std::nullopt);
  ASSERT_TRUE(made) << made.error().message();
  struct stat found = {};
  ASSERT_EQ(stat(made->c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700u);
  std::ofstream(*made + "/db") << "hunter2";
  fs::create_directories(*made + "/made/by/the/task");
  folders.remove(7);
  EXPECT_FALSE(fs::exists(*made));
  folders.remove(7);
}

TEST_F(Folders, OfRunsThatEndedWhileTheAgentWasAwayAreRemoved) {
  const SecretFolders folders(shm_, "/var/lib/a1");
  const SecretFolders others(shm_, "/var/lib/a2");
  const std::string lives = *folders.make(7, std::nullopt);
  const std::string ended = *folders.make(8, std::nullopt);
  const std::string of_other_agent = *others.make(8, std::nullopt);
  std::ofstream(ended + "/db") << "hunter2";
  folders.keep_only({7});
  EXPECT_TRUE(fs::exists(lives));
  EXPECT_FALSE(fs::exists(ended));
  EXPECT_TRUE(fs::exists(of_other_agent));
}

// A user of the machine may have created a link there before the agent started.
TEST_F(Folders, WhatIsNotTheAgentsIsRefused) {
  const SecretFolders folders(shm_, "/var/lib/a1");
  const std::string root = fs::path(*folders.make(1, std::nullopt)).parent_path();
  fs::remove_all(root);
  fs::create_directory(shm_ + "/elsewhere");
  fs::create_symlink(shm_ + "/elsewhere", root);
  const Result<std::string> made = folders.make(2, std::nullopt);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message(), HasSubstr("belongs to another user than the agent's"));
  EXPECT_TRUE(fs::is_empty(shm_ + "/elsewhere"));
}

TEST_F(Folders, AreInMemoryOnly) {
  const SecretFolders folders("/proc", "/var/lib/a1");
  const Result<std::string> made = folders.make(1, std::nullopt);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message(), HasSubstr("not a tmpfs"));
}

}  // namespace
}  // namespace proffer::agent
