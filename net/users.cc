#include "net/users.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include "common/text.h"

namespace proffer {
namespace {

struct User {
  std::string name = {};
  gid_t group = 0;
};

std::optional<User> find_user(uint32_t uid) {
  constexpr size_t kBufferMin = 1'024;
  constexpr size_t kBufferMax = size_t{1} << 20;
  for (size_t bytes = kBufferMin; bytes <= kBufferMax; bytes *= 2) {
    std::vector<char> buffer(bytes);
    passwd entry = {};
    passwd* found = nullptr;
    const int error = getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
    if (error == ERANGE) continue;
    if (error != 0 || found == nullptr) return std::nullopt;
    return User{.name = found->pw_name, .group = found->pw_gid};
  }
  return std::nullopt;
}

}  // namespace

std::string user_name(uint32_t uid) {
  const std::optional<User> user = find_user(uid);
  return user ? user->name : text("uid ", uid);
}

std::vector<uint32_t> groups_of(uint32_t uid) {
  const std::optional<User> user = find_user(uid);
  if (!user) return {};
  int count = 64;
  std::vector<gid_t> groups(static_cast<size_t>(count));
  while (getgrouplist(user->name.c_str(), user->group, groups.data(), &count) < 0) {
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

std::optional<uint32_t> find_uid(const std::string& user) {
  const passwd* const found = getpwnam(user.c_str());
  return found == nullptr ? std::nullopt : std::optional<uint32_t>(found->pw_uid);
}

std::optional<uint32_t> find_group(const std::string& group) {
  const ::group* const found = getgrnam(group.c_str());
  return found == nullptr ? std::nullopt : std::optional<uint32_t>(found->gr_gid);
}

}  // namespace proffer
