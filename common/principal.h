#pragma once

// A user on whose behalf a session or a call acts, as the kernel names it: never as a peer names
// itself.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace proffer {

struct Principal {
  std::string user = {};
  uint32_t uid = 0;
  std::vector<uint32_t> groups = {};  // all of the user, by the user database
  // A TCP peer: the kernel does not name its user, so it has the daemon's.
  bool is_unproven = false;
  bool operator==(const Principal&) const = default;
};

// Shared by all frames of a session. nullptr: nobody, who may do nothing that needs a right.
using PrincipalPtr = std::shared_ptr<const Principal>;

}  // namespace proffer
