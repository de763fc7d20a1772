#pragma once

// The identity of a TLS server: a key pair with a certificate that it made itself. No authority
// signs it: clients learn the pin of the key from a peer that they trust, and accept no other key.

#include <string>
#include <string_view>

#include "common/result.h"

namespace proffer {

struct TlsIdentity {
  std::string key_pem = {};  // secret; PKCS #8, the only form that Java reads
  std::string certificate_pem = {};
  // SHA-256 of the public key (SubjectPublicKeyInfo) in base64: what RFC 7469 calls a pin, and
  // `curl --pinnedpubkey sha256//…` takes. kPinBytesMax characters.
  std::string pin = {};
  bool operator==(const TlsIdentity&) const = default;
};

// ECDSA over P-256, from the system's randomness; a millisecond. The certificate has no end:
// the party that vouches for its pin says how long. Errors: kInternal.
Result<TlsIdentity> make_tls_identity(std::string_view name);

}  // namespace proffer
