// The log of the history: it grows at its end, old entries are removed at its beginning, and a
// crash or damage loses no more than the affected entries.

#include "store/history_log.h"

#include <filesystem>
#include <set>

#include <gtest/gtest.h>

#include "tests/store/support.h"

namespace proffer::history_log_test {
namespace {

using store_test::read_file;
using store_test::TemporaryDirectory;
using store_test::write_file;
using Records = std::vector<std::string>;

const Time kNow = Time::from_nanos(2'000'000'000'000'000'000);  // after any file's time

struct Log {
  explicit Log(const TemporaryDirectory& in, uint64_t bytes_max = 1 << 20)
      : options{
            .directory = in / "history", .bytes_max = bytes_max, .age_max = hours(24 * 36'500)} {
    open();
  }
  void open(Time now = kNow) {
    log.reset();
    auto opened = HistoryLog::open(options, now);
    ASSERT_TRUE(opened) << opened.error().message();
    log = *std::move(opened);
  }
  Records all() const {
    Records records;
    for (const HistoryLog::File& file : log->files()) {
      auto read = HistoryLog::read(options.directory, file);
      EXPECT_TRUE(read) << read.error().message();
      records.insert(records.end(), read->records.begin(), read->records.end());
    }
    return records;
  }
  uint64_t damaged() const {
    uint64_t bytes = 0;
    for (const HistoryLog::File& file : log->files()) {
      bytes += HistoryLog::read(options.directory, file)->damaged_bytes;
    }
    return bytes;
  }
  std::string path(uint64_t number) const {
    const std::string digits = std::to_string(number);
    return options.directory + "/" + std::string(12 - digits.size(), '0') + digits + ".log";
  }
  HistoryLogOptions options;
  std::unique_ptr<HistoryLog> log;
};

TEST(HistoryLog, WhatWasAppendedIsThereInTheNextLife) {
  TemporaryDirectory directory;
  Log log(directory);
  EXPECT_FALSE(log.log->last());
  EXPECT_TRUE(log.log->append({"one", "two"}, kNow));
  log.open();
  EXPECT_EQ(log.log->last(), "two");
  EXPECT_TRUE(log.log->append({"three"}, kNow));
  EXPECT_EQ(log.all(), (Records{"one", "two", "three"}));
  EXPECT_EQ(log.log->files().size(), 1u);
}

TEST(HistoryLog, IsBegunAnewAndTheNewestTwoBeforeAreKeptAside) {
  TemporaryDirectory directory;
  Log log(directory);
  const auto begin_anew = [&] {
    log.log.reset();
    auto opened = HistoryLog::open_anew(log.options, kNow);
    ASSERT_TRUE(opened) << opened.error().message();
    log.log = *std::move(opened);
  };
  const auto aside = [&] {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
      names.insert(entry.path().filename());
    }
    return names;
  };
  for (const char* record : {"one", "two", "three"}) {
    ASSERT_TRUE(log.log->append({record}, kNow));
    begin_anew();
    EXPECT_FALSE(log.log->last());
  }
  const std::set<std::string> kept = {"history", "history.aside-2", "history.aside-3"};
  EXPECT_EQ(aside(), kept);
  // As after partial failures: the directory is empty, or missing.
  begin_anew();
  EXPECT_EQ(aside(), kept);
  log.log.reset();
  std::filesystem::remove_all(log.options.directory);
  begin_anew();
  EXPECT_EQ(aside(), kept);
}

TEST(HistoryLog, IsBoundedByBytesAndForgetsTheOldest) {
  TemporaryDirectory directory;
  Log log(directory);
  for (int i = 0; i < 400; ++i) {
    ASSERT_TRUE(log.log->append({std::to_string(i) + std::string(10'000, 'x')}, kNow));
    ASSERT_LE(log.log->bytes(), log.options.bytes_max + log.options.file_bytes());
  }
  const Records kept = log.all();
  EXPECT_GT(kept.size(), 80u);
  EXPECT_LT(kept.size(), 120u);
  EXPECT_TRUE(kept.back().starts_with("399x"));
  uint64_t on_disk = 0;
  for (const auto& file : std::filesystem::directory_iterator(log.options.directory)) {
    on_disk += file.file_size();
  }
  EXPECT_EQ(on_disk, log.log->bytes());
}

TEST(HistoryLog, IsBoundedByAge) {
  TemporaryDirectory directory;
  Log log(directory);
  log.options.age_max = hours(16);
  log.open();
  ASSERT_TRUE(log.log->append({"old"}, kNow));
  ASSERT_TRUE(log.log->append({"also old"}, kNow + minutes(59)));
  ASSERT_TRUE(log.log->append({"younger"}, kNow + hours(2)));
  EXPECT_EQ(log.all(), (Records{"old", "also old", "younger"}));
  ASSERT_TRUE(log.log->append({"young"}, kNow + hours(17)));
  EXPECT_EQ(log.all(), (Records{"younger", "young"}));
}

TEST(HistoryLog, SkipsATailThatWasHalfWritten) {
  TemporaryDirectory directory;
  Log log(directory);
  ASSERT_TRUE(log.log->append({"one", "two"}, kNow));
  log.log.reset();
  const std::string bytes = read_file(log.path(1));
  for (size_t cut = bytes.size() - 1; cut > bytes.size() - 15; --cut) {
    write_file(log.path(1), bytes.substr(0, cut));
    log.open();
    EXPECT_EQ(log.log->last(), "one") << cut;
    ASSERT_TRUE(log.log->append({"three"}, kNow));
    EXPECT_EQ(log.all(), (Records{"one", "three"})) << cut;
    EXPECT_GT(log.damaged(), 0u) << cut;
    log.log.reset();
    std::filesystem::remove(log.path(2));
  }
}

TEST(HistoryLog, SkipsWhatIsDamagedAndNothingElse) {
  TemporaryDirectory directory;
  Log log(directory);
  ASSERT_TRUE(log.log->append({"first record", "second record", "third record"}, kNow));
  log.log.reset();
  std::string bytes = read_file(log.path(1));
  bytes[bytes.find("second")] ^= 1;
  write_file(log.path(1), bytes);
  log.open();
  EXPECT_EQ(log.log->last(), "third record");
  ASSERT_TRUE(log.log->append({"fourth record"}, kNow));
  EXPECT_EQ(log.all(), (Records{"first record", "third record", "fourth record"}));
  EXPECT_EQ(log.damaged(), 12 + std::string("second record").size());
}

TEST(HistoryLog, GoesOnBesideAFileThatIsNoLog) {
  TemporaryDirectory directory;
  Log log(directory);
  ASSERT_TRUE(log.log->append({"one"}, kNow));
  log.log.reset();
  for (const std::string& other : {std::string(), std::string("x"), std::string(5'000, '\xff')}) {
    write_file(log.path(2), other);
    write_file(log.options.directory + "/notes.txt", "mine");
    log.open();
    EXPECT_EQ(log.log->last(), "one");
    ASSERT_TRUE(log.log->append({"two"}, kNow));
    EXPECT_EQ(log.all(), (Records{"one", "two"}));
    log.log.reset();
    std::filesystem::remove(log.path(3));
  }
}

TEST(HistoryLog, IsReadWhileItGrows) {
  TemporaryDirectory directory;
  Log log(directory);
  ASSERT_TRUE(log.log->append({"one"}, kNow));
  const HistoryLog::File before = log.log->files().back();
  ASSERT_TRUE(log.log->append({"two"}, kNow));
  const auto read = HistoryLog::read(log.options.directory, before);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->records, Records{"one"});
  EXPECT_EQ(read->damaged_bytes, 0u);
}

TEST(HistoryLog, SaysThatAFileIsForgotten) {
  TemporaryDirectory directory;
  Log log(directory);
  const auto read = HistoryLog::read(log.options.directory, {.number = 7});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace proffer::history_log_test
