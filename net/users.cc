#include "net/users.h"

#include <cerrno>

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include "common/text.h"

namespace proffer {
namespace {

constexpr size_t kUsersKnownMax = 1'024;
constexpr Duration kUserAgeMax = seconds(1);

// `look` is getpwuid_r() or getpwnam_r() with the key.
template <typename Look>
std::optional<Account> look_up(const Look& look) {
  constexpr size_t kBufferMin = 1'024;
  constexpr size_t kBufferMax = size_t{1} << 20;
  for (size_t bytes = kBufferMin; bytes <= kBufferMax; bytes *= 2) {
    std::vector<char> buffer(bytes);
    passwd entry = {};
    passwd* found = nullptr;
    const int error = look(&entry, buffer.data(), buffer.size(), &found);
    if (error == ERANGE) continue;
    if (error != 0 || found == nullptr) return std::nullopt;
    return Account{.name = found->pw_name, .uid = found->pw_uid, .gid = found->pw_gid};
  }
  return std::nullopt;
}

std::optional<Account> find_account(uint32_t uid) {
  return look_up([uid](passwd* entry, char* buffer, size_t bytes, passwd** found) {
    return getpwuid_r(uid, entry, buffer, bytes, found);
  });
}

}  // namespace

std::string user_name(uint32_t uid) {
  const std::optional<Account> user = find_account(uid);
  return user ? user->name : text("uid ", uid);
}

std::vector<uint32_t> groups_of(uint32_t uid) {
  const std::optional<Account> user = find_account(uid);
  if (!user) return {};
  int count = 64;
  std::vector<gid_t> groups(static_cast<size_t>(count));
  while (getgrouplist(user->name.c_str(), user->gid, groups.data(), &count) < 0) {
    if (static_cast<size_t>(count) <= groups.size()) return {};
    groups.resize(static_cast<size_t>(count));
  }
  groups.resize(static_cast<size_t>(count));
  return {groups.begin(), groups.end()};
}

PrincipalPtr principal_of(uint32_t uid) {
  return std::make_shared<Principal>(
      Principal{.user = user_name(uid), .uid = uid, .groups = groups_of(uid)});
}

PrincipalPtr UserCache::principal_of(uint32_t uid, Time now) {
  if (known_.size() >= kUsersKnownMax && !known_.contains(uid)) known_.clear();
  Known& known = known_[uid];
  if (known.user == nullptr || known.until <= now) {
    known = {.user = proffer::principal_of(uid), .until = now + kUserAgeMax};
  }
  return known.user;
}

std::optional<Account> find_account(const std::string& user) {
  return look_up([&user](passwd* entry, char* buffer, size_t bytes, passwd** found) {
    return getpwnam_r(user.c_str(), entry, buffer, bytes, found);
  });
}

std::optional<uint32_t> find_uid(const std::string& user) {
  const std::optional<Account> found = find_account(user);
  return found ? std::optional<uint32_t>(found->uid) : std::nullopt;
}

std::optional<uint32_t> find_group(const std::string& group) {
  const ::group* const found = getgrnam(group.c_str());
  return found == nullptr ? std::nullopt : std::optional<uint32_t>(found->gr_gid);
}

}  // namespace proffer
