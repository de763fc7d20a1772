#pragma once

// Keys of agents and users, and join tokens, in JSON. The rules of json.h apply.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/keys.h"
#include "common/result.h"
#include "common/time.h"
#include "proto/json/json_shape.h"

namespace proffer::proto {

// {"keys":[{"key","kind","name","since_s","by","token_until_s","runs_as","replaces"}]}
std::string keys_json(const std::vector<KnownKey>& rows);
Result<std::vector<KnownKey>> parse_keys(std::string_view json);

// The public half only. The client that made the key keeps the other half.
struct JoinTokenCall {
  PublicKey key = {};
  KeyKind kind = KeyKind::kUser;
  std::string name = {};
  Duration valid_for = {};
  bool operator==(const JoinTokenCall&) const = default;
};
// {"key","kind","name","valid_for_s"}
std::string join_token_call_json(const JoinTokenCall& call);
Result<JoinTokenCall> parse_join_token_call(std::string_view json);

// The master's addresses for other machines, and its public key.
struct JoinTokenReply {
  PublicKey master_key = {};
  std::vector<std::string> addresses = {};  // host:port
  bool several = false;                     // the addresses are those of all of several masters
  bool operator==(const JoinTokenReply&) const = default;
};
std::string join_token_reply_json(
    const JoinTokenReply& reply);  // {"master_key","addresses","several"}
Result<JoinTokenReply> parse_join_token_reply(std::string_view json);

struct JoinCall {
  PublicKey key = {};
  std::string runs_as = {};  // for an agent: its user on its machine
  bool operator==(const JoinCall&) const = default;
};
std::string join_call_json(const JoinCall& call);  // {"key","runs_as"}
Result<JoinCall> parse_join_call(std::string_view json);

// A key that replaces the one that authenticated the call.
struct KeyRotateCall {
  PublicKey key = {};
  bool operator==(const KeyRotateCall&) const = default;
};
std::string key_rotate_call_json(const KeyRotateCall& call);  // {"key"}
Result<KeyRotateCall> parse_key_rotate_call(std::string_view json);

// Keys that begin with `key`, or all keys of the agent or user.
struct KeyRevokeCall {
  std::string key = {};
  std::optional<KeyKind> kind = {};
  std::string name = {};
  bool operator==(const KeyRevokeCall&) const = default;
};
std::string key_revoke_call_json(const KeyRevokeCall& call);  // {"key"} or {"kind","name"}
Result<KeyRevokeCall> parse_key_revoke_call(std::string_view json);

JsonShape keys_shape();
JsonShape join_token_call_shape();
JsonShape join_token_reply_shape();
JsonShape join_call_shape();
JsonShape key_rotate_call_shape();
JsonShape key_revoke_call_shape();

}  // namespace proffer::proto
