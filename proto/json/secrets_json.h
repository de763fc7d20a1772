#pragma once

// Calls of `proffer secret` in JSON. The rules of json.h apply.

#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "proto/json/json_shape.h"
#include "proto/secrets.h"

namespace proffer::proto {

// {"secrets":[{"owner","name","since_s","readable"}]}
std::string secrets_json(const std::vector<SecretRow>& rows);
Result<std::vector<SecretRow>> parse_secrets(std::string_view json);

std::string secret_set_call_json(const SecretSetCall& call);  // {"name","value_hex"}
// Errors: kInvalidArgument, without the value.
Result<SecretSetCall> parse_secret_set_call(std::string_view json);

std::string secret_remove_call_json(const SecretRemoveCall& call);  // {"name","owner"}
Result<SecretRemoveCall> parse_secret_remove_call(std::string_view json);

JsonShape secrets_shape();
JsonShape secret_set_call_shape();
JsonShape secret_remove_call_shape();

}  // namespace proffer::proto
