// Sorting of lines that do not fit into memory, and the blocks that it writes to disk.

#include "frameworks/batch/executor/sort.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/prng.h"
#include "common/text.h"
#include "tests/support/with_directory.h"

namespace proffer::batch::sort_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

struct Line {
  uint32_t partition = 0;
  std::string text = {};
  bool operator==(const Line&) const = default;
};

class Kept : public LineSink {
 public:
  explicit Kept(size_t lines_max = SIZE_MAX) : lines_max_(lines_max) {}
  Result<bool> put(uint32_t partition, std::string_view line) override {
    lines.push_back({partition, std::string(line)});
    return lines.size() < lines_max_;
  }
  std::vector<Line> lines = {};

 private:
  size_t lines_max_;
};

class Counted : public LineSink {
 public:
  Result<bool> put(uint32_t, std::string_view line) override {
    ++lines;
    if (line < last_) in_order = false;
    last_ = line;
    return true;
  }
  int64_t lines = 0;
  bool in_order = true;

 private:
  std::string last_;
};

class Sort : public test::WithDirectory {
 protected:
  // Writes a file of blocks with these lines.
  std::string run(const std::string& name, const std::vector<Line>& lines) {
    const std::string path = (root_ / name).string();
    Result<Fd> file = open_to_write(path);
    EXPECT_TRUE(file);
    BlockWriter writer(file->get());
    for (const Line& line : lines) EXPECT_TRUE(writer.put(line.partition, line.text));
    EXPECT_TRUE(writer.finish());
    return path;
  }
};

std::vector<Line> random_lines(Prng& random, size_t count, size_t size_max) {
  const std::string letters("ab1\t\0\xFF\r-", 8);
  std::vector<Line> lines;
  for (size_t i = 0; i < count; ++i) {
    Line line{.partition = static_cast<uint32_t>(random.below(3))};
    for (uint64_t size = random.below(size_max); size > 0; --size) {
      line.text += letters[random.below(letters.size())];
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<Line> sorted(std::vector<Line> lines, const KeyRule& keys) {
  std::stable_sort(lines.begin(), lines.end(), [&](const Line& a, const Line& b) {
    if (a.partition != b.partition) return a.partition < b.partition;
    return compare_keys(key_of(a.text, keys), key_of(b.text, keys), keys) < 0;
  });
  return lines;
}

// For any memory, keys and number of runs, the result is the stable sort.
TEST_F(Sort, GivesAllLinesInOrderOfPartitionKeyAndInput) {
  Prng random(5);
  const KeyRule rules[] = {
      {}, {.fields = 2}, {.fields = 2, .sort = *parse_sort("-k2,2nr")}, {.separator = '1'}};
  for (int round = 0; round < 24; ++round) {
    const KeyRule& keys = rules[round % 4];
    const std::vector<Line> lines = random_lines(random, random.below(4'000), 30);
    const int64_t bytes = random.between(500, 40'000);
    ExternalSort sort(root_.string(), bytes, keys);
    for (const Line& line : lines) ASSERT_TRUE(sort.put(line.partition, line.text));
    Kept kept;
    ASSERT_TRUE(sort.finish(kept));
    ASSERT_EQ(kept.lines, sorted(lines, keys)) << "round " << round << ", " << bytes << " bytes";
  }
  EXPECT_TRUE(fs::is_empty(root_)) << "runs are left behind";
}

// Keys with common prefixes of all lengths, short suffixes and NUL: comparing the first eight bytes
// decides some of them and not others.
TEST_F(Sort, KeysThatBeginAlikeComeInOrder) {
  Prng random(8);
  const std::string letters("a\0\xFF", 3);
  for (int round = 0; round < 20; ++round) {
    std::vector<Line> lines;
    for (int i = 0; i < 3'000; ++i) {
      std::string key(random.below(100), random.chance(1, 8) ? '\0' : 'a');
      for (uint64_t more = random.below(4); more > 0; --more) {
        key += letters[random.below(letters.size())];
      }
      lines.push_back({static_cast<uint32_t>(random.below(2)), text(key, "\t", i)});
    }
    ExternalSort sort(root_.string(), round % 2 == 0 ? 1'000'000 : 20'000, KeyRule());
    for (const Line& line : lines) ASSERT_TRUE(sort.put(line.partition, line.text));
    Kept kept;
    ASSERT_TRUE(sort.finish(kept));
    ASSERT_EQ(kept.lines, sorted(lines, {})) << "round " << round;
  }
}

TEST_F(Sort, MergesMoreRunsThanItOpensAtOnce) {
  Prng random(6);
  const std::vector<Line> lines = random_lines(random, 3'000, 20);
  std::vector<batch::Run> runs;
  for (size_t first = 0; first < lines.size(); first += 30) {
    const std::vector<Line> some(lines.begin() + static_cast<std::ptrdiff_t>(first),
                                 lines.begin() + static_cast<std::ptrdiff_t>(first + 30));
    runs.push_back({.path = run(text("r", first), sorted(some, {}))});
  }
  ASSERT_EQ(runs.size(), 100u);
  Kept kept;
  const Result<void> merged = merge_runs(runs, KeyRule(), 3, root_.string(), kept);
  ASSERT_TRUE(merged) << merged.error().message();
  EXPECT_EQ(kept.lines, sorted(lines, {}));
  EXPECT_TRUE(fs::is_empty(root_)) << "runs are left behind";
}

TEST_F(Sort, TakesLinesThatAreLongerThanItsMemory) {
  const std::vector<Line> lines = {
      {0, "b"}, {0, std::string(5'000, 'x')}, {0, "a"}, {0, std::string(200'000, 'c')}, {0, ""}};
  const KeyRule keys;
  ExternalSort small(root_.string(), 1'000, keys);
  for (const Line& line : lines) ASSERT_TRUE(small.put(line.partition, line.text));
  Kept kept;
  ASSERT_TRUE(small.finish(kept));
  EXPECT_EQ(kept.lines, sorted(lines, keys));
}

TEST_F(Sort, EndsWhenNobodyWantsMore) {
  const KeyRule keys;
  ExternalSort sort(root_.string(), 1'000, keys);
  for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(sort.put(0, text("line ", i)));
  Kept few(2);
  ASSERT_TRUE(sort.finish(few));
  EXPECT_EQ(few.lines.size(), 2u);
}

int64_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    int64_t kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib * 1'024;
  }
  return 0;
}

// Memory is bounded, not the number of lines: 2 MiB are enough to sort 32 MiB.
TEST_F(Sort, KeepsWithinItsMemoryWhateverItIsGiven) {
  const int64_t bytes = int64_t{2} << 20;
  const KeyRule keys;
  std::ofstream("/proc/self/clear_refs") << "5";  // reset the peak
  const int64_t before = peak_bytes();
  {
    ExternalSort sort(root_.string(), bytes, keys);
    Prng random(8);
    std::string line(60, 'x');
    for (int64_t i = 0; i < (int64_t{32} << 20) / 64; ++i) {
      const uint64_t number = random.next();
      for (size_t k = 0; k < 12; ++k) {
        line[k] = static_cast<char>('a' + (number >> (4 * k) & 15));
      }
      ASSERT_TRUE(sort.put(0, line));
    }
    Counted counted;
    ASSERT_TRUE(sort.finish(counted));
    EXPECT_EQ(counted.lines, (int64_t{32} << 20) / 64);
    EXPECT_TRUE(counted.in_order);
  }
  EXPECT_LT(peak_bytes() - before, 5 * bytes);
}

// --- blocks ------------------------------------------------------------------------------------

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream all;
  all << file.rdbuf();
  return all.str();
}

Result<std::vector<Line>> read_all(const std::string& path) {
  Unpacker unpacker;
  BlockReader reader(*open_to_read(path), path, unpacker);
  std::vector<Line> lines;
  for (;;) {
    const Result<bool> more = reader.next();
    if (!more) return more.error();
    if (!*more) return lines;
    lines.push_back({reader.partition(), std::string(reader.line())});
  }
}

TEST_F(Sort, BlocksNameTheFileAndThePlaceOfDamage) {
  std::vector<Line> lines;
  for (int i = 0; i < 20'000; ++i) lines.push_back({.partition = 1, .text = text("line ", i)});
  const std::string path = run("blocks", lines);
  ASSERT_EQ(*read_all(path), lines);
  const std::string good = contents(path);
  const Result<BlockHeader> first =
      decode_block_header(std::string_view(good).substr(0, kBlockHeaderBytes));
  ASSERT_TRUE(first);
  const size_t second = kBlockHeaderBytes + first->stored_bytes;
  ASSERT_LT(second + 100, good.size());
  std::string damaged = good;
  damaged[second + 100] = static_cast<char>(damaged[second + 100] ^ 1);
  std::ofstream(path, std::ios::binary) << damaged;
  const Result<std::vector<Line>> refused = read_all(path);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kCorruption);
  EXPECT_THAT(refused.error().message(), HasSubstr(text("byte ", second)));
  EXPECT_THAT(refused.error().message(), HasSubstr(path));
}

TEST_F(Sort, BlocksGiveTheirLinesOrSayThatTheyAreDamaged) {
  Prng random(9);
  std::vector<Line> lines;
  for (int i = 0; i < 3'000; ++i) lines.push_back({.partition = 0, .text = text(i % 7, " times")});
  const std::string path = run("blocks", lines);
  const std::string good = contents(path);
  for (int round = 0; round < 300; ++round) {
    std::string changed = good;
    if (random.chance(1, 2)) {
      changed.resize(random.below(good.size()));
    } else {
      changed[random.below(changed.size())] ^= static_cast<char>(1 + random.below(255));
    }
    std::ofstream(path, std::ios::binary) << changed;
    const Result<std::vector<Line>> read = read_all(path);
    // A file that was cut between two blocks has the lines of the earlier blocks.
    if (read) {
      ASSERT_LE(read->size(), lines.size());
      ASSERT_TRUE(std::equal(read->begin(), read->end(), lines.begin())) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace proffer::batch::sort_test
