#include "net/curve_keys.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include "common/check.h"
#include "common/text.h"
#include "net/durable_files.h"
#include "net/fd.h"

namespace proffer {
namespace {

constexpr std::string_view kHeader = "proffer key 1";
constexpr size_t kSecretFileBytesMax = 16 * 1024;
constexpr mode_t kOnlyItsOwner = 0600;

using Z85Key = std::array<char, kPublicKeyBytes + 1>;  // libzmq appends a zero

std::string text_of(const Z85Key& key) { return {key.data(), kPublicKeyBytes}; }

}  // namespace

KeyPair make_key_pair() {
  Z85Key public_key{};
  Z85Key secret_key{};
  do {
    CHECK_EQ(zmq_curve_keypair(public_key.data(), secret_key.data()), 0)
        << zmq_strerror(zmq_errno());
  } while (public_key[0] == '-');  // commands would read that as an option
  return {.public_key = PublicKey(text_of(public_key)), .secret_key = text_of(secret_key)};
}

Result<KeyPair> key_pair_of(std::string_view secret_key) {
  const std::string secret(secret_key);
  Z85Key public_key{};
  if (!is_valid_public_key(secret) || zmq_curve_public(public_key.data(), secret.c_str()) != 0) {
    return Error::invalid_argument(
        text("a secret key must be ", kPublicKeyBytes, " characters of Z85"));
  }
  return KeyPair{.public_key = PublicKey(text_of(public_key)), .secret_key = secret};
}

Result<std::string> read_secret_file(const std::string& path) {
  const auto failed = [&](std::string_view doing) {
    return Error::unavailable(text("cannot ", doing, " ", quoted(path), ": ", strerror(errno)));
  };
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (fd.get() < 0 && errno == ENOENT) {
    return Error::not_found(text("there is no file ", quoted(path)));
  }
  if (fd.get() < 0) return failed("open");
  struct stat found = {};
  if (fstat(fd.get(), &found) != 0) return failed("check");
  if (!S_ISREG(found.st_mode)) {
    return Error::failed_precondition(text(quoted(path), " is not a regular file"));
  }
  if ((found.st_mode & 077) != 0) {
    return Error::failed_precondition(
               text("other users may read or write ", quoted(path), ", which holds a secret key"))
        .with_hint(text("if no other user has read it: chmod 600 ", path));
  }
  if (found.st_uid != geteuid() && found.st_uid != 0) {
    return Error::failed_precondition(
        text(quoted(path), " belongs to another user, who could replace the secret key"));
  }
  std::string bytes(kSecretFileBytesMax + 1, '\0');
  const ssize_t got = pread(fd.get(), bytes.data(), bytes.size(), 0);
  if (got < 0) return failed("read");
  if (static_cast<size_t>(got) > kSecretFileBytesMax) {
    return Error::corruption(text(quoted(path), " has more than ", kSecretFileBytesMax, " bytes"));
  }
  bytes.resize(static_cast<size_t>(got));
  return bytes;
}

std::string to_key_file_text(const KeyPair& keys) {
  return text(kHeader, "\npublic ", keys.public_key.str(), "\nsecret ", keys.secret_key, "\n");
}

Result<void> write_key_file(const std::string& path, const KeyPair& keys) {
  Result<void> made = make_file_durably(path, to_key_file_text(keys), kOnlyItsOwner);
  if (made || made.error().code() != ErrorCode::kAlreadyExists) return made;
  return Error::already_exists(text("there is a key in ", quoted(path), " already"))
      .with_hint("a new key would lock out every machine that joined with this one");
}

Result<KeyPair> read_key_file(const std::string& path) {
  Result<std::string> bytes = read_secret_file(path);
  if (!bytes) return std::move(bytes).error();
  constexpr std::string_view kSecret = "secret ";
  const std::vector<std::string_view> lines = split(*bytes, '\n');
  if (lines.size() >= 3 && lines[0] == kHeader && lines[2].starts_with(kSecret)) {
    Result<KeyPair> keys = key_pair_of(lines[2].substr(kSecret.size()));
    if (keys && lines[1] == text("public ", keys->public_key.str())) return keys;
  }
  return Error::corruption(text(quoted(path), bytes->empty() ? " is empty" : " is not a key file"))
      .with_hint(
          "restore it from a copy if machines have joined with it; else make one with proffer keys "
          "init");
}

}  // namespace proffer
