// The agent's log after crashes, full disks and damage to its file.

#include "store/checkpoint_log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "common/limits.h"
#include "store/crc32c.h"
#include "tests/store/support.h"

namespace proffer::checkpoint_log_test {
namespace {

using store_test::read_file;
using store_test::TemporaryDirectory;
using store_test::write_file;
using Records = std::vector<std::string>;

const Records kThree = {"first", "", std::string("\0\xff third", 8)};

// Writes a log file with these records, and closes it.
void make_log(const std::string& path, const Records& records) {
  auto opened = CheckpointLog::open(path);
  ASSERT_TRUE(opened) << opened.error().message();
  ASSERT_TRUE(opened->log->append(records));
}

Records read_log(const std::string& path) {
  auto opened = CheckpointLog::open(path);
  EXPECT_TRUE(opened) << opened.error().message();
  return opened ? opened->records : Records{"cannot be opened"};
}

bool exists(const std::string& path) { return std::filesystem::exists(path); }

TEST(CheckpointLog, ChecksumIsTheOneOfTheStandard) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(""), 0U);
}

// The definition of CRC-32C, bit by bit.
uint32_t crc32c_by_bits(std::string_view bytes) {
  uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0U);
  }
  return crc ^ 0xffffffff;
}

TEST(CheckpointLog, ChecksumIsThatOfItsBitsAtAnyLength) {
  std::string bytes;
  for (uint32_t i = 0; i < 300; ++i) {
    for (const size_t begin : {size_t{0}, std::min<size_t>(3, bytes.size())}) {
      const std::string_view part = std::string_view(bytes).substr(begin);
      ASSERT_EQ(crc32c(part), crc32c_by_bits(part)) << part.size() << " from " << begin;
      ASSERT_EQ(crc32c_by_tables(part), crc32c_by_bits(part)) << part.size() << " from " << begin;
    }
    bytes.push_back(static_cast<char>(i * 2'654'435'761U >> 24));
  }
}

TEST(CheckpointLog, ChecksumOfAWholeMayBeMadeOfItsParts) {
  const std::string whole = "the quick brown fox jumps over the lazy dog";
  for (size_t cut = 0; cut <= whole.size(); ++cut) {
    const std::string_view all = whole;
    EXPECT_EQ(crc32c(all.substr(cut), crc32c(all.substr(0, cut))), crc32c(whole)) << cut;
    EXPECT_EQ(crc32c_by_tables(all.substr(cut), crc32c_by_tables(all.substr(0, cut))),
              crc32c(whole))
        << cut;
  }
}

TEST(CheckpointLog, WhatWasAppendedIsThereAgain) {
  TemporaryDirectory directory;
  const std::string path = directory / "checkpoint.log";
  {
    auto opened = CheckpointLog::open(path).value();
    EXPECT_TRUE(opened.records.empty());
    EXPECT_EQ(opened.cut_bytes, 0U);
    EXPECT_TRUE(opened.log->append({kThree[0]}));
    EXPECT_TRUE(opened.log->append({kThree[1], kThree[2]}));
    EXPECT_TRUE(opened.log->append({}));
    EXPECT_TRUE(opened.log->sync());
    EXPECT_EQ(opened.log->size(), std::filesystem::file_size(path));
  }
  auto again = CheckpointLog::open(path).value();
  EXPECT_EQ(again.records, kThree);
  EXPECT_EQ(again.cut_bytes, 0U);
  EXPECT_TRUE(again.log->append({"fourth"}));
  again.log.reset();
  EXPECT_EQ(read_log(path).size(), 4U);
}

TEST(CheckpointLog, OnlyItsOwnerMayReadIt) {
  TemporaryDirectory directory;
  make_log(directory / "checkpoint.log", {"secret"});
  struct stat status = {};
  ASSERT_EQ(::stat((directory / "checkpoint.log").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

// After a crash the file may have any length. The log keeps whole records, cuts the rest, and
// continues from there.
TEST(CheckpointLog, ATornTailIsCutAtWhateverByteItWasTorn) {
  TemporaryDirectory directory;
  const std::string path = directory / "checkpoint.log";
  make_log(path, kThree);
  const std::string whole = read_file(path);
  const size_t ends[] = {20, 20 + 12 + 5, 20 + 12 + 5 + 12, whole.size()};
  for (size_t size = 0; size <= whole.size(); ++size) {
    write_file(path, whole.substr(0, size));
    size_t kept = 0;
    while (kept < 3 && ends[kept + 1] <= size) ++kept;
    auto opened = CheckpointLog::open(path);
    ASSERT_TRUE(opened) << size << ": " << opened.error().message();
    EXPECT_EQ(opened->records, Records(kThree.begin(), kThree.begin() + static_cast<long>(kept)))
        << size;
    EXPECT_EQ(opened->cut_bytes, size < 20 ? size : size - ends[kept]) << size;

    ASSERT_TRUE(opened->log->append({"more"}));
    opened->log.reset();
    const Records after = read_log(path);
    ASSERT_EQ(after.size(), kept + 1) << size;
    EXPECT_EQ(after.back(), "more");
  }
}

TEST(CheckpointLog, ATailOfZerosOrNoiseIsCut) {
  TemporaryDirectory directory;
  const std::string path = directory / "checkpoint.log";
  for (const std::string& tail : {std::string(100, '\0'), std::string(100, '\xc3')}) {
    std::filesystem::remove(path);
    make_log(path, kThree);
    write_file(path, read_file(path) + tail);
    auto opened = CheckpointLog::open(path).value();
    EXPECT_EQ(opened.records, kThree);
    EXPECT_EQ(opened.cut_bytes, 100U);
  }
}

// Damages each byte in turn. Damage in the last record looks like a torn tail. Anywhere before it a
// valid record follows, and the error names the file. No record is skipped silently.
TEST(CheckpointLog, ADamagedMiddleIsSetAsideByName) {
  TemporaryDirectory directory;
  const std::string path = directory / "checkpoint.log";
  make_log(path, kThree);
  const std::string whole = read_file(path);
  const size_t last = whole.size() - 12 - kThree[2].size();
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x40);
    write_file(path, bytes);
    auto opened = CheckpointLog::open(path);
    if (at >= last) {
      ASSERT_TRUE(opened) << at << ": " << opened.error().message();
      EXPECT_EQ(opened->records, Records(kThree.begin(), kThree.begin() + 2)) << at;
      continue;
    }
    ASSERT_FALSE(opened) << at;
    EXPECT_EQ(opened.error().code(), ErrorCode::kCorruption) << at;
    const std::string aside = path + ".damaged-1";
    EXPECT_NE(opened.error().message().find(aside), std::string::npos) << opened.error().message();
    EXPECT_FALSE(exists(path));
    EXPECT_EQ(read_file(aside), bytes);
    std::filesystem::remove(aside);
  }
}

TEST(CheckpointLog, AfterDamageANewLogBeginsAndTheOldOnesStayBesideIt) {
  TemporaryDirectory directory;
  const std::string path = directory / "checkpoint.log";
  EXPECT_EQ(CheckpointLog::salvage(path).error().code(), ErrorCode::kNotFound);
  for (int round = 1; round <= 2; ++round) {
    make_log(path, {"one", "two", "three", std::to_string(round)});
    std::string bytes = read_file(path);
    bytes[20 + 12 + 3 + 12] = 'T';  // in the payload of the second record
    write_file(path, bytes);
    EXPECT_FALSE(CheckpointLog::open(path));
    EXPECT_TRUE(exists(path + ".damaged-" + std::to_string(round)));
    EXPECT_EQ(CheckpointLog::salvage(path).value(),
              (Records{"one", "three", std::to_string(round)}));
    EXPECT_TRUE(read_log(path).empty());
  }
}

TEST(CheckpointLog, RenewedHasAnotherMark) {
  TemporaryDirectory directory;
  const std::string path = directory / "checkpoint.log";
  make_log(path, {"one", "two"});
  auto opened = CheckpointLog::open(path);
  ASSERT_TRUE(opened);
  const uint32_t before = opened->log->mark();
  ASSERT_TRUE(opened->log->rewrite({"two"}));
  EXPECT_EQ(opened->log->mark(), before);
  ASSERT_TRUE(opened->log->renew({"two"}));
  EXPECT_NE(opened->log->mark(), before);
  ASSERT_TRUE(opened->log->append({"three"}));
  opened->log.reset();
  EXPECT_EQ(read_log(path), (Records{"two", "three"}));
}

// Payloads come from frameworks. A payload may contain whole records as in a log, and very many
// beginnings of records. Wherever it is torn, the log does not accept these records and is read
// quickly.
TEST(CheckpointLog, RecordsInsideOfAPayloadAreNotBelieved) {
  TemporaryDirectory directory;
  const std::string path = directory / "checkpoint.log";
  make_log(directory / "forged.log", {"forged"});
  std::string payload = read_file(directory / "forged.log") + "and more";
  const std::string frame = payload.substr(20, 4) + std::string("\0\0\1\0junk", 8);
  while (payload.size() < 200'000) payload += frame;
  for (const size_t torn : {size_t{1}, size_t{100'000}, payload.size() - 100}) {
    std::filesystem::remove(path);
    make_log(path, {"true", payload});
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - torn);
    EXPECT_EQ(read_log(path), Records{"true"});
  }
  std::filesystem::remove(path);
  make_log(path, {"true", payload, "also true"});
  std::string bytes = read_file(path);
  bytes[bytes.size() - 1'000] = '!';
  write_file(path, bytes);
  EXPECT_FALSE(CheckpointLog::open(path));
  EXPECT_EQ(CheckpointLog::salvage(path).value(), (Records{"true", "also true"}));
}

TEST(CheckpointLog, WhatADamagedHeaderPrecedesIsSalvaged) {
  TemporaryDirectory directory;
  const std::string path = directory / "checkpoint.log";
  for (size_t at = 0; at < 20; ++at) {
    make_log(path, kThree);
    std::string bytes = read_file(path);
    bytes[at] = static_cast<char>(bytes[at] ^ 0x40);
    write_file(path, bytes);
    EXPECT_FALSE(CheckpointLog::open(path)) << at;
    EXPECT_EQ(CheckpointLog::salvage(path).value(), kThree) << at;
    std::filesystem::remove(path + ".damaged-1");
  }
}

TEST(CheckpointLog, AForeignFileIsNotOverwritten) {
  TemporaryDirectory directory;
  const std::string path = directory / "checkpoint.log";
  write_file(path, "#!/bin/sh\necho somebody's file\n");
  EXPECT_EQ(CheckpointLog::open(path).error().code(), ErrorCode::kCorruption);
  EXPECT_EQ(read_file(path + ".damaged-1"), "#!/bin/sh\necho somebody's file\n");

  ::mkdir((directory / "a directory").c_str(), 0700);
  EXPECT_FALSE(CheckpointLog::open(directory / "a directory"));
  EXPECT_FALSE(CheckpointLog::open(directory / "missing/checkpoint.log"));
}

TEST(CheckpointLog, ALogOfANewerProgramIsRefusedAndLeftAlone) {
  TemporaryDirectory directory;
  const std::string path = directory / "checkpoint.log";
  std::string bytes("proffckp\x03\0\0\0", 12);
  const uint32_t crc = crc32c(bytes);
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>((crc >> shift) & 0xff);
  bytes += "what version 3 writes";
  write_file(path, bytes);

  auto opened = CheckpointLog::open(path);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::kUnsupported);
  EXPECT_EQ(read_file(path), bytes);
}

TEST(CheckpointLog, AFullDiskRefusesTheBatchAsAWholeAndTheLogStaysUsable) {
  TemporaryDirectory directory;
  const std::string path = directory / "checkpoint.log";
  auto opened = CheckpointLog::open(path).value();
  ASSERT_TRUE(opened.log->append({"before"}));
  {
    store_test::FullDisk full(1'000);
    const Result<void> refused = opened.log->append({"fits", std::string(2'000, 'x')});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::kResourceExhausted);
    EXPECT_EQ(std::filesystem::file_size(path), opened.log->size());
    EXPECT_TRUE(opened.log->append({"small enough"}));
    EXPECT_FALSE(opened.log->rewrite({std::string(2'000, 'x')}));
    EXPECT_FALSE(exists(path + ".tmp"));
  }
  EXPECT_TRUE(opened.log->append({"after"}));
  opened.log.reset();
  EXPECT_EQ(read_log(path), (Records{"before", "small enough", "after"}));
}

TEST(CheckpointLog, ARecordAboveTheLimitIsRefusedAndTheLimitItselfIsNot) {
  TemporaryDirectory directory;
  const std::string path = directory / "checkpoint.log";
  auto opened = CheckpointLog::open(path).value();
  EXPECT_EQ(opened.log->append({std::string(kCheckpointRecordBytesMax + 1, 'x')}).error().code(),
            ErrorCode::kInvalidArgument);
  const std::string largest(kCheckpointRecordBytesMax, 'x');
  EXPECT_TRUE(opened.log->append({largest}));
  opened.log.reset();
  EXPECT_EQ(read_log(path), Records{largest});
}

TEST(CheckpointLog, RewritingKeepsOnlyWhatIsGivenAndTheLogGoesOn) {
  TemporaryDirectory directory;
  const std::string path = directory / "checkpoint.log";
  auto opened = CheckpointLog::open(path).value();
  const std::string kilobyte(1'000, 'x');
  EXPECT_FALSE(opened.log->wants_rewrite(0));
  while (opened.log->size() <= kCheckpointRewriteBytes) {
    ASSERT_TRUE(opened.log->append({kilobyte}));
  }
  EXPECT_TRUE(opened.log->wants_rewrite(10));
  EXPECT_FALSE(opened.log->wants_rewrite(opened.log->size() * 2 / 3));

  ASSERT_TRUE(opened.log->rewrite({"live", "too"}));
  EXPECT_EQ(opened.log->size(), std::filesystem::file_size(path));
  EXPECT_FALSE(opened.log->wants_rewrite(10));
  ASSERT_TRUE(opened.log->append({"later"}));
  opened.log.reset();
  EXPECT_EQ(read_log(path), (Records{"live", "too", "later"}));
}

// After a power loss the flushed file must exist under its name, too.
TEST(CheckpointLog, WithoutItsDirectoryANewFileIsNotFlushed) {
  TemporaryDirectory directory;
  const std::string inner = directory / "inner";
  for (const bool is_rewritten : {false, true}) {
    ASSERT_TRUE(std::filesystem::create_directory(inner));
    auto opened = CheckpointLog::open(inner + "/checkpoint.log").value();
    ASSERT_TRUE(opened.log->append({"identity"}));
    if (is_rewritten) {
      ASSERT_TRUE(opened.log->sync());
      ASSERT_TRUE(opened.log->rewrite({"identity"}));
    }
    std::filesystem::remove_all(inner);

    const Result<void> synced = opened.log->sync();

    ASSERT_FALSE(synced) << is_rewritten;
    EXPECT_EQ(synced.error().code(), ErrorCode::kUnavailable);
    EXPECT_FALSE(opened.log->append({"more"}));
  }
}

// After a crash between the temporary file and the rename, the old log is valid.
TEST(CheckpointLog, ATemporaryFileOfACrashedRewriteIsIgnoredAndRemoved) {
  TemporaryDirectory directory;
  const std::string path = directory / "checkpoint.log";
  make_log(path, kThree);
  make_log(directory / "other.log", {"never in force"});
  const std::string other = read_file(directory / "other.log");
  for (size_t size = 0; size <= other.size(); ++size) {
    write_file(path + ".tmp", other.substr(0, size));
    EXPECT_EQ(read_log(path), kThree);
    EXPECT_FALSE(exists(path + ".tmp"));
  }
}

}  // namespace
}  // namespace proffer::checkpoint_log_test
