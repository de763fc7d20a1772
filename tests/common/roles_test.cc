// Role names, texts of quotas, and which tables of roles are consistent.

#include "common/roles.h"

#include <gtest/gtest.h>

namespace proffer::roles_test {
namespace {

RoleSettings guaranteed(std::string_view text) {
  return RoleSettings{.guarantee = *parse_quota(text)};
}
RoleSettings limited(std::string_view text) { return RoleSettings{.limit = *parse_quota(text)}; }

std::string error_of(const RoleTable& table) {
  const Result<void> checked = check_roles(table);
  return checked ? "" : checked.error().message();
}

TEST(Roles, KnowTheirParentsAndWhatIsWithinThem) {
  EXPECT_EQ(parent_of(RoleName("eng/ads/train")), RoleName("eng/ads"));
  EXPECT_EQ(parent_of(RoleName("eng")), RoleName());
  EXPECT_TRUE(is_within(RoleName("eng/ads"), RoleName("eng")));
  EXPECT_TRUE(is_within(RoleName("eng"), RoleName("eng")));
  EXPECT_TRUE(is_within(RoleName("eng"), RoleName()));
  EXPECT_FALSE(is_within(RoleName("engine"), RoleName("eng")));
  EXPECT_FALSE(is_within(RoleName("eng"), RoleName("eng/ads")));
}

TEST(Quotas, BoundOnlyWhatTheyName) {
  const Quota quota = *parse_quota("cpus:2;gpus:0");
  EXPECT_TRUE(quota.contains(ResourceVector::of(2'000, 999'000)));
  EXPECT_FALSE(quota.contains(ResourceVector::of(2'001, 0)));
  EXPECT_FALSE(quota.contains(ResourceVector::of(0, 0, 0, 1)));
  EXPECT_TRUE(Quota().contains(ResourceVector::of(kAmountMax, 0)));
  EXPECT_EQ(quota.amounts(ResourceVector::of(9, 9, 9, 9)), ResourceVector::of(2'000, 9, 9, 0));
}

TEST(Quotas, AreReadAndPrinted) {
  EXPECT_EQ(to_text(*parse_quota(" mem:1GiB ; cpus:0.5 ")), "cpus:0.5;mem:1024");
  EXPECT_EQ(to_text(*parse_quota("cpus:0")), "cpus:0");
  EXPECT_TRUE(parse_quota("")->empty());
  for (const char* wrong : {"ports:[1-2]", "cpus:1;cpus:2", "cpus:-1", "cores:2", "cpus", ";"}) {
    const Result<Quota> parsed = parse_quota(wrong);
    ASSERT_FALSE(parsed.has_value()) << wrong;
    EXPECT_EQ(parsed.error().code(), ErrorCode::kInvalidArgument) << wrong;
  }
}

TEST(RoleTables, HoldTogetherOrSayWhy) {
  EXPECT_EQ(error_of({}), "");
  EXPECT_EQ(error_of({{RoleName("eng"), guaranteed("cpus:10")},
                      {RoleName("eng/ads"), guaranteed("cpus:4")},
                      {RoleName("eng/web"), guaranteed("cpus:6;mem:100")}}),
            "");
  EXPECT_EQ(error_of({{RoleName("eng"), guaranteed("cpus:10")},
                      {RoleName("eng/ads"), guaranteed("cpus:4")},
                      {RoleName("eng/web"), guaranteed("cpus:6.5")}}),
            "the guarantees of the roles in 'eng' add up to cpus:10.5, more than its own "
            "guarantee of cpus:10");
  // An intermediate role without a guarantee counts with the guarantees below it.
  EXPECT_EQ(error_of({{RoleName("eng"), guaranteed("cpus:1")},
                      {RoleName("eng/ads/train"), guaranteed("cpus:2")}}),
            "the guarantees of the roles in 'eng' add up to cpus:2, more than its own "
            "guarantee of cpus:1");
  EXPECT_EQ(
      error_of({{RoleName("eng"), limited("cpus:1")}, {RoleName("eng/ads"), guaranteed("cpus:2")}}),
      "the guarantee of role 'eng/ads', cpus:2, is above the limit of role 'eng', "
      "cpus:1");
  EXPECT_EQ(error_of({{RoleName("eng"), RoleSettings{.guarantee = *parse_quota("mem:2"),
                                                     .limit = *parse_quota("mem:1")}}}),
            "the guarantee of role 'eng', mem:2, is above its own limit, mem:1");
  EXPECT_EQ(error_of({{RoleName("eng"), RoleSettings{.weight = 0}}}),
            "weight of role 'eng' must be between 0.001 and 1000, not 0");
  Quota negative;
  negative.set(ResourceKind::kCpus, -1'000);
  EXPECT_EQ(error_of({{RoleName("eng"), RoleSettings{.limit = negative}}}),
            "the limit of role 'eng' in cpus must be between 0 and 1125899906842.624, not -1");
}

}  // namespace
}  // namespace proffer::roles_test
