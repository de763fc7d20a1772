#pragma once

// The key of a line, the reducer that receives it, and the order of keys.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace proffer {
class ByteReader;
class ByteWriter;
}  // namespace proffer

namespace proffer::batch {

// One rule of `sort: -k1,1 -k2,2nr`: fields from 1 on.
struct SortRule {
  uint32_t first = 1;
  uint32_t last = 1;
  bool is_numeric = false;  // the first field as a decimal number; other text is 0
  bool is_reverse = false;
  bool operator==(const SortRule&) const = default;
};

// A line has fields with a separator between them. Its key is the first `fields` of them, including
// the separators between them. A line with fewer fields is all key.
struct KeyRule {
  char separator = '\t';
  uint32_t fields = 1;
  uint32_t partition_fields = 0;    // the fields of the key that choose the reducer; 0: all
  std::vector<SortRule> sort = {};  // keys that are equal by these are sorted by their bytes
  bool operator==(const KeyRule&) const = default;
};
inline constexpr uint32_t kKeyFieldsMax = 100;
inline constexpr size_t kSortRulesMax = 8;

// The first `fields` fields of a line, or all of it.
std::string_view leading_fields(std::string_view line, char separator, uint32_t fields);
std::string_view key_of(std::string_view line, const KeyRule& rule);
// The partition of a line (without its newline) among `reducers`, at least 1.
uint32_t partition_of(std::string_view line, const KeyRule& rule, uint32_t reducers);

// Below zero if key `a` comes before `b`, zero if they are the same bytes.
int compare_keys(std::string_view a, std::string_view b, const KeyRule& rule);
// The first bytes of a key as a number. If keys are sorted only by bytes and their numbers differ,
// the numbers give their order.
uint64_t key_prefix(std::string_view key);
// Compares decimal numbers of any length: blanks, a sign, digits, a fraction; the rest is ignored.
int compare_decimals(std::string_view a, std::string_view b);

// "-k1,1 -k2,2nr", as in sort(1) and Hadoop; "-k" may be left out. Errors: kInvalidArgument.
Result<std::vector<SortRule>> parse_sort(std::string_view text);
// Errors: kInvalidArgument names the value.
Result<void> check_keys(const KeyRule& rule);

void write(ByteWriter& out, const KeyRule& rule);
// A rule that check_keys refuses makes the reader fail.
KeyRule read_keys(ByteReader& in);

}  // namespace proffer::batch
