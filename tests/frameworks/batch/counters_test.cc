#include "frameworks/batch/core/counters.h"

#include <gtest/gtest.h>

#include "common/prng.h"
#include "common/text.h"
#include "frameworks/batch/core/bytes.h"
#include "frameworks/batch/core/stage.h"

namespace proffer::batch::counters_test {
namespace {

Counters one(const std::string& name, int64_t amount) { return {{{"g", name}, amount}}; }

TEST(Reports, AreTakenOutOfStandardError) {
  ReportLines lines;
  std::string passed = lines.feed(
      "before\nreporter:counter:words,long,3\nafter\nreporter:counter:words,long,-1\r\n"
      "reporter:status: reading chapter 4 \nreporter:counter:words,short,7");
  passed += lines.finish();
  EXPECT_EQ(passed, "before\nafter\n");
  EXPECT_EQ(lines.counters(), (Counters{{{"words", "long"}, 2}, {{"words", "short"}, 7}}));
  EXPECT_EQ(lines.status(), "reading chapter 4");
}

TEST(Reports, ThatAreNotOfTheirFormArePassedOn) {
  const std::string others[] = {
      "reporter:counter:words,long\n",
      "reporter:counter:words,long,x\n",
      "reporter:counter:words,long,1,2\n",
      "reporter:counter:,long,1\n",
      "reporter:counter:a,b,99999999999999999999\n",
      "reporter:counter:a\x01,b,1\n",
      " reporter:counter:a,b,1\n",
      "reporter:\n",
      "reporter",
      "reporter:counter:a," + std::string(2'000, 'b') + ",1\n",
      "\n",
  };
  for (const std::string& other : others) {
    ReportLines lines;
    std::string passed = lines.feed(other);
    passed += lines.finish();
    EXPECT_EQ(passed, other);
    EXPECT_TRUE(lines.counters().empty()) << other;
  }
}

// Output without a newline, such as a prompt or a row of dots, is passed on at once.
TEST(Reports, HoldNothingBackThatIsNone) {
  ReportLines lines;
  EXPECT_EQ(lines.feed("...."), "....");
  EXPECT_EQ(lines.feed(".\nrep"), ".\n");
  EXPECT_EQ(lines.feed("eat"), "repeat");
}

TEST(Reports, AreTheSameHoweverTheyAreCut) {
  Prng random(3);
  const std::string all =
      "x\nreporter:counter:a,b,1\nreporter:status:half\nrepo\nreporter:counter:a,b,4\nend";
  for (int round = 0; round < 500; ++round) {
    ReportLines lines;
    std::string passed;
    for (size_t at = 0; at < all.size();) {
      const size_t size = random.below(9) + 1;
      passed += lines.feed(std::string_view(all).substr(at, size));
      at += size;
    }
    passed += lines.finish();
    ASSERT_EQ(passed, "x\nrepo\nend");
    ASSERT_EQ(lines.counters().at({"a", "b"}), 5);
  }
}

TEST(Counters, HaveABoundInNumberAndBytes) {
  Counters sum;
  for (int i = 0; i < 1'000; ++i) add_counters(one(std::to_string(i), 1), sum);
  EXPECT_LE(sum.size(), kCountersMax);
  EXPECT_FALSE(add_counters(one("another", 1), sum));
  EXPECT_TRUE(add_counters(one("0", 1), sum));  // a known counter still counts
  EXPECT_EQ(sum.at({"g", "0"}), 2);
  Counters large;
  for (int i = 0; i < 100; ++i) add_counters(one(text(i, std::string(100, 'x')), 1), large);
  ByteWriter out("T");
  write(out, large);
  const std::string bytes = std::move(out).take();
  EXPECT_LE(bytes.size(), kCountersBytesMax + 1);
  ByteReader in(bytes, "T");
  EXPECT_EQ(read_counters(in), large);
  EXPECT_TRUE(in.ended_well());
}

TEST(Counters, StayWithinWhatCanBeCounted) {
  Counters sum;
  for (int i = 0; i < 5; ++i) add_counters(one("a", kCounterMax), sum);
  EXPECT_EQ(sum.at({"g", "a"}), kCounterMax);
  for (int i = 0; i < 9; ++i) add_counters(one("a", -kCounterMax), sum);
  EXPECT_EQ(sum.at({"g", "a"}), -kCounterMax);
}

// --- counters of a stage -----------------------------------------------------------------------

TaskResult counted(int64_t amount) {
  TaskResult result{.http_address = "a:1"};
  result.counters = one("n", amount);
  return result;
}

// Maps on a lost agent run again, and are counted once.
TEST(CountersOfAStage, CountEachTaskOnceThoughItIsComputedAgain) {
  Stage stage(JobId("job-1"), TaskKind::kMap, 600, 0);
  stage.launch(0);
  stage.complete(0, 1, AgentId("a"), counted(5));
  stage.launch(599);
  stage.complete(599, 1, AgentId("b"), counted(7));
  stage.forget(0);
  EXPECT_EQ(stage.counters(), one("n", 12));
  stage.launch(0);
  stage.complete(0, 2, AgentId("b"), counted(5));
  EXPECT_EQ(stage.counters(), one("n", 12));
}

// A restarted scheduler keeps the counts, also of tasks whose output was lost since.
TEST(CountersOfAStage, OutliveTheScheduler) {
  Stage before(JobId("job-1"), TaskKind::kMap, 600, 0);
  for (const uint32_t number : {0u, 1u, 599u}) {
    before.launch(number);
    before.complete(number, 1, AgentId("a"), counted(number + 1));
  }
  before.forget(1);
  Stage after(JobId("job-1"), TaskKind::kMap, 600, 1'000);
  for (const uint32_t block : {0u, 2u}) {
    const Result<BlockRecord> kept = decode_block(encode(before.block(block)));
    ASSERT_TRUE(kept);
    after.restore(*kept);
  }
  EXPECT_EQ(after.counters(), one("n", 603));
  after.launch(1);
  after.complete(1, 1'001, AgentId("b"), counted(2));
  EXPECT_EQ(after.counters(), one("n", 603));
  EXPECT_EQ(after.block(0).counters, one("n", 3));
}

}  // namespace
}  // namespace proffer::batch::counters_test
