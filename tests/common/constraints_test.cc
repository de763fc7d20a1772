#include <gtest/gtest.h>

#include "common/attributes.h"
#include "common/constraint_matcher.h"
#include "common/limits.h"
#include "common/prng.h"

namespace proffer::constraints_test {
namespace {

using Operator = Constraint::Operator;

TEST(Attributes, AreReadFromText) {
  const Result<Attributes> attributes = parse_attributes(" rack : r1 ; url: http://x:80/a b ");
  ASSERT_TRUE(attributes) << attributes.error().message();
  EXPECT_EQ(*attributes, (Attributes{{"rack", "r1"}, {"url", "http://x:80/a b"}}));
  EXPECT_EQ(to_text(*attributes), "rack:r1;url:http://x:80/a b");
  EXPECT_EQ(*parse_attributes(to_text(*attributes)), *attributes);
  EXPECT_TRUE(parse_attributes("  ")->empty());
  EXPECT_TRUE(parse_attributes("a:" + std::string(128, 'x')));
  for (const std::string& wrong :
       {std::string("rack"), std::string(":r1"), std::string("rack:"), std::string("a:1;a:2"),
        std::string("host:h"), std::string("a b:1"), std::string("a:1;"), std::string("a:x\x01y"),
        "a:" + std::string(129, 'x')}) {
    const Result<Attributes> refused = parse_attributes(wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument) << wrong;
  }
  std::string many;
  for (size_t i = 0; i < kAttributesMax; ++i) many += (i ? ";a" : "a") + std::to_string(i) + ":v";
  EXPECT_TRUE(parse_attributes(many));
  EXPECT_FALSE(parse_attributes(many + ";last:v"));
}

TEST(Constraints, AreReadFromText) {
  struct Row {
    std::string_view text;
    Constraint constraint;
  };
  const Row rows[] = {
      {"rack == r1", {"rack", Operator::kEquals, {"r1"}}},
      {"rack==r1", {"rack", Operator::kEquals, {"r1"}}},
      {"  zone  !=  z 3 ", {"zone", Operator::kNotEquals, {"z 3"}}},
      {"disk in [ssd, nvme]", {"disk", Operator::kIn, {"ssd", "nvme"}}},
      {"disk in[ssd]", {"disk", Operator::kIn, {"ssd"}}},
      {"disk not in [hdd]", {"disk", Operator::kNotIn, {"hdd"}}},
      {"host =~ big-.*", {"host", Operator::kMatches, {"big-.*"}}},
      {"host=~[a-z]+", {"host", Operator::kMatches, {"[a-z]+"}}},
      {"gpu exists", {"gpu", Operator::kExists, {}}},
      {"in in [in]", {"in", Operator::kIn, {"in"}}},
      {"not == not", {"not", Operator::kEquals, {"not"}}},
      {"a == ==", {"a", Operator::kEquals, {"=="}}},
  };
  for (const Row& row : rows) {
    const Result<Constraint> constraint = parse_constraint(row.text);
    ASSERT_TRUE(constraint) << row.text << ": " << constraint.error().message();
    EXPECT_EQ(*constraint, row.constraint) << row.text;
    const Result<Constraint> back = parse_constraint(to_text(*constraint));
    ASSERT_TRUE(back) << to_text(*constraint);
    EXPECT_EQ(*back, row.constraint) << row.text;
  }
}

TEST(Constraints, WrongTextIsRefusedAndSaysWhichOperatorsThereAre) {
  std::string long_list = "disk in [a";
  for (size_t i = 0; i < kConstraintValuesMax; ++i) long_list += ", a";
  for (const std::string& wrong : {std::string(),
                                   std::string("rack"),
                                   std::string("== r1"),
                                   std::string("rack = r1"),
                                   std::string("rack =="),
                                   std::string("rack === r1 ").substr(0, 6),
                                   std::string("rack > 1"),
                                   std::string("rack exists now"),
                                   std::string("rack existsnow"),
                                   std::string("rack not [a]"),
                                   std::string("rack in a"),
                                   std::string("rack in []"),
                                   std::string("rack in [a,]"),
                                   std::string("rack in [a,,b]"),
                                   std::string("rack in [a] b"),
                                   std::string("rack in [[a]]"),
                                   std::string("a/b == c"),
                                   std::string("rack inside [a]"),
                                   std::string("rack == a\nb"),
                                   "rack == " + std::string(kConstraintTextBytesMax + 1, 'x'),
                                   long_list + "]"}) {
    const Result<Constraint> refused = parse_constraint(wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument) << wrong;
    EXPECT_NE(refused.error().hint().find("exists"), std::string::npos) << wrong;
  }
}

TEST(Constraints, OfPeersAreCheckedByTheSameRules) {
  EXPECT_TRUE(check_constraint({"a", Operator::kEquals, {"x"}}));
  EXPECT_TRUE(check_constraint({"a", Operator::kIn, std::vector<std::string>(64, "x")}));
  const Constraint wrong[] = {
      {"", Operator::kEquals, {"x"}},
      {"a", Operator::kEquals, {}},
      {"a", Operator::kEquals, {"x", "y"}},
      {"a", Operator::kExists, {"x"}},
      {"a", Operator::kIn, {}},
      {"a", Operator::kIn, {"x,y"}},
      {"a", Operator::kIn, {"[x"}},
      {"a", Operator::kIn, {" x"}},
      {"a", Operator::kMatches, {"x "}},
      {"a", Operator::kMatches, {""}},
      {"a", Operator::kIn, std::vector<std::string>(65, "x")},
  };
  for (const Constraint& constraint : wrong) {
    EXPECT_FALSE(check_constraint(constraint)) << to_text(constraint);
  }
}

// Every accepted constraint prints as a text that parses to the same constraint.
TEST(Constraints, ThatAreAcceptedReadBackAsPrinted) {
  Prng prng(9);
  constexpr std::string_view kPieces[] = {"rack", " ", "==", "!=", "=~",  "in", "not", "exists",
                                          "[",    "]", ",",  "a",  "b.*", "\t", "=",   "!"};
  int accepted = 0;
  for (int i = 0; i < 50'000; ++i) {
    std::string text = prng.chance(1, 2) ? "rack " : "";
    const uint64_t count = prng.below(8);
    for (uint64_t k = 0; k < count; ++k) text += kPieces[prng.below(std::size(kPieces))];
    const Result<Constraint> constraint = parse_constraint(text);
    if (!constraint) continue;
    ++accepted;
    const Result<Constraint> back = parse_constraint(to_text(*constraint));
    ASSERT_TRUE(back) << text << " printed as " << to_text(*constraint);
    ASSERT_EQ(*back, *constraint) << text;
  }
  EXPECT_GT(accepted, 500);
}

TEST(ConstraintMatcher, MeetsByTheTable) {
  const AgentId host("big-1");
  const Attributes attributes = {{"rack", "r1"}, {"disk", "ssd"}};
  struct Row {
    std::string_view constraint;
    bool met;
  };
  const Row rows[] = {
      {"rack == r1", true},         {"rack == r2", false},
      {"zone == z1", false},        {"rack != r1", false},
      {"rack != r2", true},         {"zone != z1", true},
      {"disk in [hdd, ssd]", true}, {"disk in [hdd]", false},
      {"zone in [z1]", false},      {"disk not in [ssd]", false},
      {"disk not in [hdd]", true},  {"zone not in [z1]", true},
      {"rack exists", true},        {"zone exists", false},
      {"host exists", true},        {"host == big-1", true},
      {"host == big", false},       {"host != big-1", false},
      {"host =~ big-.*", true},     {"host =~ big", false},
      {"host =~ ig-1", false},      {"host =~ (?i)BIG-[0-9]", true},
      {"zone =~ .*", false},        {"rack =~ r1|r2", true},
      {"rack =~ ^r1$", true},       {"rack == R1", false},
  };
  for (const Row& row : rows) {
    const Result<Constraint> constraint = parse_constraint(row.constraint);
    ASSERT_TRUE(constraint) << row.constraint;
    const Result<ConstraintMatcher> matcher = ConstraintMatcher::compile({*constraint});
    ASSERT_TRUE(matcher) << row.constraint;
    EXPECT_EQ(matcher->matches(host, attributes), row.met) << row.constraint;
    EXPECT_EQ(matcher->first_unmet(host, attributes) == nullptr, row.met) << row.constraint;
  }
}

TEST(ConstraintMatcher, NamesTheFirstThatIsNotMet) {
  EXPECT_TRUE(ConstraintMatcher().matches(AgentId("a"), {}));
  const Result<ConstraintMatcher> matcher =
      ConstraintMatcher::compile({*parse_constraint("host =~ a.*"), *parse_constraint("rack == r1"),
                                  *parse_constraint("disk exists")});
  ASSERT_TRUE(matcher);
  const Constraint* unmet = matcher->first_unmet(AgentId("a1"), {});
  ASSERT_NE(unmet, nullptr);
  EXPECT_EQ(to_text(*unmet), "rack == r1");
  const ConstraintMatcher copy = *matcher;
  EXPECT_EQ(copy.first_unmet(AgentId("a1"), {{"rack", "r1"}})->attribute, "disk");
  EXPECT_TRUE(copy.matches(AgentId("a1"), {{"rack", "r1"}, {"disk", "x"}}));
  EXPECT_EQ(copy.constraints().size(), 3u);
}

TEST(ConstraintMatcher, RefusesExpressionsThatAreWrongOrTooLarge) {
  for (const std::string_view wrong : {"host =~ (", "host =~ *", "host =~ a{5000}", "host =~ \\1",
                                       "host =~ ((a{100}){100}){100}", "host =~ [z-a]"}) {
    const Result<Constraint> constraint = parse_constraint(wrong);
    ASSERT_TRUE(constraint) << wrong;
    const Result<ConstraintMatcher> matcher = ConstraintMatcher::compile({*constraint});
    ASSERT_FALSE(matcher) << wrong;
    EXPECT_EQ(matcher.error().code(), ErrorCode::kInvalidArgument) << wrong;
  }
  EXPECT_FALSE(ConstraintMatcher::compile({{"a", Operator::kEquals, {}}}));
}

TEST(ConstraintMatcher, TakesValuesThatAreNotUtf8) {
  const Result<ConstraintMatcher> matcher =
      ConstraintMatcher::compile({*parse_constraint("rack =~ r.*")});
  ASSERT_TRUE(matcher);
  EXPECT_TRUE(matcher->matches(AgentId("a"), {{"rack", "r1"}}));
  EXPECT_FALSE(matcher->matches(AgentId("a"), {{"rack", "\xFF"}}));
}

}  // namespace
}  // namespace proffer::constraints_test
