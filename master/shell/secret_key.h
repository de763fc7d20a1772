#pragma once

// The key file with which a master encrypts secrets of users: <data_dir>/secrets.key, 0600, made
// when the first secret is set. It is in no registry and in no backup; an operator copies it to the
// other masters.

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "common/result.h"
#include "proto/messages.h"

namespace proffer::master {

inline constexpr std::string_view kSecretsKeyFile = "secrets.key";

class SecretKey {
 public:
  // None if the file does not exist. Errors: kPermissionDenied (other users may read it),
  // kCorruption, kUnavailable.
  static Result<std::optional<SecretKey>> read(const std::string& path);
  // A new key in a new file, durable. Errors: kAlreadyExists, kUnavailable.
  static Result<SecretKey> make(const std::string& path);

  // 16 hexadecimal digits, which reveal nothing about the key.
  const std::string& id() const { return id_; }

  // Encrypts and authenticates the value as the secret of this owner and name (XChaCha20-Poly1305
  // with a random nonce).
  std::string seal(std::string_view owner, std::string_view name, std::string_view value) const;
  // Errors: kCorruption (another key, owner or name, or damaged data).
  Result<std::string> open(std::string_view owner, std::string_view name,
                           std::string_view sealed) const;

 private:
  static constexpr size_t kBytes = 32;
  explicit SecretKey(const std::array<unsigned char, kBytes>& key);
  std::array<unsigned char, kBytes> key_ = {};
  std::string id_;
};

// Replaces the encrypted secrets of a launch by their values. A secret that cannot be decrypted is
// left out, and the agent refuses the launch. Returns the errors, for the log.
std::vector<Error> open_secrets(const std::optional<SecretKey>& key, proto::RunTask& run);

}  // namespace proffer::master
