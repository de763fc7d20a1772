#pragma once

// Secrets of users as the API tells of them: never their values.

#include <string>

#include "common/time.h"

namespace proffer::proto {

struct SecretRow {
  std::string owner = {};
  std::string name = {};
  Time since = {};          // when its value was set
  bool is_readable = true;  // the master that leads has the key file that it was encrypted with
  bool operator==(const SecretRow&) const = default;
};

// "secret_set". The value may be any bytes, so it travels as hexadecimal digits.
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
