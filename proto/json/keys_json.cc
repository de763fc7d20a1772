#include "proto/json/keys_json.h"

#include "proto/json/json_text.h"

namespace proffer::proto {

template <class F>
void fields(F& f, typename F::template Of<KnownKey>& row) {
  f.text("key", row.key);
  f.word("kind", parse_key_kind, row.kind);
  f.text("name", row.name);
  f.seconds("since_s", row.since);
  f.text_if_any("by", row.by);
  f.seconds("token_until_s", row.token_until);
  f.text_if_any("runs_as", row.runs_as);
  f.text_if_any("replaces", row.replaces);
}

template <class F>
void fields(F& f, typename F::template Of<JoinTokenCall>& call) {
  for (const char* name : {"key", "kind", "name", "valid_for_s"}) f.require(name);
  f.about("public key of the token: a peer with its secret key may join");
  f.text("key", call.key);
  f.about("agent or user");
  f.word("kind", parse_key_kind, call.kind);
  f.about("the agent's or user's name");
  f.text("name", call.name);
  f.about("seconds for which the token is valid");
  f.seconds("valid_for_s", call.valid_for);
}

template <class F>
void fields(F& f, typename F::template Of<JoinTokenReply>& reply) {
  f.text("master_key", reply.master_key);
  f.texts_if_any("addresses", reply.addresses);
  f.truth("several", reply.several);
}

template <class F>
void fields(F& f, typename F::template Of<JoinCall>& call) {
  f.require("key");
  f.about("public key to register");
  f.text("key", call.key);
  f.about("the user that runs the agent on its machine");
  f.text_if_any("runs_as", call.runs_as);
}

template <class F>
void fields(F& f, typename F::template Of<KeyRotateCall>& call) {
  f.require("key");
  f.about("public key that replaces the caller's key");
  f.text("key", call.key);
}

template <class F>
void fields(F& f, typename F::template Of<KeyRevokeCall>& call) {
  f.about("a unique prefix of the key or token");
  f.text_if_any("key", call.key);
  f.about("agent or user, instead of a key: revoke all keys and tokens of `name`");
  f.word("kind", parse_key_kind, call.kind);
  f.about("name of the agent or user");
  f.text_if_any("name", call.name);
}

JsonShape keys_shape() { return list_shape<KnownKey>("keys"); }
JsonShape join_token_call_shape() { return shape_of<JoinTokenCall>(); }
JsonShape join_token_reply_shape() { return shape_of<JoinTokenReply>(); }
JsonShape join_call_shape() { return shape_of<JoinCall>(); }
JsonShape key_rotate_call_shape() { return shape_of<KeyRotateCall>(); }
JsonShape key_revoke_call_shape() { return shape_of<KeyRevokeCall>(); }

std::string keys_json(const std::vector<KnownKey>& rows) { return print_list("keys", rows); }
Result<std::vector<KnownKey>> parse_keys(std::string_view json) {
  return parse_list<KnownKey>(json, "keys");
}

std::string join_token_call_json(const JoinTokenCall& call) { return print_value(call); }
Result<JoinTokenCall> parse_join_token_call(std::string_view json) {
  return parse_arguments<JoinTokenCall>(json);
}

std::string join_token_reply_json(const JoinTokenReply& reply) { return print_value(reply); }
Result<JoinTokenReply> parse_join_token_reply(std::string_view json) {
  return parse_value<JoinTokenReply>(json);
}

std::string join_call_json(const JoinCall& call) { return print_value(call); }
Result<JoinCall> parse_join_call(std::string_view json) { return parse_arguments<JoinCall>(json); }

std::string key_rotate_call_json(const KeyRotateCall& call) { return print_value(call); }
Result<KeyRotateCall> parse_key_rotate_call(std::string_view json) {
  return parse_arguments<KeyRotateCall>(json);
}

std::string key_revoke_call_json(const KeyRevokeCall& call) { return print_value(call); }
Result<KeyRevokeCall> parse_key_revoke_call(std::string_view json) {
  Result<KeyRevokeCall> call = parse_arguments<KeyRevokeCall>(json);
  if (!call) return call;
  if (call->key.empty() == !call->kind.has_value() ||
      call->kind.has_value() == call->name.empty()) {
    return Error::invalid_argument("name either a key, or a kind and a name");
  }
  return call;
}

}  // namespace proffer::proto
