#pragma once

// The identity of a TLS server: a key pair with a self-signed certificate. Clients get the pin of
// the key from a peer that they trust, and accept no other key.

#include <string>
#include <string_view>

#include "common/result.h"

namespace proffer {

struct TlsIdentity {
  std::string key_pem = {};  // secret; PKCS #8, the only form that Java reads
  std::string certificate_pem = {};
  // SHA-256 of the public key (SubjectPublicKeyInfo) in base64: a pin as in RFC 7469, for `curl
  // --pinnedpubkey sha256//…`. kPinBytesMax characters.
  std::string pin = {};
  bool operator==(const TlsIdentity&) const = default;
};

// A random ECDSA key on P-256, which takes a millisecond. The certificate does not expire: the peer
// that vouches for its pin limits the time. Errors: kInternal.
Result<TlsIdentity> make_tls_identity(std::string_view name);

}  // namespace proffer
