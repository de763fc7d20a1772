// Valid values of --zk and of its secret.

#include "store/zookeeper_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/store/support.h"

namespace proffer::zookeeper_options_test {
namespace {

using testing::HasSubstr;

TEST(ZooKeeperFlag, NamesServersAndAPath) {
  const auto options = parse_zookeeper("--zk", "127.0.0.1:2182,[::1]:2183,127.0.0.9/proffer/west");
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->servers, "127.0.0.1:2182,[::1]:2183,127.0.0.9:2181");
  EXPECT_EQ(options->root, "/proffer/west");
}

TEST(ZooKeeperFlag, RefusesWhatItCannotBeWithTheReason) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "servers and a path"},
      {"127.0.0.1:2181", "servers and a path"},
      {"/proffer", "servers and a path"},
      {"127.0.0.1:2181/", "path of --zk"},
      {"127.0.0.1:2181/a//b", "path of --zk"},
      {"127.0.0.1:2181/../b", "path of --zk"},
      {"127.0.0.1:2181/zookeeper", "reserved for the servers"},
      {"127.0.0.1:0/proffer", "from 1 to 65535"},
      {"10.0.0.1:2181/proffer", "has no TLS"},
      {"zk.example:2181/proffer", "has no TLS"},
      {"localhost:2181/proffer", "has no TLS"},
      {"127.0.0.1:2181,10.0.0.1:2181/proffer", "has no TLS"},
  };
  for (const auto& [given, words] : cases) {
    const auto options = parse_zookeeper("--zk", given);
    ASSERT_FALSE(options) << given;
    EXPECT_THAT(options.error().message(), HasSubstr(words)) << given;
    EXPECT_TRUE(!options.error().hint().empty() || std::string(words) == "from 1 to 65535");
  }
}

class Secrets : public testing::Test {
 protected:
  std::string file(const std::string& content, mode_t mode) const {
    store_test::write_file(directory_ / "secret", content);
    ::chmod((directory_ / "secret").c_str(), mode);
    return directory_ / "secret";
  }
  store_test::TemporaryDirectory directory_;
};

TEST_F(Secrets, AreTheFirstLineOfAFileThatOnlyTheOwnerReads) {
  const auto secret = read_zookeeper_secret(file("0123456789abcdef\nmore\n", 0600));
  ASSERT_TRUE(secret) << secret.error().message();
  EXPECT_EQ(*secret, "0123456789abcdef");
  EXPECT_TRUE(read_zookeeper_secret(file("0123456789abcdef", 0400)));
}

TEST_F(Secrets, OfWiderModesAreRefused) {
  for (const mode_t mode : {0640, 0604, 0620, 0644, 0666}) {
    const auto secret = read_zookeeper_secret(file("0123456789abcdef\n", mode));
    ASSERT_FALSE(secret) << mode;
    EXPECT_EQ(secret.error().code(), ErrorCode::kFailedPrecondition);
    EXPECT_THAT(secret.error().hint(), HasSubstr("chmod 600"));
  }
}

TEST_F(Secrets, MustBeLongEnoughAndAFile) {
  EXPECT_EQ(read_zookeeper_secret(file("short\n", 0600)).error().code(),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(read_zookeeper_secret(file("", 0600)).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(read_zookeeper_secret(directory_.path()).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(read_zookeeper_secret(directory_ / "none").error().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace proffer::zookeeper_options_test
