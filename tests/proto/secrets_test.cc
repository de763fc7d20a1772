// The rules for secrets and fixed ports, and the calls of `proffer secret`.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/limits.h"
#include "proto/json/secrets_json.h"
#include "proto/messages.h"

namespace proffer::proto {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(SecretUses, AreNamedOnceAndHaveAPlace) {
  EXPECT_TRUE(
      check_secret_uses({{.name = "db", .variable = "DB"}, {.name = "k", .file = "k.pem"}}));
  EXPECT_TRUE(check_secret_uses({{.name = "db", .variable = "DB", .file = "db"}}));
  struct Row {
    std::vector<SecretUse> uses;
    std::string why;
  };
  for (const Row& row : {
           Row{{{.name = "db"}}, "as a variable (env), as a file (file)"},
           Row{{{.name = "a/b", .variable = "X"}}, "'a/b'"},
           Row{{{.name = "db", .variable = "1X"}}, "'1X'"},
           Row{{{.name = "db", .variable = "A=B"}}, "'A=B'"},
           Row{{{.name = "db", .file = "../x"}}, "'../x'"},
           Row{{{.name = "db", .file = ".."}}, "'..'"},
           Row{{{.name = "db", .variable = "X"}, {.name = "db", .variable = "Y"}}, "named twice"},
           Row{{{.name = "a", .variable = "X"}, {.name = "b", .variable = "X"}}, "'X' already"},
           Row{{{.name = "a", .file = "x"}, {.name = "b", .file = "x"}}, "'x' already"},
           Row{std::vector<SecretUse>(kTaskSecretsMax + 1, {.name = "db", .variable = "X"}),
               "at most 32 secrets, not 33"},
       }) {
    const Result<void> checked = check_secret_uses(row.uses);
    ASSERT_FALSE(checked) << row.why;
    EXPECT_THAT(checked.error().message(), HasSubstr(row.why));
  }
}

TEST(StaticPorts, AreOfPortNamesAndDifferent) {
  EXPECT_TRUE(check_static_ports({{"a", 80}, {"b", 81}}, {"b", "c", "a"}));
  for (const auto& [ports, why] :
       {std::pair<std::map<std::string, uint16_t>, std::string>{{{"x", 80}}, "not of 'x'"},
        {{{"a", 0}}, "from 1 to 65535, not 0"},
        {{{"a", 80}, {"b", 80}}, "not both 80"}}) {
    const Result<void> checked = check_static_ports(ports, {"a", "b"});
    ASSERT_FALSE(checked) << why;
    EXPECT_THAT(checked.error().message(), HasSubstr(why));
  }
}

TEST(SecretSetCall, CarriesAnyBytes) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  const SecretSetCall call{.name = "db", .value = all};
  const std::string json = secret_set_call_json(call);
  EXPECT_THAT(json, HasSubstr("000102"));
  const Result<SecretSetCall> parsed = parse_secret_set_call(json);
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(*parsed, call);
}

// An error is written to a log or a terminal.
TEST(SecretSetCall, AnErrorDoesNotRepeatTheValue) {
  for (const char* hex : {"c0ffee1", "c0ffeeXX", "", "C0FFEE"}) {
    const Result<SecretSetCall> parsed =
        parse_secret_set_call(std::string("{\"name\":\"db\",\"value_hex\":\"") + hex + "\"}");
    ASSERT_FALSE(parsed) << hex;
    EXPECT_THAT(parsed.error().message(), Not(HasSubstr("c0ffee")));
    EXPECT_THAT(parsed.error().message(), Not(HasSubstr("C0FFEE")));
  }
  const Result<SecretSetCall> large = parse_secret_set_call(
      secret_set_call_json({.name = "db", .value = std::string(kSecretBytesMax + 1, 'x')}));
  ASSERT_FALSE(large);
  EXPECT_THAT(large.error().message(), HasSubstr("1 to 16384 bytes, not 16385"));
}

}  // namespace
}  // namespace proffer::proto
