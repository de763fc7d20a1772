#pragma once

// Secrets of users in the API: never their values.

#include <string>

#include "common/time.h"

namespace proffer::proto {

struct SecretRow {
  std::string owner = {};
  std::string name = {};
  Time since = {};          // when its value was set
  bool is_readable = true;  // the leader has the key file with which it was encrypted
  bool operator==(const SecretRow&) const = default;
};

// The call "secret_set". The value may be any bytes, so it is sent as hexadecimal digits.
struct SecretSetCall {
  std::string name = {};
  std::string value = {};
  bool operator==(const SecretSetCall&) const = default;
};

struct SecretRemoveCall {
  std::string name = {};
  std::string owner = {};  // empty: the caller's own
  bool operator==(const SecretRemoveCall&) const = default;
};

}  // namespace proffer::proto
