// Parsing of small values, and escaping of foreign bytes.

#include <algorithm>
#include <vector>

#include "common/check.h"
#include "common/ids.h"
#include "common/limits.h"
#include "common/text.h"
#include "frameworks/batch/core/job.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {
namespace text_fuzz {
namespace {

void check_numbers(std::string_view whole) {
  const Result<int64_t> milli = parse_milli(whole);
  if (!milli) {
    check_told(milli.error());
  } else {
    CHECK(*milli >= 0 && *milli <= kAmountMax) << *milli;
    const Result<int64_t> again = parse_milli(print_milli(*milli));
    CHECK(again && *again == *milli) << print_milli(*milli);
  }
  const Result<int64_t> number = parse_whole("a count", whole, -1'000'000, 1'000'000);
  if (!number) {
    check_told(number.error());
  } else {
    CHECK(*number >= -1'000'000 && *number <= 1'000'000) << *number;
    const Result<int64_t> again =
        parse_whole("a count", std::to_string(*number), -1'000'000, 1'000'000);
    CHECK(again && *again == *number) << *number;
  }
  const Result<int64_t> bytes = batch::parse_bytes("--split", whole);
  if (!bytes) {
    check_told(bytes.error());
  } else {
    const Result<int64_t> again = batch::parse_bytes("--split", std::to_string(*bytes));
    CHECK(again && *again == *bytes) << *bytes;
    CHECK(is_readable(batch::print_bytes(*bytes)));
  }
}

void check_printing(std::string_view whole) {
  CHECK(is_for_terminal(quoted(whole))) << quoted(whole);
  CHECK_LE(quoted(whole).size(), 4 * 203u + 16);
  for (const size_t most : {size_t{0}, size_t{7}, size_t{4096}}) {
    std::string tail = batch::printable_tail(whole, most);
    for (char& c : tail) {
      if (c == '\n' || c == '\t') c = ' ';
    }
    CHECK(is_readable(tail)) << tail;
    CHECK_LE(tail.size(), 4 * most);
  }
}

}  // namespace
}  // namespace text_fuzz

void fuzz_text(Input input) {
  const std::string_view whole = text_of(input);
  text_fuzz::check_numbers(whole);
  text_fuzz::check_printing(whole);

  size_t bytes = 0;
  for (const std::string_view part : split(whole, ';')) {
    CHECK(trimmed(part) == part && part.find(';') == part.npos);
    bytes += part.size();
  }
  CHECK_LE(bytes, whole.size());
  const std::vector<std::string_view> known = {"cpus", "mem", "disk", "gpus", "ports"};
  const std::string_view near = nearest(whole, known);
  CHECK(near.empty() || std::find(known.begin(), known.end(), near) != known.end());
  if (const Result<void> named = check_name("task id", whole); !named) check_told(named.error());
  if (is_valid_name(whole)) CHECK(is_readable(whole) && whole.find('/') == whole.npos);
  (void)is_valid_secret(whole);
}

}  // namespace proffer::fuzz
