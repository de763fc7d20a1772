#include "proto/json/secrets_json.h"

#include "common/hex.h"
#include "common/limits.h"
#include "common/text.h"
#include "proto/json/json_text.h"

namespace proffer::proto {
namespace {

// The form in which SecretSetCall is sent.
struct HexCall {
  std::string name = {};
  std::string value_hex = {};
};

}  // namespace

template <class F>
void fields(F& f, typename F::template Of<SecretRow>& row) {
  f.text("owner", row.owner);
  f.text("name", row.name);
  f.seconds("since_s", row.since);
  f.truth("readable", row.is_readable);
}

template <class F>
void fields(F& f, typename F::template Of<HexCall>& call) {
  for (const char* name : {"name", "value_hex"}) f.require(name);
  f.about("name of one of the caller's secrets");
  f.text("name", call.name);
  f.about("value of the secret, each byte as two digits of 0-9 a-f");
  f.text("value_hex", call.value_hex);
}

template <class F>
void fields(F& f, typename F::template Of<SecretRemoveCall>& call) {
  f.require("name");
  f.about("the secret's name");
  f.text("name", call.name);
  f.about("for operators: the user that owns the secret; default: the caller");
  f.text_if_any("owner", call.owner);
}

JsonShape secrets_shape() { return list_shape<SecretRow>("secrets"); }
JsonShape secret_set_call_shape() { return shape_of<HexCall>(); }
JsonShape secret_remove_call_shape() { return shape_of<SecretRemoveCall>(); }

std::string secrets_json(const std::vector<SecretRow>& rows) { return print_list("secrets", rows); }
Result<std::vector<SecretRow>> parse_secrets(std::string_view json) {
  return parse_list<SecretRow>(json, "secrets");
}

std::string secret_set_call_json(const SecretSetCall& call) {
  return print_value(HexCall{.name = call.name, .value_hex = to_hex(call.value)});
}
Result<SecretSetCall> parse_secret_set_call(std::string_view json) {
  Result<HexCall> call = parse_arguments<HexCall>(json);
  if (!call) return std::move(call).error();
  std::optional<std::string> value = from_hex(call->value_hex);
  if (!value) {
    return Error::invalid_argument("value_hex must be pairs of digits 0-9 a-f");
  }
  if (value->empty() || value->size() > kSecretBytesMax) {
    return Error::invalid_argument(text("the value of a secret must have 1 to ", kSecretBytesMax,
                                        " bytes, not ", value->size()));
  }
  return SecretSetCall{.name = std::move(call->name), .value = *std::move(value)};
}

std::string secret_remove_call_json(const SecretRemoveCall& call) { return print_value(call); }
Result<SecretRemoveCall> parse_secret_remove_call(std::string_view json) {
  return parse_arguments<SecretRemoveCall>(json);
}

}  // namespace proffer::proto
