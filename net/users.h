#pragma once

// Users and groups from the user database of this machine. May read files; results are current.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/principal.h"
#include "common/time.h"

namespace proffer {

// "alice"; "uid 4711" if the database has no name for it.
std::string user_name(uint32_t uid);
// All groups of the user, including supplementary ones; empty if the user is unknown.
std::vector<uint32_t> groups_of(uint32_t uid);

// The user with its groups.
PrincipalPtr principal_of(uint32_t uid);

// The same, with a cache of one second: a lookup takes the loop some 0.1 ms, and thousands of
// connections begin together when a master starts.
class UserCache {
 public:
  PrincipalPtr principal_of(uint32_t uid, Time now);

 private:
  struct Known {
    PrincipalPtr user = {};
    Time until = {};
  };
  std::map<uint32_t, Known> known_ = {};  // at most kUsersKnownMax
};

struct Account {
  std::string name = {};
  uint32_t uid = 0;
  uint32_t gid = 0;  // the primary group
};
// The user or group of this name; none if it is unknown.
std::optional<Account> find_account(const std::string& user);
std::optional<uint32_t> find_uid(const std::string& user);
std::optional<uint32_t> find_group(const std::string& group);

}  // namespace proffer
