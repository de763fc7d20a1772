// `proffer registry`: reading while a master writes, dumps, and registries made from dumps.

#include "store/registry_file.h"

#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "common/prng.h"
#include "common/text.h"
#include "store/sqlite_store.h"
#include "tests/store/support.h"
#include "tests/support/seeds.h"

namespace proffer::registry_file_test {
namespace {

namespace fs = std::filesystem;
using store_test::TemporaryDirectory;
using testing::HasSubstr;
using Records = std::vector<StoreRecord>;

StoreRecord row(const std::string& key, const std::string& value) {
  return {.table = "roles", .key = key, .value = value};
}

// One run of a master: it writes rows, and ends.
int64_t write_life(const std::string& directory, const Records& rows) {
  const std::shared_ptr<RegistryFile> file = RegistryFile::open(directory).value();
  const int64_t epoch = file->raise_epoch().value();
  EXPECT_TRUE(file->commit({rows}, epoch));
  return epoch;
}

// Dumps like `proffer registry dump`.
Result<RegistrySnapshot> dump(const std::string& directory, const std::string& file) {
  const Result<RegistrySnapshot> found = RegistryFile::read_directory(directory);
  return found ? RegistryFile::write_dump(*found, file) : found;
}

TEST(RegistryFile, IsReadAndDumpedWhileAMasterWritesIt) {
  const TemporaryDirectory home;
  const std::string directory = home / "m";
  const std::shared_ptr<RegistryFile> master = RegistryFile::open(directory).value();
  const int64_t epoch = master->raise_epoch().value();
  // Two rows that are always equal, so that a partial commit would be visible.
  constexpr int kCommits = 300;
  std::thread writer([&] {
    for (int i = 0; i < kCommits; ++i) {
      const std::string value = text(i, " ", std::string(static_cast<size_t>(i), 'x'));
      EXPECT_TRUE(master->commit({{row("a", value), row("b", value)}}, epoch));
    }
  });
  const auto expect_one_moment = [](const RegistrySnapshot& found) {
    if (found.records.empty()) return;
    ASSERT_EQ(found.records.size(), 2u);
    EXPECT_EQ(found.records[0].value, found.records[1].value);
  };
  for (int n = 0; n < 20; ++n) {
    const Result<RegistrySnapshot> read = RegistryFile::read_directory(directory);
    ASSERT_TRUE(read) << read.error();
    expect_one_moment(*read);
    const std::string file = home / text("dump-", n);
    const Result<RegistrySnapshot> written = dump(directory, file);
    ASSERT_TRUE(written) << written.error();
    expect_one_moment(*written);
    EXPECT_GE(written->progress.commits, read->progress.commits);
  }
  writer.join();
  const Result<RegistrySnapshot> last = dump(directory, home / "last");
  ASSERT_TRUE(last) << last.error();
  EXPECT_EQ(last->records, master->load().value());
  EXPECT_EQ(last->progress.commits, kCommits + 1);
  EXPECT_EQ(RegistryFile::read_dump(home / "last")->records, last->records);
}

TEST(RegistryFile, ADumpIsForItsOwnerAndReplacesNoFile) {
  const TemporaryDirectory home;
  write_life(home / "m", {row("a", "1")});
  const std::string file = home / "dump";
  ASSERT_TRUE(dump(home / "m", file));
  struct stat status = {};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  const std::string before = store_test::read_file(file);
  write_life(home / "m", {row("b", "1")});
  const Result<RegistrySnapshot> again = dump(home / "m", file);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), ErrorCode::kAlreadyExists);
  EXPECT_EQ(store_test::read_file(file), before);
  // The rest of an interrupted dump does not prevent a new one.
  store_test::write_file(home / "second.unfinished", "half");
  EXPECT_TRUE(dump(home / "m", home / "second"));
  EXPECT_FALSE(fs::exists(home / "second.unfinished"));
}

TEST(RegistryFile, ADumpOnAFullDiskLeavesNothing) {
  const TemporaryDirectory home;
  write_life(home / "m", {row("a", std::string(200'000, 'x'))});
  {
    const store_test::FullDisk full(100'000);
    EXPECT_FALSE(dump(home / "m", home / "dump"));
  }
  EXPECT_FALSE(fs::exists(home / "dump"));
  EXPECT_FALSE(fs::exists(home / "dump.unfinished"));
  EXPECT_TRUE(dump(home / "m", home / "dump"));
}

TEST(RegistryFile, ADamagedDumpIsRefusedOrWhole) {
  const TemporaryDirectory home;
  Records rows;
  for (int i = 0; i < 60; ++i) rows.push_back(row(text("r-", 100 + i), std::string(500, 'x')));
  write_life(home / "m", rows);
  ASSERT_TRUE(dump(home / "m", home / "dump"));
  const std::string whole = store_test::read_file(home / "dump");
  int refused = 0;
  for (const uint64_t seed : Seeds(200)) {
    Prng random(seed);
    std::string bytes = whole;
    const size_t at = random.below(bytes.size());
    if (random.chance(1, 8)) {
      bytes.resize(at);
    } else {
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
    }
    store_test::write_file(home / "copy", bytes);
    const Result<RegistrySnapshot> found = RegistryFile::read_dump(home / "copy");
    if (!found) {
      ++refused;
      continue;
    }
    EXPECT_EQ(found->records, rows) << "seed " << seed << " at " << at;
  }
  EXPECT_GT(refused, 100);
}

TEST(RegistryFile, WhatIsThereIsSetAsideDamagedOrNotAndItsEpochStaysKnown) {
  for (const bool is_damaged : {false, true}) {
    SCOPED_TRACE(is_damaged ? "damaged" : "whole");
    const TemporaryDirectory home;
    const std::string directory = home / "m";
    write_life(directory, {row("a", "1")});
    const int64_t epoch = write_life(directory, {row("b", "2")});
    if (is_damaged) store_test::write_file(directory + "/registry.db", "no database at all");
    {
      const Result<std::shared_ptr<RegistryFile>> file =
          RegistryFile::open(directory, {.sets_aside = true});
      ASSERT_TRUE(file) << file.error();
      EXPECT_EQ((*file)->progress().epoch, epoch);
      ASSERT_TRUE((*file)->replace({row("c", "3")}, epoch + 100));
      EXPECT_EQ((*file)->raise_epoch().value(), epoch + 101);
      EXPECT_EQ((*file)->load().value(), Records{row("c", "3")});
    }
    EXPECT_TRUE(fs::exists(directory + "/set-aside-1/registry.db"));
    EXPECT_EQ(write_life(directory, {}), epoch + 102);
    // A second registry is set aside beside the first.
    ASSERT_TRUE(RegistryFile::open(directory, {.sets_aside = true}));
    EXPECT_TRUE(fs::exists(directory + "/set-aside-2/registry.db"));
    EXPECT_EQ(write_life(directory, {}), epoch + 103);
  }
}

// A restore was killed after it had moved the files, and then another one.
TEST(RegistryFile, TheEpochOfWhatWasSetAsideStaysKnownThoughNothingReplacedIt) {
  const TemporaryDirectory home;
  const std::string directory = home / "m";
  {
    const std::shared_ptr<RegistryFile> file = RegistryFile::open(directory).value();
    ASSERT_TRUE(file->set_epoch(700));
  }
  for (int n = 1; n <= 2; ++n) {
    const std::string aside = text(directory, "/set-aside-", n);
    fs::create_directory(aside);
    for (const char* name : {"registry.db", "registry.seal"}) {
      if (fs::exists(directory + "/" + name)) {
        fs::rename(directory + "/" + name, text(aside, "/", name));
      }
    }
  }
  const Result<std::shared_ptr<RegistryFile>> file =
      RegistryFile::open(directory, {.sets_aside = true});
  ASSERT_TRUE(file) << file.error();
  EXPECT_EQ((*file)->progress().epoch, 700);
}

TEST(RegistryFile, AnEpochIsSetForTheNextMasterAndTheRowsStay) {
  const TemporaryDirectory home;
  const int64_t epoch = write_life(home / "m", {row("a", "1")});
  {
    const std::shared_ptr<RegistryFile> file = RegistryFile::open(home / "m").value();
    ASSERT_TRUE(file->set_epoch(epoch + 40));
  }
  // The next master opens the registry; its seal must allow that.
  const std::shared_ptr<RegistryFile> next = RegistryFile::open(home / "m").value();
  EXPECT_EQ(next->raise_epoch().value(), epoch + 41);
  EXPECT_EQ(next->load().value(), Records{row("a", "1")});
  // An epoch can also be set in an empty directory, after a registry was lost.
  ASSERT_TRUE(RegistryFile::open(home / "empty").value()->set_epoch(7));
  EXPECT_EQ(write_life(home / "empty", {}), 8);
}

TEST(RegistryFile, IsNotUsedByTwo) {
  const TemporaryDirectory home;
  const std::shared_ptr<RegistryFile> master = RegistryFile::open(home / "m").value();
  const Result<std::shared_ptr<RegistryFile>> other =
      RegistryFile::open(home / "m", {.sets_aside = true});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), ErrorCode::kFailedPrecondition);
  EXPECT_TRUE(fs::exists(home / "m" + "/registry.db"));
}

TEST(RegistryFile, SaysThatThereIsNone) {
  const TemporaryDirectory home;
  const Result<RegistrySnapshot> found = RegistryFile::read_directory(home / "nowhere");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(found.error().message(), HasSubstr("there is no registry"));
  EXPECT_FALSE(fs::exists(home / "nowhere"));
}

// A file that cannot be examined may exist.
TEST(RegistryFile, SaysThatOneCannotBeRead) {
  const TemporaryDirectory home;
  store_test::write_file(home / "file", "");
  const Result<RegistrySnapshot> found = RegistryFile::read_dump(home / "file" + "/dump");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(found.error().message(), HasSubstr("cannot read"));
}

}  // namespace
}  // namespace proffer::registry_file_test
