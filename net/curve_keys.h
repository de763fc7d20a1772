#pragma once

// CURVE keys (Curve25519, by libzmq) and the files that hold secret halves.

#include <string>
#include <string_view>

#include "common/keys.h"
#include "common/result.h"

namespace proffer {

struct KeyPair {
  PublicKey public_key = {};
  std::string secret_key = {};  // 40 characters of Z85; never logged, never sent
  bool operator==(const KeyPair&) const = default;
};

// What a client needs: its own key, and the key that the server must have.
struct ClientKeys {
  KeyPair own = {};
  PublicKey server = {};
  bool operator==(const ClientKeys&) const = default;
};

// From the system's randomness.
KeyPair make_key_pair();
// With the public half computed. Errors: kInvalidArgument; the text is not in the message.
Result<KeyPair> key_pair_of(std::string_view secret_key);

// A small file with secrets in it. Errors: kNotFound; kFailedPrecondition if others than its owner
// may read or write it, or its owner is neither this process's user nor root, with the command that
// mends it; kUnavailable; kCorruption if it is larger than such a file is.
Result<std::string> read_secret_file(const std::string& path);

// One key pair in a file, as `proffer keys init` makes it. write: mode 0600, and never in place of
// another (kAlreadyExists). read: as read_secret_file(), and kCorruption if it is no such file.
inline constexpr std::string_view kMasterKeyFile = "master.key";  // in the master's data directory
std::string to_key_file_text(const KeyPair& keys);
Result<void> write_key_file(const std::string& path, const KeyPair& keys);
Result<KeyPair> read_key_file(const std::string& path);

}  // namespace proffer
