// A token gives access to its files until its deadline, to holders of its key.

#include "net/file_token.h"

#include <gtest/gtest.h>

#include "common/limits.h"
#include "common/text.h"

namespace proffer::file_token_test {
namespace {

const Secret kKey(std::string(32, 'a'));
const Time kNow = Time::from_nanos(1'795'494'789'621'000'000);

FileToken token() {
  return {.until = kNow + kFileTokenAge, .user = "DOMAIN\\ada lovelace", .prefix = "/v1/files/F1/"};
}

TEST(FileToken, SaysWhatItsMakerSaid) {
  for (const bool is_operator : {false, true}) {
    FileToken given = token();
    given.is_operator = is_operator;
    const std::string sealed = seal(given, kKey);
    EXPECT_EQ(sealed.find_first_of(" \r\n"), std::string::npos);
    const Result<FileToken> read = unseal(sealed, kKey, kNow);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(*read, given);
  }
}

TEST(FileToken, AnyOtherByteMakesItNone) {
  const std::string sealed = seal(token(), kKey);
  for (size_t at = 0; at < sealed.size(); ++at) {
    for (const char other : {'0', 'f', '.', '\0'}) {
      if (sealed[at] == other) continue;
      std::string forged = sealed;
      forged[at] = other;
      EXPECT_FALSE(unseal(forged, kKey, kNow)) << at;
    }
    EXPECT_FALSE(unseal(sealed.substr(0, at), kKey, kNow)) << at;
  }
  EXPECT_FALSE(unseal(sealed + "0", kKey, kNow));
  EXPECT_FALSE(unseal(sealed + sealed, kKey, kNow));
  EXPECT_FALSE(unseal(std::string(100'000, 'f'), kKey, kNow));
}

TEST(FileToken, IsOfOneAgent) {
  const Result<FileToken> read = unseal(seal(token(), kKey), Secret(std::string(32, 'b')), kNow);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), ErrorCode::kPermissionDenied);
}

TEST(FileToken, IsOverAtItsTime) {
  const std::string sealed = seal(token(), kKey);
  const Time end = kNow + kFileTokenAge;
  EXPECT_TRUE(unseal(sealed, kKey, end - milliseconds(1)));
  const Result<FileToken> over = unseal(sealed, kKey, end);
  ASSERT_FALSE(over);
  EXPECT_NE(over.error().message().find("has expired"), std::string::npos);
  // A token with a longer validity than any valid one is refused, although it was made with the
  // key.
  EXPECT_FALSE(unseal(sealed, kKey, kNow - minutes(2)));
}

}  // namespace
}  // namespace proffer::file_token_test
