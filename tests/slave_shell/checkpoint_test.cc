// The checkpoint that an agent finds after all kinds of faults.

#include "slave/shell/checkpoint.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "proto/codec/records.h"
#include "tests/net/support.h"

namespace proffer::agent::checkpoint_test {
namespace {

const std::string kPlace = "boot-1 1:2";

class OpenCheckpoint : public testing::Test {
 protected:
  OpenCheckpoint() {
    const Result<Checkpoint> fresh = open(0);
    EXPECT_TRUE(fresh);
    EXPECT_EQ(fresh->remembered, Remembered::kAll);
    std::vector<std::string> records = {proto::encode_record(identity())};
    for (const uint64_t run : {1, 2, 3}) {
      records.push_back(
          proto::encode_record(proto::ExecutorRecord{.framework = FrameworkId("f"),
                                                     .executor = ExecutorId(text("e", run)),
                                                     .token = Secret(std::string(32, '7')),
                                                     .run = run}));
    }
    EXPECT_TRUE(fresh->log->append(records));
    mark_ = fresh->log->mark();
  }
  static proto::AgentIdentity identity() {
    return {.agent = AgentId("a1"), .secret = Secret(std::string(32, '7')), .place = kPlace};
  }
  Result<Checkpoint> open(uint64_t newest_run, const std::string& place = kPlace) const {
    return open_checkpoint(home_.path(), newest_run, place);
  }
  std::string log() const { return home_.path() / "checkpoint.log"; }
  // The runs that are still named; the log must have a new mark exactly if records are missing.
  std::string runs(const Result<Checkpoint>& found, Remembered expected) const {
    if (!found) return found.error().message();
    EXPECT_EQ(found->log->mark() == mark_, expected == Remembered::kAll);
    return runs_after(found, expected);
  }
  static std::string runs_after(const Result<Checkpoint>& found, Remembered expected) {
    if (!found) return found.error().message();
    EXPECT_EQ(found->remembered, expected);
    std::string runs;
    for (const proto::CheckpointRecord& record : found->snapshot.records) {
      const auto* executor = std::get_if<proto::ExecutorRecord>(&record);
      if (executor != nullptr) runs += std::to_string(executor->run);
    }
    return runs;
  }

  net_test::TempDir home_;
  uint32_t mark_ = 0;
};

TEST_F(OpenCheckpoint, IsWholeAfterACrash) {
  EXPECT_EQ(runs(open(3), Remembered::kAll), "123");
  EXPECT_EQ(runs(open(0), Remembered::kAll), "123");  // sandboxes were removed
}

TEST_F(OpenCheckpoint, SaysThatItsEndWasCut) {
  std::filesystem::resize_file(log(), std::filesystem::file_size(log()) - 1);
  EXPECT_EQ(runs(open(2), Remembered::kToItsEnd), "12");
}

TEST_F(OpenCheckpoint, SaysThatItIsOlderThanTheSandboxes) {
  EXPECT_EQ(runs(open(4), Remembered::kWithGaps), "123");
}

// The first records of a compacted log name the newest run, so only their count shows that others
// are missing.
TEST_F(OpenCheckpoint, SaysThatItWasCutInItsCompactedPart) {
  const AgentSnapshot compact = Agent({.name = AgentId("a1")}, open(3)->snapshot).snapshot();
  for (size_t left = 1; left <= compact.records.size(); ++left) {
    const Result<Checkpoint> log = open(0);
    ASSERT_TRUE(log) << log.error().message();
    std::vector<std::string> records;
    for (size_t i = 0; i < left; ++i) records.push_back(proto::encode_record(compact.records[i]));
    ASSERT_TRUE(log->log->rewrite(records));
    mark_ = log->log->mark();
    const Result<Checkpoint> found = open(0);
    const bool is_whole = left == compact.records.size();
    runs(found, is_whole ? Remembered::kAll : Remembered::kWithGaps);
    mark_ = found->log->mark();
    const Result<Checkpoint> again = open(0);
    EXPECT_EQ(again->log->mark(), mark_);
    runs_after(again, is_whole ? Remembered::kAll : Remembered::kWithGaps);
  }
}

TEST_F(OpenCheckpoint, KeepsTheRecordsBesideADamagedBit) {
  std::fstream file(log(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(log())) / 2);
  file.put('!');
  file.close();
  const Result<Checkpoint> found = open(3);
  const std::string left = runs(found, Remembered::kWithGaps);
  EXPECT_TRUE(left == "13" || left == "23") << left;
  EXPECT_TRUE(std::filesystem::exists(log() + ".damaged-1"));
  mark_ = found->log->mark();
  const Result<Checkpoint> again = open(3);
  EXPECT_EQ(again->log->mark(), mark_);
  EXPECT_EQ(runs_after(again, Remembered::kWithGaps), left);
}

// A life that ends before its core has written anything leaves the loss to the next one.
TEST_F(OpenCheckpoint, NotesALossUntilTheCoreHasActedOnIt) {
  for (const bool is_identity_lost : {false, true}) {
    for (const Remembered loss : {Remembered::kToItsEnd, Remembered::kWithGaps}) {
      const Result<Checkpoint> before = open(3);
      std::vector<std::string> records = {proto::encode_record(identity())};
      if (is_identity_lost) records.clear();
      records.push_back(
          proto::encode_record(proto::ExecutorRecord{.framework = FrameworkId("f"),
                                                     .executor = ExecutorId("e3"),
                                                     .token = Secret(std::string(32, '7')),
                                                     .run = 3}));
      records.push_back(records.back());
      ASSERT_TRUE(before->log->rewrite(records));
      ASSERT_TRUE(keep_identity(*before->identity, {proto::encode_record(identity())}));
      const bool is_cut = loss == Remembered::kToItsEnd;
      if (is_cut) std::filesystem::resize_file(log(), std::filesystem::file_size(log()) - 1);
      const uint64_t newest_run = is_cut ? 3 : 4;
      EXPECT_EQ(runs_after(open(newest_run), loss), is_cut ? "3" : "33");
      EXPECT_EQ(runs_after(open(0), loss), is_cut ? "3" : "33");
      // As the core does when it has recovered.
      const Result<Checkpoint> recovered = open(0);
      ASSERT_TRUE(recovered->log->append({proto::encode_record(identity())}));
      EXPECT_EQ(runs_after(open(0), Remembered::kAll), is_cut ? "3" : "33");
    }
  }
}

TEST_F(OpenCheckpoint, RefusesACopyWithinOneBoot) {
  EXPECT_EQ(runs(open(3, "boot-2 1:9"), Remembered::kAll), "123");
  const Result<Checkpoint> copy = open(3, "boot-1 1:9");
  ASSERT_FALSE(copy);
  EXPECT_EQ(copy.error().code(), ErrorCode::kFailedPrecondition);
  EXPECT_NE(copy.error().message().find("is a copy"), std::string::npos);
}

}  // namespace
}  // namespace proffer::agent::checkpoint_test
