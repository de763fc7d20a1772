#pragma once

// On whose behalf a session or a call acts: a user, as the kernel names it or as the registry says
// of its key; or an agent, by its key. Never as a peer names itself.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/keys.h"

namespace proffer {

// The uid of a user that the user database of this machine does not know. Nobody has it.
inline constexpr uint32_t kNoUid = UINT32_MAX;

struct Principal {
  std::string user = {};
  uint32_t uid = 0;                   // on this machine
  std::vector<uint32_t> groups = {};  // all of the user, by the user database
  // A TCP peer: the kernel does not name its user, so it has the daemon's.
  bool is_unproven = false;
  // By which it came from beyond the host; empty: the kernel named its user.
  PublicKey key = {};
  // With a key: the address, numeric, from which it connects.
  std::string host = {};
  // Its key is this agent's: it may be this agent and nothing else. `user` is what the agent runs
  // as on its machine.
  AgentId agent = {};
  bool may_only_join = false;  // its key is that of a join token
  bool is_master = false;      // its key is the cluster's own: it is another master
  // A token of the master says that it is an operator of the cluster, whatever its user is here.
  bool is_operator = false;
  bool operator==(const Principal&) const = default;
};

// For audit lines: the user, or "agent:a1" and "join-token", which act for no user.
std::string audit_name(const Principal* by);

// Shared by all frames of a session. nullptr: no user is known, so nothing that needs a right is
// allowed.
using PrincipalPtr = std::shared_ptr<const Principal>;

}  // namespace proffer
