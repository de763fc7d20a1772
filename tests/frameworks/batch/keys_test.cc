#include "frameworks/batch/core/keys.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/prng.h"
#include "frameworks/batch/core/bytes.h"

namespace proffer::batch::keys_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

KeyRule sorted_by(std::string_view rules, uint32_t fields) {
  return {.fields = fields, .sort = *parse_sort(rules)};
}

TEST(Keys, AreTheFirstFieldsOfALine) {
  struct Row {
    std::string line;
    char separator;
    uint32_t fields;
    std::string key;
  };
  const Row rows[] = {
      {"key\tvalue\tmore", '\t', 1, "key"},
      {"key\tvalue\tmore", '\t', 2, "key\tvalue"},
      {"key\tvalue", '\t', 2, "key\tvalue"},
      {"key\tvalue", '\t', 9, "key\tvalue"},
      {"all of it", '\t', 1, "all of it"},
      {"all of it", ' ', 2, "all of"},
      {"\tvalue", '\t', 1, ""},
      {"", '\t', 3, ""},
      {"a,,b", ',', 2, "a,"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(key_of(row.line, {.separator = row.separator, .fields = row.fields}), row.key)
        << row.line << " " << row.fields;
  }
}

TEST(Partition, IsOfTheKeyAlone) {
  for (const uint32_t reducers : {1u, 2u, 7u, 10'000u}) {
    EXPECT_EQ(partition_of("word\t1", {}, reducers), partition_of("word\t2", {}, reducers));
    EXPECT_EQ(partition_of("word", {}, reducers), partition_of("word\t", {}, reducers));
    EXPECT_LT(partition_of("word", {}, reducers), reducers);
  }
}

TEST(Partition, IsOfItsOwnFieldsIfTheyAreNamed) {
  const KeyRule by_host{.fields = 2, .partition_fields = 1};
  EXPECT_EQ(partition_of("host\t1\tx", by_host, 1'000), partition_of("host\t2\ty", by_host, 1'000));
  const KeyRule by_both{.fields = 2};
  EXPECT_NE(partition_of("host\t1\tx", by_both, 1'000), partition_of("host\t2\ty", by_both, 1'000));
}

TEST(SortOfKeys, FollowsItsRules) {
  struct Row {
    std::string rules;  // empty: by bytes
    uint32_t fields;
    std::vector<std::string> sorted;
  };
  const Row rows[] = {
      {"", 1, {"", "10", "9", "a", "\xFF"}},
      {"-k1,1n", 1, {"-10", "-9.5", "abc", "0.25", "0.3", "2", "10", "010.5"}},
      {"-k1nr", 1, {"10", "9", "x"}},
      {"1r", 1, {"b", "a", ""}},
      {"-k1,1 -k2,2nr", 2, {"a\t10", "a\t9", "a", "b\t1"}},
      {"-k2,2", 2, {"b\t1", "a\t2"}},
      {"-k2,3", 3, {"z\ta\tb", "a\ta\tc", "b\ta\tc"}},
  };
  for (const Row& row : rows) {
    const KeyRule rule =
        row.rules.empty() ? KeyRule{.fields = row.fields} : sorted_by(row.rules, row.fields);
    ASSERT_TRUE(check_keys(rule)) << row.rules;
    for (size_t i = 0; i + 1 < row.sorted.size(); ++i) {
      EXPECT_LT(compare_keys(row.sorted[i], row.sorted[i + 1], rule), 0)
          << row.rules << ": " << row.sorted[i] << " before " << row.sorted[i + 1];
      EXPECT_GT(compare_keys(row.sorted[i + 1], row.sorted[i], rule), 0) << row.rules;
    }
  }
}

// If a sort lost or repeated different keys, the lines of one key would be split.
TEST(SortOfKeys, IsATotalOrderInWhichOnlyTheSameBytesAreEqual) {
  Prng random(11);
  const std::string letters("0129-. a\t", 9);
  const KeyRule rules[] = {{}, sorted_by("1n", 1), sorted_by("-k2,2nr -k1,1", 2)};
  for (int round = 0; round < 30'000; ++round) {
    std::string keys[3];
    for (std::string& key : keys) {
      for (uint64_t i = random.below(6); i > 0; --i) key += letters[random.below(letters.size())];
    }
    for (const KeyRule& rule : rules) {
      const int ab = compare_keys(keys[0], keys[1], rule);
      const int bc = compare_keys(keys[1], keys[2], rule);
      ASSERT_EQ(ab, -compare_keys(keys[1], keys[0], rule)) << keys[0] << " " << keys[1];
      ASSERT_EQ(ab == 0, keys[0] == keys[1]) << keys[0] << " " << keys[1];
      if (ab < 0 && bc < 0) {
        ASSERT_LT(compare_keys(keys[0], keys[2], rule), 0)
            << keys[0] << " " << keys[1] << " " << keys[2];
      }
    }
    const uint64_t a = key_prefix(keys[0]);
    const uint64_t b = key_prefix(keys[1]);
    if (a != b) {
      ASSERT_EQ(a < b, keys[0] < keys[1]);
    }
  }
}

TEST(Decimals, HaveAnyNumberOfDigits) {
  EXPECT_LT(compare_decimals("99999999999999999999", "100000000000000000000"), 0);
  EXPECT_LT(compare_decimals("0.1", "0.10000000000000000000001"), 0);
  EXPECT_EQ(compare_decimals("-0", "0.000"), 0);
  EXPECT_EQ(compare_decimals(" 7 apples", "7"), 0);
  EXPECT_LT(compare_decimals("-3", "-2"), 0);
}

TEST(SortOfKeys, IsReadAsItIsWrittenForSort) {
  EXPECT_THAT(*parse_sort("-k1,1 -k2,2nr"),
              ElementsAre(SortRule{.first = 1, .last = 1},
                          SortRule{.first = 2, .last = 2, .is_numeric = true, .is_reverse = true}));
  EXPECT_THAT(*parse_sort("3r"), ElementsAre(SortRule{.first = 3, .last = 3, .is_reverse = true}));
  for (const char* wrong :
       {"", " ", "k1", "-k", "-k1,", "-k0", "-k1x", "-k1nn", "-k1.2", "-k101"}) {
    EXPECT_FALSE(parse_sort(wrong)) << wrong;
  }
}

TEST(Keys, AreRefusedWithWhatIsAllowed) {
  struct Row {
    KeyRule rule;
    std::string says;
  };
  const Row rows[] = {
      {{.separator = '\n'}, "separator"},
      {{.fields = 0}, "key_fields must be from 1 to 100, not 0"},
      {{.fields = 2, .partition_fields = 3}, "partition_fields must be from 1 to key_fields"},
      {{.fields = 1, .sort = {{.first = 2, .last = 2}}}, "not fields of the key, which has 1"},
      {{.sort = std::vector<SortRule>(9)}, "sort has 9 rules; at most 8"},
  };
  for (const Row& row : rows) {
    const Result<void> checked = check_keys(row.rule);
    ASSERT_FALSE(checked) << row.says;
    EXPECT_THAT(checked.error().message(), HasSubstr(row.says));
    ByteWriter out("T");
    write(out, row.rule);
    const std::string bytes = std::move(out).take();
    ByteReader in(bytes, "T");
    read_keys(in);
    EXPECT_FALSE(in.ok()) << row.says;
  }
}

}  // namespace
}  // namespace proffer::batch::keys_test
