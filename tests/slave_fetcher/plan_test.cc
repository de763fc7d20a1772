// The plan of a fetch passes through the environment unchanged; checksums are those of sha256sum.

#include "slave/fetcher/plan.h"

#include <gtest/gtest.h>

#include "slave/fetcher/sha256.h"

namespace proffer::fetcher {
namespace plan_test {
namespace {

std::vector<std::string_view> views(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

TEST(FetchPlan, ComesOverTheEnvironmentUnchanged) {
  Plan plan{.items = {{.uri = "http://host/a?b=c",
                       .sha256 = std::string(64, 'a'),
                       .name = "a b",
                       .executable = true,
                       .key = "k"},
                      {.uri = "file:///x", .extract = true}},
            .cache = "/var/cache",
            .bytes_max = 123,
            .disk_reserve = 456,
            .agent = 789};
  for (int i = 0; i < 20; ++i) plan.items.push_back({.uri = "file:///y", .name = "y"});
  const Result<std::vector<std::string>> variables = encode_plan(plan);
  ASSERT_TRUE(variables);
  std::vector<std::string> environment = *variables;
  environment.push_back("PATH=/bin");
  const Result<Plan> decoded = decode_plan(views(environment));
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(*decoded, plan);
}

TEST(FetchPlan, WrongOnesAreRefused) {
  EXPECT_FALSE(encode_plan({.items = {{.uri = "a\tb"}}}));
  EXPECT_FALSE(encode_plan({.items = {{.name = "a\nb"}}}));
  for (const char* variable :
       {"PROFFER_FETCH_0=a", "PROFFER_FETCH_x=a\t\t\t\t\t", "PROFFER_FETCHES_BYTES_MAX=-1",
        "PROFFER_FETCHES_AGENT=9999999999"}) {
    EXPECT_FALSE(decode_plan({variable})) << variable;
  }
}

TEST(Sha256, IsThatOfTheStandard) {
  EXPECT_EQ(sha256_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  Sha256 sum;
  sum.add("a", 1);
  sum.add("bc", 2);
  EXPECT_EQ(sum.take(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  sum.add("abc", 3);
  EXPECT_EQ(sum.take(), sha256_of("abc"));
}

TEST(CacheKey, HasTheSumAndThePlace) {
  const std::string sum(64, 'b');
  EXPECT_EQ(cache_key(sum, "http://a/x"), cache_key(sum, "http://a/x"));
  EXPECT_NE(cache_key(sum, "http://a/x"), cache_key(sum, "http://b/x"));
  EXPECT_TRUE(cache_key(sum, "http://a/x").starts_with(sum));
}

}  // namespace
}  // namespace plan_test
}  // namespace proffer::fetcher
