#include "frameworks/batch/core/splits.h"

#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/prng.h"
#include "frameworks/batch/core/fnv.h"
#include "frameworks/batch/core/job.h"

namespace proffer::batch::splits_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<Split> splits_of(const std::vector<InputFile>& files, int64_t split_bytes) {
  Result<std::vector<Split>> splits = make_splits(files, split_bytes);
  EXPECT_TRUE(splits) << (splits ? "" : splits.error().message());
  return splits ? *std::move(splits) : std::vector<Split>();
}

TEST(MakeSplits, PacksSmallFilesAndCutsLargeOnes) {
  const std::vector<Split> splits =
      splits_of({{"/a", 3}, {"/b", 0}, {"/c", 4}, {"/d", 25}, {"/e", 5}}, 10);
  ASSERT_EQ(splits.size(), 4u);
  EXPECT_THAT(splits[0].chunks, ElementsAre(Chunk{"/a", 0, 3}, Chunk{"/c", 0, 4}));
  EXPECT_THAT(splits[1].chunks, ElementsAre(Chunk{"/d", 0, 10}));
  EXPECT_THAT(splits[2].chunks, ElementsAre(Chunk{"/d", 10, 10}));
  EXPECT_THAT(splits[3].chunks, ElementsAre(Chunk{"/d", 20, 5}, Chunk{"/e", 0, 5}));
}

TEST(MakeSplits, OfNothingAreNone) {
  EXPECT_TRUE(splits_of({}, 10).empty());
  EXPECT_TRUE(splits_of({{"/empty", 0}}, 10).empty());
}

TEST(MakeSplits, ByFileHaveOneFileEach) {
  const Result<std::vector<Split>> splits =
      make_splits({{"/a", 3}, {"/b", 0}, {"/c", 4}, {"/d", 12}}, 10, true);
  ASSERT_TRUE(splits);
  EXPECT_THAT(*splits, ElementsAre(Split{{Chunk{"/a", 0, 3}}}, Split{{Chunk{"/c", 0, 4}}},
                                   Split{{Chunk{"/d", 0, 10}}}, Split{{Chunk{"/d", 10, 2}}}));
  const std::vector<InputFile> many(kMapsMax + 1, InputFile{"/x", 1});
  const Result<std::vector<Split>> refused = make_splits(many, 10, true);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().hint(), HasSubstr("leave out by_file"));
  EXPECT_TRUE(make_splits(many, 10));
}

TEST(MakeSplits, EndsASplitThatWouldTakeTooLongToTell) {
  std::vector<InputFile> files;
  for (size_t i = 0; i < kChunksPerSplitMax + 1; ++i)
    files.push_back({"/x/" + std::to_string(i), 1});
  EXPECT_EQ(splits_of(files, int64_t{1} << 40).size(), 2u);

  // Paths without a common prefix, so long that a hundred of them fill a split.
  files.clear();
  for (int i = 0; i < 200; ++i) {
    files.push_back({"/" + std::to_string(1000 + i) + std::string(1'000, 'x'), 1});
  }
  for (const Split& split : splits_of(files, int64_t{1} << 40))
    EXPECT_LT(split.chunks.size(), 100u);
}

TEST(MakeSplits, RefusesMoreMapsThanAJobMayHaveAndNamesASizeThatWorks) {
  const Result<std::vector<Split>> splits = make_splits({{"/huge", int64_t{1} << 40}}, 1);
  ASSERT_FALSE(splits);
  EXPECT_EQ(splits.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(splits.error().message(), HasSubstr("more than 50000 map tasks"));
  EXPECT_THAT(splits.error().hint(), HasSubstr("at least 41MiB"));
  EXPECT_TRUE(make_splits({{"/huge", int64_t{1} << 40}}, int64_t{41} << 20));
  // Exactly the maximum is allowed.
  EXPECT_EQ(splits_of({{"/f", static_cast<int64_t>(kMapsMax)}}, 1).size(), kMapsMax);
  EXPECT_FALSE(make_splits({{"/f", static_cast<int64_t>(kMapsMax) + 1}}, 1));
}

// The mapper's input for one chunk, if the file is read in pieces of `piece` bytes.
std::string read_chunk(const Chunk& chunk, const std::string& content, size_t piece) {
  ChunkRecords lines(chunk);
  std::string owned;
  auto at = static_cast<size_t>(lines.begin());
  while (!lines.done() && at < content.size()) {
    const std::string_view bytes = std::string_view(content).substr(at, piece);
    owned += lines.feed(bytes);
    at += bytes.size();
  }
  if (lines.lacks_end()) owned += '\n';
  return owned;
}

TEST(ChunkRecords, BelongToTheChunkInWhichTheyStart) {
  const std::string content = "one\ntwo\nthree\n";
  struct Row {
    int64_t offset;
    int64_t length;
    std::string lines;
  };
  for (const Row& row : std::vector<Row>{{0, 14, "one\ntwo\nthree\n"},
                                         {0, 1, "one\n"},
                                         {0, 4, "one\n"},
                                         {0, 5, "one\ntwo\n"},
                                         {1, 3, ""},
                                         {3, 1, ""},
                                         {4, 1, "two\n"},
                                         {3, 2, "two\n"},
                                         {4, 10, "two\nthree\n"},
                                         {5, 4, "three\n"},
                                         {9, 5, ""},
                                         {8, 6, "three\n"}}) {
    for (size_t piece = 1; piece <= content.size(); ++piece) {
      EXPECT_EQ(read_chunk({"/f", row.offset, row.length}, content, piece), row.lines)
          << row.offset << "+" << row.length << " in pieces of " << piece;
    }
  }
}

TEST(ChunkRecords, OfAFileThatGotShorterAreWhatIsLeft) {
  EXPECT_EQ(read_chunk({"/f", 0, 100}, "only\nthis", 4), "only\nthis\n");
  EXPECT_EQ(read_chunk({"/f", 50, 50}, "only\nthis", 4), "");
  EXPECT_EQ(read_chunk({"/f", 0, 100}, "", 4), "");
}

TEST(ChunkRecords, SayHowMuchOfTheirFileIsGone) {
  struct Row {
    Chunk chunk;
    std::string left;  // the rest of the file, from the chunk's first read
    int64_t missing;
  };
  for (const Row& row : std::vector<Row>{{{"/f", 0, 9}, "only\nthis", 0},
                                         {{"/f", 0, 5}, "only\nthis", 0},
                                         {{"/f", 0, 100}, "only\nthis", 91},
                                         {{"/f", 0, 100}, "", 100},
                                         {{"/f", 50, 50}, "", 51},
                                         {{"/f.gz", 0, 100, Codec::kGzip}, "unpacked\n", 0}}) {
    ChunkRecords records(row.chunk);
    records.feed(row.left);
    EXPECT_EQ(records.missing(), row.missing) << row.chunk.path << " " << row.left;
  }
  ChunkRecords fixed({"/f", 0, 100}, {.kind = InputFormat::Kind::kFixed, .bytes = 10});
  fixed.feed("0123456789");
  EXPECT_EQ(fixed.missing(), 90);
}

// A line of one GiB belongs to the first chunk. The other chunks read only their own bytes.
TEST(ChunkRecords, InTheMiddleOfALongLineReadNothingBehindTheirChunk) {
  ChunkRecords records({"/f", 10, 10});
  EXPECT_EQ(records.begin(), 9);
  EXPECT_EQ(records.feed("012345678"), "");
  EXPECT_FALSE(records.done());
  EXPECT_EQ(records.feed("9"), "");
  EXPECT_TRUE(records.done());
}

// The basic law: for any files and split size, the splits in order contain each line of the files
// once and in order.
TEST(ChunkRecords, AreReadExactlyOnceWhereverTheCutsAre) {
  Prng random(20);
  for (int round = 0; round < 400; ++round) {
    std::map<std::string, std::string> contents;
    std::string expected;
    const uint64_t files = random.below(5) + 1;
    for (uint64_t f = 0; f < files; ++f) {
      std::string content;
      const uint64_t size = random.below(60);
      while (content.size() < size) {
        content += random.chance(1, 4) ? '\n' : static_cast<char>(random.below(256));
      }
      contents["/f" + std::to_string(f)] = content;
    }
    std::vector<InputFile> input;
    for (const auto& [path, content] : contents) {
      input.push_back({path, static_cast<int64_t>(content.size())});
      expected += content;
      if (!content.empty() && content.back() != '\n') expected += '\n';
    }
    const auto split_bytes = static_cast<int64_t>(random.below(40) + 1);
    std::string found;
    for (const Split& split : splits_of(input, split_bytes)) {
      EXPECT_LE(split.bytes(), split_bytes);
      for (const Chunk& chunk : split.chunks) {
        found += read_chunk(chunk, contents[chunk.path], random.below(7) + 1);
      }
    }
    ASSERT_EQ(found, expected) << "round " << round << ", split " << split_bytes;
  }
}

// --- other records -----------------------------------------------------------------------------

std::string read_records(const Chunk& chunk, const InputFormat& format, std::string_view content,
                         size_t piece) {
  ChunkRecords records(chunk, format);
  std::string found;
  for (auto at = static_cast<size_t>(records.begin()); at < content.size() && !records.done();
       at += piece) {
    found += records.feed(content.substr(at, piece));
  }
  if (records.lacks_end()) found += format.end();
  return found;
}

TEST(ChunkRecords, OfAnyFormatAreReadExactlyOnceWhereverTheCutsAre) {
  Prng random(21);
  for (int round = 0; round < 400; ++round) {
    const bool is_fixed = random.chance(1, 2);
    InputFormat format{.kind = InputFormat::Kind::kNul};
    if (is_fixed) format = {.kind = InputFormat::Kind::kFixed, .bytes = random.between(1, 9)};
    std::string content;
    const std::string letters("ab\n\0", 4);
    const int64_t size = is_fixed ? format.bytes * random.between(1, 30) : random.between(1, 200);
    while (static_cast<int64_t>(content.size()) < size) content += letters[random.below(4)];
    std::string expected = content;
    if (!is_fixed && content.back() != '\0') expected += '\0';
    const Result<std::vector<Split>> splits =
        make_splits({{"/f", size}}, random.between(1, 40), false, format);
    ASSERT_TRUE(splits);
    std::string found;
    for (const Split& split : *splits) {
      EXPECT_TRUE(split.format == format);
      for (const Chunk& chunk : split.chunks) {
        if (is_fixed) {
          EXPECT_EQ(chunk.offset % format.bytes, 0);
        }
        found += read_records(chunk, format, content, random.below(7) + 1);
      }
    }
    ASSERT_EQ(found, expected) << "round " << round;
  }
}

TEST(ChunkRecords, OfAFixedLengthTellWhatIsLeftOver) {
  const InputFormat format{.kind = InputFormat::Kind::kFixed, .bytes = 4};
  ChunkRecords records({"/f", 0, 10}, format);
  records.feed("0123456789");
  EXPECT_EQ(records.records(), 2);
  EXPECT_EQ(records.left_over(), 2);
}

TEST(Splits, DoNotCutPackedFiles) {
  const Result<std::vector<Split>> splits = make_splits(
      {{"/a.gz", 1'000, Codec::kGzip}, {"/b", 1'000}, {"/c.zst", 30, Codec::kZstd}}, 400);
  ASSERT_TRUE(splits);
  ASSERT_EQ(splits->size(), 4u);
  EXPECT_EQ(splits->front().chunks.front().length, 1'000);
  EXPECT_TRUE(splits->back().chunks.back().codec == Codec::kZstd);
}

TEST(Codecs, AreToldByNameAndFirstBytes) {
  EXPECT_TRUE(codec_of("/a.gz", "\x1f\x8b\x08") == Codec::kGzip);
  EXPECT_TRUE(codec_of("/a.zst", "\x28\xb5\x2f\xfd") == Codec::kZstd);
  EXPECT_TRUE(codec_of("/a.gz", "text") == Codec::kNone);
  EXPECT_TRUE(codec_of("/a.gz", "") == Codec::kNone);
  EXPECT_TRUE(codec_of("/a.txt", "\x1f\x8b\x08") == Codec::kNone);
}

TEST(InputFormats, AreReadOrRefused) {
  EXPECT_TRUE(*parse_input_format("lines") == InputFormat());
  EXPECT_TRUE(parse_input_format("nul")->kind == InputFormat::Kind::kNul);
  EXPECT_EQ(parse_input_format("fixed:100")->bytes, 100);
  for (const char* wrong :
       {"", "line", "fixed", "fixed:", "fixed:0", "fixed:x", "fixed:99999999999"}) {
    EXPECT_FALSE(parse_input_format(wrong)) << wrong;
  }
}

TEST(Fnv, IsTheOneThatIsPublished) {
  // The published test vectors of 64-bit FNV-1a.
  const auto hash = [](std::string_view text) {
    Fnv1a64 fnv;
    fnv.add(text);
    return fnv.value();
  };
  EXPECT_EQ(hash(""), 0xCBF29CE484222325u);
  EXPECT_EQ(hash("a"), 0xAF63DC4C8601EC8Cu);
  EXPECT_EQ(hash("foobar"), 0x85944171F73967E8u);
}

}  // namespace
}  // namespace proffer::batch::splits_test
