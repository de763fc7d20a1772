#include "net/file_token.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

#include "common/check.h"
#include "common/hex.h"
#include "common/limits.h"
#include "common/text.h"

namespace proffer {
namespace {

constexpr std::string_view kVersion = "f1.";
constexpr int64_t kMilli = 1'000'000;  // nanoseconds
constexpr int64_t kMillisMax = std::numeric_limits<int64_t>::max() / kMilli;
constexpr size_t kMacBytes = 32;
constexpr size_t kTokenBytesMax = 4'096;
constexpr Duration kClocksDiffer = minutes(1);  // drift between two registrations

std::string mac_of(std::string_view bytes, const Secret& key) {
  std::string mac(kMacBytes, '\0');
  const int failed = gnutls_hmac_fast(GNUTLS_MAC_SHA256, key.str().data(), key.str().size(),
                                      bytes.data(), bytes.size(), mac.data());
  CHECK_EQ(failed, 0) << gnutls_strerror(failed);
  return mac;
}

}  // namespace

std::string seal(const FileToken& token, const Secret& key) {
  const std::string words =
      to_hex(text(token.until.nanos() / kMilli, "\n", token.is_operator ? "operator" : "user", "\n",
                  token.user, "\n", token.prefix));
  return text(kVersion, words, ".", to_hex(mac_of(words, key)));
}

Result<FileToken> unseal(std::string_view sealed, const Secret& key, Time now) {
  const Error strange = Error::permission_denied(
      "this token is invalid: it is forged, of another agent, or from before a restart of this "
      "agent");
  if (!sealed.starts_with(kVersion) || sealed.size() > kTokenBytesMax) return strange;
  sealed.remove_prefix(kVersion.size());
  const size_t dot = std::min(sealed.find('.'), sealed.size());
  const std::string_view words = sealed.substr(0, dot);
  const std::string_view hex = sealed.substr(std::min(dot + 1, sealed.size()));
  const std::optional<std::string> mac = from_hex(hex);
  const std::string own = mac_of(words, key);
  if (!mac || mac->size() != own.size() ||
      gnutls_memcmp(mac->data(), own.data(), own.size()) != 0) {
    return strange;
  }
  const std::optional<std::string> plain = from_hex(words);
  if (!plain) return strange;
  const std::vector<std::string_view> lines = split(*plain, '\n');
  if (lines.size() != 4) return strange;
  const Result<int64_t> until = parse_whole("until", lines[0], 0, kMillisMax);
  if (!until) return strange;
  FileToken token{.until = Time::from_nanos(*until * kMilli),
                  .user = std::string(lines[2]),
                  .is_operator = lines[1] == "operator",
                  .prefix = std::string(lines[3])};
  if (token.until <= now) {
    return Error::permission_denied("this token has expired");
  }
  if (token.until > now + kFileTokenAge + kClocksDiffer) {
    return Error::permission_denied(
        "this token is valid for too long: the clock of this agent was changed");
  }
  return token;
}

}  // namespace proffer
