#include "master/shell/secret_key.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"
#include "net/durable_files.h"
#include "net/fd.h"

namespace proffer::master {
namespace {

constexpr size_t kNonceBytes = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr size_t kCodeBytes = crypto_aead_xchacha20poly1305_ietf_ABYTES;
constexpr size_t kIdBytes = 8;
constexpr std::string_view kHeader = "proffer secrets key 1 ";
static_assert(kNonceBytes + kCodeBytes <= kSealedSecretBytesMax - kSecretBytesMax);

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

std::string to_hex(const unsigned char* bytes, size_t count) {
  std::string digits(count * 2 + 1, '\0');
  sodium_bin2hex(digits.data(), digits.size(), bytes, count);
  digits.pop_back();
  return digits;
}

// The associated data of a sealed value. No user name contains a NUL.
std::string bound_to(std::string_view owner, std::string_view name) {
  return text(owner, std::string_view("\0", 1), name);
}

Error cannot(std::string_view what, const std::string& path) {
  return Error::unavailable(text("cannot ", what, " ", quoted(path), ": ", std::strerror(errno)));
}

}  // namespace

SecretKey::SecretKey(const std::array<unsigned char, kBytes>& key) : key_(key) {
  static_assert(kBytes == crypto_aead_xchacha20poly1305_ietf_KEYBYTES);
  unsigned char digest[crypto_generichash_BYTES] = {};
  crypto_generichash(digest, sizeof digest, key_.data(), key_.size(), nullptr, 0);
  id_ = to_hex(digest, kIdBytes);
}

Result<std::optional<SecretKey>> SecretKey::read(const std::string& path) {
  CHECK_GE(sodium_init(), 0) << "libsodium";
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (file.get() < 0 && errno == ENOENT) return std::optional<SecretKey>();
  if (file.get() < 0) return cannot("open", path);
  struct stat found = {};
  if (fstat(file.get(), &found) != 0) return cannot("check", path);
  if ((found.st_mode & 077) != 0) {
    return Error::permission_denied(text("users other than its owner may read ", quoted(path)))
        .with_hint(
            text("chmod 600 ", path, ", and set the secrets again if another user has read it"));
  }
  std::array<char, 256> content = {};
  const ssize_t got = ::read(file.get(), content.data(), content.size());
  if (got < 0) return cannot("read", path);
  std::string_view line(content.data(), static_cast<size_t>(got));
  if (line.ends_with('\n')) line.remove_suffix(1);
  std::array<unsigned char, kBytes> key = {};
  size_t count = 0;
  const bool is_key = line.starts_with(kHeader) && line.size() == kHeader.size() + kBytes * 2 &&
                      sodium_hex2bin(key.data(), key.size(), line.data() + kHeader.size(),
                                     kBytes * 2, nullptr, &count, nullptr) == 0 &&
                      count == kBytes;
  sodium_memzero(content.data(), content.size());
  if (!is_key) {
    return Error::corruption(
               text(quoted(path), got == 0 ? " is empty" : " is not a key file of secrets"))
        .with_hint("copy it again from another master or from a backup");
  }
  return std::optional(SecretKey(key));
}

Result<SecretKey> SecretKey::make(const std::string& path) {
  CHECK_GE(sodium_init(), 0) << "libsodium";
  std::array<unsigned char, kBytes> key = {};
  randombytes_buf(key.data(), key.size());
  const std::string line = text(kHeader, to_hex(key.data(), key.size()), "\n");
  if (Result<void> made = make_file_durably(path, line, 0600); !made)
    return std::move(made).error();
  return SecretKey(key);
}

std::string SecretKey::seal(std::string_view owner, std::string_view name,
                            std::string_view value) const {
  std::string sealed(kNonceBytes + value.size() + kCodeBytes, '\0');
  randombytes_buf(sealed.data(), kNonceBytes);
  const std::string bound = bound_to(owner, name);
  crypto_aead_xchacha20poly1305_ietf_encrypt(
      bytes_of(sealed) + kNonceBytes, nullptr, bytes_of(value), value.size(),
      bytes_of(std::string_view(bound)), bound.size(), nullptr, bytes_of(sealed), key_.data());
  return sealed;
}

Result<std::string> SecretKey::open(std::string_view owner, std::string_view name,
                                    std::string_view sealed) const {
  const auto damaged = [&] {
    return Error::corruption(text("secret ", quoted(name), " of user ", quoted(owner),
                                  " cannot be decrypted with the key file of this master"))
        .with_hint("set it again: proffer secret set");
  };
  if (sealed.size() < kNonceBytes + kCodeBytes) return damaged();
  std::string value(sealed.size() - kNonceBytes - kCodeBytes, '\0');
  const std::string bound = bound_to(owner, name);
  if (crypto_aead_xchacha20poly1305_ietf_decrypt(
          bytes_of(value), nullptr, nullptr, bytes_of(sealed) + kNonceBytes,
          sealed.size() - kNonceBytes, bytes_of(std::string_view(bound)), bound.size(),
          bytes_of(sealed), key_.data()) != 0) {
    return damaged();
  }
  return value;
}

std::vector<Error> open_secrets(const std::optional<SecretKey>& key, proto::RunTask& run) {
  std::vector<Error> errors;
  std::vector<proto::SecretValue> opened;
  for (proto::SecretValue& secret : run.secrets) {
    Result<std::string> value =
        key ? key->open(run.assignment.user, secret.name, secret.value)
            : Error::failed_precondition("this master has no key file of secrets");
    if (value) {
      opened.push_back({.name = std::move(secret.name), .value = *std::move(value)});
    } else {
      errors.push_back(std::move(value).error());
    }
  }
  run.secrets = std::move(opened);
  return errors;
}

}  // namespace proffer::master
