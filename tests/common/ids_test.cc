#include "common/ids.h"

#include <limits>
#include <unordered_set>

#include <gtest/gtest.h>

#include "common/offers.h"
#include "common/prng.h"
#include "common/result.h"
#include "common/roles.h"
#include "common/trace.h"

namespace proffer::ids_test {
namespace {

static_assert(!std::is_convertible_v<TaskId, AgentId>);
static_assert(!std::is_convertible_v<std::string, TaskId>);
static_assert(!std::is_convertible_v<OfferId, PeerId>);

TEST(Ids, NamesAreChecked) {
  struct Row {
    std::string text;
    bool valid;
  };
  const Row rows[] = {{"a", true},
                      {"A-Z.0_9", true},
                      {"-", true},
                      {"...", true},
                      {std::string(128, 'x'), true},
                      {std::string(129, 'x'), false},
                      {"", false},
                      {".", false},
                      {"..", false},
                      {"a/b", false},
                      {"a b", false},
                      {"ü", false},
                      {"a\n", false},
                      {std::string("a\0b", 3), false}};
  for (const Row& row : rows) {
    EXPECT_EQ(is_valid_name(row.text), row.valid) << row.text;
    EXPECT_EQ(check_name("task id", row.text).has_value(), row.valid) << row.text;
  }
  EXPECT_EQ(check_name("task id", "a b").error().message(),
            "task id must be 1 to 128 of the characters A-Z a-z 0-9 . _ - and not '.' or '..', not "
            "'a b'");
}

TEST(Ids, SecretsAre32HexadecimalDigits) {
  EXPECT_TRUE(is_valid_secret("0123456789abcdef0123456789abcdef"));
  EXPECT_FALSE(is_valid_secret("0123456789ABCDEF0123456789abcdef"));
  EXPECT_FALSE(is_valid_secret("0123456789abcdef0123456789abcde"));
  EXPECT_FALSE(is_valid_secret("0123456789abcdef0123456789abcdef0"));
  EXPECT_FALSE(is_valid_secret(""));
}

TEST(Ids, CompareAndHashByValue) {
  EXPECT_LT(TaskId("a"), TaskId("b"));
  EXPECT_TRUE(TaskId().empty());
  EXPECT_FALSE(static_cast<bool>(OfferId()));
  EXPECT_TRUE(static_cast<bool>(OfferId(1)));
  EXPECT_LT(OfferId(2), OfferId(10));
  std::unordered_set<TaskId> tasks = {TaskId("a"), TaskId("a"), TaskId("b")};
  EXPECT_EQ(tasks.size(), 2u);
  std::unordered_set<OfferId> offers = {OfferId(1), OfferId(1)};
  EXPECT_EQ(offers.size(), 1u);
}

TEST(Roles, AreNamesJoinedBySlashes) {
  struct Row {
    std::string text;
    bool valid;
  };
  const Row rows[] = {{"a", true},
                      {"eng/ads", true},
                      {"a/b/c/d/e/f/g/h", true},
                      {"", false},
                      {"/", false},
                      {"/a", false},
                      {"a/", false},
                      {"a//b", false},
                      {"a/../b", false},
                      {"a/./b", false},
                      {"a b", false},
                      {"*", false},
                      {std::string(128, 'x') + "/" + std::string(128, 'y'), true},
                      {std::string(129, 'x'), false}};
  for (const Row& row : rows) {
    const Result<RoleName> role = parse_role(row.text);
    EXPECT_EQ(role.has_value(), row.valid) << row.text;
    if (role) {
      EXPECT_EQ(role->str(), row.text);
    }
  }
  std::string longest = std::string(128, 'a');
  for (int i = 0; i < 2; ++i) longest += "/" + std::string(127, 'b');
  longest += "/" + std::string(127, 'c');
  ASSERT_EQ(longest.size(), 512u);
  EXPECT_TRUE(parse_role(longest));
  EXPECT_FALSE(parse_role(longest + "c"));
}

TEST(Roles, HaveWeightsFromText) {
  const Result<RoleWeights> weights = parse_role_weights(" ads=2, eng/batch = 0.5 ");
  ASSERT_TRUE(weights) << weights.error().message();
  EXPECT_EQ(*weights, (RoleWeights{{RoleName("ads"), 2000}, {RoleName("eng/batch"), 500}}));
  EXPECT_TRUE(parse_role_weights("  ")->empty());
  EXPECT_TRUE(parse_role_weights("a=0.001,b=1000"));
  for (const std::string_view wrong :
       {"ads", "=2", "ads=", "ads=0", "ads=1000.001", "ads=-1", "ads=1,ads=2", "ads=1,", "a b=1"}) {
    const Result<RoleWeights> refused = parse_role_weights(wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument) << wrong;
  }
  EXPECT_EQ(parse_role_weights("batch=0").error().message(),
            "weight of role 'batch' must be between 0.001 and 1000, not '0'");
}

TEST(Errors, HaveCodesThatReadBackAndGatherContext) {
  for (size_t i = 0; i < kErrorCodeCount; ++i) {
    const auto code = static_cast<ErrorCode>(i);
    EXPECT_EQ(parse_error_code(to_text(code)), code);
  }
  EXPECT_EQ(parse_error_code("none"), std::nullopt);
  const Error error = Error::not_found("line 3").in("job.yaml").in("reading").with_hint("write it");
  EXPECT_EQ(error.message(), "reading: job.yaml: line 3");
  EXPECT_EQ(error.hint(), "write it");
  EXPECT_EQ(error.code(), ErrorCode::kNotFound);
}

TEST(Errors, AResultHoldsOneOrTheOther) {
  Result<std::string> value = std::string("x");
  EXPECT_EQ(*value + *std::move(value), "xx");
  Result<std::string> error = Error::timeout("late");
  EXPECT_FALSE(error);
  EXPECT_EQ(error.error().message(), "late");
  EXPECT_DEATH(static_cast<void>(error.value()), "late");
  Result<void> done;
  EXPECT_TRUE(done);
  done = Error::internal("no");
  EXPECT_FALSE(done);
}

struct AgentLost {
  AgentId agent;
  uint64_t tasks = 0;
  std::string reason = {};

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "agent lost"}; }
  void fields(TraceFields& f) const {
    f("agent", agent)("tasks", tasks);
    if (!reason.empty()) f.free_text("reason", reason);
  }
};

TEST(Trace, PrintsAsALogLine) {
  EXPECT_EQ(to_text(AgentLost{AgentId("a17"), 12}), "agent lost agent=a17 tasks=12");
  // Text of a peer stays one field of one line.
  EXPECT_EQ(to_text(AgentLost{AgentId("a17"), 12, "no\npower tasks=0"}),
            R"(agent lost agent=a17 tasks=12 reason="no\npower tasks=0")");
  // Peers send 64-bit numbers; none is printed as negative.
  EXPECT_EQ(to_text(AgentLost{AgentId("a17"), std::numeric_limits<uint64_t>::max()}),
            "agent lost agent=a17 tasks=18446744073709551615");
}

TEST(Trace, IsAskedForTheKindOfAnEvent) {
  struct Other : AgentLost {};
  const TraceEvent event = AgentLost{AgentId("a17"), 12};
  ASSERT_NE(event.as<AgentLost>(), nullptr);
  EXPECT_EQ(event.as<AgentLost>()->tasks, 12u);
  EXPECT_EQ(event.as<Other>(), nullptr);
}

// Expected numbers are from the published algorithm, for the seed 1234567.
TEST(Prng, IsSplitMix64) {
  Prng prng(1234567);
  EXPECT_EQ(prng.next(), 6457827717110365317u);
  EXPECT_EQ(prng.next(), 3203168211198807973u);
  EXPECT_EQ(prng.next(), 9817491932198370423u);
}

TEST(Prng, StaysWithinItsBoundsAndReachesThem) {
  Prng prng(5);
  bool low = false;
  bool high = false;
  int heads = 0;
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_LT(prng.below(7), 7u);
    const int64_t n = prng.between(-2, 2);
    ASSERT_TRUE(n >= -2 && n <= 2);
    low = low || n == -2;
    high = high || n == 2;
    heads += prng.chance(1, 4);
  }
  EXPECT_TRUE(low && high);
  EXPECT_NEAR(heads, 2500, 200);
  EXPECT_EQ(prng.between(3, 3), 3);
  EXPECT_FALSE(prng.chance(0, 5));
  EXPECT_TRUE(prng.chance(5, 5));
}

TEST(Prng, WholeRangesWork) {
  Prng prng(6);
  bool negative = false;
  bool positive = false;
  for (int i = 0; i < 100; ++i) {
    const int64_t n =
        prng.between(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
    negative = negative || n < 0;
    positive = positive || n > 0;
  }
  EXPECT_TRUE(negative && positive);
}

// As std::cout of framework authors and GoogleTest print them.
TEST(Print, ValuesAreTheirTextOrNumber) {
  const auto printed = [](const auto& value) { return ::testing::PrintToString(value); };
  EXPECT_EQ(printed(AgentId("a1")), "a1");
  EXPECT_EQ(printed(RoleName("ads/batch")), "ads/batch");
  EXPECT_EQ(printed(OfferId(7)), "7");
  EXPECT_EQ(printed(seconds(90)), to_text(seconds(90)));
  EXPECT_EQ(printed(ResourceKind::kMem), "mem");
  EXPECT_EQ(printed(ResourceVector::of(1'500, 512'000)), "cpus:1.5;mem:512");
  EXPECT_EQ(printed(PortSet({{31000, 31009}})), "[31000-31009]");
  EXPECT_EQ(printed(*parse_resources("cpus:1;ports:[1-2]")), "cpus:1;ports:[1-2]");
  EXPECT_EQ(printed(*parse_constraint("rack == r1")), "rack == r1");
  EXPECT_EQ(printed(*parse_quota("cpus:1")), "cpus:1");
  EXPECT_EQ(printed(Band::kProduction), "production");
  EXPECT_EQ(printed(OfferMode::kOpen), "open");
  EXPECT_EQ(printed(RevokeReason::kLent), "lent");
  EXPECT_EQ(printed(ErrorCode::kNotFound), "not_found");
  EXPECT_EQ(printed(Error::not_found("no 'x'").with_hint("make one")), "no 'x' (make one)");
  EXPECT_EQ(printed(std::vector{TaskId("t1"), TaskId("t2")}), "{ t1, t2 }");
}

}  // namespace
}  // namespace proffer::ids_test
