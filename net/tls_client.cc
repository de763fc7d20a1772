#include "net/tls_client.h"

#include <array>
#include <cstdlib>

#include <dlfcn.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <poll.h>

#include "common/text.h"

namespace proffer {
namespace {

// One function of the library, by its name.
template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

struct Library {
  decltype(&gnutls_init) init = nullptr;
  decltype(&gnutls_deinit) deinit = nullptr;
  decltype(&gnutls_certificate_allocate_credentials) allocate_credentials = nullptr;
  decltype(&gnutls_certificate_free_credentials) free_credentials = nullptr;
  decltype(&gnutls_credentials_set) credentials_set = nullptr;
  decltype(&gnutls_priority_set_direct) priority_set = nullptr;
  decltype(&gnutls_transport_set_int2) transport_set = nullptr;
  decltype(&gnutls_handshake) handshake = nullptr;
  decltype(&gnutls_record_get_direction) direction = nullptr;
  decltype(&gnutls_record_send) send = nullptr;
  decltype(&gnutls_record_recv) recv = nullptr;
  decltype(&gnutls_error_is_fatal) is_fatal = nullptr;
  decltype(&gnutls_strerror) words = nullptr;
  decltype(&gnutls_certificate_get_peers) peers = nullptr;
  decltype(&gnutls_x509_crt_init) certificate_init = nullptr;
  decltype(&gnutls_x509_crt_deinit) certificate_deinit = nullptr;
  decltype(&gnutls_x509_crt_import) import = nullptr;
  decltype(&gnutls_x509_crt_get_key_id) key_id = nullptr;
  decltype(&gnutls_base64_encode2) to_base64 = nullptr;
  std::string missing = {};  // why it cannot be used; empty: it can
};

Library load() {
  constexpr const char* kName = "libgnutls.so.30";
  Library tls;
  void* const from = dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  if (from == nullptr) {
    const char* const why = dlerror();
    tls.missing = why == nullptr ? kName : why;
    return tls;
  }
  const bool has_all =
      find(from, "gnutls_init", tls.init) && find(from, "gnutls_deinit", tls.deinit) &&
      find(from, "gnutls_certificate_allocate_credentials", tls.allocate_credentials) &&
      find(from, "gnutls_certificate_free_credentials", tls.free_credentials) &&
      find(from, "gnutls_credentials_set", tls.credentials_set) &&
      find(from, "gnutls_priority_set_direct", tls.priority_set) &&
      find(from, "gnutls_transport_set_int2", tls.transport_set) &&
      find(from, "gnutls_handshake", tls.handshake) &&
      find(from, "gnutls_record_get_direction", tls.direction) &&
      find(from, "gnutls_record_send", tls.send) && find(from, "gnutls_record_recv", tls.recv) &&
      find(from, "gnutls_error_is_fatal", tls.is_fatal) &&
      find(from, "gnutls_strerror", tls.words) &&
      find(from, "gnutls_certificate_get_peers", tls.peers) &&
      find(from, "gnutls_x509_crt_init", tls.certificate_init) &&
      find(from, "gnutls_x509_crt_deinit", tls.certificate_deinit) &&
      find(from, "gnutls_x509_crt_import", tls.import) &&
      find(from, "gnutls_x509_crt_get_key_id", tls.key_id) &&
      find(from, "gnutls_base64_encode2", tls.to_base64);
  if (!has_all) tls.missing = text(kName, " lacks a required function");
  return tls;
}

// Stays loaded until the process ends.
const Library& library() {
  static const Library kLibrary = load();
  return kLibrary;
}

Error broken(int code) {
  return Error::unavailable(text("the TLS connection broke: ", library().words(code)));
}

}  // namespace

struct TlsClient::Impl {
  std::string pin;
  gnutls_certificate_credentials_t credentials = nullptr;
  gnutls_session_t session = nullptr;
  bool is_trusted = false;

  ~Impl() {
    if (session != nullptr) library().deinit(session);
    if (credentials != nullptr) library().free_credentials(credentials);
  }
  // The pin of the key in the server's certificate; the server has proved that it has the key.
  std::string pin_of_server() const {
    const Library& tls = library();
    unsigned count = 0;
    const gnutls_datum_t* const shown = tls.peers(session, &count);
    if (shown == nullptr || count == 0) return {};
    gnutls_x509_crt_t certificate = nullptr;
    if (tls.certificate_init(&certificate) < 0) return {};
    std::array<unsigned char, 32> hash{};
    size_t bytes = hash.size();
    gnutls_datum_t base64{};
    std::string found;
    const gnutls_datum_t raw{.data = hash.data(), .size = static_cast<unsigned>(hash.size())};
    if (tls.import(certificate, &shown[0], GNUTLS_X509_FMT_DER) >= 0 &&
        tls.key_id(certificate, GNUTLS_KEYID_USE_SHA256, hash.data(), &bytes) >= 0 &&
        bytes == hash.size() && tls.to_base64(&raw, &base64) >= 0) {
      found.assign(reinterpret_cast<const char*>(base64.data), base64.size);
      std::free(base64.data);  // gnutls_free is free() by default
    }
    tls.certificate_deinit(certificate);
    return found;
  }
};

TlsClient::TlsClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TlsClient::~TlsClient() = default;

Result<std::unique_ptr<TlsClient>> TlsClient::start(int fd, const std::string& pin) {
  const Library& tls = library();
  if (!tls.missing.empty()) {
    return Error::unavailable(
               text("GnuTLS, which is needed to read files from other machines, cannot be loaded: ",
                    tls.missing))
        .with_hint("apt-get install libgnutls30");
  }
  if (pin.empty()) return Error::invalid_argument("a TLS server must have a pin");
  auto impl = std::make_unique<Impl>();
  impl->pin = pin;
  int failed = tls.allocate_credentials(&impl->credentials);
  if (failed >= 0) {
    failed = tls.init(&impl->session, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);
  }
  if (failed >= 0) {
    failed = tls.priority_set(impl->session, "SECURE128:-VERS-ALL:+VERS-TLS1.3", nullptr);
  }
  if (failed >= 0) {
    failed = tls.credentials_set(impl->session, GNUTLS_CRD_CERTIFICATE, impl->credentials);
  }
  if (failed < 0) return broken(failed);
  tls.transport_set(impl->session, fd, fd);
  return std::unique_ptr<TlsClient>(new TlsClient(std::move(impl)));
}

Result<bool> TlsClient::shake_hands() {
  if (impl_->is_trusted) return true;
  const Library& tls = library();
  const int done = tls.handshake(impl_->session);
  if (done < 0) {
    if (tls.is_fatal(done) == 0) return false;
    return Error::unavailable(text("the TLS connection failed: ", tls.words(done)));
  }
  if (impl_->pin_of_server() != impl_->pin) {
    return Error::permission_denied(
               "the certificate of the server is not the one that the master named")
        .with_hint("another server may impersonate it: no data was sent");
  }
  impl_->is_trusted = true;
  return true;
}

short TlsClient::events() const {
  return library().direction(impl_->session) == 1 ? POLLOUT : POLLIN;
}

Result<size_t> TlsClient::send(const char* bytes, size_t count) {
  const ssize_t sent = library().send(impl_->session, bytes, count);
  if (sent >= 0) return static_cast<size_t>(sent);
  if (library().is_fatal(static_cast<int>(sent)) == 0) return size_t{0};
  return broken(static_cast<int>(sent));
}

Result<std::optional<size_t>> TlsClient::receive(char* bytes, size_t count) {
  const ssize_t got = library().recv(impl_->session, bytes, count);
  if (got >= 0) return std::optional(static_cast<size_t>(got));
  if (library().is_fatal(static_cast<int>(got)) == 0) return std::optional<size_t>();
  return broken(static_cast<int>(got));
}

}  // namespace proffer
