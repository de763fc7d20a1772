#include "net/tls_identity.h"

#include <array>
#include <ctime>
#include <memory>
#include <type_traits>

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "common/text.h"

namespace proffer {
namespace {

constexpr time_t kDay = 24 * 3600;  // for clocks that are behind

using Key = std::unique_ptr<std::remove_pointer_t<gnutls_x509_privkey_t>,
                            decltype(&gnutls_x509_privkey_deinit)>;
using Certificate =
    std::unique_ptr<std::remove_pointer_t<gnutls_x509_crt_t>, decltype(&gnutls_x509_crt_deinit)>;

// Copies and frees bytes that the library allocated.
std::string taken(gnutls_datum_t& datum) {
  std::string bytes(reinterpret_cast<const char*>(datum.data), datum.size);
  gnutls_free(datum.data);
  return bytes;
}

}  // namespace

Result<TlsIdentity> make_tls_identity(std::string_view name) {
  int failed = 0;  // the first failure; 0: none
  const auto attempt = [&](int result) {
    if (failed == 0 && result < 0) failed = result;
    return failed == 0;
  };
  gnutls_x509_privkey_t raw_key = nullptr;
  gnutls_x509_crt_t raw_certificate = nullptr;
  attempt(gnutls_x509_privkey_init(&raw_key));
  const Key key(raw_key, &gnutls_x509_privkey_deinit);
  attempt(gnutls_x509_crt_init(&raw_certificate));
  const Certificate certificate(raw_certificate, &gnutls_x509_crt_deinit);

  const std::string subject(name);
  const time_t now = std::time(nullptr);
  std::array<unsigned char, 16> serial{};
  attempt(gnutls_rnd(GNUTLS_RND_NONCE, serial.data(), serial.size()));
  serial[0] = (serial[0] & 0x7f) | 1;  // positive
  TlsIdentity identity;
  gnutls_datum_t text_of{};
  const bool is_made =
      attempt(0) &&
      attempt(gnutls_x509_privkey_generate(key.get(), GNUTLS_PK_ECDSA,
                                           GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0)) &&
      attempt(gnutls_x509_crt_set_version(certificate.get(), 3)) &&
      attempt(gnutls_x509_crt_set_serial(certificate.get(), serial.data(), serial.size())) &&
      attempt(gnutls_x509_crt_set_activation_time(certificate.get(), now - kDay)) &&
      attempt(gnutls_x509_crt_set_expiration_time(certificate.get(),
                                                  GNUTLS_X509_NO_WELL_DEFINED_EXPIRATION)) &&
      attempt(gnutls_x509_crt_set_dn_by_oid(certificate.get(), GNUTLS_OID_X520_COMMON_NAME, 0,
                                            subject.data(),
                                            static_cast<unsigned>(subject.size()))) &&
      attempt(gnutls_x509_crt_set_subject_alt_name(
          certificate.get(), GNUTLS_SAN_DNSNAME, subject.data(),
          static_cast<unsigned>(subject.size()), GNUTLS_FSAN_SET)) &&
      attempt(gnutls_x509_crt_set_key(certificate.get(), key.get())) &&
      attempt(gnutls_x509_crt_sign2(certificate.get(), certificate.get(), key.get(),
                                    GNUTLS_DIG_SHA256, 0)) &&
      attempt(gnutls_x509_privkey_export2_pkcs8(key.get(), GNUTLS_X509_FMT_PEM, nullptr,
                                                GNUTLS_PKCS_PLAIN, &text_of));
  if (is_made) identity.key_pem = taken(text_of);
  if (is_made &&
      attempt(gnutls_x509_crt_export2(certificate.get(), GNUTLS_X509_FMT_PEM, &text_of))) {
    identity.certificate_pem = taken(text_of);
  }
  std::array<unsigned char, 32> hash{};
  size_t hash_bytes = hash.size();
  if (is_made && attempt(gnutls_x509_crt_get_key_id(certificate.get(), GNUTLS_KEYID_USE_SHA256,
                                                    hash.data(), &hash_bytes))) {
    const gnutls_datum_t raw{.data = hash.data(), .size = static_cast<unsigned>(hash_bytes)};
    if (attempt(gnutls_base64_encode2(&raw, &text_of))) identity.pin = taken(text_of);
  }
  if (failed == 0) return identity;
  return Error::internal(text("cannot make a TLS key: ", gnutls_strerror(failed)));
}

}  // namespace proffer
