#include "net/users.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace proffer::users_test {
namespace {

constexpr Time kBegin = Time::from_nanos(1'000'000'000'000);

TEST(UserCache, AsksTheUserDatabaseOnceASecondForEachUser) {
  UserCache cache;
  const PrincipalPtr first = cache.principal_of(geteuid(), kBegin);
  EXPECT_EQ(*first, *principal_of(geteuid()));
  EXPECT_EQ(cache.principal_of(geteuid(), kBegin + milliseconds(999)), first);
  EXPECT_NE(cache.principal_of(geteuid(), kBegin + seconds(1)), first);
}

TEST(UserCache, KeepsUsersApart) {
  UserCache cache;
  constexpr uint32_t kUnknown = 4'000'000'000;
  EXPECT_EQ(cache.principal_of(kUnknown, kBegin)->user, "uid 4000000000");
  EXPECT_EQ(cache.principal_of(geteuid(), kBegin)->uid, geteuid());
  EXPECT_EQ(cache.principal_of(kUnknown, kBegin)->uid, kUnknown);
}

}  // namespace
}  // namespace proffer::users_test
