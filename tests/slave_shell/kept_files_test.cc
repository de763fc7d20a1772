// Files that stay open: they give the current content, and their number is bounded.

#include "slave/shell/kept_files.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"

namespace proffer::agent {
namespace {

namespace fs = std::filesystem;

void write_file(const fs::path& path, std::string_view content) { std::ofstream(path) << content; }

struct KeptFilesTest : testing::Test {
  const test::TemporaryDirectory directory;
  const fs::path home = directory.path();
  fs::path path = home / "group/usage";
  KeptFilesTest() {
    fs::create_directory(home / "group");
    write_file(path, "17\n");
  }
};

TEST_F(KeptFilesTest, GiveWhatTheFileHoldsNow) {
  KeptFiles files(2);
  EXPECT_EQ(files.read(path), "17\n");
  EXPECT_EQ(files.write(path, "42"), 0);
  EXPECT_EQ(files.read(path), "42\n");
  EXPECT_EQ(files.open_files(), 2u);
}

TEST_F(KeptFilesTest, ReadFilesThatAreLongerThanOneRead) {
  KeptFiles files(1);
  const std::string pids(10'000, '1');
  write_file(path, pids);
  EXPECT_EQ(files.read(path), pids);
}

TEST_F(KeptFilesTest, BeyondTheBoundAreOpenedForEachUse) {
  KeptFiles files(1);
  EXPECT_EQ(files.read(path), "17\n");
  write_file(home / "group/other", "5\n");
  EXPECT_EQ(files.read(home / "group/other"), "5\n");
  EXPECT_EQ(files.write(path, "9"), 0);
  EXPECT_EQ(files.open_files(), 1u);
}

TEST_F(KeptFilesTest, OfAFolderThatGoesAreClosed) {
  KeptFiles files(8);
  write_file(home / "group-2", "5\n");
  EXPECT_EQ(files.read(home / "group-2"), "5\n");
  EXPECT_EQ(files.read(path), "17\n");
  files.forget(home / "group");
  EXPECT_EQ(files.open_files(), 1u);
  fs::remove(path);
  EXPECT_EQ(files.read(path), std::nullopt);
  EXPECT_EQ(files.write(path, "1"), ENOENT);
}

}  // namespace
}  // namespace proffer::agent
