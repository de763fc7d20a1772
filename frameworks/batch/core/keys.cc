// Keys of lines: `key_of` finds one, `compare_keys` sorts them.

#include "frameworks/batch/core/keys.h"

#include <algorithm>

#include "common/text.h"
#include "frameworks/batch/core/bytes.h"
#include "frameworks/batch/core/fnv.h"

namespace proffer::batch {
namespace {

int sign_of(int value) { return (value > 0) - (value < 0); }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A decimal number for comparisons: the digits before the point without leading zeros, those after
// it without trailing zeros.
struct Decimal {
  bool is_negative = false;
  std::string_view whole = {};
  std::string_view fraction = {};
  bool is_zero() const { return whole.empty() && fraction.empty(); }
};

std::string_view take_digits(std::string_view& text) {
  size_t size = 0;
  while (size < text.size() && is_digit(text[size])) ++size;
  const std::string_view digits = text.substr(0, size);
  text.remove_prefix(size);
  return digits;
}

Decimal read_decimal(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  Decimal number;
  if (!text.empty() && text.front() == '-') {
    number.is_negative = true;
    text.remove_prefix(1);
  }
  number.whole = take_digits(text);
  while (!number.whole.empty() && number.whole.front() == '0') number.whole.remove_prefix(1);
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    number.fraction = take_digits(text);
    while (!number.fraction.empty() && number.fraction.back() == '0') {
      number.fraction.remove_suffix(1);
    }
  }
  if (number.is_zero()) number.is_negative = false;
  return number;
}

// Fields `first` to `last` of a key, with the separators between them; empty if it has fewer
// fields.
std::string_view fields_between(std::string_view key, const SortRule& rule, char separator) {
  const std::string_view before =
      rule.first == 1 ? std::string_view() : leading_fields(key, separator, rule.first - 1);
  if (rule.first > 1) {
    if (before.size() == key.size()) return {};
    key.remove_prefix(before.size() + 1);
  }
  return leading_fields(key, separator, rule.last - rule.first + 1);
}

Error not_sort(std::string_view given) {
  return Error::invalid_argument(text("sort: ", quoted(given), " is not a valid rule"))
      .with_hint(
          "write -k1,1 or -k2,2nr: the first and the last field, then n for numbers and r for "
          "descending order");
}

Result<uint32_t> take_field(std::string_view& text, std::string_view given) {
  const std::string_view digits = take_digits(text);
  const Result<int64_t> field = parse_whole("sort: field", digits, 1, kKeyFieldsMax);
  if (digits.empty()) return not_sort(given);
  if (!field) return field.error();
  return static_cast<uint32_t>(*field);
}

Result<SortRule> parse_rule(std::string_view given) {
  std::string_view text = given;
  if (text.starts_with("-k")) text.remove_prefix(2);
  SortRule rule;
  Result<uint32_t> first = take_field(text, given);
  if (!first) return std::move(first).error();
  rule.first = rule.last = *first;
  if (text.starts_with(',')) {
    text.remove_prefix(1);
    Result<uint32_t> last = take_field(text, given);
    if (!last) return std::move(last).error();
    rule.last = *last;
  }
  for (const char c : text) {
    bool& flag = c == 'n' ? rule.is_numeric : rule.is_reverse;
    if ((c != 'n' && c != 'r') || flag) return not_sort(given);
    flag = true;
  }
  return rule;
}

}  // namespace

std::string_view leading_fields(std::string_view line, char separator, uint32_t fields) {
  size_t end = 0;
  for (uint32_t i = 0; i < fields; ++i) {
    end = line.find(separator, i == 0 ? 0 : end + 1);
    if (end == std::string_view::npos) return line;
  }
  return line.substr(0, end);
}

std::string_view key_of(std::string_view line, const KeyRule& rule) {
  return leading_fields(line, rule.separator, rule.fields);
}

uint32_t partition_of(std::string_view line, const KeyRule& rule, uint32_t reducers) {
  if (reducers == 1) return 0;
  Fnv1a64 hash;
  hash.add(leading_fields(line, rule.separator,
                          rule.partition_fields > 0 ? rule.partition_fields : rule.fields));
  return static_cast<uint32_t>(hash.value() % reducers);
}

int compare_decimals(std::string_view a, std::string_view b) {
  const Decimal left = read_decimal(a);
  const Decimal right = read_decimal(b);
  if (left.is_negative != right.is_negative) return left.is_negative ? -1 : 1;
  int result = 0;
  if (left.whole.size() != right.whole.size()) {
    result = left.whole.size() < right.whole.size() ? -1 : 1;
  } else {
    result = sign_of(left.whole.compare(right.whole));
  }
  if (result == 0) result = sign_of(left.fraction.compare(right.fraction));
  return left.is_negative ? -result : result;
}

int compare_keys(std::string_view a, std::string_view b, const KeyRule& rule) {
  for (const SortRule& sort : rule.sort) {
    const std::string_view left = fields_between(a, sort, rule.separator);
    const std::string_view right = fields_between(b, sort, rule.separator);
    const int result =
        sort.is_numeric ? compare_decimals(left, right) : sign_of(left.compare(right));
    if (result != 0) return sort.is_reverse ? -result : result;
  }
  return sign_of(a.compare(b));
}

uint64_t key_prefix(std::string_view key) {
  uint64_t prefix = 0;
  for (size_t i = 0; i < 8; ++i) {
    prefix = prefix << 8 | (i < key.size() ? static_cast<unsigned char>(key[i]) : 0U);
  }
  return prefix;
}

Result<std::vector<SortRule>> parse_sort(std::string_view text) {
  std::vector<SortRule> rules;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    Result<SortRule> rule = parse_rule(word);
    if (!rule) return std::move(rule).error();
    rules.push_back(*rule);
  }
  if (rules.empty()) return not_sort(text);
  return rules;
}

Result<void> check_keys(const KeyRule& rule) {
  if (rule.separator == '\n' || rule.separator == '\0') {
    return Error::invalid_argument("separator cannot be a newline or a NUL byte")
        .with_hint("use one other byte: it separates the fields of a line");
  }
  if (rule.fields < 1 || rule.fields > kKeyFieldsMax) {
    return Error::invalid_argument(
        text("key_fields must be from 1 to ", kKeyFieldsMax, ", not ", rule.fields));
  }
  if (rule.partition_fields > rule.fields) {
    return Error::invalid_argument(text("partition_fields must be from 1 to key_fields, which is ",
                                        rule.fields, ", not ", rule.partition_fields))
        .with_hint("lines with the same key must go to the same reducer");
  }
  if (rule.sort.size() > kSortRulesMax) {
    return Error::invalid_argument(
        text("sort has ", rule.sort.size(), " rules; at most ", kSortRulesMax, " are allowed"));
  }
  for (const SortRule& sort : rule.sort) {
    if (sort.first >= 1 && sort.first <= sort.last && sort.last <= rule.fields) continue;
    return Error::invalid_argument(text("sort: fields ", sort.first, " to ", sort.last,
                                        " are not fields of the key, which has ", rule.fields))
        .with_hint(
            "raise key_fields, and set partition_fields to the fields that choose the reducer");
  }
  return {};
}

void write(ByteWriter& out, const KeyRule& rule) {
  out.number(static_cast<unsigned char>(rule.separator));
  out.number(rule.fields);
  out.number(rule.partition_fields);
  out.number(rule.sort.size());
  for (const SortRule& sort : rule.sort) {
    out.number(sort.first);
    out.number(sort.last);
    out.number((sort.is_numeric ? 1U : 0U) | (sort.is_reverse ? 2U : 0U));
  }
}

KeyRule read_keys(ByteReader& in) {
  KeyRule rule;
  rule.separator = static_cast<char>(in.number(255));
  rule.fields = in.number32(kKeyFieldsMax);
  rule.partition_fields = in.number32(kKeyFieldsMax);
  const size_t count = in.count(kSortRulesMax);
  for (size_t i = 0; in.ok() && i < count; ++i) {
    SortRule sort;
    sort.first = in.number32(kKeyFieldsMax);
    sort.last = in.number32(kKeyFieldsMax);
    const uint64_t flags = in.number(3);
    sort.is_numeric = (flags & 1) != 0;
    sort.is_reverse = (flags & 2) != 0;
    rule.sort.push_back(sort);
  }
  if (in.ok() && !check_keys(rule)) in.fail();
  return rule;
}

}  // namespace proffer::batch
