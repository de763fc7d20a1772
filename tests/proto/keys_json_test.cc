#include "proto/json/keys_json.h"

#include <gtest/gtest.h>

namespace proffer::proto::keys_json_test {
namespace {

const PublicKey kKey("0123456789abcdefghij.-:+=^!/*?&<>()[]{}@");

TEST(KeysJson, RowsComeBack) {
  const std::vector<KnownKey> rows = {
      {.key = kKey,
       .kind = KeyKind::kAgent,
       .name = "a1",
       .since = Time::from_nanos(5'000'000'000),
       .by = "root",
       .runs_as = "root"},
      {.key = kKey,
       .kind = KeyKind::kUser,
       .name = "ada",
       .since = Time::from_nanos(5'000'000'000),
       .by = "olga",
       .token_until = Time::from_nanos(605'000'000'000)},
      {.key = kKey,
       .kind = KeyKind::kUser,
       .name = "ada",
       .since = Time::from_nanos(5'000'000'000),
       .by = "olga",
       .replaces = PublicKey(std::string(kPublicKeyBytes, 'k'))},
  };
  const auto parsed = parse_keys(keys_json(rows));
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(*parsed, rows);
}

TEST(KeysJson, CallsComeBackAndUnknownMembersAreRefused) {
  const JoinTokenCall token{
      .key = kKey, .kind = KeyKind::kAgent, .name = "a1", .valid_for = minutes(10)};
  EXPECT_EQ(*parse_join_token_call(join_token_call_json(token)), token);
  const JoinCall join{.key = kKey, .runs_as = "root"};
  EXPECT_EQ(*parse_join_call(join_call_json(join)), join);
  const JoinTokenReply reply{.master_key = kKey, .addresses = {"10.0.0.1:5050", "[::1]:7"}};
  EXPECT_EQ(*parse_join_token_reply(join_token_reply_json(reply)), reply);
  for (const KeyRevokeCall& revoke :
       {KeyRevokeCall{.key = "012"}, KeyRevokeCall{.kind = KeyKind::kUser, .name = "ada"}}) {
    EXPECT_EQ(*parse_key_revoke_call(key_revoke_call_json(revoke)), revoke);
  }
  EXPECT_EQ(parse_key_rotate_call(key_rotate_call_json({.key = kKey}))->key, kKey);
  EXPECT_FALSE(parse_key_rotate_call("{}"));
  EXPECT_FALSE(parse_key_rotate_call(R"({"key":"k","more":1})"));
  EXPECT_FALSE(parse_join_token_call("{}"));
  EXPECT_FALSE(parse_join_call(R"({"key":"k","more":1})"));
  EXPECT_FALSE(parse_join_token_call(R"({"key":"k","kind":"robot","name":"a","valid_for_s":1})"));
  // These would revoke everything, or are ambiguous.
  for (const char* unclear : {"{}", R"({"key":""})", R"({"kind":"user"})", R"({"name":"ada"})",
                              R"({"key":"0","kind":"user","name":"ada"})"}) {
    EXPECT_FALSE(parse_key_revoke_call(unclear)) << unclear;
  }
}

}  // namespace
}  // namespace proffer::proto::keys_json_test
