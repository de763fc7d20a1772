#include "frameworks/batch/core/work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/prng.h"
#include "frameworks/batch/core/plan.h"

namespace proffer::batch::work_test {
namespace {

using ::testing::HasSubstr;

std::string random_text(Prng& random, uint64_t size_max) {
  std::string text;
  const uint64_t size = random.below(size_max + 1);
  while (text.size() < size) text += static_cast<char>(random.below(256));
  return text;
}

WorkCommon random_common(Prng& random) {
  WorkCommon common{.job = "words-7",
                    .command = random_text(random, 40),
                    .accepts = {1, static_cast<int32_t>(random.below(126))},
                    .output = random_text(random, 40),
                    .plan = "plan"};
  common.number = static_cast<uint32_t>(random.next());
  common.attempt = static_cast<uint32_t>(random.below(5));
  for (uint64_t i = random.below(4); i > 0; --i) {
    common.env["NAME_" + std::to_string(i)] = random_text(random, 30);
  }
  return common;
}

Shuffle random_shuffle(Prng& random) {
  if (random.chance(1, 4)) return {.is_packed = false};
  Shuffle shuffle{.combine = random_text(random, 20),
                  .sort_bytes = random.between(0, kSortBytesMax)};
  shuffle.keys.separator = random.chance(1, 2) ? ',' : '\t';
  shuffle.keys.fields = static_cast<uint32_t>(random.below(4) + 1);
  shuffle.keys.partition_fields =
      static_cast<uint32_t>(random.below(uint64_t{shuffle.keys.fields} + 1));
  for (uint64_t i = random.below(3); i > 0; --i) {
    const auto field = static_cast<uint32_t>(random.below(shuffle.keys.fields) + 1);
    shuffle.keys.sort.push_back({.first = field,
                                 .last = shuffle.keys.fields,
                                 .is_numeric = random.chance(1, 2),
                                 .is_reverse = random.chance(1, 2)});
  }
  return shuffle;
}

Work random_work(Prng& random) {
  if (random.chance(1, 2)) {
    MapWork map{.common = random_common(random), .shuffle = random_shuffle(random)};
    map.reducers = static_cast<uint32_t>(random.below(10'001));
    return map;
  }
  if (random.chance(1, 4)) {
    return EndWork{.common = random_common(random),
                   .kind = static_cast<EndWork::Kind>(random.below(3)),
                   .place = random_text(random, 40),
                   .parts = static_cast<uint32_t>(random.below(50'001))};
  }
  ReduceWork reduce{.common = random_common(random), .shuffle = random_shuffle(random)};
  for (uint64_t i = random.below(4); i > 0; --i)
    reduce.addresses.push_back("h:" + std::to_string(i));
  for (uint64_t i = reduce.addresses.empty() ? 0 : random.below(300); i > 0; --i) {
    reduce.maps.push_back({static_cast<uint32_t>(random.below(reduce.addresses.size())),
                           static_cast<uint32_t>(random.next())});
  }
  return reduce;
}

TEST(Work, ComesBackAsItWas) {
  Prng random(1);
  for (int round = 0; round < 2'000; ++round) {
    const Work work = random_work(random);
    const Result<Work> back = decode_work(encode_work(work));
    ASSERT_TRUE(back) << "round " << round << ": " << back.error().message();
    ASSERT_TRUE(*back == work) << "round " << round;
  }
}

// Any input is either decoded or refused. A decoded value is the same after encoding and decoding.
TEST(Work, SurvivesMutation) {
  Prng random(2);
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = encode_work(random_work(random));
    for (uint64_t i = random.below(4) + 1; i > 0 && !bytes.empty(); --i) {
      switch (random.below(4)) {
        case 0:
          bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
          break;
        case 1:
          bytes.resize(random.below(bytes.size()));
          break;
        case 2:
          bytes.insert(random.below(bytes.size()), random_text(random, 10));
          break;
        default:
          bytes[random.below(bytes.size())] = static_cast<char>(0xFF);
          break;
      }
    }
    const Result<Work> work = decode_work(bytes);
    if (!work) {
      ASSERT_EQ(work.error().code(), ErrorCode::kCorruption);
      ++refused;
      continue;
    }
    const Result<Work> again = decode_work(encode_work(*work));
    ASSERT_TRUE(again && *again == *work) << "round " << round;
  }
  EXPECT_GT(refused, 1'000);
}

// A result without trouble is in the format that earlier schedulers read.
TEST(RangeResults, ComeBackAsTheyWere) {
  RangeResult result{.ended = 2,
                     .ran = 2,
                     .micros = 7,
                     .failures = {{.place = 1, .attempt = 1, .code = 0}},
                     .stderr_tail = "why"};
  EXPECT_TRUE(encode_range_result(result).starts_with("PBh1"));
  EXPECT_EQ(*decode_range_result(encode_range_result(result)), result);
  result.trouble = "no room";
  EXPECT_EQ(*decode_range_result(encode_range_result(result)), result);
  result.lost_last = true;
  EXPECT_EQ(*decode_range_result(encode_range_result(result)), result);
  // The lost element is one of the failures.
  result.failures.clear();
  EXPECT_FALSE(decode_range_result(encode_range_result(result)));
}

TEST(Work, RefusesNamesThatWouldLeaveTheirDirectory) {
  for (const char* name : {"../x", "a/b", "..", ""}) {
    MapWork map{.common = {.job = "job-1", .plan = name}};
    EXPECT_FALSE(decode_work(encode_work(map))) << name;
  }
}

TEST(Plan, ComesBackAsItWas) {
  Prng random(3);
  for (int round = 0; round < 200; ++round) {
    Split split;
    std::string path = "/";
    for (uint64_t i = random.below(8); i > 0; --i) {
      path.resize(random.below(path.size()) + 1);
      path += "directory/" + std::to_string(random.next());
      split.chunks.push_back(
          Chunk{path, random.between(0, int64_t{1} << 60), random.between(0, 99)});
    }
    if (random.chance(1, 2)) split.format = {.kind = InputFormat::Kind::kFixed, .bytes = 7};
    for (Chunk& chunk : split.chunks) {
      if (random.chance(1, 4)) chunk.codec = Codec::kGzip;
    }
    const std::string bytes = encode_split(split);
    EXPECT_TRUE(*decode_split(bytes) == split);
    const IndexEntry entry = plan_entry(5, bytes);
    EXPECT_TRUE(check_plan_entry(entry, bytes));
    EXPECT_FALSE(check_plan_entry(entry, bytes + "x"));
  }
  const ShippedFiles files = {.contents = {{"map.awk", "{ print }\n"}, {"x", ""}}};
  EXPECT_TRUE(*decode_files(encode_files(files)) == files);
  ShippedFiles large = files;
  large.large = {{"model", {.bytes = int64_t{3} << 30, .modified_s = 1'700'000'000}}, {"y", {}}};
  EXPECT_TRUE(*decode_files(encode_files(large)) == large);
  const PlanRequest request{.inputs = {"/in"}, .files = large};
  EXPECT_TRUE(*decode_plan_request(encode_plan_request(request)) == request);
}

TEST(Plan, RefusesFilesThatWouldLeaveTheSandbox) {
  for (const char* name : {"../x", "a/b", "..", "", "map.out", "stderr", ".proffer"}) {
    EXPECT_FALSE(decode_files(encode_files({.contents = {{name, "content"}}}))) << name;
    EXPECT_FALSE(decode_files(encode_files({.large = {{name, {.bytes = 1}}}}))) << name;
  }
  EXPECT_FALSE(decode_files(encode_files({.contents = {{"x", ""}}, .large = {{"x", {}}}})));
}

TEST(TaskNames, AreReadAsTheyAreWritten) {
  const TaskName name{
      .job = JobId("a.b-7"), .kind = TaskKind::kReduce, .number = 3, .attempt = 1'001};
  EXPECT_EQ(to_task_id(name).str(), "a.b-7.reduce-00003-1001");
  EXPECT_TRUE(parse_task_id(to_task_id(name)) == name);
  for (const char* other :
       {"map-00001-1", "a.map-1-1", "a.map-00001-0", "a.dance-00001-1", ".", ""}) {
    EXPECT_FALSE(parse_task_id(TaskId(other))) << other;
  }
}

TEST(Work, RefusesHugeCountsWithoutAllocatingForThem) {
  EXPECT_FALSE(decode_work(""));
  EXPECT_FALSE(decode_work("PBm2"));
  EXPECT_FALSE(decode_work(std::string("PBr2") + std::string(9, '\xFF') + '\x01'));
  EXPECT_FALSE(decode_work(std::string("PBm2") + std::string(4, '\0') + std::string(20, '\xFF')));
}

// The largest allowed job still fits into a task's payload.
TEST(Work, OfTheLargestJobFitsIntoAPayload) {
  ReduceWork reduce;
  reduce.common.command = std::string(kStreamCommandBytesMax, 'x');
  reduce.common.env["E"] = std::string(kJobEnvironmentBytesMax - 1, 'x');
  for (int i = 0; i < 200; ++i)
    reduce.addresses.push_back("agent-" + std::to_string(i) + ".example:5081");
  for (uint32_t i = 0; i < kMapsMax; ++i) reduce.maps.push_back({i % 200, 1 + i % 100});
  EXPECT_LE(encode_work(reduce).size(), kPayloadBytesMax);

  std::vector<InputFile> files;
  for (int i = 0; i < 100'000; ++i)
    files.push_back({"/" + std::to_string(i) + std::string(200, 'p'), 1});
  const Result<std::vector<Split>> splits = make_splits(files, int64_t{1} << 40);
  ASSERT_TRUE(splits);
  for (const Split& split : *splits) {
    ASSERT_LE(encode_split(split).size(), kPlanEntryBytesMax);
  }
}

TEST(Results, ComeBackAsTheyWere) {
  const TaskResult result{1, 2, 3, int64_t{1} << 45, "127.0.0.1:5081"};
  const Result<TaskResult> back = decode_result(encode_result(result));
  ASSERT_TRUE(back);
  EXPECT_TRUE(*back == result);

  TaskFailure failure{.stderr_tail = "awk: oh no\n", .fetch_failed = {{7, 1}, {9, 3}}};
  const Result<TaskFailure> told = decode_failure(encode_failure(failure));
  ASSERT_TRUE(told);
  EXPECT_TRUE(*told == failure);
}

TEST(Results, AreCutToWhatAnUpdateMayCarry) {
  TaskFailure failure{.stderr_tail = std::string(100'000, 'x') + "the end"};
  for (uint32_t i = 0; i < 50'000; ++i) failure.fetch_failed.push_back({i, 0xFFFFFFFF});
  const std::string bytes = encode_failure(failure);
  EXPECT_LE(bytes.size(), kUpdateDataBytesMax);
  const Result<TaskFailure> told = decode_failure(bytes);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->stderr_tail.size(), kStderrTailBytesMax);
  EXPECT_THAT(told->stderr_tail, HasSubstr("the end"));
  EXPECT_EQ(told->fetch_failed.size(), kFetchFailedMax);
}

TEST(Results, SurviveMutation) {
  Prng random(3);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes =
        round % 2 == 0 ? encode_result({5, 6, 7, 8, "a:1"})
                       : encode_failure({.stderr_tail = "x", .fetch_failed = {{1, 1}, {2, 2}}});
    bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    if (random.chance(1, 2)) bytes.resize(random.below(bytes.size() + 1));
    if (const Result<TaskResult> result = decode_result(bytes)) {
      ASSERT_GE(result->bytes_out, 0);
    }
    if (const Result<TaskFailure> failure = decode_failure(bytes)) {
      ASSERT_LE(failure->fetch_failed.size(), kFetchFailedMax);
    }
  }
}

TEST(Index, HasMoreLinesThanBytesOnlyIfTheyArePacked) {
  IndexEntry entry{.length = 50, .records = 51};
  EXPECT_FALSE(decode_index_entry(encode_index_entry(entry)));
  entry.is_packed = true;
  EXPECT_TRUE(*decode_index_entry(encode_index_entry(entry)) == entry);
}

TEST(Index, NoticesEveryChangedByte) {
  const IndexEntry entry{
      .offset = 1'000, .length = 50, .records = 3, .checksum = 0x0123456789ABCDEF};
  const std::string bytes = encode_index_entry(entry);
  ASSERT_EQ(bytes.size(), kIndexEntryBytes);
  const Result<IndexEntry> back = decode_index_entry(bytes);
  ASSERT_TRUE(back);
  EXPECT_TRUE(*back == entry);
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(decode_index_entry(changed)) << i;
  }
  EXPECT_FALSE(decode_index_entry(bytes.substr(1)));
}

TEST(Names, OfParts) { EXPECT_EQ(part_name(0), "part-00000"); }

}  // namespace
}  // namespace proffer::batch::work_test
