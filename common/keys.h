#pragma once

// Public keys of peers on other machines, as the cluster's registry has them. net/curve_keys.h has
// the secret halves.

#include <optional>
#include <string>
#include <string_view>

#include "common/ids.h"
#include "common/time.h"

namespace proffer {

// The public half of a CURVE key (Curve25519): 40 characters of Z85. A peer that authenticated with
// it has the other half.
using PublicKey = Id<struct PublicKeyTag>;

inline constexpr size_t kPublicKeyBytes = 40;  // as text

// Checks the text only, not whether it is a point of the curve.
bool is_valid_public_key(std::string_view text);

// The identity of a key's holder in the cluster.
enum class KeyKind : uint8_t {
  kAgent,  // one agent, with the rights of this agent only
  kUser,   // a user, with the rights of this user
};
inline constexpr size_t kKeyKindCount = 2;
std::string_view to_text(KeyKind kind);  // "agent", "user"
std::optional<KeyKind> parse_key_kind(std::string_view text);

// A key that the cluster knows, or a join token: a key that its holder may use once, until a time,
// to register another key.
struct KnownKey {
  PublicKey key = {};
  KeyKind kind = KeyKind::kUser;
  std::string name = {};                 // of the agent or user
  Time since = {};                       // when it was registered, or the token made
  std::string by = {};                   // the user that made the token
  std::optional<Time> token_until = {};  // for a token; none: it is a registered key
  std::string runs_as = {};              // for an agent: the user that it runs as on its machine
  // The key that this one replaces when it is first used. Empty: none.
  PublicKey replaces = {};
  bool operator==(const KnownKey&) const = default;

  bool is_token() const { return token_until.has_value(); }
};

}  // namespace proffer
