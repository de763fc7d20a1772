#include "slave/shell/file_gate.h"

#include <memory>
#include <utility>

#include "common/text.h"
#include "net/file_token.h"
#include "net/users.h"

namespace proffer::agent {
namespace {

constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr std::string_view kFilesPath = "/v1/files/";

bool opens(std::string_view prefix, std::string_view path) {
  if (path.starts_with(prefix)) return true;
  if (!path.starts_with(kUsagePath) || !prefix.starts_with(kFilesPath)) return false;
  return text(path.substr(kUsagePath.size()), '/') == prefix.substr(kFilesPath.size());
}

}  // namespace

FileGate::FileGate(Secret key, std::function<Time()> now,
                   std::function<void(RefusedBearer)> refused)
    : key_(std::move(key)), now_(std::move(now)), refused_(std::move(refused)) {}

std::variant<PrincipalPtr, HttpRefusal> FileGate::admit(std::string_view token,
                                                        std::string_view path,
                                                        std::string_view peer) const {
  const auto refuse = [&](int status, const std::string& user, std::string why) {
    refused_({.user = user, .path = std::string(path), .peer = std::string(peer), .why = why});
    return HttpRefusal{status, std::move(why)};
  };
  if (token.empty()) {
    return refuse(kUnauthorized, "?",
                  "other machines need a token of the master to read files: use proffer logs");
  }
  const Result<FileToken> bearer = unseal(token, key_, now_());
  if (!bearer) return refuse(kUnauthorized, "?", bearer.error().message());
  if (!opens(bearer->prefix, path)) {
    return refuse(kForbidden, bearer->user,
                  text("this token is only valid for ", quoted(bearer->prefix)));
  }
  const std::optional<Account> account = find_account(bearer->user);
  if (!account && !bearer->is_operator) {
    return refuse(kForbidden, bearer->user,
                  text("this machine has no user ", quoted(bearer->user)));
  }
  Principal principal{.user = bearer->user, .uid = kNoUid, .is_operator = bearer->is_operator};
  if (account) {
    principal.uid = account->uid;
    principal.groups = groups_of(account->uid);
  }
  return PrincipalPtr(std::make_shared<Principal>(std::move(principal)));
}

}  // namespace proffer::agent
