#include "common/text.h"

#include <gtest/gtest.h>

#include "common/limits.h"
#include "common/printable.h"
#include "common/prng.h"
#include "common/usage_problem.h"

namespace proffer::text_test {
namespace {

TEST(Text, QuotesSoThatAnythingCanBeShown) {
  struct Row {
    std::string text;
    std::string_view shown;
  };
  const Row rows[] = {
      {"", "''"},
      {"plain", "'plain'"},
      {"grüße €😀", "'grüße €😀'"},
      {"a\nb\tc", "'a\\nb\\tc'"},
      {std::string("\0\x1b\x7f", 3), "'\\x00\\x1b\\x7f'"},
      {"\xff", "'\\xff'"},
      {"\xc3", "'\\xc3'"},                             // cut in the middle of a character
      {"\xc0\x80", "'\\xc0\\x80'"},                    // overlong
      {"\xe0\x80\x80", "'\\xe0\\x80\\x80'"},           // overlong
      {"\xed\xa0\x80", "'\\xed\\xa0\\x80'"},           // a surrogate
      {"\xf4\x90\x80\x80", "'\\xf4\\x90\\x80\\x80'"},  // beyond Unicode
  };
  for (const Row& row : rows) EXPECT_EQ(quoted(row.text), row.shown);
  EXPECT_EQ(quoted(std::string(200, 'x')), "'" + std::string(200, 'x') + "'");
  EXPECT_EQ(quoted(std::string(201, 'x')), "'" + std::string(200, 'x') + "…'");
}

// Messages quote values; a log line quotes the message once more, and loses nothing.
TEST(Text, AValueOfALogLineCanBeReadBackAndIsWhole) {
  struct Row {
    std::string text;
    std::string_view shown;
  };
  const Row rows[] = {
      {"", R"("")"},
      {"role 'a//b' is wrong", R"("role 'a//b' is wrong")"},
      {R"(say "no" and \)", R"("say \"no\" and \\")"},
      {"a\nb", R"("a\nb")"},
      {"\xff", R"("\xff")"},
  };
  for (const Row& row : rows) EXPECT_EQ(log_value(row.text), row.shown);
  const std::string longest(kReasonTextBytesMax, 'x');
  EXPECT_EQ(log_value(longest), "\"" + longest + "\"");
  EXPECT_EQ(log_value(longest + "y"), "\"" + longest + "…\"");
}

TEST(Text, QuotedIsShortAndWithoutControlCharactersWhateverItQuotes) {
  Prng prng(1);
  for (int i = 0; i < 2'000; ++i) {
    std::string bytes(prng.below(600), '\0');
    for (char& c : bytes) c = static_cast<char>(prng.below(256));
    const std::string shown = quoted(bytes);
    EXPECT_LE(shown.size(), 820u);
    for (const char c : shown) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
  }
}

TEST(Text, ProblemsOfUsageArePlain) {
  EXPECT_EQ(plain_usage_problem("The following argument was not expected: x"),
            "unexpected argument 'x'");
  EXPECT_EQ(plain_usage_problem("The following arguments were not expected: x --y"),
            "unexpected arguments 'x --y'");
  EXPECT_EQ(plain_usage_problem("A subcommand is required"), "a subcommand is missing");
  EXPECT_EQ(plain_usage_problem("JOB is required"), "JOB is missing");
  EXPECT_EQ(plain_usage_problem("Could not convert: --count = many"),
            "--count must be a whole number, not 'many'");
  EXPECT_EQ(plain_usage_problem("--mem: 1 required TEXT missing"), "--mem needs a value");
}

TEST(Text, JoinsPartsOfAllTypes) {
  const std::string string = "s";
  EXPECT_EQ(
      text("a ", 'b', ' ', 1, ' ', int64_t{-2}, ' ', size_t{3}, ' ', string, std::string_view("v")),
      "a b 1 -2 3 sv");
  EXPECT_EQ(text(), "");
}

TEST(Text, TrimsAndSplits) {
  EXPECT_EQ(trimmed("  a b\t\r\n"), "a b");
  EXPECT_EQ(trimmed(" \t"), "");
  EXPECT_EQ(split("a, b ,,c", ','), (std::vector<std::string_view>{"a", "b", "", "c"}));
  EXPECT_EQ(split("", ','), std::vector<std::string_view>{""});
  EXPECT_EQ(split(",", ','), (std::vector<std::string_view>{"", ""}));
}

TEST(Text, ParsesAmountsExactlyOrNotAtAll) {
  struct Row {
    std::string_view text;
    std::optional<int64_t> milli;
  };
  const Row rows[] = {
      {"0", 0},
      {"1", 1000},
      {"1.5", 1500},
      {"0.001", 1},
      {"0.1", 100},
      {"00012", 12000},
      {"1.000", 1000},
      {"1125899906842.624", kAmountMax},
      {"1125899906842.625", {}},
      {"1125899906843", {}},
      {"99999999999999999999999999", {}},
      {"", {}},
      {".", {}},
      {".5", {}},
      {"5.", {}},
      {"1.2345", {}},
      {"1.0000", {}},
      {"-1", {}},
      {"+1", {}},
      {"1e3", {}},
      {"1,5", {}},
      {" 1", {}},
      {"1.2.3", {}},
      {"0x10", {}},
      {"inf", {}},
      {"1.-5", {}},
  };
  for (const Row& row : rows) {
    const Result<int64_t> milli = parse_milli(row.text);
    EXPECT_EQ(milli.has_value(), row.milli.has_value()) << row.text;
    if (milli && row.milli) {
      EXPECT_EQ(*milli, *row.milli) << row.text;
    }
    if (!milli) {
      EXPECT_EQ(milli.error().code(), ErrorCode::kInvalidArgument) << row.text;
    }
  }
}

TEST(Text, PrintsAmountsThatReadBack) {
  struct Row {
    int64_t milli;
    std::string_view printed;
  };
  const Row rows[] = {{0, "0"},
                      {1, "0.001"},
                      {10, "0.01"},
                      {100, "0.1"},
                      {1000, "1"},
                      {1500, "1.5"},
                      {1050, "1.05"},
                      {-1500, "-1.5"},
                      {-1, "-0.001"},
                      {kAmountMax, "1125899906842.624"},
                      {std::numeric_limits<int64_t>::min(), "-9223372036854775.808"}};
  for (const Row& row : rows) EXPECT_EQ(print_milli(row.milli), row.printed);
  Prng prng(2);
  for (int i = 0; i < 5'000; ++i) {
    const int64_t milli = prng.between(0, kAmountMax >> prng.below(50));
    const Result<int64_t> back = parse_milli(print_milli(milli));
    ASSERT_TRUE(back) << milli;
    ASSERT_EQ(*back, milli);
  }
}

TEST(Text, ParsesWholeNumbersWithinTheirRange) {
  struct Row {
    std::string_view text;
    std::optional<int64_t> value;
  };
  const Row rows[] = {{"-5", -5},  {"0", 0},
                      {"10", 10},  {"007", 7},
                      {"11", {}},  {"-6", {}},
                      {"", {}},    {"-", {}},
                      {"1.0", {}}, {"1 ", {}},
                      {"--1", {}}, {"+1", {}},
                      {"1a", {}},  {"9999999999999999999", {}}};
  for (const Row& row : rows) {
    const Result<int64_t> value = parse_whole("a number", row.text, -5, 10);
    EXPECT_EQ(value.has_value(), row.value.has_value()) << row.text;
    if (value && row.value) {
      EXPECT_EQ(*value, *row.value) << row.text;
    }
  }
  EXPECT_EQ(parse_whole("the port", "x", 1, 5).error().message(),
            "the port must be a whole number from 1 to 5, not 'x'");
}

TEST(Text, FindsTheNearestKnownWord) {
  const std::vector<std::string_view> known = {"cpus", "mem", "disk", "gpus", "ports"};
  struct Row {
    std::string_view word;
    std::string_view nearest;
  };
  const Row rows[] = {{"cpu", "cpus"},  {"memory", ""},  {"men", "mem"},  {"port", "ports"},
                      {"dsik", "disk"}, {"bananas", ""}, {"gpus", "gpus"}};
  for (const Row& row : rows) EXPECT_EQ(nearest(row.word, known), row.nearest) << row.word;
  EXPECT_EQ(nearest("cpus", {}), "");
  EXPECT_EQ(nearest(std::string(100'000, 'c'), known), "");
}

TEST(Text, ManyNamesAreListedByTheFirstOfThem) {
  EXPECT_EQ(listed({}), "");
  EXPECT_EQ(listed({"a"}), "a");
  EXPECT_EQ(listed({"a", "b", "c", "d", "e"}), "a, b, c, d, e");
  EXPECT_EQ(listed({"a", "b", "c", "d", "e", "f"}), "a, b, c, d, e, …");
}

TEST(Text, PrintableIsWhatNeedsNoEscape) {
  for (const std::string_view plain : {"", "a b~", "ü…", "\xf0\x9f\x99\x82"}) {
    EXPECT_TRUE(is_printable(plain)) << plain;
  }
  EXPECT_TRUE(is_printable(std::string(1'000, 'x')));
  for (const std::string_view escaped : {"a\nb", "\t", "\x7f", "\xff", "\xc2\x85", "\xc3"}) {
    EXPECT_FALSE(is_printable(escaped)) << quoted(escaped);
  }
  EXPECT_FALSE(is_printable(std::string(1'000, 'x') + "\n"));
}

// The characters of the issue, one by one, as their bytes.
TEST(Text, WhatIsHiddenOrTurnsTheDirectionIsEscaped) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"\xe2\x80\xae", "\\xe2\\x80\\xae"},           // U+202E
      {"\xe2\x81\xa6", "\\xe2\\x81\\xa6"},           // U+2066
      {"\xe2\x80\x8e", "\\xe2\\x80\\x8e"},           // U+200E
      {"\xd8\x9c", "\\xd8\\x9c"},                    // U+061C
      {"\xe2\x80\xa8", "\\xe2\\x80\\xa8"},           // U+2028
      {"\xe2\x80\x8b", "\\xe2\\x80\\x8b"},           // U+200B
      {"\xef\xbb\xbf", "\\xef\\xbb\\xbf"},           // U+FEFF
      {"\xc2\xad", "\\xc2\\xad"},                    // U+00AD
      {"\xf3\xa0\x81\x81", "\\xf3\\xa0\\x81\\x81"},  // U+E0041
      {"\xc2\x9b", "\\xc2\\x9b"},                    // U+009B
      {"\x9b", "\\x9b"},
  };
  for (const auto& [hidden, escaped] : rows) {
    const std::string between = text("a", hidden, "b");
    EXPECT_EQ(printable(between), text("a", escaped, "b"));
    EXPECT_EQ(printable_line(between), text("a", escaped, "b"));
    EXPECT_EQ(log_value(between), text("\"a", escaped, "b\""));
    EXPECT_FALSE(is_printable(between)) << escaped;
  }
  // Dashes, quotes, spaces and variation selectors are not escaped.
  for (const std::string_view plain : {"\xe2\x80\x93 \xe2\x80\x9ex\xe2\x80\x9c", "\xe2\x80\xa6",
                                       "\xe2\x9d\xa4\xef\xb8\x8f", "\xe3\x80\x80"}) {
    EXPECT_TRUE(is_printable(plain)) << plain;
  }
  EXPECT_TRUE(is_plain_text("a\xe2\x80\x8d")) << "a label may have it";
  EXPECT_FALSE(is_plain_text("a\xc2\x9b"));
}

TEST(Text, LinesForTheTerminalKeepOnlyTheNewlinesOfTheirFormat) {
  EXPECT_EQ(printable_line("a\nb\x1b[2J\t"), "a\\nb\\x1b[2J\\t");
  EXPECT_EQ(printable_lines("a\nb\x1b[2J\r\n"), "a\nb\\x1b[2J\\x0d\n");
  EXPECT_EQ(printable_line(std::string(1'000, 'x')), std::string(1'000, 'x')) << "nothing is cut";
}

TEST(Text, JsonForTheTerminalKeepsItsValue) {
  EXPECT_EQ(printable_json("{\"a\":\"\xc2\x9b\xe2\x80\xae\xf3\xa0\x81\x81\x7f\xc3\xa9\"}\n"),
            "{\"a\":\"\\u009b\\u202e\\udb40\\udc41\\u007f\xc3\xa9\"}\n");
  EXPECT_EQ(printable_json("\xff"), "\\ufffd");
}

}  // namespace
}  // namespace proffer::text_test
