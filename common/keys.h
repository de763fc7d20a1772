#pragma once

// Keys of peers from beyond the host, as the cluster's registry knows them. The secret halves are
// net/curve_keys.h's.

#include <optional>
#include <string>
#include <string_view>

#include "common/ids.h"
#include "common/time.h"

namespace proffer {

// The public half of a CURVE key (Curve25519): 40 characters of Z85. A peer that came with it holds
// the other half.
using PublicKey = Id<struct PublicKeyTag>;

inline constexpr size_t kPublicKeyBytes = 40;  // as text

// As text; whether it is a point of the curve is not looked at.
bool is_valid_public_key(std::string_view text);

// What the holder of a key is in the cluster.
enum class KeyKind : uint8_t {
  kAgent,  // one agent, and nothing else
  kUser,   // a user, with the rights that this user has
};
inline constexpr size_t kKeyKindCount = 2;
std::string_view to_text(KeyKind kind);  // "agent", "user"
std::optional<KeyKind> parse_key_kind(std::string_view text);

// A key that the cluster knows, or a join token: a key that its holder may use once, until a time,
// to register a key of its own.
struct KnownKey {
  PublicKey key = {};
  KeyKind kind = KeyKind::kUser;
  std::string name = {};                 // of the agent or user
  Time since = {};                       // when it was registered, or the token made
  std::string by = {};                   // the user that made the token
  std::optional<Time> token_until = {};  // a token's; none: it is a registered key
  std::string runs_as = {};              // an agent's: the user that it runs as on its machine
  // It is the successor of this key, which ends when this one is first used. Empty: of none.
  PublicKey replaces = {};
  bool operator==(const KnownKey&) const = default;

  bool is_token() const { return token_until.has_value(); }
};

}  // namespace proffer
