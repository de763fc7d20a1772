#pragma once

// CURVE keys (Curve25519, by libzmq) and the files with secret keys.

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

// The keys of a client: its own, and that of the server.
struct ClientKeys {
  KeyPair own = {};
  PublicKey server = {};
  bool operator==(const ClientKeys&) const = default;
};

// Random.
KeyPair make_key_pair();
// Computes the public key. Errors: kInvalidArgument; the text is not in the message.
Result<KeyPair> key_pair_of(std::string_view secret_key);

// Reads a small file with secrets. Errors: kNotFound; kFailedPrecondition if other users may read
// or write it, or its owner is neither this process's user nor root, with the command that fixes
// this; kUnavailable; kCorruption if it is too large for such a file.
Result<std::string> read_secret_file(const std::string& path);

// A file with one key pair, as `proffer keys init` makes it. write: mode 0600; never replaces a
// file (kAlreadyExists). read: as read_secret_file(), and kCorruption if it has another content.
inline constexpr std::string_view kMasterKeyFile = "master.key";  // in the master's data directory
std::string to_key_file_text(const KeyPair& keys);
Result<void> write_key_file(const std::string& path, const KeyPair& keys);
Result<KeyPair> read_key_file(const std::string& path);

}  // namespace proffer
