// Valid URIs of task files, and valid names for the files.

#include "common/fetch_uri.h"

#include <gtest/gtest.h>

#include "common/limits.h"

namespace proffer {
namespace fetch_uri_test {
namespace {

TEST(FetchUri, NamesASchemeAndAFile) {
  struct Row {
    const char* uri;
    FetchUri expected;
  };
  using Scheme = FetchUri::Scheme;
  const Row rows[] = {
      {"file:///etc/hosts", {.scheme = Scheme::kFile, .path = "/etc/hosts", .name = "hosts"}},
      {"file://localhost/a%20b", {.scheme = Scheme::kFile, .path = "/a b", .name = "a b"}},
      {"file:///dir/", {.scheme = Scheme::kFile, .path = "/dir/", .name = ""}},
      {"http://host/a/b.tar.gz?token=1/2", {.scheme = Scheme::kHttp, .name = "b.tar.gz"}},
      {"https://host", {.scheme = Scheme::kHttps, .name = ""}},
      {"https://host:8443?x", {.scheme = Scheme::kHttps, .name = ""}},
      {"https://[::1]:80/%7Ex", {.scheme = Scheme::kHttps, .name = "~x"}},
      {"http://u:p@host/f", {.scheme = Scheme::kHttp, .has_credentials = true, .name = "f"}},
      {"http://host/a@b", {.scheme = Scheme::kHttp, .name = "a@b"}},
      {"http://host/..%2fx", {.scheme = Scheme::kHttp, .name = "../x"}},
  };
  for (const Row& row : rows) {
    const Result<FetchUri> uri = parse_fetch_uri(row.uri);
    ASSERT_TRUE(uri) << row.uri << ": " << uri.error().message();
    EXPECT_EQ(*uri, row.expected) << row.uri;
  }
}

TEST(FetchUri, OthersAreRefused) {
  for (const std::string& uri :
       {std::string(""), std::string("/etc/hosts"), std::string("file://host/x"),
        std::string("file:x"), std::string("ftp://host/x"), std::string("gopher://host/"),
        std::string("HTTP://host/"), std::string("http://"), std::string("http:///x"),
        std::string("http://:80/"), std::string("http://u@/x"), std::string("http://host/a b"),
        std::string("http://host/\xc3\xa4"), std::string("http://host/x\n"),
        std::string("http://host/x#part"), std::string("file:///a%0"), std::string("file:///a%zz"),
        std::string("file:///a%00b"), "http://host/" + std::string(kUriBytesMax, 'x')}) {
    const Result<FetchUri> parsed = parse_fetch_uri(uri);
    ASSERT_FALSE(parsed) << uri;
    EXPECT_EQ(parsed.error().code(), ErrorCode::kInvalidArgument) << uri;
  }
}

TEST(FetchUri, PasswordsAreNotShown) {
  EXPECT_EQ(shown_uri("https://u:secret@host/a@b"), "https://host/a@b");
  EXPECT_EQ(shown_uri("http://u:se@cret@host?x"), "http://host?x");
  EXPECT_EQ(shown_uri("http://host/a"), "http://host/a");
  EXPECT_EQ(shown_uri("nothing"), "nothing");
  const Result<FetchUri> wrong = parse_fetch_uri("https://u:secret@host/a b");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message().find("secret"), std::string::npos);
}

TEST(FetchUri, NamesAreOnePartThatTheAgentDoesNotNeed) {
  for (const char* name : {"a", "a b", "...", "\xc3\xa4", "Stdout"}) {
    EXPECT_TRUE(check_fetched_name(name)) << name;
  }
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("a/b"), std::string("/"),
        std::string("stdout"), std::string("stderr"), std::string(".fetch"), std::string("a\nb"),
        std::string("a\0b", 3), std::string(256, 'x')}) {
    EXPECT_FALSE(check_fetched_name(name)) << name;
  }
}

TEST(FetchUri, SumsAreLowerCaseDigits) {
  EXPECT_TRUE(check_sha256(std::string(64, 'a')));
  for (const std::string& sum : {std::string(), std::string(63, 'a'), std::string(65, '0'),
                                 std::string(64, 'A'), std::string(64, 'g')}) {
    EXPECT_FALSE(check_sha256(sum)) << sum;
  }
}

}  // namespace
}  // namespace fetch_uri_test
}  // namespace proffer
