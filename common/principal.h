#pragma once

// The identity for which a session or a call acts: a user, as the kernel or the registry identifies
// it, or an agent, identified by its key. A peer's own claim is never used.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/keys.h"

namespace proffer {

// The uid of a user that is not in this machine's user database. No user has it.
inline constexpr uint32_t kNoUid = UINT32_MAX;

struct Principal {
  std::string user = {};
  uint32_t uid = 0;                   // on this machine
  std::vector<uint32_t> groups = {};  // all groups of the user, from the user database
  // A TCP peer: the kernel does not identify its user, so it has the daemon's.
  bool is_unproven = false;
  // The key with which it authenticated from another machine; empty: the kernel identified its
  // user.
  PublicKey key = {};
  // The numeric address from which a peer with a key connects.
  std::string host = {};
  // Its key is this agent's, so it may act only as this agent. `user` is the user that the agent
  // runs as on its machine.
  AgentId agent = {};
  bool may_only_join = false;  // its key is that of a join token
  bool is_master = false;      // its key is the cluster's own, so it is another master
  // A token of the master confirms that it is an operator of the cluster, whatever its user on this
  // machine.
  bool is_operator = false;
  bool operator==(const Principal&) const = default;
};

// For audit lines: the user, or "agent:a1" and "join-token", which act for no user.
std::string audit_name(const Principal* by);

// Shared by all frames of a session. nullptr: the user is unknown, so all calls that need a right
// are refused.
using PrincipalPtr = std::shared_ptr<const Principal>;

}  // namespace proffer
